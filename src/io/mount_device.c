/* SPDX-License-Identifier: Apache-2.0 */
/* mount_device.c - the disk below a mount, as sysfs tells. */
#include "io/mount_inside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/devstat.h"
#include "io/sysfile.h"

/* The last component of the link `dir`/`name`. "" where there is none. */
static void link_name(char *out, size_t size, const char *dir, const char *name)
{
	char path[PATH_MAX + 64], to[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = readlink(path, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	slash = strrchr(to, '/');
	mount_put(out, size, slash ? slash + 1 : to);
}

static bool has_entry(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* "nvme", over a fabric "nvme-rdma". */
static void put_nvme_kind(struct mount *m, const char *disk)
{
	char transport[16];

	mount_put(m->device_kind, sizeof(m->device_kind), "nvme");
	if (sysfile_line(transport, sizeof(transport), disk, "/device/transport") == 0 &&
	    strcmp(transport, "pcie") != 0)
		snprintf(m->device_kind, sizeof(m->device_kind), "nvme-%s", transport);
}

/* The bus the disk hangs on; what has none is named by its driver. */
static void put_kind(struct mount *m, const char *disk)
{
	static const char *const stacked[][2] = {
		{ "dm", "device-mapper" },
		{ "md", "md" },
		{ "loop", "loop" },
	};

	link_name(m->device_kind, sizeof(m->device_kind), disk, "device/subsystem");
	if (strncmp(m->device_kind, "nvme", 4) == 0)
		put_nvme_kind(m, disk);
	for (size_t i = 0; !m->device_kind[0] && i < 3; i++)
		if (has_entry(disk, stacked[i][0]))
			mount_put(m->device_kind, sizeof(m->device_kind), stacked[i][1]);
}

/* Of NVMe the paths are disks of their own, which know the transport; of dm the parts are paths if
 * its table is one of multipath. */
static void put_paths(struct mount *m, const char *root, const char *disk)
{
	struct devset below = { 0 };
	char path[PATH_MAX], uuid[16] = "";

	sysfile_line(uuid, sizeof(uuid), disk, "/dm/uuid");
	if (!strncmp(m->device, "nvme", 4) || !strncmp(uuid, "mpath-", 6))
		devset_below(&below, root, m->device);
	m->paths = (unsigned)below.count;
	if (below.count && !uuid[0]) {
		snprintf(path, sizeof(path), "%s/sys/block/%s", root, below.names[0]);
		put_nvme_kind(m, path);
	}
	devset_fini(&below);
}

/* "mq-deadline [none]": the one in brackets; a lone word is it, too. */
static void put_scheduler(struct mount *m, const char *disk)
{
	char line[128], *open, *close;

	if (sysfile_line(line, sizeof(line), disk, "/queue/scheduler"))
		return;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	if (close)
		*close = '\0';
	mount_put(m->scheduler, sizeof(m->scheduler), close ? open + 1 : line);
}

/* Of SCSI and NVMe disks; what has none is no piece of hardware. */
static void put_model(struct mount *m, const char *disk)
{
	char line[sizeof(m->device_model)];

	if (sysfile_line(line, sizeof(line), disk, "/device/model") == 0)
		mount_put(m->device_model, sizeof(m->device_model), line);
}

/* The sysfs directory of the whole disk. False: no block device. */
static bool find_disk(char *disk, const char *root, unsigned dev_major, unsigned dev_minor)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, dev_major, dev_minor);
	if (dev_major == 0 || !realpath(path, disk))
		return false;
	slash = strrchr(disk, '/');
	if (slash && has_entry(disk, "partition"))
		*slash = '\0';
	return true;
}

/* Network filesystems have a read-ahead without a disk. */
static void put_bdi(struct mount *m, const char *root)
{
	char path[96];
	uint64_t kib;

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", m->dev_major,
		 m->dev_minor);
	if (sysfile_u64(&kib, root, path) == 0)
		m->read_ahead_bytes = kib * 1024;
}

void mount_put_device(struct mount *m, const char *root)
{
	char disk[PATH_MAX], line[32];
	uint64_t kib;

	if (!find_disk(disk, root, m->dev_major, m->dev_minor)) {
		put_bdi(m, root);
		m->dev_major = m->dev_minor = 0;
		return;
	}
	mount_put(m->device, sizeof(m->device), strrchr(disk, '/') + 1);
	if (sysfile_line(line, sizeof(line), disk, "/dev") ||
	    sscanf(line, "%u:%u", &m->dev_major, &m->dev_minor) != 2)
		m->dev_major = m->dev_minor = 0;
	put_kind(m, disk);
	put_paths(m, root, disk);
	put_scheduler(m, disk);
	put_model(m, disk);
	if (sysfile_u64(&kib, disk, "/queue/read_ahead_kb") == 0)
		m->read_ahead_bytes = kib * 1024;
}
