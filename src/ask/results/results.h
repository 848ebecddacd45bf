/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - documents of runs: read, compared, tabulated, merged, required. */
#pragma once

/*
 * A document is what --json of a run wrote. It is read into records, one for each job, whose
 * figures are found by keys such as "read.iops" (tables of the rows in report/); or it becomes the
 * results that it was made of, from which a report is printed or several are merged.
 *
 *   record    one job of one document
 *   figure    a number of a record, by its key
 *   merge     runs that become one: clients, repetitions, or the processes of one job
 *
 * All of it belongs to the one thread that answers a question.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "ask/ask.h"
#include "base/vec.h"
#include "field/fields.h"
#include "hosts/hosts.h"
#include "job/job.h"
#include "report/document/document.h"
#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "run/result/result.h"

struct scored;

/* ---- the figures of one job, of a run or of a document: the structs that the tables describe ----
 */

/* Borrows all of it; NULL = it has none. */
struct record {
	const struct job_result *job; /* of a score there is none */
	/* These point to the same result where its page has such an object, and are NULL else. */
	const struct job_result *ml, *io;
	const struct cache_result *cache;
	const struct job_result *dataset; /* the job itself */
	const struct prepare_result *prepare;
	const struct plan_report *plan;
	/* Of the whole document. */
	const struct run_result *run;
	const struct series_result *series;
	const struct trace_result *trace;
	const struct metrics_find_max *find_max;
	const struct metrics_merged *merged;
	const struct scored *score;
	const char *file; /* its name */
	/* Knows the rows that a document has not; NULL = of a run, whose result knows them. */
	const struct json_store *store;
};

/* Where keys are looked for, in this order; first what a run measures. */
struct record_root {
	const char *name; /* in front of the key, and its object; NULL */
	const char *in;   /* the object of a job; NULL = the job itself */
	bool is_top;      /* of the document, not of the job */
	const struct mlgen_field *table;
	size_t off;    /* of the pointer in struct record */
	size_t within; /* where its struct lies in that of the job, or of the run ... */
	size_t bytes;  /* ... or its size, where it does not; else 0 */
};

#define RECORD_ROOTS 13
extern const struct record_root record_roots[RECORD_ROOTS];

/* What was measured in a job of a run, without its options. `m` belongs to the caller. */
void record_of_run(struct record *r, struct job_result *m, const struct run_result *run,
		   size_t job);

/* What a job did. */
enum record_kind {
	RECORD_NOTHING = 0, /* it only prepared, or did not run */
	RECORD_TRAIN = 1,
	RECORD_IO = 2,
	RECORD_CHECKPOINT = 4,
};
enum record_kind record_kind(const struct record *r);

/* Did more fail in it than its max_errors allows? Of a document of before there was such an option:
 * did anything? */
bool record_has_too_many_errors(const struct record *r);
/* Does it say so itself? */
bool record_counts_errors(const struct record *r);
/* Was it stopped before its end? */
bool record_is_cut(const struct record *r);

/* Text of the option in effect; NULL = unset, or unknown. */
const char *record_option(const struct record *r, const char *option);

/* The options that any of some records has, those of engines too, each once, in their order: the
 * next one, from a zeroed place on, or NULL. */
struct record_options {
	size_t record, option;
};
const char *record_next_option(struct record_options *at, const struct record *const *of,
			       size_t count);

/* ---- one figure of a result by its key: a metric, a percentile, an option ---- */

/*
 * A key is looked for below jobs[].ml, jobs[].io, jobs[] and at the top of the document, in this
 * order, then among the options of jobs and of the engines that are built in. Objects are entered
 * with a dot, elements of a list by their number from 0. Of a latency min, max, mean, stddev, N and
 * any percentile, exactly from its bins ("stall_ns.p99"). `au` is au_percent, `file` the name of
 * the document.
 */
struct figure {
	const char *key;  /* as given; borrowed */
	const char *path; /* what it stands for */
	enum {
		FIGURE_METRIC,
		FIGURE_OPTION,
		FIGURE_FILE,
	} kind;
	const struct mlgen_field *row; /* of the metric, or of the option */
	bool is_measured;              /* by figure_init_measured() */
};

/* 0, or -EINVAL with err: no document has such a key; it names the nearest. */
int figure_init(struct figure *f, const char *key, struct mlgen_err *err);
/* The same of what a run measures, which is a number: of the metrics below jobs[].ml, jobs[].io and
 * jobs[] alone. */
int figure_init_measured(struct figure *f, const char *key, struct mlgen_err *err);

struct figure_value {
	enum figure_kind {
		VALUE_NONE,
		VALUE_WHOLE,
		VALUE_BOOL,
		VALUE_REAL,
		VALUE_TEXT,
	} kind;
	uint64_t whole; /* BOOL: 0 or 1 */
	double real;    /* of a whole number, too */
	char *text;     /* owned; an option's also where it is a number */
	/* A percentile with fewer than ten values beyond it. */
	bool is_unsure;
};

/* What is told of it: nothing where it is unsure, in text as for programs. */
static inline enum figure_kind figure_told(const struct figure_value *v)
{
	return v->is_unsure ? VALUE_NONE : v->kind;
}

/* What a record has of it; VALUE_NONE: null, or nothing. False: nothing, for it is a figure of
 * other jobs. */
bool figure_value(const struct figure *f, const struct record *r, struct figure_value *v);
void figure_value_fini(struct figure_value *v);

/* A number by its key; NaN: it has none. */
double figure_number(const char *key, const struct record *r);
/* The latency that it is a part of; NULL = there is none, or it is empty. */
const struct hist *figure_latency(const struct figure *f, const struct record *r);

/* Is it a time in ns: of a latency, or by its row? */
bool figure_is_ns(const struct figure *f);
/* Does its row have this unit ("bytes/s")? */
bool figure_has_unit(const struct figure *f, const char *unit);

/* ---- a JSON document that mlgen wrote, checked before it is looked into ---- */

struct results_file {
	const char *path; /* borrowed */
	char *shown;      /* the path, printable; owned */
	const char *name; /* the last part of that */
	json_t *root;     /* owned; NULL after result_read() */
	/* Of it: a list of objects, each with a jobname; NULL: it is no run. */
	json_t *list;
	/* What its tables say, one for each of its jobs, or of a score; owned. */
	struct record *records;
	size_t count;
	struct run_result run;   /* what the records are of */
	VEC(struct job *) jobs;  /* of all records, without doubles; by result_read() */
	bool is_result;          /* that was called: verdicts are owned, too */
	struct json_store store; /* owns what all of it points to */
};

/*
 * Read a file, "-" for standard input. 0, or -errno with err: it cannot be read, is no JSON (line
 * and column), not mlgen's, of another schema version, or a value in it is of another type than its
 * row. All figures have the meaning that they have today (results_older.h).
 */
int results_open(struct results_file *f, const char *path, struct mlgen_err *err);
/* Whatever mlgen writes: descriptions of traces and miss curves, too, which have no record. */
int results_open_any(struct results_file *f, const char *path, struct mlgen_err *err);
/* Runs, and a score is taken, too: one record, without a job. */
int results_open_scored(struct results_file *f, const char *path, struct mlgen_err *err);
/* The same of a document that is in memory, and is called `name` in messages. */
int results_open_text(struct results_file *f, const char *name, const char *text, size_t bytes,
		      struct mlgen_err *err);
void results_close(struct results_file *f); /* takes a zeroed one, and what result_read() made */

/* Copies of a document have the same one, two runs do not. */
uint64_t results_fingerprint(const struct results_file *f);

/* A note on stderr where a job failed or was stopped: figures cover what ran before. */
void results_note_incomplete(const struct results_file *f);

/* ---- a result as the run had it, from the records of its document ---- */

/*
 * Make the run of a document that was read with all it has a result. What the reports print is
 * there again, with these exceptions: the sizes of requests and NUMA nodes are not in the document,
 * nor is an engine that was loaded from a file. Records of one name are of one job. Verdicts are
 * empty. 0, or -EINVAL with err where it has options or values that this program does not know.
 */
int result_read(struct results_file *f, const struct jobset_env *env, struct mlgen_err *err);
/* Title and notes of the command line take the place of the document's. */
void result_retitle(struct run_result *run, const struct settings *set);

/* ---- does a result meet what --require states? ---- */

/*
 * Any number that a run measures, by its key (figure.h): "samples_per_sec",
 * "storage.memory_percent", "epochs.0.au_percent", "read.clat_ns.p99.9", "au". Before a run, with r
 * NULL, only checks that some job could have the metrics and meet what is said of them: -EINVAL
 * with err. After it: 0 when every job that has such a figure meets all of them, else the number of
 * misses, each said in one line on stderr. A figure that does not apply (null) misses, and so does
 * one that no job has.
 */
int require_check(const char *text, const struct run_result *r, struct mlgen_err *err);

/* Such a figure of one job, NaN = unknown; false: it has none of this name. */
bool require_value(const struct job_result *r, const char *metric, double *value);

/* NaN meets nothing. */
bool require_holds(const struct requirement *q, double value);

/* ---- figures of documents as a table, for the questions that print one ---- */

/* A row for each job of the documents of `a`, in its output format: text, csv or json. `keys` have
 * commas between them. Gives the exit status. */
int table_files(const struct ask *a, const char *keys);

/* ---- the page of --html, around what was asked and the documents it was asked of ---- */

/*
 * What a question has answered (NULL = a run, or a plan), as --json has it, or lines of JSON,
 * becomes a page; with the documents of runs that it was asked about. 0, or -errno with err.
 */
int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err);

/* ---- the runs that become one report, and what came of them ---- */

/* The least and the most of the runs, and which they are; NaN = none has it. */
struct merge_spread {
	double least, most;
	const struct metrics_merged_run *least_of, *most_of;
};

/* Of one job record. */
struct merge_job {
	struct merge_spread au_percent, bytes_per_sec, host_barrier;
};

struct merge {
	const struct ask *ask;
	bool is_one_job;            /* of which each run is a process (merge_hosts.c) */
	bool is_read;               /* `of` is a document's, and borrowed */
	struct metrics_merged of;   /* else all of it is owned */
	struct results_file result; /* of documents */
	struct run_result *run;     /* that all went into */
	struct merge_job *jobs;     /* as its jobs */
};

/* Of a run, before it goes into others: what its jobs came to, and whether that is the least or the
 * most. */
void merge_note(struct merge *m, struct metrics_merged_run *run, const struct run_result *result);
/* Fills *m with all that the report needs, from a document of merged runs, verdicts included. */
void merge_of_document(struct merge *m, struct results_file *f);
/* When all are noted. */
void merge_mark_slowest(struct merge *m);
/* Of one job: the verdict names the host that the others wait for. */
void merge_tell_slowest(const struct merge *m);
/* The host of what was merged: the first, and how many others. */
void merge_name_hosts(struct merge *m);
void merge_fini(struct merge *m);

/* The report, its first line with the number of hosts behind it. */
void merge_print(FILE *to, const struct merge *m, enum detail detail);
/* The jobs of `set` are those of the result. 0 or -EIO. */
int merge_print_json(FILE *to, const struct merge *m, const struct jobset *set);

/* ---- what the processes of one job measured, as the one report of rank 0 ---- */

/*
 * Together (hosts.h), with what each has measured. Rank 0 has in `own` that of all then, and in *m
 * of whom it is; of ranks of one host what the host has once (CPU, network, what storage delivered)
 * is counted once. A rank that is gone, or that ran other jobs, is left out, with a warning. Where
 * there is one process, and in all but rank 0, nothing changes. merge_fini in any case, behind the
 * report: `own` has borrowed from *m.
 */
void merge_hosts(struct merge *m, struct hosts *h, struct run_result *own, const struct ask *a);
