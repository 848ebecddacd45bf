/* SPDX-License-Identifier: Apache-2.0 */
/* test_status_draw.c - the status line: when it is drawn, how wide, and for whom. */
#include <check.h>
#include <string.h>
#include <sys/mman.h>

#include "report/live/live.h"
#include "status_rig.h"
#include "suites.h"

START_TEST(eta_decides_whether_a_line_is_drawn)
{
	static const struct {
		int eta;
		unsigned columns;
		bool draws;
	} rows[] = {
		{ ETA_AUTO, 80, true },  { ETA_AUTO, 0, false },   { ETA_ALWAYS, 80, true },
		{ ETA_ALWAYS, 0, true }, { ETA_NEVER, 80, false }, { ETA_NEVER, 0, false },
	};
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, rows[_i].eta, rows[_i].columns, 0);
	train(&l, stall, 1);
	status_update(s.status, &l, 1);
	ck_assert_int_eq(seen(&s)[0] != '\0', rows[_i].draws);
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(status_interval_prints_whole_lines_with_the_time)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();
	unsigned lines = 0;

	screen_init(&s, ETA_NEVER, 0, 30 * SEC);
	for (uint64_t second = 1; second <= 100; second++) {
		train(&l, stall, second);
		status_update(s.status, &l, 1);
		const char *line = seen(&s);
		if (!*line)
			continue;
		lines++;
		ck_assert_str_eq(line, "14:02:11  unet3d  epoch 2/5  14.9 GiB/s  AU 63.2%  stall "
				       "p99 610 ms  left 16m04s\n");
	}
	ck_assert_uint_eq(lines, 3);
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(a_signal_prints_one_line_per_job_at_once)
{
	struct screen s;
	struct live l[2];
	struct hist *a = hist_new(), *b = hist_new();

	screen_init(&s, ETA_NEVER, 0, 0);
	train(&l[0], a, 1);
	train(&l[1], b, 1);
	l[1].job_name = "resnet50";
	status_print(s.status, l, 2);
	ck_assert_str_eq(seen(&s), "14:02:11  unet3d  epoch 2/5  step 118/500  left 16m04s\n"
				   "14:02:11  resnet50  epoch 2/5  step 118/500  left 16m04s\n");
	screen_fini(&s);
	hist_free(a);
	hist_free(b);
}
END_TEST

START_TEST(several_jobs_share_the_drawn_line)
{
	static const char *const names[] = { "unet3d", "resnet50", "cosmoflow", "retinanet" };
	struct screen s;
	struct live l[4];
	struct hist *stall[4];

	screen_init(&s, ETA_AUTO, 80, 0);
	for (unsigned i = 0; i < 4; i++)
		stall[i] = hist_new();
	for (uint64_t second = 1; second < 4; second++) {
		for (unsigned i = 0; i < 4; i++) {
			train(&l[i], stall[i], second);
			l[i].job_name = names[i];
		}
		seen(&s);
		status_update(s.status, l, 2);
	}
	ck_assert_str_eq(seen(&s),
			 CLEAR "unet3d 14.9 GiB/s AU 63.2% | resnet50 14.9 GiB/s AU 63.2%");
	status_update(s.status, l, 4);
	ck_assert_str_eq(seen(&s), CLEAR
			 "unet3d 14.9 GiB/s AU 63.2% | resnet50 14.9 GiB/s AU 63.2%  +2 more");
	screen_fini(&s);
	for (unsigned i = 0; i < 4; i++)
		hist_free(stall[i]);
}
END_TEST

START_TEST(jobs_that_wait_or_are_done_give_way_to_the_one_that_works)
{
	struct screen s;
	struct live l[3];
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	for (unsigned i = 0; i < 3; i++)
		l[i] = (struct live){ .job_name = "other",
				      .phase = i ? LIVE_WAIT : LIVE_DONE,
				      .now_ns = SEC };
	train(&l[1], stall, 1);
	status_update(s.status, l, 3);
	ck_assert_str_eq(seen(&s), CLEAR "unet3d  epoch 2/5  step 118/500  left 16m04s");
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

/* Whatever the names and numbers, a line never wraps. */
START_TEST(no_line_is_wider_than_the_screen)
{
	static const unsigned columns[] = { 80, 200, 40, 2 };
	static const char name[] = "a-job-with-a-name-that-is-by-itself-longer-than-a-line-of-"
				   "eighty-columns-and-then-some";
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();
	size_t most = columns[_i] < 80 ? columns[_i] - 1 : 79;

	screen_init(&s, ETA_AUTO, columns[_i], 0);
	for (uint64_t second = 1; second < 40; second++) {
		train(&l, stall, second);
		l.epoch = second * 1000003;
		l.epochs = l.steps = UINT64_MAX;
		l.step = UINT64_C(1) << second;
		l.job_name = name + (second * 7) % (sizeof(name) - 1);
		if (second % 3 == 0) {
			l.oldest.start_ns = 1;
			l.oldest.op = MLGEN_OPEN;
			memset(l.oldest.path, 'x', 511);
		}
		status_update(s.status, &l, 1);
		const char *line = seen(&s);
		ck_assert_uint_le(strlen(line), most + strlen(CLEAR));
		status_print(s.status, &l, 1);
		line = seen(&s);
		if (!strncmp(line, CLEAR, strlen(CLEAR)))
			line += strlen(CLEAR);
		ck_assert_uint_le(strlen(line), 81); /* with its newline */
	}
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(names_cannot_move_the_cursor)
{
	struct screen s;
	struct live l = { .job_name = "a\033[2J\nb", .phase = LIVE_DONE, .now_ns = SEC };

	screen_init(&s, ETA_AUTO, 80, 0);
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR "a\\x1b[2J\\nb  done");
	screen_fini(&s);
}
END_TEST

Suite *suite_status_draw(void)
{
	Suite *s = suite_create("status_draw");
	TCase *t = tcase_create("status_draw");

	tcase_add_loop_test(t, eta_decides_whether_a_line_is_drawn, 0, 6);
	tcase_add_test(t, status_interval_prints_whole_lines_with_the_time);
	tcase_add_test(t, a_signal_prints_one_line_per_job_at_once);
	tcase_add_test(t, several_jobs_share_the_drawn_line);
	tcase_add_test(t, jobs_that_wait_or_are_done_give_way_to_the_one_that_works);
	tcase_add_loop_test(t, no_line_is_wider_than_the_screen, 0, 4);
	tcase_add_test(t, names_cannot_move_the_cursor);
	suite_add_tcase(s, t);
	return s;
}
