/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_books.c - what a profile keeps of files, samples and threads, call by call. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tracing/score/score_internal.h"
#include "suites.h"

#define UNKNOWN TRACE_UNKNOWN
#define KIB UINT64_C(1024)

static struct profile_books books;
static struct profile_phase phases[2];
static struct profile all;
static uint64_t now_ns;

static void setup(void)
{
	memset(phases, 0, sizeof(phases));
	all = (struct profile){ .phases = phases, .count = 2 };
	now_ns = 1000;
	books_init(&books);
}

static void teardown(void)
{
	books_fini(&books);
	for (size_t i = 0; i < 2; i++) {
		spread_fini(&phases[i].read_sizes);
		spread_fini(&phases[i].write_sizes);
		spread_fini(&phases[i].file_sizes);
		spread_fini(&phases[i].file_samples);
		spread_fini(&phases[i].seeks);
		spread_fini(&phases[i].reuse);
		spread_fini(&phases[i].think);
	}
}

/* A call of 10 ns by thread 1, 5 ns behind the one before. */
static struct trace_record call_of(unsigned op, uint32_t file, uint64_t off, uint64_t len)
{
	bool moves = op == TRACE_READ || op == TRACE_WRITE;
	struct trace_record r = {
		.start_ns = now_ns,
		.duration_ns = 10,
		.off = off,
		.len_bytes = len,
		.result = moves ? (int64_t)len : 0,
		.pid = 1,
		.tid = 1,
		.file = file,
		.op = (uint16_t)op,
	};

	now_ns += 15;
	return r;
}

static void add(struct trace_record r)
{
	books_call(&books, &phases[0], 0, &r);
}

static void call(unsigned op, uint32_t file, uint64_t off, uint64_t len)
{
	add(call_of(op, file, off, len));
}

static void sample(uint32_t file, uint64_t number)
{
	struct trace_record r = call_of(TRACE_SAMPLE, file, number, UNKNOWN);

	books_sample(&books, &phases[0], 0, &r);
}

static void finish(void)
{
	books_finish(&books, &all);
}

/* It has one value, so often. */
static void check_one(const struct spread *s, double value, double weight)
{
	size_t n;
	struct weighted *w = spread_points(s, false, &n);

	ck_assert_uint_eq(n, 1);
	ck_assert(w[0].value == value);
	ck_assert(w[0].weight == weight);
	mem_free(w);
}

static void check_values(const struct spread *s, const double *want, size_t n)
{
	size_t got;
	struct weighted *w = spread_points(s, false, &got);

	ck_assert_uint_eq(got, n);
	for (size_t i = 0; i < n; i++)
		ck_assert(w[i].value == want[i]);
	mem_free(w);
}

/* ---- files ---- */

START_TEST(calls_are_counted_by_what_they_do)
{
	const struct profile_phase *p = &phases[0];

	call(TRACE_OPEN, 1, 0, O_RDWR);
	call(TRACE_FSYNC, 1, 0, 0);
	call(TRACE_FDATASYNC, 1, 0, 0);
	call(TRACE_READ, 1, 0, 100);
	call(TRACE_WRITE, 1, 100, 30);
	call(TRACE_WRITE, 1, 130, 40);
	ck_assert_uint_eq(p->calls, 6);
	ck_assert(p->operations[TRACE_OPEN] == 1);
	ck_assert(p->operations[TRACE_FSYNC] == 2);
	ck_assert(p->operations[TRACE_FDATASYNC] == 0);
	ck_assert(p->operations[TRACE_WRITE] == 2);
	ck_assert_uint_eq(p->read_bytes, 100);
	ck_assert_uint_eq(p->written_bytes, 70);
	check_one(&p->read_sizes, 100, 1);
	check_values(&p->write_sizes, (const double[]){ 30, 40 }, 2);
}
END_TEST

START_TEST(files_are_those_whose_bytes_are_used)
{
	call(TRACE_OPEN, 7, 0, O_RDONLY | O_DIRECTORY);
	call(TRACE_STAT, 8, 0, 4096);
	call(TRACE_READ, 1, 0, 100);
	call(TRACE_WRITE, 2, 1000, 500);
	call(TRACE_MMAP, 3, 0, 4096);
	call(TRACE_STAT, 3, 0, 7000);
	call(TRACE_STAT, 3, 0, 6000);
	call(TRACE_STAT, 3, 0, UNKNOWN);
	call(TRACE_STAT, 2, 0, 1200);
	finish();
	ck_assert_uint_eq(phases[0].files, 3);
	check_values(&phases[0].file_sizes, (const double[]){ 100, 1500, 7000 }, 3);
	ck_assert_uint_eq(phases[1].files, 0);
}
END_TEST

START_TEST(what_moved_nothing_or_nobody_knows_where_has_no_place)
{
	struct trace_record r = call_of(TRACE_READ, 1, 5000, 100);

	r.result = 0; /* at the end of the file */
	add(r);
	call(TRACE_READ, 1, UNKNOWN, 64);
	call(TRACE_READ, 1, UNKNOWN - 63, 64);
	ck_assert(phases[0].accesses == 0);
	r = call_of(TRACE_READ, 1, 40, 20);
	r.len_bytes = UNKNOWN;
	add(r);
	finish();
	check_one(&phases[0].file_sizes, 60, 1);
	check_values(&phases[0].read_sizes, (const double[]){ 64, 100 }, 2);
	ck_assert_uint_eq(phases[0].read_bytes, 2 * 64 + 20);
	ck_assert(phases[0].accesses == 1);
	ck_assert_uint_eq(phases[0].followed, 0);
}
END_TEST

START_TEST(accesses_follow_one_another_in_a_file)
{
	const struct profile_phase *p = &phases[0];

	call(TRACE_OPEN, 1, 0, O_RDWR);
	call(TRACE_READ, 1, 0, 100);
	call(TRACE_READ, 1, 100, 100);
	call(TRACE_WRITE, 1, 250, 50);
	call(TRACE_READ, 1, 0, 100);
	ck_assert_uint_eq(p->followed, 3);
	ck_assert_uint_eq(p->sequential, 1);
	check_values(&p->seeks, (const double[]){ 50, 300 }, 2);
	call(TRACE_CLOSE, 1, 0, 0);
	call(TRACE_READ, 1, 0, 100);
	call(TRACE_OPEN, 1, 0, O_RDWR);
	call(TRACE_READ, 1, 0, 100);
	ck_assert_uint_eq(p->followed, 3);
}
END_TEST

/* ---- blocks ---- */

START_TEST(blocks_are_touched_by_reads)
{
	const struct profile_phase *p = &phases[0];

	call(TRACE_WRITE, 1, 0, 64 * KIB);
	ck_assert(p->accesses == 0);
	call(TRACE_READ, 1, 0, 3 * 64 * KIB);
	ck_assert(p->accesses == 3 && p->cold == 3);
	call(TRACE_READ, 1, 64 * KIB - 1, 2);
	ck_assert(p->accesses == 5 && p->cold == 3);
	check_one(&p->reuse, 2, 2);
	call(TRACE_READ, 2, 0, 1);
	ck_assert(p->cold == 4);
	finish();
	ck_assert(all.blocks == 4);
}
END_TEST

START_TEST(blocks_of_files_are_not_each_others)
{
	const struct profile_phase *p = &phases[0];

	call(TRACE_READ, 1, 0, 1);
	call(TRACE_READ, 0x80000001, 0, 1);
	call(TRACE_READ, 2, 0, 1);
	call(TRACE_READ, 3, UINT64_C(1) << 47, 1);
	ck_assert(p->accesses == 4 && p->cold == 4);
}
END_TEST

START_TEST(of_a_large_read_4096_blocks_count)
{
	const struct profile_phase *p = &phases[0];

	call(TRACE_READ, 1, 0, 5000 * 64 * KIB);
	ck_assert(p->accesses == 4096);
	call(TRACE_READ, 1, 5000 * 64 * KIB, 5000 * 64 * KIB);
	ck_assert(p->accesses == 2 * 4096);
}
END_TEST

/* What 16 GiB have is exact; of more, every second block stands for two. */
START_TEST(sixteen_gib_are_exact)
{
	const uint64_t bytes = 4096 * 64 * KIB;
	double cold;

	for (uint64_t i = 0; i < 64; i++)
		call(TRACE_READ, 1, i * bytes, bytes);
	ck_assert(phases[0].cold == 64 * 4096);
	call(TRACE_READ, 1, 64 * bytes, bytes);
	cold = phases[0].cold;
	ck_assert_double_eq_tol(cold, 65 * 4096, 200);
	ck_assert(cold < 65 * 4096 || cold > 65 * 4096);
}
END_TEST

/* ---- rounds and samples ---- */

START_TEST(files_are_visited_by_opening_or_reading_them)
{
	call(TRACE_OPEN, 9, 0, O_RDONLY | O_DIRECTORY);
	call(TRACE_OPEN, 1, 0, O_RDONLY);
	call(TRACE_READ, 1, 0, 10);
	call(TRACE_READ, 1, 10, 10);
	call(TRACE_WRITE, 3, 0, 10);
	/* Open since before the trace began. */
	call(TRACE_READ, 2, 0, 10);
	call(TRACE_READ, 2, 10, 10);
	call(TRACE_OPEN, 1, 0, O_RDONLY);
	finish();
	ck_assert_uint_eq(phases[0].file_rounds.items, 2);
	ck_assert_uint_eq(phases[0].file_rounds.visits, 3);
	ck_assert_uint_eq(phases[0].file_rounds.rounds, 2);
	ck_assert(isnan(phases[0].file_rounds.places));
}
END_TEST

START_TEST(samples_of_a_file_are_those_of_a_round)
{
	for (uint64_t i = 0; i < 3; i++)
		sample(4, 10 + i);
	ck_assert(phases[0].has_samples);
	call(TRACE_READ, 5, 0, 10);
	finish();
	ck_assert_uint_eq(phases[0].rounds.items, 3);
	ck_assert_uint_eq(phases[0].rounds.rounds, 1);
	check_one(&phases[0].file_samples, 3, 1);
	ck_assert(!phases[1].has_samples);
}
END_TEST

START_TEST(a_round_that_was_cut_is_rounded)
{
	sample(4, 10);
	sample(4, 11);
	sample(4, 10);
	sample(0, 12);
	finish();
	ck_assert_uint_eq(phases[0].rounds.items, 3);
	ck_assert_uint_eq(phases[0].rounds.rounds, 2);
	check_one(&phases[0].file_samples, 2, 1);
}
END_TEST

START_TEST(without_numbers_of_samples_rounds_are_those_of_files)
{
	for (int i = 0; i < 2; i++) {
		call(TRACE_OPEN, 4, 0, O_RDONLY);
		for (int k = 0; k < 5; k++)
			sample(4, UNKNOWN);
	}
	ck_assert(!phases[0].has_samples);
	finish();
	ck_assert_uint_eq(phases[0].rounds.items, 0);
	check_one(&phases[0].file_samples, 5, 1);
}
END_TEST

START_TEST(where_nothing_goes_round_samples_are_all_there_are)
{
	sample(4, UNKNOWN);
	sample(4, UNKNOWN);
	finish();
	check_one(&phases[0].file_samples, 2, 1);
}
END_TEST

/* ---- threads ---- */

static void call_at(uint32_t tid, uint64_t start_ns, uint64_t duration_ns, uint64_t bytes)
{
	struct trace_record r = call_of(TRACE_READ, 1, 0, bytes);

	r.tid = tid;
	r.start_ns = start_ns;
	r.duration_ns = duration_ns;
	add(r);
}

START_TEST(a_thread_thinks_between_its_calls)
{
	call_at(1, 100, 50, 1);
	call_at(2, 160, 5, 1);
	call_at(1, 200, UNKNOWN, 1);
	call_at(1, 210, 100, 1); /* 60 behind the first */
	call_at(1, 250, 10, 1);  /* while that goes on */
	call_at(1, 317, 3, 1);   /* 7 behind its end */
	call_at(0, 400, 3, 1);   /* nobody knows whose */
	check_values(&phases[0].think, (const double[]){ 0, 7, 60 }, 3);
	finish();
	ck_assert(phases[0].workers == 2);
}
END_TEST

START_TEST(a_worker_moves_a_hundredth_of_what_the_busiest_does)
{
	call_at(1, 100, 1000, 1000);
	call_at(2, 100, 1000, 10);
	call_at(3, 100, 1000, 9);
	call_at(4, 100, 1000, 1000);
	finish();
	ck_assert(phases[0].workers == 3);
	/* Of 10, 1000 and 1000. */
	ck_assert_double_eq_tol(phases[0].gini, 2 * 990 / (3 * 2010.), 1e-9);
}
END_TEST

START_TEST(who_moves_nothing_does_not_work)
{
	call(TRACE_OPEN, 1, 0, O_RDONLY);
	finish();
	ck_assert(phases[0].workers == 0);
	ck_assert(isnan(phases[0].gini));
}
END_TEST

START_TEST(one_byte_is_work)
{
	call_at(1, 100, 10, 1);
	finish();
	ck_assert(phases[0].workers == 1);
}
END_TEST

START_TEST(workers_of_one_epoch_make_room_for_those_of_the_next)
{
	for (uint32_t i = 0; i < 600; i++) {
		uint64_t begin_ns = 1000 + i / 3 * 1000;

		/* The next one begins when it ends. */
		call_at(1 + i, begin_ns, 100, 50);
		call_at(1 + i, begin_ns + 900, 100, 50);
	}
	finish();
	ck_assert(phases[0].workers == 3);
	ck_assert(phases[0].gini == 0);
}
END_TEST

START_TEST(threads_of_processes_are_not_each_others)
{
	static const uint32_t pids[] = { 1, 0x80000001, 2, 3 };

	for (size_t i = 0; i < 4; i++) {
		struct trace_record r = call_of(TRACE_READ, 1, 0, 10);

		r.start_ns = 1000;
		r.pid = pids[i];
		r.tid = i < 2 ? 5 : 0x80000000;
		add(r);
	}
	finish();
	ck_assert(phases[0].workers == 4);
}
END_TEST

Suite *suite_profile_books(void)
{
	Suite *s = suite_create("profile_books");
	TCase *t = tcase_create("profile_books");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, calls_are_counted_by_what_they_do);
	tcase_add_test(t, files_are_those_whose_bytes_are_used);
	tcase_add_test(t, what_moved_nothing_or_nobody_knows_where_has_no_place);
	tcase_add_test(t, accesses_follow_one_another_in_a_file);
	tcase_add_test(t, blocks_are_touched_by_reads);
	tcase_add_test(t, blocks_of_files_are_not_each_others);
	tcase_add_test(t, of_a_large_read_4096_blocks_count);
	tcase_add_test(t, sixteen_gib_are_exact);
	tcase_add_test(t, files_are_visited_by_opening_or_reading_them);
	tcase_add_test(t, samples_of_a_file_are_those_of_a_round);
	tcase_add_test(t, a_round_that_was_cut_is_rounded);
	tcase_add_test(t, without_numbers_of_samples_rounds_are_those_of_files);
	tcase_add_test(t, where_nothing_goes_round_samples_are_all_there_are);
	tcase_add_test(t, a_thread_thinks_between_its_calls);
	tcase_add_test(t, a_worker_moves_a_hundredth_of_what_the_busiest_does);
	tcase_add_test(t, who_moves_nothing_does_not_work);
	tcase_add_test(t, one_byte_is_work);
	tcase_add_test(t, workers_of_one_epoch_make_room_for_those_of_the_next);
	tcase_add_test(t, threads_of_processes_are_not_each_others);
	suite_add_tcase(s, t);
	return s;
}
