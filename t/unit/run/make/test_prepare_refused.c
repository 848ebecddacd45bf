/* SPDX-License-Identifier: Apache-2.0 */
/* test_prepare_refused.c - what is not written, and what of others is not touched. */
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
#include "io/engines.h"
#include "prepare_rig.h"
#include "run/make/make.h"
#include "suites.h"

START_TEST(what_mlgen_did_not_write_is_never_overwritten)
{
	make_folder("train");
	put_text(path_in("notes"), "mine");
	prepare_ok(20, 0); /* other names are in nobody's way */
	ck_assert_int_eq(unlink(path_in(MANIFEST_NAME)), 0);
	put_text(file_path(5), "mine");
	prepare_fails(-EEXIST, "/train/img_");
	ck_assert(!started);
	ck_assert_uint_eq(size_of(file_path(5)), 4);
	ck_assert_uint_eq(size_of(path_in("notes")), 4);
	ck_assert_int_eq(access(path_in(MANIFEST_NAME), F_OK), -1);
}
END_TEST

START_TEST(a_temporary_name_of_others_stays_too)
{
	make_folder("train");
	put_text(path_in("train/.img_02_of_20.raw.part"), "mine");
	prepare_fails(-EEXIST, ".img_02_of_20.raw.part: is in the way");
	ck_assert_uint_eq(size_of(path_in("train/.img_02_of_20.raw.part")), 4);
}
END_TEST

START_TEST(readonly_refuses_to_write_and_writes_nothing)
{
	request.readonly = true;
	prepare_fails(-EROFS, "readonly: 20 of the 20 files");
	ck_assert(!started);
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(readonly_runs_where_all_files_are_there)
{
	enum manifest_state state;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	request.readonly = true;
	prepare_ok(0, 20);
	ck_assert_int_eq(manifest_read(&ds, &state, NULL), 0);
	ck_assert_int_eq(state, MANIFEST_INCOMPLETE);
}
END_TEST

START_TEST(too_little_space_is_refused_before_anything_is_written)
{
	make("raw", "1t", 1000000, 0);
	prepare_fails(-ENOSPC, "of which half may be used");
	ck_assert_ptr_nonnull(strstr(err.text, "to write"));
	request.allow_fill = true;
	prepare_fails(-ENOSPC, "free; use another directory");
	make("raw", "1m", 100000000, 0);
	request.allow_fill = false;
	prepare_fails(-ENOSPC, "--num_files=");
	ck_assert_ptr_nonnull(strstr(err.text, "would fit"));
	ck_assert_ptr_null(strstr(err.text, "allow_fill"));
	ck_assert(!started);
	ck_assert_int_eq(access(directory, F_OK), -1);
}
END_TEST

START_TEST(a_mismatch_is_passed_on_and_nothing_is_touched)
{
	prepare_ok(20, 0);
	make("raw", "5000", 20, 0);
	prepare_fails(-EINVAL, "sample_size=100000, the job says 5000");
	ck_assert_uint_eq(size_of(file_path(0)), 100000);
}
END_TEST

START_TEST(replace_deletes_what_the_manifest_describes_and_no_more)
{
	make("npz", "100000", 20, 4);
	prepare_ok(20, 0);
	put_text(path_in("train/2/mine"), "mine");
	put_text(path_in("mine"), "mine");
	make("raw", "5000", 10, 0);
	request.replace = true;
	request.check_all = true;
	prepare_ok(10, 0);
	expect_whole();
	ck_assert_uint_eq(size_of(path_in("train/2/mine")), 4);
	ck_assert_uint_eq(size_of(path_in("mine")), 4);
	ck_assert_int_eq(access(path_in("train/1"), F_OK), -1);
	/* the same again: nothing to replace */
	prepare_ok(0, 10);
}
END_TEST

START_TEST(replace_obeys_readonly)
{
	prepare_ok(20, 0);
	make("raw", "5000", 10, 0);
	request.replace = true;
	request.readonly = true;
	prepare_fails(-EROFS, "readonly");
	ck_assert_int_eq(count_names("img_*"), 20);
}
END_TEST

START_TEST(two_at_once_are_refused)
{
	int fd;

	prepare_ok(20, 0);
	ck_assert_int_eq(manifest_write(&ds, false, NULL), 0);
	ck_assert_int_eq(unlink(file_path(1)), 0);
	fd = open(path_in(".mlgen-dataset.lock"), O_RDWR | O_CREAT, 0600);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	prepare_fails(-EBUSY, "another mlgen is preparing");
	ck_assert_int_eq(access(file_path(1), F_OK), -1);
	close(fd);
	prepare_ok(1, 19);
	expect_whole();
}
END_TEST

/* A disk that is full after so many writes. */
static _Atomic unsigned writes_left;

static int faulty_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)ctx;
	(void)n;
	struct mlgen_io *op = io[0];
	ssize_t done = -1;

	errno = ENOSPC;
	if (writes_left > 0 && writes_left-- > 0)
		done = pwrite(op->file->fd, op->iov->iov_base, op->iov->iov_len, (off_t)op->off);
	op->result = done < 0 ? -errno : done;
	return 1;
}

static const struct mlgen_engine faulty = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "faulty",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE),
	.submit = faulty_submit,
};

START_TEST(a_full_disk_names_the_file_and_what_is_missing)
{
	for (unsigned n = 0; n < 20; n += 4) {
		char *left;

		writes_left = n;
		request.engine = &faulty;
		prepare_fails(-ENOSPC, "/train/img_");
		left = strstr(err.text, "No space left on device; ");
		ck_assert_msg(left != NULL, "%s", err.text);
		ck_assert_ptr_nonnull(strstr(left, "still to be written"));
		ck_assert(started);
		ck_assert_int_eq(count_names("*.part"), 0);
		ck_assert_int_eq(count_names(".*"), 0);
		ck_assert_uint_eq(result.files_written, (uint64_t)count_names("img_*"));
		for (uint64_t i = 0; i < 20; i++)
			unlink(file_path(i));
	}
	request.engine = engines_find("psync");
	prepare_ok(20, 0);
	expect_whole();
}
END_TEST

START_TEST(a_file_in_the_place_of_the_directory_is_an_error)
{
	char path[TEMP_BELOW];

	snprintf(path, sizeof(path), "%s/a", top);
	put_text(path, "mine");
	prepare_fails(-ENOTDIR, "Not a directory");
	ck_assert(!started);
	ck_assert_uint_eq(size_of(path), 4);
}
END_TEST

Suite *suite_prepare_refused(void)
{
	Suite *s = suite_create("prepare_refused");
	TCase *t = tcase_create("prepare_refused");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, what_mlgen_did_not_write_is_never_overwritten);
	tcase_add_test(t, a_temporary_name_of_others_stays_too);
	tcase_add_test(t, readonly_refuses_to_write_and_writes_nothing);
	tcase_add_test(t, readonly_runs_where_all_files_are_there);
	tcase_add_test(t, too_little_space_is_refused_before_anything_is_written);
	tcase_add_test(t, a_mismatch_is_passed_on_and_nothing_is_touched);
	tcase_add_test(t, replace_deletes_what_the_manifest_describes_and_no_more);
	tcase_add_test(t, replace_obeys_readonly);
	tcase_add_test(t, two_at_once_are_refused);
	tcase_add_test(t, a_full_disk_names_the_file_and_what_is_missing);
	tcase_add_test(t, a_file_in_the_place_of_the_directory_is_an_error);
	suite_add_tcase(s, t);
	return s;
}
