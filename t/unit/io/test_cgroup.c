/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c - a memory limit by control groups, in trees of the test's own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/host.h"
#include "suites.h"
#include "tree.h"

#define MIB (UINT64_C(1) << 20)
#define V1 "/sys/fs/cgroup/memory/a"
#define V2 "/sys/fs/cgroup/a"

static char root[TREE_BYTES];

/* A file of the group that this process would make in `dir`. */
static void new_group_file(char *path, size_t size, const char *dir, const char *name)
{
	snprintf(path, size, "%s/mlgen-%ld/%s", dir, (long)getpid(), name);
}

/* The kernel fills new groups with files: here they are there before. */
static void put_new_group(const char *dir, const char *name, const char *text)
{
	char path[256];

	new_group_file(path, sizeof(path), dir, name);
	tree_file(root, path, text);
}

static void check_file(const char *path, const char *want)
{
	char name[600], text[64] = "";
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	f = fopen(name, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_gt(fread(text, 1, sizeof(text) - 1, f) + 1, 0);
	fclose(f);
	ck_assert_msg(strcmp(text, want) == 0, "%s: '%s', not '%s'", path, text, want);
}

static void check_new_group(const char *dir, const char *name, const char *want)
{
	char path[256];

	new_group_file(path, sizeof(path), dir, name);
	check_file(path, want);
}

/* Files of a plain folder stay, where the kernel's go with the group. */
static void check_leave(struct cgroup *g)
{
	int rc = cgroup_leave(g, root);

	ck_assert_msg(rc == -ENOTEMPTY || rc == -EEXIST, "%d", rc);
}

static void put_v2(const char *controllers, const char *given)
{
	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "0::/a/b\n");
	tree_file(root, V2 "/b/cgroup.procs", "");
	tree_file(root, V2 "/b/cgroup.controllers", controllers);
	tree_file(root, V2 "/b/cgroup.subtree_control", given);
	tree_file(root, V2 "/cgroup.procs", "");
	tree_file(root, V2 "/cgroup.subtree_control", "cpu memory\n");
}

START_TEST(version_1_takes_a_child_of_the_own_group)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "4:memory:/a\n0::/u\n");
	tree_file(root, "/sys/fs/cgroup/unified/u/cgroup.procs", "");
	tree_file(root, V1 "/cgroup.procs", "");
	put_new_group(V1, "cgroup.procs", "");
	put_new_group(V1, "memory.limit_in_bytes", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	ck_assert(!g.is_v2);
	ck_assert_uint_eq(g.limit_bytes, 64 * MIB);
	check_new_group(V1, "memory.limit_in_bytes", "67108864\n");
	check_new_group(V1, "cgroup.procs", "0\n");
	check_file(V1 "/cgroup.procs", "");
	check_leave(&g);
	check_file(V1 "/cgroup.procs", "0\n");
	ck_assert_int_eq(cgroup_leave(&g, root), 0); /* nothing is left to do */
	tree_remove(root);
}
END_TEST

START_TEST(inside_a_container_the_top_is_the_own_group)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "4:memory:/docker/0123\n");
	tree_file(root, "/sys/fs/cgroup/memory/cgroup.procs", "");
	put_new_group("/sys/fs/cgroup/memory", "cgroup.procs", "");
	put_new_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	ck_assert_str_eq(g.home, "/sys/fs/cgroup/memory");
	check_leave(&g);
	tree_remove(root);
}
END_TEST

START_TEST(version_2_takes_a_child_that_is_given_memory)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	put_v2("cpu memory\n", "memory\n");
	put_new_group(V2 "/b", "cgroup.procs", "");
	put_new_group(V2 "/b", "memory.max", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	ck_assert(g.is_v2 && !g.has_enabled);
	check_new_group(V2 "/b", "memory.max", "67108864\n");
	check_leave(&g);
	check_file(V2 "/b/cgroup.subtree_control", "memory\n");
	tree_remove(root);
}
END_TEST

START_TEST(version_2_gives_memory_to_a_child_that_all_have_moved_to)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	put_v2("cpu memory\n", "");
	put_new_group(V2 "/b", "cgroup.procs", "");
	put_new_group(V2 "/b", "memory.max", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	ck_assert(g.has_enabled);
	check_file(V2 "/b/cgroup.subtree_control", "+memory");
	check_leave(&g);
	check_file(V2 "/b/cgroup.subtree_control", "-memory");
	check_file(V2 "/b/cgroup.procs", "0\n");
	tree_remove(root);
}
END_TEST

/* As of a group with other processes: the limit cannot be had below it. */
START_TEST(version_2_takes_a_sibling_of_a_shared_group)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	put_v2("cpu memory\n", "");
	put_new_group(V2, "cgroup.procs", "");
	put_new_group(V2, "memory.max", "");
	tree_file(root, V2 "/b/cpu.max", "max 100000\n");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	ck_assert_str_eq(g.parent, V2);
	check_new_group(V2, "memory.max", "67108864\n");
	check_new_group(V2, "cgroup.procs", "0\n");
	check_leave(&g);
	check_file(V2 "/b/cgroup.procs", "0\n");
	tree_remove(root);
}
END_TEST

START_TEST(limits_of_the_own_group_are_not_left_behind)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	put_v2("cpu memory\n", "");
	put_new_group(V2, "cgroup.procs", "");
	put_new_group(V2, "memory.max", "");
	tree_file(root, V2 "/b/cpu.max", "50000 100000\n");
	ck_assert_int_lt(cgroup_limit_memory(&g, root, 64 * MIB, &err), 0);
	check_new_group(V2, "cgroup.procs", "");
	ck_assert_ptr_nonnull(strstr(err.text, V2 "/b"));
	ck_assert_int_eq(cgroup_leave(&g, root), 0);
	tree_remove(root);
}
END_TEST

START_TEST(without_the_controller_it_says_so)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	put_v2("cpu io\n", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(err.text, "no memory controller"));
	ck_assert_ptr_nonnull(strstr(err.text, "systemd-run"));
	tree_remove(root);
	tree_make(root);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "no control groups"));
	tree_remove(root);
}
END_TEST

/* What cannot be written is undone: the group is gone, and nobody in it. */
START_TEST(a_limit_that_is_refused_leaves_nothing)
{
	char name[600], path[300];
	struct mlgen_err err = { 0 };
	struct cgroup g;
	struct stat st;

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "4:memory:/a\n");
	tree_file(root, V1 "/cgroup.procs", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), -ENOENT);
	check_file(V1 "/cgroup.procs", "");
	new_group_file(path, sizeof(path), V1, "");
	snprintf(name, sizeof(name), "%s%s", root, path);
	ck_assert_int_lt(stat(name, &st), 0);
	tree_remove(root);
}
END_TEST

START_TEST(groups_of_dead_processes_are_removed)
{
	/* Above the kernel's largest number of a process. */
	const char *dead = V1 "/mlgen-4194999", *other = V1 "/mlgen-x";
	struct mlgen_err err = { 0 };
	struct cgroup g;
	struct stat st;
	char name[600];

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "4:memory:/a\n");
	tree_file(root, V1 "/cgroup.procs", "");
	tree_folder(root, dead);
	tree_folder(root, other);
	cgroup_limit_memory(&g, root, 64 * MIB, &err);
	snprintf(name, sizeof(name), "%s%s", root, dead);
	ck_assert_int_lt(stat(name, &st), 0);
	snprintf(name, sizeof(name), "%s%s", root, other);
	ck_assert_int_eq(stat(name, &st), 0);
	tree_remove(root);
}
END_TEST

START_TEST(a_group_of_another_container_is_not_shared)
{
	struct mlgen_err err = { 0 };
	struct cgroup g;

	tree_make(root);
	tree_file(root, "/proc/self/cgroup", "4:memory:/a\n");
	tree_file(root, V1 "/cgroup.procs", "");
	put_new_group(V1, "cgroup.procs", "7\n");
	put_new_group(V1, "memory.limit_in_bytes", "");
	ck_assert_int_eq(cgroup_limit_memory(&g, root, 64 * MIB, &err), -EEXIST);
	check_new_group(V1, "memory.limit_in_bytes", "");
	tree_remove(root);
}
END_TEST

START_TEST(what_the_kernel_killed_is_counted)
{
	struct cgroup g = { .path = V1 "/mlgen-7" };

	tree_make(root);
	ck_assert_uint_eq(cgroup_kills(&g, root), 0);
	tree_file(root, V1 "/mlgen-7/memory.oom_control",
		  "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	ck_assert_uint_eq(cgroup_kills(&g, root), 3);
	g.is_v2 = true;
	tree_file(root, V1 "/mlgen-7/memory.events", "low 0\nhigh 0\nmax 90\noom 2\noom_kill 1\n");
	ck_assert_uint_eq(cgroup_kills(&g, root), 1);
	tree_remove(root);
}
END_TEST

Suite *suite_cgroup(void)
{
	Suite *s = suite_create("cgroup");
	TCase *t = tcase_create("cgroup");

	tcase_add_test(t, version_1_takes_a_child_of_the_own_group);
	tcase_add_test(t, inside_a_container_the_top_is_the_own_group);
	tcase_add_test(t, version_2_takes_a_child_that_is_given_memory);
	tcase_add_test(t, version_2_gives_memory_to_a_child_that_all_have_moved_to);
	tcase_add_test(t, version_2_takes_a_sibling_of_a_shared_group);
	tcase_add_test(t, limits_of_the_own_group_are_not_left_behind);
	tcase_add_test(t, without_the_controller_it_says_so);
	tcase_add_test(t, a_limit_that_is_refused_leaves_nothing);
	tcase_add_test(t, groups_of_dead_processes_are_removed);
	tcase_add_test(t, a_group_of_another_container_is_not_shared);
	tcase_add_test(t, what_the_kernel_killed_is_counted);
	suite_add_tcase(s, t);
	return s;
}
