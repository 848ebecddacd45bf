/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - every figure of the JSON document, declared once. */
#pragma once

/*
 * The JSON document is what these tables say, in their order: json.c walks them, man/mlgen-json.5
 * is made from them. Where fio has a figure, it has fio's name and unit; figures of training stand
 * in objects of their own.
 *
 * The structs below stand between a result and its tables: they hold what fio counts in another way
 * than a result does. They borrow from the result, the jobset and the plan they were made from,
 * which must outlive them.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"
#include "stat/metric.h"

/* ---- every figure of the JSON document, declared once ---- */

/*
 * The JSON document is what these tables say, in their order: json.c walks them, man/mlgen-json.5
 * is made from them. Where fio has a figure, it has fio's name and unit; figures of training stand
 * in objects of their own.
 *
 * The structs below stand between a result and its tables: they hold what fio counts in another way
 * than a result does. They borrow from the result, the jobset and the plan they were made from,
 * which must outlive them.
 */

/*
 * Of the document. It rises when a key has another meaning or goes; documents of the version before
 * are read, too (ask/results/results_file.c).
 * 2: bytes and rates of a training are without its evaluations, job_runtime with them; samples are
 * the columns that are read; failed samples and operations are in no figure; host, CPU, network and
 * what storage delivered have one window each record.
 */
#define METRICS_SCHEMA_VERSION 2

/* A table and the place of its object in the document, "" = the top. */
struct metrics_section {
	const char *path;
	const struct mlgen_field *table;
};

/* Every table, in the order of the document; ends with a NULL table. */
extern const struct metrics_section metrics_sections[];

extern const struct mlgen_field metrics_top_fields[];
extern const struct mlgen_field metrics_job_fields[];
extern const struct mlgen_field metrics_dataset_fields[];
extern const struct mlgen_field metrics_plan_fields[]; /* plan_report */

/* Which rows of metrics_ml_fields stand in the document of this result: a job that saves or
 * restores has no accelerators, others mostly no checkpoints. */
bool metrics_ml_has(const struct job_result *r, const char *name);
/* Of metrics_io_fields: only a replay has a trace. */
bool metrics_io_has(const struct job_result *r, const char *name);

/* The rows of these that a dry run knows; end with NULL. */
extern const char *const metrics_ml_planned[];
extern const char *const metrics_checkpoint_planned[]; /* of ml, too */
extern const char *const metrics_io_planned[];
extern const char *const metrics_replay_planned[]; /* of io, too */

/* This program, for the document and the report. */
const char *metrics_version(void);

/* Shares in percent, of latencies or depths; the tables name the limits. */
struct metrics_shares {
	double percent[12];
};

/* Reads, writes or trims, as fio counts them. */
struct metrics_direction {
	uint64_t io_bytes, io_kbytes, bw_bytes, bw;
	double iops;
	uint64_t runtime_ms, total_ios, short_ios, drop_ios;
	struct hist *slat_ns, *clat_ns, *lat_ns;
	uint64_t bw_min, bw_max, bw_samples;
	double bw_agg, bw_mean, bw_dev;
	uint64_t iops_min, iops_max, iops_samples;
	double iops_mean, iops_stddev;
};

struct metrics_sync {
	uint64_t total_ios;
	struct hist *lat_ns;
};

/* Requests of a class of a power of two (stat/opstat.h). */
struct metrics_size {
	const char *operation;
	uint64_t largest_bytes, count;
};

struct metrics_job {
	const char *jobname;
	uint64_t groupid, error;
	const char *error_text;
	uint64_t total_err, first_error;
	uint64_t elapsed, job_runtime_ms;
	double elapsed_seconds;
	struct metric_list members; /* metric_pair: jobname, - */
	struct metric_list options; /* metric_pair, the value is owned */
	struct metric_list options_resolved, options_origin;
	double usr_cpu, sys_cpu;
	uint64_t ctx, majf, minf, read_align_bytes;
	struct metrics_direction read, write, trim;
	struct metrics_sync sync;
	struct metric_list request_sizes; /* metrics_size, owned */
	struct metrics_shares latency_ns, latency_us, latency_ms;
	struct metrics_shares iodepth_level, iodepth_submit, iodepth_complete;
	uint64_t latency_depth, latency_target, latency_window;
	double latency_percentile;
};

/* What lies on storage, as a run or a plan has it. */
struct metrics_dataset {
	struct dataset dataset;
	struct dataset_totals totals;
	const char *format; /* its name, which of format=auto was found */
	uint64_t samples;
	bool is_uneven;
};

struct metrics_machine {
	const char *hostname, *kernel;
	uint64_t cpus, cpus_online, memory_bytes, open_files;
	const char *cpu_model, *command, *liburing, *libaio;
	uint64_t numa_nodes, memory_limit_bytes; /* UINT64_MAX = null */
};

struct metrics_disk {
	const char *name;
	struct disk_util util;
};

struct metrics_top {
	const char *version;
	uint64_t schema_version, timestamp, timestamp_ms;
	char *time; /* owned */
	bool interrupted;
	const char *title, *notes; /* a line each; borrowed */
	struct metrics_machine machine;
	struct metric_list global_options; /* metric_pair, the value is owned */
	struct metric_list jobs;           /* stays empty: json.c adds them */
	struct metric_list disk_util;      /* metrics_disk, owned */
};

void metrics_top_init(struct metrics_top *t, const struct run_result *r, const struct jobset *set);
void metrics_top_fini(struct metrics_top *t);

/* A job merged by group_reporting lists its members and the options they share; without a set there
 * are none, and nothing is owned. */
void metrics_job_init(struct metrics_job *m, const struct job_result *r, const struct jobset *set);
void metrics_job_fini(struct metrics_job *m);

/* bw_agg, which takes the other jobs of the run. */
void metrics_job_share(struct metrics_job *m, const struct run_result *r);

/* Nothing owned; false when the result has no dataset. */
bool metrics_dataset_init(struct metrics_dataset *m, const struct dataset *ds,
			  const struct dataset_totals *totals);

/* What of a run's figures a plan knows; all others are empty. Nothing owned. */
void metrics_planned(struct job_result *to, const struct plan_report *p);
void metrics_planned_io(struct job_result *to, const struct plan_report *p);
void metrics_planned_replay(struct job_result *to, const struct plan_report *p);

/* ---- of which runs a merged report is, as the top of the JSON document has it ---- */

/* What one job of a run came to; NaN = that cannot be told. */
struct metrics_merged_job {
	const char *jobname;
	double au_percent, bytes_per_sec, stall_p99_ns, cpu_percent;
	double host_barrier_percent;
	bool is_slowest; /* of all runs, where they are not alike */
};

struct metrics_merged_run {
	const char *file, *hostname;
	uint64_t timestamp_ms;
	uint64_t turn;                           /* from 1 */
	uint64_t rank;                           /* of one job; UINT64_MAX = of a document */
	double clock_offset_ns, clock_unsure_ns; /* of its host; NaN */
	struct metric_list jobs;                 /* metrics_merged_job, as the records are */
};

struct metrics_merged {
	uint64_t hosts;
	uint64_t turns;
	double overlap_percent;  /* NaN = none ran side by side */
	struct metric_list runs; /* metrics_merged_run, in their order */
};

extern const struct mlgen_field metrics_merged_fields[];
extern const struct mlgen_field metrics_merged_run_fields[];
extern const struct mlgen_field metrics_merged_job_fields[];

/* ---- what --find-max found, as the top of the JSON document has it ---- */

/* One run of the job. NaN and UINT64_MAX = not known, or it has none. */
struct metrics_probe {
	uint64_t value; /* of the option */
	bool full;      /* as long as the job says */
	bool possible;
	bool holds;
	bool cut_short;                 /* full, but the AU required was out of reach */
	double figures[16];             /* of each part of the requirement */
	struct metric_list figure_list; /* the same */
	double margin_percent;          /* of the limit, of what is met least */
	double au_percent, sample_bytes_per_sec, seconds;
	double stall_p99_ns, supply_percent, demand_bytes_per_sec;
	uint64_t steps;  /* of one rank */
	uint64_t errors; /* of all jobs of the run */
	bool too_many_errors;
	char verdict[16];
	char error[512]; /* why it was not possible, or failed; "" */
};

/* A line of the answer, as the terminal prints it. */
struct metrics_answer_line {
	const char *label; /* "ANSWER"; NULL = the text is the whole line */
	char *text;        /* owned by the search */
};

struct metrics_find_max {
	const char *option, *job;
	const char *question;     /* "x: most accelerators with au >= 90" */
	struct metric_list lines; /* metrics_answer_line, owned by the search */
	const char *requirement;
	bool smallest;       /* it was asked for the smallest value */
	uint64_t answer;     /* UINT64_MAX = none */
	uint64_t at_most;    /* more than answer: not sure up to here */
	uint64_t limited_by; /* the smallest that does not hold */
	bool confirmed;      /* both sides by full runs */
	bool interrupted;
	double noise_percent;
	double limit_bytes_per_sec; /* the most that was delivered */
	double fraction;            /* of one accelerator that is fed */
	const char *limit;          /* storage network host memory compute errors unclear
				       files option; NULL = not known */
	double ceiling_percent;     /* AU without storage at limited_by */
	struct metric_list probes;  /* metrics_probe, owned by the search */
};

extern const struct mlgen_field metrics_find_max_fields[];
extern const struct mlgen_field metrics_probe_fields[];
extern const struct mlgen_field metrics_answer_line_fields[];

/* ---- what --trace has written, as the top of the JSON document has it ---- */

extern const struct mlgen_field metrics_trace_fields[]; /* trace_result */
