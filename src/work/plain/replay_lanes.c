/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lanes.c - see replay_lanes.h. */
#include "work/plain/replay_lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/util.h"
#include "describe/opkind.h"

#define WORKERS_MOST 4096

struct lane_thread {
	uint64_t first_ns, last_ns; /* its first start, its last end */
	uint32_t number;
	unsigned worker;
};

static uint64_t key_of(const struct trace_record *r)
{
	return (uint64_t)r->pid << 32 | r->tid;
}

void replay_lanes_add(struct replay_lanes *l, const struct trace_record *r)
{
	bool is_new = false;
	uint32_t n = map_number(&l->keys, key_of(r), &is_new);
	uint64_t end = opkind_end_ns(r);
	struct lane_thread *t;

	if (is_new)
		vec_push(&l->threads, (struct lane_thread){ .first_ns = r->start_ns,
							    .last_ns = end,
							    .number = n });
	t = &l->threads.at[n];
	if (r->start_ns < t->first_ns)
		t->first_ns = r->start_ns;
	if (end > t->last_ns)
		t->last_ns = end;
}

COMPARE_BY(by_first, struct lane_thread, first_ns)

COMPARE_BY(by_number, struct lane_thread, number)

/* The first worker whose last thread has ended by then; else a new one. */
static unsigned free_worker(const uint64_t *ends, unsigned workers, uint64_t from_ns)
{
	unsigned w = 0;

	while (w < workers && ends[w] >= from_ns)
		w++;
	return w;
}

int replay_lanes_share(struct replay_lanes *l, uint64_t most, struct mlgen_err *err)
{
	VEC(uint64_t) ends = { 0 };

	if (l->threads.count == 0)
		return 0;
	qsort(l->threads.at, l->threads.count, sizeof(*l->threads.at), by_first);
	for (uint32_t i = 0; i < l->threads.count; i++) {
		struct lane_thread *t = &l->threads.at[i];
		unsigned w = free_worker(ends.at, l->workers, t->first_ns);

		if (w == l->workers && most && w == most)
			w = i % (unsigned)most;
		if (w == l->workers) {
			vec_push(&ends, 0);
			l->workers++;
		}
		ends.at[w] = u64_max(ends.at[w], t->last_ns);
		t->worker = w;
	}
	vec_fini(&ends);
	qsort(l->threads.at, l->threads.count, sizeof(*l->threads.at), by_number);
	if (l->workers <= WORKERS_MOST)
		return 0;
	return mlgen_fail(err, -E2BIG,
			  "the trace has %u threads at the same time, more than %d; "
			  "replay_threads=256 lets them share so many",
			  l->workers, WORKERS_MOST);
}

unsigned replay_lanes_of(const struct replay_lanes *l, const struct trace_record *r)
{
	uint32_t n = 0;

	return map_find(&l->keys, key_of(r), &n) ? l->threads.at[n].worker : 0;
}

void replay_lanes_fini(struct replay_lanes *l)
{
	map_fini(&l->keys);
	vec_fini(&l->threads);
	*l = (struct replay_lanes){ 0 };
}
