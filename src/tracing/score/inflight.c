/* SPDX-License-Identifier: Apache-2.0 */
/* inflight.c - how many operations were under way, for how long. */
#include "tracing/score/inflight.h"

#include "base/mem.h"
#include "base/util.h"

static void swap_ends(uint64_t *a, uint64_t *b)
{
	uint64_t had = *a;

	*a = *b;
	*b = had;
}

static void drop_first(struct inflight *f)
{
	size_t i = 0;

	f->ends[0] = f->ends[--f->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= f->count)
			return;
		if (child + 1 < f->count && f->ends[child + 1] < f->ends[child])
			child++;
		if (f->ends[i] <= f->ends[child])
			return;
		swap_ends(&f->ends[i], &f->ends[child]);
		i = child;
	}
}

/* From f->now_ns to there nothing begins or ends. */
static void note_piece(const struct inflight *f, uint64_t to_ns, struct inflight_seen *seen)
{
	uint64_t ns = to_ns - f->now_ns;

	if (to_ns <= f->now_ns)
		return;
	spread_add(&seen->depth, f->count, ns);
	if (!f->count && ns >= INFLIGHT_IDLE_NS) {
		seen->idle_count++;
		seen->idle_ns += ns;
	}
}

void inflight_go(struct inflight *f, uint64_t now_ns, uint64_t until_ns, struct inflight_seen *seen)
{
	while (f->count && f->ends[0] <= now_ns) {
		if (seen)
			note_piece(f, u64_min(f->ends[0], until_ns), seen);
		f->now_ns = u64_max(f->now_ns, f->ends[0]);
		f->ended_ns = u64_max(f->ended_ns, f->ends[0]);
		drop_first(f);
	}
	if (seen)
		note_piece(f, u64_min(now_ns, until_ns), seen);
	f->now_ns = u64_max(f->now_ns, now_ns);
}

void inflight_begin(struct inflight *f, uint64_t end_ns)
{
	size_t i;

	if (f->count == INFLIGHT_MOST)
		drop_first(f);
	f->ends = mem_grow(f->ends, &f->room, f->count + 1, sizeof(*f->ends));
	i = f->count++;
	f->ends[i] = end_ns;
	while (i && f->ends[(i - 1) / 2] > f->ends[i]) {
		swap_ends(&f->ends[(i - 1) / 2], &f->ends[i]);
		i = (i - 1) / 2;
	}
}

void inflight_fini(struct inflight *f)
{
	mem_free(f->ends);
	*f = (struct inflight){ 0 };
}
