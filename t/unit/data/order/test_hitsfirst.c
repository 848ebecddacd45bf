/* SPDX-License-Identifier: Apache-2.0 */
/* test_hitsfirst.c - what a cache has comes first in an epoch, and nothing else of its order
 * changes. */
#include "data/order/order.h"
#include "suites.h"

#define SAMPLES 240u
#define RANKS 3u
#define OF_RANK (SAMPLES / RANKS)

static void set_up(struct dataset *ds, struct sampler *s)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_RAW,
				 .num_files = SAMPLES,
				 .samples_per_file = 1,
				 .sample_size = { .a = 100 },
				 .scale = 100,
				 .accelerators = RANKS,
				 .batch_size = 4,
				 .randseed = 3,
				 .drop_last = true,
				 .shuffle = { .kind = SHUFFLE_SAMPLE } };
	const struct sampler_config cfg = sampler_config(&job, RANKS);

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
	ck_assert_int_eq(sampler_init(s, &cfg, ds, NULL), 0);
}

static const struct sampler_ranks all = { 0, RANKS };

/* Of each rank another part. */
static bool has(const void *cache, uint64_t rank, uint64_t extent)
{
	(void)cache;
	return extent % RANKS == rank;
}

START_TEST(hits_come_first_in_their_order_and_then_the_rest)
{
	struct hitsfirst *h;
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	set_up(&ds, &s);
	h = hitsfirst_new(&s, all);
	hitsfirst_draw(h, 2, has, NULL);
	sampler_epoch(&e, &s, 2);
	for (uint64_t rank = 0; rank < RANKS; rank++) {
		uint64_t at = 0;

		for (int pass = 0; pass < 2; pass++)
			for (uint64_t i = 0; i < OF_RANK; i++) {
				uint64_t x = sampler_at(&e, rank, i);

				if (has(NULL, rank, x) == (pass == 0))
					ck_assert_uint_eq(hitsfirst_at(h, rank, at++), x);
			}
		ck_assert_uint_eq(at, OF_RANK);
	}
	/* Whoever asks the sampler gets this one. */
	s.hits_first = h;
	ck_assert_uint_eq(sampler_at(&e, 1, 5), hitsfirst_at(h, 1, 5));
	hitsfirst_free(h);
	dataset_fini(&ds);
}
END_TEST

START_TEST(without_a_cache_an_order_is_what_it_was)
{
	struct hitsfirst *h;
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	set_up(&ds, &s);
	h = hitsfirst_new(&s, all);
	hitsfirst_draw(h, 1, NULL, NULL);
	sampler_epoch(&e, &s, 1);
	for (uint64_t i = 0; i < OF_RANK; i++)
		ck_assert_uint_eq(hitsfirst_at(h, 2, i), sampler_at(&e, 2, i));
	ck_assert_uint_le(hitsfirst_state_bytes(&s, all), 200 + SAMPLES * 4 + OF_RANK * 4 + 400);
	hitsfirst_free(h);
	dataset_fini(&ds);
}
END_TEST

/* In a process that has one rank. */
START_TEST(an_order_of_one_rank_is_that_which_it_has_among_all)
{
	const struct sampler_ranks one = { 1, 2 };
	struct hitsfirst *h, *alone;
	struct dataset ds;
	struct sampler s;

	set_up(&ds, &s);
	h = hitsfirst_new(&s, all);
	alone = hitsfirst_new(&s, one);
	hitsfirst_draw(h, 1, has, NULL);
	hitsfirst_draw(alone, 1, has, NULL);
	for (uint64_t i = 0; i < OF_RANK; i++)
		ck_assert_uint_eq(hitsfirst_at(alone, 1, i), hitsfirst_at(h, 1, i));
	ck_assert_uint_eq(hitsfirst_state_bytes(&s, all) - hitsfirst_state_bytes(&s, one),
			  2 * OF_RANK * 4);
	hitsfirst_free(alone);
	hitsfirst_free(h);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_hitsfirst(void)
{
	Suite *s = suite_create("hitsfirst");
	TCase *tc = tcase_create("hitsfirst");

	tcase_add_test(tc, hits_come_first_in_their_order_and_then_the_rest);
	tcase_add_test(tc, without_a_cache_an_order_is_what_it_was);
	tcase_add_test(tc, an_order_of_one_rank_is_that_which_it_has_among_all);
	suite_add_tcase(s, tc);
	return s;
}
