/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_footer.c - the metadata of a Parquet file: page headers and footer. */
#include "data/formats/parquet/parquet_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"

/* ---- reading structures in Thrift's compact protocol ---- */

/* The most bytes of one read of the file. */
#define PIECE_BYTES 4096u
/* Nesting depth of structs; Parquet has less than ten. */
#define DEPTH_MAX 40u

#define LONG_LIST 15
#define VARINT_MAX 10

static void reader_fail(struct thrift_reader *t, const char *what)
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

/* Make sure that there is a byte at t->at; false = the end or an error. */
static bool thrift_fill(struct thrift_reader *t)
{
	uint64_t left = t->end - t->off;

	if (t->failed)
		return false;
	if (t->there)
		return true;
	if (left == 0) {
		reader_fail(t, "the footer ends in the middle of a value");
		return false;
	}
	left = u64_min(left, PIECE_BYTES);
	t->at = look_at(t->look, t->off, (size_t)left);
	t->there = t->at ? (size_t)left : 0;
	if (!t->at)
		t->failed = t->look->err->code;
	return t->at;
}

static unsigned read_byte(struct thrift_reader *t)
{
	if (!thrift_fill(t))
		return 0;
	t->off++;
	t->there--;
	return *t->at++;
}

static uint64_t read_varint(struct thrift_reader *t)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX; i++) {
		unsigned b = read_byte(t);

		v |= (uint64_t)(b & 0x7f) << 7 * i;
		if (!(b & 0x80))
			return v;
	}
	reader_fail(t, "a number of the footer has more than 64 bits");
	return 0;
}

static int64_t read_zigzag(struct thrift_reader *t)
{
	uint64_t v = read_varint(t);

	return (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
}

static void skip_bytes(struct thrift_reader *t, uint64_t bytes)
{
	if (bytes > t->end - t->off) {
		reader_fail(t, "a string is longer than the rest of the footer");
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
		reader_fail(t, "expected a struct in the footer");
	else if (++t->depth > DEPTH_MAX)
		reader_fail(t, "the structs of the footer are nested too deeply");
	return !t->failed;
}

void thrift_leave(struct thrift_reader *t)
{
	t->depth--;
}

bool thrift_next(struct thrift_reader *t, struct thrift_field *f)
{
	unsigned b = read_byte(t);

	f->type = b & 0x0f;
	if (t->failed || f->type == WIRE_STOP)
		return false;
	if (b >> 4)
		f->id += (int)(b >> 4);
	else
		f->id = (int)(int16_t)read_zigzag(t);
	return !t->failed;
}

static uint64_t list_head(struct thrift_reader *t, unsigned *type)
{
	unsigned b = read_byte(t);
	uint64_t n = b >> 4;

	*type = b & 0x0f;
	if (n == LONG_LIST)
		n = read_varint(t);
	/* Every element has at least one byte. */
	if (n > t->end - t->off) {
		reader_fail(t, "a list is longer than the rest of the footer");
		n = 0;
	}
	return n;
}

static void skip_map(struct thrift_reader *t)
{
	uint64_t n = read_varint(t);
	unsigned types = n ? read_byte(t) : 0;

	if (n > t->end - t->off)
		reader_fail(t, "a map is longer than the rest of the footer");
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
			read_byte(t);
		else
			thrift_skip(t, type);
}

void thrift_skip(struct thrift_reader *t, unsigned type)
{
	struct thrift_field f = { 0 };

	if (++t->depth > DEPTH_MAX)
		reader_fail(t, "the structs of the footer are nested too deeply");
	switch (t->failed ? WIRE_TRUE : type) {
	case WIRE_TRUE:
	case WIRE_FALSE:
		break;
	case WIRE_BYTE:
		read_byte(t);
		break;
	case WIRE_I16:
	case WIRE_I32:
	case WIRE_I64:
		read_varint(t);
		break;
	case WIRE_DOUBLE:
		skip_bytes(t, 8);
		break;
	case WIRE_BINARY:
		skip_bytes(t, read_varint(t));
		break;
	case WIRE_LIST:
	case WIRE_SET:
		skip_list(t);
		break;
	case WIRE_MAP:
		skip_map(t);
		break;
	case WIRE_STRUCT:
		while (thrift_next(t, &f))
			thrift_skip(t, f.type);
		break;
	default:
		reader_fail(t, "a value of the footer has no type of Thrift");
	}
	t->depth--;
}

int64_t thrift_int(struct thrift_reader *t, const struct thrift_field *f)
{
	if (f->type != WIRE_I16 && f->type != WIRE_I32 && f->type != WIRE_I64) {
		reader_fail(t, "expected a number in the footer");
		return 0;
	}
	return read_zigzag(t);
}

size_t thrift_string(struct thrift_reader *t, unsigned type, char *out, size_t size)
{
	uint64_t n = type == WIRE_BINARY ? read_varint(t) : 0;
	size_t i = 0;

	if (type != WIRE_BINARY)
		reader_fail(t, "expected a string in the footer");
	if (n > t->end - t->off) {
		reader_fail(t, "a string is longer than the rest of the footer");
		n = 0;
	}
	for (; i < n && i + 1 < size; i++)
		out[i] = (char)read_byte(t);
	out[i] = '\0';
	skip_bytes(t, n - i);
	return (size_t)n;
}

uint64_t thrift_elements(struct thrift_reader *t, const struct thrift_field *f, unsigned *type)
{
	*type = 0;
	if (f->type != WIRE_LIST) {
		reader_fail(t, "expected a list in the footer");
		return 0;
	}
	return list_head(t, type);
}

/* ---- the header of a page ---- */

/* Field ids of parquet.thrift of the Apache Parquet format. */
enum {
	PAGE_RAW_BYTES = 2,
	PAGE_STORED_BYTES = 3,
	PAGE_DATA_V2 = 8,

	V2_DEFINITION_BYTES = 5,
	V2_REPETITION_BYTES = 6,
	V2_IS_COMPRESSED = 7,
};

struct page_head {
	int64_t raw, stored, levels;
	bool is_raw;
};

/* In a page of version 2, levels precede the compressed bytes. */
static void read_v2_header(struct thrift_reader *t, struct page_head *h)
{
	struct thrift_field f = { 0 };

	while (thrift_next(t, &f)) {
		int64_t n = 0;

		if (f.id == V2_DEFINITION_BYTES || f.id == V2_REPETITION_BYTES)
			n = thrift_int(t, &f);
		else
			thrift_skip(t, f.type);
		h->is_raw |= f.id == V2_IS_COMPRESSED && f.type == WIRE_FALSE;
		if (n < 0 || n > INT32_MAX)
			n = INT32_MAX;
		h->levels += n;
	}
}

bool parquet_page_read(struct parquet_page *p, const uint8_t *at, size_t bytes)
{
	struct mlgen_err err = { 0 };
	/* The reader needs a file, but all bytes are in memory. */
	struct look no_file = { .path = "", .fd = -1, .err = &err };
	struct thrift_field f = { 0 };
	struct page_head h = { 0 };
	struct thrift_reader t;

	thrift_reader_init(&t, &no_file, 0, bytes);
	t.at = at;
	t.there = bytes;
	while (thrift_next(&t, &f)) {
		if (f.id == PAGE_RAW_BYTES) {
			h.raw = thrift_int(&t, &f);
		} else if (f.id == PAGE_STORED_BYTES) {
			h.stored = thrift_int(&t, &f);
		} else if (f.id == PAGE_DATA_V2 && thrift_enter(&t, f.type)) {
			read_v2_header(&t, &h);
			thrift_leave(&t);
		} else {
			thrift_skip(&t, f.type);
		}
	}
	if (thrift_failed(&t) || h.raw < h.levels || h.stored < h.levels ||
	    (uint64_t)h.stored > bytes - t.off)
		return false;
	*p = (struct parquet_page){
		.head_bytes = (size_t)t.off,
		.level_bytes = (uint64_t)h.levels,
		.stored_bytes = (uint64_t)(h.stored - h.levels),
		.raw_bytes = (uint64_t)(h.raw - h.levels),
		.is_packed = !h.is_raw,
	};
	return true;
}

/* ---- the footer ---- */

/* Values of parquet.thrift of the Apache Parquet format. */
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

enum {
	PAGE_TYPE = 1,
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

static struct thrift begin_piece(uint8_t *to)
{
	return (struct thrift){ .to = to, .size = PARQUET_PIECE_MAX };
}

static size_t write_file_head(const struct parquet *p, uint8_t *to)
{
	struct thrift t = begin_piece(to);

	thrift_i32(&t, FILE_VERSION, FORMAT_VERSION);
	thrift_list(&t, FILE_SCHEMA, THRIFT_STRUCT, p->columns.count + 1);
	unsigned outer = thrift_begin_element(&t);
	thrift_text(&t, SCHEMA_NAME, "schema");
	thrift_i32(&t, SCHEMA_CHILDREN, (int32_t)p->columns.count);
	thrift_end(&t, outer);
	return t.len;
}

static size_t write_schema(const struct column *c, uint8_t *to)
{
	struct thrift t = begin_piece(to);
	unsigned outer = thrift_begin_element(&t), logical;

	thrift_i32(&t, SCHEMA_TYPE, type_of(c));
	if (type_of(c) == TYPE_FIXED_BYTES)
		thrift_i32(&t, SCHEMA_TYPE_LENGTH, (int32_t)c->bytes);
	thrift_i32(&t, SCHEMA_REPETITION, REPETITION_REQUIRED);
	thrift_text(&t, SCHEMA_NAME, c->name);
	/* The physical type does not tell how the bytes are used. */
	if (c->kind == COLUMN_INT8 && !c->is_list) {
		thrift_i32(&t, SCHEMA_CONVERTED, CONVERTED_INT_8);
	} else if (c->kind == COLUMN_FLOAT16 && !c->is_list) {
		logical = thrift_begin(&t, SCHEMA_LOGICAL);
		thrift_end(&t, thrift_begin(&t, LOGICAL_FLOAT16));
		thrift_end(&t, logical);
	}
	thrift_end(&t, outer);
	return t.len;
}

static size_t write_groups_head(const struct parquet *p, uint8_t *to)
{
	struct thrift t = begin_piece(to);

	t.last = FILE_SCHEMA;
	thrift_i64(&t, FILE_ROWS, (int64_t)(p->groups * p->group_rows));
	thrift_list(&t, FILE_ROW_GROUPS, THRIFT_STRUCT, p->groups);
	return t.len;
}

static int64_t chunk_offset(const struct parquet *p, uint64_t group, unsigned column)
{
	return (int64_t)(PARQUET_MAGIC_BYTES + group * p->group_bytes + p->chunks[column].off);
}

/* The pieces of the first and the last chunk include the beginning and the end of the row group. */
static size_t write_chunk(const struct parquet *p, uint64_t group, unsigned column, uint8_t *to)
{
	const struct column *c = &p->columns.list[column];
	const int64_t bytes = (int64_t)p->chunks[column].bytes;
	struct thrift t = begin_piece(to);

	if (column == 0)
		thrift_list(&t, GROUP_COLUMNS, THRIFT_STRUCT, p->columns.count);
	unsigned chunk = thrift_begin_element(&t);
	thrift_i64(&t, CHUNK_FILE_OFFSET, 0);
	unsigned meta = thrift_begin(&t, CHUNK_META);
	thrift_i32(&t, META_TYPE, type_of(c));
	thrift_list(&t, META_ENCODINGS, THRIFT_I32, 1);
	thrift_i32_element(&t, ENCODING_PLAIN);
	thrift_list(&t, META_PATH, THRIFT_BINARY, 1);
	thrift_text_element(&t, c->name);
	thrift_i32(&t, META_CODEC, CODEC_NONE);
	thrift_i64(&t, META_VALUES, (int64_t)p->group_rows);
	thrift_i64(&t, META_RAW_BYTES, bytes);
	thrift_i64(&t, META_STORED_BYTES, bytes);
	thrift_i64(&t, META_PAGE_OFFSET, chunk_offset(p, group, column));
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

static size_t write_tail(const struct parquet *p, uint8_t *to)
{
	struct thrift t = begin_piece(to);

	t.last = FILE_ROW_GROUPS;
	thrift_text(&t, FILE_CREATED_BY, "mlgen");
	thrift_end(&t, 0);
	for (unsigned i = 0; i < 4; i++)
		to[t.len++] = (uint8_t)(p->footer_bytes >> 8 * i);
	memcpy(to + t.len, "PAR1", PARQUET_MAGIC_BYTES);
	return t.len + PARQUET_MAGIC_BYTES;
}

/* Number of row groups that have the column's chunk at `least` or a higher offset. */
static uint64_t groups_from(const struct parquet *p, unsigned column, uint64_t least)
{
	uint64_t first = (uint64_t)chunk_offset(p, 0, column);

	if (least <= first)
		return p->groups;
	uint64_t before = (least - first - 1) / p->group_bytes + 1;
	return before < p->groups ? p->groups - before : 0;
}

/* Bytes of all chunk pieces of a column, which differ only in the length of their offset. */
static uint64_t column_bytes(const struct parquet *p, unsigned column)
{
	uint8_t piece[PARQUET_PIECE_MAX];
	uint64_t bytes = write_chunk(p, 0, column, piece);

	bytes -= thrift_number_bytes(chunk_offset(p, 0, column));
	bytes = p->groups * (bytes + 1);
	/* Every offset has one byte. Offsets of more than 6, 13, 20 ... bits have 1, 2, 3 ... bytes
	 * more, because one bit is the sign. */
	for (unsigned bits = 6; bits < 63; bits += 7)
		bytes += groups_from(p, column, UINT64_C(1) << bits);
	return bytes;
}

size_t parquet_page_header(const struct parquet_chunk *c, uint64_t page, uint8_t *to)
{
	struct thrift t = begin_piece(to);
	uint64_t values = page < c->pages - 1 ? c->page_values : c->last_values;
	int32_t bytes = (int32_t)(values * c->value_bytes);

	thrift_i32(&t, PAGE_TYPE, PAGE_DATA);
	thrift_i32(&t, PAGE_RAW_BYTES, bytes);
	thrift_i32(&t, PAGE_STORED_BYTES, bytes);
	unsigned outer = thrift_begin(&t, PAGE_DATA_HEADER);
	thrift_i32(&t, DATA_VALUES, (int32_t)values);
	thrift_i32(&t, DATA_ENCODING, ENCODING_PLAIN);
	/* Encodings of levels are required even though there are no levels. */
	thrift_i32(&t, DATA_DEFINITION_ENCODING, ENCODING_RLE);
	thrift_i32(&t, DATA_REPETITION_ENCODING, ENCODING_RLE);
	thrift_end(&t, outer);
	thrift_end(&t, 0);
	return t.len;
}

size_t parquet_footer_piece(const struct parquet *p, uint64_t piece, uint8_t *to)
{
	const unsigned columns = p->columns.count;

	if (piece == 0)
		return write_file_head(p, to);
	if (--piece < columns)
		return write_schema(&p->columns.list[piece], to);
	piece -= columns;
	if (piece == 0)
		return write_groups_head(p, to);
	if (--piece < p->groups * columns)
		return write_chunk(p, piece / columns, (unsigned)(piece % columns), to);
	return write_tail(p, to);
}

uint64_t parquet_footer_bytes(const struct parquet *p)
{
	uint8_t piece[PARQUET_PIECE_MAX];
	uint64_t bytes = write_file_head(p, piece) + write_groups_head(p, piece) +
			 write_tail(p, piece) - PARQUET_TAIL_BYTES;

	for (unsigned i = 0; i < p->columns.count; i++)
		bytes += write_schema(&p->columns.list[i], piece) + column_bytes(p, i);
	return bytes;
}
