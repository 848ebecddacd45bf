/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - the files that lie in a directory, of whatever name and size. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * Every folder is listed once. Names go to a file without a name in $TMPDIR
 * (else /tmp); in memory are 16 bytes for each file. Files are numbered in the
 * byte order of their paths below the directory, whatever the order in which
 * the filesystem lists them. Nothing in the directory is changed.
 *
 * Links are followed, to files and to folders. What cannot be read as a file (a
 * socket, a link that leads nowhere or back to where it lies, what this user
 * may not read) is counted, the first few are named on stderr, and by
 * scan_errors the job is refused or goes without them. Empty files, of which
 * there is nothing to read, are left out in either case, and mlgen's own
 * (manifest, lock, unfinished files) are not seen at all.
 */
struct scan;

struct scan_skipped {
	uint64_t empty;
	uint64_t special;    /* sockets, pipes, devices */
	uint64_t links;      /* that lead nowhere, or in a circle */
	uint64_t unreadable; /* files and folders: no permission, an error */
	uint64_t too_long;   /* paths */
};

/*
 * 0, or -errno with err: no such directory, no file in it that can be read,
 * with SCAN_REFUSE -EACCES (something is unreadable) or -EINVAL (the others).
 */
int scan_new(struct scan **out, const char *directory,
	     enum job_scan_errors errors, struct mlgen_err *err);
void scan_free(struct scan *s); /* NULL is fine */

uint64_t scan_files(const struct scan *s);
uint64_t scan_bytes(const struct scan *s); /* of all files */
uint64_t scan_size(const struct scan *s, uint64_t file);

/* Any thread: its path below the directory. Its length, -ENAMETOOLONG, or
 * -errno of reading it back. */
int scan_name(const struct scan *s, uint64_t file, char *out, size_t size);

void scan_skipped(const struct scan *s, struct scan_skipped *out);

/* Only these files are left, in their order. */
void scan_keep(struct scan *s, bool (*keep)(const void *arg, uint64_t file),
	       const void *arg);
