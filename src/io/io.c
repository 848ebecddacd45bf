/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - operations through an engine, and how they are counted. */
#include "io/io_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/dist.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/util.h"

/* Operations after which the same file struct may have another path. */
#define SEEN_NAMES                                                                                 \
	(MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) | MLGEN_CAP(MLGEN_RENAME) |                 \
	 MLGEN_CAP(MLGEN_UNLINK) | MLGEN_CAP(MLGEN_MKDIR) | MLGEN_CAP(MLGEN_RMDIR))

static void seen_path(struct seen *s, unsigned slot, const char *path)
{
	size_t len = strnlen(path, SEEN_PATH_WORDS * 8 - 1);

	for (size_t at = 0; at <= len; at += 8) {
		uint64_t word = 0;

		memcpy(&word, path + at, len - at < 8 ? len - at : 8);
		atomic_store_explicit(&s->path[slot].word[at / 8], word, memory_order_relaxed);
	}
}

static inline void seen_begin(struct seen *s, const struct io_op *op)
{
	struct seen_slot *slot = &s->slots[op->slot];
	const struct mlgen_file *file = op->io.file;

	if (MLGEN_CAP(op->io.op) & SEEN_NAMES)
		s->paths++;
	if (file && (slot->file != file || slot->paths != s->paths)) {
		slot->file = file;
		slot->paths = s->paths;
		seen_path(s, op->slot, file->path ? file->path : "");
	}
	atomic_store_explicit(&slot->op, op->io.op, memory_order_relaxed);
	atomic_store_explicit(&slot->off, op->io.off, memory_order_relaxed);
	atomic_store_explicit(&slot->start_ns, op->start_ns, memory_order_relaxed);
}

static inline void seen_end(struct seen *s, const struct io_op *op)
{
	atomic_store_explicit(&s->slots[op->slot].start_ns, 0, memory_order_relaxed);
}

/* A slot, of which there is one: preferably of its kind. */
static inline unsigned iobuf_take_slot(struct iobuf *b, const struct io_op *op)
{
	bool moves = op->io.op == MLGEN_READ || op->io.op == MLGEN_WRITE;
	struct iobuf_slots *from = &b->others;

	if (from->count == 0 || (moves && b->transfers.count))
		from = &b->transfers;
	return from->slot[--from->count];
}

/* Look at what the engine did: true = hand it over once more. */
static inline bool transfer_goes_on(struct iobuf *buf, struct opstat *stat, struct io_op *op)
{
	if (op->io.result != (int64_t)op->want_bytes || op->is_cut || !transfer_moves(op))
		return transfer_look(buf, stat, op);
	op->done_bytes = op->want_bytes;
	transfer_count(stat, op, op->want_bytes);
	return false;
}

static void copy_slot(const struct seen *s, unsigned slot, struct io_outstanding *out)
{
	const struct seen_slot *from = &s->slots[slot];

	out->off = atomic_load_explicit(&from->off, memory_order_relaxed);
	out->op = (enum mlgen_op)atomic_load_explicit(&from->op, memory_order_relaxed);
	for (size_t i = 0; i < SEEN_PATH_WORDS; i++) {
		uint64_t word = atomic_load_explicit(&s->path[slot].word[i], memory_order_relaxed);

		memcpy(out->path + i * 8, &word, 8);
	}
	out->path[sizeof(out->path) - 1] = '\0';
}

static void seen_init(struct seen *s, unsigned slots)
{
	*s = (struct seen){ .count = slots };
	s->slots = mem_array(slots, sizeof(*s->slots));
	s->path = mem_array(slots, sizeof(*s->path));
}

void seen_fini(struct seen *s)
{
	mem_free(s->slots);
	mem_free(s->path);
	*s = (struct seen){ 0 };
}

/* The oldest of all; nothing is outstanding: start_ns 0. */
static void seen_look(const struct seen *s, struct io_outstanding *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < s->count; i++) {
		uint64_t start = atomic_load_explicit(&s->slots[i].start_ns, memory_order_relaxed);

		if (start == 0 || (out->start_ns && out->start_ns <= start))
			continue;
		out->start_ns = start;
		copy_slot(s, i, out);
	}
}

/* The worker's: whose operation is the oldest; NULL = nothing is outstanding. */
static const struct mlgen_file *seen_oldest(const struct seen *s)
{
	const struct mlgen_file *file = NULL;
	uint64_t oldest = 0;

	for (unsigned i = 0; i < s->count; i++) {
		uint64_t start = atomic_load_explicit(&s->slots[i].start_ns, memory_order_relaxed);

		if (start == 0 || (oldest && oldest <= start))
			continue;
		oldest = start;
		file = s->slots[i].file;
	}
	return file;
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

/* An engine's option is parsed into the one and read as the other. */
_Static_assert(sizeof(struct dist) == sizeof(struct mlgen_dist) &&
		       offsetof(struct dist, a) == offsetof(struct mlgen_dist, a) &&
		       offsetof(struct dist, b) == offsetof(struct mlgen_dist, b) &&
		       DIST_CONST == 0,
	       "mlgen/field.h and base/dist.h differ");

static uint64_t ctx_draw(const struct mlgen_ctx *ctx, const struct mlgen_dist *dist, uint64_t index)
{
	const struct io *io = ctx->clock;
	struct dist own;

	/* Also where `b` is no number for this program. */
	memcpy(&own, dist, sizeof(own));
	return dist_draw(&own, io->seed, RNG_ENGINE, index);
}

static void make_queue(struct io *io, const struct io_config *cfg)
{
	unsigned depth = io->is_sync ? 0 : cfg->iodepth;
	unsigned transfers = depth;

	if (cfg->transfers && cfg->transfers < depth)
		transfers = cfg->transfers;
	iobuf_init(&io->buf, cfg->buf_bytes, depth, transfers);
	io->buf.stamp = cfg->stamp;
	io->place = depth;
	seen_init(&io->seen, depth + 1);
	io->queue = mem_array(depth, sizeof(*io->queue));
	io->reaped = mem_array(depth, sizeof(*io->reaped));
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
		return mlgen_fail(err, -ENOMEM,
				  "mem=hugepage: no huge pages for a buffer of %s, one of %u; "
				  "reserve them (sysctl -w vm.nr_hugepages=N) or use mem=malloc",
				  units_human_bytes(text, (double)bytes), io->ctx.job->workers);
	return mlgen_fail(err, -ENOMEM,
			  "no memory for a buffer of %s, one of %u; lower the request size, the "
			  "iodepth or the number of threads",
			  units_human_bytes(text, (double)bytes), io->ctx.job->workers);
}

static void free_buffer(struct io *io)
{
	if (!io->ctx.buf)
		return;
	if (io->engine->buf_free)
		io->engine->buf_free(&io->ctx, io->ctx.buf, io->ctx.buf_bytes);
	else if (!io->engine->buf_alloc)
		mem_buffer_free(io->ctx.buf, io->ctx.buf_bytes, io->mem);
}

static int start_engine(struct io *io, struct mlgen_err *err)
{
	int rc;

	io->is_init = true; /* fini takes a failed init */
	rc = io->engine->init ? io->engine->init(&io->ctx, err) : 0;
	if (rc < 0)
		/* The first sentence wins: the engine's, if it gave one. */
		return mlgen_fail(err, rc, "ioengine=%s: cannot start: %s", io->engine->name,
				  strerror(-rc));
	return 0;
}

int io_new(struct io **out, const struct io_config *cfg, struct mlgen_err *err)
{
	struct io *io = mem_zalloc(sizeof(*io));
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
		.buf_is_given_back = cfg->gives_back,
		.now_ns = ctx_now,
		.sleep_until = ctx_sleep_until,
		.draw = ctx_draw,
		.clock = io,
	};
	make_queue(io, cfg);
	rc = make_buffer(io, err);
	if (rc == 0)
		rc = start_engine(io, err);
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
	free_buffer(io);
	io->ctx.buf = NULL;
}

void io_free(struct io *io)
{
	if (!io)
		return;
	io_stop(io);
	mem_free(io->reaped);
	mem_free(io->queue);
	seen_fini(&io->seen);
	iobuf_fini(&io->buf);
	mem_free(io);
}

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
