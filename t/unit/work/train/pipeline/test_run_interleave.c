/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_interleave.c - tf.data in order: which files are open, and what of them is ahead. */
#include "suites.h"
#include "train_rig.h"
#include "work/train/pipeline/pipeline.h"

#define HOUR (3600000 * MS)
#define MOST_FILES 64

/* It takes a batch of one sample, and computes as long as the test looks: what is read then is what
 * may be ahead. A read takes 1 ms. */
static struct job *still_job(uint64_t files, uint64_t per_file, uint64_t threads, uint64_t prefetch)
{
	struct job *j = new_job();

	j->loader = LOADER_TFDATA;
	j->shuffle.kind = SHUFFLE_NONE;
	j->sample_size = constant(64);
	j->num_files = files;
	j->samples_per_file = per_file;
	j->read_threads = threads;
	j->prefetch = prefetch;
	j->compute_time = constant(HOUR);
	mock_of(j)->read_ns = MS;
	return j;
}

/* Until so many ms after its start; reads that were done, of each file. */
static void go_until(struct rig *r, uint64_t ms, unsigned *of_file)
{
	memset(of_file, 0, MOST_FILES * sizeof(*of_file));
	memset(read_log, 0, sizeof(read_log));
	r->interrupt_at_ns = ms * MS;
	rig_go(r);
	ck_assert_msg(r->err.code == 0, "%s", r->err.text);
	for (uint64_t i = 0; i < atomic_load(&reads); i++)
		if (read_log[i].end_ns)
			of_file[read_log[i].file]++;
}

/*
 * W files side by side, of each three records beyond what was delivered, and
 * 2W more of which the beginning was read. One batch was taken, and `prefetch` more have been
 * delivered.
 */
/* clang-format off */
static const struct {
	uint64_t files, per_file, extent, threads, prefetch;
	unsigned of_file[12]; /* extents; of all behind it none */
} still[] = {
	{ 20, 10, 1, 1, 1, { 5, 3, 3 } },
	{ 20, 10, 1, 2, 1, { 4, 4, 3, 3, 3, 3 } },
	{ 20, 10, 1, 2, 2, { 5, 4, 3, 3, 3, 3 } },
	{ 20, 10, 1, 3, 1, { 4, 4, 3, 3, 3, 3, 3, 3, 3 } },
	/* fewer files than threads, and than lanes */
	{ 4, 10, 1, 2, 1, { 4, 4, 3, 3 } },
	{ 2, 10, 1, 4, 1, { 4, 4 } },
	/* a thread goes on to its next file when this one was delivered, with all beside it, and
	 * one more is asked for */
	{ 20, 1, 1, 1, 1, { 1, 1, 1, 1 } },
	{ 20, 1, 1, 2, 1, { 1, 1, 1, 1, 1, 1 } },
	{ 20, 1, 1, 2, 2, { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ 20, 2, 1, 2, 3, { 2, 2, 2, 2, 2, 2 } },
	{ 20, 2, 1, 2, 4, { 2, 2, 2, 2, 2, 2, 2, 2 } },
	/* extents of several records, by the first of them */
	{ 20, 10, 2, 1, 1, { 3, 2, 2 } },
	{ 20, 12, 3, 1, 1, { 2, 1, 1 } },
	{ 20, 10, 5, 2, 1, { 1, 1, 1, 1, 1, 1 } },
	{ 20, 10, 5, 2, 4, { 2, 1, 1, 1, 1, 1 } },
	{ 20, 10, 5, 2, 5, { 2, 2, 1, 1, 1, 1 } },
};
/* clang-format on */

START_TEST(the_beginnings_of_the_next_files_are_read_ahead)
{
	struct rig r = { .job = still_job(still[_i].files, still[_i].per_file, still[_i].threads,
					  still[_i].prefetch),
			 .extent_samples = still[_i].extent };
	unsigned of_file[MOST_FILES];

	go_until(&r, 500, of_file);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_msg(of_file[i] == (i < 12 ? still[_i].of_file[i] : 0), "file %u: %u", i,
			      of_file[i]);
	rig_end(&r);
}
END_TEST

/* All of them at once: three for each of read_threads. */
START_TEST(so_many_reads_are_in_flight)
{
	struct rig r = { .job = still_job(60, 1, 2, 2) };

	r.job->deterministic = _i;
	r.job->compute_time = constant(0);
	mock_of(r.job)->read_ns = 10 * MS;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_eq(r.elapsed_ns, (_i ? 10u : 30u) * 10 * MS);
	rig_end(&r);
}
END_TEST

/* The first record of the slow file takes 20 ms, and no prefetch helps: of the fast one three are
 * ahead, and one was delivered, which came before it. */
START_TEST(a_slow_file_holds_up_the_reading_of_the_others)
{
	static const struct {
		bool in_order;
		uint64_t ms;
		unsigned fast, slow;
	} cases[] = {
		{ true, 19, 4, 0 }, { true, 39, 5, 1 }, { true, 59, 6, 2 }, { false, 19, 10, 0 }
	};
	struct rig r = { .job = still_job(2, 10, 2, 100) };
	unsigned of_file[MOST_FILES];

	r.job->deterministic = cases[_i].in_order;
	mock_of(r.job)->odd_ns = 20 * MS;
	go_until(&r, cases[_i].ms, of_file);
	ck_assert_uint_eq(of_file[0], cases[_i].fast);
	ck_assert_uint_eq(of_file[1], cases[_i].slow);
	rig_end(&r);
}
END_TEST

/* It runs on, but an iterator is a new one: no file of the next epoch is opened while one of this
 * is not delivered. */
START_TEST(an_epoch_begins_when_the_one_before_was_delivered)
{
	struct rig r = { .job = still_job(2, 1, 1, 100) };
	unsigned of_file[MOST_FILES];

	r.job->epochs = 2;
	mock_of(r.job)->odd_ns = 20 * MS;
	go_until(&r, _i ? 30 : 15, of_file);
	ck_assert_uint_eq(atomic_load(&reads), _i ? 4 : 2);
	ck_assert_uint_eq(of_file[0], _i ? 2 : 1);
	ck_assert_uint_eq(of_file[1], _i ? 1 : 0);
	rig_end(&r);
}
END_TEST

/* What is ahead beyond the batches is of threads, however many files there are and however long
 * they are. */
START_TEST(what_is_beyond_the_batches_depends_on_no_file)
{
	static const struct {
		uint64_t files, per_file, extent, beyond;
	} cases[] = { { 1000, 1000, 1, 36 },       { 100000000, 1, 1, 12 },
		      { 1000, 100000000, 1, 36 },  { 1000, 2, 1, 24 },
		      { 1000, 1000, 2, 24 },       { 1000, 1000, 4, 12 },
		      { 1000, 1000000, 1000, 12 }, { 5, 1000, 1, 15 } };
	struct rig r = { .job = still_job(cases[_i].files, cases[_i].per_file, 4, 2),
			 .extent_samples = cases[_i].extent };
	struct stages stages = { 0 };

	rig_datasets(&r);
	ck_assert_int_eq(train_pass(&stages.train, r.job, &r.dataset, false, 0, NULL), 0);
	ck_assert_uint_eq(loader_extents_beyond(r.job, &stages.train), cases[_i].beyond);
	ck_assert_uint_le(loader_ring_tokens(r.job, &stages), 16);
	r.job->deterministic = false;
	ck_assert_uint_eq(loader_extents_beyond(r.job, &stages.train), 0);
	dataset_fini(&r.dataset);
	job_free(r.job);
}
END_TEST

#define LOOP(t, test, list) tcase_add_loop_test(t, test, 0, sizeof(list) / sizeof(*(list)))

Suite *suite_run_interleave(void)
{
	Suite *s = suite_create("run_interleave");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	LOOP(t, the_beginnings_of_the_next_files_are_read_ahead, still);
	tcase_add_loop_test(t, so_many_reads_are_in_flight, 0, 2);
	tcase_add_loop_test(t, a_slow_file_holds_up_the_reading_of_the_others, 0, 4);
	tcase_add_loop_test(t, an_epoch_begins_when_the_one_before_was_delivered, 0, 2);
	tcase_add_loop_test(t, what_is_beyond_the_batches_depends_on_no_file, 0, 8);
	suite_add_tcase(s, t);
	return s;
}
