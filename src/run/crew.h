/* SPDX-License-Identifier: Apache-2.0 */
/* crew.h - some workers that do one thing for every index up to a count. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/clock.h"
#include "io/io.h"
#include "run/traced.h"

struct crew;

/* For others to look at the crew that is at work; a zeroed one has none. */
struct crew_view {
	pthread_mutex_t lock;
	const struct crew *crew;
};

struct crew_config {
	const struct mlgen_engine *engine;
	const void *engine_opts; /* NULL = its defaults */
	struct clock *clock;
	struct stop *stop;
	struct crew_view *view;      /* NULL = nobody looks */
	const struct traced *traced; /* NULL = there is no trace */
	unsigned workers;            /* at most; never more than the count */
	size_t buf_bytes;            /* of each */
};

/* To write files, of which the largest has so many bytes: twice the CPUs, but 8 to 16 of them,
 * since each waits for its own fsync; with 64 KiB (what formats want) to 1 MiB each. */
#define CREW_MOST_BYTES (UINT64_C(1) << 20)
unsigned crew_writers(void);
size_t crew_writer_bytes(uint64_t largest_file_bytes);

/* Told to stop, in the middle of its work: no failure, and of no errno's value, since an operation
 * may fail with any of them. */
enum { CREW_STOPPED = 1 };

/* One thread, with what it needs to work on files. */
struct crew_worker {
	struct crew *crew;
	unsigned index;
	void *owner; /* the task's */
	struct io *io;
	struct opstat stat;
	/* For the task to use; the folder that it holds (below.h; -1 = none) is closed behind
	 * it. */
	char path[PATH_MAX], part[PATH_MAX], folder[PATH_MAX];
	int folder_fd;
};

struct crew_task {
	/* 0, CREW_STOPPED, or -errno with err, which ends all. */
	int (*each)(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
	void *owner;
	uint64_t count;
};

/* The calling thread has joined the clock. 0 or -errno with err. */
int crew_start(struct crew **out, const struct crew_config *cfg, const struct crew_task *task,
	       struct mlgen_err *err);

/* Until all is done, or deadline_ns. */
void crew_wait(struct crew *c, uint64_t deadline_ns);

/* Wait for all, free everything: 0, the first error, or CREW_STOPPED. */
int crew_finish(struct crew *c, struct mlgen_err *err);

/* crew_start and crew_finish. */
int crew_run(const struct crew_config *cfg, const struct crew_task *task, struct mlgen_err *err);

/* Any thread: each of its workers, where there are any. */
void crew_look(struct crew_view *v, void (*look)(void *arg, const struct io *io), void *arg);

/* For `each`: somebody failed or asked to stop. */
bool crew_stopped(const struct crew_worker *w);

/* For `each`: one operation on a file, without data. 0 or -errno. */
int crew_do(struct crew_worker *w, enum mlgen_op op, struct mlgen_file *file);
