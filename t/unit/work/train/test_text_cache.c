/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_cache.c - what a report says of a cache tier, and what a larger one would be worth. */
#include "suites.h"
#include "text_rig.h"

#include "ask/results/results.h"
#include "work/train/train_internal.h"

/* What goes into a tier of a fifth of the data set; owned by the world. */
struct tier {
	struct cache_epoch epochs[3];
	struct hist *hit, *miss;
};

static struct cache_counts counts(uint64_t hits, uint64_t misses)
{
	return (struct cache_counts){
		.accesses = hits + misses,
		.unique_samples = hits + misses,
		.hits = hits,
		.misses = misses,
		.fills = 200,
		.cache_bytes = hits << 20,
		.storage_bytes = misses << 20,
		.hit_ratio = (double)hits / (double)(hits + misses),
		.sequential_ratio = 0.001,
		.rank_correlation = -0.012,
		.multiplicity = 1,
	};
}

static void tier_init(struct tier *t, struct world *w)
{
	struct cache_result *c = &w->result.ml.cache;

	*t = (struct tier){ .hit = hist_new(), .miss = hist_new() };
	for (unsigned i = 0; i < 3; i++)
		t->epochs[i] =
			(struct cache_epoch){ .epoch = i + 1,
					      .is_cold = i == 0,
					      .counts = i ? counts(200, 800) : counts(0, 1000) };
	add_many(t->hit, 400, 1 * MS);
	add_many(t->miss, 2600, 11 * MS);
	*c = (struct cache_result){
		.policy = "minio",
		.place = "memory",
		.caches = 1,
		.size_bytes = 200 << 20,
		.size_samples = UINT64_MAX,
		.data_bytes = 1000 << 20,
		.used_bytes = 200 << 20,
		.units = 200,
		.hit_ratio = 0.2,
		.all = counts(400, 2600),
		.epochs = { t->epochs, 3 },
		.hit_ns = t->hit,
		.miss_ns = t->miss,
		.draw_seconds = NONE,
	};
}

static void tier_fini(struct tier *t, struct world *w)
{
	w->result.ml.cache = (struct cache_result){ 0 };
	hist_free(t->hit);
	hist_free(t->miss);
}

START_TEST(a_tier_has_its_lines)
{
	struct world *w = world_new();
	struct tier t;

	tier_init(&t, w);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text,
		  "\ncache              minio in memory, 200 MiB (20.0% of the dataset): hit ratio "
		  "20.0% from\n                   epoch 2 on; epoch 1 (cold) 0.0%, 2 20.0%, 3 "
		  "20.0%\ncache samples      400 hits, 2,600 misses; 200 fills\ncache bytes        "
		  "400 MiB from the tier, 2.54 GiB from storage; 200 MiB held at the end\norder    "
		  "          sequential 0.1%, correlation with the previous epoch -0.01,\n         "
		  "          each sample 1.00 times per epoch\n");
	check_has(text, "\nhit                   400    1.000");
	check_has(text, "\nmiss                2,600   11.00 ");
	free(text);
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

START_TEST(what_happened_to_it_is_said)
{
	struct world *w = world_new();
	struct cache_result *c = &w->result.ml.cache;
	struct tier t;

	tier_init(&t, w);
	c->place = c->directory = "/mnt/nvme/tier";
	c->caches = 8;
	c->size_bytes = UINT64_MAX;
	c->size_samples = 5000;
	c->all.substitutions = 3;
	c->all.late_hits = 4;
	c->all.dropped_fills = 5;
	c->all.evictions = 6;
	c->kept_units = 7;
	c->verified = 400;
	c->wrong = 1;
	c->is_full = true;
	c->epochs.count = 1;
	c->hit_ratio = NONE;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text, "minio in /mnt/nvme/tier, 8 x 5,000 samples: hit ratio 13.3%,\n            "
			"       of one epoch\n");
	check_has(text, "400 hits, 2,600 misses, 3 substituted, 4 late hits; 200 fills,\n          "
			"         5 dropped, 6 evictions; 7 kept from an earlier run; 400 hits "
			"checked,\n                   1 of them WRONG\n");
	check_has(text, "its directory is full");
	free(text);
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

START_TEST(without_one_there_is_no_word_of_it)
{
	struct world *w = world_new();
	char *text = report_text(&w->run, DETAIL_USUAL);

	check_lacks(text, "cache ");
	check_lacks(text, "\nhit ");
	check_lacks(text, "\norder ");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(its_figures_have_keys)
{
	struct world *w = world_new();
	struct tier t;
	double v = 0;

	/* A run without a tier has none of them. */
	ck_assert(!require_value(&w->result, "cache.hit_ratio", &v) || isnan(v));
	tier_init(&t, w);
	ck_assert(require_value(&w->result, "cache.hit_ratio", &v));
	ck_assert_double_eq_tol(v, 0.2, 1e-9);
	ck_assert(require_value(&w->result, "cache.hit_ns.mean", &v));
	ck_assert_double_eq_tol(v, 1 * MS, 1);
	ck_assert(require_value(&w->result, "cache.misses", &v));
	ck_assert_double_eq_tol(v, 2600, 1e-9);
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

/* ---- what decides, and what is to be tried ---- */

/* 4 readers of one accelerator were busy all the time: 3,000 samples in 7.5 s are 10 ms each, of
 * which a tier of a fifth saves 10 ms of every hit. */
static void bind_to_storage(struct world *w)
{
	struct ml_result *ml = &w->result.ml;
	struct job *j = &w->job;

	j->shuffle.kind = SHUFFLE_SAMPLE;
	j->cache = CACHE_MINIO;
	j->accelerators = ml->accelerators = 1;
	j->read_threads = 4;
	j->batch_size = 10;
	/* 500 samples a second at 90 % are 450: 4 readers have 8.9 ms. */
	j->compute_time = (struct dist){ .kind = DIST_CONST, .a = 20e6 };
	ml->samples = 3000;
	w->result.wall_seconds = 7.5;
	ml->loader_percent = (struct loader_percent){ .read = 100 };
	ml->target_au_percent = 90;
}

static struct verdict_findings findings(const struct world *w)
{
	return (struct verdict_findings){
		.run = &w->run, .result = &w->result, .job = &w->job, .ml = &w->result.ml
	};
}

START_TEST(a_larger_tier_follows_from_what_hits_and_misses_cost)
{
	struct world *w = world_new();
	struct tier t;

	tier_init(&t, w);
	bind_to_storage(w);
	struct verdict_findings f = findings(w);
	/* 13.3 % hits, and 10 - 8.89 ms less: 11.1 % more of them. */
	ck_assert_double_eq_tol(verdict_cache_share(&f, 90), .2444, .001);
	/* Less than there is would do, or nothing can. */
	ck_assert(isnan(verdict_cache_share(&f, 70)));
	w->job.compute_time.a = 1e6;
	ck_assert(isnan(verdict_cache_share(&f, 90)));
	w->job.compute_time.a = 20e6;
	/* Readers that were idle for 5 % of it were busy for 9.5 ms. */
	w->result.ml.loader_percent.idle = 5;
	ck_assert_double_eq_tol(verdict_cache_share(&f, 90), .1944, .001);
	w->result.ml.loader_percent.idle = 0;
	/* LRU takes far more for so many hits. */
	w->job.cache = CACHE_LRU;
	ck_assert_double_gt(verdict_cache_share(&f, 90), .55);
	w->job.cache = CACHE_FIFO;
	ck_assert(isnan(verdict_cache_share(&f, 90)));
	w->job.cache = CACHE_MINIO;
	w->job.cache_warm = 8;
	ck_assert(isnan(verdict_cache_share(&f, 90)));
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

START_TEST(storage_that_is_the_limit_asks_for_a_larger_tier)
{
	struct world *w = world_new();
	struct tier t;

	tier_init(&t, w);
	bind_to_storage(w);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text, "STORAGE-BOUND");
	check_has(text, "--cache_size=25% : a tier of 25% would reach 90% AU (estimate)");
	free(text);
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

START_TEST(a_tier_whose_disk_is_the_limit_is_named)
{
	struct world *w = world_new();
	struct tier t;

	tier_init(&t, w);
	bind_to_storage(w);
	w->result.ml.cache.directory = "/mnt/nvme/tier";
	add_many(t.hit, 4000, 10 * MS);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text, "CACHE-BOUND     the tier's disk is the limit: /mnt/nvme/tier and storage "
			"delivered");
	check_has(text, "hits take 58.6% of the time of samples, 9.182 ms each (mean);");
	check_has(text, "--cache_directory=PATH : a tier on a faster disk");
	free(text);
	tier_fini(&t, w);
	world_free(w);
}
END_TEST

Suite *suite_text_cache(void)
{
	Suite *s = suite_create("text_cache");
	TCase *t = tcase_create("text_cache");

	tcase_add_test(t, a_tier_has_its_lines);
	tcase_add_test(t, what_happened_to_it_is_said);
	tcase_add_test(t, its_figures_have_keys);
	tcase_add_test(t, without_one_there_is_no_word_of_it);
	tcase_add_test(t, a_larger_tier_follows_from_what_hits_and_misses_cost);
	tcase_add_test(t, storage_that_is_the_limit_asks_for_a_larger_tier);
	tcase_add_test(t, a_tier_whose_disk_is_the_limit_is_named);
	suite_add_tcase(s, t);
	return s;
}
