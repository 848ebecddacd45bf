/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_ahead.c - how far loaders are ahead, and what that costs. */
#include "run/slot/slot.h"
#include "suites.h"
#include "train_rig.h"
#include "work/train/pipeline/pipeline.h"

static struct job *job_of(int loader, uint64_t files, uint64_t per_file)
{
	struct job *j = new_job();

	j->loader = loader;
	j->shuffle.kind = SHUFFLE_NONE;
	j->num_files = files;
	j->samples_per_file = per_file;
	return j;
}

/* clang-format off */
static const struct {
	int loader;
	uint64_t files, threads, prefetch, batch;
	uint64_t buffer;
	uint64_t window, most_tokens;
} aheads[] = {
	{ LOADER_PYTORCH, 10000, 16, 100, 1, 0, 1600, 101 },
	{ LOADER_PYTORCH, 100000000, 16, 100, 4096, 0, 1600, 101 },
	{ LOADER_PLAIN, 100000, 4, 2, 4, 0, 2, 13 },
	{ LOADER_PLAIN, 100000000, 4, 2, 10000000, 0, 2, 1024 },
	{ LOADER_TFDATA, 100000000, 8, 2, 4, 10000000, 2500002, 1024 },
	{ LOADER_TFDATA, 100000000, 8, 2, 1, 10000000, 10000002, 1024 },
	/* an epoch has no more to shuffle than its samples */
	{ LOADER_TFDATA, 1000, 8, 2, 10, 10000000, 102, 1024 },
};
/* clang-format on */

START_TEST(what_is_ahead_costs_no_memory_per_sample)
{
	struct rig r = { .job = job_of(aheads[_i].loader, aheads[_i].files, 1) };
	struct job *j = r.job;
	struct stages stages = { 0 };
	struct memneed need = { 0 };

	j->read_threads = aheads[_i].threads;
	j->prefetch = aheads[_i].prefetch;
	j->batch_size = aheads[_i].batch;
	if (aheads[_i].buffer)
		j->shuffle =
			(struct variant){ .kind = SHUFFLE_BUFFER, .number = aheads[_i].buffer };
	rig_datasets(&r);
	ck_assert_int_eq(train_pass(&stages.train, j, &r.dataset, false, 0, NULL), 0);
	ck_assert_uint_eq(stages.train.window, aheads[_i].window);
	ck_assert_uint_le(loader_ring_tokens(j, &stages), aheads[_i].most_tokens);
	/* nor is more asked of the host: 16 threads of half a MiB at most */
	train_need(&need, j, &stages);
	ck_assert_uint_le(need.bytes, 8 << 20);
	dataset_fini(&r.dataset);
	job_free(j);
}
END_TEST

/* That of the training is not filled for an evaluation. */
START_TEST(an_evaluation_has_no_buffer_that_shuffles)
{
	struct rig r = { .job = job_of(LOADER_TFDATA, 100, 1) };
	struct pass pass;

	r.job->eval_files = 100;
	r.job->eval_batch_size = 5;
	r.job->prefetch = 3;
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 1000 };
	rig_datasets(&r);
	ck_assert_int_eq(train_pass(&pass, r.job, &r.eval, true, 0, NULL), 0);
	ck_assert_uint_eq(pass.window, 3);
	dataset_fini(&r.dataset);
	job_free(r.job);
}
END_TEST

/* More samples are ahead than a ring has tokens, and of several epochs. What an epoch has delivered
 * is checked in the run. */
START_TEST(rings_shorter_than_what_is_ahead_lose_nothing)
{
	static const int loaders[] = { LOADER_PLAIN, LOADER_TFDATA };
	struct rig r = { .job = job_of(loaders[_i % 2], 3, 1001) };
	const struct rank_count *c;

	r.job->sample_size = constant(64);
	r.job->read_threads = 1 + (uint64_t)_i / 2;
	r.job->prefetch = 4;
	r.job->batch_size = 1001;
	r.job->epochs = 4;
	rig_go(&r);
	c = &rig_rank(&r)->count;
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(count_get(&c->steps), 12);
	ck_assert_uint_eq(count_get(&c->samples), 12 * 1001);
	ck_assert_uint_eq(count_get(&c->sample_bytes), 12 * 1001 * 64);
	rig_end(&r);
}
END_TEST

/* 20 ms to decode, 10 to compute, and so late does the thread wake: it has no more to wait for than
 * before, and the rest of its step is shorter. */
START_TEST(waking_late_from_decoding_is_no_stall)
{
	static const uint64_t late_ms[] = { 0, 4, 13 }, over_ms[] = { 0, 0, 3 };
	static const uint64_t stall_ms[] = { 10, 10, 7 };
	struct rig r = { .job = job_of(LOADER_TFDATA, 11, 1), .late_ns = late_ms[_i] * MS };
	const struct rank_count *c;

	r.job->preprocess_time = constant(20 * MS);
	rig_go(&r);
	c = &rig_rank(&r)->count;
	ck_assert_uint_eq(count_get(&c->steps), 11);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, (30 + over_ms[_i]) * MS);
	ck_assert_uint_eq(rig_rank(&r)->stall->max_ns, stall_ms[_i] * MS);
	ck_assert_uint_eq(rig_rank(&r)->oversleep->max_ns, over_ms[_i] * MS);
	rig_end(&r);
}
END_TEST

static struct job *job_without_threads(void)
{
	struct job *j = job_of(LOADER_PYTORCH, 10, 1);

	j->read_threads = j->prefetch = 0;
	j->batch_size = 2;
	return j;
}

/* A read takes 3 ms and decoding a sample 1: 8 ms a batch of two, all of which the accelerator
 * waits for, in each step of each epoch. */
START_TEST(without_read_threads_reading_is_stall)
{
	struct rig r = { .job = job_without_threads() };
	const struct rank_count *c;
	const struct opstat *stat;

	r.job->epochs = 3;
	r.job->preprocess_time = constant(MS);
	mock_of(r.job)->read_ns = 3 * MS;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	c = &rig_rank(&r)->count;
	ck_assert_uint_eq(count_get(&c->steps), 15);
	ck_assert_uint_eq(count_get(&c->samples), 30);
	ck_assert_uint_eq(atomic_load(&reads), 30);
	ck_assert_uint_eq(count_get(&c->stall_ns), 15 * 8 * MS);
	ck_assert_uint_eq(rig_rank(&r)->stall->min_ns, 8 * MS);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, 18 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 15 * 18 * MS);
	/* while it computes it is no loader */
	stat = &rig_rank(&r)->loaders[0].worker.stat;
	ck_assert_uint_eq(stat->wall_ns, 15 * 8 * MS);
	ck_assert_uint_eq(stat->blocked_ns[MLGEN_READ], 30 * 3 * MS);
	ck_assert_uint_eq(stat->idle_ns, 30 * MS);
	ck_assert_uint_eq(stat->sample->max_ns, 3 * MS);
	rig_end(&r);
}
END_TEST

/* Each by itself, also in an evaluation and in ramp_time, and with extents that no batch fits. */
START_TEST(without_read_threads_each_accelerator_reads_its_own)
{
	struct rig r = { .job = job_without_threads(), .extent_samples = 6 };

	r.job->sample_size = constant(512);
	r.job->samples_per_file = 12;
	r.job->accelerators = 3;
	r.job->batch_size = 5;
	r.job->epochs = 2;
	r.job->eval_files = 9;
	r.job->eval_batch_size = 4;
	r.job->eval_time = constant(2 * MS);
	r.job->ramp_time_ns = _i ? 20 * MS : 0;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	/* of 20 extents 6 each, in 7 batches, and of 18 6 in 9 */
	ck_assert_uint_eq(atomic_load(&reads), 3 * 2 * (6 + 6));
	for (unsigned i = 0; i < 3; i++) {
		const struct rank_count *c = &r.train.ranks[i].count;

		ck_assert_uint_eq(count_get(&c->steps), _i ? 12 : 14);
		ck_assert_uint_eq(count_get(&c->eval_steps), 18);
	}
	rig_end(&r);
}
END_TEST

START_TEST(without_read_threads_an_error_stops_the_run)
{
	struct rig r = { .job = job_without_threads() };

	r.job->accelerators = 2;
	r.job->batch_size = 1;
	mock_of(r.job)->read_ns = MS;
	mock_of(r.job)->fail_at = (uint64_t)_i * 3;
	rig_go(&r);
	ck_assert_int_eq(r.err.code, -EIO);
	ck_assert_ptr_nonnull(strstr(r.err.text, ".raw: read at "));
	rig_end(&r);
}
END_TEST

/* What the accelerator is at when its time is up, or a signal comes: a read of an hour, decoding
 * that takes one, or many reads of a millisecond. */
START_TEST(without_read_threads_a_stop_ends_reading)
{
	static const uint64_t read_ns[] = { 3600000 * MS, 0, MS };
	struct rig r = { .job = job_without_threads() };
	const struct rank *k;
	bool is_signal = _i % 2;

	r.job->accelerators = 2;
	r.job->num_files = 40;
	r.job->batch_size = 10;
	mock_of(r.job)->read_ns = read_ns[_i / 2];
	if (!read_ns[_i / 2])
		r.job->preprocess_time = constant(3600000 * MS);
	r.job->epochs = 9;
	r.job->runtime_ns = is_signal ? 0 : 97500000;
	r.interrupt_at_ns = is_signal ? 97500000 : 0;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(clock_now(r.clock), RIG_BEGIN_NS + 97500000);
	k = rig_rank(&r);
	/* steps of 20 ms; two an epoch */
	ck_assert_uint_eq(count_get(&k->count.steps), _i / 2 == 2 ? 4 : 0);
	ck_assert_uint_eq(count_get(&k->count.samples), _i / 2 == 2 ? 40 : 0);
	ck_assert_uint_eq(k->loaders[0].worker.stat.errors, 0);
	rig_end(&r);
}
END_TEST

/* It is estimated as one thread of its own, which is a little too much. */
START_TEST(without_read_threads_memory_is_needed_all_the_same)
{
	struct rig r = { .job = job_without_threads() };
	struct memneed none = { 0 }, one = { 0 };
	struct stages stages;

	r.job->accelerators = 4;
	rig_datasets(&r);
	ck_assert_int_eq(train_stages(&stages, r.job, &r.dataset, NULL, 0, NULL), 0);
	train_need(&none, r.job, &stages);
	r.job->read_threads = r.job->prefetch = 1;
	train_need(&one, r.job, &stages);
	ck_assert_uint_gt(none.bytes, 4 * 4096);
	ck_assert_uint_eq(none.bytes, one.bytes);
	dataset_fini(&r.dataset);
	job_free(r.job);
}
END_TEST

/* Two epochs of 10 samples, and evaluations of 4: what fails is of the first epoch, or of its
 * evaluation and the second one. */
START_TEST(without_read_threads_what_failed_is_not_delivered)
{
	struct rig r = { .job = job_without_threads() };
	const struct rank_count *c;

	r.job->continue_on_error = CONTINUE_ALL;
	r.job->epochs = 2;
	r.job->eval_files = 4;
	r.job->eval_batch_size = 2;
	mock_of(r.job)->fail_at = _i ? 11 : 4;
	mock_of(r.job)->fail_count = 5;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	c = &rig_rank(&r)->count;
	ck_assert_uint_eq(atomic_load(&reads), 2 * (10 + 4));
	ck_assert_uint_eq(count_get(&c->steps), 10);
	ck_assert_uint_eq(count_get(&c->failed_samples), _i ? 2 : 5);
	ck_assert_uint_eq(count_get(&c->samples), _i ? 18 : 15);
	ck_assert_uint_eq(count_get(&c->sample_bytes), (_i ? 18 : 15) * UINT64_C(4096));
	ck_assert_uint_eq(count_get(&c->eval_failed_samples), _i ? 3 : 0);
	ck_assert_uint_eq(count_get(&c->eval_samples), _i ? 5 : 8);
	rig_end(&r);
}
END_TEST

Suite *suite_run_ahead(void)
{
	Suite *s = suite_create("run_ahead");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	tcase_add_loop_test(t, what_is_ahead_costs_no_memory_per_sample, 0,
			    sizeof(aheads) / sizeof(aheads[0]));
	tcase_add_test(t, an_evaluation_has_no_buffer_that_shuffles);
	tcase_add_loop_test(t, rings_shorter_than_what_is_ahead_lose_nothing, 0, 4);
	tcase_add_loop_test(t, waking_late_from_decoding_is_no_stall, 0, 3);
	tcase_add_test(t, without_read_threads_reading_is_stall);
	tcase_add_loop_test(t, without_read_threads_each_accelerator_reads_its_own, 0, 2);
	tcase_add_loop_test(t, without_read_threads_an_error_stops_the_run, 0, 3);
	tcase_add_test(t, without_read_threads_memory_is_needed_all_the_same);
	tcase_add_loop_test(t, without_read_threads_a_stop_ends_reading, 0, 6);
	tcase_add_loop_test(t, without_read_threads_what_failed_is_not_delivered, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
