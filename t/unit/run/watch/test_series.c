/* SPDX-License-Identifier: Apache-2.0 */
/* test_series.c - a job over time: what intervals keep when they become fewer. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/dist.h"
#include "run/watch/watch.h"
#include "run/watch/watch_internal.h"
#include "suites.h"

#define SEC UINT64_C(1000000000)

/* A job that goes on, a look after the other. */
struct feed {
	struct series *series;
	struct live before, now;
	uint64_t rng;
	/* What all intervals have to come to. */
	double reads, compute_ns, step_ns, cpu_ns;
	struct hist *all;
};

static void feed_init(struct feed *f, size_t jobs)
{
	memset(f, 0, sizeof(*f));
	f->now = f->before = (struct live){
		.job_name = "x", .phase = LIVE_TRAIN, .now_ns = 5 * SEC, .epochs = 3
	};
	live_hists_new(&f->now);
	live_hists_new(&f->before);
	f->series = series_new(f->now.now_ns, jobs);
	f->all = hist_new();
	f->rng = 1;
}

static void feed_fini(struct feed *f)
{
	series_free(f->series);
	live_hists_free(&f->now);
	live_hists_free(&f->before);
	hist_free(f->all);
}

static uint64_t draw(struct feed *f, uint64_t below)
{
	return rng_u64(1, RNG_TEST, f->rng++) % below;
}

/* An interval of so many seconds, with some operations in it. */
static void feed_look(struct feed *f, uint64_t seconds, unsigned operations)
{
	double cpu = (double)draw(f, 100);
	const struct live_host host = { .cpu_percent = cpu,
					.resident_bytes = UINT64_MAX,
					.page_cache_bytes = 4096 };

	live_copy(&f->before, &f->now);
	f->now.now_ns += seconds * SEC;
	f->now.epoch = 1 + f->rng / 1000000;
	f->now.io_ios[0] += operations;
	f->reads += operations;
	uint64_t step = 1000 + draw(f, 1000), compute = draw(f, step);
	f->now.step_ns += step;
	f->now.compute_ns += compute;
	f->step_ns += (double)step;
	f->compute_ns += (double)compute;
	f->cpu_ns += cpu * (double)(seconds * SEC);
	for (unsigned i = 0; i < operations; i++) {
		uint64_t ns = 1000 + draw(f, 1000000);

		hist_add(f->now.lat[MLGEN_READ], ns);
		hist_add(f->all, ns);
	}
	series_add(f->series, &(struct live_span){ &f->now, &f->before, &host });
}

static double total(const struct metric_list *l)
{
	const double *v = l->items;
	double sum = 0;

	for (size_t i = 0; i < l->count; i++)
		sum += isnan(v[i]) ? 0 : v[i];
	return sum;
}

static double weighted(const struct metric_list *l, const struct metric_list *seconds)
{
	const double *v = l->items, *s = seconds->items;
	double sum = 0;

	for (size_t i = 0; i < l->count; i++)
		sum += v[i] * s[i];
	return sum;
}

START_TEST(thinned_intervals_keep_counts_means_and_histograms)
{
	static const unsigned looks[] = { 1, 719, 720, 721, 5000 };
	struct series_job job;
	struct feed f;

	feed_init(&f, 1);
	for (unsigned i = 0; i < looks[_i]; i++)
		feed_look(&f, 1 + i % 3, 20);
	ck_assert_uint_le(series_count(f.series), SERIES_INTERVALS);
	struct hist *sum = hist_new();
	for (size_t i = 0; i < f.series->count; i++)
		series_unpack(sum, f.series->intervals[i].hists[0]);
	ck_assert_uint_eq(sum->count, f.all->count);
	ck_assert_uint_eq(sum->sum_ns, f.all->sum_ns);
	ck_assert_mem_eq(sum->buckets, f.all->buckets, sizeof(sum->buckets));
	double compute = 0, step = 0;
	for (size_t i = 0; i < f.series->count; i++)
		for (unsigned c = 0; c < f.series->column_count; c++)
			if (!strcmp(f.series->columns[c]->field.name, "au_percent")) {
				compute += f.series->intervals[i].cells[c].sum;
				step += f.series->intervals[i].cells[c].weight;
			}
	ck_assert_double_eq(compute, f.compute_ns);
	ck_assert_double_eq(step, f.step_ns);
	series_finish(f.series, &job);
	ck_assert_uint_eq(job.intervals, job.read_ios.count);
	ck_assert_double_eq(total(&job.read_ios), f.reads);
	ck_assert_double_eq(total(&job.seconds), (double)(f.now.now_ns - 5 * SEC) / 1e9);
	/* The mean over time is that of all looks, whatever they became. */
	ck_assert_double_eq_tol(weighted(&job.cpu_percent, &job.seconds) * 1e9, f.cpu_ns,
				f.cpu_ns * 1e-9);
	ck_assert_double_nan(((double *)job.resident_bytes.items)[0]);
	ck_assert_double_eq(((double *)job.page_cache_bytes.items)[0], 4096);
	const struct series_latency *l = job.latencies.items;
	ck_assert_uint_eq(job.latencies.count, 1);
	ck_assert_str_eq(l->operation, "read");
	ck_assert_double_eq(total(&l->counts), f.reads);
	ck_assert_uint_eq(l->counts.count % l->from_ns.count, 0);
	series_job_fini(&job);
	hist_free(sum);
	feed_fini(&f);
}
END_TEST

START_TEST(memory_is_bounded_also_with_many_jobs)
{
	struct feed f;

	feed_init(&f, 100);
	for (unsigned i = 0; i < 500; i++) {
		feed_look(&f, 1, 500);
		ck_assert_uint_le(series_bytes(f.series), SERIES_BYTES / 100);
	}
	ck_assert_uint_ge(series_count(f.series), 2);
	feed_fini(&f);
}
END_TEST

START_TEST(what_lies_between_intervals_is_in_none)
{
	struct series_job job;
	struct feed f;

	feed_init(&f, 1);
	feed_look(&f, 1, 1);
	f.now.now_ns += 100 * SEC;
	feed_look(&f, 1, 1);
	/* A look that is no later is none. */
	live_copy(&f.before, &f.now);
	series_add(f.series, &(struct live_span){ &f.now, &f.before, NULL });
	ck_assert_uint_eq(series_count(f.series), 2);
	series_finish(f.series, &job);
	ck_assert_double_eq(((double *)job.begin_seconds.items)[1], 101);
	ck_assert_double_eq(((double *)job.seconds.items)[1], 1);
	series_job_fini(&job);
	feed_fini(&f);
}
END_TEST

START_TEST(each_column_of_the_log_is_in_the_document)
{
	static const char *const other[] = { "time", "seconds", "job", "phase" };
	const struct mlgen_field *row;

	for (const struct live_field *f = live_fields; f->field.name; f++) {
		bool is_other = false;

		for (unsigned i = 0; i < 4; i++)
			is_other |= !strcmp(f->field.name, other[i]);
		if (!live_is_column(f) || is_other)
			continue;
		for (row = metrics_series_job_fields; row->name; row++)
			if (!strcmp(row->name, f->field.name))
				break;
		ck_assert_msg(row->name, "%s", f->field.name);
	}
}
END_TEST

Suite *suite_series(void)
{
	Suite *s = suite_create("series");
	TCase *t = tcase_create("series");

	tcase_add_loop_test(t, thinned_intervals_keep_counts_means_and_histograms, 0, 5);
	tcase_add_test(t, memory_is_bounded_also_with_many_jobs);
	tcase_add_test(t, what_lies_between_intervals_is_in_none);
	tcase_add_test(t, each_column_of_the_log_is_in_the_document);
	suite_add_tcase(s, t);
	return s;
}
