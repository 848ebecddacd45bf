/* SPDX-License-Identifier: Apache-2.0 */
/* spill.h - an array that grows, in memory while it is small and then in a file without a name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A mapping of a file in $TMPDIR (or /tmp) can leave memory when others need it; where none can be
 * had, it stays in memory as it is. A zeroed one is empty.
 */
struct spill {
	void *at;     /* moves when it grows */
	size_t bytes; /* that may be used; new ones are zero */
	size_t most;  /* in memory; 0 = 64 MiB */
	int fd;       /* + 1; 0 = in memory */
	bool no_file; /* it was tried */
};

/* Have at least so many bytes. Short of memory: as mem.h says. */
void spill_need(struct spill *s, size_t bytes);
void spill_free(struct spill *s);
