/* SPDX-License-Identifier: Apache-2.0 */
/* strace_line.h - what a line of strace is, and the call in it, as pieces of the line. */
#pragma once

#include "import/trace/strace_text.h"

/* Linux has no greater pid. */
enum { STRACE_TID_MOST = 4194304 };

enum strace_clock {
	STRACE_TIMELESS,
	STRACE_UNIX,     /* -ttt: since 1970 */
	STRACE_DAY,      /* -t, -tt: since midnight */
	STRACE_RELATIVE, /* -r: since the line before */
};

/* What stands before a call, and the rest. */
struct strace_line {
	bool has_tid;
	uint32_t tid;
	enum strace_clock clock;
	uint64_t ns;
	struct strace_text body;
};

/* Takes any line. */
void strace_line_split(struct strace_line *l, struct strace_text line);

/* Takes " <0.000012>" off its end: how long the call took, or TRACE_UNKNOWN. */
uint64_t strace_line_duration(struct strace_text *t);

/* What stands in < > behind a descriptor. */
enum strace_place_kind { PLACE_NONE, PLACE_PATH, PLACE_OTHER };
struct strace_place {
	enum strace_place_kind kind;
	struct strace_text path; /* with escapes */
	bool is_char;            /* a character device, as -yy says */
};

enum { STRACE_ARGS = 8 };

struct strace_call {
	struct strace_text name;
	struct strace_text all; /* arguments */
	struct strace_text args[STRACE_ARGS];
	size_t arg_count;
	bool has_result; /* else it never ended, or nobody knows how */
	int64_t result;  /* a number, or -errno */
	bool failed;
	struct strace_text error; /* its name: ENOENT */
	struct strace_place place;
	uint64_t duration_ns; /* or TRACE_UNKNOWN */
};

/* "NAME(" at its beginning. */
bool strace_call_name(struct strace_text body, struct strace_text *name);

/* A call with its result. NULL, or what is wrong with it: of one without an end there are the
 * arguments, as far as they go. */
const char *strace_call_split(struct strace_call *c, struct strace_text body);

/* "3</a/b>": the number, and the place. False = it is none. AT_FDCWD is AT_FDCWD. */
bool strace_fd(struct strace_text t, int *fd, struct strace_place *place);
