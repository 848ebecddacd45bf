/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_first.c - the first lines of a report: what bounds a training, and what went wrong. */
#include <errno.h>

#include "suites.h"
#include "text_rig.h"

START_TEST(a_result_from_memory_says_so_in_its_first_line)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	w->dataset.files = 168;
	w->result.totals.bytes = UINT64_C(24628905504);
	ml->au_percent = 99.2;
	ml->target_met = true;
	ml->sample_bytes_per_sec = 23.48 * GIB;
	ml->samples_per_sec = 172;
	w->result.storage.memory_percent = 96;
	/* clang-format off */
	check_head(w,
		"unet3d: 99.2% AU, 23.48 GiB/s, 172.0 samples/s      MEMORY, NOT STORAGE\n"
		"  NOT A STORAGE RESULT   96.0% of the bytes came from this host's page cache\n"
		"  because         the dataset (168 files, 22.94 GiB) fits into memory (256 GiB)\n"
		"  try next        --dataset_ratio=5 : 9,376 files, or direct=1\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_full_host_is_no_statement_about_storage)
{
	struct world *w = world_new();

	w->result.host.cpu_percent = 98;
	w->result.host.user_percent = 20.5;
	w->result.host.system_percent = 70.25;
	w->result.ml.target_met = true;
	w->result.ml.target_au_percent = 60;
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 60%: met), 14.86 GiB/s, 108.8 samples/s\n"
		"  HOST-BOUND      CPU 98.0% busy (64 CPUs); stall is 33.9% of accelerator time\n"
		"  because         mlgen itself used usr 20.5%, sys 70.2%, other processes 7.2%\n"
		"  try next        --ceiling : what this host could do at best\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_ceiling_of_direct_reads_says_that_it_was_buffered)
{
	struct world *w = world_new();
	struct ceiling_result *c = &w->result.ml.ceiling;

	c->is_tried = true;
	c->null_au_percent = 64.5;
	c->cached_au_percent = 63.7;
	c->cached_seconds = 3;
	c->cached_files = 12;
	c->cached_bytes = UINT64_C(1) << 30;
	w->job.direct = true;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "repeatedly, direct=0)\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_ceiling_has_a_line_and_decides)
{
	struct world *w = world_new();
	struct ceiling_result *c = &w->result.ml.ceiling;

	ceiling_result_init(c);
	c->is_tried = true;
	c->null_au_percent = 64.5;
	c->cached_au_percent = 63.7;
	c->cached_seconds = 3;
	c->cached_files = 12;
	c->cached_bytes = UINT64_C(1) << 30;
	w->result.host.cpu_percent = 98;
	w->result.host.system_percent = 90;
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
		"  HOST-BOUND      CPU 98.0% busy; without storage this host reaches 63.7% AU\n"
		"  because         the ceiling is 0.6 points above the result: storage hardly matters\n"
		"  try next        fewer accelerators here, or more hosts; this is not a statement about storage\n");
	/* clang-format on */
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\nceiling            64.5% AU without storage, 63.7% AU from memory (12 "
			"files, 1 GiB,\n                   repeatedly)\n");
	free(text);
	world_free(w);
}
END_TEST

/* The first line, whatever happened. */
static const struct first_line {
	const char *what;
	bool too_short, interrupted, failed, other_failed, memory;
	uint64_t steps, counted_steps;
	double au_percent;
	const char *expected;
} first_lines[] = {
	{ "complete", .steps = 2500, .counted_steps = 19960, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n" },
	{ "too short", .too_short = true, .steps = 13, .counted_steps = 96, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (too short: 12 counted steps), 14.86 GiB/s, 108.8 "
		      "samples/s\n" },
	{ "one step an epoch", .too_short = true, .steps = 5, .counted_steps = 0,
	  .au_percent = NONE,
	  .expected = "unet3d: AU unknown (too short: 0 counted steps), 14.86 GiB/s, 108.8 "
		      "samples/s\n" },
	{ "interrupted", .interrupted = true, .steps = 118, .counted_steps = 944,
	  .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s, 108.8 samples/s (interrupted after 118 "
		      "steps)\n" },
	{ "interrupted early", .interrupted = true, .too_short = true, .steps = 13,
	  .counted_steps = 96, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (too short), 14.86 GiB/s (interrupted after 13 steps)\n" },
	{ "failed", .failed = true, .steps = 118, .counted_steps = 944, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s (stopped by an error after 118 steps)\n" },
	{ "failed at once", .failed = true, .too_short = true, .steps = 1, .counted_steps = 0,
	  .au_percent = NONE,
	  .expected = "unet3d: 14.86 GiB/s, 108.8 samples/s (stopped by an error after 1 step)\n" },
	{ "failed before", .failed = true, .steps = 0, .au_percent = NONE,
	  .expected = "unet3d: no step was finished (stopped by an error)\n" },
	{ "another job failed", .other_failed = true, .steps = 118, .counted_steps = 944,
	  .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s (another job failed after 118 steps)\n" },
	{ "memory", .memory = true, .steps = 2500, .counted_steps = 19960, .au_percent = 99.2,
	  .expected = "unet3d: 99.2% AU, 14.86 GiB/s, 108.8 samples/s      MEMORY, NOT STORAGE\n" },
};

START_TEST(quiet_prints_the_first_line_and_marks_what_is_not_whole)
{
	const struct first_line *l = &first_lines[_i];
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->too_short = l->too_short;
	w->result.interrupted = l->interrupted;
	w->result.complete = !l->interrupted && !l->failed && !l->other_failed;
	ml->steps = l->steps;
	ml->counted_steps = l->counted_steps;
	ml->au_percent = l->au_percent;
	w->result.err.code = l->failed ? -EIO : 0;
	w->run.err.code = l->failed || l->other_failed ? -EIO : 0;
	if (l->memory)
		w->result.storage.memory_percent = 96;
	char *quiet = report_text(&w->run, DETAIL_FIRST);
	ck_assert_msg(is_flowed_same(quiet, l->expected), "%s: %s", l->what, quiet);
	char *full = report_text(&w->run, DETAIL_USUAL);
	ck_assert_msg(!strncmp(full, quiet, strlen(quiet)), "%s: %s", l->what, full);
	check_shape(full);
	free(full);
	free(quiet);
	world_free(w);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t failed, errors;
	bool is_too_many;
	double au;
	const char *line;
} failing[] = {
	{ 100, 100, true, NONE, ": ERRORS: 100 of 1,000 samples failed; no AU, 14.86 GiB/s, " },
	{ 100, 100, false, 88, ": ERRORS: 100 of 1,000 samples failed; 88.0% AU, 14.86 GiB/s" },
	{ 3, 3, false, 93.1, " samples/s; 3 of 1,000 samples failed\n" },
	/* of what no accelerator took */
	{ 0, 1, true, 98.1, ": ERRORS: 1 error; 98.1% AU, 14.86 GiB/s" },
};
/* clang-format on */

START_TEST(errors_stand_in_the_first_line)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->failed_samples = failing[_i].failed;
	w->result.errors = failing[_i].errors;
	w->result.failed.count = w->result.errors;
	w->result.failed.of = 1000;
	w->result.failed.percent = (double)w->result.errors / 10;
	w->result.failed.is_too_many = failing[_i].is_too_many;
	ml->au_percent = failing[_i].au;
	for (unsigned quiet = 0; quiet < 2; quiet++) {
		char *text = report_text(&w->run, quiet ? DETAIL_FIRST : DETAIL_USUAL);

		check_shape(text);
		check_has(text, failing[_i].line);
		ck_assert_ptr_eq(strstr(text, "COMPUTE-BOUND"), NULL);
		free(text);
	}
	world_free(w);
}
END_TEST

Suite *suite_text_first(void)
{
	Suite *s = suite_create("text_first");
	TCase *t = tcase_create("text_first");

	tcase_add_test(t, a_result_from_memory_says_so_in_its_first_line);
	tcase_add_test(t, a_full_host_is_no_statement_about_storage);
	tcase_add_test(t, a_ceiling_has_a_line_and_decides);
	tcase_add_test(t, a_ceiling_of_direct_reads_says_that_it_was_buffered);
	tcase_add_loop_test(t, quiet_prints_the_first_line_and_marks_what_is_not_whole, 0,
			    sizeof(first_lines) / sizeof(*first_lines));
	tcase_add_loop_test(t, errors_stand_in_the_first_line, 0,
			    (int)(sizeof(failing) / sizeof(*failing)));
	suite_add_tcase(s, t);
	return s;
}
