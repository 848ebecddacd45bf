/* SPDX-License-Identifier: Apache-2.0 */
/* devstat.c - see devstat.h. */
#include "io/devstat.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "io/sysfile.h"

/* dm on md on dm on disks is deep already. */
#define MOST_LEVELS 8

static FILE *open_stat(const char *root, const char *name)
{
	/* Partitions, which can be parts of md and dm, are not in the first. */
	static const char *const folders[] = { "block", "class/block" };
	char path[PATH_MAX];
	FILE *f = NULL;

	for (size_t i = 0; !f && i < ARRAY_LEN(folders); i++) {
		snprintf(path, sizeof(path), "%s/sys/%s/%s/stat", root, folders[i], name);
		f = fopen(path, "re");
	}
	return f;
}

static bool devstat_has(const struct devset *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (!strcmp(set->names[i], name))
			return true;
	return false;
}

static void devset_add(struct devset *set, const char *name)
{
	if (strlen(name) >= DEVSET_NAME_BYTES || devstat_has(set, name))
		return;
	set->names = mem_realloc(set->names, (set->count + 1) * sizeof(*set->names));
	snprintf(set->names[set->count++], DEVSET_NAME_BYTES, "%s", name);
}

/* "nvme3n1" has the paths nvme3cXn1, one for each controller. */
static bool is_path_of(const char *name, const char *head)
{
	unsigned subsystem, controller, disk, of_subsystem, of_disk;
	int end = 0, of_end = 0;

	if (sscanf(head, "nvme%un%u%n", &of_subsystem, &of_disk, &of_end) != 2 || head[of_end])
		return false;
	return sscanf(name, "nvme%uc%un%u%n", &subsystem, &controller, &disk, &end) == 3 &&
	       !name[end] && subsystem == of_subsystem && disk == of_disk;
}

enum counting { COUNTS, COUNTED_NOTHING, COUNTS_NOTHING };

/* A device that was never read says nothing about whether it would count. */
static enum counting devstat_look(const char *root, const char *name)
{
	char path[PATH_MAX];
	struct devstat s;
	uint64_t is_on;

	snprintf(path, sizeof(path), "/sys/block/%s/queue/iostats", name);
	if (devstat_read(&s, root, name) || (sysfile_u64(&is_on, root, path) == 0 && !is_on))
		return COUNTS_NOTHING;
	return s.read_ios ? COUNTS : COUNTED_NOTHING;
}

static int devstat_find(struct devset *set, const char *root, const char *name, unsigned levels)
{
	enum counting counting = devstat_look(root, name);
	struct devset below = { 0 };
	int rc = 0;

	if (counting != COUNTS && levels > 0)
		devset_below(&below, root, name);
	if (below.count == 0) {
		if (counting == COUNTS_NOTHING)
			return -ENODATA;
		devset_add(set, name);
	}
	for (size_t i = 0; rc == 0 && i < below.count; i++)
		rc = devstat_find(set, root, below.names[i], levels - 1);
	devset_fini(&below);
	return rc;
}

int devstat_read(struct devstat *s, const char *root, const char *name)
{
	*s = (struct devstat){ 0 };
	if (!*name)
		return -ENODATA;
	FILE *f = open_stat(root, name);
	if (!f)
		return -ENODATA;
	int n = fscanf(f,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		       &s->read_ios, &s->read_merges, &s->read_sectors, &s->read_ticks_ms,
		       &s->write_ios, &s->write_merges, &s->write_sectors, &s->write_ticks_ms,
		       &s->in_flight, &s->io_ticks_ms, &s->in_queue_ms);
	fclose(f);
	return n == 11 ? 0 : -ENODATA;
}

void devstat_subtract(struct devstat *to, const struct devstat *from)
{
	to->read_ios -= from->read_ios;
	to->read_merges -= from->read_merges;
	to->read_sectors -= from->read_sectors;
	to->read_ticks_ms -= from->read_ticks_ms;
	to->write_ios -= from->write_ios;
	to->write_merges -= from->write_merges;
	to->write_sectors -= from->write_sectors;
	to->write_ticks_ms -= from->write_ticks_ms;
	to->io_ticks_ms -= from->io_ticks_ms;
	to->in_queue_ms -= from->in_queue_ms;
}

void devstat_add(struct devstat *to, const struct devstat *from)
{
	to->read_ios += from->read_ios;
	to->read_merges += from->read_merges;
	to->read_sectors += from->read_sectors;
	to->read_ticks_ms += from->read_ticks_ms;
	to->write_ios += from->write_ios;
	to->write_merges += from->write_merges;
	to->write_sectors += from->write_sectors;
	to->write_ticks_ms += from->write_ticks_ms;
	to->in_flight += from->in_flight;
	to->io_ticks_ms += from->io_ticks_ms;
	to->in_queue_ms += from->in_queue_ms;
}

void devset_fini(struct devset *set)
{
	mem_free(set->names);
	*set = (struct devset){ 0 };
}

void devset_below(struct devset *set, const char *root, const char *name)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/block/%s/slaves", root, name);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			devset_add(set, e->d_name);
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "%s/sys/block", root);
	dir = strncmp(name, "nvme", 4) ? NULL : opendir(path);
	while (dir && (e = readdir(dir)))
		if (is_path_of(e->d_name, name))
			devset_add(set, e->d_name);
	if (dir)
		closedir(dir);
}

int devset_counting(struct devset *set, const char *root, const char *name)
{
	int rc = *name ? devstat_find(set, root, name, MOST_LEVELS) : -ENODATA;

	if (rc)
		devset_fini(set);
	return rc;
}

int devset_read(struct devstat *sum, const struct devset *set, const char *root)
{
	struct devstat one;

	*sum = (struct devstat){ 0 };
	for (size_t i = 0; i < set->count; i++) {
		if (devstat_read(&one, root, set->names[i]))
			return -ENODATA;
		devstat_add(sum, &one);
	}
	return set->count ? 0 : -ENODATA;
}
