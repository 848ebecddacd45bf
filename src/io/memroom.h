/* SPDX-License-Identifier: Apache-2.0 */
/* memroom.h - memory that this process may still take: of the host, its control groups, its
 * limits. */
#pragma once

#include <stdint.h>

/*
 * In use are pages, address space is what is mapped: stacks of threads are large and hardly
 * touched. Nothing but a full page is taken from the host and from control groups (version 1 and 2,
 * the own one and all above), where page cache counts as free, as it goes when it must; mapping is
 * limited by ulimit -v and ulimit -d. Swap counts for nothing: who measures must not swap.
 */
#define MEMROOM_PLACES 8

struct memroom {
	uint64_t bytes;         /* to be used */
	uint64_t address_bytes; /* to be mapped; UINT64_MAX = no limit */
	/* What leaves so little, as a clause: "the control group ... leaves
	 * 3 MiB of its 16 MiB". */
	char of[512], address_of[128];
	/* All that leave so much, or of very many those that leave least: processes with the same
	 * number share what one leaves. */
	struct memroom_place {
		uint64_t id[2]; /* 0 = the host */
		uint64_t bytes;
		char of[512];
	} places[MEMROOM_PLACES];
	uint64_t place_count;
};

/* `root` is "" for this machine; tests put a tree of their own there, in which they are the
 * process, but for its limits. A group that is left out (a path below root; "" = none) is one whose
 * limit the caller knows. */
void memroom_read(struct memroom *m, const char *root, const char *but_group);
