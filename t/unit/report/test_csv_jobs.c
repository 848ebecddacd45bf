/* SPDX-License-Identifier: Apache-2.0 */
/* test_csv_jobs.c - rows of the log of plain jobs, of latencies, and of checkpoints. */
#include "csv_rig.h"
#include "suites.h"

static struct live plain(uint64_t seconds, enum live_phase phase)
{
	return (struct live){ .job_name = "rr",
			      .phase = phase,
			      .work = LIVE_IO,
			      .has_worked = true,
			      .now_ns = seconds * SEC,
			      .io_ios = { 1000 * seconds, 10 * seconds },
			      .io_moved = { 4096000 * seconds, 81920 * seconds } };
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
		ck_assert_str_eq(cells[column(expected[i].name)], expected[i].cell);
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
	struct live before = plain(0, LIVE_PREPARE), now = plain(1, LIVE_PREPARE);
	struct log l;
	char *cells[CELLS];

	now.bytes_done = 4096;
	one_row(&l, &now, &before, cells);
	ck_assert_str_eq(cells[column("io_bytes")], "4096");
	ck_assert_str_eq(cells[column("read_ios")], "");
}
END_TEST

Suite *suite_csv_jobs(void)
{
	Suite *s = suite_create("csv_jobs");
	TCase *t = tcase_create("csv_jobs");

	tcase_add_test(t, a_row_of_a_plain_job_holds_both_directions);
	tcase_add_test(t, latencies_are_those_that_the_interval_added);
	tcase_add_test(t, a_row_of_a_save_holds_what_was_written);
	tcase_add_test(t, a_training_has_checkpoints_while_one_is_under_way);
	tcase_add_test(t, a_plain_job_shorter_than_an_interval_is_in_it);
	tcase_add_test(t, its_layout_is_a_preparation);
	suite_add_tcase(s, t);
	return s;
}
