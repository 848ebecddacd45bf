/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane_do.c - what a worker of a replay does: its operations, and the files that it has
 * open. */
#include <errno.h>

#include "base/util.h"
#include "work/plain/replay_flags.h"
#include "work/plain/replay_lane_inside.h"

/* ---- what comes back ---- */

static void note_moved(struct lane *l, const struct io_op *op)
{
	uint64_t bytes = (uint64_t)op->io.result;

	if (op->io.op != MLGEN_READ && op->io.op != MLGEN_WRITE)
		return;
	l->told.bytes += bytes;
	replay_slices_add(&l->told.slices, (double)(op->end_ns - lane_start_ns(l)) / 1e9, bytes);
}

static void note_lateness(struct lane *l, const struct lane_op *lo)
{
	struct opstat *stat = &l->s->worker.stat;
	const struct io_op *op = &lo->so.io;
	unsigned d = op->io.op == MLGEN_WRITE;

	if (!lo->so.due_ns || (op->io.op != MLGEN_READ && op->io.op != MLGEN_WRITE))
		return;
	l->s->lag_ns = op->start_ns > lo->so.due_ns ? op->start_ns - lo->so.due_ns : 0;
	hist_add(stat->slat[d], l->s->lag_ns);
	hist_add(stat->total[d], l->s->lag_ns + op->end_ns - op->start_ns);
}

static void turn_is_done(struct lane *l, const struct lane_op *lo)
{
	if (!lo->turns)
		return;
	atomic_fetch_add(&lo->turns->done, 1);
	bell_ring(&l->all->go_on, l->s->all->clock);
}

/* A folder that an earlier replay has made. */
static bool is_there_already(const struct io_op *op)
{
	return op->io.op == MLGEN_MKDIR && op->io.result == -EEXIST;
}

static void lane_complete(struct lane *l, struct io_op *op)
{
	struct lane_op *lo = op->owner;

	l->free[l->free_count++] = lo;
	lo->is_back = true;
	if (lo->handle)
		lo->handle->in_flight--;
	l->last_ns = u64_max(l->last_ns, op->end_ns);
	turn_is_done(l, lo);
	if (op->io.result < 0 && !lo->may_fail && !is_there_already(op)) {
		stream_take_error(l->s, op);
		return;
	}
	if (lo->is_extra)
		return;
	l->told.operations++;
	if (op->io.result >= 0) {
		note_moved(l, op);
		note_lateness(l, lo);
	}
}

int lane_reap(struct lane *l, unsigned min, uint64_t deadline_ns)
{
	int n = io_reap_until(stream_io(l->s), l->done, (unsigned)u64_min(min, lane_in_flight(l)),
			      l->s->depth, deadline_ns);

	for (int i = 0; i < n; i++)
		lane_complete(l, l->done[i]);
	return n < 0 ? stream_engine_failed(l->s, n) : n;
}

void lane_reap_to(struct lane *l, unsigned most)
{
	while (lane_in_flight(l) > most)
		if (lane_reap(l, lane_in_flight(l) - most, CLOCK_NEVER) < 0)
			return;
}

/* ---- what goes out ---- */

static struct io_op *lane_take_op(struct lane *l, enum mlgen_op kind, struct mlgen_file *file)
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
	l->has_kept = true;
	l->last_ns = u64_max(l->last_ns, op->start_ns);
}

void lane_flush_before(struct lane *l, uint64_t start_ns)
{
	if (l->has_kept && l->kept_start_ns != start_ns)
		io_flush(stream_io(l->s));
	l->kept_start_ns = start_ns;
	l->has_kept = false;
}

/* What others stand on: it is waited for. Its result. */
static int64_t lane_do(struct lane *l, struct io_op *op)
{
	struct lane_op *lo = op->owner;

	lane_submit(l, op);
	while (!lo->is_back)
		if (lane_reap(l, 1, CLOCK_NEVER) < 0)
			return -EIO;
	return op->io.result;
}

/* ---- open files ---- */

static struct replay_handle *lane_new_handle(struct lane *l, uint32_t id)
{
	struct replay_handle *h = replay_handles_take(&l->handles, id);

	/* There are as many as the trace has open at once, and one more. */
	if (!h)
		return NULL;
	h->file = (struct mlgen_file){ .path = h->path, .fd = -1, .mode = 0644 };
	replay_files_path(l->all->files, id, h->path);
	return h;
}

/* NULL: it failed, which is counted. */
static struct replay_handle *lane_open(struct lane *l, uint32_t id, int flags,
				       const struct replay_op *of)
{
	struct replay_handle *h = lane_new_handle(l, id);
	struct io_op *op;
	struct lane_op *lo;
	int64_t rc;

	if (!h)
		return NULL;
	h->file.flags = flags;
	op = lane_take_op(l, MLGEN_OPEN, &h->file);
	lo = op->owner;
	lo->is_extra = !of;
	lo->may_fail = of && of->flags & REPLAY_MAY_FAIL;
	rc = lane_do(l, op);
	if (rc < 0)
		replay_handles_give(&l->handles, h);
	return rc < 0 ? NULL : h;
}

void lane_close(struct lane *l, struct replay_handle *h, bool is_extra)
{
	struct io_op *op;

	while (h->in_flight && lane_reap(l, 1, CLOCK_NEVER) >= 0)
		;
	if (h->in_flight)
		return;
	op = lane_take_op(l, MLGEN_CLOSE, &h->file);
	((struct lane_op *)op->owner)->is_extra = is_extra;
	lane_do(l, op);
	replay_handles_give(&l->handles, h);
}

/* Opened by itself where the trace does not show it. */
static struct replay_handle *lane_handle(struct lane *l, uint32_t id)
{
	struct replay_handle *h = replay_handles_find(&l->handles, id);

	return h ? h
		 : lane_open(l, id, replay_flags_unseen(l->s->all->job, l->all->files, id), NULL);
}

/* ---- operations ---- */

static void lane_begin_open(struct lane *l, const struct replay_op *op)
{
	struct replay_handle *h =
		lane_open(l, op->file,
			  replay_flags(l->s->all->job, l->all->files, op->file, op->len_bytes), op);

	/* In the trace nobody had it. */
	if (h && op->flags & REPLAY_MAY_FAIL)
		lane_close(l, h, true);
}

/* On the name of a file, or of an open one its state. */
static void lane_begin_named(struct lane *l, const struct replay_op *op)
{
	struct replay_handle *h =
		op->op == MLGEN_STAT ? replay_handles_find(&l->handles, op->file) : NULL;
	struct io_op *io;
	struct lane_op *lo;

	replay_files_path(l->all->files, op->file, l->path);
	l->named = (struct mlgen_file){ .path = l->path, .fd = -1, .mode = 0755 };
	io = lane_take_op(l, op->op, h ? &h->file : &l->named);
	lo = io->owner;
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
	struct replay_handle *h = lane_handle(l, op->file);
	struct io_op *io;
	struct lane_op *lo;

	if (!h) {
		if (turns)
			atomic_fetch_add(&turns->done, 1);
		return;
	}
	io = lane_take_op(l, op->op, &h->file);
	lo = io->owner;
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

static void lane_begin_close(struct lane *l, const struct replay_op *op)
{
	struct replay_handle *h = replay_handles_find(&l->handles, op->file);

	/* Its open failed, which was counted. */
	if (h)
		lane_close(l, h, false);
}

void lane_begin(struct lane *l, const struct replay_op *op, struct replay_turns *turns,
		uint64_t due_ns)
{
	bool is_named = false;

	switch (op->op) {
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_FSYNC:
	case MLGEN_FDATASYNC:
	case MLGEN_ALLOCATE:
		lane_begin_on(l, op, turns, due_ns);
		return;
	case MLGEN_OPEN:
		lane_begin_open(l, op);
		break;
	case MLGEN_CLOSE:
		lane_begin_close(l, op);
		break;
	default:
		is_named = true;
		break;
	}
	if (is_named)
		lane_begin_named(l, op);
	/* These were waited for. */
	if (turns) {
		atomic_fetch_add(&turns->done, 1);
		bell_ring(&l->all->go_on, l->s->all->clock);
	}
}
