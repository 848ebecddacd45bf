/* SPDX-License-Identifier: Apache-2.0 */
/* csv_rows.c - format=csv: a row of numbers for each sample, without a header, as in DLIO. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/files.h"
#include "base/util.h"
#include "data/file/file.h"

/*
 * A row has sample_size numbers of 0 to 255, separated by commas; each is a byte of noise, written
 * as text. Their average width is that of all 256 values (658 digits). The position of a number
 * decides whether it has two or three digits, so the length of a row depends only on sample_size.
 */
enum { DIGITS = 658, VALUES = 256, NOISE_BYTES = 4096, WIDEST = 4 };

/* Offset of number i in a row. Each number is followed by a comma or the line's end. */
static uint64_t place_of(uint64_t i)
{
	return i + i * DIGITS / VALUES;
}

static uint64_t row_bytes(const struct file_shape *shape)
{
	return place_of(format_sample_bytes(shape));
}

static uint64_t csv_file_bytes(const struct file_shape *shape)
{
	return shape->samples * row_bytes(shape);
}

static void csv_sample_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len)
{
	*off = first * row_bytes(shape);
	*len = n * row_bytes(shape);
}

static bool csv_write_next(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len)
{
	uint64_t end = csv_file_bytes(&w->shape);

	if (w->pos == end)
		return false;
	*off = w->pos;
	*len = 0;
	while (w->pos < end && bytes - *len >= WIDEST) {
		uint8_t *to = (uint8_t *)buf + *len;
		uint64_t row = row_bytes(&w->shape);
		uint64_t values = format_sample_bytes(&w->shape);
		/* The number that begins here. */
		uint64_t i = divide_up(w->pos % row * VALUES, DIGITS + VALUES);
		uint64_t last = u64_min(values, i + u64_min((bytes - *len) / WIDEST, NOISE_BYTES));
		uint8_t noise[NOISE_BYTES], *at = to;

		format_content(noise, last - i, w->seed_index, w->pos / row * values + i);
		for (uint64_t k = i; k < last; k++) {
			unsigned digits = (unsigned)(place_of(k + 1) - place_of(k)) - 1;
			unsigned v =
				digits == 3 ? 100 + noise[k - i] % 156u : 10 + noise[k - i] % 90u;

			if (digits == 3)
				*at++ = (uint8_t)('0' + v / 100);
			*at++ = (uint8_t)('0' + v / 10 % 10);
			*at++ = (uint8_t)('0' + v % 10);
			*at++ = k + 1 == values ? '\n' : ',';
		}
		w->pos += (uint64_t)(at - to);
		*len += (size_t)(at - to);
	}
	return true;
}

/* ---- files from any writer: rows as pandas.read_csv(header=None) counts them ---- */

enum csv_state {
	ROW,   /* only white space so far; a blank line is not a row */
	FIELD, /* beginning of a field */
	PLAIN,
	QUOTED, /* may contain line ends */
	QUOTE,  /* a quote in a quoted field: the field's end, or the first of two */
};

struct csv_row_parser {
	struct look *l;
	enum csv_state state;
	uint64_t row_off, quote_off;
	bool is_return; /* the last byte was a return, which a newline may follow */
};

static int end_row(struct csv_row_parser *r, uint64_t off)
{
	struct look *l = r->l;
	int rc = 0;

	if (r->state != ROW) {
		l->samples++;
		l->sample_bytes += off - r->row_off;
		rc = look_add_word(l, r->row_off);
		l->facts[0] = off;
	}
	r->state = ROW;
	r->row_off = off;
	return rc;
}

static enum csv_state next_state(struct csv_row_parser *r, uint8_t c, uint64_t off)
{
	if (c == '"' && (r->state == ROW || r->state == FIELD)) {
		r->quote_off = off;
		return QUOTED;
	}
	if (c == '"' && r->state == QUOTED)
		return QUOTE;
	if (r->state == QUOTED || (c == '"' && r->state == QUOTE))
		return QUOTED;
	if (c == ',')
		return FIELD;
	return r->state == ROW && (c == ' ' || c == '\t') ? ROW : PLAIN;
}

static int parse_bytes(struct csv_row_parser *r, const uint8_t *at, size_t n, uint64_t off)
{
	for (size_t i = 0; i < n; i++, off++) {
		uint8_t c = at[i];
		bool is_end = (c == '\n' || c == '\r') && r->state != QUOTED;
		bool is_pair = r->is_return && c == '\n';

		r->is_return = is_end && c == '\r';
		if (c == '\0')
			return look_fail(
				r->l, off,
				"a zero byte, which text never contains; is this a csv file?");
		/* The newline after a return belongs to the row that the return has ended. */
		if (is_pair && r->row_off == off) {
			r->row_off++;
			if (r->l->facts[0] == off) {
				r->l->facts[0]++;
				r->l->sample_bytes++;
			}
			continue;
		}
		if (!is_end) {
			r->state = next_state(r, c, off);
			continue;
		}
		int rc = end_row(r, off + 1);
		if (rc)
			return rc;
	}
	return 0;
}

static int csv_look(struct look *l)
{
	struct csv_row_parser r = { .l = l };
	uint64_t off = 0;

	while (off < l->file_bytes) {
		size_t n = (size_t)u64_min(l->file_bytes - off, LOOK_BYTES / 2);
		const uint8_t *at = look_at(l, off, n);
		size_t skip = at && off == 0 ? bom_bytes(at, n) : 0;

		if (!at)
			return l->err->code;
		if (skip)
			r.row_off = skip;
		int rc = parse_bytes(&r, at + skip, n - skip, off + skip);
		if (rc)
			return rc;
		off += n;
	}
	if (r.state == QUOTED)
		return look_fail(
			l, r.quote_off,
			"the quote that opens here is not closed before the end of the file");
	return end_row(&r, off);
}

/* Words are the offsets of rows; the last row ends at facts[0]. */
static void csv_scanned_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	*off = shape->words[first];
	*len = (first + n < shape->samples ? shape->words[first + n] : shape->facts[0]) - *off;
}

const struct format format_csv = {
	.name = "csv",
	.file_bytes = csv_file_bytes,
	.sample_range = csv_sample_range,
	.write_next = csv_write_next,
	.framework = { &plan_pandas },
	.reader = "pandas",
	.look = csv_look,
	.scanned_range = csv_scanned_range,
};
