/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_mmap_faults.c - a file that shrinks is an error, not a crash, and faults of others
 * are theirs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "engine_rig.h"
#include "mmap_rig.h"
#include "suites.h"

static void block_all_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* The program's workers have signals blocked. */
static void *read_what_is_gone(void *arg)
{
	static const char *const options[] = { "engine=mmap", NULL };
	bool is_wrapped = arg != NULL;
	struct rig r;

	block_all_signals();
	ck_assert(rig_start(&r, is_wrapped ? "fault" : "mmap", is_wrapped ? options : NULL, 1,
			    8 * BLOCK));
	open_by_engine(&r, 64 * BLOCK, O_RDWR);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 32 * BLOCK, BLOCK), BLOCK);
	ck_assert_int_eq(truncate(r.path, 8 * BLOCK), 0);
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_int_eq(do_one(&r, MLGEN_READ, 32 * BLOCK, BLOCK), 0);
		ck_assert_int_eq(do_one(&r, MLGEN_READ, 7 * BLOCK, BLOCK), BLOCK);
		ck_assert_int_eq(do_one(&r, MLGEN_READ, 6 * BLOCK, 4 * BLOCK), 2 * BLOCK);
		ck_assert_int_eq(do_one(&r, MLGEN_WRITE, 8 * BLOCK, BLOCK), -EIO);
	}
	ck_assert_uint_eq(size_of(&r), 8 * BLOCK);
	ck_assert_int_eq(truncate(r.path, 64 * BLOCK), 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 32 * BLOCK, BLOCK), BLOCK);
	ck_assert_int_eq(do_one(&r, MLGEN_CLOSE, 0, 0), 0);
	rig_end(&r);
	return NULL;
}

START_TEST(what_is_gone_of_a_file_is_not_read)
{
	bool wrapped = true;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, read_what_is_gone, _i ? &wrapped : NULL), 0);
	pthread_join(thread, NULL);
}
END_TEST

/* Two at a time, each with its own file: a fault is its own thread's. */
START_TEST(workers_meet_their_own_faults)
{
	pthread_t threads[2];

	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_what_is_gone, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

static sigjmp_buf back;
static volatile sig_atomic_t caught, caught_code;

static void catch_plain(int sig)
{
	(void)sig;
	caught++;
	caught_code = 0;
}

static void catch_info(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	caught++;
	caught_code = info->si_code;
	if (info->si_code > 0)
		siglongjmp(back, 1);
}

/* A fault of another mapping's: true = it came to us. */
static bool fault_elsewhere(const struct rig *r)
{
	int fd = open(r->path, O_RDWR | O_CLOEXEC);
	volatile char *map = mmap(NULL, 2 * BLOCK, PROT_READ, MAP_SHARED, fd, 64 * BLOCK);

	ck_assert(map != MAP_FAILED);
	close(fd);
	if (sigsetjmp(back, 1))
		return true;
	(void)map[0];
	return false;
}

START_TEST(signals_that_are_not_ours_are_handed_on)
{
	struct sigaction theirs = { .sa_flags = SA_SIGINFO }, now;
	struct rig r;

	theirs.sa_sigaction = catch_info;
	ck_assert_int_eq(sigaction(SIGBUS, &theirs, NULL), 0);
	begin(&r, BLOCK);
	rig_file(&r, 4 * BLOCK, O_RDONLY);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, BLOCK), BLOCK);
	ck_assert(fault_elsewhere(&r));
	ck_assert_int_eq(caught, 1);
	raise(SIGBUS);
	ck_assert_int_eq(caught, 2);
	ck_assert_int_le(caught_code, 0);
	ck_assert_int_eq(do_one(&r, MLGEN_READ, 0, BLOCK), BLOCK);
	rig_end(&r);
	ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
	ck_assert(now.sa_sigaction == catch_info);
	signal(SIGBUS, SIG_DFL);
}
END_TEST

/* clang-format off */
static void (*const handlers[])(int) = { SIG_DFL, SIG_IGN, catch_plain };
/* clang-format on */

START_TEST(the_last_job_leaves_what_the_first_has_found)
{
	struct sigaction now;
	struct rig one, two;

	ck_assert(signal(SIGBUS, handlers[_i]) != SIG_ERR);
	ck_assert_int_eq(rig_job(&one, "mmap", NULL), 0);
	ck_assert_int_eq(rig_job(&two, "mmap", NULL), 0);
	rig_end(&one);
	ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
	ck_assert(now.sa_handler != handlers[_i]);
	if (handlers[_i] != SIG_DFL)
		raise(SIGBUS);
	ck_assert_int_eq(caught, handlers[_i] == catch_plain);
	rig_end(&two);
	ck_assert_int_eq(sigaction(SIGBUS, NULL, &now), 0);
	ck_assert(now.sa_handler == handlers[_i]);
	signal(SIGBUS, SIG_DFL);
}
END_TEST

Suite *suite_engine_mmap_faults(void)
{
	Suite *s = suite_create("engine_mmap_faults");
	TCase *t = tcase_create("engine_mmap_faults");

	tcase_add_loop_test(t, what_is_gone_of_a_file_is_not_read, 0, 2);
	tcase_add_test(t, workers_meet_their_own_faults);
	tcase_add_test(t, signals_that_are_not_ours_are_handed_on);
	tcase_add_loop_test(t, the_last_job_leaves_what_the_first_has_found, 0,
			    sizeof(handlers) / sizeof(handlers[0]));
	suite_add_tcase(s, t);
	return s;
}
