/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_files_safety.c - what others have stays as it is, where a replay makes files and
 * where the trace names them. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replay_files_rig.h"
#include "suites.h"
#include "work/replay/replay_internal.h"

START_TEST(what_others_have_there_stays)
{
	shell("mkdir -p d/a; echo mine >d/a/b; cp d/a/b old");
	add("/a/b", THERE | READ, 6);
	look_fails(-EEXIST, "/d/a/b: is in the way, and no .mlgen-replay in ");
	make_fails(-EEXIST, "is in the way");
	use("d");
	add("/a/b", THERE | READ | CHANGED, 5);
	look_fails(-EEXIST, "is in the way");
	use("d");
	add("/a/b", CHANGED, 0);
	look_fails(-EEXIST, "is in the way");
	use("d");
	add("/c", THERE | READ, 5);
	look_fails(-ENOTEMPTY, "/d: is not empty, and no .mlgen-replay in it");
	use("d");
	add("/c", CHANGED, 0);
	make_fails(-ENOTEMPTY, "is not empty");
	use("d");
	add("/c", THERE | FOLDER, 0);
	look_fails(-ENOTEMPTY, "is not empty");
	/* As large, and only read. */
	use("d");
	add("/a/b", THERE | READ, 5);
	add("/a", THERE | FOLDER, 4096);
	make_ok(0);
	shell("cmp d/a/b old");
	ck_assert_str_eq(found("-path './d/*'"), "./d/a ./d/a/b ");
}
END_TEST

START_TEST(an_empty_directory_will_do)
{
	shell("mkdir -p d/lost+found");
	add("/a", THERE | READ, 5);
	make_ok(1);
	shell("grep -q '\"mlgen_replay\": 1' d/.mlgen-replay");
}
END_TEST

START_TEST(nothing_is_made_or_taken_behind_a_link)
{
	add("/s/t/a", THERE | READ, 1000);
	make_ok(1);
	shell("mkdir away; echo precious >away/a; cp away/a old;mv d/s/t d/s/u; ln -s ../../away "
	      "d/s/t");
	look_fails(-ELOOP, "/d/s/t/a: a folder on the way is a symbolic link");
	make_fails(-ELOOP, "is a symbolic link");
	shell("rm d/s/t; mv d/s/u d/s/t; rm d/s/t/a;ln -s ../../../away/a d/s/t/a");
	look_fails(-ELOOP, "/d/s/t/a: is a symbolic link, but a file in the trace");
	make_fails(-ELOOP, "is a symbolic link");
	shell("cmp away/a old");
	/* That the trace makes itself. */
	use("d");
	add("/s/t/a", CHANGED, 0);
	make_fails(-ELOOP, "is a symbolic link");
	ck_assert_str_eq(found("-path './away/*'"), "./away/a ");
}
END_TEST

START_TEST(a_file_with_two_names_is_made_anew_before_it_is_changed)
{
	add("/a", THERE | READ | CHANGED, 1000);
	add("/b", THERE | READ, 1000);
	make_ok(2);
	shell("ln d/a other; ln d/b another; cksum other >sum");
	make_ok(1);
	shell("cksum other | cmp - sum; ! cmp -s other d/b");
	ck_assert(system("test d/a -ef other") != 0);
	ck_assert(system("test d/b -ef another") == 0);
	use("d");
	add("/b", CHANGED, 0);
	look_fails(-EMLINK, "/d/b: has other hard links");
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	add("/a", THERE | READ, 1000);
	add("/f", THERE | FOLDER, 0);
	make_ok(1);
	shell("rm d/a; mkdir d/a");
	look_fails(-EEXIST, "/d/a: is a directory, but a file in the trace");
	shell("rmdir d/a; mkfifo d/a");
	make_fails(-EEXIST, "/d/a: is a fifo, but a file in the trace");
	shell("rm -r d/a d/f; : >d/f");
	look_fails(-EEXIST, "/d/f: is a regular file, but a folder in the trace");
	shell("rm d/f");
	add("/p/q", THERE | READ, 1);
	shell(": >d/p");
	look_fails(-ENOTDIR, "/d/p is a regular file");
	use("stderr");
	add("/a", THERE | READ, 1000);
	look_fails(-ENOTDIR, "directory: ");
	ck_assert_msg(strstr(err.text, "stderr is a regular file"), "%s", err.text);
}
END_TEST

START_TEST(a_directory_with_the_traced_files_is_refused)
{
	shell("mkdir -p data/sub; echo 1234 >data/sub/x; ln -s data way;mkdir else; ln -s "
	      "../data/sub/x else/link");
	use("data");
	add_here("data/sub/x", THERE | READ, 5);
	look_fails(-EEXIST, "/data: the directory contains files that the trace names: ");
	ck_assert_msg(
		strstr(err.text, "/data/sub/x; name another directory, or use replay_files=traced"),
		"%s", err.text);
	use("way/sub");
	add("data/sub/x", THERE | READ, 5);
	look_fails(-EEXIST, "the directory contains files that the trace names");
	use("data/sub");
	add_here("way/sub/x", THERE | READ, 5);
	look_fails(-EEXIST, "the directory contains files that the trace names");
	use("data");
	add("else/link", THERE | READ, 5);
	look_fails(-EEXIST, "the directory contains files that the trace names");
	use(".");
	add("data/sub/x", THERE | READ, 5);
	look_fails(-EEXIST, "the directory contains files that the trace names");
	use("/");
	add_here("data/sub/x", THERE | READ | CHANGED, 5);
	look_fails(-EEXIST, "/: the directory contains files that the trace names");
	use("data-two");
	add_here("data/sub/x", THERE | READ, 5);
	add_here("data/gone", THERE | READ, 5);
	look_ok();
	shell("test \"$(cat data/sub/x)\" = 1234");
}
END_TEST

START_TEST(among_many_names_the_traced_files_are_found)
{
	char name[64];

	shell("mkdir data; echo 1234 >data/x");
	use("data");
	for (unsigned i = 0; i < 40000; i++) {
		snprintf(name, sizeof(name), "/no-such/folder/%u", i);
		add(name, THERE | READ, 1);
	}
	add_here("data/x", THERE | READ, 5);
	look_fails(-EEXIST, "the directory contains files that the trace names");
}
END_TEST

START_TEST(relative_names_may_meet_what_a_replay_made)
{
	use(".");
	shell("rm stderr");
	add("s/x", THERE | READ, 5);
	make_ok(1);
	make_ok(0);
	ck_assert_uint_eq(size_of("s/x"), 5);
}
END_TEST

/* ---- the traced files themselves ---- */

START_TEST(traced_files_are_read_where_they_are)
{
	char path[PATH_MAX];
	uint32_t x, out;

	shell("mkdir data; echo 1234 >data/x; echo 1 >data/out");
	job.replay_files = REPLAY_TRACED;
	x = add("data/x", THERE | READ, 4);
	add_here("data", THERE | FOLDER, 4096);
	add("/dev/zero", THERE | READ, 100);
	out = add_here("data/out", THERE | CHANGED | READ, 100);
	add("/no/such/file", READ, 0);
	look_ok();
	ck_assert(replay_file_is_traced(&files, x));
	ck_assert(!replay_file_is_traced(&files, out));
	ck_assert_int_eq(replay_files_path(&files, x, path), 0);
	ck_assert_str_eq(path, "data/x");
	ck_assert_uint_eq(files.missing_files, 1);
	ck_assert_uint_eq(files.missing_bytes, 100);
	make_ok(1);
	ck_assert_int_eq(replay_files_path(&files, out, path), 0);
	ck_assert_uint_eq(size_of(path), 100);
	ck_assert_uint_eq(size_of("data/out"), 2);
	ck_assert_uint_eq(size_of("d/dev"), UINT64_MAX);
}
END_TEST

START_TEST(traced_files_that_cannot_be_read_are_named)
{
	shell("mkdir data; echo 1234 >data/x; mkfifo data/p");
	job.replay_files = REPLAY_TRACED;
	add("data/x", THERE | READ, 6);
	add("/", THERE, 4096); /* seen: a folder, or whatever */
	look_fails(-EFBIG, "data/x: has 5, but the trace uses 6 of it; replay_files=traced reads");
	add("data/gone", THERE | READ, 0);
	add("data", THERE | READ, 0);
	look_fails(-EFBIG, "; this affects 3 of its files");
	use("d");
	job.replay_files = REPLAY_TRACED;
	add("data/gone", THERE | READ, 0);
	look_fails(-ENOENT, "data/gone: No such file or directory; ");
	use("d");
	job.replay_files = REPLAY_TRACED;
	add("data/p", THERE | READ, 0);
	look_fails(-EINVAL, "data/p: is a fifo, but a file in the trace");
	use("d");
	job.replay_files = REPLAY_TRACED;
	add("data", THERE | READ, 0);
	look_fails(-EISDIR, "data: is a directory, but a file in the trace");
	ck_assert_str_eq(found("-name d"), "");
}
END_TEST

START_TEST(traced_files_that_are_only_read_need_no_directory)
{
	shell("echo 1234 >x; echo in the way >d");
	job.replay_files = REPLAY_TRACED;
	add("x", THERE | READ, 5);
	make_ok(0);
}
END_TEST

Suite *suite_replay_files_safety(void)
{
	Suite *s = suite_create("replay_files_safety");
	TCase *t = tcase_create("replay_files_safety");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, what_others_have_there_stays);
	tcase_add_test(t, an_empty_directory_will_do);
	tcase_add_test(t, nothing_is_made_or_taken_behind_a_link);
	tcase_add_test(t, a_file_with_two_names_is_made_anew_before_it_is_changed);
	tcase_add_test(t, what_is_no_file_is_refused);
	tcase_add_test(t, a_directory_with_the_traced_files_is_refused);
	tcase_add_test(t, among_many_names_the_traced_files_are_found);
	tcase_add_test(t, relative_names_may_meet_what_a_replay_made);
	tcase_add_test(t, traced_files_are_read_where_they_are);
	tcase_add_test(t, traced_files_that_cannot_be_read_are_named);
	tcase_add_test(t, traced_files_that_are_only_read_need_no_directory);
	suite_add_tcase(s, t);
	return s;
}
