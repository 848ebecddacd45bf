/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_internal.h - what the parts of data/formats/parquet share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/file.h"
#include "data/formats/parquet/parquet.h"

/* ---- read_columns= for a Parquet file that a scan has found ---- */

#define PARQUET_NAME_MAX 512

struct parquet_name {
	char *text; /* owned; the part before the numbers if it is a range */
	bool is_range, is_there;
	size_t digits; /* digits of the first number */
	unsigned long first, last;
};

/* Names separated by commas, nested ones with dots, and ranges as in columns=. A name stands for
 * everything nested in it, as with pyarrow's columns=. No names = all columns. */
struct parquet_names {
	struct parquet_name *at;     /* owned */
	size_t count, room;          /* vec.h */
	char seen[PARQUET_NAME_MAX]; /* name of a column of the file, for a message */
};

/* Parse names. 0, or -EINVAL with l->err; parquet_names_fini is needed either way. */
int parquet_names_init(struct parquet_names *n, const char *text, struct look *l);
void parquet_names_fini(struct parquet_names *n);

/* Is the column to be read? Notes which names occur in the file. */
bool parquet_names_has(struct parquet_names *n, const char *column);

/* ---- Writing structures in Thrift's compact protocol ---- */

/*
 * The writer appends to the caller's memory, which must have room (asserted). A zeroed struct with
 * `to` and `size` is ready. If `last` is set, the writer continues a struct after the field of that
 * id. Fields are written in ascending order of their ids, 1 to 32767.
 */
struct thrift {
	uint8_t *to;
	size_t size;
	size_t len;    /* bytes written so far */
	unsigned last; /* id of the last field of the open struct */
};

/* Type of a field or of a list's elements. */
enum thrift_type {
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

/* Encoded length of a number: short for a small one, whatever its sign. */
size_t thrift_number_bytes(int64_t v);

/* Write a field. i32 and i64 differ in their type only. */
void thrift_i32(struct thrift *t, unsigned id, int32_t v);
void thrift_i64(struct thrift *t, unsigned id, int64_t v);
void thrift_text(struct thrift *t, unsigned id, const char *text);
/* Begin a list of n elements of this type. */
void thrift_list(struct thrift *t, unsigned id, enum thrift_type type, uint64_t n);

/* Write an element of a list. */
void thrift_i32_element(struct thrift *t, int32_t v);
void thrift_text_element(struct thrift *t, const char *text);

/* Begin a struct as a field, or as an element of a list. Pass the result to thrift_end, which ends
 * the struct. */
unsigned thrift_begin(struct thrift *t, unsigned id);
unsigned thrift_begin_element(struct thrift *t);
void thrift_end(struct thrift *t, unsigned outer);

/* ---- Reading structures in Thrift's compact protocol ---- */

/*
 * The reader parses bytes `off` to `end` of a file that may be damaged: it reads nothing beyond the
 * end, and allocates no memory whose size comes from the file. The first error goes to look->err.
 * Everything after it reads as zero and as the end of its struct or list, so callers check
 * thrift_failed once, after reading.
 */
struct thrift_reader {
	struct look *look;
	uint64_t off, end;
	int failed; /* -errno */
	unsigned depth;
	const uint8_t *at; /* the byte at `off`, in memory ... */
	size_t there;      /* ... with this many bytes from there on */
};

/* Encoded type of a field or of an element. */
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

/* A cursor over the fields of a struct; zeroed at first. */
struct thrift_field {
	int id;
	unsigned type;
};

void thrift_reader_init(struct thrift_reader *t, struct look *l, uint64_t off, uint64_t end);
static inline int thrift_failed(const struct thrift_reader *t)
{
	return t->failed;
}

/* Advance to the next field of the struct; false after the last. The caller reads or skips the
 * value. */
bool thrift_next(struct thrift_reader *t, struct thrift_field *f);
void thrift_skip(struct thrift_reader *t, unsigned type);

/* Read the value of a field; another type is an error. */
int64_t thrift_int(struct thrift_reader *t, const struct thrift_field *f);
/* Read a string, truncated to `size` bytes with its NUL. Returns its full length. */
size_t thrift_string(struct thrift_reader *t, unsigned type, char *out, size_t size);
/* Begin a list. Returns the number of elements, and sets *type to their type. */
uint64_t thrift_elements(struct thrift_reader *t, const struct thrift_field *f, unsigned *type);
/* Call before and after the fields of a struct; `type` is that of the field or element. */
bool thrift_enter(struct thrift_reader *t, unsigned type);
void thrift_leave(struct thrift_reader *t);

/* ---- The footer ---- */

/* Field ids of parquet.thrift of the Apache Parquet format. */
enum {
	FILE_VERSION = 1,
	FILE_SCHEMA = 2,
	FILE_ROWS = 3,
	FILE_ROW_GROUPS = 4,
	FILE_CREATED_BY = 6,

	SCHEMA_TYPE = 1,
	SCHEMA_TYPE_LENGTH = 2,
	SCHEMA_REPETITION = 3,
	SCHEMA_NAME = 4,
	SCHEMA_CHILDREN = 5,
	SCHEMA_CONVERTED = 6,
	SCHEMA_LOGICAL = 10,

	GROUP_COLUMNS = 1,
	GROUP_BYTES = 2,
	GROUP_ROWS = 3,

	CHUNK_FILE_PATH = 1,
	CHUNK_FILE_OFFSET = 2,
	CHUNK_META = 3,

	META_TYPE = 1,
	META_ENCODINGS = 2,
	META_PATH = 3,
	META_CODEC = 4,
	META_VALUES = 5,
	META_RAW_BYTES = 6,
	META_STORED_BYTES = 7,
	META_PAGE_OFFSET = 9,
	META_DICTIONARY_OFFSET = 11,
};

/*
 * Write one piece of the footer; returns its length. The pieces are the head, each column of the
 * schema, the head of the row groups, each chunk of each row group, and the tail with the length of
 * the footer.
 */
size_t parquet_footer_piece(const struct parquet *p, uint64_t piece, uint8_t *to);
uint64_t parquet_footer_bytes(const struct parquet *p);

/* Implements format->scanned_init. */
int parquet_index_init(struct dataset *ds, struct mlgen_err *err);
