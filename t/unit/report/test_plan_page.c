/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_page.c - the page that a dry run prints. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "flowed.h"
#include "plan_report_rig.h"
#include "report/plan/plan.h"
#include "report/text/text.h"
#include "suites.h"

static char *text_of(const struct plan_report *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	plan_text(to, p);
	fclose(to);
	return text;
}

static struct plan_check checks[] = {
	{ NULL, PLAN_OK, NULL },   { NULL, PLAN_OK, NULL },      { NULL, PLAN_OK, NULL },
	{ NULL, PLAN_FAIL, NULL }, { NULL, PLAN_WARNING, NULL },
};

/* The figures of a large run, as nobody could measure them here. */
static void fill(struct plan_report *p)
{
	static char words[][32] = { "dataset", "space", "memory",   "files",
				    "steps",   "5 x",   "raise it", "more files" };

	for (size_t i = 0; i < 5; i++)
		checks[i].name = words[i];
	for (size_t i = 2; i < 5; i++)
		checks[i].text = words[i + 3];
	*p = (struct plan_report){
		.hosts = 1,
		.processes = 1,
		.accelerators = 8,
		.job = job,
		.dataset = { .format = &format_npz,
			     .directory = directory,
			     .files = 28000,
			     .files_named = 28000,
			     .samples_per_file = 1 },
		.totals = { .bytes = 4101171202949ull,
			    .mean_file_bytes = 146600628,
			    .stdev_file_bytes = 49040000 },
		.touches_files = true,
		.present_files = 12480,
		.write_files = 15520,
		.write_bytes = 2275981070336ull,
		.mount.target = "/mnt/array",
		.free_bytes = 20021501114122ull,
		.memory_bytes = 256ull << 30,
		.dataset_memory_ratio = 14.92,
		.steps_per_epoch = 500,
		.total_steps = 2500,
		.read_bytes = 20505856014745.0,
		.least_seconds = 807.5,
		.samples_per_sec_one = 21.6718,
		.bytes_per_sec_one = 3177103393.0,
		.demand_bytes_per_sec = 25416827144.0,
		.reads_in_flight = 32,
		.open_files = 64,
		.open_files_limit = 48,
		.calls_per_sample = { .open = 1, .read = 140.2, .close = 1 },
		.program_bytes = 9 * MIB - 1,
		.framework_bytes = 32838540672.0,
		.checks = { checks, 5 },
	};
	mem_replace(&job->accelerator, "h100");
	job->accelerators = 8;
	job->batch_size = 7;
	job->target_au = 90;
	job->bs.read = MIB;
}

/* clang-format off */
static const char large[] =
"train: dry run, nothing was read or written\n"
"\n"
"dataset   28,000 npz files x 1 sample                          3.73 TiB\n"
"          146.6 MB mean, 49.04 MB stdev\n"
"          present 12,480 files; to write 15,520                          2.07 TiB ok\n"
"          free in /mnt/array                                            18.21 TiB ok\n"
"          memory of this host 256 GiB; dataset / memory                 14.9 x    ok (5 x)\n"
"epoch     28,000 / (8 accelerators x batch 7) = 500 steps, 0 samples left over    WARNING\n"
"          more files\n"
"run       5 epochs = 2,500 steps, 18.65 TiB read, at least 13m28s (100% AU)\n"
"demand    one h100         21.67 samples/s     2.96 GiB/s\n"
"          8 x h100        173.4  samples/s    23.67 GiB/s\n"
"          8 x h100 at 90%                     21.30 GiB/s\n"
"in flight 32 reads (8 accelerators x 4 read_threads, one read each)\n"
"calls     per sample: open 1, read 140 (of up to 1 MiB), close 1\n"
"memory    9 MiB for mlgen (estimate)\n"
"          PyTorch would also hold 30.58 GiB of prefetched samples; hold_samples=1 holds\n"
"          them, too, which leaves less page cache\n"
"files     64 open at once; limit 48                                               FAIL\n"
"          raise it\n";
/* clang-format on */

START_TEST(the_page_is_aligned)
{
	struct plan_report p;

	fill(&p);
	char *text = text_of(&p);
	ck_assert_msg(is_flowed_same(text, large), "%s", text);
	free(text);
}
END_TEST

/* A folder's name is not broken: what TMPDIR is longer than /tmp is let pass. */
static void expect_narrow(char *text)
{
	size_t more = strlen(directory) - strlen("/tmp/mlgen-unit.XXXXXX");

	for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text))
		ck_assert_msg(strlen(line) <= 90 + (strstr(line, directory) ? more : 0), "%s",
			      line);
}

START_TEST(no_line_is_wider_than_90)
{
	struct plan_report p;

	job->num_files = 1000000000;
	job->direct = true;
	job->sample_size = (struct dist){ DIST_DLIO, 146600628, 68341808 };
	job->accelerators = 1024;
	job->read_threads = 1024;
	for (size_t i = 0; job_fields[i].name; i++)
		mem_replace(&job->origins[i].how, "command line");
	make(&p);
	char *text = text_of(&p);
	expect_narrow(text);
	free(text);
	plan_fini(&p);
}
END_TEST

static size_t row_of(const char *option)
{
	return (size_t)(field_find(job_fields, option) - job_fields);
}

START_TEST(what_was_set_is_named)
{
	struct plan_report p;
	struct diag_place at = { "jobs/a.job", 3 };

	mem_replace(&job->origins[row_of("num_files")].how, "command line");
	mem_replace(&job->origins[row_of("loader")].how, "command line");
	job->origins[row_of("batch_size")].at = at;
	job->origins[row_of("drop_last")].at = at; /* its default */
	make(&p);
	char *text = text_of(&p);
	ck_assert_ptr_nonnull(
		strstr(text, "\nnot default: num_files (command line); 1 option of jobs/a.job"));
	free(text);
	plan_fini(&p);
}
END_TEST

START_TEST(a_ratio_has_as_many_digits_as_say_something)
{
	static const struct {
		double ratio;
		const char *shown;
	} cases[] = {
		{ 0.994, " 0.99 x" },
		{ 0.996, " 1.0 x" },
		{ 999.4, " 999.4 x" },
		{ 999.6, " 1000 x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct plan_report p = { .dataset_memory_ratio = cases[i].ratio };
		char *text = NULL;
		size_t bytes = 0;
		FILE *to = open_memstream(&text, &bytes);

		ck_assert_ptr_nonnull(to);
		plan_print_ratio(to, &p, "dataset");
		ck_assert_int_eq(fclose(to), 0);
		ck_assert_msg(strstr(text, cases[i].shown) != NULL, "%s", text);
		free(text);
	}
}
END_TEST

Suite *suite_plan_page(void)
{
	Suite *s = suite_create("plan_page");
	TCase *t = tcase_create("plan_page");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, the_page_is_aligned);
	tcase_add_test(t, no_line_is_wider_than_90);
	tcase_add_test(t, what_was_set_is_named);
	tcase_add_test(t, a_ratio_has_as_many_digits_as_say_something);
	suite_add_tcase(s, t);
	return s;
}
