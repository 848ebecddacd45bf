/* SPDX-License-Identifier: Apache-2.0 */
/* test_capture.c - the child that is recorded, whom else one may record, and the status line. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "suites.h"
#include "tracing/capture/capture_internal.h"

/* ---- the child ---- */

static void wait_for(struct capture_child *c)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	while (!capture_child_has_ended(c))
		nanosleep(&ms, NULL);
}

/* Its status as a shell has it. */
static int run(const char *text, struct mlgen_err *err)
{
	char sh[] = "/bin/sh", option[] = "-c", script[256];
	char *const argv[] = { sh, option, script, NULL };
	const struct capture_user nobody_else = { 0 };
	struct capture_child c;
	int status;

	snprintf(script, sizeof(script), "%s", text);
	ck_assert_int_eq(capture_child_start(&c, argv, &nobody_else, err), 0);
	capture_child_release(&c);
	wait_for(&c);
	status = capture_child_status(&c, sh, err);
	capture_child_fini(&c);
	return status;
}

static const struct {
	const char *script;
	int status;
} statuses[] = {
	{ "exit 0", 0 },
	{ "exit 7", 7 },
	{ "exit 255", 255 },
	{ "kill -TERM $$", 128 + SIGTERM },
	{ "kill -KILL $$", 128 + SIGKILL },
};

START_TEST(a_status_is_that_of_a_shell)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(run(statuses[_i].script, &err), statuses[_i].status);
	ck_assert_int_eq(err.code, 0);
}
END_TEST

START_TEST(a_child_waits_until_it_may_go)
{
	char program[] = "/bin/true";
	char *const argv[] = { program, NULL };
	const struct capture_user nobody_else = { 0 };
	struct mlgen_err err = { 0 };
	struct capture_child c;

	ck_assert_int_eq(capture_child_start(&c, argv, &nobody_else, &err), 0);
	ck_assert(!capture_child_has_ended(&c));
	ck_assert(capture_pid_runs(c.pid));
	pid_t pid = c.pid;

	/* One that never may go is gone. */
	capture_child_fini(&c);
	ck_assert_int_eq(waitpid(pid, NULL, 0), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(what_cannot_be_executed_says_why)
{
	char program[] = "/no/such/program";
	char *const argv[] = { program, NULL };
	const struct capture_user nobody_else = { 0 };
	struct mlgen_err err = { 0 };
	struct capture_child c;

	ck_assert_int_eq(capture_child_start(&c, argv, &nobody_else, &err), 0);
	capture_child_release(&c);
	wait_for(&c);
	ck_assert_int_eq(capture_child_status(&c, program, &err), CAPTURE_NOT_FOUND);
	ck_assert_str_eq(err.text,
			 "/no/such/program: cannot be executed: No such file or directory");
	capture_child_fini(&c);
}
END_TEST

static const struct {
	const char *command;
	int status;
} commands[] = {
	{ "sh", 0 },
	{ "/bin/sh", 0 },
	{ "", CAPTURE_NOT_FOUND },
	{ "no-such-command-here", CAPTURE_NOT_FOUND },
	{ "/no/such", CAPTURE_NOT_FOUND },
	{ "/etc/passwd/below", CAPTURE_NOT_FOUND },
	{ "/etc/passwd", CAPTURE_NOT_EXECUTABLE },
	{ "/etc", CAPTURE_NOT_EXECUTABLE },
};

START_TEST(commands_are_found_as_a_shell_does)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(capture_command_check(commands[_i].command, &err), commands[_i].status);
	ck_assert_int_eq(err.code != 0, commands[_i].status != 0);
}
END_TEST

/* ---- what runs already ---- */

START_TEST(a_process_may_be_recorded_or_is_refused_in_words)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(capture_pid_check(getppid(), &err), 0);
	ck_assert_int_eq(capture_pid_check(getpid(), &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "is mltrace itself"));
	err = (struct mlgen_err){ 0 };
	ck_assert_int_eq(capture_pid_check(4194304, &err), -ESRCH);
	ck_assert_str_eq(err.text, "pid=4194304: there is no such process; ps -e lists processes");
}
END_TEST

START_TEST(what_has_ended_does_not_run)
{
	struct mlgen_err err = { 0 };
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	siginfo_t info;
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert(!capture_pid_runs(pid));
	ck_assert_int_eq(capture_pid_check(pid, &err), -ESRCH);
	ck_assert_ptr_nonnull(strstr(err.text, "has ended"));
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(a_tree_has_all_descendants)
{
	struct capture_pids pids = { 0 };
	bool has_self = false;

	capture_pids_tree(&pids, getppid());
	ck_assert_uint_ge(pids.count, 2);
	ck_assert_int_eq(pids.at[0], getppid());
	for (size_t i = 0; i < pids.count; i++)
		has_self |= pids.at[i] == getpid();
	ck_assert(has_self);
	capture_pids_fini(&pids);
}
END_TEST

START_TEST(clients_of_containers_are_known_by_their_name)
{
	ck_assert_str_eq(capture_client_name("docker"), "docker");
	ck_assert_str_eq(capture_client_name("/usr/bin/podman"), "podman");
	ck_assert_ptr_null(capture_client_name("./docker/train.py"));
	ck_assert_ptr_null(capture_client_name("dockerd"));
}
END_TEST

/* ---- the status line ---- */

START_TEST(the_line_has_rate_size_losses_and_files)
{
	const struct capture_status_line l = { .begin_ns = NS_PER_S,
					       .then_ns = 12 * NS_PER_S,
					       .then_records = 1000 };
	const struct capture_status s = { .records = 91240, .files = 1234, .lost = 7 };
	struct buf out = { 0 };

	capture_status_line_append(&out, &l, &s, 3240000, 14 * NS_PER_S);
	ck_assert_str_eq(buf_str(&out),
			 "capture 13 s  45,120 events/s  3.2 MB  lost 7  files 1,234");
	buf_reset(&out);
	capture_status_line_append(&out, &l, &s, 0, 12 * NS_PER_S);
	ck_assert_str_eq(buf_str(&out), "capture 11 s  0 events/s  0.0 MB  lost 7  files 1,234");
	buf_fini(&out);
}
END_TEST

Suite *suite_capture(void)
{
	Suite *s = suite_create("capture");
	TCase *t = tcase_create("capture");

	tcase_add_loop_test(t, a_status_is_that_of_a_shell, 0, (int)ARRAY_LEN(statuses));
	tcase_add_test(t, a_child_waits_until_it_may_go);
	tcase_add_test(t, what_cannot_be_executed_says_why);
	tcase_add_loop_test(t, commands_are_found_as_a_shell_does, 0, (int)ARRAY_LEN(commands));
	tcase_add_test(t, a_process_may_be_recorded_or_is_refused_in_words);
	tcase_add_test(t, what_has_ended_does_not_run);
	tcase_add_test(t, a_tree_has_all_descendants);
	tcase_add_test(t, clients_of_containers_are_known_by_their_name);
	tcase_add_test(t, the_line_has_rate_size_losses_and_files);
	suite_add_tcase(s, t);
	return s;
}
