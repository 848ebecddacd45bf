/* SPDX-License-Identifier: Apache-2.0 */
/* test_traced_threads.c - a thread's number is of the job that it worked for at that time. */
#include <check.h>
#include <pthread.h>
#include <unistd.h>

#include "run/watch/watch.h"
#include "suites.h"

static uint32_t own(void)
{
	return (uint32_t)gettid();
}

START_TEST(a_number_is_of_who_had_it_last)
{
	struct traced_threads *t = traced_threads_new();

	traced_threads_add(t, 2, 300);
	traced_threads_add(t, 0, 100);
	traced_threads_add(t, 1, 200);
	ck_assert(!traced_threads_is(t, 0, own(), 99));
	ck_assert(traced_threads_is(t, 0, own(), 100));
	ck_assert(traced_threads_is(t, 0, own(), 199));
	ck_assert(!traced_threads_is(t, 0, own(), 200));
	ck_assert(traced_threads_is(t, 1, own(), 200));
	ck_assert(traced_threads_is(t, 2, own(), UINT64_MAX));
	ck_assert(!traced_threads_is(t, 2, own() + 1, UINT64_MAX));
	ck_assert(!traced_threads_is(t, 2, own() - 1, UINT64_MAX));
	traced_threads_add(t, 3, 150);
	ck_assert(traced_threads_is(t, 0, own(), 149));
	ck_assert(traced_threads_is(t, 3, own(), 150));
	traced_threads_free(t);
}
END_TEST

static void *add_one(void *threads)
{
	traced_threads_add(threads, 7, 5);
	return (void *)(uintptr_t)own();
}

START_TEST(each_thread_is_of_its_own_job)
{
	struct traced_threads *t = traced_threads_new();
	pthread_t thread;
	void *tid;

	ck_assert(!traced_threads_has(t, 7));
	ck_assert(!traced_threads_is(t, 7, own(), 5));
	traced_threads_add(t, 1, 5);
	ck_assert_int_eq(pthread_create(&thread, NULL, add_one, t), 0);
	pthread_join(thread, &tid);
	ck_assert(traced_threads_has(t, 7));
	ck_assert(!traced_threads_has(t, 0));
	ck_assert(traced_threads_is(t, 7, (uint32_t)(uintptr_t)tid, 5));
	ck_assert(!traced_threads_is(t, 7, own(), 5));
	ck_assert(traced_threads_is(t, 1, own(), 5));
	traced_threads_free(t);
	traced_threads_free(NULL);
}
END_TEST

Suite *suite_traced_threads(void)
{
	Suite *s = suite_create("traced_threads");
	TCase *t = tcase_create("traced_threads");

	tcase_add_test(t, a_number_is_of_who_had_it_last);
	tcase_add_test(t, each_thread_is_of_its_own_job);
	suite_add_tcase(s, t);
	return s;
}
