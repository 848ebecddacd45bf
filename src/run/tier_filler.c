/* SPDX-License-Identifier: Apache-2.0 */
/* tier_filler.c - see tier_filler.h. */
#include "run/tier_filler.h"

#include <errno.h>

#include "base/mem.h"
#include "base/units.h"
#include "run/tier_thread.h"

/* A queue whose length nobody has given takes no more memory than that, but for one sample that
 * waits while another one is written. */
#define QUEUE_BYTES (UINT64_C(1) << 30)
#define QUEUE_LEAST 2u

/* A place of the queue: free; a loader is at it; full; the filler is at it. Acquire and release
 * order what is in the place with its state. */
enum place_state { PLACE_FREE, PLACE_TAKEN, PLACE_FULL, PLACE_BUSY };

struct place {
	_Atomic unsigned state; /* enum place_state */
	struct tier_decision d;
	uint64_t epoch;
	struct extent extent;
	uint64_t kept_bytes;
	unsigned char *memory;
};

struct tier_filler {
	struct tier_cache *cache;
	struct tier_thread thread; /* its loader has one way */
	struct place *places;
	unsigned count;
	struct bell bell;
	_Atomic bool ends;
};

uint64_t tier_filler_places(const struct job *j, uint64_t slot_bytes)
{
	uint64_t fit = QUEUE_BYTES / slot_bytes;

	if (job_is_given(j, "cache_queue") || fit >= j->cache_queue)
		return j->cache_queue;
	return fit > QUEUE_LEAST ? fit : QUEUE_LEAST;
}

/* The first one that is in this state, and in that one from now on. */
static struct place *turn_place(struct tier_filler *f, enum place_state from, enum place_state to)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct place *p = &f->places[i];
		unsigned is = from;

		if (atomic_load_explicit(&p->state, memory_order_relaxed) == is &&
		    atomic_compare_exchange_strong_explicit(
			    &p->state, &is, to, memory_order_acquire, memory_order_relaxed))
			return p;
	}
	return NULL;
}

static void leave_place(struct place *p, enum place_state to)
{
	atomic_store_explicit(&p->state, to, memory_order_release);
}

bool tier_filler_give(struct tier_filler *f, struct tier_way *w)
{
	struct place *p = turn_place(f, PLACE_FREE, PLACE_TAKEN);
	unsigned char *memory;

	if (!p)
		return false;
	memory = p->memory;
	p->memory = w->memory;
	w->memory = memory;
	p->d = w->d;
	p->epoch = w->loader->epoch;
	p->extent = w->extent;
	p->kept_bytes = w->kept_bytes;
	leave_place(p, PLACE_FULL);
	bell_ring(&f->bell, f->cache->tier->cfg.clock);
	return true;
}

static void count_filled(struct tier_loader *l, const struct tier_way *w,
			 const struct read_task *task)
{
	struct tier_tally *y = &l->tally;

	if (w->is_held && !task->fill_error) {
		y->fills++;
		y->filled_bytes += w->kept_bytes;
	} else if (!w->d.is_hit && !w->d.is_substituted) {
		y->dropped_fills++;
	}
}

static int keep(struct tier_thread *th, const struct place *p)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	const struct read_task *task;
	int rc;

	tier_thread_begin(th);
	tier_turn_to_epoch(l, p->epoch);
	w->d = p->d;
	w->extent = (struct extent){ .id = p->extent.id };
	w->kept_bytes = p->kept_bytes;
	w->is_held = false;
	w->memory = p->memory;
	w->list = (struct read_list){ .pieces = w->pieces };
	tier_directory_fill(w);
	reader_start_list(th->reader, &l->tier->plain, &w->extent, &w->list);
	rc = tier_thread_finish(th, "cache_directory", &task);
	if (rc < 0)
		return rc;
	rc = tier_directory_filled(w, task, &th->err);
	count_filled(l, w, task);
	return rc;
}

static void keep_all(struct tier_thread *th)
{
	struct tier_filler *f = th->arg;
	unsigned char *own = th->loader->ways[0].memory;
	int rc = 0;

	for (;;) {
		uint32_t seen = bell_look(&f->bell);
		bool ends = atomic_load(&f->ends);
		struct place *p = turn_place(f, PLACE_FULL, PLACE_BUSY);

		if (!p && ends)
			break;
		if (!p) {
			bell_wait(&f->bell, th->cache->tier->cfg.clock, seen, CLOCK_NEVER);
			io_wake(th->worker.io);
			continue;
		}
		if (rc == 0)
			rc = keep(th, p);
		leave_place(p, PLACE_FREE);
	}
	th->loader->ways[0].memory = own;
}

/* ---- its life ---- */

int tier_filler_new(struct tier_cache *c, struct mlgen_err *err)
{
	const struct tier *t = c->tier;
	struct tier_filler *f = mem_zalloc(sizeof(*f));
	char text[UNITS_TEXT_BYTES];

	c->filler = f;
	f->cache = c;
	f->thread = (struct tier_thread){
		.cache = c,
		.role = "cache filler",
		.number = t->job->accelerators * job_readers(t->job) + (uint64_t)(c - t->caches),
		.files = 2,
		.buf_bytes = 4096,
		.work = keep_all,
		.arg = f,
	};
	tier_thread_init(&f->thread);
	f->count = (unsigned)tier_filler_places(t->job, t->slot_bytes);
	f->places = mem_array(f->count, sizeof(*f->places));
	for (unsigned i = 0; i < f->count; i++) {
		/* The places after the first come into use when the queue fills. */
		f->places[i].memory = mem_reserve(t->slot_bytes, MEM_MMAP);
		if (!f->places[i].memory)
			return mlgen_fail(err, -ENOMEM,
					  "cache_queue: no memory for %u samples of %s; a shorter "
					  "one, or cache_fill=sync",
					  f->count, units_human_bytes(text, (double)t->slot_bytes));
	}
	return 0;
}

void tier_filler_free(struct tier_filler *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->count; i++)
		mem_buffer_free(f->places[i].memory, f->cache->tier->slot_bytes, MEM_MMAP);
	tier_thread_fini(&f->thread);
	mem_free(f->places);
	mem_free(f);
}

int tier_filler_start(struct tier_filler *f, struct mlgen_err *err)
{
	return tier_thread_start(&f->thread, err);
}

int tier_filler_end(struct tier_filler *f, struct mlgen_err *err)
{
	atomic_store(&f->ends, true);
	bell_ring(&f->bell, f->cache->tier->cfg.clock);
	return tier_thread_join(&f->thread, err);
}
