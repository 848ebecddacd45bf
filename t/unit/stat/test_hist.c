/* SPDX-License-Identifier: Apache-2.0 */
/* test_hist.c - percentiles are those of the sorted values, within 0.4 %. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "stat/hist.h"
#include "suites.h"

#define VALUES 20000
#define RANGE (UINT64_C(1) << HIST_RANGE_BITS)

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Values over eleven octaves, as latencies are. */
static void fill(uint64_t *values, struct hist *h, uint64_t stream)
{
	for (uint64_t i = 0; i < VALUES; i++) {
		values[i] = (rng_u64(1, stream, i) >> 44) >> (rng_u64(2, stream, i) % 12);
		hist_add(h, values[i]);
	}
}

START_TEST(values_below_256_are_exact)
{
	for (uint64_t ns = 0; ns < 256; ns++)
		ck_assert_uint_eq(hist_bucket_midpoint(hist_bucket_of(ns)), ns);
}
END_TEST

START_TEST(buckets_follow_each_other_without_gaps)
{
	unsigned last = 0;

	for (unsigned shift = 0; shift < HIST_RANGE_BITS; shift++) {
		uint64_t from = UINT64_C(1) << shift;
		uint64_t step = from < 1024 ? 1 : from / 1024;

		for (uint64_t ns = from; ns < 2 * from; ns += step) {
			unsigned bucket = hist_bucket_of(ns);

			ck_assert_uint_ge(bucket, last);
			ck_assert_uint_le(bucket, last + 1);
			last = bucket;
		}
	}
	ck_assert_uint_eq(last, HIST_BUCKETS - 1);
}
END_TEST

START_TEST(a_midpoint_is_within_a_half_bucket)
{
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t ns = rng_u64(3, RNG_TEST, i) >> 22 >> (i % 42);
		double mid = (double)hist_bucket_midpoint(hist_bucket_of(ns));

		ck_assert_double_le(fabs(mid - (double)ns), (double)ns / 256 + 1e-9);
	}
	for (unsigned b = 0; b < HIST_BUCKETS; b++)
		ck_assert_uint_eq(hist_bucket_of(hist_bucket_midpoint(b)), b);
}
END_TEST

START_TEST(percentiles_are_those_of_the_sorted_values)
{
	static const double percents[] = { 0, 1, 5, 25, 50, 75, 90, 99, 99.9, 99.99, 99.995, 100 };
	static uint64_t values[VALUES];
	struct hist *h = hist_new();

	fill(values, h, RNG_TEST);
	qsort(values, VALUES, sizeof(values[0]), compare);
	for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
		uint64_t rank = (uint64_t)ceil(percents[i] * VALUES / 100);
		double want = (double)values[rank ? rank - 1 : 0];
		double got = (double)hist_percentile(h, percents[i]);

		ck_assert_double_eq_tol(got, want, want * 0.0040 + 1e-9);
		ck_assert_uint_eq(hist_beyond(h, percents[i]), VALUES - (rank ? rank : 1));
	}
	ck_assert_uint_eq(h->min_ns, values[0]);
	ck_assert_uint_eq(h->max_ns, values[VALUES - 1]);
	hist_free(h);
}
END_TEST

START_TEST(ranks_are_not_off_by_a_rounding_error)
{
	struct hist *h = hist_new();

	for (uint64_t i = 1; i <= 1000; i++)
		hist_add(h, i <= 999 ? 100 : 200);
	/* 99.9 / 100 * 1000 is a little above 999 as a double. */
	ck_assert_uint_eq(hist_percentile(h, 99.9), 100);
	ck_assert_uint_eq(hist_beyond(h, 99.9), 1);
	ck_assert_uint_eq(hist_beyond(h, 99), 10);
	ck_assert_uint_eq(hist_percentile(h, 99.91), 200);
	ck_assert_uint_eq(hist_percentile(h, 100), 200);
	ck_assert_uint_eq(hist_beyond(h, 100), 0);
	hist_free(h);
}
END_TEST

START_TEST(an_empty_one_is_all_zeros)
{
	struct hist *h = hist_new();

	ck_assert_uint_eq(hist_percentile(h, 50), 0);
	ck_assert_uint_eq(hist_percentile(h, 100), 0);
	ck_assert_uint_eq(hist_beyond(h, 50), 0);
	ck_assert_double_eq(hist_mean(h), 0);
	ck_assert_double_eq(hist_stddev(h), 0);
	ck_assert_uint_eq(h->min_ns, UINT64_MAX);
	hist_free(h);
	hist_free(NULL);
}
END_TEST

START_TEST(one_value_is_every_percentile)
{
	struct hist *h = hist_new();

	hist_add(h, 123456789);
	ck_assert_uint_eq(hist_percentile(h, 0), 123456789);
	ck_assert_uint_eq(hist_percentile(h, 50), 123456789);
	ck_assert_uint_eq(hist_percentile(h, 100), 123456789);
	ck_assert_double_eq(hist_mean(h), 123456789);
	ck_assert_double_eq_tol(hist_stddev(h), 0, 2);
	hist_free(h);
}
END_TEST

START_TEST(mean_and_stdev_are_exact)
{
	static const uint64_t values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct hist *h = hist_new();

	for (int i = 0; i < 8; i++)
		hist_add(h, values[i] * 1000000);
	ck_assert_double_eq(hist_mean(h), 5e6);
	ck_assert_double_eq_tol(hist_stddev(h), 2e6, 1e-3);
	hist_free(h);
}
END_TEST

START_TEST(beyond_the_range_is_counted_and_stays_exact_in_max)
{
	struct hist *h = hist_new();

	hist_add(h, RANGE - 1);
	ck_assert_uint_eq(h->saturated, 0);
	hist_add(h, RANGE);
	hist_add(h, RANGE * 100);
	ck_assert_uint_eq(h->saturated, 2);
	ck_assert_uint_eq(h->buckets[HIST_BUCKETS - 1], 3);
	ck_assert_uint_eq(h->max_ns, RANGE * 100);
	ck_assert_uint_eq(h->sum_ns, RANGE * 102 - 1);
	ck_assert_uint_eq(hist_percentile(h, 100), RANGE * 100);
	ck_assert_uint_eq(hist_bucket_of(UINT64_MAX), HIST_BUCKETS - 1);
	hist_free(h);
}
END_TEST

START_TEST(a_merge_is_the_same_as_adding_all)
{
	static uint64_t values[VALUES];
	struct hist *all = hist_new(), *a = hist_new(), *b = hist_new();

	fill(values, a, RNG_TEST);
	for (int i = 0; i < VALUES; i++)
		hist_add(all, values[i]);
	fill(values, b, RNG_TEST + 1);
	for (int i = 0; i < VALUES; i++)
		hist_add(all, values[i]);
	hist_add(all, RANGE);
	hist_add(b, RANGE);
	hist_merge(a, b);
	/* Sums of squares may differ in the last bits, by their order. */
	ck_assert_double_eq_tol(a->sum_squares / all->sum_squares, 1, 1e-12);
	a->sum_squares = all->sum_squares;
	ck_assert_mem_eq(a, all, sizeof(*a));
	hist_free(all);
	hist_free(a);
	hist_free(b);
}
END_TEST

START_TEST(an_interval_is_now_minus_before)
{
	struct hist *h = hist_new(), *before = hist_new(), *now = hist_new();

	for (uint64_t i = 0; i < 100; i++)
		hist_add(h, 10);
	*before = *h;
	for (uint64_t i = 0; i < 50; i++)
		hist_add(h, 200);
	*now = *h;
	hist_subtract(now, before);
	ck_assert_uint_eq(now->count, 50);
	ck_assert_uint_eq(now->sum_ns, 50 * 200);
	ck_assert_uint_eq(now->min_ns, 200);
	ck_assert_uint_eq(now->max_ns, 200);
	ck_assert_uint_eq(hist_percentile(now, 1), 200);
	/* Smaller values than before, and none as large. */
	*before = *h;
	hist_add(h, 7);
	hist_add(h, 40);
	*now = *h;
	hist_subtract(now, before);
	ck_assert_uint_eq(now->min_ns, 7);
	ck_assert_uint_eq(now->max_ns, 40);
	/* The same copy twice: nothing. */
	*now = *h;
	hist_subtract(now, h);
	ck_assert_uint_eq(now->count, 0);
	ck_assert_uint_eq(hist_percentile(now, 99), 0);
	hist_free(h);
	hist_free(before);
	hist_free(now);
}
END_TEST

START_TEST(what_began_anew_is_an_interval_of_its_own)
{
	struct hist *before = hist_new(), *now = hist_new();

	for (uint64_t i = 0; i < 100; i++)
		hist_add(before, 1000);
	hist_add(now, 20);
	hist_subtract(now, before);
	ck_assert_uint_eq(now->count, 1);
	ck_assert_uint_eq(hist_percentile(now, 100), 20);
	hist_free(before);
	hist_free(now);
}
END_TEST

START_TEST(what_is_gathered_adds_up)
{
	static uint64_t values[VALUES];
	struct hist *a = hist_new(), *b = hist_new(), *merged = hist_new();
	struct hist *gathered = hist_new(), *empty = hist_new();

	fill(values, a, RNG_TEST);
	hist_add(b, 3);
	hist_add(b, RANGE * 2);
	hist_merge(merged, a);
	hist_merge(merged, b);
	hist_merge_live(gathered, a);
	hist_merge_live(gathered, b);
	hist_merge_live(gathered, empty);
	ck_assert_mem_eq(gathered, merged, sizeof(*merged));
	hist_free(a);
	hist_free(b);
	hist_free(merged);
	hist_free(gathered);
	hist_free(empty);
}
END_TEST

START_TEST(reset_makes_it_new)
{
	static uint64_t values[VALUES];
	struct hist *h = hist_new(), *fresh = hist_new();

	fill(values, h, RNG_TEST);
	hist_add(h, RANGE * 2);
	hist_reset(h);
	ck_assert_mem_eq(h, fresh, sizeof(*h));
	hist_free(h);
	hist_free(fresh);
}
END_TEST

static void *add_many(void *arg)
{
	for (uint64_t i = 0; i < 200000; i++)
		hist_add(arg, i);
	return NULL;
}

START_TEST(what_is_gathered_beside_the_writer_is_consistent)
{
	struct hist *h = hist_new(), *seen = hist_new();
	pthread_t writer;

	ck_assert_int_eq(pthread_create(&writer, NULL, add_many, h), 0);
	for (int i = 0; i < 50; i++) {
		uint64_t sum = 0;

		hist_reset(seen);
		hist_merge_live(seen, h);
		for (unsigned b = 0; b < HIST_BUCKETS; b++)
			sum += seen->buckets[b];
		ck_assert_uint_eq(seen->count, sum);
		hist_percentile(seen, 99);
	}
	pthread_join(writer, NULL);
	hist_reset(seen);
	hist_merge_live(seen, h);
	ck_assert_uint_eq(seen->count, 200000);
	hist_free(h);
	hist_free(seen);
}
END_TEST

Suite *suite_hist(void)
{
	Suite *s = suite_create("hist");
	TCase *tc = tcase_create("hist");

	tcase_add_test(tc, values_below_256_are_exact);
	tcase_add_test(tc, buckets_follow_each_other_without_gaps);
	tcase_add_test(tc, a_midpoint_is_within_a_half_bucket);
	tcase_add_test(tc, percentiles_are_those_of_the_sorted_values);
	tcase_add_test(tc, ranks_are_not_off_by_a_rounding_error);
	tcase_add_test(tc, an_empty_one_is_all_zeros);
	tcase_add_test(tc, one_value_is_every_percentile);
	tcase_add_test(tc, mean_and_stdev_are_exact);
	tcase_add_test(tc, beyond_the_range_is_counted_and_stays_exact_in_max);
	tcase_add_test(tc, a_merge_is_the_same_as_adding_all);
	tcase_add_test(tc, an_interval_is_now_minus_before);
	tcase_add_test(tc, what_began_anew_is_an_interval_of_its_own);
	tcase_add_test(tc, what_is_gathered_adds_up);
	tcase_add_test(tc, reset_makes_it_new);
	tcase_add_test(tc, what_is_gathered_beside_the_writer_is_consistent);
	suite_add_tcase(s, tc);
	return s;
}
