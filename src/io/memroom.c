/* SPDX-License-Identifier: Apache-2.0 */
/* memroom.c - see memroom.h; the kernel's cgroup-v1/memory.rst and cgroup-v2.rst. */
#include "io/memroom.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/units.h"
#include "base/util.h"
#include "io/cgroup.h"
#include "io/sysfile.h"

/* Of a group, in both versions. */
struct group_files {
	const char *limit, *used;
	/* Page cache, of memory.stat: of the group and those below it. */
	const char *caches[2];
};

static const struct group_files versions[] = {
	{ "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_inactive_file", "total_active_file" } },
	{ "memory.max", "memory.current", { "inactive_file", "active_file" } },
};

static uint64_t less(uint64_t all, uint64_t used)
{
	return all > used ? all - used : 0;
}

/* Where there are very many, in the place of one that leaves most. */
static struct memroom_place *new_place(struct memroom *m)
{
	struct memroom_place *most = &m->places[0];

	if (m->place_count < MEMROOM_PLACES)
		return &m->places[m->place_count++];
	for (size_t i = 1; i < MEMROOM_PLACES; i++)
		if (m->places[i].bytes > most->bytes)
			most = &m->places[i];
	return most;
}

static void add_place(struct memroom *m, const struct memroom_place *p)
{
	*new_place(m) = *p;
	if (p->bytes >= m->bytes)
		return;
	m->bytes = p->bytes;
	memcpy(m->of, p->of, sizeof(m->of));
}

static void see_host(struct memroom *m, const char *root)
{
	struct memroom_place p = { 0 };
	char text[UNITS_TEXT_BYTES];

	m->bytes = UINT64_MAX;
	if (sysfile_keyed(&p.bytes, root, "/proc/meminfo", "MemAvailable") &&
	    sysfile_keyed(&p.bytes, root, "/proc/meminfo", "MemTotal"))
		return;
	snprintf(p.of, sizeof(p.of), "this host has %s available",
		 units_human_bytes(text, (double)p.bytes));
	add_place(m, &p);
}

static int read_file(uint64_t *out, const char *root, const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return sysfile_u64(out, root, path);
}

static uint64_t cached_bytes(const struct group_files *f, const char *root, const char *dir)
{
	char path[PATH_MAX];
	uint64_t all = 0, n;

	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	for (size_t i = 0; i < ARRAY_LEN(f->caches); i++)
		if (sysfile_keyed(&n, root, path, f->caches[i]) == 0)
			all += n;
	return all;
}

struct groups {
	struct memroom *m;
	const char *but_group;
};

static void see_group(void *arg, const char *root, const char *dir, bool is_v2)
{
	const struct group_files *f = &versions[is_v2];
	char text[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];
	const struct groups *g = arg;
	struct memroom_place p = { 0 };
	char path[PATH_MAX];
	uint64_t limit, used;
	struct stat st;

	/* "max" is no number. */
	if (strcmp(dir, g->but_group) == 0 || read_file(&limit, root, dir, f->limit))
		return;
	if (read_file(&used, root, dir, f->used))
		used = 0;
	p.bytes = less(limit, less(used, cached_bytes(f, root, dir)));
	snprintf(p.of, sizeof(p.of), "the control group %.300s leaves %s of its %s", dir,
		 units_human_bytes(text, (double)p.bytes), units_human_bytes(of, (double)limit));
	/* By its path others may know another one: in containers. */
	snprintf(path, sizeof(path), "%s%s", root, dir);
	if (stat(path, &st) == 0) {
		p.id[0] = st.st_dev;
		p.id[1] = st.st_ino;
	}
	add_place(g->m, &p);
}

/* All private writable mappings count for both. */
static void see_limit(struct memroom *m, const char *root, __rlimit_resource_t resource,
		      const char *key, const char *option)
{
	char text[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];
	struct rlimit limit;
	uint64_t used, left;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    sysfile_keyed(&used, root, "/proc/self/status", key))
		return;
	left = less(limit.rlim_cur, used);
	if (left >= m->address_bytes)
		return;
	m->address_bytes = left;
	snprintf(m->address_of, sizeof(m->address_of), "%s leaves %s of its %s", option,
		 units_human_bytes(text, (double)left),
		 units_human_bytes(of, (double)limit.rlim_cur));
}

void memroom_read(struct memroom *m, const char *root, const char *but_group)
{
	struct groups g = { m, but_group };

	*m = (struct memroom){ .address_bytes = UINT64_MAX };
	see_host(m, root);
	cgroup_walk(root, "memory", see_group, &g);
	see_limit(m, root, RLIMIT_AS, "VmSize", "ulimit -v");
	see_limit(m, root, RLIMIT_DATA, "VmData", "ulimit -d");
}
