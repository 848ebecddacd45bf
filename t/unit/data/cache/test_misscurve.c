/* SPDX-License-Identifier: Apache-2.0 */
/* test_misscurve.c - lru's curve in one pass is what a cache of each size hits. */
#include "cache_rig.h"
#include "data/cache/cache.h"

#define SIZES 10

static uint64_t size_of(const void *arg, uint64_t unit)
{
	return ((const uint64_t *)arg)[unit];
}

static void check_curve(const struct cache_order *o, const uint64_t *bytes)
{
	uint64_t all = 0, largest = 1, sizes[SIZES], hits[SIZES] = { 0 };
	struct misscurve_config cfg = { o->units, sizes, SIZES, bytes };

	for (uint64_t u = 0; u < o->units; u++) {
		all += bytes ? bytes[u] : 1;
		if (bytes && bytes[u] > largest)
			largest = bytes[u];
	}
	for (unsigned i = 0; i < SIZES; i++) {
		sizes[i] = all * (i + 1) / SIZES;
		sizes[i] = sizes[i] < largest ? largest : sizes[i];
	}
	struct misscurve *m = misscurve_new(&cfg);
	for (uint64_t i = 0; i < o->count; i++)
		for (unsigned s = misscurve_touch(m, o->at[i]); s < SIZES; s++)
			hits[s]++;
	misscurve_free(m);
	for (unsigned i = 0; i < SIZES; i++) {
		struct cache_config lru = {
			.policy = CACHE_LRU,
			.units = o->units,
			.capacity_bytes = sizes[i],
			.capacity_units = UINT64_MAX,
			.each_bytes = bytes ? 0 : 1,
			.unit_bytes = size_of,
			.arg = bytes,
		};

		ck_assert_uint_eq(hits[i], cache_order_hits(o, &lru, 0));
	}
}

START_TEST(the_curve_is_what_ten_caches_hit)
{
	uint64_t units = 50 + 137 * (uint64_t)_i, bytes[3000];
	struct cache_order shuffled = cache_order_shuffled(units, 6, 3);
	struct cache_order drawn = cache_order_drawn(units, units * 9, 1 + _i % 4, (uint64_t)_i);

	for (uint64_t u = 0; u < units; u++)
		bytes[u] = 1 + rng_u64(6, RNG_TEST, u) % 50;
	check_curve(&shuffled, NULL);
	check_curve(&drawn, NULL);
	check_curve(&shuffled, bytes);
	check_curve(&drawn, bytes);
	cache_order_fini(&shuffled);
	cache_order_fini(&drawn);
}
END_TEST

Suite *suite_misscurve(void)
{
	Suite *s = suite_create("misscurve");
	TCase *tc = tcase_create("misscurve");

	tcase_add_loop_test(tc, the_curve_is_what_ten_caches_hit, 0, 20);
	suite_add_tcase(s, tc);
	return s;
}
