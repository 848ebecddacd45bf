/* SPDX-License-Identifier: Apache-2.0 */
/* devices_internal.h - counters of one source. */
#pragma once

#include <stdint.h>

#include "io/devices.h"

struct nfsstat {
	uint64_t server_read_bytes; /* the page cache's hits are not in it */
	uint64_t reads;             /* READ requests */
};

/*
 * Since it was mounted at `target`; the last one where several are stacked.
 * 0, or -ENODATA where there is no such mount. `root` is "" but in tests.
 */
int nfsstat_read(struct nfsstat *s, const char *root, const char *target);
