/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_look.c - read the row groups and chunks of a Parquet file from its footer. */
#include "data/formats/parquet/parquet_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/file/file.h"

/* ---- the columns that read_columns= names ---- */

#define DIGITS_MAX 9

static size_t digits_of(const char *s)
{
	return strspn(s, "0123456789");
}

/* Recognise a range like "feature_000..026"; any other text is a name. */
static void parse_range(struct parquet_name *n)
{
	char *dots = strstr(n->text, ".."), *number = dots;

	if (!dots)
		return;
	while (number > n->text && number[-1] >= '0' && number[-1] <= '9')
		number--;
	n->digits = (size_t)(dots - number);
	if (n->digits == 0 || n->digits > DIGITS_MAX || digits_of(dots + 2) != strlen(dots + 2) ||
	    !dots[2] || strlen(dots + 2) > DIGITS_MAX)
		return;
	n->first = strtoul(number, NULL, 10);
	n->last = strtoul(dots + 2, NULL, 10);
	n->is_range = true;
	*number = '\0';
}

int parquet_names_init(struct parquet_names *n, const char *text, struct look *l)
{
	*n = (struct parquet_names){ 0 };
	while (text && *text) {
		size_t len = strcspn(text, ","), blank = strspn(text, " \t");
		size_t end = len;

		while (end > blank && (text[end - 1] == ' ' || text[end - 1] == '\t'))
			end--;
		if (end <= blank || n->count == COLUMNS_MAX)
			return mlgen_fail(l->err, -EINVAL,
					  "read_columns: a name is missing before or after a "
					  "comma, or there are more than %d names",
					  COLUMNS_MAX);
		vec_push(n,
			 (struct parquet_name){ .text = mem_strndup(text + blank, end - blank) });
		parse_range(vec_last(n));
		text += len + (text[len] == ',');
	}
	return 0;
}

void parquet_names_fini(struct parquet_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		mem_free(n->at[i].text);
	vec_fini(n);
}

/* Does the name end here, or continue with a nested name? */
static bool parquet_names_ends(const char *rest)
{
	return *rest == '\0' || *rest == '.';
}

static bool is_in_range(const struct parquet_name *n, const char *number)
{
	size_t digits = digits_of(number);

	if (digits < n->digits || digits > DIGITS_MAX || !parquet_names_ends(number + digits) ||
	    (digits > n->digits && *number == '0'))
		return false;
	unsigned long v = strtoul(number, NULL, 10);
	return v >= n->first && v <= n->last;
}

bool parquet_names_has(struct parquet_names *n, const char *column)
{
	bool has = n->count == 0;

	snprintf(n->seen, sizeof(n->seen), "%s", column);
	for (size_t i = 0; i < n->count; i++) {
		struct parquet_name *name = &n->at[i];
		size_t len = strlen(name->text);

		if (strncmp(name->text, column, len) == 0 &&
		    (name->is_range ? is_in_range(name, column + len)
				    : parquet_names_ends(column + len)))
			has = name->is_there = true;
	}
	return has;
}

/* Check that the file has all names. 0, or -EINVAL with l->err. */
static int parquet_names_check(const struct parquet_names *n, struct look *l)
{
	for (size_t i = 0; i < n->count; i++)
		if (!n->at[i].is_there)
			return mlgen_fail(l->err, -EINVAL,
					  "%s: read_columns: the file has no column '%s%s', but "
					  "for example '%s'",
					  l->path, n->at[i].text, n->at[i].is_range ? "..." : "",
					  n->seen);
	return 0;
}

/* ---- columns of a row group ---- */

/* The codecs of parquet.thrift, in the order of their numbers. */
static const char *const codecs[] = { "none",   "snappy", "gzip", "lzo",
				      "brotli", "lz4",    "zstd", "lz4_raw" };

struct footer_chunk {
	bool has_meta, has_page, has_bytes, is_elsewhere;
	int64_t page, dictionary, bytes, codec;
	char name[PARQUET_NAME_MAX];
};

struct footer {
	struct thrift_reader in;
	struct look *look;
	struct parquet_names names; /* read_columns= */
	uint64_t off;               /* start of the footer and end of all chunks */
	uint64_t groups;
	uint64_t each_chunks; /* chunks that are read of the first group */
	/* Place and bytes of each chunk that is read of the current group. */
	VEC(uint64_t) words;
	size_t chunks;
	int64_t rows; /* number of rows according to the footer */
	bool has_rows;
};

static void read_path(struct thrift_reader *in, const struct thrift_field *f, char *name)
{
	unsigned type;
	uint64_t n = thrift_elements(in, f, &type);
	size_t len = 0;

	for (uint64_t i = 0; i < n && !thrift_failed(in); i++) {
		if (len && len + 1 < PARQUET_NAME_MAX)
			name[len++] = '.';
		thrift_string(in, type, name + len, PARQUET_NAME_MAX - len);
		len += strlen(name + len);
	}
}

static void read_meta(struct thrift_reader *in, struct footer_chunk *c)
{
	struct thrift_field f = { 0 };

	while (thrift_next(in, &f)) {
		switch (f.id) {
		case META_PATH:
			read_path(in, &f, c->name);
			break;
		case META_CODEC:
			c->codec = thrift_int(in, &f);
			break;
		case META_STORED_BYTES:
			c->bytes = thrift_int(in, &f);
			c->has_bytes = true;
			break;
		case META_PAGE_OFFSET:
			c->page = thrift_int(in, &f);
			c->has_page = true;
			break;
		case META_DICTIONARY_OFFSET:
			c->dictionary = thrift_int(in, &f);
			break;
		default:
			thrift_skip(in, f.type);
		}
	}
	c->has_meta = true;
}

static void read_chunk(struct thrift_reader *in, struct footer_chunk *c)
{
	struct thrift_field f = { 0 };

	while (thrift_next(in, &f)) {
		if (f.id == CHUNK_META && thrift_enter(in, f.type)) {
			read_meta(in, c);
			thrift_leave(in);
		} else {
			c->is_elsewhere |= f.id == CHUNK_FILE_PATH;
			thrift_skip(in, f.type);
		}
	}
}

/* Arrow reads from the dictionary on, if there is one before the pages. */
static int add_chunk(struct footer *t, const struct footer_chunk *c)
{
	struct look *l = t->look;
	int64_t off = c->dictionary > 0 && c->dictionary < c->page ? c->dictionary : c->page;

	if (!c->has_meta || !c->has_page || !c->has_bytes)
		return look_fail(l, t->in.off,
				 "the footer does not say where a column is; an encrypted column "
				 "cannot be read");
	if (c->is_elsewhere)
		return look_fail(l, t->in.off,
				 "column '%s' is in another file, which mlgen does not read",
				 c->name);
	if (!parquet_names_has(&t->names, c->name))
		return 0;
	if (off < PARQUET_MAGIC_BYTES || c->bytes < 0 || (uint64_t)off > t->off ||
	    (uint64_t)c->bytes > t->off - (uint64_t)off)
		return look_fail(
			l, t->in.off,
			"column '%s' of row group %" PRIu64 " has %" PRId64 " bytes at %" PRId64
			", which is not between the first bytes and the footer at %" PRIu64,
			c->name, t->groups, c->bytes, off, t->off);

	if (c->codec < 0 || c->codec >= (int64_t)ARRAY_LEN(codecs))
		return look_fail(l, t->in.off,
				 "column '%s' is compressed with codec number %" PRId64
				 ", which Parquet does not define",
				 c->name, c->codec);
	if (l->options->decompress == DECOMPRESS_REAL && c->codec != PARQUET_CODEC_NONE &&
	    c->codec != PARQUET_CODEC_GZIP && c->codec != PARQUET_CODEC_ZSTD)
		return look_fail(
			l, t->in.off,
			"column '%s' is compressed with %s, but decompress=real knows only gzip "
			"and zstd; use decompress=sleep with decompress_rate=, or leave the "
			"column out of read_columns",
			c->name, codecs[c->codec]);

	vec_push(&t->words, (uint64_t)off);
	vec_push(&t->words, (uint64_t)c->bytes | (uint64_t)c->codec << PARQUET_CODEC_SHIFT);
	t->chunks++;
	return 0;
}

static int read_columns(struct footer *t, const struct thrift_field *f)
{
	unsigned type;
	uint64_t n = thrift_elements(&t->in, f, &type);

	for (uint64_t i = 0; i < n && !thrift_failed(&t->in); i++) {
		struct footer_chunk c = { 0 };

		if (!thrift_enter(&t->in, type))
			break;
		read_chunk(&t->in, &c);
		thrift_leave(&t->in);
		int r = thrift_failed(&t->in) ? 0 : add_chunk(t, &c);
		if (r)
			return r;
	}
	return thrift_failed(&t->in);
}

/* ---- row groups ---- */

static int add_group(struct footer *t, int64_t rows)
{
	struct look *l = t->look;
	uint64_t *each = &l->facts[PARQUET_GROUP_ROWS];

	if (rows < 0)
		return look_fail(l, t->in.off, "row group %" PRIu64 " has %" PRId64 " rows",
				 t->groups, rows);
	if (rows == 0)
		return 0;
	if (t->groups == 0)
		t->each_chunks = t->chunks;
	if (t->groups == 0 || (uint64_t)rows == *each)
		*each = (uint64_t)rows;
	else
		*each = 0;
	t->groups++;
	if (t->chunks == 0 && parquet_names_check(&t->names, l))
		return l->err->code;
	if (t->chunks != t->each_chunks || t->chunks == 0)
		return look_fail(l, t->in.off,
				 "a row group has %zu of the columns to read, but the first row "
				 "group has %" PRIu64,
				 t->chunks, t->each_chunks);
	if (__builtin_add_overflow(l->samples, (uint64_t)rows, &l->samples) ||
	    l->samples > INT64_MAX || rows > UINT32_MAX)
		return look_fail(l, t->in.off, "too many rows");

	int r = look_add_word(l, l->samples);

	for (size_t i = 0; i < t->chunks && r == 0; i++) {
		const uint64_t *chunk = t->words.at + 2 * i;
		uint64_t bytes = parquet_chunk_bytes(chunk);

		r = look_add_word(l, chunk[0]);
		if (r == 0)
			r = look_add_word(l, chunk[1]);
		l->sample_bytes += bytes;
		if (parquet_chunk_codec(chunk) != PARQUET_CODEC_NONE)
			l->packed_max = u64_max(l->packed_max, bytes);
	}
	/* Chunks do not overlap. */
	if (r == 0 && l->sample_bytes > t->off)
		r = look_fail(l, t->in.off,
			      "the columns together have %" PRIu64
			      " bytes, more than the file before the footer",
			      l->sample_bytes);
	return r;
}

static int read_group(struct footer *t)
{
	struct thrift_field f = { 0 };
	int64_t rows = 0;
	int r = 0;

	t->chunks = t->words.count = 0;
	while (r == 0 && thrift_next(&t->in, &f)) {
		if (f.id == GROUP_COLUMNS)
			r = read_columns(t, &f);
		else if (f.id == GROUP_ROWS)
			rows = thrift_int(&t->in, &f);
		else
			thrift_skip(&t->in, f.type);
	}
	if (r == 0)
		r = thrift_failed(&t->in);
	return r ? r : add_group(t, rows);
}

static int read_groups(struct footer *t, const struct thrift_field *f)
{
	unsigned type;
	uint64_t n = thrift_elements(&t->in, f, &type);
	int r = 0;

	for (uint64_t i = 0; i < n && r == 0 && !thrift_failed(&t->in); i++) {
		if (thrift_enter(&t->in, type))
			r = read_group(t);
		thrift_leave(&t->in);
	}
	return r ? r : thrift_failed(&t->in);
}

/* ---- the file ---- */

static int read_footer(struct footer *t)
{
	struct thrift_field f = { 0 };
	int r = 0;

	while (r == 0 && thrift_next(&t->in, &f)) {
		if (f.id == FILE_ROW_GROUPS) {
			r = read_groups(t, &f);
		} else if (f.id == FILE_ROWS) {
			t->rows = thrift_int(&t->in, &f);
			t->has_rows = true;
		} else {
			thrift_skip(&t->in, f.type);
		}
	}
	if (r == 0)
		r = thrift_failed(&t->in);
	if (r)
		return r;
	if (!t->has_rows)
		return look_fail(t->look, t->off,
				 "the footer does not say how many rows there are");
	if (t->rows != (int64_t)t->look->samples)
		return look_fail(t->look, t->off,
				 "the footer says %" PRId64
				 " rows, but its row groups have %" PRIu64,
				 t->rows, t->look->samples);
	return t->groups ? parquet_names_check(&t->names, t->look) : 0;
}

/* Find the footer by the last bytes of the file. */
static int find_footer(struct look *l, uint64_t *off, uint64_t *bytes)
{
	const uint64_t around = PARQUET_MAGIC_BYTES + PARQUET_TAIL_BYTES;
	uint64_t end = l->file_bytes, tail = end - PARQUET_TAIL_BYTES;

	if (end < around)
		return look_fail(l, 0,
				 "a Parquet file has at least %" PRIu64
				 " bytes, this file has %" PRIu64,
				 around, end);
	const uint8_t *at = look_at(l, tail, PARQUET_TAIL_BYTES);
	if (!at)
		return l->err->code;
	if (memcmp(at + 4, "PARE", 4) == 0)
		return look_fail(
			l, tail,
			"the footer is encrypted (PARE), and cannot be read without its key");
	if (memcmp(at + 4, "PAR1", 4) != 0)
		return look_fail(l, tail + 4, "a Parquet file ends with PAR1, this file does not");
	*bytes = look_le(at, 4);
	if (*bytes > end - around)
		return look_fail(l, tail,
				 "the footer has %" PRIu64 " bytes, more than the file before it",
				 *bytes);
	*off = tail - *bytes;
	at = look_at(l, 0, PARQUET_MAGIC_BYTES);
	if (!at)
		return l->err->code;
	return memcmp(at, "PAR1", 4) == 0
		       ? 0
		       : look_fail(l, 0, "a Parquet file begins with PAR1, this file does not");
}

int parquet_look(struct look *l)
{
	struct footer *t = mem_zalloc(sizeof(*t));
	uint64_t bytes = 0;
	int r = find_footer(l, &t->off, &bytes);

	t->look = l;
	if (r == 0)
		r = parquet_names_init(&t->names, l->options->read_columns, l);
	if (r == 0) {
		thrift_reader_init(&t->in, l, t->off, t->off + bytes);
		r = read_footer(t);
	}
	l->facts[PARQUET_CHUNKS] = t->each_chunks;
	l->facts[PARQUET_FOOTER_OFF] = t->off;
	l->facts[PARQUET_FOOTER_BYTES] = bytes;
	l->facts[PARQUET_GROUPS] = l->facts[PARQUET_GROUPS_BEFORE] = t->groups;
	parquet_names_fini(&t->names);
	vec_fini(&t->words);
	mem_free(t);
	return r;
}

/* ---- what a scan has found ---- */

/* The words of a row group; the first is the number of rows up to its end. */
static const uint64_t *group_words(const struct file_shape *shape, uint64_t group)
{
	return shape->words + group * (1 + 2 * shape->facts[PARQUET_CHUNKS]);
}

const uint64_t *parquet_index_chunks(const struct file_shape *shape, uint64_t group)
{
	return group_words(shape, group) + 1;
}

static uint64_t first_row(const struct file_shape *shape, uint64_t group)
{
	return group ? *group_words(shape, group - 1) : 0;
}

uint64_t parquet_index_group(const struct file_shape *shape, uint64_t row)
{
	return BISECT(g, 1, shape->facts[PARQUET_GROUPS], first_row(shape, g) > row) - 1;
}

/* The range begins at the first chunk of the row groups and is as long as all their chunks. */
void parquet_index_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			 uint64_t *len)
{
	uint64_t end = parquet_index_group(shape, first + n - 1) + 1;

	*off = UINT64_MAX;
	*len = 0;
	for (uint64_t g = parquet_index_group(shape, first); g < end; g++) {
		const uint64_t *chunk = parquet_index_chunks(shape, g);

		for (uint64_t i = 0; i < shape->facts[PARQUET_CHUNKS]; i++) {
			*off = u64_min(*off, chunk[2 * i]);
			*len += parquet_chunk_bytes(chunk + 2 * i);
		}
	}
	*len = u64_min(*len, shape->scanned_bytes);
	*off = u64_min(*off, shape->scanned_bytes - *len);
}

void parquet_index_extent(const struct file_shape *shape, uint64_t n, uint64_t *first,
			  uint64_t *samples)
{
	*first = first_row(shape, n);
	*samples = first_row(shape, n + 1) - *first;
}

/* Rows of every row group of every file; 0 = they differ. */
static uint64_t each_rows(const struct dataset *ds)
{
	uint64_t each = 0;

	for (uint64_t i = 0; i < ds->files; i++) {
		struct file_shape shape = { 0 };

		scan_index_shape(ds->found, i, &shape);
		uint64_t rows = shape.facts[PARQUET_GROUP_ROWS];
		if (rows == 0 || (i > 0 && rows != each))
			return 0;
		each = rows;
	}
	return each;
}

/* An extent is a row group. */
int parquet_index_init(struct dataset *ds, struct mlgen_err *err)
{
	(void)err;
	ds->extent_samples = each_rows(ds);
	if (ds->extent_samples)
		return 0;
	ds->extents_differ = true;
	scan_index_count_extents(ds->found, PARQUET_GROUPS_BEFORE);
	ds->extent_samples = scan_index_first_sample(ds->found, ds->files) /
			     scan_index_first_extent(ds->found, ds->files);
	return 0;
}
