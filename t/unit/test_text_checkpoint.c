/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_checkpoint.c - the report of saves and restores, to the column, from results filled by hand. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "config.h"
#include "report_text.h"
#include "suites.h"
#include "work/workloads.h"

#define NONE ((double)NAN)
#define GIB (UINT64_C(1) << 30)
#define MS UINT64_C(1000000)
#define BYTES UINT64_C(112425625600) /* of a checkpoint: 104.7 GiB */
#define COUNT 10

/* A job and its one record; the fixture of every test. */
struct world {
	struct job *job;
	struct job_result result;
	struct run_result run;
	struct checkpoint_result items[1100];
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

static char filesystem[] = "nfs4", source[] = "192.0.2.1:/ai",
	    target[] = "/mnt/array",
	    options[] = "vers=4.2,proto=tcp,nconnect=16,rsize=1048576";

static void fill_storage(struct storage_result *s)
{
	*s = (struct storage_result){
		.filesystem = filesystem,
		.mount_source = source,
		.mount_target = target,
		.mount_options = options,
		.read_ahead_bytes = UINT64_MAX,
		.device_paths = UINT64_MAX,
		.osts = UINT64_MAX,
		.device_read_bytes = UINT64_MAX,
		.device_reads = UINT64_MAX,
		.memory_percent = NONE,
		.source = "unknown",
		.resident_before_percent = NONE,
	};
}

/* Checkpoint i, from 0: the first took longest, the seventh had a slow rank. */
static void fill_item(struct checkpoint_result *k, uint64_t i)
{
	*k = (struct checkpoint_result){
		.number = i + 1,
		.epoch = 1,
		.step = i + 1,
		.seconds = i == 0 ? 12.4 : 11.8 + 0.02 * (double)i,
		.bytes = BYTES,
		.files = 16,
		.ranks = 8,
		.slowest_rank = i == 6 ? 5 : i % 8,
		.commit_seconds = NONE,
		.delete_seconds = NONE,
		.snapshot_seconds = NONE,
		.wait_seconds = NONE,
		.stall_seconds = NONE,
		.complete = true,
	};
	snprintf(k->name, sizeof(k->name), "global_epoch1_step%u",
		 (unsigned)i + 1);
	k->bytes_per_sec = (double)k->bytes / k->seconds;
	k->slowest_rank_seconds = k->seconds;
	k->slowest_rank_bytes_per_sec = k->bytes_per_sec / 8;
}

static void fill_result(struct world *w, struct checkpoints_result *c)
{
	checkpoints_result_init(c);
	for (uint64_t i = 0; i < COUNT; i++)
		fill_item(&w->items[i], i);
	c->directory = "/mnt/array/ckpt";
	c->items = (struct metric_list){ w->items, COUNT };
	c->count = c->completed = COUNT;
	c->ranks = c->threads = c->job_ranks = 8;
	c->bytes = COUNT * BYTES;
	c->bytes_per_checkpoint = BYTES;
	c->seconds_mean = 12.02;
	c->seconds_min = 11.8;
	c->seconds_max = 12.4;
	c->first_seconds = 12.4;
	c->later_seconds = 11.9;
	c->bytes_per_sec = (double)BYTES / 12.02;
	c->slowest_rank_bytes_per_sec = 1.055 * (double)GIB;
	c->slowest_rank = 5;
	c->slowest_checkpoint = 7;
	c->wall_seconds = 165.2;
}

static void fill_save(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	fill_result(w, c);
	c->rank_percent = (struct rank_percent){ .data = 0.4,
						 .open = 0.1,
						 .write = 37.3,
						 .fsync = 62.0,
						 .other = 0.2 };
	c->open_ns = hist_of(160, 400000);
	c->write_ns = hist_of(107220, 30000);
	c->fsync_ns = hist_of(160, 80 * MS);
	c->close_ns = hist_of(160, 1000);
	c->durable = true;
	c->in_memory_bytes = 0;
	w->result.write.io_bytes = c->bytes;
	w->result.write.total_ios = 107220;
}

/* The model at the end of the job files' page. */
static struct world *world_new(void)
{
	struct world *w = mem_zalloc(sizeof(*w));
	struct job *j = w->job = job_new("save");

	j->phase = PHASE_CHECKPOINT;
	j->checkpoints = COUNT;
	j->pause_ns = 5000 * MS;
	j->checkpoint_keep = 10;
	j->checkpoint_threads = 1;
	j->checkpoint_layout = LAYOUT_DEEPSPEED;
	j->checkpoint_fsync = CHECKPOINT_FSYNC_FILE;
	j->scale = 100;
	j->iodepth = 1;
	j->bs = (struct u64_pair){ 1048576, 1048576 };
	j->invalidate = INVALIDATE_RUN;
	mem_replace(&j->ioengine, "psync");
	j->percentile_list = (struct f64_list){ 4, { 50, 90, 99, 99.9 } };
	w->result = (struct job_result){ .job = j,
					 .work = &work_checkpoint,
					 .members = 1,
					 .elapsed_seconds = 166 };
	fill_storage(&w->result.storage);
	w->result.in_use = "";
	w->result.host = (struct host_result){ .cpu_percent = 11.2,
					       .user_percent = 1.1,
					       .system_percent = 10.1,
					       .switches_per_sec = 50778 };
	w->result.network =
		(struct network_result){ .interface = "bond0",
					 .line_rate_bits_per_sec =
						 UINT64_C(200000000000),
					 .received_bits_per_sec = 1e9,
					 .percent = 0.5 };
	w->result.numa = (struct numa_result){ .device_node = UINT64_MAX,
					       .far_percent = NONE };
	w->result.complete = true;
	checkpoints_result_init(&w->result.ml.restores);
	fill_save(w);
	w->run.jobs = &w->result;
	w->run.job_count = 1;
	w->run.timestamp_ms = UINT64_C(1795269731000);
	w->run.host = (struct host){ .hostname = "client01",
				     .kernel = "Linux 6.8.0",
				     .cpus = 64,
				     .cpus_online = 64,
				     .memory_bytes = 256 * GIB };
	return w;
}

static void free_hists(struct checkpoints_result *c)
{
	struct hist *all[] = { c->open_ns,  c->write_ns, c->read_ns,
			       c->fsync_ns, c->close_ns, c->rename_ns,
			       c->unlink_ns };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		hist_free(all[i]);
}

/* The same read back, a minute later. */
static struct world *restore_new(void)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.restores;

	free_hists(&w->result.ml.saves);
	checkpoints_result_init(&w->result.ml.saves);
	w->job->phase = PHASE_RESTORE;
	mem_replace(&w->job->name, "restore");
	w->job->pause_ns = 0;
	w->job->drop_caches = DROP_CACHES_RUN;
	fill_result(w, c);
	c->is_restore = true;
	c->rank_percent = (struct rank_percent){ .open = 0.1,
						 .read = 99.5,
						 .other = 0.4 };
	c->open_ns = hist_of(160, 400000);
	c->read_ns = hist_of(107220, 30000);
	c->close_ns = hist_of(160, 1000);
	c->caches_dropped = true;
	w->result.read = w->result.write;
	w->result.write = (struct direction_result){ 0 };
	w->result.storage.memory_percent = 0.2;
	w->result.storage.source = "NFS mountstats";
	return w;
}

static void world_free(struct world *w)
{
	struct verdict_result *v = &w->result.verdict;
	char *all[] = { v->name, v->headline, v->because, v->try_next };

	free_hists(&w->result.ml.saves);
	free_hists(&w->result.ml.restores);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		mem_free(all[i]);
	job_free(w->job);
	mem_free(w);
}

/* ---- goldens ---- */

START_TEST(a_save)
{
	struct world *w = world_new();

	/* clang-format off */
	check_report(&w->run,
		"save: 8.71 GiB/s, 12.0 s per checkpoint (10 of 104.7 GiB, 8 ranks)\n"
		"  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); MLPerf scores this one\n"
		"  spread          checkpoints 11.8 to 12.4 s; first 12.4, later 11.9\n"
		"  fsync           62.0% of the time: most bytes were still in memory when write() returned\n"
		"  STORAGE-BOUND   storage took 8.71 GiB/s of 8 ranks\n"
		"  because         ranks spent 99.4% of their time in I/O calls, write 37.3%, fsync 62.0%;\n"
		"                  host CPU 11.2%\n"
		"  try next        --direct=1 : is it storage, or this host writing back its page cache?\n"
		"\n"
		"job       10 checkpoints, 5 s between them, layout deepspeed, fsync of each file,\n"
		"          the newest 10 kept\n"
		"state     104.7 GiB per checkpoint = 0.41 x this host's memory, in 16 files,\n"
		"          in /mnt/array/ckpt\n"
		"writers   8 threads (1 per rank), ioengine=psync, direct=0, 1 MiB requests\n"
		"storage   nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"checkpoint   seconds       GiB   GiB/s   slowest rank, GiB/s\n"
		"         1     12.40     104.7    8.44     1.055 (rank 0)\n"
		"         2     11.82     104.7    8.86     1.107 (rank 1)\n"
		"         3     11.84     104.7    8.84     1.105 (rank 2)\n"
		"         4     11.86     104.7    8.83     1.104 (rank 3)\n"
		"         5     11.88     104.7    8.81     1.102 (rank 4)\n"
		"         6     11.90     104.7    8.80     1.100 (rank 5)\n"
		"         7     11.92     104.7    8.78     1.098 (rank 5)\n"
		"         8     11.94     104.7    8.77     1.096 (rank 7)\n"
		"         9     11.96     104.7    8.75     1.094 (rank 0)\n"
		"        10     11.98     104.7    8.74     1.092 (rank 1)\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open                  160    8.197    2.761   25.62         -        -   39.02\n"
		"write             107,220    0.624    0.216    1.978    2.875    2.990    3.000\n"
		"fsync                 160 1639      551.6   5117            -        - 7804\n"
		"close                 160    0.020    0.007    0.064        -        -    0.098\n"
		"\n"
		"rank time          write 37.3%  fsync 62.0%  open 0.1%  data 0.4%  other 0.2%  = 100%\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 50,780 switches/s\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_restore)
{
	struct world *w = restore_new();

	w->result.ml.restores.count = w->result.ml.restores.completed = 1;
	w->result.ml.restores.later_seconds = NONE;
	w->result.ml.restores.items.count = 1;
	/* clang-format off */
	check_report(&w->run,
		"restore: 8.71 GiB/s, 12.0 s per checkpoint (1 of 104.7 GiB, 8 ranks)\n"
		"  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); MLPerf scores this one\n"
		"  caches          emptied before the first one (drop_caches=run)\n"
		"  verified        no: what was read was dropped (verify=none)\n"
		"  STORAGE-BOUND   storage delivered 8.71 GiB/s to 8 ranks\n"
		"  because         ranks spent 99.6% of their time in I/O calls, read 99.5%; host CPU 11.2%\n"
		"  try next        --checkpoint_threads=2 : is it bandwidth,\n"
		"                  or too few reads in flight (8 now)?\n"
		"\n"
		"job       the newest 10 checkpoints, layout deepspeed\n"
		"state     104.7 GiB per checkpoint = 0.41 x this host's memory, in 16 files,\n"
		"          in /mnt/array/ckpt\n"
		"readers   8 threads (1 per rank), ioengine=psync, direct=0, 1 MiB requests\n"
		"storage   nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open                  160    8.197    2.761   25.62         -        -   39.02\n"
		"read              107,220    0.624    0.216    1.978    2.875    2.990    3.000\n"
		"close                 160    0.020    0.007    0.064        -        -    0.098\n"
		"\n"
		"rank time          read 99.5%  open 0.1%  other 0.4%                          = 100%\n"
		"from memory        0.2% of the bytes read, 2.09 of 1047 GiB (NFS mountstats);\n"
		"                   caches inside the array cannot be seen\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 50,780 switches/s;\n"
		"                   bond0 1 of 200 Gb/s\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

/* ---- what is not durable ---- */

static struct checkpoints_result *without_fsync(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	w->job->checkpoint_fsync = CHECKPOINT_FSYNC_NONE;
	c->durable = false;
	c->in_memory_bytes = 412 * GIB;
	c->rank_percent = (struct rank_percent){ .write = 99.2,
						 .open = 0.2,
						 .data = 0.6 };
	return c;
}

START_TEST(without_fsync_the_first_line_says_it)
{
	struct world *w = world_new();

	without_fsync(w);
	check_first(&w->run,
		    "save: 8.71 GiB/s; NOT DURABLE: 412 of 1047 GiB were "
		    "still in this host's memory at the end\n");
	mem_replace(&w->job->name, "a_long_name");
	check_first(&w->run,
		    "a_long_name: 8.71 GiB/s; NOT DURABLE: 412 of 1047 GiB "
		    "were still in memory at the end\n");
	mem_replace(&w->job->name, "a_name_that_is_longer_than_others");
	check_first(&w->run, "a_name_that_is_longer_than_others: 8.71 GiB/s; "
			     "NOT DURABLE: 412 of 1047 GiB in memory\n");
	check_line(&w->run,
		   "  fsync           none (checkpoint_fsync=none): 412 of "
		   "1047 GiB were still in this host's");
	check_line(&w->run,
		   "  NOT A STORAGE RESULT   checkpoint_fsync=none: this is "
		   "how fast memory took them");
	check_line(&w->run, "  try next        --checkpoint_fsync=file : until "
			    "storage has the bytes");
	world_free(w);
}
END_TEST

START_TEST(a_little_in_memory_leaves_a_storage_result)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = GIB;
	check_first(&w->run,
		    "save: 8.71 GiB/s; NOT DURABLE: 1 of 1047 GiB were "
		    "still in this host's memory at the end\n");
	check_line(&w->run,
		   "  STORAGE-BOUND   storage took 8.71 GiB/s of 8 ranks; "
		   "nothing was flushed");
	check_line(&w->run, "                  (checkpoint_fsync=none)");
	world_free(w);
}
END_TEST

START_TEST(what_nobody_knows_is_unknown)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = UINT64_MAX;
	check_first(&w->run,
		    "save: 8.71 GiB/s; NOT DURABLE: an unknown part of 1.02 "
		    "TiB were still in memory at the end\n");
	world_free(w);
}
END_TEST

START_TEST(o_direct_leaves_the_cache_of_the_device)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = 0;
	w->job->direct = true;
	check_first(&w->run,
		    "save: 8.71 GiB/s; NOT DURABLE: 0 of 1047 GiB were "
		    "still in this host's memory at the end\n");
	check_line(&w->run,
		   "  fsync           none (checkpoint_fsync=none): what "
		   "the device's own cache holds is not");
	check_line(&w->run,
		   "  STORAGE-BOUND   storage took 8.71 GiB/s of 8 ranks; "
		   "nothing was flushed");
	world_free(w);
}
END_TEST

/* ---- what is no storage ---- */

START_TEST(a_restore_from_memory_is_no_storage_result)
{
	struct world *w = restore_new();

	w->result.storage.memory_percent = 96;
	w->result.ml.restores.caches_dropped = false;
	check_line(&w->run,
		   "restore: 8.71 GiB/s, 12.0 s per checkpoint (10 of 104.7 "
		   "GiB)      MEMORY, NOT STORAGE");
	check_line(&w->run,
		   "  NOT A STORAGE RESULT   96.0% of the bytes came from "
		   "this host's page cache");
	check_line(&w->run,
		   "from memory        96.0% of the bytes read, 1005 of 1047 "
		   "GiB (NFS mountstats);");
	w->result.storage.jobs_read_bytes = 2 * w->result.read.io_bytes;
	check_line(&w->run,
		   "from memory        96.0% of the bytes that mlgen read "
		   "there,");
	check_line(&w->run,
		   "  try next        --drop_caches=run : the same from "
		   "empty caches");
	w->result.storage.memory_percent = 10;
	check_report_lacks(&w->run, "NOT STORAGE");
	world_free(w);
}
END_TEST

START_TEST(what_came_before_the_first_one_is_in_the_window)
{
	struct world *w = restore_new();

	w->result.members = 1;
	w->result.window = (struct window_result){ "start", 1, 141 };
	w->result.wall_seconds = 140;
	check_report_lacks(&w->run, "window ");
	w->result.wall_seconds = 120;
	check_line(&w->run, "window             from memory, host: 2m21s, "
			    "start to end of job; rates over 2m00s of it");
	world_free(w);
}
END_TEST

START_TEST(caches_that_were_not_emptied_are_said)
{
	struct world *w = restore_new();

	w->result.ml.restores.caches_dropped = false;
	check_line(&w->run,
		   "  caches          NOT EMPTIED (drop_caches=no): only "
		   "the files left this host's page cache");
	w->job->direct = true;
	check_line(&w->run, "  caches          NOT EMPTIED (drop_caches=no); "
			    "direct=1 passes by this host's page cache");
	world_free(w);
}
END_TEST

START_TEST(what_was_verified_is_said)
{
	struct world *w = restore_new();

	w->result.ml.restores.verified = true;
	check_line(&w->run, "  verified        every byte is what was saved "
			    "(verify=crc32c)");
	world_free(w);
}
END_TEST

static const struct mlgen_engine null_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.caps = MLGEN_CAP_NO_FILES,
};

START_TEST(without_storage_nothing_is_said_of_it)
{
	struct world *w = world_new();

	w->job->engine = &null_engine;
	w->result.ml.saves.durable = false;
	check_line(&w->run, "storage   none: ioengine=null touches no file");
	check_line(&w->run,
		   "  try next        --ioengine=psync : the same with "
		   "storage");
	check_report_lacks(&w->run, "NOT DURABLE");
	check_report_lacks(&w->run, "STORAGE-BOUND");
	w->job->engine = NULL;
	world_free(w);
}
END_TEST

/* ---- what is less than asked ---- */

START_TEST(a_part_of_the_ranks_and_of_the_bytes_is_said_early)
{
	struct world *w = world_new();

	w->result.ml.saves.job_ranks = 64;
	w->job->scale = 1;
	check_line(&w->run,
		   "save: 8.71 GiB/s, 12.0 s per checkpoint (10 of 104.7 "
		   "GiB, scale=1%, 8 of 64 ranks)");
	check_line(&w->run,
		   "  part of it      8 of 64 ranks are played by this "
		   "host;");
	check_line(&w->run,
		   "                  scale=1%: each tensor has that part "
		   "of its bytes");
	check_line(&w->run,
		   "  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); "
		   "MLPerf scores the slowest of all");
	world_free(w);
}
END_TEST

static void fail_fourth(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	w->result.complete = false;
	c->completed = 3;
	c->count = 4;
	c->items.count = 4;
	w->items[3].complete = false;
	snprintf(w->items[3].error, sizeof(w->items[3].error),
		 "/mnt/array/ckpt/x: fsync: Input/output error");
}

START_TEST(a_failed_checkpoint_is_said_early)
{
	struct world *w = world_new();

	fail_fourth(w);
	mlgen_fail(&w->result.err, -EIO, "fsync");
	check_line(&w->run,
		   "save: 8.71 GiB/s, 12.0 s per checkpoint; stopped by an "
		   "error in checkpoint 4 of 10");
	check_line(&w->run,
		   "  error           /mnt/array/ckpt/x: fsync: Input/output "
		   "error");
	check_line(&w->run,
		   "         4   not complete: /mnt/array/ckpt/x: fsync: "
		   "Input/output error");
	world_free(w);
}
END_TEST

START_TEST(an_interrupted_one_is_said_early)
{
	struct world *w = world_new();

	fail_fourth(w);
	snprintf(w->items[3].error, sizeof(w->items[3].error), "interrupted");
	w->result.interrupted = true;
	check_line(&w->run,
		   "save: 8.71 GiB/s, 12.0 s per checkpoint; interrupted in "
		   "checkpoint 4 of 10");
	check_line(&w->run, "         4   not complete: interrupted");
	check_report_lacks(&w->run, "  error  ");
	world_free(w);
}
END_TEST

START_TEST(none_is_said_to_be_none)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	fail_fourth(w);
	w->items[0] = w->items[3];
	w->items[0].number = 1;
	c->items.count = c->count = 1;
	c->completed = 0;
	c->bytes_per_sec = c->seconds_mean = NONE;
	mlgen_fail(&w->result.err, -EIO, "fsync");
	check_first(&w->run,
		    "save: no checkpoint was saved (stopped by an error in "
		    "checkpoint 1 of 10)\n");
	check_line(&w->run,
		   "  error           /mnt/array/ckpt/x: fsync: Input/output "
		   "error");
	check_report_lacks(&w->run, "nan");
	world_free(w);
}
END_TEST

/* ---- the table, and what stands below ---- */

START_TEST(of_many_checkpoints_the_first_and_the_last_stay)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	for (uint64_t i = 0; i < 1000; i++)
		fill_item(&w->items[i], i);
	c->count = c->completed = c->items.count = 1000;
	check_line(&w->run, "       ...");
	check_line(&w->run, "         2     11.82     104.7    8.86     1.107 "
			    "(rank 1)");
	check_report_lacks(&w->run, "\n         3 ");
	check_report_lacks(&w->run, "\n       900 ");
	c->count = c->completed = 5000;
	check_report_lacks(&w->run, "\n      1000 ");
	world_free(w);
}
END_TEST

START_TEST(renames_and_deletions_have_their_columns)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	w->job->rename_commit = true;
	for (unsigned i = 0; i < COUNT; i++)
		w->items[i].commit_seconds = 0.004;
	w->items[9].deleted_checkpoints = c->deleted_checkpoints = 1;
	w->items[9].deleted_files = c->deleted_files = 16;
	w->items[9].delete_seconds = c->delete_seconds = 0.412;
	c->rename_ns = hist_of(10, MS);
	c->unlink_ns = hist_of(16, 20 * MS);
	check_line(&w->run,
		   "checkpoint   seconds       GiB   GiB/s   slowest rank, "
		   "GiB/s  commit, s  delete, s");
	check_line(&w->run,
		   "        10     11.98     104.7    8.74     1.092 (rank "
		   "1)         0.004      0.412");
	check_line(&w->run,
		   "deleted            1 older checkpoint, 16 files, in "
		   "0.412 s (checkpoint_keep=10)");
	check_line(&w->run,
		   "rename                 10   16.18         -        -    "
		   "    -        -   65.95");
	check_line(&w->run,
		   "unlink                 16  356.7          -        -    "
		   "    -        - 1550");
	world_free(w);
}
END_TEST

/* ---- in a training ---- */

static struct world *training_new(void)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;
	struct checkpoints_result *c = &ml->saves;

	w->job->phase = PHASE_TRAIN;
	mem_replace(&w->job->name, "unet3d");
	mem_replace(&w->job->checkpoint_every, "2 epochs");
	w->job->batch_size = 7;
	w->job->read_threads = 4;
	w->job->access = ACCESS_PLAIN;
	w->job->checkpoint_mode = CHECKPOINT_ASYNC;
	w->result.work = &work_train;
	ml->accelerators = 8;
	ml->steps = 2500;
	ml->counted_steps = 19960;
	ml->sample_bytes_per_sec = 14.86 * (double)GIB;
	ml->samples_per_sec = 108.8;
	ml->demand_bytes_per_sec = 23.67 * (double)GIB;
	ml->au_percent = 63.1;
	ml->target_au_percent = 90;
	ml->time_percent = (struct time_percent){ .compute = 50,
						  .stall = 40,
						  .checkpoint = 10 };
	ml->loader_percent = (struct loader_percent){ .read = 99, .idle = 1 };
	c->stall_seconds = 120.4;
	c->snapshot_seconds = 3.2;
	c->wait_seconds = 0.4;
	return w;
}

START_TEST(a_training_says_what_its_checkpoints_cost)
{
	struct world *w = training_new();

	check_line(&w->run,
		   "checkpoints        10 of 104.7 GiB, 12.0 s each (first "
		   "12.4, later 11.9), 8.71 GiB/s");
	check_line(&w->run,
		   "checkpoint stall   120 s of training, async: 3.20 for "
		   "snapshots, 0.400 for the one before");
	check_line(&w->run,
		   "checkpoint time    write 37.3%  fsync 62.0%  open 0.1%  "
		   "data 0.4%  other 0.2%  = 100%");
	check_line(&w->run, "accelerator time   compute 50.0%  stall 40.0%  "
			    "checkpoint 10.0%               = 100%");
	check_line(&w->run,
		   "saves, ms           count    mean      p50      p90      "
		   "p99    p99.9      max");
	check_line(&w->run,
		   "fsync                 160 1639      551.6   5117         "
		   "   -        - 7804");
	world_free(w);
}
END_TEST

/* With all that such a report can have it still fits on a screen. */
START_TEST(a_training_with_checkpoints_fits_on_a_screen)
{
	struct world *w = training_new();
	struct ml_result *ml = &w->result.ml;
	struct epoch_result epochs[20];
	struct hist *all[8];

	for (uint64_t i = 0; i < 20; i++)
		epochs[i] = (struct epoch_result){ .epoch = i + 1,
						   .samples = 28000,
						   .seconds = 250,
						   .stall_count = 4000 };
	for (unsigned i = 0; i < 8; i++)
		all[i] = hist_of(1000, MS);
	ml->epochs = (struct metric_list){ epochs, 20 };
	ml->epochs_total = 20;
	w->result.ops.open = (struct op_result){ 1000, all[0] };
	w->result.ops.stat = (struct op_result){ 1000, all[1] };
	w->result.ops.read = (struct op_result){ 1000, all[2] };
	w->result.ops.close = (struct op_result){ 1000, all[3] };
	ml->sample_ns = all[4];
	ml->stall_ns = all[5];
	ml->step_ns = all[6];
	w->result.host.oversleep_ns = all[7];
	w->result.read.total_ios = 1000;
	w->result.read.io_bytes = 1000 * 65536;
	ml->saves.unlink_ns = hist_of(16, 20 * MS);
	ml->saves.deleted_checkpoints = 1;
	ml->saves.delete_seconds = 0.4;
	check_line(&w->run, "accelerator time   compute 50.0%  stall 40.0%  "
			    "checkpoint 10.0%               = 100%");
	check_line(&w->run,
		   "   20     250.0    28,000      0.000       0    0.0%  "
		   "        0.000           0.000");
	check_report_lacks(&w->run, "\n   10 ");
	for (unsigned i = 0; i < 8; i++)
		hist_free(all[i]);
	world_free(w);
}
END_TEST

START_TEST(a_training_says_that_its_checkpoints_are_not_durable)
{
	struct world *w = training_new();

	without_fsync(w);
	check_first(&w->run,
		    "unet3d: 63.1% AU, 14.86 GiB/s; NOT DURABLE: 412 of "
		    "1047 GiB in memory\n");
	world_free(w);
}
END_TEST

START_TEST(a_training_without_checkpoints_says_nothing_of_them)
{
	struct world *w = training_new();

	free_hists(&w->result.ml.saves);
	checkpoints_result_init(&w->result.ml.saves);
	check_line(&w->run,
		   "checkpoints        none: the run was over before the "
		   "first was due");
	mem_replace(&w->job->checkpoint_every, NULL);
	check_report_lacks(&w->run, "checkpoints");
	check_report_lacks(&w->run, "saves");
	check_report_lacks(&w->run, "DURABLE");
	world_free(w);
}
END_TEST

Suite *suite_text_checkpoint(void)
{
	Suite *s = suite_create("text_checkpoint");
	TCase *t = tcase_create("text_checkpoint");

	tcase_add_test(t, a_save);
	tcase_add_test(t, a_restore);
	tcase_add_test(t, without_fsync_the_first_line_says_it);
	tcase_add_test(t, a_little_in_memory_leaves_a_storage_result);
	tcase_add_test(t, what_nobody_knows_is_unknown);
	tcase_add_test(t, o_direct_leaves_the_cache_of_the_device);
	tcase_add_test(t, a_restore_from_memory_is_no_storage_result);
	tcase_add_test(t, what_came_before_the_first_one_is_in_the_window);
	tcase_add_test(t, caches_that_were_not_emptied_are_said);
	tcase_add_test(t, what_was_verified_is_said);
	tcase_add_test(t, without_storage_nothing_is_said_of_it);
	tcase_add_test(t, a_part_of_the_ranks_and_of_the_bytes_is_said_early);
	tcase_add_test(t, a_failed_checkpoint_is_said_early);
	tcase_add_test(t, an_interrupted_one_is_said_early);
	tcase_add_test(t, none_is_said_to_be_none);
	tcase_add_test(t, of_many_checkpoints_the_first_and_the_last_stay);
	tcase_add_test(t, renames_and_deletions_have_their_columns);
	tcase_add_test(t, a_training_says_what_its_checkpoints_cost);
	tcase_add_test(t, a_training_with_checkpoints_fits_on_a_screen);
	tcase_add_test(t, a_training_says_that_its_checkpoints_are_not_durable);
	tcase_add_test(t, a_training_without_checkpoints_says_nothing_of_them);
	suite_add_tcase(s, t);
	return s;
}
