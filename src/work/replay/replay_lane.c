/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane.c - a worker, which performs the operations of its threads in order. */
#include "work/replay/replay_internal.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

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

/* ---- operations over time ---- */

static void slice_add(struct replay_slice *to, const struct replay_slice *b)
{
	to->asked_ios += b->asked_ios;
	to->asked_bytes += b->asked_bytes;
	to->done_ios += b->done_ios;
	to->done_bytes += b->done_bytes;
}

/* Join pairs of slices. */
static void replay_slices_fold(struct replay_slices *s)
{
	for (size_t i = 0; i < REPLAY_SLICES; i++) {
		struct replay_slice both = { 0 };

		if (2 * i < REPLAY_SLICES)
			slice_add(&both, &s->slices[2 * i]);
		if (2 * i + 1 < REPLAY_SLICES)
			slice_add(&both, &s->slices[2 * i + 1]);
		s->slices[i] = both;
	}
	s->count = divide_up(s->count, 2);
	s->seconds *= 2;
}

/* Double the length of slices until it is at least `seconds`. */
static void replay_slices_stretch(struct replay_slices *s, double seconds)
{
	/* .999, because lengths that were doubled may differ in the last digit. */
	while (s->seconds > 0 && s->seconds < seconds * .999)
		replay_slices_fold(s);
}

void replay_slices_add(struct replay_slices *s, double at, uint64_t bytes)
{
	while (at >= s->seconds * REPLAY_SLICES)
		replay_slices_fold(s);
	size_t i = (size_t)(at / s->seconds);
	if (i >= REPLAY_SLICES)
		i = REPLAY_SLICES - 1;
	s->slices[i].done_ios++;
	s->slices[i].done_bytes += bytes;
	s->count = u64_max(s->count, i + 1);
}

void replay_slices_merge(struct replay_slices *to, const struct replay_slices *b)
{
	struct replay_slices other = *b;

	replay_slices_stretch(to, other.seconds);
	replay_slices_stretch(&other, to->seconds);
	for (size_t i = 0; i < REPLAY_SLICES; i++)
		slice_add(&to->slices[i], &other.slices[i]);
	to->count = u64_max(to->count, other.count);
}

/* ---- handles of open files ---- */

static struct replay_handle **bucket_of(const struct replay_handles *h, uint32_t id)
{
	return &h->buckets[(id * UINT32_C(2654435761) >> 7) & h->mask];
}

void replay_handles_init(struct replay_handles *h, size_t count, size_t path_bytes)
{
	size_t buckets = 1;

	while (buckets < 2 * count)
		buckets *= 2;
	*h = (struct replay_handles){ .count = count,
				      .mask = buckets - 1,
				      .path_bytes = path_bytes };
	h->all = mem_array(count, sizeof(*h->all));
	h->buckets = mem_array(buckets, sizeof(struct replay_handle *));
	h->paths = mem_array(count, path_bytes);
	for (size_t i = count; i-- > 0;) {
		h->all[i].path = h->paths + i * path_bytes;
		h->all[i].next = h->free;
		h->free = &h->all[i];
	}
}

void replay_handles_fini(struct replay_handles *h)
{
	mem_free(h->all);
	mem_free(h->buckets);
	mem_free(h->paths);
	*h = (struct replay_handles){ 0 };
}

struct replay_handle *replay_handles_find(const struct replay_handles *h, uint32_t id)
{
	struct replay_handle *at = *bucket_of(h, id);

	while (at && at->id != id)
		at = at->next;
	return at;
}

struct replay_handle *replay_handles_acquire(struct replay_handles *h, uint32_t id)
{
	struct replay_handle *handle = h->free, **bucket = bucket_of(h, id);

	if (!handle)
		return NULL;
	h->free = handle->next;
	handle->id = id;
	handle->in_flight = 0;
	handle->next = *bucket;
	*bucket = handle;
	return handle;
}

void replay_handles_release(struct replay_handles *h, struct replay_handle *handle)
{
	struct replay_handle **at = bucket_of(h, handle->id);

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	handle->next = h->free;
	handle->id = 0;
	h->free = handle;
}

struct replay_handle *replay_handles_any(const struct replay_handles *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (h->all[i].id)
			return &h->all[i];
	return NULL;
}

/* ---- completion ---- */

/* Count the bytes and the lateness of a read or write. */
static void count_transfer(struct lane *l, const struct lane_op *lo)
{
	struct opstat *stat = &l->s->worker.stat;
	const struct io_op *op = &lo->so.io;
	uint64_t bytes = (uint64_t)op->io.result;
	unsigned d = op->io.op == MLGEN_WRITE;

	l->figures.bytes += bytes;
	replay_slices_add(&l->figures.slices, (double)(op->end_ns - lane_start_ns(l)) / 1e9, bytes);
	if (!lo->so.due_ns)
		return;
	l->s->lag_ns = op->start_ns > lo->so.due_ns ? op->start_ns - lo->so.due_ns : 0;
	hist_add(stat->slat[d], l->s->lag_ns);
	hist_add(stat->total[d], l->s->lag_ns + op->end_ns - op->start_ns);
}

static void end_turn(struct lane *l, struct replay_turns *turns)
{
	if (!turns)
		return;
	atomic_fetch_add(&turns->done, 1);
	eventcount_notify(&l->all->turn_changed, l->s->all->clock);
}

static void lane_complete(struct lane *l, struct io_op *op)
{
	struct lane_op *lo = op->owner;
	/* An earlier replay may have made the folder. */
	bool is_made = op->io.op == MLGEN_MKDIR && op->io.result == -EEXIST;

	l->free[l->free_count++] = lo;
	lo->is_complete = true;
	if (lo->handle)
		lo->handle->in_flight--;
	l->last_ns = u64_max(l->last_ns, op->end_ns);
	end_turn(l, lo->turns);
	if (op->io.result < 0 && !lo->may_fail && !is_made) {
		stream_handle_error(l->s, op);
		return;
	}
	if (lo->is_extra)
		return;
	l->figures.operations++;
	if (op->io.result >= 0 && (op->io.op == MLGEN_READ || op->io.op == MLGEN_WRITE))
		count_transfer(l, lo);
}

/* Reap completions. Returns their number, or -errno if the engine failed. */
static int lane_reap(struct lane *l, unsigned min, uint64_t deadline_ns)
{
	int n = io_reap_until(stream_io(l->s), l->done, (unsigned)u64_min(min, lane_in_flight(l)),
			      l->s->depth, deadline_ns);

	for (int i = 0; i < n; i++)
		lane_complete(l, l->done[i]);
	return n < 0 ? stream_engine_failed(l->s, n) : n;
}

/* Reap until at most `most` operations are in flight. */
static void lane_reap_to(struct lane *l, unsigned most)
{
	while (lane_in_flight(l) > most)
		if (lane_reap(l, lane_in_flight(l) - most, CLOCK_NEVER) < 0)
			return;
}

/* ---- submission ---- */

static struct io_op *lane_get_op(struct lane *l, enum mlgen_op kind, struct mlgen_file *file)
{
	struct lane_op *lo = l->free[--l->free_count];
	struct io_op *op = &lo->so.io;

	*lo = (struct lane_op){ 0 };
	op->owner = lo;
	op->io.op = kind;
	op->io.file = file;
	return op;
}

static void lane_submit(struct lane *l, struct io_op *op)
{
	if (l->s->is_sync) {
		io_do(stream_io(l->s), op);
		lane_complete(l, op);
		return;
	}
	io_submit(stream_io(l->s), op);
	l->has_batch = true;
	l->last_ns = u64_max(l->last_ns, op->start_ns);
}

/* Submit an operation that later ones depend on, and wait for it. Returns its result. */
static int64_t lane_do(struct lane *l, struct io_op *op)
{
	struct lane_op *lo = op->owner;

	lane_submit(l, op);
	while (!lo->is_complete)
		if (lane_reap(l, 1, CLOCK_NEVER) < 0)
			return -EIO;
	return op->io.result;
}

/* ---- open files ---- */

/* Open a file. `of` is the open in the trace; NULL = the trace has none. Returns NULL if the open
 * failed, which is counted. */
static struct replay_handle *lane_open(struct lane *l, uint32_t id, int flags,
				       const struct replay_op *of)
{
	struct replay_handle *h = replay_handles_acquire(&l->handles, id);

	/* There are as many handles as files are open at once in the trace, plus one. */
	if (!h)
		return NULL;
	h->file = (struct mlgen_file){ .path = h->path, .fd = -1, .flags = flags, .mode = 0644 };
	replay_files_path(l->all->files, id, h->path);
	struct io_op *op = lane_get_op(l, MLGEN_OPEN, &h->file);
	struct lane_op *lo = op->owner;
	lo->is_extra = !of;
	lo->may_fail = of && of->flags & REPLAY_MAY_FAIL;
	int64_t rc = lane_do(l, op);
	if (rc < 0)
		replay_handles_release(&l->handles, h);
	return rc < 0 ? NULL : h;
}

/* Close a file. With is_extra the trace has no such close. */
static void lane_close(struct lane *l, struct replay_handle *h, bool is_extra)
{
	while (h->in_flight && lane_reap(l, 1, CLOCK_NEVER) >= 0)
		;
	if (h->in_flight)
		return;
	struct io_op *op = lane_get_op(l, MLGEN_CLOSE, &h->file);
	((struct lane_op *)op->owner)->is_extra = is_extra;
	lane_do(l, op);
	replay_handles_release(&l->handles, h);
}

/* ---- operations ---- */

/* Begin an operation on the name of a file, or a stat of an open one. */
static void lane_begin_named(struct lane *l, const struct replay_op *op)
{
	struct replay_handle *h =
		op->op == MLGEN_STAT ? replay_handles_find(&l->handles, op->file) : NULL;

	replay_files_path(l->all->files, op->file, l->path);
	l->named = (struct mlgen_file){ .path = l->path, .fd = -1, .mode = 0755 };
	struct io_op *io = lane_get_op(l, op->op, h ? &h->file : &l->named);
	struct lane_op *lo = io->owner;
	lo->may_fail = op->flags & REPLAY_MAY_FAIL;
	if (op->op == MLGEN_RENAME) {
		replay_files_path(l->all->files, (uint32_t)op->off, l->path2);
		io->io.path2 = l->path2;
	}
	lane_do(l, io);
}

static void lane_begin_on(struct lane *l, const struct replay_op *op, struct replay_turns *turns,
			  uint64_t due_ns)
{
	struct replay_handle *h = replay_handles_find(&l->handles, op->file);

	/* The trace may not show the open. */
	if (!h)
		h = lane_open(l, op->file,
			      replay_flags_unseen(l->s->all->job, l->all->files, op->file), NULL);
	if (!h) {
		if (turns)
			atomic_fetch_add(&turns->done, 1);
		return;
	}
	struct io_op *io = lane_get_op(l, op->op, &h->file);
	struct lane_op *lo = io->owner;
	lo->handle = h;
	lo->turns = turns;
	lo->so.due_ns = due_ns;
	lo->may_fail = op->flags & REPLAY_MAY_FAIL;
	io->io.off = op->off;
	io->io.len_bytes = op->len_bytes;
	io->eof_ok = op->op == MLGEN_READ && op->moved_bytes < op->len_bytes;
	io->eof_bytes = op->moved_bytes;
	h->in_flight++;
	lane_submit(l, io);
}

/* Begin an operation. Reads, writes, syncs and allocations may still be in flight afterwards. */
static void lane_begin(struct lane *l, const struct replay_op *op, struct replay_turns *turns,
		       uint64_t due_ns)
{
	struct replay_handle *h;
	int flags;

	switch (op->op) {
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_FSYNC:
	case MLGEN_FDATASYNC:
	case MLGEN_ALLOCATE:
		lane_begin_on(l, op, turns, due_ns);
		return;
	case MLGEN_OPEN:
		flags = replay_flags(l->s->all->job, l->all->files, op->file, op->len_bytes);
		h = lane_open(l, op->file, flags, op);
		/* The open failed in the trace, so the trace has no close for it. */
		if (h && op->flags & REPLAY_MAY_FAIL)
			lane_close(l, h, true);
		break;
	case MLGEN_CLOSE:
		h = replay_handles_find(&l->handles, op->file);
		/* If there is no handle, the open failed and was counted. */
		if (h)
			lane_close(l, h, false);
		break;
	default:
		lane_begin_named(l, op);
		break;
	}
	/* Operations other than those of lane_begin_on() are complete now. */
	end_turn(l, turns);
}

/* ---- times and turns ---- */

/* A worker waits if it is further ahead of the slowest worker than this, in time of the trace. */
#define AHEAD_NS NS_PER_S
/* The interval at which a worker checks conditions for which no eventcount rings. */
#define LOOK_NS UINT64_C(1000000)
/* On an idle host, a wait for completions ends late by less than this time. The last part of a
 * pause, of this length, is therefore spent polling. */
#define SPIN_NS UINT64_C(50000)

/* Wait until until_ns, or until an operation completes. */
static void lane_wait(struct lane *l, uint64_t until_ns)
{
	if (lane_in_flight(l))
		lane_reap(l, 1, u64_min(until_ns, l->s->end_ns));
	else
		stream_sleep_until(l->s, until_ns);
}

/* Wait until exactly until_ns, and reap completions during the wait. */
static void lane_wait_exactly(struct lane *l, uint64_t until_ns)
{
	uint64_t now = lane_now(l);

	if (!lane_in_flight(l)) {
		stream_sleep_until(l->s, until_ns);
		return;
	}
	if (until_ns > now + SPIN_NS)
		lane_reap(l, 1, until_ns - SPIN_NS);
	else
		lane_reap(l, 0, now);
	/* A virtual clock does not advance while it is polled (clock.h). */
	if (lane_now(l) == now)
		lane_wait(l, until_ns);
}

static bool lane_is_over(const struct lane *l)
{
	return stream_is_over(l->s) || (l->s->end_ns != UINT64_MAX && lane_now(l) >= l->s->end_ns);
}

/* Is start_ns more than AHEAD_NS after the position of the slowest worker? */
static bool is_ahead(struct lane *l, uint64_t start_ns)
{
	uint64_t slowest = UINT64_MAX;

	if (start_ns <= l->limit_ns)
		return false;
	for (uint64_t i = 0; i < l->s->all->count; i++)
		slowest = u64_min(
			slowest, atomic_load_explicit(&l->all->positions[i], memory_order_relaxed));
	l->limit_ns = slowest > UINT64_MAX - AHEAD_NS ? UINT64_MAX : slowest + AHEAD_NS;
	return start_ns > l->limit_ns;
}

/* Wait for workers that are more than a second of the trace behind. */
static void await_slowest(struct lane *l, uint64_t start_ns)
{
	atomic_store_explicit(&l->all->positions[l->s->index], start_ns, memory_order_relaxed);
	if (!is_ahead(l, start_ns))
		return;
	uint64_t begin = lane_now(l);
	while (is_ahead(l, start_ns) && !lane_is_over(l))
		lane_wait(l, lane_now(l) + LOOK_NS);
	l->figures.waits++;
	l->figures.wait_ns += lane_now(l) - begin;
}

static uint64_t scaled(const struct lane *l, uint64_t ns)
{
	return (uint64_t)((double)ns * l->time_scale);
}

/* The time at which an operation is due; 0 = at once. */
static uint64_t due_of(const struct lane *l, const struct replay_op *op)
{
	switch (l->s->all->job->replay_time) {
	case REPLAY_FIXED:
		return lane_start_ns(l) + scaled(l, op->start_ns);
	case REPLAY_THINK:
		return op->think_ns
			       ? u64_max(l->last_ns, lane_start_ns(l)) + scaled(l, op->think_ns)
			       : 0;
	default:
		return 0;
	}
}

static void await_turn(struct lane *l, struct replay_turns *t, const struct replay_op *op)
{
	while (!lane_is_over(l)) {
		uint32_t seen = eventcount_get(&l->all->turn_changed);

		if (atomic_load(&t->begun) == op->turn &&
		    op->turn - atomic_load(&t->done) <= op->turn_in_flight)
			break;
		if (lane_in_flight(l))
			lane_reap(l, 1, lane_now(l) + LOOK_NS);
		else
			eventcount_wait(&l->all->turn_changed, l->s->all->clock, seen,
					lane_now(l) + LOOK_NS);
	}
	io_wake(stream_io(l->s));
	atomic_store(&t->begun, op->turn + 1);
	eventcount_notify(&l->all->turn_changed, l->s->all->clock);
}

/* Wait for the time and turn of an operation, and for operations in flight to complete; then begin
 * it unless the run is over. */
static void lane_next(struct lane *l, const struct replay_op *op)
{
	struct replay_turns *turns = l->all->turns;

	if (turns && l->s->all->job->replay_order == REPLAY_BY_FILE)
		turns += op->file;
	/* Operations with the same start are submitted as one batch. */
	if (l->has_batch && l->batch_start_ns != op->start_ns)
		io_flush(stream_io(l->s));
	l->batch_start_ns = op->start_ns;
	l->has_batch = false;
	await_slowest(l, op->start_ns);
	lane_reap_to(l, (unsigned)u64_min(op->in_flight, l->s->depth - 1));
	uint64_t due_ns = due_of(l, op);
	while (due_ns && lane_now(l) < due_ns && !lane_is_over(l))
		lane_wait_exactly(l, due_ns);
	/* The operation begins now: do not use the time at which the previous one ended. */
	if (due_ns)
		io_wake(stream_io(l->s));
	if (turns)
		await_turn(l, turns, op);
	if (lane_is_over(l))
		return;
	lane_begin(l, op, turns, l->s->all->job->replay_time == REPLAY_FIXED ? due_ns : 0);
}

/* ---- workers ---- */

/* Memory for the requests of all workers, and the minimum for one worker. */
#define BUFFERS_BYTES (UINT64_C(4) << 20)
#define BUFFER_LEAST_BYTES (UINT64_C(16) << 10)
#define PAGE_BYTES UINT64_C(4096)

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
	lane_reap_to(l, 0);
	atomic_store(&l->all->positions[s->index], UINT64_MAX);
	if (s->worker.counts)
		s->wall_ns = lane_now(l) - s->worker.begin_ns;
	s->was_late = false;
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

/* An open that failed in the trace may succeed here, and then needs an additional handle. */
static unsigned handle_count(const struct replay_ops *o)
{
	return o->most_open + 1;
}

size_t replay_open_bytes(const struct replay_ops *o, const char *directory)
{
	return (size_t)handle_count(o) * (sizeof(struct replay_handle) + path_room(o, directory) +
					  4 * sizeof(struct replay_handle *));
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
	l->time_scale = 1 / s->all->job->replay_speed;
	l->figures.slices.seconds = o->slice_seconds;
	l->cursor = replay_cursor_new(o, (unsigned)s->index);
	replay_handles_init(&l->handles, handle_count(o), path_room(o, all->files->directory));
	l->ops = mem_array(o->depth, sizeof(*l->ops));
	l->free = mem_array(o->depth, sizeof(struct lane_op *));
	l->done = mem_array(o->depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < o->depth; i++)
		l->free[l->free_count++] = &l->ops[i];
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

	return all->ops->left_writes ? "writes without an offset in the trace, such as appends, "
				       "were left out, and may have extended the file"
				     : "";
}

const struct stream_kind stream_replay = {
	.why_short = replay_why_short,
	.set_up = replay_set_up,
	.run = replay_run,
	.close_files = replay_close_files,
	.fini = replay_fini_lane,
};
