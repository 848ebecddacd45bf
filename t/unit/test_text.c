/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - the report, to the column, from results filled by hand. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config.h"
#include "data/format.h"
#include "null_engine.h"
#include "report_text.h"
#include "suites.h"
#include "work/workloads.h"

#define MS 1000000
#define MIB 1048576.0
#define GIB 1073741824.0
#define NONE ((double)NAN)

/* n values of which so many percent are at most so many ms, rising. */
struct spread {
	double percent, ms;
};

static void add_many(struct hist *h, uint64_t n, uint64_t ns)
{
	if (n == 0)
		return;
	h->buckets[hist_bucket_of(ns)] += n;
	h->count += n;
	h->sum_ns += n * ns;
	h->min_ns = ns < h->min_ns ? ns : h->min_ns;
	h->max_ns = ns > h->max_ns ? ns : h->max_ns;
}

/* Between two of the points in eight steps; one value at the end. */
static struct hist *hist_of(uint64_t n, const struct spread *s, double max_ms)
{
	struct hist *h = hist_new();
	double from_ms = s->ms, from_percent = 0;

	for (; s->percent > 0; s++) {
		for (unsigned k = 1; k <= 8; k++) {
			double part = k / 8.0;
			double percent = from_percent +
					 part * (s->percent - from_percent);
			double ms = from_ms + part * (s->ms - from_ms);
			uint64_t upto =
				(uint64_t)ceil((double)n * percent / 100);

			upto = upto < n ? upto : n - 1;
			if (upto > h->count)
				add_many(h, upto - h->count,
					 (uint64_t)(ms * MS));
		}
		from_ms = s->ms;
		from_percent = s->percent;
	}
	add_many(h, n - 1 - h->count, (uint64_t)(from_ms * MS));
	add_many(h, 1, (uint64_t)(max_ms * MS));
	return h;
}

#define SPREAD(...) ((const struct spread[]){ __VA_ARGS__, { 0, 0 } })

/* Latency tables like those of a network filesystem under full load. */
static void fill_latencies(struct job_result *r, uint64_t samples,
			   uint64_t steps)
{
	struct ml_result *ml = &r->ml;
	struct ops_result *o = &r->ops;

	o->open.total = o->close.total = samples;
	o->read.total = samples * 140;
	o->open.lat_ns = hist_of(samples,
				 SPREAD({ 1, .11 }, { 50, .241 }, { 90, .498 },
					{ 99, 1.911 }, { 99.9, 12.4 }),
				 88.1);
	o->read.lat_ns = hist_of(o->read.total,
				 SPREAD({ 1, .4 }, { 50, 1.9 }, { 90, 3.3 },
					{ 99, 8.12 }, { 99.9, 21.87 }),
				 412.3);
	o->close.lat_ns = hist_of(
		samples,
		SPREAD({ 50, .005 }, { 90, .009 }, { 99, .021 }, { 99.9, .14 }),
		6.025);
	ml->sample_ns = hist_of(samples,
				SPREAD({ 1, 140 }, { 50, 283 }, { 90, 431.5 },
				       { 99, 702.8 }, { 99.9, 1120 }),
				1488);
	ml->stall_ns = hist_of(steps,
			       SPREAD({ 5, .5 }, { 50, 158.2 }, { 90, 302.7 },
				      { 99, 611.9 }, { 99.9, 988.4 }),
			       1205);
	ml->step_ns = hist_of(steps,
			      SPREAD({ 5, 338 }, { 50, 496 }, { 90, 640.9 },
				     { 99, 951.2 }, { 99.9, 1322 }),
			      1540);
	r->host.oversleep_ns =
		hist_of(steps, SPREAD({ 50, .003 }, { 99, .038 }), .2);
}

static void fill_epochs(struct ml_result *ml, unsigned n)
{
	static const struct epoch_result like[5] = {
		{ 1, 28000, 0, 0, 261.8, 107.0, 14.60 * GIB, 62.1, 3992, 180e6,
		  640.2e6, 2.2e9 },
		{ 2, 28000, 0, 0, 256.3, 109.2, 14.92 * GIB, 63.4, 3992, 170e6,
		  611.0e6, 1.9e9 },
		{ 3, 28000, 0, 0, 255.1, 109.8, 14.99 * GIB, 63.7, 3992, 170e6,
		  598.4e6, 1.9e9 },
		{ 4, 28000, 0, 0, 256.0, 109.4, 14.93 * GIB, 63.4, 3992, 170e6,
		  606.7e6, 1.9e9 },
		{ 5, 28000, 0, 0, 257.2, 108.9, 14.86 * GIB, 63.1, 3992, 170e6,
		  613.5e6, 1.9e9 },
	};
	struct epoch_result *e = mem_array(n, sizeof(*e));

	for (unsigned i = 0; i < n; i++) {
		e[i] = like[i % 5];
		e[i].epoch = i + 1;
	}
	ml->epochs = (struct metric_list){ .items = e, .count = n };
	ml->epochs_total = n;
}

/* All that one report needs; the fixture of every test. */
struct world {
	struct job job;
	struct dataset dataset;
	struct job_result result;
	struct run_result run;
};

static void fill_job(struct job *j)
{
	j->name = mem_strdup("unet3d");
	j->accelerators = 8;
	j->batch_size = 7;
	j->compute_time = (struct dist){ .kind = DIST_CONST, .a = 323 * MS };
	j->barrier = BARRIER_STEP;
	j->read_threads = 4;
	j->num_files = 28000;
	j->ioengine = mem_strdup("psync");
	j->bs.read = 1048576;
	j->invalidate = INVALIDATE_EPOCH;
	j->percentile_list = (struct f64_list){ 4, { 50, 90, 99, 99.9 } };
}

static void fill_storage(struct storage_result *s)
{
	*s = (struct storage_result){
		.filesystem = mem_strdup("nfs4"),
		.mount_source = mem_strdup("192.0.2.1:/ai"),
		.mount_target = mem_strdup("/mnt/array"),
		.mount_options = mem_strdup("rw,relatime,vers=4.2,rsize=1048576"
					    ",hard,proto=tcp,nconnect=16"),
		.read_ahead_bytes = UINT64_MAX,
		.device_paths = UINT64_MAX,
		.osts = UINT64_MAX,
		.device_read_bytes = UINT64_MAX,
		.device_reads = UINT64_MAX,
		.memory_percent = NONE,
		.source = "unknown",
		.resident_before_percent = 0,
		.resident_files = 256,
		.cache_drops = 5,
	};
}

static void fill_ml(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	ml->accelerators = 8;
	ml->accelerator = mem_strdup("h100");
	ml->steps = 2500;
	ml->counted_steps = 19960;
	ml->samples = 140000;
	r->wall_seconds = 1286.4;
	ml->samples_per_sec = 108.83;
	ml->sample_bytes_per_sec = 14.86 * GIB;
	ml->au_percent = 63.1;
	ml->target_au_percent = 90;
	ml->time_percent = (struct time_percent){
		.compute = 62.8, .stall = 33.9, .barrier = 2.9, .other = .4
	};
	ml->loader_percent = (struct loader_percent){ .read = 99.76,
						      .open = .13,
						      .idle = .11 };
	ml->demand_bytes_per_sec = 23.67 * GIB;
	r->host = (struct host_result){ .cpu_percent = 11.2,
					.user_percent = 1.1,
					.system_percent = 10.1,
					.switches_per_sec = 412318 };
	r->complete = true;
	fill_storage(&r->storage);
	fill_latencies(r, 140000, 19960);
	fill_epochs(ml, 5);
}

static struct world *world_new(void)
{
	struct world *w = mem_zalloc(sizeof(*w));

	fill_job(&w->job);
	w->dataset = (struct dataset){ .format = &format_npz,
				       .files = 28000,
				       .files_named = 28000,
				       .samples_per_file = 1 };
	w->result.job = &w->job;
	w->result.dataset = &w->dataset;
	w->result.totals = (struct dataset_totals){
		.bytes = UINT64_C(4104817584000),
		.mean_file_bytes = 146600628,
		.stdev_file_bytes = 49e6,
	};
	w->result.work = &work_train;
	w->result.members = 1;
	w->result.read.total_ios = 19600000;
	w->result.read.io_bytes = UINT64_C(20524087920000);
	fill_ml(&w->result);
	w->run.jobs = &w->result;
	w->run.job_count = 1;
	w->run.timestamp_ms = UINT64_C(1795269731000);
	w->run.host = (struct host){ .hostname = "client01",
				     .kernel = "Linux 6.8.0",
				     .cpus = 64,
				     .cpus_online = 64,
				     .memory_bytes = UINT64_C(256) << 30 };
	return w;
}

static void free_latencies(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	struct hist *all[] = { r->ops.open.lat_ns,  r->ops.stat.lat_ns,
			       r->ops.read.lat_ns,  r->ops.write.lat_ns,
			       r->ops.fsync.lat_ns, r->ops.close.lat_ns,
			       ml->sample_ns,       ml->stall_ns,
			       ml->step_ns,         r->host.oversleep_ns };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		hist_free(all[i]);
	r->ops = (struct ops_result){ 0 };
	ml->sample_ns = ml->stall_ns = ml->step_ns = NULL;
	r->host.oversleep_ns = NULL;
}

static void free_ml(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	char *strings[] = { ml->accelerator,          r->storage.filesystem,
			    r->storage.mount_source,  r->storage.mount_target,
			    r->storage.mount_options, r->storage.device,
			    r->storage.device_kind,   r->storage.scheduler,
			    r->verdict.name,          r->verdict.headline,
			    r->verdict.because,       r->verdict.try_next };

	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++)
		mem_free(strings[i]);
	free_latencies(r);
	mem_free(ml->epochs.items);
}

static void world_free(struct world *w)
{
	free_ml(&w->result);
	mem_free(w->job.name);
	mem_free(w->job.ioengine);
	mem_free(w);
}

/* The lines before the first empty one. */
static void check_head(struct world *w, const char *expected)
{
	char *text = report_text(&w->run, false);
	char *end = strstr(text, "\n\n");

	ck_assert_ptr_nonnull(end);
	end[1] = '\0';
	check_text(text, expected);
	free(text);
}

static void check_has(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in:\n%s", part,
		      text);
}

static void check_lacks(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "'%s' in:\n%s", part, text);
}

START_TEST(a_storage_bound_run_reads_as_in_the_manual)
{
	struct world *w = world_new();
	char *text = report_text(&w->run, false);
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
		"readers   32 threads (4 per accelerator), ioengine=psync, direct=0, 1 MiB reads\n"
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
		"extent            140,000  318.2    282.1    431.0    702.5   1120     1488\n"
		"stall              19,960  187.2    157.8    303.0    610.3    987.8   1205\n"
		"step               19,960  525.1    496.0    639.6    950.0   1321     1540\n"
		"\n"
		"accelerator time   compute 62.8%  stall 33.9%  barrier 2.9%  other 0.4%       = 100%\n"
		"loader time        read 99.8%  open 0.1%  idle 0.1%                           = 100%\n"
		"read sizes         up to 1 MiB as called (bs), 1023 KiB mean\n"
		"from memory        unknown: nothing here counts what storage delivered;\n"
		"                   0.0% of the dataset was cached before (256 files sampled);\n"
		"                   invalidate=epoch dropped its files before each epoch;\n"
		"                   caches inside the array cannot be seen\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 412,300 switches/s,\n"
		"                   sleeps late by 0.013 ms (p99 0.038)\n"
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
	size_t len = strlen(line);

	while (*text && strncmp(text, line, len) != 0)
		text += strcspn(text, "\n") + 1;
	ck_assert_msg(*text != '\0', "no line '%s'", line);
}

/* Opened, read and closed in one submission: the read takes the time of all
 * three, and none of them has a latency of its own. */
START_TEST(an_engines_means_are_named_and_chains_have_no_latency)
{
	struct world *w = world_new();

	mem_replace(&w->job.ioengine, "io_uring");
	w->result.in_use = "registered files, chains";
	w->result.ops.open.total++;
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_line_starts(text,
			  "readers   32 threads (4 per accelerator), "
			  "ioengine=io_uring (registered files, chains),");
	check_line_starts(text, "open              140,001        -        -"
				"        -        -        -        -");
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
	char *text = report_text(&w->run, false);
	check_line_starts(text, "readers   1 thread (1 per accelerator), ");
	free(text);
	world_free(w);
}
END_TEST

/* Two accelerators on the disk of a laptop: constant sizes, MiB/s, an epoch
 * too small for a p99, a device that has counters. */
static void make_laptop(struct world *w)
{
	static const struct epoch_result epochs[5] = {
		{ 1, 256, 0, 0, 1.70, 150.6, 301 * MIB, 96.2, 30, 2.11e6, NONE,
		  .14e9 },
		{ 2, 256, 0, 0, 1.63, 157.1, 314 * MIB, 98.6, 30, 1.18e6, NONE,
		  .10e9 },
		{ 3, 256, 0, 0, 1.62, 158.0, 316 * MIB, 98.7, 30, 1.17e6, NONE,
		  .10e9 },
		{ 4, 256, 0, 0, 1.63, 157.1, 314 * MIB, 98.5, 30, 1.33e6, NONE,
		  .10e9 },
		{ 5, 256, 0, 0, 1.62, 158.0, 316 * MIB, 98.7, 30, 1.22e6, NONE,
		  .10e9 },
	};
	struct ml_result *ml = &w->result.ml;
	struct job *j = &w->job;

	mem_replace(&j->name, "quickstart");
	j->accelerators = ml->accelerators = 2;
	j->batch_size = 8;
	j->read_threads = 2;
	j->compute_time.a = 100 * MS;
	mem_replace(&ml->accelerator, NULL);
	w->dataset = (struct dataset){ .format = &format_raw,
				       .files = 256,
				       .samples_per_file = 1 };
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
	w->result.ops.open.lat_ns = hist_of(
		1280, SPREAD({ 50, .018 }, { 90, .03 }, { 99, .066 }), .214);
	w->result.ops.read.lat_ns = hist_of(
		2560, SPREAD({ 50, .655 }, { 90, .911 }, { 99, 1.508 }), 4.87);
	w->result.ops.close.lat_ns = hist_of(
		1280, SPREAD({ 50, .003 }, { 90, .004 }, { 99, .009 }), .031);
	ml->sample_ns = hist_of(
		1280,
		SPREAD({ 1, .9 }, { 50, 1.34 }, { 90, 1.848 }, { 99, 3.021 }),
		6.112);
	ml->stall_ns = hist_of(
		150, SPREAD({ 5, .1 }, { 50, 1.004 }, { 90, 3.02 }), 7.9);
	ml->step_ns = hist_of(
		150, SPREAD({ 1, 100.1 }, { 50, 101.2 }, { 90, 103.3 }), 108.2);
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
		"  because         stall is 1.9% of accelerator time; read threads idle 94.3% of theirs\n"
		"  try next        --accelerators=4 : storage keeps up, ask for more\n"
		"\n"
		"job       2 accelerators, batch 8, compute 100 ms per step, barrier after every step\n"
		"readers   4 threads (2 per accelerator), ioengine=psync, direct=0, 1 MiB reads\n"
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
		"extent              1,280    1.479    1.339    1.847    3.023        -    6.112\n"
		"stall                 150    1.462    1.006    3.023        -        -    7.900\n"
		"step                  150  101.7    101.4    103.5          -        -  108.2\n"
		"\n"
		"accelerator time   compute 97.6%  stall 1.9%  barrier 0.2%  oversleep 0.1%\n"
		"                   other 0.2%                                                 = 100%\n"
		"loader time        read 5.5%  open 0.1%  other 0.1%  idle 94.3%               = 100%\n"
		"read sizes         1 MiB as called (bs)\n"
		"from memory        0.0% of the bytes read (device counters);\n"
		"                   0.0% of the dataset was cached before (256 files sampled);\n"
		"                   invalidate=epoch dropped its files before each epoch\n"
		"host               CPU 3.4% (mlgen: usr 0.3, sys 1.2), 2,345 switches/s\n"
		"steady             epochs 2-5 differ by 0.6%; no errors\n";

	/* clang-format on */
	make_laptop(w);
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_text(text, expected);
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_result_from_memory_says_so_in_its_first_line)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	w->dataset.files = 168;
	w->result.totals.bytes = UINT64_C(24628905504);
	ml->au_percent = 99.2;
	ml->target_met = true;
	ml->sample_bytes_per_sec = 23.48 * GIB;
	ml->samples_per_sec = 172;
	w->result.storage.memory_percent = 96;
	/* clang-format off */
	check_head(w,
		"unet3d: 99.2% AU, 23.48 GiB/s, 172.0 samples/s      MEMORY, NOT STORAGE\n"
		"  NOT A STORAGE RESULT   96.0% of the bytes came from this host's page cache\n"
		"  because         the dataset (168 files, 22.94 GiB) fits into memory (256 GiB)\n"
		"  try next        --dataset_ratio=5 : 9,376 files, or direct=1\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_full_host_is_no_statement_about_storage)
{
	struct world *w = world_new();

	w->result.host.cpu_percent = 98;
	w->result.host.user_percent = 20.5;
	w->result.host.system_percent = 70.25;
	w->result.ml.target_met = true;
	w->result.ml.target_au_percent = 60;
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 60%: met), 14.86 GiB/s, 108.8 samples/s\n"
		"  HOST-BOUND      CPU 98.0% busy (64 CPUs); stall is 33.9% of accelerator time\n"
		"  because         mlgen itself took usr 20.5%, sys 70.2%, other processes 7.2%\n"
		"  try next        --ceiling : what this host could do at best\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_ceiling_of_direct_reads_says_that_it_was_buffered)
{
	struct world *w = world_new();
	struct ceiling_result *c = &w->result.ml.ceiling;

	c->is_tried = true;
	c->null_au_percent = 64.5;
	c->cached_au_percent = 63.7;
	c->cached_seconds = 3;
	c->cached_files = 12;
	c->cached_bytes = UINT64_C(1) << 30;
	w->job.direct = true;
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "over and over, direct=0)\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_ceiling_has_a_line_and_decides)
{
	struct world *w = world_new();
	struct ceiling_result *c = &w->result.ml.ceiling;

	ceiling_result_init(c);
	c->is_tried = true;
	c->null_au_percent = 64.5;
	c->cached_au_percent = 63.7;
	c->cached_seconds = 3;
	c->cached_files = 12;
	c->cached_bytes = UINT64_C(1) << 30;
	w->result.host.cpu_percent = 98;
	w->result.host.system_percent = 90;
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
		"  HOST-BOUND      CPU 98.0% busy; with storage taken away this host reaches 63.7% AU\n"
		"  because         the ceiling is 0.6 points above the result: storage hardly matters\n"
		"  try next        fewer accelerators here, or more hosts; not a statement about storage\n");
	/* clang-format on */
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\nceiling            64.5% AU without storage, 63.7% "
			"AU from memory (12 files, 1 GiB,\n"
			"                   over and over)\n");
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
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "no compute, barrier");
	free(text);
	/* clang-format off */
	check_head(w,
		"unet3d: 14.86 GiB/s, 108.8 samples/s\n"
		"  STORAGE-BOUND   storage delivered 14.86 GiB/s; compute_time=0 takes all there is\n"
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
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\nstorage   a model: ioengine=null, delay=20ms; "
			"touches no file\n");
	check_has(text, "\nceiling            99.6% AU without storage; from "
			"memory: ioengine=null reads no file\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(the_null_engine_is_never_taken_for_storage)
{
	struct world *w = world_new();

	w->job.engine = &null_engine;
	mem_replace(&w->job.ioengine, "null");
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\nstorage   none: ioengine=null touches no file\n");
	check_lacks(text, "STORAGE-BOUND");
	check_lacks(text, "from memory");
	free(text);
	/* clang-format off */
	check_head(w,
		"unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, 108.8 samples/s\n"
		"  UNCLEAR         no storage in this (ioengine=null), and CPU 11.2% does not decide\n"
		"  because         stall is 33.9% of accelerator time; read threads idle 0.1% of theirs,\n"
		"                  wake-ups on time\n"
		"  try next        --ioengine=psync : the same with storage\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

/* The first line, whatever happened. */
static const struct first_line {
	const char *what;
	bool too_short, interrupted, failed, other_failed, memory;
	uint64_t steps, counted_steps;
	double au_percent;
	const char *expected;
} first_lines[] = {
	{ "complete", .steps = 2500, .counted_steps = 19960, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, "
		      "108.8 samples/s\n" },
	{ "too short", .too_short = true, .steps = 13, .counted_steps = 96,
	  .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (too short: 12 counted steps), 14.86 "
		      "GiB/s, 108.8 samples/s\n" },
	{ "one step an epoch", .too_short = true, .steps = 5,
	  .counted_steps = 0, .au_percent = NONE,
	  .expected = "unet3d: AU unknown (too short: 0 counted steps), 14.86 "
		      "GiB/s, 108.8 samples/s\n" },
	{ "interrupted", .interrupted = true, .steps = 118,
	  .counted_steps = 944, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s, 108.8 samples/s "
		      "(interrupted after 118 steps)\n" },
	{ "interrupted early", .interrupted = true, .too_short = true,
	  .steps = 13, .counted_steps = 96, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU (too short), 14.86 GiB/s, 108.8 "
		      "samples/s (interrupted after 13 steps)\n" },
	{ "failed", .failed = true, .steps = 118, .counted_steps = 944,
	  .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s, 108.8 samples/s "
		      "(stopped by an error after 118 steps)\n" },
	{ "failed at once", .failed = true, .too_short = true, .steps = 1,
	  .counted_steps = 0, .au_percent = NONE,
	  .expected = "unet3d: 14.86 GiB/s, 108.8 samples/s (stopped by an "
		      "error after 1 step)\n" },
	{ "failed before", .failed = true, .steps = 0, .au_percent = NONE,
	  .expected = "unet3d: no step was finished (stopped by an error)\n" },
	{ "another job failed", .other_failed = true, .steps = 118,
	  .counted_steps = 944, .au_percent = 63.1,
	  .expected = "unet3d: 63.1% AU, 14.86 GiB/s, 108.8 samples/s "
		      "(another job failed after 118 steps)\n" },
	{ "memory", .memory = true, .steps = 2500, .counted_steps = 19960,
	  .au_percent = 99.2,
	  .expected = "unet3d: 99.2% AU, 14.86 GiB/s, 108.8 samples/s      "
		      "MEMORY, NOT STORAGE\n" },
};

START_TEST(quiet_prints_the_first_line_and_marks_what_is_not_whole)
{
	const struct first_line *l = &first_lines[_i];
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->too_short = l->too_short;
	w->result.interrupted = l->interrupted;
	w->result.complete = !l->interrupted && !l->failed && !l->other_failed;
	ml->steps = l->steps;
	ml->counted_steps = l->counted_steps;
	ml->au_percent = l->au_percent;
	w->result.err.code = l->failed ? -EIO : 0;
	w->run.err.code = l->failed || l->other_failed ? -EIO : 0;
	if (l->memory)
		w->result.storage.memory_percent = 96;
	char *quiet = report_text(&w->run, true);
	ck_assert_msg(!strcmp(quiet, l->expected), "%s: %s", l->what, quiet);
	char *full = report_text(&w->run, false);
	ck_assert_msg(!strncmp(full, quiet, strlen(quiet)), "%s: %s", l->what,
		      full);
	check_shape(full);
	free(full);
	free(quiet);
	world_free(w);
}
END_TEST

START_TEST(many_epochs_are_cut_to_fit_one_screen)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, 100);
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\n    3     255.1");
	check_has(text, "\n  ...\n");
	check_has(text, "\n  100     257.2");
	check_has(text, "\n  all    1286.4");
	check_lacks(text, "\n    4  ");
	check_has(text, "epochs 2-100 differ by");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(epochs_that_were_not_kept_are_marked_at_the_end)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, 1024);
	w->result.ml.epochs_total = 5000;
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\n    4  ");
	check_has(text, "\n  ...\n  all ");
	check_lacks(text, "1024  ");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(as_many_epochs_as_fit_are_all_shown)
{
	struct world *w = world_new();

	mem_free(w->result.ml.epochs.items);
	fill_epochs(&w->result.ml, _i ? 12 : 11);
	char *text = report_text(&w->run, false);
	check_shape(text);
	if (_i) {
		check_lacks(text, "\n    4  ");
		check_has(text, "\n  ...\n    6  ");
	} else {
		check_has(text, "\n    4  ");
		check_lacks(text, "...");
	}
	free(text);
	world_free(w);
}
END_TEST

START_TEST(shares_add_up_to_100_as_printed)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->time_percent = (struct time_percent){
		.compute = 100.0 / 3,
		.stall = 100.0 / 3,
		.barrier = 100.0 / 3,
	};
	ml->loader_percent = (struct loader_percent){
		.open = 9.96,
		.stat = 10.04,
		.read = 10.02,
		.write = 9.98,
		.fsync = 10.01,
		.close = 9.99,
		.reap = 10,
		.cpu = 10,
		.idle = 9.97,
		.other = 10.03,
	};
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "compute 33.4%  stall 33.3%  barrier 33.3%");
	check_lacks(text, "oversleep");
	check_has(text,
		  "\nloader time        read 10.0%  write 10.0%  "
		  "open 10.0%  stat 10.0%  fsync 10.0%\n"
		  "                   close 10.0%  reap 10.0%  cpu 10.0%  "
		  "other 10.0%  idle 10.0%  = 100%\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_stall_of_minutes_and_a_long_percentile_list_keep_their_columns)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	w->job.percentile_list =
		(struct f64_list){ 17,
				   { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90,
				     95, 99, 99.5, 99.9, 99.95, 99.99 } };
	hist_free(ml->stall_ns);
	ml->stall_ns =
		hist_of(19960, SPREAD({ 50, 12000 }, { 99, 61000 }), 182000);
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text,
		  "\nlatency, ms         count      mean        p50        "
		  "p90        p99        max\n");
	check_has(text, "\nstall              19,960  26001      12000      "
			"54895      61069     182000\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(an_outage_in_the_middle_shows_in_the_steady_line)
{
	struct world *w = world_new();
	struct epoch_result *e = w->result.ml.epochs.items;

	e[3].sample_bytes_per_sec /= 2;
	w->result.errors = 3;
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, "\nsteady             epochs 2-5 differ by 100.8%; "
			"3 errors counted, the run went on\n");
	free(text);
	world_free(w);
}
END_TEST

/* clang-format off */
static const struct {
	uint64_t failed, errors;
	bool is_too_many;
	double au;
	const char *line;
} failing[] = {
	{ 100, 100, true, NONE, ": ERRORS: 100 of 1,000 samples failed; no AU, 14.86 GiB/s, " },
	{ 100, 100, false, 88, ": ERRORS: 100 of 1,000 samples failed; 88.0% AU, 14.86 GiB/s, " },
	{ 3, 3, false, 93.1, " samples/s; 3 of 1,000 samples failed\n" },
	/* of what no accelerator took */
	{ 0, 1, true, 98.1, ": ERRORS: 1 error; 98.1% AU (target 90%: " },
};
/* clang-format on */

START_TEST(errors_stand_in_the_first_line)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->failed_samples = failing[_i].failed;
	w->result.errors = failing[_i].errors;
	w->result.failed.count = w->result.errors;
	w->result.failed.of = 1000;
	w->result.failed.percent = (double)w->result.errors / 10;
	w->result.failed.is_too_many = failing[_i].is_too_many;
	ml->au_percent = failing[_i].au;
	for (unsigned quiet = 0; quiet < 2; quiet++) {
		char *text = report_text(&w->run, quiet);

		check_shape(text);
		check_has(text, failing[_i].line);
		ck_assert_ptr_eq(strstr(text, "COMPUTE-BOUND"), NULL);
		free(text);
	}
	world_free(w);
}
END_TEST

START_TEST(two_epochs_tell_nothing_about_steadiness)
{
	struct world *w = world_new();

	w->result.ml.epochs.count = w->result.ml.epochs_total = 2;
	char *text = report_text(&w->run, false);
	check_has(text, "\nsteady             unknown (takes 3 whole epochs); "
			"no errors\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(control_characters_of_a_name_never_reach_the_terminal)
{
	struct world *w = world_new();

	mem_replace(&w->job.name, "a\033[2Jb");
	char *text = report_text(&w->run, true);
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
	char *text = report_text(&a->run, false);
	check_has(text, "; no errors\n\nquickstart: 98.1% AU, 312 MiB/s");
	free(text);
	text = report_text(&a->run, true);
	ck_assert_str_eq(text,
			 "unet3d: 63.1% AU (target 90%: missed), 14.86 GiB/s, "
			 "108.8 samples/s\n"
			 "quickstart: 98.1% AU, 312 MiB/s, 156.1 samples/s\n");
	free(text);
	/* verdict_fill replaced the verdicts of the copies. */
	a->result = both[0];
	b->result = both[1];
	world_free(a);
	world_free(b);
}
END_TEST

START_TEST(storage_is_described_by_what_lies_under_the_directory)
{
	static const struct {
		const char *filesystem, *source, *target, *options, *device,
			*kind;
		bool is_memory;
		const char *expected;
		uint64_t paths, osts;
		bool has_own_cache;
	} mounts[] = {
		{ "nfs4", "192.0.2.1:/ai", "/mnt/array",
		  "rw,vers=4.2,rsize=262144,proto=rdma", NULL, NULL, false,
		  "nfs4 192.0.2.1:/ai at /mnt/array "
		  "(vers=4.2,proto=rdma,rsize=256k)",
		  0, 0, false },
		{ "ext4", "/dev/vda1", "/", "rw", "vda", "virtio", false,
		  "ext4 on /dev/vda1 at / (virtio, scheduler none, read_ahead "
		  "128 KiB)",
		  0, 0, false },
		{ "nfs4", "192.0.2.1:/ai", "/mnt/array",
		  "rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,"
		  "hard,proto=tcp,nconnect=16,timeo=600,retrans=2,sec=sys,"
		  "clientaddr=192.0.2.77,local_lock=none,addr=192.0.2.1",
		  NULL, NULL, false,
		  "nfs4 192.0.2.1:/ai at /mnt/array "
		  "(vers=4.2,proto=tcp,nconnect=16,rsize=1m)",
		  0, 0, false },
		{ "ext4", "/dev/vda1", "/", "rw,relatime,sync,data=journal",
		  "vda", NULL, false,
		  "ext4 on /dev/vda1 at / (scheduler none, read_ahead 128 "
		  "KiB),\n"
		  "          mounted sync,data=journal",
		  0, 0, false },
		{ "xfs", "/dev/nvme1n1", "/mnt/nvme", "rw", "nvme1n1",
		  "nvme-rdma", false,
		  "xfs on /dev/nvme1n1 at /mnt/nvme (nvme-rdma, 2 paths, "
		  "scheduler none,\n          read_ahead 128 KiB)",
		  .paths = 2 },
		{ "lustre", "192.0.2.5@o2ib:/scratch", "/scratch",
		  "rw,flock,lazystatfs", NULL, NULL, false,
		  "lustre 192.0.2.5@o2ib:/scratch at /scratch (12 OSTs), "
		  "mounted flock,lazystatfs",
		  .osts = 12 },
		{ "lustre", "192.0.2.5@tcp:/scratch", "/scratch", "rw", NULL,
		  NULL, false, "lustre 192.0.2.5@tcp:/scratch at /scratch", 0,
		  0, false },
		{ "gpfs", "fs1", "/gpfs", "rw", NULL, NULL, false,
		  "gpfs fs1 at /gpfs (own cache: bytes from memory unknown)",
		  .has_own_cache = true },
		{ "tmpfs", "tmpfs", "/tmp", "rw", NULL, NULL, true,
		  "tmpfs at /tmp: this is memory", 0, 0, false },
		{ "overlay", "overlay", "/", "rw", NULL, NULL, false,
		  "overlay at /", 0, 0, false },
		{ NULL, NULL, NULL, NULL, NULL, NULL, false, "unknown", 0, 0,
		  false },
	};
	struct world *w = world_new();
	struct storage_result *s = &w->result.storage;
	char line[160];

	mem_replace(&s->filesystem, mounts[_i].filesystem);
	mem_replace(&s->mount_source, mounts[_i].source);
	mem_replace(&s->mount_target, mounts[_i].target);
	mem_replace(&s->mount_options, mounts[_i].options);
	mem_replace(&s->device, mounts[_i].device);
	mem_replace(&s->device_kind, mounts[_i].kind);
	s->is_memory = mounts[_i].is_memory;
	s->has_own_cache = mounts[_i].has_own_cache;
	s->device_paths = mounts[_i].paths ? mounts[_i].paths : UINT64_MAX;
	s->osts = mounts[_i].osts ? mounts[_i].osts : UINT64_MAX;
	if (s->device) {
		mem_replace(&s->scheduler, "none");
		s->read_ahead_bytes = 131072;
	}
	char *text = report_text(&w->run, false);
	check_shape(text);
	snprintf(line, sizeof(line), "\nstorage   %s\n", mounts[_i].expected);
	check_has(text, line);
	if (s->is_memory)
		check_has(text, "MEMORY, NOT STORAGE\n");
	free(text);
	world_free(w);
}
END_TEST

/* clang-format off */
static const struct {
	unsigned nodes;			/* a bit for each */
	uint64_t device_node;
	double far_percent;
	int loader;
	const char *numa_cpu_nodes, *cpus_allowed, *unbound, *expected;
} numa_lines[] = {
	{ 1, 1, 100, LOADER_PYTORCH, NULL, NULL, NULL,
	  "loaders on node 0, disk vda on node 1: far (numa=device binds them)" },
	{ 2, 1, 0, LOADER_PYTORCH, NULL, NULL, NULL,
	  "loaders on node 1, disk vda on node 1: near" },
	{ 3, 1, 48.25, LOADER_PYTORCH, NULL, NULL, NULL,
	  "loaders on nodes 0-1, disk vda on node 1: 48.2% of the batches far\n"
	  "                   (numa=device binds them)" },
	{ 1, 1, 100, LOADER_PLAIN, "0", NULL, NULL,
	  "loaders on node 0, disk vda on node 1: far (with numa_cpu_nodes=0)" },
	{ 3, 1, 30, LOADER_PLAIN, NULL, "0-9", NULL,
	  "loaders on nodes 0-1, disk vda on node 1: 30.0% of the samples far\n"
	  "                   (with cpus_allowed=0-9)" },
	{ 3, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, "disk vda is a riddle",
	  "loaders on nodes 0-1, not bound: disk vda is a riddle" },
	{ 0, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, "this host has one NUMA node",
	  "loaders not bound: this host has one NUMA node" },
	{ 3, UINT64_MAX, NONE, LOADER_PYTORCH, NULL, NULL, NULL, NULL },
	{ 0, 0, NONE, LOADER_PYTORCH, NULL, NULL, NULL, NULL },
};
/* clang-format on */

static void fill_numa(struct numa_result *n, size_t i)
{
	*n = (struct numa_result){ .device_node = numa_lines[i].device_node,
				   .seen.bits[0] = numa_lines[i].nodes,
				   .far_percent = numa_lines[i].far_percent,
				   .unbound = numa_lines[i].unbound };
	if (numa_lines[i].nodes == 3)
		n->loader_nodes = mem_strdup("0-1");
	else if (numa_lines[i].nodes)
		n->loader_nodes =
			mem_strdup(numa_lines[i].nodes == 1 ? "0" : "1");
}

START_TEST(loaders_far_from_their_disk_are_reported)
{
	struct world *w = world_new();
	char line[200];

	mem_replace(&w->result.storage.device, "vda");
	w->job.loader = numa_lines[_i].loader;
	mem_replace(&w->job.numa_cpu_nodes, numa_lines[_i].numa_cpu_nodes);
	mem_replace(&w->job.cpus_allowed, numa_lines[_i].cpus_allowed);
	fill_numa(&w->result.numa, (size_t)_i);
	char *text = report_text(&w->run, false);
	check_shape(text);
	if (numa_lines[_i].expected) {
		snprintf(line, sizeof(line), "\n%-19s%s\n", "numa",
			 numa_lines[_i].expected);
		check_has(text, line);
	} else {
		ck_assert_ptr_null(strstr(text, "\nnuma"));
	}
	bool is_known = w->result.numa.loader_nodes &&
			w->result.numa.device_node != UINT64_MAX;
	ck_assert(is_known == !!strstr(text, "NUMA node 1)"));
	free(text);
	mem_replace(&w->job.numa_cpu_nodes, NULL);
	mem_replace(&w->job.cpus_allowed, NULL);
	mem_free(w->result.numa.loader_nodes);
	world_free(w);
}
END_TEST

START_TEST(the_network_stands_with_the_host)
{
	static const struct {
		struct network_result network;
		const char *expected; /* NULL = nothing */
	} rows[] = {
		{ { "bond0", UINT64_C(200000000000), 0, 130.2e9, 65.1 },
		  "bond0 130 of 200 Gb/s\n" },
		{ { "eth0", UINT64_C(1000000000), 0, .4242e9, 42.42 },
		  "eth0 0.424 of 1 Gb/s\n" },
		{ { "eth0", UINT64_MAX, 0, 1.5e9, NONE },
		  "eth0 1.5 Gb/s, line rate unknown\n" },
		{ { NULL, UINT64_MAX, UINT64_MAX, NONE, NONE }, NULL },
	};
	struct world *w = world_new();

	w->result.network = rows[_i].network;
	char *text = report_text(&w->run, false);
	check_shape(text);
	if (rows[_i].expected)
		check_has(text, rows[_i].expected);
	else
		check_lacks(text, "Gb/s");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(servers_see_reads_of_another_size)
{
	static const struct {
		const char *filesystem;
		uint64_t bytes, reads;
		const char *expected; /* NULL = nothing */
	} rows[] = {
		{ "nfs4", UINT64_C(400) << 20, 400,
		  "1023 KiB mean; 1 MiB mean at the NFS server\n" },
		{ "nfs", UINT64_C(400) << 20, 1600,
		  "   256 KiB mean at the NFS server\n" },
		{ "lustre", UINT64_C(400) << 20, 100,
		  "   4 MiB mean at the Lustre servers\n" },
		/* counted otherwise, or not at all */
		{ "nfs4", UINT64_C(400) << 20, UINT64_MAX, NULL },
		{ "nfs4", 0, 0, NULL },
		{ "ext4", UINT64_C(400) << 20, 400, NULL },
	};
	struct world *w = world_new();
	struct storage_result *s = &w->result.storage;

	mem_replace(&s->filesystem, rows[_i].filesystem);
	s->device_read_bytes = rows[_i].bytes;
	s->device_reads = rows[_i].reads;
	char *text = report_text(&w->run, false);
	check_shape(text);
	if (rows[_i].expected)
		check_has(text, rows[_i].expected);
	else
		check_lacks(text, "mean at the");
	free(text);
	world_free(w);
}
END_TEST

/* Caches were dropped between its epochs: the host was looked at then, too. */
START_TEST(a_window_that_has_more_than_the_epochs_is_named)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;

	ml->runtime_seconds = 1286.4;
	w->result.window = (struct window_result){ "start", 2, 1300 };
	check_report_lacks(&w->run, "window ");
	w->result.window.seconds = 1400;
	check_line(&w->run, "window             from memory, host: 23m20s, "
			    "start to end of job; rates over 21m26s of it");
	w->result.window = (struct window_result){ "ramp_time", 62, 1300 };
	check_line(&w->run, "window             from memory, host: 21m40s, "
			    "end of ramp_time to end of job");
	world_free(w);
}
END_TEST

START_TEST(dropping_is_reported_as_it_happened)
{
	static const struct {
		int invalidate;
		uint64_t drops, files;
		const char *expected[2];
	} rows[] = {
		{ INVALIDATE_NONE,
		  0,
		  1,
		  { "0.0% of the dataset was cached before (1 file sampled)",
		    "invalidate=0 dropped nothing" } },
		{ INVALIDATE_RUN,
		  1,
		  256,
		  { "(256 files sampled)",
		    "invalidate=run dropped its files before the run" } },
		{ INVALIDATE_RUN,
		  0,
		  256,
		  { "(256 files sampled)",
		    "invalidate=run found nothing to drop" } },
		{ INVALIDATE_EPOCH,
		  0,
		  256,
		  { "(256 files sampled)",
		    "invalidate=epoch found nothing to drop" } },
	};
	struct world *w = world_new();

	w->job.invalidate = rows[_i].invalidate;
	w->result.storage.cache_drops = rows[_i].drops;
	w->result.storage.resident_files = rows[_i].files;
	char *text = report_text(&w->run, false);
	check_shape(text);
	check_has(text, rows[_i].expected[0]);
	check_has(text, rows[_i].expected[1]);
	free(text);
	world_free(w);
}
END_TEST

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
	char *text = report_text(&w->run, false);
	check_shape(text);
	ck_assert_str_eq(
		text, "unet3d: 15,520 files, 2.07 TiB written in 7m21s, "
		      "4.81 GiB/s, 35.19 files/s\n"
		      "  in memory now   0.0%: each file was synced and "
		      "dropped from the page cache\n"
		      "  12,480 files were there already, complete, and were "
		      "kept\n");
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
	char *text = report_text(&w->run, false);
	ck_assert_str_eq(text, "unet3d: nothing written, 28,000 files are "
			       "there\n"
			       "  in memory now   unknown\n");
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
	char *text = report_text(&w->run, false);
	check_has(text, "unet3d: 1 file, 3 MiB written in 1.50 s, 2.00 MiB/s, "
			"0.667 files/s (interrupted)\n");
	check_has(text, "\n  the dataset is incomplete; the next run goes on "
			"where this one ended\n");
	free(text);
	world_free(w);
}
END_TEST

START_TEST(a_job_that_never_began_has_one_line)
{
	struct world *w = world_new();

	w->result.work = NULL;
	char *text = report_text(&w->run, false);
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
	tcase_add_test(t,
		       an_engines_means_are_named_and_chains_have_no_latency);
	tcase_add_test(t, one_thread_is_no_threads);
	tcase_add_test(
		t,
		a_laptop_report_counts_in_mib_and_leaves_thin_percentiles_out);
	tcase_add_test(t, a_result_from_memory_says_so_in_its_first_line);
	tcase_add_test(t, a_full_host_is_no_statement_about_storage);
	tcase_add_test(t, a_ceiling_has_a_line_and_decides);
	tcase_add_test(t, a_ceiling_of_direct_reads_says_that_it_was_buffered);
	tcase_add_test(t, without_compute_there_is_no_au_and_no_demand);
	tcase_add_test(t, a_model_of_storage_is_named_by_what_it_plays);
	tcase_add_test(t, the_null_engine_is_never_taken_for_storage);
	tcase_add_loop_test(
		t, quiet_prints_the_first_line_and_marks_what_is_not_whole, 0,
		sizeof(first_lines) / sizeof(*first_lines));
	tcase_add_test(t, many_epochs_are_cut_to_fit_one_screen);
	tcase_add_test(t, epochs_that_were_not_kept_are_marked_at_the_end);
	tcase_add_loop_test(t, as_many_epochs_as_fit_are_all_shown, 0, 2);
	tcase_add_test(t, shares_add_up_to_100_as_printed);
	tcase_add_test(
		t,
		a_stall_of_minutes_and_a_long_percentile_list_keep_their_columns);
	tcase_add_test(t, an_outage_in_the_middle_shows_in_the_steady_line);
	tcase_add_test(t, two_epochs_tell_nothing_about_steadiness);
	tcase_add_loop_test(t, errors_stand_in_the_first_line, 0,
			    (int)(sizeof(failing) / sizeof(*failing)));
	tcase_add_test(t,
		       control_characters_of_a_name_never_reach_the_terminal);
	tcase_add_test(t, each_job_has_its_block);
	tcase_add_loop_test(
		t, storage_is_described_by_what_lies_under_the_directory, 0,
		10);
	tcase_add_loop_test(t, the_network_stands_with_the_host, 0, 4);
	tcase_add_loop_test(t, servers_see_reads_of_another_size, 0, 6);
	tcase_add_test(t, a_window_that_has_more_than_the_epochs_is_named);
	tcase_add_loop_test(t, dropping_is_reported_as_it_happened, 0, 4);
	tcase_add_loop_test(t, loaders_far_from_their_disk_are_reported, 0,
			    sizeof(numa_lines) / sizeof(*numa_lines));
	tcase_add_test(t, a_preparation_reports_what_it_wrote_and_kept);
	tcase_add_test(t, a_preparation_with_nothing_to_do_says_so);
	tcase_add_test(t, a_preparation_cut_short_says_how_it_goes_on);
	tcase_add_test(t, a_job_that_never_began_has_one_line);
	suite_add_tcase(s, t);
	return s;
}
