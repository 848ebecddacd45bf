/* SPDX-License-Identifier: Apache-2.0 */
/* live_join.c - looks of several processes at one job become one; see live.h. */
#include <math.h>
#include <string.h>

#include "run/live.h"

/* Members are summed from what both were before: rows share some of them. */
struct joining {
	struct live *to;
	struct live before;
	const struct live *other;
};

static uint64_t count_at(const struct live *l, size_t off)
{
	uint64_t n;

	memcpy(&n, (const char *)l + off, sizeof(n));
	return n;
}

static void put_count(const struct joining *j, size_t off, uint64_t n)
{
	memcpy((char *)j->to + off, &n, sizeof(n));
}

static void join_sum(const struct joining *j, size_t off)
{
	put_count(j, off, count_at(&j->before, off) + count_at(j->other, off));
}

/* UINT64_MAX = not known. */
static void join_most(const struct joining *j, size_t off)
{
	uint64_t a = count_at(&j->before, off), b = count_at(j->other, off);

	if (a == UINT64_MAX || (b != UINT64_MAX && b > a))
		put_count(j, off, b);
}

static void join_least(const struct joining *j, size_t off)
{
	double a, b;

	memcpy(&a, (const char *)&j->before + off, sizeof(a));
	memcpy(&b, (const char *)j->other + off, sizeof(b));
	a = fmin(a, b); /* of what is known */
	memcpy((char *)j->to + off, &a, sizeof(a));
}

static void join_row(const struct joining *j, const struct live_field *f)
{
	bool has_of =
		f->kind == LIVE_SHARE || (f->kind == LIVE_PROGRESS && f->join == LIVE_JOIN_SUM);

	if (f->kind == LIVE_COUNTER || has_of)
		join_sum(j, f->field.off);
	if (has_of)
		join_sum(j, f->of);
	if (f->kind == LIVE_GAUGE && f->join == LIVE_JOIN_MOST)
		join_most(j, f->field.off);
	if (f->kind == LIVE_GAUGE && f->join == LIVE_JOIN_LEAST)
		join_least(j, f->field.off);
}

/* The operation that has been under way for the longest, of all; clocks of processes differ. */
static void join_oldest(struct live *to, const struct live *other)
{
	uint64_t start_ns = other->oldest.start_ns;

	if (!start_ns)
		return;
	start_ns = start_ns + to->now_ns - other->now_ns;
	if (to->oldest.start_ns && (int64_t)(to->oldest.start_ns - start_ns) < 0)
		return;
	to->oldest = other->oldest;
	to->oldest.start_ns = start_ns ? start_ns : 1;
}

static void join_hists(struct live *to, const struct live *other)
{
	struct live there = *other;
	struct hist **h;

	for (unsigned i = 0; (h = live_hist(to, i)); i++) {
		const struct hist *one = *live_hist(&there, i);

		if (*h && one && one->count)
			hist_merge(*h, one);
	}
}

void live_join(struct live *to, const struct live *other)
{
	const struct joining j = { to, *to, other };
	bool works = other->phase != LIVE_WAIT && other->phase != LIVE_DONE;

	for (const struct live_field *f = live_fields; f->field.name; f++)
		join_row(&j, f);
	/* It is done when all are. */
	if (works && (to->phase == LIVE_WAIT || to->phase == LIVE_DONE))
		to->phase = other->phase;
	to->is_checkpointing |= other->is_checkpointing;
	join_oldest(to, other);
	join_hists(to, other);
}
