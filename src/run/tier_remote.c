/* SPDX-License-Identifier: Apache-2.0 */
/* tier_remote.c - what a loader has of slots that other processes have: it asks for them, and sends
 * them. */
#include <errno.h>
#include <inttypes.h>

#include "base/stop.h"
#include "run/tier_inside.h"

static unsigned rank_of(const struct tier_way *w)
{
	return w->d.slot % w->loader->cache->parts;
}

static struct tier_ask question(const struct tier_way *w, uint32_t kind)
{
	return (struct tier_ask){
		.kind = kind,
		.slot = w->d.slot,
		.generation = w->d.generation,
		.epoch = w->loader->epoch,
		.extent = w->extent.id,
		.samples = w->extent.samples,
		.count = 1,
		.pieces[0].bytes = w->kept_bytes,
	};
}

/* All of the unit, but where it has more than the sample and nobody looks at its sum. */
static void set_pieces(struct tier_ask *ask, const struct tier_way *w, const struct extent *x)
{
	const struct tier *t = w->loader->tier;
	struct tier_range ranges[TIER_RANGES];

	_Static_assert(TIER_RANGES == TIER_ASK_PIECES, "ranges of a unit");
	if (t->job->cache_verify || t->units.kind == CACHE_SAMPLES)
		return;
	ask->count = tier_extent_ranges(&t->units, x, ranges);
	for (unsigned i = 0; i < ask->count; i++)
		ask->pieces[i] = (struct tier_piece){
			ranges[i].at,
			tier_kept_bytes(&t->units, ranges[i].bytes),
		};
}

/* A run that ends has no failure: what is not there any more is read no more. */
static bool is_ending(const struct tier *t)
{
	return stop_has_come(t->cfg.stop, clock_now(t->cfg.clock));
}

static bool ask(struct tier_way *w, const struct tier_ask *a, struct tier_answer *answer,
		struct mlgen_err *err)
{
	const struct tier *t = w->loader->tier;
	struct mlgen_err why = { 0 };

	if (tier_peers_ask(t->cfg.peers, rank_of(w), a, w->memory, answer, &why) == 0)
		return true;
	if (!err->code && !is_ending(t))
		*err = why;
	return false;
}

bool tier_remote_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		     uint64_t *ready_ns)
{
	struct tier_loader *l = w->loader;
	struct tier_ask a = question(w, TIER_GET);
	struct tier_answer answer;
	uint64_t begin_ns = clock_now(l->tier->cfg.clock), end_ns;

	set_pieces(&a, w, x);
	bool is_there = ask(w, &a, &answer, &l->peer_err) && answer.said == TIER_THERE;

	if (is_there && into)
		tier_copy_out(w, x, w->memory, into, into_bytes);
	end_ns = clock_now(l->tier->cfg.clock);
	count_add(&l->worker->stat.blocked_ns[MLGEN_READ], end_ns - begin_ns);
	if (!is_there)
		return false;
	w->sum = answer.sum;
	*ready_ns = end_ns;
	tier_took(w, x, begin_ns, end_ns);
	return true;
}

void tier_remote_miss(struct tier_way *w, const struct extent *x)
{
	const struct tier *t = w->loader->tier;

	w->fills &= w->bytes <= t->slot_bytes && w->kept_bytes <= t->slot_bytes;
	tier_read_storage(w, x, w->fills ? w->memory : NULL);
}

int tier_remote_fill(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	struct clock *clock = l->tier->cfg.clock;
	struct tier_ask a = question(w, TIER_FILL);
	struct tier_answer answer;
	struct mlgen_err why = { 0 };

	if (task->error)
		return 0;
	if (l->tier->job->cache_verify)
		a.sum = tier_sum(w->memory, w->kept_bytes);
	uint64_t begin_ns = clock_now(clock);
	bool is_told = ask(w, &a, &answer, &why);

	count_add(&l->worker->stat.blocked_ns[MLGEN_WRITE], clock_now(clock) - begin_ns);
	if (!is_told)
		return why.code ? mlgen_fail(err, why.code, "%s", why.text) : 0;
	w->is_held = answer.said == TIER_KEPT;
	w->is_passed_on = answer.said == TIER_PASSED_ON;
	l->tally.sent_bytes += w->kept_bytes;
	return 0;
}
