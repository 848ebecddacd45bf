/* SPDX-License-Identifier: Apache-2.0 */
/* tier_thread.h - a thread of a cache tier's own, which reads or writes as one of its loaders
 * does. */
#pragma once

#include "run/tier_inside.h"

/*
 * Who fills behind the loaders, fetches ahead of them or fills before the run: a worker with an
 * engine of its own, a reader whose requests are those of one unit after the other, and a loader of
 * the tier. Members up to `work` are set by its owner before it starts, and what stands behind them
 * is the thread's until it is joined.
 */
struct tier_thread {
	struct tier_cache *cache;
	const char *role; /* in traces */
	uint64_t number;  /* as tier_loader_new asks for it */
	unsigned files;
	size_t buf_bytes;
	bool may_stop;       /* the run's end ends its operations */
	bool fills_itself;   /* whatever cache_fill says */
	bool is_not_counted; /* neither what it moves nor when */
	/* All that it does. What fails is said in thread->err. */
	void (*work)(struct tier_thread *thread);
	void *arg;
	struct worker worker;
	struct reader *reader;
	struct tier_loader *loader;
	struct mlgen_err err; /* err.code 0 = none */
};

/* Of one whose first members are set; the others are zero. */
void tier_thread_init(struct tier_thread *t);
int tier_thread_start(struct tier_thread *t, struct mlgen_err *err);
/* Whoever ends it has told `work` to come to its end. 0, or -errno with err: what it has met, but
 * for the run's end, -ECANCELED. */
int tier_thread_join(struct tier_thread *t, struct mlgen_err *err);
/* After it was joined, or never started. */
void tier_thread_fini(struct tier_thread *t);

/* Called by `work` before each unit: what it moves from here on counts if ramp_time is over. */
void tier_thread_begin(struct tier_thread *t);

/* By `work`: the extent that it has begun is done. 0, or -errno with thread->err, where `name` is
 * the option that it is for. */
int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task);
