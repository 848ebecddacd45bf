/* SPDX-License-Identifier: Apache-2.0 */
/* trace_csv_read.c - comma-separated values as a trace. */
#include "trace/trace_csv.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "trace/trace_number.h"
#include "trace/trace_row.h"
#include "trace/trace_text.h"

enum column_kind {
	COLUMN_TIME,   /* a number that has to be there */
	COLUMN_KNOWN,  /* a number, or empty: not known */
	COLUMN_THREAD, /* of 32 bits, or empty: 0 */
	COLUMN_RESULT, /* with a sign, or empty: as asked for */
	COLUMN_OP,
	COLUMN_FILE,
	COLUMN_PHASE,
	COLUMN_FLAGS, /* names, or a number, with | between them */
};

struct column {
	const char *name;
	enum column_kind kind;
	size_t off; /* in a record */
};

/* clang-format off */
static const struct column columns[] = {
	{ "start_ns", COLUMN_TIME, offsetof(struct trace_record, start_ns) },
	{ "duration_ns", COLUMN_KNOWN, offsetof(struct trace_record, duration_ns) },
	{ "pid", COLUMN_THREAD, offsetof(struct trace_record, pid) },
	{ "tid", COLUMN_THREAD, offsetof(struct trace_record, tid) },
	{ "phase", COLUMN_PHASE, 0 },
	{ "op", COLUMN_OP, 0 },
	{ "file", COLUMN_FILE, 0 },
	{ "offset", COLUMN_KNOWN, offsetof(struct trace_record, off) },
	{ "bytes", COLUMN_KNOWN, offsetof(struct trace_record, len_bytes) },
	{ "result", COLUMN_RESULT, 0 },
	{ "cpu_ns", COLUMN_KNOWN, offsetof(struct trace_record, cpu_ns) },
	{ "flags", COLUMN_FLAGS, 0 },
};
/* clang-format on */

/* A trace has names of this many bytes. */
#define TRACE_NAME_MOST (64u << 10)

enum { COLUMNS = ARRAY_LEN(columns), NOWHERE = -1 };

struct reading {
	struct trace_input *in;
	struct trace_fill *to;
	struct trace_csv_read *what;
	struct mlgen_err *err;
	struct trace_row row;
	size_t cells;       /* of the header */
	int place[COLUMNS]; /* of each column; NOWHERE = not there */
	bool has_markers;   /* of phases */
	bool has_result;    /* of this row */
};

/* ---- the header ---- */

static size_t column_named(const char *name, size_t bytes)
{
	size_t i = 0;

	while (i < COLUMNS &&
	       (strlen(columns[i].name) != bytes || memcmp(columns[i].name, name, bytes) != 0))
		i++;
	return i;
}

static int take_name(struct reading *r, size_t cell)
{
	struct buf *ignored = &r->what->ignored;
	size_t bytes;
	const char *name = trace_row_cell(&r->row, cell, &bytes);
	size_t i = column_named(name, bytes);

	if (i == COLUMNS) {
		buf_add(ignored, ignored->len ? "," : "");
		buf_addn(ignored, name, bytes);
		return 0;
	}
	if (r->place[i] != NOWHERE)
		return trace_input_refuse(r->in, r->row.line, r->err, "the header has %s twice",
					  columns[i].name);
	r->place[i] = (int)cell;
	return 0;
}

static int need_column(struct reading *r, const char *name)
{
	if (r->place[column_named(name, strlen(name))] != NOWHERE)
		return 0;
	return trace_input_refuse(r->in, r->row.line, r->err,
				  "the header has no column %s; the first line names the columns, "
				  "in any order: " TRACE_CSV_HEADER,
				  name);
}

static int read_header(struct reading *r)
{
	int rc = trace_row_next(&r->row, r->in, r->err);

	if (rc == 0)
		return trace_input_refuse(
			r->in, 1, r->err,
			"is empty; the first line names the columns: " TRACE_CSV_HEADER);
	for (size_t i = 0; i < COLUMNS; i++)
		r->place[i] = NOWHERE;
	r->cells = r->row.count;
	for (size_t i = 0; rc > 0 && i < r->cells; i++)
		rc = take_name(r, i) < 0 ? -1 : 1;
	if (rc > 0)
		rc = need_column(r, "start_ns");
	return rc < 0 ? r->err->code : need_column(r, "op");
}

/* ---- a row ---- */

static int refuse_number(struct reading *r, const struct column *c, const char *text,
			 const char *wrong)
{
	const char *right = c->kind == COLUMN_RESULT   ? "bytes, or -errno of a failure"
			    : c->kind == COLUMN_THREAD ? "a number of 32 bits"
						       : "a number from 0 to 18446744073709551614";

	if (!*text)
		return trace_input_refuse(r->in, r->row.line, r->err, "%s: %s; it is %s", c->name,
					  wrong, right);
	return trace_input_refuse(r->in, r->row.line, r->err, "%s: '%.40s' %s; it is %s%s", c->name,
				  text, wrong, right,
				  c->kind == COLUMN_TIME ? "" : ", or empty where it is unknown");
}

static int take_cell_number(struct reading *r, const struct column *c, const char *text,
			    size_t bytes, struct trace_record *to)
{
	bool is_narrow = c->kind == COLUMN_THREAD;
	uint64_t v = is_narrow ? 0 : TRACE_UNKNOWN;
	void *at = (char *)to + c->off;
	const char *wrong = NULL;
	uint32_t narrow;

	if (bytes || c->kind == COLUMN_TIME)
		wrong = trace_number_take(text, bytes, is_narrow ? UINT32_MAX : TRACE_UNKNOWN - 1,
					  &v);
	if (wrong)
		return refuse_number(r, c, text, wrong);
	narrow = (uint32_t)v;
	memcpy(at, is_narrow ? (void *)&narrow : (void *)&v,
	       is_narrow ? sizeof(narrow) : sizeof(v));
	return 0;
}

static int take_result(struct reading *r, const struct column *c, const char *text, size_t bytes,
		       struct trace_record *to)
{
	const char *wrong = NULL;

	r->has_result = bytes;
	if (bytes)
		wrong = trace_number_take_signed(text, bytes, &to->result);
	return wrong ? refuse_number(r, c, text, wrong) : 0;
}

/* A number, too, which is what one of a later version has. */
static int take_op(struct reading *r, const char *text, size_t bytes, struct trace_record *to)
{
	unsigned op = bytes == strlen(text) ? trace_op_find(text) : TRACE_NONE;
	uint64_t number = op;

	if (op == TRACE_NONE && trace_number_take(text, bytes, UINT16_MAX, &number))
		return trace_input_refuse(r->in, r->row.line, r->err,
					  "op: '%.40s' is no operation; they are open, close, "
					  "read, write and more, see man mlgen-trace",
					  text);
	to->op = (uint16_t)number;
	return 0;
}

/* The name of what a rename makes of a file stands behind a byte of zero. */
static int take_name_of(struct reading *r, char *text, size_t bytes, struct trace_record *to)
{
	const char *wrong = trace_text_take(text, &bytes);
	const char *zero = wrong ? NULL : memchr(text, '\0', bytes);
	size_t first = zero ? (size_t)(zero - text) : bytes;
	bool is_two = zero && to->op == TRACE_RENAME;

	if (wrong)
		return trace_input_refuse(r->in, r->row.line, r->err,
					  "file: '%.40s' is no escape; a backslash is written as "
					  "two, a byte as \\x and two hexadecimal digits",
					  wrong);
	if (zero && (!is_two || memchr(zero + 1, '\0', bytes - first - 1)))
		return trace_input_refuse(r->in, r->row.line, r->err,
					  "file: a byte of zero, which no name has; only the two "
					  "of a rename have one between them");
	if (bytes > TRACE_NAME_MOST)
		return trace_input_refuse(r->in, r->row.line, r->err,
					  "file: a name of more than 64 KiB");
	if (is_two && first + 1 < bytes)
		to->off = trace_fill_name(r->to, zero + 1, bytes - first - 1);
	if (first)
		to->file = trace_fill_name(r->to, text, first);
	return 0;
}

static int take_flags(struct reading *r, const char *text, size_t bytes, struct trace_record *to)
{
	const char *end = text + bytes;

	while (text < end) {
		const char *bar = memchr(text, '|', (size_t)(end - text));
		size_t n = (size_t)((bar ? bar : end) - text);
		uint64_t flag = trace_flag_find(text, n);

		if (!flag && trace_number_take(text, n, UINT16_MAX, &flag))
			return trace_input_refuse(
				r->in, r->row.line, r->err,
				"flags: '%.*s' is no flag; they are off_inexact, async and more, "
				"with | between them, see man mlgen-trace",
				(int)u64_min(n, 40), text);
		to->flags |= (uint16_t)flag;
		text += n + 1;
	}
	return 0;
}

static int take_cell(struct reading *r, size_t column, struct trace_record *to)
{
	const struct column *c = &columns[column];
	size_t bytes;
	char *text;

	if (r->place[column] == NOWHERE)
		return 0;
	text = trace_row_cell(&r->row, (size_t)r->place[column], &bytes);
	switch (c->kind) {
	case COLUMN_OP:
		return take_op(r, text, bytes, to);
	case COLUMN_FILE:
		/* Empty quotes are no name either. */
		return bytes ? take_name_of(r, text, bytes, to) : 0;
	case COLUMN_RESULT:
		return take_result(r, c, text, bytes, to);
	case COLUMN_FLAGS:
		return take_flags(r, text, bytes, to);
	case COLUMN_PHASE:
		r->what->has_phases |= bytes > 0;
		return 0;
	default:
		return take_cell_number(r, c, text, bytes, to);
	}
}

static int64_t result_as_asked(const struct trace_record *r)
{
	if (trace_is_marker(r->op))
		return -1;
	return (r->op == TRACE_READ || r->op == TRACE_WRITE) && r->len_bytes <= INT64_MAX
		       ? (int64_t)r->len_bytes
		       : 0;
}

static int check_cells(struct reading *r)
{
	if (r->row.count == r->cells)
		return 0;
	return trace_input_refuse(
		r->in, r->row.line, r->err,
		"%zu cell%s, and the header has %zu; a cell with a comma in it is put in quotes",
		r->row.count, plural(r->row.count), r->cells);
}

/* The part of a row that a cut left, of a program that was stopped. */
static bool is_torn(const struct reading *r)
{
	return r->row.is_cut && r->row.count < r->cells;
}

static int take_row(struct reading *r)
{
	struct trace_record to = { .duration_ns = TRACE_UNKNOWN,
				   .off = TRACE_UNKNOWN,
				   .len_bytes = TRACE_UNKNOWN,
				   .cpu_ns = TRACE_UNKNOWN };
	size_t op = column_named("op", 2), file = column_named("file", 4);
	int rc = check_cells(r);

	/* What the others mean is said by the operation; the place of a rename by its file. */
	if (rc == 0)
		rc = take_cell(r, op, &to);
	r->has_result = false;
	for (size_t i = 0; rc == 0 && i < COLUMNS; i++)
		if (i != op && i != file)
			rc = take_cell(r, i, &to);
	if (rc == 0 && to.op == TRACE_RENAME)
		to.off = TRACE_UNKNOWN;
	if (rc == 0)
		rc = take_cell(r, file, &to);
	if (rc < 0)
		return rc;
	if (!r->has_result)
		to.result = result_as_asked(&to);
	if (trace_is_marker(to.op) && to.duration_ns == TRACE_UNKNOWN)
		to.flags |= TRACE_BEGINS;
	r->has_markers |= trace_is_phase(to.op);
	return trace_fill_add(r->to, &to, r->err);
}

int trace_csv_read(struct trace_input *in, struct trace_fill *to, struct trace_csv_read *what,
		   struct mlgen_err *err)
{
	struct reading r = { .in = in, .to = to, .what = what, .err = err };
	int rc = read_header(&r);

	if (rc == 0)
		while ((rc = trace_row_next(&r.row, in, err)) > 0) {
			what->is_cut = r.row.is_cut;
			rc = is_torn(&r) ? 0 : take_row(&r);
			if (rc < 0)
				break;
		}
	what->has_phases &= !r.has_markers;
	trace_row_fini(&r.row);
	return rc;
}

void trace_csv_read_fini(struct trace_csv_read *what)
{
	buf_fini(&what->ignored);
}
