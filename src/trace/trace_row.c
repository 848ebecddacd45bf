/* SPDX-License-Identifier: Apache-2.0 */
/* trace_row.c - rows of comma-separated values, as RFC 4180 has them. */
#include "trace/trace_row.h"

#include <string.h>

#include "base/mem.h"

enum row_state {
	ROW_CELL,   /* at the beginning of a cell */
	ROW_PLAIN,  /* in one without quotes */
	ROW_QUOTED, /* in one with them */
	ROW_QUOTE,  /* a quote in it: its end, or one of two */
	ROW_RETURN, /* behind its end */
	ROW_OVER,
};

/* One row on its way. */
struct reading {
	struct trace_row *row;
	struct trace_input *in;
	struct mlgen_err *err;
	enum row_state state;
	uint64_t quote_line; /* that the cell's first quote is on */
};

static void begin_cell(struct trace_row *row)
{
	row->starts = mem_grow(row->starts, &row->room, row->count + 2, sizeof(*row->starts));
	row->starts[row->count] = row->text.len;
}

static void end_cell(struct reading *r, char end)
{
	struct trace_row *row = r->row;

	if (end == '\n' && r->state == ROW_PLAIN && row->text.len > row->starts[row->count] &&
	    row->text.s[row->text.len - 1] == '\r')
		buf_cut(&row->text, row->text.len - 1);
	buf_addc(&row->text, '\0');
	row->count++;
	begin_cell(row);
	r->state = end == ',' ? ROW_CELL : ROW_OVER;
}

static int row_refuse(struct reading *r, uint64_t line, const char *what)
{
	return trace_input_refuse(r->in, line, r->err, "%s", what);
}

/* So many bytes from here on that mean nothing to the state. */
static size_t span_of(const struct reading *r, const char *at, size_t left)
{
	const char *quote;
	size_t n = 0;

	if (r->state == ROW_QUOTED) {
		quote = memchr(at, '"', left);
		return quote ? (size_t)(quote - at) : left;
	}
	if (r->state != ROW_CELL && r->state != ROW_PLAIN)
		return 0;
	while (n < left && at[n] != ',' && at[n] != '\n' && at[n] != '"')
		n++;
	return n;
}

static void take_span(struct reading *r, const char *at, size_t n)
{
	buf_addn(&r->row->text, at, n);
	if (r->state == ROW_CELL)
		r->state = ROW_PLAIN;
	for (size_t i = 0; r->state == ROW_QUOTED && i < n; i++)
		r->in->line += at[i] == '\n';
}

static int take_quote(struct reading *r)
{
	switch (r->state) {
	case ROW_CELL:
		r->quote_line = r->in->line;
		r->state = ROW_QUOTED;
		return 0;
	case ROW_QUOTED:
		r->state = ROW_QUOTE;
		return 0;
	case ROW_QUOTE:
		buf_addc(&r->row->text, '"');
		r->state = ROW_QUOTED;
		return 0;
	default:
		return row_refuse(r, r->in->line,
				  "a quote in the middle of a cell; put the whole cell in quotes, "
				  "and write it twice");
	}
}

static int take_special(struct reading *r, char c)
{
	if (c == '"')
		return take_quote(r);
	if (r->state == ROW_QUOTE && c == '\r') {
		r->state = ROW_RETURN;
		return 0;
	}
	if ((c == ',' && r->state != ROW_RETURN) || c == '\n') {
		end_cell(r, c);
		return 0;
	}
	return row_refuse(r, r->in->line,
			  "text behind the quote that ends a cell; a quote in it is written twice");
}

static int take_bytes(struct reading *r)
{
	struct trace_input *in = r->in;
	int rc = 0;

	while (rc == 0 && r->state != ROW_OVER && in->at < in->end) {
		const char *at = in->buffer + in->at;
		size_t n = span_of(r, at, in->end - in->at);

		if (r->row->text.len + n > TRACE_INPUT_LINE_MAX)
			return row_refuse(r, r->row->line,
					  "a row of more than 1 MiB; is a quote missing?");
		if (n) {
			take_span(r, at, n);
			in->at += n;
			continue;
		}
		rc = take_special(r, *at);
		in->at++;
		if (rc == 0 && r->state == ROW_OVER)
			in->line++;
	}
	return rc;
}

/* The text is over within a row, or before one. */
static int end_text(struct reading *r)
{
	struct trace_row *row = r->row;

	if (r->in->is_cut_off)
		return 0;
	if (r->state == ROW_QUOTED)
		return row_refuse(
			r, r->quote_line,
			"the quote that opens here is not closed before the end of the file");
	if (r->state == ROW_CELL && row->count == 0)
		return 0;
	end_cell(r, '\n');
	row->is_cut = true;
	return 1;
}

static int read_row(struct reading *r)
{
	struct trace_row *row = r->row;
	int rc = 0;

	row->line = r->in->line;
	row->count = 0;
	row->is_cut = false;
	buf_reset(&row->text);
	begin_cell(row);
	r->state = ROW_CELL;
	while (rc == 0 && r->state != ROW_OVER) {
		rc = trace_input_more(r->in, r->err);
		if (rc == 0)
			return end_text(r);
		if (rc > 0)
			rc = take_bytes(r);
	}
	return rc < 0 ? rc : 1;
}

int trace_row_next(struct trace_row *row, struct trace_input *in, struct mlgen_err *err)
{
	struct reading r = { .row = row, .in = in, .err = err };
	int rc;

	/* An empty line is a cell without a byte; its zero is one. */
	do
		rc = read_row(&r);
	while (rc > 0 && row->count == 1 && row->text.len == 1);
	return rc;
}

void trace_row_fini(struct trace_row *row)
{
	buf_fini(&row->text);
	mem_free(row->starts);
	*row = (struct trace_row){ 0 };
}

char *trace_row_cell(const struct trace_row *row, size_t i, size_t *bytes)
{
	*bytes = row->starts[i + 1] - row->starts[i] - 1;
	return row->text.s + row->starts[i];
}

void trace_row_put(struct buf *out, const char *s, size_t bytes)
{
	bool is_quoted = false;

	for (size_t i = 0; i < bytes && !is_quoted; i++)
		is_quoted = s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
	if (!is_quoted) {
		buf_addn(out, s, bytes);
		return;
	}
	buf_addc(out, '"');
	for (size_t i = 0; i < bytes; i++) {
		if (s[i] == '"')
			buf_addc(out, '"');
		buf_addc(out, s[i]);
	}
	buf_addc(out, '"');
}
