/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler.c - who reads what: by hand for small sets, as a bijection for all. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/order/order.h"
#include "suites.h"
#include "work/workloads.h"

static struct job job_of(uint64_t files, uint64_t per_file, uint64_t batch)
{
	static char directory[] = "d";

	return (struct job){ .directory = directory,
			     .format = FORMAT_RAW,
			     .phase = PHASE_PREPARE,
			     .num_files = files,
			     .samples_per_file = per_file,
			     .sample_size = { .a = 100 },
			     .scale = 100,
			     .accelerators = 1,
			     .batch_size = batch,
			     .randseed = 123 };
}

static int init(struct sampler *s, const struct job *job, const struct dataset *ds, uint64_t ranks,
		struct mlgen_err *err)
{
	struct sampler_config cfg = sampler_config(job, ranks);

	return sampler_init(s, &cfg, ds, err);
}

/*
 * As torch.utils.data.DistributedSampler(shuffle=False) lists them: padded from the start without
 * drop_last.
 */
START_TEST(shards_are_those_of_distributed_sampler)
{
	/* clang-format off */
	static const struct {
		uint64_t files, ranks, batch;
		enum job_shard shard;
		bool drop_last;
		uint64_t rank_extents, steps;
		bool is_whole;
		uint64_t ids[4][4];
	} cases[] = {
		{ 10, 4, 2, SHARD_STRIDED, false, 3, 2, false,
		  { { 0, 4, 8 }, { 1, 5, 9 }, { 2, 6, 0 }, { 3, 7, 1 } } },
		{ 10, 4, 2, SHARD_STRIDED, true, 2, 1, false,
		  { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } } },
		{ 8, 4, 2, SHARD_STRIDED, true, 2, 1, true,
		  { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } } },
		{ 8, 4, 2, SHARD_STRIDED, false, 2, 1, true,
		  { { 0, 4 }, { 1, 5 }, { 2, 6 }, { 3, 7 } } },
		{ 5, 4, 1, SHARD_STRIDED, false, 2, 2, false,
		  { { 0, 4 }, { 1, 0 }, { 2, 1 }, { 3, 2 } } },
		{ 10, 4, 3, SHARD_CONTIGUOUS, false, 3, 1, false,
		  { { 0, 1, 2 }, { 3, 4, 5 }, { 6, 7, 8 }, { 9, 0, 1 } } },
		/* shards of 3 3 2 2, of which full batches are read */
		{ 10, 4, 2, SHARD_CONTIGUOUS, true, 2, 1, false,
		  { { 0, 1 }, { 3, 4 }, { 6, 7 }, { 8, 9 } } },
		{ 10, 2, 5, SHARD_CONTIGUOUS, true, 5, 1, true,
		  { { 0, 1, 2, 3 }, { 5, 6, 7, 8 } } },
	};

	/* clang-format on */

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job job = job_of(cases[i].files, 1, cases[i].batch);
		struct sampler_epoch e;
		struct sampler s;
		struct dataset ds;

		job.shuffle.kind = SHUFFLE_NONE;
		job.shard = (int)cases[i].shard;
		job.drop_last = cases[i].drop_last;
		ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
		ck_assert_int_eq(init(&s, &job, &ds, cases[i].ranks, NULL), 0);
		ck_assert_uint_eq(s.rank_extents, cases[i].rank_extents);
		ck_assert_uint_eq(s.steps, cases[i].steps);
		ck_assert(s.is_whole == cases[i].is_whole);
		sampler_epoch(&e, &s, 0);
		for (uint64_t r = 0; r < cases[i].ranks; r++)
			for (uint64_t k = 0; k < s.rank_extents && k < 4; k++)
				ck_assert_msg(sampler_at(&e, r, k) == cases[i].ids[r][k],
					      "case %zu rank %lu at %lu", i, (unsigned long)r,
					      (unsigned long)k);
		dataset_fini(&ds);
	}
}
END_TEST

static void count_epoch(const struct sampler *s, uint64_t epoch, unsigned *seen)
{
	struct sampler_epoch e;

	sampler_epoch(&e, s, epoch);
	memset(seen, 0, s->extents * sizeof(*seen));
	for (uint64_t r = 0; r < s->ranks; r++)
		for (uint64_t k = 0; k < s->rank_extents; k++) {
			uint64_t id = sampler_at(&e, r, k);

			ck_assert_uint_lt(id, s->extents);
			seen[id]++;
		}
}

/* Every extent at most (drop_last) or at least (padded) once, and the number of repetitions or
 * omissions is what the arithmetic says. */
static void check_coverage(const struct sampler *s, const unsigned *seen)
{
	uint64_t read = s->ranks * s->rank_extents, missing = 0, more = 0;

	for (uint64_t i = 0; i < s->extents; i++) {
		missing += seen[i] == 0;
		more += seen[i] > 1 ? seen[i] - 1 : 0;
	}
	ck_assert_uint_eq(missing, s->drop_last ? s->extents - read : 0);
	ck_assert_uint_eq(more, s->drop_last ? 0 : read - s->extents);
	ck_assert(s->is_whole == (missing == 0 && more == 0));
}

static void check_all_orders(struct job *job, uint64_t ranks)
{
	struct dataset ds;
	struct sampler s;
	unsigned *seen;

	if (dataset_init(&ds, job, 0, NULL))
		ck_abort_msg("no dataset");
	if (init(&s, job, &ds, ranks, NULL) == 0) {
		seen = mem_array(s.extents, sizeof(*seen));
		for (uint64_t epoch = 0; epoch < 3; epoch++) {
			count_epoch(&s, epoch, seen);
			check_coverage(&s, seen);
		}
		mem_free(seen);
	}
	dataset_fini(&ds);
}

START_TEST(ranks_together_read_everything_once)
{
	static const int shuffles[] = { SHUFFLE_NONE, SHUFFLE_SAMPLE, SHUFFLE_FILE };
	static const uint64_t sizes[][2] = { { 1, 1 },   { 7, 1 },  { 64, 1 },
					     { 101, 1 }, { 10, 7 }, { 33, 4 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (uint64_t ranks = 1; ranks <= 9; ranks++)
			for (unsigned k = 0; k < 3 * 2 * 2; k++) {
				struct job job = job_of(sizes[i][0], sizes[i][1], 1 + k % 3);

				job.shuffle.kind = shuffles[k % 3];
				job.shard = k & 1 ? SHARD_STRIDED : SHARD_CONTIGUOUS;
				job.drop_last = k & 2;
				check_all_orders(&job, ranks);
			}
}
END_TEST

START_TEST(contiguous_shards_differ_by_at_most_one)
{
	struct job job = job_of(10, 1, 1);
	struct dataset ds;
	struct sampler s;
	struct sampler_epoch e;

	job.shard = SHARD_CONTIGUOUS;
	job.drop_last = true;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 4, NULL), 0);
	sampler_epoch(&e, &s, 0);
	ck_assert_uint_eq(sampler_at(&e, 0, 0), 0);
	ck_assert_uint_eq(sampler_at(&e, 1, 0), 3);
	ck_assert_uint_eq(sampler_at(&e, 2, 0), 6);
	ck_assert_uint_eq(sampler_at(&e, 3, 0), 8);
	dataset_fini(&ds);
}
END_TEST

START_TEST(shuffle_file_keeps_the_samples_of_a_file_together)
{
	struct job job = job_of(50, 4, 1);
	struct dataset ds;
	struct sampler s;
	struct sampler_epoch e;
	unsigned moved = 0;

	job.shuffle.kind = SHUFFLE_FILE;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 1, NULL), 0);
	sampler_epoch(&e, &s, 0);
	for (uint64_t k = 0; k < 200; k += 4) {
		uint64_t id = sampler_at(&e, 0, k);

		ck_assert_uint_eq(id % 4, 0);
		for (uint64_t j = 1; j < 4; j++)
			ck_assert_uint_eq(sampler_at(&e, 0, k + j), id + j);
		moved += id != k;
	}
	ck_assert_uint_gt(moved, 25);
	dataset_fini(&ds);
}
END_TEST

/* How many positions of two orders agree. */
static unsigned alike(struct sampler_epoch *a, struct sampler_epoch *b)
{
	unsigned same = 0;

	for (uint64_t k = 0; k < a->sampler->rank_extents; k++)
		same += sampler_at(a, 0, k) == sampler_at(b, 0, k);
	return same;
}

START_TEST(epochs_and_seeds_are_different_orders_and_repeat)
{
	struct job job = job_of(1000, 1, 1);
	struct dataset ds;
	struct sampler s, other;
	struct sampler_epoch a, b;

	job.shuffle.kind = SHUFFLE_SAMPLE;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 1, NULL), 0);
	job.randseed++;
	ck_assert_int_eq(init(&other, &job, &ds, 1, NULL), 0);
	sampler_epoch(&a, &s, 1);
	sampler_epoch(&b, &s, 1);
	ck_assert_uint_eq(alike(&a, &b), 1000);
	sampler_epoch(&b, &s, 2);
	ck_assert_uint_lt(alike(&a, &b), 20);
	sampler_epoch(&b, &other, 1);
	ck_assert_uint_lt(alike(&a, &b), 20);
	dataset_fini(&ds);
}
END_TEST

START_TEST(steps_are_floor_of_samples_by_ranks_times_batch)
{
	static const struct {
		uint64_t files, ranks, batch, steps;
	} cases[] = {
		{ 28000, 8, 7, 500 }, { 168, 1, 7, 24 }, { 168, 3, 7, 8 },
		{ 111, 8, 7, 1 },     { 112, 8, 7, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job job = job_of(cases[i].files, 1, cases[i].batch);
		struct dataset ds;
		struct sampler s;

		job.drop_last = true;
		ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
		ck_assert_int_eq(init(&s, &job, &ds, cases[i].ranks, NULL), 0);
		ck_assert_uint_eq(s.steps, cases[i].steps);
		ck_assert_uint_eq(sampler_batch_samples(&s, s.steps - 1), cases[i].batch);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(the_last_batch_is_short_without_drop_last)
{
	struct job job = job_of(10, 1, 4);
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 1, NULL), 0);
	ck_assert_uint_eq(s.steps, 3);
	ck_assert_uint_eq(sampler_batch_samples(&s, 0), 4);
	ck_assert_uint_eq(sampler_batch_samples(&s, 1), 4);
	ck_assert_uint_eq(sampler_batch_samples(&s, 2), 2);
	dataset_fini(&ds);
}
END_TEST

/* As PyTorch's DistributedSampler, whose padding may go round several times. */
START_TEST(an_order_that_is_too_short_is_padded_for_every_rank)
{
	static const struct {
		uint64_t files, ranks, batch, each;
	} cases[] = { { 10, 8, 3, 2 }, { 3, 8, 4, 1 }, { 2, 1, 3, 2 }, { 1, 5, 1, 1 } };
	uint64_t files = cases[_i].files, ranks = cases[_i].ranks;
	struct job job = job_of(files, 1, cases[_i].batch);
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	job.shuffle.kind = SHUFFLE_NONE;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(dataset_check_ranks(&ds, &job, ranks, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, ranks, NULL), 0);
	ck_assert_uint_eq(s.steps, 1);
	ck_assert_uint_eq(sampler_batch_samples(&s, 0), cases[_i].each);
	ck_assert_uint_eq(s.rank_extents, cases[_i].each);
	sampler_epoch(&e, &s, 0);
	for (uint64_t r = 0; r < ranks; r++)
		for (uint64_t k = 0; k < cases[_i].each; k++)
			ck_assert_uint_eq(sampler_at(&e, r, k), (k * ranks + r) % files);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_rank_without_a_batch_is_an_error)
{
	struct job job = job_of(10, 1, 3);
	struct mlgen_err err = { 0 };
	struct dataset ds;
	struct sampler s;

	job.drop_last = true;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 4, &err), -EINVAL);
	ck_assert_str_eq(
		err.text,
		"batch_size: 3 is more than the 2 samples of one accelerator's shard (10 files, 4 "
		"accelerators); use more num_files, a smaller batch_size or fewer accelerators");
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_billion_samples_are_no_larger_than_ten)
{
	struct job job = job_of(10000000000, 100, 1024);
	struct dataset ds;
	struct sampler s;
	struct sampler_epoch e;

	job.shuffle.kind = SHUFFLE_SAMPLE;
	job.drop_last = true;
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_int_eq(init(&s, &job, &ds, 1000, NULL), 0);
	sampler_epoch(&e, &s, 3);
	ck_assert_uint_lt(sampler_at(&e, 999, s.rank_extents - 1), 1000000000000);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_sampler(void)
{
	Suite *s = suite_create("sampler");
	TCase *t = tcase_create("sampler");

	tcase_add_test(t, shards_are_those_of_distributed_sampler);
	tcase_add_test(t, ranks_together_read_everything_once);
	tcase_add_test(t, contiguous_shards_differ_by_at_most_one);
	tcase_add_test(t, shuffle_file_keeps_the_samples_of_a_file_together);
	tcase_add_test(t, epochs_and_seeds_are_different_orders_and_repeat);
	tcase_add_test(t, steps_are_floor_of_samples_by_ranks_times_batch);
	tcase_add_test(t, the_last_batch_is_short_without_drop_last);
	tcase_add_loop_test(t, an_order_that_is_too_short_is_padded_for_every_rank, 0, 4);
	tcase_add_test(t, a_rank_without_a_batch_is_an_error);
	tcase_add_test(t, a_billion_samples_are_no_larger_than_ten);
	suite_add_tcase(s, t);
	return s;
}
