/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - rows of the log: intervals, empty cells, failed writes. */
#include <errno.h>

#include "csv_rig.h"
#include "suites.h"

START_TEST(the_header_names_every_column)
{
	static const char header[] =
		"time,seconds,job,phase,epoch,step,samples,sample_bytes,io_bytes,au_percent,stall_"
		"percent,cpu_percent,resident_bytes,page_cache_bytes,read_ios,write_ios,read_bytes,"
		"write_bytes,checkpoint,checkpoint_bytes,errors,hit_percent,read_p50_ns,read_p99_"
		"ns,read_max_ns,write_p50_ns,write_p99_ns,write_max_ns,sample_p50_ns,sample_p99_ns,"
		"sample_max_ns,stall_p50_ns,stall_p99_ns,stall_max_ns,switches_per_sec,received_"
		"bytes_per_sec,sent_bytes_per_sec\n";
	struct live before = train(10), now = train(11);
	struct log l;

	log_open(&l);
	log_row(l.csv, &now, &before);
	ck_assert_int_eq(csv_close(l.csv), 0);
	log_read(&l);
	ck_assert_int_eq(strncmp(l.text, header, strlen(header)), 0);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f))
			ck_assert_int_eq(f->field.help[strlen(f->field.help) - 1], '.');
}
END_TEST

START_TEST(a_row_of_training_holds_what_the_interval_gained)
{
	static const struct {
		const char *name, *cell;
	} expected[] = {
		{ "seconds", "1.000" },     { "job", "unet3d" },
		{ "phase", "train" },       { "epoch", "2" },
		{ "step", "118" },          { "samples", "108" },
		{ "sample_bytes", "1080" }, { "io_bytes", "1100" },
		{ "au_percent", "63.00" },  { "stall_percent", "33.90" },
		{ "errors", "3" },
	};
	struct live before = train(10), now = train(11);
	struct log l;
	char *cells[CELLS];

	before.samples = 1000;
	before.errors = 4;
	before.sample_bytes = 10000;
	before.io_bytes = 10100;
	before.compute_ns = 7 * SEC;
	before.step_ns = 10 * SEC;
	before.stall_ns = 2 * SEC;
	now.epoch = 2;
	now.step = 118;
	now.samples = 1108;
	now.errors = 7;
	now.sample_bytes = 11080;
	now.io_bytes = 11200;
	now.compute_ns = before.compute_ns + 630000000;
	now.step_ns = 11 * SEC;
	now.stall_ns = before.stall_ns + 339000000;
	one_row(&l, &now, &before, cells);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		ck_assert_str_eq(cells[column(expected[i].name)], expected[i].cell);
	/* 2026-11-21T14:02:11.123Z */
	const char *when = cells[column("time")];
	ck_assert_uint_eq(strlen(when), 24);
	ck_assert_int_eq(when[4], '-');
	ck_assert_int_eq(when[10], 'T');
	ck_assert_int_eq(when[19], '.');
	ck_assert_int_eq(when[23], 'Z');
	if (access("/proc/stat", R_OK) != 0)
		return; /* empty cells */
	ck_assert_double_ge(strtod(cells[column("cpu_percent")], NULL), 0);
	ck_assert_double_le(strtod(cells[column("cpu_percent")], NULL), 100);
	ck_assert_double_gt(strtod(cells[column("resident_bytes")], NULL), 0);
}
END_TEST

/* The last step of an epoch may be in the interval that ends while files are dropped for the next
 * one: rows have to add up to the run. */
START_TEST(an_interval_that_ends_between_epochs_keeps_its_samples)
{
	struct live before = train(10), now = train(11);
	struct log l;
	char *cells[CELLS];

	before.samples = 1000;
	now.samples = 1160;
	now.phase = LIVE_DROP;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "drop");
	ck_assert_str_eq(cells[column("samples")], "160");
}
END_TEST

START_TEST(an_interval_without_progress_is_a_row_of_zeros)
{
	static const char *const zero[] = { "samples", "sample_bytes", "io_bytes" };
	struct live before = train(10), now = train(11);
	struct log l;
	char *cells[CELLS];

	before.samples = now.samples = 1000;
	before.compute_ns = now.compute_ns = 7 * SEC;
	before.step_ns = now.step_ns = 10 * SEC;
	one_row(&l, &now, &before, cells);
	for (size_t i = 0; i < sizeof(zero) / sizeof(*zero); i++)
		ck_assert_str_eq(cells[column(zero[i])], "0");
	ck_assert_str_eq(cells[column("au_percent")], "0.00");
	ck_assert_str_eq(cells[column("stall_percent")], "0.00");
}
END_TEST

START_TEST(without_compute_the_au_cell_is_empty)
{
	struct live before = train(10), now = train(11);
	struct log l;
	char *cells[CELLS];

	now.step_ns = now.stall_ns = SEC;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("au_percent")], "");
	ck_assert_str_eq(cells[column("stall_percent")], "100.00");
}
END_TEST

START_TEST(a_row_of_preparation_leaves_training_empty)
{
	static const char *const empty[] = { "epoch",        "step",       "samples",
					     "sample_bytes", "au_percent", "stall_percent" };
	struct live before = {
		.job_name = "u", .phase = LIVE_PREPARE, .now_ns = SEC, .bytes_done = 500
	};
	struct live now = {
		.job_name = "u", .phase = LIVE_PREPARE, .now_ns = 3 * SEC, .bytes_done = 1700
	};
	struct log l;
	char *cells[CELLS];

	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "prepare");
	ck_assert_str_eq(cells[column("seconds")], "2.000");
	ck_assert_str_eq(cells[column("io_bytes")], "1200");
	for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++)
		ck_assert_str_eq(cells[column(empty[i])], "");
}
END_TEST

START_TEST(the_row_in_which_a_training_ends_holds_its_last_samples)
{
	struct live before = train(1), now = train(2);
	struct log l;
	char *cells[CELLS];

	now.phase = LIVE_DONE;
	now.samples = 17;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "done");
	ck_assert_str_eq(cells[column("samples")], "17");
}
END_TEST

START_TEST(a_waiting_job_has_neither_bytes_nor_samples)
{
	struct live before = { .job_name = "u", .phase = LIVE_WAIT };
	struct live now = before;
	struct log l;
	char *cells[CELLS];

	now.now_ns = SEC;
	now.phase = LIVE_WAIT;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "wait");
	ck_assert_str_eq(cells[column("io_bytes")], "");
	ck_assert_str_eq(cells[column("samples")], "");
}
END_TEST

START_TEST(a_name_with_comma_and_quote_stays_one_cell)
{
	struct live before = train(1), now = train(2);
	struct log l;

	before.job_name = now.job_name = "a,\"b\"";
	log_open(&l);
	log_row(l.csv, &now, &before);
	ck_assert_int_eq(csv_close(l.csv), 0);
	log_read(&l);
	ck_assert_ptr_nonnull(strstr(l.text, ",1.000,\"a,\"\"b\"\"\",train,"));
}
END_TEST

START_TEST(seconds_count_from_the_first_look_for_all_jobs)
{
	struct live first = train(100), second = train(101), third = train(102);
	struct log l;
	char *cells[CELLS];

	log_open(&l);
	log_row(l.csv, &second, &first);
	log_row(l.csv, &third, &second);
	ck_assert_int_eq(csv_close(l.csv), 0);
	log_read(&l);
	cells_of(&l, 2, cells);
	ck_assert_str_eq(cells[column("seconds")], "2.000");
}
END_TEST

START_TEST(rows_are_there_before_the_log_is_closed)
{
	struct live before = train(1), now = train(2);
	struct log l;

	log_open(&l);
	log_row(l.csv, &now, &before);
	log_read(&l);
	ck_assert_ptr_nonnull(strstr(l.text, ",unet3d,train,"));
	ck_assert_int_eq(csv_close(l.csv), 0);
}
END_TEST

START_TEST(a_full_disk_is_reported_at_the_end)
{
	struct live before = train(1), now = train(2);
	struct mlgen_err err = { 0 };
	struct csv *c;

	if (access("/dev/full", W_OK) != 0)
		return;
	ck_assert_int_eq(open_csv(&c, "/dev/full", &err), 0);
	log_row(c, &now, &before);
	ck_assert_int_eq(csv_close(c), -ENOSPC);
}
END_TEST

START_TEST(a_log_that_cannot_be_created_names_its_path)
{
	struct mlgen_err err = { 0 };
	struct csv *c;

	ck_assert_int_eq(open_csv(&c, "/nonexistent/log.csv", &err), -ENOENT);
	ck_assert_str_eq(err.text,
			 "log=/nonexistent/log.csv: cannot be written: No such file or directory");
	ck_assert_ptr_null(c);
	ck_assert_int_eq(csv_close(c), 0);
}
END_TEST

Suite *suite_csv(void)
{
	Suite *s = suite_create("csv");
	TCase *t = tcase_create("csv");

	tcase_add_test(t, the_header_names_every_column);
	tcase_add_test(t, a_row_of_training_holds_what_the_interval_gained);
	tcase_add_test(t, an_interval_without_progress_is_a_row_of_zeros);
	tcase_add_test(t, without_compute_the_au_cell_is_empty);
	tcase_add_test(t, a_row_of_preparation_leaves_training_empty);
	tcase_add_test(t, the_row_in_which_a_training_ends_holds_its_last_samples);
	tcase_add_test(t, a_waiting_job_has_neither_bytes_nor_samples);
	tcase_add_test(t, an_interval_that_ends_between_epochs_keeps_its_samples);
	tcase_add_test(t, a_name_with_comma_and_quote_stays_one_cell);
	tcase_add_test(t, seconds_count_from_the_first_look_for_all_jobs);
	tcase_add_test(t, rows_are_there_before_the_log_is_closed);
	tcase_add_test(t, a_full_disk_is_reported_at_the_end);
	tcase_add_test(t, a_log_that_cannot_be_created_names_its_path);
	suite_add_tcase(s, t);
	return s;
}
