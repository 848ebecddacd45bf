/* SPDX-License-Identifier: Apache-2.0 */
/* test_iofiles_layout.c - files of a plain job are made whole, or not at all. */
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
#include "iofiles_rig.h"
#include "run/make/make.h"
#include "suites.h"
#include "work/plain/plain.h"

static void lay_out_fails(int code, const char *words)
{
	int r;

	look_ok();
	r = iolayout_run(&files, &layout, &err);
	ck_assert_msg(r == code, "%d: %s", r, err.text);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
}

static bool holds(const char *path, const char *words)
{
	char command[256];

	snprintf(command, sizeof(command), "grep -Eq '%s' '%s'", words, path);
	return system(command) == 0;
}

START_TEST(a_missing_file_is_made_whole_and_cold)
{
	uint64_t resident, bytes;
	struct stat st;

	make_job(RW_RANDRW, "s/t/f:g", "6000001");
	lay_out_ok(2);
	ck_assert_str_eq(others(), "./d/g ./d/s/t/f ");
	ck_assert_uint_eq(size_of("d/g"), 3000000);
	ck_assert_uint_eq(layout.made_bytes, 6000000);
	ck_assert_uint_eq(progress.bytes_done, 6000000);
	ck_assert_uint_eq(progress.bytes_total, 6000000);
	ck_assert_uint_eq(progress.files_done, 2);
	if (pagecache_resident("d/g", &resident, &bytes) == 0)
		ck_assert_uint_eq(resident, 0);
	ck_assert_int_ge(compressed_percent("d/g"), 99);
	ck_assert_int_eq(stat("d/g", &st), 0);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, 3000000);
	ck_assert(system("cmp -s d/g d/s/t/f") != 0);
	ck_assert(holds("stderr", "^x: laying out 2 files, 5.72 MiB in d/s/t and elsewhere \\((in "
				  ".*s|about .*s, estimate)\\)$"));
	lay_out_ok(0);
}
END_TEST

START_TEST(pieces_of_a_large_file_fit_together)
{
	/* Two pieces and a bit. */
	make_job(RW_READ, "f", "131077k");
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 131077 * K);
	expect_pieces_fit("d/f");
	ck_assert_int_ge(compressed_percent("d/f"), 99);
}
END_TEST

START_TEST(a_job_that_only_writes_gets_space)
{
	struct stat st;

	make_job(RW_WRITE, "f", "100000k");
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 100000 * K);
	ck_assert_int_eq(stat("d/f", &st), 0);
	ck_assert(st.st_blocks == 0 || (uint64_t)st.st_blocks * 512 >= 100000 * K);
	ck_assert(holds("stderr", "^x: laying out 1 file, [0-9.]+ MiB in d \\(space only\\)"));
}
END_TEST

START_TEST(an_existing_file_stays_as_it_is)
{
	shell("cksum d/p >sum; touch -d 2001-01-01 d/p;stat -c '%i %s %b %y %z' d/p >stat");
	make_job(RW_WRITE, "p:f", "64k");
	lay_out_ok(1);
	shell("cksum d/p | cmp - sum &&stat -c '%i %s %b %y %z' d/p | cmp - stat");
}
END_TEST

START_TEST(leftovers_of_a_killed_layout_are_replaced)
{
	shell("head -c 200k /dev/zero >d/.f.mlgen-part");
	make_job(RW_READ, "f", "64k");
	lay_out_ok(1);
	ck_assert_str_eq(others(), "./d/f ");
	ck_assert_uint_eq(size_of("d/f"), 64 * K);
}
END_TEST

START_TEST(a_file_made_meanwhile_is_taken_if_it_is_large_enough)
{
	make_job(RW_READ, "f", "64k");
	look_ok();
	shell("cp d/q d/f");
	ck_assert_int_eq(iolayout_run(&files, &layout, &err), 0);
	ck_assert_uint_eq(layout.made_files, 0);
	ck_assert_uint_eq(files.files[0].bytes, 128 * K);
	shell("rm d/f; head -c 1k d/q >d/g");
	look_ok();
	shell("mv d/g d/f");
	ck_assert_int_eq(iolayout_run(&files, &layout, &err), -EEXIST);
	ck_assert_msg(strstr(err.text, "d/f: was created meanwhile with 1k, but 64k are needed"),
		      "%s", err.text);
	ck_assert_uint_eq(size_of("d/f"), K);
}
END_TEST

START_TEST(two_at_once_in_a_folder_are_refused)
{
	int fd = open("d/.mlgen-dataset.lock", O_RDWR | O_CREAT, 0600);

	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	lay_out_fails(-EBUSY, "d: another mlgen is preparing this directory");
	close(fd);
	ck_assert(!layout.started);
	lay_out_ok(1);
}
END_TEST

START_TEST(more_than_half_of_the_free_space_needs_leave)
{
	make_job(RW_WRITE, "f:g", NULL);
	job.filesize_bytes = UINT64_C(1) << 60;
	lay_out_fails(-ENOSPC, "of which half may be used");
	ck_assert_msg(strstr(err.text, "d: 2 EiB to lay out, ") ||
			      strstr(err.text, "d: 2048 PiB to lay out, "),
		      "%s", err.text);
	request.allow_fill = true;
	lay_out_fails(-ENOSPC, "free; use a smaller size=, another directory=");
	ck_assert_ptr_null(strstr(err.text, "--allow_fill"));
	ck_assert_str_eq(others(), "");
	ck_assert(!layout.started);
}
END_TEST

START_TEST(a_stopped_one_leaves_nothing_half_made)
{
	progress.stop.is_set = true;
	make_job(RW_READ, "f:g", "64k");
	lay_out_fails(POOL_STOPPED, "interrupted with 0 of 2 files laid out");
	ck_assert_str_eq(others(), "");
	progress.stop.is_set = false;
	lay_out_ok(2);
}
END_TEST

START_TEST(so_does_one_that_is_stopped_in_the_middle)
{
	struct mlgen_engine stopping = *engines_find("psync");

	stopping.submit = stopping_submit;
	make_job(RW_READ, "f", "20000k");
	job.engine = &stopping;
	lay_out_fails(POOL_STOPPED, "interrupted with 0 of 1 files laid out");
	progress.stop.is_set = false;
	ck_assert_str_eq(others(), "");
	ck_assert_uint_gt(progress.bytes_done, 8 << 20);
}
END_TEST

static int look_and_lay_out(void)
{
	look_ok();
	return iolayout_run(&files, &layout, &err);
}

START_TEST(any_operation_that_fails_leaves_whole_files_only)
{
	const struct fault_case c = { .make = look_and_lay_out,
				      .path = { "d/f", "d/g" },
				      .begins = "d/" };

	make_job(RW_READ, "f:g", "5000k");
	expect_faults_leave_whole_files(&c, _i);
}
END_TEST

START_TEST(space_that_cannot_be_given_is_a_hole)
{
	make_job(RW_WRITE, "f", "5000k");
	/* The second operation gives the space. */
	faults_begin("EOPNOTSUPP");
	set_fault("fail_after", "2");
	lay_out_ok(1);
	ck_assert_uint_eq(size_of("d/f"), 5000 * K);
	faults_end();
}
END_TEST

Suite *suite_iofiles_layout(void)
{
	Suite *s = suite_create("iofiles_layout");
	TCase *t = tcase_create("iofiles_layout");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_missing_file_is_made_whole_and_cold);
	tcase_add_test(t, pieces_of_a_large_file_fit_together);
	tcase_add_test(t, a_job_that_only_writes_gets_space);
	tcase_add_test(t, an_existing_file_stays_as_it_is);
	tcase_add_test(t, leftovers_of_a_killed_layout_are_replaced);
	tcase_add_test(t, a_file_made_meanwhile_is_taken_if_it_is_large_enough);
	tcase_add_test(t, two_at_once_in_a_folder_are_refused);
	tcase_add_test(t, more_than_half_of_the_free_space_needs_leave);
	tcase_add_test(t, a_stopped_one_leaves_nothing_half_made);
	tcase_add_test(t, so_does_one_that_is_stopped_in_the_middle);
	tcase_add_loop_test(t, any_operation_that_fails_leaves_whole_files_only, 0, 2);
	tcase_add_test(t, space_that_cannot_be_given_is_a_hole);
	suite_add_tcase(s, t);
	return s;
}
