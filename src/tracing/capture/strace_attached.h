/* SPDX-License-Identifier: Apache-2.0 */
/* strace_attached.h - strace as a child that is attached to others, and what it prints. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mlgen/err.h>

/*
 * It is attached to processes, and starts none: so a command stays our child, with its own status
 * and rights, and goes on unhindered when strace is gone, however that comes. It ends with this
 * program.
 */
struct strace_attached {
	pid_t pid; /* 0 = it is not there */
	int lines; /* to be read: what it prints */
	int words; /* an unnamed file: what it complains of */
	int wait_status;
};

/* Where it is: 0, or -ENOENT with err. */
int strace_attached_find(struct mlgen_err *err);

/* Attach it to so many, and wait until the first is traced. 0 or -errno with err: nothing is left
 * of it then. */
int strace_attached_start(struct strace_attached *s, const pid_t *pids, size_t count,
			  size_t pipe_bytes, struct mlgen_err *err);

/* It lets them go, and its last lines are there to be read before the end. */
void strace_attached_stop(struct strace_attached *s);
/* At once; the kernel lets them go. */
void strace_attached_kill(struct strace_attached *s);

/* When its lines are at their end: wait for it. 0, or -ECHILD with err: it came to an end of its
 * own that is none of a recording. */
int strace_attached_end(struct strace_attached *s, bool was_stopped, struct mlgen_err *err);
