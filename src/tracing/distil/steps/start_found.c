/* SPDX-License-Identifier: Apache-2.0 */
/* start_found.c - workers that begin anew in each epoch: how long that takes. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/file/file.h"

/* Less than a thread takes to begin is nothing. */
#define START_LEAST_NS 1e6
/* With fewer workers, one that was held up would decide. */
#define FIRST_LEAST 4
/* Workers that are compared with one another. */
enum { WORKERS_MOST = 4096 };
/* Number of visits from which the usual time of a sample is known. */
enum { VISITS_MOST = 4096 };

/* A worker that reads samples, and the epoch in which it does. */
struct worker_seen {
	uint64_t first_ns;       /* its first sample; 0 = it reads none */
	uint64_t last_ns;        /* the latest that was looked at */
	uint64_t first_visit_ns; /* up to the second; 0 = there is none */
	uint32_t stage;
	bool stays; /* ... in several */
};

struct starting {
	struct pipeline *f;
	struct worker_seen *seen; /* by task */
	VEC(double) ns;
	/* Of samples that are not a worker's first: a quarter takes no longer, for behind some of
	 * them workers wait. */
	double usual_visit_ns;
	uint64_t usual_cpu_ns, usual_cpu_visits; /* of all of them */
	double first_more_ns;                    /* that one takes longer, in the middle; 0 = it is
						  * as the others */
	bool is_forked;
};

/* CPU time of samples that are not a worker's first. */
static void add_cpu(struct starting *s, const struct worker_seen *w, const struct visit *x)
{
	if (!w->first_ns || x->cpu_ns == TRACE_UNKNOWN)
		return;
	s->usual_cpu_ns += x->cpu_ns;
	s->usual_cpu_visits++;
}

/* The work on a sample ends where the next one begins. */
static void start_found_look_at(struct worker_seen *w, uint64_t start_ns, double *other_ns,
				size_t *others)
{
	if (!w->first_ns)
		w->first_ns = start_ns;
	else if (w->last_ns == w->first_ns)
		w->first_visit_ns = start_ns - w->first_ns;
	else if (*others < VISITS_MOST)
		other_ns[(*others)++] = (double)(start_ns - w->last_ns);
	w->last_ns = start_ns;
}

static int see_workers(struct starting *s, struct mlgen_err *err)
{
	const struct distil *d = s->f->d;
	double *other_ns = mem_array(VISITS_MOST, sizeof(*other_ns));
	struct visits_cursor c = { 0 };
	const struct visit *x;
	size_t others = 0;
	int rc;

	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		struct worker_seen *w;

		if (d->task[x->task].worker == UINT32_MAX ||
		    !distil_reads_sample(d, x, s->f->party, STAGE_TRAIN))
			continue;
		w = &s->seen[x->task];
		if (!w->first_ns)
			w->stage = x->stage;
		add_cpu(s, w, x);
		start_found_look_at(w, u64_max(x->start_ns, 1), other_ns, &others);
		w->stays |= w->stage != x->stage;
	}
	pulse_sort(other_ns, others);
	s->usual_visit_ns = others ? pulse_quantile(other_ns, others, 0.25) : 0;
	mem_free(other_ns);
	return rc;
}

/* Does each epoch have its own, of no more than can be compared? */
static bool are_new(const struct starting *s)
{
	uint32_t workers = 0, stage = 0;
	bool differ = false;

	for (uint32_t i = 0; i < s->f->d->task_count; i++) {
		const struct worker_seen *w = &s->seen[i];

		if (!w->first_ns)
			continue;
		if (w->stays)
			return false;
		differ |= workers && w->stage != stage;
		stage = w->stage;
		workers++;
	}
	return differ && workers <= WORKERS_MOST;
}

static void add_start(struct starting *s, uint64_t from_ns, uint64_t first_ns)
{
	vec_push(&s->ns, first_ns > from_ns ? (double)(first_ns - from_ns) : 0);
}

/* Whose rank and epoch are those of task i? */
static bool begin_together(const struct starting *s, uint32_t i, uint32_t k)
{
	return s->seen[k].first_ns && s->seen[k].stage == s->seen[i].stage &&
	       s->f->d->task[k].rank == s->f->d->task[i].rank;
}

/* A rank's processes are forked one behind the other: when the first of them was, so far as it did
 * anything that is in the trace. */
static void time_forks(struct starting *s)
{
	const struct distil *d = s->f->d;

	for (uint32_t i = 0; i < d->task_count; i++) {
		uint64_t begin = UINT64_MAX;

		if (!s->seen[i].first_ns)
			continue;
		for (uint32_t k = 0; k < d->task_count; k++)
			if (begin_together(s, i, k))
				begin = u64_min(begin, trace_tasks_thread(&d->tasks, k)->first_ns);
		add_start(s, begin, s->seen[i].first_ns);
	}
}

/*
 * Of threads nothing is seen before they read. But the last batch of an epoch was begun when a rank
 * took the one that is `window` before it, so the epoch was over so many steps and one more behind
 * that.
 */
static void time_threads(struct starting *s, const struct rank_reads *r)
{
	double step = s->f->d->found[s->f->party].compute_ns;
	size_t batch = s->f->best->batch;

	for (size_t i = batch; i < r->count; i++) {
		double over;

		if (r->at[i].epoch != r->at[i - 1].epoch + 1)
			continue;
		over = (double)r->at[i - batch].start_ns + step * (s->f->best->window + 1);
		if ((double)r->at[i].start_ns > over)
			add_start(s, (uint64_t)over, r->at[i].start_ns);
	}
}

static bool are_processes(const struct starting *s)
{
	const struct distil *d = s->f->d;

	for (uint32_t i = 0; i < d->task_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (s->seen[i].first_ns && begin_together(s, i, k) &&
			    d->task[i].pid == d->task[k].pid)
				return false;
	return true;
}

static void time_starts(struct starting *s)
{
	const struct pipeline *f = s->f;

	s->is_forked = are_processes(s);
	if (s->is_forked)
		time_forks(s);
	else if (f->best && f->best->window && f->best->batch &&
		 f->d->found[f->party].compute_ns > 0)
		for (uint32_t i = 0; i < f->reads.count; i++)
			time_threads(s, &f->reads.rank[i]);
}

/* What their first batch takes longer than others is of their beginning, too: a thread that hands
 * it on, memory that is shared. */
static double first_late(const struct starting *s)
{
	double late = s->is_forked && s->f->best ? s->f->best->first_late_ns : 0;

	late = fmax(late - s->first_more_ns, 0);
	for (size_t i = 0; i < s->ns.count; i++)
		s->ns.at[i] += late;
	return late;
}

static void keep_firsts(const struct starting *s)
{
	uint32_t tasks = s->f->d->task_count;

	s->f->first_more_ns = s->first_more_ns;
	if (s->usual_cpu_visits)
		s->f->usual_cpu_ns = (double)s->usual_cpu_ns / (double)s->usual_cpu_visits;
	s->f->first_ns = mem_array(tasks, sizeof(*s->f->first_ns));
	for (uint32_t i = 0; i < tasks; i++)
		s->f->first_ns[i] = s->seen[i].first_ns;
}

/* What a worker does but once, with its first sample: it imports what decodes that, and has pages
 * copied that it shares with who forked it. */
static void say_first(struct starting *s)
{
	uint32_t most = s->f->d->task_count;
	double *more = mem_array(most + 1, sizeof(*more));
	struct buf text = { 0 };
	struct timefit fit;
	size_t n = 0;

	for (uint32_t i = 0; i < most; i++)
		if (s->seen[i].first_ns)
			more[n++] = fmax((double)s->seen[i].first_visit_ns - s->usual_visit_ns, 0);
	pulse_sort(more, n);
	if (n >= FIRST_LEAST && s->usual_visit_ns > 0 &&
	    pulse_quantile(more, n, 0.25) >= fmax(START_LEAST_NS, s->usual_visit_ns)) {
		timefit(&fit, more, n);
		dist_format(&text, &fit.dist, DIST_NS);
		s->first_more_ns = pulse_quantile(more, n, 0.5);
		keep_firsts(s);
		jobsection_say(s->f->to, DISTIL_LIKELY, "first_sample_time", buf_str(&text),
			       "so much longer a new worker is at its first sample than at others, "
			       "of which a quarter takes %.4g ms at most; mean %.4g ms of %zu",
			       s->usual_visit_ns / 1e6, fit.mean_ns / 1e6, n);
	}
	mem_free(more);
	buf_fini(&text);
}

static void say_start(struct starting *s)
{
	double late = first_late(s);
	struct buf text = { 0 };
	struct timefit fit;
	char more[96] = "";

	pulse_sort(s->ns.at, s->ns.count);
	timefit(&fit, s->ns.at, s->ns.count);
	if (fit.mean_ns < START_LEAST_NS) {
		buf_fini(&text);
		return;
	}
	dist_format(&text, &fit.dist, DIST_NS);
	if (late > 0)
		snprintf(more, sizeof(more),
			 ", and %.4g ms that the first batch takes longer than others", late / 1e6);
	if (s->is_forked)
		jobsection_say(s->f->to, DISTIL_LIKELY, "worker_start", buf_str(&text),
			       "workers are other processes in each epoch: from the first of them "
			       "to a worker's first sample%s; mean %.4g ms of %zu",
			       more, fit.mean_ns / 1e6, s->ns.count);
	else
		jobsection_say(s->f->to, DISTIL_GUESS, "worker_start", buf_str(&text),
			       "workers are other threads in each epoch: from where the one before "
			       "must have ended to their first sample; mean %.4g ms of %zu",
			       fit.mean_ns / 1e6, s->ns.count);
	buf_fini(&text);
}

int pipeline_start(struct pipeline *f, struct mlgen_err *err)
{
	struct starting s = { .f = f };
	int rc;

	if (f->loader != LOADER_PYTORCH || !f->d->found[f->party].read_threads)
		return 0;
	s.seen = mem_array(f->d->task_count, sizeof(*s.seen));
	rc = see_workers(&s, err);
	if (rc == 0 && are_new(&s)) {
		time_starts(&s);
		say_first(&s);
	}
	if (rc == 0 && s.ns.count)
		say_start(&s);
	mem_free(s.seen);
	vec_fini(&s.ns);
	return rc;
}
