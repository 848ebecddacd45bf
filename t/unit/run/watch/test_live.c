/* SPDX-License-Identifier: Apache-2.0 */
/* test_live.c - figures of a running job: every row, between two looks. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "run/watch/watch.h"
#include "suites.h"

#define SEC UINT64_C(1000000000)

static void set(struct live *l, size_t off, uint64_t n)
{
	memcpy((char *)l + off, &n, sizeof(n));
}

START_TEST(a_counter_is_what_the_interval_gained_and_its_rate)
{
	unsigned counters = 0;

	for (const struct live_field *f = live_fields; f->field.name; f++) {
		struct live before = { .now_ns = 10 * SEC };
		struct live now = { .now_ns = 12 * SEC };
		const struct live_span span = { &now, &before, NULL };
		const struct live_span still = { &before, &before, NULL };

		if (f->kind != LIVE_COUNTER)
			continue;
		counters++;
		set(&before, f->field.off, 1000);
		set(&now, f->field.off, 1030);
		ck_assert_uint_eq(live_count(f, &span), 30);
		ck_assert_double_eq(live_per_sec(f, &span), 15);
		ck_assert(isnan(live_per_sec(f, &still)));
		/* A look that lags behind is no progress. */
		set(&now, f->field.off, 999);
		ck_assert_uint_eq(live_count(f, &span), 0);
	}
	ck_assert_uint_gt(counters, 0);
}
END_TEST

START_TEST(only_a_training_with_a_tier_has_hits)
{
	struct live before = { .phase = LIVE_TRAIN }, now = before;
	const struct live_span span = { &now, &before, NULL };

	ck_assert_ptr_null(live_find("hit_percent", 11, &span));
	now.accesses = 40;
	now.hits = 10;
	const struct live_field *f = live_find("hit_percent", 11, &span);
	ck_assert_ptr_nonnull(f);
	ck_assert_double_eq(live_percent(f, &span), 25);
}
END_TEST

START_TEST(a_share_is_of_what_another_counter_gained)
{
	unsigned shares = 0;

	for (const struct live_field *f = live_fields; f->field.name; f++) {
		struct live before = { 0 }, now = { 0 };
		const struct live_span span = { &now, &before, NULL };

		if (f->kind != LIVE_SHARE)
			continue;
		shares++;
		ck_assert(isnan(live_percent(f, &span)));
		set(&before, f->field.off, 500);
		set(&now, f->field.off, 525);
		set(&before, f->of, 1000);
		set(&now, f->of, 1100);
		ck_assert_double_eq(live_percent(f, &span), 25);
		/* Its counter may be ahead of the other one. */
		set(&now, f->field.off, 700);
		ck_assert_double_eq(live_percent(f, &span), 100);
	}
	ck_assert_uint_gt(shares, 0);
}
END_TEST

/* A name is one column; a second row of it comes right behind, where the first does not apply. */
START_TEST(a_figure_has_one_value_in_any_interval)
{
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		const struct live_field *g = f + 1;

		if (g->field.name && !g->field.help) {
			ck_assert_str_eq(g->field.name, f->field.name);
			ck_assert_uint_eq(g->when & f->when, 0);
			ck_assert_uint_ne(g->when, 0);
			g++;
		}
		for (; g->field.name; g++)
			ck_assert_str_ne(g->field.name, f->field.name);
	}
}
END_TEST

START_TEST(a_figure_is_found_by_its_name_where_it_applies)
{
	struct live l = { .phase = LIVE_PREPARE, .bytes_done = 7 };
	const struct live_span span = { &l, &l, NULL };

	ck_assert_ptr_null(live_find("epoch", 5, &span));
	ck_assert_ptr_null(live_find("io_byte", 7, &span));
	ck_assert_uint_eq(live_find("io_bytes} left", 8, &span)->field.off,
			  offsetof(struct live, bytes_done));
	l.phase = LIVE_TRAIN;
	ck_assert_ptr_nonnull(live_find("epoch", 5, &span));
	ck_assert_uint_eq(live_find("io_bytes", 8, &span)->field.off,
			  offsetof(struct live, io_bytes));
}
END_TEST

static bool is_sum(const struct live_field *f)
{
	return f->kind == LIVE_COUNTER || f->kind == LIVE_SHARE || f->join == LIVE_JOIN_SUM;
}

START_TEST(what_processes_did_is_the_sum_of_it_in_every_row)
{
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		struct live a = { .job_name = "j" }, b = a;

		if (!is_sum(f))
			continue;
		set(&a, f->field.off, 1000);
		set(&b, f->field.off, 30);
		if (f->of)
			set(&a, f->of, 5000);
		if (f->of)
			set(&b, f->of, 600);
		live_join(&a, &b);
		const struct live_span s = { &a, &(struct live){ 0 }, NULL };
		if (f->kind == LIVE_SHARE) {
			ck_assert_uint_eq(live_gained(f, &s), 1030);
			ck_assert_uint_eq(live_total_gained(f, &s), 5600);
			continue;
		}
		ck_assert_uint_eq(live_count(f, &s), 1030);
		if (f->kind == LIVE_PROGRESS)
			ck_assert_uint_eq(live_total(f, &s), 5600);
	}
}
END_TEST

START_TEST(processes_of_a_job_are_one_job)
{
	struct live a = { .phase = LIVE_TRAIN,
			  .now_ns = 100 * SEC,
			  .epoch = 3,
			  .step = 7,
			  .files_done = 40,
			  .files_total = 60,
			  .waiting_ns = 2,
			  .left_ns = UINT64_MAX,
			  .done_percent = (double)NAN };
	struct live b = { .phase = LIVE_DONE,
			  .now_ns = 900 * SEC,
			  .epoch = 4,
			  .step = 9,
			  .files_done = 30,
			  .files_total = 50,
			  .waiting_ns = 5,
			  .left_ns = 8,
			  .done_percent = 40,
			  .is_checkpointing = true,
			  .oldest = { .start_ns = 880 * SEC, .path = "/x" } };

	a.lat[MLGEN_READ] = hist_new();
	b.lat[MLGEN_READ] = hist_new();
	b.lat[MLGEN_WRITE] = hist_new(); /* nobody asked for it */
	hist_add(a.lat[MLGEN_READ], 100);
	hist_add(b.lat[MLGEN_READ], 200);
	live_join(&a, &b);
	ck_assert_int_eq(a.phase, LIVE_TRAIN);
	ck_assert_uint_eq(a.now_ns, 100 * SEC);
	ck_assert_uint_eq(a.epoch, 3);
	ck_assert_uint_eq(a.step, 7);
	ck_assert_uint_eq(a.files_done, 70);
	ck_assert_uint_eq(a.files_total, 110);
	ck_assert_uint_eq(a.waiting_ns, 5);
	ck_assert_uint_eq(a.left_ns, 8);
	ck_assert_double_eq(a.done_percent, 40);
	ck_assert(a.is_checkpointing);
	/* As long ago, by the clock of the first. */
	ck_assert_uint_eq(a.oldest.start_ns, 80 * SEC);
	ck_assert_str_eq(a.oldest.path, "/x");
	ck_assert_uint_eq(a.lat[MLGEN_READ]->count, 2);
	ck_assert_ptr_null(a.lat[MLGEN_WRITE]);
	b.phase = LIVE_IO;
	b.oldest.start_ns = 890 * SEC;
	a.phase = LIVE_DONE;
	live_join(&a, &b);
	ck_assert_int_eq(a.phase, LIVE_IO);
	ck_assert_uint_eq(a.oldest.start_ns, 80 * SEC);
	live_hists_free(&a);
	live_hists_free(&b);
}
END_TEST

Suite *suite_live(void)
{
	Suite *s = suite_create("live");
	TCase *t = tcase_create("live");

	tcase_add_test(t, a_counter_is_what_the_interval_gained_and_its_rate);
	tcase_add_test(t, a_share_is_of_what_another_counter_gained);
	tcase_add_test(t, only_a_training_with_a_tier_has_hits);
	tcase_add_test(t, a_figure_has_one_value_in_any_interval);
	tcase_add_test(t, a_figure_is_found_by_its_name_where_it_applies);
	tcase_add_test(t, what_processes_did_is_the_sum_of_it_in_every_row);
	tcase_add_test(t, processes_of_a_job_are_one_job);
	suite_add_tcase(s, t);
	return s;
}
