/* SPDX-License-Identifier: Apache-2.0 */
/* forward_found.c - steps of readers that go through files of many samples, by pauses in them. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/file/file.h"

/* A visit of fewer calls says nothing. */
#define CALLS_LEAST 6
#define RELEASES_MOST (1 << 18)
/* A pause is one if it is such a part of the usual ones. */
#define PAUSE_PART 0.1
/* Relative error of a batch that follows from bytes. */
#define BATCH_OFF 0.03
/* A batch that follows from the time of epochs counts if it is this near. */
#define BATCH_ALIKE 0.15
/* Steps that tf.data's prefetch(2) reads ahead. */
#define STEPS_AHEAD 2

struct forward {
	struct pipeline *f;
	double *release_ns; /* when a reader went on that had to wait */
	size_t releases;
	double step_ns;
	double bytes, steps; /* of a reader, while it has one file */
};

/* Specimens have no stage; those of evaluations are few. */
static bool is_of_training(const struct pipeline *f, const struct specimen *s)
{
	enum file_class class = distil_class(f->d, s->visit.file);

	return !s->writes && s->count >= CALLS_LEAST &&
	       (class == CLASS_SAMPLE || class == CLASS_MADE) &&
	       f->d->task[s->visit.task].party == f->party;
}

/* Pauses that are longer are waited for; 0 = there are none. One of a file that is opened ahead is
 * much longer than those between its calls: it says nothing of them. */
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

typedef void each_release(struct forward *w, double at_ns, double bytes);

/* `bytes`: that were read of the file before it. */
static void releases_of(struct forward *w, const struct specimen *s, each_release *each)
{
	double pause = pause_of(s), at = (double)s->visit.start_ns, bytes = 0;

	for (uint32_t i = 0; pause > 0 && i < s->count; i++) {
		const struct specimen_call *c = &s->calls[i];

		at += i ? (double)c->think_ns : 0;
		if (i && (double)c->think_ns > pause)
			each(w, at, bytes);
		at += (double)c->duration_ns;
		if (c->op == TRACE_READ && c->result > 0)
			bytes += (double)c->result;
	}
}

static void note_release(struct forward *w, double at_ns, double bytes)
{
	(void)bytes;
	if (w->releases < RELEASES_MOST)
		w->release_ns[w->releases++] = at_ns;
}

/* From one release to the next, of any reader: most are a step apart, those of the same step next
 * to nothing. */
static void find_step(struct forward *w)
{
	struct timefit fit;
	size_t n = 0;
	double pause;

	pulse_sort(w->release_ns, w->releases);
	for (size_t i = 1; i < w->releases; i++)
		w->release_ns[i - 1] = w->release_ns[i] - w->release_ns[i - 1];
	pulse_sort(w->release_ns, w->releases - 1);
	pause = PAUSE_PART * pulse_quantile(w->release_ns, w->releases - 1, 0.95);
	while (n < w->releases - 1 && w->release_ns[n] < fmax(pause, WAKE_NS))
		n++;
	if (n + CALLS_LEAST > w->releases - 1)
		return;
	timefit(&fit, w->release_ns + n, w->releases - 1 - n);
	if (dist_is_const(&fit.dist))
		w->step_ns = fit.dist.a;
}

/* Between the first and the last release of a specimen. */
struct whole_steps {
	struct forward w; /* first: what is handed on */
	double first_ns, first_bytes, last_ns, last_bytes;
	unsigned count;
};

static void note_bytes(struct forward *w, double at_ns, double bytes)
{
	struct whole_steps *s = (struct whole_steps *)w;

	if (!s->count++) {
		s->first_ns = at_ns;
		s->first_bytes = bytes;
	}
	s->last_ns = at_ns;
	s->last_bytes = bytes;
}

static void measure_bytes(struct forward *w)
{
	const struct specimens *all = &w->f->d->specimens;

	for (uint32_t i = 0; i < all->count; i++) {
		struct whole_steps s = { .w = *w };

		if (!is_of_training(w->f, &all->at[i]))
			continue;
		releases_of(&s.w, &all->at[i], note_bytes);
		if (s.count < 2)
			continue;
		w->bytes += s.last_bytes - s.first_bytes;
		w->steps += round((s.last_ns - s.first_ns) / w->step_ns);
	}
}

/* How round a number is: people choose those. */
static unsigned roundness(uint64_t n)
{
	unsigned round = 0;

	for (; n && n % 2 == 0; n /= 2)
		round++;
	for (; n && n % 5 == 0; n /= 5)
		round++;
	return round;
}

/* Between these two, or so near to them. */
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

/* Epochs last for their steps, less those that are read ahead, where nothing else held them up; NaN
 * = there are none. */
static double batch_by_time(const struct forward *w)
{
	const struct distil *d = w->f->d;
	const struct distil_found *found = &d->found[w->f->party];
	double samples = (double)found->num_files * (double)found->samples_per_file /
			 fmax(w->f->reads.ranks, 1);
	double ns = 0, epochs = 0;

	for (uint32_t i = 0; i < d->stage_count; i++) {
		const struct distil_stage *at = &d->stages[i];

		if (at->kind != STAGE_TRAIN || at->party != w->f->party ||
		    at->start_ns == UINT64_MAX)
			continue;
		ns += (double)(at->end_ns - at->start_ns);
		epochs++;
	}
	return samples / (ns / epochs / w->step_ns + STEPS_AHEAD);
}

/* Lanes are files that are read side by side, a sample of each in turn. Where each file has its own
 * thread, some may be open ahead, and only time says it. */
static void find_batch(struct forward *w)
{
	const struct distil_found *found = &w->f->d->found[w->f->party];
	double lanes = w->f->interleaves ? w->f->readers / JOB_INTERLEAVE_THREADS : w->f->readers;
	double by_time = batch_by_time(w), about;

	measure_bytes(w);
	if (w->steps < 1 || w->bytes <= 0 || !found->sample_bytes)
		return;
	about = w->bytes / w->steps * fmax(lanes, 1) / w->f->sample_bytes;
	if (found->num_files <= w->f->readers && by_time > 0)
		about = by_time;
	if (!(fabs(by_time / about - 1) < BATCH_ALIKE))
		by_time = about;
	w->f->forward_batch = about;
	w->f->batch = roundest(fmin(about, by_time), fmax(about, by_time));
	w->f->forward_step_ns = w->step_ns;
}

/* Bytes of a sample in its file, with framing. */
static double bytes_of_sample(const struct pipeline *f)
{
	const struct distil_found *found = &f->d->found[f->party];
	const struct specimens *all = &f->d->specimens;
	double bytes = 0, files = 0;

	for (uint32_t i = 0; i < all->count; i++)
		if (is_of_training(f, &all->at[i]) && all->at[i].file_bytes != TRACE_UNKNOWN) {
			bytes += (double)all->at[i].file_bytes;
			files++;
		}
	return files > 0 && found->samples_per_file
		       ? bytes / files / (double)found->samples_per_file
		       : (double)found->sample_bytes;
}

void pipeline_forward(struct pipeline *f)
{
	const struct distil_found *found = &f->d->found[f->party];
	const struct specimens *all = &f->d->specimens;
	struct forward w = { .f = f };
	uint32_t rank = f->reads.rank[0].rank;

	if (found->samples_per_file < 2 || f->marks.samples ||
	    !format_of(found->format)->is_forward)
		return;
	/* Visits are files, and pauses between these no batches. */
	f->best = NULL;
	f->steps = 0;
	f->sample_bytes = bytes_of_sample(f);
	w.release_ns = mem_array(RELEASES_MOST, sizeof(*w.release_ns));
	for (uint32_t i = 0; i < all->count; i++)
		if (is_of_training(f, &all->at[i]) &&
		    (f->reads.ranks < 2 || f->d->task[all->at[i].visit.task].rank == rank))
			releases_of(&w, &all->at[i], note_release);
	if (w.releases > CALLS_LEAST)
		find_step(&w);
	mem_free(w.release_ns);
	if (w.step_ns > 0)
		find_batch(&w);
}
