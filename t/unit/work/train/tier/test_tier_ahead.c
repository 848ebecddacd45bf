/* SPDX-License-Identifier: Apache-2.0 */
/* test_tier_ahead.c - cache_prefetch: what is brought into a tier ahead of its batch, how far
 * ahead, and by whom. */
#include <sched.h>
#include <string.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "suites.h"
#include "work/train/pipeline/pipeline.h"
#include "work/train/tier/tier_internal.h"

#define FILES 60u
#define BATCH 5u
#define STEPS (FILES / BATCH)
#define AHEAD 8u
#define HELD 24u /* samples */

struct fixture {
	struct job job;
	struct dataset dataset;
	struct pass pass;
	struct fake fake;
	struct mlgen_engine_job engine_job;
	struct clock *clock;
	struct tier *tier;
	struct tier_loader *loader;
	struct tier_decision got[FILES];
};

static void set_up(struct fixture *f, uint64_t epochs)
{
	static char directory[] = "d";
	struct tier_config cfg = { .job = &f->job, .pass = &f->pass, .engine_job = &f->engine_job };
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->clock = cfg.clock = clock_new_real();
	f->engine_job =
		(struct mlgen_engine_job){ .engine = &fake_sync, .workers = 2, .priv = &f->fake };
	f->job = (struct job){ .directory = directory,
			       .format = FORMAT_RAW,
			       .num_files = FILES,
			       .samples_per_file = 1,
			       .sample_size = { .a = 1000 },
			       .scale = 100,
			       .accelerators = 1,
			       .batch_size = BATCH,
			       .read_threads = 1,
			       .barrier = BARRIER_STEP,
			       .prefetch = 2,
			       .epochs = epochs,
			       .randseed = 7,
			       .drop_last = true,
			       .bs = { .read = 4096 },
			       .shuffle = { .kind = SHUFFLE_SAMPLE },
			       .cache = CACHE_LRU,
			       .cache_size = { .samples = HELD },
			       .cache_prefetch = AHEAD,
			       .cache_latency = { .a = 1000 } };
	ck_assert_int_eq(dataset_init(&f->dataset, &f->job, 0, NULL), 0);
	ck_assert_int_eq(train_pass(&f->pass, &f->job, &f->dataset, false, 0, &err), 0);
	ck_assert_int_eq(tier_new(&f->tier, &cfg, &err), 0);
	f->loader = tier_loader_new(f->tier, 0, 0, NULL, NULL, &err);
}

static void tear_down(struct fixture *f)
{
	tier_loader_close(f->loader);
	tier_loader_free(f->loader);
	tier_free(f->tier);
	dataset_fini(&f->dataset);
	clock_free(f->clock);
}

static void ask(struct fixture *f, uint64_t epoch, uint64_t step)
{
	struct sampler_epoch order;

	sampler_epoch(&order, &f->pass.sampler, epoch);
	for (uint64_t i = step * BATCH; i < (step + 1) * BATCH; i++)
		f->got[i] = *tier_decide(f->loader, epoch, &order, i);
}

static const struct cache_counts *counts(const struct fixture *f, uint64_t epoch)
{
	return &f->tier->caches[0].records[epoch];
}

/* Of the units that the cache has: are their bytes there? */
static unsigned slots_in_state(const struct fixture *f, enum tier_slot_state s)
{
	const struct tier_cache *c = &f->tier->caches[0];
	unsigned n = 0;

	for (uint64_t u = 0; u < FILES; u++) {
		uint32_t slot = cache_find(c->cache, u);

		n += slot != CACHE_NO_SLOT && tier_slot_state(c->slots[slot]) == s;
	}
	return n;
}

START_TEST(a_batch_and_so_many_behind_it_are_brought_in)
{
	struct fixture f;

	set_up(&f, 2);
	ask(&f, 0, 0);
	for (unsigned i = 0; i < BATCH; i++) {
		ck_assert(f.got[i].is_hit);
		ck_assert_uint_ne(f.got[i].slot, CACHE_NO_SLOT);
	}
	ck_assert_uint_eq(cache_units(f.tier->caches[0].cache), BATCH + AHEAD);
	ck_assert_uint_eq(counts(&f, 0)->prefetches, BATCH + AHEAD);
	tear_down(&f);
}
END_TEST

/* What no thread has fetched until as many others are wanted is not any more. */
START_TEST(what_waits_too_long_is_dropped)
{
	struct fixture f;

	set_up(&f, 2);
	for (uint64_t s = 0; s < STEPS; s++)
		ask(&f, 0, s);
	/* All of this epoch, and of the next one's first what is not there. */
	ck_assert_uint_ge(counts(&f, 0)->prefetches, FILES);
	ck_assert_uint_le(counts(&f, 0)->prefetches, FILES + AHEAD);
	ck_assert_uint_eq(counts(&f, 0)->dropped_fills, counts(&f, 0)->prefetches - AHEAD);
	tear_down(&f);
}
END_TEST

START_TEST(behind_the_last_epoch_there_is_nothing)
{
	struct fixture f;

	set_up(&f, 1);
	for (uint64_t s = 0; s < STEPS; s++)
		ask(&f, 0, s);
	ck_assert_uint_eq(counts(&f, 0)->prefetches, FILES);
	ck_assert_uint_eq(counts(&f, 0)->hits, FILES);
	tear_down(&f);
}
END_TEST

/* Its thread has read, or failed to read, so many. */
static void let_it_read(const struct fixture *f, unsigned most)
{
	while (slots_in_state(f, SLOT_READY) + slots_in_state(f, SLOT_FAILED) < most)
		sched_yield();
}

static void end(struct fixture *f)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(tier_end(f->tier, &err), 0);
	ck_assert_str_eq(err.text, "");
}

/* The first batch is asked for by its loader at once; as many as there is room for wait behind
 * it. */
START_TEST(a_thread_reads_what_is_wanted_into_its_slot)
{
	struct mlgen_err err = { 0 };
	struct fixture f;

	set_up(&f, 2);
	ck_assert_int_eq(tier_start(f.tier, &err), 0);
	ask(&f, 0, 0);
	let_it_read(&f, AHEAD);
	ck_assert_uint_eq(slots_in_state(&f, SLOT_READY), AHEAD);
	ask(&f, 0, 1);
	let_it_read(&f, BATCH + AHEAD);
	ck_assert_uint_eq(slots_in_state(&f, SLOT_READY), BATCH + AHEAD);
	end(&f);
	ck_assert_uint_eq(counts(&f, 0)->fills, BATCH + AHEAD);
	ck_assert_uint_eq(counts(&f, 0)->dropped_fills, BATCH);
	ck_assert_uint_eq(counts(&f, 0)->storage_bytes, 1000 * (BATCH + AHEAD));
	tear_down(&f);
}
END_TEST

/* It is for the one to report whose batch it is in. */
START_TEST(what_cannot_be_read_ahead_ends_nothing)
{
	struct mlgen_err err = { 0 };
	struct fixture f;

	set_up(&f, 2);
	fake_script(&f.fake, MLGEN_READ, -EIO);
	ck_assert_int_eq(tier_start(f.tier, &err), 0);
	ask(&f, 0, 0);
	let_it_read(&f, AHEAD);
	ck_assert_uint_eq(slots_in_state(&f, SLOT_READY), AHEAD - 1);
	end(&f);
	tear_down(&f);
}
END_TEST

START_TEST(threads_are_no_more_than_there_are_readers_or_samples)
{
	struct job j = { .read_threads = 4, .cache_prefetch = 100 };

	ck_assert_uint_eq(tier_ahead_threads(&j, 2), 8);
	j.cache_prefetch = 3;
	ck_assert_uint_eq(tier_ahead_threads(&j, 2), 3);
	ck_assert_uint_eq(tier_ahead_threads(&j, 1), 3);
}
END_TEST

Suite *suite_tier_ahead(void)
{
	Suite *s = suite_create("tier_ahead");
	TCase *tc = tcase_create("tier_ahead");

	tcase_add_test(tc, a_batch_and_so_many_behind_it_are_brought_in);
	tcase_add_test(tc, what_waits_too_long_is_dropped);
	tcase_add_test(tc, behind_the_last_epoch_there_is_nothing);
	tcase_add_test(tc, a_thread_reads_what_is_wanted_into_its_slot);
	tcase_add_test(tc, what_cannot_be_read_ahead_ends_nothing);
	tcase_add_test(tc, threads_are_no_more_than_there_are_readers_or_samples);
	suite_add_tcase(s, tc);
	return s;
}
