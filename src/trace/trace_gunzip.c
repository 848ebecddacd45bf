/* SPDX-License-Identifier: Apache-2.0 */
/* trace_gunzip.c - what is in a gzip file, block by block, whatever number of members it has. */
#include "trace/trace_gunzip.h"

#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/util.h"

enum { ROOM_BYTES = 64 << 10 };
/* The largest window, and no other head than that of gzip (zlib.h). */
enum { GZIP_ONLY = 15 + 16 };

struct trace_gunzip {
	z_stream z;
	uint64_t in_bytes, out_bytes;
	const char *why;
	bool is_inside; /* a member, which has begun and not ended */
	bool has_ended; /* one of them */
	unsigned char *room;
	size_t room_bytes;
};

struct trace_gunzip *trace_gunzip_new(const char *begun, size_t bytes)
{
	struct trace_gunzip *g = mem_zalloc(sizeof(*g));

	if (inflateInit2(&g->z, GZIP_ONLY) != Z_OK)
		mem_none(sizeof(*g));
	g->room_bytes = (size_t)u64_max(bytes, ROOM_BYTES);
	g->room = mem_zalloc(g->room_bytes);
	memcpy(g->room, begun, bytes);
	trace_gunzip_give(g, bytes);
	return g;
}

void trace_gunzip_free(struct trace_gunzip *g)
{
	if (!g)
		return;
	inflateEnd(&g->z);
	mem_free(g->room);
	mem_free(g);
}

char *trace_gunzip_room(struct trace_gunzip *g, size_t *bytes)
{
	*bytes = g->room_bytes;
	return (char *)g->room;
}

void trace_gunzip_give(struct trace_gunzip *g, size_t bytes)
{
	g->z.next_in = g->room;
	g->z.avail_in = (uInt)bytes;
	g->in_bytes += bytes;
}

/* Behind a member: another, zeros, or the end. */
static bool begin_member(struct trace_gunzip *g)
{
	while (g->has_ended && g->z.avail_in && !*g->z.next_in) {
		g->z.next_in++;
		g->z.avail_in--;
	}
	if (!g->z.avail_in)
		return false;
	g->is_inside = true;
	return true;
}

static enum trace_gunzip_state trace_gunzip_fail(struct trace_gunzip *g, int code)
{
	g->why = g->z.msg ? g->z.msg : zError(code);
	return GUNZIP_IS_BAD;
}

enum trace_gunzip_state trace_gunzip_take(struct trace_gunzip *g, char *to, size_t room,
					  size_t *bytes)
{
	int code;

	*bytes = 0;
	if (!g->is_inside && !begin_member(g))
		return GUNZIP_NEEDS;
	g->z.next_out = (unsigned char *)to;
	g->z.avail_out = (uInt)room;
	code = inflate(&g->z, Z_NO_FLUSH);
	*bytes = room - g->z.avail_out;
	g->out_bytes += *bytes;
	if (code == Z_STREAM_END) {
		g->is_inside = false;
		g->has_ended = true;
		code = inflateReset(&g->z);
	} else if (code == Z_BUF_ERROR) {
		return GUNZIP_NEEDS; /* nothing came of nothing */
	}
	if (code != Z_OK)
		return trace_gunzip_fail(g, code);
	return g->z.avail_in || !g->z.avail_out ? GUNZIP_HAS_MORE : GUNZIP_NEEDS;
}

bool trace_gunzip_is_whole(const struct trace_gunzip *g)
{
	return !g->is_inside;
}

uint64_t trace_gunzip_at_bytes(const struct trace_gunzip *g)
{
	return g->in_bytes - g->z.avail_in;
}

uint64_t trace_gunzip_out_bytes(const struct trace_gunzip *g)
{
	return g->out_bytes;
}

const char *trace_gunzip_why(const struct trace_gunzip *g)
{
	return g->why;
}
