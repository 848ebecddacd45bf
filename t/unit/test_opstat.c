/* SPDX-License-Identifier: Apache-2.0 */
/* test_opstat.c - the counters of workers add up, and nothing is left out. */
#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "stat/opstat.h"
#include "suites.h"

/* Every member behind the histograms is made of 64-bit counters. */
#define WORDS ((sizeof(struct opstat) - offsetof(struct opstat, io_bytes)) / 8)

static uint64_t *words_of(struct opstat *s)
{
	return (void *)((char *)s + offsetof(struct opstat, io_bytes));
}

/* Each counter gets another value. */
static void fill(struct opstat *s, uint64_t from)
{
	uint64_t *words = words_of(s);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = from + i;
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		hist_add(s->lat[i], from + i);
	hist_add(s->sample, from);
}

/* Of the largest sizes the larger one counts, everything else is a sum. */
static bool is_largest(size_t word)
{
	size_t at = offsetof(struct opstat, io_bytes) + 8 * word;
	size_t in = at - offsetof(struct opstat, sizes);

	return at >= offsetof(struct opstat, sizes) &&
	       in < 2 * sizeof(struct sizes) &&
	       in % sizeof(struct sizes) >= offsetof(struct sizes, largest);
}

START_TEST(a_merge_adds_every_field)
{
	struct opstat a, b;
	opstat_init(&a);
	opstat_init(&b);
	fill(&a, 1000);
	fill(&b, 5);
	opstat_merge(&a, &b);
	const uint64_t *words = words_of(&a);
	for (size_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(words[i],
				  is_largest(i) ? 1000 + i : 1005 + 2 * i);
	for (unsigned i = 0; i < MLGEN_OPS; i++) {
		ck_assert_uint_eq(a.lat[i]->count, 2);
		ck_assert_uint_eq(a.lat[i]->sum_ns, 1005 + 2 * i);
	}
	ck_assert_uint_eq(a.sample->sum_ns, 1005);
	opstat_fini(&a);
	opstat_fini(&b);
}
END_TEST

START_TEST(a_reset_clears_every_field)
{
	struct opstat s;
	opstat_init(&s);
	fill(&s, 1000);
	opstat_reset(&s);
	const uint64_t *words = words_of(&s);
	for (size_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(words[i], 0);
	for (unsigned i = 0; i < MLGEN_OPS; i++)
		ck_assert_uint_eq(s.lat[i]->count, 0);
	ck_assert_uint_eq(s.sample->count, 0);
	opstat_fini(&s);
}
END_TEST

START_TEST(fini_takes_a_zeroed_struct)
{
	struct opstat s;
	memset(&s, 0, sizeof(s));
	opstat_fini(&s);
	opstat_init(&s);
	opstat_fini(&s);
	opstat_fini(&s);
	ck_assert_ptr_null(s.sample);
}
END_TEST

START_TEST(usage_is_that_of_the_time_between)
{
	struct usage none, some, sum = { 0 };
	usage_begin(&some);
	for (volatile int i = 0; i < 20000000; i++)
		;
	usage_begin(&none);
	usage_end(&none);
	usage_end(&some);
	ck_assert_uint_gt(some.user_ns + some.system_ns, 1000000);
	ck_assert_uint_lt(none.user_ns + none.system_ns,
			  some.user_ns + some.system_ns);
	usage_add(&sum, &some);
	usage_add(&sum, &some);
	ck_assert_uint_eq(sum.user_ns, 2 * some.user_ns);
	ck_assert_uint_eq(sum.minor_faults, 2 * some.minor_faults);
}
END_TEST

START_TEST(every_operation_has_its_own_name)
{
	ck_assert_str_eq(opstat_name(MLGEN_OPEN), "open");
	ck_assert_str_eq(opstat_name(MLGEN_READ), "read");
	ck_assert_str_eq(opstat_name(MLGEN_RMDIR), "rmdir");
	for (unsigned i = 0; i < MLGEN_OPS; i++) {
		ck_assert_ptr_nonnull(opstat_name((enum mlgen_op)i));
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(opstat_name((enum mlgen_op)i),
					 opstat_name((enum mlgen_op)k));
	}
}
END_TEST

Suite *suite_opstat(void)
{
	Suite *s = suite_create("opstat");
	TCase *tc = tcase_create("opstat");
	tcase_add_test(tc, a_merge_adds_every_field);
	tcase_add_test(tc, a_reset_clears_every_field);
	tcase_add_test(tc, fini_takes_a_zeroed_struct);
	tcase_add_test(tc, usage_is_that_of_the_time_between);
	tcase_add_test(tc, every_operation_has_its_own_name);
	suite_add_tcase(s, tc);
	return s;
}
