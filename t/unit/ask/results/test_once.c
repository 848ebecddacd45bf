/* SPDX-License-Identifier: Apache-2.0 */
/* test_once.c - what processes of one host have all counted is there once in the report of a
 * job. */
#include <check.h>

#include "ask/results/results_internal.h"
#include "suites.h"

#define UNKNOWN UINT64_MAX

/* A process: which host it is on, bytes that it wrote, those that it found dirty of all. */
struct played {
	unsigned host;
	uint64_t wrote, dirty;
};

static struct job_result result_of(const struct played *p)
{
	uint64_t dirty = p->dirty;

	return (struct job_result){
		.host.cpu_percent = 50,
		.host.user_percent = 10,
		.storage = { .source = "/sys/block/sda/stat",
			     .device_read_bytes = 1000,
			     .jobs_read_bytes = 1600 },
		.network.received_bytes = 70,
		.ml.saves = { .count = 1,
			      .bytes = p->wrote,
			      .dirty_bytes = dirty,
			      .in_memory_bytes =
				      dirty == UNKNOWN || dirty < p->wrote ? dirty : p->wrote },
	};
}

static struct job_result merged(const struct played *p, size_t count, size_t hosts)
{
	struct host_once of[3] = { 0 };
	struct job_result to = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct job_result one = result_of(&p[i]);

		host_once_add(&of[p[i].host], &one);
		if (i == 0)
			to = one;
	}
	struct host_once all = host_once_total(of, hosts, 1);
	host_once_store(&all, &to);
	return to;
}

START_TEST(what_a_host_counts_is_counted_once)
{
	const struct played p[] = { { 0, 1, 0 }, { 0, 1, 0 }, { 1, 1, 0 } };
	struct job_result to = merged(p, 3, 2);

	ck_assert(to.host.cpu_percent == 50);
	ck_assert(to.host.user_percent == 15); /* of 20 and 10 */
	ck_assert_uint_eq(to.storage.device_read_bytes, 2000);
	ck_assert_uint_eq(to.network.received_bytes, 140);
}
END_TEST

START_TEST(each_dirty_byte_of_checkpoints_is_there_once)
{
	/* Of what all have written on a host it has so much: less than the two say together, more
	 * than either can say alone. */
	const struct played p[] = { { 0, 60, 100 }, { 0, 60, 90 }, { 1, 60, 20 }, { 1, 60, 20 } };
	struct job_result to = merged(p, 4, 2);

	ck_assert_uint_eq(to.ml.saves.in_memory_bytes, 100 + 20);
	ck_assert_uint_eq(to.ml.saves.dirty_bytes, 100 + 20);
}
END_TEST

START_TEST(no_more_is_in_memory_than_was_written)
{
	const struct played p[] = { { 0, 60, 1000 }, { 0, 50, 1000 } };
	struct job_result to = merged(p, 2, 1);

	ck_assert_uint_eq(to.ml.saves.in_memory_bytes, 110);
	ck_assert_uint_eq(to.ml.saves.dirty_bytes, 1000);
}
END_TEST

START_TEST(what_one_does_not_know_nobody_knows)
{
	const struct played p[] = { { 0, 60, 10 }, { 1, 60, UNKNOWN } };
	struct job_result to = merged(p, 2, 2);

	ck_assert_uint_eq(to.ml.saves.in_memory_bytes, UNKNOWN);
	ck_assert_uint_eq(to.ml.saves.dirty_bytes, UNKNOWN);
}
END_TEST

START_TEST(a_job_without_checkpoints_stays_one)
{
	struct job_result one = { .ml.saves = { .dirty_bytes = UNKNOWN,
						.in_memory_bytes = UNKNOWN } };
	struct host_once of = { 0 };

	host_once_add(&of, &one);
	host_once_add(&of, &one);
	of = host_once_total(&of, 1, 1);
	host_once_store(&of, &one);
	ck_assert_uint_eq(one.ml.saves.in_memory_bytes, UNKNOWN);
	ck_assert_uint_eq(one.ml.saves.count, 0);
}
END_TEST

Suite *suite_once(void)
{
	Suite *s = suite_create("once");
	TCase *t = tcase_create("once");

	tcase_add_test(t, what_a_host_counts_is_counted_once);
	tcase_add_test(t, each_dirty_byte_of_checkpoints_is_there_once);
	tcase_add_test(t, no_more_is_in_memory_than_was_written);
	tcase_add_test(t, what_one_does_not_know_nobody_knows);
	tcase_add_test(t, a_job_without_checkpoints_stays_one);
	suite_add_tcase(s, t);
	return s;
}
