/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.c - find ranks, loaders, batches and steps of a training run by markers or pauses. */
#include "tracing/distil/steps/steps_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"

#define STEPS_LEAST 6 /* fewer steps do not represent the other steps */
/* If this percentage of all steps can be seen, storage was rarely the limit. */
#define STEPS_PERCENT 25.0

/* ---- loader ---- */

/* Did the program load a library with this name? */
static bool loads(const struct distil *d, const char *library)
{
	for (uint32_t i = 1; i < d->file_count; i++)
		if (distil_class(d, i) == CLASS_CODE && strstr(distil_path(d, i), library))
			return true;
	return false;
}

static bool has_records(const struct pipeline *f)
{
	return f->d->found[f->party].format == FORMAT_TFRECORD;
}

static void print_loader(struct pipeline *f)
{
	const struct pulse *p = f->best;

	jobsection_heading(f->to, "loader");
	if (f->loader == LOADER_TFDATA)
		jobsection_set(f->to, has_records(f) ? DISTIL_LIKELY : DISTIL_GUESS, "loader",
			       "tfdata", "%s",
			       has_records(f) ? "files are TFRecord files"
					      : "TensorFlow was loaded");
	else if (f->loader == LOADER_PLAIN)
		jobsection_set(f->to, DISTIL_LIKELY, "loader", "plain",
			       "several workers read each batch: %.0f%% of batches",
			       100 * p->regular);
	else if (p && p->kind == PULSE_WORKER)
		jobsection_set(f->to, p->workers > 1 ? DISTIL_LIKELY : DISTIL_GUESS, "loader",
			       "pytorch",
			       p->workers > 1 ? "one worker reads a batch, another worker the next"
					      : "a single worker reads all batches, which does not "
						"distinguish loaders");
	else
		jobsection_set(f->to, DISTIL_GUESS, "loader", "pytorch", "%s",
			       p                        ? "a rank reads its batches without workers"
			       : loads(f->d, "/torch/") ? "PyTorch was loaded"
							: "the trace shows no other loader");
	if (f->loader == LOADER_TFDATA && !jobsection_value(f->to, "shard"))
		jobsection_set(f->to, DISTIL_GUESS, "shard", "file",
			       "tf.data deals out files; a single rank does not show it");
}

static void print_workers(struct pipeline *f)
{
	uint32_t workers = f->readers;
	struct distil_results *found = &f->d->found[f->party];

	found->read_threads = f->interleaves ? workers / JOB_INTERLEAVE_THREADS : workers;
	if (f->loader == LOADER_TFDATA && !found->read_threads)
		found->read_threads = 1;
	if (f->interleaves)
		jobsection_set_u64(f->to, DISTIL_LIKELY, "read_threads", found->read_threads,
				   "%u threads of a rank read, and interleave() uses %u for each",
				   workers, JOB_INTERLEAVE_THREADS);
	else if (!workers)
		jobsection_set_u64(f->to, DISTIL_LIKELY, "read_threads", found->read_threads,
				   "ranks read samples without workers");
	else
		jobsection_set_u64(f->to, DISTIL_SURE, "read_threads", found->read_threads,
				   "this many workers read at the same time for a rank");
	if (f->loader == LOADER_TFDATA && !f->interleaves)
		jobsection_set(f->to, DISTIL_GUESS, "deterministic", "0",
			       "deterministic reads would need three threads for each");
}

/* Convert a window in batches to the unit of the loader's own prefetch option. */
static uint32_t prefetch_of(const struct pipeline *f, uint32_t window)
{
	uint32_t workers = f->d->found[f->party].read_threads;
	uint32_t ahead = window;

	if (f->loader == LOADER_PYTORCH && workers)
		ahead = (window + workers - 1) / workers;
	if (f->interleaves)
		ahead = window > workers * JOB_INTERLEAVE_THREADS
				? window - workers * JOB_INTERLEAVE_THREADS
				: 1;
	return ahead ? ahead : 1;
}

static void print_prefetch(struct pipeline *f)
{
	struct distil_results *found = &f->d->found[f->party];
	uint32_t window = f->best ? f->best->window : 0;

	if (!found->read_threads) {
		jobsection_set(f->to, DISTIL_SURE, "prefetch", "0", "no thread reads ahead");
		return;
	}
	found->prefetch = window ? prefetch_of(f, window) : 2;
	if (!window)
		jobsection_set_u64(f->to, DISTIL_GUESS, "prefetch", found->prefetch,
				   "%s, so the trace does not show how far they may read ahead",
				   f->best && f->best->idle > f->best->batches / 4
					   ? "workers wait at different times"
					   : "workers never wait");
	else if (f->best->order_percent > 0)
		jobsection_set_u64(f->to, DISTIL_LIKELY, "prefetch", found->prefetch,
				   "with fewer than %u batches ahead, a rank would have taken some "
				   "batches within half a step: true of %.0f%% of epochs",
				   window, f->best->order_percent);
	else
		jobsection_set_u64(f->to,
				   f->best->window_percent >= 50 ? DISTIL_LIKELY : DISTIL_GUESS,
				   "prefetch", found->prefetch,
				   "at the start of an epoch, a rank's workers are %u batch%s "
				   "ahead of the current batch: %.0f%% of their waits show this",
				   window, window == 1 ? "" : "es", f->best->window_percent);
}

/* ---- the last batch of an epoch ---- */

/* Print drop_last= if the epochs of a rank agree. The last epoch is ignored, because it may have
 * been interrupted. */
static void print_last_batch(struct pipeline *f)
{
	const struct rank_reads *r = &f->reads.rank[0];
	uint64_t epochs = 0, parts = 0, reads = 0, n = 0;

	if (!f->best || f->has_rounds || f->batch < 2 || f->best->batch != f->batch)
		return;
	for (size_t i = 0; i < r->count; i++, n++) {
		if (!i || r->at[i].epoch == r->at[i - 1].epoch)
			continue;
		epochs++;
		parts += n % f->batch != 0;
		reads = n;
		n = 0;
	}
	if (epochs && parts == epochs)
		jobsection_set(f->to, DISTIL_LIKELY, "drop_last", "0",
			       "a rank reads %" PRIu64
			       " samples in an epoch, which is not a multiple of the batch",
			       reads);
	else if (epochs && !parts && reads * f->reads.ranks < f->d->found[f->party].num_files)
		jobsection_set(
			f->to, DISTIL_LIKELY, "drop_last", "1",
			"a rank reads only full batches, and each epoch leaves out some files");
}

/* ---- pulses of all ranks ---- */

/* If the trace names a rank and no workers, the rank reads by itself. */
static enum pulse_own own_of(const struct pipeline *f, const struct rank_reads *r)
{
	const struct distil *d = f->d;

	if (r->workers != 1)
		return PULSE_HAS_WORKERS;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank == r->rank &&
		    d->task[i].sure == SURE_STATED && d->task[i].worker != UINT32_MAX)
			return PULSE_HAS_WORKERS;
	if (2 * r->by_rank <= r->visits)
		return PULSE_HAS_WORKERS;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank == r->rank &&
		    d->task[i].sure == SURE_STATED)
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

	return t[r[0].task[0]].pid == t[r[1].task[0]].pid && t[r[0].task[0]].sure != SURE_STATED;
}

static void print_accelerators(struct pipeline *f)
{
	struct distil_results *found = &f->d->found[f->party];

	found->accelerators = f->reads.ranks;
	if (f->marks.ranks > found->accelerators)
		found->accelerators = f->marks.ranks;
	if (f->marks.ranks)
		jobsection_set_u64(f->to, DISTIL_SURE, "accelerators", found->accelerators,
				   "marked steps belong to %u rank%s", f->marks.ranks,
				   plural(f->marks.ranks));
	else if (f->reads.count > 1 && is_one_process(f))
		jobsection_set_u64(f->to, DISTIL_LIKELY, "accelerators", found->accelerators,
				   "threads of one process read in groups of %u at a time, one "
				   "batch each, like ranks that step together",
				   f->reads.ranks);
	else if (f->reads.left_out)
		jobsection_set_u64(f->to, DISTIL_GUESS, "accelerators", found->accelerators,
				   "the trace does not show the rank of each thread");
	else
		jobsection_set_u64(
			f->to, DISTIL_LIKELY, "accelerators", found->accelerators,
			"%u process%s read samples, by %s or by processes that %s forked",
			f->reads.ranks, f->reads.ranks == 1 ? "" : "es",
			f->reads.ranks == 1 ? "itself" : "themselves",
			f->reads.ranks == 1 ? "it" : "they");
}

/* ---- batch_size ---- */

static const char *pause_text(const struct pipeline *f)
{
	return f->best->kind == PULSE_SHARED ? "the workers of a rank pause"
	       : f->best->kind == PULSE_OWN  ? "a rank pauses"
					     : "a worker pauses";
}

static void print_seen_batch(struct pipeline *f)
{
	double visits = pipeline_visits(f);
	uint32_t agree = 0;

	for (uint32_t i = 0; i < f->reads.count; i++)
		agree += f->pulse[i].batch == f->best->batch;
	f->batch = (uint64_t)llround(f->best->batch / visits);
	if (!f->batch)
		f->batch = 1;
	if (f->best->spacing.every)
		jobsection_set_u64(f->to, 2 * agree > f->reads.count ? DISTIL_LIKELY : DISTIL_GUESS,
				   "batch_size", f->batch,
				   "%s before every %u%s file: this explains %.0f%% of the "
				   "variance of pauses; %u of %u rank%s examined show%s this",
				   pause_text(f), f->best->batch,
				   f->best->batch == 2   ? "nd"
				   : f->best->batch == 3 ? "rd"
							 : "th",
				   100 * f->best->spacing.explained, agree, f->reads.count,
				   plural(f->reads.count), f->reads.count == 1 ? "s" : "");
	else if (f->best->batch == 1)
		jobsection_set_u64(f->to, DISTIL_LIKELY, "batch_size", f->batch,
				   "%s before each file", pause_text(f));
	else
		jobsection_set_u64(f->to, DISTIL_GUESS, "batch_size", f->batch,
				   "the files that workers read in an epoch are multiples of this "
				   "number; no pause confirms it");
}

static void print_batch(struct pipeline *f)
{
	if (f->marks.samples) {
		f->batch = f->marks.samples;
		jobsection_set_u64(f->to, DISTIL_SURE, "batch_size", f->batch,
				   "%" PRIu64 " steps are marked, most with this many samples",
				   f->marks.steps);
	} else if (f->forward_step_ns > 0) {
		jobsection_set_u64(f->to,
				   fabs(f->forward_batch - (double)f->batch) < 0.5 ? DISTIL_LIKELY
										   : DISTIL_GUESS,
				   "batch_size", f->batch,
				   "workers receive the bytes of %.1f samples at a time; this is "
				   "the nearest round number",
				   f->forward_batch);
	} else if (f->best && f->interleaves &&
		   f->best->batch * JOB_INTERLEAVE_THREADS == f->readers) {
		/*
		 * tf.data opens as many files at once as it reads in parallel. If the batch seems
		 * to have exactly that many files, the real batch may be any fraction of it, and a
		 * real step is the same fraction of the step.
		 */
		f->batch = 1;
		f->has_rounds = true;
		for (size_t i = 0; i < f->steps; i++)
			f->step_ns[i] /= f->best->batch;
		jobsection_set(
			f->to, DISTIL_GUESS, "batch_size", "1",
			"files are opened in rounds of %u, as many as are read in parallel, which "
			"hides the size of a batch. With batch_size=N, compute_time is N times as "
			"long",
			f->best->batch);
	} else if (f->best) {
		print_seen_batch(f);
	} else {
		f->batch = 1;
		jobsection_set(f->to, DISTIL_GUESS, "batch_size", "1",
			       "workers have no regular pauses: nothing shows where a batch ends, "
			       "for example because storage was the limit");
	}
	f->d->found[f->party].batch_size = (uint32_t)u64_min(f->batch, UINT32_MAX);
}

/* ---- compute_time ---- */

static void print_time(struct pipeline *f, const double *sorted, size_t count,
		       enum distil_sure sure, const char *why)
{
	struct buf text = { 0 };
	struct timefit fit;

	timefit(&fit, sorted, count);
	dist_format(&text, &fit.dist, DIST_NS);
	if (dist_is_const(&fit.dist))
		jobsection_set(f->to, sure, "compute_time", buf_str(&text),
			       "%s; nine in ten last from %.4g to %.4g ms", why,
			       pulse_quantile(sorted, count, 0.05) / 1e6,
			       pulse_quantile(sorted, count, 0.95) / 1e6);
	else
		jobsection_set(f->to, sure, "compute_time", buf_str(&text),
			       "%s; mean %.4g ms, stdev %.4g ms, this distribution differs on "
			       "average by %.1f%% of the mean",
			       why, fit.mean_ns / 1e6, fit.stdev_ns / 1e6, fit.off_percent);
	f->d->found[f->party].compute_ns = fit.mean_ns;
	buf_fini(&text);
}

/* The mean duration of a step, with its reads and computation. */
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

static void print_bound(struct pipeline *f)
{
	double ns = f->best && !isnan(f->best->bound_ns) ? f->best->bound_ns : mean_step(f);
	struct buf text = { 0 };

	if (isnan(ns)) {
		f->d->found[f->party].compute_ns = ns;
		return;
	}
	struct dist d = timefit_constant(ns);
	dist_format(&text, &d, DIST_NS);
	jobsection_set(f->to, DISTIL_GUESS, "compute_time", buf_str(&text),
		       "AN UPPER BOUND: workers are always busy, so storage was the limit; this is "
		       "the whole time of a step, reads included. With faster storage, the real "
		       "training may be faster, too");
	f->d->found[f->party].compute_ns = (double)NAN;
	buf_fini(&text);
}

/*
 * Are the measured times steps? A step that only computes is no longer than the mean of all steps.
 * If the window is unknown, workers may have waited for something other than the rank, so all times
 * must agree.
 */
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

static void print_compute(struct pipeline *f)
{
	double percent = f->in_epoch ? 100.0 * (double)f->steps / (double)f->in_epoch : 0;
	char why[256];

	if (f->marks.compute_ns.count) {
		snprintf(why, sizeof(why), "%zu steps with marked compute time",
			 f->marks.compute_ns.count);
		print_time(f, f->marks.compute_ns.at, f->marks.compute_ns.count, DISTIL_SURE, why);
	} else if (f->forward_step_ns > 0) {
		struct dist d = timefit_constant(f->forward_step_ns);
		struct buf text = { 0 };

		dist_format(&text, &d, DIST_NS);
		jobsection_set(
			f->to, DISTIL_LIKELY, "compute_time", buf_str(&text),
			"most frequent interval at which workers that wait within a file continue");
		f->d->found[f->party].compute_ns = f->forward_step_ns;
		buf_fini(&text);
	} else if (f->marks.steps) {
		jobsection_set(f->to, DISTIL_SURE, "compute_time", "0",
			       "steps are marked, but none has compute time");
		f->d->found[f->party].compute_ns = 0;
	} else if (are_steps(f, percent)) {
		if (f->best->kind == PULSE_OWN)
			snprintf(why, sizeof(why),
				 "from the end of a batch to the begin of the next, %zu times",
				 f->steps);
		else
			snprintf(why, sizeof(why),
				 "from batch to batch, for %zu batches that idle workers began "
				 "when a rank took a finished batch: %.0f%% of all",
				 f->steps, percent);
		print_time(f, f->step_ns, f->steps, DISTIL_LIKELY, why);
	} else {
		print_bound(f);
	}
}

/* ---- barrier ---- */

/* The median distance of two ranks at the start of batches with the same number; NaN = there are
 * too few such batches. */
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

static void print_barrier(struct pipeline *f)
{
	struct timefit fit;

	if (f->d->found[f->party].accelerators < 2)
		return;
	double apart = f->reads.count > 1 ? apart_ns(&f->pulse[0], &f->pulse[1]) : (double)NAN;
	if (isnan(apart) || f->steps < STEPS_LEAST) {
		jobsection_set(f->to, DISTIL_GUESS, "barrier", "step",
			       "ranks of one training sum gradients after each step; the trace "
			       "does not show it");
		return;
	}
	timefit(&fit, f->step_ns, f->steps);
	if (apart < 0.5 * fit.mean_ns && (dist_is_const(&fit.dist) || apart < 0.5 * fit.stdev_ns))
		jobsection_set(
			f->to, DISTIL_LIKELY, "barrier", "step",
			"two ranks begin batches %.3g ms apart (median), with steps of %.4g ms",
			apart / 1e6, fit.mean_ns / 1e6);
	else
		jobsection_set(f->to, DISTIL_LIKELY, "barrier", "none",
			       "two ranks begin batches %.3g ms apart (median), although steps "
			       "last %.4g ms",
			       apart / 1e6, fit.mean_ns / 1e6);
}

int distil_pipeline(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct pipeline f = { .d = d, .party = party, .to = to };
	int rc = rankreads_read(&f.reads, d, party, STAGE_TRAIN, err);

	if (rc == 0)
		rc = stepmarks_read(&f.marks, d, party, false, err);
	if (rc == 0 && f.reads.count) {
		find_pulses(&f);

		/* Choose the loader. No option is printed yet, because forward workers may change
		 * the batch. */
		const struct pulse *p = f.best ? f.best : f.pulse;
		f.loader = has_records(&f) || loads(f.d, "/tensorflow/") ? LOADER_TFDATA
			   : p->batch && p->kind == PULSE_SHARED         ? LOADER_PLAIN
									 : LOADER_PYTORCH;
		f.readers = p->workers;
		f.interleaves = f.loader == LOADER_TFDATA && f.readers >= JOB_INTERLEAVE_THREADS &&
				f.readers % JOB_INTERLEAVE_THREADS == 0;

		pipeline_forward(&f);
		print_accelerators(&f);
		print_batch(&f);
		print_compute(&f);
		print_barrier(&f);
		print_loader(&f);
		print_workers(&f);
		print_prefetch(&f);
		rc = pipeline_start(&f, err);
		if (rc == 0)
			rc = pipeline_decoding(&f, err);
		pipeline_fresh(&f);
		print_last_batch(&f);
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
