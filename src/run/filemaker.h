/* SPDX-License-Identifier: Apache-2.0 */
/* filemaker.h - make the files that a job needs and that are missing: room, workers, progress, what
 * is said. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/stop.h"
#include "run/crew.h"

struct newfile_kind;

/* Progress, for the status line; single numbers, relaxed. */
struct filemaker_progress {
	_Atomic uint64_t files_done, bytes_done; /* present ones included */
	_Atomic uint64_t files_total, bytes_total;
	struct stop stop;      /* the job's, in all that it does */
	struct crew_view crew; /* that is at work */
	const char *name;      /* of the job */
};

/*
 * What the workers that make files share: of a data set, or of a plain job. Which files are missing
 * is the caller's to find out, before and once more when it has the lock of their directory; so a
 * run that was stopped is gone on with, and nothing is made twice. How one of them is made is
 * newfile.h.
 */
struct filemaker {
	const struct newfile_kind *kind;
	struct filemaker_progress *progress;
	struct crew_config crew; /* engine, its options, clock: the caller's */
	uint64_t start_ns;
	/* Found by the caller, before filemaker_begin. All are relaxed. */
	_Atomic uint64_t present_files, present_bytes;
	_Atomic uint64_t missing_files, missing_bytes;
	/* Whole files, which have their names, and bytes that are known to be on the device. */
	_Atomic uint64_t made_files, made_bytes, synced_bytes;
};

/* Completes the crew: an engine that can write, and buffers for the largest of the files. */
void filemaker_init(struct filemaker *m, uint64_t largest_file_bytes);

/* Progress and time count from here. */
void filemaker_begin(struct filemaker *m);

/*
 * A crew does the task, which is announced, once, when its time can be told: the first second,
 * which caches make fast, is over, and some bytes have reached the device, or all is done; but no
 * later than after 5 s.
 */
int filemaker_run(struct filemaker *m, const struct crew_task *task,
		  void (*announce)(const void *arg, const char *time), const void *arg,
		  struct mlgen_err *err);

/* "about 41 s, estimate"; "in 12.23 ms" where all are synced; "time unknown" within the first
 * second, or while nothing is. */
#define FILEMAKER_TIME_BYTES 64
void filemaker_time(char out[FILEMAKER_TIME_BYTES], uint64_t seen_ns, uint64_t synced_bytes,
		    uint64_t all_bytes);

/* Is there room? Half of what is free may be used, or all with allow_fill. */
struct filemaker_room {
	const char *path;
	const char *purpose; /* "to write" */
	uint64_t missing_bytes, free_bytes;
	bool allow_fill;
	const char *way_out;
	const char *or_fill; /* behind it, where --allow_fill would help */
};
uint64_t filemaker_usable(uint64_t free_bytes, bool allow_fill);
int filemaker_check_room(const struct filemaker_room *room,
			 struct mlgen_err *err); /* 0, or -ENOSPC with err */

/* May files be made at `path`, or with what leads to it, where that is missing? `what` is "4
 * files", and `option` names the place: 0, or -EROFS or -EACCES with err. */
int filemaker_check_writable(const char *path, const char *what, const char *option,
			     struct mlgen_err *err);

/* The names in a folder reach the device, too: 0 or -errno with err. Of a folder that cannot be
 * opened the error `excused` (-ENOENT) is none. */
int filemaker_sync_folder(const char *path, int excused, struct mlgen_err *err);
