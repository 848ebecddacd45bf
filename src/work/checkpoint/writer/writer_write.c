/* SPDX-License-Identifier: Apache-2.0 */
/* writer_write.c - the files of a checkpoint, written and read in slices. */
#include "work/checkpoint/writer/writer_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/units.h"
#include "base/util.h"
#include "io/io.h"
#include "io/devices.h"

/* The time between data_begin and data_end counts as time for generating or checking data. */
static inline uint64_t data_begin(const struct writer_thread *t)
{
	return clock_now(t->writer->cfg.clock);
}

static inline void data_end(struct writer_thread *t, uint64_t begin_ns)
{
	t->worker.stat.data_ns += clock_now(t->writer->cfg.clock) - begin_ns;
	io_wake(writer_io(t)); /* the next operation must not include this time */
}

/* ---- files ---- */

int writer_fail_with(struct writer_thread *t, int code, const char *fmt, ...)
{
	struct mlgen_err err = { 0 };
	char text[MLGEN_ERR_MAX - 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mlgen_fail(&err, code, "checkpoint %" PRIu64 ", rank %" PRIu64 ": %s",
		   t->writer->now.number, t->rank->rank, text);
	writer_fail(t->writer, &err);
	return code;
}

/* The filesystem is full: append how many bytes were still to be written. */
static void print_shortfall(const struct writer *s, char *to, size_t bytes)
{
	char text[UNITS_TEXT_BYTES];
	uint64_t moved = 0;

	for (uint64_t i = 0; i < s->thread_count; i++)
		moved += atomic_load_explicit(&s->threads[i].moved_bytes, memory_order_relaxed);
	units_human_bytes(text, (double)(moved < s->bytes ? s->bytes - moved : 0));
	snprintf(to, bytes, "; %s of this checkpoint were still to be written%s", text,
		 s->cfg.checkpoints->count ? ", older checkpoints are kept" : "");
}

/* Restore only: fail if there is something other than a file at the file's path. */
static int fail_if_not_file(struct writer_thread *t, const struct mlgen_file *file)
{
	struct mlgen_err why = { 0 };

	if (!t->writer->cfg.is_restore || !writer_touches_files(t->writer) ||
	    filekind_check(file->path, "; it is not a file of this checkpoint", &why) == 0)
		return 0;
	return writer_fail_with(t, why.code, "%s", why.text);
}

/* Report the error of an operation. WRITER_STOPPED: the stop cancelled the operation, and nothing
 * failed. */
static int writer_fail_op(struct writer_thread *t, const struct io_op *op)
{
	const struct mlgen_io *io = &op->io;
	int code = (int)io->result;
	char at[32] = "", advice[NOROOM_BYTES + 160];

	if (code == -ECANCELED && stop_is_due(t->writer->cfg.stop, clock_now(t->writer->cfg.clock)))
		return WRITER_STOPPED;
	int other = fail_if_not_file(t, io->file);
	if (other)
		return other;
	if (io->op == MLGEN_WRITE || io->op == MLGEN_READ)
		snprintf(at, sizeof(at), " at %" PRIu64, io->off);

	bool is_direct = io->file->flags & O_DIRECT;
	char why[NOROOM_BYTES];
	int len = snprintf(advice, sizeof(advice), "%s",
			   noroom_text(why, io->file->path, code, io->off + io->len_bytes));
	if (code == -ENOSPC || code == -EDQUOT)
		print_shortfall(t->writer, advice + len, sizeof(advice) - (size_t)len);
	else if (code == -EINVAL && is_direct && io->op == MLGEN_OPEN)
		snprintf(advice, sizeof(advice),
			 "; this filesystem does not support O_DIRECT, use direct=0");
	else if (code == -EINVAL && is_direct)
		snprintf(advice, sizeof(advice),
			 "; direct=1 needs bs in multiples of the device's block");
	else if (code == -EOPNOTSUPP && io_note(writer_io(t))[0])
		snprintf(advice, sizeof(advice), "; %s", io_note(writer_io(t)));
	return writer_fail_with(t, code, "%s: %s%s: %s%s", io->file->path, opstat_name(io->op), at,
				strerror(-code), advice);
}

/*
 * An asynchronous engine may wait in its reap, whose time belongs to no kind of operation. As only
 * one operation is in progress, the time of reap is added to this operation.
 */
int64_t writer_do(struct writer_thread *t, struct io_op *op)
{
	struct opstat *stat = &t->worker.stat;
	uint64_t before_ns = count_get(&stat->reap_ns);

	io_wake(writer_io(t));
	int64_t rc = io_do(writer_io(t), op);
	count_add(&stat->blocked_ns[op->io.op], count_get(&stat->reap_ns) - before_ns);
	count_set(&stat->reap_ns, before_ns);
	if (rc < 0 && op->io.result >= 0) {
		t->is_dead = true;
		op->io.result = rc;
	}
	return op->io.result;
}

int writer_do_to(struct writer_thread *t, enum mlgen_op kind, struct writer_open_file *f)
{
	struct io_op op = { .io = { .op = kind, .file = &f->io } };

	return writer_do(t, &op) < 0 ? writer_fail_op(t, &op) : 0;
}

static bool writes(const struct writer *s)
{
	return !s->cfg.is_restore && writer_touches_files(s);
}

int writer_open_folder(struct writer_thread *t)
{
	const struct writer *s = t->writer;

	t->folder_fd = -1;
	if (!writes(s))
		return 0;
	t->folder_fd = checkpoint_folder(s->cfg.checkpoints, &s->now);
	return t->folder_fd < 0 ? writer_fail_with(t, t->folder_fd, "%s/%s: open: %s",
						   s->cfg.checkpoints->directory, s->now.name,
						   strerror(-t->folder_fd))
				: 0;
}

void writer_close_folder(struct writer_thread *t)
{
	if (t->folder_fd >= 0)
		close(t->folder_fd);
	t->folder_fd = -1;
}

/* Files to be written are opened by name in the open folder. */
int writer_open(struct writer_thread *t, struct writer_open_file *f, uint64_t index, int flags)
{
	char name[NAME_MAX + 1], path[PATH_MAX];

	shard_name(&t->shard, name, sizeof(name));
	int rc = checkpoint_path(t->writer->cfg.checkpoints, &t->writer->now, name, path);
	if (rc < 0)
		return writer_fail_with(t, rc, "%s: the name is too long", name);
	size_t length = strlen(path);
	memcpy(f->path, path, length + 1);
	f->index = index;
	f->io = (struct mlgen_file){ .path = f->path,
				     .name = writes(t->writer) ? f->path + length - strlen(name)
							       : NULL,
				     .dir_fd = t->folder_fd,
				     .fd = -1,
				     .flags = flags | O_CLOEXEC,
				     .mode = 0666 };
	return writer_do_to(t, MLGEN_OPEN, f);
}

/* Only the thread itself writes its moved_bytes. */
static void add_moved(struct writer_thread *t, uint64_t bytes)
{
	uint64_t seen = atomic_load_explicit(&t->moved_bytes, memory_order_relaxed);

	atomic_store_explicit(&t->moved_bytes, seen + bytes, memory_order_relaxed);
}

/* ---- requests ---- */

#define WHERE_BYTES (STATE_NAME_BYTES + 64)

/* Check the bytes that were read from `off` on. */
static int check_data(struct writer_thread *t, const char *path, struct shard_piece *at,
		      uint64_t off, const void *buf, uint64_t bytes)
{
	uint64_t begin_ns = data_begin(t), wrong = 0;
	char where[WHERE_BYTES] = "";
	bool is_right = shard_check(&t->shard, at, off, buf, bytes, &wrong, where, sizeof(where));

	data_end(t, begin_ns);
	return is_right ? 0
			: writer_fail_with(t, -EIO, "%s: byte %" PRIu64 " is wrong (%s)", path,
					   wrong, where);
}

/* The file is too short. If nothing was read, find out where it ends. */
static int fail_short(struct writer_thread *t, const struct io_op *op)
{
	struct mlgen_file *file = op->io.file;
	uint64_t end = op->io.off + op->done_bytes;
	int other = fail_if_not_file(t, file);

	if (other)
		return other;
	/* The engine may have other requests in progress, so use a plain call. */
	if (op->done_bytes == 0 && writer_touches_files(t->writer))
		end = meta_eof_before(file->path, end);
	return writer_fail_with(t, -ENODATA,
				"%s: the file ends at %" PRIu64 " of %" PRIu64 " bytes", file->path,
				end, t->shard.bytes);
}

static int complete_request(struct writer_thread *t, struct io_op *op)
{
	const struct writer_config *cfg = &t->writer->cfg;
	struct writer_request *q = op->owner;
	int rc = 0;

	if (op->io.result == -ENODATA && op->io.op == MLGEN_READ)
		rc = fail_short(t, op);
	else if (op->io.result < 0)
		rc = writer_fail_op(t, op);
	else if (cfg->is_restore && cfg->job->verify == VERIFY_CRC32C)
		rc = check_data(t, op->io.file->path, &q->at, q->off, q->slice, q->bytes);
	if (rc == 0)
		add_moved(t, q->bytes);
	writer_release(t, q);
	return rc;
}

/* Wait for at least `min` requests. The first of several errors is reported. */
static int reap(struct writer_thread *t, unsigned min)
{
	int n = io_reap(writer_io(t), t->done, min, t->depth);
	int rc = 0;

	if (n < 0) {
		t->is_dead = true;
		return writer_fail_with(t, n, "ioengine=%s: cannot continue: %s",
					t->writer->cfg.job->engine->name, strerror(-n));
	}
	for (int i = 0; i < n; i++) {
		int one = complete_request(t, t->done[i]);

		rc = rc ? rc : one;
	}
	return rc;
}

/* Wait for a free request. */
static int acquire(struct writer_thread *t, struct writer_request **out)
{
	int rc = 0;

	while (rc == 0 && t->unused_count == 0)
		rc = reap(t, 1);
	if (rc == 0 && writer_must_stop(t->writer))
		rc = WRITER_STOPPED;
	if (rc == 0)
		*out = t->unused[--t->unused_count];
	return rc;
}

/* Submit each request by itself: requests are large, and generating the next request takes as long
 * as a small device needs for this one. */
static void submit(struct writer_thread *t, struct writer_request *q, struct writer_open_file *f)
{
	q->io.io.file = &f->io;
	q->io.owner = q;
	io_submit(writer_io(t), &q->io);
	io_flush(writer_io(t));
}

void writer_release(struct writer_thread *t, struct writer_request *q)
{
	t->unused[t->unused_count++] = q;
}

static int drain(struct writer_thread *t)
{
	int rc = 0;

	while (t->unused_count < t->depth && !t->is_dead) {
		int one = reap(t, t->depth - t->unused_count);

		rc = rc ? rc : one;
	}
	return rc;
}

/* ---- restoring ---- */

/* Advance a piece at or before `off` to the piece that contains `off`. */
static bool seek_piece(const struct shard *f, struct shard_piece *p, uint64_t off)
{
	while (p->off + p->bytes <= off)
		if (!shard_next(f, p))
			return false;
	return true;
}

/* O_DIRECT has to ask for whole blocks; the last block may extend past the end of the file. */
static struct io_op read_op(const struct writer_thread *t, uint64_t off, uint64_t bytes,
			    uint64_t got_bytes)
{
	uint64_t align = t->writer->cfg.align_bytes;

	if (align)
		bytes = (bytes + align - 1) / align * align;
	return (struct io_op){
		.io = { .op = MLGEN_READ, .off = off, .len_bytes = bytes },
		.eof_ok = bytes != got_bytes,
		.eof_bytes = bytes != got_bytes ? got_bytes : 0,
	};
}

static int read_plain(struct writer_thread *t, struct writer_open_file *f,
		      const struct writer_range *part)
{
	uint64_t bs = t->writer->span_bytes;
	struct writer_request *q;
	int rc = 0, drained;

	for (uint64_t off = part->from; off < part->to; off += bs) {
		rc = acquire(t, &q);
		if (rc)
			break;
		q->off = off;
		q->bytes = u64_min(part->to - off, bs);
		seek_piece(&t->shard, &t->at, off);
		q->at = t->at;
		q->io = read_op(t, off, q->bytes, q->bytes);
		q->io.into = q->slice;
		submit(t, q, f);
	}
	drained = drain(t);
	return rc ? rc : drained;
}

static int read_one(struct writer_thread *t, struct writer_open_file *f, uint64_t off,
		    uint64_t bytes, uint64_t got_bytes, void *into)
{
	struct io_op op = read_op(t, off, bytes, got_bytes);

	op.io.file = &f->io;
	op.into = into;
	if (writer_do(t, &op) < 0)
		return op.io.result == -ENODATA ? fail_short(t, &op) : writer_fail_op(t, &op);
	add_moved(t, got_bytes);
	return 0;
}

/* Read data that is longer than the slice in parts: data must be in memory to be checked, and there
 * is no memory for a whole tensor. */
static int read_checked(struct writer_thread *t, struct writer_open_file *f,
			const struct shard_read *r)
{
	unsigned char *slice = t->requests[0].slice;
	uint64_t most = t->writer->span_bytes;
	int rc = 0;

	for (uint64_t done = 0; rc == 0 && done < r->bytes; done += most) {
		uint64_t bytes = u64_min(r->bytes - done, most);
		uint64_t got = r->got_bytes > done ? r->got_bytes - done : 0;

		got = u64_min(got, bytes);
		if (got == 0)
			break;
		if (writer_must_stop(t->writer))
			return WRITER_STOPPED;
		rc = read_one(t, f, r->off + done, bytes, got, slice);
		if (rc == 0)
			rc = check_data(t, f->path, &t->at, r->off + done, slice, got);
	}
	return rc;
}

static int read_calls(struct writer_thread *t, struct writer_open_file *f)
{
	bool is_checked = t->writer->cfg.job->verify == VERIFY_CRC32C;
	struct shard_read r = { 0 };
	int rc = 0;

	while (rc == 0 && shard_read_next(&t->shard, &r)) {
		if (writer_must_stop(t->writer))
			return WRITER_STOPPED;
		rc = is_checked ? read_checked(t, f, &r)
				: read_one(t, f, r.off, r.bytes, r.got_bytes, NULL);
	}
	return rc;
}

int writer_read(struct writer_thread *t, struct writer_open_file *f,
		const struct writer_range *part)
{
	return writer_is_framework(t->writer) ? read_calls(t, f) : read_plain(t, f, part);
}

/* ---- saving ---- */

static const struct content *content_of(const struct writer_thread *t)
{
	return t->writer->cfg.set->content;
}

/* The part of `bytes` that O_DIRECT can write. */
static uint64_t whole_blocks(const struct writer_thread *t, uint64_t bytes)
{
	uint64_t align = t->writer->cfg.align_bytes;

	return align ? bytes - bytes % align : bytes;
}

/*
 * Write the bytes after the last whole block through a descriptor without O_DIRECT. fsync of either
 * descriptor flushes them.
 */
static int write_tail(struct writer_thread *t, const struct writer_open_file *f, void *from,
		      uint64_t off, uint64_t bytes)
{
	struct iovec part = { from, (size_t)bytes };
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &t->tail.io, .off = off, .len_bytes = bytes },
		.from = &part,
		.from_parts = 1
	};
	int rc = writer_open(t, &t->tail, f->index, O_WRONLY | O_NOFOLLOW);

	if (rc < 0)
		return rc;
	if (writer_do(t, &op) < 0)
		rc = writer_fail_op(t, &op);
	else
		add_moved(t, bytes);
	if (!t->is_dead) {
		int closed = writer_do_to(t, MLGEN_CLOSE, &t->tail);

		rc = rc ? rc : closed;
	}
	return rc;
}

/* Copy the part of a metadata piece that lies in the request into the slice. */
static void write_metadata(struct writer_thread *t, struct writer_request *q,
			   const struct shard_piece *p)
{
	struct writer_meta_range *last = &q->meta[WRITER_META_RANGES - 1];
	uint64_t from = u64_max(p->off, q->off);
	uint64_t bytes = u64_min(p->off + p->bytes, q->off + q->bytes) - from;
	uint64_t at = from - q->off;

	if (bytes == 0)
		return;
	shard_meta(&t->shard, p, from - p->off, q->slice + at, bytes);
	if (q->meta_count < WRITER_META_RANGES)
		q->meta[q->meta_count++] = (struct writer_meta_range){ at, bytes };
	else
		last->bytes = at + bytes - last->at;
}

/* The piece at the end of the request may continue in the next request. */
static void write_all_metadata(struct writer_thread *t, struct writer_request *q)
{
	struct shard_piece *p = &t->at;
	uint64_t end = q->off + q->bytes;
	bool has = seek_piece(&t->shard, p, q->off);

	while (has && p->off < end) {
		if (!p->is_tensor)
			write_metadata(t, q, p);
		if (p->off + p->bytes >= end)
			return;
		has = shard_next(&t->shard, p);
	}
}

/* Fill the slice of a request: restore the content where the slice's previous request had metadata,
 * then add the new metadata. */
static void make_data(struct writer_thread *t, struct writer_request *q)
{
	uint64_t begin_ns = data_begin(t);
	struct content_of of;

	for (unsigned i = 0; i < q->meta_count; i++)
		content_restore(content_of(t), q->slice, q->meta[i].at, q->meta[i].bytes);
	q->meta_count = 0;
	shard_content_of(&t->shard, q->off, &of);
	content_stamp_run(content_of(t), &of, q->slice, q->bytes, t->parts);
	write_all_metadata(t, q);
	data_end(t, begin_ns);
}

/*
 * Writes past the end extend a file one at a time. Allocate its blocks first, as fio does; a full
 * disk then fails before the first byte. It is not an error if the filesystem or the engine cannot
 * allocate.
 */
static int allocate(struct writer_thread *t, struct writer_open_file *f,
		    const struct writer_range *part)
{
	struct io_op op = { .io = { .op = MLGEN_ALLOCATE,
				    .file = &f->io,
				    .off = part->from,
				    .len_bytes = part->to - part->from } };
	int64_t rc = 0;

	if (t->writer->cfg.align_bytes && op.io.len_bytes)
		rc = writer_do(t, &op);
	if (t->is_dead || rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		return writer_fail_op(t, &op);
	return 0;
}

static int write_plain(struct writer_thread *t, struct writer_open_file *f,
		       const struct writer_range *part)
{
	uint64_t bs = t->writer->span_bytes, whole = 0, bytes = 0;
	struct writer_request *q = NULL;
	int rc = allocate(t, f, part), drained;

	if (rc)
		return rc;
	for (uint64_t off = part->from; off < part->to; off += bs) {
		rc = acquire(t, &q);
		if (rc)
			break;
		q->off = off;
		bytes = q->bytes = u64_min(part->to - off, bs);
		make_data(t, q);
		whole = whole_blocks(t, bytes);
		if (!whole) {
			writer_release(t, q);
			continue;
		}
		q->part = (struct iovec){ q->slice, (size_t)whole };
		q->io = (struct io_op){ .io = { .op = MLGEN_WRITE, .off = off, .len_bytes = whole },
					.from = &q->part,
					.from_parts = 1 };
		q->bytes = whole;
		submit(t, q, f);
	}
	drained = drain(t);
	if (rc || drained || bytes == whole)
		return rc ? rc : drained;
	/* The slice of the last request still has its data. */
	return write_tail(t, f, q->slice + whole, q->off + whole, bytes - whole);
}

/* Write `bytes` of the file, given in parts, in one call. */
static int write_parts(struct writer_thread *t, struct writer_open_file *f, uint64_t off,
		       uint64_t bytes, const struct iovec *parts, unsigned count)
{
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &f->io, .off = off, .len_bytes = bytes },
		.from = parts,
		.from_parts = count
	};

	if (writer_do(t, &op) < 0)
		return writer_fail_op(t, &op);
	add_moved(t, bytes);
	return 0;
}

/* Store head and run of a write in t->parts; the result is their number. */
static unsigned make_call(struct writer_thread *t, const struct shard_write *w)
{
	uint64_t begin_ns = data_begin(t), rest = w->bytes;
	struct content_of of;
	unsigned n = 0;

	if (w->head_bytes) {
		shard_copy(&t->shard, &t->at, w->off, t->head, w->head_bytes);
		t->parts[n++] = (struct iovec){ t->head, w->head_bytes };
		rest -= w->head_bytes;
	}
	if (rest) {
		shard_content_of(&t->shard, w->off + w->head_bytes, &of);
		n += content_stamp_run(content_of(t), &of, t->requests[0].slice, rest,
				       t->parts + n);
	}
	data_end(t, begin_ns);
	return n;
}

/* Write one part: its whole blocks, then the rest. */
static int write_direct(struct writer_thread *t, struct writer_open_file *f,
			const struct shard_write *w)
{
	uint64_t whole = whole_blocks(t, w->bytes);
	struct iovec part = t->parts[0];
	int rc = 0;

	assert(w->head_bytes == 0 && w->bytes <= t->writer->span_bytes);
	part.iov_len = (size_t)whole;
	if (whole)
		rc = write_parts(t, f, w->off, whole, &part, 1);
	if (rc == 0 && whole < w->bytes)
		rc = write_tail(t, f, t->requests[0].slice + whole, w->off + whole,
				w->bytes - whole);
	return rc;
}

static int write_calls(struct writer_thread *t, struct writer_open_file *f)
{
	bool is_direct = t->writer->cfg.align_bytes;
	struct shard_write w = { 0 };
	int rc = 0;

	while (rc == 0 && shard_write_next(&t->shard, &w)) {
		if (writer_must_stop(t->writer))
			return WRITER_STOPPED;
		unsigned n = make_call(t, &w);
		rc = is_direct ? write_direct(t, f, &w)
			       : write_parts(t, f, w.off, w.bytes, t->parts, n);
		if (rc == 0 && w.is_dropped && !is_direct) {
			/* Drop the written pages from the page cache. The first call starts to
			 * write back dirty pages, and a later call drops them. A failure only costs
			 * memory. */
			struct io_op advise = { .io = { .op = MLGEN_ADVISE,
							.file = &f->io,
							.len_bytes = w.off + w.bytes,
							.advice = POSIX_FADV_DONTNEED } };

			writer_do(t, &advise);
		}
	}
	return rc;
}

int writer_write(struct writer_thread *t, struct writer_open_file *f,
		 const struct writer_range *part)
{
	return writer_is_framework(t->writer) ? write_calls(t, f) : write_plain(t, f, part);
}
