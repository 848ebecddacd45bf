/* SPDX-License-Identifier: Apache-2.0 */
/* plain_check.c - what relates two options of a plain job. */
#include "work/plain/plain_check.h"

#include <inttypes.h>
#include <string.h>

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

void plain_check(const struct job *j, struct diag *d)
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
