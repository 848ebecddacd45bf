/* SPDX-License-Identifier: Apache-2.0 */
/* tfrecord_inflate.c - records in a compressed file: counted, and how far a reader goes into the
 * file for each. */
#include "data/formats/formats.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#define ZLIB_CONST /* what is read stays as it is */
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"

/*
 * TFRecordDataset(compression_type="GZIP" or "ZLIB") inflates into a buffer of 256 KiB, and takes
 * records from there (TensorFlow's ZlibInputStream with its default options): when a record is
 * delivered, the file has been read as far as the buffer needed that holds its end. That is what
 * the words say, and a sample's bytes are those of the file between two of them.
 */
#define OUT_BYTES (256u << 10)

/* Deflate can make a thousand times as much of a file; where so much comes of so little there are
 * no records in it. */
#define RATIO_MAX 500
#define FREE_BYTES (UINT64_C(1) << 30)

enum { HEAD_BYTES = 12, CRC_BYTES = 4 };

struct inflation {
	struct look *l;
	z_stream z;
	uint8_t *out;
	uint64_t in_at;  /* of the file, given to zlib */
	uint64_t passed; /* bytes that came out */
	/* Of the record at hand: its head so far, what is still to come. */
	uint8_t head[HEAD_BYTES];
	unsigned head_bytes;
	uint64_t left;
};

/* Records end in what came out; what was read until then is their word. */
static int take_out(struct inflation *f, size_t bytes)
{
	const uint8_t *at = f->out, *end = at + bytes;
	int r = 0;

	while (at < end && r == 0) {
		uint64_t left = (uint64_t)(end - at);

		if (f->head_bytes < HEAD_BYTES) {
			unsigned n = (unsigned)u64_min(HEAD_BYTES - f->head_bytes, left);

			memcpy(f->head + f->head_bytes, at, n);
			f->head_bytes += n;
			at += n;
			if (f->head_bytes < HEAD_BYTES)
				break;
			if (!tfrecord_is_length(f->head))
				return look_fail(f->l, f->in_at,
						 "no TFRecord, when it is decompressed: the "
						 "checksum of a length is wrong");
			f->left = look_le(f->head, 8);
			if (f->left > UINT64_MAX - CRC_BYTES)
				return look_fail(f->l, f->in_at, "a record of %" PRIu64 " bytes",
						 f->left);
			f->left += CRC_BYTES;
			continue;
		}
		left = u64_min(left, f->left);
		at += left;
		f->left -= left;
		if (f->left)
			continue;
		f->head_bytes = 0;
		f->l->samples++;
		r = look_word(f->l, f->in_at - f->z.avail_in);
	}
	return r;
}

static int give_in(struct inflation *f)
{
	size_t n = (size_t)u64_min(LOOK_BYTES / 2, f->l->file_bytes - f->in_at);
	const uint8_t *in = look_at(f->l, f->in_at, n);

	if (!in)
		return f->l->err->code;
	f->z.next_in = in;
	f->z.avail_in = (uInt)n;
	f->in_at += n;
	return 0;
}

static int tfrecord_inflate_wrong(struct inflation *f, int code)
{
	return look_fail(f->l, f->in_at - f->z.avail_in, "it cannot be decompressed: %s",
			 f->z.msg              ? f->z.msg
			 : code == Z_BUF_ERROR ? "it is cut off"
					       : zError(code));
}

/* gzip files may have several members behind one another. */
static int next_member(struct inflation *f)
{
	int code = inflateReset(&f->z);

	return code == Z_OK ? 0 : tfrecord_inflate_wrong(f, code);
}

static int inflate_some(struct inflation *f, bool *is_end)
{
	int code, r;
	size_t n;

	f->z.next_out = f->out;
	f->z.avail_out = OUT_BYTES;
	do {
		if (f->z.avail_in == 0 && f->in_at < f->l->file_bytes) {
			r = give_in(f);
			if (r)
				return r;
		}
		code = inflate(&f->z, Z_NO_FLUSH);
		*is_end =
			code == Z_STREAM_END && f->z.avail_in == 0 && f->in_at == f->l->file_bytes;
		if (code == Z_STREAM_END && !*is_end && next_member(f) != 0)
			return f->l->err->code;
		if (code != Z_OK && code != Z_STREAM_END)
			return tfrecord_inflate_wrong(f, code);
	} while (f->z.avail_out && !*is_end);
	n = OUT_BYTES - f->z.avail_out;
	f->passed += n;
	if (f->passed > FREE_BYTES && f->passed / RATIO_MAX > f->in_at)
		return look_fail(f->l, f->in_at,
				 "more than %d times as much comes out as was compressed: no "
				 "records are like that",
				 RATIO_MAX);
	return take_out(f, n);
}

int tfrecord_inflate(struct look *l)
{
	struct inflation *f = mem_zalloc(sizeof(*f));
	bool is_end = false;
	int r;

	f->l = l;
	f->out = mem_array(OUT_BYTES, 1);
	/* 32: by its header gzip's or zlib's format. */
	r = inflateInit2(&f->z, 15 + 32) == Z_OK ? 0 : tfrecord_inflate_wrong(f, Z_MEM_ERROR);
	while (r == 0 && !is_end)
		r = inflate_some(f, &is_end);
	if (r == 0 && (f->head_bytes || f->left))
		r = look_fail(l, l->file_bytes,
			      "the last record is cut off, when the file is decompressed");
	l->sample_bytes = l->samples ? l->file_bytes : 0;
	inflateEnd(&f->z);
	mem_free(f->out);
	mem_free(f);
	return r;
}
