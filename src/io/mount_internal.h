/* SPDX-License-Identifier: Apache-2.0 */
/* mount_internal.h - what is known of kinds of filesystems, for src/io alone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "io/mount.h"

/* ---- what a Lustre client has read from its servers ---- */

/* "scratch" of "192.0.2.5@o2ib:/scratch/below". "" where there is none. */
void lustre_name(char *out, size_t size, const char *mount_source);

struct lustre_stat {
	uint64_t server_read_bytes;
	uint64_t reads; /* bulk requests */
	unsigned osts;  /* storage targets of the filesystem; also where the
			 * statistics cannot be read */
};

/*
 * Since they were cleared. The statistics of llite, at the top of the client, count what programs
 * read, from its cache too; those of the osc and mdc devices below count bulk transfers from
 * servers, which is what is wanted. They lie in /proc/fs/lustre or, for root only, in debugfs. 0,
 * or -ENODATA where none can be read. `root` is "" but in tests.
 */
int lustre_read(struct lustre_stat *s, const char *root, const char *name);

/* ---- what an NFS mount has read from its server ---- */

struct nfsstat {
	uint64_t server_read_bytes; /* the page cache's hits are not in it */
	uint64_t reads;             /* READ requests */
};

/*
 * Since it was mounted at `target`; the last one where several are stacked.
 * 0, or -ENODATA where there is no such mount. `root` is "" but in tests.
 */
int nfsstat_read(struct nfsstat *s, const char *root, const char *target);
