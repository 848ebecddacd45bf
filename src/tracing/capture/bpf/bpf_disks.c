/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_disks.c - see bpf_disks.h. */
#include "tracing/capture/bpf/bpf_disks.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/host.h"

#define DEEP 4 /* of stacked devices */

struct found_disks {
	uint32_t *list;
	size_t count, most;
};

static void add_disk(struct found_disks *f, uint32_t dev)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i] == dev)
			return;
	if (f->count < f->most)
		f->list[f->count++] = dev;
}

/* The device that FOLDER/dev says; 0 = none. */
static uint32_t device_in(const char *folder)
{
	unsigned major, minor;
	char line[64];

	if (sysfile_line(line, sizeof(line), folder, "/dev") ||
	    sscanf(line, "%u:%u", &major, &minor) != 2)
		return 0;
	return major << 20 | minor;
}

/* NOLINTNEXTLINE(misc-no-recursion): DEEP at most */
static void add_folder(struct found_disks *f, const char *folder, int deep)
{
	char path[PATH_MAX], inner[PATH_MAX];
	DIR *slaves;

	if (snprintf(path, sizeof(path), "%s/slaves", folder) >= (int)sizeof(path))
		return;
	add_disk(f, device_in(folder));
	slaves = deep ? opendir(path) : NULL;
	if (!slaves)
		return;
	for (struct dirent *d; (d = readdir(slaves));) {
		if (d->d_name[0] == '.' || snprintf(inner, sizeof(inner), "/sys/class/block/%s",
						    d->d_name) >= (int)sizeof(inner))
			continue;
		add_disk(f, device_in(inner));
		if (realpath(inner, path))
			add_folder(f, path, deep - 1);
	}
	closedir(slaves);
}

size_t disks_below(uint32_t dev, uint32_t *disks, size_t most)
{
	struct found_disks f = { disks, 0, most };
	char link[64], folder[PATH_MAX], part[PATH_MAX + 16];

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	if (!realpath(link, folder))
		return 0;
	snprintf(part, sizeof(part), "%s/partition", folder);
	if (access(part, F_OK) == 0) {
		char *slash = strrchr(folder, '/');

		if (slash)
			*slash = '\0';
	}
	add_folder(&f, folder, DEEP);
	return f.count;
}

void disk_name(char *out, size_t bytes, uint32_t dev)
{
	char link[64], folder[PATH_MAX];
	const char *slash = NULL;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	if (realpath(link, folder))
		slash = strrchr(folder, '/');
	if (slash)
		snprintf(out, bytes, "/dev/%s", slash + 1);
	else
		snprintf(out, bytes, "(disk %u:%u)", dev >> 20, dev & 0xfffff);
}
