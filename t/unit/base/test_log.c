/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - each message is one line and one write. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "suites.h"

static int reader, old_stderr;

/* A socket of packets, so that each write(2) arrives as one. */
static void capture(void)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	reader = ends[0];
	old_stderr = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
}

static void release(void)
{
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	close(reader);
}

static void expect_packet(const char *want)
{
	char got[256];
	ssize_t n = recv(reader, got, sizeof(got) - 1, MSG_DONTWAIT);

	ck_assert_int_ge(n, 0);
	got[n] = '\0';
	ck_assert_str_eq(got, want);
}

START_TEST(each_message_is_one_write)
{
	errno = ENOSPC;
	log_error("%s: no %s", "/data", "space");
	log_warn("slow");
	log_note("%d files", 3);
	log_plain("a.job:%d: x", 7);
	ck_assert_int_eq(errno, ENOSPC);
	expect_packet("mlgen: /data: no space\n");
	expect_packet("mlgen: warning: slow\n");
	expect_packet("mlgen: note: 3 files\n");
	expect_packet("a.job:7: x\n");
}
END_TEST

START_TEST(a_message_too_long_is_cut_and_still_a_line)
{
	static char text[20000], got[20000];

	memset(text, 'x', sizeof(text) - 1);
	log_plain("%s", text);
	ssize_t n = recv(reader, got, sizeof(got), MSG_DONTWAIT);
	ck_assert_int_gt(n, 4096);
	ck_assert_int_lt(n, 10000);
	ck_assert_int_eq(got[n - 1], '\n');
	ck_assert_int_eq(got[n - 2], 'x');
}
END_TEST

Suite *suite_log(void)
{
	Suite *s = suite_create("log");
	TCase *tc = tcase_create("log");

	tcase_add_checked_fixture(tc, capture, release);
	tcase_add_test(tc, each_message_is_one_write);
	tcase_add_test(tc, a_message_too_long_is_cut_and_still_a_line);
	suite_add_tcase(s, tc);
	return s;
}
