/* SPDX-License-Identifier: Apache-2.0 */
/* memsource.h - who counts the bytes that storage delivered, and not memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/devstat.h"
#include "io/mount.h"

/*
 * What jobs read, less what storage delivered meanwhile, came from this host's memory. Which
 * counter tells that depends on what is mounted:
 *   block devices    their own counters, of all who read from them
 *   NFS              mountstats: bytes from the server, of all on this host
 *   Lustre           osc and mdc statistics, the same
 *   others           /proc/self/io, what this process caused to be read;
 *                    not every filesystem counts there
 *   none of them     unknown
 */
enum memsource_kind {
	MEMSOURCE_NONE,
	MEMSOURCE_DEVICE,
	MEMSOURCE_NFS,
	MEMSOURCE_LUSTRE,
	MEMSOURCE_PROCESS,
};

struct memsource {
	enum memsource_kind kind;
	const char *name; /* as reports have it; "unknown" for none */
	char scope[256];  /* with the same kind: the same bytes are counted */
	/* False: it may be that nobody counts. Believe it only where it accounts for most of the
	 * bytes. */
	bool is_sure;
	struct devset devices;
	char root[128];
};

struct memsource_count {
	uint64_t read_bytes;
	uint64_t reads; /* requests; UINT64_MAX = not counted */
};

/* The first that can be read for this mount. `root` is "" but in tests. */
void memsource_open(struct memsource *m, const struct mount *mount, const char *root);
void memsource_close(struct memsource *m); /* takes a zeroed struct */

/* So far, from a beginning that is not known. 0, or -ENODATA. Any thread. */
int memsource_read(const struct memsource *m, struct memsource_count *c);

/* Is what is read from `other` in the count of `m`? */
bool memsource_counts(const struct memsource *m, const struct memsource *other);
