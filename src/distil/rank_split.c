/* SPDX-License-Identifier: Apache-2.0 */
/* rank_split.c - ranks that are threads of one process: their workers read at the same time, each a
 * batch. */
#include "distil/rank_split.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "distil/rankreads.h"

#define WORKERS_LEAST 4
/* Of the times at which some read: those that are as ranks would read. */
#define AGREE_PART 0.8

/* By their thread's number, in which order they were begun. */
struct split_worker {
	uint32_t tid, worker;
};

COMPARE_BY(by_tid, struct split_worker, tid)

/* All of them threads of one process, of which nothing says whose they are. */
static bool may_be_several(const struct distil *d, const struct rankreads *r)
{
	const struct rank_reads *all = r->rank;

	if (r->ranks != 1 || r->count != 1 || all->workers < WORKERS_LEAST)
		return false;
	for (uint32_t w = 0; w < all->workers; w++) {
		const struct distil_task *t = &d->task[all->task[w]];

		if (t->sure == SURE_SAID || t->pid != d->task[all->task[0]].pid)
			return false;
	}
	return true;
}

/* Ranks follow one another in the order in which workers were begun. */
static void deal(uint32_t *rank_of, struct split_worker *order, const struct distil *d,
		 const struct rank_reads *all, uint32_t ranks)
{
	for (uint32_t w = 0; w < all->workers; w++)
		order[w] = (struct split_worker){ d->task[all->task[w]].tid, w };
	qsort(order, all->workers, sizeof(*order), by_tid);
	for (uint32_t i = 0; i < all->workers; i++)
		rank_of[order[i].worker] = i / (all->workers / ranks);
}

static void number(struct distil *d, const struct rank_reads *all, const struct split_worker *order,
		   uint32_t ranks)
{
	uint32_t each = all->workers / ranks;

	for (uint32_t i = 0; i < all->workers; i++) {
		struct distil_task *t = &d->task[all->task[order[i].worker]];

		t->rank = i / each;
		t->worker = i % each;
	}
}

int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct rankreads r;
	int rc = rankreads_of(&r, d, party, STAGE_TRAIN, err);
	const struct rank_reads *all = r.rank;
	struct pulse_groups g = { 0 };

	if (rc == 0 && may_be_several(d, &r))
		g = pulse_groups_of(all->at, all->count, all->workers);
	if (g.groups > 1) {
		uint32_t *rank_of = mem_array(all->workers, sizeof(*rank_of));
		struct split_worker *order = mem_array(all->workers, sizeof(*order));

		deal(rank_of, order, d, all, g.groups);
		if (pulse_groups_part(&g, all->at, all->count, rank_of) >= AGREE_PART)
			number(d, all, order, g.groups);
		mem_free(rank_of);
		mem_free(order);
	}
	rankreads_fini(&r);
	return rc;
}
