/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints.c - which checkpoints of a directory are ours and whole, which name is next, and
 * what room they take. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checkpoints_rig.h"
#include "io/engines.h"
#include "io/devices.h"
#include "suites.h"

START_TEST(a_missing_directory_has_none)
{
	struct rig r;
	struct checkpoint k;

	ck_assert_int_eq(rmdir(directory), 0);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 0);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_str_eq(k.name, "global_epoch1_step1");
	ck_assert_uint_eq(k.number, 1);
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert(exists("."));
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	rig_close(&r);
}
END_TEST

START_TEST(it_is_complete_once_its_manifest_says_so)
{
	struct rig r;
	struct checkpoint k;

	rig_open(&r, SMALL, "");
	k = save(&r, false);
	ck_assert_uint_gt(k.bytes, 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 1);
	ck_assert(!r.c.items[0].is_complete);
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.count, 2);
	ck_assert(r.c.items[0].is_complete);
	ck_assert_uint_eq(r.c.items[0].number, 1);
	ck_assert_uint_eq(r.c.items[1].number, 2);
	ck_assert_uint_eq(r.c.items[1].step, 2);
	ck_assert_uint_eq(r.c.items[1].bytes, k.bytes);
	rig_close(&r);
}
END_TEST

START_TEST(the_next_name_is_free)
{
	struct rig r;
	struct checkpoint k;
	char final[CHECKPOINT_NAME_BYTES];

	put_directory("global_epoch1_step7"); /* somebody else's */
	put_directory("global_epoch01_step90");
	put_directory("epoch1_step90");
	put_directory("global_epoch1_step90x");
	rig_open(&r, SMALL, "rename_commit=1");
	ck_assert_uint_eq(r.c.foreign_count, 1);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_str_eq(k.name, ".global_epoch1_step8.part");
	checkpoint_final_name(&k, final);
	ck_assert_str_eq(final, "global_epoch1_step8");
	checkpoints_next(&r.c, 3, 500, &k);
	ck_assert_str_eq(k.name, ".global_epoch3_step500.part");
	rig_close(&r);
}
END_TEST

START_TEST(behind_the_last_number_there_is_none)
{
	struct mlgen_err err = { 0 };
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	r.c.items[0].number = INT64_MAX - 1;
	ck_assert_int_eq(checkpoints_check_next(&r.c, UINT64_MAX, &err), 0);
	save(&r, true);
	ck_assert_int_eq(checkpoints_check_next(&r.c, 5, &err), -ERANGE);
	ck_assert_ptr_nonnull(
		strstr(err.text, "/global_epoch1_step2: is checkpoint number 9223372036854775807, "
				 "the largest that a manifest allows"));
	rig_close(&r);
	/* As it was written, so it is read. */
	rig_open(&r, SMALL, "");
	ck_assert_uint_eq(r.c.items[1].number, INT64_MAX);
	ck_assert(r.c.items[1].is_complete);
	rig_close(&r);
}
END_TEST

START_TEST(behind_the_last_step_there_is_none)
{
	static const char *const names[] = {
		"global_epoch1_step9223372036854775807",
		"global_epoch1_step18446744073709551615",
	};
	struct mlgen_err err = { 0 };
	struct rig r;

	put_directory(names[_i]);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_check_next(&r.c, 5, &err), 0);
	ck_assert_int_eq(checkpoints_check_next(&r.c, UINT64_MAX, &err), -ERANGE);
	ck_assert_ptr_nonnull(strstr(err.text, names[_i]));
	rig_close(&r);
}
END_TEST

START_TEST(what_was_not_renamed_is_not_complete)
{
	struct rig r;

	rig_open(&r, SMALL, "rename_commit=1");
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "rename_commit=1");
	ck_assert_uint_eq(r.c.count, 1);
	ck_assert(!r.c.items[0].is_complete);
	rig_close(&r);
}
END_TEST

START_TEST(what_has_no_manifest_of_ours_is_foreign)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ NULL, "it has no " CHECKPOINT_MANIFEST },
		{ "", CHECKPOINT_MANIFEST " is incomplete or damaged" },
		{ "{ \"version\": 1, ", CHECKPOINT_MANIFEST " is incomplete or damaged" },
		{ "{ \"name\": 1 }", CHECKPOINT_MANIFEST " is not a manifest" },
		{ "{ \"version\": 2 }",
		  CHECKPOINT_MANIFEST " was written by another version of mlgen" },
		{ "{ \"version\": 1, \"number\": 1, \"complete\": true }",
		  CHECKPOINT_MANIFEST " lacks a value" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rig r;

		if (i == 0)
			put_directory("global_epoch1_step1");
		else
			put_file("global_epoch1_step1/" CHECKPOINT_MANIFEST, cases[i].text);
		rig_open(&r, SMALL, "");
		ck_assert_uint_eq(r.c.count, 0);
		ck_assert_uint_eq(r.c.foreign_count, 1);
		ck_assert_str_eq(r.c.foreign[0].name, "global_epoch1_step1");
		ck_assert_str_eq(r.c.foreign[0].why, cases[i].why);
		rig_close(&r);
	}
}
END_TEST

START_TEST(room_is_what_they_take_at_most)
{
	static const struct {
		uint64_t parts; /* of the free space, that one takes */
		uint64_t count, keep;
		bool fits;
	} cases[] = {
		{ 4, 1, 0, true },   { 4, 3, 0, true },    { 4, 5, 0, false }, { 4, 100, 0, false },
		{ 4, 100, 2, true }, { 4, 100, 5, false }, { 4, 3, 5, true },
	};
	struct mount m;

	ck_assert_int_eq(mount_read(&m, directory, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mlgen_err err = { 0 };
		char options[64];
		struct rig r;

		snprintf(options, sizeof(options), "checkpoint_size=%llu",
			 (unsigned long long)(m.free_bytes / cases[i].parts));
		rig_open(&r, options, "");
		ck_assert_int_eq(checkpoints_check_room(&r.c, cases[i].count, cases[i].keep, &err),
				 cases[i].fits ? 0 : -ENOSPC);
		if (!cases[i].fits)
			ck_assert_ptr_nonnull(strstr(err.text, "checkpoint_keep=1"));
		rig_close(&r);
	}
}
END_TEST

START_TEST(an_engine_without_files_finds_all_and_makes_none)
{
	struct checkpoint to[3], k;
	struct rig r;

	rig_open(&r, SMALL, "");
	job_set_engine(r.job, engines_find("null"));
	checkpoints_fini(&r.c);
	ck_assert_int_eq(checkpoints_open(&r.c, directory, &r.set, NULL), 0);
	checkpoints_next(&r.c, 1, UINT64_MAX, &k);
	ck_assert_int_eq(checkpoint_create(&r.c, &k, NULL), 0);
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &k, true, NULL), 0);
	ck_assert(!exists(k.name));
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, NULL), 0);
	ck_assert_uint_eq(to[2].number, 3);
	ck_assert_int_eq(checkpoints_check_room(&r.c, 1000000, 0, NULL), 0);
	rig_close(&r);
}
END_TEST

Suite *suite_checkpoints(void)
{
	Suite *s = suite_create("checkpoints");
	TCase *t = tcase_create("directory");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_missing_directory_has_none);
	tcase_add_test(t, it_is_complete_once_its_manifest_says_so);
	tcase_add_test(t, the_next_name_is_free);
	tcase_add_test(t, behind_the_last_number_there_is_none);
	tcase_add_loop_test(t, behind_the_last_step_there_is_none, 0, 2);
	tcase_add_test(t, what_was_not_renamed_is_not_complete);
	tcase_add_test(t, what_has_no_manifest_of_ours_is_foreign);
	tcase_add_test(t, room_is_what_they_take_at_most);
	tcase_add_test(t, an_engine_without_files_finds_all_and_makes_none);
	suite_add_tcase(s, t);
	return s;
}
