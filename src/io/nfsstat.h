/* SPDX-License-Identifier: Apache-2.0 */
/* nfsstat.h - what an NFS mount has read from its server (/proc/self/mountstats). */
#pragma once

#include <stdint.h>

struct nfsstat {
	uint64_t server_read_bytes; /* the page cache's hits are not in it */
	uint64_t reads;             /* READ requests */
};

/*
 * Since it was mounted at `target`; the last one where several are stacked.
 * 0, or -ENODATA where there is no such mount. `root` is "" but in tests.
 */
int nfsstat_read(struct nfsstat *s, const char *root, const char *target);
