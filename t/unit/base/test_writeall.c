/* SPDX-License-Identifier: Apache-2.0 */
/* test_writeall.c - all of it arrives, where it belongs, or the reason is given. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.h"
#include "suites.h"

#define WHOLE 100000u

static char text[WHOLE], back[2 * WHOLE];

static FILE *text_and_file(void)
{
	FILE *f = tmpfile();

	ck_assert_ptr_nonnull(f);
	for (size_t i = 0; i < WHOLE; i++)
		text[i] = (char)(i % 251);
	return f;
}

/* A write goes on until there, and the next one fails. */
static void end_files_at(rlim_t bytes)
{
	struct rlimit limit = { 0 };

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_text_goes_to_where_the_descriptor_stands)
{
	FILE *f = text_and_file();

	ck_assert_int_eq(writeall(fileno(f), text, 10), 0);
	ck_assert_int_eq(writeall(fileno(f), text + 10, WHOLE - 10), 0);
	ck_assert_int_eq(pread(fileno(f), back, sizeof(back), 0), WHOLE);
	ck_assert_mem_eq(back, text, WHOLE);
	fclose(f);
}
END_TEST

START_TEST(a_place_is_written_and_the_descriptor_stays_where_it_is)
{
	FILE *f = text_and_file();

	ck_assert_int_eq(writeall_at(fileno(f), text, WHOLE, 1000), 0);
	ck_assert_int_eq(writeall_at(fileno(f), "ab", 2, 10), 0);
	ck_assert_int_eq(writeall_at(fileno(f), "ab", 0, 5 * WHOLE), 0);
	ck_assert_int_eq(lseek(fileno(f), 0, SEEK_CUR), 0);
	ck_assert_int_eq(pread(fileno(f), back, sizeof(back), 0), WHOLE + 1000);
	ck_assert_mem_eq(back + 10, "ab", 3);
	ck_assert_mem_eq(back + 1000, text, WHOLE);
	fclose(f);
}
END_TEST

START_TEST(what_follows_a_short_write_fails_with_its_reason)
{
	FILE *f = text_and_file();

	end_files_at(WHOLE / 2);
	if (_i)
		ck_assert_int_eq(writeall_at(fileno(f), text, WHOLE, 0), -EFBIG);
	else
		ck_assert_int_eq(writeall(fileno(f), text, WHOLE), -EFBIG);
	end_files_at(RLIM_INFINITY);
	ck_assert_int_eq(pread(fileno(f), back, sizeof(back), 0), WHOLE / 2);
	ck_assert_mem_eq(back, text, WHOLE / 2);
	fclose(f);
}
END_TEST

START_TEST(a_descriptor_that_takes_nothing_is_told)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(writeall_at(ends[1], text, 1, 0), -ESPIPE);
	ck_assert_int_eq(writeall(ends[0], text, 1), -EBADF);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

Suite *suite_writeall(void)
{
	Suite *s = suite_create("writeall");
	TCase *t = tcase_create("writeall");

	tcase_add_test(t, a_text_goes_to_where_the_descriptor_stands);
	tcase_add_test(t, a_place_is_written_and_the_descriptor_stays_where_it_is);
	tcase_add_loop_test(t, what_follows_a_short_write_fails_with_its_reason, 0, 2);
	tcase_add_test(t, a_descriptor_that_takes_nothing_is_told);
	suite_add_tcase(s, t);
	return s;
}
