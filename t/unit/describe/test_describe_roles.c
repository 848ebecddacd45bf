/* SPDX-License-Identifier: Apache-2.0 */
/* test_describe_roles.c - which process trains, loads or saves, and how sure that is. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "describe_rig.h"
#include "suites.h"
#include "trace/trace.h"

static void put_entry(uint32_t kind, uint64_t a, uint64_t b, const char *text)
{
	struct trace_entry e = { .kind = kind,
				 .number = { a, b, TRACE_UNKNOWN, TRACE_UNKNOWN, 0 },
				 .text = text,
				 .text_bytes = strlen(text) };

	trace_writer_entry(rig.w, &e);
}

static const struct described_task *task_of(const struct metric_list *l, uint64_t pid)
{
	const struct described_task *t = l->items;

	for (size_t i = 0; i < l->count; i++)
		if (t[i].pid == pid)
			return &t[i];
	ck_abort_msg("no such task");
	return NULL;
}

START_TEST(children_that_read_are_loaders_and_their_parent_trains)
{
	struct trace_record r = record(TRACE_WRITE, 500, 10, file("/ckpt"));

	put_entry(TRACE_PROCESS, 10, 1, "python train.py");
	put_entry(TRACE_PROCESS, 11, 10, "python train.py");
	put_entry(TRACE_PROCESS, 12, 10, "python train.py");
	put_entry(TRACE_PROCESS, 13, 10, "saver");
	visit(0, 11, "/a");
	visit(10, 12, "/b");
	visit(20, 12, "/c");
	put(TRACE_STAT, 30, 10, file("/a"));
	r.pid = r.tid = 13;
	r.result = 100000;
	trace_writer_record(rig.w, &r);
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 10)->sure, SURE_LIKELY);
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 12)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 12)->sure, SURE_LIKELY);
	ck_assert_int_eq(task_of(l, 13)->role, ROLE_CHECKPOINT);
	ck_assert_uint_eq(task_of(l, 12)->parent, 10);
	ck_assert_str_eq(task_of(l, 12)->text, "python train.py");
	ck_assert_uint_eq(task_of(l, 12)->read_bytes, 2 * 5096);
	/* 5096, 10192 and 100000 bytes. */
	const struct described_share *s = &d.figures.trace.skew.processes;
	ck_assert_uint_eq(s->count, 3);
	ck_assert_double_eq_tol(s->bytes_most_over_mean, 300000 / 115288.0, 1e-9);
	ck_assert_double_eq_tol(s->bytes_gini,
				2 * (5096 + 2 * 10192 + 3 * 100000.0) / (3 * 115288.0) - 4 / 3.0,
				1e-9);
}
END_TEST

START_TEST(a_parent_that_saves_trains_all_the_same)
{
	struct trace_record r = record(TRACE_WRITE, 500, 10, file("/ckpt"));

	put_entry(TRACE_PROCESS, 10, 1, "python train.py");
	put_entry(TRACE_PROCESS, 11, 10, "python train.py");
	put_entry(TRACE_PROCESS, 12, 10, "python train.py");
	visit(0, 11, "/a");
	visit(10, 12, "/b");
	r.result = 100000;
	trace_writer_record(rig.w, &r);
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 10)->sure, SURE_LIKELY);
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_LOADER);
}
END_TEST

/* One of a hundred bytes is the least; and an only child is a guess. */
START_TEST(a_child_that_reads_next_to_nothing_is_no_loader)
{
	put_entry(TRACE_PROCESS, 10, 1, "train");
	put_entry(TRACE_PROCESS, 11, 10, "train");
	put_entry(TRACE_PROCESS, 12, 10, "git describe");
	put_read(0, 11, file("/a"), 0, 99000);
	put_read(10, 12, file("/b"), 0, 900);
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_LOADER);
	ck_assert_int_eq(task_of(l, 11)->sure, SURE_GUESS);
	ck_assert_int_eq(task_of(l, 12)->role, ROLE_OTHER);
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 10)->sure, SURE_GUESS);
}
END_TEST

START_TEST(a_shell_around_a_program_is_no_trainer)
{
	put_entry(TRACE_PROCESS, 10, 1, "sh -c train");
	put_entry(TRACE_PROCESS, 11, 10, "train");
	put(TRACE_STAT, 0, 10, file("/x"));
	put(TRACE_EXEC, 1, 11, file("/bin/train"));
	visit(10, 11, "/a");
	const struct metric_list *l = &described()->processes;
	ck_assert_int_eq(task_of(l, 10)->role, ROLE_OTHER);
	ck_assert_int_eq(task_of(l, 11)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(l, 11)->sure, SURE_GUESS);
}
END_TEST

START_TEST(threads_that_say_what_they_are_are_believed)
{
	struct trace_record r = record(TRACE_READ, 0, 5, file("/a"));

	put_entry(TRACE_THREAD, 6, 5, "rank 0");
	put_entry(TRACE_THREAD, 7, 5, "loader 1 of rank 0");
	put_entry(TRACE_THREAD, 8, 5, "saver 0");
	for (uint32_t tid = 5; tid <= 8; tid++) {
		r.tid = tid;
		r.result = tid;
		trace_writer_record(rig.w, &r);
	}
	const struct described_trace *t = described();
	const struct described_task *threads = t->threads.items;
	static const int roles[] = { ROLE_CHECKPOINT, ROLE_LOADER, ROLE_TRAINER, ROLE_OTHER };
	ck_assert_uint_eq(t->threads.count, 4);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_uint_eq(threads[i].tid, 8 - i);
		ck_assert_int_eq(threads[i].role, roles[i]);
	}
	ck_assert_int_eq(threads[0].sure, SURE_STATED);
	ck_assert_int_eq(task_of(&t->processes, 5)->role, ROLE_TRAINER);
	ck_assert_int_eq(task_of(&t->processes, 5)->sure, SURE_STATED);
}
END_TEST

Suite *suite_describe_roles(void)
{
	Suite *s = suite_create("describe_roles");
	TCase *t = tcase_create("describe_roles");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, children_that_read_are_loaders_and_their_parent_trains);
	tcase_add_test(t, a_parent_that_saves_trains_all_the_same);
	tcase_add_test(t, a_child_that_reads_next_to_nothing_is_no_loader);
	tcase_add_test(t, a_shell_around_a_program_is_no_trainer);
	tcase_add_test(t, threads_that_say_what_they_are_are_believed);
	suite_add_tcase(s, t);
	return s;
}
