/* SPDX-License-Identifier: Apache-2.0 */
/* tier_loader.c - what a loader gets of a cache tier: extent by extent. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "run/tier_inside.h"

static int make_ways(struct tier_loader *l, struct mlgen_err *err)
{
	const struct tier *t = l->tier;
	char text[UNITS_TEXT_BYTES];

	l->way_count = job_samples_at_once(t->job);
	l->ways = mem_array(l->way_count, sizeof(*l->ways));
	for (unsigned i = 0; i < l->way_count; i++) {
		struct tier_way *w = &l->ways[i];

		w->loader = l;
		w->next = l->free_way;
		l->free_way = w;
		if (!tier_has_buffers(t->job))
			continue;
		w->memory = mem_buffer(t->slot_bytes, MEM_MMAP);
		if (!w->memory)
			return mlgen_fail(
				err, -ENOMEM,
				"cache: no memory for a sample of %s on its way there, one of %u a "
				"read thread; fewer of them, or a lower iodepth",
				units_human_bytes(text, (double)t->slot_bytes), l->way_count);
	}
	return 0;
}

struct tier_loader *tier_loader_new(struct tier *t, uint64_t rank, uint64_t number,
				    struct worker *w, struct reader *r, struct mlgen_err *err)
{
	struct tier_loader *l = mem_zalloc(sizeof(*l));
	int rc;

	*l = (struct tier_loader){ .tier = t,
				   .cache = tier_cache_of(t, rank),
				   .rank = rank,
				   .worker = w,
				   .reader = r,
				   .slab = { .fd = -1 },
				   .hit_ns = hist_new(),
				   .miss_ns = hist_new(),
				   .peer_ns = hist_new() };
	l->seed = rng_u64(t->job->randseed, RNG_ENGINE, ~number);
	rc = make_ways(l, err);
	if (rc == 0 && t->place->join)
		rc = t->place->join(l, err);
	if (rc == 0)
		return l;
	tier_loader_free(l);
	return NULL;
}

void tier_loader_close(struct tier_loader *l)
{
	struct tier *t = l->tier;

	pthread_mutex_lock(&l->cache->lock);
	tier_count(l);
	pthread_mutex_unlock(&l->cache->lock);
	pthread_mutex_lock(&t->lock);
	hist_merge(t->hit_ns, l->hit_ns);
	hist_merge(t->miss_ns, l->miss_ns);
	hist_merge(t->peer_ns, l->peer_ns);
	pthread_mutex_unlock(&t->lock);
	if (t->place->leave)
		t->place->leave(l);
}

void tier_loader_free(struct tier_loader *l)
{
	if (!l)
		return;
	for (unsigned i = 0; i < l->way_count; i++)
		mem_buffer_free(l->ways[i].memory, l->tier->slot_bytes, MEM_MMAP);
	mem_free(l->ways);
	hist_free(l->hit_ns);
	hist_free(l->miss_ns);
	hist_free(l->peer_ns);
	mem_free(l);
}

static struct tier_way *take_way(struct tier_loader *l)
{
	struct tier_way *w = l->free_way;

	l->free_way = w->next;
	return w;
}

static bool may_enter(const struct tier_way *w)
{
	const struct tier_cache *c = w->loader->cache;

	return !c->slots || tier_slot_enter(tier_word(c, w->d.slot), w->d.generation);
}

/* As the plan has it. */
static bool was_there(const struct tier_way *w)
{
	return w->d.is_hit || w->d.is_substituted;
}

/* False: its bytes are not there. What another process has of a tier that is played is as far away
 * as all of it is. */
static bool start_hit(struct tier_way *w, const struct extent *x, void *into, uint64_t into_bytes,
		      uint64_t *ready_ns)
{
	const struct tier *t = w->loader->tier;

	if (w->is_remote && t->cfg.peers)
		return tier_remote_hit(w, x, into, into_bytes, ready_ns);
	if (!w->is_remote && !may_enter(w))
		return false;
	t->place->hit(w, x, into, into_bytes, ready_ns);
	return true;
}

/* From storage; what is kept of it is w->fills. */
static void start_miss(struct tier_way *w, const struct extent *x)
{
	const struct tier_place *place = w->loader->tier->place;

	w->fills = w->d.slot != CACHE_NO_SLOT && w->loader->cache->slots;
	if (w->is_remote && w->loader->tier->cfg.peers)
		tier_remote_miss(w, x);
	else
		place->miss(w, x);
}

static struct tier_way *begin_way(struct tier_loader *l, const struct tier_decision *d,
				  const struct extent *x)
{
	struct tier_way *w = take_way(l);

	w->d = *d;
	w->d.unit = tier_unit_of(&l->tier->units, x);
	w->extent = *x;
	w->asked = x->id;
	w->bytes = tier_unit_bytes(&l->tier->units, w->d.unit);
	w->kept_bytes = tier_kept_bytes(&l->tier->units, w->bytes);
	w->enters = w->fills = w->is_held = false;
	w->is_remote = d->slot != CACHE_NO_SLOT && !tier_is_here(l->cache, d->slot);
	return w;
}

void tier_miss(struct tier_loader *l, const struct tier_decision *d, const struct extent *x)
{
	struct tier_way *w = begin_way(l, d, x);

	start_miss(w, x);
	reader_own(l->reader, w);
}

void tier_read(struct tier_loader *l, const struct stage *at, struct sampler_epoch *order,
	       uint64_t position, const struct extent *x, void *into, uint64_t into_bytes,
	       uint64_t *ready_ns)
{
	const struct tier_decision *d = tier_decide(l, at->epoch, order, position);
	struct extent other = *x;
	struct tier_way *w;

	if (d->is_substituted)
		tier_unit_extent(&l->tier->units, d->substitute, x, &other);
	w = begin_way(l, d, &other);
	w->asked = x->id;
	w->enters = was_there(w) && start_hit(w, &other, into, into_bytes, ready_ns);
	if (!w->enters)
		start_miss(w, &other);
	reader_own(l->reader, w);
	if (into)
		reader_into(l->reader, into, into_bytes);
}

static int fail_wrong(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	const struct tier_loader *l = w->loader;

	return mlgen_fail(err, -EILSEQ,
			  "%s: slot %" PRIu32 " at %" PRIu64 ": %" PRIu64
			  " bytes that were kept of sample %" PRIu64
			  " are not what was written (cache_verify); something else writes there, "
			  "or the device fails",
			  l->cache->folder.path ? task->path : "cache in memory", w->d.slot,
			  w->d.slot * l->tier->slot_bytes, w->kept_bytes, w->extent.id);
}

static int verify(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	const unsigned char *bytes;

	uint32_t sum;

	if (!l->cache->sums || task->error)
		return 0;
	bytes = w->is_remote ? w->memory : l->tier->place->look(w);
	sum = w->is_remote ? w->sum : l->cache->sums[tier_slot_here(l->cache, w->d.slot)];
	l->tally.verified += w->extent.samples;
	if (tier_sum(bytes, w->kept_bytes) == sum)
		return 0;
	l->tally.wrong += w->extent.samples;
	if (!w->is_remote)
		tier_slot_spoil(tier_word(l->cache, w->d.slot));
	return fail_wrong(w, task, err);
}

static int end_hit(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	uint64_t bytes = tier_kept_bytes(&l->tier->units,
					 dataset_extent_bytes(task->dataset, &task->extent));
	int rc = verify(w, task, err);

	if (w->is_remote) {
		l->tally.peer_hits += w->extent.samples;
		l->tally.peer_bytes += bytes;
		return rc;
	}
	if (l->cache->slots)
		tier_slot_leave(tier_word(l->cache, w->d.slot));
	l->tally.cache_bytes += bytes;
	return rc;
}

static void count_fill(struct tier_way *w, bool is_whole)
{
	struct tier_tally *y = &w->loader->tally;

	if (is_whole) {
		y->fills++;
		y->filled_bytes += w->kept_bytes;
	} else if (!was_there(w)) {
		y->dropped_fills++;
	}
}

static int end_miss(struct tier_way *w, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_loader *l = w->loader;
	const struct tier_place *place = l->tier->place;
	bool is_kept = w->d.slot != CACHE_NO_SLOT && !task->error;
	int rc = 0;

	l->tally.late_hits += was_there(w) ? w->extent.samples : 0;
	l->tally.storage_bytes += w->bytes;
	if (w->fills && w->is_remote && l->tier->cfg.peers)
		rc = tier_remote_fill(w, task, err);
	else if (w->fills)
		rc = place->filled(w, task, err);
	if (w->d.slot != CACHE_NO_SLOT && !w->is_passed_on)
		count_fill(w, is_kept && (!l->cache->slots || w->is_held) && !task->fill_error);
	return rc;
}

static struct hist *latencies_of(const struct tier_way *w)
{
	const struct tier_loader *l = w->loader;

	return !w->enters ? l->miss_ns : w->is_remote ? l->peer_ns : l->hit_ns;
}

int tier_read_end(struct tier_loader *l, const struct read_task *task, struct mlgen_err *err)
{
	struct tier_way *w = task->owner;
	uint64_t ns = task->end_ns - task->start_ns;
	int rc;

	if (!w)
		return 0;
	if (!l->is_ahead) {
		l->tally.accesses += w->extent.samples;
		l->tally.hits += w->d.is_hit ? w->extent.samples : 0;
	}
	if (!l->is_ahead && !task->error && task->end_ns)
		hist_add(latencies_of(w), ns);
	w->is_passed_on = false;
	rc = w->enters ? end_hit(w, task, err) : end_miss(w, task, err);
	if (rc == 0 && l->peer_err.code)
		rc = mlgen_fail(err, l->peer_err.code, "%s", l->peer_err.text);
	w->next = l->free_way;
	l->free_way = w;
	return rc;
}

uint64_t tier_asked(const struct read_task *task)
{
	const struct tier_way *w = task->owner;

	return w ? w->asked : task->extent.id;
}

bool tier_was_decoded(const struct tier_loader *l, const struct read_task *task)
{
	const struct tier_way *w = task->owner;

	return w && w->enters && l->tier->job->cache_stage == CACHE_DECODED;
}
