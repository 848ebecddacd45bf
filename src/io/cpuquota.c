/* SPDX-License-Identifier: Apache-2.0 */
/* cpuquota.c - see cpuquota.h; the kernel's sched-bwc.rst, cpuacct.rst, cgroup-v2.rst. */
#include "io/cpuquota.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/cgroup.h"
#include "io/sysfile.h"

/* Where cgroup_walk finds the groups of these controllers. */
#define CPU_MOUNT "/sys/fs/cgroup/cpu"
#define CPUACCT_MOUNT "/sys/fs/cgroup/cpuacct"

static void join_path(char *out, const char *dir, const char *name)
{
	snprintf(out, CGROUP_PATH_BYTES, "%.*s/%s", CGROUP_PATH_BYTES - 32, dir, name);
}

/* "max 100000" or "150000 100000" */
static bool read_v2(uint64_t *quota, uint64_t *period, const char *root, const char *dir)
{
	char path[CGROUP_PATH_BYTES], line[64];

	join_path(path, dir, "cpu.max");
	return sysfile_line(line, sizeof(line), root, path) == 0 &&
	       sscanf(line, "%" SCNu64 " %" SCNu64, quota, period) == 2;
}

/* A quota of -1, which is no number here, is none. */
static bool read_v1(uint64_t *quota, uint64_t *period, const char *root, const char *dir)
{
	char path[CGROUP_PATH_BYTES];

	join_path(path, dir, "cpu.cfs_quota_us");
	if (sysfile_u64(quota, root, path))
		return false;
	join_path(path, dir, "cpu.cfs_period_us");
	return sysfile_u64(period, root, path) == 0;
}

double cpuquota_of(const char *root, const char *dir, bool is_v2)
{
	uint64_t quota, period;
	bool has =
		is_v2 ? read_v2(&quota, &period, root, dir) : read_v1(&quota, &period, root, dir);

	return has && quota && period ? (double)quota / (double)period : (double)INFINITY;
}

struct search {
	double cpus;
	char dir[CGROUP_PATH_BYTES]; /* of the group that has it */
	bool is_v2;
	uint64_t used_ns;
};

static void see_quota(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct search *s = arg;
	double cpus = cpuquota_of(root, dir, is_v2);

	if (!(cpus < s->cpus))
		return;
	s->cpus = cpus;
	s->is_v2 = is_v2;
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
}

/* Version 1 counts CPU time with another controller. Mounted elsewhere, it has groups of its own:
 * only one of the same name holds the same processes. */
static void see_use(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct search *s = arg;
	char path[CGROUP_PATH_BYTES];
	uint64_t used;

	if (is_v2 || strncmp(s->dir, CPU_MOUNT, strlen(CPU_MOUNT)) != 0 ||
	    strcmp(s->dir + strlen(CPU_MOUNT), dir + strlen(CPUACCT_MOUNT)) != 0)
		return;
	join_path(path, dir, "cpuacct.usage");
	if (sysfile_u64(&used, root, path) == 0)
		s->used_ns = used;
}

static void find_use(struct search *s, const char *root)
{
	char path[CGROUP_PATH_BYTES];
	uint64_t used;

	if (s->is_v2) {
		join_path(path, s->dir, "cpu.stat");
		if (sysfile_keyed(&used, root, path, "usage_usec") == 0)
			s->used_ns = used * 1000;
		return;
	}
	join_path(path, s->dir, "cpuacct.usage");
	if (sysfile_u64(&used, root, path) == 0)
		s->used_ns = used;
	else
		cgroup_walk(root, "cpuacct", see_use, s);
}

void cpuquota_read(struct cpuquota *q, const char *root)
{
	struct search s = { .cpus = (double)INFINITY, .used_ns = UINT64_MAX };

	cgroup_walk(root, "cpu", see_quota, &s);
	if (!isinf(s.cpus))
		find_use(&s, root);
	*q = (struct cpuquota){ s.cpus, s.used_ns };
}
