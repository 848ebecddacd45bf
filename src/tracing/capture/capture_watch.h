/* SPDX-License-Identifier: Apache-2.0 */
/* capture_watch.h - record until it is over: the command, the time, a signal, or what is
 * recorded. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "tracing/capture/capture.h"
#include "tracing/capture/capture_child.h"
#include "tracing/capture/capture_line.h"

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
