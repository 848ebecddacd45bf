/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - record the storage calls of a command, a process or a control group as a trace. */
#pragma once

/*
 * capture_run() chooses a backend (BPF programs in the kernel, or strace), opens the trace, starts
 * the command or attaches to running processes, and writes records until the recording ends.
 * Afterwards it prints a short description of the trace on standard error. The main thread calls
 * everything.
 *
 * A backend is a row of functions: capture_bpf and capture_strace. capture_run() writes the head,
 * facts and mounts of the trace before it opens the backend; the backend writes processes, threads,
 * files and losses.
 *
 * strace is attached to a command, as to any process that runs already. If strace started the
 * command, --seccomp-bpf could skip the calls that are not printed (0.45 s instead of 0.95 s of CPU
 * for a loop of reads with as many other calls). But such an strace can never detach, setuid
 * programs lose their rights, and calls fail with ENOSYS once strace is killed. An attached strace
 * ends with mltrace, and the command notices nothing.
 *
 * A signal ends the recording, but not mltrace. The command receives the signal, too. mltrace waits
 * until the command ends and returns its exit status; even a third signal does not end mltrace
 * earlier.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

struct host;

/* ---- a recording ---- */

enum capture_choice { CAPTURE_AUTO, CAPTURE_BPF, CAPTURE_STRACE };

/* Exactly one target: a command, a process or a control group. The caller owns all strings. */
struct capture_args {
	const char *output;   /* path of the trace */
	char *const *command; /* NULL-terminated; NULL = none */
	pid_t pid;            /* 0 = none */
	const char *cgroup;   /* NULL = none */
	const char *user;     /* runs the command; NULL = the current user */
	uint64_t duration_ns; /* 0 = until the target ends */
	uint64_t buffer_bytes;
	int backend; /* enum capture_choice */
	int eta;     /* enum settings_eta */
	bool quiet;  /* print only the first line of the description */
	bool force;  /* replace an output file that is not a trace */
	const struct host *host;
};

/* Record. Returns the exit status of the command, or one of ask/ask.h; errors are already
 * reported. */
int capture_run(const struct capture_args *args);

/* ---- backends ---- */

enum capture_target {
	CAPTURE_COMMAND, /* a child of this program and its descendants */
	CAPTURE_PID,     /* a running process and its descendants */
	CAPTURE_CGROUP,  /* all tasks of a control group and their children */
};

struct capture_config {
	enum capture_target whose;
	pid_t pid;                    /* for CAPTURE_PID */
	const char *cgroup;           /* for CAPTURE_CGROUP: its directory */
	uint64_t buffer_bytes;        /* between kernel and reader; a power of two */
	struct trace_writer *writer;  /* the caller's; head, facts and mounts are already written */
	uint64_t wall_minus_clock_ns; /* time of day - CLOCK_MONOTONIC */
};

/* Counts so far. */
struct capture_status {
	uint64_t records, files, processes;
	uint64_t lost; /* events lost for any reason */
	bool is_over;  /* no more events will come */
};

/*
 * A single thread calls all functions of a backend. `open` creates the state that the other
 * functions receive. Functions that may fail return 0 or -errno with err.
 *
 * A command is a child that waits for a byte in a pipe before it calls execve; `follow` is called
 * before that byte is written.
 */
struct capture_backend {
	const char *name;     /* "bpf" */
	const char *blind_to; /* a note about what the backend cannot see; NULL = nothing */
	/* Check, without loading anything, whether the backend works with this kernel and these
	 * rights. If not, err names the missing part and the remedy. */
	int (*probe)(struct mlgen_err *err);
	int (*open)(void **state, const struct capture_config *cfg, struct mlgen_err *err);
	/* Follow the child and its descendants from now on. */
	int (*follow)(void *state, pid_t child, struct mlgen_err *err);
	/* Follow all tasks of the pid or control group of the config, and their descendants. */
	int (*attach)(void *state, struct mlgen_err *err);
	/* Wait up to `timeout_ms` for events and write them. -EINTR is not an error. */
	int (*drain)(void *state, int timeout_ms, struct mlgen_err *err);
	void (*get_status)(void *state, struct capture_status *status);
	/* Stop events, and write the pending ones and the losses. Appends to `notes` one line for
	 * each kind of event that this kernel does not show. */
	int (*stop)(void *state, struct capture_status *status, struct buf *notes,
		    struct mlgen_err *err);
	void (*free)(void *state); /* NULL is fine */
};

extern const struct capture_backend capture_bpf;
extern const struct capture_backend capture_strace;

/* Join NUL-terminated words, as execve and /proc have them, with spaces. The caller owns the
 * result. */
char *capture_join_words(const char *words, size_t bytes);
/* The command line of a process, owned by the caller; NULL = not known. */
char *capture_pid_command_line(pid_t pid);
