/* SPDX-License-Identifier: Apache-2.0 */
/* plan_forward.c - requests of TensorFlow and WebDataset, which stream a file from start to end. */
#include "data/formats/formats.h"

#include "data/file/file.h"

/*
 * Both readers stream a file in blocks, and request them in sizes of their own. A block is fetched
 * when a record reaches into it, so a request belongs to the extent that first needs a byte of its
 * block; most extents of small samples make none. A short read is followed by a request for the
 * rest, which is empty: that is how both detect the end. A request that begins at the end is empty
 * and needs no second one. Derived from the sources of:
 *
 * - tfrecord: tf.data.TFRecordDataset (TensorFlow 2). Blocks and requests are
 *   both its buffer of 256 KiB. The calls are an open and preads, no stat.
 *   After the last record the reader asks for one more, so it always meets the
 *   end.
 *
 * - tar: webdataset.WebDataset (0.2) over tarfile's mode "r|*" (CPython 3.8 to
 *   3.13), for a file on the local filesystem. Blocks are tarfile's 10 KiB,
 *   except the first: 512 bytes, to see whether it is compressed. The file
 *   object has a buffer of one filesystem block (st_blksize, 4096 bytes) and
 *   bypasses it for whole blocks, which makes four requests in 20 KiB. A
 *   sample is delivered when the first member of the next sample has been
 *   read, since only its name tells that the sample is complete. The last
 *   sample is delivered at the end mark. Padding after the mark stays unread.
 *   (From 3.14 on the buffer has 128 KiB or more; GOPEN_BUFFER sets another
 *   size.)
 *
 * Every call waits for the previous one.
 */
static const struct forward_stream {
	const struct format *format;
	uint64_t (*needed)(const struct file_shape *shape, uint64_t n);
	bool has_stat;                      /* stat sizes its buffer */
	uint64_t first_bytes, block_bytes;  /* block sizes */
	uint64_t period_bytes, requests[4]; /* request sizes, repeated every period */
	uint64_t largest_bytes;
} streams[] = {
	{ .format = &format_tfrecord,
	  .needed = tfrecord_needed,
	  .first_bytes = TFRECORD_READ_BYTES,
	  .block_bytes = TFRECORD_READ_BYTES,
	  .period_bytes = TFRECORD_READ_BYTES,
	  .requests = { TFRECORD_READ_BYTES },
	  .largest_bytes = TFRECORD_READ_BYTES },
	{ .format = &format_tar,
	  .needed = tar_needed,
	  .has_stat = true,
	  .first_bytes = 512,
	  .block_bytes = 10240,
	  .period_bytes = 20480,
	  .requests = { 4096, 4096, 4096, 8192 },
	  .largest_bytes = 8192 },
};

/* Values of plan.step. */
enum { OPEN, STAT, READ, READ_REST, CLOSED };

/* Values of plan.has. */
enum { LAST = 1 /* last extent of its file */ };

static const struct forward_stream *stream_of(const struct plan_config *config)
{
	const struct forward_stream *s = streams;

	while (s->format != config->dataset->format)
		s++;
	return s;
}

/* End of the blocks that the first n samples need. */
static uint64_t blocks_until(const struct forward_stream *s, const struct file_shape *shape,
			     uint64_t n)
{
	uint64_t bytes = n ? s->needed(shape, n) : 0;

	if (bytes <= s->first_bytes)
		return bytes ? s->first_bytes : 0;
	return s->first_bytes + round_up(bytes - s->first_bytes, s->block_bytes);
}

/* Find the first request that begins at `from` or later. Returns its offset. */
static uint64_t request_at(const struct forward_stream *s, uint64_t from, uint64_t *bytes)
{
	uint64_t at = from - from % s->period_bytes;
	uint64_t end = at + s->period_bytes;
	unsigned i = 0;

	while (at < from)
		at += s->requests[i++];
	*bytes = at < end ? s->requests[i] : s->requests[0];
	return at;
}

static void forward_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	const struct forward_stream *s = stream_of(p->config);
	uint64_t until = x->first_sample + x->samples, bytes;

	p->off = request_at(s, blocks_until(s, shape, x->first_sample), &bytes);
	p->end = blocks_until(s, shape, until);
	p->step = x->first_sample ? READ : OPEN;
	p->has = until == shape->samples ? LAST : 0;
}

static bool forward_next(struct plan *p, struct plan_op *op)
{
	op->after = true;
	if (p->step == OPEN) {
		op->op = MLGEN_OPEN;
		p->step = stream_of(p->config)->has_stat ? STAT : READ;
	} else if (p->step == STAT) {
		op->op = MLGEN_STAT;
		p->step = READ;
	} else if (p->step == READ_REST) {
		op->op = MLGEN_READ;
		op->off = p->file_bytes;
		op->len_bytes = p->off - p->file_bytes;
		p->step = READ;
	} else if (p->off < p->end && p->off <= p->file_bytes) {
		bool is_packed = p->shape.facts && p->config->dataset->format == &format_tfrecord &&
				 tfrecord_scanned_is_compressed(&p->shape);
		uint64_t bytes;

		op->op = MLGEN_READ;
		op->packed = is_packed ? PLAN_STREAM : PLAN_RAW;
		op->off = request_at(stream_of(p->config), p->off, &bytes);
		op->len_bytes = bytes;
		p->off = op->off + bytes;
		/* A short read with O_DIRECT is the end: no request may begin there. */
		if (op->off < p->file_bytes && p->off > p->file_bytes && !p->config->direct)
			p->step = READ_REST;
	} else if (p->step == READ && p->has == LAST) {
		op->op = MLGEN_CLOSE;
		p->step = CLOSED;
	} else {
		return false;
	}
	return true;
}

/* Count the whole periods within the file. */
static void forward_skip(struct plan *p, struct plan_counts *c)
{
	const struct forward_stream *s = stream_of(p->config);
	uint64_t end = p->end < p->file_bytes ? p->end : p->file_bytes;
	uint64_t n = end > p->off ? (end - p->off) / s->period_bytes : 0;

	for (unsigned i = 0; i < 4 && s->requests[i]; i++) {
		c->ops[MLGEN_READ] += n;
		sizes_add(&c->reads, s->requests[i], n);
	}
	c->io_bytes += n * s->period_bytes;
	p->off += n * s->period_bytes;
}

static uint64_t forward_largest_read(const struct plan_config *config)
{
	return stream_of(config)->largest_bytes;
}

const struct plan_kind plan_forward = {
	.init = forward_init,
	.next = forward_next,
	.skip = forward_skip,
	.largest_read = forward_largest_read,
};
