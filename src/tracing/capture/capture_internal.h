/* SPDX-License-Identifier: Apache-2.0 */
/* capture_internal.h - the parts of a recording: its target, its child, its clocks, its end. */
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

/* ---- the command that is recorded: a child that waits until it is followed, and its end ---- */

/* Whom it runs as. A zeroed one: as this program. */
struct capture_user {
	char *name, *home; /* NULL = nobody else; owned */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	int group_count;
};

/* By name or number; only root may. 0 or -errno with err. */
int capture_user_find(struct capture_user *u, const char *name, struct mlgen_err *err);
void capture_user_fini(struct capture_user *u); /* takes a zeroed one */

struct capture_child {
	pid_t pid;    /* 0 = there is none */
	int go, told; /* what it waits for; what it says if it cannot begin */
	bool is_over;
	int wait_status; /* of waitpid, when it is over */
};

/* As a shell: */
enum { CAPTURE_NOT_EXECUTABLE = 126, CAPTURE_NOT_FOUND = 127 };

/* Would a shell find it? 0, or one of these statuses with err. Whether it can be executed is known
 * only when it is. */
int capture_command_check(const char *command, struct mlgen_err *err);

/*
 * Start it: it has the signals, the standard files and all other descriptors that this program was
 * started with, and no ambient capabilities, and waits. For as long any process of the same user
 * may trace it. 0 or -errno with err.
 */
int capture_child_start(struct capture_child *c, char *const *argv, const struct capture_user *user,
			struct mlgen_err *err);

/* Let it go on to execve. */
void capture_child_go(struct capture_child *c);

/* True: it has ended, whether it is told for the first time or not. */
bool capture_child_look(struct capture_child *c);

/* When it is over: its exit status as a shell has it, 128 + a signal's number. One that could not
 * be executed is CAPTURE_NOT_FOUND or NOT_EXECUTABLE with err. */
int capture_child_status(struct capture_child *c, const char *command, struct mlgen_err *err);

/* One that waits still ends. Takes a zeroed one, and one that is over. */
void capture_child_fini(struct capture_child *c);

/* ---- what a trace of other programs says before its first record ---- */

/* Time of day - CLOCK_MONOTONIC, now. */
uint64_t capture_wall_minus_clock_ns(void);

/* ---- how far a capture is, on standard error ---- */

/* A zeroed one draws nothing. */
struct capture_line {
	bool draws, is_drawn;
	uint64_t begin_ns, then_ns;
	uint64_t then_records;
};

/* `eta` as in settings.h: on a terminal, always, or never. */
void capture_line_begin(struct capture_line *l, int eta, uint64_t now_ns);

/* "capture 12 s  45,120 events/s  3.2 MB  lost 0  files 12": once a second or
 * so. `bytes` is what the file has by now. */
void capture_line_put(struct buf *out, const struct capture_line *l, const struct capture_status *s,
		      uint64_t bytes, uint64_t now_ns);
/* Before anything else is printed: leave an empty line. */
void capture_line_erase(struct capture_line *l);

/* ---- record until it is over: the command, the time, a signal, or what is recorded ---- */

/* What ended a recording. */
enum capture_end {
	CAPTURE_ENDED,    /* what is recorded has ended */
	CAPTURE_TIME,     /* the duration is over */
	CAPTURE_SIGNALED, /* mlgen got one */
	CAPTURE_BROKEN,   /* the back end failed */
};

struct capture_watch {
	const struct capture_backend *backend;
	void *state;
	const struct capture_config *cfg;
	int fd;                      /* of the trace, for its size */
	uint64_t duration_ns;        /* 0 = none */
	struct capture_child *child; /* NULL: it runs already */
	struct capture_line line;
	int pass_on; /* signal that the command did not get */
	/* What came of it. */
	enum capture_end end;
	struct capture_status status;
};

/*
 * The main thread's, which attends to signals as SIGNALS_WATCHED. The writer is flushed each
 * second: what is recorded by then is there if mlgen is killed.
 * 0 or -errno with err: CAPTURE_BROKEN.
 */
int capture_watch(struct capture_watch *w, struct mlgen_err *err);

/* Nothing is recorded any more: until the command has ended, too. A signal that another process
 * sent, also the one that ended the recording, is passed on to it; the terminal gives it to
 * both. */
void capture_watch_child(struct capture_watch *w);

/* ---- processes and control groups that run already: may they be recorded, and which tasks are
 * they? ---- */

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

/* ---- lines with the time of day, which may be set while they come, on CLOCK_MONOTONIC ---- */

/*
 * What is read from a pipe was written between the last time the pipe was found empty and now. A
 * line whose time of day, by the distance of the two clocks, is elsewhere was written by another
 * one: that of before or after a step of the time of day. All times are ns; one thread has it.
 */
struct capture_clock {
	uint64_t offset_ns; /* time of day - CLOCK_MONOTONIC, of lines now */
	uint64_t other_ns;  /* the one before, of calls that began by it */
	uint64_t host_ns;   /* what this host says that it is */
	uint64_t since_ns;  /* lines were written by offset_ns since then */
	uint64_t least_ns;  /* no line to come was written before */
	bool was_set;       /* host_ns is another since the pipe was empty */
};

/* What a line says of the time it was written at. */
struct capture_stamp {
	uint64_t wall_ns; /* by the time of day; 0 = it has none */
	bool is_earlier;  /* it was written then, or any time later */
};

void capture_clock_init(struct capture_clock *c, uint64_t offset_ns);

/* The distance that this host's clocks have now. */
void capture_clock_look(struct capture_clock *c, uint64_t host_ns);

/* All that was written by `now_ns` of CLOCK_MONOTONIC has been taken. */
void capture_clock_empty(struct capture_clock *c, uint64_t now_ns);

/* What to take off the times of a line that has been read by `now_ns`. */
uint64_t capture_clock_of(struct capture_clock *c, const struct capture_stamp *stamp,
			  uint64_t now_ns);

/* Of a line of strace -ttt -T: a whole call is written when it ends, and the first half of one when
 * somebody else has something to say. */
struct capture_stamp capture_stamp_of(char *line, size_t bytes);
