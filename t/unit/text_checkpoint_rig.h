/* SPDX-License-Identifier: Apache-2.0 */
/* text_checkpoint_rig.h - results of saves and restores, filled by hand, and their report. */
#pragma once

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "run/result/result.h"
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
static inline struct hist *hist_of(uint64_t n, uint64_t least_ns)
{
	struct hist *h = hist_new();

	for (uint64_t i = 0; i < n; i++) {
		double part = (double)i / (double)n;

		hist_add(h,
			 least_ns + (uint64_t)(99 * (double)least_ns * part * part * part * part));
	}
	return h;
}

static char filesystem[] = "nfs4", source[] = "192.0.2.1:/ai", target[] = "/mnt/array",
	    options[] = "vers=4.2,proto=tcp,nconnect=16,rsize=1048576";

static inline void fill_storage(struct storage_result *s)
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
static inline void fill_item(struct checkpoint_result *k, uint64_t i)
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
	snprintf(k->name, sizeof(k->name), "global_epoch1_step%u", (unsigned)i + 1);
	k->bytes_per_sec = (double)k->bytes / k->seconds;
	k->slowest_rank_seconds = k->seconds;
	k->slowest_rank_bytes_per_sec = k->bytes_per_sec / 8;
}

static inline void fill_result(struct world *w, struct checkpoints_result *c)
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

static inline void fill_save(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	fill_result(w, c);
	c->rank_percent = (struct rank_percent){
		.data = 0.4, .open = 0.1, .write = 37.3, .fsync = 62.0, .other = 0.2
	};
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
static inline struct world *world_new(void)
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
	w->result = (struct job_result){
		.job = j, .work = &work_checkpoint, .members = 1, .elapsed_seconds = 166
	};
	fill_storage(&w->result.storage);
	w->result.in_use = "";
	w->result.host = (struct host_result){ .cpu_percent = 11.2,
					       .user_percent = 1.1,
					       .system_percent = 10.1,
					       .switches_per_sec = 50778 };
	w->result.network =
		(struct network_result){ .interface = "bond0",
					 .line_rate_bits_per_sec = UINT64_C(200000000000),
					 .received_bits_per_sec = 1e9,
					 .percent = 0.5 };
	w->result.numa = (struct numa_result){ .device_node = UINT64_MAX, .far_percent = NONE };
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

static inline void free_hists(struct checkpoints_result *c)
{
	struct hist *all[] = { c->open_ns,  c->write_ns,  c->read_ns,  c->fsync_ns,
			       c->close_ns, c->rename_ns, c->unlink_ns };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		hist_free(all[i]);
}

/* The same read back, a minute later. */
static inline struct world *restore_new(void)
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
	c->rank_percent = (struct rank_percent){ .open = 0.1, .read = 99.5, .other = 0.4 };
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

static inline void world_free(struct world *w)
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

static inline struct checkpoints_result *without_fsync(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	w->job->checkpoint_fsync = CHECKPOINT_FSYNC_NONE;
	c->durable = false;
	c->in_memory_bytes = 412 * GIB;
	c->rank_percent = (struct rank_percent){ .write = 99.2, .open = 0.2, .data = 0.6 };
	return c;
}
