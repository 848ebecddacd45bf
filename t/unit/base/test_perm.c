/* SPDX-License-Identifier: Apache-2.0 */
/* test_perm.c - every position has its own element, in another order each round. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "suites.h"

static void expect_bijection(uint64_t n, uint64_t seed, uint64_t round)
{
	struct perm p;
	unsigned char *seen = mem_zalloc(n);

	perm_init(&p, n, seed, round);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t element = perm_at(&p, i);

		/* Not for each: libcheck writes down what holds, too. */
		if (element >= n || seen[element])
			ck_abort_msg("n=%lu: %lu comes twice, or is none", (unsigned long)n,
				     (unsigned long)element);
		seen[element] = 1;
	}
	mem_free(seen);
}

START_TEST(every_element_comes_once)
{
	static const uint64_t more[] = { 1000,  1023,  1024,  1025,  4096,  4097,  16384,
					 16385, 28000, 65535, 65536, 65537, 200000 };

	for (uint64_t n = 0; n < 300; n++)
		expect_bijection(n, n, 0);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		expect_bijection(more[i], 1, i);
}
END_TEST

START_TEST(huge_sets_stay_in_range)
{
	static const uint64_t sizes[] = { UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
					  UINT64_C(4195197692), (UINT64_C(1) << 62) + 1,
					  UINT64_C(1) << 63 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perm p;
		uint64_t n = sizes[i], last = UINT64_MAX;

		perm_init(&p, n, 3, 4);
		for (uint64_t k = 0; k < 1000; k++) {
			uint64_t element = perm_at(&p, k * (n / 1000));

			ck_assert_uint_lt(element, n);
			ck_assert_uint_ne(element, last);
			last = element;
		}
		ck_assert_uint_lt(perm_at(&p, n - 1), n);
	}
}
END_TEST

START_TEST(rounds_and_seeds_are_different_orders)
{
	struct perm a, b, c, again;

	perm_init(&a, 10000, 1, 0);
	perm_init(&b, 10000, 1, 1);
	perm_init(&c, 10000, 2, 0);
	perm_init(&again, 10000, 1, 0);
	unsigned same_b = 0, same_c = 0, fixed = 0;
	for (uint64_t i = 0; i < 10000; i++) {
		same_b += perm_at(&a, i) == perm_at(&b, i);
		same_c += perm_at(&a, i) == perm_at(&c, i);
		fixed += perm_at(&a, i) == i;
		ck_assert_uint_eq(perm_at(&a, i), perm_at(&again, i));
	}
	/* One each is expected (Poisson of mean 1). */
	ck_assert_uint_lt(same_b, 10);
	ck_assert_uint_lt(same_c, 10);
	ck_assert_uint_lt(fixed, 10);
}
END_TEST

START_TEST(each_element_is_as_likely_at_each_position)
{
	/* Small sets are the hard ones for a Feistel network. */
	for (uint64_t n = 2; n <= 20; n++) {
		unsigned counts[20][20] = { { 0 } };
		double chi_square = 0, cells = (double)(n * n);

		for (uint64_t round = 0; round < 20000; round++) {
			struct perm p;

			perm_init(&p, n, 11, round);
			for (uint64_t i = 0; i < n; i++)
				counts[i][perm_at(&p, i)]++;
		}
		double want = 20000 / (double)n;
		for (uint64_t i = 0; i < n; i++)
			for (uint64_t k = 0; k < n; k++)
				chi_square += (counts[i][k] - want) * (counts[i][k] - want) / want;
		ck_assert_msg(chi_square < 2.5 * cells + 20, "n=%d: chi square %.0f of %.0f cells",
			      (int)n, chi_square, cells);
	}
}
END_TEST

START_TEST(neighbours_are_torn_apart)
{
	/* |p(i+1) - p(i)| of a random order is n/3 on average. */
	struct perm p;
	double sum = 0;

	perm_init(&p, 28000, 1, 1);
	for (uint64_t i = 0; i + 1 < 28000; i++)
		sum += (double)llabs((long long)perm_at(&p, i + 1) - (long long)perm_at(&p, i));
	ck_assert_double_eq_tol(sum / 27999 / 28000, 1.0 / 3, 0.01);
}
END_TEST

/* Walks. */

/* All of it, in runs of many lengths. */
static void walk(uint64_t *out, uint64_t n, uint64_t seed, uint64_t round)
{
	struct perm_walk w;
	uint64_t run[70], found = 0;

	perm_walk_init(&w, n, seed, round);
	for (size_t want = 1; found < n; want = want % 67 + 1) {
		size_t got = perm_walk_next(&w, run, want);

		if (got != (n - found < want ? n - found : want))
			ck_abort_msg("%zu of %zu", got, want);
		for (size_t i = 0; i < got; i++)
			out[found++] = run[i];
	}
	ck_assert_uint_eq(perm_walk_next(&w, run, 3), 0);
}

START_TEST(a_walk_meets_every_element_once)
{
	static const uint64_t more[] = { 4095, 4096, 4097, 28000, 65535, 65536, 65537, 200000 };
	static const size_t count = sizeof(more) / sizeof(more[0]);

	for (uint64_t k = 0; k < 2000 + count; k++) {
		uint64_t n = k < 2000 ? k : more[k - 2000];
		uint64_t *order = mem_array(n, sizeof(*order));
		unsigned char *seen = mem_zalloc(n);
		uint64_t missing = n;

		walk(order, n, k, k % 3);
		/* A check for each would take minutes. */
		for (uint64_t i = 0; i < n; i++)
			missing -= order[i] < n && !seen[order[i]]++;
		ck_assert_msg(missing == 0, "n=%lu: %lu missing", (unsigned long)n,
			      (unsigned long)missing);
		mem_free(order);
		mem_free(seen);
	}
}
END_TEST

START_TEST(a_walk_of_a_huge_set_stays_in_range)
{
	static const uint64_t sizes[] = { UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
					  (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perm_walk w;
		uint64_t some[1000], high = 0;

		perm_walk_init(&w, sizes[i], 3, 4);
		ck_assert_uint_eq(perm_walk_next(&w, some, 1000), 1000);
		for (size_t k = 0; k < 1000; k++) {
			ck_assert_uint_lt(some[k], sizes[i]);
			high += some[k] >= sizes[i] / 2;
		}
		/* 500 +- 5 standard deviations */
		ck_assert_uint_ge(high, 420);
		ck_assert_uint_le(high, 580);
	}
}
END_TEST

START_TEST(walks_of_other_seeds_and_rounds_are_other_orders)
{
	static uint64_t a[10000], b[10000], c[10000], again[10000];
	unsigned same_b = 0, same_c = 0, fixed = 0;

	walk(a, 10000, 1, 0);
	walk(b, 10000, 1, 1);
	walk(c, 10000, 2, 0);
	walk(again, 10000, 1, 0);
	for (uint64_t i = 0; i < 10000; i++) {
		same_b += a[i] == b[i];
		same_c += a[i] == c[i];
		fixed += a[i] == i;
		ck_assert_uint_eq(a[i], again[i]);
	}
	ck_assert_uint_lt(same_b, 10);
	ck_assert_uint_lt(same_c, 10);
	ck_assert_uint_lt(fixed, 10);
}
END_TEST

START_TEST(a_walk_meets_each_element_as_often_at_each_position)
{
	for (uint64_t n = 2; n <= 20; n++) {
		unsigned counts[20][20] = { { 0 } };
		double chi_square = 0, cells = (double)(n * n);
		uint64_t order[20];

		for (uint64_t round = 0; round < 20000; round++) {
			struct perm_walk w;

			perm_walk_init(&w, n, 11, round);
			perm_walk_next(&w, order, n);
			for (uint64_t i = 0; i < n; i++)
				counts[i][order[i]]++;
		}
		double want = 20000 / (double)n;
		for (uint64_t i = 0; i < n; i++)
			for (uint64_t k = 0; k < n; k++)
				chi_square += (counts[i][k] - want) * (counts[i][k] - want) / want;
		ck_assert_msg(chi_square < 2.5 * cells + 20, "n=%d: chi square %.0f of %.0f cells",
			      (int)n, chi_square, cells);
	}
}
END_TEST

/* Of an order and itself `lag` further on, in standard deviations. */
static double serial_correlation(const uint64_t *order, uint64_t n, uint64_t lag)
{
	double sum = 0, middle = (double)(n - 1) / 2;

	for (uint64_t i = 0; i < n; i++)
		sum += ((double)order[i] - middle) * ((double)order[(i + lag) % n] - middle);
	/* The variance is n^2 / 12; half a turn meets each pair twice. */
	return sum * 12 / (double)n / (double)n / sqrt((double)n * (lag * 2 == n ? 2 : 1));
}

/* How often the commonest distance of neighbours comes. */
static unsigned commonest_stride(const uint64_t *order, uint64_t n)
{
	unsigned *counts = mem_array(n, sizeof(*counts)), most = 0;

	for (uint64_t i = 0; i + 1 < n; i++) {
		unsigned *count = &counts[(order[i + 1] + n - order[i]) % n];

		if (++*count > most)
			most = *count;
	}
	mem_free(counts);
	return most;
}

/*
 * A device or a read-ahead may not find a stride in it. Lags are powers of two, where a hash of few
 * bits would show its making.
 */
START_TEST(a_walk_has_no_stride)
{
	static const uint64_t sizes[] = { 1 << 10, 1 << 13, 3 << 12, 1 << 16, 100000, 1 << 17 };

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t n = sizes[k];
		uint64_t *order = mem_array(n, sizeof(*order));

		for (uint64_t seed = 0; seed < 4; seed++) {
			walk(order, n, seed, 0);
			/* Poisson of mean 1: 13 in 10^9 */
			ck_assert_uint_lt(commonest_stride(order, n), 13);
			for (uint64_t lag = 1; lag < n; lag *= 2) {
				double z = serial_correlation(order, n, lag);

				ck_assert_msg(fabs(z) < 5, "n=%d lag %d: %.1f", (int)n, (int)lag,
					      z);
			}
		}
		mem_free(order);
	}
}
END_TEST

START_TEST(each_run_of_a_walk_is_spread_over_the_set)
{
	static uint64_t order[1 << 16];
	double chi_square = 0;

	walk(order, 1 << 16, 9, 0);
	for (unsigned run = 0; run < 256; run++) {
		unsigned cells[16] = { 0 };

		for (unsigned i = 0; i < 256; i++)
			cells[order[run * 256 + i] >> 12]++;
		for (unsigned i = 0; i < 16; i++)
			chi_square += (cells[i] - 16.0) * (cells[i] - 16.0) / 16;
	}
	/* 256 runs of 15 degrees of freedom, +- 5 standard deviations of 88; both ends: too even is
	 * a pattern, too. */
	ck_assert_double_eq_tol(chi_square, 256 * 15, 440);
}
END_TEST

Suite *suite_perm(void)
{
	Suite *s = suite_create("perm");
	TCase *tc = tcase_create("perm");

	tcase_add_test(tc, every_element_comes_once);
	tcase_add_test(tc, huge_sets_stay_in_range);
	tcase_add_test(tc, rounds_and_seeds_are_different_orders);
	tcase_add_test(tc, each_element_is_as_likely_at_each_position);
	tcase_add_test(tc, neighbours_are_torn_apart);
	tcase_add_test(tc, a_walk_meets_every_element_once);
	tcase_add_test(tc, a_walk_of_a_huge_set_stays_in_range);
	tcase_add_test(tc, walks_of_other_seeds_and_rounds_are_other_orders);
	tcase_add_test(tc, a_walk_meets_each_element_as_often_at_each_position);
	tcase_add_test(tc, a_walk_has_no_stride);
	tcase_add_test(tc, each_run_of_a_walk_is_spread_over_the_set);
	suite_add_tcase(s, tc);
	return s;
}
