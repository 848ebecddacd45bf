/* SPDX-License-Identifier: Apache-2.0 */
/* unpack.c - see unpack.h. */
#include "run/unpack.h"

#include <string.h>
#define ZLIB_CONST /* what is read stays as it is */
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/parquet_page.h"

/* TensorFlow's buffer of what comes out; others have one of their samples. */
#define OUT_BYTES (UINT64_C(256) << 10)
/* Of zlib: its window and tables, zlib.h. */
#define ZLIB_BYTES (UINT64_C(64) << 10)

/* To zlib at a time: it counts in 32 bits. */
#define IN_MOST (UINT64_C(1) << 30)

struct unpack {
	z_stream z;
	bool is_ended; /* the stream: what follows is another one */
	unsigned char *out;
	void *room;
	uint64_t room_bytes;
};

uint64_t unpack_bytes(uint64_t most_bytes)
{
	return most_bytes + OUT_BYTES + ZLIB_BYTES;
}

struct unpack *unpack_new(uint64_t most_bytes)
{
	struct unpack *u = mem_zalloc(sizeof(*u));

	u->room_bytes = round_up(u64_max(most_bytes, 1), 4096);
	u->room = mem_buffer((size_t)u->room_bytes, MEM_MALLOC);
	u->out = mem_array(OUT_BYTES, 1);
	/* 32: by its header gzip's or zlib's format. */
	if (u->room && inflateInit2(&u->z, 15 + 32) == Z_OK)
		return u;
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

static const char *wrong(const struct unpack *u, int code)
{
	return u->z.msg ? u->z.msg : zError(code);
}

/* As far as it goes, or to the end of the stream. */
static const char *inflate_some(struct unpack *u)
{
	int code;

	do {
		u->z.next_out = u->out;
		u->z.avail_out = OUT_BYTES;
		code = inflate(&u->z, Z_NO_FLUSH);
		/* Nothing came of nothing: all of it was there before. */
		if (code == Z_BUF_ERROR)
			return NULL;
		if (code != Z_OK && code != Z_STREAM_END)
			return wrong(u, code);
		u->is_ended = code == Z_STREAM_END;
	} while (!u->is_ended && (u->z.avail_in || !u->z.avail_out));
	return NULL;
}

/* A file may be several streams behind one another. */
static const char *read_stream(struct unpack *u, const unsigned char *at,
			       uint64_t bytes, uint64_t *off)
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

/* One that is whole, of which so much comes; UINT64_MAX = however much. */
static const char *read_whole(struct unpack *u, const unsigned char *at,
			      uint64_t bytes, uint64_t raw_bytes, uint64_t *off)
{
	const char *words;

	unpack_begin(u);
	words = read_stream(u, at, bytes, off);
	if (words)
		return words;
	if (!u->is_ended)
		return "it is cut off";
	return raw_bytes == UINT64_MAX || u->z.total_out == raw_bytes
		       ? NULL
		       : "it is not as long as its page says";
}

static const char *read_page(struct unpack *u, const unsigned char *at,
			     uint64_t bytes, uint64_t *off)
{
	struct parquet_page p;
	const char *words = NULL;
	uint64_t in = 0;

	if (!parquet_page_read(&p, at, (size_t)bytes))
		return "there is no whole page";
	*off += p.head_bytes + p.level_bytes;
	if (p.is_packed && p.raw_bytes) {
		words = read_whole(u, at + p.head_bytes + p.level_bytes,
				   p.stored_bytes, p.raw_bytes, &in);
		if (words)
			*off += in;
	}
	if (!words)
		*off += p.stored_bytes;
	return words;
}

const char *unpack_read(struct unpack *u, enum plan_packed packed,
			const void *at, uint64_t bytes, uint64_t *off)
{
	const unsigned char *from = at;
	const char *words = NULL;

	*off = 0;
	switch (packed) {
	case PLAN_STREAM:
		return read_stream(u, from, bytes, off);
	case PLAN_DEFLATE:
		return read_whole(u, from, bytes, UINT64_MAX, off);
	case PLAN_PAGES:
		while (*off < bytes && !words)
			words = read_page(u, from + *off, bytes - *off, off);
		return words;
	default:
		return NULL;
	}
}
