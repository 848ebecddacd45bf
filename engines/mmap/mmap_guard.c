/* SPDX-License-Identifier: Apache-2.0 */
/* mmap_guard.c - turn a SIGBUS in a mapping into an error of the copy. */
#include "mmap.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>

/*
 * The handler of a signal is process-wide, so this engine alone has static variables: the jump
 * target of each thread, and the handler that was set before the first job of this engine.
 */
struct guard {
	sigjmp_buf env;
	const char *from, *to; /* the mapping in use */
};

static _Thread_local struct guard *volatile guard;
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static struct sigaction previous;

/* Pass a signal to the previous handler. If that is the default, restore it: a fault then recurs by
 * itself, but a signal that a process sent has to be raised again. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, context);
		return;
	}
	if (previous.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
		return;
	}
	sigaction(sig, &previous, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

/* The handler ends with a jump, so it has to restore the signal mask itself. Otherwise the next
 * SIGBUS would be blocked, and a blocked SIGBUS ends the process. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	struct guard *g = guard;
	const char *at = info->si_addr;

	if (g && info->si_code > 0 && at >= g->from && at < g->to) {
		guard = NULL;
		pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
		siglongjmp(g->env, 1);
	}
	pass_on(sig, info, context);
}

static void copy_parts(char *at, const struct mlgen_io *op, size_t bytes)
{
	for (const struct iovec *part = op->iov; bytes; part++) {
		size_t n = part->iov_len < bytes ? part->iov_len : bytes;

		if (op->op == MLGEN_READ)
			memcpy(part->iov_base, at, n);
		else
			memcpy(at, part->iov_base, n);
		at += n;
		bytes -= n;
	}
}

int mmap_guard_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	struct sigaction ours = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };
	int rc = 0;

	pthread_mutex_lock(&users_lock);
	if (users == 0 && sigaction(SIGBUS, &ours, &previous) != 0)
		rc = mlgen_fail(err, -errno, "ioengine=mmap: sigaction: %s", strerror(errno));
	else
		job->priv = &users;
	users += job->priv != NULL;
	pthread_mutex_unlock(&users_lock);
	return rc;
}

void mmap_guard_job_fini(struct mlgen_engine_job *job)
{
	pthread_mutex_lock(&users_lock);
	if (job->priv && --users == 0)
		sigaction(SIGBUS, &previous, NULL);
	job->priv = NULL;
	pthread_mutex_unlock(&users_lock);
}

/* Unblock SIGBUS in this thread: a fault whose signal is blocked kills the process. */
void mmap_guard_thread(void)
{
	sigset_t sigbus;

	sigemptyset(&sigbus);
	sigaddset(&sigbus, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &sigbus, NULL);
}

/* sigsetjmp does not save the mask, which would be a system call; on_sigbus restores it. */
int64_t mmap_guard_copy(const struct file_map *m, const struct mlgen_io *op, uint64_t bytes)
{
	struct guard here;

	if (bytes == 0)
		return 0;
	here.from = m->base;
	here.to = m->base + m->mapped_bytes;
	if (sigsetjmp(here.env, 0))
		return -EIO;
	guard = &here;
	atomic_signal_fence(memory_order_seq_cst); /* partner: on_sigbus */
	copy_parts(m->base + op->off, op, (size_t)bytes);
	atomic_signal_fence(memory_order_seq_cst);
	guard = NULL;
	return (int64_t)bytes;
}
