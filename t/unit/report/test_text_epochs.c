/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_epochs.c - epochs, percentiles and shares of a report keep their columns. */
#include "suites.h"
#include "text_rig.h"

START_TEST(many_epochs_are_cut_to_fit_one_screen)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, 100);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\n    3     255.1");
	check_has(text, "\n  ...\n");
	check_has(text, "\n  100     257.2");
	check_has(text, "\n  all    1286.4");
	check_lacks(text, "\n    4  ");
	check_has(text, "epochs 2-100 differ by");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(epochs_that_were_not_kept_are_marked_at_the_end)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, 1024);
	w->result.ml.epochs_total = 5000;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\n    4  ");
	check_has(text, "\n  ...\n  all ");
	check_lacks(text, "1024  ");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(as_many_epochs_as_fit_are_all_shown)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, _i ? 30 : 11);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	if (_i) {
		check_lacks(text, "\n    4  ");
		check_has(text, "\n  ...\n");
	} else {
		check_has(text, "\n    4  ");
		check_lacks(text, "...");
	}
	free(text);
	world_free(w);
}
END_TEST

START_TEST(shares_add_up_to_100_as_printed)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->time_percent = (struct time_percent){
		.compute = 100.0 / 3,
		.stall = 100.0 / 3,
		.barrier = 100.0 / 3,
	};
	ml->loader_percent = (struct loader_percent){
		.open = 9.96,
		.stat = 10.04,
		.read = 10.02,
		.write = 9.98,
		.fsync = 10.01,
		.close = 9.99,
		.reap = 10,
		.cpu = 10,
		.idle = 9.97,
		.other = 10.03,
	};
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "compute 33.4%  stall 33.3%  barrier 33.3%");
	check_lacks(text, "oversleep");
	check_has(text, "\nread thread time   read 10.0%  write 10.0%  open 10.0%  stat 10.0%  "
			"fsync 10.0%\n"
			"                   close 10.0%  reap 10.0%  cpu 10.0%  other 10.0%  idle "
			"10.0%  = 100%\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_stall_of_minutes_and_a_long_percentile_list_keep_their_columns)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	w->job.percentile_list = (struct f64_list){
		17, { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99 }
	};
	hist_free(ml->stall_ns);
	ml->stall_ns = hist_of(19960, SPREAD({ 50, 12000 }, { 99, 61000 }), 182000);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\nlatency, ms         count      mean        p50        p90        p99    "
			"    max\n");
	check_has(
		text,
		"\nstall              19,960  26001      12000      54895      61069     182000\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(an_outage_in_the_middle_shows_in_the_steady_line)
{
	struct world *w = world_new();
	struct epoch_result *e = w->result.ml.epochs.items;

	e[3].sample_bytes_per_sec /= 2;
	w->result.errors = 3;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\nsteady             epochs 2-5 differ by 100.8%; 3 errors counted, the "
			"run went on\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(two_epochs_tell_nothing_about_steadiness)
{
	struct world *w = world_new();

	w->result.ml.epochs.count = w->result.ml.epochs_total = 2;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text, "\nsteady             unknown (needs 3 whole epochs); no errors\n");
	free(text);
	world_free(w);
}
END_TEST

/* Caches were dropped between its epochs: the host was looked at then, too. */
START_TEST(a_window_that_has_more_than_the_epochs_is_named)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->runtime_seconds = 1286.4;
	w->result.window = (struct window_result){ "start", 2, 1300 };
	check_report_lacks(&w->run, "window ");
	w->result.window.seconds = 1400;
	check_line(&w->run, "window             from memory, host: 23m20s, start to end of job; "
			    "rates over 21m26s of it");
	w->result.window = (struct window_result){ "ramp_time", 62, 1300 };
	check_line(&w->run,
		   "window             from memory, host: 21m40s, end of ramp_time to end of job");
	world_free(w);
}
END_TEST

Suite *suite_text_epochs(void)
{
	Suite *s = suite_create("text_epochs");
	TCase *t = tcase_create("text_epochs");

	tcase_add_test(t, many_epochs_are_cut_to_fit_one_screen);
	tcase_add_test(t, epochs_that_were_not_kept_are_marked_at_the_end);
	tcase_add_loop_test(t, as_many_epochs_as_fit_are_all_shown, 0, 2);
	tcase_add_test(t, shares_add_up_to_100_as_printed);
	tcase_add_test(t, a_stall_of_minutes_and_a_long_percentile_list_keep_their_columns);
	tcase_add_test(t, an_outage_in_the_middle_shows_in_the_steady_line);
	tcase_add_test(t, two_epochs_tell_nothing_about_steadiness);
	tcase_add_test(t, a_window_that_has_more_than_the_epochs_is_named);
	suite_add_tcase(s, t);
	return s;
}
