/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_names.c - a name of a trace has one place below the directory, and none outside of
 * it. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "replay_files_rig.h"
#include "suites.h"
#include "work/replay/replay_internal.h"

static void expect_path(uint32_t id, const char *path)
{
	char out[PATH_MAX], whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/%s", top, path);
	ck_assert_int_eq(replay_files_path(&files, id, out), 0);
	ck_assert_str_eq(out, whole);
}

START_TEST(a_name_has_its_place_below_the_directory)
{
	static const struct {
		const char *name, *path;
	} names[] = {
		{ "/a/b", "d/a/b" },
		{ "a/b", "d/a/b" },
		{ "//a///b/", "d/a/b" },
		{ "/./a/./b/.", "d/a/b" },
		{ "/a/../b", "d/b" },
		{ "../../../b", "d/b" },
		{ "/a/b/../../../../etc/passwd", "d/etc/passwd" },
		{ "/..", "d" },
		{ "..", "d" },
		{ "...", "d/..." },
		{ "/.a/..b", "d/.a/..b" },
		{ "/a\nb/\xff\x01", "d/a\nb/\xff\x01" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		expect_path(add(names[i].name, THERE, 1), names[i].path);
}
END_TEST

START_TEST(a_directory_is_where_links_lead)
{
	char path[PATH_MAX];

	shell("mkdir -p real/deep; ln -s real link");
	use("link/new/./dir");
	expect_path(add("/a", THERE, 1), "real/new/dir/a");
	use("link/deep/../x");
	expect_path(add("/a", THERE, 1), "real/x/a");
	use("new");
	expect_path(add("/a", THERE, 1), "new/a");
	use(".");
	ck_assert_int_eq(replay_files_path(&files, add("/a", THERE, 1), path), 0);
	ck_assert_str_eq(path + strlen(top), "/a");
	use("/");
	ck_assert_int_eq(replay_files_path(&files, add("/a/b", THERE, 1), path), 0);
	ck_assert_str_eq(path, "/a/b");
	use("/no-such-folder/x/");
	ck_assert_int_eq(replay_files_path(&files, add("/a/b", THERE, 1), path), 0);
	ck_assert_str_eq(path, "/no-such-folder/x/a/b");
}
END_TEST

START_TEST(a_name_may_be_too_long)
{
	char name[PATH_MAX + 1] = "/", path[PATH_MAX];

	memset(name + 1, 'n', 256);
	ck_assert_int_eq(replay_files_path(&files, add(name, THERE, 1), path), -ENAMETOOLONG);
	look_fails(-ENAMETOOLONG, "File name too long below ");
	use("d");
	name[256] = '\0';
	add(name, THERE | READ, 1);
	make_ok(1);
	use("e");
	for (size_t at = 0; at < PATH_MAX; at += 2)
		memcpy(name + at, "/n", 3);
	name[PATH_MAX - 5] = '\0';
	add(name, THERE, 1);
	look_fails(-ENAMETOOLONG, "name a directory with a shorter path");
	ck_assert_uint_eq(size_of("e"), UINT64_MAX);
}
END_TEST

START_TEST(names_of_one_place_are_one_file)
{
	add("/a/b", THERE, 10);
	add("/a//b", THERE | READ, 200000);
	add("a/c/../b", CHANGED, 0);
	add("./c", THERE, 5);
	replay_file(&files, replay_files_id(&files, "/c\0x", 4))->flags = THERE;
	look_ok();
	ck_assert_uint_eq(files.files, 2);
	ck_assert_uint_eq(files.bytes, 200005);
	ck_assert_uint_eq(files.changed_files, 1);
	ck_assert_uint_eq(files.missing_files, 2);
	ck_assert_uint_eq(files.missing_bytes, 200005);
	ck_assert_uint_eq(files.largest_missing, 200000);
	look_ok();
	ck_assert_uint_eq(files.files, 2);
	make_ok(2);
	ck_assert_uint_eq(size_of("d/a/b"), 200000);
	make_ok(0);
}
END_TEST

START_TEST(a_file_and_a_folder_cannot_have_one_name)
{
	add("/a/b", THERE | READ, 10);
	add("/a/b/c/d", THERE, 10);
	look_fails(-ENOTDIR, "/a/b: the trace has a file of this name, and /a/b/c/d in a folder of "
			     "the same name");
	use("d");
	add("/", THERE | READ, 10);
	look_fails(-EISDIR, "which is this directory");
	use("d");
	add("/", THERE | FOLDER, 4096);
	add("a/../.mlgen-replay", THERE, 10);
	look_fails(-EINVAL,
		   "/d/.mlgen-replay: the trace has a file of this name, which mlgen needs");
	ck_assert_str_eq(found("-name d"), "");
}
END_TEST

START_TEST(what_has_files_below_it_is_a_folder)
{
	add("/", THERE, 4096);
	add("/a", THERE, 4096);
	add("a/b", THERE, 4096);
	add("/a/b/c", THERE | READ, 10);
	add("/out", THERE, 4096);
	add("/out/log", CHANGED, 0);
	look_ok();
	ck_assert_uint_eq(files.files, 2);
	ck_assert_uint_eq(files.missing_bytes, 10);
	make_ok(1);
	ck_assert_str_eq(found("-path './d/*'"),
			 "./d/.mlgen-replay ./d/a ./d/a/b ./d/a/b/c ./d/out ");
	make_ok(0);
}
END_TEST

START_TEST(what_was_renamed_with_its_folder_is_not_made)
{
	const unsigned made = CHANGED | REPLAY_FILE_MADE;

	add("/c/tmp", made | FOLDER, 0);
	add("/c/tmp/x", made, 0);
	add("/c/last", made, 0);
	add("/c/last/x", THERE | READ, 10);
	make_ok(0);
	ck_assert_str_eq(found("-path './d/*'"), "./d/.mlgen-replay ./d/c ");
	/* As the replay leaves it. */
	ck_assert_int_eq(system("mkdir d/c/last && : >d/c/last/x"), 0);
	make_ok(0);
}
END_TEST

START_TEST(what_nobody_was_there_for_is_not_made)
{
	add("/a/b", 0, 10);   /* known, and never used */
	add("/a/c", READ, 0); /* never found */
	look_ok();
	ck_assert_uint_eq(files.files, 1);
	ck_assert_uint_eq(files.missing_files, 0);
	make_ok(0);
	ck_assert(!maker.started);
	ck_assert_uint_eq(size_of("d"), UINT64_MAX);
}
END_TEST

Suite *suite_replay_names(void)
{
	Suite *s = suite_create("replay_names");
	TCase *t = tcase_create("replay_names");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_name_has_its_place_below_the_directory);
	tcase_add_test(t, a_directory_is_where_links_lead);
	tcase_add_test(t, a_name_may_be_too_long);
	tcase_add_test(t, names_of_one_place_are_one_file);
	tcase_add_test(t, a_file_and_a_folder_cannot_have_one_name);
	tcase_add_test(t, what_has_files_below_it_is_a_folder);
	tcase_add_test(t, what_was_renamed_with_its_folder_is_not_made);
	tcase_add_test(t, what_nobody_was_there_for_is_not_made);
	suite_add_tcase(s, t);
	return s;
}
