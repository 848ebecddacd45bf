/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_sort.c - however many runs there are, records come out as a stable sort of all would
 * give them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "suites.h"
#include "temp.h"
#include "trace/trace_internal.h"

static struct mlgen_err err;

/* `cpu_ns` is the place in the input. */
static int by_start(const void *a, const void *b)
{
	const struct trace_record *x = a, *y = b;
	bool x_marks = trace_is_marker(x->op), y_marks = trace_is_marker(y->op);

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (trace_is_phase(x->op) != trace_is_phase(y->op))
		return trace_is_phase(x->op) ? -1 : 1;
	if (x_marks != y_marks)
		return x_marks ? -1 : 1;
	return x->cpu_ns < y->cpu_ns ? -1 : x->cpu_ns > y->cpu_ns;
}

/* Few starts, so that many are the same. */
static struct trace_record *make(size_t n, uint64_t starts)
{
	static const uint16_t ops[] = { TRACE_READ, TRACE_STEP, TRACE_READ, TRACE_EPOCH,
					TRACE_READ };
	struct trace_record *all = mem_array(n, sizeof(*all));
	uint64_t state = 7;

	for (size_t i = 0; i < n; i++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		all[i] = (struct trace_record){
			.start_ns = (state >> 33) % starts,
			.op = ops[(state >> 20) % ARRAY_LEN(ops)],
			.cpu_ns = i,
			.len_bytes = state,
		};
	}
	return all;
}

static void check(size_t n, uint64_t starts, size_t run)
{
	struct trace_record *all = make(n, starts);
	struct trace_sort *s = trace_sort_new(run);
	const struct trace_record *r;

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(trace_sort_add(s, &all[i], &err), 0);
	qsort(all, n, sizeof(*all), by_start);
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_eq(trace_sort_next(s, &r, &err), 1);
		ck_assert_mem_eq(r, &all[i], sizeof(*r));
	}
	ck_assert_int_eq(trace_sort_next(s, &r, &err), 0);
	ck_assert_int_eq(trace_sort_next(s, &r, &err), 0);
	trace_sort_free(s);
	mem_free(all);
}

START_TEST(all_in_memory_are_sorted)
{
	check(0, 1, 16);
	check(1, 1, 16);
	check(16, 5, 16);
	check(3000, 1000, 4096);
	check(3000, UINT64_C(1) << 31, 4096);
}
END_TEST

START_TEST(runs_are_merged_into_one_order)
{
	check(17, 5, 16);
	check(32, 5, 16);
	check(1000, 3, 1);
	check(5000, 40, 7);
	check(30000, UINT64_C(1) << 31, 4000);
}
END_TEST

/* Blocks are small then, and each run is read in several. */
START_TEST(a_run_is_read_in_blocks)
{
	check(40000, 1u << 20, 16000);
	check(60000, 100, 20);
}
END_TEST

START_TEST(where_no_file_can_be_made_it_is_said)
{
	struct trace_record r = { .start_ns = 1 };
	struct trace_sort *s = trace_sort_new(2);

	temp_pretend("/nowhere/at/all");
	ck_assert_int_eq(trace_sort_add(s, &r, &err), 0);
	ck_assert_int_eq(trace_sort_add(s, &r, &err), 0);
	ck_assert_int_lt(trace_sort_add(s, &r, &err), 0);
	temp_pretend(NULL);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/at/all"));
	ck_assert_ptr_nonnull(strstr(err.text, "TMPDIR"));
	memset(&err, 0, sizeof(err));
	trace_sort_free(s);
}
END_TEST

Suite *suite_trace_sort(void)
{
	Suite *s = suite_create("trace_sort");
	TCase *t = tcase_create("trace_sort");

	tcase_add_test(t, all_in_memory_are_sorted);
	tcase_add_test(t, runs_are_merged_into_one_order);
	tcase_add_test(t, a_run_is_read_in_blocks);
	tcase_add_test(t, where_no_file_can_be_made_it_is_said);
	suite_add_tcase(s, t);
	return s;
}
