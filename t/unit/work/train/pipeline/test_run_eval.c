/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_eval.c - evaluations between the epochs of a training, to the nanosecond. */
#include <errno.h>

#include "suites.h"
#include "train_rig.h"

static const int loaders[] = { LOADER_PYTORCH, LOADER_PLAIN, LOADER_TFDATA };
static const int barriers[] = { BARRIER_NONE, BARRIER_STEP, BARRIER_EPOCH };

/* 4 steps of 10 ms an epoch, 3 of 4 ms an evaluation. */
static struct job *eval_job(void)
{
	struct job *j = new_job();

	j->shuffle.kind = SHUFFLE_NONE;
	j->epochs = 2;
	j->eval_files = 3;
	j->eval_time = constant(4 * MS);
	return j;
}

/* Of one rank. */
static void check_counts(struct rig *r, uint64_t steps, uint64_t eval_steps)
{
	const struct rank_count *c = &rig_rank(r)->count;

	ck_assert_msg(r->err.code == 0, "%s", r->err.text);
	ck_assert_uint_eq(count_get(&c->steps), steps);
	ck_assert_uint_eq(count_get(&c->samples), steps * r->job->batch_size);
	ck_assert_uint_eq(count_get(&c->eval_steps), eval_steps);
}

/* As transferred, by the loaders of all ranks: in all, and for evaluations. */
static void check_bytes(struct rig *r, uint64_t all, uint64_t eval)
{
	const struct job *j = r->job;
	uint64_t all_bytes = 0, eval_bytes = 0;

	uint64_t threads = job_readers(j);

	for (unsigned i = 0; i < j->accelerators * threads; i++) {
		struct rank *rank = &r->train.ranks[i / threads];
		const struct opstat *stat = &rank->loaders[i % threads].worker.stat;

		all_bytes += opstat_io_bytes(stat, 0);
		eval_bytes += stat->eval_bytes;
	}
	ck_assert_uint_eq(all_bytes, all);
	ck_assert_uint_eq(eval_bytes, eval);
}

START_TEST(an_evaluation_has_its_own_steps_samples_and_time)
{
	struct rig r = { .job = eval_job() };
	const struct rank_count *c;

	r.job->loader = loaders[_i % 3];
	r.job->barrier = barriers[_i / 3];
	r.job->accelerators = 2;
	r.job->num_files = 8;
	r.job->eval_files = 6;
	rig_go(&r);
	check_counts(&r, 8, 6);
	for (unsigned i = 0; i < 2; i++) {
		c = &r.train.ranks[i].count;
		ck_assert_uint_eq(count_get(&c->eval_samples), 6);
		ck_assert_uint_eq(count_get(&c->eval_sample_bytes), 6 * 4096);
		ck_assert_uint_eq(count_get(&c->eval_ns), 2 * 12 * MS);
		/* none of it is the training's */
		ck_assert_uint_eq(count_get(&c->compute_ns), 80 * MS);
		ck_assert_uint_eq(count_get(&c->step_ns), 80 * MS);
		ck_assert_uint_eq(r.train.ranks[i].counted_steps, 6);
		ck_assert_uint_eq(r.train.ranks[i].step->max_ns, 10 * MS);
	}
	ck_assert_uint_eq(r.elapsed_ns, (80 + 24) * MS);
	ck_assert_uint_eq(atomic_load(&reads), 2 * (8 + 6));
	check_bytes(&r, 2 * (8 + 6) * 4096, 2 * 6 * 4096);
	rig_end(&r);
}
END_TEST

START_TEST(it_reads_its_own_files)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i];
	r.job->deterministic = false; /* or files are read side by side */
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 8, 6);
	for (unsigned i = 0; i < 14; i++) {
		unsigned at = i % 7;

		ck_assert(read_log[i].is_eval == (at >= 4));
		ck_assert_uint_eq(read_log[i].file, at < 4 ? at : at - 4);
	}
	rig_end(&r);
}
END_TEST

START_TEST(its_failed_samples_are_its_own)
{
	struct rig r = { .job = eval_job() };

	r.job->continue_on_error = CONTINUE_READ;
	mock_of(r.job)->fail_at = 5;
	mock_of(r.job)->fail_count = 2;
	rig_go(&r);
	const struct rank_count *c = &rig_rank(&r)->count;
	ck_assert_uint_eq(count_get(&c->samples), 8);
	ck_assert_uint_eq(count_get(&c->failed_samples), 0);
	ck_assert_uint_eq(count_get(&c->eval_samples), 4);
	ck_assert_uint_eq(count_get(&c->eval_failed_samples), 2);
	rig_end(&r);
}
END_TEST

/* A read takes 5 ms, one goes ahead: 5 + 5 + 5 + 4 ms an evaluation, and the next epoch begins with
 * a read, too. */
START_TEST(nothing_is_read_ahead_of_it_or_beyond_it)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i];
	r.job->deterministic = false;
	mock_of(r.job)->read_ns = 5 * MS;
	rig_go(&r);
	check_counts(&r, 8, 6);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_ns), 2 * 19 * MS);
	ck_assert_uint_eq(rig_rank(&r)->first_step->min_ns, 15 * MS);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, 15 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 2 * (5 + 40 + 19) * MS);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t epochs, after, every, evaluations;
} when[] = {
	{ 5, 1, 1, 5 },
	{ 5, 2, 2, 2 },
	{ 5, 3, 1, 3 },
	{ 4, 4, 1, 1 },		/* after the last one, too */
	{ 4, 5, 1, 0 },
	{ 4, 1, 100, 1 },
	{ 4, 1000000000, 1, 0 },
	{ 4, 1, 1000000000, 1 },
};
/* clang-format on */

START_TEST(it_comes_after_the_epochs_asked_for)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i % 3];
	r.job->epochs = when[_i / 3].epochs;
	r.job->eval_after = when[_i / 3].after;
	r.job->eval_every = when[_i / 3].every;
	/* threads that have something to read in some stages only, and pass the others as they
	 * come: a billion orders take too long */
	r.job->shuffle.kind = SHUFFLE_FILE;
	r.job->read_threads = 4;
	r.job->num_files = 2;
	rig_go(&r);
	check_counts(&r, 2 * when[_i / 3].epochs, 3 * when[_i / 3].evaluations);
	ck_assert_uint_eq(r.elapsed_ns,
			  (20 * when[_i / 3].epochs + 12 * when[_i / 3].evaluations) * MS);
	rig_end(&r);
}
END_TEST

/* What is counted of a training is the same as without. */
START_TEST(a_training_is_the_same_with_it)
{
	struct rank_count count[2];
	uint64_t counted[2], stall[2];

	for (unsigned i = 0; i < 2; i++) {
		struct rig r = { .job = eval_job() };

		r.job->loader = loaders[_i];
		r.job->num_files = 30;
		r.job->shuffle.kind = SHUFFLE_SAMPLE;
		r.job->eval_files = i ? 12 : 0;
		r.job->epochs = 3;
		r.job->read_threads = 2;
		r.job->compute_time =
			(struct dist){ .kind = DIST_UNIFORM, .a = 5.0 * MS, .b = 15.0 * MS };
		mock_of(r.job)->read_ns = 25 * MS;
		rig_go(&r);
		check_counts(&r, 90, i * 36);
		count[i] = rig_rank(&r)->count;
		counted[i] = rig_rank(&r)->counted_wall_ns;
		stall[i] = rig_rank(&r)->stall->sum_ns;
		rig_end(&r);
	}
	ck_assert_uint_eq(counted[0], counted[1]);
	ck_assert_uint_eq(stall[0], stall[1]);
	ck_assert_uint_eq(count_get(&count[0].step_ns), count_get(&count[1].step_ns));
	ck_assert_uint_eq(count_get(&count[0].sample_bytes), count_get(&count[1].sample_bytes));
}
END_TEST

START_TEST(its_batch_can_be_another)
{
	/* clang-format off */
	static const struct {
		uint64_t files, batch, steps, samples;
		bool drop_last;
	} cases[] = {
		{ 7, 3, 2, 6, true },
		{ 7, 3, 3, 7, false },
		{ 7, 0, 3, 6, true },  /* 0: as the training, 2 */
		{ 64, 64, 1, 64, true },
	};
	/* clang-format on */
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i % 3];
	r.job->batch_size = 2;
	r.job->eval_files = cases[_i / 3].files;
	r.job->eval_batch_size = cases[_i / 3].batch;
	r.job->drop_last = cases[_i / 3].drop_last;
	rig_go(&r);
	check_counts(&r, 4, 2 * cases[_i / 3].steps);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_samples), 2 * cases[_i / 3].samples);
	rig_end(&r);
}
END_TEST

/* Extents of several samples, batches that are no multiples of them. */
START_TEST(its_extents_hold_several_samples)
{
	struct rig r = { .job = eval_job(), .extent_samples = 6 };

	r.job->loader = loaders[_i % 3];
	r.job->read_threads = _i / 3 ? 3 : 1;
	r.job->samples_per_file = 24;
	r.job->batch_size = 32;
	r.job->eval_batch_size = 5;
	rig_go(&r);
	/* 96 samples: 3 steps; 72 samples: 14, for 70 of them */
	check_counts(&r, 6, 28);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_samples), 140);
	ck_assert_uint_eq(atomic_load(&reads), 2 * (16 + 12) * 6);
	rig_end(&r);
}
END_TEST

/* A buffer is for the training; a batch of the evaluation, however small, does not wait for it. */
START_TEST(it_is_not_drawn_from_the_shuffle_buffer)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = LOADER_TFDATA;
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 64 };
	r.job->num_files = 200;
	r.job->batch_size = 50;
	r.job->eval_files = 400;
	r.job->eval_batch_size = 1;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 8, 800);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_ns), 2 * (1 + 400 * 4) * MS);
	rig_end(&r);
}
END_TEST

/* 40 ms of training, then steps of 10 ms: time is up in the middle of them. */
START_TEST(runtime_ends_within_it)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i % 3];
	r.job->barrier = barriers[_i / 3];
	r.job->accelerators = 2;
	r.job->num_files = 8;
	r.job->eval_files = 200;
	r.job->eval_time = constant(10 * MS);
	r.job->epochs = 10;
	r.job->runtime_ns = 95 * MS;
	rig_go(&r);
	check_counts(&r, 4, 5); /* the sixth is cut */
	ck_assert_uint_eq(r.elapsed_ns, 95 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(an_interruption_ends_it)
{
	struct rig r = { .job = eval_job(), .interrupt_at_ns = 65 * MS };

	r.job->loader = loaders[_i % 3];
	r.job->barrier = barriers[_i / 3];
	r.job->accelerators = 2;
	r.job->num_files = 8;
	r.job->eval_files = 200;
	r.job->eval_time = constant(10 * MS);
	r.job->epochs = 10;
	rig_go(&r);
	check_counts(&r, 4, 2); /* the third is cut */
	ck_assert_uint_eq(r.elapsed_ns, 65 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(steps_are_those_of_the_training)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i % 3];
	r.job->barrier = barriers[_i / 3];
	r.job->epochs = 10;
	r.job->steps = 6;
	rig_go(&r);
	check_counts(&r, 6, 3);
	rig_end(&r);
	/* with the last step of an epoch the run is over */
	r = (struct rig){ .job = eval_job() };
	r.job->barrier = barriers[_i / 3];
	r.job->steps = 4;
	rig_go(&r);
	check_counts(&r, 4, 0);
	rig_end(&r);
}
END_TEST

/* 40 + 12 ms in turn, until 250 ms: four epochs and evaluations, and 42 ms. */
START_TEST(time_based_goes_on_behind_it)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i];
	r.job->time_based = true;
	r.job->epochs = 1;
	r.job->runtime_ns = 248 * MS;
	rig_go(&r);
	check_counts(&r, 20, 12);
	ck_assert_uint_eq(r.elapsed_ns, 248 * MS);
	rig_end(&r);
}
END_TEST

/* Ranks of different speed do not wait in it, but behind it, unless they never do. */
START_TEST(ranks_wait_for_each_other_behind_it)
{
	struct rig r = { .job = eval_job() };
	uint64_t a, b;

	r.job->barrier = barriers[_i];
	r.job->epochs = 1;
	r.job->accelerators = 2;
	r.job->num_files = 8;
	r.job->eval_files = 40;
	r.job->eval_time = (struct dist){ .kind = DIST_UNIFORM, .a = 5.0 * MS, .b = 15.0 * MS };
	rig_go(&r);
	check_counts(&r, 4, 20);
	a = count_get(&r.train.ranks[0].count.eval_ns);
	b = count_get(&r.train.ranks[1].count.eval_ns);
	ck_assert(a > 150 * MS && a < 250 * MS);
	ck_assert((a == b) == (barriers[_i] != BARRIER_NONE));
	ck_assert_uint_eq(r.elapsed_ns, 40 * MS + (a > b ? a : b));
	rig_end(&r);
}
END_TEST

START_TEST(within_ramp_time_it_is_not_counted)
{
	struct rig r = { .job = eval_job() };

	r.job->epochs = 4;
	r.job->ramp_time_ns = 100 * MS;
	r.job->loader = loaders[_i];
	rig_go(&r);
	/* 40 + 12 + 40 + 12: the first step that ends behind it is the ninth; two files more of
	 * that epoch have been read before by tf.data */
	check_counts(&r, 7, 6);
	check_bytes(&r, (_i == 2 ? 4 + 2 * 3 : 6 + 2 * 3) * 4096u, 2 * 3 * 4096);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_ns), 24 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(an_error_in_it_stops_the_run)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i];
	r.job->accelerators = 2;
	r.job->num_files = 8;
	r.job->eval_files = 6;
	mock_of(r.job)->fail_at = 10;
	rig_go(&r);
	ck_assert_int_eq(r.err.code, -EIO);
	ck_assert_ptr_nonnull(strstr(r.err.text, "/valid/img_"));
	rig_end(&r);
}
END_TEST

START_TEST(it_is_decoded_too)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = loaders[_i];
	r.job->preprocess_time = constant(6 * MS);
	rig_go(&r);
	check_counts(&r, 8, 6);
	/* 6 + 6 + 6 + 4 */
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.eval_ns), 2 * 22 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(fewer_files_than_accelerators_are_refused)
{
	struct rig r = { .job = eval_job() };

	r.job->loader = LOADER_TFDATA;
	r.job->accelerators = 4;
	rig_datasets(&r);
	ck_assert_int_eq(train_init(&r.train, r.job, &r.dataset, &r.eval, 0, NULL, &r.failure,
				    &r.interrupted, &r.err),
			 -EINVAL);
	ck_assert_str_eq(r.err.text,
			 "accelerators: 4 are more than the 3 files of the evaluation, but each "
			 "accelerator needs "
			 "whole files; use more eval_files, or shard=strided with loader=pytorch");
	train_fini(&r.train);
	dataset_fini(&r.dataset);
	job_free(r.job);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

Suite *suite_run_eval(void)
{
	Suite *s = suite_create("run_eval");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	tcase_add_loop_test(t, an_evaluation_has_its_own_steps_samples_and_time, 0, 9);
	tcase_add_test(t, its_failed_samples_are_its_own);
	tcase_add_loop_test(t, it_reads_its_own_files, 0, 3);
	tcase_add_loop_test(t, nothing_is_read_ahead_of_it_or_beyond_it, 0, 3);
	tcase_add_loop_test(t, it_comes_after_the_epochs_asked_for, 0, 3 * COUNT(when));
	tcase_add_loop_test(t, a_training_is_the_same_with_it, 0, 2);
	tcase_add_loop_test(t, its_batch_can_be_another, 0, 12);
	tcase_add_loop_test(t, its_extents_hold_several_samples, 0, 6);
	tcase_add_test(t, it_is_not_drawn_from_the_shuffle_buffer);
	tcase_add_loop_test(t, runtime_ends_within_it, 0, 9);
	tcase_add_loop_test(t, an_interruption_ends_it, 0, 9);
	tcase_add_loop_test(t, steps_are_those_of_the_training, 0, 9);
	tcase_add_loop_test(t, time_based_goes_on_behind_it, 0, 3);
	tcase_add_loop_test(t, ranks_wait_for_each_other_behind_it, 0, 3);
	tcase_add_loop_test(t, within_ramp_time_it_is_not_counted, 0, 3);
	tcase_add_loop_test(t, an_error_in_it_stops_the_run, 0, 3);
	tcase_add_loop_test(t, it_is_decoded_too, 0, 3);
	tcase_add_test(t, fewer_files_than_accelerators_are_refused);
	suite_add_tcase(s, t);
	return s;
}
