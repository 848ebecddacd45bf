/* SPDX-License-Identifier: Apache-2.0 */
/* stepmarks.c - what markers say of steps. */
#include "distil/stepmarks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "distil/pulse_inside.h"

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
	return map_find(&g->d->tasks.thread_keys, (uint64_t)r->pid << 32 | r->tid, &n) &&
	       n < g->d->task_count && g->d->task[n].party == g->party;
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
