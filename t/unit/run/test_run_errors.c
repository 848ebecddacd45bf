/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_errors.c - what a training makes of reads that fail, and which AU it has then. */
#include <errno.h>
#include <string.h>

#include "run_rig.h"
#include "suites.h"
#include "train_rig.h"

START_TEST(an_error_stops_the_run_and_names_the_read)
{
	struct job *j = new_job();

	j->loader = loaders[_i];
	j->read_threads = 3;
	j->accelerators = 2;
	j->num_files = 40;
	j->shuffle.kind = SHUFFLE_FILE;
	mock_of(j)->fail_at = 17;
	struct ran r = go(&j, 1);
	ck_assert_int_eq(r.result->err.code, -EIO);
	ck_assert_ptr_nonnull(strstr(r.result->err.text, "read at 0"));
	ck_assert(!r.job->complete);
	end(&r, &j, 1);
}
END_TEST

START_TEST(a_counted_error_does_not_stop_the_run)
{
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_IO;
	mock_of(j)->fail_at = 2;
	struct ran r = go(&j, 1);
	ck_assert_int_eq(r.result->err.code, 0);
	ck_assert_uint_eq(r.job->errors, 1);
	ck_assert_uint_eq(r.ml->steps, 4);
	ck_assert_uint_eq(r.ml->samples, 3);
	ck_assert_uint_eq(r.ml->failed_samples, 1);
	ck_assert_uint_eq(r.ml->sample_bytes, 3 * 4096);
	end(&r, &j, 1);
}
END_TEST

/* Two epochs of 4 batches of 2; in the second three of its last 4 samples. */
START_TEST(what_failed_was_not_delivered)
{
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_ALL;
	j->loader = loaders[_i];
	j->num_files = 8;
	j->batch_size = 2;
	j->epochs = 2;
	mock_of(j)->fail_at = 12;
	mock_of(j)->fail_count = 3;
	struct ran r = go(&j, 1);
	const struct epoch_result *e = r.ml->epochs.items;
	ck_assert_uint_eq(r.job->errors, 3);
	ck_assert_uint_eq(r.ml->samples, 13);
	ck_assert_uint_eq(r.ml->failed_samples, 3);
	ck_assert_uint_eq(r.ml->sample_bytes, 13 * 4096);
	assert_near(r.ml->samples_per_sec, 13 / 0.080);
	assert_near(e[0].samples_per_sec, 8 / 0.040);
	ck_assert_uint_eq(e[1].samples, 5);
	ck_assert_uint_eq(e[1].failed_samples, 3);
	/* nobody else counts what is missing in a batch */
	ck_assert(isnan(r.ml->mlperf.v2_0.train_au_mean_percentage));
	ck_assert(isnan(r.ml->mlperf.v1_0.train_throughput_mean_samples_per_second));
	ck_assert_uint_eq(r.ml->mlperf_epochs.count, 0);
	end(&r, &j, 1);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t count;
	double percent;
	bool is_too_many;
} allowances[] = {
	{ 0, 0, true },
	{ 2, 0, true },
	{ 3, 0, false },
	{ 0, 18.7, true },
	{ 0, 18.75, false }, /* 3 of 16 */
	{ 0, 100, false },
};
/* clang-format on */

/* 3 of the 8 samples of the second epoch fail. */
START_TEST(an_au_takes_samples)
{
	bool too_many = allowances[_i].is_too_many;
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_ALL;
	j->max_errors.count = allowances[_i].count;
	j->max_errors.percent = allowances[_i].percent;
	j->num_files = 8;
	j->epochs = 2;
	j->target_au = 90;
	mock_of(j)->fail_at = 12;
	mock_of(j)->fail_count = 3;
	struct ran r = go(&j, 1);
	const struct epoch_result *e = r.ml->epochs.items;
	ck_assert_uint_eq(r.job->failed.is_too_many, too_many);
	assert_near(r.job->failed.percent, 18.75);
	assert_near(e[0].au_percent, 100);
	ck_assert_ptr_nonnull(strstr(r.job->failed.first, ".raw: read at 0: "));
	ck_assert_ptr_nonnull(strstr(r.job->failed.first, "(epoch 2, step 4, accelerator 1)"));
	ck_assert(!r.ml->target_met);
	ck_assert_str_eq(r.ml->mlperf.train_au_meet_expectation, "fail");
	if (too_many) {
		ck_assert(isnan(r.ml->au_percent));
		ck_assert(isnan(e[1].au_percent));
		ck_assert_ptr_nonnull(strstr(r.ml->au_unmeasured, "samples failed"));
	} else {
		/* 7 counted steps an epoch; nothing was computed with 3 */
		assert_near(r.ml->au_percent, 100 * 11 / 14.0);
		assert_near(e[1].au_percent, 100 * 4 / 7.0);
		ck_assert_ptr_null(r.ml->au_unmeasured);
	}
	end(&r, &j, 1);
}
END_TEST

START_TEST(of_two_accelerators_the_one_that_had_all_keeps_its_au)
{
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_ALL;
	j->accelerators = 2;
	j->num_files = 8;
	mock_of(j)->read_ns = MS;
	mock_of(j)->fail_at = 6;
	struct ran r = go(&j, 1);
	const double *au = r.ml->au_percent_per_accelerator.items;
	ck_assert(isnan(r.ml->au_percent));
	ck_assert_int_eq(isnan(au[0]) + isnan(au[1]), 1);
	end(&r, &j, 1);
}
END_TEST

/* What failed before ramp_time was over failed all the same. */
START_TEST(errors_within_ramp_time_are_errors)
{
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_ALL;
	j->num_files = 8;
	j->ramp_time_ns = 35 * MS;
	mock_of(j)->fail_at = 1;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.job->errors, 1);
	ck_assert_uint_eq(r.ml->failed_samples, 0);
	ck_assert(r.job->failed.is_too_many);
	/* those that count had all their samples */
	assert_near(r.ml->au_percent, 100);
	end(&r, &j, 1);
}
END_TEST

START_TEST(an_epoch_of_nothing_but_errors_is_one)
{
	struct job *j = new_job();

	j->continue_on_error = CONTINUE_ALL;
	mock_of(j)->fail_at = 0;
	mock_of(j)->fail_count = 100;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.ml->samples + r.ml->sample_bytes, 0);
	ck_assert_uint_eq(r.ml->failed_samples, 4);
	ck_assert_uint_eq(r.ml->epochs.count, 1);
	assert_near(r.ml->samples_per_sec, 0);
	end(&r, &j, 1);
}
END_TEST

Suite *suite_run_errors(void)
{
	Suite *s = suite_create("run_errors");
	TCase *tc = tcase_create("virtual time");

	tcase_set_timeout(tc, 20);
	tcase_add_loop_test(tc, an_error_stops_the_run_and_names_the_read, 0, 3);
	tcase_add_test(tc, a_counted_error_does_not_stop_the_run);
	tcase_add_loop_test(tc, what_failed_was_not_delivered, 0, 3);
	tcase_add_test(tc, an_epoch_of_nothing_but_errors_is_one);
	tcase_add_loop_test(tc, an_au_takes_samples, 0,
			    (int)(sizeof(allowances) / sizeof(*allowances)));
	tcase_add_test(tc, of_two_accelerators_the_one_that_had_all_keeps_its_au);
	tcase_add_test(tc, errors_within_ramp_time_are_errors);
	suite_add_tcase(s, tc);
	return s;
}
