/* SPDX-License-Identifier: Apache-2.0 */
/* test_rng.c - random numbers depend on seed, stream and index alone. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/dist.h"
#include "suites.h"

#define CONTENT_BYTES 4096

START_TEST(numbers_stay_what_they_are)
{
	/* Datasets are made with these: they may never change. */
	ck_assert_uint_eq(rng_u64(0, 0, 0), UINT64_C(0x2f381d0980892c1e));
	ck_assert_uint_eq(rng_u64(42, RNG_SHUFFLE, 7), UINT64_C(0x9838d3f24b86daec));
	unsigned char content[11];
	rng_fill(content, sizeof(content), 42, RNG_CONTENT, 3);
	const unsigned char want[11] = { 0x0b, 0xbf, 0x9f, 0x6f, 0xab, 0x30,
					 0x17, 0x07, 0x42, 0x05, 0x00 };
	ck_assert_mem_eq(content, want, sizeof(want));
}
END_TEST

START_TEST(every_input_bit_changes_half_of_the_output)
{
	/* Averages of 64 x 64 draws: 32 bits, +- 6 of 1/16 standard errors. */
	for (int which = 0; which < 3; which++) {
		unsigned flips = 0;

		for (uint64_t base = 0; base < 64; base++) {
			for (int bit = 0; bit < 64; bit++) {
				uint64_t x[3] = { base, base, base };
				uint64_t a = rng_u64(x[0], x[1], x[2]);

				x[which] ^= UINT64_C(1) << bit;
				uint64_t b = rng_u64(x[0], x[1], x[2]);
				flips += (unsigned)__builtin_popcountll(a ^ b);
			}
		}
		ck_assert_double_eq_tol(flips / 4096.0, 32.0, 0.4);
	}
}
END_TEST

START_TEST(fractions_are_uniform_and_never_0_or_1)
{
	unsigned cells[100] = { 0 };

	for (uint64_t i = 0; i < 100000; i++) {
		double u = rng_f64(5, RNG_TEST, i);

		ck_assert(u > 0 && u < 1);
		cells[(unsigned)(u * 100)]++;
	}
	double chi_square = 0;
	for (int i = 0; i < 100; i++)
		chi_square += (cells[i] - 1000.0) * (cells[i] - 1000.0) / 1000;
	/* 99 degrees of freedom: 0.0001 and 0.9999 quantiles. */
	ck_assert_double_gt(chi_square, 55.0);
	ck_assert_double_lt(chi_square, 161.0);
}
END_TEST

START_TEST(neighbours_do_not_correlate)
{
	double sum = 0;

	for (uint64_t i = 0; i < 100000; i++)
		sum += (rng_f64(9, RNG_TEST, i) - 0.5) * (rng_f64(9, RNG_TEST, i + 1) - 0.5);
	/* 1/12 per standard error of 1/sqrt(100000), five of them. */
	ck_assert_double_lt(fabs(sum / 100000), 5.0 / 12 / 316);
}
END_TEST

START_TEST(any_cut_gives_the_same_content)
{
	static unsigned char whole[CONTENT_BYTES], cut[CONTENT_BYTES];

	rng_fill(whole, sizeof(whole), 1, RNG_CONTENT, 0);
	for (size_t first = 0; first < 40; first++) {
		for (size_t step = 1; step < 40; step++) {
			memset(cut, 0, sizeof(cut));
			rng_fill(cut, first, 1, RNG_CONTENT, 0);
			for (size_t at = first; at < 400; at += step)
				rng_fill(cut + at, step, 1, RNG_CONTENT, at);
			ck_assert_mem_eq(cut, whole, 400);
		}
	}
	for (size_t at = 0; at < 64; at++) {
		rng_fill(cut, sizeof(cut) - at, 1, RNG_CONTENT, at);
		ck_assert_mem_eq(cut, whole + at, sizeof(cut) - at);
	}
}
END_TEST

START_TEST(a_fill_stays_inside_its_bytes)
{
	unsigned char b[64];

	for (size_t bytes = 0; bytes < 40; bytes++) {
		for (uint64_t offset = 0; offset < 9; offset++) {
			memset(b, 0xa5, sizeof(b));
			rng_fill(b + 8, bytes, 3, RNG_CONTENT, offset);
			for (size_t i = 0; i < sizeof(b); i++)
				if (i < 8 || i >= 8 + bytes)
					ck_assert_uint_eq(b[i], 0xa5);
		}
	}
}
END_TEST

START_TEST(content_is_incompressible)
{
	/* Entropy of single bytes of 1 MiB, and no two equal words. */
	static unsigned char b[1 << 20];
	unsigned counts[256] = { 0 };
	double entropy = 0;

	rng_fill(b, sizeof(b), 7, RNG_CONTENT, 12345);
	for (size_t i = 0; i < sizeof(b); i++)
		counts[b[i]]++;
	for (int i = 0; i < 256; i++)
		entropy -= counts[i] / 1048576.0 * log2(counts[i] / 1048576.0);
	ck_assert_double_gt(entropy, 7.999);
}
END_TEST

START_TEST(streams_and_seeds_share_no_content)
{
	uint64_t a[512], b[512], c[512];

	rng_fill(a, sizeof(a), 1, RNG_CONTENT, 0);
	rng_fill(b, sizeof(b), 2, RNG_CONTENT, 0);
	rng_fill(c, sizeof(c), 1, RNG_CONTENT + 1, 0);
	for (int i = 0; i < 512; i++) {
		for (int k = 0; k < 512; k++) {
			ck_assert_uint_ne(a[i], b[k]);
			ck_assert_uint_ne(a[i], c[k]);
		}
	}
}
END_TEST

Suite *suite_rng(void)
{
	Suite *s = suite_create("rng");
	TCase *tc = tcase_create("rng");

	tcase_add_test(tc, numbers_stay_what_they_are);
	tcase_add_test(tc, every_input_bit_changes_half_of_the_output);
	tcase_add_test(tc, fractions_are_uniform_and_never_0_or_1);
	tcase_add_test(tc, neighbours_do_not_correlate);
	tcase_add_test(tc, any_cut_gives_the_same_content);
	tcase_add_test(tc, a_fill_stays_inside_its_bytes);
	tcase_add_test(tc, content_is_incompressible);
	tcase_add_test(tc, streams_and_seeds_share_no_content);
	suite_add_tcase(s, tc);
	return s;
}
