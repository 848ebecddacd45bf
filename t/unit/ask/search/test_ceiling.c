/* SPDX-License-Identifier: Apache-2.0 */
/* test_ceiling.c - which trainings get a ceiling, for how long, on how many files; what stands in
 * for a dataset. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ask/search/search.h"
#include "ask/search/search_internal.h"
#include "null_engine.h"
#include "report/text/text.h"
#include "stat/hist.h"
#include "suites.h"
#include "tree.h"
#include "work/workloads.h"

#define NONE ((double)NAN)
#define MIB 1048576.0

/* A long training of 8 accelerators that ended as it should. */
struct world {
	struct job job;
	struct dataset dataset;
	struct job_result result;
	char verdict[16];
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->job.accelerators = 8;
	w->job.batch_size = 4;
	w->job.compute_time.a = 100e6;
	w->dataset.files = 10000;
	w->dataset.samples_per_file = 1;
	w->result.job = &w->job;
	w->result.dataset = &w->dataset;
	w->result.work = &work_train;
	w->result.members = 1;
	w->result.totals.mean_file_bytes = MIB;
	w->result.ml.steps = 1000;
	w->result.wall_seconds = 100;
	w->result.verdict.name = w->verdict;
	strcpy(w->verdict, "unclear");
	ceiling_result_init(&w->result.ml.ceiling);
}

START_TEST(it_comes_by_itself_where_the_verdict_is_in_doubt)
{
	static const struct {
		const char *verdict;
		double seconds;
	} rows[] = {
		{ "memory", 0 },  { "network", 0 }, { "host", 3 },
		{ "compute", 0 }, { "storage", 0 }, { "unclear", 3 },
	};
	struct world w;

	world_init(&w);
	strcpy(w.verdict, rows[_i].verdict);
	ck_assert_double_eq(ceiling_seconds(&w.result, true), rows[_i].seconds);
	/* Asked for, it is measured whatever the verdict: 51 steps of 100 ms, and a quarter of the
	 * time before they count. */
	ck_assert_double_eq_tol(ceiling_seconds(&w.result, false), 6.8, 1e-9);
}
END_TEST

START_TEST(by_itself_it_is_short_beside_the_run)
{
	static const struct {
		double wall, compute_ms;
		bool too_short;
		double seconds;
	} rows[] = {
		{ 100, 100, false, 3 }, { 10, 100, false, 2 }, { 5, 100, false, 1 },
		{ 4.9, 100, false, 0 }, { 100, 100, true, 0 }, { 100, 450, false, 3 },
		{ 100, 451, false, 0 }, { 100, 0, false, 3 },
	};
	struct world w;

	world_init(&w);
	w.result.wall_seconds = rows[_i].wall;
	w.result.ml.too_short = rows[_i].too_short;
	w.job.compute_time.a = rows[_i].compute_ms * 1e6;
	ck_assert_double_eq_tol(ceiling_seconds(&w.result, true), rows[_i].seconds, 1e-9);
}
END_TEST

START_TEST(asked_for_it_has_fifty_steps_within_limits)
{
	static const struct {
		double compute_ms, seconds;
	} rows[] = {
		{ 0, 3 },
		{ 3, 3 },
		{ 323, 21.964 },
		{ 5000, 30 },
	};
	struct world w;

	world_init(&w);
	w.job.compute_time.a = rows[_i].compute_ms * 1e6;
	ck_assert_double_eq_tol(ceiling_seconds(&w.result, false), rows[_i].seconds, 1e-9);
}
END_TEST

static void none_of_another_kind(struct world *w)
{
	w->result.work = &work_io;
}

static void none_of_no_step(struct world *w)
{
	w->result.ml.steps = 0;
}

static void none_of_an_error(struct world *w)
{
	w->result.err.code = -EIO;
}

static void none_of_an_interrupt(struct world *w)
{
	w->result.interrupted = true;
}

static void none_of_several(struct world *w)
{
	w->result.members = 2;
}

static void none_without_storage(struct world *w)
{
	static struct null_opts opts;

	w->job.engine = &null_engine;
	w->job.engine_opts = &opts;
}

START_TEST(what_ran_otherwise_has_none)
{
	static void (*const changes[])(struct world *) = {
		none_of_another_kind, none_of_no_step, none_of_an_error,
		none_of_an_interrupt, none_of_several, none_without_storage,
	};
	struct world w;
	world_init(&w);
	changes[_i](&w);
	ck_assert_double_eq(ceiling_seconds(&w.result, false), 0);
	ck_assert_double_eq(ceiling_seconds(&w.result, true), 0);
}
END_TEST

START_TEST(a_model_of_storage_has_one_when_asked)
{
	struct null_opts opts = { .delay_ns = 5 };
	struct world w;

	world_init(&w);
	w.job.engine = &null_engine;
	w.job.engine_opts = &opts;
	ck_assert_double_gt(ceiling_seconds(&w.result, false), 0);
	ck_assert_double_eq(ceiling_seconds(&w.result, true), 0);
}
END_TEST

START_TEST(files_are_some_batches_but_no_more_than_memory_takes)
{
	static const struct {
		double file_mib;
		uint64_t files, per_file, distinct;
		double most_mib;
		uint64_t expected;
	} rows[] = {
		/* 4 batches of 4 for each of 8 accelerators are 128 samples */
		{ 140, 10000, 1, 0, 1e6, 128 },
		{ 140, 10000, 1, 0, 1400, 10 },
		{ 140, 10000, 1, 0, 100, 1 },
		{ 140, 90, 1, 0, 1e6, 90 },
		{ 140, 10000, 1, 7, 1e6, 7 },
		/* not so little that a CPU's cache holds them */
		{ 0.125, 10000, 1, 0, 1e6, 2048 },
		{ 128, 10000, 1251, 0, 1e6, 2 },
	};
	struct world w;

	world_init(&w);
	w.result.totals.mean_file_bytes = rows[_i].file_mib * MIB;
	w.dataset.files = rows[_i].files;
	w.dataset.samples_per_file = rows[_i].per_file;
	w.job.distinct_files = rows[_i].distinct;
	ck_assert_uint_eq(ceiling_files(&w.result, (uint64_t)(rows[_i].most_mib * MIB)),
			  rows[_i].expected);
}
END_TEST

START_TEST(jobs_beside_are_those_of_the_group_once_each)
{
	struct job jobs[4] = { 0 };
	struct job_result results[] = {
		{ .job = &jobs[0], .group = 0, .work = &work_train },
		{ .job = &jobs[1], .group = 1, .work = &work_train },
		{ .job = &jobs[2], .group = 1, .work = &work_io },
		{ .job = &jobs[2], .group = 1, .work = &work_io },
		{ .job = &jobs[3], .group = 1, .work = &work_prepare },
	};
	static const uint64_t expected[] = { 0, 1, 1 };
	struct run_result r = { .jobs = results, .job_count = 5 };

	ck_assert_uint_eq(ceiling_concurrent_jobs(&r, &results[_i]), expected[_i]);
}
END_TEST

/* ---- what the figures say ---- */

static const struct saying {
	double au, null_au, cached_au; /* percent */
	bool is_direct, is_tried;
	uint64_t beside;
	int says;
	double points; /* NaN: not looked at */
} sayings[] = {
	{ 71.4, 74, 72.0, false, true, 0, CEILING_NEAR, 0.6 },
	{ 71.4, 99, 73.4, false, true, 0, CEILING_NEAR, 2.0 },
	{ 71.4, 99, 73.5, false, true, 0, CEILING_ABOVE, 2.1 },
	{ 71.4, 99, 70.0, false, true, 0, CEILING_NEAR, -1.4 },
	/* of a small AU a part, or twice as much would be near */
	{ 8, 99, 8.375, false, true, 0, CEILING_NEAR, 0.375 },
	{ 8, 99, 8.5, false, true, 0, CEILING_ABOVE, 0.5 },
	/* the null figure alone is a bound, and no more */
	{ 71.4, 72, NONE, false, true, 0, CEILING_NEAR, 0.6 },
	{ 71.4, 99, NONE, false, true, 0, CEILING_UNKNOWN, NONE },
	{ 71.4, NONE, NONE, false, true, 0, CEILING_UNKNOWN, NONE },
	/* with O_DIRECT nothing is copied: so it is there */
	{ 71.4, 99, 60, true, true, 0, CEILING_UNKNOWN, NONE },
	{ 71.4, 72, 60, true, true, 0, CEILING_NEAR, 0.6 },
	{ 71.4, 99, 90, true, true, 0, CEILING_ABOVE, 18.6 },
	{ 71.4, NONE, 72, true, true, 0, CEILING_UNKNOWN, NONE },
	/* the job beside may have cost the difference */
	{ 71.4, 99, 98, false, true, 1, CEILING_UNKNOWN, NONE },
	{ 71.4, 73, 72, false, true, 1, CEILING_NEAR, 0.6 },
	{ 71.4, 73, 72, false, false, 0, CEILING_UNKNOWN, NONE },
};

START_TEST(a_ceiling_says_what_the_limit_is)
{
	const struct saying *s = &sayings[_i];
	struct ceiling_gap g;
	struct world w;

	world_init(&w);
	struct ceiling_result *c = &w.result.ml.ceiling;
	w.job.direct = s->is_direct;
	w.result.ml.au_percent = s->au;
	c->is_tried = s->is_tried;
	c->null_au_percent = s->null_au;
	c->cached_au_percent = s->cached_au;
	c->jobs_beside = s->beside;
	verdict_ceiling(&g, &w.job, &w.result.ml);
	ck_assert_int_eq((int)g.says, s->says);
	ck_assert(!g.is_rate);
	if (!isnan(s->points))
		ck_assert_double_eq_tol(g.points, s->points, 1e-9);
}
END_TEST

START_TEST(of_a_model_the_null_figure_is_the_ceiling)
{
	static const struct {
		double null_au;
		int says;
	} rows[] = { { 72, CEILING_NEAR }, { 99, CEILING_ABOVE } };
	struct null_opts opts = { .delay_ns = 5 };
	struct ceiling_gap g;
	struct world w;

	world_init(&w);
	w.job.engine = &null_engine;
	w.job.engine_opts = &opts;
	w.result.ml.au_percent = 71.4;
	w.result.ml.ceiling.is_tried = true;
	w.result.ml.ceiling.null_au_percent = rows[_i].null_au;
	verdict_ceiling(&g, &w.job, &w.result.ml);
	ck_assert_int_eq((int)g.says, rows[_i].says);
	ck_assert(g.of_null);
	ck_assert_double_eq(g.reached, rows[_i].null_au);
}
END_TEST

/* compute_time=0: 8 x 4 samples in steps of 10 ms. */
START_TEST(without_an_au_rates_are_compared)
{
	static const struct {
		double cached;
		int says;
	} rows[] = {
		{ 3200, CEILING_NEAR },
		{ 3260, CEILING_NEAR },
		{ 3300, CEILING_ABOVE },
		{ NONE, CEILING_UNKNOWN },
	};
	struct ceiling_gap g;
	struct world w;

	world_init(&w);
	w.result.ml.au_percent = NONE;
	w.result.ml.accelerators = 8;
	w.result.ml.step_ns = hist_new();
	hist_add(w.result.ml.step_ns, 10000000);
	w.result.ml.ceiling.is_tried = true;
	w.result.ml.ceiling.cached_samples_per_sec = rows[_i].cached;
	verdict_ceiling(&g, &w.job, &w.result.ml);
	ck_assert(g.is_rate);
	ck_assert_int_eq((int)g.says, rows[_i].says);
	if (g.says != CEILING_UNKNOWN)
		ck_assert_double_eq(g.reached, rows[_i].cached);
	hist_free(w.result.ml.step_ns);
}
END_TEST

/* ---- a few files in place of a dataset ---- */

static char root[TREE_BYTES];
static struct dataset ds;

static void setup(void)
{
	struct job job = { .directory = root,
			   .format = FORMAT_NPY,
			   .phase = PHASE_PREPARE,
			   .num_files = 10,
			   .samples_per_file = 1,
			   .label_size_bytes = 64,
			   .scale = 100,
			   .accelerators = 1,
			   .batch_size = 1 };

	tree_make(root);
	ck_assert_int_eq(
		dist_parse(&job.sample_size, "uniform:1k:64k", DIST_BYTES, NULL, 1024, NULL), 0);
	ck_assert_int_eq(dataset_init(&ds, &job, 0, NULL), 0);
	ck_assert_uint_eq(ds.parts, 2);
}

static void teardown(void)
{
	dataset_fini(&ds);
	tree_remove(root);
}

START_TEST(names_and_sizes_repeat_with_distinct_files)
{
	char path[PATH_MAX], own[PATH_MAX];
	struct dataset few = ds;

	few.distinct_files = 3;
	for (uint64_t i = 0; i < dataset_all_files(&ds); i++) {
		uint64_t part = i / 10, same = part * 10 + i % 10 % 3;

		ck_assert_uint_eq(dataset_distinct_file(&few, i), i % 10 % 3);
		ck_assert_uint_eq(dataset_distinct_file(&ds, i), i % 10);
		ck_assert_int_gt(dataset_path(&few, i, path, sizeof(path)), 0);
		ck_assert_int_gt(dataset_path(&ds, same, own, sizeof(own)), 0);
		ck_assert_str_eq(path, own);
		ck_assert_uint_eq(dataset_file_bytes(&few, i), dataset_file_bytes(&ds, same));
		ck_assert_uint_eq(dataset_sample_bytes(&few, i), dataset_sample_bytes(&ds, same));
	}
	ck_assert_uint_eq(dataset_samples(&few), dataset_samples(&ds));
}
END_TEST

static void write_files(uint64_t files)
{
	char path[PATH_MAX];

	for (uint64_t part = 0; part < 2; part++)
		for (uint64_t i = 0; i < files; i++) {
			ck_assert_int_gt(dataset_path(&ds, part * 10 + i, path, sizeof(path)), 0);
			tree_file(root, path + strlen(root), "12345");
		}
}

static int warm(struct ceiling_warm *w, uint64_t files, uint64_t deadline_ns, struct mlgen_err *err)
{
	struct clock *clock = clock_new_virtual(1000);
	int rc = ceiling_warm(w, &ds, files, clock, deadline_ns, err);

	clock_free(clock);
	return rc;
}

START_TEST(warming_reads_all_parts_of_whole_files)
{
	struct mlgen_err err = { 0 };
	struct ceiling_warm w;

	write_files(4);
	ck_assert_int_eq(warm(&w, 3, CLOCK_NEVER, &err), 0);
	ck_assert_uint_eq(w.files, 3);
	ck_assert_uint_eq(w.bytes, 3 * 2 * 5);
	/* The time is over: not one. */
	ck_assert_int_eq(warm(&w, 3, 1000, &err), 0);
	ck_assert_uint_eq(w.files, 0);
	ck_assert_uint_eq(w.bytes, 0);
	/* One that is missing is named. */
	ck_assert_int_eq(warm(&w, 5, CLOCK_NEVER, &err), -ENOENT);
	ck_assert_uint_eq(w.files, 4);
	ck_assert_ptr_nonnull(strstr(err.text, "img_04_of_10.npy"));
}
END_TEST

START_TEST(warming_ends_with_a_signal)
{
	struct mlgen_err err = { 0 };
	struct ceiling_warm w;
	sigset_t ending;

	write_files(2);
	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &ending, NULL), 0);
	ck_assert_int_eq(raise(SIGTERM), 0);
	ck_assert_int_eq(warm(&w, 2, CLOCK_NEVER, &err), -EINTR);
	ck_assert_uint_eq(w.files, 0);
	int taken;
	ck_assert_int_eq(sigwait(&ending, &taken), 0);
}
END_TEST

Suite *suite_ceiling(void)
{
	Suite *s = suite_create("ceiling");
	TCase *t = tcase_create("ceiling");

	tcase_add_loop_test(t, it_comes_by_itself_where_the_verdict_is_in_doubt, 0, 6);
	tcase_add_loop_test(t, by_itself_it_is_short_beside_the_run, 0, 8);
	tcase_add_loop_test(t, asked_for_it_has_fifty_steps_within_limits, 0, 4);
	tcase_add_loop_test(t, what_ran_otherwise_has_none, 0, 6);
	tcase_add_test(t, a_model_of_storage_has_one_when_asked);
	tcase_add_loop_test(t, files_are_some_batches_but_no_more_than_memory_takes, 0, 7);
	tcase_add_loop_test(t, jobs_beside_are_those_of_the_group_once_each, 0, 3);
	tcase_add_loop_test(t, a_ceiling_says_what_the_limit_is, 0,
			    (int)(sizeof(sayings) / sizeof(*sayings)));
	tcase_add_loop_test(t, of_a_model_the_null_figure_is_the_ceiling, 0, 2);
	tcase_add_loop_test(t, without_an_au_rates_are_compared, 0, 4);
	suite_add_tcase(s, t);
	t = tcase_create("files");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, names_and_sizes_repeat_with_distinct_files);
	tcase_add_test(t, warming_reads_all_parts_of_whole_files);
	tcase_add_test(t, warming_ends_with_a_signal);
	suite_add_tcase(s, t);
	return s;
}
