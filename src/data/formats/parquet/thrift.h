/* SPDX-License-Identifier: Apache-2.0 */
/* thrift.h - writes structures in Thrift's compact protocol, as Parquet has them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Appends to memory of the caller's, which must have room: that it does not is a broken invariant.
 * A zeroed struct with `to` and `size` is ready; with `last` set it goes on in a struct whose field
 * of that id was the last.
 * Fields are written in ascending order of their ids, 1 to 32767.
 */
struct thrift {
	uint8_t *to;
	size_t size;
	size_t len;    /* written so far */
	unsigned last; /* id of the last field of the struct that is open */
};

/* Of a field, or of a list's elements. */
enum thrift_type {
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

/* Bytes of a number: few for small ones, negative or not. */
size_t thrift_number_bytes(int64_t v);

/* Fields. i32 and i64 differ in their type only. */
void thrift_i32(struct thrift *t, unsigned id, int32_t v);
void thrift_i64(struct thrift *t, unsigned id, int64_t v);
void thrift_text(struct thrift *t, unsigned id, const char *text);
/* n elements of that type come behind it. */
void thrift_list(struct thrift *t, unsigned id, enum thrift_type type, uint64_t n);

/* Elements of a list. */
void thrift_i32_element(struct thrift *t, int32_t v);
void thrift_text_element(struct thrift *t, const char *text);

/* A struct as a field, or as an element of a list; what they return goes to thrift_end, which
 * closes it. */
unsigned thrift_begin(struct thrift *t, unsigned id);
unsigned thrift_begin_element(struct thrift *t);
void thrift_end(struct thrift *t, unsigned outer);
