/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - some workers that do one thing for every index up to a count. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/clock.h"
#include "io/io.h"

struct crew_config {
	const struct mlgen_engine *engine;
	const void *engine_opts; /* NULL = its defaults */
	struct clock *clock;
	const _Atomic bool *stop; /* set elsewhere: leave soon */
	unsigned workers;         /* at most; never more than the count */
};

/* Told to stop, in the middle of its work: no failure, and of no errno's value,
 * since an operation may fail with any of them. */
enum { CREW_STOPPED = 1 };

/* One thread, with what it needs to work on files. */
struct crew_worker {
	struct crew *crew;
	void *owner; /* the task's */
	struct io *io;
	struct opstat stat;
	char path[PATH_MAX], part[PATH_MAX]; /* for the task to use */
};

struct crew_task {
	/* 0, CREW_STOPPED, or -errno with err, which ends all. */
	int (*each)(struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err);
	void *owner;
	uint64_t count;
};

struct crew;

/* The calling thread has joined the clock. 0 or -errno with err. */
int crew_start(struct crew **out, const struct crew_config *cfg,
	       const struct crew_task *task, struct mlgen_err *err);

/* Until all is done, or deadline_ns. */
void crew_wait(struct crew *c, uint64_t deadline_ns);

/* Wait for all, free everything: 0, the first error, or CREW_STOPPED. */
int crew_finish(struct crew *c, struct mlgen_err *err);

/* crew_start and crew_finish. */
int crew_run(const struct crew_config *cfg, const struct crew_task *task,
	     struct mlgen_err *err);

/* For `each`: somebody failed or asked to stop. */
bool crew_stopped(const struct crew_worker *w);

/* For `each`: one operation on a file, without data. 0 or -errno. */
int crew_do(struct crew_worker *w, enum mlgen_op op, struct mlgen_file *file);
/* The same on the name alone. */
int crew_do_path(struct crew_worker *w, enum mlgen_op op, const char *path);
