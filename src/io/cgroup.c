/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c - CPU and memory limits of control groups, and a new group for this process. */
#include "io/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "base/util.h"

#define MOUNTS "/sys/fs/cgroup"
#define PREFIX "mlgen-" /* the process number follows */
#define OPTION "memory_limit: "

/* Visit the group and all above it, the top of the hierarchy last. */
static void walk_up(const char *root, const char *mount, const char *group, bool is_v2,
		    cgroup_visit *visit, void *arg)
{
	char at[PATH_MAX / 4], dir[PATH_MAX / 2];
	char *slash;

	snprintf(at, sizeof(at), "%s", group);
	do {
		slash = strrchr(at, '/');
		snprintf(dir, sizeof(dir), "%s%s", mount, at);
		visit(arg, root, dir, is_v2);
		if (slash)
			*slash = '\0';
	} while (slash);
}

void cgroup_walk(const char *root, const char *controller, cgroup_visit *visit, void *arg)
{
	char path[PATH_MAX], line[PATH_MAX / 4], mount[64], *kinds, *group;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		/* "4:memory:/a/b", or "0::/a/b" of version 2 */
		kinds = strchr(line, ':');
		group = kinds ? strchr(++kinds, ':') : NULL;
		if (!group)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (kinds[0] == '\0') {
			walk_up(root, MOUNTS, group, true, visit, arg);
			walk_up(root, MOUNTS "/unified", group, true, visit, arg);
		} else if (sysfile_list_has(kinds, controller, strlen(controller), ',')) {
			snprintf(mount, sizeof(mount), MOUNTS "/%s", controller);
			walk_up(root, mount, group, false, visit, arg);
		}
	}
	if (f)
		fclose(f);
}

/* ---- files of a group ---- */

static void join_path(char *out, const char *dir, const char *name)
{
	snprintf(out, CGROUP_PATH_BYTES, "%.*s/%s", CGROUP_PATH_BYTES - 40, dir, name);
}

static int cgroup_write(const char *root, const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s%s/%s", root, dir, name);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* Move this process. "0" stands for the writer, whose number may differ outside of a container. */
static int cgroup_enter(const char *root, const char *dir)
{
	return cgroup_write(root, dir, "cgroup.procs", "0\n");
}

/* ---- find the place for a new group ---- */

struct home {
	char dir[CGROUP_PATH_BYTES];
	bool is_found, is_v2;
};

/* Choose the first group of version 1, otherwise the first of version 2: only one of the versions
 * has the memory controller. The walk visits the nearest group first. */
static void choose_home(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct home *h = arg;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", root, dir);
	if (access(path, F_OK) != 0 || (h->is_found && (is_v2 || !h->is_v2)))
		return;
	*h = (struct home){ .is_found = true, .is_v2 = is_v2 };
	snprintf(h->dir, sizeof(h->dir), "%.*s", CGROUP_PATH_BYTES - 64, dir);
}

/* Does `name` list the memory controller? cgroup.subtree_control lists the controllers that the
 * group enables for its children, cgroup.controllers those that it could enable. */
static bool lists_memory(const char *root, const char *dir, const char *name)
{
	char path[CGROUP_PATH_BYTES], line[256];

	join_path(path, dir, name);
	return sysfile_line(line, sizeof(line), root, path) == 0 &&
	       sysfile_list_has(line, "memory", 6, ' ');
}

static bool has_own_limits(const char *root, const char *dir)
{
	static const char *const files[] = { "cpu.max", "memory.max", "memory.high", "io.max",
					     "cpuset.cpus" };
	char path[CGROUP_PATH_BYTES], line[256];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		join_path(path, dir, files[i]);
		if (sysfile_line(line, sizeof(line), root, path) == 0 && line[0] &&
		    strncmp(line, "max", 3) != 0)
			return true;
	}
	return false;
}

/* ---- make, enter and leave a group ---- */

/* An existing group with this process's number belonged to a dead process and still has its counts,
 * so it is removed. A group that contains processes belongs to another container. */
static int make_group(struct cgroup *g, const char *root, const char *parent)
{
	char path[PATH_MAX], process[64], procs[CGROUP_PATH_BYTES], name[32], line[64];
	const struct dirent *e;
	DIR *d;

	/* Remove the groups of mlgen processes that have ended; the kernel keeps a group that is
	 * in use. */
	snprintf(path, sizeof(path), "%s%s", root, parent);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		const char *number = e->d_name + strlen(PREFIX);

		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) || strlen(number) > 10 ||
		    strspn(number, "0123456789") != strlen(number))
			continue;
		snprintf(process, sizeof(process), "/proc/%.10s", number);
		if (access(process, F_OK) == 0)
			continue;
		snprintf(path, sizeof(path), "%s%s/%s", root, parent, e->d_name);
		rmdir(path);
	}
	if (d)
		closedir(d);

	snprintf(g->parent, sizeof(g->parent), "%s", parent);
	snprintf(name, sizeof(name), PREFIX "%ld", (long)getpid());
	join_path(g->path, parent, name);
	snprintf(path, sizeof(path), "%s%s", root, g->path);
	rmdir(path);
	if (mkdir(path, 0755) != 0) {
		int rc = -errno;

		join_path(procs, g->path, "cgroup.procs");
		if (rc != -EEXIST ||
		    (sysfile_line(line, sizeof(line), root, procs) == 0 && line[0]))
			return rc;
	}
	g->is_made = true;
	return 0;
}

static int cgroup_join(struct cgroup *g, const char *root)
{
	int rc = cgroup_enter(root, g->path);

	g->is_joined = rc == 0;
	return rc;
}

/* Set the limit and read back the kernel's value, which is in whole pages. */
static int set_limit(struct cgroup *g, const char *root, uint64_t bytes)
{
	const char *name = g->is_v2 ? "memory.max" : "memory.limit_in_bytes";
	char text[32], path[CGROUP_PATH_BYTES];
	int rc;

	snprintf(text, sizeof(text), "%" PRIu64 "\n", bytes);
	rc = cgroup_write(root, g->path, name, text);
	join_path(path, g->path, name);
	if (rc == 0)
		rc = sysfile_u64(&g->limit_bytes, root, path);
	return rc;
}

/* The limit comes first, so that the group is never without one while pages are charged to it. */
static int limit_and_join(struct cgroup *g, const char *root, const char *parent, uint64_t bytes)
{
	int rc = make_group(g, root, parent);

	if (rc == 0)
		rc = set_limit(g, root, bytes);
	return rc ? rc : cgroup_join(g, root);
}

int cgroup_leave(struct cgroup *g, const char *root)
{
	char path[PATH_MAX];
	int rc = 0, first = 0;

	/* The kernel refuses processes in a group that enables controllers for its children. */
	if (g->has_enabled)
		first = cgroup_write(root, g->home, "cgroup.subtree_control", "-memory");
	if (g->is_joined)
		rc = cgroup_enter(root, g->home);
	first = first ? first : rc;
	snprintf(path, sizeof(path), "%s%s", root, g->path);
	if (g->is_made && rmdir(path) && !first)
		first = -errno;
	*g = (struct cgroup){ 0 };
	return first;
}

/* Leave and remove the group; keep `home` and the version. */
static void undo(struct cgroup *g, const char *root)
{
	struct cgroup fresh = { .is_v2 = g->is_v2 };

	snprintf(fresh.home, sizeof(fresh.home), "%s", g->home);
	cgroup_leave(g, root);
	*g = fresh;
}

static int try_sibling(struct cgroup *g, const char *root, uint64_t bytes)
{
	char parent[CGROUP_PATH_BYTES], *slash;

	snprintf(parent, sizeof(parent), "%s", g->home);
	slash = strrchr(parent, '/');
	if (!slash || strcmp(parent, MOUNTS) == 0 || strcmp(parent, MOUNTS "/unified") == 0)
		return -EBUSY;
	*slash = '\0';
	if (!lists_memory(root, parent, "cgroup.subtree_control") || has_own_limits(root, g->home))
		return -EBUSY;
	return limit_and_join(g, root, parent, bytes);
}

static int try_v2(struct cgroup *g, const char *root, uint64_t bytes)
{
	int rc, second;

	if (lists_memory(root, g->home, "cgroup.subtree_control"))
		return limit_and_join(g, root, g->home, bytes);
	if (!lists_memory(root, g->home, "cgroup.controllers"))
		return -EOPNOTSUPP;
	/* A group that has processes enables no controller for its children. The home group can do
	 * so once this process, its last, has left. */
	rc = make_group(g, root, g->home);
	if (rc == 0)
		rc = cgroup_join(g, root);
	if (rc == 0)
		rc = cgroup_write(root, g->home, "cgroup.subtree_control", "+memory");
	g->has_enabled = rc == 0;
	if (rc == 0)
		rc = set_limit(g, root, bytes);
	if (rc == 0)
		return 0;
	undo(g, root);
	/* -EBUSY means that no sibling is possible; in this case, report the first error. */
	second = try_sibling(g, root, bytes);
	return second == -EBUSY ? rc : second;
}

static const char *remedy(int rc)
{
	switch (rc) {
	case -EBUSY:
		return "; other processes share it: start mlgen with systemd-run --scope -p "
		       "MemoryMax=SIZE instead";
	case -EOPNOTSUPP:
		return "; it has no memory controller: start mlgen with systemd-run --scope -p "
		       "MemoryMax=SIZE instead";
	case -EROFS:
		return "; containers usually mount it read-only: limit the container instead, such "
		       "as with docker run --memory=SIZE";
	case -EACCES:
	case -EPERM:
		return "; it requires root, or start mlgen with systemd-run --user --scope -p "
		       "MemoryMax=SIZE";
	default:
		return "";
	}
}

int cgroup_limit_memory(struct cgroup *g, const char *root, uint64_t bytes, struct mlgen_err *err)
{
	struct home h = { .is_found = false };
	int rc;

	*g = (struct cgroup){ 0 };
	cgroup_walk(root, "memory", choose_home, &h);
	if (!h.is_found)
		return mlgen_fail(err, -ENOENT,
				  OPTION
				  "no control groups at " MOUNTS
				  "; this system cannot limit the page cache of one process");
	g->is_v2 = h.is_v2;
	snprintf(g->home, sizeof(g->home), "%s", h.dir);
	rc = g->is_v2 ? try_v2(g, root, bytes) : limit_and_join(g, root, g->home, bytes);
	if (rc == 0)
		return 0;
	mlgen_fail(err, rc, OPTION "cannot create a control group in %s: %s%s", g->home,
		   strerror(-rc), remedy(rc));
	undo(g, root);
	*g = (struct cgroup){ 0 };
	return rc;
}

uint64_t cgroup_kills(const struct cgroup *g, const char *root)
{
	char path[CGROUP_PATH_BYTES];
	uint64_t kills;

	join_path(path, g->path, g->is_v2 ? "memory.events" : "memory.oom_control");
	return sysfile_keyed(&kills, root, path, "oom_kill") ? 0 : kills;
}

/* ---- CPU quotas ---- */

/* Mounts below which cgroup_walk looks for groups of these controllers. */
#define CPU_MOUNT "/sys/fs/cgroup/cpu"
#define CPUACCT_MOUNT "/sys/fs/cgroup/cpuacct"

double cpuquota_of(const char *root, const char *dir, bool is_v2)
{
	char path[CGROUP_PATH_BYTES], line[64];
	uint64_t quota, period;
	bool has;

	if (is_v2) {
		/* "150000 100000"; "max 100000" is not a quota. */
		join_path(path, dir, "cpu.max");
		has = sysfile_line(line, sizeof(line), root, path) == 0 &&
		      sscanf(line, "%" SCNu64 " %" SCNu64, &quota, &period) == 2;
	} else {
		/* A quota of -1 means none; sysfile_u64 refuses it. */
		join_path(path, dir, "cpu.cfs_quota_us");
		has = sysfile_u64(&quota, root, path) == 0;
		join_path(path, dir, "cpu.cfs_period_us");
		has = has && sysfile_u64(&period, root, path) == 0;
	}
	return has && quota && period ? (double)quota / (double)period : (double)INFINITY;
}

/* The smallest quota so far. */
struct quota_search {
	double cpus;
	char dir[CGROUP_PATH_BYTES]; /* group that has the quota */
	bool is_v2;
	uint64_t used_ns;
};

static void lower_quota(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct quota_search *s = arg;
	double cpus = cpuquota_of(root, dir, is_v2);

	if (!(cpus < s->cpus))
		return;
	s->cpus = cpus;
	s->is_v2 = is_v2;
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
}

/* Version 1 counts CPU time with the controller cpuacct. If cpuacct is mounted separately, it has
 * separate groups, and only the group of the same name contains the same processes. */
static void read_cpuacct(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct quota_search *s = arg;
	char path[CGROUP_PATH_BYTES];
	uint64_t used;

	if (is_v2 || strncmp(s->dir, CPU_MOUNT, strlen(CPU_MOUNT)) != 0 ||
	    strcmp(s->dir + strlen(CPU_MOUNT), dir + strlen(CPUACCT_MOUNT)) != 0)
		return;
	join_path(path, dir, "cpuacct.usage");
	if (sysfile_u64(&used, root, path) == 0)
		s->used_ns = used;
}

void cpuquota_read(struct cpuquota *q, const char *root)
{
	struct quota_search s = { .cpus = (double)INFINITY, .used_ns = UINT64_MAX };
	char path[CGROUP_PATH_BYTES];
	uint64_t used;

	cgroup_walk(root, "cpu", lower_quota, &s);
	if (!isinf(s.cpus) && s.is_v2) {
		join_path(path, s.dir, "cpu.stat");
		if (sysfile_keyed(&used, root, path, "usage_usec") == 0)
			s.used_ns = used * 1000;
	} else if (!isinf(s.cpus)) {
		join_path(path, s.dir, "cpuacct.usage");
		if (sysfile_u64(&used, root, path) == 0)
			s.used_ns = used;
		else
			cgroup_walk(root, "cpuacct", read_cpuacct, &s);
	}
	*q = (struct cpuquota){ s.cpus, s.used_ns };
}

/* ---- memory that may still be used ---- */

/* Files of a group, by version. */
struct group_files {
	const char *limit, *used;
	/* Keys of memory.stat: page cache of the group and those below it. */
	const char *caches[2];
};

static const struct group_files versions[] = {
	{ "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_inactive_file", "total_active_file" } },
	{ "memory.max", "memory.current", { "inactive_file", "active_file" } },
};

static uint64_t subtract_to_zero(uint64_t all, uint64_t used)
{
	return all > used ? all - used : 0;
}

/* When the table is full, the new limit replaces the limit that leaves the most memory. */
static void add_place(struct memroom *m, const struct memroom_place *p)
{
	struct memroom_place *to = &m->places[0];

	if (m->place_count < MEMROOM_PLACES) {
		to = &m->places[m->place_count++];
	} else {
		for (size_t i = 1; i < MEMROOM_PLACES; i++)
			if (m->places[i].bytes > to->bytes)
				to = &m->places[i];
	}
	*to = *p;
	if (p->bytes >= m->bytes)
		return;
	m->bytes = p->bytes;
	memcpy(m->of, p->of, sizeof(m->of));
}

static int read_group_u64(uint64_t *out, const char *root, const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return sysfile_u64(out, root, path);
}

struct group_walk {
	struct memroom *m;
	const char *except_group;
};

static void add_group(void *arg, const char *root, const char *dir, bool is_v2)
{
	const struct group_files *f = &versions[is_v2];
	char text[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];
	const struct group_walk *g = arg;
	struct memroom_place p = { 0 };
	char path[PATH_MAX];
	uint64_t limit, used, cached = 0, n;
	struct stat st;

	/* A limit of "max" is not a number. */
	if (strcmp(dir, g->except_group) == 0 || read_group_u64(&limit, root, dir, f->limit))
		return;
	if (read_group_u64(&used, root, dir, f->used))
		used = 0;
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	for (size_t i = 0; i < ARRAY_LEN(f->caches); i++)
		if (sysfile_keyed(&n, root, path, f->caches[i]) == 0)
			cached += n;
	p.bytes = subtract_to_zero(limit, subtract_to_zero(used, cached));
	snprintf(p.of, sizeof(p.of), "the control group %.300s leaves %s of its %s", dir,
		 units_human_bytes(text, (double)p.bytes), units_human_bytes(of, (double)limit));
	/* The id is the folder's inode: containers may have different groups at equal paths. */
	snprintf(path, sizeof(path), "%s%s", root, dir);
	if (stat(path, &st) == 0) {
		p.id[0] = st.st_dev;
		p.id[1] = st.st_ino;
	}
	add_place(g->m, &p);
}

/* All private writable mappings count for both limits. */
static void add_ulimit(struct memroom *m, const char *root, __rlimit_resource_t resource,
		       const char *key, const char *option)
{
	char text[UNITS_TEXT_BYTES], of[UNITS_TEXT_BYTES];
	struct rlimit limit;
	uint64_t used, left;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    sysfile_keyed(&used, root, "/proc/self/status", key))
		return;
	left = subtract_to_zero(limit.rlim_cur, used);
	if (left >= m->address_bytes)
		return;
	m->address_bytes = left;
	snprintf(m->address_of, sizeof(m->address_of), "%s leaves %s of its %s", option,
		 units_human_bytes(text, (double)left),
		 units_human_bytes(of, (double)limit.rlim_cur));
}

void memroom_read(struct memroom *m, const char *root, const char *except_group)
{
	struct group_walk g = { m, except_group };
	struct memroom_place host = { 0 };
	char text[UNITS_TEXT_BYTES];

	*m = (struct memroom){ .bytes = UINT64_MAX, .address_bytes = UINT64_MAX };
	if (sysfile_keyed(&host.bytes, root, "/proc/meminfo", "MemAvailable") == 0 ||
	    sysfile_keyed(&host.bytes, root, "/proc/meminfo", "MemTotal") == 0) {
		snprintf(host.of, sizeof(host.of), "this host has %s available",
			 units_human_bytes(text, (double)host.bytes));
		add_place(m, &host);
	}
	cgroup_walk(root, "memory", add_group, &g);
	add_ulimit(m, root, RLIMIT_AS, "VmSize", "ulimit -v");
	add_ulimit(m, root, RLIMIT_DATA, "VmData", "ulimit -d");
}
