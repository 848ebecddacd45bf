/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare_first.c - the first file of a dataset is looked at before the run. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "prepare_rig.h"
#include "run/make/make.h"
#include "suites.h"

/* What a run that trusts a dataset looks at: its first file. */
START_TEST(a_first_file_that_is_wrong_is_found_before_the_run)
{
	static const struct {
		const char *command, *words;
		int code;
	} cases[] = {
		{ "rm -f $f",
		  "open: No such file or directory; the dataset was complete: --phase=prepare "
		  "writes",
		  -ENOENT },
		{ "truncate -s 99 $f",
		  "has 99 bytes instead of 100000; it was truncated or replaced; --phase=prepare "
		  "writes it again",
		  -EINVAL },
		{ "truncate -s 0 $f", "has 0 bytes instead of 100000", -EINVAL },
		{ "truncate -s 100001 $f", "has 100001 bytes instead of", -EINVAL },
		{ "rm $f; mkdir $f",
		  "is a directory, not a regular file; remove it, and --phase=prepare writes",
		  -EISDIR },
		{ "rm $f; ln -s $f $f", "open: Too many levels of symbolic links", -ELOOP },
		{ "rm $f; mkfifo $f", "is a fifo, not a regular file; remove", -EINVAL },
		{ "ln -sf /dev/zero $f", "is a character device, not a regular file; remove",
		  -EINVAL },
	};
	char command[512], fill[256];

	prepare_ok(20, 0);
	snprintf(fill, sizeof(fill), "%s", file_path(0));
	snprintf(command, sizeof(command), "f='%s'; %s", fill, cases[_i].command);
	ck_assert_int_eq(system(command), 0);
	prepare_fails(cases[_i].code, cases[_i].words);
	ck_assert_ptr_eq(strstr(err.text, fill), err.text);
	ck_assert(!started);
	if (!strstr(cases[_i].words, "writes it") && !strstr(cases[_i].words, "bytes") &&
	    cases[_i].code != -ENOENT)
		return;
	request.check_all = true;
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

static void overwrite(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
	close(fd);
}

START_TEST(files_of_another_format_are_found_and_written_anew)
{
	make("jpeg", "100000", 20, 0);
	prepare_ok(20, 0);
	overwrite(file_path(0), "GIF89a");
	overwrite(file_path(7), "GIF89a");
	prepare_fails(-EILSEQ,
		      "begins with the bytes 47 49 46, but format=jpeg begins with ff d8 ff");
	ck_assert_ptr_eq(strstr(err.text, file_path(0)), err.text);
	ck_assert_ptr_nonnull(strstr(err.text, "--phase=prepare writes"));
	request.check_all = true;
	prepare_ok(2, 18);
	expect_whole();
	request.check_all = false;
	prepare_ok(0, 20);
}
END_TEST

START_TEST(of_an_evaluation_the_first_file_is_looked_at_too)
{
	ck_assert_int_eq(dataset_init_split(&eval, &ds, 5, NULL), 0);
	request.eval = &eval;
	prepare_ok(25, 0);
	ck_assert_int_eq(truncate(path_in("valid/img_0_of_5.raw"), 9), 0);
	prepare_fails(-EINVAL, "valid/img_0_of_5.raw: has 9 bytes");
}
END_TEST

START_TEST(a_scan_is_left_alone)
{
	struct job job = { .directory = top,
			   .dataset = DATASET_SCAN,
			   .format = FORMAT_RAW,
			   .samples_per_file = 1,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };
	char path[TEMP_BELOW];

	snprintf(path, sizeof(path), "%s/one", top);
	put_text(path, "12345");
	dataset_fini(&ds);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_uint_eq(ds.files, 1);
	prepare_ok(0, 1);
	ck_assert_uint_eq(result.resident_files, 1);
	request.readonly = true;
	prepare_ok(0, 1);
	snprintf(directory, sizeof(directory), "%s", top);
	ck_assert_int_eq(access(path_in(MANIFEST_NAME), F_OK), -1);
	ck_assert_uint_eq(size_of(path), 5);
}
END_TEST

Suite *suite_prepare_first(void)
{
	Suite *s = suite_create("prepare_first");
	TCase *t = tcase_create("prepare_first");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_first_file_that_is_wrong_is_found_before_the_run, 0, 8);
	tcase_add_test(t, files_of_another_format_are_found_and_written_anew);
	tcase_add_test(t, of_an_evaluation_the_first_file_is_looked_at_too);
	tcase_add_test(t, a_scan_is_left_alone);
	suite_add_tcase(s, t);
	return s;
}
