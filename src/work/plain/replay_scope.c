/* SPDX-License-Identifier: Apache-2.0 */
/* replay_scope.c - see replay_scope.h. */
#include "work/plain/replay_scope.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "score/scope.h"

/* Linux, admin-guide/devices.txt, and what udev names below /dev. */
static const char *const disks[] = {
	"sd",      "hd",    "vd",  "xvd", "nvme", "mmcblk", "loop", "dm-",  "md",
	"mapper/", "disk/", "nbd", "rbd", "ram",  "zd",     "zram", "pmem", "bcache",
};

static bool is_disk(const char *path)
{
	static const char folder[] = "/dev/";

	if (strncmp(path, folder, sizeof(folder) - 1) != 0)
		return false;
	path += sizeof(folder) - 1;
	for (size_t i = 0; i < ARRAY_LEN(disks); i++)
		if (strncmp(path, disks[i], strlen(disks[i])) == 0)
			return true;
	return false;
}

bool replay_scope_has(const char *path)
{
	return scope_has(path) || is_disk(path);
}
