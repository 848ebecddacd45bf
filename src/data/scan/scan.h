/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - the files that are there, of whatever name and size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * Every folder is listed once. Names go to a file without a name in $TMPDIR (else /tmp); in memory
 * are 16 bytes for each file. Files are numbered in the byte order of their paths, whatever the
 * order in which filesystems list them. Nothing is changed.
 *
 * Links are followed, to files and to folders, each way once: of what several links lead to the
 * first in order is taken. What cannot be read as a file (a socket, a link that leads nowhere or
 * back to where it lies, what this user may not read) is counted, the first few are named on
 * stderr, and by scan_errors the job is refused (SCAN_SKIP_DAMAGED, too, which is about what files
 * hold: found.h) or goes without them. Empty files, of which there is nothing to read, are left out
 * in either case, and mlgen's own (manifest, lock, unfinished files) are not seen at all.
 */
/* The manifest of a data set that mlgen has made, which no scan sees; manifest.h reads and writes
 * it. */
#define MANIFEST_NAME "mlgen-dataset.json"

struct scan;

struct scan_skipped {
	uint64_t empty;
	uint64_t special;    /* sockets, pipes, devices */
	uint64_t links;      /* that lead nowhere, or in a circle */
	uint64_t unreadable; /* files and folders: no permission, an error */
	uint64_t too_long;   /* paths */
	uint64_t missing;    /* of a list */
	uint64_t folders;    /* in place of a list's files */
	uint64_t again;      /* by another link, or by another place */
	uint64_t deeper;     /* folders */
};

/* Which files of a dataset that is laid out as train/ and valid/ (scan_places.h); of others all are
 * the training's. */
enum scan_part { SCAN_TRAINING, SCAN_EVALUATION };

/* What is listed; strings are the caller's. */
struct scan_request {
	/* One or several (scan_places.h); with a list where its relative paths are, or NULL. */
	const char *directory;
	const char *file_list; /* scan_list.h; NULL = none */
	enum scan_part part;
	bool is_laid_out; /* the one directory is known to have train/ */
	/* A file that is none of them, wherever it lies; NULL = there is none. */
	const char *except;
	enum job_scan_errors errors;
	uint64_t depth; /* 1: files of the directory itself; 0 = no limit */
	bool is_quiet;  /* what is to be noted has been told before */
};

/*
 * 0, or -errno with err: no such directory, no file in it that can be read, with SCAN_REFUSE
 * -EACCES (something is unreadable) or -EINVAL (the others), with SCAN_EVALUATION -EINVAL (there is
 * no valid/).
 */
int scan_new(struct scan **out, const struct scan_request *req, struct mlgen_err *err);
void scan_free(struct scan *s); /* NULL is fine */

/* What one process of a job has listed, for the others (hosts/relay.h), which then have the same
 * files in the same order, and tell nothing of them. `beside` as of namefile_open. 0 or -errno with
 * err. */
struct relay;
int scan_give(const struct scan *s, struct relay *to, struct mlgen_err *err);
int scan_take(struct scan **out, const char *beside, struct relay *from, struct mlgen_err *err);

/* The folder below which all names are, and the first of the places that were asked for, whose
 * storage it is. */
const char *scan_base(const struct scan *s);
const char *scan_place(const struct scan *s);

uint64_t scan_files(const struct scan *s);
uint64_t scan_bytes(const struct scan *s); /* of all files */
uint64_t scan_size(const struct scan *s, uint64_t file);

/* Any thread: its path below the base. Its length, -ENAMETOOLONG, or
 * -errno of reading it back. */
int scan_name(const struct scan *s, uint64_t file, char *out, size_t size);
size_t scan_name_bytes(const struct scan *s, uint64_t file);
/* The same, with the time of its last change when it was listed. */
int scan_name_and_time(const struct scan *s, uint64_t file, char *out, size_t size,
		       int64_t *mtime_ns);

void scan_skipped(const struct scan *s, struct scan_skipped *out);

/* The samples that a list gives of its files (listed.h), once, to the caller; NULL: it has paths
 * alone, or there is none. */
struct listed;
struct listed *scan_take_listed(struct scan *s);
bool scan_has_listed(const struct scan *s);

/* A note to the person at the terminal, of what was scanned. */
__attribute__((format(printf, 2, 3))) void scan_note(const struct scan *s, const char *fmt, ...);
bool scan_is_quiet(const struct scan *s);

/* Only these files are left, in their order. */
void scan_keep(struct scan *s, bool (*keep)(const void *arg, uint64_t file), const void *arg);

/* The same by their names, below the base; one that cannot be read back is "". */
void scan_keep_named(struct scan *s, bool (*keep)(void *arg, const char *name), void *arg);
