/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c - the first verdict that holds, its figures, its experiment. */
#include "report/text/text.h"
#include "suites.h"
#include "verdict_rig.h"

static const struct threshold {
	const char *name; /* expected */
	double memory, cpu, oversleep, stall, read, open, reap;
	bool no_demand, no_files, is_memory;
	double network;
} thresholds[] = {
	/* the order: what comes first wins though all others hold too */
	{ "memory", 10.1, 99, 5, 1, 90, 0, 0, false, false, false, 99 },
	{ "network", 10.0, 99, 5, 1, 90, 0, 0, false, false, false, 90 },
	{ "host", 10.0, 90, 0, 1, 90, 0, 0, false, false, false, 89.9 },
	{ "compute", 10.0, 89.9, .99, 5, 90, 0, 0, false, false, false, 0 },
	{ "storage", 10.0, 89.9, .99, 5.1, 80, 0, 0, false, false, false, 0 },
	{ "unclear", 10.0, 89.9, .99, 5.1, 79.9, 0, 0, false, false, false, 0 },
	/* each limit on its own */
	{ "host", 0, 11, 1, 37, 50, 0, 0, false, false, false, 0 },
	{ "storage", 0, 11, 0, 37, 40, 40, 0, false, false, false, 0 },
	{ "storage", 0, 11, 0, 37, 0, 10, 75, false, false, false, 0 },
	{ "unclear", 0, 11, 0, 37, 40, 0, 39, false, false, false, 0 },
	/* what was not measured decides nothing */
	{ "compute", NONE, NONE, 0, 1, 90, 0, 0, false, false, false, 0 },
	{ "storage", NONE, NONE, 0, 37, 90, 0, 0, false, false, false, 0 },
	{ "storage", 0, 11, 0, 37, 90, 0, 0, false, false, false, NONE },
	/* compute_time=0 has no demand: stall says nothing */
	{ "storage", 0, 11, 0, 1, 90, 0, 0, true, false, false, 0 },
	{ "unclear", 0, 11, 0, 1, 50, 0, 0, true, false, false, 0 },
	/* ioengine=null has no storage */
	{ "compute", NONE, 11, 0, 1, 90, 0, 0, false, true, false, 0 },
	{ "host", NONE, 95, 0, 37, 90, 0, 0, false, true, false, 0 },
	{ "unclear", NONE, 11, 0, 37, 90, 0, 0, false, true, false, 0 },
	/* tmpfs is memory, whatever the counters say */
	{ "memory", NONE, 11, 0, 37, 90, 0, 0, false, false, true, 0 },
};

START_TEST(the_first_verdict_that_holds_is_taken)
{
	const struct threshold *t = &thresholds[_i];
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	w.result.storage.memory_percent = t->memory;
	w.result.storage.is_memory = t->is_memory;
	w.result.network.percent = t->network;
	w.result.host.cpu_percent = t->cpu;
	ml->time_percent = (struct time_percent){
		.compute = 100 - t->stall - t->oversleep,
		.stall = t->stall,
		.oversleep = t->oversleep,
	};
	ml->loader_percent = (struct loader_percent){
		.read = t->read,
		.open = t->open,
		.reap = t->reap,
		.idle = 100 - t->read - t->open - t->reap,
	};
	if (t->no_demand)
		ml->demand_bytes_per_sec = ml->au_percent = NONE;
	if (t->no_files)
		w.job.engine = &null_engine;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, t->name);
	ck_assert_ptr_nonnull(verdict_label(w.result.verdict.name));
	ck_assert_ptr_nonnull(w.result.verdict.headline);
	ck_assert_ptr_nonnull(w.result.verdict.because);
	ck_assert_ptr_nonnull(w.result.verdict.try_next);
	check_options(w.result.verdict.headline);
	check_options(w.result.verdict.because);
	check_options(w.result.verdict.try_next);
	world_fini(&w);
}
END_TEST

START_TEST(network_bound_names_the_interface_and_its_rate)
{
	static const struct {
		uint64_t line;
		double bits, percent;
		const char *expected;
	} rows[] = {
		{ UINT64_C(100000000000), 92.04e9, 92.04, "bond0 carried 92 of 100 Gb/s" },
		{ UINT64_C(1000000000), .9412e9, 94.12, "bond0 carried 0.941 of 1 Gb/s" },
		{ UINT64_C(2500000000), 2.3e9, 92, "bond0 carried 2.3 of 2.5 Gb/s" },
		{ UINT64_C(1600000000000), 1500.4e9, 93.8, "bond0 carried 1500 of 1600 Gb/s" },
	};
	struct world w;

	world_init(&w);
	struct network_result *n = &w.result.network;
	n->line_rate_bits_per_sec = rows[_i].line;
	n->received_bits_per_sec = rows[_i].bits;
	n->percent = rows[_i].percent;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, "network");
	ck_assert_str_eq(verdict_label("network"), "NETWORK-BOUND");
	ck_assert_str_eq(w.result.verdict.headline, rows[_i].expected);
	check_has(w.result.verdict.because, "% of its line rate");
	check_has(w.result.verdict.because, "host CPU 11.0%, wake-ups on time");
	world_fini(&w);
}
END_TEST

START_TEST(storage_bound_names_the_call_that_readers_wait_in)
{
	static const struct {
		struct loader_percent loader;
		const char *expected;
	} rows[] = {
		{ { .read = 99, .idle = 1 }, "99.0% of their time waiting in read(); " },
		{ { .open = 95, .idle = 5 }, "95.0% of their time waiting in open(); " },
		{ { .reap = 95, .idle = 5 }, "95.0% of their time waiting for completions; " },
		{ { .open = 50, .read = 40, .stat = 2, .idle = 8 },
		  "92.0% of their time in I/O calls, open 50.0%, read 40.0%" },
		{ { .read = 50, .stat = 40, .close = 2, .idle = 8 },
		  "92.0% of their time in I/O calls, read 50.0%, stat 40.0%" },
		{ { .read = 40, .write = 50, .idle = 10 },
		  "90.0% of their time in I/O calls, write 50.0%, read 40.0%" },
		{ { .read = 45, .open = 45, .idle = 10 },
		  "90.0% of their time in I/O calls, read 45.0%, open 45.0%" },
	};
	struct world w;

	world_init(&w);
	w.result.ml.loader_percent = rows[_i].loader;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, "storage");
	check_has(w.result.verdict.because, rows[_i].expected);
	check_has(w.result.verdict.because, "host CPU 11.0%, wake-ups on time");
	world_fini(&w);
}
END_TEST

START_TEST(storage_bound_asks_for_more_reads_until_that_is_no_experiment)
{
	static const struct {
		uint64_t threads;
		const char *expected;
	} rows[] = {
		{ 0, "--read_threads=1 --prefetch=1 : how much time does reading during compute "
		     "save?" },
		{ 1, "--read_threads=2 : is it bandwidth, or too few reads in flight (8 now)?" },
		{ 4, "--read_threads=8 : is it bandwidth, or too few reads in flight (32 now)?" },
		{ 64, "--accelerators=5 : does storage keep up with fewer?" },
	};
	struct world w;

	world_init(&w);
	w.job.read_threads = rows[_i].threads;
	w.result.ml.loader_percent.read = 95;
	w.result.ml.loader_percent.idle = 5;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.try_next, rows[_i].expected);
	world_fini(&w);
}
END_TEST

START_TEST(memory_advice_depends_on_what_was_tried)
{
	static const struct {
		uint64_t dataset_gib;
		bool direct;
		const char *because, *try_next;
	} rows[] = {
		{ 23, false, "the dataset (168 files, 23 GiB) fits into memory (256 GiB)",
		  "--dataset_ratio=5 : 9,376 files, or direct=1" },
		{ 23, true, "fits into memory", "--dataset_ratio=5 : 9,376 files" },
		{ 512, false, "(168 files, 512 GiB) is only 2.0 x memory (256 GiB)",
		  "--dataset_ratio=5 : 9,376 files, or direct=1" },
		{ 1280, false, "is only 5.0 x memory",
		  "--direct=1 : reads that bypass the page cache" },
	};
	struct world w;

	world_init(&w);
	w.result.totals.bytes = rows[_i].dataset_gib << 30;
	w.job.direct = rows[_i].direct;
	w.result.storage.memory_percent = 96;
	verdict_fill(&w.run);
	check_has(w.result.verdict.headline, "96.0% of the bytes");
	check_has(w.result.verdict.because, rows[_i].because);
	ck_assert_str_eq(w.result.verdict.try_next, rows[_i].try_next);
	world_fini(&w);
}
END_TEST

START_TEST(compute_bound_asks_for_no_more_than_the_dataset_feeds)
{
	static const struct {
		uint64_t files;
		const char *expected;
	} rows[] = {
		{ 28000, "--accelerators=16 : storage keeps up, try more" },
		{ 84, "--accelerators=12 : storage keeps up, try more" },
		{ 60, "--dataset_ratio=5 : these files are too few for more accelerators" },
	};
	struct dataset ds = { .files = rows[_i].files, .samples_per_file = 1 };
	struct world w;

	world_init(&w);
	w.result.dataset = &ds;
	w.result.ml.time_percent = (struct time_percent){ .compute = 98, .stall = 2 };
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.try_next, rows[_i].expected);
	world_fini(&w);
}
END_TEST

START_TEST(host_bound_halves_what_can_be_halved)
{
	static const struct {
		uint64_t accelerators, threads;
		bool direct;
		double mine;
		const char *expected;
	} rows[] = {
		{ 8, 4, false, 40, "the same job while nothing else runs on these CPUs" },
		{ 8, 4, false, 60,
		  "--accelerators=4 : half the load here; this is not a statement about storage" },
		{ 1, 4, false, 60, "--read_threads=2 : fewer threads on these CPUs" },
		{ 1, 2, false, 60, "--read_threads=1 : fewer threads on these CPUs" },
		{ 1, 1, false, 60, "--direct=1 : less copying on these CPUs" },
		{ 1, 1, true, 60, NULL },
	};
	struct world w;

	world_init(&w);
	w.job.accelerators = rows[_i].accelerators;
	w.job.read_threads = rows[_i].threads;
	w.job.direct = rows[_i].direct;
	w.result.host.cpu_percent = 97;
	w.result.host.system_percent = rows[_i].mine;
	w.result.ml.ceiling.is_tried = true; /* and could not be measured */
	verdict_fill(&w.run);
	if (rows[_i].expected)
		ck_assert_str_eq(w.result.verdict.try_next, rows[_i].expected);
	else
		ck_assert_ptr_null(w.result.verdict.try_next);
	world_fini(&w);
}
END_TEST

START_TEST(a_few_files_over_and_over_are_memory)
{
	struct world w;

	world_init(&w);
	w.job.distinct_files = 9;
	w.result.storage.memory_percent = 96;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, "memory");
	check_has(w.result.verdict.because, "only 9 of the files were read, repeatedly");
	check_has(w.result.verdict.try_next, "--distinct_files=0");
	world_fini(&w);
}
END_TEST

struct model_opts {
	uint64_t bandwidth;
};

static const struct mlgen_field model_fields[] = {
	{ "bandwidth", MLGEN_F_U64(struct model_opts, bandwidth), .def = "0" },
	{ 0 },
};

/* ioengine=null with a bandwidth is a storage, though none of this host. */
START_TEST(a_model_of_storage_is_storage)
{
	struct model_opts opts = { .bandwidth = 50 };
	struct mlgen_engine model = null_engine;
	struct world w;

	world_init(&w);
	model.opts = model_fields;
	model.opts_size = sizeof(opts);
	w.job.engine = &model;
	w.job.engine_opts = &opts;
	w.result.storage.memory_percent = NONE;
	w.result.ml.loader_percent = (struct loader_percent){ .read = 95, .idle = 5 };
	ck_assert(verdict_without_storage(&w.job));
	ck_assert(verdict_is_model(&w.job));
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, "storage");
	check_has(w.result.verdict.headline, "the modelled storage");
	opts.bandwidth = 0;
	ck_assert(!verdict_is_model(&w.job));
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, "unclear");
	world_fini(&w);
}
END_TEST

/* Delivered / (one accelerator's demand x target), on the side of what AU showed. */
START_TEST(enough_for_is_an_estimate_that_agrees_with_au)
{
	static const struct {
		double got_gib, demand_gib, au, target;
		uint64_t expected;
		double at;
	} rows[] = {
		{ 14.86, 23.67, 63.1, 90, 5, 90 },         { 14.86, 23.67, 63.1, NONE, 5, 90 },
		{ 14.86, 23.67, 63.1, 50, 10, 50 },        { 1, 23.67, 5, 90, 0, 90 },
		{ 21.4, 23.67, 89.9, 90, 7, 90 }, /* 8.04, but it missed */
		{ 21.0, 23.67, 90.1, 90, 8, 90 }, /* 7.9, but it met */
		{ 14.86, NONE, NONE, 90, UINT64_MAX, 90 }, { 14.86, 23.67, 63.1, 1, 502, 1 },
		{ 14.86, 23.67, 63.1, 0, UINT64_MAX, 0 },
	};
	struct world w;
	double at;

	world_init(&w);
	w.result.ml.sample_bytes_per_sec = rows[_i].got_gib * GIB;
	w.result.ml.demand_bytes_per_sec = rows[_i].demand_gib * GIB;
	w.result.ml.au_percent = rows[_i].au;
	w.result.ml.target_au_percent = rows[_i].target;
	ck_assert_uint_eq(verdict_enough(&w.result, &at), rows[_i].expected);
	ck_assert_double_eq(at, rows[_i].at);
}
END_TEST

/* Readers are busy half of the time, four fifths of that in I/O, and storage supplies 80 % of what
 * is asked for: AU is 95 since all was read ahead. */
START_TEST(epochs_that_are_read_ahead_hide_slow_storage)
{
	struct world w;
	struct ml_result *ml = &w.result.ml;

	world_init(&w);
	w.job.loader = LOADER_PYTORCH;
	w.job.prefetch = 2; /* 8 batches ahead */
	ml->steps = 79;
	ml->epochs_total = 1;
	ml->au_percent = 95;
	ml->io_bytes_per_sec = 40;
	ml->demand_io_bytes_per_sec = 100;
	ml->loader_percent = (struct loader_percent){ .read = 40, .idle = 50 };
	ck_assert_double_eq(verdict_supply_percent(&w.result), 80);
	/* Hits of a tier count as supplied. */
	ml->sample_bytes_per_sec = 45;
	ml->demand_bytes_per_sec = 100;
	w.job.cache = CACHE_MINIO;
	ck_assert_double_eq(verdict_supply_percent(&w.result), 90);
	w.job.cache = CACHE_NONE;
	ck_assert(verdict_is_hidden(&w.result));
	ml->loader_percent.read = 39.9;
	ck_assert(!verdict_is_hidden(&w.result));
	ml->loader_percent.read = 40;
	ml->steps = 80;
	ck_assert(!verdict_is_hidden(&w.result));
	ml->epochs_total = 2;
	ck_assert(verdict_is_hidden(&w.result));
	ml->au_percent = 90;
	ck_assert(verdict_is_hidden(&w.result));
	ml->au_percent = 89.9;
	ck_assert(!verdict_is_hidden(&w.result));
	ml->au_percent = 95;
	ml->io_bytes_per_sec = 45;
	ck_assert(!verdict_is_hidden(&w.result));
	world_fini(&w);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t failed, allowed;
	double allowed_percent;
	const char *verdict, *headline;
} failing[] = {
	{ 0, 0, 0, "memory", "came from this host's page cache" },
	{ 1, 0, 0, "errors", "1 of 1,000 samples failed; max_errors=0 allows none" },
	{ 1, 0, 0.05, "errors", "1 of 1,000 samples failed; max_errors=0.05% allows no more" },
	{ 6, 5, 0, "errors", "6 of 1,000 samples failed; max_errors=5 allows no more" },
	{ 10, 10, 0, "memory", "came from this host's page cache" },
	/* within what is allowed, and still too many to speak of storage */
	{ 11, 20, 0, "errors", "11 of 1,000 samples failed; max_errors=20 allows them" },
};
/* clang-format on */

START_TEST(errors_come_before_anything_else)
{
	struct world w;
	struct failed_result *f = &w.result.failed;
	const struct verdict_result *v = &w.result.verdict;

	world_init(&w);
	w.result.storage.memory_percent = 50;
	w.job.max_errors.count = failing[_i].allowed;
	w.job.max_errors.percent = failing[_i].allowed_percent;
	f->count = w.result.ml.failed_samples = failing[_i].failed;
	f->of = 1000;
	f->percent = (double)f->count / 10;
	f->is_too_many = f->count > failing[_i].allowed;
	strcpy(f->first, "/d/f: read at 0: Input/output error");
	verdict_fill(&w.run);
	ck_assert_str_eq(v->name, failing[_i].verdict);
	check_has(v->headline, failing[_i].headline);
	check_options(v->try_next);
	if (!strcmp(v->name, "errors")) {
		ck_assert_str_eq(verdict_label(v->name), "ERRORS");
		check_has(v->because, "the first: /d/f: read at 0: ");
	}
	world_fini(&w);
}
END_TEST

START_TEST(only_a_training_that_finished_a_step_has_a_verdict)
{
	struct world w;

	world_init(&w);
	w.result.ml.steps = 0;
	verdict_fill(&w.run);
	ck_assert_ptr_null(w.result.verdict.name);
	ck_assert_ptr_null(verdict_label(w.result.verdict.name));
	w.result.ml.steps = 10;
	w.result.work = &work_prepare;
	verdict_fill(&w.run);
	ck_assert_ptr_null(w.result.verdict.name);
}
END_TEST

START_TEST(filling_twice_gives_the_same_and_leaks_nothing)
{
	struct world w;

	world_init(&w);
	verdict_fill(&w.run);
	char *first = mem_strdup(w.result.verdict.headline);
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.headline, first);
	mem_free(first);
	world_fini(&w);
}
END_TEST

Suite *suite_verdict(void)
{
	Suite *s = suite_create("verdict");
	TCase *t = tcase_create("verdict");

	tcase_add_loop_test(t, the_first_verdict_that_holds_is_taken, 0,
			    sizeof(thresholds) / sizeof(*thresholds));
	tcase_add_loop_test(t, network_bound_names_the_interface_and_its_rate, 0, 4);
	tcase_add_loop_test(t, storage_bound_names_the_call_that_readers_wait_in, 0, 7);
	tcase_add_loop_test(t, storage_bound_asks_for_more_reads_until_that_is_no_experiment, 0, 4);
	tcase_add_loop_test(t, memory_advice_depends_on_what_was_tried, 0, 4);
	tcase_add_loop_test(t, compute_bound_asks_for_no_more_than_the_dataset_feeds, 0, 3);
	tcase_add_loop_test(t, host_bound_halves_what_can_be_halved, 0, 6);
	tcase_add_loop_test(t, errors_come_before_anything_else, 0,
			    (int)(sizeof(failing) / sizeof(*failing)));
	tcase_add_test(t, epochs_that_are_read_ahead_hide_slow_storage);
	tcase_add_test(t, a_few_files_over_and_over_are_memory);
	tcase_add_test(t, a_model_of_storage_is_storage);
	tcase_add_loop_test(t, enough_for_is_an_estimate_that_agrees_with_au, 0, 9);
	tcase_add_test(t, only_a_training_that_finished_a_step_has_a_verdict);
	tcase_add_test(t, filling_twice_gives_the_same_and_leaks_nothing);
	suite_add_tcase(s, t);
	return s;
}
