/* SPDX-License-Identifier: Apache-2.0 */
/* tier_future.c - when each unit is accessed next, by the order of this epoch and the one after it. */
#include "base/mem.h"
#include "run/tier_inside.h"

#define NEVER UINT64_MAX

/* The units of an epoch's accesses, in their order. */
struct sequence {
	uint64_t *units;
	size_t count, room;
};

struct tier_future {
	const struct tier *tier;
	uint64_t first_rank, end_rank;
	struct sequence here, after;
	bool has_after; /* it is that of the epoch which begins next */
	uint64_t *next; /* of here's accesses */
	size_t next_room;
	uint64_t *
		first; /* of units: their first access, as far as it is known */
	uint64_t base; /* accesses before the epoch */
	size_t at;
};

uint64_t tier_future_bytes(const struct pass *pass, uint64_t ranks)
{
	const struct sampler *s = &pass->sampler;

	return 3 * sizeof(uint64_t) * ranks * s->rank_extents +
	       sizeof(uint64_t) * s->extents;
}

struct tier_future *tier_future_new(const struct tier *t, uint64_t first_rank,
				    uint64_t end_rank)
{
	struct tier_future *f = mem_zalloc(sizeof(*f));

	f->tier = t;
	f->first_rank = first_rank;
	f->end_rank = end_rank;
	f->first = mem_array(t->units.count, sizeof(*f->first));
	return f;
}

void tier_future_free(struct tier_future *f)
{
	if (!f)
		return;
	mem_free(f->here.units);
	mem_free(f->after.units);
	mem_free(f->next);
	mem_free(f->first);
	mem_free(f);
}

static void walk(const struct tier_future *f, uint64_t epoch,
		 struct sequence *s)
{
	const struct tier *t = f->tier;
	struct orderwalk_at at;
	struct orderwalk w;
	struct extent x;

	s->count = 0;
	orderwalk_begin(&w, &t->cfg.pass->sampler, f->first_rank, f->end_rank,
			epoch);
	while (orderwalk_next(&w, &at)) {
		dataset_extent(t->cfg.pass->dataset, at.extent, &x);
		s->units = mem_grow(s->units, &s->room, s->count + 1,
				    sizeof(*s->units));
		s->units[s->count++] = tier_unit_of(&t->units, &x);
	}
	orderwalk_end(&w);
}

/* From the last access to the first, what was seen of a unit is what comes
 * next. */
static void look_back(struct tier_future *f, const struct sequence *s,
		      uint64_t base, uint64_t *next)
{
	for (size_t i = s->count; i > 0; i--) {
		uint64_t unit = s->units[i - 1];

		if (next)
			next[i - 1] = f->first[unit];
		f->first[unit] = base + i - 1;
	}
}

void tier_future_begin(struct tier_future *f, uint64_t epoch, bool is_last)
{
	struct sequence before = f->here;

	f->base += before.count;
	f->at = 0;
	if (f->has_after) {
		f->here = f->after;
		f->after = before;
	} else {
		walk(f, epoch, &f->here);
	}
	f->has_after = !is_last;
	for (uint64_t u = 0; u < f->tier->units.count; u++)
		f->first[u] = NEVER;
	if (!is_last) {
		walk(f, epoch + 1, &f->after);
		look_back(f, &f->after, f->base + f->here.count, NULL);
	}
	f->next = mem_grow(f->next, &f->next_room, f->here.count,
			   sizeof(*f->next));
	look_back(f, &f->here, f->base, f->next);
}

uint64_t tier_future_next(struct tier_future *f)
{
	return f->at < f->here.count ? f->next[f->at++] : NEVER;
}

uint64_t tier_future_first(const struct tier_future *f, uint64_t unit)
{
	return f->first[unit];
}
