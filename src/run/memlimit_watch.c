/* SPDX-License-Identifier: Apache-2.0 */
/* memlimit_watch.c - see memlimit_watch.h. */
#include "run/memlimit_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"

/* Its end of the pipe is closed before the last thread has left the group. */
static void wait_until_gone(pid_t parent)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	while (getppid() == parent)
		nanosleep(&ms, NULL);
}

static void tell_and_remove(struct cgroup g)
{
	char limit[UNITS_TEXT_BYTES];

	if (cgroup_kills(&g, "") > 0)
		log_error("memory_limit: the kernel killed mlgen: it needed more than the %s, and "
			  "there is no report. Raise it, or lower what is kept for each request: "
			  "threads, ranks, bs, iodepth",
			  units_human_bytes(limit, (double)g.limit_bytes));
	cgroup_leave(&g, "");
}

static _Noreturn void wait_for(pid_t parent, int from_parent, const struct cgroup *g)
{
	char byte;

	/* Nobody writes: it ends when the parent does. */
	while (read(from_parent, &byte, 1) < 0 && errno == EINTR)
		;
	wait_until_gone(parent);
	tell_and_remove(*g);
	_exit(0);
}

void memlimit_watch_start(struct memlimit_watch *w, const struct cgroup *g)
{
	pid_t parent = getpid(), child;
	sigset_t all, before;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return;
	/* What is meant for the program, such as ^C, is not for the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		wait_for(parent, ends[0], g);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[0]);
	if (child > 0)
		*w = (struct memlimit_watch){ child, ends[1] };
	else
		close(ends[1]);
}

void memlimit_watch_end(struct memlimit_watch *w)
{
	if (!w->child)
		return;
	kill(w->child, SIGKILL);
	while (waitpid(w->child, NULL, 0) < 0 && errno == EINTR)
		;
	close(w->of_child);
	*w = (struct memlimit_watch){ 0 };
}
