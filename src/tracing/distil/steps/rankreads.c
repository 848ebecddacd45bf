/* SPDX-License-Identifier: Apache-2.0 */
/* rankreads.c - collect the reads of samples by rank, and the markers of steps. */
#include "tracing/distil/steps/steps_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"

/* All ranks behave alike, so a sample of them suffices. RANKREADS_MOST limits the reads of all
 * sampled ranks together. */
enum { RANKS_SAMPLED = 16, RANKREADS_MOST = 1 << 20, STEPMARKS_MOST = 1 << 16 };

/* ---- marks of steps ---- */

struct mark_reader {
	const struct distil *d;
	struct stepmarks *to;
	uint32_t party;
	bool is_eval;
	uint32_t evals;
	const struct mark_account **eval; /* stages of evaluations, by start */
};

static int by_start(const void *a, const void *b)
{
	const struct mark_account *x = *(const struct mark_account *const *)a;
	const struct mark_account *y = *(const struct mark_account *const *)b;

	return COMPARE(x->start_ns, y->start_ns);
}

static bool in_eval(const struct mark_reader *g, uint64_t at_ns)
{
	uint64_t later = BISECT(i, 0, g->evals, g->eval[i]->start_ns > at_ns);

	return later > 0 && at_ns < g->eval[later - 1]->end_ns;
}

static bool is_of_party(const struct mark_reader *g, const struct trace_record *r)
{
	uint32_t n;

	if (g->d->parties < 2)
		return true;
	return trace_tasks_find_thread(&g->d->tasks, r, &n) && n < g->d->task_count &&
	       g->d->task[n].party == g->party;
}

static void add_mark(const struct mark_reader *g, const struct trace_record *r)
{
	struct stepmarks *m = g->to;

	if ((r->op != TRACE_STEP && r->op != TRACE_COMPUTE) || r->flags & TRACE_BEGINS ||
	    !is_of_party(g, r) || in_eval(g, r->start_ns) != g->is_eval)
		return;
	if (r->op == TRACE_STEP) {
		m->steps++;
		/* Find the usual size by Boyer and Moore's majority vote, because the last batch of
		 * an epoch may be short. */
		if (r->len_bytes != TRACE_UNKNOWN) {
			if (!m->votes)
				m->samples = r->len_bytes;
			if (m->samples == r->len_bytes)
				m->votes++;
			else
				m->votes--;
		}
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
	struct mark_reader g = { d, m, party, is_eval, 0, NULL };
	struct trace_reader *from = NULL;
	unsigned signals = signals_received();
	struct trace_batch batch;

	*m = (struct stepmarks){ 0 };
	if (!d->has_markers)
		return 0;
	int rc = trace_reader_open(&from, d->paths, d->path_count, err);
	if (rc < 0)
		return rc;

	const struct mark_list *l = &d->marks.stages;
	g.eval = mem_array(l->count + 1, sizeof(*g.eval));
	for (uint32_t i = 0; i < l->count; i++) {
		const struct mark_account *stage = mark_at(l, i);

		if (strncmp(distil_path(d, stage->name), "eval", 4) == 0)
			g.eval[g.evals++] = stage;
	}
	qsort(g.eval, g.evals, sizeof(*g.eval), by_start);

	while ((rc = trace_reader_next(from, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.record_count; i++)
			add_mark(&g, &batch.records[i]);
		if (signals_received() != signals) {
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

/* A sample of the ranks of a party, and the numbers of their workers. */
struct rank_sampling {
	const struct distil *d;
	uint32_t party;
	uint32_t every;    /* every Nth rank is sampled */
	uint32_t *first;   /* first task with the same rank and worker, by task */
	uint32_t *reader;  /* number among the rank's workers, + 1, by first task */
	size_t rank_reads; /* limit of reads per rank */
};

static void add_visit(const struct rank_sampling *g, struct rank_reads *r, const struct visit *x)
{
	r->visits++;
	r->bytes += x->read_bytes;
	r->call_ns += x->call_ns;
	r->by_rank += g->d->task[x->task].worker == UINT32_MAX;
	if (x->cpu_ns != TRACE_UNKNOWN) {
		r->cpu_visits++;
		r->cpu_ns += x->cpu_ns;
	}
	if (r->count == g->rank_reads)
		return;
	uint32_t *reader = &g->reader[g->first[x->task]];
	if (!*reader) {
		r->task = mem_realloc(r->task, (r->workers + 1) * sizeof(*r->task));
		r->task[r->workers] = x->task;
		*reader = ++r->workers;
	}
	vec_push(r, (struct pulse_read){
			    .start_ns = x->start_ns,
			    .end_ns = u64_max(x->end_ns, x->start_ns),
			    .worker = *reader - 1,
			    .epoch = x->stage,
		    });
}

static void reads_fini(struct rank_reads *r)
{
	mem_free(r->at);
	mem_free(r->task);
}

int rankreads_read(struct rankreads *r, const struct distil *d, uint32_t party,
		   enum stage_kind kind, struct mlgen_err *err)
{
	struct rank_sampling g = { .d = d, .party = party };
	int rc;

	*r = (struct rankreads){ .ranks = distil_ranks(d, party) };
	g.every = (uint32_t)divide_up(r->ranks, RANKS_SAMPLED);
	r->count = (uint32_t)divide_up(r->ranks, g.every);
	r->rank = mem_array(r->count, sizeof(*r->rank));
	g.rank_reads = RANKREADS_MOST / r->count;
	g.first = mem_array(d->task_count + 1, sizeof(*g.first));
	g.reader = mem_array(d->task_count + 1, sizeof(*g.reader));

	/* Processes that are forked for each epoch reuse the worker numbers of the previous epoch.
	 */
	const struct distil_task *t = d->task;
	for (uint32_t i = 0; i < d->task_count; i++) {
		uint32_t k = 0;

		while (k < i && (t[k].party != t[i].party || t[k].rank != t[i].rank ||
				 t[k].worker != t[i].worker))
			k++;
		g.first[i] = k;
	}

	for (uint32_t i = 0; i < r->count; i++)
		r->rank[i].rank = i * g.every;

	struct visits_cursor c = { 0 };
	const struct visit *x;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		if (!distil_reads_sample(d, x, party, kind))
			continue;
		r->visits++;
		uint32_t rank = d->task[x->task].rank;
		/* A task without a rank belongs to rank 0. */
		if (rank == UINT32_MAX) {
			r->left_out++;
			rank = 0;
		}
		if (rank % g.every == 0 && rank / g.every < r->count)
			add_visit(&g, &r->rank[rank / g.every], x);
	}

	mem_free(g.first);
	mem_free(g.reader);
	/* If two epochs of a rank overlap, their reads belong to the earlier epoch until it ends.
	 */
	for (uint32_t i = 0; i < r->count; i++) {
		struct pulse_read *at = r->rank[i].at;

		for (size_t k = 1; k < r->rank[i].count; k++)
			if (at[k].epoch < at[k - 1].epoch)
				at[k].epoch = at[k - 1].epoch;
	}

	/* Drop ranks that have no reads. */
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->rank[i].count)
			r->rank[n++] = r->rank[i];
		else
			reads_fini(&r->rank[i]);
	}
	/* If every rank was sampled, ranks without reads do not exist. */
	if (r->count == r->ranks)
		r->ranks = n;
	r->count = n;

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
/* Share of the simultaneous batches that must look like batches of several ranks. */
#define AGREE_PART 0.8

/* Thread ids order workers by their start. */
struct split_worker {
	uint32_t tid, worker;
};

COMPARE_BY(by_tid, struct split_worker, tid)

/* True if all workers are threads of one process and the trace does not state their ranks. */
static bool may_have_ranks(const struct distil *d, const struct rankreads *r)
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

int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct rankreads r;
	int rc = rankreads_read(&r, d, party, STAGE_TRAIN, err);
	const struct rank_reads *all = r.rank;
	struct pulse_groups g = { 0 };

	if (rc == 0 && may_have_ranks(d, &r))
		g = pulse_groups_find(all->at, all->count, all->workers);
	if (g.groups > 1) {
		uint32_t *rank_of = mem_array(all->workers, sizeof(*rank_of));
		struct split_worker *order = mem_array(all->workers, sizeof(*order));
		uint32_t each = all->workers / g.groups;

		/* Workers of a rank are started one after another. Number the tasks accordingly if
		 * the reads agree. */
		for (uint32_t w = 0; w < all->workers; w++)
			order[w] = (struct split_worker){ d->task[all->task[w]].tid, w };
		qsort(order, all->workers, sizeof(*order), by_tid);
		for (uint32_t i = 0; i < all->workers; i++)
			rank_of[order[i].worker] = i / each;
		if (pulse_groups_part(&g, all->at, all->count, rank_of) >= AGREE_PART)
			for (uint32_t i = 0; i < all->workers; i++) {
				struct distil_task *t = &d->task[all->task[order[i].worker]];

				t->rank = i / each;
				t->worker = i % each;
			}
		mem_free(rank_of);
		mem_free(order);
	}
	rankreads_fini(&r);
	return rc;
}
