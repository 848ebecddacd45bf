/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program itself: what it was asked for, and what it writes; for the files beside
 * it alone. */
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
	/* What the page is made of, until it is. */
	FILE *document;
	char *document_text;
	size_t document_bytes;
	struct csv *log;        /* the same; closed by watch_run */
	struct tracefile trace; /* the same */
	struct prom *prom;      /* the same; NULL = none */
	struct json_each *each; /* the same */
	struct output *logs;    /* of write_iolog, one of each job; NULL = none */
	int logged_fd;          /* what they are made of, to be read; -1 = not yet */
	struct ask ask;         /* all of this, for the questions */
	struct hosts *hosts;    /* of one job; NULL = there are no others */
	bool is_mute;           /* not rank 0, whose the outputs are */
	struct merge merge;     /* what all of them measured; count 0 = alone */
	bool is_abandoned;      /* threads that hang in the kernel use all of it */
};

/* What follows gives the status that the program ends with (enum in ask/ask.h), and has told what
 * went wrong. */

/* Of what cannot be: the words go to standard error. */
int program_usage(const struct mlgen_err *err);

/* What could not be written is no answer, whatever it was. */
int program_status(int status, int written);

/* Plan the jobs, and print what they would do. */
int program_plan(struct program *p);

/* Run the jobs, and report. Where it sets is_abandoned nothing may be freed. */
int program_run(struct program *p);

/* ---- what is recorded: program_trace.c ---- */

/* Before the run: the trace that was asked for, or what logs of jobs are made of. 0 or -errno with
 * err. */
int program_trace(struct program *p, struct run *run, struct mlgen_err *err);

/* Behind it. False, and told: something is not in it. */
bool program_trace_end(struct program *p, struct run *run);

/* The logs of the jobs, if there are any; is_whole as that one gave it. An exit status. */
int program_put_logs(struct program *p, struct run *run, bool is_whole);

/* ---- what is written: program_outputs.c ---- */

/* Can the form of the report be filled from these jobs? 0, or -errno with err. */
int program_check_format(struct program *p, struct mlgen_err *err);

/* Where to write is checked before anything runs. A plan has no log. 0, or -errno with err. */
int program_open_outputs(struct program *p, bool is_run, struct mlgen_err *err);

/* What was measured, or planned (plans NULL = was not): all documents. */
int program_report(struct program *p, struct run_result *result, const struct plan_report *plans);
int program_close_outputs(struct program *p);

/* Was nothing printed that they would have? */
bool program_has_no_output(const struct program *p);

/* ---- the page: program_page.c ---- */

/* Where the JSON document goes: into --json, or the memory that a page is made of. NULL = nobody
 * wants it. */
FILE *program_document(struct program *p);

/* The page, and what --json has, of what went there; q NULL = a run, or a plan. An exit status:
 * whatever else there is has its own place. */
int program_put_page(struct program *p, const struct question *q);

/* Those that are still open are given up. */
void program_fini_outputs(struct program *p);

/* ---- one of several processes of a job: program_hosts.c ---- */

/* Behind the meeting, before anything is opened: outputs are rank 0's; traces, and logs of jobs,
 * each process has of its own, with its rank in their names; memory is that of all hosts. 0, or
 * -errno with err. */
int program_take_part(struct program *p, struct mlgen_err *err);

/* Of a question of jobs, or of a run that is over: rank 0 has answered with this status, the others
 * run what it tries until then. The status of rank 0. */
int program_end_together(struct program *p, int status);
