/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe.c - figures of traces that are small enough to be counted by hand, or naively. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "describe_rig.h"
#include "suites.h"
#include "trace/trace.h"

START_TEST(operations_are_counted_without_those_that_failed)
{
	struct trace_record r = record(TRACE_READ, 5, 1, file("/a"));

	put_read(0, 1, file("/a"), 0, 100);
	r.result = -EIO;
	r.len_bytes = 100;
	trace_writer_record(rig.w, &r);
	r.result = 70;
	r.flags = TRACE_CHAINED;
	trace_writer_record(rig.w, &r);
	put(TRACE_STAT, 20, 1, file("/a"));
	const struct described_op *o = described()->operations.of;
	ck_assert_uint_eq(o[TRACE_READ].count, 2);
	ck_assert_uint_eq(o[TRACE_READ].errors, 1);
	ck_assert_uint_eq(o[TRACE_READ].chained, 1);
	ck_assert_uint_eq(o[TRACE_READ].bytes, 170);
	ck_assert_uint_eq(o[TRACE_READ].lat_ns->count, 1);
	ck_assert_uint_eq(o[TRACE_READ].lat_ns->min_ns, US);
	ck_assert_uint_eq(o[TRACE_STAT].count, 1);
	ck_assert_uint_eq(o[TRACE_WRITE].count, 0);
	ck_assert_double_eq_tol(d.figures.trace.seconds, 21e-6, 1e-15);
}
END_TEST

START_TEST(a_table_has_each_operation_by_its_name)
{
	const struct mlgen_field *ops = NULL;
	unsigned n = 0;

	for (const struct mlgen_field *f = described_trace_fields; f->name; f++)
		if (!strcmp(f->name, "operations"))
			ops = f->sub;
	ck_assert_ptr_nonnull(ops);
	for (unsigned op = 1; op < TRACE_OPS; op++) {
		if (!trace_op_name(op))
			continue;
		ck_assert_str_eq(ops[n].name, trace_op_name(op));
		ck_assert_uint_eq(ops[n].off, op * sizeof(struct described_op));
		n++;
	}
	ck_assert_ptr_null(ops[n].name);
}
END_TEST

START_TEST(what_was_not_recorded_is_unknown_and_says_why)
{
	put_read(0, 1, file("/a"), TRACE_UNKNOWN, 10);
	const struct described_trace *t = described();
	ck_assert_double_nan(t->cache.hit_percent);
	ck_assert_ptr_nonnull(t->cache.unknown);
	ck_assert_uint_eq(t->block.reads, UINT64_MAX);
	ck_assert_ptr_nonnull(t->block.unknown);
	ck_assert_double_nan(t->cpu.on_percent);
	ck_assert_ptr_nonnull(t->cpu.unknown);
	ck_assert_uint_eq(t->cpu.switches, UINT64_MAX);
	ck_assert_ptr_nonnull(t->mmap.unknown);
	ck_assert_uint_eq(t->samples, UINT64_MAX);
	ck_assert_ptr_nonnull(t->metadata.opens_unknown);
	ck_assert_uint_eq(t->unique.bytes, UINT64_MAX);
	ck_assert_ptr_nonnull(t->unique.unknown);
	ck_assert_ptr_nonnull(t->access.unknown);
}
END_TEST

START_TEST(time_is_in_calls_and_on_a_cpu)
{
	struct trace_record r = record(TRACE_READ, 0, 1, file("/a"));

	r.cpu_ns = 500;
	r.result = 10;
	trace_writer_record(rig.w, &r);
	r.start_ns = 9 * US;
	r.cpu_ns = 2000;
	trace_writer_record(rig.w, &r);
	/* Asynchronous: the thread does something else meanwhile. */
	r.start_ns = 2 * US;
	r.duration_ns = 5 * US;
	r.cpu_ns = TRACE_UNKNOWN;
	r.flags = TRACE_ASYNC;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	ck_assert_double_eq_tol(t->io_percent, 20, 1e-9);
	ck_assert_double_eq_tol(t->cpu.on_percent, 25, 1e-9);
	ck_assert_double_eq_tol(t->cpu.off_percent, 75, 1e-9);
	ck_assert_double_eq_tol(t->in_flight_mean, 0.7, 1e-9);
	ck_assert_uint_eq(t->clock_steps, 0);
}
END_TEST

START_TEST(a_clock_that_was_set_back_is_noticed)
{
	put_read(1000, 1, file("/a"), 0, 10);
	put_read(10, 1, file("/a"), 10, 10);
	put_read(20, 2, file("/a"), 10, 10);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->clock_steps, 1);
	ck_assert_double_eq_tol(t->seconds, 991e-6, 1e-12);
}
END_TEST

START_TEST(what_was_lost_is_said)
{
	struct trace_entry e = { .kind = TRACE_LOST,
				 .number = { TRACE_READ, 5, 10 * US, 20 * US, 3 },
				 .text = "ring full",
				 .text_bytes = 9 };

	trace_writer_entry(rig.w, &e);
	const struct described_trace *t = described();
	const struct described_loss *l = t->lost.parts.items;
	ck_assert(!t->is_complete);
	ck_assert_uint_eq(t->lost.events, 5);
	ck_assert_uint_eq(t->lost.parts.count, 1);
	ck_assert_str_eq(l->operation, "read");
	ck_assert_str_eq(l->why, "ring full");
	ck_assert_uint_eq(l->tid, 3);
	ck_assert_uint_eq(t->records, 0);
}
END_TEST

START_TEST(an_empty_trace_is_whole)
{
	const struct described_trace *t = described();

	ck_assert(t->is_complete);
	ck_assert_uint_eq(t->records, 0);
	ck_assert_uint_eq(t->unique.files, 0);
	ck_assert_double_eq(t->seconds, 0);
	ck_assert_double_nan(t->read_bytes_per_sec);
}
END_TEST

START_TEST(names_are_those_of_files_that_count)
{
	visit(0, 1, "/d/small");
	put_read(10, 1, file("/d/large\xff\n"), 0, 100000);
	put_read(20, 1, file("/e/f/none"), 0, 0);
	const struct described_trace *t = described();
	const struct described_file *f = t->top_files.items;
	const struct described_directory *dirs = t->directories.items;
	ck_assert_uint_eq(t->top_files.count, 3);
	ck_assert_str_eq(f[0].path, "/d/large\\xff\\n");
	ck_assert_str_eq(f[1].path, "/d/small");
	ck_assert_uint_eq(f[1].opens, 1);
	ck_assert_uint_eq(f[1].unique_bytes, 5096);
	ck_assert_double_eq(f[1].sequential_percent, 100);
	ck_assert_uint_eq(t->directories.count, 2);
	ck_assert_str_eq(dirs[0].path, "/d");
	ck_assert_uint_eq(dirs[0].files, 2);
	ck_assert_uint_eq(dirs[0].read_bytes, 105096);
	ck_assert_str_eq(dirs[1].path, "/e/f");
}
END_TEST

START_TEST(requests_have_sizes_and_a_rate_each)
{
	for (unsigned i = 0; i < 3; i++)
		put_read(10 * i, 1, file("/a"), 0, 3000);
	put_read(40, 1, file("/a"), 0, 4097);
	const struct described_trace *t = described();
	const struct described_size *s = t->request_sizes.items;
	ck_assert_uint_eq(t->request_sizes.count, 2);
	ck_assert_str_eq(s[0].operation, "read");
	ck_assert_uint_eq(s[0].at_most_bytes, 4096);
	ck_assert_uint_eq(s[0].count, 3);
	ck_assert_double_eq(s[0].percent, 75);
	ck_assert_double_eq_tol(s[0].bytes_per_sec, 3e9, 1);
	ck_assert_double_eq_tol(s[0].lat_mean_ns, 1000, 1e-9);
	ck_assert_uint_eq(s[1].at_most_bytes, 8192);
}
END_TEST

/* Numbers that no program has. */
START_TEST(odd_records_are_counted_and_harm_nothing)
{
	struct trace_record r = record(TRACE_READ, 0, 1, file("/a"));

	r.off = UINT64_MAX - 5;
	r.len_bytes = UINT64_MAX - 1;
	r.result = INT64_MAX;
	trace_writer_record(rig.w, &r);
	r.start_ns = UINT64_MAX - 1;
	r.duration_ns = UINT64_MAX - 1;
	r.file = file("/b");
	trace_writer_record(rig.w, &r);
	r.op = 9999;
	trace_writer_record(rig.w, &r);
	r.op = TRACE_NONE;
	trace_writer_record(rig.w, &r);
	r = record(TRACE_EPOCH, 0, 1, 0);
	r.off = TRACE_UNKNOWN;
	r.flags = TRACE_BEGINS;
	trace_writer_record(rig.w, &r);
	r = record(TRACE_FAULT, 0, 1, file("/a"));
	r.off = INT64_MAX - 1;
	r.len_bytes = INT64_MAX;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->operations.of[TRACE_READ].count, 2);
	ck_assert_uint_ge(t->unknown_ops, 1);
}
END_TEST

Suite *suite_describe(void)
{
	Suite *s = suite_create("describe");
	TCase *t = tcase_create("describe");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, operations_are_counted_without_those_that_failed);
	tcase_add_test(t, a_table_has_each_operation_by_its_name);
	tcase_add_test(t, what_was_not_recorded_is_unknown_and_says_why);
	tcase_add_test(t, time_is_in_calls_and_on_a_cpu);
	tcase_add_test(t, a_clock_that_was_set_back_is_noticed);
	tcase_add_test(t, what_was_lost_is_said);
	tcase_add_test(t, an_empty_trace_is_whole);
	tcase_add_test(t, names_are_those_of_files_that_count);
	tcase_add_test(t, requests_have_sizes_and_a_rate_each);
	tcase_add_test(t, odd_records_are_counted_and_harm_nothing);
	suite_add_tcase(s, t);
	return s;
}
