/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - one worker's way to its engine: the only caller of submit and reap. */

#include "io/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"

/*
 * One engine operation moves at most 1 GiB and 1024 parts: Linux cuts a
 * transfer at 2 GiB less a page and refuses more parts (UIO_MAXIOV).
 */
#define ONE_CALL_BYTES (1ull << 30)
#define ONE_CALL_PARTS 1024ull
/* Part lists of all slots of a deep queue: 1 MiB, at least 16 parts each. */
#define ALL_PARTS 65536ull
#define LEAST_PARTS 16ull

#define SLICE_BYTES 4096ull /* slices of the buffer are multiples of it */
#define DIRECT_BYTES 512ull /* O_DIRECT goes on at multiples at best */

/* Without progress; enough for a signal or two, and never an endless loop. */
#define TRIES_MAX 100u

#define PATH_WORDS (sizeof(((struct io_outstanding *)0)->path) / 8)

/* What io_look sees of one operation; this thread writes, others read. */
struct seen {
	_Atomic uint64_t start_ns; /* 0 = nothing */
	_Atomic uint64_t off;
	_Atomic unsigned op;
	const struct mlgen_file *file; /* whose path it is, as of `paths` */
	uint64_t paths;
	_Atomic uint64_t path[PATH_WORDS];
};

struct io {
	const struct mlgen_engine *engine;
	struct clock *clock;
	struct opstat *stat;
	struct mlgen_ctx ctx;
	bool is_sync, is_init;
	unsigned iodepth;
	unsigned under_way; /* queued + in_engine + done */
	int error;          /* the engine's own failure, for ever */
	uint64_t mark_ns;   /* synchronous: next start; 0 = read the clock */
	uint64_t last_ns;
	uint64_t paths; /* operations on paths so far */
	/* Completed, first to last. */
	struct io_op *first, **last;
	unsigned done;
	/* The buffer, and how operations share it. */
	uint64_t span_bytes;  /* one part */
	uint64_t slice_bytes; /* what a small read has to itself; 0 = none */
	/* One slot per operation that is under way; one list of parts each. */
	unsigned slots, free_slots;
	unsigned *free_slot;
	struct seen *seen;
	struct iovec *parts;
	uint64_t slot_parts;
	/* Asynchronous engines. */
	struct mlgen_io **queue, **reaped;
	unsigned queued, in_engine;
};

static uint64_t ctx_now(const struct mlgen_ctx *ctx)
{
	const struct io *io = ctx->clock;

	return clock_now(io->clock);
}

static void ctx_sleep_until(const struct mlgen_ctx *ctx, uint64_t ns)
{
	const struct io *io = ctx->clock;

	clock_sleep_until(io->clock, ns);
}

static bool moves_bytes(const struct io_op *op)
{
	return op->io.op == MLGEN_READ || op->io.op == MLGEN_WRITE;
}

static bool names_path(enum mlgen_op op)
{
	return MLGEN_CAP(op) &
	       (MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) |
		MLGEN_CAP(MLGEN_RENAME) | MLGEN_CAP(MLGEN_UNLINK) |
		MLGEN_CAP(MLGEN_MKDIR) | MLGEN_CAP(MLGEN_RMDIR));
}

static bool engine_takes(const struct io *io, const struct io_op *op)
{
	return io->engine->caps & MLGEN_CAP(op->io.op);
}

/* Metadata where the engine leaves it to us; 0 or -errno. */

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

static int64_t meta_open(struct mlgen_io *op)
{
	op->file->fd = open(op->file->path, op->file->flags | O_CLOEXEC,
			    op->file->mode);
	return status(op->file->fd);
}

static int64_t meta_stat(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? stat(op->file->path, &st)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

static int64_t meta_allocate(struct mlgen_io *op)
{
	return status(fallocate(op->file->fd, 0, (off_t)op->off,
				(off_t)op->len_bytes));
}

static int64_t meta_fsync(struct mlgen_io *op)
{
	return status(fsync(op->file->fd));
}

static int64_t meta_fdatasync(struct mlgen_io *op)
{
	return status(fdatasync(op->file->fd));
}

static int64_t meta_advise(struct mlgen_io *op)
{
	return -posix_fadvise(op->file->fd, (off_t)op->off,
			      (off_t)op->len_bytes, op->advice);
}

static int64_t meta_close(struct mlgen_io *op)
{
	int64_t rc = status(close(op->file->fd));

	op->file->fd = -1;
	return rc == -EINTR ? 0 : rc; /* Linux has closed it by then */
}

static int64_t meta_rename(struct mlgen_io *op)
{
	return status(rename(op->file->path, op->path2));
}

static int64_t meta_unlink(struct mlgen_io *op)
{
	return status(unlink(op->file->path));
}

static int64_t meta_mkdir(struct mlgen_io *op)
{
	return status(mkdir(op->file->path, op->file->mode));
}

static int64_t meta_rmdir(struct mlgen_io *op)
{
	return status(rmdir(op->file->path));
}

/* clang-format off */
static int64_t (*const meta[MLGEN_OPS])(struct mlgen_io *) = {
	[MLGEN_OPEN] = meta_open,
	[MLGEN_STAT] = meta_stat,
	[MLGEN_ALLOCATE] = meta_allocate,
	[MLGEN_FSYNC] = meta_fsync,
	[MLGEN_FDATASYNC] = meta_fdatasync,
	[MLGEN_ADVISE] = meta_advise,
	[MLGEN_CLOSE] = meta_close,
	[MLGEN_RENAME] = meta_rename,
	[MLGEN_UNLINK] = meta_unlink,
	[MLGEN_MKDIR] = meta_mkdir,
	[MLGEN_RMDIR] = meta_rmdir,
};
/* clang-format on */

/*
 * Publishing what is outstanding: relaxed words with io_look as the partner.
 * The reader only ever prints them, so a mix of two operations does no harm.
 * A path is copied, because its owner may free it before the reader looks.
 */

static void publish_path(struct seen *s, const char *path)
{
	size_t len = strnlen(path, PATH_WORDS * 8 - 1);

	for (size_t at = 0; at <= len; at += 8) {
		uint64_t word = 0;
		memcpy(&word, path + at, len - at < 8 ? len - at : 8);
		atomic_store_explicit(&s->path[at / 8], word,
				      memory_order_relaxed);
	}
}

static void publish(struct io *io, const struct io_op *op)
{
	struct seen *s = &io->seen[op->slot];
	const struct mlgen_io *e = &op->io;

	if (names_path(e->op))
		io->paths++; /* the same file struct, another path */
	if (e->file && (s->file != e->file || s->paths != io->paths)) {
		s->file = e->file;
		s->paths = io->paths;
		publish_path(s, e->file->path ? e->file->path : "");
	}
	atomic_store_explicit(&s->op, e->op, memory_order_relaxed);
	atomic_store_explicit(&s->off, e->off, memory_order_relaxed);
	atomic_store_explicit(&s->start_ns, op->start_ns, memory_order_relaxed);
}

static void unpublish(struct io *io, const struct io_op *op)
{
	atomic_store_explicit(&io->seen[op->slot].start_ns, 0,
			      memory_order_relaxed);
}

/*
 * Point the rest of a transfer at the buffer: as one part if it fits, else
 * with parts that repeat over it. Resumed, it goes on in the buffer where it
 * stopped, so that written content is the same as in one go.
 */

static unsigned char *base_of(const struct io *io, const struct io_op *op)
{
	unsigned char *buf = io->ctx.buf;

	if (op->io.op == MLGEN_READ && op->want_bytes <= io->slice_bytes)
		buf += op->slot * io->slice_bytes;
	return buf;
}

static void aim_parts(struct io *io, struct io_op *op, uint64_t skip,
		      uint64_t rest)
{
	struct iovec *parts = &io->parts[op->slot * io->slot_parts];
	unsigned char *buf = io->ctx.buf;
	uint64_t moved = 0, n = 0;

	for (; n < io->slot_parts && moved < rest; n++, skip = 0) {
		uint64_t len = io->span_bytes - skip;
		if (len > rest - moved)
			len = rest - moved;
		parts[n].iov_base = buf + skip;
		parts[n].iov_len = (size_t)len;
		moved += len;
	}
	op->io.iov = parts;
	op->io.iovcnt = (int)n;
	op->io.len_bytes = moved;
}

static void aim(struct io *io, struct io_op *op)
{
	uint64_t rest = op->want_bytes - op->done_bytes;
	uint64_t skip = op->done_bytes ? op->done_bytes % io->span_bytes : 0;

	op->io.off = op->first_off + op->done_bytes;
	if (rest > io->span_bytes - skip) {
		aim_parts(io, op, skip, rest);
		return;
	}
	op->iov.iov_base = base_of(io, op) + skip;
	op->iov.iov_len = (size_t)rest;
	op->io.iov = &op->iov;
	op->io.iovcnt = 1;
	op->io.len_bytes = rest;
}

static void count_bytes(struct io *io, const struct io_op *op, uint64_t bytes)
{
	_Atomic uint64_t *c = &io->stat->io_bytes[op->io.op == MLGEN_WRITE];
	uint64_t seen = atomic_load_explicit(c, memory_order_relaxed);

	/* One writer; the status line is the reader. */
	atomic_store_explicit(c, seen + bytes, memory_order_relaxed);
}

/*
 * Is a short transfer the end of the file? A direct read cannot go on from an
 * unaligned offset (-EINVAL), and only the end of a file leaves it at one.
 */
static bool met_end(const struct io_op *op)
{
	const struct mlgen_io *e = &op->io;

	if (e->result == 0 || (e->flags & MLGEN_IO_LINK))
		return true;
	if (op->eof_ok && op->eof_bytes && op->done_bytes >= op->eof_bytes)
		return true;
	if (e->op == MLGEN_WRITE || !(e->file->flags & O_DIRECT))
		return false;
	return op->done_bytes % DIRECT_BYTES ||
	       (op->eof_ok && op->eof_bytes == 0);
}

static int64_t end_result(const struct io_op *op)
{
	if (op->io.op == MLGEN_WRITE)
		return -EIO; /* takes nothing, and says no reason */
	if (!op->eof_ok || op->done_bytes < op->eof_bytes)
		return -ENODATA;
	return (int64_t)op->done_bytes;
}

/* After a part of a transfer: true = aimed at the rest of it. */
static bool go_on(struct io *io, struct io_op *op, uint64_t got)
{
	op->was_short = got < op->io.len_bytes;
	op->tries = 0;
	if (op->was_short && met_end(op)) {
		op->io.result = end_result(op);
		return false;
	}
	aim(io, op);
	return true;
}

static bool try_again(struct io_op *op)
{
	if (op->io.result != -EINTR && op->io.result != -EAGAIN)
		return false;
	if (op->io.op == MLGEN_CLOSE || (op->io.flags & MLGEN_IO_LINK))
		return false;
	return op->tries++ < TRIES_MAX;
}

/* Look at what the engine did: true = hand it over once more. */
static bool unfinished(struct io *io, struct io_op *op)
{
	uint64_t got = (uint64_t)op->io.result;

	if (op->io.result < 0)
		return try_again(op);
	if (!moves_bytes(op))
		return false;
	op->done_bytes += got;
	count_bytes(io, op, got);
	if (op->was_short && got)
		io->stat->short_ios[op->io.op == MLGEN_WRITE]++;
	if (op->done_bytes < op->want_bytes)
		return go_on(io, op, got);
	op->io.result = (int64_t)op->done_bytes;
	return false;
}

static void begin(struct io *io, struct io_op *op)
{
	op->want_bytes = op->io.len_bytes;
	op->first_off = op->io.off;
	op->done_bytes = 0;
	op->tries = 0;
	op->is_started = false;
	op->was_short = false;
	if (!moves_bytes(op))
		return;
	sizes_add(&io->stat->sizes[op->io.op == MLGEN_WRITE], op->want_bytes,
		  1);
	aim(io, op);
}

static void finish(struct io *io, struct io_op *op, uint64_t now)
{
	op->end_ns = now;
	op->io.off = op->first_off;
	op->io.len_bytes = op->want_bytes;
	unpublish(io, op);
	hist_add(io->stat->lat[op->io.op], now - op->start_ns);
	io->last_ns = now;
	op->next = NULL;
	*io->last = op;
	io->last = &op->next;
	io->done++;
}

/* In place: a synchronous engine's operation, or one that we do ourselves. */

static void engine_does(struct io *io, struct io_op *op)
{
	struct mlgen_io *e = &op->io;

	do {
		int rc = io->engine->submit(&io->ctx, &e, 1);
		if (rc != 1)
			e->result = rc < 0 ? rc : -EIO;
	} while (unfinished(io, op));
}

static void we_do(struct io_op *op)
{
	int64_t (*does)(struct mlgen_io *) = meta[op->io.op];

	do {
		op->io.result = does ? does(&op->io) : -EOPNOTSUPP;
	} while (try_again(op));
}

static void do_in_place(struct io *io, struct io_op *op)
{
	uint64_t now;

	op->slot = io->slots - 1;
	begin(io, op);
	op->start_ns = io->mark_ns ? io->mark_ns : clock_now(io->clock);
	publish(io, op);
	if (engine_takes(io, op))
		engine_does(io, op);
	else
		we_do(op);
	now = clock_now(io->clock);
	io->stat->blocked_ns[op->io.op] += now - op->start_ns;
	if (io->is_sync)
		io->mark_ns = now;
	finish(io, op, now);
}

/* Asynchronous engines: a queue in front, a list of completed ones behind. */

static void start_queued(struct io *io, uint64_t now)
{
	for (unsigned i = 0; i < io->queued; i++) {
		struct io_op *op = (struct io_op *)io->queue[i];
		if (op->is_started)
			continue; /* resumed: its time runs on */
		op->is_started = true;
		op->start_ns = now;
		publish(io, op);
	}
}

/* Hand the queue over, as far as the engine takes it. 0 or -errno. */
static int push_queued(struct io *io)
{
	unsigned at = 0;
	int n = 1;

	while (at < io->queued && n > 0) {
		n = io->engine->submit(&io->ctx, io->queue + at,
				       io->queued - at);
		if (n > 0)
			at += (unsigned)n;
	}
	io->in_engine += at;
	io->queued -= at;
	memmove(io->queue, io->queue + at, io->queued * sizeof(io->queue[0]));
	if (n == 0 && io->in_engine == 0)
		return -EAGAIN; /* full with nothing in it: never moves */
	return n < 0 ? n : 0;
}

/* *now: the time afterwards, untouched where nothing was queued. */
static int flush(struct io *io, uint64_t *now)
{
	enum mlgen_op kind;
	uint64_t before;

	if (io->error || io->queued == 0)
		return io->error;
	kind = io->queue[0]->op;
	before = clock_now(io->clock);
	start_queued(io, before);
	io->error = push_queued(io);
	*now = clock_now(io->clock);
	io->stat->blocked_ns[kind] += *now - before;
	return io->error;
}

static void enqueue(struct io *io, struct io_op *op)
{
	uint64_t now;

	op->slot = io->free_slot[--io->free_slots];
	begin(io, op);
	io->queue[io->queued++] = &op->io;
	if (io->under_way == io->iodepth && !(op->io.flags & MLGEN_IO_LINK))
		flush(io, &now); /* io_reap reports its error */
}

static void completed(struct io *io, struct io_op *op, uint64_t now)
{
	io->in_engine--;
	if (unfinished(io, op)) {
		io->queue[io->queued++] = &op->io;
		return;
	}
	io->free_slot[io->free_slots++] = op->slot;
	finish(io, op, now);
}

/* min and max count completions of the engine. 0 or -errno. */
static int collect(struct io *io, unsigned min, unsigned max, uint64_t before)
{
	uint64_t now;
	int n;

	if (max > io->in_engine)
		max = io->in_engine;
	if (min > max)
		min = max;
	n = io->engine->reap(&io->ctx, io->reaped, min, max,
			     min ? UINT64_MAX : 0);
	now = clock_now(io->clock);
	io->stat->reap_ns += now - before;
	if (n < 0)
		return n == -EINTR ? 0 : n;
	for (int i = 0; i < n; i++)
		completed(io, (struct io_op *)io->reaped[i], now);
	return 0;
}

/* Turn until `min` are in the done list, or nothing is under way any more. 0
 * or -errno. */
static int turn(struct io *io, unsigned min, unsigned max)
{
	do {
		uint64_t now = 0;
		int rc = flush(io, &now);
		if (rc)
			return rc;
		if (io->in_engine == 0 || io->done >= max)
			return 0;
		if (now == 0)
			now = clock_now(io->clock);
		io->error = collect(io, min > io->done ? min - io->done : 0,
				    max - io->done, now);
	} while (!io->error && io->done < min);
	return io->error;
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
	io->done -= n;
	io->under_way -= n;
	return n;
}

/* Another thread looks. */

static void look_at(const struct seen *s, struct io_outstanding *out)
{
	out->off = atomic_load_explicit(&s->off, memory_order_relaxed);
	out->op = (enum mlgen_op)atomic_load_explicit(&s->op,
						      memory_order_relaxed);
	for (size_t i = 0; i < PATH_WORDS; i++) {
		uint64_t word =
			atomic_load_explicit(&s->path[i], memory_order_relaxed);
		memcpy(out->path + i * 8, &word, 8);
	}
	out->path[sizeof(out->path) - 1] = '\0';
}

/* Setting up. */

static void share_buffer(struct io *io)
{
	uint64_t bytes = io->ctx.buf_bytes, slice = bytes, parts;

	io->span_bytes = bytes < ONE_CALL_BYTES ? bytes : ONE_CALL_BYTES;
	if (!io->is_sync && io->iodepth > 1)
		slice = bytes / io->iodepth / SLICE_BYTES * SLICE_BYTES;
	io->slice_bytes = slice;
	parts = ALL_PARTS / io->slots;
	if (parts < LEAST_PARTS)
		parts = LEAST_PARTS;
	if (parts > ONE_CALL_PARTS)
		parts = ONE_CALL_PARTS;
	if (parts > ONE_CALL_BYTES / io->span_bytes)
		parts = ONE_CALL_BYTES / io->span_bytes;
	io->slot_parts = parts;
}

static void make_slots(struct io *io)
{
	/* The last slot is that of operations done in place. */
	io->slots = io->is_sync ? 1 : io->iodepth + 1;
	share_buffer(io);
	io->seen = mem_array(io->slots, sizeof(*io->seen));
	io->parts = mem_array(io->slots * io->slot_parts, sizeof(*io->parts));
	if (io->is_sync)
		return;
	io->queue = mem_array(io->iodepth, sizeof(*io->queue));
	io->reaped = mem_array(io->iodepth, sizeof(*io->reaped));
	io->free_slot = mem_array(io->iodepth, sizeof(*io->free_slot));
	for (unsigned i = io->iodepth; i > 0; i--)
		io->free_slot[io->free_slots++] = i - 1;
}

static int make_buffer(struct io *io, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	size_t bytes = io->ctx.buf_bytes;

	io->ctx.buf = io->engine->buf_alloc
			      ? io->engine->buf_alloc(&io->ctx, bytes)
			      : mem_buffer(bytes);
	if (io->ctx.buf)
		return 0;
	return mlgen_fail(err, -ENOMEM,
			  "no memory for a buffer of %s, one of %u; lower the "
			  "request size, the iodepth or the number of threads",
			  units_human_bytes(text, (double)bytes),
			  io->ctx.job->workers);
}

static void free_buffer(struct io *io)
{
	if (!io->ctx.buf)
		return;
	if (io->engine->buf_free)
		io->engine->buf_free(&io->ctx, io->ctx.buf, io->ctx.buf_bytes);
	else if (!io->engine->buf_alloc)
		mem_buffer_free(io->ctx.buf, io->ctx.buf_bytes);
}

static int start_engine(struct io *io, struct mlgen_err *err)
{
	int rc;

	io->is_init = true; /* fini takes a failed init */
	rc = io->engine->init ? io->engine->init(&io->ctx, err) : 0;
	if (rc < 0)
		/* The first sentence wins: the engine's, if it gave one. */
		return mlgen_fail(err, rc, "ioengine=%s: cannot start: %s",
				  io->engine->name, strerror(-rc));
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
	io->iodepth = cfg->iodepth;
	io->last = &io->first;
	io->ctx.job = cfg->job;
	io->ctx.opts = cfg->job->opts;
	io->ctx.iodepth = cfg->iodepth;
	io->ctx.buf_bytes = cfg->buf_bytes;
	io->ctx.now_ns = ctx_now;
	io->ctx.sleep_until = ctx_sleep_until;
	io->ctx.clock = io;
	make_slots(io);
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
	mem_free(io->free_slot);
	mem_free(io->reaped);
	mem_free(io->queue);
	mem_free(io->parts);
	mem_free(io->seen);
	mem_free(io);
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
	if (io->is_sync || !engine_takes(io, op))
		do_in_place(io, op);
	else
		enqueue(io, op);
}

unsigned io_room(const struct io *io)
{
	return io->iodepth - io->under_way;
}

int io_reap(struct io *io, struct io_op **done, unsigned min, unsigned max)
{
	unsigned n;
	int rc = 0;

	if (!io->is_sync)
		rc = turn(io, min < max ? min : max, max);
	n = take_done(io, done, max);
	return n == 0 && rc < 0 ? rc : (int)n;
}

int64_t io_do(struct io *io, struct io_op *op)
{
	struct io_op *done;
	int rc;

	assert(io->under_way == 0);
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
	memset(out, 0, sizeof(*out));
	for (unsigned i = 0; i < io->slots; i++) {
		const struct seen *s = &io->seen[i];
		uint64_t start = atomic_load_explicit(&s->start_ns,
						      memory_order_relaxed);
		if (start == 0 || (out->start_ns && out->start_ns <= start))
			continue;
		out->start_ns = start;
		look_at(s, out);
	}
}
