/* SPDX-License-Identifier: Apache-2.0 */
/* follow.h - where a thread left off in a file: is its next access in sequence? */
#pragma once

#include <stdint.h>

/*
 * Remembers the last places, a quarter of a million of them; a thread that comes back to a file
 * that many others came after begins anew.
 */
struct follow;

enum follow_kind {
	FOLLOW_FIRST,      /* nothing before it, or not since the file's open */
	FOLLOW_SEQUENTIAL, /* begins where the one before ended */
	FOLLOW_AHEAD,      /* leaves out some bytes */
	FOLLOW_BACK,       /* begins before that end */
};

struct follow *follow_new(void);
void follow_free(struct follow *f); /* NULL is fine */

/* The thread has bytes from `from` up to, and without, `end`. */
enum follow_kind follow_next(struct follow *f, uint32_t file, uint32_t thread, uint64_t from,
			     uint64_t end);
/* The same; *apart is how many bytes lie between that end and `from`, 0 where nothing was before
 * it. */
enum follow_kind follow_apart(struct follow *f, uint32_t file, uint32_t thread, uint64_t from,
			      uint64_t end, uint64_t *apart);
/* It opens, or closes, the file. */
void follow_forget(struct follow *f, uint32_t file, uint32_t thread);
