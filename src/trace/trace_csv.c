/* SPDX-License-Identifier: Apache-2.0 */
/* trace_csv.c - read and write traces as CSV. */
#include "trace/trace_internal.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

enum row_state {
	ROW_CELL,   /* beginning of a cell */
	ROW_PLAIN,  /* cell without quotes */
	ROW_QUOTED, /* quoted cell */
	ROW_QUOTE,  /* after a quote in a quoted cell: the end, or the first of two */
	ROW_RETURN, /* after a carriage return that follows a quoted cell */
	ROW_OVER,
};

struct row_parser {
	struct trace_row *row;
	struct trace_input *in;
	struct mlgen_err *err;
	enum row_state state;
	uint64_t quote_line; /* line of the opening quote */
};

static void begin_cell(struct trace_row *row)
{
	row->starts = mem_grow(row->starts, &row->room, row->count + 2, sizeof(*row->starts));
	row->starts[row->count] = row->text.len;
}

static void end_cell(struct row_parser *r, char end)
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

static int fail_row(struct row_parser *r, uint64_t line, const char *what)
{
	return trace_input_fail(r->in, line, r->err, "%s", what);
}

/* Number of bytes from `at` that are text in the current state. */
static size_t text_length(const struct row_parser *r, const char *at, size_t left)
{
	size_t n = 0;

	if (r->state == ROW_QUOTED) {
		const char *quote = memchr(at, '"', left);

		return quote ? (size_t)(quote - at) : left;
	}
	if (r->state != ROW_CELL && r->state != ROW_PLAIN)
		return 0;
	while (n < left && at[n] != ',' && at[n] != '\n' && at[n] != '"')
		n++;
	return n;
}

static int parse_special(struct row_parser *r, char c)
{
	if (c == '"') {
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
			return fail_row(
				r, r->in->line,
				"a quote in the middle of a cell; put the whole cell in quotes, "
				"and double the quote");
		}
	}
	if (r->state == ROW_QUOTE && c == '\r') {
		r->state = ROW_RETURN;
		return 0;
	}
	if ((c == ',' && r->state != ROW_RETURN) || c == '\n') {
		end_cell(r, c);
		return 0;
	}
	return fail_row(r, r->in->line,
			"text after the quote that ends a cell; double each quote within a cell");
}

static int parse_bytes(struct row_parser *r)
{
	struct trace_input *in = r->in;
	int rc = 0;

	while (rc == 0 && r->state != ROW_OVER && in->at < in->end) {
		const char *at = in->buffer + in->at;
		size_t n = text_length(r, at, in->end - in->at);

		if (r->row->text.len + n > TRACE_INPUT_LINE_MAX)
			return fail_row(r, r->row->line,
					"a row of more than 1 MiB; is a quote missing?");
		if (n) {
			buf_addn(&r->row->text, at, n);
			if (r->state == ROW_CELL)
				r->state = ROW_PLAIN;
			for (size_t i = 0; r->state == ROW_QUOTED && i < n; i++)
				in->line += at[i] == '\n';
			in->at += n;
			continue;
		}
		rc = parse_special(r, *at);
		in->at++;
		if (rc == 0 && r->state == ROW_OVER)
			in->line++;
	}
	return rc;
}

/* Handle the end of the text, in a row or between rows. 1 = a row, 0, or -errno with err. */
static int end_text(struct row_parser *r)
{
	struct trace_row *row = r->row;

	if (r->in->is_cut_off)
		return 0;
	if (r->state == ROW_QUOTED)
		return fail_row(r, r->quote_line,
				"the quote opened here is not closed before the end of the file");
	if (r->state == ROW_CELL && row->count == 0)
		return 0;
	end_cell(r, '\n');
	row->is_cut = true;
	return 1;
}

static int read_row(struct row_parser *r)
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
			rc = parse_bytes(r);
	}
	return rc < 0 ? rc : 1;
}

int trace_row_next(struct trace_row *row, struct trace_input *in, struct mlgen_err *err)
{
	struct row_parser r = { .row = row, .in = in, .err = err };
	int rc;

	/* Skip empty lines: rows with a single cell, which has only its NUL byte. */
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

void trace_row_append(struct buf *out, const char *s, size_t bytes)
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

/* By bit number. */
static const char *const flag_names[] = {
	"off_inexact", "off_inferred", "chained", "writes", "read_ahead", "async", "begins",
};

struct csv_writer {
	struct trace_ordered *o;
	struct trace_phases phases;
	struct buf row, cell;
};

static void append_known(struct buf *out, uint64_t v, uint64_t unknown)
{
	if (v != unknown)
		trace_number_append(out, v);
	buf_addc(out, ',');
}

static void append_name(struct csv_writer *w, uint32_t file)
{
	size_t bytes;
	const char *name = trace_ordered_name(w->o, file, &bytes);

	trace_text_append(&w->cell, name, bytes);
}

static void append_cell(struct csv_writer *w)
{
	trace_row_append(&w->row, buf_str(&w->cell), w->cell.len);
	buf_addc(&w->row, ',');
	buf_reset(&w->cell);
}

static void append_row(struct csv_writer *w, const struct trace_record *r)
{
	const struct trace_phase *phase = trace_phase_at(&w->phases, r);
	const char *op = trace_op_name(r->op);
	struct buf *row = &w->row;
	bool is_open = trace_is_marker(r->op) && trace_phase_is_open(r);
	bool is_rename = r->op == TRACE_RENAME;

	trace_number_append(row, r->start_ns);
	buf_addc(row, ',');
	append_known(row, is_open ? TRACE_UNKNOWN : r->duration_ns, TRACE_UNKNOWN);
	append_known(row, r->pid, 0);
	append_known(row, r->tid, 0);

	if (phase && phase->file)
		append_name(w, phase->file);
	else if (phase)
		buf_add(&w->cell, trace_op_name(phase->op));
	if (phase && phase->op == TRACE_EPOCH && phase->number != TRACE_UNKNOWN) {
		buf_addc(&w->cell, ' ');
		trace_number_append(&w->cell, phase->number);
	}
	append_cell(w);

	/* An unknown operation, of a later version, is written as a number. */
	if (r->op != TRACE_NONE && op)
		buf_add(row, op);
	else
		trace_number_append(row, r->op);
	buf_addc(row, ',');
	append_name(w, r->file);
	if (is_rename && r->off && r->off < UINT32_MAX) {
		/* A zero byte, which no path has, separates the two names. */
		buf_add(&w->cell, "\\x00");
		append_name(w, (uint32_t)r->off);
	}
	append_cell(w);
	append_known(row, is_rename ? TRACE_UNKNOWN : r->off, TRACE_UNKNOWN);
	append_known(row, r->len_bytes, TRACE_UNKNOWN);
	trace_number_append_signed(row, r->result);
	buf_addc(row, ',');
	append_known(row, r->cpu_ns, TRACE_UNKNOWN);

	/* Unknown flags, of a later version, are written as one number. */
	unsigned flags = r->flags | (is_open ? TRACE_BEGINS : 0u), unnamed = 0;
	const char *between = "";
	for (unsigned i = 0; flags >> i; i++) {
		if (!(flags & 1u << i))
			continue;
		if (i >= ARRAY_LEN(flag_names)) {
			unnamed |= 1u << i;
			continue;
		}
		buf_add(row, between);
		buf_add(row, flag_names[i]);
		between = "|";
	}
	if (unnamed) {
		buf_add(row, between);
		trace_number_append(row, unnamed);
	}

	buf_addc(row, '\n');
}

int trace_csv_write(struct trace_ordered *o, FILE *to, struct mlgen_err *err)
{
	struct csv_writer w = { .o = o };
	const struct trace_record *r;
	int rc = fputs(TRACE_CSV_HEADER "\n", to) < 0 ? 0 : 1;

	while (rc > 0 && (rc = trace_ordered_next(o, &r, err)) > 0) {
		append_row(&w, r);
		if (fwrite(w.row.s, 1, w.row.len, to) != w.row.len)
			rc = 0;
		buf_reset(&w.row);
	}
	buf_fini(&w.row);
	buf_fini(&w.cell);
	return rc;
}

enum csv_column_kind {
	COLUMN_TIME,   /* a number, required */
	COLUMN_KNOWN,  /* a number, or empty: not known */
	COLUMN_THREAD, /* a number of 32 bits, or empty: 0 */
	COLUMN_RESULT, /* a signed number, or empty: see parse_row() */
	COLUMN_OP,
	COLUMN_FILE,
	COLUMN_PHASE,
	COLUMN_FLAGS, /* names and numbers, separated by | */
};

struct csv_column {
	const char *name;
	enum csv_column_kind kind;
	size_t off; /* member of struct trace_record */
};

/* clang-format off */
static const struct csv_column columns[] = {
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

/* Limit of a name, in bytes. */
#define NAME_BYTES_MAX (64u << 10)

enum { COLUMNS = ARRAY_LEN(columns), NOWHERE = -1 };

struct trace_csv_parser {
	struct trace_input *in;
	struct trace_fill *to;
	struct trace_csv_read *what;
	struct mlgen_err *err;
	struct trace_row row;
	size_t cells;       /* cells in the header */
	int place[COLUMNS]; /* cell of each column, or NOWHERE */
	bool has_markers;   /* a row is a marker of a phase */
	bool has_result;    /* the current row has a result */
};

/* ---- the header ---- */

static size_t find_column(const char *name, size_t bytes)
{
	size_t i = 0;

	while (i < COLUMNS &&
	       (strlen(columns[i].name) != bytes || memcmp(columns[i].name, name, bytes) != 0))
		i++;
	return i;
}

static int parse_column_name(struct trace_csv_parser *r, size_t cell)
{
	struct buf *ignored = &r->what->ignored;
	size_t bytes;
	const char *name = trace_row_cell(&r->row, cell, &bytes);
	size_t i = find_column(name, bytes);

	if (i == COLUMNS) {
		buf_add(ignored, ignored->len ? "," : "");
		buf_addn(ignored, name, bytes);
		return 0;
	}
	if (r->place[i] != NOWHERE)
		return trace_input_fail(r->in, r->row.line, r->err, "the header contains %s twice",
					columns[i].name);
	r->place[i] = (int)cell;
	return 0;
}

static int need_column(struct trace_csv_parser *r, const char *name)
{
	if (r->place[find_column(name, strlen(name))] != NOWHERE)
		return 0;
	return trace_input_fail(r->in, r->row.line, r->err,
				"the header has no column %s; the first line must name the "
				"columns, in any order: " TRACE_CSV_HEADER,
				name);
}

static int read_header(struct trace_csv_parser *r)
{
	int rc = trace_row_next(&r->row, r->in, r->err);

	if (rc == 0)
		return trace_input_fail(
			r->in, 1, r->err,
			"is empty; the first line must name the columns: " TRACE_CSV_HEADER);
	for (size_t i = 0; i < COLUMNS; i++)
		r->place[i] = NOWHERE;
	r->cells = r->row.count;
	for (size_t i = 0; rc > 0 && i < r->cells; i++)
		rc = parse_column_name(r, i) < 0 ? -1 : 1;
	if (rc > 0)
		rc = need_column(r, "start_ns");
	return rc < 0 ? r->err->code : need_column(r, "op");
}

/* ---- a row ---- */

static int fail_number(struct trace_csv_parser *r, const struct csv_column *c, const char *text,
		       const char *wrong)
{
	const char *right = c->kind == COLUMN_RESULT   ? "bytes, or -errno of a failure"
			    : c->kind == COLUMN_THREAD ? "a 32-bit number"
						       : "a number from 0 to 18446744073709551614";

	if (!*text)
		return trace_input_fail(r->in, r->row.line, r->err, "%s: %s; it is %s", c->name,
					wrong, right);
	return trace_input_fail(r->in, r->row.line, r->err, "%s: '%.40s' %s; it is %s%s", c->name,
				text, wrong, right,
				c->kind == COLUMN_TIME ? "" : ", or empty if unknown");
}

static int parse_number_cell(struct trace_csv_parser *r, const struct csv_column *c,
			     const char *text, size_t bytes, struct trace_record *to)
{
	bool is_narrow = c->kind == COLUMN_THREAD;
	uint64_t v = is_narrow ? 0 : TRACE_UNKNOWN;
	void *at = (char *)to + c->off;
	const char *wrong = NULL;

	if (bytes || c->kind == COLUMN_TIME)
		wrong = trace_number_parse(text, bytes, is_narrow ? UINT32_MAX : TRACE_UNKNOWN - 1,
					   &v);
	if (wrong)
		return fail_number(r, c, text, wrong);
	uint32_t narrow = (uint32_t)v;
	memcpy(at, is_narrow ? (void *)&narrow : (void *)&v,
	       is_narrow ? sizeof(narrow) : sizeof(v));
	return 0;
}

/* Parse an operation: its name, or its number if it is of a later version. */
static int parse_op(struct trace_csv_parser *r, const char *text, size_t bytes,
		    struct trace_record *to)
{
	unsigned op = bytes == strlen(text) ? trace_op_find(text) : TRACE_NONE;
	uint64_t number = op;

	if (op == TRACE_NONE && trace_number_parse(text, bytes, UINT16_MAX, &number))
		return trace_input_fail(r->in, r->row.line, r->err,
					"op: '%.40s' is not an operation; operations are open, "
					"close, read, write and more, see man mlgen-trace",
					text);
	to->op = (uint16_t)number;
	return 0;
}

/* Parse a file's path. In a rename, the new name follows after a zero byte. */
static int parse_file(struct trace_csv_parser *r, char *text, size_t bytes, struct trace_record *to)
{
	const char *wrong = trace_text_unescape(text, &bytes);
	const char *zero = wrong ? NULL : memchr(text, '\0', bytes);
	size_t first = zero ? (size_t)(zero - text) : bytes;
	bool is_two = zero && to->op == TRACE_RENAME;

	if (wrong)
		return trace_input_fail(r->in, r->row.line, r->err,
					"file: '%.40s' is not an escape; write a backslash as two, "
					"and a byte as \\x and two hexadecimal digits",
					wrong);
	if (zero && (!is_two || memchr(zero + 1, '\0', bytes - first - 1)))
		return trace_input_fail(r->in, r->row.line, r->err,
					"file: contains a NUL byte, which is allowed only between "
					"the two names of a rename");
	if (bytes > NAME_BYTES_MAX)
		return trace_input_fail(r->in, r->row.line, r->err,
					"file: the name is longer than 64 KiB");
	if (is_two && first + 1 < bytes)
		to->off = trace_fill_name(r->to, zero + 1, bytes - first - 1);
	if (first)
		to->file = trace_fill_name(r->to, text, first);
	return 0;
}

static int parse_flags(struct trace_csv_parser *r, const char *text, size_t bytes,
		       struct trace_record *to)
{
	const char *end = text + bytes;

	while (text < end) {
		const char *bar = memchr(text, '|', (size_t)(end - text));
		size_t n = (size_t)((bar ? bar : end) - text);
		uint64_t flag = 0;

		for (unsigned i = 0; i < ARRAY_LEN(flag_names); i++)
			if (strlen(flag_names[i]) == n && memcmp(flag_names[i], text, n) == 0)
				flag = 1u << i;

		if (!flag && trace_number_parse(text, n, UINT16_MAX, &flag))
			return trace_input_fail(
				r->in, r->row.line, r->err,
				"flags: '%.*s' is not a flag; flags are off_inexact, async and "
				"more, separated by |, see man mlgen-trace",
				(int)u64_min(n, 40), text);
		to->flags |= (uint16_t)flag;
		text += n + 1;
	}
	return 0;
}

static int parse_cell(struct trace_csv_parser *r, size_t column, struct trace_record *to)
{
	const struct csv_column *c = &columns[column];
	const char *wrong;
	size_t bytes;

	if (r->place[column] == NOWHERE)
		return 0;
	char *text = trace_row_cell(&r->row, (size_t)r->place[column], &bytes);
	switch (c->kind) {
	case COLUMN_OP:
		return parse_op(r, text, bytes, to);
	case COLUMN_FILE:
		/* Empty quotes are not a name either. */
		return bytes ? parse_file(r, text, bytes, to) : 0;
	case COLUMN_RESULT:
		r->has_result = bytes > 0;
		wrong = bytes ? trace_number_parse_signed(text, bytes, &to->result) : NULL;
		return wrong ? fail_number(r, c, text, wrong) : 0;
	case COLUMN_FLAGS:
		return parse_flags(r, text, bytes, to);
	case COLUMN_PHASE:
		r->what->has_phases |= bytes > 0;
		return 0;
	default:
		return parse_number_cell(r, c, text, bytes, to);
	}
}

static int parse_row(struct trace_csv_parser *r)
{
	struct trace_record to = { .duration_ns = TRACE_UNKNOWN,
				   .off = TRACE_UNKNOWN,
				   .len_bytes = TRACE_UNKNOWN,
				   .cpu_ns = TRACE_UNKNOWN };
	size_t op = find_column("op", 2), file = find_column("file", 4);

	if (r->row.count != r->cells)
		return trace_input_fail(r->in, r->row.line, r->err,
					"%zu cell%s, but the header has %zu; put a cell that "
					"contains a comma in quotes",
					r->row.count, plural(r->row.count), r->cells);
	/* The operation comes first, because it determines the meaning of other cells. The file
	 * comes last, because the file of a rename sets `off`. */
	int rc = parse_cell(r, op, &to);
	r->has_result = false;
	for (size_t i = 0; rc == 0 && i < COLUMNS; i++)
		if (i != op && i != file)
			rc = parse_cell(r, i, &to);
	if (rc == 0 && to.op == TRACE_RENAME)
		to.off = TRACE_UNKNOWN;
	if (rc == 0)
		rc = parse_cell(r, file, &to);
	if (rc < 0)
		return rc;
	/* An empty result means a complete transfer, a successful call (0), or no rank (-1). */
	bool moves = to.op == TRACE_READ || to.op == TRACE_WRITE;
	if (!r->has_result)
		to.result = trace_is_marker(to.op)               ? -1
			    : moves && to.len_bytes <= INT64_MAX ? (int64_t)to.len_bytes
								 : 0;
	if (trace_is_marker(to.op) && to.duration_ns == TRACE_UNKNOWN)
		to.flags |= TRACE_BEGINS;
	r->has_markers |= trace_is_phase(to.op);
	return trace_fill_add(r->to, &to, r->err);
}

int trace_csv_read(struct trace_input *in, struct trace_fill *to, struct trace_csv_read *what,
		   struct mlgen_err *err)
{
	struct trace_csv_parser r = { .in = in, .to = to, .what = what, .err = err };
	int rc = read_header(&r);

	if (rc == 0)
		while ((rc = trace_row_next(&r.row, in, err)) > 0) {
			what->is_cut = r.row.is_cut;
			/* A stopped program may leave a part of the last row. */
			if (r.row.is_cut && r.row.count < r.cells)
				rc = 0;
			else
				rc = parse_row(&r);
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
