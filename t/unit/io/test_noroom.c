/* SPDX-License-Identifier: Apache-2.0 */
/* test_noroom.c - a file that cannot grow: the cause is named, and the way out. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "io/devices.h"
#include "suites.h"

static const char *why(int code, uint64_t end_bytes)
{
	static char out[NOROOM_BYTES];

	return noroom_text(out, ".", code, end_bytes);
}

START_TEST(other_errors_need_no_cause)
{
	ck_assert_str_eq(why(-EIO, 0), "");
	ck_assert_str_eq(why(0, 1), "");
	/* Space, of which the caller knows more. */
	ck_assert_str_eq(why(-ENOSPC, 1), "");
}
END_TEST

START_TEST(a_quota_is_named)
{
	ck_assert_ptr_nonnull(strstr(why(-EDQUOT, 0), "; a quota of this "));
	ck_assert_ptr_nonnull(strstr(why(-EDQUOT, 0), ": raise it, or remove"));
}
END_TEST

START_TEST(a_limit_of_files_is_the_process_or_the_filesystem)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	ck_assert_ptr_nonnull(strstr(why(-EFBIG, 1 << 21), "does not support files of this size"));
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_str_eq(why(-EFBIG, 1 << 21),
			 "; ulimit -f allows files of 1 MiB: raise it, or make smaller files");
	ck_assert_ptr_nonnull(strstr(why(-EFBIG, 0), "ulimit -f allows"));
	ck_assert_ptr_nonnull(strstr(why(-EFBIG, 1 << 20), "does not support files of this size"));
}
END_TEST

Suite *suite_noroom(void)
{
	Suite *s = suite_create("noroom");
	TCase *t = tcase_create("noroom");

	tcase_add_test(t, other_errors_need_no_cause);
	tcase_add_test(t, a_quota_is_named);
	tcase_add_test(t, a_limit_of_files_is_the_process_or_the_filesystem);
	suite_add_tcase(s, t);
	return s;
}
