/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the state of the program mlgen, and its outputs; for src/main.c and program_*.c. */
#pragma once

#include <limits.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "io/host.h"
#include "job/job.h"
#include "report/output/output.h"
#include "report/plan/plan.h"
#include "report/prometheus/prometheus.h"
#include "run/result/result.h"

struct csv;
struct json_each;
struct run;

struct program {
	struct jobset set;
	struct jobset_env env;
	char binary_dir[PATH_MAX];
	struct host host;
	struct output text, json, html; /* opened before the run */
	/* Source of the HTML page, until the page is written. */
	FILE *document;
	char *document_text;
	size_t document_bytes;
	struct csv *log;        /* opened before the run; watch_run closes it */
	struct tracefile trace; /* opened before the run */
	struct prom *prom;      /* opened before the run; NULL = none */
	struct json_each *each; /* opened before the run */
	struct output *logs;    /* write_iolog, one per job; NULL = none */
	/* descriptor for reading the trace from which the logs are made; -1 = not yet open */
	int logged_fd;
	struct ask ask;      /* arguments of questions; points to the other members */
	struct hosts *hosts; /* all processes of the job; NULL = this process only */
	bool is_mute;        /* true except on rank 0, which writes all outputs */
	struct merge merge;  /* results of all processes; count 0 = this process only */
	bool is_abandoned; /* threads that hang in the kernel still use this struct: free nothing */
};

/* Functions that return an exit status (enum in ask/ask.h) have already reported their error. */

/* Report an error of the command line or the jobs on standard error. */
int program_usage(const struct mlgen_err *err);

/* Combine an exit status with the status of writing the outputs: if an answer could not be written,
 * the program fails. */
int program_status(int status, int written);

/* Plan the jobs and print the plans. */
int program_plan(struct program *p);

/* Run the jobs and report. Free nothing if is_abandoned is set afterwards. */
int program_run(struct program *p);

/* ---- traces and logs of a run: program_trace.c ---- */

/* Start the requested trace or, if only logs of jobs are wanted, a temporary trace. Call before the
 * run. 0 or -errno with err. */
int program_trace(struct program *p, struct run *run, struct mlgen_err *err);

/* End the trace after the run. False: the trace is incomplete, and the reason was reported. */
bool program_trace_end(struct program *p, struct run *run);

/* Write the logs of the jobs, if there are any. `is_whole` is the result of program_trace_end.
 * Returns an exit status. */
int program_write_logs(struct program *p, struct run *run, bool is_whole);

/* ---- outputs: program_outputs.c ---- */

/* Can these jobs be reported in the requested format? 0, or -errno with err. */
int program_check_format(struct program *p, struct mlgen_err *err);

/* Check and open all outputs; call before anything runs. A plan has no log. 0, or -errno with err.
 */
int program_open_outputs(struct program *p, bool is_run, struct mlgen_err *err);

/* Write all documents of a result or, unless `plans` is NULL, of plans. */
int program_report(struct program *p, struct run_result *result, const struct plan_report *plans);
int program_close_outputs(struct program *p);

/* Are the report and the JSON document still empty? */
bool program_has_no_output(const struct program *p);

/* The stream for the JSON document: the file of --json, or a buffer from which the page is made.
 * NULL = neither is wanted. */
FILE *program_document(struct program *p);

/* Write the page and --json from the document; q NULL = a run or a plan. Returns an exit status for
 * these two. program_close_outputs closes the other outputs. */
int program_write_page(struct program *p, const struct question *q);

/* Discard the outputs that are still open. */
void program_fini_outputs(struct program *p);

/* ---- one of several processes of a job: program_hosts.c ---- */

/*
 * Prepare this process to be one of several processes of a job. Call after hosts_meet and before
 * any output is opened. Only rank 0 keeps its outputs, except that every process writes its own
 * trace and logs of jobs, with its rank in their names. p->host receives the number and the memory
 * of the other hosts. 0, or -errno with err.
 */
int program_join(struct program *p, struct mlgen_err *err);

/* End a question or a run that all processes take part in. Rank 0 has `status`; the other ranks run
 * the probes that rank 0 starts, until rank 0 is done. All return the status of rank 0. */
int program_end_together(struct program *p, int status);
