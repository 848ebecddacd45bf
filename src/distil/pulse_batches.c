/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_batches.c - the reads of a rank as batches, in the order in which it takes them. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "distil/pulse_inside.h"

/* Of one epoch: where a worker stands in the turn of all. */
struct worker_turn {
	uint32_t worker, rows;
	double began_ns; /* of its rows that all have, the sum */
	uint32_t turn;
};

struct batch_list {
	struct pulse_batch *at;
	size_t count, room; /* vec.h */
	size_t first;       /* of the epoch */
	size_t *open;       /* of a worker, + 1; the last is that of all */
	struct worker_turn *turns;
};

static struct pulse_batch *batch_new(struct batch_list *l)
{
	vec_push(l, (struct pulse_batch){ 0 });
	return vec_last(l);
}

static void add_read(struct batch_list *l, const struct pulse_read *r, const struct spaced *at,
		     uint32_t reader, uint32_t batch)
{
	struct pulse_batch *b;

	if (at->position % batch == 0) {
		b = batch_new(l);
		*b = (struct pulse_batch){
			.start_ns = r->start_ns,
			.pause_ns = at->position ? at->pause_ns : (double)NAN,
			.epoch = r->epoch,
			.worker = r->worker,
			.row = at->position / batch,
			.number = at->position / batch,
		};
		l->open[reader] = l->count;
	}
	b = &l->at[l->open[reader] - 1];
	b->end_ns = u64_max(b->end_ns, r->end_ns);
	b->reads++;
}

static int by_beginning(const void *a, const void *b)
{
	const struct worker_turn *x = a, *y = b;

	return x->rows && y->rows ? COMPARE(x->began_ns, y->began_ns) : COMPARE(y->rows, x->rows);
}

COMPARE_BY(by_number, struct pulse_batch, number)

static uint32_t rows_of_all(const struct worker_turn *turns, uint32_t workers)
{
	uint32_t rows = UINT32_MAX;

	for (uint32_t w = 0; w < workers; w++)
		if (turns[w].rows && turns[w].rows < rows)
			rows = turns[w].rows;
	return rows;
}

/*
 * Batch k is of the worker whose turn it is, (k mod workers)'s. All begin at once, and only then
 * one after the other: the later rows say whose turn it is.
 */
static void number_epoch(struct batch_list *l, uint32_t workers)
{
	uint32_t rows, there = 0;

	for (uint32_t w = 0; w < workers; w++)
		l->turns[w] = (struct worker_turn){ .worker = w };
	for (size_t i = l->first; i < l->count; i++)
		l->turns[l->at[i].worker].rows++;
	rows = rows_of_all(l->turns, workers);
	for (size_t i = l->first; i < l->count; i++)
		if (l->at[i].row >= rows / 2 && l->at[i].row < rows)
			l->turns[l->at[i].worker].began_ns +=
				(double)(l->at[i].start_ns - l->at[l->first].start_ns);
	if (workers)
		qsort(l->turns, workers, sizeof(*l->turns), by_beginning);
	/* By worker again: its turn stands in `open`, which is at its end. */
	for (uint32_t t = 0; t < workers; t++) {
		there += l->turns[t].rows > 0;
		l->open[l->turns[t].worker] = t;
	}
	for (size_t i = l->first; i < l->count; i++)
		l->at[i].number = (uint64_t)l->at[i].row * there + l->open[l->at[i].worker];
	if (l->count > l->first)
		qsort(l->at + l->first, l->count - l->first, sizeof(*l->at), by_number);
}

size_t pulse_batches(struct pulse *p, const struct pulse_read *reads, const struct pulse_gaps *gaps,
		     size_t count, uint32_t workers, struct pulse_batch **to)
{
	bool is_shared = p->kind == PULSE_SHARED;
	struct batch_list l = { 0 };

	l.open = mem_array(workers + 1, sizeof(*l.open));
	l.turns = mem_array(workers, sizeof(*l.turns));
	for (size_t i = 0; i < count; i++) {
		if (i && reads[i].epoch != reads[i - 1].epoch) {
			if (!is_shared)
				number_epoch(&l, workers);
			l.first = l.count;
		}
		add_read(&l, &reads[i], is_shared ? &gaps->by_rank[i] : &gaps->by_worker[i],
			 is_shared ? workers : reads[i].worker, p->batch);
	}
	if (!is_shared)
		number_epoch(&l, workers);
	mem_free(l.open);
	mem_free(l.turns);
	*to = l.at;
	return l.count;
}
