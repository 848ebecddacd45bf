/* SPDX-License-Identifier: Apache-2.0 */
/* calls_found.c - see calls_found.h. */
#include "distil/calls_found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace.h"

/* As far from a file's beginning, or its end, or the read before, a place is thought to follow from
 * it: it holds headers, tables and their copies. */
#define NEAR_BYTES (UINT64_C(1) << 20)

/* A visit, on the way to its template. */
struct encoding {
	const struct explain_visit *visit;
	struct explain_piece sample; /* len 0 = the file is one */
	const struct explain_call *calls;
	unsigned count;
	uint64_t behind; /* where the read before ended */
	bool has_read;
	struct recorded_template *to;
};

static struct recorded_call *add_line(struct encoding *e, enum mlgen_op op)
{
	struct recorded_template *t = e->to;
	struct recorded_call *c;

	t->calls = mem_grow(t->calls, &t->room, t->count + 1, sizeof(*t->calls));
	c = &t->calls[t->count++];
	memset(c, 0, sizeof(*c));
	c->op = op;
	return c;
}

/* ---- one read ---- */

static void set_anchor(const struct encoding *e, struct recorded_call *to,
		       const struct explain_call *c)
{
	uint64_t file = e->visit->file_bytes, off = c->off;

	if (e->has_read && off == e->behind) {
		to->anchor = RECORDED_HERE;
	} else if (off == 0) {
		to->anchor = RECORDED_START;
	} else if (e->sample.len_bytes && off >= e->sample.off &&
		   off - e->sample.off < e->visit->stride_bytes) {
		to->anchor = RECORDED_SAMPLE;
		to->off = off - e->sample.off;
	} else if (off <= file && file - off < off && file - off < NEAR_BYTES) {
		to->anchor = RECORDED_END;
		to->off = file - off;
	} else if (off < NEAR_BYTES) {
		to->anchor = RECORDED_START;
		to->off = off;
	} else if (e->has_read && off > e->behind && off - e->behind < NEAR_BYTES) {
		to->anchor = RECORDED_HERE;
		to->off = off - e->behind;
	} else {
		to->anchor = RECORDED_ANY;
	}
}

/* Python's read() of all that is left asks for one byte more. */
static struct recorded_length length_of(const struct encoding *e, const struct explain_call *c)
{
	uint64_t file = e->visit->file_bytes;
	uint64_t rest = c->off < file ? file - c->off : 0;
	uint64_t sample_end = e->sample.off + e->visit->stride_bytes;

	if (rest && (c->len_bytes == rest || c->len_bytes == rest + 1))
		return (struct recorded_length){ .kind = RECORDED_REST };
	if (e->sample.len_bytes && c->off >= e->sample.off && c->off + c->len_bytes == sample_end)
		return (struct recorded_length){
			.kind = RECORDED_REST_OF_SAMPLE,
		};
	return (struct recorded_length){ .kind = RECORDED_BYTES, .bytes = c->len_bytes };
}

/* ---- reads that repeat ---- */

/* How many of the reads from here on go on where the one before ended. */
static unsigned run_of(const struct explain_call *c, unsigned left)
{
	unsigned n = 1;

	while (n < left && c[n].op == MLGEN_READ && c[n].off == c[n - 1].off + c[n - 1].got_bytes &&
	       c[n].got_bytes > 0)
		n++;
	return n;
}

/* Of these, how many take lengths in turn that repeat after `period`. */
static unsigned repeats(const struct explain_call *c, unsigned run, unsigned period)
{
	unsigned n = period;

	while (n < run && c[n].len_bytes == c[n - period].len_bytes)
		n++;
	return n;
}

static unsigned best_period(const struct explain_call *c, unsigned run, unsigned *covered)
{
	unsigned best = 1;

	*covered = repeats(c, run, 1);
	for (unsigned p = 2; p <= RECORDED_LENGTHS_MAX && 2 * p <= run; p++) {
		unsigned n = repeats(c, run, p);

		/* The one that is shorter says the same. */
		if (n < 2 * p || n <= *covered)
			continue;
		best = p;
		*covered = n;
	}
	return best;
}

/* Several calls: lengths in turn, so many times or up to the file's end. */
static void add_run(struct encoding *e, const struct explain_call *c, unsigned period,
		    unsigned calls)
{
	const struct explain_call *last = &c[calls - 1];
	struct recorded_call *to = add_line(e, MLGEN_READ);
	uint64_t file = e->visit->file_bytes;
	bool is_cut = last == &e->calls[e->count - 1] &&
		      e->visit->specimen->count < e->visit->specimen->visit.calls;

	set_anchor(e, to, c);
	to->lengths = period;
	for (unsigned i = 0; i < period; i++)
		to->length[i] = (struct recorded_length){
			.kind = RECORDED_BYTES,
			.bytes = c[i].len_bytes,
		};
	to->until =
		is_cut || last->off + last->len_bytes >= file ? RECORDED_TO_END : RECORDED_TIMES;
	to->times = to->until == RECORDED_TIMES ? calls : 1;
}

static void add_one(struct encoding *e, const struct explain_call *c)
{
	struct recorded_call *to = add_line(e, MLGEN_READ);

	set_anchor(e, to, c);
	to->lengths = 1;
	to->length[0] = length_of(e, c);
	to->until = RECORDED_TIMES;
	to->times = 1;
}

/* Reads from calls[i] on that become one line: how many. */
static unsigned add_reads(struct encoding *e, unsigned i)
{
	const struct explain_call *c = &e->calls[i];
	unsigned run = run_of(c, e->count - i), covered, period;

	period = best_period(c, run, &covered);
	if (covered > 1)
		add_run(e, c, period, covered);
	else
		add_one(e, c);
	e->behind = c[covered - 1].off + c[covered - 1].got_bytes;
	e->has_read = true;
	return covered;
}

/* An open of a file that is open already closes it before: a template has one descriptor. */
static void add_open(struct encoding *e, bool *is_open)
{
	if (*is_open)
		add_line(e, MLGEN_CLOSE);
	add_line(e, MLGEN_OPEN);
	*is_open = true;
}

/* An open at least, before the first read; the last close behind all. */
static void encode(struct encoding *e)
{
	bool is_open = false, opens = false;

	for (unsigned i = 0; i < e->count; i++)
		opens |= e->calls[i].op == MLGEN_OPEN;
	for (unsigned i = 0; i < e->count;) {
		enum mlgen_op op = e->calls[i].op;

		if (op == MLGEN_OPEN || (!is_open && (!opens || op == MLGEN_READ)))
			add_open(e, &is_open);
		if (op == MLGEN_READ && e->calls[i].off != TRACE_UNKNOWN) {
			i += add_reads(e, i);
			continue;
		}
		if (op == MLGEN_STAT)
			add_line(e, MLGEN_STAT);
		i++;
	}
	if (e->has_read)
		add_line(e, MLGEN_CLOSE);
}

/* ---- templates ---- */

static bool is_length_same(const struct recorded_length *a, const struct recorded_length *b)
{
	return a->kind == b->kind && a->bytes == b->bytes;
}

static bool is_line_same(const struct recorded_call *a, const struct recorded_call *b)
{
	if (a->op != b->op || a->anchor != b->anchor || a->off != b->off ||
	    a->lengths != b->lengths || a->until != b->until || a->times != b->times)
		return false;
	for (unsigned i = 0; i < a->lengths; i++)
		if (!is_length_same(&a->length[i], &b->length[i]))
			return false;
	return true;
}

static bool is_template_same(const struct recorded_template *a, const struct recorded_template *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++)
		if (!is_line_same(&a->calls[i], &b->calls[i]))
			return false;
	return true;
}

/* Lines that one of them has and the other has not, by their place. */
static uint32_t template_apart(const struct recorded_template *a, const struct recorded_template *b)
{
	uint32_t both = a->count < b->count ? a->count : b->count;
	uint32_t apart = a->count + b->count - 2 * both;

	for (uint32_t i = 0; i < both; i++)
		apart += !is_line_same(&a->calls[i], &b->calls[i]);
	return apart;
}

/* While they are counted, `percent` is how many. */
static void add_template(struct recorded *r, struct recorded_template *t, size_t *room)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (is_template_same(&r->templates[i], t)) {
			r->templates[i].percent += 1;
			mem_free(t->calls);
			return;
		}
	r->templates = mem_grow(r->templates, room, r->count + 1, sizeof(*r->templates));
	t->percent = 1;
	r->templates[r->count++] = *t;
}

static int by_percent(const void *a, const void *b)
{
	const struct recorded_template *x = a, *y = b;

	return COMPARE(y->percent, x->percent);
}

static void merge_rare(struct recorded *r, uint32_t most)
{
	for (uint32_t i = most; i < r->count; i++) {
		uint32_t best = 0, least = UINT32_MAX;

		for (uint32_t k = 0; k < most; k++) {
			uint32_t apart = template_apart(&r->templates[k], &r->templates[i]);

			if (apart >= least)
				continue;
			least = apart;
			best = k;
		}
		r->templates[best].percent += r->templates[i].percent;
		mem_free(r->templates[i].calls);
	}
	if (r->count > most)
		r->count = most;
}

/* As many as a file of them may have lines. */
static uint32_t most_of(const struct recorded *r)
{
	uint64_t lines = 0;
	uint32_t n = 0;

	while (n < r->count && n < CALLS_FOUND_MOST) {
		lines += r->templates[n].count;
		if (n && lines > RECORDED_CALLS_MAX)
			break;
		n++;
	}
	return n;
}

static void finish(struct calls_found *c)
{
	struct recorded *r = &c->recorded;

	c->kinds = r->count;
	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);
	merge_rare(r, most_of(r));
	qsort(r->templates, r->count, sizeof(*r->templates), by_percent);
	for (uint32_t i = 0; i < r->count; i++) {
		char *why = mem_array(CALLS_FOUND_WHY_BYTES, 1);

		snprintf(why, CALLS_FOUND_WHY_BYTES, "%.0f of %u visits that were looked at",
			 r->templates[i].percent, c->visits);
		c->why[i] = why;
		r->templates[i].percent *= 100.0 / c->visits;
	}
	r->percent = 100;
}

static bool has_others(const struct explain_call *calls, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (calls[i].op == MLGEN_OPS)
			return true;
	return false;
}

bool calls_found(struct calls_found *c, const struct explain_visit *visits, unsigned count)
{
	struct explain_call *calls = mem_array(SPECIMEN_CALLS_MOST, sizeof(*calls));
	size_t room = 0;

	*c = (struct calls_found){ 0 };
	for (unsigned i = 0; i < count; i++) {
		const struct specimen *s = visits[i].specimen;
		struct recorded_template t = { 0 };
		struct encoding e = { .visit = &visits[i], .calls = calls, .to = &t };

		e.count = explain_calls_of(s, calls, SPECIMEN_CALLS_MOST);
		if (visits[i].stride_bytes)
			e.sample = explain_longest(calls, e.count);
		encode(&e);
		c->without += has_others(calls, e.count);
		if (!e.has_read) {
			mem_free(t.calls);
			continue;
		}
		c->is_cut |= s->count < s->visit.calls;
		c->visits++;
		add_template(&c->recorded, &t, &room);
	}
	mem_free(calls);
	if (c->visits)
		finish(c);
	return c->visits > 0;
}

void calls_found_fini(struct calls_found *c)
{
	for (uint32_t i = 0; i < c->recorded.count; i++) {
		mem_free(c->recorded.templates[i].calls);
		mem_free(c->why[i]);
	}
	mem_free(c->recorded.templates);
	memset(c, 0, sizeof(*c));
}
