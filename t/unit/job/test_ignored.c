/* SPDX-License-Identifier: Apache-2.0 */
/* test_ignored.c - which errors count: continue_on_error and ignore_error together. */
#include <errno.h>
#include <stdio.h>

#include "job/job_internal.h"
#include "suites.h"
#include "work/workloads.h"

/* clang-format off */
static const struct {
	const char *list;
	int continues, phase;
	enum mlgen_op op;
	int error;
	bool counts;
} cases[] = {
	{ NULL, CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EIO, false },
	{ "", CONTINUE_ALL, PHASE_IO, MLGEN_FSYNC, -EIO, true },
	{ "EAGAIN", CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EAGAIN, true },
	{ "eagain", CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EAGAIN, true },
	{ "11", CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EAGAIN, true },
	{ "EAGAIN", CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EIO, false },
	{ "EAGAIN", CONTINUE_NONE, PHASE_IO, MLGEN_WRITE, -EAGAIN, false },
	{ "EAGAIN", CONTINUE_ALL, PHASE_IO, MLGEN_READ, -EIO, false },
	{ "EAGAIN", CONTINUE_ALL, PHASE_IO, MLGEN_WRITE, -EIO, true },
	{ "EAGAIN:5,ENOSPC", CONTINUE_NONE, PHASE_IO, MLGEN_READ, -EIO, true },
	{ "EAGAIN:5,ENOSPC", CONTINUE_NONE, PHASE_IO, MLGEN_WRITE, -ENOSPC, true },
	{ "EAGAIN:5,ENOSPC", CONTINUE_NONE, PHASE_IO, MLGEN_WRITE, -EIO, false },
	{ ",ENOSPC", CONTINUE_READ, PHASE_IO, MLGEN_READ, -EIO, true },
	{ ",ENOSPC", CONTINUE_NONE, PHASE_IO, MLGEN_FSYNC, -ENOSPC, false },
	{ "EIO", CONTINUE_NONE, PHASE_TRAIN, MLGEN_OPEN, -EIO, true },
	{ NULL, CONTINUE_READ, PHASE_TRAIN, MLGEN_OPEN, -EIO, true },
	{ NULL, CONTINUE_WRITE, PHASE_TRAIN, MLGEN_OPEN, -EIO, false },
};
/* clang-format on */
#define CASES (int)(sizeof(cases) / sizeof(cases[0]))

START_TEST(a_list_is_all_that_counts_of_its_kind)
{
	char list[32];
	struct job j = { .continue_on_error = cases[_i].continues, .phase = cases[_i].phase };

	if (cases[_i].list) {
		snprintf(list, sizeof(list), "%s", cases[_i].list);
		j.ignore_error = list;
	}
	ck_assert_msg(ignored_counts(&j, cases[_i].op, cases[_i].error) == cases[_i].counts,
		      "case %d", _i);
}
END_TEST

START_TEST(a_list_is_names_and_numbers)
{
	static const char *const good[] = { "", "EIO", "5:11", ",ENOSPC", "EIO,ENOSPC:122" };
	static const char *const bad[] = { "EWHAT", "EIO:", ":EIO",        "EIO,",   "EIO,EIO,EIO",
					   "0",     "4096", "99999999999", "EIO EIO" };
	struct mlgen_err err = { 0 };

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		ck_assert_msg(ignored_check(good[i], &err) == 0, "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(ignored_check(bad[i], &err) == -EINVAL, "%s", bad[i]);
}
END_TEST

Suite *suite_ignored(void)
{
	Suite *s = suite_create("ignored");
	TCase *t = tcase_create("ignored");

	tcase_add_loop_test(t, a_list_is_all_that_counts_of_its_kind, 0, CASES);
	tcase_add_test(t, a_list_is_names_and_numbers);
	suite_add_tcase(s, t);
	return s;
}
