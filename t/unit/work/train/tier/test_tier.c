/* SPDX-License-Identifier: Apache-2.0 */
/* test_tier.c - a cache tier decides by the plan, whoever asks first; and its slots are never
 * another's. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "suites.h"
#include "work/train/pipeline/pipeline.h"
#include "work/train/tier/tier_internal.h"

#define FILES 60u
#define RANKS 2u
#define BATCH 5u
#define STEPS (FILES / RANKS / BATCH)
#define EPOCHS 4u

struct fixture {
	struct job job;
	struct dataset dataset;
	struct pass pass;
	struct clock *clock;
	struct tier *tier;
	struct tier_loader *loaders[RANKS];
	struct tier_decision got[RANKS][EPOCHS][FILES / RANKS];
};

static void set_up(struct fixture *f, int policy)
{
	static char directory[] = "d";
	struct tier_config cfg = { .job = &f->job, .pass = &f->pass };
	struct mlgen_err err = { 0 };

	memset(f, 0, sizeof(*f));
	f->clock = cfg.clock = clock_new_real();
	f->job = (struct job){ .directory = directory,
			       .format = FORMAT_RAW,
			       .num_files = FILES,
			       .samples_per_file = 1,
			       .sample_size = { .a = 1000 },
			       .scale = 100,
			       .accelerators = RANKS,
			       .batch_size = BATCH,
			       .read_threads = 1,
			       .barrier = BARRIER_STEP,
			       .prefetch = 2,
			       .epochs = EPOCHS,
			       .randseed = 7,
			       .drop_last = true,
			       .shuffle = { .kind = SHUFFLE_SAMPLE },
			       .cache = policy,
			       .cache_size = { .percent = 40 },
			       .cache_latency = { .a = 1000 } };
	ck_assert_int_eq(dataset_init(&f->dataset, &f->job, 0, NULL), 0);
	ck_assert_int_eq(train_pass(&f->pass, &f->job, &f->dataset, false, 0, &err), 0);
	ck_assert_int_eq(tier_new(&f->tier, &cfg, &err), 0);
	for (uint64_t i = 0; i < RANKS; i++)
		f->loaders[i] = tier_loader_new(f->tier, i, i, NULL, NULL, &err);
}

static void tear_down(struct fixture *f)
{
	for (uint64_t i = 0; i < RANKS; i++) {
		tier_loader_close(f->loaders[i]);
		tier_loader_free(f->loaders[i]);
	}
	tier_free(f->tier);
	dataset_fini(&f->dataset);
	clock_free(f->clock);
}

static void ask(struct fixture *f, uint64_t rank, uint64_t epoch, uint64_t step)
{
	struct sampler_epoch order;

	sampler_epoch(&order, &f->pass.sampler, epoch);
	for (uint64_t i = step * BATCH; i < (step + 1) * BATCH; i++)
		f->got[rank][epoch][i] = *tier_decide(f->loaders[rank], epoch, &order, i);
}

/* Ranks by turns, whichever is first; one of them `ahead` by so many steps. */
static void ask_all(struct fixture *f, uint64_t first, uint64_t ahead)
{
	uint64_t all = EPOCHS * STEPS, other = RANKS - 1 - first;

	for (uint64_t n = 0; n < all + ahead; n++) {
		if (n < all)
			ask(f, first, n / STEPS, n % STEPS);
		if (n >= ahead)
			ask(f, other, (n - ahead) / STEPS, (n - ahead) % STEPS);
	}
}

START_TEST(decisions_are_those_of_the_plan_whoever_asks_first)
{
	struct fixture want, f;

	set_up(&want, _i);
	ask_all(&want, 0, 0);
	for (uint64_t first = 0; first < RANKS; first++)
		for (uint64_t ahead = 0; ahead < 3; ahead++) {
			set_up(&f, _i);
			ask_all(&f, first, ahead);
			ck_assert_mem_eq(f.got, want.got, sizeof(f.got));
			tear_down(&f);
		}
	tear_down(&want);
}
END_TEST

struct asker {
	struct fixture *f;
	uint64_t rank;
	struct peers *peers;
};

static void *ask_by_itself(void *asker)
{
	struct asker *a = asker;

	clock_join(a->f->clock);
	for (uint64_t n = 0; n < EPOCHS * STEPS; n++) {
		ask(a->f, a->rank, n / STEPS, n % STEPS);
		peers_barrier(a->peers, NULL, NULL);
	}
	clock_leave(a->f->clock);
	return NULL;
}

START_TEST(threads_side_by_side_get_them_too)
{
	struct asker askers[RANKS];
	struct fixture want, f;
	pthread_t threads[RANKS];
	struct peers peers;

	set_up(&want, CACHE_LRU);
	ask_all(&want, 0, 0);
	set_up(&f, CACHE_LRU);
	peers_init(&peers, f.clock, RANKS);
	for (uint64_t i = 0; i < RANKS; i++) {
		askers[i] = (struct asker){ &f, i, &peers };
		clock_expect(f.clock, 1);
		ck_assert_int_eq(thread_start(&threads[i], ask_by_itself, &askers[i]), 0);
	}
	for (uint64_t i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_mem_eq(f.got, want.got, sizeof(f.got));
	peers_fini(&peers);
	tear_down(&f);
	tear_down(&want);
}
END_TEST

START_TEST(what_was_written_over_is_said_to_be_lost)
{
	struct fixture f;

	set_up(&f, CACHE_LRU);
	for (uint64_t n = 0; n < 3 * STEPS; n++)
		ask(&f, 0, n / STEPS, n % STEPS);
	ask(&f, 1, 0, 0);
	ck_assert(f.got[1][0][0].is_lost);
	ck_assert_uint_eq(f.got[1][0][0].slot, CACHE_NO_SLOT);
	ask(&f, 1, 2, STEPS - 1);
	ck_assert(!f.got[1][2][FILES / RANKS - 1].is_lost);
	tear_down(&f);
}
END_TEST

START_TEST(epochs_are_counted)
{
	struct cache_result r = { 0 };
	const struct cache_epoch *e;
	struct fixture f;

	set_up(&f, CACHE_MINIO);
	ask_all(&f, 0, 0);
	tier_result(f.tier, &r);
	ck_assert_str_eq(r.policy, "minio");
	ck_assert_str_eq(r.place, "played");
	ck_assert_uint_eq(r.epochs.count, EPOCHS);
	e = r.epochs.items;
	ck_assert(e[0].is_cold);
	ck_assert_uint_eq(e[0].counts.hits, 0);
	ck_assert_uint_eq(e[0].counts.unique_samples, FILES);
	ck_assert(isnan(e[0].counts.rank_correlation));
	for (unsigned i = 1; i < EPOCHS; i++) {
		ck_assert(!e[i].is_cold);
		ck_assert_uint_eq(e[i].counts.accesses, FILES);
		ck_assert_uint_eq(e[i].counts.hits, FILES * 4 / 10);
		ck_assert_uint_eq(e[i].counts.evictions, 0);
		ck_assert_double_lt(fabs(e[i].counts.rank_correlation), 0.5);
		ck_assert_double_eq(e[i].counts.multiplicity, 1);
	}
	ck_assert_double_eq(r.hit_ratio, 0.4);
	ck_assert_uint_eq(r.all.accesses, EPOCHS * FILES);
	mem_free(r.ranks.items);
	mem_free(r.epochs.items);
	tear_down(&f);
}
END_TEST

/* The epochs' correlations, where so many accesses were counted before. */
static void correlations(uint64_t before, double *out, uint32_t *last)
{
	struct tier_seen *seen;
	struct fixture f;

	set_up(&f, CACHE_MINIO);
	seen = &f.tier->caches[0].seen;
	seen->epoch_first += before;
	ask_all(&f, 0, 0);
	for (unsigned i = 0; i < EPOCHS; i++)
		out[i] = f.tier->caches[0].records[i].rank_correlation;
	*last = 0;
	for (unsigned i = 0; i < FILES; i++)
		*last = seen->last[i] > *last ? seen->last[i] : *last;
	tear_down(&f);
}

/* It begins at 1, and those of two epochs are known. */
START_TEST(accesses_are_counted_anew_before_32_bits_are_full)
{
	double want[EPOCHS], got[EPOCHS];
	uint32_t last;

	correlations(0, want, &last);
	ck_assert_uint_eq(last, EPOCHS * FILES);
	correlations(TIER_EPOCH_ACCESSES_MAX - FILES, got, &last);
	ck_assert_uint_eq(last, EPOCHS * FILES);
	for (unsigned i = 1; i + 1 < EPOCHS; i++)
		ck_assert_double_eq(got[i], want[i]);
}
END_TEST

static uint64_t state_bytes(struct fixture *f)
{
	const struct stages stages = { .train = f->pass };

	return tier_state_bytes(&f->job, &stages);
}

/* Of so many files, of which so many are held in a directory: all alike, or each of another
 * size. */
static void resize(struct fixture *f, uint64_t files, uint64_t held, bool differ)
{
	static char tier[] = "tier";

	dataset_fini(&f->dataset);
	f->job.num_files = files;
	if (differ)
		f->job.sample_size = (struct dist){ .kind = DIST_UNIFORM, .a = 1000, .b = 2000 };
	f->job.cache_size = (struct cache_size){ .samples = held };
	f->job.cache_directory = tier;
	f->job.cache_persist = true;
	ck_assert_int_eq(dataset_init(&f->dataset, &f->job, 0, NULL), 0);
	ck_assert_int_eq(train_pass(&f->pass, &f->job, &f->dataset, false, 0, NULL), 0);
}

#define MORE 100000u

START_TEST(it_takes_16_bytes_a_sample_and_32_an_entry_at_most)
{
	uint64_t least, of_samples, of_entries;
	bool differ = _i % 2;
	struct fixture f;

	set_up(&f, _i / 2);
	resize(&f, 1000, 1000, differ);
	least = state_bytes(&f);
	resize(&f, 1000 + MORE, 1000, differ);
	of_samples = state_bytes(&f) - least;
	resize(&f, 1000 + MORE, 1000 + MORE, differ);
	of_entries = state_bytes(&f) - least - of_samples;
	ck_assert_uint_ge(of_samples, 8 * MORE);
	ck_assert_uint_le(of_samples, 16 * MORE);
	ck_assert_uint_ge(of_entries, 20 * MORE);
	ck_assert_uint_le(of_entries, 32 * MORE);
	tear_down(&f);
}
END_TEST

START_TEST(a_slot_is_read_by_those_whose_bytes_it_has)
{
	_Atomic uint64_t slot = 0;

	ck_assert(!tier_slot_enter(&slot, 1));
	ck_assert(tier_slot_fill(&slot, 1, true));
	ck_assert(!tier_slot_enter(&slot, 1)); /* not yet */
	ck_assert(!tier_slot_fill(&slot, 2, true));
	tier_slot_filled(&slot, 1, true);
	ck_assert(tier_slot_enter(&slot, 1));
	ck_assert(tier_slot_enter(&slot, 1));
	ck_assert(!tier_slot_enter(&slot, 2));
	ck_assert(!tier_slot_fill(&slot, 2, true)); /* is read */
	tier_slot_leave(&slot);
	ck_assert(!tier_slot_fill(&slot, 2, true));
	tier_slot_leave(&slot);
	ck_assert(!tier_slot_fill(&slot, 1, true)); /* is there */
	ck_assert(tier_slot_fill(&slot, 3, false));
	tier_slot_filled(&slot, 3, true);
	ck_assert(!tier_slot_fill(&slot, 2, true)); /* a later one has it */
	ck_assert(!tier_slot_enter(&slot, 1));
}
END_TEST

START_TEST(a_slot_that_failed_is_filled_again_where_there_is_room)
{
	_Atomic uint64_t slot = 0;

	ck_assert(!tier_slot_fill(&slot, 1, false)); /* a full disk */
	ck_assert(tier_slot_fill(&slot, 1, true));
	tier_slot_filled(&slot, 1, false);
	ck_assert(!tier_slot_enter(&slot, 1));
	ck_assert(!tier_slot_fill(&slot, 1, false));
	ck_assert(tier_slot_fill(&slot, 1, true));
	tier_slot_filled(&slot, 1, true);
	ck_assert(tier_slot_enter(&slot, 1));
	tier_slot_spoil(&slot);
	ck_assert(!tier_slot_enter(&slot, 1));
	tier_slot_leave(&slot);
	ck_assert(tier_slot_fill(&slot, 1, true));
}
END_TEST

Suite *suite_tier(void)
{
	Suite *s = suite_create("tier");
	TCase *tc = tcase_create("decisions");

	tcase_add_loop_test(tc, decisions_are_those_of_the_plan_whoever_asks_first, CACHE_LRU,
			    CACHE_IMPORTANCE);
	tcase_add_test(tc, threads_side_by_side_get_them_too);
	tcase_add_test(tc, what_was_written_over_is_said_to_be_lost);
	tcase_add_test(tc, epochs_are_counted);
	tcase_add_test(tc, accesses_are_counted_anew_before_32_bits_are_full);
	tcase_add_loop_test(tc, it_takes_16_bytes_a_sample_and_32_an_entry_at_most, 2 * CACHE_LRU,
			    2 * CACHE_HOT + 2);
	suite_add_tcase(s, tc);
	tc = tcase_create("slots");
	tcase_add_test(tc, a_slot_is_read_by_those_whose_bytes_it_has);
	tcase_add_test(tc, a_slot_that_failed_is_filled_again_where_there_is_room);
	suite_add_tcase(s, tc);
	return s;
}
