/* SPDX-License-Identifier: Apache-2.0 */
/* test_neighbours.c - runs of neighbours are found in the sampler's orders that have them, and in
 * no other. */
#include <check.h>
#include <math.h>

#include "base/util.h"
#include "data/order/order.h"
#include "tracing/distil/data/data_internal.h"
#include "suites.h"

static char directory[] = "d";

/* 300 files of ten samples each, or 301; read by so many who have batches of 5 in turn, and are as
 * fast as one another. */
struct asked {
	unsigned files, epochs, readers;
	struct variant shuffle;
};

static void follow(struct neighbours *b, const struct sampler *s, const struct asked *a)
{
	for (unsigned epoch = 0; epoch < a->epochs; epoch++) {
		struct sampler_epoch order;
		uint64_t round = a->readers * 5;

		sampler_epoch(&order, s, epoch);
		for (uint64_t i = 0; i < s->extents / round * round; i++) {
			uint64_t in = i % round;
			uint64_t at = i - in + in % a->readers * 5 + in / a->readers;

			neighbours_add(b, sampler_at(&order, 0, at), epoch);
		}
	}
}

static struct neighbour_stats neighbours_in(const struct asked *a)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .num_files = a->files,
			   .samples_per_file = 10,
			   .sample_size = { .a = 1000 },
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 5 };
	const struct sampler_config cfg = {
		.ranks = 1, .batch = 5, .seed = 7, .shuffle = a->shuffle, .shard = SHARD_STRIDED
	};
	struct neighbours *b;
	struct neighbour_stats is;
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ds.extent_samples = 1;
	ck_assert_int_eq(sampler_init(&s, &cfg, &ds, NULL), 0);
	b = neighbours_new((uint32_t)s.extents);
	follow(b, &s, a);
	neighbours_end(b, &is);
	neighbours_free(b);
	dataset_fini(&ds);
	return is;
}

/* clang-format off */
static const struct asked runs[] = {
	{ 300, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 30, .second = 1 } },
	{ 300, 1, 4, { .kind = SHUFFLE_CHUNKS, .number = 50, .second = 1 } },
	{ 300, 3, 2, { .kind = SHUFFLE_CHUNKS, .number = 16, .second = 4 } },
	{ 301, 3, 1, { .kind = SHUFFLE_CHUNKS, .number = 32, .second = 10 } },
	{ 301, 2, 2, { .kind = SHUFFLE_CHUNKS, .number = 7, .second = 40 } },
	{ 301, 2, 2, { .kind = SHUFFLE_CHUNKS, .number = 4, .second = 8 } },
	{ 300, 2, 1, { .kind = SHUFFLE_PAGES, .number = 20000, .second = 5 } },
};
/* clang-format on */

START_TEST(runs_are_found_and_windows_of_them)
{
	const struct asked *a = &runs[_i];
	struct neighbour_stats is = neighbours_in(a);
	uint64_t run = a->shuffle.kind == SHUFFLE_PAGES ? 20 : a->shuffle.number;
	double window = (double)a->shuffle.second;

	ck_assert_uint_eq(is.run, run);
	ck_assert_double_gt(is.explained, 0.9);
	ck_assert_double_eq_tol(is.window_runs, window, 0.4 + 0.03 * window);
}
END_TEST

/* clang-format off */
static const struct asked others[] = {
	{ 300, 1, 1, { .kind = SHUFFLE_SAMPLE } },
	{ 300, 3, 4, { .kind = SHUFFLE_SAMPLE } },
	{ 20, 1, 1, { .kind = SHUFFLE_SAMPLE } },
	{ 300, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 1, .second = 50 } },
	{ 300, 1, 1, { .kind = SHUFFLE_CHUNKS, .number = 30, .second = 90 } },
};
/* clang-format on */

START_TEST(an_order_without_runs_has_none)
{
	struct neighbour_stats is = neighbours_in(&others[_i]);

	ck_assert_uint_eq(is.run, 0);
	ck_assert_double_lt(is.near, 0.3);
}
END_TEST

START_TEST(few_samples_show_nothing)
{
	struct neighbours *b = neighbours_new(3);
	struct neighbour_stats is;

	for (uint64_t i = 0; i < 500; i++)
		neighbours_add(b, i, 0);
	neighbours_end(b, &is);
	neighbours_free(b);
	ck_assert_uint_eq(is.run, 0);
	ck_assert(isnan(is.near));
	b = neighbours_new(0);
	neighbours_end(b, &is);
	neighbours_free(b);
	ck_assert_uint_eq(is.run, 0);
}
END_TEST

Suite *suite_neighbours(void)
{
	Suite *s = suite_create("neighbours");
	TCase *c = tcase_create("orders");

	tcase_add_loop_test(c, runs_are_found_and_windows_of_them, 0, ARRAY_LEN(runs));
	tcase_add_loop_test(c, an_order_without_runs_has_none, 0, ARRAY_LEN(others));
	tcase_add_test(c, few_samples_show_nothing);
	suite_add_tcase(s, c);
	return s;
}
