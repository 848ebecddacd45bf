/* SPDX-License-Identifier: Apache-2.0 */
/* test_lustre.c - bytes from the servers of one Lustre filesystem. */
#include <errno.h>

#include "io/mount_internal.h"
#include "suites.h"
#include "tree.h"

static const char head[] =
	"snapshot_time             1523008010.817348638 secs.nsecs\n"
	"req_waittime              2193 samples [usec] 31 19323 2279254 2825876\n"
	"req_active                2193 samples [reqs] 1 19 4197 17147\n";

static char root[TREE_BYTES];

static void put_stats(const char *path, const char *lines)
{
	char text[600];

	snprintf(text, sizeof(text), "%s%s", head, lines);
	tree_file(root, path, text);
}

#define DEBUGFS "/sys/kernel/debug/lustre"
#define SYSFS "/sys/fs/lustre"

static void put_devices(const char *base)
{
	static const struct {
		const char *device, *lines;
	} devices[] = {
		{ "osc/scratch-OST0000-osc-ffff8c01/stats",
		  "read_bytes                591 samples [bytes] 4096 4194304 452705124 45890\n"
		  "write_bytes               10 samples [bytes] 1 2 300 4\n"
		  "ost_read                  591 samples [usec] 1 2 3 4\n" },
		{ "osc/scratch-OST000a-osc-ffff8c01/stats",
		  "read_bytes                9 samples [bytes] 0 4096 5000\n" },
		{ "osc/scratch-OST000b-osc-ffff8c01/stats", "" },
		/* mounted a second time */
		{ "osc/scratch-OST0000-osc-ffff8c99/stats",
		  "read_bytes                1 samples [bytes] 0 4096 70\n" },
		/* a server's own, another filesystem's, and no device */
		{ "osc/scratch-OST0000-osc-MDT0000/stats",
		  "read_bytes                1 samples [bytes] 0 4096 800\n" },
		{ "osc/scratch2-OST0000-osc-ffff8c02/stats",
		  "read_bytes                1 samples [bytes] 0 4096 9000\n" },
		{ "osc/num_refs/stats", "" },
		{ "mdc/scratch-MDT0000-mdc-ffff8c01/stats",
		  "read_bytes                2 samples [bytes] 0 4096 600000\n"
		  "mds_getattr               231 samples [usec] 50 5735 45029 606\n" },
	};
	char path[160];

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", base, devices[i].device);
		put_stats(path, devices[i].lines);
	}
}

START_TEST(servers_are_summed_wherever_their_files_lie)
{
	static const char *const bases[] = { "/proc/fs/lustre", DEBUGFS, SYSFS };
	struct lustre_stat s;

	tree_make(root);
	put_devices(bases[_i]);
	ck_assert_int_eq(lustre_read(&s, root, "scratch"), 0);
	ck_assert_uint_eq(s.server_read_bytes, 452705124 + 5000 + 70 + 600000);
	ck_assert_uint_eq(s.reads, 591 + 9 + 1 + 2);
	/* of the first mount found; of the second, one */
	ck_assert(s.osts == 3 || s.osts == 1);
	ck_assert_int_eq(lustre_read(&s, root, "scratch2"), 0);
	ck_assert_uint_eq(s.server_read_bytes, 9000);
	ck_assert_uint_eq(s.osts, 1);
	ck_assert_int_eq(lustre_read(&s, root, "scrat"), -ENODATA);
	ck_assert_int_eq(lustre_read(&s, root, ""), -ENODATA);
	tree_remove(root);
}
END_TEST

/* As a user who may not look into debugfs. */
START_TEST(targets_are_known_where_their_statistics_are_not)
{
	struct lustre_stat s;

	tree_make(root);
	tree_file(root, SYSFS "/osc/scratch-OST0000-osc-ffff8c01/active", "1");
	tree_file(root, SYSFS "/osc/scratch-OST0001-osc-ffff8c01/active", "1");
	tree_file(root, SYSFS "/mdc/scratch-MDT0000-mdc-ffff8c01/active", "1");
	ck_assert_int_eq(lustre_read(&s, root, "scratch"), -ENODATA);
	ck_assert_uint_eq(s.osts, 2);
	ck_assert_uint_eq(s.server_read_bytes, 0);
	tree_remove(root);
}
END_TEST

START_TEST(a_filesystem_is_known_by_its_name)
{
	static const char *const sources[][2] = {
		{ "192.0.2.5@o2ib:/scratch", "scratch" },
		{ "192.0.2.5@tcp,192.0.2.6@tcp:192.0.2.7@tcp:/fs/home/me", "fs" },
		{ "/dev/vda1", "" },
		{ "", "" },
	};
	char name[64];

	lustre_name(name, sizeof(name), sources[_i][0]);
	ck_assert_str_eq(name, sources[_i][1]);
}
END_TEST

Suite *suite_lustre(void)
{
	Suite *s = suite_create("lustre");
	TCase *t = tcase_create("lustre");

	tcase_add_loop_test(t, servers_are_summed_wherever_their_files_lie, 0, 3);
	tcase_add_test(t, targets_are_known_where_their_statistics_are_not);
	tcase_add_loop_test(t, a_filesystem_is_known_by_its_name, 0, 4);
	suite_add_tcase(s, t);
	return s;
}
