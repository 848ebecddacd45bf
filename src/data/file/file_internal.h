/* SPDX-License-Identifier: Apache-2.0 */
/* file_internal.h - what the parts of data/file share. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "data/file/file.h"
#include "data/scan/scan.h"

/* Storage answers so many at a time. */
#define FOUND_THREADS 8u

/* One more stands behind the last file, with the sums of all. */
struct entry {
	uint64_t first_sample; /* of the dataset; while it looks, how many */
	uint64_t sample_bytes; /* of all files before; while it looks, its own */
	uint64_t words;
	uint64_t facts[LOOK_FACTS];
};

struct found {
	struct entry *entries;
	uint64_t files, each, most;
	bool counts_extents;
	unsigned extents_fact; /* of each: how many are before it */
	struct namefile words[FOUND_THREADS];
	struct namefile_map maps[FOUND_THREADS];
	unsigned word_files;
	uint64_t read_bytes, kept_files, packed_most;
	double seconds;
};

struct looker {
	struct looking *of;
	struct look look;
	struct scan_cursor *cursor; /* of what was kept; owned, NULL = none */
	struct mlgen_err err;
	uint64_t failed_at;      /* the file of err */
	struct mlgen_err damage; /* of the first file that was left out ... */
	uint64_t damaged_at;     /* ... and which it is */
	uint64_t packed_most;
	pthread_t thread;
	unsigned index;
	bool has_thread;
	char path[PATH_MAX];
};

struct looking {
	struct found *found;
	const struct scan *scan;
	const struct dataset *ds;
	struct kept *kept; /* NULL = nothing is */
	enum job_scan_errors errors;
	int dir_fd;
	struct timespec started;
	double told_seconds;
	_Atomic uint64_t next, done, damaged;
	struct mlgen_err damage; /* of the first file of all that was left out */
	_Atomic uint64_t stale;  /* indexes that are not as their files are */
	_Atomic bool stops;
	struct looker lookers[FOUND_THREADS];
};

/* An empty one for the files of a scan. */
struct found *found_of(const struct scan *scan);
