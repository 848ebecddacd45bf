/* SPDX-License-Identifier: Apache-2.0 */
/* test_replay_files.c - files of a replay lie below its directory, as the trace had them, whole or
 * not at all. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/host.h"
#include "replay_files_rig.h"
#include "run/make/make.h"
#include "suites.h"
#include "work/replay/replay_internal.h"

START_TEST(files_are_made_whole_and_cold)
{
	uint64_t resident, bytes;
	struct stat st;

	add("/data/a", THERE | READ, 3000000);
	add("/data/sub/b", THERE | READ, 1);
	add("rel/c", THERE | READ | CHANGED, 100000);
	add("/data/empty", THERE | READ, 0);
	add("/data/odd\nname\xff", THERE | READ, 7);
	look_ok();
	ck_assert_uint_eq(files.missing_files, 5);
	ck_assert_uint_eq(files.missing_bytes, 3100008);
	ck_assert_uint_eq(files.largest_missing, 3000000);
	ck_assert_uint_eq(size_of("d"), UINT64_MAX);
	make_ok(5);
	ck_assert(maker.started);
	ck_assert_uint_eq(maker.made_bytes, 3100008);
	ck_assert_uint_eq(progress.bytes_done, 3100008);
	ck_assert_uint_eq(progress.files_done, 5);
	ck_assert_str_eq(found(FILES), "./d/.mlgen-replay ./d/data/a ./d/data/empty ./d/data/odd "
				       "./d/data/sub/b ./d/rel/c name\xff ");
	ck_assert_uint_eq(size_of("d/data/odd\nname\xff"), 7);
	ck_assert_uint_eq(size_of("d/data/a"), 3000000);
	ck_assert_uint_eq(size_of("d/data/sub/b"), 1);
	ck_assert_uint_eq(size_of("d/data/empty"), 0);
	if (pagecache_resident("d/data/a", &resident, &bytes) == 0)
		ck_assert_uint_eq(resident, 0);
	ck_assert_int_ge(compressed_percent("d/data/a"), 99);
	ck_assert(system("cmp -s -n 100000 d/data/a d/rel/c") != 0);
	ck_assert_int_eq(stat("d/data/a", &st), 0);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, 3000000);
	shell("grep -Eq '^x: laying out 5 files, [0-9.]+ MiB in .*/d \\((in .*s|about .*s, "
	      "estimate)\\)$' stderr");
	shell("stat -c '%i %s %y %z' d/data/a >stat");
	make_ok(0);
	ck_assert(!maker.started);
	shell("stat -c '%i %s %y %z' d/data/a | cmp - stat");
}
END_TEST

START_TEST(a_file_that_is_only_written_gets_space)
{
	struct stat st;

	add("/w", THERE | CHANGED, 100 << 20);
	make_ok(1);
	ck_assert_uint_eq(progress.bytes_done, 100 << 20);
	ck_assert_int_eq(stat("d/w", &st), 0);
	ck_assert_int_eq(st.st_size, 100 << 20);
	ck_assert(st.st_blocks == 0 || st.st_blocks * 512 >= 100 << 20);
	shell("grep -Eq '^x: laying out 1 file, 100 MiB in .*/d \\(space only\\)$' stderr");
}
END_TEST

START_TEST(pieces_of_a_large_file_fit_together)
{
	const uint64_t bytes = UINT64_C(131077) << 10;

	/* Two pieces and a bit, and one that is not in pieces. */
	add("/f", THERE | READ, bytes);
	add("/g", THERE | READ, 1000);
	make_ok(2);
	ck_assert_uint_eq(progress.bytes_done, bytes + 1000);
	ck_assert_uint_eq(size_of("d/f"), bytes);
	expect_pieces_fit("d/f");
}
END_TEST

START_TEST(folders_are_made_unless_the_trace_does)
{
	add("/seen", THERE | FOLDER, 4096);
	add("/seen/deep/er", THERE | FOLDER, 4096);
	add("/out/run", FOLDER | CHANGED, 0);
	add("/out/run/log", CHANGED, 0);
	add("/new/file", CHANGED, 0);
	add("/never/found", READ, 0);
	add("/was/file", THERE | READ | CHANGED, 1);
	add("/was/file/below", CHANGED, 0);
	look_ok();
	ck_assert_uint_gt(files.missing_folders, 0);
	make_ok(1);
	ck_assert_str_eq(found("-path './d/*'"),
			 "./d/.mlgen-replay ./d/new ./d/out ./d/seen ./d/seen/deep "
			 "./d/seen/deep/er ./d/was ./d/was/file ");
	make_ok(0);
	ck_assert(!maker.started);
}
END_TEST

START_TEST(an_engine_without_files_needs_none)
{
	job.engine = engines_find("null");
	add("/a", THERE | READ, UINT64_C(1) << 60);
	add("/b", CHANGED, 0);
	look_ok();
	ck_assert_uint_eq(files.files, 2);
	ck_assert_int_eq(replay_files_check_writable(&files, &err), 0);
	ck_assert_int_eq(replay_files_check_room(&files, false, &err), 0);
	make_ok(0);
	ck_assert_str_eq(found("-name d"), "");
}
END_TEST

START_TEST(a_file_of_another_size_is_made_anew)
{
	add("/a", THERE | READ | CHANGED, 1000);
	add("/b", THERE | READ, 1000);
	add("/new", CHANGED, 0);
	make_ok(2);
	shell("cksum d/b >sum; stat -c %i d/b >inode; echo more >>d/a;echo made by the replay "
	      ">d/new");
	look_ok();
	ck_assert_uint_eq(files.missing_files, 1);
	make_ok(1);
	ck_assert_uint_eq(size_of("d/a"), 1000);
	shell("cksum d/b | cmp - sum; stat -c %i d/b | cmp - inode");
	ck_assert_uint_eq(size_of("d/new"), 19);
	/* Another trace, in which it is shorter. */
	use("d");
	add("/b", THERE | READ, 500);
	make_ok(1);
	ck_assert_uint_eq(size_of("d/b"), 500);
}
END_TEST

START_TEST(a_file_that_had_only_space_is_made_anew_to_be_read)
{
	add("/w", THERE | CHANGED, 5 << 20);
	make_ok(1);
	use("d");
	add("/w", THERE | READ, 5 << 20);
	make_ok(1);
	ck_assert_int_ge(compressed_percent("d/w"), 99);
	make_ok(0);
}
END_TEST

START_TEST(a_killed_run_is_gone_on_with)
{
	add("/s/a", THERE | READ, 1000);
	make_ok(1);
	shell("mv d/s/a d/s/.a.mlgen-part; ln -s ../../precious d/s/b;mv d/s/b d/s/.b.mlgen-part; "
	      "echo precious >precious;: >d/.mlgen-dataset.lock");
	add("/s/b", THERE | READ, 2000);
	make_ok(2);
	ck_assert_str_eq(found(FILES), "./d/.mlgen-replay ./d/s/a ./d/s/b ./precious ");
	ck_assert_uint_eq(size_of("d/s/b"), 2000);
	shell("grep -q precious precious");
}
END_TEST

START_TEST(more_than_half_of_the_free_space_needs_leave)
{
	add("/a", THERE | CHANGED, UINT64_C(1) << 60);
	add("/b", THERE | CHANGED, UINT64_C(1) << 63);
	add("/c", THERE | CHANGED, UINT64_C(1) << 63);
	look_ok();
	ck_assert_uint_eq(files.missing_bytes, UINT64_MAX);
	ck_assert_int_eq(replay_files_check_room(&files, false, &err), -ENOSPC);
	make_fails(-ENOSPC, "of which half may be used; use another directory=");
	maker.allow_fill = true;
	make_fails(-ENOSPC, "free; use another directory=");
	ck_assert(!maker.started);
	ck_assert_str_eq(found("-name d"), "");
}
END_TEST

START_TEST(two_at_once_in_a_directory_are_refused)
{
	int fd;

	shell("mkdir d");
	fd = open("d/.mlgen-dataset.lock", O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	add("/a", THERE | READ, 1000);
	make_fails(-EBUSY, "/d: another mlgen is preparing this directory");
	close(fd);
	make_ok(1);
}
END_TEST

START_TEST(a_place_that_cannot_be_written_is_refused)
{
	bool is_root = geteuid() == 0;

	shell("chmod 755 . && mkdir d && chmod 555 d");
	add("/a", THERE | READ, 1000);
	look_ok();
	ck_assert(!is_root || seteuid(65534) == 0);
	ck_assert_int_eq(replay_files_check_writable(&files, &err), -EACCES);
	make_fails(-EACCES, "/d: 1 file to write: Permission denied; make it writable");
	ck_assert(!is_root || seteuid(0) == 0);
}
END_TEST

START_TEST(a_stopped_one_leaves_nothing_half_made)
{
	progress.stop.is_set = true;
	add("/a", THERE | READ, 1000);
	add("/b", THERE | READ, 1000);
	make_fails(POOL_STOPPED, "interrupted with 0 of 2 files laid out");
	progress.stop.is_set = false;
	ck_assert_str_eq(found("-name '[ab.]*' " FILES), "./d/.mlgen-replay ");
	make_ok(2);
}
END_TEST

/* Of one worker, and of a large one, in pieces. */
START_TEST(so_does_one_that_is_stopped_in_the_middle)
{
	struct mlgen_engine stopping = *engines_find("psync");

	stopping.submit = stopping_submit;
	job.engine = &stopping;
	add("/f", THERE | READ, _i ? 200 << 20 : 20 << 20);
	make_fails(POOL_STOPPED, "interrupted with 0 of 1 files laid out");
	progress.stop.is_set = false;
	ck_assert_str_eq(found(FILES), "./d/.mlgen-replay ");
	ck_assert_uint_gt(progress.bytes_done, 8 << 20);
}
END_TEST

static int make_anew(void)
{
	temp_remove("d");
	return replay_files_make(&files, &maker, &err);
}

START_TEST(any_operation_that_fails_leaves_whole_files_only)
{
	const struct fault_case c = { .make = make_anew,
				      .path = { "d/s/f", "d/g" },
				      .begins = top };

	add("/s/f", THERE | READ, 2500 << 10);
	add("/g", THERE | READ, 2500 << 10);
	add("/t/u", THERE | FOLDER, 0);
	expect_faults_leave_whole_files(&c, _i);
}
END_TEST

Suite *suite_replay_files(void)
{
	Suite *s = suite_create("replay_files");
	TCase *t = tcase_create("replay_files");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, files_are_made_whole_and_cold);
	tcase_add_test(t, a_file_that_is_only_written_gets_space);
	tcase_add_test(t, pieces_of_a_large_file_fit_together);
	tcase_add_test(t, folders_are_made_unless_the_trace_does);
	tcase_add_test(t, an_engine_without_files_needs_none);
	tcase_add_test(t, a_file_of_another_size_is_made_anew);
	tcase_add_test(t, a_file_that_had_only_space_is_made_anew_to_be_read);
	tcase_add_test(t, a_killed_run_is_gone_on_with);
	tcase_add_test(t, more_than_half_of_the_free_space_needs_leave);
	tcase_add_test(t, two_at_once_in_a_directory_are_refused);
	tcase_add_test(t, a_place_that_cannot_be_written_is_refused);
	tcase_add_test(t, a_stopped_one_leaves_nothing_half_made);
	tcase_add_loop_test(t, so_does_one_that_is_stopped_in_the_middle, 0, 2);
	tcase_add_loop_test(t, any_operation_that_fails_leaves_whole_files_only, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
