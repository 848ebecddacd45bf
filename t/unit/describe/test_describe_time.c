/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe_time.c - what a trace did when: intervals and phases. */
#include <check.h>
#include <math.h>
#include <unistd.h>

#include "base/util.h"
#include "describe_rig.h"
#include "suites.h"
#include "tracing/describe/describe_internal.h"

START_TEST(intervals_add_up_to_all)
{
	uint64_t bytes = 0, reads = 0;

	for (unsigned i = 0; i < 5000; i++)
		put_read(10 * i, 1, file("/a"), 0, i);
	const struct described_trace *t = described_every(10 * US);
	const struct interval *s = t->series.items;
	ck_assert_uint_eq(d.log.count, 5000);
	ck_assert_uint_eq(d.log.at[77].read_bytes, 77);
	ck_assert_uint_eq(t->series.count, 625);
	ck_assert_double_eq_tol(t->interval_seconds, 80e-6, 1e-12);
	for (size_t i = 0; i < t->series.count; i++) {
		bytes += s[i].read_bytes;
		reads += s[i].reads;
	}
	ck_assert_uint_eq(reads, 5000);
	ck_assert_uint_eq(bytes, t->read_bytes);
}
END_TEST

START_TEST(phases_are_what_most_bytes_do)
{
	static const struct {
		uint64_t read, written;
		enum phase_kind kind;
	} at[] = {
		{ 100, 9, MOVES_IN },  { 100, 0, MOVES_IN },    { 0, 0, MOVES_NOTHING },
		{ 9, 100, MOVES_OUT }, { 100, 10, MOVES_BOTH }, { 5, 5, MOVES_BOTH },
		{ 1, 0, MOVES_IN },
	};
	static const size_t counts[] = { 2, 1, 1, 2, 1 };
	struct intervals s;
	struct phase p[3];

	intervals_init(&s, 0, ARRAY_LEN(at), 1);
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		s.at[i].read_bytes = at[i].read;
		s.at[i].written_bytes = at[i].written;
	}
	ck_assert_uint_eq(phases_find(&s, p, 3), 5);
	for (size_t i = 0, first = 0; i < 3; first += counts[i++]) {
		ck_assert_uint_eq(p[i].first, first);
		ck_assert_uint_eq(p[i].count, counts[i]);
		ck_assert_int_eq(p[i].kind, at[first].kind);
	}
	ck_assert_uint_eq(p[0].bytes, 209);
	intervals_fini(&s);
}
END_TEST

/* A year in microseconds takes no more rows than any other trace. */
START_TEST(too_many_intervals_are_longer_ones)
{
	put_read(0, 1, file("/a"), 0, 1);
	put_read(UINT64_C(31536000) * 1000000, 1, file("/a"), 0, 1);
	described_every(US);
	ck_assert_uint_le(d.log.count, INTERVALS_MAX);
	ck_assert_uint_gt(d.log.count, INTERVALS_MAX / 2);
	ck_assert_uint_eq(d.log.at[0].reads, 1);
	ck_assert_uint_eq(d.log.at[d.log.count - 1].reads, 1);
}
END_TEST

Suite *suite_describe_time(void)
{
	Suite *s = suite_create("describe_time");
	TCase *t = tcase_create("describe_time");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, intervals_add_up_to_all);
	tcase_add_test(t, phases_are_what_most_bytes_do);
	tcase_add_test(t, too_many_intervals_are_longer_ones);
	suite_add_tcase(s, t);
	return s;
}
