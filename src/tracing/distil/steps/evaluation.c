/* SPDX-License-Identifier: Apache-2.0 */
/* evaluation.c - find evaluations between epochs: their files, cadence and steps. */
#include "tracing/distil/steps/steps_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"

#define STEPS_LEAST 4

struct evaluation {
	struct distil *d;
	uint32_t party;
	struct jobsection *to;
	struct rankreads reads;
	struct stepmarks marks;
	struct map files;
	uint32_t trained; /* files that the training reads */
};

/* ---- cadence ---- */

/* Number of epochs that have begun before an evaluation. The last of them may have begun only
 * because loaders read ahead. */
static uint32_t epochs_before(const struct evaluation *f, uint64_t at_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->d->stage_count; i++) {
		const struct distil_stage *s = &f->d->stages[i];

		n += s->kind == STAGE_TRAIN && s->party == f->party && s->start_ns != UINT64_MAX &&
		     s->start_ns < at_ns;
	}
	return n;
}

static void print_cadence(struct evaluation *f)
{
	uint32_t first = 0, last = 0, evals = 0, every;
	bool is_regular = true;

	for (uint32_t i = 0; i < f->d->stage_count; i++) {
		const struct distil_stage *s = &f->d->stages[i];

		if (s->kind != STAGE_EVAL || s->party != f->party || s->start_ns == UINT64_MAX)
			continue;
		uint32_t now = epochs_before(f, s->start_ns);
		if (!evals)
			first = now;
		else if (evals == 1)
			is_regular = now > last;
		evals++;
		last = now;
	}
	if (!evals)
		return;
	every = evals > 1 ? (last - first) / (evals - 1) : 1;
	is_regular &= evals < 2 || every * (evals - 1) == last - first;
	jobsection_set_u64(f->to, evals > 1 && is_regular && every ? DISTIL_SURE : DISTIL_GUESS,
			   "eval_every", every ? every : 1,
			   "%u evaluation%s, the last one after %u epoch%s", evals, plural(evals),
			   last, plural(last));
	jobsection_set_u64(f->to, first ? DISTIL_SURE : DISTIL_GUESS, "eval_after",
			   first ? first : 1, "the first one follows %u epoch%s", first,
			   plural(first));
	if (!first)
		jobsection_comment(f->to, "In the trace, it precedes the first epoch; mlgen "
					  "evaluates only after an epoch.");
}

/* ---- steps ---- */

static void print_time(struct evaluation *f, const double *sorted, size_t count,
		       enum distil_sure sure, const char *why)
{
	struct buf text = { 0 };
	struct timefit fit;

	timefit(&fit, sorted, count);
	dist_format(&text, &fit.dist, DIST_NS);
	jobsection_set(f->to, sure, "eval_time", buf_str(&text),
		       "%zu steps of evaluations %s; nine in ten last from %.4g to %.4g ms", count,
		       why, pulse_quantile(sorted, count, 0.05) / 1e6,
		       pulse_quantile(sorted, count, 0.95) / 1e6);
	buf_fini(&text);
}

/* Number of batches that are read before the rank has computed with the first batch: the first
 * batch, and those that are read ahead. */
static uint32_t first_batches(const struct evaluation *f)
{
	const struct distil_results *found = &f->d->found[f->party];

	return 1 + found->read_threads * found->prefetch;
}

/* The batch size of an evaluation that is so short that workers pause only once, after the first
 * batches; 0 = workers pause more often. */
static uint32_t batch_by_first_pause(const struct evaluation *f, const struct pulse *p)
{
	const struct rank_reads *r = &f->reads.rank[0];
	uint32_t each = 0, batches = first_batches(f);

	while (each < r->count && r->at[each].epoch == r->at[0].epoch)
		each++;
	if (!p->spacing.every || 2 * p->spacing.every <= each || batches < 2 ||
	    p->spacing.every % batches)
		return 0;
	return p->spacing.every / batches;
}

/* Steps after the first batches: workers begin a batch when the rank takes another one. The rank
 * takes its first batch as soon as the batch has been read. */
static size_t steps_of(const struct rank_reads *r, uint32_t batch, uint32_t batches, double *to)
{
	uint32_t position = 0;
	uint64_t taken_ns = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++) {
		position = i && r->at[i].epoch == r->at[i - 1].epoch ? position + 1 : 0;
		if (position == batch - 1)
			taken_ns = r->at[i].end_ns;
		if (position < batches * batch || position % batch)
			continue;
		to[n++] = (double)r->at[i].start_ns - (double)taken_ns;
		taken_ns = r->at[i].start_ns;
	}
	return n;
}

static void print_first(struct evaluation *f, uint32_t batch)
{
	uint32_t batches = first_batches(f);
	double *step_ns;
	size_t n = 0, room = 0;

	for (uint32_t i = 0; i < f->reads.count; i++)
		room += f->reads.rank[i].count;
	step_ns = mem_array(room + 1, sizeof(*step_ns));
	for (uint32_t i = 0; i < f->reads.count; i++)
		n += steps_of(&f->reads.rank[i], batch, batches, step_ns + n);
	pulse_sort(step_ns, n);
	jobsection_set_u64(f->to, DISTIL_LIKELY, "eval_batch_size", batch,
			   "workers pause once in an evaluation, after the files of %u batches: "
			   "the batch in computation and the batches read ahead",
			   batches);
	if (n)
		print_time(f, step_ns, n, DISTIL_LIKELY, "for which workers waited");
	mem_free(step_ns);
}

static void print_seen(struct evaluation *f)
{
	const struct rank_reads *r = &f->reads.rank[0];
	bool own = f->d->found[f->party].read_threads == 0;
	struct pulse p;

	pulse_find(&p, r->at, r->count, r->workers, own ? PULSE_IS_OWN : PULSE_HAS_WORKERS);
	uint32_t first = batch_by_first_pause(f, &p);
	if (first) {
		print_first(f, first);
		pulse_fini(&p);
		return;
	}
	if (p.batch)
		jobsection_set_u64(f->to, p.spacing.every ? DISTIL_LIKELY : DISTIL_GUESS,
				   "eval_batch_size", p.batch,
				   "workers pause after this many files in evaluations");
	else
		jobsection_comment(f->to, "The trace does not show where a batch of an evaluation "
					  "ends, so batch_size applies.");
	if (p.steps >= STEPS_LEAST)
		print_time(f, p.step_ns, p.steps, DISTIL_LIKELY, "without other activity");
	else
		jobsection_comment(f->to, "The trace does not show how long a step of an "
					  "evaluation computes, because workers never wait.");
	pulse_fini(&p);
}

int distil_eval(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct evaluation f = { .d = d, .party = party, .to = to };
	int rc = rankreads_read(&f.reads, d, party, STAGE_EVAL, err);

	if (rc == 0)
		rc = stepmarks_read(&f.marks, d, party, true, err);
	if (rc == 0) {
		struct map trained = { 0 };
		struct visits_cursor c = { 0 };
		const struct visit *x;

		while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
			bool is_new;

			if (distil_reads_sample(d, x, party, STAGE_EVAL))
				map_number(&f.files, x->file, &is_new);
			else if (distil_reads_sample(d, x, party, STAGE_TRAIN))
				map_number(&trained, x->file, &is_new);
		}
		f.trained = trained.count;
		map_fini(&trained);
	}
	if (rc == 0 && f.reads.count) {
		jobsection_set_u64(to, DISTIL_LIKELY, "eval_files", f.files.count,
				   "this many files of a separate directory are read between "
				   "epochs, in addition to %u files of the training",
				   f.trained);
		print_cadence(&f);
		if (f.marks.steps) {
			if (f.marks.samples)
				jobsection_set_u64(
					to, DISTIL_SURE, "eval_batch_size", f.marks.samples,
					"%" PRIu64 " steps are marked, most with this many samples",
					f.marks.steps);
			if (f.marks.compute_ns.count)
				print_time(&f, f.marks.compute_ns.at, f.marks.compute_ns.count,
					   DISTIL_SURE, "with marked compute time");
		} else {
			print_seen(&f);
		}
	}
	map_fini(&f.files);
	stepmarks_fini(&f.marks);
	rankreads_fini(&f.reads);
	return rc;
}
