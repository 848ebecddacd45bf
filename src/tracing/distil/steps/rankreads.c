/* SPDX-License-Identifier: Apache-2.0 */
/* rankreads.c - when samples were read, rank by rank, and when steps ended, as markers say. */
#include "tracing/distil/steps/steps_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"

/* All ranks do the same: of many ranks some are looked at, up to this many reads in all. */
enum { RANKS_LOOKED_AT = 16, RANKREADS_MOST = 1 << 20, STEPMARKS_MOST = 1 << 16 };

/* ---- marks of steps ---- */

struct stepmarking {
	const struct distil *d;
	struct stepmarks *to;
	uint32_t party;
	bool is_eval;
	uint32_t evals; /* stages that are one, by their start */
	const struct mark_account **eval;
};

static int by_start(const void *a, const void *b)
{
	const struct mark_account *x = *(const struct mark_account *const *)a;
	const struct mark_account *y = *(const struct mark_account *const *)b;

	return COMPARE(x->start_ns, y->start_ns);
}

static void list_evals(struct stepmarking *g)
{
	const struct mark_list *l = &g->d->marks.stages;

	g->eval = mem_array(l->count + 1, sizeof(*g->eval));
	for (uint32_t i = 0; i < l->count; i++) {
		const struct mark_account *m = mark_at(l, i);

		if (strncmp(distil_path(g->d, m->name), "eval", 4) == 0)
			g->eval[g->evals++] = m;
	}
	qsort(g->eval, g->evals, sizeof(*g->eval), by_start);
}

static bool in_eval(const struct stepmarking *g, uint64_t at_ns)
{
	uint64_t later = BISECT(i, 0, g->evals, g->eval[i]->start_ns > at_ns);

	return later > 0 && at_ns < g->eval[later - 1]->end_ns;
}

static bool is_of_party(const struct stepmarking *g, const struct trace_record *r)
{
	uint32_t n;

	if (g->d->parties < 2)
		return true;
	return trace_tasks_find_thread(&g->d->tasks, r, &n) && n < g->d->task_count &&
	       g->d->task[n].party == g->party;
}

/* Boyer and Moore's vote: a last batch may be short. */
static void vote(struct stepmarks *m, uint64_t samples)
{
	if (samples == TRACE_UNKNOWN)
		return;
	if (!m->votes)
		m->samples = samples;
	if (m->samples == samples)
		m->votes++;
	else
		m->votes--;
}

static void add_mark(const struct stepmarking *g, const struct trace_record *r)
{
	struct stepmarks *m = g->to;

	if ((r->op != TRACE_STEP && r->op != TRACE_COMPUTE) || r->flags & TRACE_BEGINS ||
	    !is_of_party(g, r) || in_eval(g, r->start_ns) != g->is_eval)
		return;
	if (r->op == TRACE_STEP) {
		m->steps++;
		vote(m, r->len_bytes);
		if (r->result >= 0 && r->result < UINT32_MAX)
			m->ranks = (uint32_t)u64_max(m->ranks, (uint64_t)r->result + 1);
		return;
	}
	if (m->compute_ns.count == STEPMARKS_MOST || r->duration_ns == TRACE_UNKNOWN)
		return;
	vec_push(&m->compute_ns, (double)r->duration_ns);
}

int stepmarks_read(struct stepmarks *m, const struct distil *d, uint32_t party, bool is_eval,
		   struct mlgen_err *err)
{
	struct stepmarking g = { d, m, party, is_eval, 0, NULL };
	struct trace_reader *from = NULL;
	unsigned signals = signals_taken();
	struct trace_batch batch;
	int rc;

	*m = (struct stepmarks){ 0 };
	if (!d->has_markers)
		return 0;
	rc = trace_reader_open(&from, d->paths, d->path_count, err);
	if (rc < 0)
		return rc;
	list_evals(&g);
	while ((rc = trace_reader_next(from, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.record_count; i++)
			add_mark(&g, &batch.records[i]);
		if (signals_taken() != signals) {
			rc = mlgen_fail(err, -EINTR, "interrupted");
			break;
		}
	}
	trace_reader_close(from);
	mem_free(g.eval);
	pulse_sort(m->compute_ns.at, m->compute_ns.count);
	return rc;
}

void stepmarks_fini(struct stepmarks *m)
{
	vec_fini(&m->compute_ns);
	*m = (struct stepmarks){ 0 };
}

/* ---- reads ---- */

/* How the tasks of a party are dealt out. */
struct dealing {
	const struct distil *d;
	uint32_t party;
	uint32_t every;   /* of so many ranks one is looked at */
	uint32_t *first;  /* task with the number of this one in its rank */
	uint32_t *number; /* of that among the readers of its rank, + 1 */
	size_t most;      /* reads of a rank */
};

/* A task without a rank belongs to rank 0. */
static uint32_t rank_of(const struct distil_task *t)
{
	return t->rank == UINT32_MAX ? 0 : t->rank;
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

		if (!distil_reads_sample(g->d, x, g->party, kind))
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

/* Drop ranks that have no reads. */
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

	*r = (struct rankreads){ .ranks = distil_ranks(d, party) };
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

/* ---- ranks that are threads of one process ---- */

#define WORKERS_LEAST 4
/* Part of the times at which workers read that must be as ranks would read. */
#define AGREE_PART 0.8

/* By their thread's number, in which order they were begun. */
struct split_worker {
	uint32_t tid, worker;
};

COMPARE_BY(by_tid, struct split_worker, tid)

/* All of them threads of one process, of which nothing says whose they are. */
static bool may_be_several(const struct distil *d, const struct rankreads *r)
{
	const struct rank_reads *all = r->rank;

	if (r->ranks != 1 || r->count != 1 || all->workers < WORKERS_LEAST)
		return false;
	for (uint32_t w = 0; w < all->workers; w++) {
		const struct distil_task *t = &d->task[all->task[w]];

		if (t->sure == SURE_STATED || t->pid != d->task[all->task[0]].pid)
			return false;
	}
	return true;
}

/* Ranks follow one another in the order in which workers were begun. */
static void deal(uint32_t *rank_of, struct split_worker *order, const struct distil *d,
		 const struct rank_reads *all, uint32_t ranks)
{
	for (uint32_t w = 0; w < all->workers; w++)
		order[w] = (struct split_worker){ d->task[all->task[w]].tid, w };
	qsort(order, all->workers, sizeof(*order), by_tid);
	for (uint32_t i = 0; i < all->workers; i++)
		rank_of[order[i].worker] = i / (all->workers / ranks);
}

static void number(struct distil *d, const struct rank_reads *all, const struct split_worker *order,
		   uint32_t ranks)
{
	uint32_t each = all->workers / ranks;

	for (uint32_t i = 0; i < all->workers; i++) {
		struct distil_task *t = &d->task[all->task[order[i].worker]];

		t->rank = i / each;
		t->worker = i % each;
	}
}

int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct rankreads r;
	int rc = rankreads_of(&r, d, party, STAGE_TRAIN, err);
	const struct rank_reads *all = r.rank;
	struct pulse_groups g = { 0 };

	if (rc == 0 && may_be_several(d, &r))
		g = pulse_groups_of(all->at, all->count, all->workers);
	if (g.groups > 1) {
		uint32_t *rank_of = mem_array(all->workers, sizeof(*rank_of));
		struct split_worker *order = mem_array(all->workers, sizeof(*order));

		deal(rank_of, order, d, all, g.groups);
		if (pulse_groups_part(&g, all->at, all->count, rank_of) >= AGREE_PART)
			number(d, all, order, g.groups);
		mem_free(rank_of);
		mem_free(order);
	}
	rankreads_fini(&r);
	return rc;
}
