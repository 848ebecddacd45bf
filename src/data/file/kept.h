/* SPDX-License-Identifier: Apache-2.0 */
/* kept.h - where the findings of a scan are kept, those of an earlier one and those for the
 * next. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include <mlgen/err.h>

#include "base/replace.h"
#include "data/file/dataset.h"
#include "data/file/scan_cache.h"

/*
 * In a file of the user's (scan_cache=), which is replaced as a whole; or, for the probes of one
 * command, in a file without a name, which the job as that command has it holds. With neither
 * nothing is kept.
 */
struct kept_request {
	const char *path;        /* NULL = none of the user's */
	struct job_kept *memory; /* NULL = no probes */
	enum scan_part part;     /* which one is scanned */
	bool is_quiet;           /* what could be told was told before */
};

struct kept {
	struct kept_request req;
	char *path; /* behind all links; owned */
	char *key;  /* what facts follow from; owned */
	char *beside;
	int fd;                   /* of the old one; -1 = there is none */
	bool has_cache;           /* and it fits */
	struct scan_cache cache;  /* the old one */
	_Atomic uint64_t taken;   /* files whose findings were in it */
	_Atomic uint64_t damaged; /* and could not be taken */
	/* While the new one is written. */
	struct replace replace;
	struct scan_cache_writer writer;
};

/* scan_cache=PATH as messages and scans have it: behind its links; owned by who asks. NULL =
 * NULL. */
char *kept_path(const char *path);

/*
 * NULL in *out where nothing is kept. What does not fit is told, and is as if there were nothing.
 * 0, or -errno with err: in its place is something that is not mlgen's, or nothing could be kept
 * there.
 */
int kept_open(struct kept **out, const struct kept_request *req, const struct dataset *ds,
	      struct mlgen_err *err);
void kept_free(struct kept *k); /* NULL is fine */

/*
 * What is known of a file that has this name and stamp: 1 with its findings and the words behind
 * those in `words`; 0: nothing; or -errno with err, where words could not be put down. One cursor a
 * thread.
 */
int kept_take(struct kept *k, struct scan_cursor *cursor, const char *name,
	      const struct scan_stamp *stamp, struct scan_cached *found, struct namefile *words,
	      struct mlgen_err *err);

/* What could not be taken; once all files were asked for. */
void kept_tell(const struct kept *k);

/*
 * What comes next takes the old one's place: of the scanned part so many files with names of so
 * many bytes, which the caller adds to k->writer, and of the other part what there was. 0, or
 * -errno: kept_fail tells it.
 */
int kept_begin(struct kept *k, uint64_t files, uint64_t name_bytes);
int kept_end(struct kept *k);
/* The run goes on without. */
void kept_fail(struct kept *k, int code);
