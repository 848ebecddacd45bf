/* SPDX-License-Identifier: Apache-2.0 */
/* test_fdtable.c - positions follow open files over copies, children and programs, and say where
 * they may be wrong. */
#include "suites.h"

#include "trace/trace.h"
#include "tracing/import/import_internal.h"

static struct fdtable *t;

static void begin(void)
{
	t = fdtable_new();
}

static void end(void)
{
	fdtable_free(t);
}

static uint64_t reads(uint32_t task, int fd, uint64_t bytes)
{
	uint16_t flags = 0;
	struct fd_open *f = fdtable_find(t, task, fd);

	ck_assert_ptr_nonnull(f);
	return fd_open_advance(f, task, 0, 0, bytes, false, &flags);
}

static uint16_t flags_of(uint32_t task, int fd, uint64_t start_ns, uint64_t end_ns)
{
	uint16_t flags = 0;

	fd_open_advance(fdtable_find(t, task, fd), task, start_ns, end_ns, 1, false, &flags);
	return flags;
}

START_TEST(a_position_is_of_the_open_file_not_of_its_descriptor)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_dup(t, 1, 3, 5, false);
	fdtable_open(t, 1, 4, 7, false, false);
	ck_assert_uint_eq(reads(1, 3, 10), 0);
	ck_assert_uint_eq(reads(1, 5, 20), 10);
	ck_assert_uint_eq(reads(1, 4, 5), 0);
	fdtable_close(t, 1, 3);
	ck_assert_ptr_null(fdtable_find(t, 1, 3));
	ck_assert_uint_eq(reads(1, 5, 1), 30);
	fd_open_seek(fdtable_find(t, 1, 5), 1, 0, 1000);
	ck_assert_uint_eq(reads(1, 5, 1), 1000);
}
END_TEST

START_TEST(what_was_there_is_closed)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_open(t, 1, 4, 8, false, false);
	fdtable_dup(t, 1, 3, 4, false);
	ck_assert_uint_eq(fdtable_find(t, 1, 4)->file, 7);
	ck_assert_uint_eq(fdtable_find(t, 1, 4)->references, 2);
	fdtable_dup(t, 1, 3, 3, false);
	ck_assert_uint_eq(fdtable_find(t, 1, 3)->references, 2);
	fdtable_open(t, 1, 3, 9, false, false);
	ck_assert_uint_eq(fdtable_find(t, 1, 4)->references, 1);
	fdtable_dup(t, 1, 77, 4, false); /* which nobody has seen */
	ck_assert_ptr_null(fdtable_find(t, 1, 4));
}
END_TEST

START_TEST(children_have_a_copy_and_threads_the_table_itself)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_fork(t, 1, 2, false);
	fdtable_fork(t, 1, 9, true);
	ck_assert_uint_eq(reads(1, 3, 10), 0);
	ck_assert_uint_eq(reads(2, 3, 10), 10);
	fdtable_close(t, 9, 3);
	ck_assert_ptr_null(fdtable_find(t, 1, 3));
	ck_assert_uint_eq(reads(2, 3, 1), 20);
	fdtable_open(t, 2, 5, 8, false, false);
	ck_assert_ptr_null(fdtable_find(t, 1, 5));
	fdtable_exit(t, 2);
	ck_assert_ptr_null(fdtable_find(t, 2, 5));
}
END_TEST

START_TEST(a_program_begins_without_what_closes_on_exec)
{
	for (int fd = 0; fd < 200; fd++)
		fdtable_open(t, 1, fd, 1, false, fd % 3 == 0);
	fdtable_close_on_exec(t, 1, 3, false);
	fdtable_close_on_exec(t, 1, 4, true);
	fdtable_close_on_exec(t, 1, 999, true); /* is not open */
	fdtable_fork(t, 1, 2, true);
	fdtable_exec(t, 1);
	for (int fd = 0; fd < 200; fd++) {
		bool is_closed = (fd % 3 == 0 && fd != 3) || fd == 4;

		ck_assert_int_eq(!fdtable_find(t, 1, fd), is_closed);
		ck_assert_ptr_nonnull(fdtable_find(t, 2, fd));
	}
}
END_TEST

START_TEST(a_range_is_closed_or_will_be)
{
	for (int fd = 0; fd < 100; fd++)
		fdtable_open(t, 1, fd, 1, false, false);
	fdtable_close_range(t, 1, 90, UINT32_MAX, false);
	fdtable_close_range(t, 1, 3, 9, true);
	fdtable_exec(t, 1);
	for (int fd = 0; fd < 100; fd++)
		ck_assert_int_eq(!fdtable_find(t, 1, fd), fd >= 90 || (fd >= 3 && fd <= 9));
}
END_TEST

START_TEST(many_tasks_come_and_go)
{
	fdtable_open(t, 1, 3, 7, false, false);
	for (uint32_t task = 2; task < 3000; task++)
		fdtable_fork(t, 1, task, false);
	for (uint32_t task = 2; task < 3000; task += 2)
		fdtable_exit(t, task);
	for (uint32_t task = 2; task < 3000; task++)
		ck_assert_int_eq(!fdtable_find(t, task, 3), task % 2 == 0);
	ck_assert_uint_eq(fdtable_find(t, 1, 3)->references, 1500);
}
END_TEST

START_TEST(calls_that_overlap_make_an_offset_inexact)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_fork(t, 1, 2, false);
	ck_assert_uint_eq(flags_of(1, 3, 0, 10), TRACE_OFF_INFERRED);
	ck_assert_uint_eq(flags_of(2, 3, 10, 20), TRACE_OFF_INFERRED);
	ck_assert_uint_eq(flags_of(1, 3, 15, 30), TRACE_OFF_INFERRED | TRACE_OFF_INEXACT);
	ck_assert_uint_eq(flags_of(1, 3, 25, 40), TRACE_OFF_INFERRED);
}
END_TEST

START_TEST(somebody_unseen_makes_all_of_them_inexact)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_mark_shared(t, 1);
	fdtable_open(t, 1, 4, 7, false, false);
	ck_assert_uint_eq(flags_of(1, 3, 0, 1), TRACE_OFF_INFERRED | TRACE_OFF_INEXACT);
	ck_assert_uint_eq(flags_of(1, 4, 0, 1), TRACE_OFF_INFERRED);
}
END_TEST

START_TEST(what_is_appended_goes_to_the_end_where_that_is_known)
{
	uint16_t flags = 0;
	struct fd_open *f = fdtable_open(t, 1, 3, 7, true, false);

	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, true, &flags), TRACE_UNKNOWN);
	ck_assert_uint_eq(flags, 0);
	ck_assert(!f->is_position_known);
	f->end = 500;
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, true, &flags), 500);
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, true, &flags), 510);
	ck_assert_uint_eq(f->position, 520);
	fd_open_seek(f, 1, 0, 5);
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, false, &flags), 5);
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, true, &flags), 520);
}
END_TEST

START_TEST(a_position_that_is_not_known_stays_so_until_a_seek)
{
	uint16_t flags = 0;
	struct fd_open *f = fdtable_open(t, 1, 0, 7, false, false);

	f->is_position_known = false;
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, false, &flags), TRACE_UNKNOWN);
	ck_assert_uint_eq(flags, 0);
	fd_open_seek(f, 1, 0, 100);
	ck_assert_uint_eq(fd_open_advance(f, 1, 0, 0, 10, false, &flags), 100);
}
END_TEST

START_TEST(a_new_name_is_that_of_what_is_open)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_open(t, 2, 3, 8, false, false);
	fdtable_rename(t, 7, 9);
	ck_assert_uint_eq(fdtable_find(t, 1, 3)->file, 9);
	ck_assert_uint_eq(fdtable_find(t, 2, 3)->file, 8);
}
END_TEST

START_TEST(a_copy_of_its_own_is_no_longer_shared)
{
	fdtable_open(t, 1, 3, 7, false, false);
	fdtable_fork(t, 1, 2, true);
	fdtable_unshare(t, 2);
	fdtable_close(t, 2, 3);
	ck_assert_ptr_nonnull(fdtable_find(t, 1, 3));
}
END_TEST

Suite *suite_fdtable(void)
{
	Suite *s = suite_create("fdtable");
	TCase *c = tcase_create("fdtable");

	tcase_add_checked_fixture(c, begin, end);
	tcase_add_test(c, a_position_is_of_the_open_file_not_of_its_descriptor);
	tcase_add_test(c, what_was_there_is_closed);
	tcase_add_test(c, children_have_a_copy_and_threads_the_table_itself);
	tcase_add_test(c, a_program_begins_without_what_closes_on_exec);
	tcase_add_test(c, a_range_is_closed_or_will_be);
	tcase_add_test(c, many_tasks_come_and_go);
	tcase_add_test(c, calls_that_overlap_make_an_offset_inexact);
	tcase_add_test(c, somebody_unseen_makes_all_of_them_inexact);
	tcase_add_test(c, what_is_appended_goes_to_the_end_where_that_is_known);
	tcase_add_test(c, a_position_that_is_not_known_stays_so_until_a_seek);
	tcase_add_test(c, a_new_name_is_that_of_what_is_open);
	tcase_add_test(c, a_copy_of_its_own_is_no_longer_shared);
	suite_add_tcase(s, c);
	return s;
}
