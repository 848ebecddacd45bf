/* SPDX-License-Identifier: Apache-2.0 */
/* text_rig.h - a training that was bound by its storage, filled by hand, and what its report
 * says. */
#pragma once

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/file/file.h"
#include "report_text.h"
#include "work/workloads.h"

#define MS 1000000
#define MIB 1048576.0
#define GIB 1073741824.0
#define NONE ((double)NAN)

/* n values of which so many percent are at most so many ms, rising. */
struct spread {
	double percent, ms;
};

static inline void add_many(struct hist *h, uint64_t n, uint64_t ns)
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
static inline struct hist *hist_of(uint64_t n, const struct spread *s, double max_ms)
{
	struct hist *h = hist_new();
	double from_ms = s->ms, from_percent = 0;

	for (; s->percent > 0; s++) {
		for (unsigned k = 1; k <= 8; k++) {
			double part = k / 8.0;
			double percent = from_percent + part * (s->percent - from_percent);
			double ms = from_ms + part * (s->ms - from_ms);
			uint64_t upto = (uint64_t)ceil((double)n * percent / 100);

			upto = upto < n ? upto : n - 1;
			if (upto > h->count)
				add_many(h, upto - h->count, (uint64_t)(ms * MS));
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
static inline void fill_latencies(struct job_result *r, uint64_t samples, uint64_t steps)
{
	struct ml_result *ml = &r->ml;
	struct ops_result *o = &r->ops;

	o->open.total = o->close.total = samples;
	o->read.total = samples * 140;
	o->open.lat_ns = hist_of(
		samples,
		SPREAD({ 1, .11 }, { 50, .241 }, { 90, .498 }, { 99, 1.911 }, { 99.9, 12.4 }),
		88.1);
	o->read.lat_ns = hist_of(
		o->read.total,
		SPREAD({ 1, .4 }, { 50, 1.9 }, { 90, 3.3 }, { 99, 8.12 }, { 99.9, 21.87 }), 412.3);
	o->close.lat_ns = hist_of(
		samples, SPREAD({ 50, .005 }, { 90, .009 }, { 99, .021 }, { 99.9, .14 }), 6.025);
	ml->sample_ns = hist_of(
		samples,
		SPREAD({ 1, 140 }, { 50, 283 }, { 90, 431.5 }, { 99, 702.8 }, { 99.9, 1120 }),
		1488);
	ml->stall_ns = hist_of(
		steps,
		SPREAD({ 5, .5 }, { 50, 158.2 }, { 90, 302.7 }, { 99, 611.9 }, { 99.9, 988.4 }),
		1205);
	ml->step_ns = hist_of(
		steps,
		SPREAD({ 5, 338 }, { 50, 496 }, { 90, 640.9 }, { 99, 951.2 }, { 99.9, 1322 }),
		1540);
	r->host.oversleep_ns = hist_of(steps, SPREAD({ 50, .003 }, { 99, .038 }), .2);
}

static inline void fill_epochs(struct ml_result *ml, unsigned n)
{
	static const struct epoch_result like[5] = {
		{ 1, 28000, 0, 0, 261.8, 107.0, 14.60 * GIB, 62.1, 3992, 180e6, 640.2e6, 2.2e9 },
		{ 2, 28000, 0, 0, 256.3, 109.2, 14.92 * GIB, 63.4, 3992, 170e6, 611.0e6, 1.9e9 },
		{ 3, 28000, 0, 0, 255.1, 109.8, 14.99 * GIB, 63.7, 3992, 170e6, 598.4e6, 1.9e9 },
		{ 4, 28000, 0, 0, 256.0, 109.4, 14.93 * GIB, 63.4, 3992, 170e6, 606.7e6, 1.9e9 },
		{ 5, 28000, 0, 0, 257.2, 108.9, 14.86 * GIB, 63.1, 3992, 170e6, 613.5e6, 1.9e9 },
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

static inline void fill_job(struct job *j)
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

static inline void fill_storage(struct storage_result *s)
{
	*s = (struct storage_result){
		.filesystem = mem_strdup("nfs4"),
		.mount_source = mem_strdup("192.0.2.1:/ai"),
		.mount_target = mem_strdup("/mnt/array"),
		.mount_options =
			mem_strdup("rw,relatime,vers=4.2,rsize=1048576,hard,proto=tcp,nconnect=16"),
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

static inline void fill_ml(struct job_result *r)
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
	ml->loader_percent = (struct loader_percent){ .read = 99.76, .open = .13, .idle = .11 };
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

static inline struct world *world_new(void)
{
	struct world *w = mem_zalloc(sizeof(*w));

	fill_job(&w->job);
	w->dataset = (struct dataset){
		.format = &format_npz, .files = 28000, .files_named = 28000, .samples_per_file = 1
	};
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

static inline void free_latencies(struct job_result *r)
{
	struct ml_result *ml = &r->ml;
	struct hist *all[] = { r->ops.open.lat_ns,  r->ops.stat.lat_ns,  r->ops.read.lat_ns,
			       r->ops.write.lat_ns, r->ops.fsync.lat_ns, r->ops.close.lat_ns,
			       ml->sample_ns,       ml->stall_ns,        ml->step_ns,
			       r->host.oversleep_ns };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		hist_free(all[i]);
	r->ops = (struct ops_result){ 0 };
	ml->sample_ns = ml->stall_ns = ml->step_ns = NULL;
	r->host.oversleep_ns = NULL;
}

static inline void free_ml(struct job_result *r)
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

static inline void world_free(struct world *w)
{
	free_ml(&w->result);
	mem_free(w->job.name);
	mem_free(w->job.ioengine);
	mem_free(w);
}

/* The lines before the first empty one. */
static inline void check_head(struct world *w, const char *expected)
{
	char *text = report_text(&w->run, DETAIL_USUAL);
	char *end = strstr(text, "\n\n");

	ck_assert_ptr_nonnull(end);
	end[1] = '\0';
	check_text(text, expected);
	free(text);
}

static inline void check_has(const char *text, const char *part)
{
	ck_assert_msg(has_flowed(text, part), "no '%s' in:\n%s", part, text);
}

static inline void check_lacks(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) == NULL, "'%s' in:\n%s", part, text);
}
