/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_loaders.c - what the loader models do to an accelerator, to the nanosecond. */
#include <errno.h>

#include "run_loaders_rig.h"
#include "suites.h"
#include "train_rig.h"

START_TEST(tfdata_reads_so_many_files_side_by_side)
{
	struct rig r = { .job = tfdata_job(6, 4) };
	uint64_t next[6] = { 0 };

	r.job->deterministic = false; /* see run_interleave */
	r.job->read_threads = 3;
	r.job->prefetch = 2;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 24, 24, 24);
	for (unsigned i = 0; i < 24; i++) {
		unsigned file = read_log[i].file;

		ck_assert_uint_eq(file / 3, i / 12);
		/* an extent of each in turn, from front to back */
		ck_assert_uint_eq(read_log[i].off, 4096 * (i % 12 / 3));
		ck_assert_uint_eq(read_log[i].off, 4096 * next[file]++);
	}
	rig_end(&r);
}
END_TEST

/* A read takes 1 ms, and only the first batch of all waits for one. */
START_TEST(tfdata_runs_on_across_epochs)
{
	static const uint64_t prefetches[] = { 1, 2, 7, 100 };
	struct rig r = { .job = tfdata_job(4, 5) };

	r.job->epochs = 3;
	r.job->read_threads = 2;
	r.job->prefetch = prefetches[_i];
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 60, 60, 60);
	ck_assert_uint_eq(rig_rank(&r)->first_step->count, 3);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, 11 * MS);
	ck_assert_uint_eq(rig_rank(&r)->first_step->min_ns, 10 * MS);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.stall_ns), MS);
	ck_assert_uint_eq(r.elapsed_ns, 601 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(pytorch_and_plain_begin_each_epoch_anew)
{
	struct rig r = { .job = tfdata_job(4, 5) };

	r.job->loader = _i ? LOADER_PLAIN : LOADER_PYTORCH;
	r.job->epochs = 3;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 60, 60, 60);
	ck_assert_uint_eq(rig_rank(&r)->first_step->min_ns, 11 * MS);
	ck_assert_uint_eq(r.elapsed_ns, 603 * MS);
	rig_end(&r);
}
END_TEST

/* Files that do not exist are for the read to report: here there is none. */
static const struct mlgen_engine with_files = {
	MOCK_TABLE,
	.caps = (1u << MLGEN_OPS) - 1,
};

START_TEST(a_cache_to_be_dropped_keeps_tfdata_within_its_epoch)
{
	static char nowhere[] = "/nonexistent/mlgen";
	static const struct {
		int invalidate;
		uint64_t ms;
	} cases[] = { { INVALIDATE_NONE, 601 },
		      { INVALIDATE_RUN, 601 },
		      { INVALIDATE_EPOCH, 603 } };
	struct rig r = { .job = tfdata_job(4, 5) };

	job_set_engine(r.job, &with_files);
	mem_replace(&r.job->directory, nowhere);
	r.job->epochs = 3;
	r.job->invalidate = cases[_i].invalidate;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 60, 60, 60);
	ck_assert_uint_eq(r.elapsed_ns, cases[_i].ms * MS);
	rig_end(&r);
}
END_TEST

/* Epochs so short that several lie within what is read ahead; nothing of an epoch after the last is
 * read. */
START_TEST(epochs_shorter_than_the_prefetch_are_whole)
{
	static const uint64_t batches[] = { 12, 6, 4, 5 };
	static const uint64_t steps[] = { 1, 2, 3, 3 };
	struct rig r = { .job = tfdata_job(4, 3) };
	unsigned of_file[4] = { 0 };

	r.job->epochs = 5;
	r.job->read_threads = 2;
	r.job->prefetch = 8;
	r.job->batch_size = batches[_i];
	r.job->drop_last = false;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 5 * steps[_i], 60, 60);
	for (unsigned i = 0; i < 60; i++)
		of_file[read_log[i].file]++;
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(of_file[i], 15);
	rig_end(&r);
}
END_TEST

/* Or files of which no batch needs any. */
START_TEST(fewer_files_than_read_threads)
{
	/* clang-format off */
	static const struct {
		uint64_t files, per_file, batch, threads, accelerators;
		uint64_t steps, reads; /* per epoch; of all ranks */
	} cases[] = {
		{ 3, 4, 2, 8, 1, 6, 12 },
		{ 5, 1, 4, 5, 1, 1, 4 },
		{ 1, 7, 3, 4, 1, 2, 6 },
		{ 7, 1, 3, 64, 2, 1, 6 },
		{ 9, 1, 4, 2, 1, 2, 8 },
	};
	/* clang-format on */
	struct rig r = { .job = tfdata_job(cases[_i].files, cases[_i].per_file) };

	r.job->epochs = 3;
	r.job->batch_size = cases[_i].batch;
	r.job->read_threads = cases[_i].threads;
	r.job->accelerators = cases[_i].accelerators;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 3 * cases[_i].steps, 3 * cases[_i].steps * cases[_i].batch,
		     3 * cases[_i].reads);
	rig_end(&r);
}
END_TEST

START_TEST(fewer_batches_than_read_threads)
{
	struct rig r = { .job = tfdata_job(3, 1) };

	r.job->loader = _i ? LOADER_PLAIN : LOADER_PYTORCH;
	r.job->epochs = 4;
	r.job->read_threads = 9;
	rig_go(&r);
	check_counts(&r, 12, 12, 12);
	rig_end(&r);
}
END_TEST

/* Extents of 6144 samples: larger than a batch, smaller, and no part of one. Each is one read of 1
 * ms, of a loader alone. */
/* clang-format off */
static const struct {
	uint64_t batch, steps, extents; /* of an epoch of 40 extents */
	uint64_t first_ms;              /* until the first batch is whole */
} large[] = {
	{ 16384, 15, 40, 3 },
	{ 6144, 40, 40, 1 },
	{ 2048, 120, 40, 1 },
	{ 4000, 61, 40, 1 },
	{ 100000, 2, 33, 17 },
	{ 245760, 1, 40, 40 },
};
/* clang-format on */

#define LARGE COUNT(large)

START_TEST(batches_and_extents_of_any_size)
{
	static const int loaders[] = { LOADER_PYTORCH, LOADER_PLAIN, LOADER_TFDATA };
	struct rig r = { .job = tfdata_job(4, 61440), .extent_samples = 6144 };
	int i = _i % LARGE;
	uint64_t first_ms = large[i].first_ms;

	r.job->loader = loaders[_i / LARGE % 3];
	r.job->read_threads = _i / LARGE / 3 ? 3 : 1;
	/* the first extent of each file but the first is read beside it */
	if (r.job->loader == LOADER_TFDATA)
		first_ms -= (first_ms - 1) / 10;
	r.job->sample_size = constant(1);
	r.job->bs.read = 8192;
	r.job->epochs = 2;
	r.job->batch_size = large[i].batch;
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 2 * large[i].steps, 2 * large[i].steps * large[i].batch,
		     2 * large[i].extents);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.sample_bytes),
			  2 * large[i].steps * large[i].batch);
	if (r.job->read_threads == 1)
		ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, (first_ms + 10) * MS);
	rig_end(&r);
}
END_TEST

/* A read takes 1 ms: so long it fills, while three samples of each of the next files are read
 * beside the first; then each batch of 2 waits for 2 more while 10 ms are computed; at the end it
 * drains. */
START_TEST(a_shuffle_buffer_fills_before_the_first_batch)
{
	static const struct {
		uint64_t buffer, fill_ms;
	} cases[] = {
		{ 1, 3 }, { 10, 10 }, { 37, 30 }, { 38, 31 }, { 1000, 31 },
	};
	struct rig r = { .job = tfdata_job(4, 10) };

	r.job->batch_size = 2;
	r.job->epochs = 2;
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = cases[_i].buffer };
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 40, 80, 80);
	ck_assert_uint_eq(rig_rank(&r)->first_step->max_ns, (cases[_i].fill_ms + 10) * MS);
	/* that of the second epoch fills while the first one drains */
	ck_assert_uint_eq(rig_rank(&r)->first_step->min_ns, 10 * MS);
	ck_assert_uint_eq(rig_rank(&r)->stall->max_ns, 0);
	ck_assert_uint_eq(r.elapsed_ns, (cases[_i].fill_ms + 400) * MS);
	rig_end(&r);
}
END_TEST

START_TEST(a_shuffle_buffer_holds_batches_back)
{
	struct rig r = { .job = tfdata_job(4, 10) };

	r.job->deterministic = false;
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 8 };
	mock_of(r.job)->read_ns = 20 * MS;
	rig_go(&r);
	check_counts(&r, 40, 40, 40);
	/* 9 reads, then a batch with each, and 8 at the end without any */
	ck_assert_uint_eq(r.elapsed_ns, (9 * 20 + 31 * 20 + 9 * 10) * MS);
	rig_end(&r);
}
END_TEST

START_TEST(ramp_time_with_tfdata)
{
	struct rig r = { .job = tfdata_job(10, 4) };

	r.job->ramp_time_ns = 100 * MS;
	r.job->epochs = 2;
	rig_go(&r);
	check_counts(&r, 70, 70, 80);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.step_ns), 700 * MS);
	rig_end(&r);
}
END_TEST

START_TEST(barriers_change_no_count_of_tfdata)
{
	static const int barriers[] = { BARRIER_NONE, BARRIER_STEP, BARRIER_EPOCH };
	struct rig r = { .job = tfdata_job(9, 8) };

	r.job->accelerators = 3;
	r.job->read_threads = 2;
	r.job->batch_size = 4;
	r.job->epochs = 4;
	r.job->prefetch = 5;
	r.job->shuffle.kind = SHUFFLE_FILE;
	r.job->barrier = barriers[_i];
	r.job->compute_time = (struct dist){ .kind = DIST_UNIFORM, .a = 5.0 * MS, .b = 15.0 * MS };
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	check_counts(&r, 24, 96, 4 * 72);
	rig_end(&r);
}
END_TEST

START_TEST(an_error_in_a_tfdata_loader_stops_the_run)
{
	struct rig r = { .job = tfdata_job(9, 4) };

	r.job->accelerators = 3;
	r.job->read_threads = 3;
	r.job->preprocess_time = constant(5 * MS);
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 3 };
	r.job->epochs = 3;
	mock_of(r.job)->read_ns = MS;
	mock_of(r.job)->fail_at = (uint64_t)_i * 9;
	rig_go(&r);
	ck_assert_int_eq(r.err.code, -EIO);
	ck_assert_ptr_nonnull(strstr(r.err.text, ".raw: read at "));
	rig_end(&r);
}
END_TEST

START_TEST(a_counted_error_in_a_tfdata_loader_does_not)
{
	struct rig r = { .job = tfdata_job(4, 4) };
	uint64_t errors = 0;

	r.job->continue_on_error = CONTINUE_READ;
	mock_of(r.job)->fail_at = 7;
	rig_go(&r);
	check_counts(&r, 16, 15, 16);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.failed_samples), 1);
	for (uint64_t i = 0; i < job_readers(r.job); i++)
		errors += rig_rank(&r)->loaders[i].worker.stat.errors;
	ck_assert_uint_eq(errors, 1);
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.sample_bytes), 15 * 4096);
	rig_end(&r);
}
END_TEST

START_TEST(an_interruption_ends_tfdata_within_a_step)
{
	struct rig r = { .job = tfdata_job(10, 10), .interrupt_at_ns = 105 * MS };

	r.job->epochs = 100;
	r.job->read_threads = 2;
	r.job->shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 20 };
	r.job->preprocess_time = constant(2 * MS);
	mock_of(r.job)->read_ns = MS;
	rig_go(&r);
	ck_assert_int_eq(r.err.code, 0);
	/* 10.5 ms to fill and 2 to decode: the tenth step is under way, and no step that is not
	 * whole is counted */
	ck_assert_uint_eq(count_get(&rig_rank(&r)->count.steps), 9);
	ck_assert_uint_eq(r.elapsed_ns, 105 * MS);
	rig_end(&r);
}
END_TEST

Suite *suite_run_loaders(void)
{
	Suite *s = suite_create("run_loaders");
	TCase *t = tcase_create("virtual time");

	tcase_set_timeout(t, 20);
	tcase_add_test(t, tfdata_reads_so_many_files_side_by_side);
	tcase_add_loop_test(t, tfdata_runs_on_across_epochs, 0, 4);
	tcase_add_loop_test(t, pytorch_and_plain_begin_each_epoch_anew, 0, 2);
	tcase_add_loop_test(t, a_cache_to_be_dropped_keeps_tfdata_within_its_epoch, 0, 3);
	tcase_add_loop_test(t, epochs_shorter_than_the_prefetch_are_whole, 0, 4);
	tcase_add_loop_test(t, fewer_files_than_read_threads, 0, 5);
	tcase_add_loop_test(t, fewer_batches_than_read_threads, 0, 2);
	tcase_add_loop_test(t, batches_and_extents_of_any_size, 0, 6 * LARGE);
	tcase_add_loop_test(t, a_shuffle_buffer_fills_before_the_first_batch, 0, 5);
	tcase_add_test(t, a_shuffle_buffer_holds_batches_back);
	tcase_add_test(t, ramp_time_with_tfdata);
	tcase_add_loop_test(t, barriers_change_no_count_of_tfdata, 0, 3);
	tcase_add_loop_test(t, an_error_in_a_tfdata_loader_stops_the_run, 0, 12);
	tcase_add_test(t, a_counted_error_in_a_tfdata_loader_does_not);
	tcase_add_test(t, an_interruption_ends_tfdata_within_a_step);
	suite_add_tcase(s, t);
	return s;
}
