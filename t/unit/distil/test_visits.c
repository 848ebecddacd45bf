/* SPDX-License-Identifier: Apache-2.0 */
/* test_visits.c - records of threads become the visits that they are, and come back in order
 * however many there are. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tracing/distil/facts/facts_internal.h"
#include "suites.h"

static struct mlgen_err err;

/* ---- where they are kept ---- */

static void add_many(struct visits *v, uint64_t n)
{
	uint64_t number;

	for (uint64_t i = 0; i < n; i++) {
		struct visit x = { .start_ns = 10 * i, .file = (uint32_t)i };

		ck_assert_int_eq(visits_add(v, &x, &number, &err), 0);
		ck_assert_uint_eq(number, i);
	}
}

/* `stage` is what each has. */
static void walk(const struct visits *v, uint64_t n, bool staged)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;

	for (uint64_t i = 0; i < n; i++) {
		ck_assert_int_eq(visits_next(v, &c, &x, &err), 1);
		ck_assert_uint_eq(x->start_ns, 10 * i);
		ck_assert_uint_eq(x->file, (uint32_t)i);
		ck_assert_uint_eq(x->stage, staged ? i % 1000 : 0);
	}
	ck_assert_int_eq(visits_next(v, &c, &x, &err), 0);
}

static void set_stage(void *arg, struct visit *x)
{
	(void)arg;
	x->stage = (uint16_t)(x->file % 1000);
}

static void check_many(uint64_t n)
{
	struct visits *v = visits_new();

	add_many(v, n);
	ck_assert_uint_eq(visits_count(v), n);
	walk(v, n, false);
	ck_assert_int_eq(visits_each(v, set_stage, NULL, &err), 0);
	walk(v, n, true);
	walk(v, n, true);
	visits_free(v);
}

START_TEST(they_come_back_however_many)
{
	check_many(0);
	check_many(1);
	check_many(4096);
	check_many(4097);
	check_many(VISITS_WINDOW);
	check_many(VISITS_WINDOW + 1);
	check_many(5 * VISITS_WINDOW / 2 + 77);
}
END_TEST

START_TEST(the_last_ones_may_go_on)
{
	struct visits *v = visits_new();

	add_many(v, 2 * VISITS_WINDOW);
	ck_assert_ptr_null(visits_at(v, 0));
	ck_assert_ptr_null(visits_at(v, VISITS_WINDOW - 1));
	ck_assert_ptr_null(visits_at(v, 2 * VISITS_WINDOW));
	ck_assert_uint_eq(visits_at(v, VISITS_WINDOW)->file, VISITS_WINDOW);
	ck_assert_uint_eq(visits_at(v, 2 * VISITS_WINDOW - 1)->file, 2 * VISITS_WINDOW - 1);
	visits_free(v);
}
END_TEST

START_TEST(a_walk_can_be_left)
{
	struct visits *v = visits_new();
	struct visits_cursor a = { 0 }, b = { 0 };
	const struct visit *x, *y;

	add_many(v, 10000);
	for (unsigned i = 0; i < 5000; i++)
		visits_next(v, &a, &x, &err);
	visits_next(v, &b, &y, &err);
	ck_assert_uint_eq(x->file, 4999);
	ck_assert_uint_eq(y->file, 0);
	visits_stop(&a);
	visits_stop(&b);
	walk(v, 10000, false);
	visits_free(v);
}
END_TEST

/* ---- what they are made of ---- */

static struct visits *visits;
static struct specimens read_ones, written_ones;
static struct visiting *visiting;
static uint64_t now;

static void begin(void)
{
	visits = visits_new();
	visiting = visiting_new(visits, &read_ones, &written_ones);
	now = 1000;
}

static void end(void)
{
	visits_free(visits);
	specimens_fini(&read_ones);
	specimens_fini(&written_ones);
}

/* 10 ns long, 5 behind the one before. */
static void call(unsigned task, unsigned op, unsigned file, uint64_t off, uint64_t len)
{
	struct trace_record r = {
		.start_ns = now,
		.duration_ns = 10,
		.off = off,
		.len_bytes = len,
		.result = op == TRACE_READ || op == TRACE_WRITE ? (int64_t)len : 0,
		.cpu_ns = 3,
		.pid = 1,
		.tid = 1 + task,
		.file = file,
		.op = (uint16_t)op,
	};

	now += 15;
	ck_assert_int_eq(visiting_add(visiting, &r, task, true, &err), 0);
}

/* All of them, to be looked at by number. */
static const struct visit *seen(uint64_t i)
{
	if (visiting) {
		visiting_end(visiting);
		visiting_free(visiting);
		visiting = NULL;
	}
	ck_assert_uint_lt(i, visits_count(visits));
	return visits_at(visits, i);
}

#define OPEN_TO_READ(task, file) call(task, TRACE_OPEN, file, 0, O_RDONLY)

START_TEST(from_open_to_close_is_one)
{
	begin();
	OPEN_TO_READ(0, 7);
	call(0, TRACE_STAT, 7, 0, 12288);
	call(0, TRACE_READ, 7, 0, 4096);
	call(0, TRACE_READ, 7, 4096, 4096);
	call(0, TRACE_READ, 7, 8192, 4096);
	call(0, TRACE_CLOSE, 7, 0, 0);
	OPEN_TO_READ(0, 7);
	call(0, TRACE_READ, 7, 0, 4096);
	call(0, TRACE_CLOSE, 7, 0, 0);

	ck_assert_uint_eq(seen(0)->calls, 6);
	ck_assert_uint_eq(visits_count(visits), 2);
	ck_assert_uint_eq(seen(0)->flags, VISIT_OPENS | VISIT_READS);
	ck_assert_uint_eq(seen(0)->read_bytes, 12288);
	ck_assert_uint_eq(seen(0)->reads, 3);
	ck_assert_uint_eq(seen(0)->off, 0);
	ck_assert_uint_eq(seen(0)->end_off, 12288);
	ck_assert_uint_eq(seen(0)->start_ns, 1000);
	ck_assert_uint_eq(seen(0)->end_ns, 1000 + 5 * 15 + 10);
	ck_assert_uint_eq(seen(0)->call_ns, 60);
	/* Before the first call it was somebody else's, or nobody's. */
	ck_assert_uint_eq(seen(0)->cpu_ns, 6 * 3);
	ck_assert_uint_eq(seen(1)->cpu_ns, 2 * 3);
	end();
}
END_TEST

START_TEST(a_stat_before_the_open_belongs_to_it)
{
	begin();
	call(0, TRACE_STAT, 7, 0, 100);
	OPEN_TO_READ(0, 7);
	call(0, TRACE_READ, 7, 0, 100);
	call(0, TRACE_CLOSE, 7, 0, 0);
	ck_assert_uint_eq(seen(0)->calls, 4);
	ck_assert_uint_eq(visits_count(visits), 1);
	end();
}
END_TEST

START_TEST(two_files_at_a_time_are_two)
{
	begin();
	OPEN_TO_READ(0, 7);
	OPEN_TO_READ(0, 8);
	call(0, TRACE_READ, 7, 0, 100);
	call(0, TRACE_READ, 8, 0, 200);
	call(0, TRACE_CLOSE, 7, 0, 0);
	call(0, TRACE_READ, 8, 200, 200);
	call(0, TRACE_CLOSE, 8, 0, 0);
	ck_assert_uint_eq(seen(0)->read_bytes, 100);
	ck_assert_uint_eq(seen(1)->read_bytes, 400);
	ck_assert_uint_eq(visits_count(visits), 2);
	end();
}
END_TEST

START_TEST(opened_twice_it_is_one_until_both_are_closed)
{
	begin();
	OPEN_TO_READ(0, 7);
	OPEN_TO_READ(0, 7);
	call(0, TRACE_CLOSE, 7, 0, 0);
	call(0, TRACE_READ, 7, 0, 100);
	call(0, TRACE_CLOSE, 7, 0, 0);
	ck_assert_uint_eq(seen(0)->calls, 5);
	ck_assert_uint_eq(visits_count(visits), 1);
	end();
}
END_TEST

/* As NumPy does it: a copy of the descriptor is closed, too. */
START_TEST(mapped_it_is_one_until_it_is_unmapped)
{
	begin();
	OPEN_TO_READ(0, 7);
	call(0, TRACE_MMAP, 7, 0, 200000);
	call(0, TRACE_CLOSE, 7, 0, 0);
	call(0, TRACE_FAULT, 7, 0, 4096);
	call(0, TRACE_FAULT, 7, 65536, 4096);
	call(0, TRACE_CLOSE, 7, 0, 0);
	call(0, TRACE_MUNMAP, 7, 0, 200000);
	OPEN_TO_READ(0, 7);
	call(0, TRACE_READ, 7, 0, 100);
	ck_assert_uint_eq(seen(0)->calls, 7);
	ck_assert_uint_eq(visits_count(visits), 2);
	end();
}
END_TEST

START_TEST(where_another_opened_each_place_is_one)
{
	begin();
	call(1, TRACE_READ, 7, 1000, 100);
	call(1, TRACE_READ, 7, 1100, 100);
	call(1, TRACE_READ, 7, 5000, 100);
	call(2, TRACE_READ, 7, 5100, 100);
	call(1, TRACE_READ, 7, 0, 100);
	ck_assert_uint_eq(seen(0)->read_bytes, 200);
	ck_assert_uint_eq(visits_count(visits), 4);
	ck_assert_uint_eq(seen(1)->off, 5000);
	ck_assert_uint_eq(seen(2)->task, 2);
	ck_assert_uint_eq(seen(3)->flags, VISIT_READS);
	end();
}
END_TEST

START_TEST(a_file_that_stays_open_is_visited_anew)
{
	begin();
	OPEN_TO_READ(0, 7);
	for (uint64_t i = 0; i < VISIT_PLACES + 100; i++)
		call(0, TRACE_READ, 7, i % 2 * 100000 + i * 100, 50);
	ck_assert_uint_eq(seen(0)->reads, VISIT_PLACES + 1);
	ck_assert_uint_eq(visits_count(visits), 100);
	ck_assert_uint_eq(seen(50)->reads, 1);
	end();
}
END_TEST

START_TEST(faults_near_each_other_are_one)
{
	begin();
	call(0, TRACE_MMAP, 7, 0, 1 << 20);
	call(0, TRACE_FAULT, 7, 0, 4096);
	call(0, TRACE_FAULT, 7, 65536, 4096);
	call(0, TRACE_FAULT, 7, 900000, 4096);
	ck_assert_uint_eq(seen(0)->calls, 3);
	ck_assert_uint_eq(visits_count(visits), 2);
	ck_assert_uint_eq(seen(0)->flags, VISIT_READS | VISIT_MAPS);
	ck_assert_uint_eq(seen(0)->end_off, 65536 + 4096);
	ck_assert_uint_eq(seen(0)->read_bytes, 0);
	end();
}
END_TEST

/* ---- those that are kept whole ---- */

START_TEST(specimens_have_all_calls)
{
	begin();
	OPEN_TO_READ(0, 7);
	for (uint64_t i = 0; i < 40; i++)
		call(0, TRACE_READ, 7, 100 * i, 100);
	call(0, TRACE_CLOSE, 7, 0, 0);
	call(0, TRACE_OPEN, 8, 0, O_WRONLY | O_CREAT);
	call(0, TRACE_WRITE, 8, 0, 100);
	seen(0);
	ck_assert_uint_eq(read_ones.count, 1);
	ck_assert_uint_eq(written_ones.count, 1);
	ck_assert_uint_eq(read_ones.at[0].count, 42);
	ck_assert_uint_eq(read_ones.at[0].calls[0].op, TRACE_OPEN);
	ck_assert_uint_eq(read_ones.at[0].calls[0].think_ns, 0);
	ck_assert_uint_eq(read_ones.at[0].calls[40].off, 3900);
	ck_assert_uint_eq(read_ones.at[0].calls[40].think_ns, 5);
	ck_assert_uint_eq(read_ones.at[0].calls[41].op, TRACE_CLOSE);
	ck_assert_uint_eq(written_ones.at[0].visit.written_bytes, 100);
	end();
}
END_TEST

START_TEST(of_many_visits_some_are_kept_evenly)
{
	uint32_t last = 0;

	begin();
	for (unsigned i = 0; i < 50000; i++) {
		OPEN_TO_READ(0, 1 + i);
		call(0, TRACE_READ, 1 + i, 0, 100);
		call(0, TRACE_CLOSE, 1 + i, 0, 0);
	}
	seen(0);
	ck_assert_uint_gt(read_ones.count, SPECIMENS_MOST / 4);
	ck_assert_uint_le(read_ones.count, SPECIMENS_MOST);
	for (uint32_t i = 0; i < read_ones.count; i++) {
		ck_assert_uint_gt(read_ones.at[i].visit.file, last);
		ck_assert_uint_le(read_ones.at[i].visit.file - last, 128);
		last = read_ones.at[i].visit.file;
	}
	end();
}
END_TEST

START_TEST(files_that_are_never_closed_are_forgotten)
{
	begin();
	for (unsigned i = 0; i < 300000; i++)
		OPEN_TO_READ(i % 3, 1 + i);
	/* Of the last ones it is known that they are open. */
	call(299999 % 3, TRACE_READ, 300000, 0, 100);
	seen(0 + 299999);
	ck_assert_uint_eq(visits_count(visits), 300000);
	ck_assert_uint_eq(seen(299999)->calls, 2);
	end();
}
END_TEST

Suite *suite_visits(void)
{
	Suite *s = suite_create("visits");
	TCase *t = tcase_create("all");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, they_come_back_however_many);
	tcase_add_test(t, the_last_ones_may_go_on);
	tcase_add_test(t, a_walk_can_be_left);
	tcase_add_test(t, from_open_to_close_is_one);
	tcase_add_test(t, a_stat_before_the_open_belongs_to_it);
	tcase_add_test(t, two_files_at_a_time_are_two);
	tcase_add_test(t, opened_twice_it_is_one_until_both_are_closed);
	tcase_add_test(t, mapped_it_is_one_until_it_is_unmapped);
	tcase_add_test(t, where_another_opened_each_place_is_one);
	tcase_add_test(t, a_file_that_stays_open_is_visited_anew);
	tcase_add_test(t, faults_near_each_other_are_one);
	tcase_add_test(t, specimens_have_all_calls);
	tcase_add_test(t, of_many_visits_some_are_kept_evenly);
	tcase_add_test(t, files_that_are_never_closed_are_forgotten);
	suite_add_tcase(s, t);
	return s;
}
