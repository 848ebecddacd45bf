/* SPDX-License-Identifier: Apache-2.0 */
/* plan_recorded.c - access=recorded: the calls of a template, with the places and lengths that this
 * file gives them. */
#include "base/rng.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/plans/plans.h"

/*
 * Every call waits for the one before it, as in the program that was recorded. With direct=1 a read
 * is widened to whole blocks, and the next one goes on behind them. Of a pair of files the template
 * is for each.
 */

/* The bytes of the extent in the file that is open. */
static void find_sample(const struct plan *p, uint64_t *begin, uint64_t *end)
{
	const struct format *f = p->config->dataset->format;
	uint64_t len = p->file_bytes;

	*begin = 0;
	if (format_has_parts(f, &p->shape))
		format_sample_range(f, &p->shape, p->extent.first_sample, p->extent.samples, begin,
				    &len);
	*end = *begin + len;
}

static uint64_t until(uint64_t off, uint64_t end)
{
	return off < end ? end - off : 0;
}

static uint64_t end_of_sample(const struct plan *p)
{
	uint64_t begin, end;

	find_sample(p, &begin, &end);
	return end;
}

/* Of what is not the rest of something. */
static uint64_t plain_length(const struct plan *p, const struct recorded_length *l)
{
	double part;

	if (l->kind == RECORDED_BYTES)
		return l->bytes;
	part = (double)p->file_bytes * l->percent / 100 + 0.5;
	return part < 1 ? 1 : part < RECORDED_BYTES_MAX ? (uint64_t)part : RECORDED_BYTES_MAX;
}

static uint64_t any_place(const struct plan *p, uint64_t len)
{
	uint64_t seed = rng_u64(p->config->dataset->recorded->seed, RNG_RECORDED, p->extent.id);
	uint64_t places = len ? p->file_bytes / len : 0;

	return places ? rng_u64(seed, p->step, p->recorded.done) % places * len : 0;
}

static uint64_t place_of(const struct plan *p, const struct recorded_call *c, uint64_t len)
{
	uint64_t begin, end;

	if (c->anchor == RECORDED_ANY)
		return any_place(p, len);
	if (p->recorded.done || p->recorded.goes_on)
		return p->recorded.here;
	switch (c->anchor) {
	case RECORDED_END:
		return until(c->off, p->file_bytes);
	case RECORDED_HERE:
		return p->recorded.here + c->off;
	case RECORDED_SAMPLE:
		find_sample(p, &begin, &end);
		return begin + c->off;
	default:
		return c->off;
	}
}

/* Whole blocks of it. None begins in the block that the file ends in, once all of that was read. */
static void plan_recorded_widen(const struct plan *p, uint64_t *off, uint64_t *len)
{
	uint64_t align = p->config->align_bytes, end = *off + *len;

	if (align == 0)
		return;
	if (*off >= p->file_bytes)
		*off = round_up(*off, align);
	else
		*off -= *off % align;
	*len = round_up(end > *off ? end - *off : 1, align);
}

/* ---- runs of reads that are all alike ---- */

/* All lengths of a run taken once; 0 = they are not alike each time. */
static uint64_t cycle_bytes(const struct plan *p, const struct recorded_call *c)
{
	uint64_t align = p->config->align_bytes, sum = 0;

	for (unsigned i = 0; i < c->lengths; i++) {
		const struct recorded_length *l = &c->length[i];
		uint64_t len = plain_length(p, l);

		if (l->kind == RECORDED_REST || l->kind == RECORDED_REST_OF_SAMPLE ||
		    (align && len % align) || len > p->file_bytes)
			return 0;
		sum += len;
	}
	return sum;
}

/* Cycles behind which there is at least one more. */
static uint64_t cycles_alike(const struct plan *p, const struct recorded_call *c, uint64_t bytes)
{
	uint64_t off = place_of(p, c, 0), end = p->file_bytes, n, fit;

	if (c->until == RECORDED_TO_END_OF_SAMPLE)
		end = u64_min(end, end_of_sample(p));
	if (p->config->align_bytes && off % p->config->align_bytes)
		return 0;
	n = fit = until(off, end) / bytes;
	if (c->until == RECORDED_TIMES)
		n = c->times / c->lengths;
	if (c->anchor != RECORDED_ANY)
		n = u64_min(n, fit);
	return n ? n - 1 : 0;
}

/* At the beginning of a run: most of it, counted in one go. */
static void skip_run(struct plan *p, const struct recorded_call *c, struct plan_counts *to)
{
	uint64_t bytes = cycle_bytes(p, c), n;

	if (bytes == 0)
		return;
	n = cycles_alike(p, c, bytes);
	if (n == 0)
		return;
	p->recorded.here = place_of(p, c, 0) + n * bytes;
	p->recorded.done = n * c->lengths;
	if (!to)
		return;
	for (unsigned i = 0; i < c->lengths; i++)
		sizes_add(&to->reads, plain_length(p, &c->length[i]), n);
	to->ops[MLGEN_READ] += n * c->lengths;
	to->io_bytes += n * bytes;
}

/* ---- one call after the other ---- */

/* Is there anything to ask for from `off` on? */
static bool find_length(const struct plan *p, const struct recorded_call *c,
			const struct recorded_length *l, uint64_t off, uint64_t *len)
{
	uint64_t left = UINT64_MAX;

	if (l->kind == RECORDED_REST || c->until == RECORDED_TO_END)
		left = until(off, p->file_bytes);
	else if (l->kind == RECORDED_REST_OF_SAMPLE || c->until == RECORDED_TO_END_OF_SAMPLE)
		left = until(off, end_of_sample(p));
	if (l->kind == RECORDED_REST || l->kind == RECORDED_REST_OF_SAMPLE)
		*len = u64_min(left, RECORDED_BYTES_MAX);
	else if (c->until == RECORDED_TO_END_OF_SAMPLE)
		*len = u64_min(left, *len);
	return left > 0;
}

/* What is left may be more than one call moves. */
static bool is_done(const struct recorded_length *l, uint64_t len)
{
	return l->kind == RECORDED_BYTES || l->kind == RECORDED_PERCENT || len < RECORDED_BYTES_MAX;
}

static bool next_read(struct plan *p, const struct recorded_call *c, struct plan_op *op)
{
	uint64_t done = p->recorded.done, off, len;
	const struct recorded_length *l;

	if (c->until == RECORDED_TIMES && done >= c->times)
		return false;
	l = &c->length[done % c->lengths];
	len = l->kind <= RECORDED_PERCENT ? plain_length(p, l) : 0;
	off = place_of(p, c, len);
	if (!find_length(p, c, l, off, &len))
		return false;
	p->recorded.goes_on = !is_done(l, len);
	p->recorded.done += !p->recorded.goes_on;
	plan_recorded_widen(p, &off, &len);
	op->op = MLGEN_READ;
	op->off = off;
	op->len_bytes = len;
	p->recorded.here = off + u64_min(len, until(off, p->file_bytes));
	return true;
}

/* A call that is no run of reads. */
static void next_other(struct plan *p, const struct recorded_call *c, struct plan_op *op)
{
	op->op = c->op;
	op->part = p->has;
	if (c->op == MLGEN_OPEN)
		p->recorded.here = 0;
}

static bool turn_to_next_part(struct plan *p)
{
	if (p->config->dataset->labels || p->has + 1 >= dataset_sample_parts(p->config->dataset))
		return false;
	p->has++;
	p->step = 0;
	return true;
}

static bool recorded_next(struct plan *p, struct plan_op *op)
{
	const struct recorded_template *t = p->recorded.of;

	op->after = true;
	for (;;) {
		if (p->step == t->count && !turn_to_next_part(p))
			return false;
		const struct recorded_call *c = &t->calls[p->step];

		if (c->op != MLGEN_READ) {
			next_other(p, c, op);
			p->step++;
			return true;
		}
		if (p->recorded.is_counted && p->recorded.done == 0)
			skip_run(p, c, p->recorded.counts);
		if (next_read(p, c, op))
			return true;
		p->recorded.done = 0;
		p->recorded.goes_on = false;
		p->step++;
	}
}

static void recorded_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	p->recorded.of = recorded_of(p->config->dataset->recorded, x->id);
}

/* Where a run begins is known only behind what is before it: all are gone through here, and left
 * out of what follows. */
static void recorded_skip(struct plan *p, struct plan_counts *c)
{
	struct plan ahead;
	struct plan_op op;

	p->recorded.is_counted = true;
	ahead = *p;
	ahead.recorded.counts = c;
	while (plan_next(&ahead, &op))
		;
}

static uint64_t recorded_largest(const struct plan_config *config)
{
	uint64_t most = recorded_largest_read(config->dataset->recorded);

	return config->align_bytes && most < UINT64_MAX
		       ? round_up(most, config->align_bytes) + config->align_bytes
		       : most;
}

const struct plan_kind plan_recorded = {
	.init = recorded_init,
	.next = recorded_next,
	.skip = recorded_skip,
	.largest_read = recorded_largest,
};
