/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c - the first verdict that holds, its figures, its experiment. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/verdict.h"
#include "suites.h"
#include "work/workloads.h"

#define GIB 1073741824.0
#define NONE ((double)NAN)

/* A run with nothing remarkable, changed by one row of a table. */
struct world {
	struct job job;
	struct job_result result;
	struct run_result run;
};

static const struct mlgen_engine null_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.caps = MLGEN_CAP_NO_FILES,
};

static void world_init(struct world *w)
{
	struct ml_result *ml = &w->result.ml;

	memset(w, 0, sizeof(*w));
	w->job.accelerators = ml->accelerators = 8;
	w->job.batch_size = 7;
	w->job.read_threads = 4;
	w->job.num_files = 168;
	w->result.job = &w->job;
	w->result.work = &work_train;
	w->result.totals.bytes = UINT64_C(23) << 30;
	w->result.totals.mean_file_bytes = 146600628;
	ml->steps = 2500;
	ml->sample_bytes_per_sec = 14.86 * GIB;
	ml->demand_bytes_per_sec = 23.67 * GIB;
	ml->au_percent = 63;
	ceiling_result_init(&ml->ceiling);
	ml->target_au_percent = 90;
	w->result.storage.memory_percent = 0;
	w->result.network =
		(struct network_result){ .interface = "bond0", .percent = 65 };
	w->result.host.cpu_percent = 11;
	ml->time_percent = (struct time_percent){ .compute = 63, .stall = 37 };
	ml->loader_percent = (struct loader_percent){ .read = 50, .idle = 50 };
	w->run.jobs = &w->result;
	w->run.job_count = 1;
	w->run.host.cpus = 64;
	w->run.host.memory_bytes = UINT64_C(256) << 30;
}

static void world_fini(struct world *w)
{
	struct verdict_result *v = &w->result.verdict;

	mem_free(v->name);
	mem_free(v->headline);
	mem_free(v->because);
	mem_free(v->try_next);
}

static void check_has(const char *text, const char *part)
{
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in: %s", part, text);
}

/* No text may send anybody to an option that is not there. */
static void check_options(const char *text)
{
	static const char *const built[] = {
		"accelerators",       "read_threads",
		"dataset_ratio",      "direct",
		"directory",          "ioengine",
		"checkpoint_threads", "checkpoint_directory",
		"checkpoint_fsync",   "drop_caches",
		"checkpoint_ranks",   "verify",
		"distinct_files",     "ceiling",
		"max_errors",         "prefetch"
	};

	for (const char *o = text; o && (o = strstr(o, "--"));) {
		size_t len = strcspn(o += 2, "= ");
		bool known = false;

		for (size_t i = 0; i < sizeof(built) / sizeof(*built); i++)
			known |= strlen(built[i]) == len &&
				 !strncmp(o, built[i], len);
		ck_assert_msg(known, "unknown option in: %s", text);
	}
}

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
		{ UINT64_C(100000000000), 92.04e9, 92.04,
		  "bond0 carried 92 of 100 Gb/s" },
		{ UINT64_C(1000000000), .9412e9, 94.12,
		  "bond0 carried 0.941 of 1 Gb/s" },
		{ UINT64_C(2500000000), 2.3e9, 92,
		  "bond0 carried 2.3 of 2.5 Gb/s" },
		{ UINT64_C(1600000000000), 1500.4e9, 93.8,
		  "bond0 carried 1500 of 1600 Gb/s" },
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
	check_has(w.result.verdict.because, "host CPU 11.0%, wake-ups on "
					    "time");
	world_fini(&w);
}
END_TEST

START_TEST(storage_bound_names_the_call_that_readers_wait_in)
{
	static const struct {
		struct loader_percent loader;
		const char *expected;
	} rows[] = {
		{ { .read = 99, .idle = 1 },
		  "99.0% of their time waiting in "
		  "read(); " },
		{ { .open = 95, .idle = 5 },
		  "95.0% of their time waiting in "
		  "open(); " },
		{ { .reap = 95, .idle = 5 },
		  "95.0% of their time waiting for "
		  "completions; " },
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
	check_has(w.result.verdict.because, "host CPU 11.0%, wake-ups on "
					    "time");
	world_fini(&w);
}
END_TEST

START_TEST(storage_bound_asks_for_more_reads_until_that_is_no_experiment)
{
	static const struct {
		uint64_t threads;
		const char *expected;
	} rows[] = {
		{ 0, "--read_threads=1 --prefetch=1 : what does reading while "
		     "accelerators compute save?" },
		{ 1, "--read_threads=2 : is it bandwidth, or too few reads in "
		     "flight (8 now)?" },
		{ 4, "--read_threads=8 : is it bandwidth, or too few reads in "
		     "flight (32 now)?" },
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
		{ 23, false,
		  "the dataset (168 files, 23 GiB) fits into memory "
		  "(256 GiB)",
		  "--dataset_ratio=5 : 9,376 files, or direct=1" },
		{ 23, true, "fits into memory",
		  "--dataset_ratio=5 : 9,376 files" },
		{ 512, false,
		  "(168 files, 512 GiB) is only 2.0 x memory (256 "
		  "GiB)",
		  "--dataset_ratio=5 : 9,376 files, or direct=1" },
		{ 1280, false, "is only 5.0 x memory",
		  "--direct=1 : reads that pass by the page cache" },
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
		{ 28000, "--accelerators=16 : storage keeps up, ask for more" },
		{ 84, "--accelerators=12 : storage keeps up, ask for more" },
		{ 60, "--dataset_ratio=5 : these files are too few for more "
		      "accelerators" },
	};
	struct dataset ds = { .files = rows[_i].files, .samples_per_file = 1 };
	struct world w;

	world_init(&w);
	w.result.dataset = &ds;
	w.result.ml.time_percent =
		(struct time_percent){ .compute = 98, .stall = 2 };
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
		{ 8, 4, false, 40,
		  "the same while nothing else runs on these CPUs" },
		{ 8, 4, false, 60,
		  "--accelerators=4 : half the load here; this is "
		  "not a statement about storage" },
		{ 1, 4, false, 60,
		  "--read_threads=2 : fewer threads on these CPUs" },
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

static const struct under_ceiling {
	const char *name; /* expected */
	double au, stall, cpu, read, null_au, cached_au;
	const char *headline, *because, *try_next;
} under_ceilings[] = {
	/* the host, measured: with a full CPU and without */
	{ "host", 71.4, 28, 98, 50, 73, 72,
	  "CPU 98.0% busy; with storage "
	  "taken away this host reaches 72.0% AU",
	  "the ceiling is 0.6 points above the result: storage hardly matters",
	  "fewer accelerators here, or more hosts; not a statement about "
	  "storage" },
	{ "host", 71.4, 28, 84, 95, 73, 71,
	  "CPU 84.0% busy; with storage "
	  "taken away this host reaches 71.0% AU",
	  "the ceiling is no higher than the result: storage hardly matters",
	  "fewer accelerators here" },
	{ "host", 71.4, 28, NONE, 50, 99, 72, "with storage taken away",
	  "0.6 points",
	  "--direct=1 : less copying on these CPUs, which costs "
	  "27.0 points" },
	/* the storage, though the CPU is full or nobody waits in calls */
	{ "storage", 63, 37, 98, 50, 99.9, 98.9, "storage delivered",
	  "with storage taken away this host reaches 98.9% AU, 35.9 points "
	  "more; read threads spent 50.0%",
	  "--read_threads=8" },
	/* it keeps up: what is left is no question of host or storage */
	{ "compute", 97, 3, 11, 50, 98, 98, "storage keeps up", "stall is",
	  "--accelerators=16" },
	/* busy, but for first steps of epochs, on CPUs that others fill */
	{ "compute", 99.6, 7, 98, 50, 99.8, 98, "storage keeps up",
	  "with storage taken away this host reaches 98.0% AU; stall is 7.0%",
	  "--accelerators=16" },
	{ "host", 94.9, 3, 98, 50, 96, 95, "CPU 98.0% busy", "0.1 points",
	  "fewer accelerators here" },
	/* not measured */
	/* only first steps of epochs wait, which AU leaves out */
	{ "compute", 99.9, 30, 11, 50, NONE, NONE, "storage keeps up",
	  "stall is 30.0% of accelerator time with first steps of epochs",
	  "--accelerators=16" },
	{ "compute", 99.9, 30, 98, 90, NONE, NONE, "storage keeps up",
	  "which AU leaves out; read threads", "--accelerators=16" },
	{ "storage", 94.9, 30, 11, 90, NONE, NONE, "storage delivered",
	  "waiting in read()", "--read_threads=8" },
	{ "unclear", 94.9, 30, 11, 50, NONE, NONE, "neither decides",
	  "stall is 30.0% of accelerator time; read", "--read_threads=8" },
	{ "compute", 97, 3, 98, 50, NONE, NONE, "storage keeps up", "stall is",
	  "--accelerators=16" },
	{ "host", 94.9, 7, 98, 50, NONE, NONE, "CPU 98.0% busy (64 CPUs)",
	  "mlgen itself", "--accelerators=4" },
	{ "unclear", 63, 37, 84, 50, NONE, NONE, "neither decides", "stall is",
	  "--read_threads=8" },
	{ "host", 63, 37, 98, 50, NONE, NONE, "CPU 98.0% busy (64 CPUs)",
	  "mlgen itself", "--accelerators=4" },
};

START_TEST(a_measured_ceiling_decides_between_host_and_storage)
{
	const struct under_ceiling *u = &under_ceilings[_i];
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	ml->au_percent = u->au;
	w.result.host.cpu_percent = w.result.host.user_percent = u->cpu;
	ml->time_percent = (struct time_percent){ .compute = 100 - u->stall,
						  .stall = u->stall };
	ml->loader_percent = (struct loader_percent){ .read = u->read,
						      .idle = 100 - u->read };
	ml->ceiling.is_tried = true;
	ml->ceiling.null_au_percent = u->null_au;
	ml->ceiling.cached_au_percent = u->cached_au;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, u->name);
	check_has(w.result.verdict.headline, u->headline);
	check_has(w.result.verdict.because, u->because);
	check_has(w.result.verdict.try_next, u->try_next);
	check_options(w.result.verdict.try_next);
	world_fini(&w);
}
END_TEST

START_TEST(others_on_the_cpus_may_be_what_a_ceiling_was_above)
{
	static const struct {
		double cpu, mine;
		const char *name;
	} rows[] = {
		{ 98, 40, "host" },
		{ 98, 60, "storage" },
		{ 89, 40, "storage" },
	};
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	w.result.host.cpu_percent = rows[_i].cpu;
	w.result.host.user_percent = rows[_i].mine;
	ml->ceiling.is_tried = true;
	ml->ceiling.null_au_percent = ml->ceiling.cached_au_percent = 99;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, rows[_i].name);
	if (_i == 0)
		ck_assert_str_eq(w.result.verdict.try_next,
				 "the same while nothing else runs on these "
				 "CPUs");
	world_fini(&w);
}
END_TEST

START_TEST(in_doubt_the_ceiling_is_what_to_try)
{
	static const double cpus[] = { 84, 98 };
	struct world w;

	world_init(&w);
	w.result.host.cpu_percent = cpus[_i];
	w.result.host.user_percent = cpus[_i];
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, _i ? "host" : "unclear");
	ck_assert_str_eq(w.result.verdict.try_next,
			 "--ceiling : what this host could do at best");
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
	check_has(w.result.verdict.because,
		  "9 of the files were read over and over");
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
	w.result.ml.loader_percent =
		(struct loader_percent){ .read = 95, .idle = 5 };
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

/* Delivered / (one accelerator's demand x target), on the side of what AU
 * showed. */
START_TEST(enough_for_is_an_estimate_that_agrees_with_au)
{
	static const struct {
		double got_gib, demand_gib, au, target;
		uint64_t expected;
		double at;
	} rows[] = {
		{ 14.86, 23.67, 63.1, 90, 5, 90 },
		{ 14.86, 23.67, 63.1, NONE, 5, 90 },
		{ 14.86, 23.67, 63.1, 50, 10, 50 },
		{ 1, 23.67, 5, 90, 0, 90 },
		{ 21.4, 23.67, 89.9, 90, 7, 90 }, /* 8.04, but it missed */
		{ 21.0, 23.67, 90.1, 90, 8, 90 }, /* 7.9, but it met */
		{ 14.86, NONE, NONE, 90, UINT64_MAX, 90 },
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

/* ---- saving and restoring ---- */

static const struct saving {
	const char *name, *try_next; /* expected */
	bool is_restore, direct, is_memory, no_files, is_durable;
	double memory; /* percent from it, or still in it */
	double cpu, network, data, write, fsync, read;
} savings[] = {
	{ "storage", "direct", .is_durable = true, .write = 30, .fsync = 65 },
	{ "storage", "checkpoint_threads", .is_durable = true, .write = 90 },
	{ "storage", "checkpoint_threads", .is_durable = true, .direct = true,
	  .write = 30, .fsync = 65 },
	{ "storage", "checkpoint_threads", .is_restore = true, .read = 80 },
	{ "unclear", "checkpoint_threads", .is_restore = true, .read = 79.8 },
	{ "unclear", "ioengine", .no_files = true, .write = 99 },
	/* memory comes first */
	{ "memory", "checkpoint_fsync", .memory = 10.1, .cpu = 99,
	  .write = 99 },
	{ "memory", "checkpoint_fsync", .memory = NONE, .write = 99 },
	{ "storage", "checkpoint_threads", .memory = 10, .write = 99 },
	{ "storage", "checkpoint_threads", .direct = true, .memory = 50,
	  .write = 99 },
	{ "memory", "checkpoint_directory", .is_memory = true,
	  .is_durable = true, .write = 99 },
	{ "memory", "drop_caches", .is_restore = true, .memory = 10.1,
	  .read = 99 },
	{ "storage", "checkpoint_threads", .is_restore = true, .memory = NONE,
	  .read = 99 },
	{ "storage", "checkpoint_threads", .is_restore = true, .direct = true,
	  .memory = 99, .read = 99 },
	/* then the network, of what was received */
	{ "network", NULL, .is_restore = true, .network = 90, .cpu = 99,
	  .read = 99 },
	{ "storage", NULL, .is_restore = true, .network = 89.9, .read = 99 },
	{ "storage", NULL, .is_durable = true, .network = 95, .write = 99 },
	/* then the host */
	{ "host", NULL, .is_durable = true, .cpu = 90, .write = 99 },
	{ "storage", NULL, .is_durable = true, .cpu = 89.9, .write = 99 },
	{ "host", NULL, .is_durable = true, .data = 20, .write = 80 },
	{ "storage", NULL, .is_durable = true, .data = 19.9, .write = 80.1 },
	/* flushes decide from half of the time on */
	{ "storage", "direct", .is_durable = true, .write = 40, .fsync = 50 },
	{ "storage", "checkpoint_threads", .is_durable = true, .write = 50,
	  .fsync = 49.9 },
};

static void fill_saving(struct world *w, const struct saving *t)
{
	struct ml_result *ml = &w->result.ml;
	struct checkpoints_result *c =
		t->is_restore ? &ml->restores : &ml->saves;

	w->job.phase = t->is_restore ? PHASE_RESTORE : PHASE_CHECKPOINT;
	w->job.checkpoint_threads = 1;
	w->job.iodepth = 1;
	w->job.direct = t->direct;
	w->job.engine = t->no_files ? &null_engine : NULL;
	w->result.work = &work_checkpoint;
	w->result.storage.is_memory = t->is_memory;
	w->result.storage.memory_percent = t->is_restore ? t->memory : NONE;
	w->result.network.percent = t->network;
	w->result.host.cpu_percent = t->cpu;
	*c = (struct checkpoints_result){
		.completed = 2,
		.ranks = 8,
		.threads = 8,
		.bytes = 100000,
		.bytes_per_sec = GIB,
		.durable = t->is_durable,
		.in_memory_bytes = isnan(t->memory)
					   ? UINT64_MAX
					   : (uint64_t)(t->memory * 1000),
		.rank_percent = { .data = t->data,
				  .write = t->write,
				  .read = t->read,
				  .fsync = t->fsync,
				  .other = 100 - t->data - t->write - t->read -
					   t->fsync },
	};
}

START_TEST(a_checkpoint_job_has_the_first_that_holds)
{
	const struct saving *t = &savings[_i];
	struct world w;

	world_init(&w);
	const struct verdict_result *v = &w.result.verdict;
	fill_saving(&w, t);
	verdict_fill(&w.run);
	ck_assert_str_eq(v->name, t->name);
	ck_assert_ptr_nonnull(verdict_label(v->name));
	ck_assert_ptr_nonnull(v->headline);
	ck_assert_ptr_nonnull(v->because);
	check_options(v->headline);
	check_options(v->because);
	check_options(v->try_next);
	if (t->try_next)
		check_has(v->try_next, t->try_next);
	world_fini(&w);
}
END_TEST

/* What of it is said: of a GiB/s, by 8 ranks unless it is told. */
static const struct said {
	struct saving of;
	uint64_t ranks, threads, gib;
	double mine;
	bool is_tmpfs, verified, framework;
	const char *headline, *because, *try_next;
} said[] = {
	{ .of = { "memory", NULL, .memory = 50, .write = 99 },
	  .headline =
		  "checkpoint_fsync=none: this is how fast memory took them",
	  .because = "nothing was flushed: 48.8 of 97.7 KiB were in memory at "
		     "the end",
	  .try_next = "--checkpoint_fsync=file : until storage has the bytes" },
	{ .of = { "memory", NULL, .memory = NONE, .write = 99 },
	  .headline =
		  "checkpoint_fsync=none: this is how fast memory took them",
	  .because =
		  "nothing was flushed, and nothing tells how much was written",
	  .try_next = "--checkpoint_fsync=file : until storage has the bytes" },
	{ .of = { "memory", NULL, .is_memory = true, .write = 99 },
	  .headline = "this filesystem keeps files in memory",
	  .because = "the directory is memory: no storage was touched",
	  .try_next = "--checkpoint_directory=PATH : a directory on storage" },
	{ .of = { "memory", NULL, .is_memory = true, .write = 99 },
	  .is_tmpfs = true,
	  .headline = "tmpfs keeps files in memory",
	  .because = "/dev/shm is tmpfs: no storage was touched",
	  .try_next = "--checkpoint_directory=PATH : a directory on storage" },
	{ .of = { "memory", NULL, .is_restore = true, .memory = 60,
		  .read = 99 },
	  .gib = 256,
	  .headline = "60.0% of the bytes came from this host's page cache",
	  .because = "what was restored (256 GiB) fits into memory (256 GiB)",
	  .try_next = "--drop_caches=run : the same from empty caches" },
	{ .of = { "memory", NULL, .is_restore = true, .memory = 60,
		  .read = 99 },
	  .gib = 257,
	  .headline = "60.0% of the bytes came from this host's page cache",
	  .because =
		  "what was restored (257 GiB) lies partly in memory (256 GiB)",
	  .try_next = "--drop_caches=run : the same from empty caches" },
	{ .of = { "network", NULL, .is_restore = true, .network = 92, .cpu = 12,
		  .read = 99 },
	  .headline = "bond0 carried 92 of 100 Gb/s",
	  .because = "that is 92.0% of its line rate, for 1.00 GiB/s of "
		     "checkpoints; host CPU 12.0%",
	  .try_next = "a faster link, or more hosts; not a statement about "
		      "storage" },
	{ .of = { "host", NULL, .is_durable = true, .cpu = 95, .data = 7,
		  .write = 90 },
	  .mine = 60,
	  .headline = "CPU 95.0% busy (64 CPUs): this host may be the limit, "
		      "not storage",
	  .because = "mlgen itself took usr 0.0%, sys 60.0%, other processes "
		     "35.0%; data 7.0% of rank time",
	  .try_next = "--direct=1 : less copying on these CPUs" },
	{ .of = { "host", NULL, .is_durable = true, .cpu = 95, .data = 7,
		  .write = 90 },
	  .mine = 40,
	  .headline = "CPU 95.0% busy (64 CPUs): this host may be the limit, "
		      "not storage",
	  .because = "mlgen itself took usr 0.0%, sys 40.0%, other processes "
		     "55.0%; data 7.0% of rank time",
	  .try_next = "the same while nothing else runs on these CPUs" },
	{ .of = { "host", NULL, .is_restore = true, .data = 25, .read = 70 },
	  .verified = true,
	  .headline = "checking data took 25.0% of the ranks' time",
	  .because = "mlgen itself took usr 0.0%, sys 0.0%, other processes "
		     "0.0%; data 25.0% of rank time",
	  .try_next = "--verify=none : the same without checking" },
	{ .of = { "host", NULL, .is_restore = true, .data = 25, .read = 70 },
	  .framework = true,
	  .headline = "checking data took 25.0% of the ranks' time",
	  .because = "mlgen itself took usr 0.0%, sys 0.0%, other processes "
		     "0.0%; data 25.0% of rank time",
	  .try_next = "fewer ranks here, or more hosts; not a statement about "
		      "storage" },
	{ .of = { "host", NULL, .is_durable = true, .data = 25, .write = 70 },
	  .framework = true,
	  .ranks = 1,
	  .headline = "making data took 25.0% of the ranks' time",
	  .because = "mlgen itself took usr 0.0%, sys 0.0%, other processes "
		     "0.0%; data 25.0% of rank time" },
	{ .of = { "host", NULL, .is_durable = true, .data = 25, .write = 70 },
	  .framework = true,
	  .ranks = 2,
	  .headline = "making data took 25.0% of the ranks' time",
	  .because = "mlgen itself took usr 0.0%, sys 0.0%, other processes "
		     "0.0%; data 25.0% of rank time",
	  .try_next = "fewer ranks here, or more hosts; not a statement about "
		      "storage" },
	{ .of = { "storage", NULL, .is_durable = true, .cpu = 12, .write = 90,
		  .fsync = 0.5 },
	  .ranks = 2,
	  .headline = "storage took 1.00 GiB/s of 2 ranks",
	  .because = "ranks spent 90.5% of their time in I/O calls, write "
		     "90.0%, fsync 0.5%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few "
		      "writes in flight (2 now)?" },
	{ .of = { "storage", NULL, .is_durable = true, .cpu = 12, .write = 90 },
	  .ranks = 1,
	  .headline = "storage took 1.00 GiB/s of 1 rank",
	  .because = "ranks spent 90.0% of their time in I/O calls, write "
		     "90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few "
		      "writes in flight (1 now)?" },
	{ .of = { "storage", NULL, .direct = true, .cpu = 12, .write = 50,
		  .fsync = 40 },
	  .headline = "storage took 1.00 GiB/s of 8 ranks; nothing was flushed "
		      "(checkpoint_fsync=none)",
	  .because = "ranks spent 90.0% of their time in I/O calls, write "
		     "50.0%, fsync 40.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few "
		      "writes in flight (8 now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .threads = 32,
	  .headline = "storage delivered 1.00 GiB/s to 8 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read "
		     "90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=64 : is it bandwidth, or too few "
		      "reads in flight (256 now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .threads = 33,
	  .headline = "storage delivered 1.00 GiB/s to 8 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read "
		     "90.0%; host CPU 12.0%" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .ranks = 73,
	  .threads = 7,
	  .headline = "storage delivered 1.00 GiB/s to 73 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read "
		     "90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=14 : is it bandwidth, or too few "
		      "reads in flight (511 now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .ranks = 64,
	  .threads = 8,
	  .headline = "storage delivered 1.00 GiB/s to 64 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read "
		     "90.0%; host CPU 12.0%" },
	{ .of = { "unclear", NULL, .is_durable = true, .cpu = 12, .write = 50,
		  .data = 8 },
	  .headline = "ranks in I/O calls 50.0%, CPU 12.0%: neither decides",
	  .because = "data 8.0%, other 42.0% of rank time",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few "
		      "writes in flight (8 now)?" },
	{ .of = { "unclear", NULL, .no_files = true, .is_durable = true,
		  .cpu = 12, .write = 50 },
	  .headline = "no storage in this (ioengine=null), and CPU 12.0% does "
		      "not decide",
	  .because = "data 0.0%, other 50.0% of rank time",
	  .try_next = "--ioengine=psync : the same with storage" },
};

START_TEST(what_a_checkpoint_verdict_says_is_what_was_measured)
{
	static char tmpfs[] = "tmpfs", mount_target[] = "/dev/shm";
	const struct said *t = &said[_i];
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	struct checkpoints_result *c =
		t->of.is_restore ? &ml->restores : &ml->saves;
	fill_saving(&w, &t->of);
	c->ranks = t->ranks ? t->ranks : 8;
	c->verified = t->verified;
	if (t->gib)
		c->bytes = t->gib << 30;
	w.job.checkpoint_threads = t->threads ? t->threads : 1;
	c->threads = c->ranks * w.job.checkpoint_threads;
	w.job.access = t->framework ? ACCESS_FRAMEWORK : ACCESS_PLAIN;
	w.job.checkpoint_layout = LAYOUT_TORCH;
	w.result.storage.filesystem = t->is_tmpfs ? tmpfs : NULL;
	w.result.storage.mount_target = t->is_tmpfs ? mount_target : NULL;
	w.result.host.system_percent = t->mine;
	w.result.network.line_rate_bits_per_sec = UINT64_C(100000000000);
	w.result.network.received_bits_per_sec = 92e9;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, t->of.name);
	ck_assert_str_eq(w.result.verdict.headline, t->headline);
	ck_assert_str_eq(w.result.verdict.because, t->because);
	ck_assert_pstr_eq(w.result.verdict.try_next, t->try_next);
	world_fini(&w);
}
END_TEST

START_TEST(without_a_checkpoint_there_is_no_verdict)
{
	struct world w;

	world_init(&w);
	fill_saving(&w, &savings[0]);
	w.result.ml.saves.completed = 0;
	verdict_fill(&w.run);
	ck_assert_ptr_null(w.result.verdict.name);
	world_fini(&w);
}
END_TEST

START_TEST(a_restore_from_memory_goes_on_to_another_experiment)
{
	static const struct saving from_memory = { .is_restore = true,
						   .memory = 90,
						   .read = 99 };
	struct world w;

	world_init(&w);
	fill_saving(&w, &from_memory);
	w.result.ml.restores.caches_dropped = true;
	verdict_fill(&w.run);
	w.job.access = ACCESS_FRAMEWORK;
	w.job.checkpoint_layout = LAYOUT_TORCH;
	verdict_fill(&w.run);
	/* other ranks of this host read what is in the same memory */
	check_has(w.result.verdict.try_next, "--checkpoint_ranks=RANKS");
	w.job.access = ACCESS_PLAIN;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--direct=1");
	w.result.ml.restores.caches_dropped = false;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--drop_caches=run");
	world_fini(&w);
}
END_TEST

Suite *suite_verdict(void)
{
	Suite *s = suite_create("verdict");
	TCase *t = tcase_create("verdict");

	tcase_add_loop_test(t, the_first_verdict_that_holds_is_taken, 0,
			    sizeof(thresholds) / sizeof(*thresholds));
	tcase_add_loop_test(t, network_bound_names_the_interface_and_its_rate,
			    0, 4);
	tcase_add_loop_test(
		t, storage_bound_names_the_call_that_readers_wait_in, 0, 7);
	tcase_add_loop_test(
		t,
		storage_bound_asks_for_more_reads_until_that_is_no_experiment,
		0, 4);
	tcase_add_loop_test(t, memory_advice_depends_on_what_was_tried, 0, 4);
	tcase_add_loop_test(
		t, compute_bound_asks_for_no_more_than_the_dataset_feeds, 0, 3);
	tcase_add_loop_test(t, host_bound_halves_what_can_be_halved, 0, 5);
	tcase_add_loop_test(
		t, a_measured_ceiling_decides_between_host_and_storage, 0,
		(int)(sizeof(under_ceilings) / sizeof(*under_ceilings)));
	tcase_add_loop_test(
		t, others_on_the_cpus_may_be_what_a_ceiling_was_above, 0, 3);
	tcase_add_loop_test(t, in_doubt_the_ceiling_is_what_to_try, 0, 2);
	tcase_add_loop_test(t, errors_come_before_anything_else, 0,
			    (int)(sizeof(failing) / sizeof(*failing)));
	tcase_add_test(t, a_few_files_over_and_over_are_memory);
	tcase_add_test(t, a_model_of_storage_is_storage);
	tcase_add_loop_test(t, enough_for_is_an_estimate_that_agrees_with_au, 0,
			    7);
	tcase_add_test(t, only_a_training_that_finished_a_step_has_a_verdict);
	tcase_add_test(t, filling_twice_gives_the_same_and_leaks_nothing);
	tcase_add_loop_test(t, a_checkpoint_job_has_the_first_that_holds, 0,
			    (int)(sizeof(savings) / sizeof(*savings)));
	tcase_add_loop_test(t,
			    what_a_checkpoint_verdict_says_is_what_was_measured,
			    0, (int)(sizeof(said) / sizeof(*said)));
	tcase_add_test(t, without_a_checkpoint_there_is_no_verdict);
	tcase_add_test(t, a_restore_from_memory_goes_on_to_another_experiment);
	suite_add_tcase(s, t);
	return s;
}
