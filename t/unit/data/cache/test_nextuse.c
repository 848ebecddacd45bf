/* SPDX-License-Identifier: Apache-2.0 */
/* test_nextuse.c - next uses are those that the order of the epochs has. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "data/cache/cache.h"
#include "suites.h"

#define EPOCHS 4

static char directory[] = "d";

static void init(struct dataset *ds, struct sampler *s, const struct sampler_config *cfg)
{
	struct job job = { .directory = directory,
			   .format = FORMAT_RAW,
			   .num_files = 7,
			   .samples_per_file = 12,
			   .sample_size = { .a = 100 },
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	ck_assert_int_eq(dataset_init(ds, &job, 0, NULL), 0);
	ds->extent_samples = 1;
	ck_assert_int_eq(sampler_init(s, cfg, ds, NULL), 0);
}

static uint64_t by_file(const void *arg, uint64_t extent)
{
	return extent / *(const uint64_t *)arg;
}

/* The units of all epochs, one behind the other; *starts of each of them. */
static uint64_t all_units(const struct nextuse_config *cfg, uint64_t *units, uint64_t *starts)
{
	uint64_t count = 0;

	for (uint64_t e = 0; e < EPOCHS; e++) {
		struct orderwalk w;
		struct orderwalk_at at;

		starts[e] = count;
		orderwalk_begin(&w, cfg->sampler, cfg->first_rank, cfg->end_rank, e);
		while (orderwalk_next(&w, &at))
			units[count++] = cfg->unit_of ? by_file(cfg->arg, at.extent) : at.extent;
		orderwalk_end(&w);
	}
	starts[EPOCHS] = count;
	return count;
}

/* The first behind it. */
static uint64_t next_of(const uint64_t *units, uint64_t at, uint64_t end)
{
	for (uint64_t i = at + 1; i < end; i++)
		if (units[i] == units[at])
			return i;
	return NEXTUSE_NEVER;
}

/* Of a unit, from an epoch's beginning on. */
static uint64_t first_of(const uint64_t *units, uint64_t start, uint64_t end, uint64_t unit)
{
	for (uint64_t i = start; i < end; i++)
		if (units[i] == unit)
			return i;
	return NEXTUSE_NEVER;
}

static void check_uses(const struct nextuse_config *cfg)
{
	uint64_t starts[EPOCHS + 1];
	uint64_t *units = mem_array(EPOCHS * 84, sizeof(*units));
	struct mlgen_err err = { 0 };
	struct nextuse *n;

	all_units(cfg, units, starts);
	ck_assert_int_eq(nextuse_new(&n, cfg, &err), 0);
	for (uint64_t e = 0; e < EPOCHS; e++) {
		uint64_t end = starts[EPOCHS];

		nextuse_epoch(n, e);
		ck_assert_uint_eq(nextuse_accesses(n), starts[e + 1] - starts[e]);
		for (uint64_t i = 0; i < nextuse_accesses(n); i++)
			ck_assert_uint_eq(nextuse_at(n, i), next_of(units, starts[e] + i, end));
		nextuse_find_first(n);
		for (uint64_t u = 0; u < cfg->units; u++)
			ck_assert_uint_eq(nextuse_first(n, u), first_of(units, starts[e], end, u));
	}
	nextuse_free(n);
	mem_free(units);
}

START_TEST(next_uses_are_those_of_the_order)
{
	static const struct sampler_config orders[] = {
		{ .ranks = 1, .batch = 4, .shuffle.kind = SHUFFLE_SAMPLE },
		{ .ranks = 3, .batch = 5, .shuffle.kind = SHUFFLE_SAMPLE, .drop_last = true },
		{ .ranks = 2, .batch = 4, .shuffle.kind = SHUFFLE_NONE },
		{ .ranks = 2, .batch = 3, .shuffle.kind = SHUFFLE_FILE },
		{ .ranks = 1, .batch = 3, .shuffle.kind = SHUFFLE_REPLACEMENT },
	};
	uint64_t file_samples = 12;
	struct dataset ds;
	struct sampler s;

	init(&ds, &s, &orders[_i]);
	struct nextuse_config cfg = {
		.sampler = &s, .end_rank = orders[_i].ranks, .epochs = EPOCHS, .units = 84
	};
	check_uses(&cfg);
	cfg.first_rank = cfg.end_rank - 1;
	check_uses(&cfg);
	cfg.unit_of = by_file;
	cfg.arg = &file_samples;
	check_uses(&cfg);
	dataset_fini(&ds);
}
END_TEST

START_TEST(an_order_that_follows_from_losses_has_no_next_uses)
{
	struct sampler s = { .shuffle = SHUFFLE_IMPORTANCE };
	const struct nextuse_config cfg = { .sampler = &s };
	struct mlgen_err err = { 0 };
	struct nextuse *n;

	ck_assert_int_eq(nextuse_new(&n, &cfg, &err), -EINVAL);
	ck_assert_ptr_null(n);
	ck_assert_ptr_nonnull(strstr(err.text, "shuffle=importance"));
}
END_TEST

START_TEST(it_takes_4_bytes_an_access_and_4_a_unit)
{
	static const struct sampler_config order = { .ranks = 2, .batch = 4 };
	struct dataset ds;
	struct sampler s;

	init(&ds, &s, &order);
	struct nextuse_config cfg = { .sampler = &s, .end_rank = 2, .epochs = EPOCHS };
	uint64_t none = nextuse_state_bytes(&cfg);

	cfg.units = 84;
	ck_assert_uint_eq(nextuse_state_bytes(&cfg) - none, 4 * 84);
	cfg.end_rank = 0;
	cfg.units = 0;
	ck_assert_uint_eq(none - nextuse_state_bytes(&cfg), 4 * 84);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_nextuse(void)
{
	Suite *s = suite_create("nextuse");
	TCase *tc = tcase_create("nextuse");

	tcase_add_loop_test(tc, next_uses_are_those_of_the_order, 0, 5);
	tcase_add_test(tc, an_order_that_follows_from_losses_has_no_next_uses);
	tcase_add_test(tc, it_takes_4_bytes_an_access_and_4_a_unit);
	suite_add_tcase(s, tc);
	return s;
}
