/* SPDX-License-Identifier: Apache-2.0 */
/* pulse_groups.c - readers that work at the same time, each at a batch of its own: those of several
 * ranks. */
#include "base/mem.h"
#include "base/util.h"
#include "distil/pulse_inside.h"

/* Of what pauses of a worker differ in: then it has whole batches. */
#define EXPLAINED_LEAST 0.5

struct pulse_groups pulse_groups_of(const struct pulse_read *reads, size_t count, uint32_t workers)
{
	struct pulse_groups to = { .groups = 1 };
	struct spacing worker, all;
	struct pulse_gaps g;

	g.by_worker = mem_array(count, sizeof(*g.by_worker));
	g.by_rank = mem_array(count, sizeof(*g.by_rank));
	pulse_measure_gaps(&g, reads, count, workers);
	worker = spacing_of(g.by_worker, count);
	all = spacing_of(g.by_rank, count);
	mem_free(g.by_worker);
	mem_free(g.by_rank);
	if (!worker.every || worker.explained < EXPLAINED_LEAST || all.every <= worker.every ||
	    all.every % worker.every)
		return to;
	/* As many as all workers could share batches as well. */
	if (all.every / worker.every >= workers || workers % (all.every / worker.every))
		return to;
	to.groups = all.every / worker.every;
	to.batch = worker.every;
	to.workers = workers;
	return to;
}

struct group_count {
	const struct pulse_groups *g;
	const uint32_t *group;
	uint32_t *has, *of_worker; /* reads of a group, and of a worker */
	uint64_t times, whole, right;
};

/* As many reads as all groups have at a time: are they a batch of one worker for each batch there
 * is, and each worker's group another one? */
static void look_at_time(struct group_count *c, const struct pulse_read *at, size_t together)
{
	bool is_whole = true, is_right = true;

	for (size_t i = 0; i < together; i++) {
		c->has[c->group[at[i].worker]]++;
		c->of_worker[at[i].worker]++;
	}
	for (size_t i = 0; i < together; i++) {
		is_whole &= c->of_worker[at[i].worker] == c->g->batch;
		is_right &= c->has[c->group[at[i].worker]] == c->g->batch;
	}
	for (size_t i = 0; i < together; i++)
		c->has[c->group[at[i].worker]] = c->of_worker[at[i].worker] = 0;
	c->times++;
	c->whole += is_whole;
	c->right += is_whole && is_right;
}

double pulse_groups_part(const struct pulse_groups *g, const struct pulse_read *reads, size_t count,
			 const uint32_t *group)
{
	struct group_count c = { .g = g, .group = group };
	size_t begin = 0, together = (size_t)g->groups * g->batch;

	c.has = mem_array(g->groups, sizeof(*c.has));
	c.of_worker = mem_array(g->workers, sizeof(*c.of_worker));
	while (begin + together <= count) {
		uint32_t last = reads[begin + together - 1].epoch;

		/* A last batch of an epoch may be short: it is left out. */
		if (reads[begin].epoch != last) {
			while (reads[begin].epoch != last)
				begin++;
			continue;
		}
		look_at_time(&c, &reads[begin], together);
		begin += together;
	}
	mem_free(c.has);
	mem_free(c.of_worker);
	/* At the begin of an epoch all read several at once. */
	return 3 * c.whole >= c.times && c.whole ? (double)c.right / (double)c.whole : 0;
}
