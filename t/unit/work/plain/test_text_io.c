/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_io.c - the report of plain jobs, to the column, from results filled by hand. */
#include <check.h>
#include <errno.h>

#include "config.h"
#include "report/text/text.h"
#include "report_text.h"
#include "suites.h"
#include "text_io_rig.h"

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
		"steady             unknown (needs 3 whole seconds); no errors\n");
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
	r->read.bw_kib = (struct interval_stat){ 80000, 90112, 85094, 1702, 10 };
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
	check_line(&w->run, "  rate            read asked 100 MiB/s, had 83.1 MiB/s: below, held "
			    "back by the other direction;");
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
		"steady             unknown (needs 3 whole seconds); no errors\n");
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
	check_first(&w->run, "rr: read 203k IOPS, 792 MiB/s (interrupted after 2.59 s)\n");
	world_free(w);
}
END_TEST

START_TEST(an_error_and_nothing_moved_are_said)
{
	struct world *w = world_new();

	mlgen_fail(&w->results[0].err, -EIO, "read /data/f17");
	check_first(&w->run, "rr: read 203k IOPS, 792 MiB/s (stopped by an error after 2.59 s)\n");
	w->results[0].read.total_ios = 0;
	check_first(&w->run, "rr: no operation was finished (stopped by an error)\n");
	world_free(w);
}
END_TEST

START_TEST(create_only_says_what_it_made)
{
	struct world *w = world_new();

	w->job->create_only = true;
	w->results[0].read.total_ios = 0;
	check_first(&w->run, "rr: nothing to lay out, 1 file exists\n");
	w->results[0].io.laid_out_files = 1;
	w->results[0].io.laid_out_bytes = 2 * GIB;
	check_first(&w->run, "rr: 1 file, 2 GiB laid out\n");
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
	suite_add_tcase(s, t);
	return s;
}
