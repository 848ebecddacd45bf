/* SPDX-License-Identifier: Apache-2.0 */
/* test_process.c - only what is proven to be gone is taken for gone. */
#include "suites.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

START_TEST(this_process_runs)
{
	struct process self, again;

	process_self(&self);
	process_self(&again);
	ck_assert_uint_eq(self.pid, (uint64_t)getpid());
	ck_assert_str_ne(self.host, "");
	ck_assert_str_ne(self.boot_id, "");
	ck_assert_uint_gt(self.start_ticks, 0);
	ck_assert_uint_gt(self.pid_namespace, 0);
	ck_assert(process_is_same(&self, &again));
	ck_assert_int_eq(process_check(&self, &again), PROCESS_RUNS);
}
END_TEST

static enum process_state look(const struct process *p)
{
	struct process self;

	process_self(&self);
	return process_check(p, &self);
}

/* A child writes down who it is, and waits. */
static pid_t start_child(struct process *p)
{
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		process_self(p);
		if (write(fds[1], p, sizeof(*p)) != sizeof(*p))
			_exit(1);
		for (;;)
			pause();
	}
	ck_assert_int_eq(read(fds[0], p, sizeof(*p)), sizeof(*p));
	close(fds[0]);
	close(fds[1]);
	return pid;
}

START_TEST(one_that_was_killed_is_gone_even_if_nobody_has_waited)
{
	struct process p, self;
	siginfo_t info;
	pid_t pid = start_child(&p);

	process_self(&self);
	ck_assert(!process_is_same(&p, &self));
	ck_assert_int_eq(look(&p), PROCESS_RUNS);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(look(&p), PROCESS_GONE);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(look(&p), PROCESS_GONE);
}
END_TEST

START_TEST(a_number_that_was_given_again_is_another_process)
{
	struct process p;

	process_self(&p);
	p.start_ticks--;
	ck_assert_int_eq(look(&p), PROCESS_GONE);
	p.start_ticks = 0;
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
}
END_TEST

START_TEST(another_boot_of_this_machine_has_ended_all)
{
	struct process p;

	process_self(&p);
	snprintf(p.boot_id, sizeof(p.boot_id), "another");
	ck_assert_int_eq(look(&p), p.machine_id[0] ? PROCESS_GONE : PROCESS_UNKNOWN);
	p.boot_id[0] = '\0';
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
}
END_TEST

START_TEST(of_other_hosts_and_containers_nothing_is_known)
{
	struct process self, p = { 0 };

	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
	process_self(&self);
	p = self;
	snprintf(p.host, sizeof(p.host), "elsewhere");
	p.pid = INT32_MAX; /* which nobody has here */
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
	p = self;
	p.pid = INT32_MAX;
	ck_assert_int_eq(look(&p), PROCESS_GONE);
	p.pid_namespace++;
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
	p = self;
	snprintf(p.machine_id, sizeof(p.machine_id), "a twin");
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
	p = self;
	p.pid = (uint64_t)INT32_MAX + 1;
	ck_assert_int_eq(look(&p), PROCESS_UNKNOWN);
}
END_TEST

Suite *suite_process(void)
{
	Suite *s = suite_create("process");
	TCase *t = tcase_create("process");

	tcase_add_test(t, this_process_runs);
	tcase_add_test(t, one_that_was_killed_is_gone_even_if_nobody_has_waited);
	tcase_add_test(t, a_number_that_was_given_again_is_another_process);
	tcase_add_test(t, another_boot_of_this_machine_has_ended_all);
	tcase_add_test(t, of_other_hosts_and_containers_nothing_is_known);
	suite_add_tcase(s, t);
	return s;
}
