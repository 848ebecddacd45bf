/* SPDX-License-Identifier: Apache-2.0 */
/* thrift_read.h - reads structures in Thrift's compact protocol from a file that a scan looks
 * at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/look.h"

/*
 * From `off` to `end` of a file, which hold whatever they hold: nothing is read behind the end, and
 * nothing is kept by what a length says. The first thing that is wrong is in look->err, and
 * everything afterwards reads as zero and as the end of its struct or list; ask thrift_failed when
 * something was read.
 */
struct thrift_reader {
	struct look *look;
	uint64_t off, end;
	int failed; /* -errno */
	unsigned depth;
	const uint8_t *at; /* of the byte at `off`, */
	size_t there;      /* and so many more */
};

/* Of a field or of an element. */
enum thrift_wire {
	WIRE_STOP,
	WIRE_TRUE,
	WIRE_FALSE,
	WIRE_BYTE,
	WIRE_I16,
	WIRE_I32,
	WIRE_I64,
	WIRE_DOUBLE,
	WIRE_BINARY,
	WIRE_LIST,
	WIRE_SET,
	WIRE_MAP,
	WIRE_STRUCT,
};

/* Fields of a struct one after the other: start with a zeroed one. */
struct thrift_field {
	int id;
	unsigned type;
};

void thrift_reader_init(struct thrift_reader *t, struct look *l, uint64_t off, uint64_t end);
static inline int thrift_failed(const struct thrift_reader *t)
{
	return t->failed;
}

/* The next field of the struct; false behind its last. Its value has to be read or skipped. */
bool thrift_next(struct thrift_reader *t, struct thrift_field *f);
void thrift_skip(struct thrift_reader *t, unsigned type);

/* A field's value. Of another type than this: an error. */
int64_t thrift_int(struct thrift_reader *t, const struct thrift_field *f);
/* As many bytes as there is room for, with a 0 behind them; the length that it has. */
size_t thrift_string(struct thrift_reader *t, unsigned type, char *out, size_t size);
/* How many elements of which type follow. */
uint64_t thrift_elements(struct thrift_reader *t, const struct thrift_field *f, unsigned *type);
/* Around the fields of a struct, of a field or an element of this type. */
bool thrift_enter(struct thrift_reader *t, unsigned type);
void thrift_leave(struct thrift_reader *t);
