/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - the results of jobs and runs: their figures, their rows, and the rules that merge
 * them. */
#pragma once

/*
 * A job_result holds the figures of one job of a run, a run_result those of all its jobs. Tables of
 * mlgen_field give each figure its name in the document, its unit, and the rule that merges it with
 * the figure of another result. An unknown figure is NaN, UINT64_MAX or NULL. A result owns what it
 * points to unless a member says otherwise. No function here is called while a job runs.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "field/fields.h"
#include "io/devices.h"
#include "io/host.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/watch/watch.h"
#include "stat/opstat.h"

/* NaN when `whole` is 0. */
static inline double result_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

static inline double result_per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

/* ---- counters of this host at both ends of a record's window ---- */

/* Counters of this host at one end of a measurement window. */
struct mark {
	uint64_t ns; /* time on the run's clock; 0 = never reached */
	struct host_cpu cpu;
	struct noise_counts noise;
	uint64_t received_bytes; /* received by the interface; UINT64_MAX = unknown */
	/* storage: bytes that storage had delivered (read_bytes UINT64_MAX = unknown).
	 * jobs_read_bytes: bytes that jobs had read from the storage that this source counts. */
	struct memsource_count storage;
	uint64_t jobs_read_bytes;
	struct energy_counts energy;
};

/*
 * Both ends of a record's window. All counters cover the whole host. The window of several merged
 * records, from the earliest start to the latest end, is therefore as exact as that of a single
 * record. A zeroed struct has no window.
 */
struct marks {
	struct mark begin, end;
	uint64_t zero_ns;   /* when the jobs of the group began to prepare */
	bool is_after_ramp; /* the window begins where ramp_time ends */
	/* Interface and source whose bytes are counted; borrowed; NULL = none, or merged records
	 * differ. */
	const struct netif *network;
	const struct memsource *storage;
	double mhz_sum; /* sum of mhz_readings readings */
	uint64_t mhz_readings;
};

/* Length of the window; 0 = it never began, or ended before it began. */
uint64_t marks_ns(const struct marks *m);

/* Extend `to` to the window that covers both. */
void marks_join(struct marks *to, const struct marks *from);

/* ---- the checkpoints of a job ---- */

/* Time of the ranks' threads while checkpoints were in progress, in percent; sum 100. write and
 * read include the submit and reap time of asynchronous engines. */
struct rank_percent {
	double data, open, write, read, fsync, close, other;
};

/* A checkpoint that was saved or restored. */
struct checkpoint_result {
	uint64_t number, epoch, step;
	char name[96];  /* name of its directory */
	double seconds; /* duration, until the slowest rank was done */
	uint64_t bytes, files, ranks;
	double bytes_per_sec; /* all local ranks together */
	uint64_t slowest_rank;
	double slowest_rank_seconds, slowest_rank_bytes_per_sec;
	double commit_seconds;                       /* rename and manifest, after the files */
	uint64_t deleted_checkpoints, deleted_files; /* checkpoint_keep */
	double delete_seconds;
	/* Training only: how long the accelerators were stopped for this checkpoint. */
	double snapshot_seconds, wait_seconds, stall_seconds;
	bool complete;
	char error[256]; /* "" = none */
};

#define CHECKPOINTS_KEPT 1024

/* A rank's part of a complete checkpoint. */
struct checkpoint_rank {
	uint64_t number, rank; /* number of the checkpoint, and the rank */
	double begin_seconds;  /* since the first checkpoint began */
	double seconds;        /* duration, until its slowest thread was done */
};
#define CHECKPOINT_RANKS_KEPT 4096

/* All checkpoints of a job. NaN = does not apply. Seconds are sums unless the name says otherwise.
 * Incomplete checkpoints appear in `count` and `items` only. */
struct checkpoints_result {
	bool is_restore;
	const char *directory;         /* parent of the checkpoints; borrowed; NULL = unknown */
	struct metric_list items;      /* checkpoint_result, the first 1024; owned */
	struct metric_list rank_times; /* checkpoint_rank, the first 4096;
					* owned */
	uint64_t count, completed;
	uint64_t ranks, threads;       /* local ones */
	uint64_t job_ranks;            /* ranks on all hosts */
	uint64_t bytes;                /* moved by complete checkpoints */
	uint64_t bytes_per_checkpoint; /* bytes of the local ranks */
	double seconds_mean, seconds_min, seconds_max;
	double first_seconds, later_seconds; /* first checkpoint; mean of the later ones */
	double bytes_per_sec;                /* all bytes divided by all seconds */
	double slowest_rank_bytes_per_sec;   /* minimum of all checkpoints: MLPerf's score */
	uint64_t slowest_rank, slowest_checkpoint;
	double stall_seconds, snapshot_seconds, wait_seconds;
	uint64_t deleted_checkpoints, deleted_files;
	double delete_seconds;
	struct rank_percent rank_percent;
	struct hist *open_ns, *write_ns, *read_ns, *fsync_ns, *close_ns, *rename_ns,
		*unlink_ns; /* owned by the slot or the checkpoint writer */
	bool durable;       /* every byte of the complete checkpoints was flushed */
	/* Dirty bytes and bytes under writeback on this host at the end, from any process, and the
	 * most of them that this job can have written. UINT64_MAX = unknown. */
	uint64_t dirty_bytes, in_memory_bytes;
	bool verified;       /* verify= checked every byte */
	bool caches_dropped; /* drop_caches was done */
	double wall_seconds; /* first start to last end */
};

/* Initialize without any checkpoint: count is 0, and all figures are unknown. */
void checkpoints_result_init(struct checkpoints_result *r);

/* ---- results of a run, as plain data that the reports print ---- */

/*
 * Results are filled once, after all threads were joined, and are not shared. Names carry units;
 * percents are 0..100. NaN = does not apply or could not be measured: JSON null, text `-` or
 * `unknown`, never 0. Definitions: DESIGN.md, "What the numbers mean".
 */

/* Accelerator time: percent of the accelerators' whole wall time; sum 100. */
struct time_percent {
	double compute, stall, barrier, host_barrier, checkpoint, evaluation, oversleep, other;
};

/* Read thread time: percent of the read threads' wall time; sum 100. */
struct loader_percent {
	double open, stat, read, write, fsync, close, reap, cpu, idle, other;
};

/* An accelerator and its read threads, in a training job with several accelerators. */
struct rank_time {
	uint64_t rank;
	struct time_percent time_percent;
	struct loader_percent loader_percent;
};
#define RANK_TIMES_KEPT 256

/* Errors that continue_on_error counted instead of ending the run. */
struct failed_result {
	uint64_t count, of;   /* samples, or operations of a plain job */
	double percent;       /* NaN when `of` is 0 */
	bool is_too_many;     /* more than max_errors allows */
	char first[512];      /* text of the first error; "" = none */
	uint64_t first_errno; /* errno of the first error; 0 = none */
};

struct epoch_result {
	uint64_t epoch; /* counted from 1 */
	uint64_t samples, sample_bytes;
	uint64_t failed_samples; /* delivered, but not counted in samples */
	double seconds;          /* the time until the end of the last step */
	double samples_per_sec, sample_bytes_per_sec;
	double au_percent;    /* NaN: an epoch of one step, or no compute */
	uint64_t stall_count; /* number of stalls that were counted */
	double stall_mean_ns, stall_p99_ns;
	double first_step_ns; /* mean over ranks */
};

struct op_result {
	uint64_t total;      /* completed operations, including those in chains */
	struct hist *lat_ns; /* submit to completion */
};

struct ops_result {
	struct op_result open, stat, read, write, fsync, close;
};

struct storage_result {
	char *directory;
	char *filesystem, *mount_source, *mount_target, *mount_options;
	char *device, *device_kind, *scheduler; /* NULL = unknown */
	uint64_t read_ahead_bytes;              /* UINT64_MAX = unknown */
	uint64_t device_paths;                  /* UINT64_MAX = one, or unknown */
	uint64_t osts;                          /* Lustre only; otherwise UINT64_MAX */
	bool is_memory;                         /* tmpfs, ramfs */
	bool has_own_cache;                     /* ZFS, GPFS */
	/* Bytes and requests that the source counted in the window, and bytes that jobs read from
	 * the same storage in that time; UINT64_MAX = unknown. */
	uint64_t device_read_bytes, device_reads, jobs_read_bytes;
	double memory_percent;          /* share of bytes read from memory; NaN = unknown */
	const char *source;             /* source of that figure, or "unknown" */
	double resident_before_percent; /* cached share of the dataset after preparation; NaN */
	uint64_t resident_files;        /* number of files sampled for that */
	uint64_t cache_drops;           /* passes that dropped files for invalidate */
	bool caches_dropped;            /* drop_caches was done */
	char *device_model;             /* borrowed; NULL = unknown */
	/* The slowest sample and its file; "" = none. */
	char slowest_file[256];   /* a longer name is cut at its beginning */
	double slowest_sample_ns; /* NaN */
	uint64_t slowest_file_bytes;
};

/* The accelerator with the longest mean wait for a batch. */
struct slowest_rank {
	uint64_t rank;        /* UINT64_MAX = none */
	double stall_mean_ns; /* mean of this rank, and the median of all ranks; NaN */
	double stall_median_ns;
};

/* The interface that carries a remote mount's bytes. */
struct network_result {
	const char *interface;                 /* borrowed; NULL = none, or unknown */
	uint64_t line_rate_bits_per_sec;       /* UINT64_MAX = unknown */
	uint64_t received_bytes;               /* during the window */
	double received_bits_per_sec, percent; /* percent of the line rate; NaN */
};

struct host_result {
	/* Number of CPUs that is 100 percent: the allowed CPUs, or the part of them that a control
	 * group's quota leaves; NaN = an older document. */
	double cpus;
	/* Says what `cpus` counts and whose time cpu_percent includes; borrowed; NULL when `cpus`
	 * is NaN. Text that begins with "quota" means that a quota applies. */
	const char *cpu_percent_of;
	double cpu_percent;                  /* busy */
	double user_percent, system_percent; /* this process alone */
	double switches_per_sec;
	struct hist *oversleep_ns; /* lateness of every compute sleep */
	struct noise noise;
};

/* The window over which host, network, noise and delivered bytes of a record are measured. The
 * window covers all work of the record; in merged jobs it reaches from the earliest start to the
 * latest end. NaN and NULL = it never began, or the document is older or covers several runs. */
struct window_result {
	const char *from;     /* "start", "ramp_time"; borrowed */
	double begin_seconds; /* since the job's group began */
	double seconds;       /* length, until the last worker of the record ended */
};

/* Energy of the host's packages and DRAM in the window, including that of other processes. NaN =
 * unknown. */
struct energy_result {
	double joules; /* packages plus DRAM; packages alone when dram_joules is NaN */
	double package_joules, dram_joules;
	double joules_per_gib;    /* read and written by the job */
	double joules_per_sample; /* samples of a training job */
	const char *unmeasured;   /* reason why one of these is NaN; borrowed; NULL */
};

/* CPU time of mlgen in the window, by role of the threads. NaN = no thread has this role, or there
 * is no window. */
struct thread_cpu_result {
	double workers_seconds; /* read threads; streams of a plain job; checkpoint writers */
	double workers_waited_seconds; /* ready to run, but waiting for a CPU */
	double accelerators_seconds;
	double others_seconds; /* all other threads, including those of concurrent jobs */
};

/* Nodes on which read threads ran, sampled at the start of each batch (loader=plain: of each
 * sample). */
struct numa_result {
	uint64_t device_node; /* node of the storage's disk; UINT64_MAX = unknown */
	struct node_set seen; /* nodes on which read threads ran */
	char *loader_nodes;   /* `seen` as text; NULL: the host has one node */
	double far_percent;   /* share of these looks on another node than the disk's; NaN */
	/* Reason why numa=device could not bind; borrowed; NULL: it did, or is not set. */
	const char *unbound;
};

/* A time window that a version of MLPerf Storage uses for published results (facts: DLIO
 * statscounter.py). */
struct mlperf_window {
	double train_au_mean_percentage, train_au_stdev_percentage;
	double train_throughput_mean_samples_per_second, train_throughput_stdev_samples_per_second;
	double train_io_mean_MB_per_second, train_io_stdev_MB_per_second;
};

struct mlperf_result {
	struct mlperf_window v1_0, v2_0, v3_0;
	const char *train_au_meet_expectation; /* "success", "fail"; NULL: no target */
};

/* Figures of one epoch, over each of these windows. An epoch of a single step has no figures. */
struct mlperf_epoch {
	double au_percent;
	double v1_0_samples_per_sec, v2_0_samples_per_sec, v3_0_samples_per_sec;
};

/* A rule of MLPerf Storage, and whether this run keeps it. */
struct mlperf_rule {
	const char *rule, *state; /* "ok", "broken", "not checked" */
	char *text;               /* owned */
};

struct verdict_result {
	char *name;     /* errors memory network host compute storage unclear; NULL = no verdict */
	char *headline; /* "8 x h100 ask for 23.67 GiB/s; storage delivered ..." */
	char *because;
	char *try_next; /* NULL = none */
};

/* Evaluations between the epochs. */
struct eval_result {
	uint64_t steps; /* steps of one rank, over all evaluations */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t failed_samples; /* delivered, but not counted in samples */
	double seconds;          /* time of the slowest rank */
	double samples_per_sec, sample_bytes_per_sec, io_bytes_per_sec;
};

/*
 * The rate that this host reaches without storage: the same job again for a few seconds, run alone.
 * null: no byte is read. cached: a few of its files are read repeatedly from the page cache. NaN =
 * not measured.
 */
struct ceiling_result {
	bool is_tried;
	double null_au_percent, null_samples_per_sec, null_seconds;
	double cached_au_percent, cached_samples_per_sec, cached_seconds;
	uint64_t cached_files, cached_bytes;
	uint64_t jobs_beside; /* other jobs of its group, which are left out here */
	char unmeasured[256]; /* reason why a figure is missing; "" */
};

/* Activity of a cache tier in one or more epochs. Counts are samples unless the name says
 * otherwise. */
struct cache_counts {
	uint64_t accesses, unique_samples;
	/* Decisions in the planned order of accesses. */
	uint64_t hits, misses, substitutions;
	/* Hits of the plan that storage had to serve because the tier did not hold the sample at
	 * that moment. */
	uint64_t late_hits;
	uint64_t peer_hits; /* served by another process: cache_scope=all */
	uint64_t fills, dropped_fills, evictions, prefetches; /* units */
	uint64_t cache_bytes, storage_bytes, peer_bytes, filled_bytes;
	uint64_t footprint_bytes; /* bytes of the unique samples */
	double hit_ratio;         /* NaN when there was no access */
	/*
	 * Properties of the access order. sequential_ratio: share of accesses to the sample that
	 * follows the previous one in the data set. rank_correlation: of the positions of the
	 * samples that this epoch and the previous epoch both read. multiplicity: mean number of
	 * accesses per sample.
	 */
	double sequential_ratio, rank_correlation, multiplicity;
};

struct cache_epoch {
	uint64_t epoch; /* counted from 1 */
	bool is_cold;   /* the first epoch, with a tier that began empty */
	struct cache_counts counts;
};

/* A rank of a job with several ranks. */
struct cache_rank {
	uint64_t rank, accesses, hits, misses, substitutions;
	double hit_ratio; /* after the first epoch; NaN */
};

/* A cache tier (cache=); policy NULL = there is none. */
struct cache_result {
	const char *policy;         /* borrowed */
	const char *place;          /* "directory", "memory", "played" */
	const char *directory;      /* borrowed; NULL */
	uint64_t caches;            /* number of tiers on this host */
	uint64_t parts;             /* processes that each tier is divided among; 1 = undivided */
	uint64_t size_bytes;        /* per tier; UINT64_MAX = limited by samples */
	uint64_t size_samples;      /* UINT64_MAX = limited by bytes */
	uint64_t data_bytes;        /* size of the data set */
	uint64_t used_bytes, units; /* sum of all tiers at the end */
	uint64_t state_bytes;       /* memory for the bookkeeping */
	double hit_ratio;           /* after the first epoch; NaN with a single epoch */
	struct cache_counts all;    /* all epochs together */
	struct metric_list epochs;  /* cache_epoch, the first 1024; owned */
	struct metric_list ranks;   /* cache_rank; owned; empty when all ranks are alike */
	/* Latency of samples served by this process, by storage and by other processes; owned by
	 * the tier. */
	struct hist *hit_ns, *miss_ns, *peer_ns;
	/* Bytes sent to and received from other processes for requests of this process, and samples
	 * and bytes served to requests of other processes. */
	uint64_t sent_bytes, received_bytes, served_samples, served_bytes;
	bool is_full; /* the cache directory ran out of space and the tier stopped growing */
	uint64_t verified, wrong; /* hits checked by cache_verify */
	uint64_t kept_units;      /* left by an earlier run (cache_persist) */
	uint64_t warm_units;      /* filled before the run (cache_warm) */
	/* Importance sampling and belady: time at the barriers between epochs. */
	double draw_seconds;
};

/* A rank with fewer counted steps than this has no meaningful AU (MLPerf asks for 500). */
#define FEW_STEPS 50

struct ml_result {
	uint64_t accelerators;
	char *accelerator;      /* NULL = unnamed */
	uint64_t steps;         /* steps of one rank, over all epochs */
	uint64_t counted_steps; /* steps of all ranks that the step, stall and AU figures cover */
	bool too_short;         /* a rank has fewer than FEW_STEPS counted steps */
	/* Training alone, without evaluations. */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t failed_samples; /* delivered, but not counted in samples */
	double cut_seconds;      /* spent in a step that was cut off after the counted steps */
	/* Includes the time of the cut step in which bytes were moved: job_runtime. */
	double runtime_seconds;
	double samples_per_sec, sample_bytes_per_sec, io_bytes_per_sec;
	double au_percent;
	const char *au_unmeasured; /* reason why au_percent is NaN; NULL = it is known */
	struct metric_list au_percent_per_accelerator; /* double */
	struct slowest_rank slowest_rank;
	double target_au_percent;
	bool target_met; /* only meaningful with a target and an AU */
	struct time_percent time_percent;
	struct loader_percent loader_percent;
	struct metric_list ranks;  /* rank_time, the first 256; owned; empty with one accelerator */
	struct metric_list epochs; /* struct epoch_result, the first 1024 */
	uint64_t epochs_total;
	/* Samples that are read together as one extent, which is the unit of sample_ns; UINT64_MAX:
	 * extents of several sizes, or unknown. */
	uint64_t samples_per_extent;
	struct hist *sample_ns, *step_ns, *first_step_ns, *stall_ns;
	double demand_bytes_per_sec, demand_io_bytes_per_sec; /* NaN: compute_time=0 */
	struct mlperf_result mlperf;
	struct metric_list mlperf_epochs; /* mlperf_epoch; owned */
	struct metric_list mlperf_check;  /* mlperf_rule, of --check; owned */
	struct eval_result eval;
	struct checkpoints_result saves, restores; /* count 0 = none */
	struct ceiling_result ceiling;             /* filled by ask/ceiling.c */
	struct cache_result cache;                 /* policy NULL = none */
};

/* Minimum, maximum, mean and standard deviation over the seconds of a run, as fio's bw_* and
 * iops_*. */
struct interval_stat {
	double min, max, mean, dev;
	uint64_t samples;
};

/* Figures of a direction, as fio defines them. */
struct direction_fio {
	uint64_t io_kbytes, bw_bytes, bw, runtime_ms, drop_ios;
	double iops, bw_agg;
	struct hist *lat_ns; /* total_ns, or lat_ns if the job is not paced */
	uint64_t bw_min, bw_max, iops_min, iops_max;
};

struct direction_result {
	uint64_t io_bytes, total_ios, short_ios;
	struct sizes sizes;  /* sizes of the requests, as called */
	struct hist *lat_ns; /* submit to completion; fio's clat */
	/* Paced jobs: intended start to submit, and intended start to completion. NULL: the job is
	 * not paced, and lat_ns is the only latency. */
	struct hist *slat_ns, *total_ns;
	struct interval_stat bw_kib, iops;
	struct direction_fio fio; /* documents only */
};

/* Rates that rate= and rate_iops= request for one direction. */
struct rate_result {
	double asked_bytes_per_sec, asked_iops; /* NaN = not paced */
	bool is_missed;                         /* the job reached less than 99 % of them */
};

/* A time slice of a replay; all have the same length. */
struct replay_slice {
	uint64_t asked_ios, asked_bytes; /* recorded in this slice of the trace */
	uint64_t done_ios, done_bytes;   /* reads and writes together */
};
enum { REPLAY_SLICES = 60 };

/* Figures of a replay (phase=replay) in addition to those of a plain job. */
struct replay_result {
	const char *trace;    /* trace file; borrowed from the job; NULL = no replay */
	uint64_t threads;     /* threads in the trace, replayed by io.numjobs workers */
	double asked_seconds; /* length of the trace at replay_speed */
	/* Operations of all kinds in the trace, and those that succeeded; failed ones are errors.
	 * In a dry run the done_ members are UINT64_MAX or NaN. */
	uint64_t asked_operations, done_operations;
	uint64_t asked_bytes, done_bytes; /* reads and writes */
	uint64_t touches;                 /* reads that touch a page of a mapping */
	uint64_t redirected; /* replay_files=traced: operations that would change a file of the
				trace, and so went to a file below directory */
	/* Reads and writes that are requests to block devices, and the number of those that
	 * replay_span moved. */
	uint64_t blocks, folded;
	uint64_t waits;      /* waits for threads that were more than a second late */
	double wait_seconds; /* all workers together */
	/* Traced operations that are not replayed: "12 getdents, 3 advise"; "". */
	char left_out[256];
	uint64_t left_out_operations;
	double slice_seconds; /* NaN = merged from replays with different slices: `slices` is empty
			       */
	struct metric_list slices; /* replay_slice, REPLAY_SLICES at most; owned */
};

/* A plain job (phase=io), or one of its numjobs. */
struct io_result {
	uint64_t numjobs;           /* workers in this record */
	uint64_t jobnum;            /* number of the first worker, from 0 */
	uint64_t iodepth_least;     /* minimum over the merged jobs; iodepth_used is the maximum */
	uint64_t files, file_bytes; /* files that the workers read and write */
	uint64_t laid_out_files, laid_out_bytes; /* made beforehand by the whole job */
	struct rate_result rate[2];              /* 0 read, 1 write */
	struct loader_percent worker_percent;
	struct replay_result replay;
};

/* Percent of the operations by queue depth, and of the calls by number of operations: opstat.h. */
struct depth_result {
	double depth[OPSTAT_DEPTHS], submit[OPSTAT_DEPTHS], complete[OPSTAT_DEPTHS];
};

/* Number of requests in a size class, whose limit is a power of two (stat/sizes.h). */
struct request_size {
	const char *operation; /* "read", "write" */
	uint64_t largest_bytes, count;
};

/* Percent of the latencies below each of fio's limits. */
struct latency_shares {
	double percent[12];
};

/* Members that only the document of a job has; fio defines some of them. They are filled when a
 * document is written (report/metrics) or read, and empty otherwise. */
struct job_document {
	const char *jobname;
	uint64_t error; /* positive errno */
	const char *error_text;
	uint64_t elapsed, job_runtime_ms;
	struct metric_list members;                          /* metric_pair: jobname, - */
	struct metric_list options;                          /* metric_pair; values are owned */
	struct metric_list options_resolved, options_origin; /* metric_pair */
	struct metric_list request_sizes;                    /* request_size; owned */
	struct direction_result trim;                        /* zeros */
	struct latency_shares latency_ns, latency_us, latency_ms;
	struct dataset dataset; /* a copy with borrowed members; format NULL = no dataset */
	const char *format;     /* format of the dataset, resolved for format=auto */
	uint64_t samples;       /* samples in the dataset */
	bool is_uneven;
	uint64_t latency_depth;                  /* iodepth_used; 0 in a dry run */
	uint64_t latency_target, latency_window; /* us */
	double latency_percentile;
};

struct job_result {
	const struct job *job;
	const struct dataset *dataset;
	struct dataset_totals totals;
	uint64_t group;
	/* Workload that ran, even if only its preparation did; NULL = none. */
	const struct workload *work;
	struct ml_result ml; /* empty in a plain job */
	struct io_result io; /* plain jobs only */
	/* Figures of every workload. In the document, they are in the object of the job's
	 * workload. */
	uint64_t iodepth_used; /* 1 on a synchronous engine */
	const char *in_use;    /* optional features that the engine used, as text; "" */
	/* Time of the slowest worker; in a training job, the time of its epochs without the time
	 * between them. */
	double wall_seconds;
	struct ops_result ops;
	struct storage_result storage;
	struct window_result window;
	struct host_result host;
	struct network_result network;
	struct energy_result energy;
	struct thread_cpu_result thread_cpu;
	struct numa_result numa;
	struct verdict_result verdict; /* filled by report/text/verdict.c */
	uint64_t errors;               /* errors that continue_on_error counted */
	struct failed_result failed;
	bool interrupted;
	bool complete;                 /* all work is done, or runtime was reached */
	struct marks marks;            /* ends of its window; zeroed in a document */
	struct prepare_result prepare; /* also set in a training job that prepared its dataset */
	struct direction_result read, write;
	struct depth_result depths;
	struct op_result sync;                   /* fsync and fdatasync of a plain job */
	double elapsed_seconds;                  /* includes startdelay and preparation */
	double usr_cpu_percent, sys_cpu_percent; /* percent of the elapsed time */
	uint64_t ctx, majf, minf;
	struct mlgen_err err;      /* code 0 = fine */
	uint64_t read_align_bytes; /* direct=1; 0 = buffered */
	unsigned members;          /* jobs merged by group_reporting; 1 = not merged */
	struct merge_sums *sums;   /* weights of merged means; NULL = a single record */
	struct job_document doc;
};

struct disk_util {
	char name[64];
	uint64_t read_ios, write_ios, read_sectors, write_sectors, read_merges, write_merges,
		read_ticks, write_ticks, in_queue;
	double util;        /* percent of the time */
	double queue_depth; /* mean number of operations in the queue */
};

/* Output of --trace. */
struct trace_result {
	const char *file;                      /* borrowed; NULL = there is none */
	bool complete;                         /* no record was lost, and all were written */
	uint64_t records, bytes, lost, cpu_ns; /* cpu_ns is that of the writing thread */
};

/* Members that only the document of a run has; like job_document for a job. */
struct run_document {
	uint64_t schema_version, timestamp; /* s */
	char *time;                         /* owned */
	struct metric_list global_options;  /* metric_pair; values are owned */
};

struct run_result {
	struct host host;
	uint64_t timestamp_ms; /* wall clock at the start */
	/* Rows of a document access each of these two pairs as a metric_list. */
	union {
		struct {
			struct job_result *jobs;
			size_t job_count;
		};
		struct metric_list job_list;
	};
	union {
		struct {
			struct disk_util *disks;
			size_t disk_count;
		};
		struct metric_list disk_list;
	};
	bool interrupted;
	struct mlgen_err err; /* first error of any job */
	struct trace_result trace;
	struct series_result series; /* owned */
	/* Versions of the program and the libraries that wrote the document; version NULL = this
	 * program. */
	const char *version, *liburing, *libaio;
	/* Texts of --title and --note, a line per note; borrowed, NULL = none. */
	const char *title, *notes;
	bool is_host_printed; /* the host was already printed with an earlier job of this run */
	struct run_document doc;
};

/* ran: did the job run, and do more than prepare? has_accelerators: did it have accelerators?
 * is_of_checkpoints: were checkpoints its only purpose? */
bool job_result_ran(const struct job_result *r);
bool job_result_has_accelerators(const struct job_result *r);
bool job_result_is_of_checkpoints(const struct job_result *r);

/* AU that includes the first step of each epoch, in percent; NaN = there is no AU. */
double job_result_busy_percent(const struct job_result *r);
/* True if first steps, which AU leaves out, take so much of the time of short epochs that AU is
 * misleading. */
bool job_result_au_misleads(const struct job_result *r);

/* Seconds of a training job's epochs, evaluations and waits for checkpoints. */
double job_result_runtime(const struct job_result *r);

/* Fill the figures of a record from its window. Unknown figures are NaN, UINT64_MAX or NULL. */
void marks_window(struct window_result *w, const struct marks *m);
/* oversleep_ns is left unchanged. */
void marks_host(struct host_result *h, const struct marks *m);
void marks_network(struct network_result *n, const struct marks *m);
/* Fill in the bytes that storage delivered, the bytes that jobs read in the same time, and the
 * share that came from memory. False: no source counts these bytes, and `st` is unchanged. */
bool marks_storage(struct storage_result *st, const struct marks *m);
/* Fill in the joules in total, per GiB of `bytes` and per sample; NaN for a count of 0. */
void marks_energy(struct energy_result *e, const struct marks *m, uint64_t bytes, uint64_t samples);
/* Set others_seconds to the CPU time of the process minus that of workers and accelerators in
 * `t`. */
void marks_other_cpu(struct thread_cpu_result *t, const struct marks *m);

/* Describe a mount before any byte is read. The texts are borrowed from it. */
void storage_result_init(struct storage_result *st, const struct mount *m);
/* Initialize with no ceiling measured. */
void ceiling_result_init(struct ceiling_result *r);
/* The checkpoints that a job of phase=checkpoint or phase=restore saved or restored. */
const struct checkpoints_result *job_result_checkpoints(const struct job_result *r);

void run_result_fini(struct run_result *r);
void mlperf_rules_fini(struct metric_list *l); /* items are struct mlperf_rule */

/* ---- errors that did not end the job, and its max_errors ---- */

/*
 * A training job counts the failed samples that its accelerators received, including those of
 * evaluations. If no sample failed, errors that reached no accelerator (in read-ahead, in an index,
 * within ramp_time) are counted instead. A plain job counts failed operations.
 */

/* Do `count` failures among `of` exceed the job's max_errors? */
bool failed_exceeds(const struct job *job, uint64_t count, uint64_t of);

/* Fill count, of and percent of a job's `failed` from its other counts. */
void failed_count(struct job_result *r);

/* Call failed_count(). If too many samples failed, also clear the AU of the job and of the epochs
 * in which samples failed. is_too_many must be known. */
void failed_fill(struct job_result *r);

/* Merge the failures of two jobs: too many errors in either job are too many for both. Call
 * failed_fill() afterwards. */
void failed_merge(struct failed_result *to, const struct failed_result *from);

/* Did more fail than allowed in any of the jobs? */
bool failed_in_any(const struct run_result *r);

/* ---- merging results: jobs of a group, workers of a job, documents ---- */

/*
 * Merge the jobs of each group in which any job sets group_reporting into the group's first job and
 * remove the others from the list. Counts and rates add up, latencies merge exactly, percentages
 * become means weighted by their denominators. The merged window reaches from the earliest start to
 * the latest end. Host, noise, network and storage are counted over the whole window if the jobs
 * read through one interface and from one source; otherwise those figures become unknown. Published
 * windows (mlperf{}) belong to a single training and become null.
 */
void merge_groups(struct run_result *r);

/* Merge the record of a plain job's worker into that of another worker of the job. `from` keeps its
 * histograms and texts, because a report may show both the sum and its parts. */
void merge_workers(struct job_result *to, const struct job_result *from);

/*
 * Merge `from` into `to`, which is of the same kind, by the rules of the tables below. Documents of
 * jobs that ran at the same time (MERGE_CLIENTS) add their rates, accelerators and demand. The
 * result lasts as long as the longest job, and the jobs share their epochs and checkpoints.
 * Documents of jobs that ran one after the other (MERGE_TURNS) add their time, epochs and
 * checkpoints, and average their rates. Figures that belong to a single run (published windows,
 * rules, ceilings, slowest ranks) become unknown.
 */
void merge_jobs(struct job_result *to, const struct job_result *from, enum merge_how how,
		const struct merge_memory *memory, void *owner);

/* ---- tables of the structs above: names, units and merge rules ---- */

/* Merge rules that several tables use. */
extern const struct merge_rule merge_storage, merge_host;
extern const struct merge_rule merge_checkpoints, merge_items, merge_numa_nodes;

/* metrics_result.c: trainings and plain jobs */
extern const struct mlgen_field metrics_loader_percent_fields[];
extern const struct mlgen_field metrics_op_fields[];
extern const struct mlgen_field metrics_ops_fields[];
extern const struct mlgen_field metrics_storage_fields[];
extern const struct mlgen_field metrics_noise_fields[];
extern const struct mlgen_field metrics_thread_cpu_fields[];
extern const struct mlgen_field metrics_energy_fields[];
extern const struct mlgen_field metrics_window_fields[];
extern const struct mlgen_field metrics_host_fields[];
extern const struct mlgen_field metrics_network_fields[];
extern const struct mlgen_field metrics_numa_fields[];
extern const struct mlgen_field metrics_verdict_fields[];

/* metrics_ml.c */
extern const struct mlgen_field metrics_time_percent_fields[];
extern const struct mlgen_field metrics_rank_time_fields[];
extern const struct mlgen_field metrics_epoch_fields[];
extern const struct mlgen_field metrics_mlperf_window_fields[];
extern const struct mlgen_field metrics_mlperf_fields[];
extern const struct mlgen_field metrics_mlperf_rule_fields[];
extern const struct mlgen_field metrics_eval_fields[];
extern const struct mlgen_field metrics_slowest_rank_fields[];
extern const struct mlgen_field metrics_ceiling_fields[];
extern const struct mlgen_field metrics_ml_fields[];      /* struct job_result */
extern const struct mlgen_field metrics_prepare_fields[]; /* prepare_result */

/* metrics_checkpoint.c */
extern const struct mlgen_field metrics_rank_percent_fields[];
extern const struct mlgen_field metrics_checkpoint_rank_fields[];
extern const struct mlgen_field metrics_checkpoint_fields[];
extern const struct mlgen_field metrics_checkpoints_fields[];

/* metrics_io.c: struct cache_result */
extern const struct mlgen_field metrics_cache_epoch_fields[];
extern const struct mlgen_field metrics_cache_rank_fields[];
extern const struct mlgen_field metrics_cache_fields[];

/* metrics_io.c */
extern const struct mlgen_field metrics_rate_fields[];
extern const struct mlgen_field metrics_replay_slice_fields[];
extern const struct mlgen_field metrics_replay_fields[];
extern const struct mlgen_field metrics_io_fields[]; /* struct job_result */

/* metrics_result.c: struct job_result with all of the above. */
extern const struct mlgen_field metrics_result_fields[];

/* Rows that several pages share. */
/* clang-format off */
#define METRICS_WINDOW_ROWS \
	{ "window", RESULT_OBJECT(struct job_result, window, struct window_result, metrics_window_fields, apart), \
	  .help = "The time over which host, network, noise and bytes from storage were measured." }, \
	{ "host", RESULT_OBJECT(struct job_result, host, struct host_result, metrics_host_fields, host), \
	  .help = "Load of this host in the window." }, \
	{ "network", RESULT_OBJECT(struct job_result, network, struct network_result, metrics_network_fields, apart), \
	  .help = "Network traffic in the window, with a remote mount." }, \
	{ "thread_cpu", RESULT_OBJECT(struct job_result, thread_cpu, struct thread_cpu_result, metrics_thread_cpu_fields, apart), \
	  .help = "CPU time of mlgen in the window, by purpose of its threads." }, \
	{ "energy", RESULT_OBJECT(struct job_result, energy, struct energy_result, metrics_energy_fields, apart), \
	  .help = "Energy that this host used in the window." }
#define METRICS_END_ROWS \
	{ "first_error", RESULT_CHARS(struct job_result, failed.first, first), \
	  .help = "The first error in words; null = none." }, \
	{ "interrupted", RESULT_BOOL(struct job_result, interrupted, or), \
	  .help = "The job was stopped by a signal." }
/* clang-format on */
