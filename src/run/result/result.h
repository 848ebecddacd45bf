/* SPDX-License-Identifier: Apache-2.0 */
/* result.h - what a job came to: its figures, their rows, and how two results are merged. */
#pragma once

/*
 * A job_result is what one job of a run came to, a run_result all of them. The tables of
 * mlgen_field say for each figure its name in the document, its unit, and the rule by which it is
 * merged. What cannot be told is NaN, UINT64_MAX or NULL. Results own what they point to unless a
 * member says otherwise. Nothing here is called while a job runs.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "field/fields.h"
#include "io/devices.h"
#include "io/host.h"
#include "io/mount.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/watch/watch.h"
#include "stat/metric.h"
#include "stat/opstat.h"

/* NaN of nothing. */
static inline double result_percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : (double)NAN;
}

static inline double result_per_second(uint64_t n, double seconds)
{
	return seconds > 0 ? (double)n / seconds : 0;
}

/* ---- this host at both ends of a record's window, and what it did meanwhile ---- */

/* Counters of this host at one end of a window. */
struct mark {
	uint64_t ns; /* of the run's clock; 0 = it was not reached */
	struct host_cpu cpu;
	struct noise_counts noise;
	uint64_t received_bytes; /* by the interface; UINT64_MAX = unknown */
	/* What storage had delivered (read_bytes UINT64_MAX = unknown), and what the jobs that it
	 * counts had read. */
	struct memsource_count storage;
	uint64_t jobs_read_bytes;
	struct energy_counts energy;
};

/*
 * The ends of a record's window. All that they hold counts on for the whole host, so that the
 * window of several records is as exact as that of one: from the first of their beginnings to the
 * last of their ends. A zeroed struct is none.
 */
struct marks {
	struct mark begin, end;
	uint64_t zero_ns;    /* when the jobs of the group began to prepare */
	bool is_behind_ramp; /* the beginning is the end of ramp_time */
	/* Whose bytes are counted; borrowed; NULL = nobody's, or of several records not the
	 * same. */
	const struct netif *network;
	const struct memsource *storage;
	double mhz_sum; /* of so many looks */
	uint64_t mhz_looks;
};

/* From one to the other; 0 = it never began, or was over before. */
uint64_t marks_ns(const struct marks *m);

/* The window of both. */
void marks_join(struct marks *to, const struct marks *from);

/* The figures of a record. What cannot be told is NaN, UINT64_MAX or NULL. */
struct window_result;
struct host_result;
struct network_result;
struct storage_result;
void marks_window(struct window_result *w, const struct marks *m);
struct energy_result;
struct thread_cpu_result;
/* All but oversleep_ns, which stays. */
void marks_host(struct host_result *h, const struct marks *m);
void marks_network(struct network_result *n, const struct marks *m);
/* What was delivered, what was read meanwhile, and its share from memory; false = nobody tells, and
 * nothing is changed. */
bool marks_storage(struct storage_result *st, const struct marks *m);
/* Also of each GiB of `bytes`, and of each sample; 0 = there are none. */
void marks_energy(struct energy_result *e, const struct marks *m, uint64_t bytes, uint64_t samples);
/* What the process had beside the threads whose CPU time is in it. */
void marks_other_cpu(struct thread_cpu_result *t, const struct marks *m);

/* ---- what was measured of the checkpoints of a job, each and all ---- */

struct hist;

/* Where the threads of the ranks were while checkpoints were under way: percent of that time; sum
 * 100. write and read with what asynchronous engines take for submit and reap. */
struct rank_percent {
	double data, open, write, read, fsync, close, other;
};

/* One checkpoint, saved or restored. */
struct checkpoint_result {
	uint64_t number, epoch, step;
	char name[96];  /* of its directory */
	double seconds; /* until the slowest rank was done */
	uint64_t bytes, files, ranks;
	double bytes_per_sec; /* of all local ranks */
	uint64_t slowest_rank;
	double slowest_rank_seconds, slowest_rank_bytes_per_sec;
	double commit_seconds;                       /* rename and manifest, behind that */
	uint64_t deleted_checkpoints, deleted_files; /* checkpoint_keep */
	double delete_seconds;
	/* In a training: how long its accelerators stood still for it. */
	double snapshot_seconds, wait_seconds, stall_seconds;
	bool complete;
	char error[256]; /* "" = none */
};

#define CHECKPOINTS_KEPT 1024

/* A rank's part of one that is complete. */
struct checkpoint_rank {
	uint64_t number, rank; /* of the checkpoint, of the rank */
	double begin_seconds;  /* since the first checkpoint began */
	double seconds;        /* until its slowest thread was done */
};
#define CHECKPOINT_RANKS_KEPT 4096

/* The checkpoints of a job; what is NaN does not apply. Seconds are sums unless they say otherwise;
 * incomplete ones are in count and items alone. */
struct checkpoints_result {
	bool is_restore;
	const char *directory;         /* where they are; borrowed; NULL = unknown */
	struct metric_list items;      /* checkpoint_result, the first 1024; owned */
	struct metric_list rank_times; /* checkpoint_rank, the first 4096;
					* owned */
	uint64_t count, completed;
	uint64_t ranks, threads;       /* of this host */
	uint64_t job_ranks;            /* on all hosts */
	uint64_t bytes;                /* moved in all, of complete ones */
	uint64_t bytes_per_checkpoint; /* of the local ranks */
	double seconds_mean, seconds_min, seconds_max;
	double first_seconds, later_seconds; /* later: their mean */
	double bytes_per_sec;                /* all bytes by all seconds */
	double slowest_rank_bytes_per_sec;   /* MLPerf's score: the least of all */
	uint64_t slowest_rank, slowest_checkpoint;
	double stall_seconds, snapshot_seconds, wait_seconds;
	uint64_t deleted_checkpoints, deleted_files;
	double delete_seconds;
	struct rank_percent rank_percent;
	struct hist *open_ns, *write_ns, *read_ns, *fsync_ns, *close_ns, *rename_ns,
		*unlink_ns; /* the slot's or the saver's */
	bool durable;       /* every byte of the complete ones was flushed */
	/* Dirty or under writeback on this host at the end, of whomever; of that at most what was
	 * written. UINT64_MAX = not known. */
	uint64_t dirty_bytes, in_memory_bytes;
	bool verified;       /* verify= looked at every byte */
	bool caches_dropped; /* drop_caches was done */
	double wall_seconds; /* from the first begin to the last end */
};

/* None yet: count 0, and nothing is known. */
void checkpoints_result_init(struct checkpoints_result *r);

/* ---- what a run measured, as plain data that the reports print ---- */

/*
 * Filled once, after all threads were joined; nothing in here is shared then. Units are in the
 * names; percents are 0..100. NaN = does not apply or could not be measured: JSON null, text `-` or
 * `unknown`, never 0. Definitions: DESIGN.md, "What the numbers mean".
 */

/* Accelerator time: percent of the accelerators' whole wall time; sum 100. */
struct time_percent {
	double compute, stall, barrier, host_barrier, checkpoint, evaluation, oversleep, other;
};

/* Loader time: percent of the loader threads' wall time; sum 100. */
struct loader_percent {
	double open, stat, read, write, fsync, close, reap, cpu, idle, other;
};

/* One accelerator of several, and its loaders. */
struct rank_time {
	uint64_t rank;
	struct time_percent time_percent;
	struct loader_percent loader_percent;
};
#define RANK_TIMES_KEPT 256

/* What continue_on_error counted in place of ending the run: result.h. */
struct failed_result {
	uint64_t count, of;   /* samples, or operations of a plain job */
	double percent;       /* NaN: of nothing */
	bool is_too_many;     /* more than max_errors allows */
	char first[512];      /* the first error in words; "" = none */
	uint64_t first_errno; /* ... in a number; 0 */
};

struct epoch_result {
	uint64_t epoch; /* from 1 */
	uint64_t samples, sample_bytes;
	uint64_t failed_samples; /* taken, and not among these */
	double seconds;          /* start to the end of the last step */
	double samples_per_sec, sample_bytes_per_sec;
	double au_percent;    /* NaN: an epoch of one step, or no compute */
	uint64_t stall_count; /* counted stalls */
	double stall_mean_ns, stall_p99_ns;
	double first_step_ns; /* mean over ranks */
};

struct op_result {
	uint64_t total;      /* operations completed, in chains too */
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
	uint64_t osts;                          /* of Lustre; UINT64_MAX */
	bool is_memory;                         /* tmpfs and its kin */
	bool has_own_cache;                     /* ZFS, GPFS */
	/* What the source counted in the window, and what jobs read then of that which it counts;
	 * UINT64_MAX = unknown. */
	uint64_t device_read_bytes, device_reads, jobs_read_bytes;
	double memory_percent;          /* of the bytes read; NaN = unknown */
	const char *source;             /* of that figure, or "unknown" */
	double resident_before_percent; /* of the dataset, after preparation; NaN */
	uint64_t resident_files;        /* of the sample for that */
	uint64_t cache_drops;           /* passes of invalidate */
	bool caches_dropped;            /* drop_caches was done */
	char *device_model;             /* borrowed; NULL = unknown */
	/* The sample that took longest, and its file; "" = none. */
	char slowest_file[256];   /* a longer name lacks its beginning */
	double slowest_sample_ns; /* NaN */
	uint64_t slowest_file_bytes;
};

/* The accelerator that waited longest for a batch, on the mean. */
struct slowest_rank {
	uint64_t rank;        /* UINT64_MAX = none */
	double stall_mean_ns; /* its own, and the median of all; NaN */
	double stall_median_ns;
};

/* The interface that a remote mount's bytes come through. */
struct network_result {
	const char *interface;                 /* borrowed; NULL = none, or unknown */
	uint64_t line_rate_bits_per_sec;       /* UINT64_MAX = unknown */
	uint64_t received_bytes;               /* in the window */
	double received_bits_per_sec, percent; /* of the line rate; NaN */
};

struct host_result {
	/* These CPUs are what percents are of: the allowed ones, or what a quota of a control group
	 * leaves of them; NaN = an older document's. */
	double cpus;
	/* Which, and whose time is in cpu_percent; borrowed; NULL = as cpus. Beginning with
	 * "quota", there is one. */
	const char *cpu_percent_of;
	double cpu_percent;                  /* busy */
	double user_percent, system_percent; /* of this process */
	double switches_per_sec;
	struct hist *oversleep_ns; /* lateness of every compute sleep */
	struct noise noise;
};

/* The time that host, network, noise and what storage delivered of a record are measured over: all
 * of its work, of merged jobs from the first of their beginnings to the last of their ends. NaN and
 * NULL = it never began, or a document's that is older, or of several runs. */
struct window_result {
	const char *from;     /* "start", "ramp_time"; borrowed */
	double begin_seconds; /* since the beginning of the job's group */
	double seconds;       /* to its last worker's end */
};

/* What packages and DRAM of the whole host took in the window, whoever it was for. NaN =
 * unknown. */
struct energy_result {
	double joules; /* of both; of the packages alone without dram_joules */
	double package_joules, dram_joules;
	double joules_per_gib;    /* read and written by the job */
	double joules_per_sample; /* of its training */
	const char *unmeasured;   /* borrowed; why one is NaN; NULL */
};

/* CPU time of mlgen in the window, by what its threads are for. NaN = there are none of these, or
 * no window. */
struct thread_cpu_result {
	double workers_seconds;        /* loaders; streams of a plain job; savers */
	double workers_waited_seconds; /* ready to run, without a CPU */
	double accelerators_seconds;
	double others_seconds; /* the rest, and threads of jobs beside it */
};

/* Where loaders ran, seen at the start of each batch (loader=plain: sample). */
struct numa_result {
	uint64_t device_node; /* of the storage's disk; UINT64_MAX = unknown */
	struct node_set seen; /* nodes where loaders were */
	char *loader_nodes;   /* as text; NULL: the host has one node */
	double far_percent;   /* of these looks at another node; NaN */
	/* numa=device could not bind; borrowed; NULL: it did or is not set. */
	const char *unbound;
};

/* One way in which published results count (facts: DLIO statscounter.py). */
struct mlperf_window {
	double train_au_mean_percentage, train_au_stdev_percentage;
	double train_throughput_mean_samples_per_second, train_throughput_stdev_samples_per_second;
	double train_io_mean_MB_per_second, train_io_stdev_MB_per_second;
};

struct mlperf_result {
	struct mlperf_window v1_0, v2_0, v3_0;
	const char *train_au_meet_expectation; /* "success", "fail"; NULL: no target */
};

/* One epoch in these windows; those of one step have none. */
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

/* What was done between the epochs. */
struct eval_result {
	uint64_t steps; /* of one rank, over all evaluations */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t failed_samples; /* taken, and not among these */
	double seconds;          /* of the slowest rank */
	double samples_per_sec, sample_bytes_per_sec, io_bytes_per_sec;
};

/*
 * What this host reaches without storage: the same job again for a few seconds, by itself. null: no
 * byte is read. cached: a few of its files, out of the page cache, over and over. NaN = not
 * measured.
 */
struct ceiling_result {
	bool is_tried;
	double null_au_percent, null_samples_per_sec, null_seconds;
	double cached_au_percent, cached_samples_per_sec, cached_seconds;
	uint64_t cached_files, cached_bytes;
	uint64_t jobs_beside; /* ran with the job, and are not in here */
	char unmeasured[256]; /* why something is missing; "" */
};

/* What a cache tier did in an epoch, or in several. Samples, unless the name says otherwise. */
struct cache_counts {
	uint64_t accesses, unique_samples;
	/* As the order of the plan has it. */
	uint64_t hits, misses, substitutions;
	/* Of hits: what the tier did not have (yet), and storage gave. */
	uint64_t late_hits;
	uint64_t peer_hits; /* that another process had: cache_scope=all */
	uint64_t fills, dropped_fills, evictions, prefetches; /* units */
	uint64_t cache_bytes, storage_bytes, peer_bytes, filled_bytes;
	uint64_t footprint_bytes; /* of the unique samples */
	double hit_ratio;         /* NaN: no access */
	/* Of the order: positions that follow on the one before in the data set; of the samples
	 * that this epoch and the one before have, rank correlation of their places; accesses of
	 * each sample on the mean. */
	double sequential_ratio, rank_correlation, multiplicity;
};

struct cache_epoch {
	uint64_t epoch; /* from 1 */
	bool is_cold;   /* the first, and the tier began empty */
	struct cache_counts counts;
};

/* One rank of several. */
struct cache_rank {
	uint64_t rank, accesses, hits, misses, substitutions;
	double hit_ratio; /* of the epochs after the first; NaN */
};

/* A cache tier (cache=); policy NULL = there is none. */
struct cache_result {
	const char *policy;         /* borrowed */
	const char *place;          /* "directory", "memory", "played" */
	const char *directory;      /* borrowed; NULL */
	uint64_t caches;            /* on this host */
	uint64_t parts;             /* processes that each is divided among; 1 = none */
	uint64_t size_bytes;        /* of each; UINT64_MAX = by samples */
	uint64_t size_samples;      /* UINT64_MAX = by bytes */
	uint64_t data_bytes;        /* of the data set */
	uint64_t used_bytes, units; /* at the end, of all of them */
	uint64_t state_bytes;       /* of memory for its bookkeeping */
	double hit_ratio;           /* of the epochs after the first; NaN with one */
	struct cache_counts all;    /* of all epochs */
	struct metric_list epochs;  /* cache_epoch, the first 1024; owned */
	struct metric_list ranks;   /* cache_rank; owned; none where they are alike */
	/* Of samples; owned by the tier: what it had here, storage, and the parts of other
	 * processes. */
	struct hist *hit_ns, *miss_ns, *peer_ns;
	/* To other processes and from them, of what was asked for here, and what they have asked
	 * for. */
	uint64_t sent_bytes, received_bytes, served_samples, served_bytes;
	bool is_full;             /* DIR has no more room: it has stopped growing */
	uint64_t verified, wrong; /* hits looked at by cache_verify */
	uint64_t kept_units;      /* that an earlier run had left (cache_persist) */
	uint64_t warm_units;      /* filled before the run (cache_warm) */
	/* Of importance sampling and of belady: time at the epochs' barriers. */
	double draw_seconds;
};

/* Fewer counted steps of a rank than this say little (MLPerf asks for 500). */
#define FEW_STEPS 50

struct ml_result {
	uint64_t accelerators;
	char *accelerator;      /* NULL = unnamed */
	uint64_t steps;         /* of one rank, over all epochs */
	uint64_t counted_steps; /* of all ranks: what step, stall and AU hold */
	bool too_short;         /* fewer than FEW_STEPS counted ones of a rank */
	/* None of the evaluations'. */
	uint64_t samples, sample_bytes, io_bytes;
	uint64_t failed_samples; /* taken, and not among samples */
	double cut_seconds;      /* in a step that was cut behind them */
	/* With it, as far as bytes were moved in it: job_runtime. */
	double runtime_seconds;
	double samples_per_sec, sample_bytes_per_sec, io_bytes_per_sec;
	double au_percent;
	const char *au_unmeasured;                     /* why it is NaN; NULL = it is not */
	struct metric_list au_percent_per_accelerator; /* double */
	struct slowest_rank slowest_rank;
	double target_au_percent;
	bool target_met; /* where there is a target and an AU */
	struct time_percent time_percent;
	struct loader_percent loader_percent;
	struct metric_list ranks;  /* rank_time, the first 256; owned; of
				    * one accelerator alone none */
	struct metric_list epochs; /* struct epoch_result, the first 1024 */
	uint64_t epochs_total;
	/* sample_ns is of extents, which are read together; UINT64_MAX: of several sizes, or
	 * unknown. */
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

/* min, max, mean, stdev over the seconds of a run, as fio's bw_* and iops_*. */
struct interval_stat {
	double min, max, mean, dev;
	uint64_t samples;
};

/* Figures of a direction as fio counts them. */
struct direction_fio {
	uint64_t io_kbytes, bw_bytes, bw, runtime_ms, drop_ios;
	double iops, bw_agg;
	struct hist *lat_ns; /* total_ns; lat_ns where nothing is paced */
	uint64_t bw_min, bw_max, iops_min, iops_max;
};

struct direction_result {
	uint64_t io_bytes, total_ios, short_ios;
	struct sizes sizes;  /* of the requests, as called */
	struct hist *lat_ns; /* submit to completion; fio's clat */
	/* Of a paced job: intended start to submit, and to completion. NULL: nothing is paced, and
	 * lat_ns is all there is. */
	struct hist *slat_ns, *total_ns;
	struct interval_stat bw_kib, iops;
	struct direction_fio fio; /* of a document alone */
};

/* What rate= and rate_iops= asked of one direction. */
struct rate_result {
	double asked_bytes_per_sec, asked_iops; /* NaN = not paced */
	bool is_missed;                         /* it had less than 99 % of that */
};

/* A part of the time of a replay. */
struct replay_slice {
	uint64_t asked_ios, asked_bytes; /* that the trace has there */
	uint64_t done_ios, done_bytes;   /* reads and writes, both */
};
enum { REPLAY_SLICES = 60 };

/* What a replay (phase=replay) has beside a plain job. */
struct replay_result {
	const char *trace;    /* its file, the job's; NULL = no replay */
	uint64_t threads;     /* of the trace, in io.numjobs workers */
	double asked_seconds; /* in the trace, at replay_speed */
	/* That were to be done, that were, of all kinds; those that failed are errors. What was
	 * done is UINT64_MAX, and NaN, of a plan. */
	uint64_t asked_operations, done_operations;
	uint64_t asked_bytes, done_bytes; /* of reads and writes */
	uint64_t touches;                 /* of these reads: pages of mappings, touched */
	uint64_t redirected;              /* replay_files=traced: would change a file that
					     the trace names, and went below directory */
	/* Of reads and writes: requests of block devices, and of these those that replay_span
	 * moved. */
	uint64_t blocks, folded;
	uint64_t waits;      /* for threads that were a second behind */
	double wait_seconds; /* of all workers */
	/* In the trace, and not replayed: "12 getdents, 3 advise"; "". */
	char left_out[256];
	uint64_t left_out_operations;
	double slice_seconds;      /* NaN = merged of unlike ones: there are none */
	struct metric_list slices; /* replay_slice, REPLAY_SLICES at most; owned */
};

/* A plain job (phase=io), or one of its numjobs. */
struct io_result {
	uint64_t numjobs;                        /* workers in this record */
	uint64_t jobnum;                         /* of the first of them, from 0 */
	uint64_t iodepth_least;                  /* iodepth_used is the most of its jobs */
	uint64_t files, file_bytes;              /* it works on */
	uint64_t laid_out_files, laid_out_bytes; /* made before, of the job */
	struct rate_result rate[2];              /* 0 read, 1 write */
	struct loader_percent worker_percent;
	struct replay_result replay;
};

/* Operations by depth, and calls by operations: opstat.h. Percent. */
struct depth_result {
	double depth[OPSTAT_DEPTHS], submit[OPSTAT_DEPTHS], complete[OPSTAT_DEPTHS];
};

/* Requests of a class of a power of two (stat/sizes.h). */
struct request_size {
	const char *operation; /* "read", "write" */
	uint64_t largest_bytes, count;
};

/* Percent of the latencies below each of fio's limits. */
struct latency_shares {
	double percent[12];
};

/* Members that only the document of a job has, some of them counted as fio does. They are filled
 * when a document is written (report/metrics) or read, and empty otherwise. */
struct job_document {
	const char *jobname;
	uint64_t error; /* a positive errno */
	const char *error_text;
	uint64_t elapsed, job_runtime_ms;
	struct metric_list members;                          /* metric_pair: jobname, - */
	struct metric_list options;                          /* metric_pair; values are owned */
	struct metric_list options_resolved, options_origin; /* likewise */
	struct metric_list request_sizes;                    /* request_size; owned */
	struct direction_result trim;                        /* zeros */
	struct latency_shares latency_ns, latency_us, latency_ms;
	struct dataset dataset; /* a copy, which borrows; format NULL = there is none */
	const char *format;     /* of the dataset; which of format=auto was found */
	uint64_t samples;       /* of it */
	bool is_uneven;
	uint64_t latency_depth;                  /* iodepth_used; 0 of a plan */
	uint64_t latency_target, latency_window; /* us */
	double latency_percentile;
};

struct merge_sums;

struct job_result {
	const struct job *job;
	const struct dataset *dataset;
	struct dataset_totals totals;
	uint64_t group;
	/* What it came to, be it only the preparation; NULL = nothing. */
	const struct workload *work;
	struct ml_result ml; /* of a plain job: empty */
	struct io_result io; /* of a plain job only */
	/* What any of them has; in the document in the object of its page. */
	uint64_t iodepth_used; /* 1 on a synchronous engine */
	const char *in_use;    /* of the engine's means, in words; "" */
	/* Of the slowest worker; of a training its epochs, without what lies between. */
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
	uint64_t errors;               /* counted by continue_on_error */
	struct failed_result failed;
	bool interrupted;
	bool complete;                 /* all it was to do, or its runtime */
	struct marks marks;            /* of its window; none of a document */
	struct prepare_result prepare; /* also of a training that prepared */
	struct direction_result read, write;
	struct depth_result depths;
	struct op_result sync;                   /* fsync and fdatasync, of a plain job */
	double elapsed_seconds;                  /* with startdelay and preparation */
	double usr_cpu_percent, sys_cpu_percent; /* of the elapsed time */
	uint64_t ctx, majf, minf;
	struct mlgen_err err;      /* code 0 = fine */
	uint64_t read_align_bytes; /* direct=1; 0 = buffered */
	unsigned members;          /* jobs merged by group_reporting; 1 = itself */
	struct merge_sums *sums;   /* weights of its means; NULL = one record */
	struct job_document doc;
};

struct disk_util {
	char name[64];
	uint64_t read_ios, write_ios, read_sectors, write_sectors, read_merges, write_merges,
		read_ticks, write_ticks, in_queue;
	double util;        /* percent of the time */
	double queue_depth; /* operations in the queue, on the mean */
};

/* What --trace has made. */
struct trace_result {
	const char *file;                      /* borrowed; NULL = there is none */
	bool complete;                         /* nothing was lost, and all was written */
	uint64_t records, bytes, lost, cpu_ns; /* of the thread that wrote */
};

/* Members that only the document of a run has, as job_document. */
struct run_document {
	uint64_t schema_version, timestamp; /* s */
	char *time;                         /* owned */
	struct metric_list global_options;  /* metric_pair; values are owned */
};

struct run_result {
	struct host host;
	uint64_t timestamp_ms; /* wall clock at the start */
	/* Rows of a document see each of these two as one list. */
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
	struct mlgen_err err; /* the first of any job */
	struct trace_result trace;
	struct series_result series; /* owned */
	/* Of a document: what wrote it; version NULL = this program. */
	const char *version, *liburing, *libaio;
	/* Texts of --title and --note, a line per note; borrowed, NULL = none. */
	const char *title, *notes;
	bool host_is_told; /* these are some of its jobs, behind its first */
	struct run_document doc;
};

/* Did it run, and more than prepare? Had it accelerators? Was it there for its checkpoints
 * alone? */
bool job_result_ran(const struct job_result *r);
bool job_result_has_accelerators(const struct job_result *r);
bool job_result_is_of_checkpoints(const struct job_result *r);

/* AU with the first step of each epoch, percent; NaN = there is no AU. */
double job_result_busy_percent(const struct job_result *r);
/* First steps, which AU leaves out, are so much of the time of short epochs that it says
 * nothing. */
bool job_result_au_misleads(const struct job_result *r);

/* Of a training: its epochs, evaluations, and waits for checkpoints. */
double job_result_runtime(const struct job_result *r);

/* Describe a mount, whose texts are borrowed, before anything was read. */
void storage_result_init(struct storage_result *st, const struct mount *m);
/* Nothing was tried. */
void ceiling_result_init(struct ceiling_result *r);
/* Of a job that saves or restores: the ones that it was for. */
const struct checkpoints_result *job_result_checkpoints(const struct job_result *r);

void run_result_fini(struct run_result *r);
void mlperf_rules_fini(struct metric_list *l); /* of mlperf_rule */

/* ---- what failed of a job that went on, and whether its max_errors allows so much ---- */

/*
 * Of a training samples fail: those that its accelerators took, in evaluations, too. Errors that
 * none of them met (of what was read ahead, of an index, within ramp_time) count by themselves
 * where no sample failed. Of a plain job operations fail.
 */

/* Are `count` of `of` more than the job's max_errors? */
bool failed_exceeds(const struct job *job, uint64_t count, uint64_t of);

/* Fill count, of and percent of a job's `failed` from its other counts. */
void failed_count(struct job_result *r);

/* The same, after it is known whether there are too many; then there is no AU of the job, and of
 * epochs in which samples failed. */
void failed_fill(struct job_result *r);

/* Add up: too many in one are too many in all. failed_fill() comes behind. */
void failed_merge(struct failed_result *to, const struct failed_result *from);

/* Did more fail than allowed in any of the jobs? */
bool failed_in_any(const struct run_result *r);

/* ---- several results as one: jobs of a group, workers of a job, documents ---- */

/*
 * Fold the jobs of each group in which any job asks for group_reporting into the group's first; the
 * others leave the list. Counts and rates add up, latencies merge exactly, percentages are means
 * weighted by what they are percentages of. Their window is from the first of their beginnings to
 * the last of their ends; host, noise, network and storage are counted over all of it, where they
 * read through one interface and from one source, else what has no such figure is unknown.
 * Published windows (mlperf{}) are of one training and are null in a merged result.
 */
void merge_groups(struct run_result *r);

/*
 * Add a plain job's worker to another of the same job, whose record owns its histograms and text
 * alone (a report may show both the sum and its parts).
 */
void merge_workers(struct job_result *to, const struct job_result *from);

/*
 * to += from, by the rules in result.h; both are of the same kind. Documents: what ran at
 * the same time (MERGE_CLIENTS) adds its rates, accelerators and demand, lasts as long as the
 * longest, and has its epochs and checkpoints together; what ran in turn (MERGE_TURNS) adds its
 * time, epochs and checkpoints, and has the mean of the rates. What is of one run alone (published
 * windows, rules, ceilings, slowest ranks) is not known of the whole.
 */
void merge_jobs(struct job_result *to, const struct job_result *from, enum merge_how how,
		const struct merge_memory *memory, void *owner);

/* ---- the tables that describe result.h: names, units, and how two results are one ---- */

/* Rules that several tables have. */
extern const struct merge_rule merge_storage, merge_host;
extern const struct merge_rule merge_checkpoints, merge_items, merge_numa_nodes;

/* metrics_result.c: of trainings and of plain jobs. */
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

/* Rows that the objects of several pages have alike. */
/* clang-format off */
#define METRICS_WINDOW_ROWS \
	{ "window", RESULT_OBJECT(struct job_result, window, struct window_result, metrics_window_fields, apart), \
	  .help = "The time over which host, network, noise and what storage delivered were measured." }, \
	{ "host", RESULT_OBJECT(struct job_result, host, struct host_result, metrics_host_fields, host), \
	  .help = "Load of this host in the window." }, \
	{ "network", RESULT_OBJECT(struct job_result, network, struct network_result, metrics_network_fields, apart), \
	  .help = "What the network carried in the window, of a remote mount." }, \
	{ "thread_cpu", RESULT_OBJECT(struct job_result, thread_cpu, struct thread_cpu_result, metrics_thread_cpu_fields, apart), \
	  .help = "CPU time of mlgen in the window, by what its threads are for." }, \
	{ "energy", RESULT_OBJECT(struct job_result, energy, struct energy_result, metrics_energy_fields, apart), \
	  .help = "What this host took in the window." }
#define METRICS_END_ROWS \
	{ "first_error", RESULT_CHARS(struct job_result, failed.first, first), \
	  .help = "The first of them in words; null = none." }, \
	{ "interrupted", RESULT_BOOL(struct job_result, interrupted, or), \
	  .help = "The job was stopped by a signal." }
/* clang-format on */
