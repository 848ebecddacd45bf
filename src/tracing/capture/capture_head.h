/* SPDX-License-Identifier: Apache-2.0 */
/* capture_head.h - what a trace of other programs says before its first record. */
#pragma once

#include <mlgen/err.h>

#include "io/host.h"
#include "trace/trace.h"

struct capture_head {
	const char *path; /* of the trace, for messages */
	int fd;           /* its file, of which nothing stays */
	const struct host *host;
	const char *backend; /* "bpf" */
	const char *user;    /* that the command runs as; NULL = not known */
};

/* Time of day - CLOCK_MONOTONIC, now. */
uint64_t capture_wall_minus_clock_ns(void);

/* A writer that has head, facts and all mounts of this host. 0 or -errno with err. */
int capture_head_write(struct trace_writer **out, const struct capture_head *h,
		       struct mlgen_err *err);
