/* SPDX-License-Identifier: Apache-2.0 */
/* tier_ahead.c - samples that are brought into a cache tier ahead of their batch (cache_prefetch). */
#include "run/tier_ahead.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* The reads of a thread are one after the other. */
#define AHEAD_DEPTH 1u

struct wanted {
	struct tier_decision d;
	uint64_t extent, epoch;
};

/* One of the threads. */
struct fetcher {
	struct tier_ahead *ahead;
	unsigned index;
	struct worker worker;
	struct reader *reader;
	struct tier_loader *loader; /* as one of them */
	struct mlgen_err err;       /* err.code 0 = none */
};

/* What stands below `walk` is under the cache's lock. */
struct tier_ahead {
	struct tier_cache *cache;
	struct fetcher *fetchers;
	unsigned count;
	struct bell bell;
	_Atomic bool ends;
	struct orderwalk walk;
	uint64_t epoch;
	bool has_begun, is_over; /* nothing behind it is known */
	/* Accesses of the run: decided, and foreseen. */
	uint64_t decided, foreseen;
	/* Number n is at n % room. */
	struct wanted *queue;
	uint64_t room, begin, end;
};

uint64_t tier_ahead_threads(const struct job *j, uint64_t ranks)
{
	return u64_min(ranks * job_readers(j), j->cache_prefetch);
}

struct tier_ahead *tier_ahead_new(struct tier_cache *c)
{
	struct tier_ahead *a = mem_zalloc(sizeof(*a));
	const struct job *j = c->tier->job;

	a->cache = c;
	a->room = j->cache_prefetch;
	a->queue = mem_array(a->room, sizeof(*a->queue));
	a->count = (unsigned)tier_ahead_threads(j, c->end_rank - c->first_rank);
	a->fetchers = mem_array(a->count, sizeof(*a->fetchers));
	for (unsigned i = 0; i < a->count; i++) {
		a->fetchers[i] = (struct fetcher){ .ahead = a, .index = i };
		worker_init(&a->fetchers[i].worker);
	}
	return a;
}

void tier_ahead_free(struct tier_ahead *a)
{
	if (!a)
		return;
	for (unsigned i = 0; i < a->count; i++) {
		tier_loader_free(a->fetchers[i].loader);
		reader_free(a->fetchers[i].reader);
		worker_fini(&a->fetchers[i].worker);
	}
	orderwalk_end(&a->walk);
	mem_free(a->fetchers);
	mem_free(a->queue);
	mem_free(a);
}

/* ---- what is foreseen ---- */

static bool knows_next_epoch(const struct job *j)
{
	return j->shuffle.kind != SHUFFLE_IMPORTANCE && !j->cache_hits_first;
}

static void walk_epoch(struct tier_ahead *a, uint64_t epoch)
{
	const struct tier_cache *c = a->cache;

	a->epoch = epoch;
	a->is_over = false;
	orderwalk_end(&a->walk);
	orderwalk_begin(&a->walk, &c->tier->cfg.pass->sampler, c->first_rank,
			c->end_rank, epoch);
}

void tier_ahead_begin(struct tier_ahead *a, uint64_t epoch)
{
	if (a->has_begun && a->epoch >= epoch)
		return;
	a->has_begun = true;
	a->foreseen = a->decided;
	walk_epoch(a, epoch);
}

/* The oldest goes, if it waits since so long: its batch has been read. */
static void want(struct tier_ahead *a, const struct tier_decision *d,
		 uint64_t extent)
{
	if (a->end - a->begin == a->room) {
		a->begin++;
		tier_count_dropped(a->cache);
	}
	a->queue[a->end++ % a->room] =
		(struct wanted){ .d = *d, .extent = extent, .epoch = a->epoch };
	bell_ring(&a->bell, a->cache->tier->cfg.clock);
}

static bool next_foreseen(struct tier_ahead *a, struct orderwalk_at *at)
{
	const struct job *j = a->cache->tier->job;

	while (!orderwalk_next(&a->walk, at)) {
		a->is_over = !knows_next_epoch(j) ||
			     (!j->time_based && a->epoch + 1 >= j->epochs);
		if (a->is_over)
			return false;
		walk_epoch(a, a->epoch + 1);
	}
	return true;
}

void tier_ahead_go_on(struct tier_ahead *a)
{
	const struct job *j = a->cache->tier->job;
	struct tier_decision d;
	struct orderwalk_at at;

	a->decided++;
	while (!a->is_over && a->foreseen < a->decided + j->cache_prefetch &&
	       next_foreseen(a, &at)) {
		if (tier_decide_ahead(a->cache, at.extent, a->foreseen, &d))
			want(a, &d, at.extent);
		a->foreseen++;
	}
}

/* ---- who reads it ---- */

static bool tier_ahead_take(struct tier_ahead *a, struct wanted *w)
{
	struct tier_cache *c = a->cache;
	bool has;

	pthread_mutex_lock(&c->lock);
	has = a->begin < a->end;
	if (has)
		*w = a->queue[a->begin++ % a->room];
	pthread_mutex_unlock(&c->lock);
	return has;
}

static int open_fetcher(struct fetcher *f)
{
	struct tier_cache *c = f->ahead->cache;
	struct tier *t = c->tier;
	const struct worker_config cfg = {
		.place = t->cfg.place,
		.traced = t->cfg.traced,
		.role = "cache prefetcher",
		.io = { .job = t->cfg.engine_job,
			.clock = t->cfg.clock,
			.iodepth = AHEAD_DEPTH,
			.transfers = AHEAD_DEPTH,
			.files = 2 + tier_open_files(t->job),
			.buf_bytes = 1u << 20,
			.mem = MEM_MALLOC,
			.stop = t->cfg.stop },
	};
	int rc = worker_open(&f->worker, &cfg, &f->err);

	if (rc < 0)
		return rc;
	f->reader = reader_new(f->worker.io, &f->worker.stat, 1, AHEAD_DEPTH);
	f->loader = tier_loader_new(t, c->first_rank, f->index, &f->worker,
				    f->reader, &f->err);
	if (!f->loader)
		return f->err.code;
	f->loader->is_ahead = true;
	f->loader->fills_itself = true;
	return 0;
}

/* What cannot be read is for the one to report whose batch it is in. */
static int fetch(struct fetcher *f, const struct wanted *w)
{
	const struct tier *t = f->ahead->cache->tier;
	const struct read_task *task;
	struct extent x;
	int rc;

	tier_turn_to_epoch(f->loader, w->epoch);
	dataset_extent(t->plain.dataset, w->extent, &x);
	tier_miss(f->loader, &w->d, &x);
	task = reader_finish_one(f->reader, &rc);
	if (!task)
		return mlgen_fail(&f->err, rc,
				  "cache_prefetch: cannot go on: %s",
				  strerror(-rc));
	return tier_read_end(f->loader, task, &f->err);
}

static void fetch_all(struct fetcher *f)
{
	struct tier_ahead *a = f->ahead;
	struct clock *clock = a->cache->tier->cfg.clock;
	struct wanted w;

	for (;;) {
		uint32_t seen = bell_look(&a->bell);

		if (atomic_load(&a->ends))
			break;
		if (!tier_ahead_take(a, &w)) {
			bell_wait(&a->bell, clock, seen, CLOCK_NEVER);
			io_wake(f->worker.io);
		} else if (!tier_is_there(a->cache, &w.d) && fetch(f, &w) < 0) {
			break;
		}
	}
}

static void *fetcher_main(void *fetcher)
{
	struct fetcher *f = fetcher;
	struct clock *clock = f->ahead->cache->tier->cfg.clock;

	clock_join(clock);
	if (open_fetcher(f) == 0)
		fetch_all(f);
	if (f->loader)
		tier_loader_close(f->loader);
	worker_stop_counting(&f->worker, clock_now(clock));
	worker_close(&f->worker);
	clock_leave(clock);
	return NULL;
}

int tier_ahead_start(struct tier_ahead *a, struct mlgen_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < a->count && rc == 0; i++)
		rc = worker_start(&a->fetchers[i].worker.thread,
				  a->cache->tier->cfg.clock, fetcher_main,
				  &a->fetchers[i], err);
	return rc;
}

int tier_ahead_end(struct tier_ahead *a, struct mlgen_err *err)
{
	int rc = 0;

	atomic_store(&a->ends, true);
	bell_ring(&a->bell, a->cache->tier->cfg.clock);
	for (unsigned i = 0; i < a->count; i++) {
		struct fetcher *f = &a->fetchers[i];

		worker_join(&f->worker.thread);
		if (!f->err.code || f->err.code == -ECANCELED || rc < 0)
			continue;
		rc = f->err.code;
		if (err && !err->code)
			*err = f->err;
	}
	return rc;
}
