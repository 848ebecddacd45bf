/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_io_window.c - what of a plain job was not the storage, and over which time it was
 * measured. */
#include <check.h>
#include <stdio.h>

#include "null_engine.h"
#include "report_text.h"
#include "suites.h"
#include "text_io_rig.h"

/* ---- what is not the storage ---- */

START_TEST(reads_from_the_page_cache_are_no_storage)
{
	struct world *w = world_new();

	w->job->direct = false;
	w->results[0].storage.memory_percent = 98.2;
	check_line(&w->run, "rr: read 203k IOPS, 792 MiB/s      MEMORY, NOT STORAGE");
	check_line(&w->run, "  NOT A STORAGE RESULT   98.2% of the bytes read came from this "
			    "host's page cache");
	check_line(&w->run, "  because         the files (2 GiB) fit into memory (256 GiB)");
	world_free(w);
}
END_TEST

START_TEST(with_o_direct_a_counter_that_saw_less_decides_nothing)
{
	struct world *w = world_new();

	w->results[0].storage.memory_percent = 98.2;
	check_report_lacks(&w->run, "NOT STORAGE");
	world_free(w);
}
END_TEST

/* ---- over which time it was measured ---- */

/* Of 2.586 s in which requests were made. */
static const struct {
	const char *from;
	double seconds;
	unsigned members;
	bool writes, is_null;
	const char *line; /* NULL = none */
} windows[] = {
	{ "start", 2.59, 1, false, false, NULL },
	{ NULL, NONE, 1, false, false, NULL },
	{ NULL, NONE, 2, false, false, NULL },
	{ "ramp_time", 2.59, 1, false, false,
	  "from memory, host: 2.59 s, end of ramp_time to end of job" },
	{ "start", 2.59, 2, false, false,
	  "from memory, host: 2.59 s, first start to last end of 2 jobs" },
	{ "ramp_time", 2.59, 3, false, false,
	  "from memory, host: 2.59 s, first end of ramp_time to last end of 3 jobs" },
	/* only so much longer that nobody would see it */
	{ "start", 3.5, 1, false, false, NULL },
	{ "start", 3.6, 1, false, false,
	  "from memory, host: 3.60 s, start to end of job; rates over 2.59 s of it" },
	/* where there is no line of what came from memory */
	{ "ramp_time", 2.59, 1, true, false, "host: 2.59 s, end of ramp_time to end of job" },
	{ "ramp_time", 2.59, 1, false, true, "host: 2.59 s, end of ramp_time to end of job" },
};

START_TEST(a_window_is_named_where_it_is_not_simply_the_job)
{
	struct world *w = world_new();
	struct job_result *r = &w->results[0];
	char line[160];

	r->window = (struct window_result){ windows[_i].from, 0, windows[_i].seconds };
	r->members = windows[_i].members;
	if (windows[_i].writes) {
		r->write = r->read;
		r->read = (struct direction_result){ 0 };
		r->ops.write = r->ops.read;
		r->ops.read = (struct op_result){ 0 };
	}
	if (windows[_i].is_null)
		w->job->engine = &null_engine;
	snprintf(line, sizeof(line), "window             %s",
		 windows[_i].line ? windows[_i].line : "");
	if (windows[_i].line)
		check_line(&w->run, line);
	else
		check_report_lacks(&w->run, "window ");
	world_free(w);
}
END_TEST

START_TEST(a_share_of_what_others_read_too_is_no_share_of_the_job)
{
	struct world *w = world_new();
	struct storage_result *s = &w->results[0].storage;

	s->jobs_read_bytes = 2 * GIB + 1048576; /* what was under way */
	check_line(&w->run, "from memory        0.2% of the bytes read (device counters);");
	s->jobs_read_bytes = 7 * GIB;
	check_line(&w->run,
		   "from memory        0.2% of the 7 GiB that mlgen read there (device counters);");
	world_free(w);
}
END_TEST

START_TEST(a_full_host_is_said_and_nothing_else_is)
{
	struct world *w = world_new();

	check_report_lacks(&w->run, "because");
	w->results[0].host.cpu_percent = 97;
	check_line(&w->run, "  HOST-BOUND      CPU 97.0% busy (64 CPUs): this host may be the "
			    "limit, not storage");
	world_free(w);
}
END_TEST

START_TEST(writes_that_nothing_waited_for_are_said)
{
	struct world *w = world_new();
	struct job_result *r = &w->results[0];

	w->job->rw = RW_WRITE;
	w->job->direct = false;
	r->write = r->read;
	r->ops.write = r->ops.read;
	r->read = (struct direction_result){ 0 };
	r->ops.read = (struct op_result){ 0 };
	check_line(&w->run, "writes             went to the page cache: no call waited until the "
			    "bytes were on storage (direct,");
	check_report_lacks(&w->run, "from memory");
	r->sync.total = 1;
	check_report_lacks(&w->run, "went to the page cache");
	world_free(w);
}
END_TEST

/* Operations of a chain are counted, and their latencies are not known. */
START_TEST(latencies_of_a_part_are_not_those_of_all)
{
	struct world *w = world_new();

	w->results[0].read.total_ios++;
	check_line(&w->run, "read              524,289        -        -        -        -        "
			    "-        -        -");
	world_free(w);
}
END_TEST

START_TEST(what_the_disks_did_stands_once_below_all_jobs)
{
	struct world *w = world_new();

	w->disk = (struct disk_util){
		.name = "nvme1n1", .read_ios = 524288, .read_sectors = 4194304, .util = 98.2
	};
	w->run.disks = &w->disk;
	w->run.disk_count = 1;
	w->disk.queue_depth = 3.5;
	check_line(&w->run, "disk      nvme1n1: 98.2% busy, 3.500 in its queue (mean), 524,288 "
			    "reads (2 GiB), 0 writes (0 B),");
	world_free(w);
}
END_TEST

Suite *suite_text_io_window(void)
{
	Suite *s = suite_create("text_io_window");
	TCase *t = tcase_create("text_io_window");

	tcase_add_test(t, reads_from_the_page_cache_are_no_storage);
	tcase_add_test(t, with_o_direct_a_counter_that_saw_less_decides_nothing);
	tcase_add_loop_test(t, a_window_is_named_where_it_is_not_simply_the_job, 0,
			    sizeof(windows) / sizeof(*windows));
	tcase_add_test(t, a_share_of_what_others_read_too_is_no_share_of_the_job);
	tcase_add_test(t, a_full_host_is_said_and_nothing_else_is);
	tcase_add_test(t, writes_that_nothing_waited_for_are_said);
	tcase_add_test(t, latencies_of_a_part_are_not_those_of_all);
	tcase_add_test(t, what_the_disks_did_stands_once_below_all_jobs);
	suite_add_tcase(s, t);
	return s;
}
