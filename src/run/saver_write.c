/* SPDX-License-Identifier: Apache-2.0 */
/* saver_write.c - one thread's part of a file that is saved or restored. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "io/meta.h"
#include "run/saver_inside.h"

/* ---- restored ---- */

#define WHERE_BYTES (STATE_NAME_BYTES + 64)

/* Move the piece that is at or before `off` to the one that has it. */
static bool saver_seek(const struct shard *f, struct shard_piece *p, uint64_t off)
{
	while (p->off + p->bytes <= off)
		if (!shard_next(f, p))
			return false;
	return true;
}

int saver_check(struct saver_thread *t, const char *path, struct shard_piece *at, uint64_t off,
		const void *buf, uint64_t bytes)
{
	uint64_t begin_ns = saver_data_begin(t), wrong = 0;
	char where[WHERE_BYTES] = "";
	bool is_right = shard_check(&t->shard, at, off, buf, bytes, &wrong, where, sizeof(where));

	saver_data_end(t, begin_ns);
	return is_right ? 0
			: saver_failed_as(t, -EIO, "%s: byte %" PRIu64 " is wrong (%s)", path,
					  wrong, where);
}

/* Where it ends, if nothing was read of this: the file knows. */
int saver_failed_short(struct saver_thread *t, const struct io_op *op)
{
	struct mlgen_file *file = op->io.file;
	uint64_t end = op->io.off + op->done_bytes;
	int other = saver_failed_other(t, file);

	if (other)
		return other;
	/* Not by the engine, which may have others under way. */
	if (op->done_bytes == 0 && saver_touches_files(t->saver))
		end = meta_end_before(file->path, end);
	return saver_failed_as(t, -ENODATA, "%s: the file ends at %" PRIu64 " of %" PRIu64 " bytes",
			       file->path, end, t->shard.bytes);
}

/* O_DIRECT asks for whole blocks, and gets what there is of them. */
static struct io_op read_op(const struct saver_thread *t, uint64_t off, uint64_t bytes,
			    uint64_t got_bytes)
{
	uint64_t align = t->saver->cfg.align_bytes;

	if (align)
		bytes = (bytes + align - 1) / align * align;
	return (struct io_op){
		.io = { .op = MLGEN_READ, .off = off, .len_bytes = bytes },
		.eof_ok = bytes != got_bytes,
		.eof_bytes = bytes != got_bytes ? got_bytes : 0,
	};
}

/* access=plain. */

static int read_plain(struct saver_thread *t, struct saver_open *f, const struct saver_range *part)
{
	uint64_t bs = t->saver->span_bytes;
	struct saver_request *q;
	int rc = 0, drained;

	for (uint64_t off = part->from; off < part->to; off += bs) {
		rc = saver_take(t, &q);
		if (rc)
			break;
		q->off = off;
		q->bytes = u64_min(part->to - off, bs);
		saver_seek(&t->shard, &t->at, off);
		q->at = t->at;
		q->io = read_op(t, off, q->bytes, q->bytes);
		q->io.into = q->slice;
		saver_submit(t, q, f);
	}
	drained = saver_drain(t);
	return rc ? rc : drained;
}

/* access=framework. */

static int read_one(struct saver_thread *t, struct saver_open *f, uint64_t off, uint64_t bytes,
		    uint64_t got_bytes, void *into)
{
	struct io_op op = read_op(t, off, bytes, got_bytes);

	op.io.file = &f->io;
	op.into = into;
	if (saver_do(t, &op) < 0)
		return op.io.result == -ENODATA ? saver_failed_short(t, &op) : saver_failed(t, &op);
	saver_moved(t, got_bytes);
	return 0;
}

/* What is longer than the slice is read in parts of it: to be checked it has to be there, and
 * memory for a tensor there is not. */
static int read_checked(struct saver_thread *t, struct saver_open *f, const struct shard_read *r)
{
	unsigned char *slice = t->requests[0].slice;
	uint64_t most = t->saver->span_bytes;
	int rc = 0;

	for (uint64_t done = 0; rc == 0 && done < r->bytes; done += most) {
		uint64_t bytes = u64_min(r->bytes - done, most);
		uint64_t got = r->got_bytes > done ? r->got_bytes - done : 0;

		got = u64_min(got, bytes);
		if (got == 0)
			break;
		if (saver_must_stop(t->saver))
			return SAVER_STOPPED;
		rc = read_one(t, f, r->off + done, bytes, got, slice);
		if (rc == 0)
			rc = saver_check(t, f->path, &t->at, r->off + done, slice, got);
	}
	return rc;
}

static int read_calls(struct saver_thread *t, struct saver_open *f)
{
	bool is_checked = t->saver->cfg.job->verify == VERIFY_CRC32C;
	struct shard_read r = { 0 };
	int rc = 0;

	while (rc == 0 && shard_read_next(&t->shard, &r)) {
		if (saver_must_stop(t->saver))
			return SAVER_STOPPED;
		rc = is_checked ? read_checked(t, f, &r)
				: read_one(t, f, r.off, r.bytes, r.got_bytes, NULL);
	}
	return rc;
}

int saver_read(struct saver_thread *t, struct saver_open *f, const struct saver_range *part)
{
	return saver_is_framework(t->saver) ? read_calls(t, f) : read_plain(t, f, part);
}

/* ---- saved ---- */

static const struct content *content_of(const struct saver_thread *t)
{
	return t->saver->cfg.set->content;
}

/* Of so many bytes, those that O_DIRECT takes. */
static uint64_t whole_blocks(const struct saver_thread *t, uint64_t bytes)
{
	uint64_t align = t->saver->cfg.align_bytes;

	return align ? bytes - bytes % align : bytes;
}

/*
 * What is left behind the last whole block goes through a descriptor without O_DIRECT. It is
 * flushed with the file, whichever descriptor is.
 */
static int write_tail(struct saver_thread *t, const struct saver_open *f, void *from, uint64_t off,
		      uint64_t bytes)
{
	struct iovec part = { from, (size_t)bytes };
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &t->tail.io, .off = off, .len_bytes = bytes },
		.from = &part,
		.from_parts = 1
	};
	int rc = saver_open(t, &t->tail, f->index, O_WRONLY | O_NOFOLLOW);

	if (rc < 0)
		return rc;
	if (saver_do(t, &op) < 0)
		rc = saver_failed(t, &op);
	else
		saver_moved(t, bytes);
	if (!t->is_dead) {
		int closed = saver_close_file(t, &t->tail);

		rc = rc ? rc : closed;
	}
	return rc;
}

/* access=plain. */

static void mend(struct saver_thread *t, struct saver_request *q)
{
	for (unsigned i = 0; i < q->laid_count; i++)
		content_mend(content_of(t), q->slice, q->laid[i].at, q->laid[i].bytes);
	q->laid_count = 0;
}

static void note_laid(struct saver_request *q, uint64_t at, uint64_t bytes)
{
	struct saver_laid *last = &q->laid[SAVER_LAID - 1];

	if (q->laid_count < SAVER_LAID)
		q->laid[q->laid_count++] = (struct saver_laid){ at, bytes };
	else
		last->bytes = at + bytes - last->at;
}

/* The part of a piece that lies in the request, over what is there. */
static void lay(struct saver_thread *t, struct saver_request *q, const struct shard_piece *p)
{
	uint64_t from = p->off > q->off ? p->off : q->off;
	uint64_t end = p->off + p->bytes, q_end = q->off + q->bytes;
	uint64_t bytes = (end < q_end ? end : q_end) - from;

	if (bytes == 0)
		return;
	shard_meta(&t->shard, p, from - p->off, q->slice + (from - q->off), bytes);
	note_laid(q, from - q->off, bytes);
}

/* The piece that the request ends in may go on in the next one. */
static void lay_all(struct saver_thread *t, struct saver_request *q)
{
	struct shard_piece *p = &t->at;
	uint64_t end = q->off + q->bytes;
	bool has = saver_seek(&t->shard, p, q->off);

	while (has && p->off < end) {
		if (!p->is_tensor)
			lay(t, q, p);
		if (p->off + p->bytes >= end)
			return;
		has = shard_next(&t->shard, p);
	}
}

static void make(struct saver_thread *t, struct saver_request *q)
{
	uint64_t begin_ns = saver_data_begin(t);
	struct content_of of;

	mend(t, q);
	shard_content_of(&t->shard, q->off, &of);
	content_put(content_of(t), &of, q->slice, q->bytes, t->parts);
	lay_all(t, q);
	saver_data_end(t, begin_ns);
}

static void saver_write_submit(struct saver_thread *t, struct saver_request *q,
			       struct saver_open *f, uint64_t bytes)
{
	q->part = (struct iovec){ q->slice, (size_t)bytes };
	q->io = (struct io_op){ .io = { .op = MLGEN_WRITE, .off = q->off, .len_bytes = bytes },
				.from = &q->part,
				.from_parts = 1 };
	q->bytes = bytes;
	saver_submit(t, q, f);
}

/* Its slice is still as it was made: nobody takes it before. */
static int end_plain(struct saver_thread *t, struct saver_open *f, unsigned char *tail,
		     uint64_t off, uint64_t bytes)
{
	int rc = saver_drain(t);

	return rc || bytes == 0 ? rc : write_tail(t, f, tail, off, bytes);
}

/*
 * A file that grows by writes past its end grows by one of them at a time: room is made first, as
 * fio does, too, and a full disk is known before the first byte. A filesystem or engine that cannot
 * is no error.
 */
static int allocate(struct saver_thread *t, struct saver_open *f, const struct saver_range *part)
{
	struct io_op op = { .io = { .op = MLGEN_ALLOCATE,
				    .file = &f->io,
				    .off = part->from,
				    .len_bytes = part->to - part->from } };
	int64_t rc = 0;

	if (t->saver->cfg.align_bytes && op.io.len_bytes)
		rc = saver_do(t, &op);
	if (t->is_dead || rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG)
		return saver_failed(t, &op);
	return 0;
}

static int write_plain(struct saver_thread *t, struct saver_open *f, const struct saver_range *part)
{
	uint64_t bs = t->saver->span_bytes, whole = 0, bytes = 0;
	struct saver_request *q = NULL;
	int rc = allocate(t, f, part);

	if (rc)
		return rc;
	for (uint64_t off = part->from; off < part->to; off += bs) {
		rc = saver_take(t, &q);
		if (rc)
			break;
		q->off = off;
		bytes = q->bytes = part->to - off < bs ? part->to - off : bs;
		make(t, q);
		whole = whole_blocks(t, bytes);
		if (whole)
			saver_write_submit(t, q, f, whole);
		else
			saver_give(t, q);
	}
	if (rc) {
		saver_drain(t);
		return rc;
	}
	return q ? end_plain(t, f, q->slice + whole, q->off + whole, bytes - whole) : 0;
}

/* access=framework. */

/* So many bytes of the file in parts, which are one call. */
static int write_parts(struct saver_thread *t, struct saver_open *f, uint64_t off, uint64_t bytes,
		       const struct iovec *parts, unsigned count)
{
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &f->io, .off = off, .len_bytes = bytes },
		.from = parts,
		.from_parts = count
	};

	if (saver_do(t, &op) < 0)
		return saver_failed(t, &op);
	saver_moved(t, bytes);
	return 0;
}

/* Head and run into t->parts: their number. */
static unsigned make_call(struct saver_thread *t, const struct shard_write *w)
{
	uint64_t begin_ns = saver_data_begin(t), rest = w->bytes;
	struct content_of of;
	unsigned n = 0;

	if (w->head_bytes) {
		shard_copy(&t->shard, &t->at, w->off, t->head, w->head_bytes);
		t->parts[n++] = (struct iovec){ t->head, w->head_bytes };
		rest -= w->head_bytes;
	}
	if (rest) {
		shard_content_of(&t->shard, w->off + w->head_bytes, &of);
		n += content_put(content_of(t), &of, t->requests[0].slice, rest, t->parts + n);
	}
	saver_data_end(t, begin_ns);
	return n;
}

/* One part, of whole blocks, and what is behind them. */
static int write_direct(struct saver_thread *t, struct saver_open *f, const struct shard_write *w)
{
	uint64_t whole = whole_blocks(t, w->bytes);
	struct iovec part = t->parts[0];
	int rc = 0;

	assert(w->head_bytes == 0 && w->bytes <= t->saver->span_bytes);
	part.iov_len = (size_t)whole;
	if (whole)
		rc = write_parts(t, f, w->off, whole, &part, 1);
	if (rc == 0 && whole < w->bytes)
		rc = write_tail(t, f, t->requests[0].slice + whole, w->off + whole,
				w->bytes - whole);
	return rc;
}

/* It starts to write back what is dirty; the next time it is gone. What fails costs only memory. */
static void drop_behind(struct saver_thread *t, struct saver_open *f, uint64_t bytes)
{
	struct io_op op = { .io = { .op = MLGEN_ADVISE,
				    .file = &f->io,
				    .len_bytes = bytes,
				    .advice = POSIX_FADV_DONTNEED } };

	saver_do(t, &op);
}

static int write_calls(struct saver_thread *t, struct saver_open *f)
{
	bool is_direct = t->saver->cfg.align_bytes;
	struct shard_write w = { 0 };
	unsigned n;
	int rc = 0;

	while (rc == 0 && shard_write_next(&t->shard, &w)) {
		if (saver_must_stop(t->saver))
			return SAVER_STOPPED;
		n = make_call(t, &w);
		rc = is_direct ? write_direct(t, f, &w)
			       : write_parts(t, f, w.off, w.bytes, t->parts, n);
		if (rc == 0 && w.is_dropped && !is_direct)
			drop_behind(t, f, w.off + w.bytes);
	}
	return rc;
}

int saver_write(struct saver_thread *t, struct saver_open *f, const struct saver_range *part)
{
	return saver_is_framework(t->saver) ? write_calls(t, f) : write_plain(t, f, part);
}
