/* SPDX-License-Identifier: Apache-2.0 */
/* test_status.c - the status line: what it shows of each kind of job. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "report/live/live.h"
#include "status_rig.h"
#include "suites.h"

static void run_seconds(struct screen *s, struct live *l, struct hist *stall, uint64_t from,
			uint64_t to)
{
	for (uint64_t second = from; second <= to; second++) {
		train(l, stall, second);
		seen(s);
		status_update(s->status, l, 1);
	}
}

START_TEST(training_shows_the_last_seconds_in_one_line)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	run_seconds(&s, &l, stall, 1, 15);
	ck_assert_str_eq(
		seen(&s), CLEAR
		"unet3d epoch 2/5 step 118/500 14.9 GiB/s AU 63.2% stall p99 610 ms left 16m04s");
	status_erase(s.status);
	ck_assert_str_eq(seen(&s), CLEAR);
	status_erase(s.status);
	ck_assert_str_eq(seen(&s), "");
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(errors_stand_beside_the_step)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_NEVER, 0, 0);
	train(&l, stall, 1);
	l.errors = 1;
	status_print(s.status, &l, 1);
	ck_assert_str_eq(seen(&s),
			 "14:02:11  unet3d  epoch 2/5  step 118/500  1 error  left 16m04s\n");
	l.errors = 1234;
	status_print(s.status, &l, 1);
	ck_assert_ptr_nonnull(strstr(seen(&s), " 1,234 errors "));
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

/* What was fast before does not hide that it is slow now. */
START_TEST(au_throughput_and_percentile_forget_after_ten_seconds)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	run_seconds(&s, &l, stall, 1, 20);
	for (unsigned i = 0; i < 10; i++) {
		l.now_ns += SEC;
		l.sample_bytes += GIB / 2;
		l.compute_ns += 100 * MS;
		l.step_ns += SEC;
		hist_add(stall, 1500 * MS);
		seen(&s);
		status_update(s.status, &l, 1);
	}
	const char *line = seen(&s);
	ck_assert_ptr_nonnull(strstr(line, " 512 MiB/s "));
	ck_assert_ptr_nonnull(strstr(line, " AU 10.0% "));
	ck_assert_ptr_nonnull(strstr(line, " stall p99 1497 ms "));
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(updates_more_often_than_once_a_second_look_back_as_far)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	run_seconds(&s, &l, stall, 1, 12);
	for (unsigned i = 0; i < 50; i++) {
		l.now_ns += SEC / 100;
		seen(&s);
		status_update(s.status, &l, 1);
	}
	/* 149 GiB of the ten seconds, in 10.5 s at most. */
	const char *line = seen(&s);
	ck_assert_msg(strstr(line, " 14.2 GiB/s ") != NULL || strstr(line, " 14.1 GiB/s ") != NULL,
		      "%s", line);
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

/* A second of a plain job: 203,000 reads of 4 KiB, 87 writes. */
static struct live plain(uint64_t second)
{
	return (struct live){
		.job_name = "rr",
		.phase = LIVE_IO,
		.work = LIVE_IO,
		.has_worked = true,
		.now_ns = (1000 + second) * SEC,
		.io_ios = { 203000 * second, 87 * second },
		.io_moved = { 203000 * 4096 * second, 87 * 4096 * second },
		.left_ns = (60 - second) * SEC,
	};
}

START_TEST(a_plain_job_shows_both_directions_and_its_time)
{
	struct screen s;

	screen_init(&s, ETA_AUTO, 80, 0);
	for (uint64_t second = 0; second <= 12; second++) {
		struct live l = plain(second);

		seen(&s);
		status_update(s.status, &l, 1);
	}
	ck_assert_str_eq(seen(&s),
			 CLEAR "rr  r=203k IOPS 793 MiB/s  w=87 IOPS 0.34 MiB/s  20%  left 48s");
	screen_fini(&s);
}
END_TEST

START_TEST(a_direction_that_does_nothing_is_left_out)
{
	struct screen s;

	screen_init(&s, ETA_AUTO, 80, 0);
	for (uint64_t second = 0; second <= 3; second++) {
		struct live l = plain(second);

		l.io_ios[1] = 0;
		l.left_ns = UINT64_MAX;
		seen(&s);
		status_update(s.status, &l, 1);
	}
	ck_assert_str_eq(seen(&s), CLEAR "rr  r=203k IOPS 793 MiB/s");
	screen_fini(&s);
}
END_TEST

START_TEST(a_plain_job_that_hangs_names_its_request)
{
	struct screen s;
	struct live l = plain(3);

	screen_init(&s, ETA_AUTO, 80, 0);
	l.oldest = (struct io_outstanding){ .start_ns = l.now_ns - 12 * SEC, .op = MLGEN_READ };
	snprintf(l.oldest.path, sizeof(l.oldest.path), "/mnt/array/rr.0.0");
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR "rr  read for 12 s: /mnt/array/rr.0.0");
	screen_fini(&s);
}
END_TEST

/* The third of ten, 41.2 of 104.7 GiB, at 8.7 GiB/s. */
static void save(struct live *l, uint64_t second)
{
	*l = (struct live){
		.job_name = "save",
		.phase = LIVE_CHECKPOINT,
		.now_ns = (1000 + second) * SEC,
		.checkpoint = 3,
		.checkpoints = 10,
		.checkpoint_bytes = 1047 * GIB / 10,
		.checkpoint_done = 412 * GIB / 10 - (5 - second) * 87 * GIB / 10,
		.left_ns = UINT64_MAX,
		.is_checkpointing = true,
	};
	l->checkpoint_moved = 2 * l->checkpoint_bytes + l->checkpoint_done;
}

START_TEST(a_save_shows_how_far_its_checkpoint_is)
{
	struct screen s;
	struct live l;

	screen_init(&s, ETA_AUTO, 80, 0);
	for (uint64_t second = 1; second < 5; second++) {
		save(&l, second);
		status_update(s.status, &l, 1);
	}
	seen(&s);
	save(&l, 5);
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s),
			 CLEAR "save  checkpoint 3/10  41.20 of 104.7 GiB  8.70 GiB/s  left 1m31s");
	l.left_ns = 72 * SEC; /* what knows of pauses is better */
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s),
			 CLEAR "save  checkpoint 3/10  41.20 of 104.7 GiB  8.70 GiB/s  left 1m12s");
	screen_fini(&s);
}
END_TEST

/* The next one begins with less: that is no rate below nothing. */
START_TEST(between_two_checkpoints_it_pauses)
{
	struct screen s;
	struct live l;

	screen_init(&s, ETA_AUTO, 80, 0);
	save(&l, 5);
	status_update(s.status, &l, 1);
	l.is_checkpointing = false;
	l.checkpoint_done = 0;
	l.now_ns += SEC;
	seen(&s);
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR "save  checkpoint 3/10  pause");
	screen_fini(&s);
}
END_TEST

START_TEST(a_training_shows_the_checkpoint_under_way)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_NEVER, 0, 0);
	train(&l, stall, 1);
	l.checkpoint = 4;
	l.checkpoint_bytes = 40 * GIB;
	l.checkpoint_done = 10 * GIB;
	l.is_checkpointing = true;
	status_print(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), "14:02:11  unet3d epoch 2/5 step 118/500 checkpoint 4 10.00 of "
				   "40 GiB left 16m04s\n");
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(its_layout_is_called_so)
{
	struct screen s;
	struct live l = plain(0);

	screen_init(&s, ETA_AUTO, 80, 0);
	l.phase = LIVE_PREPARE;
	l.files_total = 4;
	l.files_done = 1;
	l.bytes_total = 4 * GIB;
	l.bytes_done = GIB;
	l.left_ns = UINT64_MAX;
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR "layout   1/4 files  1.00 of 4 GiB");
	screen_fini(&s);
}
END_TEST

START_TEST(a_stall_in_progress_takes_the_place_of_the_throughput)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	run_seconds(&s, &l, stall, 1, 3);
	l.now_ns += SEC;
	l.waiting_ns = 2 * SEC;
	status_update(s.status, &l, 1);
	ck_assert_ptr_nonnull(strstr(seen(&s), "GiB/s"));
	l.now_ns += SEC;
	l.waiting_ns = 12 * SEC + 900 * MS;
	status_update(s.status, &l, 1);
	const char *line = seen(&s);
	ck_assert_ptr_nonnull(strstr(line, " waiting 12 s "));
	ck_assert_ptr_null(strstr(line, "GiB/s"));
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(an_operation_outstanding_for_ten_seconds_is_named)
{
	struct screen s;
	struct live l;
	struct hist *stall = hist_new();

	screen_init(&s, ETA_AUTO, 80, 0);
	run_seconds(&s, &l, stall, 1, 3);
	l.oldest = (struct io_outstanding){ .start_ns = l.now_ns - 9 * SEC, .op = MLGEN_READ };
	snprintf(l.oldest.path, sizeof(l.oldest.path),
		 "/mnt/array/unet3d/train/img_00117_of_28000.npz");
	l.waiting_ns = 9 * SEC;
	status_update(s.status, &l, 1);
	ck_assert_ptr_null(strstr(seen(&s), "img_00117"));
	l.now_ns += SEC;
	l.waiting_ns += SEC;
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR
			 "unet3d  epoch 2/5  read for 10 s: ...et3d/train/img_00117_of_28000.npz");
	screen_fini(&s);
	hist_free(stall);
}
END_TEST

START_TEST(preparation_shows_files_bytes_rate_and_time_left)
{
	struct screen s;
	struct live l = {
		.job_name = "unet3d",
		.phase = LIVE_PREPARE,
		.now_ns = SEC,
		.files_done = 12000,
		.files_total = 28000,
		.bytes_done = 1600 * GIB,
		.bytes_total = 3823 * GIB,
		.left_ns = UINT64_MAX,
	};

	screen_init(&s, ETA_AUTO, 80, 0);
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR "prepare   12,000/28,000 files  1.56 of 3.73 TiB");
	l.now_ns += SEC;
	l.files_done = 12480;
	l.bytes_done += 481 * GIB / 100;
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), CLEAR
			 "prepare   12,480/28,000 files  1.57 of 3.73 TiB  4.81 GiB/s  left 7m41s");
	screen_fini(&s);
}
END_TEST

START_TEST(jobs_that_do_not_read_yet_say_what_they_are_at)
{
	static const struct {
		enum live_phase phase;
		const char *expected;
	} rows[] = {
		{ LIVE_WAIT, CLEAR "unet3d  waiting to start" },
		{ LIVE_DROP, CLEAR "unet3d  dropping its files from the page cache" },
		{ LIVE_DONE, CLEAR "unet3d  done" },
	};
	struct screen s;
	struct live l = {
		.job_name = "unet3d", .phase = rows[_i].phase, .now_ns = SEC, .left_ns = UINT64_MAX
	};

	screen_init(&s, ETA_AUTO, 80, 0);
	status_update(s.status, &l, 1);
	ck_assert_str_eq(seen(&s), rows[_i].expected);
	screen_fini(&s);
}
END_TEST

Suite *suite_status(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("status");

	tcase_add_test(t, training_shows_the_last_seconds_in_one_line);
	tcase_add_test(t, errors_stand_beside_the_step);
	tcase_add_test(t, au_throughput_and_percentile_forget_after_ten_seconds);
	tcase_add_test(t, updates_more_often_than_once_a_second_look_back_as_far);
	tcase_add_test(t, a_plain_job_shows_both_directions_and_its_time);
	tcase_add_test(t, a_direction_that_does_nothing_is_left_out);
	tcase_add_test(t, a_plain_job_that_hangs_names_its_request);
	tcase_add_test(t, a_save_shows_how_far_its_checkpoint_is);
	tcase_add_test(t, between_two_checkpoints_it_pauses);
	tcase_add_test(t, a_training_shows_the_checkpoint_under_way);
	tcase_add_test(t, its_layout_is_called_so);
	tcase_add_test(t, a_stall_in_progress_takes_the_place_of_the_throughput);
	tcase_add_test(t, an_operation_outstanding_for_ten_seconds_is_named);
	tcase_add_test(t, preparation_shows_files_bytes_rate_and_time_left);
	tcase_add_loop_test(t, jobs_that_do_not_read_yet_say_what_they_are_at, 0, 3);
	suite_add_tcase(s, t);
	return s;
}
