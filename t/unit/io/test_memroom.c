/* SPDX-License-Identifier: Apache-2.0 */
/* test_memroom.c - how much memory may still be taken, in trees of the test's own. */
#include <check.h>
#include <string.h>
#include <sys/resource.h>

#include "io/host.h"
#include "suites.h"
#include "tree.h"

#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

/* clang-format off */
static const struct room_case {
	const char *what;
	struct { const char *path, *text; } files[8];
	uint64_t mib;
	const char *of;
} rooms[] = {
	{ "a host", { { 0 } }, 1024, "this host has 1 GiB available" },
	{ "version 1: what is used is gone, but for the page cache",
	  { { "/proc/self/cgroup", "4:memory:/m\n" },
	    { "/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "16777216\n" },
	    { "/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "10485760\n" },
	    { "/sys/fs/cgroup/memory/m/memory.stat",
	      "cache 9\ninactive_file 9\ntotal_inactive_file 1048576\n"
	      "total_active_file 3145728\n" } },
	  10, "the control group /sys/fs/cgroup/memory/m leaves 10 MiB of its 16 MiB" },
	{ "version 2: a group above is tighter",
	  { { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/memory.max", "max\n" },
	    { "/sys/fs/cgroup/a/memory.max", "33554432\n" },
	    { "/sys/fs/cgroup/a/memory.current", "8388608\n" },
	    { "/sys/fs/cgroup/a/memory.stat",
	      "anon 1\ninactive_file 2097152\nactive_file 0\n" } },
	  26, "the control group /sys/fs/cgroup/a leaves 26 MiB of its 32 MiB" },
	{ "a group that is full",
	  { { "/proc/self/cgroup", "0::/a\n" },
	    { "/sys/fs/cgroup/a/memory.max", "1048576\n" },
	    { "/sys/fs/cgroup/a/memory.current", "2097152\n" } },
	  0, "leaves 0 B of its 1 MiB" },
	{ "a group that is left out",
	  { { "/proc/self/cgroup", "0::/mine\n" },
	    { "/sys/fs/cgroup/mine/memory.max", "1048576\n" } },
	  1024, "this host" },
	{ "a group with more than the host has",
	  { { "/proc/self/cgroup", "4:memory:/\n" },
	    { "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	      "9223372036854771712\n" } },
	  1024, "this host" },
};
/* clang-format on */

START_TEST(the_least_of_host_and_groups_is_left)
{
	const struct room_case *c = &rooms[_i];
	char root[TREE_BYTES];
	struct memroom m;

	tree_make(root);
	tree_file(root, "/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n");
	for (size_t i = 0; c->files[i].path; i++)
		tree_file(root, c->files[i].path, c->files[i].text);
	memroom_read(&m, root, "/sys/fs/cgroup/mine");
	ck_assert_msg(m.bytes == c->mib * MIB, "%s: %llu", c->what, (unsigned long long)m.bytes);
	ck_assert_msg(strstr(m.of, c->of) != NULL, "%s: %s", c->what, m.of);
	ck_assert_uint_ge(m.place_count, 1);
	ck_assert_uint_eq(m.places[0].id[0] | m.places[0].id[1], 0);
	ck_assert_uint_eq(m.places[0].bytes, 1024 * MIB);
	for (size_t i = 1; i < m.place_count; i++)
		ck_assert_uint_ne(m.places[i].id[1], 0);
	tree_remove(root);
}
END_TEST

/* The limit is a real one, so large that nothing meets it. */
START_TEST(address_space_is_what_a_limit_leaves)
{
	const struct rlimit data = { TIB * 1024, TIB * 1024 };
	char root[TREE_BYTES];
	struct memroom m;

	tree_make(root);
	tree_file(root, "/proc/meminfo", "MemAvailable: 1048576 kB\n");
	tree_file(root, "/proc/self/status", "VmSize:  8192 kB\nVmData:  1099511562240 kB\n");
	memroom_read(&m, root, "");
	ck_assert_uint_eq(m.address_bytes, UINT64_MAX);
	ck_assert_int_eq(setrlimit(RLIMIT_DATA, &data), 0);
	memroom_read(&m, root, "");
	ck_assert_uint_eq(m.address_bytes, 64 * MIB);
	ck_assert_str_eq(m.address_of, "ulimit -d leaves 64 MiB of its 1 PiB");
	tree_remove(root);
}
END_TEST

Suite *suite_memroom(void)
{
	Suite *s = suite_create("memroom");
	TCase *t = tcase_create("memroom");

	tcase_add_loop_test(t, the_least_of_host_and_groups_is_left, 0,
			    (int)(sizeof(rooms) / sizeof(rooms[0])));
	tcase_add_test(t, address_space_is_what_a_limit_leaves);
	suite_add_tcase(s, t);
	return s;
}
