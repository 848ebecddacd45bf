/* SPDX-License-Identifier: Apache-2.0 */
/* test_topology.c - nodes of disks, CPUs of nodes, from machines of the test's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/host.h"
#include "run/slot/slot.h"
#include "suites.h"
#include "temp.h"
#include "work/workloads.h"

/* Node 0 has the CPUs 0-7, node 1 has 8-15. */
#define TWO_NODES "Package:2 NUMANode:1 Core:4 PU:2"

static char root[TEMP_BYTES];

static void make_parents(const char *path)
{
	char name[600];

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *s = name + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(name, 0755);
		*s = '/';
	}
}

static void put_file(const char *path, const char *text)
{
	char name[600];

	make_parents(path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	FILE *f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void put_link(const char *path, const char *to)
{
	char name[600];

	make_parents(path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	ck_assert_int_eq(symlink(to, name), 0);
}

#define PCI "/sys/devices/pci0000:80"
#define BLOCK "/sys/devices/virtual/block"
#define SUBSYSTEM "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"

static void put_disk(const char *numbers, const char *to)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%s", numbers);
	put_link(path, to);
}

/* Two NVMe disks, at nodes 0 and 1; a virtual one that is near to none. */
static void put_disks(void)
{
	put_file(PCI "/0000:81:00.0/numa_node", "1\n");
	put_file(PCI "/0000:81:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/dev", "");
	put_disk("259:0", "../../devices/pci0000:80/0000:81:00.0/nvme/nvme0/nvme0n1");
	put_file(PCI "/0000:01:00.0/numa_node", "0\n");
	put_file(PCI "/0000:01:00.0/nvme/nvme1/nvme1n1/dev", "");
	put_disk("259:1", "../../devices/pci0000:80/0000:01:00.0/nvme/nvme1/nvme1n1");
	put_file(PCI "/0000:02:00.0/numa_node", "-1\n");
	put_file(PCI "/0000:02:00.0/virtio1/block/vda/dev", "");
	put_disk("254:0", "../../devices/pci0000:80/0000:02:00.0/virtio1/block/vda");
}

/* Over both, over one and a partition of it, over nothing; and two paths. */
static void put_stacks(void)
{
	put_link(BLOCK "/md0/slaves/nvme0n1",
		 "../../../../pci0000:80/0000:81:00.0/nvme/nvme0/nvme0n1");
	put_link(BLOCK "/md0/slaves/nvme1n1",
		 "../../../../pci0000:80/0000:01:00.0/nvme/nvme1/nvme1n1");
	put_disk("9:0", "../../devices/virtual/block/md0");
	put_link(BLOCK "/md1/slaves/nvme0n1p1",
		 "../../../../pci0000:80/0000:81:00.0/nvme/nvme0/nvme0n1/nvme0n1p1");
	put_link(BLOCK "/dm-0/slaves/md1", "../../md1");
	put_disk("253:0", "../../devices/virtual/block/dm-0");
	put_file(BLOCK "/loop0/dev", "7:0\n");
	put_disk("7:0", "../../devices/virtual/block/loop0");
	put_link(BLOCK "/dm-1/slaves/dm-1", "../../dm-1");
	put_disk("253:1", "../../devices/virtual/block/dm-1");
	put_link(SUBSYSTEM "/nvme0", "../../../pci0000:80/0000:81:00.0/nvme/nvme0");
	put_link(SUBSYSTEM "/subsystem", "../../../../class/nvme-subsystem");
	put_file(SUBSYSTEM "/nvme0n2/dev", "");
	put_disk("259:2", "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n2");
}

static void setup(void)
{
	temp_folder(root);
	put_disks();
	put_stacks();
	put_file("/sys/devices/system/node/online", "0-1\n");
	setenv("HWLOC_SYNTHETIC", TWO_NODES, 1);
}

static void teardown(void)
{
	unsetenv("HWLOC_SYNTHETIC");
	temp_remove(root);
}

/* clang-format off */
static const struct disk_case {
	const char *disk;
	unsigned dev_major, dev_minor;
	int node;
	const char *why;
} disks[] = {
	{ "nvme0n1", 259, 0, 1, NULL },
	{ "nvme1n1", 259, 1, 0, NULL },
	{ "vda", 254, 0, -ENODATA, "disk vda is not local to any NUMA node (numa_node is -1)" },
	{ "md0", 9, 0, -ENODATA, "disk md0 has parts on different NUMA nodes" },
	{ "dm-0", 253, 0, 1, NULL },
	{ "loop0", 7, 0, -ENODATA, "disk loop0 does not report its NUMA node" },
	{ "dm-1", 253, 1, -ENODATA, "disk dm-1 does not report its NUMA node" },
	{ "nvme0n2", 259, 2, 1, NULL },
	{ "sda", 8, 0, -ENODATA, "disk sda does not report its NUMA node" },
	{ "", 0, 0, -ENODATA, "nfs4 is not on a disk with a known NUMA node" },
};
/* clang-format on */

static struct mount mount_of(const struct disk_case *c)
{
	struct mount m = { .type = "nfs4", .dev_major = c->dev_major, .dev_minor = c->dev_minor };

	snprintf(m.device, sizeof(m.device), "%s", c->disk);
	return m;
}

START_TEST(a_disk_is_where_its_controller_or_all_its_parts_are)
{
	const struct disk_case *c = &disks[_i];
	struct mlgen_err why = { 0 };
	struct mount m = mount_of(c);

	ck_assert_int_eq(topology_disk_node(root, &m, &why), c->node);
	ck_assert_str_eq(why.text, c->why ? c->why : "");
}
END_TEST

START_TEST(one_node_is_no_choice)
{
	ck_assert(topology_has_nodes(root));
	put_file("/sys/devices/system/node/online", "0,2\n");
	ck_assert(topology_has_nodes(root));
	put_file("/sys/devices/system/node/online", "0\n");
	ck_assert(!topology_has_nodes(root));
	ck_assert(!topology_has_nodes("/no/such/root"));
}
END_TEST

/* clang-format off */
static const struct plan_case {
	const char *allowed, *cpus, *nodes;
	int disk_node;
	const char *thread_cpus, *loader_cpus, *error;
} plans[] = {
	{ "0-15", NULL, NULL, -1, "0-15", "0-15", NULL },
	{ "0-15", NULL, NULL, 1, "0-15", "8-15", NULL },
	{ "0-15", NULL, NULL, 0, "0-15", "0-7", NULL },
	{ "2-9", NULL, NULL, 1, "2-9", "8-9", NULL },
	{ "0-15", NULL, "1", -1, "8-15", "8-15", NULL },
	{ "0-15", NULL, "0-1", -1, "0-15", "0-15", NULL },
	{ "0-15", NULL, "1,0", 1, "0-15", "8-15", NULL },
	{ "0,8", NULL, "all", -1, "0,8", "0,8", NULL },
	{ "0-15", "6-9,12", "1", -1, "8-9,12", "8-9,12", NULL },
	{ "0-15", "6-9,12", NULL, 1, "6-9,12", "8-9,12", NULL },
	{ "0-15", NULL, "3", -1, NULL, NULL,
	  "numa_cpu_nodes: node 3 does not exist; this host has 0-1" },
	{ "0-15", NULL, "0-8191", -1, NULL, NULL,
	  "numa_cpu_nodes: node 2 does not exist; this host has 0-1" },
	{ "0-7", NULL, "1", -1, NULL, NULL,
	  "numa_cpu_nodes: 1: NUMA nodes with CPUs 8-15, but this job may use only 0-7" },
	{ "0-15", "0-3", "1", -1, NULL, NULL,
	  "numa_cpu_nodes: 1: NUMA nodes with CPUs 8-15, but this job may use only 0-3" },
	{ "0-15", NULL, "0", 1, NULL, NULL,
	  "numa=device: disk nvme0n1 is on NUMA node 1, with CPUs 8-15, but this job may use only 0-7" },
	{ "0-15", NULL, NULL, 7, NULL, NULL,
	  "numa=device: disk nvme0n1 is on NUMA node 7, without CPUs" },
	{ "0-7", "9", NULL, -1, NULL, NULL,
	  "cpus_allowed: 9: this process may use none of these CPUs" },
};
/* clang-format on */

static void assert_text(const char *got, const char *want)
{
	ck_assert_str_eq(got ? got : "none", want ? want : "none");
}

START_TEST(threads_get_what_is_allowed_of_what_is_wished_for)
{
	const struct plan_case *c = &plans[_i];
	const struct topology_request wish = {
		.cpus = c->cpus, .nodes = c->nodes, .disk_node = c->disk_node, .disk = "nvme0n1"
	};
	struct mlgen_err err = { 0 };
	struct topology *t = NULL;
	char *threads, *loaders;

	ck_assert_msg(topology_new(&t, c->allowed, &err) == 0, "%s", err.text);
	int rc = topology_plan(t, &wish, &threads, &loaders, &err);
	ck_assert_str_eq(err.text, c->error ? c->error : "");
	ck_assert_int_eq(rc, c->error ? -EINVAL : 0);
	assert_text(threads, c->thread_cpus);
	assert_text(loaders, c->loader_cpus);
	mem_free(threads);
	mem_free(loaders);
	topology_free(t);
}
END_TEST

START_TEST(this_host_gives_what_this_process_may_use)
{
	const struct topology_request all = { .nodes = "all", .disk_node = -1 };
	struct mlgen_err err = { 0 };
	struct topology *t = NULL;
	char *threads = NULL, *loaders = NULL;

	unsetenv("HWLOC_SYNTHETIC");
	ck_assert_msg(topology_new(&t, NULL, &err) == 0, "%s", err.text);
	ck_assert_msg(topology_plan(t, &all, &threads, &loaders, &err) == 0, "%s", err.text);
	ck_assert_str_ne(threads, "");
	ck_assert_str_eq(threads, loaders);
	ck_assert_int_ge(topology_current_node(), 0);
	mem_free(threads);
	mem_free(loaders);
	topology_free(t);
}
END_TEST

/* clang-format off */
static const struct placement_case {
	const char *cpus, *nodes;
	int numa;
	unsigned disk;			/* of the list above */
	const char *online;
	const char *rank_cpus, *loader_cpus;
	int disk_node;
	const char *unbound;
} placements[] = {
	{ NULL, NULL, NUMA_NONE, 0, "0-1", NULL, NULL, 1, NULL },
	{ "3", NULL, NUMA_NONE, 0, "0-1", "3", "3", 1, NULL },
	{ NULL, NULL, NUMA_DEVICE, 0, "0-1", NULL, "8-15", 1, NULL },
	{ "6-9", NULL, NUMA_DEVICE, 0, "0-1", "6-9", "8-9", 1, NULL },
	{ NULL, "0", NUMA_NONE, 0, "0-1", "0-7", "0-7", 1, NULL },
	{ NULL, "all", NUMA_DEVICE, 0, "0-1", "0-15", "8-15", 1, NULL },
	{ NULL, NULL, NUMA_DEVICE, 0, "0", NULL, NULL, 1, "this host has one NUMA node, so every CPU is near" },
	{ NULL, NULL, NUMA_DEVICE, 2, "0-1", NULL, NULL, -1, "disk vda is not local to any NUMA node (numa_node is -1)" },
	{ NULL, "1", NUMA_DEVICE, 3, "0-1", "8-15", "8-15", -1, "disk md0 has parts on different NUMA nodes" },
};
/* clang-format on */

static char *text_or_null(const char *s)
{
	return s ? mem_strdup(s) : NULL;
}

START_TEST(a_job_is_placed_or_its_owner_is_told_why_not)
{
	const struct placement_case *c = &placements[_i];
	struct job *job = job_new("x");
	struct mount m = mount_of(&disks[c->disk]);
	struct placement_request req = { job, &m, root, "0-15" };
	struct placement p;
	struct mlgen_err err = { 0 };

	job->numa = c->numa;
	job->cpus_allowed = text_or_null(c->cpus);
	job->numa_cpu_nodes = text_or_null(c->nodes);
	put_file("/sys/devices/system/node/online", c->online);
	ck_assert_msg(placement_init(&p, &req, &err) == 0, "%s", err.text);
	assert_text(p.rank_cpus, c->rank_cpus);
	assert_text(p.loader_cpus, c->loader_cpus);
	assert_text(p.unbound, c->unbound);
	ck_assert_int_eq(p.disk_node, c->disk_node);
	ck_assert(p.has_nodes == (strcmp(c->online, "0") != 0));
	placement_fini(&p);
	job_free(job);
}
END_TEST

START_TEST(a_preparation_is_not_told_about_its_readers)
{
	struct job *job = job_new("x");
	struct mount m = mount_of(&disks[2]);
	struct placement_request req = { job, &m, root, "0-15" };
	struct placement p;

	job->phase = PHASE_PREPARE;
	job->numa = NUMA_DEVICE;
	ck_assert_int_eq(placement_init(&p, &req, NULL), 0);
	ck_assert_ptr_null(p.unbound);
	placement_fini(&p);
	job_free(job);
}
END_TEST

START_TEST(nodes_are_written_as_ranges)
{
	static const struct {
		unsigned nodes[6], count;
		const char *text;
	} sets[] = {
		{ { 0 }, 0, "" },
		{ { 5 }, 1, "5" },
		{ { 1, 0 }, 2, "0-1" },
		{ { 3, 0, 1, 2 }, 4, "0-3" },
		{ { 63, 64, 1, 1023, 2000 }, 5, "1,63-64,1023" },
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct node_set s = { 0 }, twice = { 0 };
		struct buf text = { 0 };

		for (unsigned k = 0; k < sets[i].count; k++)
			node_set_add(&s, sets[i].nodes[k]);
		node_set_merge(&twice, &s);
		node_set_merge(&twice, &s);
		node_set_text(&twice, &text);
		ck_assert_str_eq(buf_str(&text), sets[i].text);
		buf_fini(&text);
	}
}
END_TEST

START_TEST(a_look_is_far_when_the_disk_is_known_to_be_elsewhere)
{
	struct node_watch w = { 0 }, all = { 0 };
	struct buf text = { 0 };

	node_watch_add(&w, 0, 1);
	node_watch_add(&w, 1, 1);
	node_watch_add(&w, 0, -1);
	node_watch_add(&w, -ENOSYS, 1);
	ck_assert_uint_eq(w.looks, 3);
	ck_assert_uint_eq(w.far, 1);
	node_watch_merge(&all, &w);
	node_watch_merge(&all, &w);
	ck_assert_uint_eq(all.looks, 6);
	ck_assert_uint_eq(all.far, 2);
	node_set_text(&all.seen, &text);
	ck_assert_str_eq(buf_str(&text), "0-1");
	buf_fini(&text);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_topology(void)
{
	Suite *s = suite_create("topology");
	TCase *t = tcase_create("topology");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_disk_is_where_its_controller_or_all_its_parts_are, 0, ROWS(disks));
	tcase_add_test(t, one_node_is_no_choice);
	tcase_add_loop_test(t, threads_get_what_is_allowed_of_what_is_wished_for, 0, ROWS(plans));
	tcase_add_test(t, this_host_gives_what_this_process_may_use);
	tcase_add_loop_test(t, a_job_is_placed_or_its_owner_is_told_why_not, 0, ROWS(placements));
	tcase_add_test(t, a_preparation_is_not_told_about_its_readers);
	tcase_add_test(t, nodes_are_written_as_ranges);
	tcase_add_test(t, a_look_is_far_when_the_disk_is_known_to_be_elsewhere);
	suite_add_tcase(s, t);
	return s;
}
