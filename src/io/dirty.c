/* SPDX-License-Identifier: Apache-2.0 */
/* dirty.c - see dirty.h. */
#include "io/dirty.h"

#include <errno.h>

#include "base/util.h"
#include "io/sysfile.h"

int dirty_bytes(uint64_t *bytes, const char *root)
{
	/* Kernels without NFS, and some new ones, have no NFS_Unstable. */
	static const char *const keys[] = { "Dirty", "Writeback", "NFS_Unstable" };
	unsigned found = 0;

	*bytes = 0;
	for (unsigned i = 0; i < ARRAY_LEN(keys); i++) {
		uint64_t n = 0;
		int rc = sysfile_keyed(&n, root, "/proc/meminfo", keys[i]);

		if (rc < 0 && rc != -ENODATA)
			return rc;
		found += rc == 0;
		*bytes += n;
	}
	return found ? 0 : -ENODATA;
}
