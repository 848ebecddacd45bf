/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c - what is suggested of a job is something that the job would take. */
#include <check.h>

#include "job/job.h"
#include "job_options.h"
#include "suites.h"

static const struct mlgen_engine takes_direct = {
	.name = "psync",
	.caps = MLGEN_CAP_DIRECT | (MLGEN_CAP(MLGEN_OPS) - 1),
};
static const struct mlgen_engine takes_none = {
	.name = "mmap",
	.caps = MLGEN_CAP(MLGEN_OPS) - 1,
};

static const struct {
	const char *options;
	const struct mlgen_engine *engine;
} cases[] = {
	{ "format=raw", &takes_direct },
	{ "format=raw", &takes_none },
	{ "format=raw bs=1000", &takes_direct },
	{ "format=npz access=framework", &takes_direct },
	{ "format=npz access=framework", &takes_none },
	{ "format=npz access=framework bs=1000", &takes_direct },
	{ "format=jpeg access=framework", &takes_direct },
	{ "format=parquet access=framework", &takes_direct },
	{ "format=jpeg", &takes_direct },
	{ "phase=io rw=read", &takes_direct },
	{ "phase=io rw=write bs=4k,1000", &takes_direct },
	{ "phase=checkpoint model_layers=1 access=framework", &takes_direct },
	{ "phase=checkpoint model_layers=1 access=framework checkpoint_layout=stream",
	  &takes_direct },
	{ "phase=checkpoint model_layers=1", &takes_direct },
};

static struct job *job_of(const char *options, const struct mlgen_engine *e)
{
	struct job *j = job_new("x");

	job_set_engine(j, e);
	set_options(j, options);
	return j;
}

/* What job_check() says of the same job with it. */
static bool would_be_taken(int i)
{
	struct job *j = job_of(cases[i].options, cases[i].engine);
	struct diag d;

	diag_init(&d);
	j->direct = true;
	job_check(j, &d);
	bool is_taken = d.errors == 0;
	diag_fini(&d);
	job_free(j);
	return is_taken;
}

START_TEST(direct_is_suggested_where_it_would_be_taken)
{
	struct job *j = job_of(cases[_i].options, cases[_i].engine);

	ck_assert_msg(advice_direct(j) == would_be_taken(_i), "%s, %s", cases[_i].options,
		      cases[_i].engine->name);
	j->direct = true;
	ck_assert_msg(!advice_direct(j), "%s: twice", cases[_i].options);
	job_free(j);
}
END_TEST

START_TEST(files_of_a_scan_are_what_they_are)
{
	struct job *j = job_of("format=raw", &takes_direct);

	ck_assert(advice_makes_files(j));
	ck_assert_str_eq(advice_more_files(j, advice_makes_files(j)), "more num_files");
	j->dataset_ratio = 2;
	ck_assert_str_eq(advice_more_files(j, advice_makes_files(j)), "a larger dataset_ratio");
	j->dataset_ratio = 0;
	j->dataset = DATASET_SCAN;
	ck_assert(!advice_makes_files(j));
	ck_assert_str_eq(advice_more_files(j, advice_makes_files(j)),
			 "a directory with more files");
	job_free(j);
}
END_TEST

Suite *suite_advice(void)
{
	Suite *s = suite_create("advice");
	TCase *t = tcase_create("advice");

	tcase_add_loop_test(t, direct_is_suggested_where_it_would_be_taken, 0,
			    sizeof(cases) / sizeof(*cases));
	tcase_add_test(t, files_of_a_scan_are_what_they_are);
	suite_add_tcase(s, t);
	return s;
}
