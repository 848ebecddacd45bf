/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_io_uring.c - the ring itself: refusals in words, order, waiting. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "engine_rig.h"
#include "suites.h"

#ifdef __SANITIZE_THREAD__
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN 0
#endif

static bool begin(struct bare_rig *r, unsigned depth)
{
	bare_prepare(r, "io_uring", NULL, depth);
	return bare_init(r);
}

/* From here on this thread's io_uring_setup meets that error. */
static void refuse_set_up(unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* clang-format off */
static const struct refusal_case {
	int error;
	const char *says[3];
} refusal_cases[] = {
	/* A sysctl that forbids it on this host would be named instead. */
	{ EPERM, { "io_uring_setup: Operation not permitted; ", "ioengine=libaio", NULL } },
	{ ENOSYS, { "io_uring_setup: Function not implemented; ", "seccomp", "this is Linux" } },
	{ ENOMEM, { "io_uring_setup: Cannot allocate memory; 4 rings of iodepth=32 need 45 KiB", "ulimit -l", NULL } },
	{ EMFILE, { "io_uring_setup: Too many open files; ", "ulimit -n", NULL } },
	{ EINVAL, { "io_uring_setup: Invalid argument", NULL } },
};
/* clang-format on */

static void *init_refused(void *arg)
{
	struct bare_rig *r = arg;

	refuse_set_up((unsigned)r->rc);
	r->rc = r->engine->init(&r->ctx, &r->err);
	r->engine->fini(&r->ctx);
	return NULL;
}

START_TEST(a_refusal_says_why_and_what_to_do)
{
	const struct refusal_case *c = &refusal_cases[_i];
	struct bare_rig r;
	pthread_t thread; /* a filter stays with its thread */

	bare_prepare(&r, "io_uring", NULL, 32);
	r.rc = c->error;
	ck_assert_int_eq(pthread_create(&thread, NULL, init_refused, &r), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(r.rc, -c->error);
	ck_assert_int_eq(r.err.code, -c->error);
	for (int i = 0; i < 3 && c->says[i]; i++)
		ck_assert_msg(strstr(r.err.text, c->says[i]) != NULL, "'%s' is not in '%s'",
			      c->says[i], r.err.text);
	ck_assert_ptr_null(r.ctx.priv);
}
END_TEST

static int sysctl_disabled(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int disabled = 0;

	if (f && fscanf(f, "%d", &disabled) != 1)
		disabled = 0;
	if (f)
		fclose(f);
	return disabled;
}

START_TEST(not_permitted_names_the_sysctl_or_the_seccomp_profile)
{
	struct bare_rig r;
	pthread_t thread;

	bare_prepare(&r, "io_uring", NULL, 32);
	r.rc = EPERM;
	ck_assert_int_eq(pthread_create(&thread, NULL, init_refused, &r), 0);
	pthread_join(thread, NULL);
	ck_assert_msg(strstr(r.err.text,
			     sysctl_disabled()
				     ? "kernel.io_uring_disabled is"
				     : "a seccomp profile, such as a container's, refuses it") !=
			      NULL,
		      "%s", r.err.text);
}
END_TEST

START_TEST(a_queue_deeper_than_a_ring_is_refused)
{
	struct bare_rig r;

	bare_prepare(&r, "io_uring", NULL, 32769);
	ck_assert_int_eq(r.engine->init(&r.ctx, &r.err), -EINVAL);
	ck_assert_str_eq(r.err.text,
			 "iodepth: 32769 is above the capacity of an io_uring ring, 32768");
	bare_end(&r);
}
END_TEST

START_TEST(the_deepest_queue_can_be_had)
{
	struct bare_rig r;

	if (begin(&r, 32768))
		bare_end(&r);
}
END_TEST

struct byte_read {
	struct mlgen_io io;
	struct mlgen_file file;
	struct iovec iov;
	char byte;
};

static void read_byte(struct byte_read *b, int fd)
{
	*b = (struct byte_read){ .file.fd = fd };
	b->iov = (struct iovec){ &b->byte, 1 };
	b->io = (struct mlgen_io){
		.op = MLGEN_READ, .file = &b->file, .iov = &b->iov, .iovcnt = 1, .len_bytes = 1
	};
}

START_TEST(what_completes_first_comes_first)
{
	struct mlgen_io *batch[2], *done[4] = { NULL };
	struct byte_read slow, fast;
	struct bare_rig r;
	int ends[2], zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	if (!begin(&r, 4)) {
		close(zero);
		return;
	}
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	read_byte(&slow, ends[0]);
	read_byte(&fast, zero);
	batch[0] = &slow.io;
	batch[1] = &fast.io;
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, 2), 2);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, UINT64_MAX), 1);
	ck_assert_ptr_eq(done[0], &fast.io);
	ck_assert_int_eq(fast.io.result, 1);

	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 0, 4, 0), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, UINT64_MAX), 1);
	ck_assert_ptr_eq(done[0], &slow.io);
	ck_assert_int_eq(slow.io.result, 1);
	ck_assert_int_eq(slow.byte, 'x');
	bare_end(&r);
	close(ends[0]);
	close(ends[1]);
	close(zero);
}
END_TEST

START_TEST(reap_without_a_minimum_sees_what_has_completed)
{
	struct mlgen_io *batch[1], *done[4];
	struct byte_read slow;
	struct bare_rig r;
	int ends[2], n = 0;

	if (!begin(&r, 4))
		return;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	read_byte(&slow, ends[0]);
	batch[0] = &slow.io;
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, 1), 1);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	/* The suite's time limit ends a reap that never looks. */
	while (n == 0)
		n = r.engine->reap(&r.ctx, done, 0, 4, 0);
	ck_assert_int_eq(n, 1);
	ck_assert_ptr_eq(done[0], &slow.io);
	bare_end(&r);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(reap_gives_up_after_its_time)
{
	struct mlgen_io *batch[1], *done[4];
	struct byte_read slow;
	struct bare_rig r;
	int ends[2];

	if (!begin(&r, 4))
		return;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	read_byte(&slow, ends[0]);
	batch[0] = &slow.io;
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, 1), 1);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, 0), 0);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, 200000), 0);
	ck_assert_int_eq(write(ends[1], "x", 1), 1);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, 10000000000), 1);
	ck_assert_ptr_eq(done[0], &slow.io);
	bare_end(&r);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static void *write_byte(void *fd)
{
	ck_assert_int_eq(write(*(int *)fd, "x", 1), 1);
	return NULL;
}

START_TEST(reap_waits_for_no_more_than_the_minimum)
{
	struct mlgen_io *batch[1], *done[4];
	struct byte_read slow;
	struct bare_rig r;
	pthread_t writer;
	int ends[2];

	if (!begin(&r, 4))
		return;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	read_byte(&slow, ends[0]);
	batch[0] = &slow.io;
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, 1), 1);
	ck_assert_int_eq(pthread_create(&writer, NULL, write_byte, &ends[1]), 0);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, UINT64_MAX), 1);
	ck_assert_ptr_eq(done[0], &slow.io);
	pthread_join(writer, NULL);
	bare_end(&r);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

static int alarm_fd;
static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	if (++alarms == 3 && write(alarm_fd, "x", 1) != 1)
		abort();
}

START_TEST(a_signal_does_not_end_the_wait)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } };
	const struct itimerval never = { 0 };
	struct mlgen_io *batch[1], *done[4];
	struct byte_read slow;
	struct bare_rig r;
	int ends[2];

	/* That one holds handlers back until the thread calls something. */
	if (HAS_TSAN || !begin(&r, 4))
		return;
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	alarm_fd = ends[1];
	read_byte(&slow, ends[0]);
	batch[0] = &slow.io;
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, 1), 1);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &each, NULL), 0);
	ck_assert_int_eq(r.engine->reap(&r.ctx, done, 1, 4, UINT64_MAX), 1);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_ge(alarms, 3);
	ck_assert_int_eq(slow.io.result, 1);
	bare_end(&r);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

#define TRICKLE 64u

static int trickle_ends[TRICKLE][2];
static volatile sig_atomic_t trickled;

/* One more read can complete. */
static void on_trickle(int signal)
{
	unsigned i = (unsigned)trickled;

	(void)signal;
	if (i == TRICKLE)
		return;
	if (write(trickle_ends[i][1], "x", 1) != 1)
		abort();
	trickled++;
}

/* Alarms that come while the thread does not run are one. */
START_TEST(what_comes_bit_by_bit_does_not_prolong_the_wait)
{
	const struct sigaction action = { .sa_handler = on_trickle };
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } };
	const struct itimerval never = { 0 };
	struct mlgen_io *batch[TRICKLE], *done[TRICKLE];
	struct byte_read reads[TRICKLE];
	struct bare_rig r;
	int got;

	/* That one holds handlers back until the thread calls something. */
	if (HAS_TSAN || !begin(&r, TRICKLE))
		return;
	for (unsigned i = 0; i < TRICKLE; i++) {
		ck_assert_int_eq(pipe2(trickle_ends[i], O_CLOEXEC), 0);
		read_byte(&reads[i], trickle_ends[i][0]);
		batch[i] = &reads[i].io;
	}
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(r.engine->submit(&r.ctx, batch, TRICKLE), TRICKLE);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &each, NULL), 0);
	got = r.engine->reap(&r.ctx, done, TRICKLE, TRICKLE, 10000000);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	ck_assert_int_ge(got, 0);
	ck_assert_int_lt(got, TRICKLE);
	while (trickled < (int)TRICKLE)
		on_trickle(0);
	while (got < (int)TRICKLE)
		got += r.engine->reap(&r.ctx, done, 1, TRICKLE, UINT64_MAX);
	bare_end(&r);
	for (unsigned i = 0; i < TRICKLE; i++) {
		close(trickle_ends[i][0]);
		close(trickle_ends[i][1]);
	}
}
END_TEST

START_TEST(what_a_linked_read_is_followed_by_runs_whatever_it_returned)
{
	static const char *const options[] = { NULL };
	struct io_op ops[3], *done[3];
	struct rig r;

	if (!rig_start(&r, "io_uring", options, 4, 4 * 4096))
		return;
	rig_file(&r, 4096 + 10, O_RDWR);
	ops[0] = rig_op(&r, MLGEN_READ, 4096, 4096); /* short: the end */
	ops[1] = rig_op(&r, MLGEN_READ, 0, 4096);
	ops[2] = rig_op(&r, MLGEN_FDATASYNC, 0, 0);
	ops[0].io.flags = ops[1].io.flags = MLGEN_IO_LINK;
	ops[0].eof_ok = true;
	for (unsigned i = 0; i < 3; i++)
		io_submit(r.io, &ops[i]);
	rig_reap(&r, done, 3);
	ck_assert_int_eq(ops[0].io.result, 10);
	ck_assert_int_eq(ops[1].io.result, 4096);
	ck_assert_int_eq(ops[2].io.result, 0);
	rig_end(&r);
}
END_TEST

Suite *suite_engine_io_uring(void)
{
	Suite *s = suite_create("engine_io_uring");
	TCase *t = tcase_create("ring");

	tcase_add_loop_test(t, a_refusal_says_why_and_what_to_do, 0,
			    sizeof(refusal_cases) / sizeof(refusal_cases[0]));
	tcase_add_test(t, not_permitted_names_the_sysctl_or_the_seccomp_profile);
	tcase_add_test(t, a_queue_deeper_than_a_ring_is_refused);
	tcase_add_test(t, the_deepest_queue_can_be_had);
	tcase_add_test(t, what_completes_first_comes_first);
	tcase_add_test(t, reap_without_a_minimum_sees_what_has_completed);
	tcase_add_test(t, reap_gives_up_after_its_time);
	tcase_add_test(t, reap_waits_for_no_more_than_the_minimum);
	tcase_add_test(t, a_signal_does_not_end_the_wait);
	tcase_add_test(t, what_comes_bit_by_bit_does_not_prolong_the_wait);
	tcase_add_test(t, what_a_linked_read_is_followed_by_runs_whatever_it_returned);
	suite_add_tcase(s, t);
	return s;
}
