/* SPDX-License-Identifier: Apache-2.0 */
/* rankreads.c - when samples were read, rank by rank. */
#include "distil/rankreads.h"

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

/* As the tasks of a party are dealt out. */
struct dealing {
	const struct distil *d;
	uint32_t party;
	uint32_t every;   /* of so many ranks one is looked at */
	uint32_t *first;  /* task with the number of this one in its rank */
	uint32_t *number; /* of that among the readers of its rank, + 1 */
	size_t most;      /* reads of a rank */
};

bool rankreads_is_sample(const struct distil *d, const struct visit *x, uint32_t party,
			 enum stage_kind kind)
{
	enum file_class class = distil_class(d, x->file);

	return d->task[x->task].party == party && (class == CLASS_SAMPLE || class == CLASS_MADE) &&
	       x->flags & (VISIT_READS | VISIT_MAPS) && !(x->flags & VISIT_WRITES) &&
	       x->stage < d->stage_count && d->stages[x->stage].kind == kind &&
	       d->stages[x->stage].party == party;
}

/* Who is of no rank is of the only one there is. */
static uint32_t rank_of(const struct distil_task *t)
{
	return t->rank == UINT32_MAX ? 0 : t->rank;
}

static uint32_t count_ranks(const struct distil *d, uint32_t party)
{
	uint32_t ranks = 1;

	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == party && rank_of(&d->task[i]) >= ranks)
			ranks = rank_of(&d->task[i]) + 1;
	return ranks;
}

/* Workers that are forked anew for each epoch have the numbers of those before. */
static void number_alike(struct dealing *g)
{
	const struct distil_task *t = g->d->task;

	for (uint32_t i = 0; i < g->d->task_count; i++) {
		uint32_t k = 0;

		while (k < i && (t[k].party != t[i].party || t[k].rank != t[i].rank ||
				 t[k].worker != t[i].worker))
			k++;
		g->first[i] = k;
	}
}

static void add_visit(const struct dealing *g, struct rank_reads *r, const struct visit *x)
{
	r->visits++;
	r->bytes += x->read_bytes;
	r->call_ns += x->call_ns;
	r->by_rank += g->d->task[x->task].worker == UINT32_MAX;
	if (x->cpu_ns != TRACE_UNKNOWN) {
		r->cpu_visits++;
		r->cpu_ns += x->cpu_ns;
	}
	if (r->count == g->most)
		return;
	if (!g->number[g->first[x->task]]) {
		r->task = mem_realloc(r->task, (r->workers + 1) * sizeof(*r->task));
		r->task[r->workers] = x->task;
		g->number[g->first[x->task]] = ++r->workers;
	}
	vec_push(r, (struct pulse_read){
			    .start_ns = x->start_ns,
			    .end_ns = u64_max(x->end_ns, x->start_ns),
			    .worker = g->number[g->first[x->task]] - 1,
			    .epoch = x->stage,
		    });
}

static int deal_out(struct rankreads *r, const struct dealing *g, enum stage_kind kind,
		    struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	while ((rc = visits_next(g->d->visits, &c, &x, err)) > 0) {
		uint32_t rank;

		if (!rankreads_is_sample(g->d, x, g->party, kind))
			continue;
		r->visits++;
		r->left_out += g->d->task[x->task].rank == UINT32_MAX;
		rank = rank_of(&g->d->task[x->task]);
		if (rank % g->every == 0 && rank / g->every < r->count)
			add_visit(g, &r->rank[rank / g->every], x);
	}
	return rc;
}

/* Epochs of one rank behind one another: where two run into each other, a read belongs to the one
 * before as long as that lasts. */
static void straighten(struct rank_reads *r)
{
	for (size_t i = 1; i < r->count; i++)
		if (r->at[i].epoch < r->at[i - 1].epoch)
			r->at[i].epoch = r->at[i - 1].epoch;
}

static void reads_fini(struct rank_reads *r)
{
	mem_free(r->at);
	mem_free(r->task);
}

/* A rank that has no reads goes. */
static void drop_empty(struct rankreads *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		if (r->rank[i].count)
			r->rank[n++] = r->rank[i];
		else
			reads_fini(&r->rank[i]);
	}
	/* All were looked at: those without reads are none. */
	if (r->count == r->ranks)
		r->ranks = n;
	r->count = n;
}

int rankreads_of(struct rankreads *r, const struct distil *d, uint32_t party, enum stage_kind kind,
		 struct mlgen_err *err)
{
	struct dealing g = { .d = d, .party = party };
	int rc;

	*r = (struct rankreads){ .ranks = count_ranks(d, party) };
	g.every = (uint32_t)divide_up(r->ranks, RANKS_LOOKED_AT);
	r->count = (uint32_t)divide_up(r->ranks, g.every);
	r->rank = mem_array(r->count, sizeof(*r->rank));
	g.most = RANKREADS_MOST / r->count;
	g.first = mem_array(d->task_count + 1, sizeof(*g.first));
	g.number = mem_array(d->task_count + 1, sizeof(*g.number));
	number_alike(&g);
	for (uint32_t i = 0; i < r->count; i++)
		r->rank[i].rank = i * g.every;
	rc = deal_out(r, &g, kind, err);
	mem_free(g.first);
	mem_free(g.number);
	for (uint32_t i = 0; i < r->count; i++)
		straighten(&r->rank[i]);
	drop_empty(r);
	return rc;
}

void rankreads_fini(struct rankreads *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		reads_fini(&r->rank[i]);
	mem_free(r->rank);
	*r = (struct rankreads){ 0 };
}
