/* SPDX-License-Identifier: Apache-2.0 */
/* scan_marks.h - what some files of a scan were like when they were listed, so that it can be seen
 * whether they still are. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Of every file it would be memory for each, and a system call: these are up to so many, evenly
 * spread over the order in which files were met. Their size and the time of their last change are
 * compared, not the inode, which some filesystems number anew.
 */
#define SCAN_MARKS 1024u

struct scan_mark {
	uint64_t name; /* as an entry's (scan_inside.h) */
	uint64_t size_bytes;
	struct timespec changed;
};

struct scan_marks {
	struct scan_mark *all; /* owned */
	uint64_t count, met, step;
};

/* One more file was listed; what it costs does not grow with them. */
void scan_marks_add(struct scan_marks *m, uint64_t name, const struct stat *st);
void scan_marks_fini(struct scan_marks *m); /* takes a zeroed one */

/* Looks at those among the first `files` of the scan again: how many, which of them have changed or
 * gone, and the path of the first of these. */
struct scan_changed {
	uint64_t looked_at, changed;
	char path[PATH_MAX];
};
struct scan;
void scan_look_again(const struct scan *s, uint64_t files, struct scan_changed *out);
