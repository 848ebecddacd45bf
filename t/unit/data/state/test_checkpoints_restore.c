/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints_restore.c - the checkpoints that a job restores, or what keeps it from that. */
#include <errno.h>
#include <string.h>

#include "checkpoints_rig.h"
#include "suites.h"

START_TEST(the_newest_are_restored_oldest_first)
{
	struct checkpoint to[3];
	struct rig r;

	rig_open(&r, SMALL, "");
	save(&r, true);
	save(&r, true);
	save(&r, false);
	save(&r, true);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 2, to, NULL), 0);
	ck_assert_uint_eq(to[0].number, 2);
	ck_assert_uint_eq(to[1].number, 4);
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, NULL), 0);
	ck_assert_uint_eq(to[0].number, 1);
	rig_close(&r);
}
END_TEST

START_TEST(too_few_are_told_with_what_keeps_the_others)
{
	struct mlgen_err err = { 0 };
	struct checkpoint to[3];
	char want[1024];
	struct rig r;

	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, to, &err), -EINVAL);
	snprintf(want, sizeof(want),
		 "%s: contains no checkpoint; save a checkpoint with phase=checkpoint, or use "
		 "another "
		 "checkpoint_directory=",
		 directory);
	ck_assert_str_eq(err.text, want);
	put_directory("global_epoch1_step1");
	rig_close(&r);
	rig_open(&r, SMALL, "");
	save(&r, true);
	save(&r, false);
	err.code = 0;
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 3, to, &err), -EINVAL);
	snprintf(want, sizeof(want),
		 "%s: 1 of 3 checkpoints can be restored; use checkpoints=1, or save more; "
		 "global_epoch1_step3: not complete; global_epoch1_step1: it has no "
		 "mlgen-checkpoint.json",
		 directory);
	ck_assert_str_eq(err.text, want);
	rig_close(&r);
}
END_TEST

START_TEST(another_job_is_told_by_what_differs)
{
	static const struct {
		const char *options, *how; /* NULL = none */
	} cases[] = {
		{ "", NULL },
		{ "checkpoint_keep=2 checkpoints=4 checkpoint_threads=2", NULL },
		{ "bs=8192 randseed=9", NULL },
		{ "checkpoint_ranks=0-1,3", NULL },
		{ "zero_stage=1", "zero_stage: 3 in the checkpoint, 1 in the job" },
		{ "model_layers=3", "model_layers: 2 in the checkpoint, 3 in the job" },
		{ "scale=50", "scale: 100 in the checkpoint, 50 in the job" },
		{ "ranks=8", "ranks: 4 in the checkpoint, 8 in the job" },
		{ "tensor_parallel=2", "tensor_parallel: 1 in the checkpoint, 2 in the job" },
		{ "checkpoint_layout=stream",
		  "checkpoint_layout: torch in the checkpoint, stream in the job" },
		{ "checkpoint_archive=a",
		  "checkpoint_archive: none in the checkpoint, a in the job" },
		{ "access=framework", "access: plain in the checkpoint, framework in the job" },
		{ "model_layers=0 checkpoint_size=1m",
		  "checkpoint_size: none in the checkpoint, 1048576 in the job" },
		{ "verify=crc32c", NULL },
		{ "verify=crc32c randseed=9", "randseed: 1 in the checkpoint, 9 in the job" },
		{ "verify=crc32c bs=8192", "bs: 4096 in the checkpoint, 8192 in the job" },
	};
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "randseed=1");
	save(&r, true);
	rig_close(&r);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mlgen_err err = { 0 };
		char options[256];
		int rc;

		snprintf(options, sizeof(options), "randseed=1 %s", cases[i].options);
		rig_open(&r, SMALL, options);
		rc = checkpoints_to_restore(&r.c, 1, &to, &err);
		ck_assert_msg((rc == 0) == (cases[i].how == NULL), "%s: %s", options, err.text);
		if (cases[i].how)
			ck_assert_msg(strstr(err.text, cases[i].how), "%s: %s", options, err.text);
		rig_close(&r);
	}
}
END_TEST

START_TEST(ranks_that_were_not_saved_cannot_be_restored)
{
	struct mlgen_err err = { 0 };
	struct checkpoint to;
	struct rig r;

	rig_open(&r, SMALL, "checkpoint_ranks=0-1,3");
	save(&r, true);
	rig_close(&r);
	rig_open(&r, SMALL, "checkpoint_ranks=3");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, NULL), 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_to_restore(&r.c, 1, &to, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(
		err.text, "checkpoint_ranks: 0-1,3 in the checkpoint, other ranks in the job"));
	rig_close(&r);
}
END_TEST

Suite *suite_checkpoints_restore(void)
{
	Suite *s = suite_create("checkpoints_restore");
	TCase *t = tcase_create("restored");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, the_newest_are_restored_oldest_first);
	tcase_add_test(t, too_few_are_told_with_what_keeps_the_others);
	tcase_add_test(t, another_job_is_told_by_what_differs);
	tcase_add_test(t, ranks_that_were_not_saved_cannot_be_restored);
	suite_add_tcase(s, t);
	return s;
}
