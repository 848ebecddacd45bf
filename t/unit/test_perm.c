/* SPDX-License-Identifier: Apache-2.0 */
/* test_perm.c - every position has its own element, in another order each round. */
#include <check.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/perm.h"
#include "suites.h"

static void expect_bijection(uint64_t n, uint64_t seed, uint64_t round)
{
	struct perm p;
	unsigned char *seen = mem_zalloc(n);
	perm_init(&p, n, seed, round);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t element = perm_at(&p, i);
		ck_assert_uint_lt(element, n);
		ck_assert_msg(!seen[element], "n=%lu: %lu comes twice",
			      (unsigned long)n, (unsigned long)element);
		seen[element] = 1;
	}
	mem_free(seen);
}

START_TEST(every_element_comes_once)
{
	static const uint64_t more[] = { 1000,  1023,  1024,  1025,  4096,
					 4097,  16384, 16385, 28000, 65535,
					 65536, 65537, 200000 };
	for (uint64_t n = 0; n < 300; n++)
		expect_bijection(n, n, 0);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		expect_bijection(more[i], 1, i);
}
END_TEST

START_TEST(huge_sets_stay_in_range)
{
	static const uint64_t sizes[] = {
		UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1,
		UINT64_C(4195197692), (UINT64_C(1) << 62) + 1, UINT64_C(1) << 63
	};
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
				chi_square += (counts[i][k] - want) *
					      (counts[i][k] - want) / want;
		ck_assert_msg(chi_square < 2.5 * cells + 20,
			      "n=%d: chi square %.0f of %.0f cells", (int)n,
			      chi_square, cells);
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
		sum += (double)llabs((long long)perm_at(&p, i + 1) -
				     (long long)perm_at(&p, i));
	ck_assert_double_eq_tol(sum / 27999 / 28000, 1.0 / 3, 0.01);
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
	suite_add_tcase(s, tc);
	return s;
}
