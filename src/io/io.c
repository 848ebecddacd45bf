/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - one worker's way to its engine: the only caller of submit and reap. */

#include "io/io_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "io/io_trace.h"
#include "io/meta.h"
#include "io/transfer.h"

/* A storage that takes longer for an answer is looked at in vain. */
#define FIFO_LOOK_NS NS_PER_S

static bool engine_takes(const struct io *io, const struct io_op *op)
{
	return io->engine->caps & MLGEN_CAP(op->io.op);
}

#define GIVE_BACK (MLGEN_CAP(MLGEN_CLOSE) | MLGEN_CAP(MLGEN_UNLINK))
#define FLUSH (MLGEN_CAP(MLGEN_FSYNC) | MLGEN_CAP(MLGEN_FDATASYNC))

/* The stop is set, or its time over where that is the io's, too. */
static inline bool has_ended(const struct io *io, uint64_t now)
{
	return stop_is_set(io->stop) || (io->ends_in_time && now >= stop_at_ns(io->stop));
}

static __attribute__((cold)) bool is_refused(const struct io *io, const struct io_op *op)
{
	unsigned kind = MLGEN_CAP(op->io.op);

	if (op->is_linked) /* a chain goes out whole */
		return true;
	return !(kind & GIVE_BACK) && (stop_is_set(io->stop) || !(kind & FLUSH));
}

/* Of one that goes on: the rest of it is left. */
static __attribute__((cold)) bool goes_no_further(const struct io *io, struct io_op *op)
{
	if (!has_ended(io, clock_now(io->clock)) || !is_refused(io, op))
		return false;
	op->io.result = -ECANCELED;
	return true;
}

static inline void io_finish(struct io *io, struct io_op *op, uint64_t now)
{
	op->end_ns = now;
	if (op->is_cut) {
		op->io.off = op->first_off;
		op->io.len_bytes = op->want_bytes;
	}
	seen_end(&io->seen, op);
	if (__builtin_expect(io->trace != NULL, 0))
		io_trace(io->trace, op, op->slot != io->place);
	if (op->io.result < 0)
		return; /* an error is quick, and no operation done */
	if (op->is_linked)
		opstat_add_linked(io->stat, op->io.op);
	else
		hist_add(io->stat->lat[op->io.op], now - op->start_ns);
}

/* The clock has just been read. */
static void mark(struct io *io, uint64_t now)
{
	io->mark_ns = now;
	io->last_ns = now;
}

static uint64_t start_of_call(const struct io *io)
{
	return io->mark_ns ? io->mark_ns : clock_now(io->clock);
}

/* In place: a synchronous engine's operation, or one that we do ourselves. */

static void engine_does(struct io *io, struct io_op *op)
{
	struct mlgen_io *e = &op->io;

	io->stat->depth[opstat_depth_class(1)]++;
	io->stat->submits[opstat_batch_class(1)]++;
	io->stat->reaps[opstat_batch_class(1)]++;
	do {
		int rc = io->engine->submit(&io->ctx, &e, 1);

		if (rc != 1)
			e->result = rc < 0 ? rc : -EIO;
	} while (transfer_goes_on(&io->buf, io->stat, op) && !goes_no_further(io, op));
}

static __attribute__((cold)) void we_do(struct io_op *op)
{
	do {
		meta_do(&op->io);
	} while (transfer_try_again(op));
}

/* Who looks at the last completion for the time has to see that it is over. */
static __attribute__((cold)) int64_t refuse(struct io *io, struct io_op *op)
{
	io->last_ns = op->start_ns;
	op->done_bytes = 0;
	op->end_ns = op->start_ns;
	op->io.result = -ECANCELED;
	return -ECANCELED;
}

/* Its result. */
static int64_t do_in_place(struct io *io, struct io_op *op)
{
	uint64_t now;

	op->slot = io->place;
	op->is_linked = false;
	op->start_ns = start_of_call(io);
	if (has_ended(io, op->start_ns) && is_refused(io, op))
		return refuse(io, op);
	transfer_begin(&io->buf, io->stat, op);
	seen_begin(&io->seen, op);
	if (engine_takes(io, op))
		engine_does(io, op);
	else
		we_do(op);
	now = clock_now(io->clock);
	count_add(&io->stat->blocked_ns[op->io.op], now - op->start_ns);
	mark(io, now);
	io_finish(io, op, now);
	return op->io.result;
}

static void add_done(struct io *io, struct io_op *op)
{
	op->next = NULL;
	*io->last = op;
	io->last = &op->next;
}

static unsigned take_done(struct io *io, struct io_op **done, unsigned max)
{
	unsigned n = 0;

	for (; n < max && io->first; n++) {
		done[n] = io->first;
		io->first = io->first->next;
	}
	if (!io->first)
		io->last = &io->first;
	return n;
}

/* Asynchronous engines. */

static void start_queued(struct io *io, uint64_t now)
{
	unsigned started = 0;

	for (unsigned i = 0; i < io->queued; i++) {
		struct io_op *op = (struct io_op *)io->queue[i];

		if (op->is_started)
			continue; /* resumed: its time runs on */
		op->is_started = true;
		op->start_ns = now;
		seen_begin(&io->seen, op);
		started++;
	}
	io->stat->depth[opstat_depth_class(io->in_engine + io->queued)] += started;
}

/* What is refused of the queue is done with; the rest stays. */
static __attribute__((cold)) void cancel_queued(struct io *io, uint64_t now)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < io->queued; i++) {
		struct io_op *op = (struct io_op *)io->queue[i];

		if (!is_refused(io, op)) {
			io->queue[kept++] = io->queue[i];
			continue;
		}
		if (!op->is_started)
			op->start_ns = now;
		op->io.result = -ECANCELED;
		iobuf_give_slot(&io->buf, op->slot);
		io_finish(io, op, now);
		add_done(io, op);
	}
	io->queued = kept;
}

/* Hand the queue over, as far as the engine takes it. 0 or -errno. */
static int push_queued(struct io *io)
{
	unsigned at = 0;
	int n = 1;

	while (at < io->queued && n > 0) {
		n = io->engine->submit(&io->ctx, io->queue + at, io->queued - at);
		if (n < 0)
			break;
		io->stat->submits[opstat_batch_class((unsigned)n)]++;
		at += (unsigned)n;
	}
	io->in_engine += at;
	io->queued -= at;
	if (io->queued)
		memmove(io->queue, io->queue + at, io->queued * sizeof(io->queue[0]));
	if (n == 0 && io->in_engine == 0)
		return -EAGAIN; /* full with nothing in it: never moves */
	return n < 0 ? n : 0;
}

static int flush(struct io *io)
{
	enum mlgen_op kind;
	uint64_t before, now;

	assert(!io->in_chain); /* a chain goes out whole */
	if (io->error || io->queued == 0)
		return io->error;
	before = start_of_call(io);
	if (has_ended(io, before)) {
		io->last_ns = before;
		cancel_queued(io, before);
	}
	if (io->queued == 0)
		return 0;
	kind = io->queue[0]->op;
	start_queued(io, before);
	io->error = push_queued(io);
	now = clock_now(io->clock);
	count_add(&io->stat->blocked_ns[kind], now - before);
	io->mark_ns = now;
	return io->error;
}

static void enqueue(struct io *io, struct io_op *op)
{
	bool is_linked = op->io.flags & MLGEN_IO_LINK;

	assert(!is_linked || io->under_way < io->iodepth);
	op->slot = iobuf_take_slot(&io->buf, op);
	op->is_linked = is_linked || io->in_chain;
	io->in_chain = is_linked;
	transfer_begin(&io->buf, io->stat, op);
	io->queue[io->queued++] = &op->io;
	if (io->under_way == io->iodepth)
		flush(io); /* io_reap reports its error */
}

/* What an engine gives back: true = done with, else queued once more. */
static bool completed(struct io *io, struct io_op *op, uint64_t now)
{
	io->in_engine--;
	if (transfer_goes_on(&io->buf, io->stat, op)) {
		io->queue[io->queued++] = &op->io;
		return false;
	}
	iobuf_give_slot(&io->buf, op->slot);
	io_finish(io, op, now);
	return true;
}

/* Who waits for completions: at least min, at most max, n of them so far. */
struct reaping {
	struct io_op **done;
	unsigned n, min, max;
	uint64_t deadline_ns;
	bool is_late;
};

static uint64_t timeout_of(const struct io *io, const struct reaping *r, uint64_t now)
{
	if (r->deadline_ns != CLOCK_NEVER)
		return r->deadline_ns > now ? r->deadline_ns - now : 0;
	return io->may_meet_fifos ? FIFO_LOOK_NS : UINT64_MAX;
}

/* Nothing came for so long: is it a fifo that it waits for? One that somebody else writes to cannot
 * be ended. */
static __attribute__((cold)) void look_at_oldest(struct io *io)
{
	const struct mlgen_file *file = seen_oldest(&io->seen);

	if (file && meta_end_fifo(file->path) && io->fifo_looks++ == 1)
		log_warn("%s: is a fifo, and no regular file; who writes to it keeps it open, and "
			 "it is waited for",
			 file->path);
}

/* 0 or -errno. */
static int io_collect(struct io *io, struct reaping *r)
{
	unsigned max = r->max - r->n, min = r->min > r->n ? r->min - r->n : 0;
	uint64_t before = start_of_call(io), now;
	uint64_t timeout_ns = timeout_of(io, r, before);
	int n;

	if (max > io->in_engine)
		max = io->in_engine;
	if (min > max)
		min = max;
	if (timeout_ns == 0)
		min = 0;
	n = io->engine->reap(&io->ctx, io->reaped, min, max, min ? timeout_ns : 0);
	now = clock_now(io->clock);
	count_add(&io->stat->reap_ns, now - before);
	mark(io, now);
	if (n < 0)
		return n == -EINTR ? 0 : n;
	io->stat->reaps[opstat_batch_class((unsigned)n)]++;
	r->is_late = r->deadline_ns != CLOCK_NEVER && (timeout_ns == 0 || (unsigned)n < min);
	if (io->may_meet_fifos && n == 0 && min)
		look_at_oldest(io);
	for (int i = 0; i < n; i++) {
		struct io_op *op = (struct io_op *)io->reaped[i];

		if (completed(io, op, now))
			r->done[r->n++] = op;
	}
	return 0;
}

/* Turn until there are min, or nothing is under way, or it is too late. 0 or -errno. */
static int turn(struct io *io, struct reaping *r)
{
	do {
		int rc = flush(io);

		r->n += take_done(io, r->done + r->n, r->max - r->n);
		if (rc)
			return rc;
		if (io->in_engine == 0 || r->n >= r->max)
			return 0;
		io->error = io_collect(io, r);
	} while (!io->error && r->n < r->min && !r->is_late);
	return io->error;
}

void io_give_back(struct io *io, const struct io_op *op, enum mem_pages pages)
{
	mem_renew(
		iobuf_at(&io->buf, op),
		(size_t)(op->want_bytes < io->buf.span_bytes ? op->want_bytes : io->buf.span_bytes),
		pages);
	io_wake(io);
}

void *io_buffer(struct io *io, size_t *bytes)
{
	*bytes = io->ctx.buf_bytes;
	return io->ctx.buf;
}

void io_submit(struct io *io, struct io_op *op)
{
	assert(io->under_way < io->iodepth);
	io->under_way++;
	if (!io->is_sync && engine_takes(io, op)) {
		enqueue(io, op);
		return;
	}
	add_done(io, op);
	do_in_place(io, op);
}

unsigned io_room(const struct io *io)
{
	return io->iodepth - io->under_way;
}

void io_flush(struct io *io)
{
	flush(io);
}

bool io_can_link(const struct io *io)
{
	return !io->is_sync && io->ctx.can_link;
}

const char *io_in_use(const struct io *io)
{
	return io->ctx.in_use;
}

const char *io_note(const struct io *io)
{
	return io->ctx.note;
}

int io_reap(struct io *io, struct io_op **done, unsigned min, unsigned max)
{
	return io_reap_until(io, done, min, max, CLOCK_NEVER);
}

int io_reap_until(struct io *io, struct io_op **done, unsigned min, unsigned max,
		  uint64_t deadline_ns)
{
	struct reaping r = { .done = done,
			     .n = take_done(io, done, max),
			     .min = min < max ? min : max,
			     .max = max,
			     .deadline_ns = deadline_ns };
	int rc = io->is_sync ? 0 : turn(io, &r);

	io->under_way -= r.n;
	return r.n == 0 && rc < 0 ? rc : (int)r.n;
}

int64_t io_do(struct io *io, struct io_op *op)
{
	struct io_op *done;
	int rc;

	assert(io->under_way == 0);
	if (io->is_sync)
		return do_in_place(io, op);
	io_submit(io, op);
	rc = io_reap(io, &done, 1, 1);
	return rc < 0 ? rc : op->io.result;
}

void io_wake(struct io *io)
{
	io->mark_ns = 0;
}

uint64_t io_last_ns(const struct io *io)
{
	return io->last_ns;
}

void io_look(const struct io *io, struct io_outstanding *out)
{
	seen_look(&io->seen, out);
}
