/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict_words.c - what a verdict says of waiting, and how long a run has to be for AU to
 * show it. */
#include "data/file/file.h"
#include "reap_rig.h"
#include "report/text/text.h"
#include "suites.h"
#include "verdict_rig.h"
#include "work/plain/plain.h"
#include "work/train/train_internal.h"

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
		{ 1, "stall 2.000 ms (mean) in steps of 4.000 ms" },
		{ 0, "stall 25.0% of accelerator time" },
	};
	struct ml_result ml = { .stall_ns = hist_new(), .step_ns = hist_new() };
	const struct time_percent time = { .compute = 75, .stall = 25 };
	struct verdict_findings f = { .ml = &ml };
	struct buf out = { 0 };

	for (uint64_t i = 0; i < rows[_i].stalls; i++)
		hist_add(ml.stall_ns, 2000000);
	hist_add(ml.step_ns, 4000000);
	show_accelerator_time(&time, &f.time);
	verdict_append_stall(&out, &f);
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
	/* Three records of each of three threads of 28 readers are 36 batches of 7. */
	w.job.deterministic = true;
	w.job.read_threads = 28;
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2 + 36);
	w.job.loader = LOADER_PYTORCH;
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2 * 28);
	w.job.shuffle = (struct variant){ .kind = SHUFFLE_BUFFER, .number = 70 };
	ck_assert_uint_eq(verdict_batches_ahead(&w.job), 2 * 28 + 10);
	world_fini(&w);
}
END_TEST

/* An epoch of 79 steps behind what is slow to read, with 8 batches ahead. */
static void hide(struct world *w, const struct dataset *ds)
{
	struct ml_result *ml = &w->result.ml;

	world_init(w);
	w->job.loader = LOADER_PYTORCH;
	w->job.prefetch = 2;
	w->result.dataset = ds;
	ml->steps = 79;
	ml->epochs_total = 1;
	ml->au_percent = 95;
	ml->io_bytes_per_sec = 40;
	ml->demand_io_bytes_per_sec = 100;
	ml->loader_percent = (struct loader_percent){ .read = 40, .idle = 50 };
	ml->time_percent = (struct time_percent){ .compute = 97, .stall = 3 };
}

/* 8 batches ahead are hidden by fewer than 80 steps of 8 accelerators with batches of 7, which are
 * 4,480 samples. */
START_TEST(what_is_hidden_asks_for_as_many_files_as_show_it)
{
	struct world w;
	struct dataset ds = { .samples_per_file = 2 };

	hide(&w, &ds);
	w.job.scale = 100 - (double)_i;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next,
		  _i ? "--num_files=2240 --scale=100% : epochs" : "--num_files=2240 : epochs");
	world_fini(&w);
}
END_TEST

/* Accelerators, their threads and what each thread has in flight. */
START_TEST(reads_in_flight_are_those_of_all_threads)
{
	struct mlgen_engine engine = null_engine;
	struct world w;

	world_init(&w);
	engine.name = "io_uring";
	engine.caps = 0;
	engine.reap = no_reap;
	w.job.engine = &engine;
	w.job.iodepth = 3;
	w.result.ml.loader_percent = (struct loader_percent){ .read = 95, .idle = 5 };
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--read_threads=8 ");
	check_has(w.result.verdict.try_next, "(96 now)?");
	world_fini(&w);
}
END_TEST

START_TEST(a_plain_job_is_the_hosts_from_90_percent_on)
{
	static const struct {
		double cpu_percent;
		const char *name;
	} rows[] = { { 90, "host" }, { 89.9, NULL } };
	struct world w;

	world_init(&w);
	w.job.direct = true;
	w.result.read.total_ios = 1;
	w.result.host.cpu_percent = rows[_i].cpu_percent;
	verdict_fill_io(&w.run, &w.result);
	if (rows[_i].name)
		ck_assert_str_eq(w.result.verdict.name, rows[_i].name);
	else
		ck_assert_ptr_null(w.result.verdict.name);
	world_fini(&w);
}
END_TEST

/* Files of a byte are files, and of none nobody knows how many there should be. */
START_TEST(past_memory_go_files_of_any_size)
{
	struct world w;

	world_init(&w);
	w.result.storage.memory_percent = 90;
	w.result.totals.mean_file_bytes = 1 - _i;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next,
		  _i ? "--dataset_ratio=5, or" : "--dataset_ratio=5 : 1");
	world_fini(&w);
}
END_TEST

START_TEST(one_cpu_is_no_cpus)
{
	static const struct {
		double cpus;
		const char *said;
	} rows[] = {
		{ 1, "CPU 95.0% busy (1 CPU)" },
		{ 1.5, "CPU 95.0% busy (1.5 CPUs)" },
		{ .5, "CPU 95.0% busy (0.5 CPUs)" },
		{ 0, "CPU 95.0% busy (64 CPUs)" },
	};
	const struct host_result h = { .cpu_percent = 95, .cpus = rows[_i].cpus };
	const struct host host = { .cpus = 64 };
	struct buf out = { 0 };

	verdict_append_full_cpu(&out, &h, &host);
	ck_assert_str_eq(buf_str(&out), rows[_i].said);
	buf_fini(&out);
}
END_TEST

START_TEST(steps_that_take_no_time_have_no_rate)
{
	struct ml_result ml = { .accelerators = 2, .step_ns = hist_new() };
	const struct job job = { .batch_size = 5 };

	ck_assert(isnan(verdict_steady_rate(&job, &ml)));
	hist_add(ml.step_ns, 0);
	ck_assert(isnan(verdict_steady_rate(&job, &ml)));
	hist_add(ml.step_ns, 1000000000);
	ck_assert_double_eq_tol(verdict_steady_rate(&job, &ml), 20, 1e-9);
	mem_free(ml.step_ns);
}
END_TEST

/* 80 steps would show it: an epoch of 79 is short, one of 80 is cut short. */
START_TEST(steps_cut_short_what_epochs_would_show)
{
	struct dataset ds = { .files = 2240 - (uint64_t)_i, .samples_per_file = 2 };
	struct world w;

	hide(&w, &ds);
	w.job.steps = 79;
	verdict_fill(&w.run);
	check_has(w.result.verdict.because, _i ? "epochs are short" : "the run is short");
	world_fini(&w);
}
END_TEST

Suite *suite_verdict_words(void)
{
	Suite *s = suite_create("verdict_words");
	TCase *t = tcase_create("verdict_words");

	tcase_add_loop_test(t, stall_is_a_percentile_that_has_something_beyond_it, 0, 6);
	tcase_add_test(t, batches_are_read_ahead_as_the_loader_has_it);
	tcase_add_loop_test(t, what_is_hidden_asks_for_as_many_files_as_show_it, 0, 2);
	tcase_add_loop_test(t, steps_cut_short_what_epochs_would_show, 0, 2);
	tcase_add_test(t, reads_in_flight_are_those_of_all_threads);
	tcase_add_loop_test(t, a_plain_job_is_the_hosts_from_90_percent_on, 0, 2);
	tcase_add_loop_test(t, past_memory_go_files_of_any_size, 0, 2);
	tcase_add_loop_test(t, one_cpu_is_no_cpus, 0, 4);
	tcase_add_test(t, steps_that_take_no_time_have_no_rate);
	suite_add_tcase(s, t);
	return s;
}
