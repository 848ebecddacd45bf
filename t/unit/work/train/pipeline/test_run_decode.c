/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_decode.c - time that decoding takes of a loader, to the nanosecond. */
#include "run_loaders_rig.h"
#include "suites.h"
#include "train_rig.h"

static double au(const struct rig *r)
{
	const struct rank *k = &r->train.ranks[0];

	return 100 * (double)k->counted_compute_ns / (double)k->counted_wall_ns;
}

/*
 * Nothing to read, but samples take their time to decode: with pytorch one after the other in each
 * of the workers, with tfdata batch by batch in decode_threads of them. 41 steps of 10 ms, of which
 * 40 count.
 */
/* clang-format off */
static const struct {
	int loader;
	uint64_t read_ms, batch, threads, decode_threads, preprocess_ms;
	uint64_t prefetch, first_ms;
	double step_ms;
} decodes[] = {
	{ LOADER_PYTORCH, 0, 1, 1, 1, 10, 1, 10, 10 },
	{ LOADER_PYTORCH, 0, 1, 1, 1, 30, 1, 30, 30 },
	{ LOADER_PYTORCH, 0, 1, 2, 1, 30, 1, 30, 15 },
	{ LOADER_PYTORCH, 0, 1, 3, 1, 30, 1, 30, 10 },
	{ LOADER_PYTORCH, 0, 1, 1, 9, 30, 1, 30, 30 },
	{ LOADER_PYTORCH, 0, 4, 1, 1, 5, 1, 20, 20 },
	{ LOADER_PYTORCH, 5, 1, 1, 1, 10, 1, 15, 15 },
	{ LOADER_PYTORCH, 5, 2, 1, 1, 10, 1, 30, 30 },
	{ LOADER_PLAIN, 0, 1, 1, 1, 30, 4, 30, 30 },
	{ LOADER_PLAIN, 0, 2, 4, 1, 30, 4, 30, 15 },
	{ LOADER_TFDATA, 0, 2, 1, 1, 5, 1, 10, 10 },
	{ LOADER_TFDATA, 0, 2, 1, 1, 10, 1, 20, 20 },
	{ LOADER_TFDATA, 0, 2, 3, 1, 10, 1, 20, 20 },
	{ LOADER_TFDATA, 0, 2, 1, 2, 10, 1, 20, 10 },
	{ LOADER_TFDATA, 0, 2, 1, 2, 15, 1, 30, 15 },
	{ LOADER_TFDATA, 0, 1, 1, 4, 40, 1, 40, 10 },
	{ LOADER_TFDATA, 0, 1, 1, 4, 80, 1, 80, 20 },
	{ LOADER_TFDATA, 5, 1, 1, 1, 10, 1, 15, 10 },
	/* three files are read beside each other, at last two */
	{ LOADER_TFDATA, 60, 1, 1, 1, 10, 1, 70, 19.75 },
	{ LOADER_TFDATA, 20, 1, 2, 1, 20, 1, 40, 20 },
};
/* clang-format on */

START_TEST(decoding_takes_its_time)
{
	struct rig r = { .job = tfdata_job(41, 4) };
	struct job *j = r.job;

	j->num_files = 41 * decodes[_i].batch;
	j->samples_per_file = 1;
	j->loader = decodes[_i].loader;
	j->batch_size = decodes[_i].batch;
	j->read_threads = decodes[_i].threads;
	j->prefetch = decodes[_i].prefetch;
	j->decode_threads = decodes[_i].decode_threads;
	j->preprocess_time = constant(decodes[_i].preprocess_ms * MS);
	mock_of(j)->read_ns = decodes[_i].read_ms * MS;
	rig_go(&r);
	check_counts(&r, 41, 41 * j->batch_size, 41 * j->batch_size);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, (decodes[_i].first_ms + 10) * MS);
	assert_near(au(&r), 100 * 10 / decodes[_i].step_ms);
	rig_end(&r);
}
END_TEST

/* Each sleep is woken late, and the next one takes that back: 41 batches of four samples take what
 * they would, and the last lateness. */
START_TEST(lateness_does_not_add_up)
{
	uint64_t elapsed[2];

	for (unsigned late = 0; late < 2; late++) {
		struct rig r = { .job = tfdata_job(41, 4), .late_ns = late * 80000 };

		r.job->num_files = 41 * 4;
		r.job->samples_per_file = 1;
		r.job->loader = LOADER_PYTORCH;
		r.job->batch_size = 4;
		r.job->preprocess_time = constant(_i ? 50000 : 5 * MS);
		r.job->preprocess_at = PREPROCESS_AT_READS;
		r.job->compute_time = constant(0);
		rig_go(&r);
		check_counts(&r, 41, 41 * 4, 41 * 4);
		elapsed[late] = r.elapsed_ns;
		rig_end(&r);
	}
	ck_assert_uint_ge(elapsed[1], elapsed[0]);
	ck_assert_uint_le(elapsed[1], elapsed[0] + 160000);
}
END_TEST

/* 41 batches of two samples in one worker that the rank always waits for. */
START_TEST(the_first_sample_takes_longer)
{
	struct rig r = { .job = tfdata_job(41, 4) };

	r.job->num_files = 41 * 2;
	r.job->samples_per_file = 1;
	r.job->loader = LOADER_PYTORCH;
	r.job->batch_size = 2;
	r.job->prefetch = 1;
	r.job->compute_time = constant(1 * MS);
	r.job->preprocess_time = constant(_i < 2 ? 5 * MS : 0);
	r.job->preprocess_at = _i == 1 ? PREPROCESS_AT_READS : PREPROCESS_AT_SAMPLE;
	r.job->first_sample_time = constant(100 * MS);
	rig_go(&r);
	check_counts(&r, 41, 41 * 2, 41 * 2);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, (_i < 2 ? 100 + 10 + 1 : 100 + 1) * MS);
	ck_assert_uint_eq(r.elapsed_ns, (_i < 2 ? 100 + 41 * 10 + 1 : 100 + 41) * MS);
	rig_end(&r);
}
END_TEST

/* Asleep as it is, it counts as idle. */
START_TEST(a_loader_that_decodes_is_idle)
{
	struct rig r = { .job = tfdata_job(10, 1) };
	const struct opstat *stat;

	r.job->loader = LOADER_PYTORCH;
	r.job->preprocess_time = constant(30 * MS);
	mock_of(r.job)->read_ns = 20 * MS;
	rig_go(&r);
	stat = &rig_rank(&r)->loaders[0].worker.stat;
	ck_assert_uint_eq(stat->blocked_ns[MLGEN_READ], 10 * 20 * MS);
	/* with the last step, in which there is nothing left to read */
	ck_assert_uint_eq(stat->idle_ns, (10 * 30 + 10) * MS);
	ck_assert_uint_eq(stat->wall_ns, r.elapsed_ns);
	/* the latency of a sample is that of its storage */
	ck_assert_uint_eq(stat->sample->max_ns, 20 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(what_a_sample_takes_to_decode_follows_from_the_seed)
{
	uint64_t elapsed[3];

	for (unsigned i = 0; i < 3; i++) {
		struct rig r = { .job = tfdata_job(20, 1) };

		r.job->loader = _i ? LOADER_TFDATA : LOADER_PYTORCH;
		r.job->randseed = i < 2 ? 1 : 2;
		r.job->preprocess_time =
			(struct dist){ .kind = DIST_UNIFORM, .a = 20.0 * MS, .b = 60.0 * MS };
		rig_go(&r);
		check_counts(&r, 20, 20, 20);
		elapsed[i] = r.elapsed_ns;
		rig_end(&r);
	}
	ck_assert_uint_eq(elapsed[0], elapsed[1]);
	ck_assert_uint_ne(elapsed[0], elapsed[2]);
	ck_assert(elapsed[0] > 600 * MS && elapsed[0] < 1000 * MS);
}
END_TEST

Suite *suite_run_decode(void)
{
	Suite *s = suite_create("run_decode");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	tcase_add_loop_test(t, decoding_takes_its_time, 0, COUNT(decodes));
	tcase_add_loop_test(t, the_first_sample_takes_longer, 0, 3);
	tcase_add_loop_test(t, lateness_does_not_add_up, 0, 2);
	tcase_add_test(t, a_loader_that_decodes_is_idle);
	tcase_add_loop_test(t, what_a_sample_takes_to_decode_follows_from_the_seed, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
