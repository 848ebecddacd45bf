/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_footer.c - what a Parquet file says about itself: page headers, footer. */
#include "data/formats/parquet/parquet.h"

#include <string.h>

#include "data/formats/parquet/parquet_internal.h"

/* From parquet.thrift of the Apache Parquet format. */
enum physical_type {
	TYPE_INT32 = 1,
	TYPE_INT64 = 2,
	TYPE_FLOAT = 4,
	TYPE_DOUBLE = 5,
	TYPE_FIXED_BYTES = 7,
};

enum { REPETITION_REQUIRED = 0 };
enum { CONVERTED_INT_8 = 15 };
enum { LOGICAL_FLOAT16 = 15 }; /* id in the union LogicalType */
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3 };
enum { CODEC_NONE = 0 };
enum { PAGE_DATA = 0 };
enum { FORMAT_VERSION = 1 };

/* The fields of its structs that are written here. */
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

	PAGE_TYPE = 1,
	PAGE_RAW_BYTES = 2,
	PAGE_STORED_BYTES = 3,
	PAGE_DATA_HEADER = 5,

	DATA_VALUES = 1,
	DATA_ENCODING = 2,
	DATA_DEFINITION_ENCODING = 3,
	DATA_REPETITION_ENCODING = 4,
};

static int32_t type_of(const struct column *c)
{
	static const int32_t types[] = {
		[COLUMN_INT8] = TYPE_INT32,        [COLUMN_INT32] = TYPE_INT32,
		[COLUMN_INT64] = TYPE_INT64,       [COLUMN_FLOAT16] = TYPE_FIXED_BYTES,
		[COLUMN_FLOAT32] = TYPE_FLOAT,     [COLUMN_FLOAT64] = TYPE_DOUBLE,
		[COLUMN_BYTES] = TYPE_FIXED_BYTES,
	};

	return c->is_list ? TYPE_FIXED_BYTES : types[c->kind];
}

static struct thrift parquet_footer_begin(uint8_t *to)
{
	return (struct thrift){ .to = to, .size = PARQUET_PIECE_MAX };
}

static size_t put_head(const struct parquet *p, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);
	unsigned outer;

	thrift_i32(&t, FILE_VERSION, FORMAT_VERSION);
	thrift_list(&t, FILE_SCHEMA, THRIFT_STRUCT, p->columns.count + 1);
	outer = thrift_begin_element(&t);
	thrift_text(&t, SCHEMA_NAME, "schema");
	thrift_i32(&t, SCHEMA_CHILDREN, (int32_t)p->columns.count);
	thrift_end(&t, outer);
	return t.len;
}

/* What the bytes mean, where the physical type does not say. */
static void put_meaning(struct thrift *t, const struct column *c)
{
	unsigned outer;

	if (c->is_list)
		return;
	if (c->kind == COLUMN_INT8)
		thrift_i32(t, SCHEMA_CONVERTED, CONVERTED_INT_8);
	if (c->kind == COLUMN_FLOAT16) {
		outer = thrift_begin(t, SCHEMA_LOGICAL);
		thrift_end(t, thrift_begin(t, LOGICAL_FLOAT16));
		thrift_end(t, outer);
	}
}

static size_t put_schema(const struct column *c, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);
	unsigned outer = thrift_begin_element(&t);

	thrift_i32(&t, SCHEMA_TYPE, type_of(c));
	if (type_of(c) == TYPE_FIXED_BYTES)
		thrift_i32(&t, SCHEMA_TYPE_LENGTH, (int32_t)c->bytes);
	thrift_i32(&t, SCHEMA_REPETITION, REPETITION_REQUIRED);
	thrift_text(&t, SCHEMA_NAME, c->name);
	put_meaning(&t, c);
	thrift_end(&t, outer);
	return t.len;
}

static size_t put_groups(const struct parquet *p, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);

	t.last = FILE_SCHEMA;
	thrift_i64(&t, FILE_ROWS, (int64_t)(p->groups * p->group_rows));
	thrift_list(&t, FILE_ROW_GROUPS, THRIFT_STRUCT, p->groups);
	return t.len;
}

static int64_t chunk_offset(const struct parquet *p, uint64_t group, unsigned column)
{
	return (int64_t)(PARQUET_MAGIC_BYTES + group * p->group_bytes + p->chunks[column].off);
}

static void put_chunk_meta(struct thrift *t, const struct parquet *p, uint64_t group,
			   unsigned column)
{
	const struct column *c = &p->columns.list[column];
	const int64_t bytes = (int64_t)p->chunks[column].bytes;

	thrift_i32(t, META_TYPE, type_of(c));
	thrift_list(t, META_ENCODINGS, THRIFT_I32, 1);
	thrift_i32_element(t, ENCODING_PLAIN);
	thrift_list(t, META_PATH, THRIFT_BINARY, 1);
	thrift_text_element(t, c->name);
	thrift_i32(t, META_CODEC, CODEC_NONE);
	thrift_i64(t, META_VALUES, (int64_t)p->group_rows);
	thrift_i64(t, META_RAW_BYTES, bytes);
	thrift_i64(t, META_STORED_BYTES, bytes);
	thrift_i64(t, META_PAGE_OFFSET, chunk_offset(p, group, column));
}

/* The first and the last chunk of a row group have its frame around them. */
static size_t put_chunk(const struct parquet *p, uint64_t group, unsigned column, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);
	unsigned chunk, meta;

	if (column == 0)
		thrift_list(&t, GROUP_COLUMNS, THRIFT_STRUCT, p->columns.count);
	chunk = thrift_begin_element(&t);
	thrift_i64(&t, CHUNK_FILE_OFFSET, 0);
	meta = thrift_begin(&t, CHUNK_META);
	put_chunk_meta(&t, p, group, column);
	thrift_end(&t, meta);
	thrift_end(&t, chunk);
	if (column == p->columns.count - 1) {
		t.last = GROUP_COLUMNS;
		thrift_i64(&t, GROUP_BYTES, (int64_t)p->group_bytes);
		thrift_i64(&t, GROUP_ROWS, (int64_t)p->group_rows);
		thrift_end(&t, 0);
	}
	return t.len;
}

static size_t put_tail(const struct parquet *p, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);

	t.last = FILE_ROW_GROUPS;
	thrift_text(&t, FILE_CREATED_BY, "mlgen");
	thrift_end(&t, 0);
	for (unsigned i = 0; i < 4; i++)
		to[t.len++] = (uint8_t)(p->footer_bytes >> 8 * i);
	memcpy(to + t.len, "PAR1", PARQUET_MAGIC_BYTES);
	return t.len + PARQUET_MAGIC_BYTES;
}

/* How many row groups have the column's chunk at `least` or further on. */
static uint64_t groups_from(const struct parquet *p, unsigned column, uint64_t least)
{
	uint64_t first = (uint64_t)chunk_offset(p, 0, column);
	uint64_t before;

	if (least <= first)
		return p->groups;
	before = (least - first - 1) / p->group_bytes + 1;
	return before < p->groups ? p->groups - before : 0;
}

/* Bytes that the column's offsets take up in all row groups: a number of 6,
 * 13, 20 ... bits is the last to fit in 1, 2, 3 ... bytes (one is the sign).
 */
static uint64_t offset_bytes(const struct parquet *p, unsigned column)
{
	uint64_t bytes = p->groups;

	for (unsigned bits = 6; bits < 63; bits += 7)
		bytes += groups_from(p, column, UINT64_C(1) << bits);
	return bytes;
}

/* The chunks of a column differ in nothing but the length of their offset. */
static uint64_t column_bytes(const struct parquet *p, unsigned column)
{
	uint8_t piece[PARQUET_PIECE_MAX];
	size_t bytes = put_chunk(p, 0, column, piece);

	bytes -= thrift_number_bytes(chunk_offset(p, 0, column));
	return p->groups * bytes + offset_bytes(p, column);
}

size_t parquet_page_header(const struct parquet_chunk *c, uint64_t page, uint8_t *to)
{
	struct thrift t = parquet_footer_begin(to);
	uint64_t values = page < c->pages - 1 ? c->page_values : c->last_values;
	int32_t bytes = (int32_t)(values * c->value_bytes);
	unsigned outer;

	thrift_i32(&t, PAGE_TYPE, PAGE_DATA);
	thrift_i32(&t, PAGE_RAW_BYTES, bytes);
	thrift_i32(&t, PAGE_STORED_BYTES, bytes);
	outer = thrift_begin(&t, PAGE_DATA_HEADER);
	thrift_i32(&t, DATA_VALUES, (int32_t)values);
	thrift_i32(&t, DATA_ENCODING, ENCODING_PLAIN);
	/* Of levels that are not there. */
	thrift_i32(&t, DATA_DEFINITION_ENCODING, ENCODING_RLE);
	thrift_i32(&t, DATA_REPETITION_ENCODING, ENCODING_RLE);
	thrift_end(&t, outer);
	thrift_end(&t, 0);
	return t.len;
}

/* Head, each column of the schema, the list of row groups, each chunk of each of them, tail. */
uint64_t parquet_footer_pieces(const struct parquet *p)
{
	return 3 + p->columns.count + p->groups * p->columns.count;
}

size_t parquet_footer_piece(const struct parquet *p, uint64_t piece, uint8_t *to)
{
	const unsigned columns = p->columns.count;

	if (piece == 0)
		return put_head(p, to);
	if (--piece < columns)
		return put_schema(&p->columns.list[piece], to);
	piece -= columns;
	if (piece == 0)
		return put_groups(p, to);
	if (--piece < p->groups * columns)
		return put_chunk(p, piece / columns, (unsigned)(piece % columns), to);
	return put_tail(p, to);
}

uint64_t parquet_footer_bytes(const struct parquet *p)
{
	uint8_t piece[PARQUET_PIECE_MAX];
	uint64_t bytes =
		put_head(p, piece) + put_groups(p, piece) + put_tail(p, piece) - PARQUET_TAIL_BYTES;

	for (unsigned i = 0; i < p->columns.count; i++)
		bytes += put_schema(&p->columns.list[i], piece) + column_bytes(p, i);
	return bytes;
}
