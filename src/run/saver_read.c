/* SPDX-License-Identifier: Apache-2.0 */
/* saver_read.c - one thread's part of a file that is restored. */
#include <errno.h>
#include <inttypes.h>

#include "base/util.h"
#include "io/meta.h"
#include "run/saver_inside.h"

#define WHERE_BYTES (STATE_NAME_BYTES + 64)

bool saver_seek(const struct shard *f, struct shard_piece *p, uint64_t off)
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
