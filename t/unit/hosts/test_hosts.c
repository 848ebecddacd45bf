/* SPDX-License-Identifier: Apache-2.0 */
/* test_hosts.c - a process alone is all there is; what several tell each other arrives. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "hosts/hosts.h"

START_TEST(test_a_process_alone_is_the_first_of_one)
{
	ck_assert_uint_eq(hosts_rank(NULL), 0);
	ck_assert_uint_eq(hosts_total(NULL), 1);
	ck_assert_uint_eq(hosts_count(NULL), 1);
	ck_assert_uint_eq(hosts_host_of(NULL, 0), 0);
	ck_assert_str_eq(hosts_name(NULL, 0), "");
	ck_assert(hosts_is_first_here(NULL));
}
END_TEST

START_TEST(test_what_is_done_together_is_done_alone_at_once)
{
	struct mlgen_err err = { 0 };
	struct buf b = { 0 };
	uint64_t all = 0;
	size_t n = 0;

	ck_assert_int_eq(hosts_vote(NULL, 5, &all, &err), 0);
	ck_assert_uint_eq(all, 5);
	ck_assert_int_eq(hosts_barrier(NULL, &err), 0);
	ck_assert_int_eq(hosts_gather(NULL, "mine", 4, &b, &err), 0);
	const char *part = hosts_part(&b, 0, &n);
	ck_assert_uint_eq(n, 4);
	ck_assert_int_eq(memcmp(part, "mine", 4), 0);
	buf_reset(&b);
	buf_add(&b, "shared");
	ck_assert_int_eq(hosts_broadcast(NULL, &b, &err), 0);
	ck_assert_str_eq(buf_str(&b), "shared");
	ck_assert_int_eq(hosts_agree(NULL, 0, &err), 0);
	ck_assert_int_eq(hosts_agree(NULL, -ENOENT, &err), -ENOENT);
	ck_assert_int_eq(err.code, 0);
	buf_fini(&b);
}
END_TEST

Suite *suite_hosts(void);

Suite *suite_hosts(void)
{
	Suite *s = suite_create("hosts");
	TCase *alone = tcase_create("alone");

	tcase_add_test(alone, test_a_process_alone_is_the_first_of_one);
	tcase_add_test(alone, test_what_is_done_together_is_done_alone_at_once);
	suite_add_tcase(s, alone);
	return s;
}
