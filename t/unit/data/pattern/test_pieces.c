/* SPDX-License-Identifier: Apache-2.0 */
/* test_pieces.c - pieces of several sizes cover a region once, in the shares asked for. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "data/pattern/pattern_internal.h"
#include "suites.h"

#define KI UINT64_C(1024)

/* Bytes of 512, as a map; each taken once. */
static uint64_t take_all(struct pieces *s, uint64_t region_bytes, uint64_t counts[4],
			 const struct piece_kind *kinds, unsigned n)
{
	unsigned char *seen = mem_zalloc(region_bytes / 512);
	uint64_t bytes = 0, twice = 0;

	memset(counts, 0, 4 * sizeof(*counts));
	for (uint64_t i = 0; i < pieces_count(s); i++) {
		struct piece p = pieces_next(s, rng_u64(1, RNG_TEST, i));

		ck_assert_uint_le(p.off + p.bytes, region_bytes);
		for (uint64_t at = p.off; at < p.off + p.bytes; at += 512)
			twice += seen[at / 512]++;
		for (unsigned k = 0; k < n; k++)
			counts[k] += p.bytes == kinds[k].bytes && p.is_write == kinds[k].is_write;
		bytes += p.bytes;
	}
	ck_assert_uint_eq(twice, 0);
	mem_free(seen);
	return bytes;
}

/* clang-format off */
static const struct {
	uint64_t region;
	unsigned n;
	struct piece_kind kinds[4];
	uint64_t bytes; /* 0 = all of it */
	double within;  /* percent points of each share */
} cases[] = {
	{ 16384 * KI, 2, { { 4 * KI, 50, 0 }, { 16 * KI, 50, 0 } }, 0, 0.2 },
	{ 16384 * KI, 3, { { 8 * KI, 10, 0 }, { 64 * KI, 50, 0 }, { 32 * KI, 40, 0 } }, 0, 2 },
	/* reads and writes that differ */
	{ 16384 * KI, 2, { { 4 * KI, 70, 0 }, { 16 * KI, 30, 1 } }, 0, 0.2 },
	/* a strip of three and two */
	{ 16392 * KI, 2, { { 8 * KI, 30, 0 }, { 12 * KI, 70, 1 } }, 0, 0.5 },
	/* the end takes the smallest */
	{ 1030 * KI, 2, { { 16 * KI, 90, 0 }, { 4 * KI, 10, 0 } }, 1028 * KI, 3 },
	/* smaller than the larger kind */
	{ 14 * KI, 2, { { 16 * KI, 90, 0 }, { 4 * KI, 10, 0 } }, 12 * KI, 100 },
	/* no common multiple that is small: some are cut short */
	{ 8128 * KI, 2, { { 508 * KI, 50, 0 }, { 508 * KI - 512, 50, 0 } }, 0, 100 },
	{ 64 * KI, 1, { { 4 * KI, 100, 1 } }, 0, 0.1 },
};
/* clang-format on */

START_TEST(every_byte_comes_once_in_the_shares_asked_for)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t counts[4], want = cases[i].bytes;
		struct pieces *s = pieces_new(cases[i].kinds, cases[i].n, cases[i].region);

		if (!want)
			want = cases[i].region;
		ck_assert_uint_eq(pieces_bytes(s), want);
		for (uint64_t round = 0; round < 2; round++) {
			pieces_start(s, 7, round);
			ck_assert_uint_eq(
				take_all(s, cases[i].region, counts, cases[i].kinds, cases[i].n),
				want);
			for (unsigned k = 0; k < cases[i].n; k++)
				ck_assert_double_eq_tol(100 * (double)counts[k] /
								(double)pieces_count(s),
							cases[i].kinds[k].percent, cases[i].within);
		}
		pieces_free(s);
	}
}
END_TEST

START_TEST(a_piece_lies_at_a_multiple_of_its_size)
{
	struct pieces *s = pieces_new(cases[1].kinds, 3, cases[1].region);

	pieces_start(s, 1, 0);
	for (uint64_t i = 0; i < pieces_count(s); i++) {
		struct piece p = pieces_next(s, rng_u64(2, RNG_TEST, i));

		ck_assert_uint_eq(p.off % p.bytes, 0);
	}
	pieces_free(s);
}
END_TEST

/* The mix does not change on the way: no kind is used up before another. */
START_TEST(each_part_of_a_pass_has_the_same_shares)
{
	struct pieces *s = pieces_new(cases[0].kinds, 2, cases[0].region);
	uint64_t part = pieces_count(s) / 8;

	pieces_start(s, 1, 0);
	for (unsigned k = 0; k < 8; k++) {
		unsigned small = 0;

		for (uint64_t i = 0; i < part; i++) {
			uint64_t random = rng_u64(k, RNG_TEST, i);

			small += pieces_next(s, random).bytes == 4 * KI;
		}
		/* 5 standard deviations of about 205 draws */
		ck_assert_double_eq_tol(small / (double)part, 0.5, 0.18);
	}
	pieces_free(s);
}
END_TEST

START_TEST(rounds_are_different_orders)
{
	struct pieces *s = pieces_new(cases[0].kinds, 2, cases[0].region);
	uint64_t first[100];
	unsigned same = 0;

	for (uint64_t round = 0; round < 3; round++) {
		/* the third is the first again */
		pieces_start(s, 1, round % 2);
		for (unsigned i = 0; i < 100; i++) {
			uint64_t random = rng_u64(2, RNG_TEST, i);
			uint64_t off = pieces_next(s, random).off;

			if (round == 0)
				first[i] = off;
			if (round == 1)
				same += off == first[i];
			if (round == 2)
				ck_assert_uint_eq(off, first[i]);
		}
	}
	ck_assert_uint_lt(same, 5);
	pieces_free(s);
}
END_TEST

Suite *suite_pieces(void)
{
	Suite *s = suite_create("pieces");
	TCase *tc = tcase_create("pieces");

	tcase_add_test(tc, every_byte_comes_once_in_the_shares_asked_for);
	tcase_add_test(tc, a_piece_lies_at_a_multiple_of_its_size);
	tcase_add_test(tc, each_part_of_a_pass_has_the_same_shares);
	tcase_add_test(tc, rounds_are_different_orders);
	suite_add_tcase(s, tc);
	return s;
}
