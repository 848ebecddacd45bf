/* SPDX-License-Identifier: Apache-2.0 */
/* forward.c - find the steps of workers that go through files of many samples. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/file/file.h"

/* Visits with fewer calls do not show pauses. */
#define CALLS_LEAST 6
#define RELEASES_MOST (1 << 18)
/* If a pause is shorter than this part of the usual pause, the thread did not wait. */
#define PAUSE_PART 0.1
/* Relative error of a batch that is derived from bytes. */
#define BATCH_OFF 0.03
/* A batch that is derived from the time of epochs is used if it differs by at most this part. */
#define BATCH_ALIKE 0.15
/* Steps that tf.data's prefetch(2) reads ahead. */
#define STEPS_AHEAD 2

/* The moment at which a worker continues after a wait. */
struct release {
	double ns;
	double bytes; /* read from the file so far */
};

struct release_list {
	struct release *at;
	size_t count, room; /* vec.h */
};

/* Specimens have no stage, so the few specimens from evaluations are included. */
static bool is_of_training(const struct pipeline *f, const struct specimen *s)
{
	enum file_class class = distil_class(f->d, s->visit.file);

	return !s->writes && s->count >= CALLS_LEAST &&
	       (class == CLASS_SAMPLE || class == CLASS_MADE) &&
	       f->d->task[s->visit.task].party == f->party;
}

/* The least length at which a pause of a worker is a wait; 0 = the worker has no pauses. The pause
 * in a file that is opened ahead is much longer than pauses between calls, and is left out. */
static double pause_of(const struct specimen *s)
{
	double *think = mem_array(s->count, sizeof(*think)), usual;
	size_t n = 0;

	for (uint32_t i = 1; i < s->count; i++)
		if ((double)s->calls[i].think_ns >= WAKE_NS)
			think[n++] = (double)s->calls[i].think_ns;
	pulse_sort(think, n);
	usual = pulse_quantile(think, n, 0.5);
	mem_free(think);
	return n ? fmax(PAUSE_PART * usual, WAKE_NS) : 0;
}

COMPARE_BY(by_ns, struct release, ns)

static void add_releases(struct release_list *l, const struct specimen *s)
{
	double pause = pause_of(s), ns = (double)s->visit.start_ns, bytes = 0;

	for (uint32_t i = 0; pause > 0 && i < s->count; i++) {
		const struct specimen_call *c = &s->calls[i];

		ns += i ? (double)c->think_ns : 0;
		if (i && (double)c->think_ns > pause && l->count < RELEASES_MOST)
			vec_push(l, (struct release){ ns, bytes });
		ns += (double)c->duration_ns;
		if (c->op == TRACE_READ && c->result > 0)
			bytes += (double)c->result;
	}
}

/* The number of factors 2 and 5: people choose round batches. */
static unsigned roundness(uint64_t n)
{
	unsigned round = 0;

	for (; n && n % 2 == 0; n /= 2)
		round++;
	for (; n && n % 5 == 0; n /= 5)
		round++;
	return round;
}

/* The roundest number in the range, allowing for the error of its ends. */
static uint64_t roundest(double least, double most)
{
	uint64_t best = (uint64_t)fmax(1, round(least));

	least -= fmax(BATCH_OFF * least, 0.6);
	most += fmax(BATCH_OFF * most, 0.6);
	for (uint64_t n = (uint64_t)fmax(1, ceil(least)); (double)n <= most; n++)
		if (roundness(n) > roundness(best))
			best = n;
	return best;
}

/* The batch for which epochs have as many steps as fit into their time, if nothing else held them
 * up. Steps that were read ahead are added. NaN = there are no epochs. */
static double batch_by_time(const struct pipeline *f, double step_ns)
{
	const struct distil *d = f->d;
	const struct distil_results *found = &d->found[f->party];
	double samples = (double)found->num_files * (double)found->samples_per_file /
			 fmax(f->reads.ranks, 1);
	double ns = 0, epochs = 0;

	for (uint32_t i = 0; i < d->stage_count; i++) {
		const struct distil_stage *at = &d->stages[i];

		if (at->kind != STAGE_TRAIN || at->party != f->party || at->start_ns == UINT64_MAX)
			continue;
		ns += (double)(at->end_ns - at->start_ns);
		epochs++;
	}
	return samples / (ns / epochs / step_ns + STEPS_AHEAD);
}

/* Workers interleave several files, a sample of each in turn. If each file has its own thread, some
 * of them may be open ahead, and only the time of epochs shows the batch. */
static void find_batch(struct pipeline *f, double step_ns)
{
	const struct distil_results *found = &f->d->found[f->party];
	const struct specimens *all = &f->d->specimens;
	double files = f->interleaves ? f->readers / JOB_INTERLEAVE_THREADS : f->readers;
	double by_time = batch_by_time(f, step_ns), bytes = 0, steps = 0, about;
	struct release_list l = { 0 };

	for (uint32_t i = 0; i < all->count; i++) {
		if (!is_of_training(f, &all->at[i]))
			continue;
		l.count = 0;
		add_releases(&l, &all->at[i]);
		if (l.count < 2)
			continue;
		bytes += l.at[l.count - 1].bytes - l.at[0].bytes;
		steps += round((l.at[l.count - 1].ns - l.at[0].ns) / step_ns);
	}
	mem_free(l.at);
	if (steps < 1 || bytes <= 0 || !found->sample_bytes)
		return;
	about = bytes / steps * fmax(files, 1) / f->sample_bytes;
	if (found->num_files <= f->readers && by_time > 0)
		about = by_time;
	if (!(fabs(by_time / about - 1) < BATCH_ALIKE))
		by_time = about;
	f->forward_batch = about;
	f->batch = roundest(fmin(about, by_time), fmax(about, by_time));
	f->forward_step_ns = step_ns;
}

void pipeline_forward(struct pipeline *f)
{
	const struct distil_results *found = &f->d->found[f->party];
	const struct specimens *all = &f->d->specimens;
	struct release_list l = { 0 };
	uint32_t rank = f->reads.rank[0].rank;
	double step_ns = 0;

	if (found->samples_per_file < 2 || f->marks.samples ||
	    !format_of(found->format)->is_forward)
		return;
	/* Visits are whole files here, so pauses between visits do not show batches. */
	f->best = NULL;
	f->steps = 0;

	double bytes = 0, files = 0;
	for (uint32_t i = 0; i < all->count; i++)
		if (is_of_training(f, &all->at[i]) && all->at[i].file_bytes != TRACE_UNKNOWN) {
			bytes += (double)all->at[i].file_bytes;
			files++;
		}
	f->sample_bytes = files > 0 && found->samples_per_file
				  ? bytes / files / (double)found->samples_per_file
				  : (double)found->sample_bytes;

	for (uint32_t i = 0; i < all->count; i++)
		if (is_of_training(f, &all->at[i]) &&
		    (f->reads.ranks < 2 || f->d->task[all->at[i].visit.task].rank == rank))
			add_releases(&l, &all->at[i]);
	if (l.count > CALLS_LEAST) {
		double *apart = mem_array(l.count + 1, sizeof(*apart)), pause;
		size_t n = 0, count = l.count - 1;

		/* The time from one release to the next, by any worker, is either close to zero (in
		 * the same step) or usually one step. */
		step_ns = 0;
		qsort(l.at, l.count, sizeof(*l.at), by_ns);
		for (size_t i = 0; i < count; i++)
			apart[i] = l.at[i + 1].ns - l.at[i].ns;
		pulse_sort(apart, count);
		pause = PAUSE_PART * pulse_quantile(apart, count, 0.95);
		while (n < count && apart[n] < fmax(pause, WAKE_NS))
			n++;
		if (n + CALLS_LEAST <= count) {
			struct timefit fit;

			timefit(&fit, apart + n, count - n);
			if (dist_is_const(&fit.dist))
				step_ns = fit.dist.a;
		}
		mem_free(apart);
	}
	mem_free(l.at);
	if (step_ns > 0)
		find_batch(f, step_ns);
}
