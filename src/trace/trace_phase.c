/* SPDX-License-Identifier: Apache-2.0 */
/* trace_phase.c - which part of a run holds at a time, by the markers of its epochs, stages and
 * checkpoints. */
#include "trace/trace_phase.h"

bool trace_phase_is_open(const struct trace_record *marker)
{
	return marker->duration_ns == TRACE_UNKNOWN || (marker->flags & TRACE_BEGINS);
}

static uint64_t end_of(const struct trace_record *r)
{
	uint64_t end;

	return trace_phase_is_open(r) || __builtin_add_overflow(r->start_ns, r->duration_ns, &end)
		       ? UINT64_MAX
		       : end;
}

static struct trace_phase phase_of(const struct trace_record *r)
{
	return (struct trace_phase){
		.start_ns = r->start_ns,
		.end_ns = end_of(r),
		.number = r->op == TRACE_EPOCH ? r->off : 0,
		.file = r->op == TRACE_EPOCH ? 0 : r->file,
		.op = r->op,
	};
}

/* Where it goes: over one that says the same, behind all others, or in the place of the one that
 * ends first. */
static struct trace_phase *place_for(struct trace_phases *p, const struct trace_phase *n)
{
	struct trace_phase *first = p->held;

	for (unsigned i = 0; i < p->count; i++) {
		struct trace_phase *h = &p->held[i];

		if (h->op == n->op && h->file == n->file && h->number == n->number)
			return h;
		if (h->end_ns < first->end_ns)
			first = h;
	}
	if (p->count < TRACE_PHASES)
		first = &p->held[p->count++];
	first->end_ns = 0;
	return first;
}

static void hold(struct trace_phases *p, struct trace_phase n)
{
	struct trace_phase *at = place_for(p, &n);

	if (at->end_ns > n.end_ns)
		n.end_ns = at->end_ns;
	*at = n;
}

static bool counts_more(const struct trace_phase *a, const struct trace_phase *b)
{
	if ((a->op == TRACE_EPOCH) != (b->op == TRACE_EPOCH))
		return b->op == TRACE_EPOCH;
	return a->start_ns != b->start_ns ? a->start_ns > b->start_ns : a->op > b->op;
}

/* Drop what has ended, and choose of the others. */
static void trace_phase_settle(struct trace_phases *p, uint64_t now_ns)
{
	unsigned kept = 0;

	p->until_ns = UINT64_MAX;
	p->now = NULL;
	for (unsigned i = 0; i < p->count; i++) {
		if (p->held[i].end_ns > now_ns)
			p->held[kept++] = p->held[i];
	}
	p->count = kept;
	for (unsigned i = 0; i < kept; i++) {
		const struct trace_phase *h = &p->held[i];

		if (h->end_ns < p->until_ns)
			p->until_ns = h->end_ns;
		if (!p->now || counts_more(h, p->now))
			p->now = h;
	}
}

const struct trace_phase *trace_phase_at(struct trace_phases *p, const struct trace_record *r)
{
	bool is_new = trace_is_phase(r->op);

	if (is_new)
		hold(p, phase_of(r));
	if (is_new || (p->count && r->start_ns >= p->until_ns))
		trace_phase_settle(p, r->start_ns);
	return p->now;
}
