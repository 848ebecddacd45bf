/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_prepare.c - the report of files that were made. */
#include "suites.h"
#include "text_rig.h"

START_TEST(a_preparation_reports_what_it_wrote_and_kept)
{
	struct world *w = world_new();

	w->result.work = &work_prepare;
	w->result.prepare = (struct prepare_result){
		.files_written = 15520,
		.bytes_written = UINT64_C(2276000000000),
		.files_kept = 12480,
		.wall_ns = UINT64_C(441000000000),
		.resident_percent = 0,
	};
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	ck_assert_str_eq(text,
			 "unet3d: 15,520 files, 2.07 TiB written in 7m21s, 4.81 GiB/s, 35.19 "
			 "files/s\n  in memory now   0.0%: each file was synced and dropped from "
			 "the page cache\n  12,480 complete files already existed and were kept\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_preparation_with_nothing_to_do_says_so)
{
	struct world *w = world_new();

	w->result.work = &work_prepare;
	w->result.prepare = (struct prepare_result){
		.files_kept = 28000,
		.wall_ns = 12 * MS,
		.resident_percent = NONE,
	};
	char *text = report_text(&w->run, DETAIL_USUAL);
	ck_assert_str_eq(
		text, "unet3d: nothing written, 28,000 files exist\n  in memory now   unknown\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_preparation_cut_short_says_how_it_goes_on)
{
	struct world *w = world_new();

	w->result.work = &work_prepare;
	w->result.prepare = (struct prepare_result){
		.files_written = 1,
		.bytes_written = 3 << 20,
		.wall_ns = 1500 * MS,
		.resident_percent = 0,
		.interrupted = true,
	};
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_has(text, "unet3d: 1 file, 3 MiB written in 1.50 s, 2.00 MiB/s, 0.667 files/s "
			"(interrupted)\n");
	check_has(text,
		  "\n  the dataset is incomplete; the next run continues where this run ended\n");
	free(text);
	world_free(w);
}
END_TEST

Suite *suite_text_prepare(void)
{
	Suite *s = suite_create("text_prepare");
	TCase *t = tcase_create("text_prepare");

	tcase_add_test(t, a_preparation_reports_what_it_wrote_and_kept);
	tcase_add_test(t, a_preparation_with_nothing_to_do_says_so);
	tcase_add_test(t, a_preparation_cut_short_says_how_it_goes_on);
	suite_add_tcase(s, t);
	return s;
}
