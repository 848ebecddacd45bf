/* SPDX-License-Identifier: Apache-2.0 */
/* capture_whom.h - processes and control groups that run already: may they be recorded, and which
 * tasks are they? */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"

/* Is it a process that can be recorded? 0, or -errno with err: there is none, it has ended, is a
 * thread of one, the kernel's own, or this program. */
int capture_pid_check(pid_t pid, struct mlgen_err *err);

/* Does it still run? Not what has ended and was not waited for. */
bool capture_pid_runs(pid_t pid);

/* Its owner. 0 or -errno. */
int capture_pid_owner(pid_t pid, uid_t *uid);

/* Words with a zero behind each, as execve has them, with blanks between them; owned by the
 * caller. */
char *capture_line_of(const char *words, size_t bytes);
/* The command line of a process; NULL = not known. Owned by the caller. */
char *capture_pid_line(pid_t pid);
/* Who made it; 0 = not known. */
pid_t capture_pid_parent(pid_t pid);

/* The directory of a control group, from itself or from what /proc/PID/cgroup names, appended to
 * `out`. 0 or -errno with err. */
int capture_cgroup_find(struct buf *out, const char *given, struct mlgen_err *err);

/* Has it, with all below it, a task? Also if that cannot be told. */
bool capture_cgroup_runs(const char *directory);

/* Processes, each once. A zeroed one has none. */
struct capture_pids {
	pid_t *at;          /* owned */
	size_t count, room; /* vec.h */
};

/* A process and all that descends from it. */
void capture_pids_tree(struct capture_pids *out, pid_t pid);
/* Those of a control group and of all below it. */
void capture_pids_cgroup(struct capture_pids *out, const char *directory);
/* The threads of a process, itself among them. */
void capture_pids_threads(struct capture_pids *out, pid_t pid);
void capture_pids_fini(struct capture_pids *p);

/* A client that has another program run what is meant: docker, podman ...
 * NULL = it is none. */
const char *capture_is_client(const char *command);
