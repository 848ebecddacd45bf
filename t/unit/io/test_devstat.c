/* SPDX-License-Identifier: Apache-2.0 */
/* test_devstat.c - which devices count what one of them does, and their sums. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "io/devices.h"
#include "suites.h"
#include "tree.h"

static char root[TREE_BYTES];

/* A device that has read `sectors`, in requests of eight; -1: it has no file of its own. */
static void put_device(const char *folder, const char *name, int64_t sectors)
{
	char path[128], text[160];

	snprintf(path, sizeof(path), "/sys/%s/%s/stat", folder, name);
	snprintf(text, sizeof(text), "%8" PRId64 " 3 %8" PRId64 " 40 5 6 7 8 0 10 11 0 0 0 0\n",
		 sectors / 8, sectors);
	tree_file(root, path, text);
}

static void put_iostats(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/queue/iostats", name);
	tree_file(root, path, value);
}

static void put_below(const char *name, const char *below)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/block/%s/slaves/%s", name, below);
	tree_link(root, path);
}

/*
 * sda sdb sdc      disks; sdc1, a partition, has its counters elsewhere
 * md0              RAID of sda and sdb, counts
 * md1              the same, told not to count
 * dm-0             LVM on md0, counts
 * dm-1             LVM on md1, never counted anything
 * dm-2             striped over dm-0 and dm-1 and sdc1, told not to count
 * dm-3             on something that is gone
 * nvme0n1          multipath, counts nothing itself; paths nvme0c0n1, nvme0c1n1
 * nvme1n1          one path, counts itself
 * nvme2n1          no multipath, new
 * nvme0n2          another namespace of the first
 */
static void set_up(void)
{
	tree_make(root);
	put_device("block", "sda", 1000);
	put_device("block", "sdb", 2000);
	put_device("block", "sdc", 9000);
	put_device("class/block", "sdc1", 4000);
	put_device("block", "md0", 2600);
	put_iostats("md0", "1\n");
	put_below("md0", "sda");
	put_below("md0", "sdb");
	put_device("block", "md1", 777);
	put_iostats("md1", "0\n");
	put_below("md1", "sda");
	put_below("md1", "sdb");
	put_device("block", "dm-0", 2400);
	put_below("dm-0", "md0");
	put_device("block", "dm-1", 0);
	put_below("dm-1", "md1");
	put_device("block", "dm-2", 5);
	put_iostats("dm-2", "0\n");
	put_below("dm-2", "dm-0");
	put_below("dm-2", "dm-1");
	put_below("dm-2", "sdc1");
	put_device("block", "dm-3", 0);
	put_below("dm-3", "gone");
	put_device("block", "nvme0n1", 0);
	put_device("block", "nvme0c0n1", 16);
	put_device("block", "nvme0c1n1", 32);
	put_device("block", "nvme0c1n2", 64);
	put_device("block", "nvme0c1n11", 64);
	put_device("block", "nvme1c0n1", 128);
	put_device("block", "nvme1n1", 120);
	put_device("block", "nvme2n1", 0);
	put_device("block", "loop0", 8);
	put_iostats("loop0", "0\n");
}

static void tear_down(void)
{
	tree_remove(root);
}

/* clang-format off */
static const struct counting_case {
	const char *name;
	size_t count; /* 0 = nothing counts */
	uint64_t sectors;
} counting[] = {
	{ "sda", 1, 1000 },
	{ "md0", 1, 2600 },      /* not its disks: they may serve others */
	{ "md1", 2, 3000 },
	{ "dm-0", 1, 2400 },
	{ "dm-1", 2, 3000 },     /* through md1 */
	{ "dm-2", 4, 2400 + 3000 + 4000 },
	{ "dm-3", 0, 0 },
	{ "nvme0n1", 2, 48 },
	{ "nvme1n1", 1, 120 },
	{ "nvme2n1", 1, 0 },     /* never read, and nothing below */
	{ "loop0", 0, 0 },       /* told not to count */
	{ "nothing", 0, 0 },
	{ "", 0, 0 },
};
/* clang-format on */

START_TEST(what_counts_a_device_is_found_and_summed)
{
	const struct counting_case *c = &counting[_i];
	struct devset set = { 0 };
	struct devstat s;
	int rc = devset_counting(&set, root, c->name);

	ck_assert_int_eq(rc, c->count ? 0 : -ENODATA);
	ck_assert_uint_eq(set.count, c->count);
	ck_assert_int_eq(devset_read(&s, &set, root), rc);
	ck_assert_uint_eq(s.read_sectors, c->sectors);
	ck_assert_uint_eq(s.read_ios, c->sectors / 8);
	ck_assert_uint_eq(s.write_sectors, 7 * c->count);
	devset_fini(&set);
}
END_TEST

START_TEST(a_path_that_goes_away_leaves_no_sum)
{
	struct devset set = { 0 };
	struct devstat s;
	char path[TREE_BYTES + 64];

	ck_assert_int_eq(devset_counting(&set, root, "nvme0n1"), 0);
	snprintf(path, sizeof(path), "%s/sys/block/nvme0c0n1/stat", root);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(devset_read(&s, &set, root), -ENODATA);
	devset_fini(&set);
	devset_fini(&set);
}
END_TEST

START_TEST(what_lies_below_is_added_once)
{
	struct devset set = { 0 };

	devset_components(&set, root, "md0");
	devset_components(&set, root, "md1");
	ck_assert_uint_eq(set.count, 2);
	devset_components(&set, root, "nvme0n1");
	ck_assert_uint_eq(set.count, 4);
	devset_components(&set, root, "sda");
	devset_components(&set, root, "nothing");
	ck_assert_uint_eq(set.count, 4);
	devset_fini(&set);
}
END_TEST

START_TEST(adding_undoes_subtracting)
{
	struct devstat a, b, sum;

	ck_assert_int_eq(devstat_read(&a, root, "sda"), 0);
	ck_assert_int_eq(devstat_read(&b, root, "sdb"), 0);
	sum = a;
	devstat_add(&sum, &b);
	ck_assert_uint_eq(sum.read_sectors, 3000);
	ck_assert_uint_eq(sum.io_ticks_ms, 20);
	devstat_subtract(&sum, &b);
	ck_assert_mem_eq(&sum, &a, sizeof(a));
}
END_TEST

Suite *suite_devstat(void)
{
	Suite *s = suite_create("devstat");
	TCase *t = tcase_create("devstat");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, what_counts_a_device_is_found_and_summed, 0,
			    sizeof(counting) / sizeof(counting[0]));
	tcase_add_test(t, a_path_that_goes_away_leaves_no_sum);
	tcase_add_test(t, what_lies_below_is_added_once);
	tcase_add_test(t, adding_undoes_subtracting);
	suite_add_tcase(s, t);
	return s;
}
