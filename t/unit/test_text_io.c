/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_io.c - the report of plain jobs, to the column, from results filled by hand. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config.h"
#include "null_engine.h"
#include "report/show.h"
#include "report_text.h"
#include "suites.h"
#include "work/workloads.h"

#define NONE ((double)NAN)
#define GIB (UINT64_C(1) << 30)
#define RECORDS 64

/* A job and its records; the fixture of every test. */
struct world {
	struct job *job;
	struct job_result results[RECORDS];
	struct run_result run;
	struct disk_util disk;
};

/* n latencies from `least` to a hundred times that; most of them low. */
static struct hist *hist_of(uint64_t n, uint64_t least_ns)
{
	struct hist *h = hist_new();

	for (uint64_t i = 0; i < n; i++) {
		double part = (double)i / (double)n;

		hist_add(h, least_ns + (uint64_t)(99 * (double)least_ns * part *
						  part * part * part));
	}
	return h;
}

static void fill_storage(struct storage_result *s)
{
	*s = (struct storage_result){
		.directory = mem_strdup("/mnt/nvme/t"),
		.filesystem = mem_strdup("xfs"),
		.mount_source = mem_strdup("/dev/nvme1n1"),
		.mount_target = mem_strdup("/mnt/nvme"),
		.device = mem_strdup("nvme1n1"),
		.device_kind = mem_strdup("nvme"),
		.scheduler = mem_strdup("none"),
		.read_ahead_bytes = 131072,
		.device_paths = UINT64_MAX,
		.osts = UINT64_MAX,
		.device_read_bytes = 2 * GIB,
		.device_reads = 524288,
		.memory_percent = 0.2,
		.source = "device counters",
		.resident_before_percent = NONE,
		.cache_drops = 1,
	};
}

static void free_storage(struct storage_result *s)
{
	char *all[] = { s->directory,    s->filesystem, s->mount_source,
			s->mount_target, s->device,     s->device_kind,
			s->scheduler };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		mem_free(all[i]);
}

/* 524,288 reads of 4 KiB in 2.586 s, at depth 32. */
static void fill_record(struct world *w, struct job_result *r, uint64_t jobnum)
{
	*r = (struct job_result){ .job = w->job,
				  .work = &work_io,
				  .members = 1,
				  .elapsed_seconds = 4,
				  .usr_cpu_percent = 12.2,
				  .sys_cpu_percent = 40.1,
				  .ctx = 203112 };
	r->io = (struct io_result){
		.numjobs = 1,
		.jobnum = jobnum,
		.files = 1,
		.file_bytes = 2 * GIB,
		.rate = { { NONE, NONE, false }, { NONE, NONE, false } },
		.worker_percent = { .reap = 63.3, .cpu = 36.7 },
	};
	r->iodepth_used = 32;
	r->wall_seconds = 2.586;
	r->in_use = "registered files, fixed buffers";
	r->host = (struct host_result){ .cpu_percent = 21.5,
					.user_percent = 3.1,
					.system_percent = 10.1,
					.switches_per_sec = 50778 };
	r->numa = (struct numa_result){ .device_node = UINT64_MAX,
					.far_percent = NONE };
	r->complete = true;
	fill_storage(&r->storage);
	r->read.total_ios = 524288;
	r->read.io_bytes = 2 * GIB;
	r->read.lat_ns = r->ops.read.lat_ns = hist_of(524288, 41000);
	r->ops.read.total = 524288;
	sizes_add(&r->read.sizes, 4096, 524288);
}

static struct world *world_new(void)
{
	struct world *w = mem_zalloc(sizeof(*w));

	w->job = job_new("rr");
	w->job->phase = PHASE_IO;
	w->job->rw = RW_RANDREAD;
	w->job->bs = (struct u64_pair){ 4096, 4096 };
	w->job->numjobs = 1;
	w->job->iodepth = 32;
	w->job->direct = true;
	/* The line `host` has no version of a library then. */
	mem_replace(&w->job->ioengine, "uring_cmd");
	w->job->percentile_list =
		(struct f64_list){ 17,
				   { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90,
				     95, 99, 99.5, 99.9, 99.95, 99.99 } };
	fill_record(w, &w->results[0], 0);
	w->results[0].read_align_bytes = 512;
	w->run.jobs = w->results;
	w->run.job_count = 1;
	w->run.timestamp_ms = UINT64_C(1795269731000);
	w->run.host = (struct host){ .hostname = "client01",
				     .kernel = "Linux 6.8.0",
				     .cpus = 64,
				     .cpus_online = 64,
				     .memory_bytes = 256 * GIB };
	return w;
}

/* The same job with n records, each a little slower than the one before. */
static void add_workers(struct world *w, size_t n)
{
	w->job->numjobs = n;
	for (size_t i = 1; i < n; i++) {
		struct job_result *r = &w->results[i];

		fill_record(w, r, i);
		r->wall_seconds = 2.586 + (double)i / 10;
	}
	w->run.job_count = n;
}

static void free_direction(struct direction_result *d, struct op_result *op)
{
	if (d->lat_ns != op->lat_ns)
		hist_free(d->lat_ns);
	hist_free(op->lat_ns);
	hist_free(d->slat_ns);
	hist_free(d->total_ns);
}

static void world_free(struct world *w)
{
	for (size_t i = 0; i < w->run.job_count; i++) {
		struct job_result *r = &w->results[i];
		struct verdict_result *v = &r->verdict;
		char *all[] = { v->name, v->headline, v->because, v->try_next };

		free_direction(&r->read, &r->ops.read);
		free_direction(&r->write, &r->ops.write);
		hist_free(r->sync.lat_ns);
		free_storage(&r->storage);
		for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
			mem_free(all[k]);
	}
	job_free(w->job);
	mem_free(w);
}

/* ---- numbers as fio writes them ---- */

static const struct {
	double value;
	bool is_binary;
	const char *text;
} numbers[] = {
	{ 0, false, "0" },
	{ 192, false, "192" },
	{ 9999, false, "9999" },
	{ 12345, false, "12.3k" },
	{ 19000, false, "19.0k" },
	{ 203456, false, "203k" },
	{ 2048000, false, "2048k" },
	{ 10240000, false, "10.2M" },
	{ 512, true, "512" },
	{ 4096, true, "4096" },
	{ 10240, true, "10.0Ki" },
	{ 1048576, true, "1024Ki" },
	{ 10240000, true, "9.77Mi" },
	{ 12641280, true, "12.1Mi" },
	{ 126412800, true, "121Mi" },
	{ 1048575488, true, "1000Mi" },
	{ 2147483648, true, "2048Mi" },
	{ 10737418240, true, "10.0Gi" },
};

START_TEST(numbers_are_those_of_fio)
{
	char text[UNITS_TEXT_BYTES];

	show_fio_number(text, numbers[_i].value, numbers[_i].is_binary);
	ck_assert_str_eq(text, numbers[_i].text);
}
END_TEST

/* ---- goldens ---- */

START_TEST(an_unpaced_read_job)
{
	struct world *w = world_new();

	/* clang-format off */
	check_report(&w->run,
		"rr: read 203k IOPS, 792 MiB/s\n"
		"  read: IOPS=203k, BW=792MiB/s (830MB/s)(2048MiB/2586msec)\n"
		"\n"
		"job       randread, 4 KiB requests\n"
		"workers   1, ioengine=uring_cmd (registered files, fixed buffers), iodepth=32,\n"
		"          direct=1 (aligned to 512 B)\n"
		"files     1 file, 2 GiB = 0.008 x this host's memory, in /mnt/nvme/t\n"
		"storage   xfs on /dev/nvme1n1 at /mnt/nvme (nvme, scheduler none, read_ahead 128 KiB)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"latency, ms         count     min     mean      p50      p90      p99    p99.9      max\n"
		"read              524,288    0.041    0.853    0.294    2.712    3.940    4.088    4.100\n"
		"\n"
		"worker time        reap 63.3%  cpu 36.7%                                      = 100%\n"
		"from memory        0.2% of the bytes read (device counters);\n"
		"                   invalidate=run dropped its files before the run\n"
		"host               CPU 21.5% (mlgen: usr 3.1, sys 10.1), 50,780 switches/s\n"
		"cpu                usr 12.2%, sys 40.1%; per operation usr 0.931 us, sys 3.059 us;\n"
		"                   203,112 context switches\n"
		"steady             unknown (takes 3 seconds); no errors\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

/* 70/30 at a pace that storage did not keep up with for reads. */
static void make_mixed(struct world *w)
{
	struct job_result *r = &w->results[0];

	w->job->rw = RW_RANDRW;
	w->job->rwmixread = 70;
	w->job->bs = (struct u64_pair){ 4096, 16384 };
	w->job->direct = false;
	w->job->runtime_ns = 10 * UINT64_C(1000000000);
	w->job->time_based = true;
	w->job->fsync = 32;
	r->read_align_bytes = 0;
	r->wall_seconds = 10;
	r->io.rate[0] = (struct rate_result){ 104857600, NONE, true };
	r->io.rate[1] = (struct rate_result){ NONE, 1000, false };
	r->io.laid_out_files = 1;
	r->io.laid_out_bytes = 2 * GIB;
	r->read.total_ios = r->ops.read.total = 212736;
	r->read.io_bytes = 212736 * 4096;
	hist_free(r->read.lat_ns);
	r->read.lat_ns = r->ops.read.lat_ns = hist_of(212736, 81000);
	r->read.slat_ns = hist_of(212736, 500000);
	r->read.total_ns = hist_of(212736, 600000);
	r->read.bw_kib =
		(struct interval_stat){ 80000, 90112, 85094, 1702, 10 };
	r->write.total_ios = r->ops.write.total = 10000;
	r->write.io_bytes = 10000 * 16384;
	r->write.lat_ns = r->ops.write.lat_ns = hist_of(10000, 12000);
	r->write.slat_ns = hist_of(10000, 1000);
	r->write.total_ns = hist_of(10000, 13000);
	r->write.bw_kib = (struct interval_stat){ 16000, 16000, 16000, 0, 10 };
	r->sync.total = r->ops.fsync.total = 312;
	r->sync.lat_ns = r->ops.fsync.lat_ns = hist_of(312, 900000);
}

START_TEST(a_mixed_job_that_missed_its_rate)
{
	struct world *w = world_new();

	make_mixed(w);
	/* clang-format off */
	check_report(&w->run,
		"rr: read 21.3k IOPS, 83.1 MiB/s; write 1000 IOPS, 15.6 MiB/s; rate NOT MET\n"
		"  read: IOPS=21.3k, BW=83.1MiB/s (87.1MB/s)(831MiB/10000msec)\n"
		"  write: IOPS=1000, BW=15.6MiB/s (16.4MB/s)(156MiB/10000msec)\n"
		"  rate            read asked 100 MiB/s, had 83.1 MiB/s: NOT MET;\n"
		"                  write asked 1000 IOPS, had 1000 IOPS: met\n"
		"\n"
		"job       randrw (70% reads), 4 KiB reads, 16 KiB writes, for 10 s,\n"
		"          fsync after every 32 writes\n"
		"workers   1, ioengine=uring_cmd (registered files, fixed buffers), iodepth=32,\n"
		"          direct=0: through the page cache\n"
		"files     1 file, 2 GiB = 0.008 x this host's memory, in /mnt/nvme/t;\n"
		"          laid out before the run\n"
		"storage   xfs on /dev/nvme1n1 at /mnt/nvme (nvme, scheduler none, read_ahead 128 KiB)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"latency, ms         count     min     mean      p50      p90      p99    p99.9      max\n"
		"read slat         212,736    0.500   10.40     3.596   32.96    48.10    49.68    50.00\n"
		"read clat         212,736    0.081    1.685    0.584    5.358    7.782    8.077    8.100\n"
		"read lat          212,736    0.600   12.48     4.309   39.45    57.54    59.64    60.00\n"
		"write slat         10,000    0.001    0.021    0.007    0.066    0.096    0.100    0.100\n"
		"write clat         10,000    0.012    0.250    0.086    0.793    1.151    1.192    1.200\n"
		"write lat          10,000    0.013    0.270    0.093    0.858    1.249    1.298    1.299\n"
		"fsync                 312    0.900   18.58     6.341   58.59         -        -   88.86\n"
		"\n"
		"worker time        reap 63.3%  cpu 36.7%                                      = 100%\n"
		"from memory        0.2% of the bytes read (device counters);\n"
		"                   invalidate=run dropped its files before the run\n"
		"host               CPU 21.5% (mlgen: usr 3.1, sys 10.1), 50,780 switches/s\n"
		"cpu                usr 12.2%, sys 40.1%; per operation usr 2.191 us, sys 7.201 us;\n"
		"                   203,112 context switches\n"
		"steady             read 78.1 to 88.0 MiB/s over 10 seconds (stdev 2.0%),\n"
		"                   write 15.6 to 15.6 MiB/s over 10 seconds (stdev 0.0%); no errors\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_direction_that_the_mix_holds_back_missed_nothing)
{
	struct world *w = world_new();

	make_mixed(w);
	w->results[0].io.rate[0].is_missed = false;
	check_line(&w->run,
		   "  rate            read asked 100 MiB/s, had 83.1 MiB/s: "
		   "below, held back by the mix;");
	check_report_lacks(&w->run, "NOT MET");
	world_free(w);
}
END_TEST

START_TEST(four_workers_share_a_block)
{
	struct world *w = world_new();

	add_workers(w, 4);
	/* clang-format off */
	check_report(&w->run,
		"rr: read 727k IOPS, 2.77 GiB/s (4 workers)\n"
		"  read: IOPS=727k, BW=2839MiB/s (2976MB/s)(8192MiB/2885msec)\n"
		"\n"
		"job       randread, 4 KiB requests\n"
		"workers   4, ioengine=uring_cmd (registered files, fixed buffers), iodepth=32 each,\n"
		"          direct=1 (aligned to 512 B)\n"
		"files     4 files, 8 GiB = 0.03 x this host's memory, in /mnt/nvme/t\n"
		"storage   xfs on /dev/nvme1n1 at /mnt/nvme (nvme, scheduler none, read_ahead 128 KiB)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"worker        read IOPS    MiB/s  p99, ms\n"
		"0                  203k      792    3.940\n"
		"1                  195k      762    3.940\n"
		"2                  188k      735    3.940\n"
		"3                  182k      710    3.940\n"
		"\n"
		"latency, ms         count     min     mean      p50      p90      p99    p99.9      max\n"
		"read            2,097,152    0.041    0.853    0.294    2.712    3.940    4.088    4.100\n"
		"\n"
		"worker time        reap 63.3%  cpu 36.7%                                      = 100%\n"
		"from memory        0.2% of the bytes read (device counters);\n"
		"                   invalidate=run dropped its files before the run\n"
		"host               CPU 21.5% (mlgen: usr 3.1, sys 10.1), 50,780 switches/s\n"
		"cpu                usr 48.8%, sys 160.4%; per operation usr 0.931 us, sys 3.059 us;\n"
		"                   812,448 context switches\n"
		"steady             unknown (takes 3 seconds); no errors\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(of_many_workers_three_stand_for_all)
{
	struct world *w = world_new();

	add_workers(w, 64);
	check_line(&w->run, "slowest 63        59.0k      230    3.940");
	check_line(&w->run, "median 31         92.2k      360    3.940");
	check_line(&w->run, "fastest 0          203k      792    3.940");
	world_free(w);
}
END_TEST

START_TEST(an_interrupted_job_says_how_long_it_ran)
{
	struct world *w = world_new();

	w->results[0].interrupted = true;
	w->results[0].complete = false;
	check_first(
		&w->run,
		"rr: read 203k IOPS, 792 MiB/s (interrupted after 2.59 s)\n");
	world_free(w);
}
END_TEST

START_TEST(an_error_and_nothing_moved_are_said)
{
	struct world *w = world_new();

	mlgen_fail(&w->results[0].err, -EIO, "read /data/f17");
	check_first(&w->run,
		    "rr: read 203k IOPS, 792 MiB/s (stopped by an error "
		    "after 2.59 s)\n");
	w->results[0].read.total_ios = 0;
	check_first(&w->run,
		    "rr: no operation was finished (stopped by an error)\n");
	world_free(w);
}
END_TEST

START_TEST(create_only_says_what_it_made)
{
	struct world *w = world_new();

	w->job->create_only = true;
	w->results[0].read.total_ios = 0;
	check_first(&w->run, "rr: nothing to lay out, 1 file is there\n");
	w->results[0].io.laid_out_files = 1;
	w->results[0].io.laid_out_bytes = 2 * GIB;
	check_first(&w->run, "rr: 1 file, 2 GiB laid out\n");
	world_free(w);
}
END_TEST

/* ---- what is not the storage ---- */

START_TEST(reads_from_the_page_cache_are_no_storage)
{
	struct world *w = world_new();

	w->job->direct = false;
	w->results[0].storage.memory_percent = 98.2;
	check_line(&w->run,
		   "rr: read 203k IOPS, 792 MiB/s      MEMORY, NOT STORAGE");
	check_line(&w->run,
		   "  NOT A STORAGE RESULT   98.2% of the bytes read came "
		   "from this host's page cache");
	check_line(&w->run,
		   "  because         the files (2 GiB) fit into memory "
		   "(256 GiB)");
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
	  "from memory, host: 2.59 s, first end of ramp_time to last end of 3 "
	  "jobs" },
	/* only so much longer that nobody would see it */
	{ "start", 3.5, 1, false, false, NULL },
	{ "start", 3.6, 1, false, false,
	  "from memory, host: 3.60 s, start to end of job; rates over 2.59 s "
	  "of it" },
	/* where there is no line of what came from memory */
	{ "ramp_time", 2.59, 1, true, false,
	  "host: 2.59 s, end of ramp_time to end of job" },
	{ "ramp_time", 2.59, 1, false, true,
	  "host: 2.59 s, end of ramp_time to end of job" },
};

START_TEST(a_window_is_named_where_it_is_not_simply_the_job)
{
	struct world *w = world_new();
	struct job_result *r = &w->results[0];
	char line[160];

	r->window = (struct window_result){ windows[_i].from, 0,
					    windows[_i].seconds };
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
	check_line(&w->run, "from memory        0.2% of the bytes read "
			    "(device counters);");
	s->jobs_read_bytes = 7 * GIB;
	check_line(&w->run, "from memory        0.2% of the 7 GiB that mlgen "
			    "read there (device counters);");
	world_free(w);
}
END_TEST

START_TEST(a_full_host_is_said_and_nothing_else_is)
{
	struct world *w = world_new();

	check_report_lacks(&w->run, "because");
	w->results[0].host.cpu_percent = 97;
	check_line(&w->run,
		   "  HOST-BOUND      CPU 97.0% busy (64 CPUs): this host "
		   "may be the limit, not storage");
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
	check_line(&w->run,
		   "writes             went to the page cache: nothing waited "
		   "until storage had them (direct,");
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
	check_line(&w->run,
		   "read              524,289        -        -        -"
		   "        -        -        -        -");
	world_free(w);
}
END_TEST

START_TEST(what_the_disks_did_stands_once_below_all_jobs)
{
	struct world *w = world_new();

	w->disk = (struct disk_util){ .name = "nvme1n1",
				      .read_ios = 524288,
				      .read_sectors = 4194304,
				      .util = 98.2 };
	w->run.disks = &w->disk;
	w->run.disk_count = 1;
	check_line(&w->run,
		   "disk      nvme1n1: 98.2% busy, 524,288 reads (2 GiB), "
		   "0 writes (0 B),");
	world_free(w);
}
END_TEST

Suite *suite_text_io(void)
{
	Suite *s = suite_create("text_io");
	TCase *t = tcase_create("text_io");

	tcase_add_loop_test(t, numbers_are_those_of_fio, 0,
			    (int)(sizeof(numbers) / sizeof(*numbers)));
	tcase_add_test(t, an_unpaced_read_job);
	tcase_add_test(t, a_mixed_job_that_missed_its_rate);
	tcase_add_test(t, a_direction_that_the_mix_holds_back_missed_nothing);
	tcase_add_test(t, four_workers_share_a_block);
	tcase_add_test(t, of_many_workers_three_stand_for_all);
	tcase_add_test(t, an_interrupted_job_says_how_long_it_ran);
	tcase_add_test(t, an_error_and_nothing_moved_are_said);
	tcase_add_test(t, create_only_says_what_it_made);
	tcase_add_test(t, reads_from_the_page_cache_are_no_storage);
	tcase_add_test(t,
		       with_o_direct_a_counter_that_saw_less_decides_nothing);
	tcase_add_loop_test(t, a_window_is_named_where_it_is_not_simply_the_job,
			    0, sizeof(windows) / sizeof(*windows));
	tcase_add_test(t,
		       a_share_of_what_others_read_too_is_no_share_of_the_job);
	tcase_add_test(t, a_full_host_is_said_and_nothing_else_is);
	tcase_add_test(t, writes_that_nothing_waited_for_are_said);
	tcase_add_test(t, latencies_of_a_part_are_not_those_of_all);
	tcase_add_test(t, what_the_disks_did_stands_once_below_all_jobs);
	suite_add_tcase(s, t);
	return s;
}
