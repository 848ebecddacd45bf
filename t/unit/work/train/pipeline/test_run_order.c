/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_order.c - tf.data delivers in order, or as samples arrive (deterministic=0). */
#include "base/dist.h"
#include "suites.h"
#include "train_rig.h"

/* Two files side by side, one of which takes 20 ms a sample, the other 1. */
static struct job *uneven_job(void)
{
	struct job *j = new_job();

	j->loader = LOADER_TFDATA;
	j->shuffle.kind = SHUFFLE_NONE;
	j->num_files = j->read_threads = j->batch_size = 2;
	j->samples_per_file = 10;
	j->prefetch = 4;
	mock_of(j)->read_ns = MS;
	mock_of(j)->odd_ns = 20 * MS;
	return j;
}

static void check_whole(const struct rig *r, uint64_t steps, uint64_t samples)
{
	const struct rank_count *c = &r->train.ranks[0].count;

	ck_assert_msg(r->err.code == 0, "%s", r->err.text);
	ck_assert_uint_eq(count_get(&c->steps), steps);
	ck_assert_uint_eq(count_get(&c->samples), samples);
}

/* Of each batch one sample is the slow file's, whatever the other one has ready: batch k is whole
 * after 20 (k + 1) ms. */
START_TEST(in_order_a_slow_file_holds_up_each_batch)
{
	struct rig r = { .job = uneven_job() };
	const struct rank *k;

	rig_go(&r);
	check_whole(&r, 10, 20);
	k = rig_rank(&r);
	ck_assert_uint_eq(k->first_step->max_ns, 30 * MS);
	ck_assert_uint_eq(k->stall->min_ns, 10 * MS);
	ck_assert_uint_eq(k->stall->max_ns, 10 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 210 * MS);
	rig_end(&r);
}
END_TEST

/* The fast file fills the first batches, as far as it may be ahead. */
START_TEST(out_of_order_a_batch_has_what_is_there)
{
	struct rig r = { .job = uneven_job() };
	const struct rank *k;

	r.job->deterministic = false;
	rig_go(&r);
	check_whole(&r, 10, 20);
	k = rig_rank(&r);
	ck_assert_uint_eq(k->first_step->max_ns, 12 * MS);
	ck_assert_uint_eq(k->stall->min_ns, 0);
	rig_end(&r);
}
END_TEST

/* The first batch of two is drawn when six samples are there: in order three of each file, else six
 * of the fast one. */
START_TEST(a_buffer_that_shuffles_fills_in_order_too)
{
	struct rig r = { .job = uneven_job() };

	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 4 };
	r.job->deterministic = _i;
	rig_go(&r);
	check_whole(&r, 10, 20);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, _i ? 70 * MS : 16 * MS);
	rig_end(&r);
}
END_TEST

/* Three lanes, five files: in the last round there are two. */
START_TEST(the_order_is_that_of_the_lanes)
{
	struct rig r = { .job = uneven_job() };

	r.job->num_files = 5;
	r.job->samples_per_file = 2;
	r.job->read_threads = 3;
	r.job->batch_size = 3;
	r.job->drop_last = false;
	r.job->prefetch = 8;
	rig_go(&r);
	check_whole(&r, 4, 10);
	/* 0 1 2 | 0 1 2 | 3 4 3 | 4: whole after 20, 40, 42 and 42 ms */
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, 30 * MS);
	ck_assert_uint_eq(r.elapsed_ns, (40 + 3 * 10) * MS);
	rig_end(&r);
}
END_TEST

/* In order the fast file's loader waits for room then, and the accelerator for the slow one: of
 * which no sample comes. */
START_TEST(a_stop_ends_what_waits_for_a_slow_file)
{
	struct rig r = { .job = uneven_job() };
	bool is_signal = _i & 1;

	r.job->deterministic = _i & 2;
	mock_of(r.job)->odd_ns = 3600000 * MS;
	r.job->runtime_ns = is_signal ? 0 : 5000 * MS;
	r.interrupt_at_ns = is_signal ? 5000 * MS : 0;
	rig_go(&r);
	/* as they arrive: of ten samples of the fast file, those of the first
	 * 3 + 4 batches are read */
	check_whole(&r, r.job->deterministic ? 0 : 3, r.job->deterministic ? 0 : 6);
	/* and no loader goes on behind it */
	ck_assert_uint_eq(clock_now(r.clock), RIG_BEGIN_NS + 5000 * MS);
	rig_end(&r);
}
END_TEST

/* A sample that cannot be read holds nothing up, in order or not. */
START_TEST(what_failed_is_missing_in_its_batch)
{
	struct rig r = { .job = uneven_job() };
	const struct rank_count *c;

	r.job->deterministic = _i;
	r.job->continue_on_error = CONTINUE_ALL;
	mock_of(r.job)->fail_at = 4;
	mock_of(r.job)->fail_count = 3;
	rig_go(&r);
	check_whole(&r, 10, 17);
	c = &rig_rank(&r)->count;
	ck_assert_uint_eq(count_get(&c->failed_samples), 3);
	ck_assert_uint_eq(count_get(&c->sample_bytes), 17 * UINT64_C(4096));
	if (_i)
		ck_assert_uint_eq(r.elapsed_ns, 210 * MS);
	rig_end(&r);
}
END_TEST

static uint64_t draw(uint64_t *at, uint64_t from, uint64_t to)
{
	return from + rng_u64(7, RNG_TEST, (*at)++) % (to - from + 1);
}

static void draw_job(struct rig *r, uint64_t *at)
{
	struct job *j = r->job;
	uint64_t buffer = draw(at, 0, 3) ? draw(at, 1, 60) : 0;

	j->num_files = draw(at, 3, 9);
	j->samples_per_file = 2 * draw(at, 1, 6);
	r->extent_samples = draw(at, 1, 2);
	j->sample_size = constant(64);
	j->accelerators = draw(at, 1, 2);
	j->read_threads = draw(at, 1, 5);
	j->batch_size = draw(at, 1, j->num_files / 2 * j->samples_per_file);
	if (j->batch_size > j->num_files / j->accelerators * j->samples_per_file)
		j->batch_size = 1;
	j->prefetch = draw(at, 1, 4);
	j->drop_last = draw(at, 0, 1);
	j->deterministic = draw(at, 0, 3) > 0;
	j->epochs = draw(at, 1, 4);
	if (buffer)
		j->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = buffer };
	if (draw(at, 0, 1)) {
		j->eval_files = draw(at, 2, 5);
		j->eval_batch_size = draw(at, 1, 2);
	}
	if (draw(at, 0, 1)) {
		j->preprocess_time = constant(MS);
		j->decode_threads = draw(at, 1, 3);
	}
	if (draw(at, 0, 1)) {
		j->continue_on_error = CONTINUE_ALL;
		mock_of(j)->fail_at = draw(at, 0, 40);
		mock_of(j)->fail_count = draw(at, 1, 9);
	}
}

/* Nothing hangs, no ring overflows, and each epoch is whole, which the run checks itself. */
START_TEST(any_mixture_of_options_is_whole)
{
	uint64_t at = (uint64_t)_i * 1000;

	for (unsigned i = 0; i < 20; i++) {
		struct rig r = { .job = uneven_job() };
		const struct rank_count *c;
		const struct sampler *s;

		draw_job(&r, &at);
		rig_go(&r);
		ck_assert_msg(r.err.code == 0, "%s", r.err.text);
		s = &r.train.stages.train.sampler;
		c = &rig_rank(&r)->count;
		ck_assert_uint_eq(count_get(&c->steps), r.job->epochs * s->steps);
		ck_assert_uint_eq(count_get(&c->samples) + count_get(&c->failed_samples),
				  r.job->epochs * sampler_rank_samples(s));
		rig_end(&r);
	}
}
END_TEST

/* ... also when it is cut anywhere. */
START_TEST(any_mixture_of_options_can_be_cut)
{
	uint64_t at = (uint64_t)_i * 1000;

	for (unsigned i = 0; i < 20; i++) {
		struct rig r = { .job = uneven_job() };
		bool is_signal = draw(&at, 0, 1);
		uint64_t end_ns = draw(&at, 1, 300) * MS;

		draw_job(&r, &at);
		r.job->runtime_ns = is_signal ? 0 : end_ns;
		r.interrupt_at_ns = is_signal ? end_ns : 0;
		rig_go(&r);
		ck_assert_msg(r.err.code == 0, "%s", r.err.text);
		ck_assert_uint_le(clock_now(r.clock), RIG_BEGIN_NS + end_ns);
		rig_end(&r);
	}
}
END_TEST

Suite *suite_run_order(void)
{
	Suite *s = suite_create("run_order");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	tcase_add_test(t, in_order_a_slow_file_holds_up_each_batch);
	tcase_add_test(t, out_of_order_a_batch_has_what_is_there);
	tcase_add_loop_test(t, a_buffer_that_shuffles_fills_in_order_too, 0, 2);
	tcase_add_test(t, the_order_is_that_of_the_lanes);
	tcase_add_loop_test(t, a_stop_ends_what_waits_for_a_slow_file, 0, 4);
	tcase_add_loop_test(t, what_failed_is_missing_in_its_batch, 0, 2);
	tcase_add_loop_test(t, any_mixture_of_options_is_whole, 0, 5);
	tcase_add_loop_test(t, any_mixture_of_options_can_be_cut, 0, 5);
	suite_add_tcase(s, t);
	return s;
}
