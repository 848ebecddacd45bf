/* SPDX-License-Identifier: Apache-2.0 */
/* text_io_parts.c - the parts of a plain job's report below its answer. */
#include "work/plain/text_io_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/text_evidence.h"
#include "report/text_noise.h"
#include "report/text_settings.h"
#include "report/verdict.h"
#include "work/plain/replay_flags.h"

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

	return j->direct || (j->engine && b->io->replay.blocks && replay_flags_pass_cache(j, true));
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

void text_io_workers(struct buf *out, const struct text_block *b, const struct job_result *records,
		     size_t n, const char *unit)
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
