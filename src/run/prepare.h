/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - write the files of datasets that are missing, before any clock starts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "run/filemaker.h"

struct prepare_result {
	uint64_t files_written, bytes_written;
	uint64_t files_kept;
	uint64_t wall_ns;
	double resident_percent;  /* of the dataset, in this host's page
					   cache after it (a sample of at most
					   256 files); NaN = unknown */
	uint64_t resident_files;  /* of that sample */
	bool is_nothing_resident; /* a whole sample found none of it */
	bool interrupted;
};

struct prepare_request {
	const char *job_name;
	struct dataset *dataset;
	struct dataset *eval; /* to evaluate with; NULL or no files = none */
	bool check_all;       /* phase=prepare: look at every file even when complete,
			       * and leave none in the page cache */
	bool readonly, allow_fill, replace;
	bool thorough;        /* look at all files where a sample would do */
	uint64_t first_files; /* that are read at all; 0 = all */
	bool forgiving;       /* what is missing may fail to be read, and be counted */
	/* Of one job, with one directory: they make it together, each its share of the files. NULL
	 * = this process alone. */
	struct hosts *hosts;
	const struct traced *traced;       /* NULL = there is no trace */
	const struct mlgen_engine *engine; /* NO_FILES: nothing to do */
	const void *engine_opts;           /* its options in the job */
	struct clock *clock;
	struct filemaker_progress *progress;
};

/*
 * Bring one dataset, and the one to evaluate with, to completion: reads the manifest, refuses what
 * must be refused (mismatch, more than half of the free space without allow_fill, readonly, a
 * read-only directory: -EINVAL/-ENOSPC/-EROFS/-EACCES before the first byte is written; err->code
 * tells), says on stderr in one line how much, where and how long, writes what is missing in
 * parallel (each file synced, dropped from the page cache, renamed into place) and marks the
 * manifest complete. Runs on the main thread; starts and joins its own workers. With
 * progress->stop: CREW_STOPPED, the dataset is incomplete and resumed next time. The worker count
 * is the number of CPUs x 2, at least 8 (each waits for its own fsync), at most 16.
 *
 * A complete dataset is trusted but for its first file: one that is missing, unreadable, short,
 * long, or does not begin as its format does is an error.
 * So it is with a sample of the others by their names (datasample.h), unless the job is
 * `forgiving`.
 * With check_all, or where the dataset is incomplete, a first file that begins otherwise makes all
 * files looked into, and those that are wrong written anew.
 *
 * Of a scan nothing is checked or written.
 *
 * Files that were kept leave the page cache, too, where a sample finds some there; but not for a
 * training that writes nothing: its invalidate= decides.
 *
 * The calling thread has joined the clock. Files of an incomplete or mended dataset that have the
 * wrong size are replaced; where no manifest says that mlgen wrote it, a file in the way is an
 * error. One process at a time works in a directory (-EBUSY).
 *
 * With others (req->hosts) together: rank 0 looks, refuses, holds the directory and writes the
 * manifest; of the files that are missing each process writes those with number % processes = its
 * rank. What fails in one fails in all.
 *
 * *started is set once the first byte was written (exit status 1 instead of 2).
 */
int prepare_dataset(const struct prepare_request *req, struct prepare_result *result, bool *started,
		    struct mlgen_err *err);

/*
 * For a dry run: what of this would be refused of the files that are there, whether complete or
 * not? Nothing is changed. What is missing, and where it would go, are others' to ask
 * (prepare_place.h, data/dataset/dataset.h). 0, or -errno with err.
 */
int prepare_ask(const struct prepare_request *req, struct mlgen_err *err);
