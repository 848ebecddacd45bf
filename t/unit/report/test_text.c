/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - the report, to the column, from results filled by hand. */
#include "config.h"
#include "null_engine.h"
#include "suites.h"
#include "text_rig.h"

START_TEST(a_storage_bound_run_reads_as_in_the_manual)
{
	struct world *w = world_new();
	char *text = report_text(&w->run, DETAIL_USUAL);
	/* clang-format off */
	static const char expected[] =
		"unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
		"  STORAGE-BOUND   8 x h100 ask for 23.67 GiB/s; storage delivered 14.86 GiB/s\n"
		"  because         read threads spent 99.8% of their time waiting in read();\n"
		"                  host CPU 11.2%, wake-ups on time\n"
		"  enough for      about 5 x h100 at 90% AU (estimate)\n"
		"  try next        --read_threads=8 : is it bandwidth, or too few reads in flight (32 now)?\n"
		"\n"
		"job       8 x h100, batch 7, compute 323 ms per step, barrier after every step\n"
		"threads   32 read threads (4 per accelerator), ioengine=psync, direct=0, iodepth=1, 1 MiB reads\n"
		"dataset   28,000 npz files of 146.6 MB (mean), 3.73 TiB = 14.9 x this host's memory\n"
		"storage   nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"epoch   seconds   samples  samples/s   GiB/s      AU  stall p99, ms   first step, s\n"
		"    1     261.8    28,000      107.0   14.60   62.1%          640.2             2.2\n"
		"    2     256.3    28,000      109.2   14.92   63.4%          611.0             1.9\n"
		"    3     255.1    28,000      109.8   14.99   63.7%          598.4             1.9\n"
		"    4     256.0    28,000      109.4   14.93   63.4%          606.7             1.9\n"
		"    5     257.2    28,000      108.9   14.86   63.1%          613.5             1.9\n"
		"  all    1286.4   140,000      108.8   14.86   63.1%          610.3\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open              140,000    0.445    0.241    0.499    1.913   12.42    88.10\n"
		"read           19,600,000    2.394    1.896    3.301    8.110   21.82   412.3\n"
		"close             140,000    0.008    0.005    0.009    0.021    0.140    6.025\n"
		"sample            140,000  318.2    282.1    431.0    702.5   1120     1488\n"
		"stall              19,960  187.2    157.8    303.0    610.3    987.8   1205\n"
		"step               19,960  525.1    496.0    639.6    950.0   1321     1540\n"
		"\n"
		"accelerator time   compute 62.8%  stall 33.9%  barrier 2.9%  other 0.4%       = 100%\n"
		"read thread time   read 99.8%  open 0.1%  idle 0.1%                           = 100%\n"
		"read sizes         up to 1 MiB per call (bs), 1023 KiB mean\n"
		"from memory        unknown: no counter here shows what storage delivered;\n"
		"                   0.0% of the dataset was cached before (256 files sampled);\n"
		"                   invalidate=epoch dropped its files before each epoch;\n"
		"                   caches inside the array cannot be seen\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 412,300 switches/s,\n"
		"                   wake-ups late by 0.013 ms (p99 0.038)\n"
		"steady             epochs 2-5 differ by 0.9%; no errors\n";

	/* clang-format on */
	check_shape(text);
	check_text(text, expected);
	free(text);
	world_free(w);
}
END_TEST

static void check_line_starts(const char *text, const char *line)
{
	ck_assert_msg(has_flowed(text, line), "no line '%s'", line);
}

/* Opened, read and closed in one submission: the read takes the time of all three, and none of them
 * has a latency of its own. */
START_TEST(an_engines_means_are_named_and_chains_have_no_latency)
{
	struct world *w = world_new();

	mem_replace(&w->job.ioengine, "io_uring");
	w->result.in_use = "registered files, chains";
	w->result.ops.open.total++;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_line_starts(text, "threads   32 read threads (4 per accelerator), ioengine=io_uring "
				"(registered files, chains),");
	check_line_starts(
		text,
		"open              140,001        -        -        -        -        -        -");
	check_line_starts(text, "close             140,000    0.008");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(one_thread_is_no_threads)
{
	struct world *w = world_new();

	w->job.read_threads = 1;
	w->result.ml.accelerators = 1;
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_line_starts(text, "threads   1 read thread (1 per accelerator), ");
	free(text);
	world_free(w);
}
END_TEST

/* Two accelerators on the disk of a laptop: constant sizes, MiB/s, an epoch too small for a p99, a
 * device that has counters. */
static void make_laptop(struct world *w)
{
	static const struct epoch_result epochs[5] = {
		{ 1, 256, 0, 0, 1.70, 150.6, 301 * MIB, 96.2, 30, 2.11e6, NONE, .14e9 },
		{ 2, 256, 0, 0, 1.63, 157.1, 314 * MIB, 98.6, 30, 1.18e6, NONE, .10e9 },
		{ 3, 256, 0, 0, 1.62, 158.0, 316 * MIB, 98.7, 30, 1.17e6, NONE, .10e9 },
		{ 4, 256, 0, 0, 1.63, 157.1, 314 * MIB, 98.5, 30, 1.33e6, NONE, .10e9 },
		{ 5, 256, 0, 0, 1.62, 158.0, 316 * MIB, 98.7, 30, 1.22e6, NONE, .10e9 },
	};
	struct ml_result *ml = &w->result.ml;
	struct job *j = &w->job;

	mem_replace(&j->name, "quickstart");
	j->accelerators = ml->accelerators = 2;
	j->batch_size = 8;
	j->read_threads = 2;
	j->compute_time.a = 100 * MS;
	mem_replace(&ml->accelerator, NULL);
	w->dataset = (struct dataset){ .format = &format_raw, .files = 256, .samples_per_file = 1 };
	w->result.totals = (struct dataset_totals){
		.bytes = 512 << 20,
		.mean_file_bytes = 2 << 20,
	};
	ml->steps = 80;
	ml->counted_steps = 150;
	ml->samples = 1280;
	w->result.wall_seconds = 8.2;
	ml->samples_per_sec = 156.1;
	ml->sample_bytes_per_sec = 312.2 * MIB;
	ml->demand_bytes_per_sec = 320 * MIB;
	ml->au_percent = 98.1;
	ml->target_au_percent = NONE;
	ml->time_percent = (struct time_percent){
		.compute = 97.6,
		.stall = 1.9,
		.barrier = .2,
		.oversleep = .1,
		.other = .2,
	};
	ml->loader_percent = (struct loader_percent){
		.read = 5.5,
		.open = .1,
		.other = .1,
		.idle = 94.3,
	};
	memcpy(ml->epochs.items, epochs, sizeof(epochs));
	free_latencies(&w->result);
	w->result.ops.open.total = w->result.ops.close.total = 1280;
	w->result.ops.read.total = 2560;
	w->result.ops.open.lat_ns =
		hist_of(1280, SPREAD({ 50, .018 }, { 90, .03 }, { 99, .066 }), .214);
	w->result.ops.read.lat_ns =
		hist_of(2560, SPREAD({ 50, .655 }, { 90, .911 }, { 99, 1.508 }), 4.87);
	w->result.ops.close.lat_ns =
		hist_of(1280, SPREAD({ 50, .003 }, { 90, .004 }, { 99, .009 }), .031);
	ml->sample_ns =
		hist_of(1280, SPREAD({ 1, .9 }, { 50, 1.34 }, { 90, 1.848 }, { 99, 3.021 }), 6.112);
	ml->stall_ns = hist_of(150, SPREAD({ 5, .1 }, { 50, 1.004 }, { 90, 3.02 }), 7.9);
	ml->step_ns = hist_of(150, SPREAD({ 1, 100.1 }, { 50, 101.2 }, { 90, 103.3 }), 108.2);
	w->result.read.total_ios = 2560;
	w->result.read.io_bytes = UINT64_C(2560) << 20;
	mem_replace(&w->result.storage.filesystem, "ext4");
	mem_replace(&w->result.storage.mount_source, "/dev/nvme0n1p2");
	mem_replace(&w->result.storage.mount_target, "/");
	mem_replace(&w->result.storage.mount_options, "rw,relatime");
	mem_replace(&w->result.storage.device, "nvme0n1");
	mem_replace(&w->result.storage.scheduler, "none");
	w->result.storage.read_ahead_bytes = 131072;
	w->result.storage.memory_percent = 0;
	w->result.storage.source = "device counters";
	w->result.host = (struct host_result){ .cpu_percent = 3.4,
					       .user_percent = .3,
					       .system_percent = 1.2,
					       .switches_per_sec = 2345 };
	w->run.host = (struct host){ .hostname = "lap7",
				     .kernel = "Linux 6.1.0",
				     .cpus = 8,
				     .cpus_online = 8,
				     .memory_bytes = UINT64_C(16) << 30 };
}

START_TEST(a_laptop_report_counts_in_mib_and_leaves_thin_percentiles_out)
{
	struct world *w = world_new();
	/* clang-format off */
	static const char expected[] =
		"quickstart: 98.1% AU, 312 MiB/s, 156.1 samples/s\n"
		"  COMPUTE-BOUND   storage keeps up: stall p90 3.023 ms in steps of 101.7 ms\n"
		"  because         stall is 1.9% of accelerator time; read threads are idle 94.3% of their time\n"
		"  try next        --accelerators=4 : storage keeps up, try more\n"
		"\n"
		"job       2 accelerators, batch 8, compute 100 ms per step, barrier after every step\n"
		"threads   4 read threads (2 per accelerator), ioengine=psync, direct=0, iodepth=1, 1 MiB reads\n"
		"dataset   256 raw files of 2 MiB, 512 MiB = 0.03 x this host's memory\n"
		"storage   ext4 on /dev/nvme0n1p2 at / (scheduler none, read_ahead 128 KiB)\n"
		"host      lap7, 8 CPUs, 16 GiB, Linux 6.1.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"epoch   seconds   samples  samples/s   MiB/s      AU  stall mean, ms  first step, s\n"
		"    1      1.70       256      150.6     301   96.2%           2.110           0.14\n"
		"    2      1.63       256      157.1     314   98.6%           1.180           0.10\n"
		"    3      1.62       256      158.0     316   98.7%           1.170           0.10\n"
		"    4      1.63       256      157.1     314   98.5%           1.330           0.10\n"
		"    5      1.62       256      158.0     316   98.7%           1.220           0.10\n"
		"  all      8.20     1,280      156.1     312   98.1%           1.462\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open                1,280    0.024    0.018    0.030    0.066        -    0.214\n"
		"read                2,560    0.776    0.655    0.911    1.511        -    4.870\n"
		"close               1,280    0.004    0.003    0.004    0.009        -    0.031\n"
		"sample              1,280    1.479    1.339    1.847    3.023        -    6.112\n"
		"stall                 150    1.462    1.006    3.023        -        -    7.900\n"
		"step                  150  101.7    101.4    103.5          -        -  108.2\n"
		"\n"
		"accelerator time   compute 97.6%  stall 1.9%  barrier 0.2%  oversleep 0.1%\n"
		"                   other 0.2%                                                 = 100%\n"
		"read thread time   read 5.5%  open 0.1%  other 0.1%  idle 94.3%               = 100%\n"
		"read sizes         1 MiB per call (bs)\n"
		"from memory        0.0% of the bytes read (device counters);\n"
		"                   0.0% of the dataset was cached before (256 files sampled);\n"
		"                   invalidate=epoch dropped its files before each epoch\n"
		"host               CPU 3.4% (mlgen: usr 0.3, sys 1.2), 2,345 switches/s\n"
		"steady             epochs 2-5 differ by 0.6%; no errors\n";

	/* clang-format on */
	make_laptop(w);
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_text(text, expected);
	free(text);
	world_free(w);
}
END_TEST

START_TEST(without_compute_there_is_no_au_and_no_demand)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	w->job.compute_time.a = 0;
	ml->au_percent = ml->demand_bytes_per_sec = NONE;
	ml->time_percent = (struct time_percent){ .stall = 99, .other = 1 };
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "no compute, barrier");
	free(text);
	/* clang-format off */
	check_head(w,
		"unet3d: 14.86 GiB/s, 108.8 samples/s\n"
		"  STORAGE-BOUND   storage delivered 14.86 GiB/s; compute_time=0 asks for as much as possible\n"
		"  because         read threads spent 99.8% of their time waiting in read();\n"
		"                  host CPU 11.2%, wake-ups on time\n"
		"  try next        --read_threads=8 : is it bandwidth, or too few reads in flight (32 now)?\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_model_of_storage_is_named_by_what_it_plays)
{
	struct world *w = world_new();
	struct ceiling_result *c = &w->result.ml.ceiling;
	struct null_opts opts = { .delay_ns = 20000000 };

	w->job.engine = &null_engine;
	w->job.engine_opts = &opts;
	mem_replace(&w->job.ioengine, "null");
	c->is_tried = true;
	c->null_au_percent = 99.6;
	strcpy(c->unmeasured, "from memory: ioengine=null reads no file");
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\nstorage   a model: ioengine=null, delay=20ms; touches no file\n");
	check_has(text, "\nceiling            99.6% AU without storage; from memory: ioengine=null "
			"reads no file\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(the_null_engine_is_never_taken_for_storage)
{
	struct world *w = world_new();

	w->job.engine = &null_engine;
	mem_replace(&w->job.ioengine, "null");
	char *text = report_text(&w->run, DETAIL_USUAL);
	check_shape(text);
	check_has(text, "\nstorage   none: ioengine=null touches no file\n");
	check_lacks(text, "STORAGE-BOUND");
	check_lacks(text, "from memory");
	free(text);
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
		"  UNCLEAR         ioengine=null uses no storage, and CPU 11.2% shows no limit\n"
		"  because         stall is 33.9% of accelerator time; read threads are idle 0.1% of their time,\n"
		"                  wake-ups on time\n"
		"  try next        --ioengine=psync : the same with storage\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(control_characters_of_a_name_never_reach_the_terminal)
{
	struct world *w = world_new();

	mem_replace(&w->job.name, "a\033[2Jb");
	char *text = report_text(&w->run, DETAIL_FIRST);
	ck_assert_int_eq(strncmp(text, "a\\x1b[2Jb: 63.1% AU", 19), 0);
	free(text);
	world_free(w);
}
END_TEST

START_TEST(each_job_has_its_block)
{
	struct world *a = world_new(), *b = world_new();
	struct job_result both[2];

	make_laptop(b);
	verdict_fill(&a->run);
	verdict_fill(&b->run);
	both[0] = a->result;
	both[1] = b->result;
	a->run.jobs = both;
	a->run.job_count = 2;
	char *text = report_text(&a->run, DETAIL_USUAL);
	check_has(text, "; no errors\n\nquickstart: 98.1% AU, 312 MiB/s");
	free(text);
	text = report_text(&a->run, DETAIL_FIRST);
	ck_assert_str_eq(text,
			 "unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
			 "quickstart: 98.1% AU, 312 MiB/s, 156.1 samples/s\n");
	free(text);
	/* verdict_fill replaced the verdicts of the copies. */
	a->result = both[0];
	b->result = both[1];
	world_free(a);
	world_free(b);
}
END_TEST

START_TEST(a_job_that_never_began_has_one_line)
{
	struct world *w = world_new();

	w->result.work = NULL;
	char *text = report_text(&w->run, DETAIL_USUAL);
	ck_assert_str_eq(text, "unet3d: did not run\n");
	free(text);
	world_free(w);
}
END_TEST

Suite *suite_text(void)
{
	Suite *s = suite_create("text");
	TCase *t = tcase_create("text");

	tcase_add_test(t, a_storage_bound_run_reads_as_in_the_manual);
	tcase_add_test(t, an_engines_means_are_named_and_chains_have_no_latency);
	tcase_add_test(t, one_thread_is_no_threads);
	tcase_add_test(t, a_laptop_report_counts_in_mib_and_leaves_thin_percentiles_out);
	tcase_add_test(t, without_compute_there_is_no_au_and_no_demand);
	tcase_add_test(t, a_model_of_storage_is_named_by_what_it_plays);
	tcase_add_test(t, the_null_engine_is_never_taken_for_storage);
	tcase_add_test(t, control_characters_of_a_name_never_reach_the_terminal);
	tcase_add_test(t, each_job_has_its_block);
	tcase_add_test(t, a_job_that_never_began_has_one_line);
	suite_add_tcase(s, t);
	return s;
}
