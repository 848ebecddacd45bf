/* SPDX-License-Identifier: Apache-2.0 */
/* csv_rows.c - format=csv: a row of numbers per sample, without a header, as DLIO has them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/files.h"
#include "base/util.h"
#include "data/file/file.h"

/*
 * sample_size numbers of 0 to 255, with commas: a byte of noise each, as text. As wide on average
 * as all 256 values are (658 digits), but which of them have two digits and which three follows
 * from their place, so that so many numbers are always so many bytes.
 */
enum { DIGITS = 658, VALUES = 256, NOISE = 4096, WIDEST = 4 };

/* Where number i of a row begins, each with a comma or the line's end. */
static uint64_t place_of(uint64_t i)
{
	return i + i * DIGITS / VALUES;
}

static uint64_t row_bytes(const struct file_shape *shape)
{
	return place_of(format_sample_bytes(shape));
}

/* The number that begins there. */
static uint64_t number_at(uint64_t place)
{
	return divide_up(place * VALUES, DIGITS + VALUES);
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

static uint8_t *put_number(uint8_t *to, unsigned digits, uint8_t noise)
{
	unsigned v = digits == 3 ? 100 + noise % 156u : 10 + noise % 90u;

	if (digits == 3)
		*to++ = (uint8_t)('0' + v / 100);
	*to++ = (uint8_t)('0' + v / 10 % 10);
	*to++ = (uint8_t)('0' + v % 10);
	return to;
}

/* Whole numbers, of one row, as many as there are and fit. */
static size_t fill_numbers(struct format_writer *w, uint8_t *to, size_t room)
{
	uint64_t row = row_bytes(&w->shape);
	uint64_t n = format_sample_bytes(&w->shape);
	uint64_t i = number_at(w->pos % row);
	uint64_t end = u64_min(n, i + u64_min(room / WIDEST, NOISE));
	uint8_t noise[NOISE], *at = to;

	format_content(noise, end - i, w->seed_index, w->pos / row * n + i);
	for (uint64_t k = i; k < end; k++) {
		unsigned digits = (unsigned)(place_of(k + 1) - place_of(k)) - 1;

		at = put_number(at, digits, noise[k - i]);
		*at++ = k + 1 == n ? '\n' : ',';
	}
	return (size_t)(at - to);
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
		size_t n = fill_numbers(w, (uint8_t *)buf + *len, bytes - *len);

		w->pos += n;
		*len += n;
	}
	return true;
}

/* ---- of others: rows as pandas.read_csv(header=None) counts them ---- */

enum state {
	ROW,   /* nothing of it but blanks: such lines are none */
	FIELD, /* at the beginning of a field */
	PLAIN,
	QUOTED, /* lines may end in it */
	QUOTE,  /* a quote in it: its end, or one of two */
};

struct reading {
	struct look *l;
	enum state state;
	uint64_t row_off, quote_off;
	bool is_return; /* the last byte was one, and a newline is part of it */
};

static int end_row(struct reading *r, uint64_t off)
{
	struct look *l = r->l;
	int rc = 0;

	if (r->state != ROW) {
		l->samples++;
		l->sample_bytes += off - r->row_off;
		rc = look_word(l, r->row_off);
		l->facts[0] = off;
	}
	r->state = ROW;
	r->row_off = off;
	return rc;
}

/* Behind a return, of the row that this has ended. */
static void take_newline(struct reading *r, uint64_t off)
{
	r->row_off++;
	if (r->l->facts[0] != off)
		return;
	r->l->facts[0]++;
	r->l->sample_bytes++;
}

static enum state next_state(struct reading *r, uint8_t c, uint64_t off)
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

static int take_bytes(struct reading *r, const uint8_t *at, size_t n, uint64_t off)
{
	for (size_t i = 0; i < n; i++, off++) {
		uint8_t c = at[i];
		bool is_end = (c == '\n' || c == '\r') && r->state != QUOTED;
		bool is_pair = r->is_return && c == '\n';
		int rc;

		r->is_return = is_end && c == '\r';
		if (c == '\0')
			return look_fail(r->l, off,
					 "a byte of zero, which no text has; is this a csv file?");
		if (is_pair && r->row_off == off) {
			take_newline(r, off);
			continue;
		}
		if (!is_end) {
			r->state = next_state(r, c, off);
			continue;
		}
		rc = end_row(r, off + 1);
		if (rc)
			return rc;
	}
	return 0;
}

static int csv_look(struct look *l)
{
	struct reading r = { .l = l };
	uint64_t off = 0;

	while (off < l->file_bytes) {
		size_t n = (size_t)u64_min(l->file_bytes - off, LOOK_BYTES / 2);
		const uint8_t *at = look_at(l, off, n);
		size_t skip = at && off == 0 ? bom_bytes(at, n) : 0;
		int rc;

		if (!at)
			return l->err->code;
		if (skip)
			r.row_off = skip;
		rc = take_bytes(&r, at + skip, n - skip, off + skip);
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

/* Words are where rows begin; the last one ends at facts[0]. */
static void csv_found_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			    uint64_t *off, uint64_t *len)
{
	uint64_t end = first + n < shape->samples ? shape->words[first + n] : shape->facts[0];

	*off = shape->words[first];
	*len = end - *off;
}

const struct format format_csv = {
	.name = "csv",
	.file_bytes = csv_file_bytes,
	.sample_range = csv_sample_range,
	.write_next = csv_write_next,
	.framework = { &plan_pandas },
	.reader = "pandas",
	.look = csv_look,
	.found_range = csv_found_range,
};
