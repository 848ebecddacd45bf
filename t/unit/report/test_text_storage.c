/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_storage.c - what a report says of storage, network, nodes and caches. */
#include <stdio.h>

#include "suites.h"
#include "text_rig.h"

START_TEST(storage_is_described_by_what_lies_under_the_directory)
{
	static const struct {
		const char *filesystem, *source, *target, *options, *device, *kind;
		bool is_memory;
		const char *expected;
		uint64_t paths, osts;
		bool has_own_cache;
	} mounts[] = {
		{ "nfs4", "192.0.2.1:/ai", "/mnt/array", "rw,vers=4.2,rsize=262144,proto=rdma",
		  NULL, NULL, false,
		  "nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=rdma,rsize=256k)", 0, 0,
		  false },
		{ "ext4", "/dev/vda1", "/", "rw", "vda", "virtio", false,
		  "ext4 on /dev/vda1 at / (virtio, scheduler none, read_ahead 128 KiB)", 0, 0,
		  false },
		{ "nfs4", "192.0.2.1:/ai", "/mnt/array",
		  "rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,"
		  "nconnect=16,timeo=600,retrans=2,sec=sys,clientaddr=192.0.2.77,local_lock=none,"
		  "addr=192.0.2.1",
		  NULL, NULL, false,
		  "nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)", 0,
		  0, false },
		{ "ext4", "/dev/vda1", "/", "rw,relatime,sync,data=journal", "vda", NULL, false,
		  "ext4 on /dev/vda1 at / (scheduler none, read_ahead 128 KiB),\n"
		  "          mounted sync,data=journal",
		  0, 0, false },
		{ "xfs", "/dev/nvme1n1", "/mnt/nvme", "rw", "nvme1n1", "nvme-rdma", false,
		  "xfs on /dev/nvme1n1 at /mnt/nvme (nvme-rdma, 2 paths, scheduler none,\n         "
		  " read_ahead 128 KiB)",
		  .paths = 2 },
		{ "lustre", "192.0.2.5@o2ib:/scratch", "/scratch", "rw,flock,lazystatfs", NULL,
		  NULL, false,
		  "lustre 192.0.2.5@o2ib:/scratch at /scratch (12 OSTs), mounted flock,lazystatfs",
		  .osts = 12 },
		{ "lustre", "192.0.2.5@tcp:/scratch", "/scratch", "rw", NULL, NULL, false,
		  "lustre 192.0.2.5@tcp:/scratch at /scratch", 0, 0, false },
		{ "gpfs", "fs1", "/gpfs", "rw", NULL, NULL, false,
		  "gpfs fs1 at /gpfs (has its own cache: bytes from memory unknown)",
		  .has_own_cache = true },
		{ "tmpfs", "tmpfs", "/tmp", "rw", NULL, NULL, true, "tmpfs at /tmp: this is memory",
		  0, 0, false },
		{ "overlay", "overlay", "/", "rw", NULL, NULL, false, "overlay at /", 0, 0, false },
		{ NULL, NULL, NULL, NULL, NULL, NULL, false, "unknown", 0, 0, false },
	};
	struct world *w = world_new();
	struct storage_result *s = &w->result.storage;
	char line[160];

	mem_replace(&s->filesystem, mounts[_i].filesystem);
	mem_replace(&s->mount_source, mounts[_i].source);
	mem_replace(&s->mount_target, mounts[_i].target);
	mem_replace(&s->mount_options, mounts[_i].options);
	mem_replace(&s->device, mounts[_i].device);
	mem_replace(&s->device_kind, mounts[_i].kind);
	s->is_memory = mounts[_i].is_memory;
	s->has_own_cache = mounts[_i].has_own_cache;
	s->device_paths = mounts[_i].paths ? mounts[_i].paths : UINT64_MAX;
	s->osts = mounts[_i].osts ? mounts[_i].osts : UINT64_MAX;
	if (s->device) {
		mem_replace(&s->scheduler, "none");
		s->read_ahead_bytes = 131072;
	}
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	snprintf(line, sizeof(line), "\nstorage   %s\n", mounts[_i].expected);
	check_has(text, line);
	if (s->is_memory)
		check_has(text, "MEMORY, NOT STORAGE\n");
	free(text);
	world_free(w);
}
END_TEST

/* clang-format off */
static const struct {
	unsigned nodes;			/* a bit for each */
	uint64_t device_node;
	double far_percent;
	int loader;
	const char *numa_cpu_nodes, *cpus_allowed, *unbound, *expected;
} numa_lines[] = {
	{ 1, 1, 100, LOADER_PYTORCH, NULL, NULL, NULL,
	  "read threads on node 0, disk vda on node 1: far (numa=device binds them)" },
	{ 2, 1, 0, LOADER_PYTORCH, NULL, NULL, NULL,
	  "read threads on node 1, disk vda on node 1: near" },
	{ 3, 1, 48.25, LOADER_PYTORCH, NULL, NULL, NULL,
	  "read threads on nodes 0-1, disk vda on node 1: 48.2% of the batches far\n"
	  "                   (numa=device binds them)" },
	{ 1, 1, 100, LOADER_PLAIN, "0", NULL, NULL,
	  "read threads on node 0, disk vda on node 1: far (with numa_cpu_nodes=0)" },
	{ 3, 1, 30, LOADER_PLAIN, NULL, "0-9", NULL,
	  "read threads on nodes 0-1, disk vda on node 1: 30.0% of the samples far\n"
	  "                   (with cpus_allowed=0-9)" },
	{ 3, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, "disk vda is a riddle",
	  "read threads on nodes 0-1, not bound: disk vda is a riddle" },
	{ 0, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, "this host has one NUMA node",
	  "read threads not bound: this host has one NUMA node" },
	{ 3, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, NULL, NULL },
	{ 0, 0, NONE, LOADER_PYTORCH, NULL, NULL, NULL, NULL },
};
/* clang-format on */

static void fill_numa(struct numa_result *n, size_t i)
{
	*n = (struct numa_result){ .device_node = numa_lines[i].device_node,
				   .seen.bits[0] = numa_lines[i].nodes,
				   .far_percent = numa_lines[i].far_percent,
				   .unbound = numa_lines[i].unbound };
	if (numa_lines[i].nodes == 3)
		n->loader_nodes = mem_strdup("0-1");
	else if (numa_lines[i].nodes)
		n->loader_nodes = mem_strdup(numa_lines[i].nodes == 1 ? "0" : "1");
}

START_TEST(loaders_far_from_their_disk_are_reported)
{
	struct world *w = world_new();
	char line[200];

	mem_replace(&w->result.storage.device, "vda");
	w->job.loader = numa_lines[_i].loader;
	mem_replace(&w->job.numa_cpu_nodes, numa_lines[_i].numa_cpu_nodes);
	mem_replace(&w->job.cpus_allowed, numa_lines[_i].cpus_allowed);
	fill_numa(&w->result.numa, (size_t)_i);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	if (numa_lines[_i].expected) {
		snprintf(line, sizeof(line), "\n%-19s%s\n", "numa", numa_lines[_i].expected);
		check_has(text, line);
	} else {
		ck_assert_ptr_null(strstr(text, "\nnuma"));
	}
	bool is_known = w->result.numa.loader_nodes && w->result.numa.device_node != UINT64_MAX;
	ck_assert(is_known == !!strstr(text, "NUMA node 1)"));
	free(text);
	mem_replace(&w->job.numa_cpu_nodes, NULL);
	mem_replace(&w->job.cpus_allowed, NULL);
	mem_free(w->result.numa.loader_nodes);
	world_free(w);
}
END_TEST

START_TEST(the_network_stands_with_the_host)
{
	static const struct {
		struct network_result network;
		const char *expected; /* NULL = nothing */
	} rows[] = {
		{ { "bond0", UINT64_C(200000000000), 0, 130.2e9, 65.1 },
		  "bond0 130 of 200 Gb/s\n" },
		{ { "eth0", UINT64_C(1000000000), 0, .4242e9, 42.42 }, "eth0 0.424 of 1 Gb/s\n" },
		{ { "eth0", UINT64_MAX, 0, 1.5e9, NONE }, "eth0 1.5 Gb/s, line rate unknown\n" },
		{ { NULL, UINT64_MAX, UINT64_MAX, NONE, NONE }, NULL },
	};
	struct world *w = world_new();

	w->result.network = rows[_i].network;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	if (rows[_i].expected)
		check_has(text, rows[_i].expected);
	else
		check_lacks(text, "Gb/s");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(servers_see_reads_of_another_size)
{
	static const struct {
		const char *filesystem;
		uint64_t bytes, reads;
		const char *expected; /* NULL = nothing */
	} rows[] = {
		{ "nfs4", UINT64_C(400) << 20, 400,
		  "1023 KiB mean; 1 MiB mean at the NFS server\n" },
		{ "nfs", UINT64_C(400) << 20, 1600, "   256 KiB mean at the NFS server\n" },
		{ "lustre", UINT64_C(400) << 20, 100, "   4 MiB mean at the Lustre servers\n" },
		/* counted otherwise, or not at all */
		{ "nfs4", UINT64_C(400) << 20, UINT64_MAX, NULL },
		{ "nfs4", 0, 0, NULL },
		{ "ext4", UINT64_C(400) << 20, 400, NULL },
	};
	struct world *w = world_new();
	struct storage_result *s = &w->result.storage;

	mem_replace(&s->filesystem, rows[_i].filesystem);
	s->device_read_bytes = rows[_i].bytes;
	s->device_reads = rows[_i].reads;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	if (rows[_i].expected)
		check_has(text, rows[_i].expected);
	else
		check_lacks(text, "mean at the");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(dropping_is_reported_as_it_happened)
{
	static const struct {
		int invalidate;
		uint64_t drops, files;
		const char *expected[2];
	} rows[] = {
		{ INVALIDATE_NONE,
		  0,
		  1,
		  { "0.0% of the dataset was cached before (1 file sampled)",
		    "invalidate=0 dropped nothing" } },
		{ INVALIDATE_RUN,
		  1,
		  256,
		  { "(256 files sampled)", "invalidate=run dropped its files before the run" } },
		{ INVALIDATE_RUN,
		  0,
		  256,
		  { "(256 files sampled)", "invalidate=run found nothing to drop" } },
		{ INVALIDATE_EPOCH,
		  0,
		  256,
		  { "(256 files sampled)", "invalidate=epoch found nothing to drop" } },
	};
	struct world *w = world_new();

	w->job.invalidate = rows[_i].invalidate;
	w->result.storage.cache_drops = rows[_i].drops;
	w->result.storage.resident_files = rows[_i].files;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, rows[_i].expected[0]);
	check_has(text, rows[_i].expected[1]);
	free(text);
	world_free(w);
}
END_TEST

Suite *suite_text_storage(void)
{
	Suite *s = suite_create("text_storage");
	TCase *t = tcase_create("text_storage");

	tcase_add_loop_test(t, storage_is_described_by_what_lies_under_the_directory, 0, 10);
	tcase_add_loop_test(t, the_network_stands_with_the_host, 0, 4);
	tcase_add_loop_test(t, servers_see_reads_of_another_size, 0, 6);
	tcase_add_loop_test(t, dropping_is_reported_as_it_happened, 0, 4);
	tcase_add_loop_test(t, loaders_far_from_their_disk_are_reported, 0,
			    sizeof(numa_lines) / sizeof(*numa_lines));
	suite_add_tcase(s, t);
	return s;
}
