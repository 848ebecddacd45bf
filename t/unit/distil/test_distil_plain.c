/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_plain.c - what is of no training becomes plain jobs. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "tracing/distil/plain/plain.h"
#include "distil_rig.h"
#include "suites.h"

/* What the jobs are, as text without comments: "rw=read\nbs=4k\n". */
static char *found(struct distil_rig *g)
{
	struct mlgen_err err = { 0 };
	char *text = NULL, *line, *rest, *jobs;
	size_t bytes = 0;
	struct buf b = { 0 };
	FILE *to;

	distil_rig_read(g, CLASS_PLAIN);
	ck_assert_int_eq(distil_plain(&g->d, true, &err), 0);
	to = open_memstream(&text, &bytes);
	jobtext_write(g->d.to, to);
	fclose(to);
	for (rest = text; (line = strsep(&rest, "\n"));)
		if (*line && *line != '#')
			buf_addf(&b, "%s\n", line);
	free(text);
	jobs = mem_strdup(buf_str(&b));
	buf_fini(&b);
	return jobs;
}

static void is_in(const char *jobs, const char *line)
{
	ck_assert_msg(strstr(jobs, line) != NULL, "no \"%s\" in:\n%s", line, jobs);
}

static void is_not_in(const char *jobs, const char *line)
{
	ck_assert_msg(strstr(jobs, line) == NULL, "\"%s\" in:\n%s", line, jobs);
}

struct doing {
	uint16_t op;
	uint64_t bytes, count;
	bool is_random;
	uint64_t pause_ns; /* between calls, which take 5 ns */
	uint16_t flags;
};

/* From its front, or every block once by a permutation. */
static uint64_t run(struct distil_rig *g, const struct doing *w, uint32_t tid, const char *path,
		    uint64_t at)
{
	for (uint64_t i = 0; i < w->count; i++) {
		uint64_t block = w->is_random ? i * 37 % w->count : i;

		distil_rig_call(g, w->op, at, tid, path, block * w->bytes, w->bytes, w->flags);
		at += 5 + w->pause_ns;
	}
	return at;
}

START_TEST(a_thread_that_reads_from_the_front_is_rw_read)
{
	struct distil_rig g;

	distil_rig_open(&g);
	run(&g, &(struct doing){ .op = TRACE_READ, .bytes = 4096, .count = 100 }, 1, "/x/f.dat",
	    1000);
	char *jobs = found(&g);
	is_in(jobs, "[read]\n");
	is_in(jobs, "rw=read\nbs=4k\n");
	is_in(jobs, "filename=a.f.dat\nsize=400k\n");
	is_in(jobs, "direct=0\n");
	is_not_in(jobs, "io_size");
	is_not_in(jobs, "numjobs");
	is_not_in(jobs, "think");
	is_not_in(jobs, "stonewall");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(places_out_of_order_are_random)
{
	struct distil_rig g;

	distil_rig_open(&g);
	run(&g, &(struct doing){ .op = TRACE_WRITE, .bytes = 8192, .count = 64, .is_random = true },
	    1, "/x/f", 9);
	char *jobs = found(&g);
	is_in(jobs, "[write]\n");
	is_in(jobs, "rw=randwrite\nbs=8k\n");
	is_in(jobs, "size=512k\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(both_directions_at_a_time_are_a_mix)
{
	struct distil_rig g;
	uint64_t at = 1000, off[2] = { 0 };

	distil_rig_open(&g);
	for (unsigned i = 0; i < 100; i++, at += 5) {
		unsigned w = i % 10 >= 7;
		uint64_t bytes = w ? 65536 : 4096;

		distil_rig_call(&g, w ? TRACE_WRITE : TRACE_READ, at, 1, "/f", off[w], bytes, 0);
		off[w] += bytes;
	}
	char *jobs = found(&g);
	is_in(jobs, "[mixed]\n");
	is_in(jobs, "rw=rw\nrwmixread=70%\nbs=4k,64k\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(several_sizes_are_a_bssplit)
{
	struct distil_rig g;
	uint64_t at = 1000, off = 0;

	distil_rig_open(&g);
	for (unsigned i = 0; i < 100; i++, at += 5) {
		uint64_t bytes = i % 10 < 1 ? 4096 : i % 10 < 5 ? 32768 : 65536;

		distil_rig_call(&g, TRACE_READ, at, 1, "/f", off, bytes, 0);
		off += bytes;
	}
	char *jobs = found(&g);
	is_in(jobs, "bssplit=4k/10:32k/40:64k/50\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(threads_that_do_alike_are_one_job)
{
	struct distil_rig g;

	distil_rig_open(&g);
	for (uint32_t i = 0; i < 4; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/own.%u", i);
		run(&g,
		    &(struct doing){
			    .op = TRACE_READ, .bytes = 4096, .count = 100, .is_random = true },
		    1 + i, "/shared", 1000 + i);
		run(&g, &(struct doing){ .op = TRACE_WRITE, .bytes = 4096, .count = 100 }, 11 + i,
		    path, 1000000);
	}
	char *jobs = found(&g);
	is_in(jobs, "[read]\n");
	is_in(jobs, "filename=a.shared\nsize=400k\nnumjobs=4\n");
	is_in(jobs, "[write]\nstonewall\n");
	is_in(jobs, "rw=write\nbs=4k\nsize=400k\nnumjobs=4\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(what_comes_later_waits_or_starts_later)
{
	struct distil_rig g;
	struct doing slow = { TRACE_READ, 4096, 100, false, 1000000, 0 };

	distil_rig_open(&g);
	run(&g, &slow, 1, "/a", 1000);
	run(&g, &(struct doing){ .op = TRACE_WRITE, .bytes = 512, .count = 9 }, 2, "/b", 50001000);
	run(&g, &(struct doing){ .op = TRACE_WRITE, .bytes = 1024, .count = 9 }, 3, "/c",
	    500000000);
	char *jobs = found(&g);
	is_in(jobs, "startdelay=50ms\nrw=write\nbs=512\n");
	is_in(jobs, "[write-2]\nstonewall\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(pauses_are_a_rate_only_if_starts_are_even)
{
	struct doing even = { TRACE_READ, 65536, 200, false, 0, 0 };
	struct distil_rig g;
	uint64_t at = 1000;

	distil_rig_open(&g);
	/* Every 4 ms; what comes late is made up for. */
	for (uint64_t i = 0; i < even.count; i++)
		distil_rig_call(&g, TRACE_READ, at + 4000000 * i + i * 7919 % 1000 * 1000, 1,
				"/paced", 65536 * i, 65536, 0);
	/* 5 ms behind every 16. */
	at = UINT64_C(10000000000);
	for (uint64_t i = 0; i < 320; i++) {
		distil_rig_call(&g, TRACE_READ, at, 2, "/blocks", 4096 * i, 4096, 0);
		at += i % 16 == 15 ? 5000005 : 5;
	}
	/* As long as it takes, which is never the same. */
	at = UINT64_C(30000000000);
	for (uint64_t i = 0; i < 200; i++) {
		distil_rig_call(&g, TRACE_READ, at, 3, "/thinks", 8192 * i, 8192, 0);
		at += 5 + rng_u64(1, RNG_REQUEST, i) % 2000000;
	}
	char *jobs = found(&g);
	is_in(jobs, "rate=16000k\n");
	is_in(jobs, "thinktime=5ms\nthinktime_blocks=16\n");
	is_in(jobs, "filename=a.thinks\nsize=1600k\ndirect=0\nthinktime=");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(syncs_are_counted_by_writes)
{
	struct distil_rig g;
	uint64_t at = 1000;

	distil_rig_open(&g);
	for (uint64_t i = 0; i < 64; i++, at += 10) {
		distil_rig_call(&g, TRACE_WRITE, at, 1, "/log", 4096 * i, 4096, 0);
		if (i % 8 == 7)
			distil_rig_call(&g, TRACE_FDATASYNC, at + 5, 1, "/log", TRACE_UNKNOWN, 0,
					0);
	}
	distil_rig_call(&g, TRACE_FSYNC, at, 1, "/log", TRACE_UNKNOWN, 0, 0);
	char *jobs = found(&g);
	is_in(jobs, "end_fsync=1\nfdatasync=8\n");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(requests_that_overlap_are_an_iodepth)
{
	struct distil_rig g;

	distil_rig_open(&g);
	distil_rig_call(&g, TRACE_OPEN, 1, 1, "/f", TRACE_UNKNOWN, O_RDONLY | O_DIRECT, 0);
	for (uint64_t i = 0; i < 64; i++)
		distil_rig_record(&g,
				  (struct trace_record){ .op = TRACE_READ,
							 .start_ns = 1000 + 100 * i,
							 .duration_ns = 790,
							 .tid = 1,
							 .off = i * 37 % 64 * 4096,
							 .len_bytes = 4096,
							 .result = 4096,
							 .flags = TRACE_ASYNC },
				  "/f");
	char *jobs = found(&g);
	is_in(jobs, "iodepth=8\nioengine=libaio\ndirect=1\n");
	is_not_in(jobs, "think");
	is_not_in(jobs, "rate=");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(page_faults_alone_are_ioengine_mmap)
{
	struct distil_rig g;

	distil_rig_open(&g);
	for (uint64_t i = 0; i < 64; i++)
		distil_rig_call(&g, TRACE_FAULT, 1000 + 10 * i, 1, "/f", 65536 * i, 4096, 0);
	char *jobs = found(&g);
	is_in(jobs, "rw=read\nioengine=mmap\nbs=64k\n");
	is_not_in(jobs, "io_size");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(names_and_sizes_alone_are_no_job)
{
	struct distil_rig g;

	distil_rig_open(&g);
	for (uint64_t i = 0; i < 64; i++)
		distil_rig_call(&g, TRACE_STAT, 1000 + 10 * i, 1, "/f", TRACE_UNKNOWN, 4096, 0);
	char *jobs = found(&g);
	ck_assert_str_eq(jobs, "");
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

START_TEST(of_many_patterns_eight_are_sections)
{
	struct distil_rig g;
	unsigned sections = 0;

	distil_rig_open(&g);
	for (unsigned i = 0; i < 20; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/f%u", i);
		run(&g,
		    &(struct doing){ i % 2 ? TRACE_READ : TRACE_WRITE, 512 * (i + 1), 50,
				     i % 3 == 0, 0, 0 },
		    1 + i, path, 1000);
	}
	char *jobs = found(&g);
	for (const char *p = jobs; (p = strchr(p, '[')); p++)
		sections++;
	ck_assert_uint_eq(sections, 8);
	mem_free(jobs);
	distil_rig_close(&g);
}
END_TEST

Suite *suite_distil_plain(void)
{
	Suite *s = suite_create("distil_plain");
	TCase *t = tcase_create("jobs");

	tcase_add_test(t, a_thread_that_reads_from_the_front_is_rw_read);
	tcase_add_test(t, places_out_of_order_are_random);
	tcase_add_test(t, both_directions_at_a_time_are_a_mix);
	tcase_add_test(t, several_sizes_are_a_bssplit);
	tcase_add_test(t, threads_that_do_alike_are_one_job);
	tcase_add_test(t, what_comes_later_waits_or_starts_later);
	tcase_add_test(t, pauses_are_a_rate_only_if_starts_are_even);
	tcase_add_test(t, syncs_are_counted_by_writes);
	tcase_add_test(t, requests_that_overlap_are_an_iodepth);
	tcase_add_test(t, page_faults_alone_are_ioengine_mmap);
	tcase_add_test(t, names_and_sizes_alone_are_no_job);
	tcase_add_test(t, of_many_patterns_eight_are_sections);
	suite_add_tcase(s, t);
	return s;
}
