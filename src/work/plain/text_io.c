/* SPDX-License-Identifier: Apache-2.0 */
/* text_io.c - the text report of a plain job. */
#include "work/plain/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/util.h"
#include "job/job.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* ---- verdicts: the figures may not be those of the storage ---- */

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
	double ram = (double)host_job_memory_bytes(&f->run->host);
	char memory[UNITS_TEXT_BYTES];

	if (verdict_is_in_memory(out, f, "touched"))
		return;
	verdict_say(out, f, "the files ({io.file_bytes}) ");
	buf_addf(out, "%s memory (%s)", bytes <= ram ? "fit into" : "are partly in",
		 units_human_bytes(memory, ram));
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	if (f->result->storage.is_memory)
		buf_add(out, "--directory=PATH : a directory on storage");
	else if (f->result->io.replay.trace)
		buf_add(out,
			"--memory_limit=SIZE : less than the files, so that storage must deliver");
	else if (advice_direct(f->job))
		buf_add(out, "--direct=1 : requests that bypass the page cache");
	else
		buf_add(out, "a larger --size, or files on another host: here memory delivers the "
			     "bytes");
}

static bool host_holds(const struct verdict_findings *f)
{
	return has_moved(f) && f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static void host_headline(struct buf *out, const struct verdict_findings *f)
{
	verdict_append_full_cpu(out, &f->result->host, &f->run->host);
	buf_add(out, ": this host may be the limit, not storage");
}

static void host_because(struct buf *out, const struct verdict_findings *f)
{
	verdict_append_cpu(out, &f->result->host);
}

static void host_try(struct buf *out, const struct verdict_findings *f)
{
	if (verdict_cpu_is_foreign(&f->result->host))
		buf_add(out, "the same job while nothing else runs on these CPUs");
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

	verdict_choose(&j->verdict, verdicts, &f);
}

/* ---- lines below the answer ---- */

#define WORKERS_SHOWN 8
#define BEYOND 10 /* a percentile is printed if at least this many values are beyond it */
#define SECONDS_FOR_STEADY 3

/* ---- settings ---- */

static void append_sync(struct buf *text, const char *option, uint64_t writes)
{
	if (writes == 1)
		buf_addf(text, ", %s after every write", option);
	else if (writes)
		buf_addf(text, ", %s after every %" PRIu64 " writes", option, writes);
}

static void append_job(struct buf *text, const struct text_block *b)
{
	const struct job *j = b->job;
	bool is_mixed = job_reads(j) && job_writes(j);
	char read[UNITS_TEXT_BYTES], write[UNITS_TEXT_BYTES];

	units_human_bytes(read, (double)j->bs.read);
	units_human_bytes(write, (double)j->bs.write);
	text_say(text, b, "{rw}");
	if (is_mixed)
		text_say(text, b, " ({rwmixread} reads)");
	if (has_text(j->bssplit))
		buf_addf(text, ", bssplit=%s", j->bssplit);
	else if (is_mixed && j->bs.read != j->bs.write)
		buf_addf(text, ", %s reads, %s writes", read, write);
	else
		buf_addf(text, ", %s requests", job_reads(j) ? read : write);
	if (j->time_based)
		text_say(text, b, "[, for {runtime}]");
	else
		text_say(text, b, "[, for at most {runtime}]");
	text_say(text, b, "[ after {ramp_time} of ramp_time]");
	append_sync(text, "fsync", j->fsync);
	append_sync(text, "fdatasync", j->fdatasync);
	if (j->end_fsync && job_writes(j))
		buf_add(text, ", end_fsync");
	text_say(text, b, "[, thinktime {thinktime}]");
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

/* If a record covers several jobs, their depths may differ. Documents of older versions have no
 * iodepth_least. */
void text_io_append_engine(struct buf *text, const struct text_block *b)
{
	uint64_t min = b->io->iodepth_least;
	uint64_t max = b->result->iodepth_used;

	text_say(text, b, "{io.numjobs}, ioengine={ioengine}[ ({io.in_use})]");
	if (min && min < max)
		text_say(text, b, ", iodepth={io.iodepth_least} to {io.iodepth_used}");
	else
		text_say(text, b, ", iodepth={io.iodepth_used}");
	if (b->io->numjobs > 1 && max > 1)
		buf_add(text, " each");
}

void text_io_append_workers(struct buf *text, const struct text_block *b)
{
	text_io_append_engine(text, b);
	text_say(text, b, ", {direct=}");
	if (b->job->direct)
		text_say(text, b, "[ (aligned to {read_align_bytes})]");
	else if (!verdict_without_storage(b->job))
		buf_add(text, ": through the page cache");
}

void text_io_append_files(struct buf *text, const struct text_block *b, const char *where)
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

static void append_files(struct buf *text, const struct text_block *b)
{
	text_io_append_files(text, b, "in");
}

/* ---- workers ---- */

static double rate_of(const struct job_result *r)
{
	double bytes = (double)(r->read.io_bytes + r->write.io_bytes);

	return r->wall_seconds > 0 ? bytes / r->wall_seconds : 0;
}

static int compare_rates(const void *a, const void *b)
{
	const struct job_result *const *x = a, *const *y = b;

	return COMPARE(rate_of(*x), rate_of(*y));
}

/* Format shared by all rows of the table. */
struct worker_columns {
	struct rate_unit unit;
	bool has_read, has_write, is_us;
};

/* IOPS, throughput and p99 of a worker in one direction. */
static void append_cells(struct buf *out, const struct worker_columns *c, double seconds,
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

static void append_worker(struct buf *out, const struct worker_columns *c,
			  const struct job_result *r, const char *name)
{
	char number[64];

	snprintf(number, sizeof(number), "%s%" PRIu64, name, r->io.jobnum);
	buf_addf(out, "%-11s", number);
	if (c->has_read)
		append_cells(out, c, r->wall_seconds, &r->read);
	if (c->has_write)
		append_cells(out, c, r->wall_seconds, &r->write);
	buf_addc(out, '\n');
}

/* ---- evidence ---- */

static void append_sizes(struct buf *text, const struct text_block *b,
			 const struct direction_result *d)
{
	char mean[UNITS_TEXT_BYTES];

	if (!has_text(b->job->bssplit) || d->total_ios == 0)
		return;
	show_sizes(text, &d->sizes);
	buf_addf(text, ", %s mean",
		 units_human_bytes(mean, (double)d->io_bytes / (double)d->total_ios));
}

static void append_read_sizes(struct buf *text, const struct text_block *b)
{
	append_sizes(text, b, &b->result->read);
}

static void append_write_sizes(struct buf *text, const struct text_block *b)
{
	append_sizes(text, b, &b->result->write);
}

static void append_from_memory(struct buf *text, const struct text_block *b)
{
	if (b->result->read.total_ios > 0)
		text_from_memory(text, b);
}

/* Warn about writes if the job did not wait until they were on storage. In a replay of a block
 * trace, requests bypass the page cache by default. */
static void append_written(struct buf *text, const struct text_block *b)
{
	const struct job *j = b->job;
	bool passes_cache =
		j->direct || (j->engine && b->io->replay.blocks && plain_passes_cache(j, true));

	if (b->result->write.total_ios == 0 || passes_cache || verdict_without_storage(j) ||
	    b->storage->is_memory || b->result->sync.total > 0)
		return;
	buf_add(text, "went to the page cache: no call waited until the bytes were on storage "
		      "(direct, fsync, fdatasync and end_fsync are off)");
}

/* Percentages of the elapsed time are sums over all workers. Time per operation shows the cost of
 * an engine. */
static void append_cpu(struct buf *text, const struct text_block *b)
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

/* Append "read 780 to 801 MiB/s over 30 seconds (stdev 1.2%)". */
static void append_range(struct buf *text, const struct text_block *b,
			 const struct direction_result *d, const char *name)
{
	const struct interval_stat *s = &d->bw_kib;
	char min[UNITS_TEXT_BYTES], max[UNITS_TEXT_BYTES], dev[UNITS_TEXT_BYTES];

	if (s->samples < SECONDS_FOR_STEADY || !(s->mean > 0))
		return;
	show_rate(min, &b->unit, s->min * 1024);
	show_rate(max, &b->unit, s->max * 1024);
	*strchr(min, ' ') = '\0';
	buf_addf(text, "%s%s %s to %s over %" PRIu64 " seconds", text->len ? ", " : "", name, min,
		 max, s->samples);
	/* The deviations of several jobs cannot be added up. */
	if (b->result->members == 1)
		buf_addf(text, " (stdev %s)", show_percent(dev, 100 * s->dev / s->mean));
}

static void append_steady(struct buf *text, const struct text_block *b)
{
	const struct job_result *r = b->result;
	uint64_t short_ios = r->read.short_ios + r->write.short_ios;
	char n[UNITS_TEXT_BYTES];

	append_range(text, b, &r->read, "read");
	append_range(text, b, &r->write, "write");
	if (!text->len)
		buf_addf(text, "unknown (needs %d whole seconds)", SECONDS_FOR_STEADY);
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
	{ "job", append_job },
	{ "workers", text_io_append_workers },
	{ "files", append_files },
	{ "storage", text_storage },
	{ "host", text_machine },
	{ NULL, text_command },
	{ 0 },
};

/*
 * Print a line for each worker, if the job has a record of each. If there are more than eight
 * workers, only the slowest, the median and the fastest are printed. `unit` is the unit of
 * latencies, "ms" or "us".
 */
static void text_io_workers(struct buf *out, const struct text_block *b,
			    const struct job_result *records, size_t n, const char *unit)
{
	if (n < 2)
		return;
	const struct job_result **sorted = mem_array(n, sizeof(*sorted));
	for (size_t i = 0; i < n; i++)
		sorted[i] = &records[i];
	qsort(sorted, n, sizeof(*sorted), compare_rates);
	const struct worker_columns c = {
		.unit = show_rate_unit(rate_of(sorted[n - 1])),
		.has_read = b->result->read.total_ios > 0,
		.has_write = b->result->write.total_ios > 0,
		.is_us = !strcmp(unit, "us"),
	};
	const char *p99 = c.is_us ? "p99, us" : "p99, ms";

	buf_addf(out, "%-11s", "worker");
	if (c.has_read)
		buf_addf(out, "%12s%9s%9s", "read IOPS", c.unit.name, p99);
	if (c.has_write)
		buf_addf(out, "%12s%9s%9s", "write IOPS", c.unit.name, p99);
	buf_addc(out, '\n');
	for (size_t i = 0; i < n && n <= WORKERS_SHOWN; i++)
		append_worker(out, &c, &records[i], "");
	if (n > WORKERS_SHOWN) {
		append_worker(out, &c, sorted[0], "slowest ");
		append_worker(out, &c, sorted[n / 2], "median ");
		append_worker(out, &c, sorted[n - 1], "fastest ");
	}
	mem_free(sorted);
}

static void append_worker_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "worker time", &b->loader);
}

const struct text_line text_io_evidence[] = {
	{ NULL, append_worker_time },
	{ "read sizes", append_read_sizes },
	{ "write sizes", append_write_sizes },
	{ "window", text_window },
	{ "from memory", append_from_memory },
	{ "writes", append_written },
	{ "host", text_host },
	{ "energy", text_energy },
	{ "noise", text_noise },
	{ "cpu", append_cpu },
	{ "numa", text_numa },
	{ "steady", append_steady },
	{ 0 },
};

/* ---- the report ---- */

static const char *const direction_names[2] = { "read", "write" };

static uint64_t ios_of(const struct job_result *r)
{
	return r->read.total_ios + r->write.total_ios;
}

/* ---- the sum of a job's workers ---- */

/* Replace a histogram by a copy, to which other histograms can be added. */
static void copy_hist(struct hist **h)
{
	struct hist *copy = NULL;

	if (*h) {
		copy = hist_new();
		hist_merge(copy, *h);
	}
	*h = copy;
}

/* Like copy_hist, but if the histogram was `original`, use its copy `copy`. */
static void copy_alias(struct hist **h, const struct hist *original, struct hist *copy)
{
	if (*h && *h == original)
		*h = copy;
	else
		copy_hist(h);
}

static void copy_direction(struct direction_result *d, struct op_result *op)
{
	const struct hist *original = op->lat_ns;

	copy_hist(&op->lat_ns);
	copy_alias(&d->lat_ns, original, op->lat_ns);
	copy_hist(&d->slat_ns);
	copy_hist(&d->total_ns);
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
	copy_direction(&sum->read, &ops->read);
	copy_direction(&sum->write, &ops->write);
	copy_hist(&ops->fsync.lat_ns);
	copy_alias(&sum->sync.lat_ns, fsync, ops->fsync.lat_ns);
	/* The report prints none of these. */
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

/* Parts that the first line drops, one after the other, until it fits. */
enum { NO_TIME = 1, NO_WORKERS, NO_GAP, LENGTHS };

/* The answer of a job that moved no bytes. The job may have done all its work nevertheless. */
static void append_nothing(struct buf *out, const struct text_block *b)
{
	const struct io_result *io = b->io;
	const char *end = text_early_end(b);
	char n[UNITS_TEXT_BYTES];

	if (b->job->create_only && !end && io->laid_out_files > 0)
		text_say(out, b, "{io.laid_out_files} file{s}, {io.laid_out_bytes} laid out");
	else if (b->job->create_only && !end)
		buf_addf(out, "nothing to lay out, %s file%s", units_human_count(n, io->files),
			 io->files == 1 ? " exists" : "s exist");
	else
		buf_add(out, "no operation was finished");
	if (end)
		buf_addf(out, " (%s)", end);
	buf_addc(out, '\n');
}

static void append_direction(struct buf *out, const struct text_block *b,
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

static void append_end(struct buf *out, const struct text_block *b, unsigned length)
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

static void append_answer(struct buf *out, const struct text_block *b)
{
	const struct job_result *r = b->result;

	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		buf_addf(out, "%s: ", b->job->name);
		text_errors(out, b);
		if (ios_of(r) == 0) {
			append_nothing(out, b);
			return;
		}
		append_direction(out, b, &r->read, "read");
		if (r->read.total_ios && r->write.total_ios)
			buf_add(out, "; ");
		append_direction(out, b, &r->write, "write");
		append_end(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

/* Append "asked 100 MiB/s, had 83.1 MiB/s: NOT MET". */
static void append_rate(struct buf *text, const struct text_block *b, unsigned which, bool is_only)
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
	/* A direction of a mix can hold back the other. */
	buf_addf(text, ": %s",
		 rate->is_missed ? "NOT MET"
		 : is_reached    ? "met"
				 : "below, held back by the other direction");
}

static void append_rates(struct buf *text, const struct text_block *b)
{
	bool is_only = !job_reads(b->job) || !job_writes(b->job);

	append_rate(text, b, 0, is_only);
	append_rate(text, b, 1, is_only);
}

static const struct text_line below_answer[] = {
	{ "  rate", append_rates },
	{ 0 },
};

/* ---- the tables ---- */

static const char *append_latencies(struct buf *out, const struct text_block *b)
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

/* ---- the block of a job ---- */

static void report(FILE *to, const struct text_block *b, const struct job_result *records, size_t n,
		   const struct text_io_kind *kind)
{
	enum { ANSWER, SETTINGS, TABLE, WORKERS, LATENCY, EVIDENCE, PARTS };
	struct buf parts[PARTS];
	bool is_full = b->detail > DETAIL_BRIEF;

	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&parts[i]);
	append_answer(&parts[ANSWER], b);
	if (b->detail >= DETAIL_BRIEF) {
		text_fio_lines(&parts[ANSWER], b);
		if (is_full)
			text_append_list(&parts[ANSWER], kind->answer, TEXT_ANSWER_INDENT, b);
		text_verdict(&parts[ANSWER], b);
	}
	if (is_full) {
		text_append_list(&parts[SETTINGS], kind->settings, TEXT_SETTING_INDENT, b);
		if (kind->table)
			kind->table(&parts[TABLE], b);
		if (kind->evidence)
			text_append_list(&parts[EVIDENCE], kind->evidence, TEXT_EVIDENCE_INDENT, b);
	}
	if (is_full && ios_of(b->result) > 0) {
		const char *unit = append_latencies(&parts[LATENCY], b);

		text_io_workers(&parts[WORKERS], b, records, n, unit);
		text_append_list(&parts[EVIDENCE], text_io_evidence, TEXT_EVIDENCE_INDENT, b);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		if (i > 0 && parts[i].len > 0)
			fputc('\n', to);
		text_print(to, &parts[i]);
		buf_fini(&parts[i]);
	}
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
	double bytes = (double)u64_max(sum.read.io_bytes, sum.write.io_bytes);
	b.unit = show_rate_unit(seconds > 0 ? bytes / seconds : (double)NAN);
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
