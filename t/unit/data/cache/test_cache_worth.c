/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_worth.c - policies by worth: what goes is always what is worth least of all that is
 * there. */
#include "base/util.h"
#include "cache_rig.h"

/* What each unit was worth at its last access, with more units than its heap has nodes; what has
 * gone since the last access. */
#define WORTH_UNITS 3000

struct worths {
	double first[WORTH_UNITS], second[WORTH_UNITS];
	bool is_there[WORTH_UNITS];
	uint64_t gone;
};

static void on_gone(void *to, uint64_t unit, uint32_t slot)
{
	struct worths *w = to;

	(void)slot;
	w->is_there[unit] = false;
	w->gone = unit;
}

static int compare(const struct worths *w, uint64_t a, uint64_t b)
{
	if (w->first[a] < w->first[b] || w->first[a] > w->first[b])
		return w->first[a] < w->first[b] ? -1 : 1;
	return (w->second[a] > w->second[b]) - (w->second[a] < w->second[b]);
}

static bool is_least(const struct worths *w, uint64_t unit)
{
	for (uint64_t u = 0; u < WORTH_UNITS; u++)
		if (w->is_there[u] && compare(w, u, unit) < 0)
			return false;
	return true;
}

/* Of weights as many as there are units, and of a few that many share. */
static const double weights[] = { 0, 4 };

static struct cache_access worth_access(const struct cache_order *o, uint64_t i, double few)
{
	struct cache_access a = cache_order_access(o, i);

	if (few > 0)
		a.weight = floor(rng_f64(8, RNG_TEST, i) * few);
	a.weight = (double)(float)a.weight;
	return a;
}

static void worth_step(struct cache *c, struct worths *w, bool is_belady,
		       const struct cache_access *a)
{
	struct cache_answer answer;

	w->first[a->unit] = is_belady ? -(double)a->next_use : a->weight;
	w->second[a->unit] = is_belady ? 0 : 1 + w->is_there[a->unit] * w->second[a->unit];
	w->gone = UINT64_MAX;
	cache_access(c, a, &answer);
	ck_assert_int_eq(answer.is_hit, w->is_there[a->unit]);
	if (w->gone != UINT64_MAX) {
		ck_assert(is_least(w, w->gone));
		ck_assert_int_lt(compare(w, w->gone, a->unit), 0);
	} else if (answer.slot == CACHE_NO_SLOT) {
		ck_assert(is_least(w, a->unit));
	}
	w->is_there[a->unit] = answer.slot != CACHE_NO_SLOT;
}

START_TEST(what_goes_is_what_is_worth_least)
{
	bool is_belady = _i % 2;
	struct cache_order o = cache_order_drawn(WORTH_UNITS, 15000, 1.3, (uint64_t)_i);
	struct worths *w = mem_zalloc(sizeof(*w));
	struct cache_config cfg = {
		.policy = is_belady ? CACHE_BELADY : CACHE_IMPORTANCE,
		.units = WORTH_UNITS,
		.each_bytes = 1,
		.capacity_bytes = UINT64_MAX,
		.capacity_units = WORTH_UNITS / 2,
		.evicted = on_gone,
		.to = w,
	};
	struct cache *c = cache_rig_new(&cfg);

	for (uint64_t i = 0; i < o.count; i++) {
		struct cache_access a = worth_access(&o, i, weights[_i / 2]);

		worth_step(c, w, is_belady, &a);
		if (i % 11 == 0) {
			cache_forget(c, o.at[i / 2]);
			w->is_there[o.at[i / 2]] = false;
		}
	}
	cache_free(c);
	mem_free(w);
	cache_order_fini(&o);
}
END_TEST

Suite *suite_cache_worth(void)
{
	Suite *s = suite_create("cache_worth");
	TCase *tc = tcase_create("cache_worth");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, what_goes_is_what_is_worth_least, 0, 2 * (int)ARRAY_LEN(weights));
	suite_add_tcase(s, tc);
	return s;
}
