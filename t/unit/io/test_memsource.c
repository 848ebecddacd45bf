/* SPDX-License-Identifier: Apache-2.0 */
/* test_memsource.c - which counter tells what storage delivered, by the mount. */
#include <errno.h>
#include <string.h>

#include "io/devices.h"
#include "suites.h"
#include "tree.h"

static char root[TREE_BYTES];

static void put_process(const char *text)
{
	tree_file(root, "/proc/self/io", text);
}

static void set_up(void)
{
	tree_make(root);
	put_process("rchar: 9999999\nwchar: 5\nsyscr: 3\nsyscw: 4\n"
		    "read_bytes: 123456\nwrite_bytes: 7\n"
		    "cancelled_write_bytes: 0\n");
	tree_file(root, "/proc/self/mountstats",
		  "device 192.0.2.1:/ai mounted on /mnt/array with fstype nfs4 statvers=1.1\n"
		  "\tbytes:\t1 2 3 4 5000 6 7 8\n"
		  "\t        READ: 5 5 0 0 0 0 0 0 0\n");
	tree_file(root, "/proc/fs/lustre/osc/scratch-OST0000-osc-ffff8c01/stats",
		  "read_bytes 4 samples [bytes] 1 2 3000 4\n");
	tree_file(root, "/sys/block/vda/stat", "  100 5 2000 7 1 2 3 4 5 6 7 0 0 0 0\n");
	tree_file(root, "/sys/block/nvme0c0n1/stat", "  100 5 16 7 1 2 3 4 5 6 7 0 0 0 0\n");
	tree_file(root, "/sys/block/nvme0c1n1/stat", "  100 5 32 7 1 2 3 4 5 6 7 0 0 0 0\n");
	tree_file(root, "/sys/block/nvme0n1/stat", "0 0 0 0 0 0 0 0 0 0 0\n");
}

static void tear_down(void)
{
	tree_remove(root);
}

#define NOT_COUNTED UINT64_MAX

/* clang-format off */
static const struct source_case {
	struct mount mount;
	enum memsource_kind kind;
	const char *name;
	uint64_t bytes, reads;
	bool is_sure;
} cases[] = {
	{ { .type = "ext4", .device = "vda" },
	  MEMSOURCE_DEVICE, "device counters", 2000 * 512, 100, true },
	{ { .type = "xfs", .device = "nvme0n1" },
	  MEMSOURCE_DEVICE, "device counters", 48 * 512, 200, true },
	{ { .type = "nfs4", .target = "/mnt/array" },
	  MEMSOURCE_NFS, "NFS mountstats", 5000, 5, true },
	{ { .type = "lustre", .source = "192.0.2.5@o2ib:/scratch" },
	  MEMSOURCE_LUSTRE, "Lustre osc statistics", 3000, 4, true },
	{ { .type = "btrfs", .source = "/dev/vdb" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, true },
	{ { .type = "overlay", .source = "overlay" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, true },
	/* of these it is not known whether they count */
	{ { .type = "fuse.sshfs", .source = "me@there:" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, false },
	{ { .type = "ceph", .source = "192.0.2.1:6789:/" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, false },
	/* what should tell and does not */
	{ { .type = "ext4", .device = "gone" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, true },
	{ { .type = "nfs", .target = "/elsewhere" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, true },
	{ { .type = "lustre", .source = "192.0.2.5@o2ib:/other" },
	  MEMSOURCE_PROCESS, "/proc/self/io", 123456, NOT_COUNTED, false },
	/* memory, or a cache that nobody here sees */
	{ { .type = "tmpfs", .is_memory = true },
	  MEMSOURCE_NONE, "unknown", 0, 0, true },
	{ { .type = "zfs", .has_own_cache = true },
	  MEMSOURCE_NONE, "unknown", 0, 0, true },
};
/* clang-format on */

START_TEST(the_source_is_what_fits_the_mount)
{
	const struct source_case *c = &cases[_i];
	struct memsource_count n;
	struct memsource m;

	memsource_open(&m, &c->mount, root);
	ck_assert_int_eq(m.kind, c->kind);
	ck_assert_str_eq(m.name, c->name);
	ck_assert_int_eq(memsource_read(&m, &n), c->kind == MEMSOURCE_NONE ? -ENODATA : 0);
	ck_assert_uint_eq(n.read_bytes, c->bytes);
	ck_assert_uint_eq(n.reads, c->reads);
	ck_assert_int_eq(m.is_sure, c->is_sure);
	memsource_close(&m);
	memsource_close(&m);
}
END_TEST

/* Never 0, which would be a figure. */
START_TEST(where_nothing_counts_it_is_unknown)
{
	static const char *const texts[] = { "rchar: 1\n", "", "read_bytes: some\n" };
	const struct mount mount = { .type = "btrfs" };
	struct memsource_count n;
	struct memsource m;

	put_process(texts[_i]);
	memsource_open(&m, &mount, root);
	ck_assert_int_eq(m.kind, MEMSOURCE_NONE);
	ck_assert_str_eq(m.name, "unknown");
	ck_assert_int_eq(memsource_read(&m, &n), -ENODATA);
	memsource_close(&m);
}
END_TEST

START_TEST(jobs_share_what_counts_for_both)
{
	struct memsource m[5];
	static const size_t rows[] = { 0, 1, 2, 4, 11 };
	static const bool expected[5][5] = {
		/*            vda    nvme   nfs    btrfs  tmpfs */
		/* vda   */ { true, false, false, false, false },
		/* nvme  */ { false, true, false, false, false },
		/* nfs   */ { false, false, true, false, false },
		/* btrfs */ { true, true, true, true, false },
		/* tmpfs */ { false, false, false, false, true },
	};

	for (size_t i = 0; i < 5; i++)
		memsource_open(&m[i], &cases[rows[i]].mount, root);
	for (size_t i = 0; i < 5; i++)
		for (size_t k = 0; k < 5; k++)
			ck_assert_msg(memsource_counts(&m[i], &m[k]) == expected[i][k],
				      "%zu counts %zu", i, k);
	for (size_t i = 0; i < 5; i++)
		memsource_close(&m[i]);
}
END_TEST

START_TEST(this_machine_has_a_source_that_grows)
{
	struct mlgen_err err = { 0 };
	struct memsource_count a, b;
	struct memsource m;
	struct mount mount;

	ck_assert_int_eq(mount_read(&mount, "/", &err), 0);
	memsource_open(&m, &mount, "");
	if (m.kind != MEMSOURCE_NONE) {
		ck_assert_int_eq(memsource_read(&m, &a), 0);
		ck_assert_int_eq(memsource_read(&m, &b), 0);
		ck_assert_uint_ge(b.read_bytes, a.read_bytes);
	}
	memsource_close(&m);
}
END_TEST

Suite *suite_memsource(void)
{
	Suite *s = suite_create("memsource");
	TCase *t = tcase_create("memsource");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, the_source_is_what_fits_the_mount, 0,
			    sizeof(cases) / sizeof(cases[0]));
	tcase_add_loop_test(t, where_nothing_counts_it_is_unknown, 0, 3);
	tcase_add_test(t, jobs_share_what_counts_for_both);
	tcase_add_test(t, this_machine_has_a_source_that_grows);
	suite_add_tcase(s, t);
	return s;
}
