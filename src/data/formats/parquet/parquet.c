/* SPDX-License-Identifier: Apache-2.0 */
/* parquet.c - format=parquet: row groups of plain pages, and a footer. */
#include "data/formats/parquet/parquet_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"

/* ---- writing structures in Thrift's compact protocol ---- */

/* Largest distance between ids, and largest length of a list, that fit into half a byte. */
#define SHORT_DELTA_MAX 15
#define SHORT_LIST_MAX 14

static void write_byte(struct thrift *t, unsigned v)
{
	assert(t->len < t->size);
	t->to[t->len++] = (uint8_t)v;
}

/* A varint has seven bits in each byte, the lowest first. */
static void write_varint(struct thrift *t, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		write_byte(t, (unsigned)(v & 0x7f) | 0x80);
	write_byte(t, (unsigned)v);
}

/* Maps 0, -1, 1, -2 ... to 0, 1, 2, 3 ..., so that small negative numbers are short, too. */
static uint64_t zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static void write_field(struct thrift *t, unsigned id, enum thrift_type type)
{
	assert(id > t->last);
	if (id - t->last <= SHORT_DELTA_MAX) {
		write_byte(t, (id - t->last) << 4 | (unsigned)type);
	} else {
		write_byte(t, (unsigned)type);
		write_varint(t, zigzag(id));
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
	write_field(t, id, THRIFT_I32);
	write_varint(t, zigzag(v));
}

void thrift_i64(struct thrift *t, unsigned id, int64_t v)
{
	write_field(t, id, THRIFT_I64);
	write_varint(t, zigzag(v));
}

void thrift_text(struct thrift *t, unsigned id, const char *text)
{
	write_field(t, id, THRIFT_BINARY);
	thrift_text_element(t, text);
}

void thrift_list(struct thrift *t, unsigned id, enum thrift_type type, uint64_t n)
{
	write_field(t, id, THRIFT_LIST);
	if (n <= SHORT_LIST_MAX) {
		write_byte(t, (unsigned)n << 4 | (unsigned)type);
	} else {
		write_byte(t, 0xf0u | (unsigned)type);
		write_varint(t, n);
	}
}

void thrift_i32_element(struct thrift *t, int32_t v)
{
	write_varint(t, zigzag(v));
}

void thrift_text_element(struct thrift *t, const char *text)
{
	size_t n = strlen(text);

	write_varint(t, n);
	assert(n <= t->size - t->len);
	memcpy(t->to + t->len, text, n);
	t->len += n;
}

unsigned thrift_begin(struct thrift *t, unsigned id)
{
	write_field(t, id, THRIFT_STRUCT);
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
	write_byte(t, 0);
	t->last = outer;
}

/* ---- the format ---- */

/* The usual size of a page; a larger value has a page of its own. */
#define PAGE_BYTES (UINT64_C(1) << 20)
/* Arrow's reader refuses longer lists in a footer. */
#define GROUPS_MAX 1000000
/* Offsets have 64 bits, sizes of footers and pages 31. */
#define FILE_MAX 0x1p62
#define FOOTER_MAX INT32_MAX

/* int8 is stored as INT32, the smallest integer type; a list of int8 is stored as bytes. */
static uint64_t stored_bytes(const struct column *c)
{
	return c->kind == COLUMN_INT8 && !c->is_list ? 4 : c->bytes;
}

static int init_columns(struct parquet *p, const struct dataset *ds, struct mlgen_err *err)
{
	uint64_t size = (uint64_t)dist_mean(&ds->sample_size), sum;
	const char *text = ds->options.columns;
	int r;

	if (!dist_is_const(&ds->sample_size))
		return mlgen_fail(err, -EINVAL,
				  "sample_size: all rows of a Parquet file have the same size; use "
				  "a constant, or use another format");
	r = text ? columns_parse(&p->columns, text, err) : columns_default(&p->columns, size, err);
	if (r == 0)
		r = columns_select(&p->columns, ds->options.read_columns, err);
	if (r)
		return r;
	sum = columns_row_bytes(&p->columns);
	if (sum == size)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "sample_size: %" PRIu64 " bytes is the sum of the columns, not %" PRIu64
			  "; write sample_size=%" PRIu64 ", or change columns",
			  sum, size, sum);
}

/* A file shorter than row_group_size is one group. */
static int init_groups(struct parquet *p, const struct dataset *ds, struct mlgen_err *err)
{
	uint64_t rows = ds->samples_per_file;
	uint64_t group = ds->options.row_group_size, down;

	assert(rows > 0);
	if (group == 0 || group > rows)
		group = rows;
	down = rows - rows % group;
	if (down != rows)
		return mlgen_fail(err, -EINVAL,
				  "row_group_size: %" PRIu64
				  " does not divide samples_per_file, which is %" PRIu64
				  "; use a divisor, or samples_per_file=%" PRIu64 " or %" PRIu64,
				  group, rows, down, down + group);
	p->group_rows = group;
	p->groups = rows / group;
	if (p->groups <= GROUPS_MAX)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "row_group_size: %" PRIu64 " makes %" PRIu64
			  " row groups of a file's %" PRIu64
			  " rows, and mlgen allows at most %d; use a larger row_group_size",
			  group, p->groups, rows, GROUPS_MAX);
}

static int parquet_init(struct dataset *ds, struct mlgen_err *err)
{
	struct parquet *p = mem_zalloc(sizeof(*p));

	ds->common = p;
	int r = init_columns(p, ds, err);
	if (r == 0)
		r = init_groups(p, ds, err);
	if (r)
		return r;

	char text[UNITS_TEXT_BYTES];
	double row = 0;

	for (unsigned i = 0; i < p->columns.count; i++)
		row += (double)stored_bytes(&p->columns.list[i]);
	row *= (double)ds->samples_per_file;
	if (row >= FILE_MAX)
		return mlgen_fail(err, -EINVAL,
				  "samples_per_file: %" PRIu64
				  " rows would be %s; lower it or sample_size",
				  ds->samples_per_file, units_human_bytes(text, row));

	uint8_t piece[PARQUET_PIECE_MAX];
	uint64_t rows = p->group_rows;

	p->chunks = mem_array(p->columns.count, sizeof(*p->chunks));
	for (unsigned i = 0; i < p->columns.count; i++) {
		struct parquet_chunk *c = &p->chunks[i];

		c->value_bytes = stored_bytes(&p->columns.list[i]);
		uint64_t most = c->value_bytes < PAGE_BYTES ? PAGE_BYTES / c->value_bytes : 1;
		c->page_values = u64_min(rows, most);
		c->pages = (rows - 1) / c->page_values + 1;
		c->last_values = rows - (c->pages - 1) * c->page_values;
		c->last_head_bytes = parquet_page_header(c, c->pages - 1, piece);
		c->head_bytes = parquet_page_header(c, 0, piece);
		c->bytes =
			(c->pages - 1) * c->head_bytes + c->last_head_bytes + rows * c->value_bytes;
		c->off = p->group_bytes;
		p->group_bytes += c->bytes;
	}

	p->reads = mem_array(p->columns.count, sizeof(*p->reads));
	p->row_read_bytes = columns_read_bytes(&p->columns);
	for (unsigned i = 0; i < p->columns.count; i++) {
		uint64_t bytes = p->chunks[i].bytes;

		if (!p->columns.list[i].is_read)
			continue;
		p->reads[p->read_count++] = i;
		p->read_bytes += bytes;
		sizes_add(&p->read_sizes, bytes, 1);
		if (bytes > p->largest_read)
			p->largest_read = bytes;
	}

	ds->extent_samples = p->group_rows;

	p->footer_off = PARQUET_MAGIC_BYTES + p->groups * p->group_bytes;
	p->footer_bytes = parquet_footer_bytes(p);
	p->file_bytes = p->footer_off + p->footer_bytes + PARQUET_TAIL_BYTES;
	if (p->footer_bytes <= FOOTER_MAX)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"row_group_size: %" PRIu64 " row groups of %u columns make a footer of %" PRIu64
		" bytes, and a footer has at most %" PRId32 "; use a larger row_group_size",
		p->groups, p->columns.count, p->footer_bytes, FOOTER_MAX);
}

static void parquet_fini(struct dataset *ds)
{
	struct parquet *p = ds->common;

	if (!p)
		return;
	columns_fini(&p->columns);
	mem_free(p->chunks);
	mem_free(p->reads);
	mem_free(p);
	ds->common = NULL;
}

static size_t fill_data(const struct format_writer *w, const struct parquet *p, uint8_t *to,
			size_t room)
{
	uint64_t off = (w->pos - PARQUET_MAGIC_BYTES) % p->group_bytes;
	size_t i = BISECT(k, 1, p->columns.count, p->chunks[k].off > off) - 1;
	const struct column *column = &p->columns.list[i];
	const struct parquet_chunk *c = &p->chunks[i];
	uint64_t page_bytes = c->head_bytes + c->page_values * c->value_bytes;
	uint64_t page = (off - c->off) / page_bytes, in_page = (off - c->off) % page_bytes;
	bool is_last = page == c->pages - 1;
	uint64_t data_bytes = c->value_bytes * (is_last ? c->last_values : c->page_values);

	if (in_page == 0)
		return room < PARQUET_PIECE_MAX ? 0 : parquet_page_header(c, page, to);
	uint64_t done = in_page - (is_last ? c->last_head_bytes : c->head_bytes);
	size_t n = (size_t)u64_min(data_bytes - done, room);
	if (column->kind != COLUMN_INT8 || column->is_list) {
		format_content(to, n, w->seed_index, w->pos);
		return n;
	}

	/* Values of an int8 column are signed bytes as little-endian INT32. The bytes are generated
	 * at the end of the output, so that none is overwritten before it is used. */
	size_t values = n / 4;
	uint8_t *bytes = to + 3 * values;

	format_content(bytes, values, w->seed_index, w->pos - done + done / 4);
	for (size_t k = 0; k < values; k++) {
		uint8_t low = bytes[k];

		to[4 * k] = low;
		memset(to + 4 * k + 1, low & 0x80 ? 0xff : 0, 3);
	}
	return n - n % 4;
}

/* Write the next bytes of the file; 0 = there is not enough room. */
static size_t parquet_fill_piece(struct format_writer *w, const struct parquet *p, uint8_t *to,
				 size_t room)
{
	if (w->pos == 0) {
		memcpy(to, "PAR1", PARQUET_MAGIC_BYTES);
		return PARQUET_MAGIC_BYTES;
	}
	if (w->pos < p->footer_off)
		return fill_data(w, p, to, room);
	return room < PARQUET_PIECE_MAX ? 0 : parquet_footer_piece(p, w->stage++, to);
}

static uint64_t parquet_file_bytes(const struct file_shape *shape)
{
	const struct parquet *p = shape->common;

	return p->file_bytes;
}

/* The bytes of a row are scattered over its row group, so the range is that of whole row groups. */
static void parquet_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
				 uint64_t *off, uint64_t *len)
{
	const struct parquet *p = shape->common;
	uint64_t from = first / p->group_rows;

	*off = PARQUET_MAGIC_BYTES + from * p->group_bytes;
	*len = ((first + n - 1) / p->group_rows + 1 - from) * p->group_bytes;
}

static bool parquet_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			       size_t *len)
{
	const struct parquet *p = w->shape.common;
	size_t n;

	*off = w->pos;
	*len = 0;
	while (w->pos < p->file_bytes &&
	       (n = parquet_fill_piece(w, p, (uint8_t *)buf + *len, bytes - *len))) {
		w->pos += n;
		*len += n;
	}
	return *len > 0;
}

uint64_t parquet_read_bytes(const struct dataset *ds)
{
	const struct parquet *p = ds->common;

	/* A scan knows only the mean bytes on disk. */
	return p ? p->row_read_bytes : (uint64_t)dist_mean(&ds->sample_size);
}

const struct format format_parquet = {
	.name = "parquet",
	.init = parquet_init,
	.fini = parquet_fini,
	.magic = "PAR1",
	.magic_bytes = PARQUET_MAGIC_BYTES,
	.file_bytes = parquet_file_bytes,
	.sample_range = parquet_sample_range,
	.write_next = parquet_write_next,
	/* Arrow does not use O_DIRECT. */
	.framework = { &plan_parquet, NULL },
	.reader = "pyarrow",
	.read_bytes = parquet_read_bytes,
	.look = parquet_look,
	.scanned_range = parquet_index_range,
	.found_extent = parquet_index_extent,
	.scanned_init = parquet_index_init,
};
