/* SPDX-License-Identifier: Apache-2.0 */
/* storage.h - which of the filesystems that a trace names held what was read and written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { STORAGE_MOUNTS = 200 }; /* of more, those behind are not told apart */

/* A path's is that with the longest mount point in front of it, of several at one point the last. A
 * zeroed one has none. */
struct storage {
	struct storage_mount {
		char *text;  /* "FSTYPE MOUNTPOINT SOURCE"; owned */
		char *point; /* of that, as paths have it; owned */
		uint64_t bytes;
	} at[STORAGE_MOUNTS];
	size_t count;
};

/* As the trace has it. */
void storage_add(struct storage *s, const char *text);
/* From 1; 0 = none is known. */
size_t storage_of(const struct storage *s, const char *path);
/* So many bytes were read or written on that. */
void storage_moved(struct storage *s, size_t mount, uint64_t bytes);

/* The texts, sorted, of those that had a hundredth or more of what was moved, or of all where that
 * is not known; the caller's. NULL = there is none. */
char *storage_text(const struct storage *s);
void storage_fini(struct storage *s);
