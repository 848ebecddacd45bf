/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.c - which reads are a batch: those between two pauses, of one worker or of all of them. */
#include "distil/pulse_inside.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"

/* Fewer show nothing. */
#define READS_LEAST 8

void pulse_sort(double *at, size_t count)
{
	if (count)
		qsort(at, count, sizeof(*at), f64_compare);
}

double pulse_quantile(const double *sorted, size_t count, double part)
{
	double at = part * (double)(count - 1);
	size_t i = count ? (size_t)at : 0;

	if (!count)
		return (double)NAN;
	if (i + 1 >= count)
		return sorted[count - 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* ---- gaps ---- */

struct worker_place {
	uint64_t end_ns;
	uint32_t epoch, position;
	bool is_there;
};

void pulse_measure_gaps(struct pulse_gaps *g, const struct pulse_read *reads, size_t count,
			uint32_t workers)
{
	struct worker_place *w = mem_array(workers, sizeof(*w)), all = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct pulse_read *r = &reads[i];
		struct worker_place *of[2] = { &w[r->worker], &all };
		struct spaced *to[2] = { &g->by_worker[i], &g->by_rank[i] };

		for (int k = 0; k < 2; k++) {
			struct worker_place *p = of[k];

			if (!p->is_there || p->epoch != r->epoch)
				*p = (struct worker_place){ r->start_ns, r->epoch, 0, true };
			else
				p->position++;
			to[k]->position = p->position;
			to[k]->pause_ns = (double)r->start_ns - (double)p->end_ns;
			p->end_ns = u64_max(p->end_ns, r->end_ns);
		}
	}
	mem_free(w);
}

/* In an epoch, side by side: the mean of the epochs. Workers may be forked anew for each. */
static uint32_t workers_at_once(const struct pulse_gaps *g, const struct pulse_read *reads,
				size_t count)
{
	uint64_t first = 0, epochs = 0;

	for (size_t i = 0; i < count; i++) {
		first += g->by_worker[i].position == 0;
		epochs += i == 0 || reads[i].epoch != reads[i - 1].epoch;
	}
	return epochs ? (uint32_t)((first + epochs / 2) / epochs) : 0;
}

/* ---- how many reads are a batch, and whose ---- */

/* Of batches of so many reads of all workers, how many are of one? */
static double of_one_worker(const struct pulse_gaps *g, const struct pulse_read *reads,
			    size_t count, uint32_t batch)
{
	uint64_t batches = 0, alone = 0;
	bool is_one = true;

	for (size_t i = 1; i <= count; i++) {
		bool begins = i == count || g->by_rank[i].position % batch == 0;

		if (begins) {
			batches++;
			alone += is_one;
			is_one = true;
		} else if (reads[i].worker != reads[i - 1].worker) {
			is_one = false;
		}
	}
	return batches ? (double)alone / (double)batches : 0;
}

/* Does each read, or batch, belong to the worker that had the one as many before it as there are
 * workers? */
static double in_turn(const struct pulse_gaps *g, const struct pulse_read *reads, size_t count,
		      uint32_t workers)
{
	uint64_t all = 0, same = 0;

	for (size_t i = workers; i < count; i++) {
		if (g->by_rank[i].position < workers)
			continue;
		all++;
		same += reads[i].worker == reads[i - workers].worker;
	}
	return all ? (double)same / (double)all : 0;
}

static uint32_t divisor_of(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * A worker of a batch each has read a multiple of it in an epoch, and those with one batch more
 * make the divisor the batch itself. 0 where all have as many, or where there is nothing in common.
 */
static uint32_t batch_of_counts(const struct pulse_gaps *g, const struct pulse_read *reads,
				size_t count, uint32_t workers)
{
	uint32_t *last = mem_array(workers, sizeof(*last)), divisor = 0;
	uint32_t least = UINT32_MAX, most = 0;
	uint32_t epoch = count ? reads[0].epoch : 0;

	for (size_t i = 0; i < count && reads[i].epoch == epoch; i++)
		last[reads[i].worker] = g->by_worker[i].position + 1;
	for (uint32_t w = 0; w < workers; w++) {
		if (!last[w])
			continue;
		divisor = divisor_of(divisor, last[w]);
		least = last[w] < least ? last[w] : least;
		most = last[w] > most ? last[w] : most;
	}
	mem_free(last);
	return most > least && most - least == divisor && divisor > 1 ? divisor : 0;
}

/* Each read has a pause in front of it that is none of a thread that goes on. */
static bool each_pauses(const struct pulse_gaps *g, const struct pulse_read *reads, size_t count)
{
	double *pause = mem_array(count, sizeof(*pause));
	double *busy = mem_array(count, sizeof(*busy));
	double middle, read;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!g->by_worker[i].position)
			continue;
		pause[n] = g->by_worker[i].pause_ns;
		busy[n++] = (double)(reads[i].end_ns - reads[i].start_ns);
	}
	pulse_sort(pause, n);
	pulse_sort(busy, n);
	middle = pulse_quantile(pause, n, 0.5);
	read = pulse_quantile(busy, n, 0.5);
	mem_free(pause);
	mem_free(busy);
	return n >= READS_LEAST && middle > 2 * WAKE_NS && middle > 0.2 * read;
}

static void find_one(struct pulse *p, const struct pulse_gaps *g, const struct pulse_read *reads,
		     size_t count)
{
	double turns = in_turn(g, reads, count, p->workers);

	p->batch = 1;
	p->regular = turns;
	p->kind = turns >= 0.8 ? PULSE_WORKER : PULSE_SHARED;
}

static void find_batch(struct pulse *p, const struct pulse_gaps *g, const struct pulse_read *reads,
		       size_t count, uint32_t workers)
{
	struct spacing worker = spacing_of(g->by_worker, count);
	struct spacing rank = spacing_of(g->by_rank, count);
	double alone = rank.every ? of_one_worker(g, reads, count, rank.every) : 0;
	bool is_shared = p->workers > 1 && rank.every && alone < 0.5 &&
			 rank.every != worker.every && rank.explained > 0.5 * worker.explained;

	/* Of small batches several workers' pauses fall together. */
	if (p->workers > 1 && rank.every && rank.every == worker.every && alone < 0.5 &&
	    rank.explained > worker.explained)
		is_shared = true;
	p->kind = is_shared ? PULSE_SHARED : PULSE_WORKER;
	p->spacing = is_shared ? rank : worker;
	p->batch = p->spacing.every;
	p->regular = is_shared ? 1 - alone : alone;
	if (p->batch)
		return;
	if (each_pauses(g, reads, count))
		find_one(p, g, reads, count);
	else
		p->batch = batch_of_counts(g, reads, count, workers);
}

/* ---- pauses that are none of a batch ---- */

/* In front of reads that begin no batch, sorted; how many. */
static size_t inner_gaps(const struct pulse *p, const struct spaced *at, size_t count, double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (at[i].position % p->batch)
			to[n++] = at[i].pause_ns;
	pulse_sort(to, n);
	return n;
}

static void mark_idle(struct pulse *p, const struct pulse_gaps *g, size_t reads,
		      struct pulse_batch *at, size_t count)
{
	double *gap = mem_array(reads, sizeof(*gap));
	size_t n = inner_gaps(p, g->by_worker, reads, gap);
	double longest, middle;

	p->think_ns = n ? pulse_quantile(gap, n, 0.5) : 0;
	if (p->kind == PULSE_SHARED)
		n = inner_gaps(p, g->by_rank, reads, gap);
	middle = n ? pulse_quantile(gap, n, 0.5) : 0;
	if (middle < 0)
		middle = 0;
	longest = n ? 3 * (pulse_quantile(gap, n, 0.9) - middle) : 0;
	mem_free(gap);
	if (longest < WAKE_NS)
		longest = WAKE_NS;
	for (size_t i = 0; i < count; i++)
		at[i].is_idle = at[i].pause_ns > middle + longest;
}

/* In most epochs nobody waits in front of the second batch. */
static bool goes_on(const struct pulse_batch *at, size_t count)
{
	int went_on = 0;

	for (size_t i = 1; i < count; i++)
		if (at[i].number == 1 && at[i].epoch == at[i - 1].epoch)
			went_on += at[i].is_idle ? -1 : 1;
	return went_on > 0;
}

void pulse_find(struct pulse *p, const struct pulse_read *reads, size_t count, uint32_t workers,
		enum pulse_own own)
{
	struct pulse_gaps g;
	struct pulse_batch *at = NULL;
	size_t n;

	*p = (struct pulse){ .bound_ns = (double)NAN };
	if (count < READS_LEAST)
		return;
	g.by_worker = mem_array(count, sizeof(*g.by_worker));
	g.by_rank = mem_array(count, sizeof(*g.by_rank));
	pulse_measure_gaps(&g, reads, count, workers);
	p->workers = workers_at_once(&g, reads, count);
	find_batch(p, &g, reads, count, workers);
	n = p->batch ? pulse_batches(p, reads, &g, count, workers, &at) : 0;
	if (n)
		mark_idle(p, &g, count, at, n);
	if (own == PULSE_IS_OWN || (own == PULSE_MAY_BE_OWN && !goes_on(at, n))) {
		p->kind = PULSE_OWN;
		p->workers = 0;
	}
	if (n)
		pulse_steps(p, at, n);
	mem_free(at);
	mem_free(g.by_worker);
	mem_free(g.by_rank);
}

void pulse_fini(struct pulse *p)
{
	mem_free(p->step_ns);
	mem_free(p->begun_ns);
	*p = (struct pulse){ 0 };
}
