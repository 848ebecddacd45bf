/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv.c - rows of the log: intervals, empty cells, failed writes. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/csv.h"
#include "suites.h"

#define SEC UINT64_C(1000000000)
#define CELLS 48

/* A log in a file of its own, read back line by line. */
struct log {
	char path[64];
	struct csv *csv;
	char text[8192];
};

static int open_csv(struct csv **out, const char *path, struct mlgen_err *err)
{
	struct place p;
	int rc = place_open(&p, "log", path, err);

	*out = NULL;
	return rc ? rc : csv_open(out, &p, err);
}

static void log_open(struct log *l)
{
	struct mlgen_err err = { 0 };

	snprintf(l->path, sizeof(l->path), "/tmp/mlgen-csv-XXXXXX");
	int fd = mkstemp(l->path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(open_csv(&l->csv, l->path, &err), 0);
}

static void log_read(struct log *l)
{
	FILE *from = fopen(l->path, "r");

	ck_assert_ptr_nonnull(from);
	size_t n = fread(l->text, 1, sizeof(l->text) - 1, from);
	l->text[n] = '\0';
	fclose(from);
	unlink(l->path);
}

/* The cells of line `number`, from 0; cuts the text up. */
static unsigned cells_of(struct log *l, unsigned number, char *cells[CELLS])
{
	char *line = l->text;
	unsigned n = 0;

	while (number-- > 0)
		line = strchr(line, '\n') + 1;
	*strchr(line, '\n') = '\0';
	while (line && n < CELLS)
		cells[n++] = strsep(&line, ",");
	return n;
}

static unsigned column(const char *name)
{
	const struct live_field *f = live_fields;
	unsigned i = 0;

	for (; f->field.name && strcmp(f->field.name, name); f++)
		i += live_is_column(f);
	ck_assert_ptr_nonnull(f->field.name);
	return i;
}

/* One row, and the cells of it. */
static void one_row(struct log *l, const struct live *now,
		    const struct live *before, char *cells[CELLS])
{
	unsigned columns = 0;

	log_open(l);
	csv_row(l->csv, now, before);
	ck_assert_int_eq(csv_close(l->csv), 0);
	log_read(l);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		columns += live_is_column(f);
	ck_assert_uint_eq(cells_of(l, 1, cells), columns);
}

static struct live train(uint64_t seconds)
{
	return (struct live){ .job_name = "unet3d",
			      .phase = LIVE_TRAIN,
			      .now_ns = seconds * SEC,
			      .epoch = 1,
			      .epochs = 5,
			      .step = 1,
			      .steps = 500 };
}

START_TEST(the_header_names_every_column)
{
	static const char header[] =
		"time,seconds,job,phase,epoch,step,samples,"
		"sample_bytes,io_bytes,au_percent,stall_percent,"
		"cpu_percent,resident_bytes,page_cache_bytes,"
		"read_ios,write_ios,read_bytes,write_bytes,"
		"checkpoint,checkpoint_bytes,errors,hit_percent,"
		"read_p50_ns,read_p99_ns,read_max_ns,"
		"write_p50_ns,write_p99_ns,write_max_ns,"
		"sample_p50_ns,sample_p99_ns,sample_max_ns,"
		"stall_p50_ns,stall_p99_ns,stall_max_ns,"
		"switches_per_sec,received_bytes_per_sec,sent_bytes_per_sec\n";
	struct live before = train(10), now = train(11);
	struct log l;

	log_open(&l);
	csv_row(l.csv, &now, &before);
	ck_assert_int_eq(csv_close(l.csv), 0);
	log_read(&l);
	ck_assert_int_eq(strncmp(l.text, header, strlen(header)), 0);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f))
			ck_assert_int_eq(
				f->field.help[strlen(f->field.help) - 1], '.');
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
		ck_assert_str_eq(cells[column(expected[i].name)],
				 expected[i].cell);
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

static struct live plain(uint64_t seconds, enum live_phase phase)
{
	return (struct live){ .job_name = "rr",
			      .phase = phase,
			      .is_io = true,
			      .now_ns = seconds * SEC,
			      .io_ios = { 1000 * seconds, 10 * seconds },
			      .io_moved = { 4096000 * seconds,
					    81920 * seconds } };
}

START_TEST(a_row_of_a_plain_job_holds_both_directions)
{
	static const struct {
		const char *name, *cell;
	} expected[] = {
		{ "job", "rr" },
		{ "phase", "io" },
		{ "epoch", "" },
		{ "samples", "" },
		{ "io_bytes", "" },
		{ "au_percent", "" },
		{ "read_ios", "2000" },
		{ "write_ios", "20" },
		{ "read_bytes", "8192000" },
		{ "write_bytes", "163840" },
	};
	struct live before = plain(10, LIVE_IO), now = plain(12, LIVE_IO);
	struct log l;
	char *cells[CELLS];

	one_row(&l, &now, &before, cells);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++)
		ck_assert_str_eq(cells[column(expected[i].name)],
				 expected[i].cell);
}
END_TEST

START_TEST(latencies_are_those_that_the_interval_added)
{
	struct live before = plain(10, LIVE_IO), now = plain(11, LIVE_IO);
	struct log l;
	char *cells[CELLS];

	live_hists_new(&before);
	live_hists_new(&now);
	for (unsigned i = 0; i < 500; i++)
		hist_add(before.lat[MLGEN_READ], 70);
	live_copy(&now, &before);
	now.now_ns = 11 * SEC;
	for (unsigned i = 0; i < 100; i++)
		hist_add(now.lat[MLGEN_READ], i < 98 ? 80 : 90);
	hist_add(now.lat[MLGEN_WRITE], 255);
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("read_p50_ns")], "80");
	ck_assert_str_eq(cells[column("read_p99_ns")], "90");
	ck_assert_str_eq(cells[column("read_max_ns")], "90");
	ck_assert_str_eq(cells[column("write_max_ns")], "255");
	ck_assert_str_eq(cells[column("stall_p50_ns")], "");
	live_hists_free(&before);
	live_hists_free(&now);
}
END_TEST

START_TEST(a_row_of_a_save_holds_what_was_written)
{
	struct live before = { .job_name = "save",
			       .phase = LIVE_CHECKPOINT,
			       .now_ns = 10 * SEC,
			       .checkpoint = 2,
			       .checkpoints = 10,
			       .checkpoint_bytes = 1000,
			       .checkpoint_done = 900,
			       .checkpoint_moved = 1900,
			       .is_checkpointing = true };
	struct live now = before;
	struct log l;
	char *cells[CELLS];

	/* The end of the second, and the begin of the third. */
	now.now_ns = 11 * SEC;
	now.checkpoint = 3;
	now.checkpoint_done = 250;
	now.checkpoint_moved = 2250;
	now.io_ios[1] = 3;
	now.io_moved[1] = 350;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "checkpoint");
	ck_assert_str_eq(cells[column("checkpoint")], "3");
	ck_assert_str_eq(cells[column("checkpoint_bytes")], "350");
	ck_assert_str_eq(cells[column("samples")], "");
	ck_assert_str_eq(cells[column("write_ios")], "3");
	ck_assert_str_eq(cells[column("write_bytes")], "350");
}
END_TEST

START_TEST(a_training_has_checkpoints_while_one_is_under_way)
{
	struct live before = train(10), now = train(11);
	struct log l;
	char *cells[CELLS];

	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("checkpoint")], "");
	ck_assert_str_eq(cells[column("checkpoint_bytes")], "");
	now.checkpoint = 1;
	now.checkpoint_bytes = 1000;
	now.checkpoint_done = 70;
	now.checkpoint_moved = 70;
	now.is_checkpointing = true;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "train");
	ck_assert_str_eq(cells[column("checkpoint")], "1");
	ck_assert_str_eq(cells[column("checkpoint_bytes")], "70");
}
END_TEST

START_TEST(a_plain_job_shorter_than_an_interval_is_in_it)
{
	struct live before = plain(0, LIVE_WAIT), now = plain(1, LIVE_DONE);
	struct log l;
	char *cells[CELLS];

	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("phase")], "done");
	ck_assert_str_eq(cells[column("read_ios")], "1000");
}
END_TEST

START_TEST(its_layout_is_a_preparation)
{
	struct live before = plain(0, LIVE_PREPARE),
		    now = plain(1, LIVE_PREPARE);
	struct log l;
	char *cells[CELLS];

	now.bytes_done = 4096;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("io_bytes")], "4096");
	ck_assert_str_eq(cells[column("read_ios")], "");
}
END_TEST

/* The last step of an epoch may be in the interval that ends while files are
 * dropped for the next one: rows have to add up to the run. */
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
	static const char *const zero[] = { "samples", "sample_bytes",
					    "io_bytes" };
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
	static const char *const empty[] = { "epoch",      "step",
					     "samples",    "sample_bytes",
					     "au_percent", "stall_percent" };
	struct live before = { .job_name = "u",
			       .phase = LIVE_PREPARE,
			       .now_ns = SEC,
			       .bytes_done = 500 };
	struct live now = { .job_name = "u",
			    .phase = LIVE_PREPARE,
			    .now_ns = 3 * SEC,
			    .bytes_done = 1700 };
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
	csv_row(l.csv, &now, &before);
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
	csv_row(l.csv, &second, &first);
	csv_row(l.csv, &third, &second);
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
	csv_row(l.csv, &now, &before);
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
	csv_row(c, &now, &before);
	ck_assert_int_eq(csv_close(c), -ENOSPC);
}
END_TEST

START_TEST(a_log_that_cannot_be_created_names_its_path)
{
	struct mlgen_err err = { 0 };
	struct csv *c;

	ck_assert_int_eq(open_csv(&c, "/nonexistent/log.csv", &err), -ENOENT);
	ck_assert_str_eq(err.text,
			 "log=/nonexistent/log.csv: cannot be written: No such "
			 "file or directory");
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
	tcase_add_test(t, a_row_of_a_plain_job_holds_both_directions);
	tcase_add_test(t, a_plain_job_shorter_than_an_interval_is_in_it);
	tcase_add_test(t, latencies_are_those_that_the_interval_added);
	tcase_add_test(t, a_row_of_a_save_holds_what_was_written);
	tcase_add_test(t, a_training_has_checkpoints_while_one_is_under_way);
	tcase_add_test(t, its_layout_is_a_preparation);
	tcase_add_test(t, an_interval_without_progress_is_a_row_of_zeros);
	tcase_add_test(t, without_compute_the_au_cell_is_empty);
	tcase_add_test(t, a_row_of_preparation_leaves_training_empty);
	tcase_add_test(t,
		       the_row_in_which_a_training_ends_holds_its_last_samples);
	tcase_add_test(t, a_waiting_job_has_neither_bytes_nor_samples);
	tcase_add_test(t,
		       an_interval_that_ends_between_epochs_keeps_its_samples);
	tcase_add_test(t, a_name_with_comma_and_quote_stays_one_cell);
	tcase_add_test(t, seconds_count_from_the_first_look_for_all_jobs);
	tcase_add_test(t, rows_are_there_before_the_log_is_closed);
	tcase_add_test(t, a_full_disk_is_reported_at_the_end);
	tcase_add_test(t, a_log_that_cannot_be_created_names_its_path);
	suite_add_tcase(s, t);
	return s;
}
