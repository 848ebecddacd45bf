/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict_words.c - what a verdict says of waiting, and how long a run has to be for AU to show it. */
#include "data/dataset.h"
#include "report/verdict_parts.h"
#include "report/verdict_supply.h"
#include "suites.h"
#include "verdict_rig.h"
#include "work/train/train_verdict_host.h"

/* The highest percentile beyond which ten stalls lie, else their mean. */
START_TEST(stall_is_a_percentile_that_has_something_beyond_it)
{
	static const struct {
		uint64_t stalls;
		const char *said;
	} rows[] = {
		{ 1000, "stall p99 2.000 ms in steps of 4.000 ms" },
		{ 999, "stall p90 2.000 ms in steps of 4.000 ms" },
		{ 100, "stall p90 2.000 ms in steps of 4.000 ms" },
		{ 99, "stall 2.000 ms (mean) in steps of 4.000 ms" },
	};
	struct ml_result ml = { .stall_ns = hist_new(), .step_ns = hist_new() };
	const struct verdict_findings f = { .ml = &ml };
	struct buf out = { 0 };

	for (uint64_t i = 0; i < rows[_i].stalls; i++)
		hist_add(ml.stall_ns, 2000000);
	hist_add(ml.step_ns, 4000000);
	verdict_put_stall(&out, &f);
	ck_assert_str_eq(buf_str(&out), rows[_i].said);
	buf_fini(&out);
	mem_free(ml.stall_ns);
	mem_free(ml.step_ns);
}
END_TEST

START_TEST(batches_are_read_ahead_as_the_loader_has_it)
{
	struct world w;

	world_init(&w);
	w.job.prefetch = 2;
	w.job.loader = LOADER_TFDATA;
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2);
	/* Three records of each of three threads of 28 readers are 36
	 * batches of 7. */
	w.job.deterministic = true;
	w.job.read_threads = 28;
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2 + 36);
	w.job.loader = LOADER_PYTORCH;
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2 * 28);
	world_fini(&w);
}
END_TEST

/* 8 batches ahead are hidden by fewer than 80 steps of 8 accelerators with batches
 * of 7, which are 4,480 samples. */
START_TEST(what_is_hidden_asks_for_as_many_files_as_show_it)
{
	struct world w;
	struct dataset ds = { .samples_per_file = 2 };

	world_init(&w);
	w.job.loader = LOADER_PYTORCH;
	w.job.prefetch = 2;
	w.job.scale = 100;
	w.result.dataset = &ds;
	w.result.ml.steps = 79;
	w.result.ml.epochs_total = 1;
	w.result.ml.au_percent = 95;
	w.result.ml.io_bytes_per_sec = 40;
	w.result.ml.demand_io_bytes_per_sec = 100;
	w.result.ml.loader_percent =
		(struct loader_percent){ .read = 40, .idle = 50 };
	w.result.ml.time_percent =
		(struct time_percent){ .compute = 97, .stall = 3 };
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--num_files=2240 ");
	world_fini(&w);
}
END_TEST

Suite *suite_verdict_words(void)
{
	Suite *s = suite_create("verdict_words");
	TCase *t = tcase_create("verdict_words");

	tcase_add_loop_test(
		t, stall_is_a_percentile_that_has_something_beyond_it, 0, 4);
	tcase_add_test(t, batches_are_read_ahead_as_the_loader_has_it);
	tcase_add_test(t, what_is_hidden_asks_for_as_many_files_as_show_it);
	suite_add_tcase(s, t);
	return s;
}
