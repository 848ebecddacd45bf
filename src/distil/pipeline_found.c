/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_found.c - ranks, their workers, batches and steps: as markers say, or as the pauses of
 * the readers show. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "distil/pipeline_inside.h"
#include "distil/pulse_inside.h"
#include "distil/timefit.h"

/* Fewer steps say nothing of the others. */
#define STEPS_LEAST 6
/* Of all steps that could be seen: then storage is the limit of few. */
#define STEPS_PERCENT 25.0

/* ---- what the readers show ---- */

/* A rank that says it is one is. */
static enum pulse_own own_of(const struct pipeline *f, const struct rank_reads *r)
{
	const struct distil *d = f->d;

	if (r->workers != 1)
		return PULSE_HAS_WORKERS;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank == r->rank &&
		    d->task[i].sure == SURE_SAID && d->task[i].worker != UINT32_MAX)
			return PULSE_HAS_WORKERS;
	if (2 * r->by_rank <= r->visits)
		return PULSE_HAS_WORKERS;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank == r->rank &&
		    d->task[i].sure == SURE_SAID)
			return PULSE_IS_OWN;
	return PULSE_MAY_BE_OWN;
}

static void find_pulses(struct pipeline *f)
{
	size_t room = 0;

	f->pulse = mem_array(f->reads.count, sizeof(*f->pulse));
	for (uint32_t i = 0; i < f->reads.count; i++) {
		const struct rank_reads *r = &f->reads.rank[i];
		struct pulse *p = &f->pulse[i];

		pulse_find(p, r->at, r->count, r->workers, own_of(f, r));
		if (p->batch && (!f->best || p->spacing.explained > f->best->spacing.explained))
			f->best = p;
	}
	for (uint32_t i = 0; i < f->reads.count; i++)
		room += f->pulse[i].steps;
	f->step_ns = mem_array(room, sizeof(*f->step_ns));
	for (uint32_t i = 0; f->best && i < f->reads.count; i++) {
		const struct pulse *p = &f->pulse[i];

		if (p->batch != f->best->batch || p->kind != f->best->kind)
			continue;
		f->in_epoch += p->in_epoch;
		if (p->steps)
			memcpy(f->step_ns + f->steps, p->step_ns, p->steps * sizeof(*f->step_ns));
		f->steps += p->steps;
	}
	pulse_sort(f->step_ns, f->steps);
}

/* Ranks whose pauses say the same as those of the best. */
static uint32_t ranks_that_agree(const struct pipeline *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->reads.count; i++)
		n += f->pulse[i].batch == f->best->batch;
	return n;
}

double pipeline_visits(const struct pipeline *f)
{
	double visits = f->d->found[f->party].visits_per_sample;

	return visits > 0 ? visits : 1;
}

/* ---- accelerators ---- */

static bool is_one_process(const struct pipeline *f)
{
	const struct rank_reads *r = f->reads.rank;
	const struct distil_task *t = f->d->task;

	return t[r[0].task[0]].pid == t[r[1].task[0]].pid && t[r[0].task[0]].sure != SURE_SAID;
}

static void say_accelerators(struct pipeline *f)
{
	struct distil_found *found = &f->d->found[f->party];
	char text[32];

	found->accelerators = f->reads.ranks;
	if (f->marks.ranks > found->accelerators)
		found->accelerators = f->marks.ranks;
	snprintf(text, sizeof(text), "%u", found->accelerators);
	if (f->marks.ranks)
		jobsection_say(f->to, DISTIL_SURE, "accelerators", text,
			       "steps are marked as those of %u rank%s", f->marks.ranks,
			       plural(f->marks.ranks));
	else if (f->reads.count > 1 && is_one_process(f))
		jobsection_say(f->to, DISTIL_LIKELY, "accelerators", text,
			       "threads of one process read in groups of %u at a time, each a "
			       "batch, as those of ranks that step together",
			       f->reads.ranks);
	else if (f->reads.left_out)
		jobsection_say(f->to, DISTIL_GUESS, "accelerators", text,
			       "nothing says which rank a thread reads for");
	else
		jobsection_say(f->to, DISTIL_LIKELY, "accelerators", text,
			       "%u process%s read samples, by %s or by what %s forked",
			       f->reads.ranks, f->reads.ranks == 1 ? "" : "es",
			       f->reads.ranks == 1 ? "itself" : "themselves",
			       f->reads.ranks == 1 ? "it" : "they");
}

/* ---- batch_size ---- */

static void say_marked_batch(struct pipeline *f)
{
	char text[32];

	f->batch = f->marks.samples;
	snprintf(text, sizeof(text), "%" PRIu64, f->batch);
	jobsection_say(f->to, DISTIL_SURE, "batch_size", text,
		       "%" PRIu64 " steps are marked, most as of so many samples", f->marks.steps);
}

static const char *whose(const struct pipeline *f)
{
	return f->best->kind == PULSE_SHARED ? "the workers of a rank pause"
	       : f->best->kind == PULSE_OWN  ? "a rank pauses"
					     : "a worker pauses";
}

static void say_seen_batch(struct pipeline *f)
{
	double visits = pipeline_visits(f);
	uint32_t agree = ranks_that_agree(f);
	char text[32];

	f->batch = (uint64_t)llround(f->best->batch / visits);
	if (!f->batch)
		f->batch = 1;
	snprintf(text, sizeof(text), "%" PRIu64, f->batch);
	if (f->best->spacing.every)
		jobsection_say(
			f->to, 2 * agree > f->reads.count ? DISTIL_LIKELY : DISTIL_GUESS,
			"batch_size", text,
			"%s before every %u%s file that is read: that explains %.0f%% of what "
			"pauses differ in; %u of %u rank%s that were looked at say%s so",
			whose(f), f->best->batch,
			f->best->batch == 2   ? "nd"
			: f->best->batch == 3 ? "rd"
					      : "th",
			100 * f->best->spacing.explained, agree, f->reads.count,
			plural(f->reads.count), f->reads.count == 1 ? "s" : "");
	else if (f->best->batch == 1)
		jobsection_say(f->to, DISTIL_LIKELY, "batch_size", text,
			       "%s before each file that is read", whose(f));
	else
		jobsection_say(f->to, DISTIL_GUESS, "batch_size", text,
			       "what the workers have read in an epoch are multiples of it; no "
			       "pause shows it");
}

static void say_forward_batch(struct pipeline *f)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, f->batch);
	jobsection_say(f->to,
		       fabs(f->forward_batch - (double)f->batch) < 0.5 ? DISTIL_LIKELY
								       : DISTIL_GUESS,
		       "batch_size", text,
		       "the bytes that loaders are given at a time are those of %.1f samples; this "
		       "is the roundest number near by",
		       f->forward_batch);
}

/*
 * tf.data opens as many files in one go as it reads side by side, so that where these are as many
 * as a batch seems to have it may be any part of that. A step is that part, too.
 */
static void say_round(struct pipeline *f)
{
	f->batch = 1;
	f->has_rounds = true;
	for (size_t i = 0; i < f->steps; i++)
		f->step_ns[i] /= f->best->batch;
	jobsection_say(
		f->to, DISTIL_GUESS, "batch_size", "1",
		"files are opened in rounds of %u, which are as many as are read side by side: "
		"that hides how many of them are a batch. With N, compute_time is N times as long",
		f->best->batch);
}

static void say_batch(struct pipeline *f)
{
	if (f->marks.samples) {
		say_marked_batch(f);
	} else if (f->forward_step_ns > 0) {
		say_forward_batch(f);
	} else if (f->best && f->interleaves &&
		   f->best->batch * JOB_INTERLEAVE_THREADS == f->readers) {
		say_round(f);
	} else if (f->best) {
		say_seen_batch(f);
	} else {
		f->batch = 1;
		jobsection_say(f->to, DISTIL_GUESS, "batch_size", "1",
			       "loaders pause nowhere in particular: nothing shows where a batch "
			       "ends, as when storage is the limit");
	}
	f->d->found[f->party].batch_size = (uint32_t)u64_min(f->batch, UINT32_MAX);
}

/* ---- compute_time ---- */

static void say_time(struct pipeline *f, const char *option, const double *sorted, size_t count,
		     enum distil_sure sure, const char *why)
{
	struct buf text = { 0 };
	struct timefit fit;

	timefit(&fit, sorted, count);
	timefit_format(&text, &fit.dist);
	if (dist_is_const(&fit.dist))
		jobsection_say(f->to, sure, option, buf_str(&text),
			       "%s; nine of ten are from %.4g to %.4g ms", why,
			       pulse_quantile(sorted, count, 0.05) / 1e6,
			       pulse_quantile(sorted, count, 0.95) / 1e6);
	else
		jobsection_say(f->to, sure, option, buf_str(&text),
			       "%s; mean %.4g ms, stdev %.4g ms, and this is on average %.1f%% of "
			       "the mean off",
			       why, fit.mean_ns / 1e6, fit.stdev_ns / 1e6, fit.off_percent);
	f->d->found[f->party].compute_ns = fit.mean_ns;
	buf_fini(&text);
}

static void say_marked_time(struct pipeline *f)
{
	char why[96];

	snprintf(why, sizeof(why), "%zu steps have it marked", f->marks.compute_ns.count);
	say_time(f, "compute_time", f->marks.compute_ns.at, f->marks.compute_ns.count, DISTIL_SURE,
		 why);
}

static void say_seen_time(struct pipeline *f, double percent)
{
	char why[256];

	if (f->best->kind == PULSE_OWN)
		snprintf(why, sizeof(why),
			 "from the end of a batch to the next one's begin, %zu times", f->steps);
	else
		snprintf(why, sizeof(why),
			 "from batch to batch, for %zu that loaders, idle until then, began when a "
			 "rank took one that was there already: %.0f%% of all",
			 f->steps, percent);
	say_time(f, "compute_time", f->step_ns, f->steps, DISTIL_LIKELY, why);
}

/* All that reads and computes took, by steps of all ranks at a time. */
static double mean_step(const struct pipeline *f)
{
	double ns = 0, samples = 0;

	for (uint32_t i = 0; i < f->reads.count; i++) {
		const struct rank_reads *r = &f->reads.rank[i];
		uint64_t end = 0;

		for (size_t k = 0; k < r->count; k++)
			end = u64_max(end, r->at[k].end_ns);
		ns += (double)(end - r->at[0].start_ns);
		samples += (double)r->count / pipeline_visits(f);
	}
	return samples > 0 ? ns / samples * (double)f->batch : (double)NAN;
}

static void say_bound(struct pipeline *f)
{
	double ns = f->best && !isnan(f->best->bound_ns) ? f->best->bound_ns : mean_step(f);
	struct buf text = { 0 };
	struct dist d;

	if (isnan(ns)) {
		f->d->found[f->party].compute_ns = ns;
		return;
	}
	d = timefit_constant(ns);
	timefit_format(&text, &d);
	jobsection_say(f->to, DISTIL_GUESS, "compute_time", buf_str(&text),
		       "AN UPPER BOUND: loaders have something to do all the time, so storage was "
		       "the limit; all that a step took, reading or not, is this. Where storage is "
		       "faster, the real training may be, too");
	f->d->found[f->party].compute_ns = (double)NAN;
	buf_fini(&text);
}

/* No step computes for longer than all take on average; and where it is not known how far readers
 * are ahead, who knows what they waited for: all of them have to be alike. */
static bool are_steps(const struct pipeline *f, double percent)
{
	struct timefit fit;

	if (f->steps < STEPS_LEAST || percent < STEPS_PERCENT)
		return false;
	timefit(&fit, f->step_ns, f->steps);
	if (!f->has_rounds && f->best->bound_ns < 0.9 * dist_mean(&fit.dist))
		return false;
	return f->best->kind == PULSE_OWN || f->best->window || dist_is_const(&fit.dist);
}

static void say_forward_time(struct pipeline *f)
{
	struct dist d = timefit_constant(f->forward_step_ns);
	struct buf text = { 0 };

	timefit_format(&text, &d);
	jobsection_say(f->to, DISTIL_LIKELY, "compute_time", buf_str(&text),
		       "loaders that wait in the middle of a file go on so far from each other, "
		       "most often");
	f->d->found[f->party].compute_ns = f->forward_step_ns;
	buf_fini(&text);
}

static void say_compute(struct pipeline *f)
{
	double percent = f->in_epoch ? 100.0 * (double)f->steps / (double)f->in_epoch : 0;

	if (f->marks.compute_ns.count)
		say_marked_time(f);
	else if (f->forward_step_ns > 0)
		say_forward_time(f);
	else if (f->marks.steps) {
		jobsection_say(f->to, DISTIL_SURE, "compute_time", "0",
			       "steps are marked, and none as computing");
		f->d->found[f->party].compute_ns = 0;
	} else if (are_steps(f, percent))
		say_seen_time(f, percent);
	else
		say_bound(f);
}

/* ---- barrier ---- */

/* How far two ranks are apart when they begin batches of the same number, in the middle; NaN = not
 * to be seen. */
static double apart_ns(const struct pulse *a, const struct pulse *b)
{
	uint32_t n = 0, most = a->begun < b->begun ? a->begun : b->begun;
	double *apart = mem_array(most, sizeof(*apart)), middle;

	for (uint32_t i = 0; i < most; i++)
		if (a->begun_ns[i] && b->begun_ns[i])
			apart[n++] = fabs((double)a->begun_ns[i] - (double)b->begun_ns[i]);
	pulse_sort(apart, n);
	middle = n < STEPS_LEAST ? (double)NAN : pulse_quantile(apart, n, 0.5);
	mem_free(apart);
	return middle;
}

static void say_barrier(struct pipeline *f)
{
	struct timefit fit;
	double apart;

	if (f->d->found[f->party].accelerators < 2)
		return;
	apart = f->reads.count > 1 ? apart_ns(&f->pulse[0], &f->pulse[1]) : (double)NAN;
	if (isnan(apart) || f->steps < STEPS_LEAST) {
		jobsection_say(f->to, DISTIL_GUESS, "barrier", "step",
			       "ranks of one training sum gradients after each step; nothing here "
			       "shows it");
		return;
	}
	timefit(&fit, f->step_ns, f->steps);
	if (apart < 0.5 * fit.mean_ns && (dist_is_const(&fit.dist) || apart < 0.5 * fit.stdev_ns))
		jobsection_say(
			f->to, DISTIL_LIKELY, "barrier", "step",
			"two ranks begin batches %.3g ms apart, in the middle, of steps of %.4g ms",
			apart / 1e6, fit.mean_ns / 1e6);
	else
		jobsection_say(f->to, DISTIL_LIKELY, "barrier", "none",
			       "two ranks begin batches %.3g ms apart, in the middle, though steps "
			       "are of %.4g ms",
			       apart / 1e6, fit.mean_ns / 1e6);
}

int distil_pipeline(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct pipeline f = { .d = d, .party = party, .to = to };
	int rc = rankreads_of(&f.reads, d, party, STAGE_TRAIN, err);

	if (rc == 0)
		rc = stepmarks_read(&f.marks, d, party, false, err);
	if (rc == 0 && f.reads.count) {
		find_pulses(&f);
		pipeline_find_loader(&f);
		pipeline_forward(&f);
		say_accelerators(&f);
		say_batch(&f);
		say_compute(&f);
		say_barrier(&f);
		rc = pipeline_loader(&f, err);
	}
	for (uint32_t i = 0; f.pulse && i < f.reads.count; i++)
		pulse_fini(&f.pulse[i]);
	mem_free(f.pulse);
	mem_free(f.step_ns);
	mem_free(f.first_ns);
	stepmarks_fini(&f.marks);
	rankreads_fini(&f.reads);
	return rc;
}
