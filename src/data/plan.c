/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - access=plain: open, the bytes in bs requests, close. */
#include "data/plan.h"

#include <string.h>

#include "data/format.h"

enum { STEP_OPEN, STEP_FIRST_READ, STEP_READ, STEP_CLOSED };

/* What O_DIRECT wants: whole blocks, on both sides. */
static void align_range(struct plan *p, uint64_t align)
{
	if (align == 0)
		return;
	p->off -= p->off % align;
	if (p->end % align)
		p->end += align - p->end % align;
}

static void next_read(struct plan *p, struct plan_op *op)
{
	uint64_t left = p->end - p->off;
	uint64_t bs = p->config->bs_bytes;

	op->op = MLGEN_READ;
	op->off = p->off;
	op->len_bytes = left < bs ? left : bs;
	op->after = p->step == STEP_FIRST_READ;
	op->eof_ok = op->off + op->len_bytes > p->file_bytes;
	p->off += op->len_bytes;
	p->step = STEP_READ;
}

void plan_init(struct plan *p, const struct plan_config *config,
	       const struct extent *x)
{
	const struct dataset *ds = config->dataset;
	struct file_shape shape;
	uint64_t len;

	format_shape(ds, x->file, &shape);
	p->config = config;
	p->step = STEP_OPEN;
	p->file_bytes = ds->format->file_bytes(&shape);
	p->off = 0;
	p->end = p->file_bytes;
	if (shape.samples > 1) {
		ds->format->sample_range(&shape, x->first_sample, x->samples,
					 &p->off, &len);
		p->end = p->off + len;
	}
	align_range(p, config->align_bytes);
}

bool plan_next(struct plan *p, struct plan_op *op)
{
	memset(op, 0, sizeof(*op));
	if (p->step == STEP_CLOSED)
		return false;
	if (p->step == STEP_OPEN) {
		op->op = MLGEN_OPEN;
		op->after = true;
		p->step = STEP_FIRST_READ;
	} else if (p->off < p->end) {
		next_read(p, op);
	} else {
		op->op = MLGEN_CLOSE;
		op->after = true;
		p->step = STEP_CLOSED;
	}
	return true;
}

void plan_count(const struct plan_config *config, const struct extent *x,
		struct plan_counts *c)
{
	struct plan p;
	uint64_t bytes;

	memset(c, 0, sizeof(*c));
	plan_init(&p, config, x);
	bytes = p.end - p.off;
	c->ops[MLGEN_OPEN] = 1;
	c->ops[MLGEN_READ] =
		bytes / config->bs_bytes + (bytes % config->bs_bytes != 0);
	c->ops[MLGEN_CLOSE] = 1;
	if (p.end > p.file_bytes)
		p.end = p.file_bytes;
	c->io_bytes = p.end - p.off;
}
