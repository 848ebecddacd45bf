/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - operations through an engine, and how they are counted. */
#include "io/io_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/dist.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* Operations after which the same file struct may have another path. */
#define CHANGES_PATHS                                                                              \
	(MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) | MLGEN_CAP(MLGEN_RENAME) |                 \
	 MLGEN_CAP(MLGEN_UNLINK) | MLGEN_CAP(MLGEN_MKDIR) | MLGEN_CAP(MLGEN_RMDIR))

static void publish_path(struct published *s, unsigned slot, const char *path)
{
	size_t len = strnlen(path, PATH_WORDS * 8 - 1);

	for (size_t at = 0; at <= len; at += 8) {
		uint64_t word = 0;

		memcpy(&word, path + at, len - at < 8 ? len - at : 8);
		atomic_store_explicit(&s->path[slot].word[at / 8], word, memory_order_relaxed);
	}
}

static inline void publish(struct published *s, const struct io_op *op)
{
	struct published_slot *slot = &s->slots[op->slot];
	const struct mlgen_file *file = op->io.file;

	if (MLGEN_CAP(op->io.op) & CHANGES_PATHS)
		s->paths++;
	if (file && (slot->file != file || slot->paths != s->paths)) {
		slot->file = file;
		slot->paths = s->paths;
		publish_path(s, op->slot, file->path ? file->path : "");
	}
	atomic_store_explicit(&slot->op, op->io.op, memory_order_relaxed);
	atomic_store_explicit(&slot->off, op->io.off, memory_order_relaxed);
	atomic_store_explicit(&slot->start_ns, op->start_ns, memory_order_relaxed);
}

/* Return a free slot, preferably of the operation's kind; there must be one. */
static inline unsigned iobuf_acquire_slot(struct iobuf *b, const struct io_op *op)
{
	struct iobuf_slots *from = &b->others;

	if (from->count == 0 || (transfer_moves(op) && b->transfers.count))
		from = &b->transfers;
	return from->slot[--from->count];
}

/* Account for a result of the engine. True = submit the operation once more. */
static inline bool transfer_continues(struct iobuf *buf, struct opstat *stat, struct io_op *op)
{
	if (op->io.result != (int64_t)op->want_bytes || op->is_cut || !transfer_moves(op))
		return transfer_check_result(buf, stat, op);
	op->done_bytes = op->want_bytes;
	transfer_count(stat, op, op->want_bytes);
	return false;
}

/* The slot of the oldest outstanding operation, and its start; `count` = no operation. */
static unsigned oldest_slot(const struct published *s, uint64_t *start_ns)
{
	unsigned slot = s->count;

	*start_ns = 0;
	for (unsigned i = 0; i < s->count; i++) {
		uint64_t start = atomic_load_explicit(&s->slots[i].start_ns, memory_order_relaxed);

		if (start == 0 || (*start_ns && *start_ns <= start))
			continue;
		*start_ns = start;
		slot = i;
	}
	return slot;
}

static uint64_t ctx_now(const struct mlgen_ctx *ctx)
{
	const struct io *io = ctx->clock;

	return clock_now(io->clock);
}

static bool ctx_sleep_until(const struct mlgen_ctx *ctx, uint64_t ns)
{
	const struct io *io = ctx->clock;

	return stop_sleep_until(io->stop, io->clock, ns);
}

/* An engine's option is parsed as a struct dist and read as a struct mlgen_dist. */
_Static_assert(sizeof(struct dist) == sizeof(struct mlgen_dist) &&
		       offsetof(struct dist, a) == offsetof(struct mlgen_dist, a) &&
		       offsetof(struct dist, b) == offsetof(struct mlgen_dist, b) &&
		       DIST_CONST == 0,
	       "mlgen/field.h and base/dist.h differ");

static uint64_t ctx_draw(const struct mlgen_ctx *ctx, const struct mlgen_dist *dist, uint64_t index)
{
	const struct io *io = ctx->clock;
	struct dist own;

	/* A copy of the bytes keeps `b` even if it is not a valid number. */
	memcpy(&own, dist, sizeof(own));
	return dist_draw(&own, io->seed, RNG_ENGINE, index);
}

static int make_buffer(struct io *io, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	size_t bytes = io->ctx.buf_bytes;

	if (io->engine->buf_alloc)
		io->ctx.buf = io->engine->buf_alloc(&io->ctx, bytes);
	else if (io->engine->caps & MLGEN_CAP_NO_FILES)
		io->ctx.buf = mem_reserve(bytes, io->mem);
	else
		io->ctx.buf = mem_buffer(bytes, io->mem);
	io->buf.base = io->ctx.buf;
	if (io->ctx.buf)
		return 0;
	if (io->mem == MEM_HUGEPAGE && !io->engine->buf_alloc)
		return mlgen_fail(
			err, -ENOMEM,
			"mem=hugepage: no huge pages for a buffer of %s (%u such buffers); reserve "
			"them (sysctl -w vm.nr_hugepages=N) or use mem=malloc",
			units_human_bytes(text, (double)bytes), io->ctx.job->workers);
	return mlgen_fail(err, -ENOMEM,
			  "no memory for a buffer of %s (%u such buffers); lower the request size, "
			  "the iodepth or the number of threads",
			  units_human_bytes(text, (double)bytes), io->ctx.job->workers);
}

int io_new(struct io **out, const struct io_config *cfg, struct mlgen_err *err)
{
	struct io *io = mem_zalloc(sizeof(*io));
	unsigned depth = cfg->job->engine->reap ? cfg->iodepth : 0; /* queue depth */
	unsigned transfers = depth;
	int rc;

	assert(cfg->iodepth > 0 && cfg->buf_bytes > 0);
	io->engine = cfg->job->engine;
	io->is_sync = !io->engine->reap;
	io->clock = cfg->clock;
	io->stat = cfg->stat;
	io->trace = cfg->trace;
	io->iodepth = cfg->iodepth;
	io->mem = cfg->mem;
	io->seed = cfg->seed;
	io->may_meet_fifos = cfg->may_meet_fifos && !(io->engine->caps & MLGEN_CAP_NO_FILES);
	io->stop = cfg->stop;
	io->ends_in_time = cfg->ends_in_time || io->engine->caps & MLGEN_CAP_NO_FILES;
	io->last = &io->first;
	io->ctx = (struct mlgen_ctx){
		.job = cfg->job,
		.opts = cfg->job->opts,
		.iodepth = cfg->iodepth,
		.files = cfg->files ? cfg->files : cfg->iodepth,
		.buf_bytes = cfg->buf_bytes,
		.buf_is_given_back = cfg->renews_pages,
		.now_ns = ctx_now,
		.sleep_until = ctx_sleep_until,
		.draw = ctx_draw,
		.clock = io,
	};
	if (cfg->transfers && cfg->transfers < depth)
		transfers = cfg->transfers;
	iobuf_init(&io->buf, cfg->buf_bytes, depth, transfers);
	io->buf.stamp = cfg->stamp;
	io->in_place_slot = depth;
	io->published.count = depth + 1;
	io->published.slots = mem_array(depth + 1, sizeof(*io->published.slots));
	io->published.path = mem_array(depth + 1, sizeof(*io->published.path));
	io->queue = mem_array(depth, sizeof(*io->queue));
	io->reaped = mem_array(depth, sizeof(*io->reaped));
	rc = make_buffer(io, err);
	if (rc == 0) {
		io->is_init = true; /* fini accepts a failed init */
		rc = io->engine->init ? io->engine->init(&io->ctx, err) : 0;
		if (rc < 0)
			/* An error that the engine has set itself is kept. */
			mlgen_fail(err, rc, "ioengine=%s: cannot start: %s", io->engine->name,
				   strerror(-rc));
	}
	if (rc < 0) {
		io_free(io);
		io = NULL;
	}
	*out = io;
	return rc;
}

void io_stop(struct io *io)
{
	if (io->is_init && io->engine->fini)
		io->engine->fini(&io->ctx);
	io->is_init = false;
	if (io->ctx.buf && io->engine->buf_free)
		io->engine->buf_free(&io->ctx, io->ctx.buf, io->ctx.buf_bytes);
	else if (io->ctx.buf && !io->engine->buf_alloc)
		mem_buffer_free(io->ctx.buf, io->ctx.buf_bytes, io->mem);
	io->ctx.buf = NULL;
}

void io_free(struct io *io)
{
	if (!io)
		return;
	io_stop(io);
	mem_free(io->reaped);
	mem_free(io->queue);
	mem_free(io->published.slots);
	mem_free(io->published.path);
	iobuf_fini(&io->buf);
	mem_free(io);
}

/* Time without a completion after which the oldest operation is checked for a fifo. */
#define FIFO_CHECK_NS NS_PER_S

static bool engine_supports(const struct io *io, const struct io_op *op)
{
	return io->engine->caps & MLGEN_CAP(op->io.op);
}

#define RELEASES (MLGEN_CAP(MLGEN_CLOSE) | MLGEN_CAP(MLGEN_UNLINK))
#define FLUSH (MLGEN_CAP(MLGEN_FSYNC) | MLGEN_CAP(MLGEN_FDATASYNC))

/* Is the stop set, or, with ends_in_time, has its time limit passed? */
static inline bool has_ended(const struct io *io, uint64_t now)
{
	return stop_is_set(io->stop) || (io->ends_in_time && now >= stop_at_ns(io->stop));
}

static __attribute__((cold)) bool is_refused(const struct io *io, const struct io_op *op)
{
	unsigned kind = MLGEN_CAP(op->io.op);

	if (op->is_linked) /* a chain goes out whole */
		return true;
	return !(kind & RELEASES) && (stop_is_set(io->stop) || !(kind & FLUSH));
}

/* Cancel the rest of a transfer in parts if the io has ended. */
static __attribute__((cold)) bool cancel_rest(const struct io *io, struct io_op *op)
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
	atomic_store_explicit(&io->published.slots[op->slot].start_ns, 0, memory_order_relaxed);
	if (__builtin_expect(io->trace != NULL, 0))
		io_trace(io->trace, op, op->slot != io->in_place_slot);
	if (op->io.result < 0)
		return; /* an error is quick and would distort the latency */
	if (op->is_linked)
		opstat_add_linked(io->stat, op->io.op);
	else
		hist_add(io->stat->lat[op->io.op], now - op->start_ns);
}

static uint64_t start_of_call(const struct io *io)
{
	return io->mark_ns ? io->mark_ns : clock_now(io->clock);
}

/* ---- operations in place: by a synchronous engine, or by the io layer itself ---- */

static void submit_sync(struct io *io, struct io_op *op)
{
	struct mlgen_io *e = &op->io;

	io->stat->depth[opstat_depth_class(1)]++;
	io->stat->submits[opstat_batch_class(1)]++;
	io->stat->reaps[opstat_batch_class(1)]++;
	do {
		int rc = io->engine->submit(&io->ctx, &e, 1);

		if (rc != 1)
			e->result = rc < 0 ? rc : -EIO;
	} while (transfer_continues(&io->buf, io->stat, op) && !cancel_rest(io, op));
}

/* Set the time of the last completion, because callers read it to find out that the time is
 * over. */
static __attribute__((cold)) int64_t refuse(struct io *io, struct io_op *op)
{
	io->last_ns = op->start_ns;
	op->done_bytes = 0;
	op->end_ns = op->start_ns;
	op->io.result = -ECANCELED;
	return -ECANCELED;
}

/* Perform an operation and return its result. */
static int64_t do_in_place(struct io *io, struct io_op *op)
{
	uint64_t now;

	op->slot = io->in_place_slot;
	op->is_linked = false;
	op->start_ns = start_of_call(io);
	if (has_ended(io, op->start_ns) && is_refused(io, op))
		return refuse(io, op);
	transfer_begin(&io->buf, io->stat, op);
	publish(&io->published, op);
	if (engine_supports(io, op)) {
		submit_sync(io, op);
	} else {
		do {
			meta_do(&op->io);
		} while (transfer_may_retry(op));
	}
	now = clock_now(io->clock);
	count_add(&io->stat->blocked_ns[op->io.op], now - op->start_ns);
	io->mark_ns = io->last_ns = now;
	io_finish(io, op, now);
	return op->io.result;
}

static void add_done(struct io *io, struct io_op *op)
{
	op->next = NULL;
	*io->last = op;
	io->last = &op->next;
}

static unsigned remove_done(struct io *io, struct io_op **done, unsigned max)
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

/* ---- asynchronous engines ---- */

static void start_queued(struct io *io, uint64_t now)
{
	unsigned started = 0;

	for (unsigned i = 0; i < io->queued; i++) {
		struct io_op *op = (struct io_op *)io->queue[i];

		if (op->is_started)
			continue; /* a resumed operation keeps its start */
		op->is_started = true;
		op->start_ns = now;
		publish(&io->published, op);
		started++;
	}
	io->stat->depth[opstat_depth_class(io->in_engine + io->queued)] += started;
}

/* Cancel the queued operations that are refused; the others stay queued. */
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
		iobuf_release_slot(&io->buf, op->slot);
		io_finish(io, op, now);
		add_done(io, op);
	}
	io->queued = kept;
}

/* Submit the queue as far as the engine accepts it. 0 or -errno. */
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
		return -EAGAIN; /* full although empty: would never progress */
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

/* A wait for completions: at least min, at most max, n so far. */
struct reap_request {
	struct io_op **done;
	unsigned n, min, max;
	uint64_t deadline_ns;
	bool is_late;
};

/* No completion came in FIFO_CHECK_NS: end the fifo that the oldest operation may wait for. A fifo
 * that another process writes to cannot be ended. */
static __attribute__((cold)) void end_fifo(struct io *io)
{
	uint64_t start_ns;
	unsigned slot = oldest_slot(&io->published, &start_ns);
	const struct mlgen_file *file = start_ns ? io->published.slots[slot].file : NULL;

	if (file && meta_end_fifo(file->path) && io->fifos_ended++ == 1)
		log_warn("%s: is a fifo, not a regular file; mlgen waits, because another process "
			 "has it open for writing",
			 file->path);
}

/* Reap once, until the deadline. 0 or -errno. */
static int reap_once(struct io *io, struct reap_request *r)
{
	unsigned max = r->max - r->n, min = r->min > r->n ? r->min - r->n : 0;
	uint64_t before = start_of_call(io), now;
	uint64_t timeout_ns = io->may_meet_fifos ? FIFO_CHECK_NS : UINT64_MAX;
	int n;

	if (r->deadline_ns != CLOCK_NEVER)
		timeout_ns = r->deadline_ns > before ? r->deadline_ns - before : 0;
	if (max > io->in_engine)
		max = io->in_engine;
	if (min > max)
		min = max;
	if (timeout_ns == 0)
		min = 0;
	n = io->engine->reap(&io->ctx, io->reaped, min, max, min ? timeout_ns : 0);
	now = clock_now(io->clock);
	count_add(&io->stat->reap_ns, now - before);
	io->mark_ns = io->last_ns = now;
	if (n < 0)
		return n == -EINTR ? 0 : n;
	io->stat->reaps[opstat_batch_class((unsigned)n)]++;
	r->is_late = r->deadline_ns != CLOCK_NEVER && (timeout_ns == 0 || (unsigned)n < min);
	if (io->may_meet_fifos && n == 0 && min)
		end_fifo(io);
	for (int i = 0; i < n; i++) {
		struct io_op *op = (struct io_op *)io->reaped[i];

		io->in_engine--;
		if (transfer_continues(&io->buf, io->stat, op)) {
			io->queue[io->queued++] = &op->io;
			continue;
		}
		iobuf_release_slot(&io->buf, op->slot);
		io_finish(io, op, now);
		r->done[r->n++] = op;
	}
	return 0;
}

/* Submit and reap until there are min completions, the engine is empty, or the deadline has passed.
 * 0 or -errno. */
static int reap_min(struct io *io, struct reap_request *r)
{
	do {
		int rc = flush(io);

		r->n += remove_done(io, r->done + r->n, r->max - r->n);
		if (rc)
			return rc;
		if (io->in_engine == 0 || r->n >= r->max)
			return 0;
		io->error = reap_once(io, r);
	} while (!io->error && r->n < r->min && !r->is_late);
	return io->error;
}

void io_renew_pages(struct io *io, const struct io_op *op, enum mem_pages pages)
{
	mem_reset_pages(
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
	bool is_linked = op->io.flags & MLGEN_IO_LINK;

	assert(io->in_flight < io->iodepth);
	io->in_flight++;
	if (io->is_sync || !engine_supports(io, op)) {
		add_done(io, op);
		do_in_place(io, op);
		return;
	}
	assert(!is_linked || io->in_flight < io->iodepth);
	op->slot = iobuf_acquire_slot(&io->buf, op);
	op->is_linked = is_linked || io->in_chain;
	io->in_chain = is_linked;
	transfer_begin(&io->buf, io->stat, op);
	io->queue[io->queued++] = &op->io;
	if (io->in_flight == io->iodepth)
		flush(io); /* io_reap reports its error */
}

unsigned io_room(const struct io *io)
{
	return io->iodepth - io->in_flight;
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
	struct reap_request r = { .done = done,
				  .n = remove_done(io, done, max),
				  .min = min < max ? min : max,
				  .max = max,
				  .deadline_ns = deadline_ns };
	int rc = io->is_sync ? 0 : reap_min(io, &r);

	io->in_flight -= r.n;
	return r.n == 0 && rc < 0 ? rc : (int)r.n;
}

int64_t io_do(struct io *io, struct io_op *op)
{
	struct io_op *done;
	int rc;

	assert(io->in_flight == 0);
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
	const struct published *s = &io->published;
	uint64_t start_ns;
	unsigned slot = oldest_slot(s, &start_ns);

	memset(out, 0, sizeof(*out));
	if (start_ns == 0)
		return;
	out->start_ns = start_ns;
	out->off = atomic_load_explicit(&s->slots[slot].off, memory_order_relaxed);
	out->op = (enum mlgen_op)atomic_load_explicit(&s->slots[slot].op, memory_order_relaxed);
	for (size_t i = 0; i < PATH_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&s->path[slot].word[i], memory_order_relaxed);

		memcpy(out->path + i * 8, &word, 8);
	}
	out->path[sizeof(out->path) - 1] = '\0';
}
