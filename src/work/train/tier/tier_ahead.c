/* SPDX-License-Identifier: Apache-2.0 */
/* tier_ahead.c - warm up a cache before the run, and prefetch ahead of the batches. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- cache_warm ---- */

static bool is_warmed_up(const struct tier_cache *c)
{
	const struct cache_config *limits = &c->tier->limits;
	double part = c->tier->job->cache_warm / 100;
	bool has_units = limits->capacity_units < UINT64_MAX;
	double used =
		has_units ? (double)cache_units(c->cache) : (double)cache_used_bytes(c->cache);
	double all = has_units ? (double)limits->capacity_units : (double)limits->capacity_bytes;

	return used >= part * all;
}

/* Read a unit from storage and keep it, like any miss. */
static int warm_unit(struct tier_thread *th, const struct tier_decision *d, const struct extent *x)
{
	const struct read_task *task;

	tier_miss(th->loader, d, x);
	if (tier_thread_finish(th, "cache_warm", &task) < 0)
		return th->err.code;
	if (task->error && task->error != -ECANCELED)
		reader_describe(task, "cache_warm", &th->err);
	int rc = tier_read_end(th->loader, task, &th->err);
	return task->error ? task->error : rc;
}

/* Add units in ascending order until the cache is warm, except units that the policy rejects. */
static void warmer_main(struct tier_thread *th)
{
	struct tier_cache *c = th->cache;
	const struct tier *t = c->tier;
	struct tier_decision d;
	struct extent x;
	int rc = 0;

	for (uint64_t u = 0; u < t->units.count && rc == 0 && !is_warmed_up(c); u++) {
		dataset_extent(t->plain.dataset, tier_unit_first(&t->units, u), &x);
		if (!tier_decide_warm(c, u, &d))
			continue;
		c->warm_units++;
		if (t->backend->stores_bytes)
			rc = warm_unit(th, &d, &x);
		else if (c->slots)
			*tier_word(c, d.slot) = tier_slot_word(d.generation, SLOT_READY);
	}
}

/* Warm up each cache on a thread of its own, because only the thread that opened an engine may use
 * it. The thread's struct stays with the cache, as the job's list of workers refers to it. */
int tier_warm(struct tier *t, struct mlgen_err *err)
{
	struct clock *clock = t->cfg.clock;
	int rc = 0, thread_rc;

	for (uint64_t i = 0; i < t->cache_count && rc == 0; i++) {
		struct tier_cache *c = &t->caches[i];

		c->warmer = mem_zalloc(sizeof(*c->warmer));
		*c->warmer = (struct tier_thread){ .cache = c,
						   .role = "cache warmer",
						   .files = 2,
						   .buf_bytes = 1u << 20,
						   .may_stop = true,
						   .fills_directly = true,
						   .is_uncounted = true,
						   .work = warmer_main };
		tier_thread_init(c->warmer);
		rc = tier_thread_start(c->warmer, err);
		clock_leave(clock);
		thread_rc = tier_thread_join(c->warmer, err);
		clock_expect(clock, 1);
		clock_join(clock);
		tier_thread_end(c->warmer);
		rc = rc ? rc : thread_rc;
	}
	return rc;
}

/* ---- cache_prefetch ---- */

/* A unit that is to be read ahead of its batch. */
struct prefetch_entry {
	struct tier_decision d;
	uint64_t extent, epoch;
};

/* The cache's lock guards `walk` and the members below it. */
struct tier_ahead {
	struct tier_cache *cache;
	struct tier_thread *threads;
	unsigned count;
	struct eventcount eventcount;
	_Atomic bool ends;
	struct orderwalk walk;
	uint64_t epoch;
	bool has_begun, is_over; /* no later access is known */
	/* Number of the run's accesses that were decided, and number of those looked up in
	 * advance. */
	uint64_t decided, looked_ahead;
	/* Entry n is at index n % room. */
	struct prefetch_entry *queue;
	uint64_t room, begin, end;
};

uint64_t tier_ahead_threads(const struct job *j, uint64_t ranks)
{
	return u64_min(ranks * job_readers(j), j->cache_prefetch);
}

/* ---- looking ahead ---- */

static void walk_epoch(struct tier_ahead *a, uint64_t epoch)
{
	const struct tier_cache *c = a->cache;

	a->epoch = epoch;
	a->is_over = false;
	orderwalk_end(&a->walk);
	orderwalk_begin(&a->walk, &c->tier->cfg.pass->sampler, c->first_rank, c->end_rank, epoch);
}

void tier_ahead_begin(struct tier_ahead *a, uint64_t epoch)
{
	if (a->has_begun && a->epoch >= epoch)
		return;
	a->has_begun = true;
	a->looked_ahead = a->decided;
	walk_epoch(a, epoch);
}

static bool next_ahead(struct tier_ahead *a, struct orderwalk_at *at)
{
	const struct job *j = a->cache->tier->job;
	bool knows_next_epoch = j->shuffle.kind != SHUFFLE_IMPORTANCE && !j->cache_hits_first;

	while (!orderwalk_next(&a->walk, at)) {
		a->is_over = !knows_next_epoch || (!j->time_based && a->epoch + 1 >= j->epochs);
		if (a->is_over)
			return false;
		walk_epoch(a, a->epoch + 1);
	}
	return true;
}

void tier_ahead_advance(struct tier_ahead *a)
{
	const struct job *j = a->cache->tier->job;
	struct tier_decision d;
	struct orderwalk_at at;

	a->decided++;
	while (!a->is_over && a->looked_ahead < a->decided + j->cache_prefetch &&
	       next_ahead(a, &at)) {
		if (!tier_decide_ahead(a->cache, at.extent, a->looked_ahead++, &d))
			continue;
		/* A full queue drops its oldest entry, whose batch has already been read. */
		if (a->end - a->begin == a->room) {
			a->begin++;
			tier_count_dropped(a->cache);
		}
		a->queue[a->end++ % a->room] =
			(struct prefetch_entry){ .d = d, .extent = at.extent, .epoch = a->epoch };
		eventcount_notify(&a->eventcount, a->cache->tier->cfg.clock);
	}
}

/* ---- prefetch threads ---- */

/* Read a unit into its slot. The loader whose batch has the unit reports a read error, not this
 * function. */
static int prefetch_unit(struct tier_thread *th, const struct prefetch_entry *e)
{
	const struct read_task *task;
	struct extent x;

	tier_thread_begin(th);
	tier_set_epoch(th->loader, e->epoch);
	dataset_extent(th->cache->tier->plain.dataset, e->extent, &x);
	tier_miss(th->loader, &e->d, &x);
	if (tier_thread_finish(th, "cache_prefetch", &task) < 0)
		return th->err.code;
	return tier_read_end(th->loader, task, &th->err);
}

static void prefetcher_main(struct tier_thread *th)
{
	struct tier_ahead *a = th->arg;
	struct prefetch_entry e;

	th->loader->is_ahead = true;
	for (;;) {
		uint32_t seen = eventcount_get(&a->eventcount);

		if (atomic_load(&a->ends))
			break;
		pthread_mutex_lock(&a->cache->lock);
		bool is_empty = a->begin == a->end;
		if (!is_empty)
			e = a->queue[a->begin++ % a->room];
		pthread_mutex_unlock(&a->cache->lock);
		if (is_empty) {
			eventcount_wait(&a->eventcount, a->cache->tier->cfg.clock, seen,
					CLOCK_NEVER);
			io_wake(th->worker.io);
		} else if (!tier_is_obsolete(a->cache, &e.d) && prefetch_unit(th, &e) < 0) {
			break;
		}
	}
}

/* ---- life cycle ---- */

struct tier_ahead *tier_ahead_new(struct tier_cache *c)
{
	struct tier_ahead *a = mem_zalloc(sizeof(*a));
	const struct job *j = c->tier->job;

	a->cache = c;
	a->room = j->cache_prefetch;
	a->queue = mem_array(a->room, sizeof(*a->queue));
	a->count = (unsigned)tier_ahead_threads(j, c->own_end - c->own_first);
	a->threads = mem_array(a->count, sizeof(*a->threads));
	for (unsigned i = 0; i < a->count; i++) {
		a->threads[i] = (struct tier_thread){
			.cache = c,
			.role = "cache prefetcher",
			.number = i,
			.files = 2 + tier_open_files(j),
			.buf_bytes = 1u << 20,
			.may_stop = true,
			.fills_directly = true,
			.work = prefetcher_main,
			.arg = a,
		};
		tier_thread_init(&a->threads[i]);
	}
	return a;
}

void tier_ahead_free(struct tier_ahead *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->count; i++)
		tier_thread_fini(&a->threads[i]);
	orderwalk_end(&a->walk);
	mem_free(a->threads);
	mem_free(a->queue);
	mem_free(a);
}

int tier_ahead_start(struct tier_ahead *a, struct mlgen_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < a->count && rc == 0; i++)
		rc = tier_thread_start(&a->threads[i], err);
	return rc;
}

int tier_ahead_end(struct tier_ahead *a, struct mlgen_err *err)
{
	int rc = 0;

	atomic_store(&a->ends, true);
	eventcount_notify(&a->eventcount, a->cache->tier->cfg.clock);
	for (unsigned i = 0; i < a->count; i++) {
		int thread_rc = tier_thread_join(&a->threads[i], err);

		rc = rc ? rc : thread_rc;
	}
	return rc;
}
