/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane.c - see replay_lane.h. */
#include "work/plain/replay_lane.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "work/plain/replay_lane_inside.h"

/* Memory for requests of all workers, and what each has at least. */
#define BUFFERS_BYTES (UINT64_C(4) << 20)
#define BUFFER_LEAST_BYTES (UINT64_C(16) << 10)
#define PAGE_BYTES UINT64_C(4096)

const struct replay_done *replay_done_of(const struct stream *s)
{
	return s->own ? &lane_of(s)->told : NULL;
}

static void lane_leave(struct lane *l)
{
	struct stream *s = l->s;

	lane_reap_to(l, 0);
	atomic_store(&l->all->positions[s->index], UINT64_MAX);
	if (s->worker.counts)
		s->wall_ns = lane_now(l) - s->worker.begin_ns;
	s->was_late = false;
}

static void replay_run(struct stream *s)
{
	struct lane *l = lane_of(s);
	const struct replay_op *op;
	struct mlgen_err err = { 0 };
	int rc = 0;

	l->last_ns = lane_start_ns(l);
	while (!stream_is_over(s) && (rc = replay_cursor_next(l->cursor, &op, &err)) > 0) {
		lane_next(l, op);
		if (s->end_ns != UINT64_MAX && lane_now(l) >= s->end_ns)
			break;
	}
	if (rc < 0)
		stream_fail(s, &err);
	lane_leave(l);
	s->is_complete = rc >= 0 && !stream_is_over(s);
}

size_t replay_buffer_bytes(const struct replay_ops *o)
{
	uint64_t one = round_up(u64_max(o->largest_bytes, 1), PAGE_BYTES);
	uint64_t most =
		round_up(u64_max(BUFFERS_BYTES / o->workers, BUFFER_LEAST_BYTES), PAGE_BYTES);

	return (size_t)(one > most / o->depth ? most : one * o->depth);
}

static size_t path_room(const struct replay_ops *o, const char *directory)
{
	return (size_t)u64_min(strlen(directory) + o->longest_name + 3, PATH_MAX);
}

/* One more, for an open that failed in the trace and may not do so here. */
static unsigned handle_count(const struct replay_ops *o)
{
	return o->most_open + 1;
}

size_t replay_open_bytes(const struct replay_ops *o, const char *directory)
{
	return replay_handles_bytes(handle_count(o), path_room(o, directory));
}

static void make_lane_ops(struct lane *l, unsigned depth)
{
	l->ops = mem_array(depth, sizeof(*l->ops));
	l->free = mem_array(depth, sizeof(struct lane_op *));
	l->done = mem_array(depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < depth; i++)
		l->free[l->free_count++] = &l->ops[i];
}

static int replay_set_up(struct stream *s, struct mlgen_err *err)
{
	struct replay_shared *all = s->all->own;
	const struct replay_ops *o = all->ops;
	struct stream_needs needs = { .depth = o->depth,
				      .files = handle_count(o),
				      .buffer_bytes = replay_buffer_bytes(o),
				      .writes = o->bytes[1] > 0 };
	struct lane *l = mem_zalloc(sizeof(*l));

	s->own = l;
	s->depth = o->depth;
	s->is_sync = !s->all->job->engine->reap;
	l->s = s;
	l->all = all;
	l->ns_per_ns = 1 / s->all->job->replay_speed;
	l->told.slices.seconds = o->slice_seconds;
	l->cursor = replay_cursor_new(o, (unsigned)s->index);
	replay_handles_init(&l->handles, handle_count(o), path_room(o, all->files->directory));
	make_lane_ops(l, o->depth);
	return stream_open_io(s, &needs, err);
}

static void replay_close_files(struct stream *s)
{
	struct lane *l = lane_of(s);
	struct replay_handle *h;

	while (l && l->cursor && !lane_in_flight(l) && (h = replay_handles_any(&l->handles)))
		lane_close(l, h, true);
}

static void replay_fini_lane(struct stream *s)
{
	struct lane *l = lane_of(s);

	if (!l)
		return;
	replay_cursor_free(l->cursor);
	replay_handles_fini(&l->handles);
	mem_free(l->ops);
	mem_free(l->free);
	mem_free(l->done);
	mem_free(l);
	s->own = NULL;
}

static const char *replay_why_short(const struct stream *s)
{
	const struct replay_shared *all = s->all->own;

	return all->ops->left_writes ? "writes of which the trace does not know the offset, such "
				       "as appends, were left out, and may have made it that long"
				     : "";
}

const struct stream_kind stream_replay = {
	.why_short = replay_why_short,
	.set_up = replay_set_up,
	.run = replay_run,
	.close_files = replay_close_files,
	.fini = replay_fini_lane,
};
