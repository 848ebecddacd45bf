/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane_inside.h - one worker of a replay, for replay_lane*.c alone. */
#pragma once

#include <limits.h>

#include "work/plain/replay_handles.h"
#include "work/plain/replay_lane.h"

/* One operation on its way. */
struct lane_op {
	struct stream_op so;          /* the first member: owner of its io_op is this */
	struct replay_handle *handle; /* NULL = by a name */
	struct replay_turns *turns;
	bool may_fail, is_extra; /* not of the trace: it is not counted */
	bool is_back;
};

struct lane {
	struct stream *s;
	struct replay_shared *all;
	struct replay_cursor *cursor;
	struct replay_handles handles;
	struct lane_op *ops, **free;
	unsigned free_count;
	struct io_op **done;
	char path[PATH_MAX], path2[PATH_MAX];
	struct mlgen_file named;
	uint64_t last_ns;  /* its last submission or completion */
	uint64_t limit_ns; /* up to there of the trace it need not look */
	double ns_per_ns;  /* 1 / replay_speed */
	/* Of those that the engine was not given yet: they go together, as they did in the
	 * trace. */
	uint64_t kept_start_ns;
	bool has_kept;
	struct replay_done told;
};

static inline struct lane *lane_of(const struct stream *s)
{
	return s->own;
}

static inline uint64_t lane_now(const struct lane *l)
{
	return clock_now(l->s->all->clock);
}

static inline unsigned lane_in_flight(const struct lane *l)
{
	return l->s->depth - l->free_count;
}

static inline uint64_t lane_start_ns(const struct lane *l)
{
	return atomic_load_explicit(&l->s->all->start_ns, memory_order_relaxed);
}

/* ---- what is done (replay_lane_do.c) ---- */

/* How many came back, or -errno: the engine failed. */
int lane_reap(struct lane *l, unsigned min, uint64_t deadline_ns);
/* Until no more than so many are under way. */
void lane_reap_to(struct lane *l, unsigned most);
/* What began at another time goes to the engine by itself. */
void lane_flush_before(struct lane *l, uint64_t start_ns);

/* Do it; reads, writes and syncs may still be under way behind it. */
void lane_begin(struct lane *l, const struct replay_op *op, struct replay_turns *turns,
		uint64_t due_ns);
/* With is_extra the trace has no such close. */
void lane_close(struct lane *l, struct replay_handle *h, bool is_extra);

/* ---- when it may (replay_lane_when.c) ---- */

/* Its time, its turn, and fewer under way; then begin it, unless the run is over. */
void lane_next(struct lane *l, const struct replay_op *op);
