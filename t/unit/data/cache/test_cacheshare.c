/* SPDX-License-Identifier: Apache-2.0 */
/* test_cacheshare.c - shares of a data set, and what of it is a hit. */
#include "suites.h"

#include <math.h>

#include "data/cache/cache.h"

/* Closed forms of fresh permutations, confirmed by simulation with 20,000 samples. */
static const struct {
	enum job_cache policy;
	double share, hits;
} known[] = {
	{ CACHE_MINIO, .10, .100 },   { CACHE_MINIO, .75, .750 },   { CACHE_HOT, .25, .250 },
	{ CACHE_LRU, .10, .0052 },    { CACHE_LRU, .20, .0215 },    { CACHE_LRU, .25, .0342 },
	{ CACHE_LRU, .50, .1534 },    { CACHE_LRU, .75, .4034 },    { CACHE_RANDOM, .10, .0102 },
	{ CACHE_RANDOM, .20, .0429 }, { CACHE_RANDOM, .25, .0686 }, { CACHE_RANDOM, .50, .2814 },
	{ CACHE_RANDOM, .75, .6025 }, { CACHE_LRU, 1, 1 },          { CACHE_RANDOM, 1, 1 },
	{ CACHE_MINIO, 1, 1 },
};

START_TEST(hit_ratios_are_those_of_the_closed_forms)
{
	double h = cacheshare_hits(known[_i].policy, known[_i].share);

	ck_assert_double_eq_tol(h, known[_i].hits, 1e-4);
}
END_TEST

START_TEST(a_share_is_found_for_a_hit_ratio)
{
	double c = cacheshare_for(known[_i].policy,
				  cacheshare_hits(known[_i].policy, known[_i].share));

	ck_assert_double_eq_tol(c, known[_i].share, 1e-6);
}
END_TEST

START_TEST(what_has_no_closed_form_is_not_known)
{
	ck_assert(isnan(cacheshare_hits(CACHE_FIFO, .5)));
	ck_assert(isnan(cacheshare_hits(CACHE_BELADY, .5)));
	ck_assert(isnan(cacheshare_hits(CACHE_LRU, 0)));
	ck_assert(isnan(cacheshare_hits(CACHE_LRU, 1.1)));
	ck_assert(isnan(cacheshare_for(CACHE_FIFO, .5)));
	ck_assert(isnan(cacheshare_for(CACHE_LRU, 1.1)));
	ck_assert(isnan(cacheshare_for(CACHE_LRU, (double)NAN)));
}
END_TEST

static struct cacheshare share_of(const char *size, int stage)
{
	const struct dataset ds = { .files = 100, .samples_per_file = 10 };
	struct job *j = job_new("a");
	struct cacheshare c;

	ck_assert_int_eq(field_parse(field_find(job_fields, "cache_size"), j, size, 1024, NULL), 0);
	j->cache_stage = stage;
	j->cache_decoded_factor = 4;
	cacheshare_of(&c, j, &ds, 1000000);
	job_free(j);
	return c;
}

START_TEST(a_size_is_a_share_of_the_data_set)
{
	struct cacheshare c = share_of("20%", CACHE_RAW);

	ck_assert_uint_eq(c.bytes, 200000);
	ck_assert_double_eq_tol(c.share, .2, 1e-9);
	ck_assert_double_eq_tol(c.held_bytes, 200000, 1e-3);
	c = share_of("250 samples", CACHE_RAW);
	ck_assert_uint_eq(c.samples, 250);
	ck_assert_double_eq_tol(c.held_bytes, 250000, 1e-3);
	c = share_of("2000000", CACHE_RAW);
	ck_assert_double_eq_tol(c.share, 1, 1e-9);
	ck_assert_double_eq_tol(c.asked, 2, 1e-9);
	ck_assert_double_eq_tol(c.held_bytes, 1000000, 1e-3);
	/* Decoded samples are larger, and fewer fit. */
	c = share_of("20%", CACHE_DECODED);
	ck_assert_double_eq_tol(c.share, .05, 1e-9);
	ck_assert_double_eq_tol(c.held_bytes, 200000, 1e-3);
}
END_TEST

Suite *suite_cacheshare(void)
{
	Suite *s = suite_create("cacheshare");
	TCase *t = tcase_create("cacheshare");
	int n = sizeof(known) / sizeof(known[0]);

	tcase_add_loop_test(t, hit_ratios_are_those_of_the_closed_forms, 0, n);
	tcase_add_loop_test(t, a_share_is_found_for_a_hit_ratio, 0, n);
	tcase_add_test(t, what_has_no_closed_form_is_not_known);
	tcase_add_test(t, a_size_is_a_share_of_the_data_set);
	suite_add_tcase(s, t);
	return s;
}
