/* SPDX-License-Identifier: Apache-2.0 */
/* capture_internal.h - the parts of a recording: its target, child process, clocks and end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "io/host.h"
#include "trace/trace.h"
#include "tracing/capture/capture.h"

/* ---- the recorded command: a child that waits until it is followed ---- */

/* The user that runs the command; zeroed = the current user. Strings and list are owned. */
struct capture_user {
	char *name, *home;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_count;
};

/* Look a user up by name or number; only root may run as another user. 0 or -errno with err. */
int capture_user_find(struct capture_user *u, const char *name, struct mlgen_err *err);
void capture_user_fini(struct capture_user *u); /* accepts a zeroed struct */

struct capture_child {
	pid_t pid;      /* 0 = none */
	int release_fd; /* the child waits for a byte from it */
	int report_fd;  /* reports why the child cannot start */
	bool is_over;
	int wait_status; /* status of waitpid(2); valid once is_over */
};

/* Exit statuses, the same as a shell's. */
enum { CAPTURE_NOT_EXECUTABLE = 126, CAPTURE_NOT_FOUND = 127 };

/* Check that a shell would find the command: 0, or one of the statuses above with err. Only execve
 * shows whether the file can be executed. */
int capture_command_check(const char *command, struct mlgen_err *err);

/*
 * Start a child that waits for capture_child_release(). The child has the signals, the standard
 * files and all other descriptors that this program was started with, and no ambient capabilities.
 * While it waits, any process of the same user may trace it. 0 or -errno with err.
 */
int capture_child_start(struct capture_child *c, char *const *argv, const struct capture_user *user,
			struct mlgen_err *err);

/* Let the child call execve. */
void capture_child_release(struct capture_child *c);

/* Has the child ended? May be called again afterwards. */
bool capture_child_has_ended(struct capture_child *c);

/* Exit status of a child that has ended, as a shell reports it: 128 + the number of a signal. If
 * the command could not be executed: CAPTURE_NOT_FOUND or CAPTURE_NOT_EXECUTABLE with err. */
int capture_child_status(struct capture_child *c, const char *command, struct mlgen_err *err);

/* End a child that still waits. Accepts a zeroed struct, and a child that has ended. */
void capture_child_fini(struct capture_child *c);

/* ---- the status line on standard error ---- */

/* A zeroed line draws nothing. */
struct capture_status_line {
	bool draws, is_drawn;
	uint64_t begin_ns, then_ns; /* start of the recording, last update */
	uint64_t then_records;
};

/* `eta` is an enum settings_eta: on a terminal, always, or never. */
void capture_status_line_begin(struct capture_status_line *l, int eta, uint64_t now_ns);

/* Append "capture 12 s  45,120 events/s  3.2 MB  lost 0  files 12"; `bytes` is the current size of
 * the trace. */
void capture_status_line_append(struct buf *out, const struct capture_status_line *l,
				const struct capture_status *s, uint64_t bytes, uint64_t now_ns);
/* Clear the line before anything else is printed. */
void capture_status_line_erase(struct capture_status_line *l);

/* ---- record until the target ends, the time is over or a signal comes ---- */

/* Reason why a recording ended. */
enum capture_end {
	CAPTURE_ENDED,     /* the target has ended */
	CAPTURE_TIMED_OUT, /* the duration is over */
	CAPTURE_SIGNALED,  /* mltrace received a signal */
	CAPTURE_FAILED,    /* the backend failed */
};

struct capture_watch {
	const struct capture_backend *backend;
	void *state; /* the backend's */
	const struct capture_config *cfg;
	int fd;                      /* the trace, to get its size */
	uint64_t duration_ns;        /* 0 = unlimited */
	struct capture_child *child; /* NULL = the target runs already */
	struct capture_status_line line;
	int pending_signal; /* still to be passed on to the command */
	enum capture_end end;
	struct capture_status status;
};

/*
 * Record. Call on the main thread, which handles signals as SIGNALS_WATCHED. The writer is flushed
 * each second, so that a killed mltrace leaves the records up to the last flush. 0, or -errno with
 * err and CAPTURE_FAILED.
 */
int capture_watch(struct capture_watch *w, struct mlgen_err *err);

/*
 * Wait for the command after the recording. A signal from another process is passed on to the
 * command, including the signal that ended the recording. Signals of the terminal reach both
 * mltrace and the command.
 */
void capture_watch_child(struct capture_watch *w);

/* ---- running processes and control groups ---- */

/* Check that the process can be recorded. -errno with err if the process does not exist, has ended,
 * is a kernel thread or this program, or if `pid` is a thread of another process. */
int capture_pid_check(pid_t pid, struct mlgen_err *err);

/* Does the process run? A zombie does not. */
bool capture_pid_runs(pid_t pid);

/* Get the owner of a process. 0 or -errno. */
int capture_pid_owner(pid_t pid, uid_t *uid);

/* The parent of a process; 0 = not known. */
pid_t capture_pid_parent(pid_t pid);

/* Append the directory of a control group to `out`. `given` is that directory, or the path that
 * /proc/PID/cgroup names. 0 or -errno with err. */
int capture_cgroup_find(struct buf *out, const char *given, struct mlgen_err *err);

/* Does the control group, or a group below it, have a task? True if the kernel does not show this.
 */
bool capture_cgroup_runs(const char *directory);

/* A set of processes or threads; zeroed = empty. */
struct capture_pids {
	pid_t *at;          /* owned */
	size_t count, room; /* vec.h */
};

/* Add a process and all its descendants. */
void capture_pids_tree(struct capture_pids *out, pid_t pid);
/* Add the processes of a control group and of all groups below it. */
void capture_pids_cgroup(struct capture_pids *out, const char *directory);
/* Add the threads of a process, including the main thread. */
void capture_pids_threads(struct capture_pids *out, pid_t pid);
void capture_pids_fini(struct capture_pids *p);

/* If the command is a client such as docker, whose containers are not its descendants, return the
 * name of the client; otherwise NULL. */
const char *capture_client_name(const char *command);

/* ---- clocks: map lines with the time of day, which may be set, to CLOCK_MONOTONIC ---- */

/* Current time of day - CLOCK_MONOTONIC. */
uint64_t capture_wall_minus_clock_ns(void);

/*
 * An offset is time of day - CLOCK_MONOTONIC. A line read from a pipe was written between the last
 * time the pipe was empty and now. If an offset puts the line outside of that interval, the line
 * was written under another offset: before or after a step of the time of day. All times are ns.
 * Used by one thread.
 */
struct capture_clock {
	uint64_t offset_ns; /* applies to current lines */
	uint64_t other_ns;  /* offset before the last step, for calls that began before the step */
	uint64_t host_ns;   /* last measured on this host */
	uint64_t since_ns;  /* offset_ns holds since this time */
	uint64_t least_ns;  /* all later lines were written after this time */
	bool was_set;       /* host_ns changed since the pipe was empty */
};

/* The time that a line carries. */
struct capture_stamp {
	uint64_t wall_ns; /* time of day; 0 = none */
	bool is_earlier;  /* the line may have been written any time after wall_ns */
};

void capture_clock_init(struct capture_clock *c, uint64_t offset_ns);

/* Note the offset of this host's clocks now. */
void capture_clock_observe(struct capture_clock *c, uint64_t host_ns);

/* Note that the pipe is empty: all lines written by `now_ns` of CLOCK_MONOTONIC have been read. */
void capture_clock_drained(struct capture_clock *c, uint64_t now_ns);

/* The offset to subtract from the times of a line that was read by `now_ns`. */
uint64_t capture_clock_offset(struct capture_clock *c, const struct capture_stamp *stamp,
			      uint64_t now_ns);

/* Parse the stamp of a line of strace -ttt -T. strace normally prints a call when it returns, but
 * prints its first half early if another thread prints in between. */
struct capture_stamp capture_stamp_parse(char *line, size_t bytes);
