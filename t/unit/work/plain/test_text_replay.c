/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_replay.c - what the report of a replay has beside a plain job's, from results filled by
 * hand. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "flowed.h"
#include "suites.h"
#include "work/replay/replay_internal.h"
#include "work/workloads.h"

#define NONE ((double)NAN)
#define MIB (UINT64_C(1) << 20)

static struct job *job;
static struct job_result result;
static struct run_result run;
static struct replay_slice slices[REPLAY_SLICES];
static struct hist *late;
static char *text;

/* 60 MiB in a minute were asked for, a slice each second, and done. */
static void set_up(void)
{
	job = job_new("again");
	job->phase = PHASE_REPLAY;
	mem_replace(&job->replay_trace, "t.mlt");
	mem_replace(&job->ioengine, "psync");
	job->replay_speed = 1;
	late = hist_new();
	for (unsigned i = 0; i < REPLAY_SLICES; i++)
		slices[i] = (struct replay_slice){ 1, MIB, 1, MIB };
	result = (struct job_result){
		.job = job,
		.work = &work_replay,
		.members = 1,
		.wall_seconds = 60,
		.elapsed_seconds = 60,
		.complete = true,
		.in_use = "",
		.iodepth_used = 1,
		.numa = { .device_node = UINT64_MAX, .far_percent = NONE },
		.storage = { .memory_percent = NONE, .source = "unknown" },
		.host = { .cpu_percent = 5 },
		.read = { .total_ios = 60, .io_bytes = 60 * MIB },
		.io = { .numjobs = 3, .files = 2, .file_bytes = 60 * MIB },
	};
	for (unsigned d = 0; d < 2; d++)
		result.io.rate[d] = (struct rate_result){ NONE, NONE, false };
	result.io.replay = (struct replay_result){
		.trace = job->replay_trace,
		.threads = 4,
		.asked_seconds = 60,
		.asked_operations = 70,
		.done_operations = 70,
		.asked_bytes = 60 * MIB,
		.done_bytes = 60 * MIB,
		.slice_seconds = 1,
		.slices = { slices, REPLAY_SLICES },
	};
	run = (struct run_result){ .jobs = &result, .job_count = 1 };
}

static void tear_down(void)
{
	free(text);
	text = NULL;
	hist_free(late);
	job_free(job);
}

static const char *report(void)
{
	size_t bytes;
	FILE *f;

	free(text);
	f = open_memstream(&text, &bytes);
	ck_assert_ptr_nonnull(f);
	replay_text(f, &run, &result, 1, DETAIL_USUAL);
	fclose(f);
	return text;
}

static void expect(const char *words)
{
	ck_assert_msg(has_flowed(report(), words), "no \"%s\" in\n%s", words, text);
}

static void expect_none(const char *words)
{
	ck_assert_msg(!has_flowed(report(), words), "\"%s\" in\n%s", words, text);
}

START_TEST(it_says_what_was_asked_and_done)
{
	expect("\n  replay          asked 70 operations, 60 MiB in 60.0 s; done 70 in 60.0 s\n");
	expect("\njob       replay of t.mlt: 4 threads in 3 workers, think times kept\n");
	result.io.replay.done_operations = 69;
	result.io.replay.done_bytes = 59 * MIB;
	expect("; done 69, 59 MiB in 60.0 s\n");
}
END_TEST

static const struct {
	int time, order;
	double speed;
	const char *words;
} hows[] = {
	{ REPLAY_THINK, REPLAY_BY_THREAD, 2, "workers, think times kept, twice as fast\n" },
	{ REPLAY_FIXED, REPLAY_BY_FILE, .5,
	  "workers, at its times, half as fast,\n"
	  "          in the order of each file\n" },
	{ REPLAY_FIXED, REPLAY_GLOBAL, 10,
	  "workers, at its times, 10 times as fast,\n"
	  "          in the order of all\n" },
	{ REPLAY_ASAP, REPLAY_BY_THREAD, 2, "workers, as fast as possible\n" },
};

START_TEST(it_says_how_time_and_order_are_kept)
{
	job->replay_time = hows[_i].time;
	job->replay_order = hows[_i].order;
	job->replay_speed = hows[_i].speed;
	expect(hows[_i].words);
}
END_TEST

/* Lines of the table, or 0. */
static unsigned count_rows(void)
{
	const char *at = strstr(report(), "\nfrom, s");
	unsigned n = 0;

	for (at = at ? strchr(at + 1, '\n') : NULL; at && at[1] != '\n'; at = strchr(at + 1, '\n'))
		n++;
	return n;
}

START_TEST(over_time_has_ten_lines_at_most)
{
	static const unsigned counts[][2] = { { 60, 10 }, { 1, 1 },   { 10, 10 }, { 11, 6 },
					      { 25, 9 },  { 59, 10 }, { 0, 0 } };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		result.io.replay.slices.count = counts[i][0];
		ck_assert_msg(count_rows() == counts[i][1], "%u\n%s", counts[i][0], text);
	}
}
END_TEST

/* Six slices of a second are a line; one has as much as six more. */
START_TEST(a_line_over_time_has_the_rate_of_its_slices)
{
	slices[5].done_bytes = 7 * MIB;
	expect("\n0.0                   1.00            2.00\n"
	       "6.0                   1.00            1.00\n");
	slices[6].done_bytes = 7 * MIB;
	expect("\n6.0                   1.00            2.00\n");
	/* What nobody asked for and nobody did is no line. */
	memset(slices + 30, 0, sizeof(slices) / 2);
	ck_assert_uint_eq(count_rows(), 10);
	expect("\n27.0 ");
	expect_none("\n30.0 ");
}
END_TEST

START_TEST(slices_that_were_not_alike_are_no_table)
{
	result.io.replay.slice_seconds = NONE;
	result.io.replay.slices.count = 0;
	expect_none("from, s");
}
END_TEST

START_TEST(what_was_special_is_told)
{
	struct replay_result *r = &result.io.replay;

	expect_none("waits ");
	expect_none("mapped ");
	expect_none("redirected ");
	expect_none("left out ");
	expect_none("late ");
	r->waits = 3;
	r->wait_seconds = 1.5;
	r->touches = 12;
	r->redirected = 1;
	snprintf(r->left_out, sizeof(r->left_out), "2 getdents, 1 advise");
	hist_add(late, 2000000);
	result.read.slat_ns = late;
	expect("\nwaits              3 waits for threads more than a second of the trace late,");
	expect("1.50 s in all");
	expect("\nmapped             12 pages of mappings touched in the trace, replayed as "
	       "reads\n");
	expect("\nredirected         1 operation would change files");
	expect("\nleft out           2 getdents, 1 advise\n");
	expect("\nlate               reads p50 2.000 ms");
	mem_replace(&job->ioengine, "mmap");
	expect("replayed as touches of mapped pages\n");
	result.read.slat_ns = NULL;
}
END_TEST

START_TEST(a_replay_that_moved_nothing_says_why_all_the_same)
{
	result.read = (struct direction_result){ 0 };
	snprintf(result.io.replay.left_out, sizeof(result.io.replay.left_out), "2 getdents");
	expect("no operation was finished");
	expect("left out           2 getdents\n");
}
END_TEST

Suite *suite_text_replay(void)
{
	Suite *s = suite_create("text_replay");
	TCase *t = tcase_create("text_replay");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, it_says_what_was_asked_and_done);
	tcase_add_loop_test(t, it_says_how_time_and_order_are_kept, 0,
			    (int)(sizeof(hows) / sizeof(hows[0])));
	tcase_add_test(t, over_time_has_ten_lines_at_most);
	tcase_add_test(t, a_line_over_time_has_the_rate_of_its_slices);
	tcase_add_test(t, slices_that_were_not_alike_are_no_table);
	tcase_add_test(t, what_was_special_is_told);
	tcase_add_test(t, a_replay_that_moved_nothing_says_why_all_the_same);
	suite_add_tcase(s, t);
	return s;
}
