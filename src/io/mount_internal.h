/* SPDX-License-Identifier: Apache-2.0 */
/* mount_internal.h - read counters of Lustre and NFS clients, for src/io alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/devices.h"

/* ---- bytes that a Lustre client has read from its servers ---- */

/* Get the name of the filesystem, such as "scratch" for "192.0.2.5@o2ib:/scratch/below"; "" if
 * there is none. */
void lustre_name(char *out, size_t size, const char *mount_source);

struct lustre_stat {
	uint64_t server_read_bytes;
	uint64_t reads; /* bulk requests */
	unsigned osts;  /* storage targets of the filesystem; known even if the statistics cannot be
			 * read */
};

/*
 * Read the statistics since they were cleared. Those of llite, at the top of the client, also count
 * reads that its cache served; the osc and mdc devices below count bulk transfers from servers,
 * which is the figure needed. They lie in /proc/fs/lustre or, for root only, in debugfs. 0, or
 * -ENODATA where none can be read. `root` is "" except in tests.
 */
int lustre_read(struct lustre_stat *s, const char *root, const char *name);

/* ---- bytes that an NFS mount has read from its server ---- */

struct nfsstat {
	uint64_t server_read_bytes; /* without hits of the page cache */
	uint64_t reads;             /* READ requests */
};

/*
 * Read the statistics of the mount at `target` since it was mounted; the last one where several are
 * stacked. 0, or -ENODATA where there is no such mount. `root` is "" except in tests.
 */
int nfsstat_read(struct nfsstat *s, const char *root, const char *target);
