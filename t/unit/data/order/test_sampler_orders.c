/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler_orders.c - orders of runs, and those that are drawn with replacement. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/order/order.h"
#include "suites.h"

static char directory[] = "d";

struct setting {
	uint64_t files, extent_samples, ranks;
	struct variant shuffle;
};

static int init(struct dataset *ds, struct sampler *s, const struct setting *c,
		struct mlgen_err *err)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .num_files = c->files,
			   .samples_per_file = 10,
			   .sample_size = { .a = 1000 },
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };
	const struct sampler_config cfg = { .ranks = c->ranks,
					    .batch = 1,
					    .seed = 7,
					    .shuffle = c->shuffle,
					    .shard = SHARD_STRIDED };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
	ds->extent_samples = c->extent_samples;
	return sampler_init(s, &cfg, ds, err);
}

static uint32_t *counts_of(const struct sampler *s, uint64_t epoch)
{
	uint32_t *count = mem_array(s->extents, sizeof(*count));
	struct sampler_epoch e;

	sampler_epoch(&e, s, epoch);
	for (uint64_t r = 0; r < s->ranks; r++)
		for (uint64_t p = 0; p < s->rank_extents; p++)
			count[sampler_at(&e, r, p)]++;
	return count;
}

static uint64_t unique_of(const uint32_t *count, uint64_t n)
{
	uint64_t unique = 0;

	for (uint64_t i = 0; i < n; i++)
		unique += count[i] > 0;
	return unique;
}

/* 1 - (1 - 1/N)^N of N. */
START_TEST(an_epoch_with_replacement_has_as_many_as_chance_leaves)
{
	static const uint64_t files[] = { 1000, 20000 };
	const struct setting c = { .files = files[_i],
				   .extent_samples = 1,
				   .ranks = 4,
				   .shuffle.kind = SHUFFLE_REPLACEMENT };
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(init(&ds, &s, &c, NULL), 0);
	ck_assert(!s.is_whole);
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		double n = (double)s.extents;
		uint32_t *count = counts_of(&s, epoch);
		double part = (double)unique_of(count, s.extents) / n;

		ck_assert_double_eq_tol(part, 1 - pow(1 - 1 / n, n), .01);
		mem_free(count);
	}
	dataset_fini(&ds);
}
END_TEST

static struct dist of_text(const char *text)
{
	struct dist d;

	ck_assert_int_eq(dist_parse(&d, text, DIST_NUMBERS, NULL, 1024, NULL), 0);
	return d;
}

/* Reads of the heaviest half, and the part of all weights that it has. */
START_TEST(weights_are_drawn_in_proportion)
{
	static const char *const weights[] = { "uniform:0.5:1.5", "3", "lognormal:1:1",
					       "exponential:0.01" };
	const struct setting c = { .files = 100,
				   .extent_samples = 1 + (unsigned)_i % 2,
				   .ranks = 2,
				   .shuffle = { .kind = SHUFFLE_WEIGHTED,
						.dist = of_text(weights[_i]) } };
	double reads[2] = { 0 }, weight[2] = { 0 };
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(init(&ds, &s, &c, NULL), 0);
	for (uint64_t epoch = 0; epoch < 100; epoch++) {
		uint32_t *count = counts_of(&s, epoch);

		for (uint64_t i = 0; i < s.extents; i++) {
			double w = sampler_weight(&s, i);
			bool is_heavy = w > dist_mean(&s.weights);

			reads[is_heavy] += count[i];
			weight[is_heavy] += w;
		}
		mem_free(count);
	}
	ck_assert_double_eq_tol(reads[1] / (reads[0] + reads[1]),
				weight[1] / (weight[0] + weight[1]), .01);
	dataset_fini(&ds);
}
END_TEST

START_TEST(weights_too_far_apart_are_refused)
{
	const struct setting c = { .files = 1000,
				   .extent_samples = 1,
				   .ranks = 1,
				   .shuffle = { .kind = SHUFFLE_WEIGHTED,
						.dist = of_text("lognormal:1:1000") } };
	struct mlgen_err err = { 0 };
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(init(&ds, &s, &c, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "too uneven"));
	dataset_fini(&ds);
}
END_TEST

/* clang-format off */
static const struct setting runs[] = {
	{ 10, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 7, .second = 1 } },
	{ 10, 1, 4, { .kind = SHUFFLE_CHUNKS, .number = 10, .second = 3 } },
	{ 10, 1, 3, { .kind = SHUFFLE_CHUNKS, .number = 1, .second = 50 } },
	{ 10, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 99, .second = 1 } },
	{ 10, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 5000, .second = 9 } },
	{ 10, 5, 2, { .kind = SHUFFLE_CHUNKS, .number = 15, .second = 2 } },
	{ 33, 1, 1, { .kind = SHUFFLE_PAGES, .number = 8192, .second = 4 } },
	{ 33, 1, 2, { .kind = SHUFFLE_PAGES, .number = 1, .second = 0 } },
};
/* clang-format on */

START_TEST(runs_are_an_order_of_all)
{
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(init(&ds, &s, &runs[_i], NULL), 0);
	for (uint64_t epoch = 0; epoch < 20; epoch++) {
		uint32_t *count = counts_of(&s, epoch);

		ck_assert_uint_eq(unique_of(count, s.extents), s.extents);
		mem_free(count);
	}
	dataset_fini(&ds);
}
END_TEST

/* What a window of the order holds: as many whole runs, of which each is over when it is. */
START_TEST(a_window_has_whole_runs)
{
	struct setting c = runs[_i];
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;
	uint64_t at = 0;

	c.ranks = 1;
	ck_assert_int_eq(init(&ds, &s, &c, NULL), 0);
	sampler_epoch(&e, &s, 5);
	while (at < s.extents) {
		uint32_t *count = mem_array(s.extents, sizeof(*count));
		uint64_t left = 0, seen = 0;

		/* Until no run is half read; a window is over then, or is shorter by chance, which
		 * it may be. */
		do {
			uint64_t run = sampler_at(&e, 0, at++) / s.run_extents;

			left += count[run]++
					? 0
					: u64_min(s.run_extents, s.extents - run * s.run_extents);
			seen++;
		} while (seen < left);
		ck_assert_uint_eq(seen, left);
		ck_assert_uint_le(seen, s.run_extents * s.window_runs);
		mem_free(count);
	}
	dataset_fini(&ds);
}
END_TEST

START_TEST(pages_hold_as_many_samples_as_fit)
{
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(init(&ds, &s, &runs[6], NULL), 0);
	ck_assert_uint_eq(s.run_extents, 8);
	ck_assert_uint_eq(s.window_runs, 4);
	dataset_fini(&ds);
	/* Twice a batch of pages, as in FFCV. */
	ck_assert_int_eq(init(&ds, &s, &runs[7], NULL), 0);
	ck_assert_uint_eq(s.run_extents, 1);
	ck_assert_uint_eq(s.window_runs, 2);
	dataset_fini(&ds);
}
END_TEST

static const int kinds[] = { SHUFFLE_REPLACEMENT, SHUFFLE_WEIGHTED, SHUFFLE_CHUNKS };

/* Any thread that asks for a place, in whatever turn, gets the same; another epoch has others. */
START_TEST(orders_are_pure_functions)
{
	const struct setting c = {
		.files = 30,
		.extent_samples = 1,
		.ranks = 3,
		.shuffle = { .kind = kinds[_i], .number = 16, .second = 3, .dist = { .a = 1 } }
	};
	struct sampler_epoch a, b, other;
	struct dataset ds;
	struct sampler s;
	unsigned moved = 0;

	ck_assert_int_eq(init(&ds, &s, &c, NULL), 0);
	sampler_epoch(&a, &s, 4);
	sampler_epoch(&b, &s, 4);
	sampler_epoch(&other, &s, 5);
	for (uint64_t r = 0; r < 3; r++)
		for (uint64_t p = 0; p < s.rank_extents; p++)
			sampler_at(&a, r, p);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t r = i % 3, p = (299 - i) / 3;
		uint64_t extent = sampler_at(&b, r, p);

		ck_assert_uint_eq(sampler_at(&a, r, p), extent);
		moved += sampler_at(&other, r, p) != extent;
	}
	ck_assert_uint_gt(moved, 200);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_sampler_orders(void)
{
	Suite *s = suite_create("sampler_orders");
	TCase *t = tcase_create("sampler_orders");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, an_epoch_with_replacement_has_as_many_as_chance_leaves, 0, 2);
	tcase_add_loop_test(t, weights_are_drawn_in_proportion, 0, 4);
	tcase_add_test(t, weights_too_far_apart_are_refused);
	tcase_add_loop_test(t, runs_are_an_order_of_all, 0, (int)ARRAY_LEN(runs));
	tcase_add_loop_test(t, a_window_has_whole_runs, 0, (int)ARRAY_LEN(runs));
	tcase_add_test(t, pages_hold_as_many_samples_as_fit);
	tcase_add_loop_test(t, orders_are_pure_functions, 0, (int)ARRAY_LEN(kinds));
	suite_add_tcase(s, t);
	return s;
}
