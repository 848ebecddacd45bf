/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c - trainings on the virtual clock: utilisation exact to the nanosecond. */
#include "run/run.h"
#include "run_rig.h"
#include "suites.h"
#include "train_rig.h"

/*
 * What one reader does to one accelerator that computes for 10 ms, with one batch ahead: reads and
 * computes overlap, so a counted step takes max(read, compute).
 */
static const struct {
	uint64_t read_ms;
	double au;
} overlap[] = { { 0, 100 }, { 5, 100 }, { 10, 100 }, { 15, 100 / 1.5 }, { 40, 25 } };

START_TEST(one_reader_one_accelerator)
{
	struct job *j = new_job();

	mock_of(j)->read_ns = overlap[_i].read_ms * MS;
	struct ran r = go(&j, 1);
	ck_assert_int_eq(r.result->err.code, 0);
	assert_near(r.ml->au_percent, overlap[_i].au);
	ck_assert_uint_eq(r.ml->steps, 4);
	ck_assert_uint_eq(r.ml->samples, 4);
	ck_assert_uint_eq(r.ml->sample_bytes, 4 * 4096);
	ck_assert_uint_eq(r.ml->counted_steps, 3);
	ck_assert(r.job->complete);
	end(&r, &j, 1);
}
END_TEST

/* Read 15, compute 10: 15 + 10 | 5 + 10 | 5 + 10 | 5 + 10 = 70 ms, of which
 * 40 compute and 30 stall; the first step is 25. */
START_TEST(accelerator_time_adds_up)
{
	struct job *j = new_job();

	mock_of(j)->read_ns = 15 * MS;
	struct ran r = go(&j, 1);
	assert_near(r.job->wall_seconds, 0.070);
	assert_near(r.ml->time_percent.compute, 100 * 40.0 / 70);
	assert_near(r.ml->time_percent.stall, 100 * 30.0 / 70);
	assert_near(r.ml->time_percent.other, 0);
	ck_assert_uint_eq(r.ml->first_step_ns->max_ns, 25 * MS);
	ck_assert_uint_eq(r.ml->step_ns->min_ns, 15 * MS);
	ck_assert_uint_eq(r.ml->stall_ns->max_ns, 5 * MS);
	/* v1.0: measured compute without the first step over W - T_1. */
	assert_near(r.ml->mlperf.v1_0.train_au_mean_percentage, 100 * 30.0 / 45);
	assert_near(r.ml->mlperf.v1_0.train_throughput_mean_samples_per_second, 4 / 0.070);
	assert_near(r.ml->mlperf.v3_0.train_throughput_mean_samples_per_second, 3 / 0.045);
	end(&r, &j, 1);
}
END_TEST

/* Two loaders with one batch ahead each halve the time of a read. */
START_TEST(loaders_read_side_by_side)
{
	struct job *j = new_job();

	j->read_threads = 2;
	j->num_files = 10;
	mock_of(j)->read_ns = 20 * MS;
	struct ran r = go(&j, 1);
	assert_near(r.ml->au_percent, 100);
	end(&r, &j, 1);
}
END_TEST

START_TEST(every_sample_is_delivered_exactly_once)
{
	struct job *j = new_job();

	j->loader = loaders[_i];
	j->accelerators = 3;
	j->read_threads = 5;
	j->prefetch = 2;
	j->batch_size = 4;
	j->num_files = 120;
	j->shuffle.kind = SHUFFLE_FILE;
	j->epochs = 3;
	mock_of(j)->read_ns = 3 * MS;
	struct ran r = go(&j, 1);
	/* is_whole: epochs_add has compared the ids' sum itself. */
	ck_assert_int_eq(r.result->err.code, 0);
	ck_assert_uint_eq(r.ml->samples, 3 * 120);
	ck_assert_uint_eq(r.ml->steps, 3 * 10);
	ck_assert_uint_eq(r.ml->epochs.count, 3);
	ck_assert_uint_eq(atomic_load(&reads), 3 * 120);
	end(&r, &j, 1);
}
END_TEST

START_TEST(steps_limit_stops_all_ranks_at_the_same_step)
{
	struct job *j = new_job();

	j->loader = loaders[_i];
	j->accelerators = 2;
	j->shuffle.kind = SHUFFLE_NONE;
	j->num_files = 40;
	j->steps = 7;
	j->epochs = 10;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.ml->steps, 7);
	ck_assert_uint_eq(r.ml->samples, 14);
	ck_assert(r.job->complete);
	end(&r, &j, 1);
}
END_TEST

START_TEST(runtime_repeats_epochs_when_time_based)
{
	struct job *j = new_job();

	j->time_based = true;
	j->runtime_ns = 100 * MS;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.ml->steps, 10);
	ck_assert_uint_eq(r.ml->epochs_total, 3);
	end(&r, &j, 1);
}
END_TEST

/* The second one is cut: it is no step, and its time is not waited for. */
START_TEST(runtime_cuts_a_computation)
{
	struct job *j = new_job();

	j->compute_time = constant(60000 * MS);
	j->runtime_ns = 90000 * MS;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.ml->steps, 1);
	ck_assert(r.job->complete);
	assert_near(r.job->wall_seconds, 60);
	assert_near(r.ml->cut_seconds, 30);
	ck_assert_uint_eq(clock_now(r.clock), 91000 * MS);
	end(&r, &j, 1);
}
END_TEST

/* ... nor is that of a batch which comes in an hour. */
START_TEST(runtime_cuts_what_storage_is_played_for)
{
	struct job *j = new_job();

	mock_of(j)->read_ns = 3600000 * MS;
	j->accelerators = 2;
	j->read_threads = 3;
	j->loader = _i;
	j->runtime_ns = 5000 * MS;
	struct ran r = go(&j, 1);
	ck_assert_int_eq(r.result->err.code, 0);
	ck_assert_uint_eq(r.ml->steps, 0);
	ck_assert_uint_eq(r.ml->io_bytes, 0);
	ck_assert_uint_eq(r.job->errors, 0);
	ck_assert_uint_eq(clock_now(r.clock), 6000 * MS);
	end(&r, &j, 1);
}
END_TEST

/* One rank computes for longer than the others: what it is cut in, the others have not done
 * either. */
START_TEST(all_ranks_have_done_the_same_steps_when_time_is_up)
{
	struct job *j = new_job();

	j->accelerators = 4;
	j->num_files = 400;
	j->compute_time = (struct dist){ .kind = DIST_UNIFORM, .a = MS, .b = 20 * MS };
	j->runtime_ns = (100 + (uint64_t)_i) * MS;
	struct ran r = go(&j, 1);
	ck_assert_uint_gt(r.ml->steps, 2);
	ck_assert_uint_eq(r.ml->samples, 4 * r.ml->steps);
	ck_assert_uint_eq(clock_now(r.clock), 1000 * MS + j->runtime_ns);
	end(&r, &j, 1);
}
END_TEST

/* 40 steps of 10 ms; the first 100 ms are not counted. */
START_TEST(ramp_time_delays_what_is_counted)
{
	struct job *j = new_job();

	j->num_files = 40;
	j->ramp_time_ns = 100 * MS;
	struct ran r = go(&j, 1);
	ck_assert_uint_eq(r.ml->steps, 30);
	ck_assert_uint_eq(r.ml->samples, 30);
	assert_near(r.job->wall_seconds, 0.300);
	end(&r, &j, 1);
}
END_TEST

/* Ranks draw 5 to 15 ms; with a barrier every step takes the longest. */
START_TEST(a_step_barrier_waits_for_the_slowest)
{
	struct job *j = new_job();

	j->accelerators = 4;
	j->num_files = 400;
	j->compute_time = (struct dist){ .kind = DIST_UNIFORM, .a = 5.0 * MS, .b = 15.0 * MS };
	struct ran with = go(&j, 1);
	double barrier = with.ml->time_percent.barrier;
	ck_assert(barrier > 10 && with.ml->au_percent < 90);
	run_free(with.run);
	clock_free(with.clock);
	j->barrier = BARRIER_NONE;
	struct ran without = go(&j, 1);
	assert_near(without.ml->au_percent, 100);
	end(&without, &j, 1);
}
END_TEST

START_TEST(two_jobs_run_together_and_one_after_the_other)
{
	struct job *jobs[] = { new_job(), new_job() };

	jobs[1]->group = _i ? 1 : 0;
	jobs[1]->num_files = 8;
	struct ran r = go(jobs, 2);
	ck_assert_uint_eq(r.result->jobs[0].ml.steps, 4);
	ck_assert_uint_eq(r.result->jobs[1].ml.steps, 8);
	assert_near((double)(clock_now(r.clock) - 1000 * MS) / 1e9, _i ? 0.120 : 0.080);
	end(&r, jobs, 2);
}
END_TEST

START_TEST(no_compute_means_no_utilisation_and_no_demand)
{
	struct job *j = new_job();

	j->compute_time = constant(0);
	mock_of(j)->read_ns = MS;
	struct ran r = go(&j, 1);
	ck_assert(isnan(r.ml->au_percent));
	ck_assert(isnan(r.ml->demand_bytes_per_sec));
	end(&r, &j, 1);
}
END_TEST

START_TEST(demand_is_batch_over_compute)
{
	struct job *j = new_job();

	j->accelerators = 2;
	j->batch_size = 2;
	struct ran r = go(&j, 1);
	assert_near(r.ml->demand_bytes_per_sec, 2 * 2 * 4096 / 0.010);
	assert_near(r.ml->demand_io_bytes_per_sec, 2 * 2 * 4096 / 0.010);
	end(&r, &j, 1);
}
END_TEST

START_TEST(start_delay_is_not_part_of_the_result)
{
	struct job *j = new_job();

	j->startdelay_ns = 500 * MS;
	struct ran r = go(&j, 1);
	assert_near(r.job->wall_seconds, 0.040);
	assert_near(r.result->jobs[0].elapsed_seconds, 0.540);
	end(&r, &j, 1);
}
END_TEST

Suite *suite_run(void)
{
	Suite *s = suite_create("run");
	TCase *tc = tcase_create("virtual time");

	tcase_set_timeout(tc, 20);
	tcase_add_loop_test(tc, one_reader_one_accelerator, 0,
			    (int)(sizeof(overlap) / sizeof(*overlap)));
	tcase_add_test(tc, accelerator_time_adds_up);
	tcase_add_test(tc, loaders_read_side_by_side);
	tcase_add_loop_test(tc, every_sample_is_delivered_exactly_once, 0, 3);
	tcase_add_loop_test(tc, steps_limit_stops_all_ranks_at_the_same_step, 0, 3);
	tcase_add_test(tc, runtime_repeats_epochs_when_time_based);
	tcase_add_test(tc, runtime_cuts_a_computation);
	tcase_add_loop_test(tc, runtime_cuts_what_storage_is_played_for, 0, 3);
	tcase_add_loop_test(tc, all_ranks_have_done_the_same_steps_when_time_is_up, 0, 10);
	tcase_add_test(tc, ramp_time_delays_what_is_counted);
	tcase_add_test(tc, a_step_barrier_waits_for_the_slowest);
	tcase_add_loop_test(tc, two_jobs_run_together_and_one_after_the_other, 0, 2);
	tcase_add_test(tc, no_compute_means_no_utilisation_and_no_demand);
	tcase_add_test(tc, demand_is_batch_over_compute);
	tcase_add_test(tc, start_delay_is_not_part_of_the_result);
	suite_add_tcase(s, tc);
	return s;
}
