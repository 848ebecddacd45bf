/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe_order.c - what is read behind what: within files, from one epoch to the next,
 * between markers. */
#include <check.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "describe_rig.h"
#include "suites.h"
#include "trace/trace.h"

static void put_marker(unsigned op, uint64_t from_us, uint64_t to_us, uint64_t number,
		       uint64_t bytes, int rank)
{
	struct trace_record r = record(op, from_us, 1, 0);

	r.duration_ns = (to_us - from_us) * US;
	r.off = number;
	r.len_bytes = bytes;
	r.result = rank;
	trace_writer_record(rig.w, &r);
}

START_TEST(reads_behind_another_are_in_order_or_not)
{
	uint32_t a = file("/a");

	put(TRACE_OPEN, 0, 1, a);
	put_read(1, 1, a, 0, 10);
	put_read(2, 1, a, 10, 10); /* sequential */
	put_read(3, 2, a, 20, 10); /* another thread's first */
	put_read(4, 1, a, 20, 10); /* sequential */
	put_read(5, 1, a, 50, 10); /* ahead */
	put_read(6, 1, a, 5, 10);  /* back */
	put(TRACE_OPEN, 7, 1, a);
	put_read(8, 1, a, 0, 10); /* first again */
	put_read(9, 1, a, TRACE_UNKNOWN, 10);
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->access.followed, 4);
	ck_assert_double_eq(t->access.sequential_percent, 50);
	ck_assert_double_eq(t->access.ahead_percent, 25);
	ck_assert_double_eq(t->access.back_percent, 25);
	ck_assert_uint_eq(t->access.unknown_offsets, 1);
	ck_assert_ptr_null(t->access.unknown);
	/* 0 to 30 and 50 to 60; of 80 bytes, of which 10 lay nowhere. */
	ck_assert_uint_eq(t->unique.bytes, 40);
	ck_assert(t->unique.is_exact);
	ck_assert_double_eq(t->unique.reread_percent, 50);
}
END_TEST

START_TEST(epochs_follow_from_files_that_are_read_again)
{
	static const char *const order[3][4] = {
		{ "/d/a", "/d/b", "/d/c", "/d/e" },
		{ "/d/e", "/d/c", "/d/b", "/d/a" },
		{ "/d/e", "/d/b", "/d/c", "/d/a" },
	};

	for (unsigned e = 0; e < 3; e++)
		for (unsigned i = 0; i < 4; i++)
			visit(1000 * e + 100 * i, 1, order[e][i]);
	/* One that is read once is of no epoch. */
	put_read(5000, 1, file("/other"), 0, 100);
	const struct described_trace *t = described();
	const struct described_epoch *e = t->epochs.items;
	ck_assert_uint_eq(t->epochs.count, 3);
	ck_assert_int_eq(t->order.sure, SURE_LIKELY);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(e[i].number, i);
		ck_assert_uint_eq(e[i].files, 4);
		ck_assert_uint_eq(e[i].reads, 12);
		ck_assert_uint_eq(e[i].read_bytes, 4 * 5096);
		ck_assert_double_eq_tol(e[i].start_seconds, (1000 * i + 2) / 1e6, 1e-12);
	}
	ck_assert_double_nan(e[0].order_correlation);
	ck_assert_double_eq_tol(e[1].order_correlation, -1, 1e-12);
	/* b and c change places: 1 - 6 * 2 / (4 * 15). */
	ck_assert_double_eq_tol(e[2].order_correlation, 0.8, 1e-12);
	ck_assert_double_eq_tol(t->order.correlation, -0.1, 1e-12);
	ck_assert_str_eq(t->order.of, "files");
}
END_TEST

START_TEST(files_that_are_read_once_have_no_epochs)
{
	visit(0, 1, "/a");
	visit(100, 1, "/b");
	const struct described_trace *t = described();
	ck_assert_uint_eq(t->epochs.count, 0);
	ck_assert_double_nan(t->order.correlation);
	ck_assert_ptr_nonnull(strstr(t->order.unknown, "read only once"));
}
END_TEST

START_TEST(markers_say_what_epochs_are_and_samples_their_order)
{
	static const uint64_t order[2][5] = { { 4, 0, 3, 1, 2 }, { 0, 4, 3, 2, 1 } };

	for (unsigned e = 0; e < 2; e++) {
		for (unsigned i = 0; i < 5; i++) {
			uint64_t at = 1000 * e + 100 * i + 10;

			put_read(at, 2, file("/shard"), order[e][i] * 10, 10);
			put_marker(TRACE_SAMPLE, at, at + 5, order[e][i], 10, 0);
		}
		/* The second rank begins later, and ends later. */
		put_marker(TRACE_EPOCH, 1000 * e, 1000 * e + 900, e, 0, 0);
		put_marker(TRACE_EPOCH, 1000 * e + 50, 1000 * e + 950, e, 0, 1);
	}
	const struct described_trace *t = described();
	const struct described_epoch *e = t->epochs.items;
	ck_assert_uint_eq(t->epochs.count, 2);
	ck_assert_int_eq(t->order.sure, SURE_STATED);
	ck_assert_str_eq(t->order.of, "samples");
	ck_assert_uint_eq(t->samples, 10);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(e[i].ranks, 2);
		ck_assert_uint_eq(e[i].samples, 5);
		ck_assert_uint_eq(e[i].files, 1);
		ck_assert_uint_eq(e[i].read_bytes, 50);
		ck_assert_double_eq_tol(e[i].seconds, 950e-6, 1e-12);
	}
	ck_assert_double_nan(e[0].order_correlation);
	/* Two pairs of neighbours change places: 1 - 6 * 4 / (5 * 24). */
	ck_assert_double_eq_tol(e[1].order_correlation, 0.8, 1e-12);
}
END_TEST

START_TEST(checkpoints_and_stages_are_those_of_their_ranks)
{
	struct trace_record r = record(TRACE_CHECKPOINT, 100, 1, file("save"));

	for (unsigned rank = 0; rank < 4; rank++) {
		r.start_ns = (100 + rank) * US;
		r.duration_ns = 50 * US;
		r.off = rank / 2;
		r.len_bytes = 1000;
		r.result = (int64_t)(rank % 2);
		trace_writer_record(rig.w, &r);
	}
	r = record(TRACE_STAGE, 0, 1, file("eval"));
	r.duration_ns = 300 * US;
	trace_writer_record(rig.w, &r);
	r.tid = 2;
	r.start_ns += US;
	trace_writer_record(rig.w, &r);
	r.start_ns = 500 * US;
	trace_writer_record(rig.w, &r);
	const struct described_trace *t = described();
	const struct described_checkpoint *c = t->checkpoints.items;
	const struct described_stage *s = t->stages.items;
	ck_assert_uint_eq(t->checkpoints.count, 2);
	ck_assert_uint_eq(c[1].number, 1);
	ck_assert_uint_eq(c[1].ranks, 2);
	ck_assert_uint_eq(c[1].bytes, 2000);
	ck_assert_double_eq_tol(c[1].seconds, 51e-6, 1e-12);
	ck_assert_str_eq(c[1].name, "save");
	ck_assert_uint_eq(t->stages.count, 2);
	ck_assert_str_eq(s[0].name, "eval");
	ck_assert_uint_eq(s[0].ranks, 2);
	ck_assert_double_eq_tol(s[0].seconds, 301e-6, 1e-12);
}
END_TEST

Suite *suite_describe_order(void)
{
	Suite *s = suite_create("describe_order");
	TCase *t = tcase_create("describe_order");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, reads_behind_another_are_in_order_or_not);
	tcase_add_test(t, epochs_follow_from_files_that_are_read_again);
	tcase_add_test(t, files_that_are_read_once_have_no_epochs);
	tcase_add_test(t, markers_say_what_epochs_are_and_samples_their_order);
	tcase_add_test(t, checkpoints_and_stages_are_those_of_their_ranks);
	suite_add_tcase(s, t);
	return s;
}
