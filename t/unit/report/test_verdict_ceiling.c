/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict_ceiling.c - what a ceiling that was measured decides. */
#include "suites.h"
#include "verdict_rig.h"

static const struct under_ceiling {
	const char *name; /* expected */
	double au, stall, cpu, read, null_au, cached_au;
	const char *headline, *because, *try_next;
} under_ceilings[] = {
	/* the host, measured: with a full CPU and without */
	{ "host", 71.4, 28, 98, 50, 73, 72,
	  "CPU 98.0% busy; without storage this host reaches 72.0% AU",
	  "the ceiling is 0.6 points above the result: storage hardly matters",
	  "fewer accelerators here, or more hosts; this is not a statement about storage" },
	{ "host", 71.4, 28, 84, 95, 73, 71,
	  "CPU 84.0% busy; without storage this host reaches 71.0% AU",
	  "the ceiling is no higher than the result: storage hardly matters",
	  "fewer accelerators here" },
	{ "host", 71.4, 28, NONE, 50, 99, 72, "without storage", "0.6 points",
	  "--direct=1 : less copying on these CPUs, which costs 27.0 points" },
	/* the storage, though the CPU is full or nobody waits in calls */
	{ "storage", 63, 37, 98, 50, 99.9, 98.9, "storage delivered",
	  "without storage this host reaches 98.9% AU, 35.9 points more; read threads "
	  "spent 50.0%",
	  "--read_threads=8" },
	/* it keeps up: what is left is no question of host or storage */
	{ "compute", 97, 3, 11, 50, 98, 98, "storage keeps up", "stall is", "--accelerators=16" },
	/* busy, but for first steps of epochs, on CPUs that others fill */
	{ "compute", 99.6, 7, 98, 50, 99.8, 98, "storage keeps up",
	  "without storage this host reaches 98.0% AU; stall is 7.0%", "--accelerators=16" },
	{ "host", 94.9, 3, 98, 50, 96, 95, "CPU 98.0% busy", "0.1 points",
	  "fewer accelerators here" },
	/* not measured */
	/* only first steps of epochs wait, which AU leaves out */
	{ "compute", 99.9, 30, 11, 50, NONE, NONE, "storage keeps up",
	  "stall is 30.0% of accelerator time including first steps of epochs",
	  "--accelerators=16" },
	{ "compute", 99.9, 30, 98, 90, NONE, NONE, "storage keeps up",
	  "which AU leaves out; read threads", "--accelerators=16" },
	{ "storage", 94.9, 30, 11, 90, NONE, NONE, "storage delivered", "waiting in read()",
	  "--read_threads=8" },
	{ "unclear", 94.9, 30, 11, 50, NONE, NONE, "neither shows the limit",
	  "stall is 30.0% of accelerator time; read", "--read_threads=8" },
	{ "compute", 97, 3, 98, 50, NONE, NONE, "storage keeps up", "stall is",
	  "--accelerators=16" },
	{ "host", 94.9, 7, 98, 50, NONE, NONE, "CPU 98.0% busy (64 CPUs)", "mlgen itself",
	  "--accelerators=4" },
	{ "unclear", 63, 37, 84, 50, NONE, NONE, "neither shows the limit", "stall is",
	  "--read_threads=8" },
	{ "host", 63, 37, 98, 50, NONE, NONE, "CPU 98.0% busy (64 CPUs)", "mlgen itself",
	  "--accelerators=4" },
};

START_TEST(a_measured_ceiling_decides_between_host_and_storage)
{
	const struct under_ceiling *u = &under_ceilings[_i];
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	ml->au_percent = u->au;
	w.result.host.cpu_percent = w.result.host.user_percent = u->cpu;
	ml->time_percent = (struct time_percent){ .compute = 100 - u->stall, .stall = u->stall };
	ml->loader_percent = (struct loader_percent){ .read = u->read, .idle = 100 - u->read };
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
		{ 98, 40, "unclear" },
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
				 "the same job while nothing else runs on these CPUs");
	world_fini(&w);
}
END_TEST

/* HOST-BOUND beside a ceiling of 91 % would be a verdict against its own evidence. */
START_TEST(a_hint_that_the_ceiling_disputes_is_unclear)
{
	static const struct {
		double cpu, oversleep, null_au;
		uint64_t beside;
		const char *name, *headline, *try_next;
	} rows[] = {
		{ 98, 0, 91, 1, "unclear",
		  "CPU 98.0% busy (64 CPUs), yet without storage this host reaches 91.0% "
		  "AU",
		  "alone" },
		{ 50, 2, 91, 1, "unclear", "oversleep is 2.0% of accelerator time, yet", "alone" },
		{ 50, 2, 61, 1, "host", "this host reaches 61.0% AU", "fewer" },
		{ 98, 0, NONE, 0, "host", "CPU 98.0% busy", "--ceiling" },
	};
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	ml->au_percent = 60;
	w.result.host.cpu_percent = w.result.host.user_percent = rows[_i].cpu;
	ml->time_percent = (struct time_percent){
		.compute = 60,
		.oversleep = rows[_i].oversleep,
		.stall = 40 - rows[_i].oversleep,
	};
	ml->ceiling.is_tried = !isnan(rows[_i].null_au);
	ml->ceiling.jobs_beside = rows[_i].beside;
	ml->ceiling.null_au_percent = ml->ceiling.cached_au_percent = rows[_i].null_au;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, rows[_i].name);
	check_has(w.result.verdict.headline, rows[_i].headline);
	check_has(w.result.verdict.try_next, rows[_i].try_next);
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
	ck_assert_str_eq(w.result.verdict.try_next, "--ceiling : what this host could do at best");
	world_fini(&w);
}
END_TEST

Suite *suite_verdict_ceiling(void)
{
	Suite *s = suite_create("verdict_ceiling");
	TCase *t = tcase_create("verdict_ceiling");

	tcase_add_loop_test(t, a_measured_ceiling_decides_between_host_and_storage, 0,
			    (int)(sizeof(under_ceilings) / sizeof(*under_ceilings)));
	tcase_add_loop_test(t, others_on_the_cpus_may_be_what_a_ceiling_was_above, 0, 3);
	tcase_add_loop_test(t, a_hint_that_the_ceiling_disputes_is_unclear, 0, 4);
	tcase_add_loop_test(t, in_doubt_the_ceiling_is_what_to_try, 0, 2);
	suite_add_tcase(s, t);
	return s;
}
