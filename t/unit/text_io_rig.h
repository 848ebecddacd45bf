/* SPDX-License-Identifier: Apache-2.0 */
/* text_io_rig.h - results of plain jobs, filled by hand, and their report. */
#pragma once

#include <check.h>
#include <math.h>

#include "base/mem.h"
#include "run/result/result.h"
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

/* n latencies from `least` to a hundred times that; most of them low. The last ones asked for are
 * kept, for all workers have the same. */
static inline struct hist *hist_of(uint64_t n, uint64_t least_ns)
{
	static struct hist *kept;
	static uint64_t kept_n, kept_least_ns;
	struct hist *h = hist_new();

	if (kept_n != n || kept_least_ns != least_ns) {
		hist_free(kept);
		kept = hist_new();
		for (uint64_t i = 0; i < n; i++) {
			double part = (double)i / (double)n;

			hist_add(kept, least_ns + (uint64_t)(99 * (double)least_ns * part * part *
							     part * part));
		}
		kept_n = n;
		kept_least_ns = least_ns;
	}
	hist_merge(h, kept);
	return h;
}

static inline void fill_storage(struct storage_result *s)
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

static inline void free_storage(struct storage_result *s)
{
	char *all[] = { s->directory, s->filesystem,  s->mount_source, s->mount_target,
			s->device,    s->device_kind, s->scheduler };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		mem_free(all[i]);
}

/* 524,288 reads of 4 KiB in 2.586 s, at depth 32. */
static inline void fill_record(struct world *w, struct job_result *r, uint64_t jobnum)
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
	r->numa = (struct numa_result){ .device_node = UINT64_MAX, .far_percent = NONE };
	r->complete = true;
	fill_storage(&r->storage);
	r->read.total_ios = 524288;
	r->read.io_bytes = 2 * GIB;
	r->read.lat_ns = r->ops.read.lat_ns = hist_of(524288, 41000);
	r->ops.read.total = 524288;
	sizes_add(&r->read.sizes, 4096, 524288);
}

static inline struct world *world_new(void)
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
	w->job->percentile_list = (struct f64_list){
		17, { 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99 }
	};
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

static inline void free_direction(struct direction_result *d, struct op_result *op)
{
	if (d->lat_ns != op->lat_ns)
		hist_free(d->lat_ns);
	hist_free(op->lat_ns);
	hist_free(d->slat_ns);
	hist_free(d->total_ns);
}

static inline void world_free(struct world *w)
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
