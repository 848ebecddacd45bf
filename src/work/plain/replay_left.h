/* SPDX-License-Identifier: Apache-2.0 */
/* replay_left.h - what of a trace is not replayed, counted by its reason. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum replay_left {
	LEFT_GETDENTS, /* an engine has no such call */
	LEFT_ADVISE,
	LEFT_MAPPING, /* mmap, munmap: pages are touched without */
	LEFT_SYSTEM,  /* on files of the system and the program (scope.h) */
	LEFT_NO_FILE, /* nothing names it */
	LEFT_NO_OFFSET,
	LEFT_FAILED,    /* reads and writes, which moved nothing */
	LEFT_TOO_LARGE, /* for a file: REPLAY_LARGEST_BYTES */
	LEFT_CLOSE,     /* of what another thread had opened */
	LEFT_REASONS
};

struct replay_left_counts {
	uint64_t count[LEFT_REASONS];
	uint64_t writes; /* of LEFT_NO_OFFSET: files are shorter without them */
};

/* "12 getdents, 3 without an offset"; "" where there is none. The sum. */
uint64_t replay_left_put(const struct replay_left_counts *l, char *out, size_t bytes);
