/* SPDX-License-Identifier: Apache-2.0 */
/* thrift.c - writes structures in Thrift's compact protocol, as Parquet has them. */
#include "data/formats/parquet/parquet_internal.h"

#include <assert.h>
#include <string.h>

/* What fits into half a byte is written there, with all bits set for "more than that": ids by their
 * distance, lists by their length. */
#define SHORT_DELTA_MAX 15
#define SHORT_LIST_MAX 14

static void put_byte(struct thrift *t, unsigned v)
{
	assert(t->len < t->size);
	t->to[t->len++] = (uint8_t)v;
}

/* Seven bits a byte, the lowest first. */
static void put_varint(struct thrift *t, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		put_byte(t, (unsigned)(v & 0x7f) | 0x80);
	put_byte(t, (unsigned)v);
}

/* 0, -1, 1, -2 ... as 0, 1, 2, 3 ...: small either way. */
static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static void put_field(struct thrift *t, unsigned id, enum thrift_type type)
{
	assert(id > t->last);
	if (id - t->last <= SHORT_DELTA_MAX) {
		put_byte(t, (id - t->last) << 4 | (unsigned)type);
	} else {
		put_byte(t, (unsigned)type);
		put_varint(t, zigzag(id));
	}
	t->last = id;
}

size_t thrift_number_bytes(int64_t v)
{
	uint64_t left = zigzag(v);
	size_t n = 1;

	while (left >>= 7)
		n++;
	return n;
}

void thrift_i32(struct thrift *t, unsigned id, int32_t v)
{
	put_field(t, id, THRIFT_I32);
	put_varint(t, zigzag(v));
}

void thrift_i64(struct thrift *t, unsigned id, int64_t v)
{
	put_field(t, id, THRIFT_I64);
	put_varint(t, zigzag(v));
}

void thrift_text(struct thrift *t, unsigned id, const char *text)
{
	put_field(t, id, THRIFT_BINARY);
	thrift_text_element(t, text);
}

void thrift_list(struct thrift *t, unsigned id, enum thrift_type type, uint64_t n)
{
	put_field(t, id, THRIFT_LIST);
	if (n <= SHORT_LIST_MAX) {
		put_byte(t, (unsigned)n << 4 | (unsigned)type);
	} else {
		put_byte(t, 0xf0u | (unsigned)type);
		put_varint(t, n);
	}
}

void thrift_i32_element(struct thrift *t, int32_t v)
{
	put_varint(t, zigzag(v));
}

void thrift_text_element(struct thrift *t, const char *text)
{
	size_t n = strlen(text);

	put_varint(t, n);
	assert(n <= t->size - t->len);
	memcpy(t->to + t->len, text, n);
	t->len += n;
}

unsigned thrift_begin(struct thrift *t, unsigned id)
{
	put_field(t, id, THRIFT_STRUCT);
	return thrift_begin_element(t);
}

unsigned thrift_begin_element(struct thrift *t)
{
	unsigned outer = t->last;

	t->last = 0;
	return outer;
}

void thrift_end(struct thrift *t, unsigned outer)
{
	put_byte(t, 0);
	t->last = outer;
}
