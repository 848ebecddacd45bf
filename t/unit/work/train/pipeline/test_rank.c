/* SPDX-License-Identifier: Apache-2.0 */
/* test_rank.c - which accelerator a result calls the slowest one, and beside whom. */
#include <check.h>

#include "base/util.h"
#include "suites.h"
#include "work/train/pipeline/pipeline.h"

/* Mean stalls of accelerators, in ms, and the median that the slowest stands beside. */
static const struct {
	uint64_t count, ms[4], slowest, median_ms;
} stalls[] = {
	{ 1, { 5 }, 0, 5 },
	/* Of two, the slow one is no part of what it is measured by. */
	{ 2, { 1, 9 }, 1, 1 },
	{ 2, { 9, 1 }, 0, 1 },
	{ 3, { 2, 1, 9 }, 2, 2 },
	{ 4, { 3, 9, 1, 2 }, 1, 2 },
};

START_TEST(the_slowest_one_stands_beside_the_median)
{
	struct rank ranks[4] = { 0 };
	struct slowest_rank s;

	for (uint64_t i = 0; i < stalls[_i].count; i++) {
		ranks[i].index = i;
		ranks[i].stall = hist_new();
		hist_add(ranks[i].stall, stalls[_i].ms[i] * 1000000);
	}
	rank_collect_slowest(&s, ranks, stalls[_i].count);
	ck_assert_uint_eq(s.rank, stalls[_i].slowest);
	ck_assert_double_eq_tol(s.stall_median_ns, (double)stalls[_i].median_ms * 1e6, 1);
	for (uint64_t i = 0; i < stalls[_i].count; i++)
		hist_free(ranks[i].stall);
}
END_TEST

Suite *suite_rank(void)
{
	Suite *s = suite_create("rank");
	TCase *t = tcase_create("rank");

	tcase_add_loop_test(t, the_slowest_one_stands_beside_the_median, 0, ARRAY_LEN(stalls));
	suite_add_tcase(s, t);
	return s;
}
