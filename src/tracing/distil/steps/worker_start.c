/* SPDX-License-Identifier: Apache-2.0 */
/* worker_start.c - find how long new workers take to start, if each epoch has new workers. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/file/file.h"

/* Shorter starts are not reported: a thread starts within this time. */
#define START_LEAST_NS 1e6
/* Among fewer workers, a single delayed worker would decide the result. */
#define FIRST_LEAST 4
enum {
	WORKERS_MOST = 4096, /* more workers are not compared with one another */
	VISITS_MOST = 4096,  /* limit of visits from which the usual time is computed */
};

/* The reads of samples by one worker. */
struct worker_reads {
	uint64_t first_ns;       /* start of the first sample; 0 = no sample */
	uint64_t last_ns;        /* start of the latest sample so far */
	uint64_t first_visit_ns; /* time from first to second sample; 0 = no second sample */
	uint32_t stage;          /* epoch of the first sample */
	bool stays;              /* reads in another epoch as well */
};

struct starting {
	struct pipeline *f;
	struct worker_reads *worker; /* indexed by task */
	VEC(double) ns;              /* start-up times */
	/* The lower quartile for samples other than a worker's first. Workers wait after some
	 * samples, so the median would be too long. */
	double usual_visit_ns;
	uint64_t usual_cpu_ns, usual_cpu_visits; /* sums over samples other than the first */
	double first_more_ns;                    /* median extra time of a worker's first sample;
						  * 0 = first samples are as usual */
	bool is_forked;
};

static int read_workers(struct starting *s, struct mlgen_err *err)
{
	const struct distil *d = s->f->d;
	double *other_ns = mem_array(VISITS_MOST, sizeof(*other_ns));
	struct visits_cursor c = { 0 };
	const struct visit *x;
	size_t others = 0;
	int rc;

	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		if (d->task[x->task].worker == UINT32_MAX ||
		    !distil_reads_sample(d, x, s->f->party, STAGE_TRAIN))
			continue;
		struct worker_reads *w = &s->worker[x->task];
		uint64_t start_ns = u64_max(x->start_ns, 1);
		/* The processing of a sample ends where the next sample begins. */
		if (!w->first_ns) {
			w->first_ns = start_ns;
			w->stage = x->stage;
		} else {
			if (x->cpu_ns != TRACE_UNKNOWN) {
				s->usual_cpu_ns += x->cpu_ns;
				s->usual_cpu_visits++;
			}
			if (w->last_ns == w->first_ns)
				w->first_visit_ns = start_ns - w->first_ns;
			else if (others < VISITS_MOST)
				other_ns[others++] = (double)(start_ns - w->last_ns);
		}
		w->last_ns = start_ns;
		w->stays |= w->stage != x->stage;
	}
	pulse_sort(other_ns, others);
	s->usual_visit_ns = others ? pulse_quantile(other_ns, others, 0.25) : 0;
	mem_free(other_ns);
	return rc;
}

/* Does each epoch have workers of its own, and few enough to compare? */
static bool are_new(const struct starting *s)
{
	uint32_t workers = 0, stage = 0;
	bool differ = false;

	for (uint32_t i = 0; i < s->f->d->task_count; i++) {
		const struct worker_reads *w = &s->worker[i];

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

/* Do two tasks belong to the same rank and epoch? */
static bool start_together(const struct starting *s, uint32_t i, uint32_t k)
{
	return s->worker[k].first_ns && s->worker[k].stage == s->worker[i].stage &&
	       s->f->d->task[k].rank == s->f->d->task[i].rank;
}

/* A rank forks its workers one after another. Measure from the first record of any of them. */
static void time_forks(struct starting *s)
{
	const struct distil *d = s->f->d;

	for (uint32_t i = 0; i < d->task_count; i++) {
		uint64_t begin = UINT64_MAX;

		if (!s->worker[i].first_ns)
			continue;
		for (uint32_t k = 0; k < d->task_count; k++)
			if (start_together(s, i, k))
				begin = u64_min(begin, trace_tasks_thread(&d->tasks, k)->first_ns);
		add_start(s, begin, s->worker[i].first_ns);
	}
}

/*
 * Threads leave no records before they read. However, workers began the last batch of an epoch when
 * the rank took the batch `window` places earlier, so the epoch ended window + 1 steps after that.
 */
static void time_threads(struct starting *s, const struct rank_reads *r)
{
	double step = s->f->d->found[s->f->party].compute_ns;
	size_t batch = s->f->best->batch;

	for (size_t i = batch; i < r->count; i++) {
		if (r->at[i].epoch != r->at[i - 1].epoch + 1)
			continue;
		double end_ns = (double)r->at[i - batch].start_ns + step * (s->f->best->window + 1);
		if ((double)r->at[i].start_ns > end_ns)
			add_start(s, (uint64_t)end_ns, r->at[i].start_ns);
	}
}

static bool are_processes(const struct starting *s)
{
	const struct distil *d = s->f->d;

	for (uint32_t i = 0; i < d->task_count; i++)
		for (uint32_t k = 0; k < i; k++)
			if (s->worker[i].first_ns && start_together(s, i, k) &&
			    d->task[i].pid == d->task[k].pid)
				return false;
	return true;
}

/* Print the extra time of first samples: a new worker imports the decoder and copies pages that it
 * shares with its parent. */
static void print_first(struct starting *s)
{
	uint32_t most = s->f->d->task_count;
	double *more = mem_array(most + 1, sizeof(*more));
	struct buf text = { 0 };
	struct timefit fit;
	size_t n = 0;

	for (uint32_t i = 0; i < most; i++)
		if (s->worker[i].first_ns)
			more[n++] =
				fmax((double)s->worker[i].first_visit_ns - s->usual_visit_ns, 0);
	pulse_sort(more, n);
	if (n >= FIRST_LEAST && s->usual_visit_ns > 0 &&
	    pulse_quantile(more, n, 0.25) >= fmax(START_LEAST_NS, s->usual_visit_ns)) {
		timefit(&fit, more, n);
		dist_format(&text, &fit.dist, DIST_NS);
		s->first_more_ns = pulse_quantile(more, n, 0.5);

		/* Pass the first sample of each worker on to the finder of preprocess_time=. */
		s->f->first_more_ns = s->first_more_ns;
		if (s->usual_cpu_visits)
			s->f->usual_cpu_ns = (double)s->usual_cpu_ns / (double)s->usual_cpu_visits;
		s->f->first_ns = mem_array(most, sizeof(*s->f->first_ns));
		for (uint32_t i = 0; i < most; i++)
			s->f->first_ns[i] = s->worker[i].first_ns;

		jobsection_set(s->f->to, DISTIL_LIKELY, "first_sample_time", buf_str(&text),
			       "additional time of a new worker for its first sample; a quarter of "
			       "other samples need %.4g ms at most; mean %.4g ms of %zu",
			       s->usual_visit_ns / 1e6, fit.mean_ns / 1e6, n);
	}
	mem_free(more);
	buf_fini(&text);
}

static void print_start(struct starting *s)
{
	double late = s->is_forked && s->f->best ? s->f->best->first_late_ns : 0;
	struct buf text = { 0 };
	struct timefit fit;
	char more[96] = "";

	/* The extra time of a worker's first batch belongs to its start as well: the worker starts
	 * a thread that hands batches on, and shares memory. */
	late = fmax(late - s->first_more_ns, 0);
	for (size_t i = 0; i < s->ns.count; i++)
		s->ns.at[i] += late;
	pulse_sort(s->ns.at, s->ns.count);
	timefit(&fit, s->ns.at, s->ns.count);
	if (fit.mean_ns < START_LEAST_NS)
		return;
	dist_format(&text, &fit.dist, DIST_NS);
	if (late > 0)
		snprintf(more, sizeof(more),
			 ", plus %.4g ms that the first batch needs longer than others",
			 late / 1e6);
	if (s->is_forked)
		jobsection_set(s->f->to, DISTIL_LIKELY, "worker_start", buf_str(&text),
			       "each epoch has new worker processes: from the first process to a "
			       "worker's first sample%s; mean %.4g ms of %zu",
			       more, fit.mean_ns / 1e6, s->ns.count);
	else
		jobsection_set(s->f->to, DISTIL_GUESS, "worker_start", buf_str(&text),
			       "each epoch has new worker threads: from the estimated end of the "
			       "previous thread to the first sample; mean %.4g ms of %zu",
			       fit.mean_ns / 1e6, s->ns.count);
	buf_fini(&text);
}

int pipeline_start(struct pipeline *f, struct mlgen_err *err)
{
	struct starting s = { .f = f };

	if (f->loader != LOADER_PYTORCH || !f->d->found[f->party].read_threads)
		return 0;
	s.worker = mem_array(f->d->task_count, sizeof(*s.worker));
	int rc = read_workers(&s, err);
	if (rc == 0 && are_new(&s)) {
		s.is_forked = are_processes(&s);
		if (s.is_forked)
			time_forks(&s);
		else if (f->best && f->best->window && f->best->batch &&
			 f->d->found[f->party].compute_ns > 0)
			for (uint32_t i = 0; i < f->reads.count; i++)
				time_threads(&s, &f->reads.rank[i]);

		print_first(&s);
	}
	if (rc == 0 && s.ns.count)
		print_start(&s);
	mem_free(s.worker);
	vec_fini(&s.ns);
	return rc;
}
