/* SPDX-License-Identifier: Apache-2.0 */
/* trace_csv.c - a trace as comma-separated values. */
#include "trace/trace_csv.h"

#include "trace/trace_number.h"
#include "trace/trace_phase.h"
#include "trace/trace_row.h"
#include "trace/trace_text.h"

struct writing {
	struct trace_ordered *o;
	struct trace_phases phases;
	struct buf row, cell;
};

static void put_known(struct buf *out, uint64_t v, uint64_t unknown)
{
	if (v != unknown)
		trace_number_put(out, v);
	buf_addc(out, ',');
}

static void add_name(struct writing *w, uint32_t file)
{
	size_t bytes;
	const char *name = trace_ordered_name(w->o, file, &bytes);

	trace_text_put(&w->cell, name, bytes);
}

static void put_cell(struct writing *w)
{
	trace_row_put(&w->row, buf_str(&w->cell), w->cell.len);
	buf_addc(&w->row, ',');
	buf_reset(&w->cell);
}

static void put_phase(struct writing *w, const struct trace_phase *p)
{
	if (p && p->file)
		add_name(w, p->file);
	else if (p)
		buf_add(&w->cell, trace_op_name(p->op));
	if (p && p->op == TRACE_EPOCH && p->number != TRACE_UNKNOWN) {
		buf_addc(&w->cell, ' ');
		trace_number_put(&w->cell, p->number);
	}
	put_cell(w);
}

/* One of a later version has its number. */
static void put_op(struct writing *w, unsigned op)
{
	const char *name = trace_op_name(op);

	if (op != TRACE_NONE && name)
		buf_add(&w->row, name);
	else
		trace_number_put(&w->row, op);
	buf_addc(&w->row, ',');
}

/* The two of a rename have a byte of zero between them, which no path has. */
static void put_file(struct writing *w, const struct trace_record *r)
{
	add_name(w, r->file);
	if (r->op == TRACE_RENAME && r->off && r->off < UINT32_MAX) {
		buf_add(&w->cell, "\\x00");
		add_name(w, (uint32_t)r->off);
	}
	put_cell(w);
}

/* Those of a later version have a number, all together. */
static void put_flags(struct buf *out, unsigned flags)
{
	const char *between = "";
	unsigned unnamed = 0;

	for (unsigned bit = 1; bit <= flags; bit <<= 1) {
		const char *name = trace_flag_name(flags & bit);

		if (name) {
			buf_add(out, between);
			buf_add(out, name);
			between = "|";
		} else {
			unnamed |= flags & bit;
		}
	}
	if (unnamed) {
		buf_add(out, between);
		trace_number_put(out, unnamed);
	}
}

static void put_row(struct writing *w, const struct trace_record *r)
{
	const struct trace_phase *phase = trace_phase_at(&w->phases, r);
	struct buf *row = &w->row;
	bool is_open = trace_is_marker(r->op) && trace_phase_is_open(r);
	bool is_rename = r->op == TRACE_RENAME;

	trace_number_put(row, r->start_ns);
	buf_addc(row, ',');
	put_known(row, is_open ? TRACE_UNKNOWN : r->duration_ns, TRACE_UNKNOWN);
	put_known(row, r->pid, 0);
	put_known(row, r->tid, 0);
	put_phase(w, phase);
	put_op(w, r->op);
	put_file(w, r);
	put_known(row, is_rename ? TRACE_UNKNOWN : r->off, TRACE_UNKNOWN);
	put_known(row, r->len_bytes, TRACE_UNKNOWN);
	trace_number_put_signed(row, r->result);
	buf_addc(row, ',');
	put_known(row, r->cpu_ns, TRACE_UNKNOWN);
	put_flags(row, r->flags | (is_open ? TRACE_BEGINS : 0u));
	buf_addc(row, '\n');
}

int trace_csv_write(struct trace_ordered *o, FILE *to, struct mlgen_err *err)
{
	struct writing w = { .o = o };
	const struct trace_record *r;
	int rc = fputs(TRACE_CSV_HEADER "\n", to) < 0 ? 0 : 1;

	while (rc > 0 && (rc = trace_ordered_next(o, &r, err)) > 0) {
		put_row(&w, r);
		if (fwrite(w.row.s, 1, w.row.len, to) != w.row.len)
			rc = 0;
		buf_reset(&w.row);
	}
	buf_fini(&w.row);
	buf_fini(&w.cell);
	return rc;
}
