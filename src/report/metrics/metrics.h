/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - the tables of the JSON document, which declare every figure once. */
#pragma once

/*
 * The JSON document has the members of these tables, in their order: json.c walks them, and
 * man/mlgen-json.5 is made from them. A figure that fio also has keeps fio's name and unit; figures
 * of training are in separate objects.
 *
 * The rows point into results (run/result). Some members of a result are filled for a document
 * only, in the copies that metrics_job_init() and metrics_top_init() make. A copy borrows from the
 * result, the jobset and the plan it is made from, which must outlive it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "job/job.h"
#include "report/plan/plan.h"
#include "run/result/result.h"
#include "field/fields.h"

/*
 * The version of the document. The version rises when a key changes its meaning or is removed;
 * documents of the previous version are still read (ask/results/results_file.c). Version 2: bytes
 * and rates of a training job exclude its evaluations, job_runtime includes them; samples are the
 * columns that are read; failed samples and operations are in no figure; host, CPU, network and
 * storage figures of a record cover the same window.
 */
#define METRICS_SCHEMA_VERSION 2

/* A table and the place of its object in the document; "" = the top. */
struct metrics_section {
	const char *path;
	const struct mlgen_field *table;
};

/* Every table, in the order of the document; ends with a NULL table. */
extern const struct metrics_section metrics_sections[];

extern const struct mlgen_field metrics_top_fields[];
extern const struct mlgen_field metrics_job_fields[];
extern const struct mlgen_field metrics_dataset_fields[];
extern const struct mlgen_field metrics_plan_fields[]; /* plan_report, and its parts: */
extern const struct mlgen_field metrics_calls_fields[];
extern const struct mlgen_field metrics_plan_checkpoint_fields[];
extern const struct mlgen_field metrics_plan_ranks_fields[];
extern const struct mlgen_field metrics_check_fields[];
extern const struct mlgen_field metrics_blocker_fields[];

/* True if the document of this result has that row of metrics_ml_fields. A job that saves or
 * restores has no accelerators; most other jobs have no checkpoints. */
bool metrics_ml_has(const struct job_result *r, const char *name);
/* True if the document of this result has that row of metrics_io_fields; only a replay has a
 * trace. */
bool metrics_io_has(const struct job_result *r, const char *name);

/* Names of the rows that a dry run can fill; each list ends with NULL. */
extern const char *const metrics_ml_planned[];
extern const char *const metrics_checkpoint_planned[]; /* rows of ml */
extern const char *const metrics_io_planned[];
extern const char *const metrics_replay_planned[]; /* rows of io */

/* The version of this program, for the document and the report. */
const char *metrics_version(void);

/* Copy a run, without its jobs, and fill its part `doc`. */
void metrics_top_init(struct run_result *t, const struct run_result *r, const struct jobset *set);
void metrics_top_fini(struct run_result *t);

/* Copy a result and fill its part `doc` and the directions' `fio`. A job merged by group_reporting
 * lists its members and the options that they share. With set NULL the copy has neither options nor
 * members, and owns nothing. */
void metrics_job_init(struct job_result *m, const struct job_result *r, const struct jobset *set);
void metrics_job_fini(struct job_result *m);

/* Fill bw_agg, the share of the job in the bandwidth of its group. */
void metrics_job_share(struct job_result *m, const struct run_result *r);

/* Fill the figures of a run that a plan knows; the others stay empty. Nothing is owned. */
void metrics_planned(struct job_result *to, const struct plan_report *p);
void metrics_planned_io(struct job_result *to, const struct plan_report *p);
void metrics_planned_replay(struct job_result *to, const struct plan_report *p);

/* ---- the runs of a merged report, at the top of the JSON document ---- */

/* The result of a job of a run; NaN = unknown. */
struct metrics_merged_job {
	const char *jobname;
	double au_percent, bytes_per_sec, stall_p99_ns, cpu_percent;
	double host_barrier_percent;
	bool is_slowest; /* the slowest of all runs; false if all runs are alike */
};

struct metrics_merged_run {
	char *file; /* name of the document, or of a process */
	char *hostname;
	uint64_t timestamp_ms;
	uint64_t turn;                           /* counts from 1 */
	uint64_t rank;                           /* process of a job; UINT64_MAX = a document */
	double clock_offset_ns, clock_unsure_ns; /* clock of the host; NaN = unknown */
	union {
		struct {
			struct metrics_merged_job *jobs; /* ordered like the records */
			size_t job_count;
		};
		struct metric_list job_list;
	};
	/* Members that are not in the document: the file that was read, the earliest end of the
	 * run, and a value that identifies the run. */
	const char *path;
	uint64_t end_ms, fingerprint;
};

struct metrics_merged {
	uint64_t hosts;
	uint64_t turns;
	double overlap_percent; /* smallest overlap in any turn; NaN = no runs side by side */
	union {
		struct {
			struct metrics_merged_run *runs; /* ordered by start */
			size_t count;
		};
		struct metric_list run_list;
	};
};

extern const struct mlgen_field metrics_merged_fields[];
extern const struct mlgen_field metrics_merged_run_fields[];
extern const struct mlgen_field metrics_merged_job_fields[];

/* ---- the result of --find-max, at the top of the JSON document ---- */

/* A run of the job. NaN and UINT64_MAX = unknown, or not applicable. */
struct metrics_probe {
	uint64_t value; /* value of the option */
	bool full;      /* ran as long as the job says */
	bool possible;
	bool holds;
	bool cut_short;                 /* full, but the AU required was out of reach */
	double figures[16];             /* figure of each part of the requirement */
	struct metric_list figure_list; /* `figures` as a list */
	/* smallest margin of any part of the requirement, in percent of its limit */
	double margin_percent;
	double au_percent, sample_bytes_per_sec, seconds;
	double stall_p99_ns, supply_percent, demand_bytes_per_sec;
	uint64_t steps;  /* per rank */
	uint64_t errors; /* sum of all jobs of the run */
	bool too_many_errors;
	char verdict[16];
	char error[512]; /* reason that the run was not possible or failed; "" = none */
};

/* A line of the answer, as printed on the terminal. */
struct metrics_answer_line {
	const char *label; /* "ANSWER"; NULL = the text is the whole line */
	char *text;        /* owned by the search */
};

struct metrics_find_max {
	const char *option, *job;
	const char *question;     /* "x: most accelerators with au >= 90" */
	struct metric_list lines; /* metrics_answer_line, owned by the search */
	const char *requirement;
	bool smallest;       /* the question was for the smallest value */
	uint64_t answer;     /* UINT64_MAX = none */
	uint64_t at_most;    /* values between `answer` and this one are uncertain */
	uint64_t limited_by; /* smallest value that does not hold */
	bool confirmed;      /* full runs confirm `answer` and limited_by */
	bool interrupted;
	double noise_percent;
	double limit_bytes_per_sec; /* largest rate that was delivered */
	double fraction;            /* part of an accelerator that storage feeds */
	const char *limit;          /* storage network host memory compute errors unclear
				       files option; NULL = unknown */
	/* AU that would be reached at limited_by if storage took no time */
	double ceiling_percent;
	struct metric_list probes; /* metrics_probe, owned by the search */
};

extern const struct mlgen_field metrics_find_max_fields[];
extern const struct mlgen_field metrics_probe_fields[];
extern const struct mlgen_field metrics_answer_line_fields[];

/* ---- the trace that --trace wrote, at the top of the JSON document ---- */

extern const struct mlgen_field metrics_trace_fields[]; /* trace_result */
