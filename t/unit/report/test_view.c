/* SPDX-License-Identifier: Apache-2.0 */
/* test_view.c - the picture of a run: what stands where, at which size, of which jobs. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "report/live/live_internal.h"
#include "suites.h"

#define SEC UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define MOST_ROWS 60u
#define MOST_COLUMNS 200u
#define JOBS 30u

/* A cell holds a letter of UTF-8, which the picture puts one at a time. */
static char cells[MOST_ROWS][MOST_COLUMNS][8];
static char line[MOST_COLUMNS * 8];

static size_t letter_bytes(const char *at)
{
	size_t n = 1;

	while (((unsigned char)at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void put(void *to, unsigned row, unsigned column, enum view_style look, const char *text)
{
	const struct view_pen *pen = to;

	(void)look;
	while (*text) {
		size_t n = letter_bytes(text);

		ck_assert_uint_lt(row, pen->rows);
		ck_assert_uint_lt(column, pen->columns);
		ck_assert(pen->is_utf8 || n == 1);
		memcpy(cells[row][column], text, n);
		cells[row][column][n] = '\0';
		text += n;
		column++;
	}
}

static const char *row_text(unsigned row)
{
	line[0] = '\0';
	for (unsigned i = 0; i < MOST_COLUMNS; i++)
		strcat(line, cells[row][i][0] ? cells[row][i] : " ");
	for (size_t n = strlen(line); n && line[n - 1] == ' '; n--)
		line[n - 1] = '\0';
	return line;
}

/* The first row that has it, or -1. */
static int row_with(const char *text)
{
	for (unsigned i = 0; i < MOST_ROWS; i++)
		if (strstr(row_text(i), text))
			return (int)i;
	return -1;
}

struct scene_stage {
	struct live jobs[JOBS], all, then;
	char names[JOBS][16];
	struct tracks tracks;
	struct view_series bytes, au;
	struct view_scene scene;
	struct view_pen pen;
};
static struct scene_stage stage;

/* Two looks, ten seconds apart, at trainings: 60 % compute, 30 % stall. */
static void stage_init(size_t jobs)
{
	memset(&stage, 0, sizeof(stage));
	for (size_t i = 0; i < jobs; i++) {
		snprintf(stage.names[i], sizeof(stage.names[i]), "job%zu", i);
		stage.jobs[i] = (struct live){ .job_name = stage.names[i],
					       .phase = LIVE_TRAIN,
					       .now_ns = 1000 * SEC,
					       .left_ns = 65 * SEC,
					       .epoch = 2,
					       .epochs = 5,
					       .step = 118,
					       .steps = 500,
					       .done_percent = (double)NAN };
		tracks_follow(&stage.tracks, &stage.jobs[i]);
		stage.jobs[i].now_ns += 10 * SEC;
		stage.jobs[i].io_moved[0] = 10 * (UINT64_C(1) << 30);
		stage.jobs[i].compute_ns = 6 * SEC;
		stage.jobs[i].step_ns = 10 * SEC;
	}
	live_hists_new(&stage.all);
	live_hists_new(&stage.then);
	stage.all.phase = stage.then.phase = LIVE_TRAIN;
	stage.all.now_ns = 10 * SEC;
	stage.all.compute_ns = 6 * SEC;
	stage.all.stall_ns = 3 * SEC;
	stage.all.step_ns = 10 * SEC;
	stage.all.inside_ns = 8 * SEC;
	stage.all.idle_ns = 1 * SEC;
	stage.all.worker_ns = 10 * SEC;
	for (unsigned i = 0; i < 1000; i++)
		hist_add(stage.all.lat[MLGEN_READ], i < 990 ? 2 * MS : 50 * MS);
	for (unsigned i = 1; i <= 8; i++)
		view_series_add(&stage.bytes, i * BYTES_PER_MIB);
	view_series_add(&stage.au, 60);
	stage.scene = (struct view_scene){ .jobs = stage.jobs,
					   .job_count = jobs,
					   .tracks = &stage.tracks,
					   .all = &stage.all,
					   .all_then = &stage.then,
					   .bytes_per_sec = &stage.bytes,
					   .au_percent = &stage.au,
					   .scratch = hist_new(),
					   .elapsed_ns = 64 * SEC,
					   .messages = "" };
}

static void stage_fini(void)
{
	live_hists_free(&stage.all);
	live_hists_free(&stage.then);
	tracks_fini(&stage.tracks);
	hist_free(stage.scene.scratch);
}

static void draw(unsigned columns, unsigned rows, bool is_utf8)
{
	memset(cells, 0, sizeof(cells));
	stage.pen = (struct view_pen){ put, &stage.pen, rows, columns, is_utf8 };
	view_layout(&stage.pen, &stage.scene);
}

START_TEST(a_training_has_its_panels)
{
	stage_init(1);
	draw(80, 24, true);
	ck_assert_ptr_nonnull(strstr(row_text(0), "1 job"));
	ck_assert_ptr_nonnull(strstr(row_text(0), "1m04s"));
	ck_assert_ptr_nonnull(strstr(row_text(0), "q stops the run"));
	ck_assert_ptr_nonnull(strstr(
		row_text(2), "8.00 MiB/s   mean 4.50 MiB/s, max 8.00 MiB/s over 8 intervals"));
	/* Eight columns rise to the top of three rows on the right. */
	ck_assert_ptr_nonnull(strstr(row_text(3), "\u2582\u2585\u2588"));
	ck_assert_str_eq(cells[5][71], "\u2583");
	ck_assert_str_eq(cells[5][78], "\u2588");
	ck_assert_str_eq(cells[3][78], "\u2588");
	ck_assert_ptr_nonnull(strstr(row_text(7), " AU           60.0%"));
	ck_assert_ptr_nonnull(strstr(row_text(8), "compute 60.0%   stall 30.0%  other 10.0%"));
	/* Of twenty columns twelve, six and two. */
	ck_assert_str_eq(cells[8][14 + 11], "\u2588");
	ck_assert_str_eq(cells[8][14 + 12], "\u2592");
	ck_assert_str_eq(cells[8][14 + 17], "\u2592");
	ck_assert_str_eq(cells[8][14 + 18], "\u2591");
	ck_assert_str_eq(cells[8][14 + 19], "\u2591");
	ck_assert_str_eq(cells[8][14 + 20], "");
	ck_assert_ptr_nonnull(strstr(row_text(9), "I/O 80.0%       idle 10.0%   other 10.0%"));
	ck_assert_int_eq(row_with("Latency, ms"), 11);
	ck_assert_ptr_nonnull(strstr(row_text(12), " read             2."));
	ck_assert_ptr_nonnull(strstr(row_text(12), "1,000"));
	ck_assert_int_eq(row_with("Job            Phase"), 14);
	ck_assert_ptr_nonnull(
		strstr(row_text(15), " job0           train      2/5 118/500  1.00 GiB/s"));
	ck_assert_ptr_nonnull(strstr(row_text(15), "60.0%   1m05s"));
	stage_fini();
}
END_TEST

START_TEST(without_utf8_all_is_ascii)
{
	stage_init(1);
	snprintf(stage.names[0], sizeof(stage.names[0]), "b\u00fccher\x1b[2J");
	draw(80, 24, false); /* put() looks at each letter */
	ck_assert_int_ge(row_with("b?cher\\x1b[2J"), 0);
	ck_assert_str_eq(cells[8][14], "#");
	ck_assert_str_eq(cells[8][14 + 12], "=");
	ck_assert_str_eq(cells[5][78], "#");
	stage_fini();
}
END_TEST

START_TEST(odd_names_stay_in_their_column)
{
	stage_init(1);
	snprintf(stage.names[0], sizeof(stage.names[0]),
		 "a\n\x07\xff"
		 "aaaaaaaa");
	draw(80, 24, true);
	ck_assert_int_ge(row_with(" a\\n\\x07\\xffaaa train "), 0);
	stage_fini();
}
END_TEST

START_TEST(more_jobs_than_rows_are_counted_and_busy_ones_shown)
{
	stage_init(JOBS);
	for (size_t i = 0; i < JOBS - 2; i++)
		stage.jobs[i].phase = i % 2 ? LIVE_DONE : LIVE_WAIT;
	draw(80, 24, true);
	/* Rows 15 to 22 have eight of thirty, those that work first. */
	ck_assert_int_eq(row_with("and 22 more"), 23);
	ck_assert_int_eq(row_with(" job28 "), 15);
	ck_assert_int_eq(row_with(" job29 "), 16);
	ck_assert_int_eq(row_with(" job0 "), 17);
	draw(80, 60, true);
	ck_assert_int_eq(row_with(" more"), -1);
	stage_fini();
}
END_TEST

START_TEST(a_wide_picture_has_more_columns)
{
	stage_init(1);
	draw(80, 24, true);
	ck_assert_int_eq(row_with("Stall p99"), -1);
	draw(140, 50, true);
	ck_assert_int_ge(row_with("Stall p99"), 0);
	ck_assert_int_ge(row_with("Waiting"), 0);
	/* The curve is ten rows high there. */
	ck_assert_str_eq(cells[3][138], "\u2588");
	ck_assert_str_eq(cells[12][138], "\u2588");
	stage_fini();
}
END_TEST

static const struct {
	unsigned columns, rows;
} small[] = { { 79, 24 }, { 80, 23 }, { 20, 2 }, { 3, 1 }, { 1, 1 } };

START_TEST(a_small_terminal_is_told_what_it_takes)
{
	char want[64];

	stage_init(3);
	stage.scene.messages = "mlgen: note: one\n";
	draw(small[_i].columns, small[_i].rows, true);
	snprintf(want, sizeof(want), "%ux%u: the live view needs 80x24", small[_i].columns,
		 small[_i].rows);
	ck_assert_int_eq(strncmp(row_text(0), want, strlen(row_text(0))), 0);
	if (small[_i].columns > 40)
		ck_assert_int_eq(row_with("q stops it"), 1);
	stage_fini();
}
END_TEST

START_TEST(errors_a_hanging_call_and_messages_are_seen)
{
	stage_init(2);
	stage.jobs[0].errors = 3;
	stage.jobs[1].oldest = (struct io_outstanding){ .op = MLGEN_READ,
							.start_ns = 998 * SEC,
							.path = "/data/f17" };
	stage.scene.messages = "first\ntwo\nthree\nmlgen: warning: four\n";
	draw(80, 24, true);
	ck_assert_int_eq(row_with("3 errors"), 15);
	ck_assert_int_eq(row_with("read for 12 s: /data/f17"), 16);
	ck_assert_int_eq(row_with("mlgen: warning: four"), 23);
	ck_assert_int_eq(row_with("two"), 21);
	ck_assert_int_eq(row_with("first"), -1);
	stage_fini();
}
END_TEST

START_TEST(a_run_that_ends_says_so)
{
	stage_init(1);
	stage.scene.is_ending = true;
	draw(80, 24, true);
	ck_assert_int_eq(row_with("stopping, report follows"), 0);
	stage_fini();
}
END_TEST

START_TEST(a_plain_job_has_no_accelerators)
{
	stage_init(1);
	stage.all.phase = stage.then.phase = LIVE_IO;
	stage.all.work = stage.then.work = LIVE_IO;
	draw(80, 24, true);
	ck_assert_int_eq(row_with("Accelerators"), -1);
	ck_assert_ptr_null(strstr(row_text(7), " AU "));
	ck_assert_int_ge(row_with("Read threads"), 0);
	stage_fini();
}
END_TEST

START_TEST(curves_know_the_newest_alone)
{
	struct view_series s = { .count = 0 };

	ck_assert(isnan(view_series_max(&s, 10)));
	for (unsigned i = 0; i < VIEW_SERIES + 10; i++)
		view_series_add(&s, i);
	ck_assert_double_eq(view_series_max(&s, 5), VIEW_SERIES + 9);
	ck_assert_double_eq(view_series_mean(&s, 3), VIEW_SERIES + 8);
	ck_assert_uint_eq(s.count, VIEW_SERIES);
}
END_TEST

Suite *suite_view(void)
{
	Suite *s = suite_create("view");
	TCase *t = tcase_create("view");

	tcase_add_test(t, a_training_has_its_panels);
	tcase_add_test(t, without_utf8_all_is_ascii);
	tcase_add_test(t, odd_names_stay_in_their_column);
	tcase_add_test(t, more_jobs_than_rows_are_counted_and_busy_ones_shown);
	tcase_add_test(t, a_wide_picture_has_more_columns);
	tcase_add_loop_test(t, a_small_terminal_is_told_what_it_takes, 0, (int)ARRAY_LEN(small));
	tcase_add_test(t, errors_a_hanging_call_and_messages_are_seen);
	tcase_add_test(t, a_run_that_ends_says_so);
	tcase_add_test(t, a_plain_job_has_no_accelerators);
	tcase_add_test(t, curves_know_the_newest_alone);
	suite_add_tcase(s, t);
	return s;
}
