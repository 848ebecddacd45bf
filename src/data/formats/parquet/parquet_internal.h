/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_internal.h - what the parts of data/formats/parquet share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"

/* ---- Which columns of somebody else's Parquet file read_columns= names ---- */

#define PARQUET_NAME_MAX 512

struct parquet_name {
	char *text; /* owned; of a range what stands before its numbers */
	bool is_range, is_there;
	size_t digits; /* of the first number */
	unsigned long first, last;
};

/* Names with commas, nested ones with dots, each of what is in it as well, as pyarrow's columns=;
 * ranges as in columns=. None: all columns. */
struct parquet_names {
	struct parquet_name *at;     /* owned */
	size_t count, room;          /* vec.h */
	char seen[PARQUET_NAME_MAX]; /* some column that the file has */
};

/* 0, or -EINVAL with l->err; parquet_names_fini takes either. */
int parquet_names_init(struct parquet_names *n, const char *text, struct look *l);
void parquet_names_fini(struct parquet_names *n);

bool parquet_names_has(struct parquet_names *n, const char *column);

/* ---- Writes structures in Thrift's compact protocol, as Parquet has them ---- */

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

/* ---- Reads structures in Thrift's compact protocol from a file that a scan looks at ---- */

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

/*
 * The footer and its tail in pieces, the same way: the head, each column of the schema, the list
 * of row groups, each chunk of each of them, the tail. Then its length, which the last piece says.
 */
size_t parquet_footer_piece(const struct parquet *p, uint64_t piece, uint8_t *to);
uint64_t parquet_footer_bytes(const struct parquet *p);

int parquet_found_init(struct dataset *ds, struct mlgen_err *err);
