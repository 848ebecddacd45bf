/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_io.c - what a dry run computes and prints for a plain job. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/engines.h"
#include "report/plan/plan.h"
#include "suites.h"
#include "temp.h"
#include "work/workloads.h"

#define MIB (1u << 20)

static char directory[TEMP_BYTES];
static struct job *job;
static struct host host;
static struct settings settings;

/* As a job file does: the default is not where files are looked for. */
static void set_directory(void)
{
	size_t row = 0;

	while (strcmp(job_fields[row].name, "directory") != 0)
		row++;
	mem_replace(&job->directory, directory);
	mem_replace(&job->origins[row].raw, directory);
}

/* Four workers read 8 MiB each at random, on a host of 100 MiB. */
static void set_up(void)
{
	temp_folder(directory);
	job = job_new("rr");
	job->phase = PHASE_IO;
	job->rw = RW_RANDREAD;
	job->bs = (struct u64_pair){ 4096, 4096 };
	job->size.bytes = 8 * MIB;
	job->numjobs = 4;
	job->loops = 1;
	set_directory();
	mem_replace(&job->ioengine, "psync");
	job_set_engine(job, engines_find("psync"));
	memset(&settings, 0, sizeof(settings));
	host = (struct host){ .memory_bytes = 100 * MIB, .open_files = 1024 };
}

static void tear_down(void)
{
	job_free(job);
	temp_remove(directory);
}

static void make(struct plan_report *p)
{
	struct mlgen_err err = { 0 };

	ck_assert_msg(plan_make(p, job, &host, &settings, &err) == 0, "%s", err.text);
}

static void expect_check(const struct plan_report *p, const char *name, enum plan_state state,
			 const char *words)
{
	const struct plan_check *c = plan_find_check(p, name);

	ck_assert_msg(c != NULL, "no check %s", name);
	ck_assert_msg(c->state == (int)state, "%s: %d %s", name, c->state, c->text ? c->text : "");
	if (words)
		ck_assert_msg(c->text && strstr(c->text, words), "%s: %s", name,
			      c->text ? c->text : "");
	ck_assert(state != PLAN_FAIL || p->blockers.count > 0);
}

/* The first worker's file, of so many bytes. */
static void make_file(off_t bytes)
{
	char path[TEMP_BELOW];

	snprintf(path, sizeof(path), "%s/rr.0.0", directory);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(ftruncate(fileno(f), bytes), 0);
	fclose(f);
}

START_TEST(figures_follow_from_the_job)
{
	struct plan_report p;

	make_file(8 * MIB);
	make(&p);
	ck_assert_uint_eq(p.io.files, 4);
	ck_assert_uint_eq(p.io.file_bytes, 32 * MIB);
	ck_assert_uint_eq(p.present_files, 1);
	ck_assert_uint_eq(p.present_bytes, 8 * MIB);
	ck_assert_uint_eq(p.write_files, 3);
	ck_assert_uint_eq(p.write_bytes, 24 * MIB);
	ck_assert_uint_eq(p.io.move_bytes, 32 * MIB);
	ck_assert_uint_eq(p.reads_in_flight, 4);
	ck_assert_uint_eq(p.io.buffer_bytes, 4 * 4096);
	ck_assert_double_eq_tol(p.dataset_memory_ratio, 0.32, 1e-9);
	ck_assert_str_eq(p.io.directory, directory);
	ck_assert_uint_eq(p.blockers.count, 0);
	expect_check(&p, "data", PLAN_OK, NULL);
	expect_check(&p, "space", PLAN_OK, NULL);
	expect_check(&p, "memory", PLAN_OK, NULL);
	expect_check(&p, "files", PLAN_OK, NULL);
	plan_fini(&p);
}
END_TEST

START_TEST(loops_and_time_change_what_is_moved)
{
	struct plan_report p;

	job->loops = 3;
	make(&p);
	ck_assert_uint_eq(p.io.move_bytes, 96 * MIB);
	/* The second loop finds in memory what the first has read. */
	expect_check(&p, "memory", PLAN_WARNING, "direct=1");
	plan_fini(&p);
	job->loops = 1;
	job->runtime_ns = 1000000000;
	job->time_based = true;
	make(&p);
	ck_assert(p.io.move_bytes == UINT64_MAX);
	plan_fini(&p);
	job->time_based = false;
	job->create_only = true;
	make(&p);
	ck_assert_uint_eq(p.io.move_bytes, 0);
	plan_fini(&p);
}
END_TEST

START_TEST(what_may_not_be_written_is_a_blocker)
{
	struct plan_report p;

	settings.readonly = true;
	make(&p);
	expect_check(&p, "data", PLAN_FAIL, "readonly");
	plan_fini(&p);
}
END_TEST

START_TEST(a_layout_that_has_no_room_is_a_blocker)
{
	struct plan_report p;

	job->size.bytes = (uint64_t)1 << 50;
	make(&p);
	expect_check(&p, "space", PLAN_FAIL, "of which half may be used");
	plan_fini(&p);
}
END_TEST

START_TEST(odd_sizes_do_not_go_with_o_direct)
{
	struct plan_report p;

	job->direct = true;
	job->bs.read = 1000;
	job->size.bytes = 1000000;
	make(&p);
	const struct plan_check *c = plan_find_check(&p, "direct");
	ck_assert_ptr_nonnull(c);
	/* A filesystem in memory refuses it altogether. */
	ck_assert_int_eq(c->state, PLAN_FAIL);
	plan_fini(&p);
}
END_TEST

START_TEST(too_few_open_files_are_a_blocker)
{
	struct plan_report p;

	host.open_files = 35;
	make(&p);
	expect_check(&p, "files", PLAN_FAIL, "numjobs");
	plan_fini(&p);
}
END_TEST

START_TEST(an_engine_without_files_needs_none)
{
	struct plan_report p;

	mem_replace(&job->ioengine, "null");
	job_set_engine(job, engines_find("null"));
	make(&p);
	ck_assert(!p.touches_files);
	ck_assert_uint_eq(p.write_files, 0);
	ck_assert_uint_eq(p.io.move_bytes, 32 * MIB);
	ck_assert_uint_eq(p.blockers.count, 0);
	plan_fini(&p);
}
END_TEST

START_TEST(the_page_says_it)
{
	struct plan_report p;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	char data[TEMP_BELOW];

	snprintf(data, sizeof(data), "\ndata      4 files in %s", temp_place());
	job->rate.read = MIB;
	make(&p);
	plan_text(to, &p);
	fclose(to);
	ck_assert_ptr_eq(text, strstr(text, "rr: dry run, nothing was read"));
	ck_assert_ptr_nonnull(strstr(text, "\npattern   randread, 4 KiB reads, 4 workers\n"));
	ck_assert_ptr_nonnull(strstr(text, data));
	ck_assert_ptr_nonnull(strstr(text, "present 0 files; to write 4 "));
	ck_assert_ptr_nonnull(strstr(text, "\nrun       32 MiB read\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nrate      reads 4 MiB/s\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nin flight 4 requests (4 workers, one each)\n"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		ck_assert_msg(strcspn(line, "\n") <= 80 ||
				      (line > text && strncmp(line - 1, data, strlen(data)) == 0),
			      "%s", line);
	free(text);
	plan_fini(&p);
}
END_TEST

Suite *suite_plan_io(void)
{
	Suite *s = suite_create("plan_io");
	TCase *t = tcase_create("plan_io");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, figures_follow_from_the_job);
	tcase_add_test(t, loops_and_time_change_what_is_moved);
	tcase_add_test(t, what_may_not_be_written_is_a_blocker);
	tcase_add_test(t, a_layout_that_has_no_room_is_a_blocker);
	tcase_add_test(t, odd_sizes_do_not_go_with_o_direct);
	tcase_add_test(t, too_few_open_files_are_a_blocker);
	tcase_add_test(t, an_engine_without_files_needs_none);
	tcase_add_test(t, the_page_says_it);
	suite_add_tcase(s, t);
	return s;
}
