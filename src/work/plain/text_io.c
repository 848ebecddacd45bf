/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.c - what a plain job reports. */
#include "work/plain/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/util.h"
#include "job/job.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* ---- when the figures are not those of the storage ---- */

static bool has_moved(const struct verdict_findings *f)
{
	return f->result->read.total_ios + f->result->write.total_ios > 0;
}

static bool memory_holds(const struct verdict_findings *f)
{
	const struct storage_result *s = &f->result->storage;

	if (!has_moved(f) || verdict_without_storage(f->job))
		return false;
	return s->is_memory || (!f->job->direct && f->result->read.total_ios > 0 &&
				s->memory_percent > VERDICT_MEMORY_PERCENT);
}

static void memory_headline(struct buf *out, const struct verdict_findings *f)
{
	if (!verdict_keeps_in_memory(out, f))
		verdict_say(out, f,
			    "{io.storage.memory_percent} of the bytes read came from this host's "
			    "page cache");
}

static void memory_because(struct buf *out, const struct verdict_findings *f)
{
	double bytes = (double)f->result->io.file_bytes;
	double ram = (double)host_all_memory(&f->run->host);
	char memory[UNITS_TEXT_BYTES];

	if (verdict_is_in_memory(out, f, "touched"))
		return;
	verdict_say(out, f, "the files ({io.file_bytes}) ");
	buf_addf(out, "%s memory (%s)", bytes <= ram ? "fit into" : "lie partly in",
		 units_human_bytes(memory, ram));
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	if (f->result->storage.is_memory)
		buf_add(out, "--directory=PATH : a directory on storage");
	else if (f->result->io.replay.trace)
		buf_add(out,
			"--memory_limit=SIZE : less than the files, so that storage has to answer");
	else if (advice_direct(f->job))
		buf_add(out, "--direct=1 : requests that pass by the page cache");
	else
		buf_add(out,
			"a larger --size, or files on another host: what memory has answers here");
}

static bool host_holds(const struct verdict_findings *f)
{
	return has_moved(f) && f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static void host_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_full(out, &f->result->host, &f->run->host);
	buf_add(out, ": this host may be the limit, not storage");
}

static void host_because(struct buf *out, const struct verdict_findings *f)
{
	verdict_put_cpu(out, &f->result->host);
}

static void host_try(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_cpu_is_of_others(&f->result->host))
		buf_add(out, "the same while nothing else runs on these CPUs");
}

static const struct verdict verdicts[] = {
	{ "errors", verdict_errors_holds, verdict_errors_headline, verdict_errors_because,
	  verdict_errors_try },
	{ "memory", memory_holds, memory_headline, memory_because, memory_try },
	{ "host", host_holds, host_headline, host_because, host_try },
	{ 0 },
};

void verdict_fill_io(const struct run_result *run, struct job_result *j)
{
	const struct verdict_findings f = { .run = run, .result = j, .job = j->job };

	verdict_take(&j->verdict, verdicts, &f);
}

/* ---- parts below the answer ---- */

#define WORKERS_SHOWN 8
#define BEYOND 10 /* values beyond a percentile that is printed */
#define SECONDS_FOR_STEADY 3

/* ---- settings ---- */

static void add_sizes(struct buf *text, const struct job *j)
{
	char read[UNITS_TEXT_BYTES], write[UNITS_TEXT_BYTES];

	units_human_bytes(read, (double)j->bs.read);
	units_human_bytes(write, (double)j->bs.write);
	if (has_text(j->bssplit))
		buf_addf(text, ", bssplit=%s", j->bssplit);
	else if (job_reads(j) && job_writes(j) && j->bs.read != j->bs.write)
		buf_addf(text, ", %s reads, %s writes", read, write);
	else
		buf_addf(text, ", %s requests", job_reads(j) ? read : write);
}

static void add_every(struct buf *text, const char *option, uint64_t writes)
{
	if (writes)
		buf_addf(text, ", %s after %s%" PRIu64 " write%s", option,
			 writes > 1 ? "every " : "each of ", writes, plural(writes));
}

static void put_job(struct buf *text, const struct text_block *b)
{
	const struct job *j = b->job;

	text_say(text, b, "{rw}");
	if (job_reads(j) && job_writes(j))
		text_say(text, b, " ({rwmixread} reads)");
	add_sizes(text, j);
	if (j->time_based)
		text_say(text, b, "[, for {runtime}]");
	else
		text_say(text, b, "[, for at most {runtime}]");
	text_say(text, b, "[ after {ramp_time} of ramp_time]");
	add_every(text, "fsync", j->fsync);
	add_every(text, "fdatasync", j->fdatasync);
	if (j->end_fsync && job_writes(j))
		buf_add(text, ", end_fsync");
	text_say(text, b, "[, thinktime {thinktime}]");
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

/* Jobs with one record may differ. A document of before these were told apart has no least. */
static void put_depth(struct buf *out, const struct text_block *b)
{
	uint64_t least = b->io->iodepth_least;
	uint64_t most = b->result->iodepth_used;

	if (least && least < most)
		text_say(out, b, ", iodepth={io.iodepth_least} to {io.iodepth_used}");
	else
		text_say(out, b, ", iodepth={io.iodepth_used}");
	if (b->io->numjobs > 1 && most > 1)
		buf_add(out, " each");
}

void text_io_put_engine(struct buf *text, const struct text_block *b)
{
	text_say(text, b, "{io.numjobs}, ioengine={ioengine}[ ({io.in_use})]");
	put_depth(text, b);
}

void text_io_put_workers(struct buf *text, const struct text_block *b)
{
	text_io_put_engine(text, b);
	text_say(text, b, ", {direct=}");
	if (b->job->direct)
		text_say(text, b, "[ (aligned to {read_align_bytes})]");
	else if (!verdict_without_storage(b->job))
		buf_add(text, ": through the page cache");
}

void text_io_put_files(struct buf *text, const struct text_block *b, const char *where)
{
	const struct io_result *io = b->io;

	if (verdict_without_storage(b->job))
		return;
	text_say(text, b, "{io.files} file{s}, {io.file_bytes}");
	text_memory_ratio(text, b, (double)io->file_bytes);
	if (b->storage->directory) {
		buf_addf(text, ", %s ", where);
		text_say(text, b, "{storage.directory}");
	}
	if (io->laid_out_files > 0 && io->laid_out_files == io->files)
		buf_add(text, "; laid out before the run");
	else
		text_say(text, b,
			 "[; {io.laid_out_files} of them laid out before the run "
			 "({io.laid_out_bytes})]");
}

static void put_files(struct buf *text, const struct text_block *b)
{
	text_io_put_files(text, b, "in");
}

/* ---- workers ---- */

static uint64_t bytes_of(const struct job_result *r)
{
	return r->read.io_bytes + r->write.io_bytes;
}

static double rate_of(const struct job_result *r)
{
	double seconds = r->wall_seconds;

	return seconds > 0 ? (double)bytes_of(r) / seconds : 0;
}

static int by_rate(const void *a, const void *b)
{
	const struct job_result *const *x = a, *const *y = b;

	return COMPARE(rate_of(*x), rate_of(*y));
}

/* What all lines of the table have alike. */
struct worker_columns {
	struct rate_unit unit;
	bool has_read, has_write, is_us;
};

/* IOPS, throughput and p99 of one direction of one worker. */
static void put_cells(struct buf *out, const struct worker_columns *c, double seconds,
		      const struct direction_result *d)
{
	char iops[UNITS_TEXT_BYTES] = "-", rate[UNITS_TEXT_BYTES] = "-",
	     p99[UNITS_TEXT_BYTES] = "-";

	if (seconds > 0) {
		double v = (double)d->io_bytes / seconds / c->unit.bytes;

		show_fio_number(iops, floor((double)d->total_ios / seconds), false);
		snprintf(rate, sizeof(rate), "%.*f", show_rate_decimals(&c->unit, v), v);
	}
	if (d->lat_ns && hist_beyond(d->lat_ns, 99) >= BEYOND)
		units_human_ms(p99, (double)hist_percentile(d->lat_ns, 99) * (c->is_us ? 1e3 : 1));
	buf_addf(out, "%12s%9s%9s", iops, rate, p99);
}

static void put_worker(struct buf *out, const struct worker_columns *c, const struct job_result *r,
		       const char *name)
{
	char number[64];

	snprintf(number, sizeof(number), "%s%" PRIu64, name, r->io.jobnum);
	buf_addf(out, "%-11s", number);
	if (c->has_read)
		put_cells(out, c, r->wall_seconds, &r->read);
	if (c->has_write)
		put_cells(out, c, r->wall_seconds, &r->write);
	buf_addc(out, '\n');
}

static void put_worker_header(struct buf *out, const struct worker_columns *c)
{
	const char *p99 = c->is_us ? "p99, us" : "p99, ms";

	buf_addf(out, "%-11s", "worker");
	if (c->has_read)
		buf_addf(out, "%12s%9s%9s", "read IOPS", c->unit.name, p99);
	if (c->has_write)
		buf_addf(out, "%12s%9s%9s", "write IOPS", c->unit.name, p99);
	buf_addc(out, '\n');
}

/* ---- evidence ---- */

static void put_sizes(struct buf *text, const struct text_block *b,
		      const struct direction_result *d)
{
	char mean[UNITS_TEXT_BYTES];

	if (!has_text(b->job->bssplit) || d->total_ios == 0)
		return;
	show_sizes(text, &d->sizes);
	buf_addf(text, ", %s mean",
		 units_human_bytes(mean, (double)d->io_bytes / (double)d->total_ios));
}

static void put_read_sizes(struct buf *text, const struct text_block *b)
{
	put_sizes(text, b, &b->result->read);
}

static void put_write_sizes(struct buf *text, const struct text_block *b)
{
	put_sizes(text, b, &b->result->write);
}

static void put_from_memory(struct buf *text, const struct text_block *b)
{
	if (b->result->read.total_ios > 0)
		text_from_memory(text, b);
}

/* What devices were asked for does so by itself. */
static bool passes_cache(const struct text_block *b)
{
	const struct job *j = b->job;

	return j->direct || (j->engine && b->io->replay.blocks && plain_passes_cache(j, true));
}

/* Were all writes waited for until storage had them? */
static void put_written(struct buf *text, const struct text_block *b)
{
	const struct job *j = b->job;

	if (b->result->write.total_ios == 0 || passes_cache(b) || verdict_without_storage(j) ||
	    b->storage->is_memory)
		return;
	if (b->result->sync.total > 0)
		return;
	buf_add(text, "went to the page cache: nothing waited until storage had them (direct, "
		      "fsync, fdatasync and end_fsync are off)");
}

/* Percent of the elapsed time is the sum of all workers; by operation it is what an engine
 * costs. */
static void put_cpu(struct buf *text, const struct text_block *b)
{
	const struct job_result *r = b->result;
	double ios = (double)(r->read.total_ios + r->write.total_ios);
	double ns = r->elapsed_seconds * 1e9 / ios / 100;
	char usr[UNITS_TEXT_BYTES], sys[UNITS_TEXT_BYTES];

	text_say(text, b, "usr {usr_cpu_percent}, sys {sys_cpu_percent}");
	if (ios > 0 && !isnan(ns))
		buf_addf(text, "; per operation usr %s us, sys %s us",
			 units_human_ms(usr, r->usr_cpu_percent * ns * 1e3),
			 units_human_ms(sys, r->sys_cpu_percent * ns * 1e3));
	text_say(text, b, "; {ctx} context switches[, {majf} major fault{s}]");
}

/* "read 780 to 801 MiB/s over 30 seconds (stdev 1.2%)" */
static void add_steady(struct buf *text, const struct text_block *b,
		       const struct direction_result *d, const char *name)
{
	const struct interval_stat *s = &d->bw_kib;
	char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES], dev[UNITS_TEXT_BYTES];

	if (s->samples < SECONDS_FOR_STEADY || !(s->mean > 0))
		return;
	show_rate(least, &b->unit, s->min * 1024);
	show_rate(most, &b->unit, s->max * 1024);
	*strchr(least, ' ') = '\0';
	buf_addf(text, "%s%s %s to %s over %" PRIu64 " seconds", text->len ? ", " : "", name, least,
		 most, s->samples);
	/* Those of several jobs do not add up. */
	if (b->result->members == 1)
		buf_addf(text, " (stdev %s)", show_percent(dev, 100 * s->dev / s->mean));
}

static void put_steady(struct buf *text, const struct text_block *b)
{
	const struct job_result *r = b->result;
	uint64_t short_ios = r->read.short_ios + r->write.short_ios;
	char n[UNITS_TEXT_BYTES];

	add_steady(text, b, &r->read, "read");
	add_steady(text, b, &r->write, "write");
	if (!text->len)
		buf_addf(text, "unknown (takes %d seconds)", SECONDS_FOR_STEADY);
	if (b->result->errors > 0)
		text_say(text, b, "; {io.errors} error{s} counted, the run went on");
	else if (r->err.code != 0)
		buf_add(text, "; stopped by an error");
	else
		buf_add(text, "; no errors");
	if (short_ios > 0)
		buf_addf(text, ", %s short transfer%s resumed", units_human_count(n, short_ios),
			 plural(short_ios));
}

const struct text_line text_io_settings[] = {
	{ NULL, text_title },
	{ "job", put_job },
	{ "workers", text_io_put_workers },
	{ "files", put_files },
	{ "storage", text_storage },
	{ "host", text_machine },
	{ NULL, text_command },
	{ 0 },
};

/*
 * A line for each worker of a job that has a record of each; of more than eight the slowest, the
 * median and the fastest. `unit` of the latencies is "ms" or "us". Nothing for one record.
 */
static void text_io_workers(struct buf *out, const struct text_block *b,
			    const struct job_result *records, size_t n, const char *unit)
{
	if (n < 2)
		return;
	const struct job_result **sorted = mem_array(n, sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = &records[i];
	qsort(sorted, n, sizeof(*sorted), by_rate);
	const struct worker_columns c = {
		.unit = show_rate_unit(rate_of(sorted[n - 1])),
		.has_read = b->result->read.total_ios > 0,
		.has_write = b->result->write.total_ios > 0,
		.is_us = !strcmp(unit, "us"),
	};
	put_worker_header(out, &c);
	for (size_t i = 0; i < n && n <= WORKERS_SHOWN; i++)
		put_worker(out, &c, &records[i], "");
	if (n > WORKERS_SHOWN) {
		put_worker(out, &c, sorted[0], "slowest ");
		put_worker(out, &c, sorted[n / 2], "median ");
		put_worker(out, &c, sorted[n - 1], "fastest ");
	}
	mem_free(sorted);
}

static void put_worker_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "worker time", &b->loader);
}

const struct text_line text_io_evidence[] = {
	{ NULL, put_worker_time },
	{ "read sizes", put_read_sizes },
	{ "write sizes", put_write_sizes },
	{ "window", text_window },
	{ "from memory", put_from_memory },
	{ "writes", put_written },
	{ "host", text_host },
	{ "energy", text_energy },
	{ "noise", text_noise },
	{ "cpu", put_cpu },
	{ "numa", text_numa },
	{ "steady", put_steady },
	{ 0 },
};

/* ---- the report ---- */

static const char *const direction_names[2] = { "read", "write" };

static uint64_t ios_of(const struct job_result *r)
{
	return r->read.total_ios + r->write.total_ios;
}

/* ---- the sum of a job's workers ---- */

/* Histograms of its own, so that others can be added. */
static void own(struct hist **h)
{
	struct hist *copy = NULL;

	if (*h) {
		copy = hist_new();
		hist_merge(copy, *h);
	}
	*h = copy;
}

/* What the record shares with its own operations it goes on sharing. */
static void own_alias(struct hist **h, const struct hist *original, struct hist *copy)
{
	if (*h && *h == original)
		*h = copy;
	else
		own(h);
}

static void own_direction(struct direction_result *d, struct op_result *op)
{
	const struct hist *original = op->lat_ns;

	own(&op->lat_ns);
	own_alias(&d->lat_ns, original, op->lat_ns);
	own(&d->slat_ns);
	own(&d->total_ns);
}

static void free_direction(struct direction_result *d, const struct op_result *op)
{
	if (d->lat_ns != op->lat_ns)
		hist_free(d->lat_ns);
	hist_free(d->slat_ns);
	hist_free(d->total_ns);
	hist_free(op->lat_ns);
}

static void sum_init(struct job_result *sum, const struct job_result *records, size_t n)
{
	*sum = records[0];
	struct ops_result *ops = &sum->ops;
	const struct hist *fsync = ops->fsync.lat_ns;
	own_direction(&sum->read, &ops->read);
	own_direction(&sum->write, &ops->write);
	own(&ops->fsync.lat_ns);
	own_alias(&sum->sync.lat_ns, fsync, ops->fsync.lat_ns);
	/* Nothing of these is printed. */
	ops->open = ops->stat = ops->close = (struct op_result){ 0 };
	sum->host.oversleep_ns = NULL;
	sum->sums = NULL;
	const char *nodes = sum->numa.loader_nodes;
	sum->numa.loader_nodes = nodes ? mem_strdup(nodes) : NULL;
	sum->verdict = (struct verdict_result){ 0 };
	for (size_t i = 1; i < n; i++)
		merge_workers(sum, &records[i]);
}

static void sum_fini(struct job_result *sum)
{
	const struct ops_result *ops = &sum->ops;
	const struct verdict_result *v = &sum->verdict;
	char *texts[] = { sum->numa.loader_nodes, v->name, v->headline, v->because, v->try_next };

	mem_free(sum->sums);
	if (sum->sync.lat_ns != ops->fsync.lat_ns)
		hist_free(sum->sync.lat_ns);
	hist_free(ops->fsync.lat_ns);
	free_direction(&sum->read, &ops->read);
	free_direction(&sum->write, &ops->write);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		mem_free(texts[i]);
}

/* ---- the answer ---- */

/* What a first line that is too long goes without, one after the other. */
enum { NO_TIME = 1, NO_WORKERS, NO_GAP, LENGTHS };

/* Of a job that moved nothing; what it was for may be done all the same. */
static void put_nothing(struct buf *out, const struct text_block *b)
{
	const struct io_result *io = b->io;
	const char *end = text_early_end(b);
	char n[UNITS_TEXT_BYTES];

	if (b->job->create_only && !end && io->laid_out_files > 0)
		text_say(out, b, "{io.laid_out_files} file{s}, {io.laid_out_bytes} laid out");
	else if (b->job->create_only && !end)
		buf_addf(out, "nothing to lay out, %s file%s there",
			 units_human_count(n, io->files), io->files == 1 ? " is" : "s are");
	else
		buf_add(out, "no operation was finished");
	if (end)
		buf_addf(out, " (%s)", end);
	buf_addc(out, '\n');
}

static void put_direction(struct buf *out, const struct text_block *b,
			  const struct direction_result *d, const char *name)
{
	double seconds = b->result->wall_seconds;
	char iops[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];

	if (d->total_ios == 0)
		return;
	if (!(seconds > 0)) {
		buf_addf(out, "%s at an unknown rate", name);
		return;
	}
	buf_addf(out, "%s %s IOPS, %s", name,
		 show_fio_number(iops, floor((double)d->total_ios / seconds), false),
		 show_rate(rate, &b->unit, (double)d->io_bytes / seconds));
}

static void put_end(struct buf *out, const struct text_block *b, unsigned length)
{
	const char *end = text_early_end(b);
	char time[UNITS_TEXT_BYTES];
	double ns = b->result->wall_seconds * 1e9;

	if (b->io->numjobs > 1 && length < NO_WORKERS)
		buf_addf(out, " (%" PRIu64 " workers)", b->io->numjobs);
	text_allowed_errors(out, b);
	if (b->io->rate[0].is_missed || b->io->rate[1].is_missed)
		buf_add(out, "; rate NOT MET");
	if (end && length < NO_TIME && ns > 0)
		buf_addf(out, " (%s after %s)", end, units_human_time(time, (uint64_t)ns));
	else if (end)
		buf_addf(out, " (%s)", end);
	if (text_is_memory(b))
		buf_addf(out, "%sMEMORY, NOT STORAGE", length < NO_GAP ? "      " : "  ");
	buf_addc(out, '\n');
}

static void put_answer(struct buf *out, const struct text_block *b)
{
	const struct job_result *r = b->result;

	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		buf_addf(out, "%s: ", b->job->name);
		text_errors(out, b);
		if (ios_of(r) == 0) {
			put_nothing(out, b);
			return;
		}
		put_direction(out, b, &r->read, "read");
		if (r->read.total_ios && r->write.total_ios)
			buf_add(out, "; ");
		put_direction(out, b, &r->write, "write");
		put_end(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

/* "asked 100 MiB/s, had 83.1 MiB/s: NOT MET" */
static void put_rate(struct buf *text, const struct text_block *b, unsigned which, bool is_only)
{
	const struct rate_result *rate = &b->io->rate[which];
	const struct direction_result *d = which ? &b->result->write : &b->result->read;
	double seconds = b->result->wall_seconds;
	double had = seconds > 0 ? 1 / seconds : (double)NAN;
	bool is_done = which ? job_writes(b->job) : job_reads(b->job);
	bool has_bytes = !isnan(rate->asked_bytes_per_sec);
	bool has_iops = !isnan(rate->asked_iops);
	char n[UNITS_TEXT_BYTES];

	if (!is_done || (!has_bytes && !has_iops))
		return;
	buf_addf(text, "%s%s%sasked ", text->len ? "; " : "", is_only ? "" : direction_names[which],
		 is_only ? "" : " ");
	if (has_bytes)
		buf_add(text, show_rate(n, &b->unit, rate->asked_bytes_per_sec));
	if (has_iops)
		buf_addf(text, "%s%s IOPS", has_bytes ? " and " : "",
			 units_sig4(n, rate->asked_iops));
	buf_add(text, ", had ");
	if (has_bytes)
		buf_add(text, show_rate(n, &b->unit, (double)d->io_bytes * had));
	if (has_iops)
		buf_addf(text, "%s%s IOPS", has_bytes ? " and " : "",
			 units_sig4(n, (double)d->total_ios * had));
	bool is_reached =
		(!has_bytes ||
		 (double)d->io_bytes * had >= PLAIN_RATE_MET * rate->asked_bytes_per_sec) &&
		(!has_iops || (double)d->total_ios * had >= PLAIN_RATE_MET * rate->asked_iops);
	/* A mix has as much of the one as it has of the other. */
	buf_addf(text, ": %s",
		 rate->is_missed ? "NOT MET"
		 : is_reached    ? "met"
				 : "below, held back by the mix");
}

static void put_rates(struct buf *text, const struct text_block *b)
{
	bool is_only = !job_reads(b->job) || !job_writes(b->job);

	put_rate(text, b, 0, is_only);
	put_rate(text, b, 1, is_only);
}

static const struct text_line below_answer[] = {
	{ "  rate", put_rates },
	{ 0 },
};

static void put_below_answer(struct buf *out, const struct text_block *b,
			     const struct text_line *own)
{
	text_fio_lines(out, b);
	text_put_list(out, own, TEXT_ANSWER_INDENT, b);
	text_verdict(out, b);
}

/* ---- the tables ---- */

static const char *put_latencies(struct buf *out, const struct text_block *b)
{
	const struct job_result *r = b->result;
	const struct direction_result *d[2] = { &r->read, &r->write };
	static const char *const paced[2][3] = {
		{ "read slat", "read clat", "read lat" },
		{ "write slat", "write clat", "write lat" },
	};
	struct text_latency_row rows[7];
	size_t n = 0;

	for (unsigned i = 0; i < 2; i++) {
		uint64_t ios = d[i]->total_ios;

		if (!d[i]->total_ns) {
			rows[n++] =
				(struct text_latency_row){ direction_names[i], ios, d[i]->lat_ns };
			continue;
		}
		const struct hist *h[3] = { d[i]->slat_ns, d[i]->lat_ns, d[i]->total_ns };
		for (unsigned k = 0; k < 3; k++)
			rows[n++] =
				(struct text_latency_row){ paced[i][k],
							   ios ? h[k] ? h[k]->count : 0 : 0, h[k] };
	}
	rows[n++] = (struct text_latency_row){ "fsync", r->sync.total, r->sync.lat_ns };
	return text_io_latency(out, rows, n, &b->job->percentile_list);
}

/* ---- in order ---- */

static void print_parts(FILE *to, const struct buf *parts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && parts[i].len > 0)
			fputc('\n', to);
		text_print(to, &parts[i]);
	}
}

static void put_evidence(struct buf *out, const struct text_block *b, const struct text_line *own)
{
	if (own)
		text_put_list(out, own, TEXT_EVIDENCE_INDENT, b);
	if (ios_of(b->result) > 0)
		text_put_list(out, text_io_evidence, TEXT_EVIDENCE_INDENT, b);
}

static void report(FILE *to, const struct text_block *b, const struct job_result *records, size_t n,
		   const struct text_io_kind *kind)
{
	enum { ANSWER, SETTINGS, OWN, WORKERS, LATENCY, EVIDENCE, PARTS };
	struct buf parts[PARTS];
	const struct job_result *r = b->result;
	struct buf first;

	buf_init(&first);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&parts[i]);
	put_answer(&first, b);
	buf_add(&parts[ANSWER], buf_str(&first));
	if (b->detail == DETAIL_BRIEF) {
		text_fio_lines(&parts[ANSWER], b);
		text_verdict(&parts[ANSWER], b);
	} else if (b->detail > DETAIL_BRIEF) {
		put_below_answer(&parts[ANSWER], b, kind->answer);
		text_put_list(&parts[SETTINGS], kind->settings, TEXT_SETTING_INDENT, b);
		if (kind->table)
			kind->table(&parts[OWN], b);
		if (ios_of(r) > 0) {
			const char *unit = put_latencies(&parts[LATENCY], b);

			text_io_workers(&parts[WORKERS], b, records, n, unit);
		}
		put_evidence(&parts[EVIDENCE], b, kind->evidence);
	}
	print_parts(to, parts, PARTS);
	for (unsigned i = 0; i < PARTS; i++)
		buf_fini(&parts[i]);
	buf_fini(&first);
}

void text_io_print(FILE *to, const struct run_result *run, const struct job_result *records,
		   size_t n, enum detail detail, const struct text_io_kind *kind)
{
	struct job_result sum;
	struct text_block b;

	sum_init(&sum, records, n);
	verdict_fill_io(run, &sum);
	text_block_init(&b, run, &sum, detail);
	double seconds = sum.wall_seconds;
	double most = (double)(sum.read.io_bytes > sum.write.io_bytes ? sum.read.io_bytes
								      : sum.write.io_bytes);
	b.unit = show_rate_unit(seconds > 0 ? most / seconds : (double)NAN);
	show_loader_time(&sum.io.worker_percent, &b.loader);
	report(to, &b, records, n, kind);
	sum_fini(&sum);
}

void text_io_report(FILE *to, const struct run_result *run, const struct job_result *records,
		    size_t n, enum detail detail)
{
	static const struct text_io_kind kind = {
		.answer = below_answer,
		.settings = text_io_settings,
	};

	text_io_print(to, run, records, n, detail, &kind);
}

double text_io_seconds(const struct job_result *r)
{
	return r->wall_seconds;
}
