/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_io_uring_means.c - what the ring has registered, what it says of that, what it does
 * without. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "suites.h"
#include "uring_scene.h"

#define NEW "SINGLE_ISSUER|DEFER_TASKRUN|TASKRUN_FLAG|SUBMIT_ALL"

/* clang-format off */
static const struct {
	const char *options[4], *in_use;
	bool can_link;
} means_cases[] = {
	{ { NULL }, "registered files and buffers, " NEW, true },
	{ { "registerfiles=1", "fixedbufs=1", NULL }, "registered files and buffers, " NEW, true },
	{ { "registerfiles=0", NULL }, "registered buffers, " NEW, false },
	{ { "fixedbufs=0", NULL }, "registered files, " NEW, true },
	{ { "registerfiles=0", "fixedbufs=0", NULL }, NEW, false },
	{ { "sqthread_poll=1", NULL }, "registered files and buffers, SQPOLL|SINGLE_ISSUER|SUBMIT_ALL", true },
	{ { "hipri=1", NULL }, "registered files and buffers, " NEW ", polled completions", false },
	{ { "uncached=1", "nowait=1", NULL }, "registered files and buffers, " NEW ", RWF_DONTCACHE, RWF_NOWAIT", true },
};
/* clang-format on */
#define MEANS_CASES (int)(sizeof(means_cases) / sizeof(means_cases[0]))

/* Kernels before 6.1 have other ways to work completions off. */
static bool is_new_linux(struct scene *s)
{
	if (strstr(s->b.ctx.in_use, "DEFER_TASKRUN"))
		return true;
	fprintf(stderr, "skipped: here it is '%s'\n", s->b.ctx.in_use);
	return false;
}

START_TEST(what_is_in_use_is_said)
{
	struct scene s;

	if (!scene_init(&s, means_cases[_i].options, 4, 2, 1))
		return;
	if (strstr(means_cases[_i].in_use, "SQPOLL") || is_new_linux(&s)) {
		ck_assert_str_eq(s.b.ctx.in_use, means_cases[_i].in_use);
		ck_assert_str_eq(s.b.ctx.note, "");
		ck_assert_int_eq(s.b.ctx.can_link, means_cases[_i].can_link);
	}
	scene_end(&s);
}
END_TEST

START_TEST(without_options_the_defaults_hold)
{
	struct scene s;

	if (!scene_init(&s, NULL, 4, 2, 1))
		return;
	if (is_new_linux(&s))
		ck_assert_str_eq(s.b.ctx.in_use, "registered files and buffers, " NEW);
	scene_end(&s);
}
END_TEST

/* Under the limits of a child, which ends with the process that it is. */
static void in_child(void (*run)(const char *option), const char *option)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		run(option);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static void want(bool holds, const struct bare_rig *b)
{
	if (holds)
		return;
	fprintf(stderr, "rc %d, error '%s', in use '%s', note '%s'\n", b->rc, b->err.text,
		b->ctx.in_use, b->ctx.note);
	_exit(1);
}

static void limit(__rlimit_resource_t resource, rlim_t to)
{
	const struct rlimit r = { to, to };

	if (setrlimit(resource, &r))
		_exit(2);
}

static void read_something(struct bare_rig *b)
{
	struct mlgen_file file = { .path = "/dev/zero", .fd = -1 };
	struct mlgen_io op = an_op(MLGEN_OPEN, &file);
	struct iovec iov = { b->ctx.buf, b->ctx.buf_bytes };

	want(bare_do(b, &op) == 0, b);
	op = an_op(MLGEN_READ, &file);
	op.iov = &iov;
	op.iovcnt = 1;
	want(bare_do(b, &op) > 0, b); /* the device stops at work for the task */
	op = an_op(MLGEN_CLOSE, &file);
	want(bare_do(b, &op) == 0, b);
}

static void little_locked_memory(const char *option)
{
	const char *const options[] = { option, NULL };
	struct bare_rig b;

	limit(RLIMIT_MEMLOCK, 64 * 1024);
	if (getuid() == 0 && setresuid(65534, 65534, 65534))
		_exit(3); /* who is root locks what he likes */
	bare_prepare(&b, "io_uring", options, 4);
	bare_buffer(&b, 1 << 20);
	if (!bare_init(&b))
		return;
	want(!strstr(b.ctx.in_use, "buffers"), &b);
	want(strcmp(b.ctx.note, "fixedbufs: not registered: needs 4096 KiB of locked memory, "
				"ulimit -l is 64 KiB; "
				"figures remain comparable") == 0,
	     &b);
	read_something(&b);
	bare_end(&b);
}

START_TEST(little_locked_memory_is_a_note)
{
	in_child(little_locked_memory, _i ? "fixedbufs=1" : "fixedbufs=auto");
}
END_TEST

static void few_descriptors(const char *option)
{
	const char *const options[] = { option, NULL };
	struct bare_rig b;

	limit(RLIMIT_NOFILE, 64);
	bare_prepare(&b, "io_uring", options, 4);
	bare_buffer(&b, 4096);
	b.ctx.files = 100;
	if (strcmp(option, "registerfiles=1") == 0) {
		b.rc = b.engine->init(&b.ctx, &b.err);
		want(b.rc == -EMFILE, &b);
		want(strcmp(b.err.text, "registerfiles: cannot register a table of 100 files: Too "
					"many open files; raise "
					"ulimit -n to this number, or lower iodepth, or drop "
					"registerfiles=1") == 0,
		     &b);
		bare_end(&b);
		return;
	}
	if (!bare_init(&b))
		return;
	want(!b.ctx.can_link && !strstr(b.ctx.in_use, "files"), &b);
	want(strcmp(b.ctx.note,
		    "registerfiles: using ordinary descriptors, not a table of 100 files: "
		    "Too many open files; raise ulimit -n to this number, or lower iodepth") == 0,
	     &b);
	read_something(&b);
	bare_end(&b);
}

START_TEST(too_few_descriptors_are_a_note_or_an_error)
{
	static const char *const options[] = { "registerfiles=auto", "registerfiles=1" };
	struct bare_rig b;

	bare_prepare(&b, "io_uring", NULL, 4);
	if (!bare_init(&b))
		return;
	bare_end(&b);
	in_child(few_descriptors, options[_i]);
}
END_TEST

/* From here on that call meets this error in this process. */
static void refuse(long call, unsigned error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = 4, .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(4);
}

static void nothing_registered(const char *option)
{
	struct bare_rig b;

	(void)option;
	refuse(SYS_io_uring_register, EPERM);
	bare_prepare(&b, "io_uring", NULL, 4);
	bare_buffer(&b, 4096);
	if (!bare_init(&b))
		return;
	want(!b.ctx.can_link && !strstr(b.ctx.in_use, "registered"), &b);
	want(strstr(b.ctx.note, "seccomp") && strstr(b.ctx.note, "fixedbufs"), &b);
	read_something(&b);
	bare_end(&b);
}

START_TEST(without_registration_it_works_all_the_same)
{
	in_child(nothing_registered, NULL);
}
END_TEST

static void no_memory_for_requests(const char *option)
{
	struct mlgen_file file = { .path = "/dev/zero", .fd = -1 };
	struct mlgen_io op = an_op(MLGEN_OPEN, &file), *io = &op;
	struct bare_rig b;

	(void)option;
	bare_prepare(&b, "io_uring", NULL, 4);
	if (!bare_init(&b))
		return;
	refuse(SYS_io_uring_enter, EAGAIN);
	want(b.engine->submit(&b.ctx, &io, 1) == -EAGAIN, &b);
	bare_end(&b);
}

START_TEST(a_kernel_that_takes_nothing_for_ever_ends_the_worker)
{
	in_child(no_memory_for_requests, NULL);
}
END_TEST

START_TEST(a_queue_of_a_polling_thread_is_half_as_deep)
{
	static const char *const options[] = { "sqthread_poll=1", NULL };
	struct bare_rig b;

	bare_prepare(&b, "io_uring", options, 16385);
	ck_assert_int_eq(b.engine->init(&b.ctx, &b.err), -EINVAL);
	ck_assert_str_eq(b.err.text, "iodepth: 16385 is above the capacity of an io_uring ring "
				     "with sqthread_poll, 16384");
	bare_end(&b);
}
END_TEST

static TCase *case_of_means(void)
{
	TCase *t = tcase_create("means");

	tcase_add_loop_test(t, what_is_in_use_is_said, 0, MEANS_CASES);
	tcase_add_test(t, without_options_the_defaults_hold);
	tcase_add_loop_test(t, little_locked_memory_is_a_note, 0, 2);
	tcase_add_loop_test(t, too_few_descriptors_are_a_note_or_an_error, 0, 2);
	tcase_add_test(t, without_registration_it_works_all_the_same);
	tcase_add_test(t, a_kernel_that_takes_nothing_for_ever_ends_the_worker);
	tcase_add_test(t, a_queue_of_a_polling_thread_is_half_as_deep);
	return t;
}

Suite *suite_engine_io_uring_means(void)
{
	Suite *s = suite_create("engine_io_uring_means");

	suite_add_tcase(s, case_of_means());
	return s;
}
