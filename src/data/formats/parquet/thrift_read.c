/* SPDX-License-Identifier: Apache-2.0 */
/* thrift_read.c - reads structures in Thrift's compact protocol from a file that a scan looks
 * at. */
#include "data/formats/parquet/parquet_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"

/* So much is looked at at a time. */
#define PIECE_BYTES 4096u
/* Structs within structs; Parquet has less than ten. */
#define DEPTH_MAX 40u

#define LONG_LIST 15
#define VARINT_MAX 10

static void thrift_read_fail(struct thrift_reader *t, const char *what)
{
	if (t->failed)
		return;
	t->failed =
		look_fail(t->look, t->off, "%s; the footer ends at byte %" PRIu64, what, t->end);
	t->there = 0;
}

void thrift_reader_init(struct thrift_reader *t, struct look *l, uint64_t off, uint64_t end)
{
	*t = (struct thrift_reader){ .look = l, .off = off, .end = end };
}

/* Is there another byte at t->at? */
static bool thrift_fill(struct thrift_reader *t)
{
	uint64_t left = t->end - t->off;

	if (t->failed)
		return false;
	if (t->there)
		return true;
	if (left == 0) {
		thrift_read_fail(t, "a value of the footer is cut off here");
		return false;
	}
	left = u64_min(left, PIECE_BYTES);
	t->at = look_at(t->look, t->off, (size_t)left);
	t->there = t->at ? (size_t)left : 0;
	if (!t->at)
		t->failed = t->look->err->code;
	return t->at;
}

static unsigned get_byte(struct thrift_reader *t)
{
	if (!thrift_fill(t))
		return 0;
	t->off++;
	t->there--;
	return *t->at++;
}

static uint64_t get_varint(struct thrift_reader *t)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX; i++) {
		unsigned b = get_byte(t);

		v |= (uint64_t)(b & 0x7f) << 7 * i;
		if (!(b & 0x80))
			return v;
	}
	thrift_read_fail(t, "a number of the footer has more than 64 bits");
	return 0;
}

static int64_t get_zigzag(struct thrift_reader *t)
{
	uint64_t v = get_varint(t);

	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static void thrift_read_pass(struct thrift_reader *t, uint64_t bytes)
{
	if (bytes > t->end - t->off) {
		thrift_read_fail(t, "a text of the footer is longer than what is left");
		return;
	}
	while (bytes && thrift_fill(t)) {
		size_t n = (size_t)u64_min(bytes, t->there);

		t->at += n;
		t->there -= n;
		t->off += n;
		bytes -= n;
	}
}

bool thrift_enter(struct thrift_reader *t, unsigned type)
{
	if (type != WIRE_STRUCT)
		thrift_read_fail(t, "a struct of the footer is none");
	else if (++t->depth > DEPTH_MAX)
		thrift_read_fail(t, "the footer has structs within structs without end");
	return !t->failed;
}

void thrift_leave(struct thrift_reader *t)
{
	t->depth--;
}

bool thrift_next(struct thrift_reader *t, struct thrift_field *f)
{
	unsigned b = get_byte(t);

	f->type = b & 0x0f;
	if (t->failed || f->type == WIRE_STOP)
		return false;
	if (b >> 4)
		f->id += (int)(b >> 4);
	else
		f->id = (int)(int16_t)get_zigzag(t);
	return !t->failed;
}

static uint64_t list_head(struct thrift_reader *t, unsigned *type)
{
	unsigned b = get_byte(t);
	uint64_t n = b >> 4;

	*type = b & 0x0f;
	if (n == LONG_LIST)
		n = get_varint(t);
	/* Each takes a byte at least. */
	if (n > t->end - t->off) {
		thrift_read_fail(t, "a list of the footer is longer than what is left");
		n = 0;
	}
	return n;
}

static void skip_map(struct thrift_reader *t)
{
	uint64_t n = get_varint(t);
	unsigned types = n ? get_byte(t) : 0;

	if (n > t->end - t->off)
		thrift_read_fail(t, "a map of the footer is longer than what is left");
	for (uint64_t i = 0; i < n && !t->failed; i++) {
		thrift_skip(t, types >> 4);
		thrift_skip(t, types & 0x0f);
	}
}

static void skip_list(struct thrift_reader *t)
{
	unsigned type;
	uint64_t n = list_head(t, &type);

	for (uint64_t i = 0; i < n && !t->failed; i++)
		if (type == WIRE_TRUE || type == WIRE_FALSE)
			get_byte(t);
		else
			thrift_skip(t, type);
}

static void skip_struct(struct thrift_reader *t)
{
	struct thrift_field f = { 0 };

	while (thrift_next(t, &f))
		thrift_skip(t, f.type);
}

void thrift_skip(struct thrift_reader *t, unsigned type)
{
	if (++t->depth > DEPTH_MAX)
		thrift_read_fail(t, "the footer has structs within structs without end");
	switch (t->failed ? WIRE_TRUE : type) {
	case WIRE_TRUE:
	case WIRE_FALSE:
		break;
	case WIRE_BYTE:
		get_byte(t);
		break;
	case WIRE_I16:
	case WIRE_I32:
	case WIRE_I64:
		get_varint(t);
		break;
	case WIRE_DOUBLE:
		thrift_read_pass(t, 8);
		break;
	case WIRE_BINARY:
		thrift_read_pass(t, get_varint(t));
		break;
	case WIRE_LIST:
	case WIRE_SET:
		skip_list(t);
		break;
	case WIRE_MAP:
		skip_map(t);
		break;
	case WIRE_STRUCT:
		skip_struct(t);
		break;
	default:
		thrift_read_fail(t, "a value of the footer is of no type of Thrift's");
	}
	t->depth--;
}

int64_t thrift_int(struct thrift_reader *t, const struct thrift_field *f)
{
	if (f->type != WIRE_I16 && f->type != WIRE_I32 && f->type != WIRE_I64) {
		thrift_read_fail(t, "a number of the footer is none");
		return 0;
	}
	return get_zigzag(t);
}

size_t thrift_string(struct thrift_reader *t, unsigned type, char *out, size_t size)
{
	uint64_t n = type == WIRE_BINARY ? get_varint(t) : 0;
	size_t i = 0;

	if (type != WIRE_BINARY)
		thrift_read_fail(t, "a text of the footer is none");
	if (n > t->end - t->off) {
		thrift_read_fail(t, "a text of the footer is longer than what is left");
		n = 0;
	}
	for (; i < n && i + 1 < size; i++)
		out[i] = (char)get_byte(t);
	out[i] = '\0';
	thrift_read_pass(t, n - i);
	return (size_t)n;
}

uint64_t thrift_elements(struct thrift_reader *t, const struct thrift_field *f, unsigned *type)
{
	*type = 0;
	if (f->type != WIRE_LIST) {
		thrift_read_fail(t, "a list of the footer is none");
		return 0;
	}
	return list_head(t, type);
}
