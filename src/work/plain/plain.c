/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - phase=io: a plain job, as fio has them. */
#include "work/plain/plain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/mlperf/mlperf.h"
#include "base/units.h"
#include "data/pattern/pattern.h"
#include "work/plain/iofiles.h"
#include "work/plain/plain_inside.h"
#include "work/plain/plain_page.h"
#include "work/plain/stream.h"

/* ---- what relates two options ---- */

/* Requests of a job that are under way; each costs a buffer and a token. */
#define REQUESTS_MAX 4194304.0

/* fio's requests of direct=1 are multiples of a sector, too. */
#define SECTOR_BYTES 512

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)
#define NOTE(d, j, option, ...)                                                                    \
	diag_add(d, DIAG_NOTE, job_place(j, option), option ": " __VA_ARGS__)

static void check_engine(const struct job *j, struct diag *d)
{
	const struct mlgen_engine *e = j->engine;

	if (job_reads(j) && !(e->caps & MLGEN_CAP(MLGEN_READ)))
		FAULT(d, j, "ioengine", "%s cannot read, which this rw needs; use ioengine=psync",
		      e->name);
	if (job_writes(j) && !(e->caps & MLGEN_CAP(MLGEN_WRITE)))
		FAULT(d, j, "ioengine", "%s cannot write, which this rw needs; use ioengine=psync",
		      e->name);
	if (strcmp(e->name, "libaio") == 0 && !j->direct)
		NOTE(d, j, "ioengine",
		     "libaio without direct=1: io_submit waits for buffered files, so that one "
		     "request is under way, not iodepth");
}

/* Nothing is there that would tell how large it is. */
static void check_no_files(const struct job *j, struct diag *d)
{
	if (!j->size.bytes && !j->filesize_bytes)
		FAULT(d, j, "size", "ioengine=%s has no files that would tell; set size=1g",
		      j->engine->name);
	if (j->create_only)
		FAULT(d, j, "create_only", "ioengine=%s makes no files", j->engine->name);
}

static void check_sizes_of(const struct job *j, unsigned direction, struct diag *d)
{
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	int n = job_sizes(j, direction, sizes, &err);
	const char *option = j->bssplit ? "bssplit" : "bs";

	if (n < 0)
		diag_add(d, DIAG_ERROR, job_place(j, "bssplit"), "%s", err.text);
	for (int i = 0; i < n; i++) {
		if (j->direct && sizes[i].bytes % SECTOR_BYTES)
			diag_add(d, DIAG_ERROR, job_place(j, option),
				 "%s: %" PRIu64 " is no multiple of 512, which direct=1 needs",
				 option, sizes[i].bytes);
	}
}

static void check_sizes(const struct job *j, struct diag *d)
{
	bool is_mixed = job_reads(j) && job_writes(j);

	if (job_reads(j))
		check_sizes_of(j, 0, d);
	if (job_writes(j))
		check_sizes_of(j, 1, d);
	if (!is_mixed && job_is_changed(j, "rwmixread"))
		NOTE(d, j, "rwmixread", "counts with rw=rw and rw=randrw only");
	if (!is_mixed && job_is_changed(j, "rwmixwrite"))
		NOTE(d, j, "rwmixwrite", "counts with rw=rw and rw=randrw only");
	if (!job_is_random(j) && j->norandommap)
		NOTE(d, j, "norandommap", "counts with random reads and writes only");
}

static void check_depth(const struct job *j, struct diag *d)
{
	double requests = (double)j->numjobs * (double)j->iodepth;

	if (requests > REQUESTS_MAX)
		FAULT(d, j, "numjobs",
		      "%" PRIu64 " of iodepth=%" PRIu64
		      " are %.0f requests at once, at most %.0f can be",
		      j->numjobs, j->iodepth, requests, REQUESTS_MAX);
	if (j->iodepth_batch_complete_max &&
	    j->iodepth_batch_complete_max < j->iodepth_batch_complete_min)
		FAULT(d, j, "iodepth_batch_complete_max",
		      "%" PRIu64 " is less than iodepth_batch_complete_min=%" PRIu64,
		      j->iodepth_batch_complete_max, j->iodepth_batch_complete_min);
}

static void check_syncs(const struct job *j, struct diag *d)
{
	if (job_writes(j))
		return;
	if (j->fsync)
		NOTE(d, j, "fsync", "this job writes nothing");
	if (j->fdatasync)
		NOTE(d, j, "fdatasync", "this job writes nothing");
	if (j->end_fsync)
		NOTE(d, j, "end_fsync", "this job writes nothing");
}

/* fio's jobs may say verify=0. */
static void check_verify(const struct job *j, struct diag *d)
{
	if (j->verify != VERIFY_NONE)
		FAULT(d, j, "verify",
		      "a plain job does not check what it reads; use verify=0, or phase=restore");
}

static void check_pace(const struct job *j, struct diag *d)
{
	if (job_is_changed(j, "thinktime_blocks") && !j->thinktime_ns)
		NOTE(d, j, "thinktime_blocks", "counts with thinktime only");
	if (j->time_based && j->loops > 1)
		NOTE(d, j, "loops", "time_based repeats until runtime has passed");
	if (j->invalidate == INVALIDATE_EPOCH)
		FAULT(d, j, "invalidate", "a plain job has no epochs; use invalidate=run");
	if (j->drop_caches == DROP_CACHES_EPOCH)
		FAULT(d, j, "drop_caches", "a plain job has no epochs; use drop_caches=run");
}

/* The part of job_check that is of phase=io. */
static void plain_check(const struct job *j, struct diag *d)
{
	check_sizes(j, d);
	check_depth(j, d);
	check_syncs(j, d);
	check_pace(j, d);
	check_verify(j, d);
	if (!j->engine)
		return;
	check_engine(j, d);
	if (!job_touches_files(j))
		check_no_files(j, d);
}

/* ---- what it takes of memory ---- */

/* Per open file and per request. */
#define FILE_BYTES UINT64_C(512)
#define REQUEST_BYTES UINT64_C(512)

void plain_need(struct memneed *n, const struct job *j, size_t files)
{
	unsigned depth = job_depth(j);
	uint64_t each = files * FILE_BYTES + depth * REQUEST_BYTES;
	uint64_t buffer = stream_buffer_bytes(j, depth);

	memneed_threads(n, j->numjobs, each);
	if (job_touches_files(j) || job_writes(j))
		memneed_buffers(n, j, j->numjobs, buffer, job_writes(j));
	else
		memneed_untouched(n, j->numjobs, buffer);
}

void plain_put_costs(struct buf *out, const struct job *j)
{
	memneed_put(out, "numjobs", j->numjobs);
	memneed_put(out, "iodepth", job_depth(j));
	if (out->len)
		memneed_put_bs(out, pattern_largest_bytes(j));
}

/* ---- in questions ---- */

static double bytes_per_sec(const struct job_result *r)
{
	double wall = r->wall_seconds;

	return wall > 0 ? (double)(r->read.io_bytes + r->write.io_bytes) / wall : (double)NAN;
}

static uint64_t workers(const struct job_result *r)
{
	return r->io.numjobs;
}

static const char *const plain_varied[] = { "numjobs",
					    "iodepth",
					    "iodepth_batch_submit",
					    "iodepth_batch_complete_min",
					    "iodepth_batch_complete_max",
					    "thinktime_blocks",
					    NULL };

const struct asked plain_asked = {
	.bytes_per_sec = bytes_per_sec,
	.workers = workers,
	.worker = "workers",
	.side_by_side = "rates are the bytes of all over the time of the longest",
	.varied = plain_varied,
	.example = "read.iops>=1000",
	.mlperf_rules = mlperf_other_rules,
};

/* ---- in reports and plans ---- */

/* A job that has no names here is told elsewhere why. */
static bool any_file(const struct job *j, bool (*is)(const void *arg, const char *path),
		     const void *arg)
{
	struct mlgen_err unused = { 0 };
	struct ionames names = { 0 };
	bool found = false;

	if (!j->engine)
		return false;
	if (ionames_init(&names, j, &unused) == 0)
		for (size_t i = 0; !found && i < names.paths.count; i++)
			found = is(arg, names.paths.at[i]);
	ionames_fini(&names);
	return found;
}

const struct page plain_page = {
	PLAIN_PAGE,
	.plan = plan_io,
	.plan_text = plan_io_text,
	.any_file = any_file,
	.text = text_io_report,
	.has_records = true,
	.planned = metrics_io_planned,
	.fill_planned = metrics_planned_io,
};

/* ---- the workload ---- */

static const char *const groups[] = { "Plain I/O", NULL };

static const struct workload_default defaults[] = {
	{ "directory", "." },
	{ "bs", "4k" },
	{ "percentile_list", "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
	{ 0 },
};

const struct workload work_io = {
	.groups = groups,
	.option_of = "an option of plain I/O jobs (phase=io, rw=...)",
	.defaults = defaults,
	.check = plain_check,
	.more_at_once = "numjobs",
	.is_plain = true,
	.said_by = "rw",
	.is_open_ended = true,
	.is_grouped = true,
	.counts_errors = true,
	.run = &plain_activity,
	.page = &plain_page,
	.asked = &plain_asked,
};
