/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - decompress the bytes that a thread has read, and drop the output. */
#include "run/read/read_internal.h"

#define ZLIB_CONST /* zlib does not write to its input */
#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/formats/parquet/parquet.h"

/* Size of TensorFlow's output buffer. Other frameworks have an output buffer of the size of a
 * sample. */
#define OUT_BYTES (UINT64_C(256) << 10)
/* Memory of zlib: its window and tables (zlib.h). */
#define ZLIB_BYTES (UINT64_C(64) << 10)
/* Memory of zstd: its tables and, for frames, the window of a page. */
#define ZSTD_BYTES (UINT64_C(2) << 20)

/* Maximum input of a call of zlib, which counts in 32 bits. */
#define IN_MOST (UINT64_C(1) << 30)

struct unpack {
	z_stream z;
	bool is_ended; /* the stream has ended; the next byte begins another one */
	ZSTD_DCtx *zstd;
	unsigned char *out;
	void *room;
	uint64_t room_bytes;
};

uint64_t unpack_bytes(uint64_t most_bytes)
{
	return most_bytes + OUT_BYTES + ZLIB_BYTES + ZSTD_BYTES;
}

struct unpack *unpack_new(uint64_t most_bytes)
{
	struct unpack *u = mem_zalloc(sizeof(*u));

	u->room_bytes = round_up(u64_max(most_bytes, 1), 4096);
	u->room = mem_buffer((size_t)u->room_bytes, MEM_MALLOC);
	u->out = mem_array(OUT_BYTES, 1);
	u->zstd = ZSTD_createDCtx();
	/* 32: detect gzip's or zlib's format by the header. */
	if (u->room && u->zstd && inflateInit2(&u->z, 15 + 32) == Z_OK)
		return u;
	ZSTD_freeDCtx(u->zstd);
	if (u->room)
		mem_buffer_free(u->room, (size_t)u->room_bytes, MEM_MALLOC);
	mem_free(u->out);
	mem_free(u);
	return NULL;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	inflateEnd(&u->z);
	ZSTD_freeDCtx(u->zstd);
	mem_buffer_free(u->room, (size_t)u->room_bytes, MEM_MALLOC);
	mem_free(u->out);
	mem_free(u);
}

void *unpack_room(struct unpack *u)
{
	return u->room;
}

void unpack_begin(struct unpack *u)
{
	inflateReset(&u->z);
	u->is_ended = false;
}

/* Inflate the input up to the end of the stream. */
static const char *inflate_some(struct unpack *u)
{
	int code;

	do {
		u->z.next_out = u->out;
		u->z.avail_out = OUT_BYTES;
		code = inflate(&u->z, Z_NO_FLUSH);
		/* There was neither input nor pending output. */
		if (code == Z_BUF_ERROR)
			return NULL;
		if (code != Z_OK && code != Z_STREAM_END)
			return u->z.msg ? u->z.msg : zError(code);
		u->is_ended = code == Z_STREAM_END;
	} while (!u->is_ended && (u->z.avail_in || !u->z.avail_out));
	return NULL;
}

/* Inflate the bytes of a read. The file may consist of several consecutive streams. */
static const char *read_stream(struct unpack *u, const unsigned char *at, uint64_t bytes,
			       uint64_t *off)
{
	const char *words = NULL;

	*off = 0;
	while (*off < bytes && !words) {
		uint64_t n = u64_min(bytes - *off, IN_MOST);

		if (u->is_ended)
			unpack_begin(u);
		u->z.next_in = at + *off;
		u->z.avail_in = (uInt)n;
		words = inflate_some(u);
		*off += n - u->z.avail_in;
	}
	return words;
}

/* Decompress a complete stream to raw_bytes; UINT64_MAX = any number. */
static const char *read_whole(struct unpack *u, const unsigned char *at, uint64_t bytes,
			      uint64_t raw_bytes, uint64_t *off)
{
	const char *words;

	unpack_begin(u);
	words = read_stream(u, at, bytes, off);
	if (words)
		return words;
	if (!u->is_ended)
		return "the data is cut off";
	return raw_bytes == UINT64_MAX || u->z.total_out == raw_bytes
		       ? NULL
		       : "the length differs from the page header";
}

/* Decompress one zstd frame or several to raw_bytes. */
static const char *read_frames(struct unpack *u, const unsigned char *at, uint64_t bytes,
			       uint64_t raw_bytes, uint64_t *off)
{
	ZSTD_inBuffer in = { at, (size_t)bytes, 0 };
	ZSTD_outBuffer out;
	uint64_t total = 0;
	size_t left;

	ZSTD_DCtx_reset(u->zstd, ZSTD_reset_session_only);
	do {
		out = (ZSTD_outBuffer){ u->out, OUT_BYTES, 0 };
		left = ZSTD_decompressStream(u->zstd, &out, &in);
		total += out.pos;
	} while (!ZSTD_isError(left) && (in.pos < in.size || (left && out.pos == out.size)));
	*off = in.pos;
	if (ZSTD_isError(left))
		return ZSTD_getErrorName(left);
	if (left || bytes == 0)
		return "the data is cut off";
	return total == raw_bytes ? NULL : "the length differs from the page header";
}

/* Decompress the content of a page with the codec of its chunk. */
typedef const char *codec_fn(struct unpack *u, const unsigned char *at, uint64_t bytes,
			     uint64_t raw_bytes, uint64_t *off);

static const char *read_pages(struct unpack *u, codec_fn *whole, const unsigned char *at,
			      uint64_t bytes, uint64_t *off)
{
	const char *words = NULL;

	while (*off < bytes && !words) {
		uint64_t start = *off, head;
		struct parquet_page p;

		if (!parquet_page_read(&p, at + start, (size_t)(bytes - start)))
			return "the page is incomplete";
		head = p.head_bytes + p.level_bytes;
		if (p.is_packed && p.raw_bytes)
			words = whole(u, at + start + head, p.stored_bytes, p.raw_bytes, off);
		*off = start + head + (words ? *off : p.stored_bytes);
	}
	return words;
}

const char *unpack_read(struct unpack *u, enum plan_packed packed, const void *at, uint64_t bytes,
			uint64_t *off)
{
	const unsigned char *from = at;

	*off = 0;
	switch (packed) {
	case PLAN_STREAM:
		return read_stream(u, from, bytes, off);
	case PLAN_DEFLATE:
		return read_whole(u, from, bytes, UINT64_MAX, off);
	case PLAN_PAGES:
		return read_pages(u, read_whole, from, bytes, off);
	case PLAN_ZSTD_PAGES:
		return read_pages(u, read_frames, from, bytes, off);
	default:
		return NULL;
	}
}
