/* SPDX-License-Identifier: Apache-2.0 */
/* test_orderwalk.c - all accesses of an epoch: first batches before second ones. */
#include <check.h>

#include "data/order/order.h"
#include "suites.h"

static char directory[] = "d";

static void init(struct dataset *ds, struct sampler *s, uint64_t extent_samples,
		 const struct sampler_config *cfg)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .num_files = 7,
			   .samples_per_file = 12,
			   .sample_size = { .a = 100 },
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
	ds->extent_samples = extent_samples;
	ck_assert_int_eq(sampler_init(s, cfg, ds, NULL), 0);
}

/* Everything that a rank reads of a batch. */
static void check_batch(struct orderwalk *w, struct sampler_epoch *e, uint64_t rank, uint64_t step)
{
	uint64_t end = sampler_batch_start(e, rank, step + 1);
	struct orderwalk_at at;

	for (uint64_t p = sampler_batch_start(e, rank, step); p < end; p++) {
		ck_assert(orderwalk_next(w, &at));
		ck_assert_uint_eq(at.rank, rank);
		ck_assert_uint_eq(at.step, step);
		ck_assert_uint_eq(at.position, p);
		ck_assert_uint_eq(at.extent, sampler_at(e, rank, p));
	}
}

static void check_walk(const struct sampler *s, uint64_t first, uint64_t end, uint64_t epoch)
{
	struct sampler_epoch e;
	struct orderwalk_at at;
	struct orderwalk w;

	sampler_epoch(&e, s, epoch);
	orderwalk_begin(&w, s, first, end, epoch);
	for (uint64_t step = 0; step < s->steps; step++)
		for (uint64_t rank = first; rank < end; rank++)
			check_batch(&w, &e, rank, step);
	ck_assert(!orderwalk_next(&w, &at));
	ck_assert(!orderwalk_next(&w, &at));
	orderwalk_end(&w);
}

START_TEST(it_goes_step_by_step_and_rank_by_rank)
{
	static const int shuffles[] = { SHUFFLE_NONE, SHUFFLE_FILE, SHUFFLE_SAMPLE };

	/* Lanes are of files, whose samples have no order of their own. */
	for (unsigned k = 0; k < 3 * 2 * 2 * 3; k++) {
		struct sampler_config cfg = { .shuffle.kind = shuffles[k % 3],
					      .drop_last = k / 3 % 2,
					      .lanes = k % 3 < 2 ? k / 6 % 2 * 3 : 0,
					      .ranks = 1 + k / 12 * 2,
					      .batch = 5 };
		struct dataset ds;
		struct sampler s;

		init(&ds, &s, 1 + k % 2 * 3, &cfg);
		check_walk(&s, 0, cfg.ranks, k % 4);
		check_walk(&s, cfg.ranks / 2, cfg.ranks, 1);
		dataset_fini(&ds);
	}
}
END_TEST

START_TEST(of_no_rank_there_is_no_access)
{
	const struct sampler_config cfg = { .ranks = 2, .batch = 5 };
	struct orderwalk zeroed = { 0 };
	struct dataset ds;
	struct sampler s;

	init(&ds, &s, 1, &cfg);
	check_walk(&s, 1, 1, 0);
	orderwalk_end(&zeroed);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_orderwalk(void)
{
	Suite *s = suite_create("orderwalk");
	TCase *t = tcase_create("orderwalk");

	tcase_add_test(t, it_goes_step_by_step_and_rank_by_rank);
	tcase_add_test(t, of_no_rank_there_is_no_access);
	suite_add_tcase(s, t);
	return s;
}
