/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - record what a command, or what runs already, asks of storage, as a trace. */
#pragma once

/*
 * capture_run() chooses a backend (BPF programs in the kernel, or strace), opens the trace, starts
 * the command or attaches to what runs, and writes records until the recording is over. Afterwards
 * it prints a short description of the trace on standard error. The main thread calls everything.
 *
 * A backend is a row of functions: capture_bpf and capture_strace. Head, facts and mounts of the
 * trace are written before the backend is opened; processes, threads, files and losses are the
 * backend's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* Whom to record. */
enum capture_whose {
	CAPTURE_COMMAND, /* a child of ours and all that it starts */
	CAPTURE_PID,     /* a process that runs, its descendants, and theirs */
	CAPTURE_CGROUP,  /* all tasks of a control group, and their children */
};

struct host;

struct capture_config {
	enum capture_whose whose;
	pid_t pid;             /* of CAPTURE_PID */
	const char *cgroup;    /* of CAPTURE_CGROUP: its directory */
	uint64_t buffer_bytes; /* between kernel and us; a power of two */
	/* The caller's, as is what it writes to. Head, facts and mounts are in it; processes,
	 * threads, files and losses are the back end's. */
	struct trace_writer *writer;
	uint64_t wall_minus_clock_ns; /* time of day - CLOCK_MONOTONIC */
};

/* As far as it is known at the time. */
struct capture_status {
	uint64_t records, files, processes;
	uint64_t lost; /* events, whatever the reason */
	bool is_over;  /* nothing comes any more */
};

/*
 * Something that can record. One thread calls all of it. `open` gives a state for the others. Those
 * that may fail give 0 or -errno with err.
 *
 * A command is a child that waits for a byte in a pipe before it calls execve; `follow` comes
 * before that byte.
 */
struct capture_backend {
	const char *name; /* "bpf" */
	/* What this one cannot see, for a note; NULL = nothing is left out. */
	const char *blind_to;
	/* Would it work here, on this kernel and with these rights? Else err says what lacks, and
	 * what would mend it. Loads nothing. */
	int (*probe)(struct mlgen_err *err);
	int (*open)(void **state, const struct capture_config *cfg, struct mlgen_err *err);
	/* That child, and all of its children, from now on. */
	int (*follow)(void *state, pid_t child, struct mlgen_err *err);
	/* Of a pid, or a control group: all tasks that are there, and what they start. */
	int (*attach)(void *state, struct mlgen_err *err);
	/* Wait until there is something, at most so long, and write it. -EINTR is no error. */
	int (*drain)(void *state, int timeout_ms, struct mlgen_err *err);
	void (*look)(void *state, struct capture_status *status);
	/* No event any more; write what is on its way, and what was lost. To `notes`, a line each:
	 * what this kernel did not let it see. */
	int (*stop)(void *state, struct capture_status *status, struct buf *notes,
		    struct mlgen_err *err);
	void (*free)(void *state); /* NULL is fine */
};

extern const struct capture_backend capture_bpf;
extern const struct capture_backend capture_strace;

/* ---- a recording ---- */

enum capture_choice { CAPTURE_AUTO, CAPTURE_BPF, CAPTURE_STRACE };

/* One target: a command, a process or a control group. Texts stay the caller's. */
struct capture_args {
	const char *output;   /* the trace */
	char *const *command; /* NULL-ended; NULL = none */
	pid_t pid;            /* 0 = none */
	const char *cgroup;   /* NULL = none */
	const char *user;     /* that the command runs as; NULL = this user */
	uint64_t duration_ns; /* 0 = until the end */
	uint64_t buffer_bytes;
	int backend; /* enum capture_choice */
	int eta;     /* enum settings_eta */
	bool quiet;  /* one line of description */
	bool force;  /* replace a file that is no trace */
	const struct host *host;
};

/* Record. The exit status is that of the command, or as ask/ask.h has it; what went wrong has been
 * reported. */
int capture_run(const struct capture_args *args);
