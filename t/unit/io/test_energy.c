/* SPDX-License-Identifier: Apache-2.0 */
/* test_energy.c - joules from a tree of powercap as machines have it. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/devices.h"
#include "suites.h"
#include "tree.h"

#define CAP "/sys/class/powercap/"

static char root[TREE_BYTES];

static void put_uj(const char *zone, uint64_t uj)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), CAP "%s/energy_uj", zone);
	snprintf(text, sizeof(text), "%" PRIu64 "\n", uj);
	tree_file(root, path, text);
}

static void put_zone(const char *zone, const char *name, uint64_t uj, const char *range)
{
	char path[128];

	snprintf(path, sizeof(path), CAP "%s/name", zone);
	tree_file(root, path, name);
	snprintf(path, sizeof(path), CAP "%s/max_energy_range_uj", zone);
	tree_file(root, path, range);
	put_uj(zone, uj);
}

/* As a server with two packages has it, one of two dies. */
static void put_server(void)
{
	tree_make(root);
	tree_file(root, CAP "intel-rapl/enabled", "1\n");
	put_zone("intel-rapl:0", "package-0\n", 1000, "262143328850\n");
	put_zone("intel-rapl:0:0", "core\n", 7, "262143328850\n");
	put_zone("intel-rapl:0:1", "dram\n", 50, "65712999613\n");
	put_zone("intel-rapl:1", "package-1-die-0\n", 262143328000, "262143328850\n");
	put_zone("intel-rapl:1:0", "dram\n", 0, "65712999613\n");
	put_zone("intel-rapl:2", "psys\n", 5, "262143328850\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", 1000, "262143328850\n");
}

START_TEST(packages_and_dram_add_up_and_nothing_else)
{
	struct energy_meter m;
	struct energy_counts c;

	put_server();
	energy_open(&m, root);
	put_uj("intel-rapl:0", 3000);
	put_uj("intel-rapl:0:0", 1000000);
	put_uj("intel-rapl:0:1", 150);
	put_uj("intel-rapl:1", 262143328700);
	put_uj("intel-rapl:1:0", 20);
	put_uj("intel-rapl:2", 1000000);
	put_uj("intel-rapl-mmio:0", 3000);
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, 2000 + 700);
	ck_assert_uint_eq(c.dram_uj, 100 + 20);
	ck_assert_ptr_null(c.unmeasured);
	energy_close(&m);
	tree_remove(root);
}
END_TEST

START_TEST(a_counter_that_went_round_counts_on)
{
	struct energy_meter m;
	struct energy_counts c;

	put_server();
	energy_open(&m, root);
	for (unsigned turn = 0; turn < 3; turn++) {
		put_uj("intel-rapl:1", 131000000000);
		energy_read(&m, &c);
		put_uj("intel-rapl:1", 262143328000);
		energy_read(&m, &c);
		put_uj("intel-rapl:1", 150);
		energy_read(&m, &c);
	}
	/* Thrice round, and 1000 further. */
	ck_assert_uint_eq(c.package_uj, 3 * UINT64_C(262143328850) + 1000);
	energy_close(&m);
	tree_remove(root);
}
END_TEST

START_TEST(memory_that_no_zone_counts_is_unknown)
{
	struct energy_meter m;
	struct energy_counts c;

	tree_make(root);
	put_zone("intel-rapl:0", "package-0\n", 10, "65532610987\n");
	energy_open(&m, root);
	put_uj("intel-rapl:0", 30);
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, 20);
	ck_assert_uint_eq(c.dram_uj, UINT64_MAX);
	ck_assert_str_eq(c.unmeasured, "no zone measures DRAM");
	energy_close(&m);
	tree_remove(root);
}
END_TEST

static void expect_unknown(const char *why)
{
	struct energy_meter m;
	struct energy_counts c;

	energy_open(&m, root);
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, UINT64_MAX);
	ck_assert_uint_eq(c.dram_uj, UINT64_MAX);
	ck_assert_msg(c.unmeasured && strstr(c.unmeasured, why), "%s", c.unmeasured);
	energy_close(&m);
}

START_TEST(without_zones_it_is_unknown_and_says_so)
{
	tree_make(root);
	expect_unknown("no RAPL zone");
	tree_file(root, CAP "intel-rapl-mmio:0/name", "package-0\n");
	tree_file(root, CAP "dtpm/name", "package-0\n");
	expect_unknown("no RAPL zone");
	tree_remove(root);
}
END_TEST

START_TEST(what_only_root_may_read_says_so)
{
	char path[TREE_BYTES + 64];
	bool is_root = geteuid() == 0;

	put_server();
	snprintf(path, sizeof(path), "%s" CAP "intel-rapl:0/energy_uj", root);
	ck_assert_int_eq(chmod(path, 0), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	if (is_root)
		ck_assert_int_eq(seteuid(65534), 0);
	expect_unknown("only root can read");
	if (is_root)
		ck_assert_int_eq(seteuid(0), 0);
	tree_remove(root);
}
END_TEST

START_TEST(a_counter_of_words_or_without_a_range_is_unknown)
{
	put_server();
	tree_file(root, CAP "intel-rapl:1:0/energy_uj", "many\n");
	expect_unknown("cannot be read");
	tree_remove(root);
	put_server();
	tree_file(root, CAP "intel-rapl:0/max_energy_range_uj", "");
	expect_unknown("cannot be read");
	tree_remove(root);
}
END_TEST

START_TEST(a_zone_that_goes_away_leaves_the_sum_unknown)
{
	struct energy_meter m;
	struct energy_counts c;

	put_server();
	energy_open(&m, root);
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, 0);
	tree_file(root, CAP "intel-rapl:1/energy_uj", "");
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, UINT64_MAX);
	put_uj("intel-rapl:1", 262143328100);
	energy_read(&m, &c);
	ck_assert_uint_eq(c.package_uj, UINT64_MAX);
	ck_assert_ptr_nonnull(c.unmeasured);
	energy_close(&m);
	tree_remove(root);
}
END_TEST

Suite *suite_energy(void)
{
	Suite *s = suite_create("energy");
	TCase *t = tcase_create("energy");

	tcase_add_test(t, packages_and_dram_add_up_and_nothing_else);
	tcase_add_test(t, a_counter_that_went_round_counts_on);
	tcase_add_test(t, memory_that_no_zone_counts_is_unknown);
	tcase_add_test(t, without_zones_it_is_unknown_and_says_so);
	tcase_add_test(t, what_only_root_may_read_says_so);
	tcase_add_test(t, a_counter_of_words_or_without_a_range_is_unknown);
	tcase_add_test(t, a_zone_that_goes_away_leaves_the_sum_unknown);
	suite_add_tcase(s, t);
	return s;
}
