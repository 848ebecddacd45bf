/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_extents.c - which bytes of a file were accessed, against a map of them. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "suites.h"
#include "trace/model/model.h"

#define MAP_BYTES (1 << 20)

static struct extent_pool pool;
static unsigned char map[MAP_BYTES];

static void set_up(void)
{
	memset(map, 0, sizeof(map));
}

static void tear_down(void)
{
	extent_pool_fini(&pool);
}

/* How many of the bytes are new to the map. */
static uint64_t map_add(uint64_t from, uint64_t to)
{
	uint64_t fresh = 0;

	for (uint64_t i = from; i < to; i++) {
		fresh += !map[i];
		map[i] = 1;
	}
	return fresh;
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 33;
}

START_TEST(pieces_that_touch_are_one)
{
	struct extent_set t = { 0 };

	ck_assert_uint_eq(extent_set_add(&pool, &t, 0, 100), 100);
	ck_assert_uint_eq(extent_set_add(&pool, &t, 200, 300), 100);
	ck_assert_uint_eq(t.count, 2);
	ck_assert_uint_eq(extent_set_add(&pool, &t, 100, 200), 100);
	ck_assert_uint_eq(t.count, 1);
	ck_assert_uint_eq(t.at[0].from, 0);
	ck_assert_uint_eq(t.at[0].to, 300);
	ck_assert_uint_eq(extent_set_add(&pool, &t, 250, 350), 50);
	ck_assert_uint_eq(extent_set_add(&pool, &t, 7, 7), 0);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), 350);
	ck_assert(extent_set_is_exact(&pool, &t));
}
END_TEST

/* Three pieces and more leave the struct, and come back when they are one. */
START_TEST(many_pieces_are_exact_and_come_back)
{
	struct extent_set t = { 0 };

	for (uint64_t i = 0; i < EXTENTS_MAX; i++)
		ck_assert_uint_eq(extent_set_add(&pool, &t, 10 * i, 10 * i + 5), 5);
	ck_assert_uint_ne(t.more, 0);
	ck_assert(extent_set_is_exact(&pool, &t));
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), 5 * EXTENTS_MAX);
	ck_assert_uint_eq(extent_set_add(&pool, &t, 0, 10 * EXTENTS_MAX), 5 * EXTENTS_MAX);
	ck_assert_uint_eq(t.more, 0);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), 10 * EXTENTS_MAX);
}
END_TEST

START_TEST(as_a_map_has_it_while_pieces_are_few)
{
	struct extent_set t = { 0 };
	uint64_t state = 17, all = 0;

	/* At most 200 pieces: starts are multiples of 5000. */
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t from = random_next(&state) % 200 * 5000;
		uint64_t to = from + random_next(&state) % 7000;

		to = to < MAP_BYTES ? to : MAP_BYTES;
		uint64_t fresh = map_add(from, to);
		ck_assert_uint_eq(extent_set_add(&pool, &t, from, to), fresh);
		all += fresh;
		ck_assert_uint_eq(extent_set_bytes(&pool, &t), all);
	}
	ck_assert(extent_set_is_exact(&pool, &t));
}
END_TEST

static uint64_t blocks_of_map(uint64_t highest)
{
	uint64_t bytes = 0;

	for (uint64_t b = 0; b < MAP_BYTES; b += EXTENT_BLOCK_BYTES)
		if (memchr(&map[b], 1, EXTENT_BLOCK_BYTES))
			bytes += EXTENT_BLOCK_BYTES;
	return bytes < highest ? bytes : highest;
}

START_TEST(more_pieces_are_whole_blocks)
{
	struct extent_set t = { 0 };
	uint64_t highest = 0;

	for (uint64_t i = 0; i <= EXTENTS_MAX; i++) {
		uint64_t from = i * 3989, to = from + 100;

		map_add(from, to);
		extent_set_add(&pool, &t, from, to);
		highest = to;
	}
	ck_assert(!extent_set_is_exact(&pool, &t));
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), blocks_of_map(highest));
	map_add(900000, 1000001);
	extent_set_add(&pool, &t, 900000, 1000001);
	highest = highest > 1000001 ? highest : 1000001;
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), blocks_of_map(highest));
	/* All of it: no more than there is. */
	extent_set_add(&pool, &t, 0, highest);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), highest);
}
END_TEST

/* Offsets that no file has take no more memory than others. */
START_TEST(the_largest_offsets_have_larger_blocks)
{
	struct extent_set t = { 0 };

	for (uint64_t i = 0; i <= EXTENTS_MAX; i++)
		extent_set_add(&pool, &t, i << 20, (i << 20) + 1);
	uint64_t before = extent_set_bytes(&pool, &t);
	ck_assert_uint_eq(before,
			  (uint64_t)EXTENTS_MAX * EXTENT_BLOCK_BYTES + 1 + EXTENT_BLOCK_BYTES - 1);
	extent_set_add(&pool, &t, INT64_MAX - 5, INT64_MAX);
	ck_assert_uint_gt(extent_set_bytes(&pool, &t), before);
	ck_assert_uint_le(pool.arena.bytes, 64 << 20);
	extent_set_add(&pool, &t, 0, INT64_MAX);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t), INT64_MAX);
}
END_TEST

START_TEST(files_do_not_disturb_each_other)
{
	static struct extent_set t[40];
	uint64_t state = 5;

	memset(t, 0, sizeof(t));
	for (uint64_t i = 0; i < 40 * 100; i++)
		extent_set_add(&pool, &t[i % 40], (i / 40) * 100, (i / 40) * 100 + 1 + i % 40);
	for (unsigned f = 0; f < 40; f++)
		ck_assert_uint_eq(extent_set_bytes(&pool, &t[f]), 100 * (1 + f));
	/* One whole, and its room goes to another. */
	extent_set_add(&pool, &t[7], 0, 1000000);
	for (unsigned i = 0; i < 50; i++)
		extent_set_add(&pool, &t[8], 20000 + random_next(&state) % 9000, 29000);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t[7]), 1000000);
	ck_assert_uint_eq(extent_set_bytes(&pool, &t[9]), 1000);
}
END_TEST

Suite *suite_model_extents(void)
{
	Suite *s = suite_create("model_extents");
	TCase *t = tcase_create("model_extents");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, pieces_that_touch_are_one);
	tcase_add_test(t, many_pieces_are_exact_and_come_back);
	tcase_add_test(t, as_a_map_has_it_while_pieces_are_few);
	tcase_add_test(t, more_pieces_are_whole_blocks);
	tcase_add_test(t, the_largest_offsets_have_larger_blocks);
	tcase_add_test(t, files_do_not_disturb_each_other);
	suite_add_tcase(s, t);
	return s;
}
