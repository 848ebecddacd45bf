/* SPDX-License-Identifier: Apache-2.0 */
/* test_opstat.c - the counters of workers add up, and nothing is left out. */
#include <check.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "stat/opstat.h"
#include "suites.h"

/* But for the histograms every member is made of 64-bit counters. */
#define WORD(member) (offsetof(struct opstat, member) / 8)
#define WORDS (sizeof(struct opstat) / 8)

static bool is_counter(size_t word)
{
	return (word >= WORD(linked) && word < WORD(slat)) ||
	       (word >= WORD(depth) && word < WORD(io_bytes)) || word >= WORD(eval_bytes);
}

/* Of the largest sizes the larger one counts, everything else is a sum. */
static bool is_largest(size_t word)
{
	size_t in = 8 * (word - WORD(sizes));

	return word >= WORD(sizes) && in < 2 * sizeof(struct sizes) &&
	       in % sizeof(struct sizes) >= offsetof(struct sizes, largest);
}

/* All of the one that took longer. */
static bool is_slowest(size_t word)
{
	return word >= WORD(slowest) && word < WORD(blocked_ns);
}

static uint64_t word_of(const struct opstat *s, size_t word)
{
	uint64_t value;

	memcpy(&value, (const char *)s + 8 * word, sizeof(value));
	return value;
}

static void hists_of(struct opstat *s, struct hist *hists[MLGEN_OPS + 5])
{
	memcpy(hists, s->lat, sizeof(s->lat));
	hists[MLGEN_OPS] = s->sample;
	memcpy(hists + MLGEN_OPS + 1, s->slat, sizeof(s->slat));
	memcpy(hists + MLGEN_OPS + 3, s->total, sizeof(s->total));
}

/* Each counter gets another value. */
static void fill(struct opstat *s, uint64_t from)
{
	struct hist *hists[MLGEN_OPS + 5];

	for (size_t i = 0; i < WORDS; i++) {
		uint64_t value = from + i;

		if (is_counter(i))
			memcpy((char *)s + 8 * i, &value, sizeof(value));
	}
	hists_of(s, hists);
	for (unsigned i = 0; i < MLGEN_OPS + 5; i++)
		hist_add(hists[i], from + i);
}

START_TEST(a_merge_adds_every_field)
{
	struct hist *hists[MLGEN_OPS + 5];
	struct opstat a, b;

	opstat_init(&a);
	opstat_init(&b);
	fill(&a, 1000);
	fill(&b, 5);
	opstat_merge(&a, &b);
	for (size_t i = 0; i < WORDS; i++)
		if (is_counter(i))
			ck_assert_uint_eq(word_of(&a, i),
					  is_largest(i) || is_slowest(i) ? 1000 + i : 1005 + 2 * i);
	hists_of(&a, hists);
	for (unsigned i = 0; i < MLGEN_OPS + 5; i++) {
		ck_assert_uint_eq(hists[i]->count, 2);
		ck_assert_uint_eq(hists[i]->sum_ns, 1005 + 2 * i);
	}
	opstat_fini(&a);
	opstat_fini(&b);
}
END_TEST

START_TEST(a_reset_clears_every_field)
{
	struct hist *hists[MLGEN_OPS + 5];
	struct opstat s;

	opstat_init(&s);
	fill(&s, 1000);
	opstat_reset(&s);
	for (size_t i = 0; i < WORDS; i++)
		if (is_counter(i))
			ck_assert_uint_eq(word_of(&s, i), 0);
	hists_of(&s, hists);
	for (unsigned i = 0; i < MLGEN_OPS + 5; i++)
		ck_assert_uint_eq(hists[i]->count, 0);
	opstat_fini(&s);
}
END_TEST

static void transfer(struct opstat *s, uint64_t read, uint64_t written)
{
	atomic_fetch_add(&s->io_bytes[0], read);
	atomic_fetch_add(&s->io_bytes[1], written);
}

START_TEST(a_reset_leaves_bytes_out_and_one_counter_has_them)
{
	struct opstat all, s;

	opstat_init(&all);
	opstat_init(&s);
	transfer(&all, 1, 2);
	transfer(&s, 100, 1000);
	opstat_reset(&s);
	ck_assert_uint_eq(opstat_io_bytes(&s, 0), 0);
	transfer(&s, 10, 20);
	opstat_reset(&s);
	transfer(&s, 30, 40);
	ck_assert_uint_eq(opstat_io_bytes(&s, 0), 30);
	ck_assert_uint_eq(opstat_io_bytes(&s, 1), 40);
	ck_assert_uint_eq(s.io_bytes[0], 140);
	opstat_merge(&all, &s);
	ck_assert_uint_eq(opstat_io_bytes(&all, 0), 31);
	ck_assert_uint_eq(opstat_io_bytes(&all, 1), 42);
	opstat_fini(&s);
	opstat_fini(&all);
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
	ck_assert_uint_lt(none.user_ns + none.system_ns, some.user_ns + some.system_ns);
	usage_add(&sum, &some);
	usage_add(&sum, &some);
	ck_assert_uint_eq(sum.user_ns, 2 * some.user_ns);
	ck_assert_uint_eq(sum.minor_faults, 2 * some.minor_faults);
}
END_TEST

/* A depth is that many or more, a batch that many or fewer. */
START_TEST(classes_of_depths_and_batches)
{
	static const struct {
		unsigned n, depth, batch;
	} cases[] = {
		{ 0, 0, 0 },  { 1, 1, 1 },  { 2, 2, 1 },  { 3, 2, 1 },   { 4, 3, 1 },
		{ 5, 3, 2 },  { 7, 3, 2 },  { 8, 4, 2 },  { 9, 4, 3 },   { 15, 4, 3 },
		{ 16, 5, 3 }, { 17, 5, 4 }, { 32, 6, 4 }, { 33, 6, 5 },  { 64, 7, 5 },
		{ 65, 7, 6 }, { 63, 6, 5 }, { 31, 5, 4 }, { 128, 7, 6 }, { UINT_MAX, 7, 6 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_uint_eq(opstat_depth_class(cases[i].n), cases[i].depth);
		ck_assert_uint_eq(opstat_batch_class(cases[i].n), cases[i].batch);
	}
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
	tcase_add_test(tc, a_reset_leaves_bytes_out_and_one_counter_has_them);
	tcase_add_test(tc, fini_takes_a_zeroed_struct);
	tcase_add_test(tc, usage_is_that_of_the_time_between);
	tcase_add_test(tc, classes_of_depths_and_batches);
	tcase_add_test(tc, every_operation_has_its_own_name);
	suite_add_tcase(s, tc);
	return s;
}
