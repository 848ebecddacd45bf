/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - every figure of the JSON document, declared once. */
#pragma once

/*
 * The JSON document is what these tables say, in their order: json.c walks them, man/mlgen-json.5
 * is made from them. Where fio has a figure, it has fio's name and unit; figures of training stand
 * in objects of their own.
 *
 * The rows point into results (run/result). A few members there are filled for a document alone;
 * the copies that metrics_job_init() and metrics_top_init() make have them. Copies borrow from the
 * result, the jobset and the plan they were made from, which must outlive them.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"
#include "stat/metric.h"

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
extern const struct mlgen_field metrics_plan_fields[]; /* plan_report, and what is in it: */
extern const struct mlgen_field metrics_calls_fields[];
extern const struct mlgen_field metrics_plan_checkpoint_fields[];
extern const struct mlgen_field metrics_plan_ranks_fields[];
extern const struct mlgen_field metrics_check_fields[];
extern const struct mlgen_field metrics_blocker_fields[];

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

/* Copies a run, without its jobs, and fills its part `doc` with what is of this program. */
void metrics_top_init(struct run_result *t, const struct run_result *r, const struct jobset *set);
void metrics_top_fini(struct run_result *t);

/* Copies a result and fills its part `doc` and the directions' `fio`. A job merged by
 * group_reporting lists its members and the options they share; without a set there are none, and
 * nothing is owned. */
void metrics_job_init(struct job_result *m, const struct job_result *r, const struct jobset *set);
void metrics_job_fini(struct job_result *m);

/* bw_agg, which takes the other jobs of the run. */
void metrics_job_share(struct job_result *m, const struct run_result *r);

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
	char *file; /* name of the document, or of a process */
	char *hostname;
	uint64_t timestamp_ms;
	uint64_t turn;                           /* from 1 */
	uint64_t rank;                           /* of one job; UINT64_MAX = of a document */
	double clock_offset_ns, clock_unsure_ns; /* of its host; NaN */
	union {
		struct {
			struct metrics_merged_job *jobs; /* as the records are */
			size_t job_count;
		};
		struct metric_list job_list;
	};
	/* Members that no document has: where it was read, how long it took at least, and what
	 * tells it from others. */
	const char *path;
	uint64_t end_ms, fingerprint;
};

struct metrics_merged {
	uint64_t hosts;
	uint64_t turns;
	double overlap_percent; /* the least of the turns; NaN = none ran side by side */
	union {
		struct {
			struct metrics_merged_run *runs; /* in the order of their starts */
			size_t count;
		};
		struct metric_list run_list;
	};
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
