/* SPDX-License-Identifier: Apache-2.0 */
/* topology.c - NUMA nodes of disks and CPUs. */
#include "io/host.h"

#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <hwloc/linux.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Levels of disks made of disks, such as dm on md on NVMe; the limit guards against cyclic links.
 */
#define MAX_DEPTH 8

/* Results for a disk without a node. */
enum {
	NO_AFFINITY = -1, /* value of numa_node for a disk that is not local to any node */
	NODE_UNKNOWN = -2,
	NODES_DIFFER = -3, /* the parts of the disk lie at several nodes */
};

struct topology {
	hwloc_topology_t hwloc;
	hwloc_bitmap_t allowed;
};

/* ---- the node of a disk ---- */

/* The common node of two parts. */
static int common_node(int a, int b)
{
	if (a == NODE_UNKNOWN || a == b)
		return b;
	if (b == NODE_UNKNOWN)
		return a;
	return NODES_DIFFER;
}

static int node_of(const char *disk, size_t root_len, unsigned depth);

/* The common node of the parts that `dir` links to by names that begin with `prefix`. */
static int node_of_parts(const char *dir, const char *prefix, size_t root_len, unsigned depth)
{
	char path[PATH_MAX], part[PATH_MAX];
	int node = NODE_UNKNOWN;
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d && (entry = readdir(d))) {
		int n = snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);

		if (entry->d_type != DT_LNK || n >= (int)sizeof(path) ||
		    strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !realpath(path, part))
			continue;
		node = common_node(node, node_of(part, root_len, depth + 1));
	}
	if (d)
		closedir(d);
	return node;
}

static int node_of(const char *disk, size_t root_len, unsigned depth)
{
	char dir[PATH_MAX], line[32], *slash, *end;
	int node = NODE_UNKNOWN;
	long v;

	/* A disk itself has no numa_node file; its controller or PCI device above has. */
	snprintf(dir, sizeof(dir), "%s", disk);
	while (node < 0 && (slash = strrchr(dir, '/')) && slash > dir + root_len) {
		if (sysfile_line(line, sizeof(line), dir, "/numa_node") == 0) {
			v = strtol(line, &end, 10);
			if (end > line && v < (long)TOPOLOGY_NODES)
				node = v < 0 ? NO_AFFINITY : (int)v;
		}
		*slash = '\0';
	}
	if (node != NODE_UNKNOWN || depth == MAX_DEPTH)
		return node;
	snprintf(dir, sizeof(dir), "%.*s/slaves", (int)sizeof(dir) - 8, disk);
	node = node_of_parts(dir, "", root_len, depth);
	if (node != NODE_UNKNOWN || !strstr(disk, "/nvme-subsystem/"))
		return node;
	/* An NVMe disk with several paths is in the folder of its subsystem, next to links to the
	 * controllers such as "nvme0". */
	snprintf(dir, sizeof(dir), "%s", disk);
	slash = strrchr(dir, '/');
	*slash = '\0';
	return node_of_parts(dir, "nvme", root_len, depth);
}

static int fail_disk_node(const struct mount *m, int node, struct mlgen_err *why)
{
	static const char *const texts[] = {
		[-NO_AFFINITY] = "is not local to any NUMA node (numa_node is -1)",
		[-NODE_UNKNOWN] = "does not report its NUMA node",
		[-NODES_DIFFER] = "has parts on different NUMA nodes",
	};

	return mlgen_fail(why, -ENODATA, "disk %s %s", m->device, texts[-node]);
}

/* ---- the CPUs of a job ---- */

static char *list_text(hwloc_const_bitmap_t set)
{
	size_t size = (size_t)hwloc_bitmap_list_snprintf(NULL, 0, set) + 1;
	char *text = mem_zalloc(size);

	hwloc_bitmap_list_snprintf(text, size, set);
	return text;
}

/* The list must have passed job_check; hwloc accepts more forms. */
static hwloc_bitmap_t topology_parse_list(const char *list)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	if (!set || hwloc_bitmap_list_sscanf(set, list) || hwloc_bitmap_weight(set) < 0) {
		hwloc_bitmap_free(set);
		return NULL;
	}
	return set;
}

static int fail_memory(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOMEM, "hwloc: %s", strerror(ENOMEM));
}

static int fail_missing_node(const struct topology *t, unsigned node, struct mlgen_err *err)
{
	char *nodes = list_text(hwloc_topology_get_complete_nodeset(t->hwloc));

	mlgen_fail(err, -EINVAL, "numa_cpu_nodes: node %u does not exist; this host has %s", node,
		   nodes);
	mem_free(nodes);
	return -EINVAL;
}

/* Collect the CPUs of a list of nodes, allowed or not. */
static int cpus_of_nodes(const struct topology *t, const char *list, hwloc_bitmap_t cpus,
			 struct mlgen_err *err)
{
	hwloc_const_bitmap_t all = hwloc_topology_get_complete_nodeset(t->hwloc);
	hwloc_bitmap_t nodes =
		strcmp(list, "all") == 0 ? hwloc_bitmap_dup(all) : topology_parse_list(list);
	int rc = 0;

	if (!nodes)
		return mlgen_fail(err, -EINVAL, "numa_cpu_nodes: '%s' is not a list of nodes",
				  list);
	hwloc_bitmap_zero(cpus);
	for (int n = hwloc_bitmap_first(nodes); n >= 0 && rc == 0;
	     n = hwloc_bitmap_next(nodes, n)) {
		hwloc_obj_t o = hwloc_get_numanode_obj_by_os_index(t->hwloc, (unsigned)n);

		if (o)
			hwloc_bitmap_or(cpus, cpus, o->cpuset);
		else
			rc = fail_missing_node(t, (unsigned)n, err);
	}
	hwloc_bitmap_free(nodes);
	return rc;
}

/* `nodes` is the start of the message: the nodes, and why the job uses them. */
static int restrict_to(hwloc_const_bitmap_t cpus, hwloc_bitmap_t usable, const char *nodes,
		       struct mlgen_err *err)
{
	char *has, *may;

	if (hwloc_bitmap_intersects(cpus, usable)) {
		hwloc_bitmap_and(usable, usable, cpus);
		return 0;
	}
	if (hwloc_bitmap_iszero(cpus))
		return mlgen_fail(err, -EINVAL, "%s without CPUs", nodes);
	has = list_text(cpus);
	may = list_text(usable);
	mlgen_fail(err, -EINVAL, "%s with CPUs %s, but this job may use only %s", nodes, has, may);
	mem_free(has);
	mem_free(may);
	return -EINVAL;
}

static int apply_nodes(const struct topology *t, const char *nodes, hwloc_bitmap_t usable,
		       struct mlgen_err *err)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	char text[160];
	int rc;

	if (!cpus)
		return fail_memory(err);
	rc = cpus_of_nodes(t, nodes, cpus, err);
	snprintf(text, sizeof(text), "numa_cpu_nodes: %.100s: NUMA nodes", nodes);
	if (rc == 0)
		rc = restrict_to(cpus, usable, text, err);
	hwloc_bitmap_free(cpus);
	return rc;
}

static int apply_disk(const struct topology *t, const struct topology_request *w,
		      hwloc_bitmap_t usable, struct mlgen_err *err)
{
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(t->hwloc, (unsigned)w->disk_node);
	char text[160];
	int rc;

	if (!cpus)
		return fail_memory(err);
	if (node)
		hwloc_bitmap_copy(cpus, node->cpuset);
	snprintf(text, sizeof(text), "numa=device: disk %.64s is on NUMA node %d,", w->disk,
		 w->disk_node);
	rc = restrict_to(cpus, usable, text, err);
	hwloc_bitmap_free(cpus);
	return rc;
}

static int apply_cpus(const char *list, hwloc_bitmap_t usable, struct mlgen_err *err)
{
	hwloc_bitmap_t cpus = topology_parse_list(list);
	int rc = 0;

	if (!cpus || !hwloc_bitmap_intersects(cpus, usable))
		rc = mlgen_fail(err, -EINVAL,
				"cpus_allowed: %s: this process may use none of these CPUs", list);
	else
		hwloc_bitmap_and(usable, usable, cpus);
	hwloc_bitmap_free(cpus);
	return rc;
}

bool topology_has_nodes(const char *root)
{
	char line[256];

	if (sysfile_line(line, sizeof(line), root, "/sys/devices/system/node/online"))
		return false;
	return strpbrk(line, "-,") != NULL;
}

int topology_disk_node(const char *root, const struct mount *m, struct mlgen_err *why)
{
	char path[PATH_MAX], disk[PATH_MAX], top[PATH_MAX];
	int node;

	if (!m->device[0])
		return mlgen_fail(why, -ENODATA, "%s is not on a disk with a known NUMA node",
				  m->type);
	snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, m->dev_major, m->dev_minor);
	if (!realpath(path, disk) || !realpath(root[0] ? root : "/", top))
		return fail_disk_node(m, NODE_UNKNOWN, why);
	node = node_of(disk, strlen(top), 0);
	return node >= 0 ? node : fail_disk_node(m, node, why);
}

int topology_new(struct topology **out, const char *allowed, struct mlgen_err *err)
{
	struct topology *t = mem_zalloc(sizeof(*t));
	int rc;

	*out = t;
	if (hwloc_topology_init(&t->hwloc)) {
		t->hwloc = NULL;
		return fail_memory(err);
	}
	/*
	 * Nodes whose CPUs are forbidden are kept, because the message for them differs from that
	 * for a missing node. Packages are kept, too: without them hwloc 2.9 gives each node of a
	 * synthetic machine all CPUs.
	 */
	hwloc_topology_set_flags(t->hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(t->hwloc)) {
		rc = -errno;
		return mlgen_fail(err, rc, "numa: hwloc cannot read the topology of this host: %s",
				  strerror(-rc));
	}
	t->allowed = allowed ? topology_parse_list(allowed) : hwloc_bitmap_alloc();
	if (!t->allowed)
		return fail_memory(err);
	/* Read the main thread's CPUs, because workers may have bound themselves already. */
	if (!allowed && hwloc_linux_get_tid_cpubind(t->hwloc, getpid(), t->allowed))
		return mlgen_fail(err, -errno,
				  "numa: cannot find out which CPUs this process may use: %s",
				  strerror(errno));
	return 0;
}

void topology_free(struct topology *t)
{
	if (!t)
		return;
	hwloc_bitmap_free(t->allowed);
	if (t->hwloc)
		hwloc_topology_destroy(t->hwloc);
	mem_free(t);
}

int topology_plan(const struct topology *t, const struct topology_request *w, char **thread_cpus,
		  char **loader_cpus, struct mlgen_err *err)
{
	hwloc_bitmap_t usable = hwloc_bitmap_dup(t->allowed);
	int rc = 0;

	*thread_cpus = *loader_cpus = NULL;
	if (!usable)
		return fail_memory(err);
	if (w->cpus)
		rc = apply_cpus(w->cpus, usable, err);
	if (rc == 0 && w->nodes)
		rc = apply_nodes(t, w->nodes, usable, err);
	if (rc == 0)
		*thread_cpus = list_text(usable);
	if (rc == 0 && w->disk_node >= 0)
		rc = apply_disk(t, w, usable, err);
	if (rc == 0)
		*loader_cpus = list_text(usable);
	hwloc_bitmap_free(usable);
	if (rc == 0)
		return 0;
	mem_free(*thread_cpus);
	*thread_cpus = NULL;
	return rc;
}

void node_set_add(struct node_set *s, unsigned node)
{
	if (node < TOPOLOGY_NODES)
		s->bits[node / 64] |= (uint64_t)1 << (node % 64);
}

void node_set_merge(struct node_set *to, const struct node_set *from)
{
	for (unsigned i = 0; i < TOPOLOGY_NODES / 64; i++)
		to->bits[i] |= from->bits[i];
}

static bool has_node(const struct node_set *s, unsigned node)
{
	return node < TOPOLOGY_NODES && (s->bits[node / 64] >> (node % 64)) & 1;
}

void node_set_text(const struct node_set *s, struct buf *out)
{
	const char *comma = "";

	for (unsigned i = 0, end; i < TOPOLOGY_NODES; i = end + 1) {
		for (end = i; has_node(s, end); end++)
			;
		if (end == i)
			continue;
		buf_addf(out, "%s%u", comma, i);
		if (end - i > 1)
			buf_addf(out, "-%u", end - 1);
		comma = ",";
	}
}

int topology_current_node(void)
{
	unsigned cpu, node;

	return getcpu(&cpu, &node) ? -errno : (int)node;
}

void node_watch_add(struct node_watch *w, int here, int disk_node)
{
	if (here < 0)
		return;
	node_set_add(&w->seen, (unsigned)here);
	w->looks++;
	w->far += disk_node >= 0 && here != disk_node;
}

void node_watch_merge(struct node_watch *to, const struct node_watch *from)
{
	node_set_merge(&to->seen, &from->seen);
	to->looks += from->looks;
	to->far += from->far;
}
