/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_noise.c - what a report says of a noisy host, and of one slow file or accelerator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "flowed.h"
#include "report/text/text.h"
#include "suites.h"

#define NONE UINT64_MAX
#define MS 1000000u

struct world {
	struct run_result run;
	struct job_result result;
	struct text_block b;
	struct buf out;
};

static void world_init(struct world *w)
{
	*w = (struct world){ .result.ml = { .accelerators = 4,
					    .counted_steps = 400,
					    .sample_ns = hist_new(),
					    .step_ns = hist_new() } };
	w->result.host.noise.hot = NONE;
	w->result.storage.slowest_sample_ns = (double)NAN;
	w->result.ml.slowest_rank = (struct slowest_rank){ NONE, (double)NAN, (double)NAN };
	w->b = (struct text_block){ .run = &w->run,
				    .ml = &w->result.ml,
				    .storage = &w->result.storage,
				    .result = &w->result,
				    .host = &w->result.host };
}

static void world_fini(struct world *w)
{
	hist_free(w->result.ml.sample_ns);
	hist_free(w->result.ml.step_ns);
	buf_fini(&w->out);
}

static void put_noise(struct world *w)
{
	static const struct text_line lines[] = {
		{ "noise", text_noise },
		{ 0 },
	};

	text_append_list(&w->out, lines, TEXT_EVIDENCE_INDENT, &w->b);
}

static void check_text(struct world *w, const char *want)
{
	ck_assert_msg(is_flowed_same(buf_str(&w->out), want), "%s", buf_str(&w->out));
}

START_TEST(a_quiet_host_gets_no_line)
{
	struct world w;

	world_init(&w);
	w.result.host.noise.other_percent = 30;
	w.result.host.noise.busy_percent = 40;
	w.result.host.cpu_percent = 100; /* of a quota, say */
	put_noise(&w);
	check_text(&w, "");
	world_fini(&w);
}
END_TEST

/* Two threads on one CPU of two, and the same where all CPUs are busy. */
START_TEST(threads_on_one_cpu_are_told)
{
	struct world w;

	world_init(&w);
	w.result.host.cpu_percent = 52;
	w.result.thread_cpu.workers_seconds = 6;
	w.result.thread_cpu.workers_waited_seconds = 6;
	put_noise(&w);
	check_text(&w, "noise              its threads were ready to run but had no CPU 50.0% of "
		       "the time,\n"
		       "                   while CPUs were 52.0% busy: the kernel kept them on the "
		       "same CPUs\n");
	buf_fini(&w.out);
	w.out = (struct buf){ 0 };
	w.result.host.cpu_percent = 98;
	put_noise(&w);
	check_text(&w, "");
	world_fini(&w);
}
END_TEST

START_TEST(noise_is_told_with_its_figures)
{
	struct world w;

	world_init(&w);
	w.result.host.cpu_percent = 95;
	w.result.host.noise = (struct noise){ .steal_percent = 2.5,
					      .other_percent = 30,
					      .busy_percent = 95,
					      .guest_percent = 10,
					      .throttled = 1200,
					      .throttled_percent = 12,
					      .hot = 1,
					      .pressure_cpu_percent = 44,
					      .pressure_memory_percent = 3 };
	w.result.ml.time_percent.oversleep = 1.5;
	put_noise(&w);
	check_text(
		&w,
		"noise              the hypervisor used 2.5% of the CPUs;\n"
		"                   other processes and the kernel used 30.0% of the CPUs,\n"
		"                   virtual machines 10.0%, threads waited for a CPU 44.0% of the "
		"time;\n"
		"                   the CPU quota of its control group stopped it 1,200 times,\n"
		"                   12.0% of the time; heat slowed CPUs down 1 time;\n"
		"                   threads waited for memory 3.0% of the time;\n"
		"                   late wake-ups took 1.5% of accelerator time\n");
	world_fini(&w);
}
END_TEST

/* clang-format off */
static const struct {
	unsigned of_1ms, of_8ms;	/* samples */
	unsigned slowest_ms;
	bool is_named;
} sample_cases[] = {
	{ 99, 0, 2, false },		/* twice the median, not more */
	{ 99, 0, 3, true },
	{ 50, 40, 8, false },		/* one of many: p90, */
	{ 500, 400, 8, false },		/* p99, */
	{ 600, 500, 8, false },		/* p99.9 */
	{ 1000000, 0, 3, true },
	{ 600, 500, 9, true },
};
/* clang-format on */

START_TEST(a_sample_is_named_when_it_stands_out)
{
	struct world w;

	world_init(&w);
	for (unsigned i = 0; i < sample_cases[_i].of_1ms; i++)
		hist_add(w.result.ml.sample_ns, MS);
	for (unsigned i = 0; i < sample_cases[_i].of_8ms; i++)
		hist_add(w.result.ml.sample_ns, 8 * MS);
	snprintf(w.result.storage.slowest_file, sizeof(w.result.storage.slowest_file),
		 "/d/img_1.raw");
	w.result.storage.slowest_file_bytes = 1 << 20;
	w.result.storage.slowest_sample_ns = sample_cases[_i].slowest_ms * 1e6;
	text_slowest(&w.out, &w.b);
	ck_assert_msg(!!strstr(buf_str(&w.out), "sample in /d/img_1.raw (1 MiB): ") ==
			      sample_cases[_i].is_named,
		      "case %d: %s", _i, buf_str(&w.out));
	world_fini(&w);
}
END_TEST

/* clang-format off */
static const struct {
	double mean_ms, median_ms, step_ms;
	uint64_t steps;
	bool is_named;
} rank_cases[] = {
	{ 20, 10, 100, 400, false },	/* twice, not more */
	{ 21, 10, 100, 400, true },
	{ 21, 10, 100, 39, false },	/* of too few steps */
	{ 0.9, 0.1, 100, 400, false },	/* not to be seen in AU */
	{ 1.2, 0, 100, 400, true },
};
/* clang-format on */

START_TEST(an_accelerator_is_named_when_it_stands_out)
{
	struct world w;

	world_init(&w);
	w.result.ml.counted_steps = rank_cases[_i].steps;
	hist_add(w.result.ml.step_ns, (uint64_t)(rank_cases[_i].step_ms * 1e6));
	w.result.ml.slowest_rank = (struct slowest_rank){ 3, rank_cases[_i].mean_ms * 1e6,
							  rank_cases[_i].median_ms * 1e6 };
	text_slowest(&w.out, &w.b);
	ck_assert_msg(!!strstr(buf_str(&w.out), "accelerator 3: mean stall ") ==
			      rank_cases[_i].is_named,
		      "case %d: %s", _i, buf_str(&w.out));
	world_fini(&w);
}
END_TEST

static void put_command(struct world *w, const char *command)
{
	buf_reset(&w->out);
	w->b.is_first = true;
	snprintf(w->run.host.command, sizeof(w->run.host.command), "%s", command);
	text_command(&w->out, &w->b);
}

START_TEST(a_command_is_to_be_copied_into_a_shell)
{
	struct world w;

	world_init(&w);
	put_command(&w, "");
	check_text(&w, "");
	put_command(&w, "mlgen x.job --epochs=2");
	check_text(&w, "command   mlgen x.job --epochs=2\n");
	put_command(&w,
		    "mlgen unet3d.job --directory=/mnt/array/unet3d --accelerators=8 "
		    "--num_files=28000 --epochs=5 '--require=au >= 90 and it'\\''s so' --quiet");
	check_text(
		&w,
		"command   mlgen unet3d.job --directory=/mnt/array/unet3d --accelerators=8 \\\n"
		"          --num_files=28000 --epochs=5 '--require=au >= 90 and it'\\''s so' \\\n"
		"          --quiet\n");
	world_fini(&w);
}
END_TEST

START_TEST(a_very_long_command_is_whole)
{
	char command[500];
	struct world w;

	world_init(&w);
	memset(command, 'x', sizeof(command));
	for (size_t i = 10; i < sizeof(command); i += 20)
		command[i] = ' ';
	command[sizeof(command) - 1] = '\0';
	put_command(&w, command);
	ck_assert_uint_ge(text_lines(&w.out), 7);
	unsigned x = 0, wanted = 0;
	for (const char *s = command; *s; s++)
		wanted += *s == 'x';
	for (const char *s = buf_str(&w.out); *s;) {
		size_t len = strcspn(s, "\n");

		ck_assert_uint_le(len, 80);
		for (; *s && *s != '\n'; s++)
			x += *s == 'x';
		s += *s == '\n';
	}
	ck_assert_uint_eq(x, wanted);
	world_fini(&w);
}
END_TEST

Suite *suite_text_noise(void)
{
	Suite *s = suite_create("text_noise");
	TCase *t = tcase_create("text_noise");

	tcase_add_test(t, a_quiet_host_gets_no_line);
	tcase_add_test(t, threads_on_one_cpu_are_told);
	tcase_add_test(t, noise_is_told_with_its_figures);
	tcase_add_loop_test(t, a_sample_is_named_when_it_stands_out, 0,
			    sizeof(sample_cases) / sizeof(sample_cases[0]));
	tcase_add_loop_test(t, an_accelerator_is_named_when_it_stands_out, 0,
			    sizeof(rank_cases) / sizeof(rank_cases[0]));
	tcase_add_test(t, a_command_is_to_be_copied_into_a_shell);
	tcase_add_test(t, a_very_long_command_is_whole);
	suite_add_tcase(s, t);
	return s;
}
