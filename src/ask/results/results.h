/* SPDX-License-Identifier: Apache-2.0 */
/* results.h - read, compare, tabulate and merge documents of runs, and check requirements. */
#pragma once

/*
 * A document is the output of --json of a run. It is read into records, one for each job, whose
 * figures have keys such as "read.iops" (rows of the tables in report/). A document can also be
 * turned back into the results from which it was made, which are then reported or merged.
 *
 *   record    one job of one document
 *   figure    a number of a record, found by its key
 *   merge     runs that become one: clients, repetitions, or the processes of one job
 *
 * One thread uses all of it.
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

/* ---- records: one job of a run or of a document, as the structs that the tables describe ---- */

/* All pointers are borrowed; NULL = the document has no such object. */
struct record {
	const struct job_result *job; /* NULL in a score */
	/* Set if the document has such an object; they point to the same result as `job`. */
	const struct job_result *ml, *io;
	const struct cache_result *cache;
	const struct job_result *dataset; /* same as `job` */
	const struct prepare_result *prepare;
	const struct plan_report *plan;
	/* Objects of the whole document. */
	const struct run_result *run;
	const struct series_result *series;
	const struct trace_result *trace;
	const struct metrics_find_max *find_max;
	const struct metrics_merged *merged;
	const struct scored *score;
	const char *file; /* name of the file */
	/* Knows which rows the document lacks. NULL = the record comes from a run, so its result
	 * says which rows it has. */
	const struct json_store *store;
};

/* The places where a key is looked up, in this order; measured results come first. */
struct record_root {
	const char *name; /* object in front of the key; NULL = none */
	const char *in;   /* the object of a job; NULL = the job itself */
	bool is_top;      /* the object is part of the document, not of the job */
	const struct mlgen_field *table;
	size_t off;    /* offset of the pointer in struct record */
	size_t within; /* offset of the object's struct in struct job_result or run_result */
	size_t bytes;  /* size of the object's struct if it is allocated separately; otherwise 0 */
};

#define RECORD_ROOTS 13
extern const struct record_root record_roots[RECORD_ROOTS];

/* Fill a record from a job of a run, without its options. The caller provides `m`. */
void record_of_run(struct record *r, struct job_result *m, const struct run_result *run,
		   size_t job);

/* The kind of work that a job did. */
enum record_kind {
	RECORD_NOTHING = 0, /* the job only prepared, or did not run */
	RECORD_TRAIN = 1,
	RECORD_IO = 2,
	RECORD_CHECKPOINT = 4,
};
enum record_kind record_kind(const struct record *r);

/* True if more operations failed than max_errors allows or, in documents older than that option, if
 * any failed. */
bool record_has_too_many_errors(const struct record *r);
/* True if the document has too_many_errors. */
bool record_counts_errors(const struct record *r);
/* True if the job was stopped before its end. */
bool record_is_cut(const struct record *r);

/* The text of the option in effect; NULL = unset or unknown. */
const char *record_option(const struct record *r, const char *option);

/* Iterate over all options of some records, including engine options, each once and in their order.
 * Start with a zeroed `at`; returns NULL at the end. */
struct record_options {
	size_t record, option;
};
const char *record_next_option(struct record_options *at, const struct record *const *of,
			       size_t count);

/* ---- one figure of a result by its key: a metric, a percentile, an option ---- */

/*
 * A key is looked up below jobs[].ml, jobs[].io, jobs[] and at the top of the document, in this
 * order, then among the options of jobs and of built-in engines. Objects are separated with dots;
 * elements of lists are numbered from 0. A latency has min, max, mean, stddev, N and any percentile
 * ("stall_ns.p99"), as exact as its bins. `au` is au_percent, `file` the name of the document.
 */
struct figure {
	const char *key;  /* the given key; borrowed */
	const char *path; /* the full key */
	enum {
		FIGURE_METRIC,
		FIGURE_OPTION,
		FIGURE_FILE,
	} kind;
	const struct mlgen_field *row; /* row of the metric or of the option */
	bool is_measured;              /* set by figure_init_measured() */
};

/* Find a figure by its key. 0, or -EINVAL with err if no document has such a key; err names the
 * nearest key. */
int figure_init(struct figure *f, const char *key, struct mlgen_err *err);
/* Like figure_init() for numbers that a run measures: metrics below jobs[].ml, jobs[].io and
 * jobs[]. */
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
	double real;    /* also set for whole numbers */
	char *text;     /* owned; set for all options, even for numbers */
	/* The value is a percentile with fewer than ten values beyond it. */
	bool is_unsure;
};

/* The kind to print: an uncertain percentile is not printed. */
static inline enum figure_kind figure_shown_kind(const struct figure_value *v)
{
	return v->is_unsure ? VALUE_NONE : v->kind;
}

/* Read the figure of a record; VALUE_NONE = null or missing. False: only other jobs have this
 * figure. */
bool figure_value(const struct figure *f, const struct record *r, struct figure_value *v);
void figure_value_fini(struct figure_value *v);

/* A number by its key; NaN = no such number. */
double figure_number(const char *key, const struct record *r);
/* The latency that the figure belongs to; NULL = none, or it is empty. */
const struct hist *figure_latency(const struct figure *f, const struct record *r);

/* True if the figure is a time in ns, by its row or as part of a latency. */
bool figure_is_ns(const struct figure *f);
/* True if the figure's row has this unit ("bytes/s"). */
bool figure_has_unit(const struct figure *f, const char *unit);

/* ---- documents: JSON files of mlgen, checked before use ---- */

struct results_file {
	const char *path; /* borrowed */
	char *shown;      /* the path, printable; owned */
	const char *name; /* last part of `shown` */
	json_t *root;     /* owned; NULL after result_read() */
	/* "jobs" in root: objects that have a jobname. NULL = not the document of a run. */
	json_t *list;
	/* Records of the jobs, or of the score; owned. */
	struct record *records;
	size_t count;
	struct run_result run;   /* the structs that records point to */
	VEC(struct job *) jobs;  /* each job once; set by result_read() */
	bool is_result;          /* result_read() was called: verdicts are owned */
	struct json_store store; /* owns all strings and structs of the document */
};

/*
 * Read a file, or standard input for "-". 0, or -errno with err: the file cannot be read, is not
 * JSON (with line and column), was not written by mlgen, has another schema version, or a value has
 * the wrong type. Figures of older documents are converted to their present meaning.
 */
int results_open(struct results_file *f, const char *path, struct mlgen_err *err);
/* Like results_open(), but accepts descriptions of traces, miss curves and scores, too; of these,
 * only scores have a record. */
int results_open_any(struct results_file *f, const char *path, struct mlgen_err *err);
/* Like results_open(), but accepts scores, too, which have one record without a job. */
int results_open_scored(struct results_file *f, const char *path, struct mlgen_err *err);
/* Read a document in memory; `name` is used in messages. */
int results_open_text(struct results_file *f, const char *name, const char *text, size_t bytes,
		      struct mlgen_err *err);
/* Accepts a zeroed struct, and also frees what result_read() made. */
void results_close(struct results_file *f);

/* A number that is equal for copies of a document and different for two runs. */
uint64_t results_fingerprint(const struct results_file *f);

/* Print a note for each job that failed or was stopped: its figures cover only the time until then.
 */
void results_note_incomplete(const struct results_file *f);

/* ---- results: the run of a document, as if it had just ended ---- */

/*
 * Turn a document into the result of its run. A report of this result equals the report of the run,
 * except for sizes of requests, NUMA nodes and engines loaded from a file, which are not in the
 * document. Records with the same name belong to one job. Verdicts are left empty. 0, or -EINVAL
 * with err if the document has options or values that this program does not know.
 */
int result_read(struct results_file *f, const struct jobset_env *env, struct mlgen_err *err);
/* Replace title and notes by the title and notes of the command line. */
void result_retitle(struct run_result *run, const struct settings *set);

/* ---- requirements of --require ---- */

/*
 * A requirement compares any number that a run measures, named by its key: "samples_per_sec",
 * "storage.memory_percent", "epochs.0.au_percent", "read.clat_ns.p99.9", "au".
 *
 * Before a run, r is NULL: check that some job could have the figures and meet the requirements; 0,
 * or -EINVAL with err. After a run, print a line on stderr for each miss and return the number of
 * misses. A figure that is null counts as a miss, and so does a figure that no job has.
 */
int require_check(const char *text, const struct run_result *r, struct mlgen_err *err);

/* Read the figure that a requirement names, for one job; NaN = unknown. False: the job has no
 * figure of this name. */
bool require_value(const struct job_result *r, const char *metric, double *value);

/* True if the value meets the requirement; NaN meets none. */
bool require_holds(const struct requirement *q, double value);

/* ---- tables of figures ---- */

/* Print a row for each job of the documents on the command line, in the output format text, csv or
 * json. `keys` are separated by commas. Returns the exit status. */
int table_files(const struct ask *a, const char *keys);

/* ---- page of --html ---- */

/*
 * Write a page with the answer of a question (q NULL = a run or a plan) and with the documents that
 * the question was about. `answer` is JSON or lines of JSON. 0, or -errno with err.
 */
int page_files(const struct ask *a, const struct question *q, const char *answer, size_t bytes,
	       FILE *to, struct mlgen_err *err);

/* ---- merged runs ---- */

/* The smallest and the largest value of the runs, and the runs that have them; NaN = no run has a
 * value. */
struct merge_spread {
	double least, most;
	const struct metrics_merged_run *least_of, *most_of;
};

/* The spreads of one job. */
struct merge_job {
	struct merge_spread au_percent, bytes_per_sec, host_barrier;
};

struct merge {
	const struct ask *ask;
	bool is_one_job;            /* each run is a process of one job (merge_hosts.c) */
	bool is_read;               /* `of` belongs to a document and is borrowed */
	struct metrics_merged of;   /* owned unless is_read */
	struct results_file result; /* the merged documents */
	struct run_result *run;     /* the merged result */
	struct merge_job *jobs;     /* same count as jobs of the result */
};

/* Note the figures of a run's jobs before the run is merged. */
void merge_add_run(struct merge *m, struct metrics_merged_run *run,
		   const struct run_result *result);
/* Fill *m for the report from a document of merged runs, including verdicts. */
void merge_of_document(struct merge *m, struct results_file *f);
/* Mark the slowest run of each job. Call after all runs are noted. */
void merge_mark_slowest(struct merge *m);
/* If the runs are the processes of one job, add to its verdicts the host that the other hosts wait
 * for, or the slowest one. */
void merge_explain_slowest(const struct merge *m);
/* Name the hosts of the merged result: the first one and the number of other hosts. */
void merge_name_hosts(struct merge *m);
void merge_fini(struct merge *m);

/* Print the report; its first line includes the number of hosts. */
void merge_print(FILE *to, const struct merge *m, enum detail detail);
/* `set` has the jobs of the result. 0 or -EIO. */
int merge_print_json(FILE *to, const struct merge *m, const struct jobset *set);

/* ---- one job on several hosts: the report of rank 0 ---- */

/*
 * Merge the results of all ranks. All ranks must call this together (hosts.h), each with its own
 * result. Afterwards `own` of rank 0 has the result of all ranks, and *m the ranks that
 * contributed. Figures that exist once per host (CPU, network, bytes of storage) are counted once,
 * not once per rank. A rank that is gone or ran other jobs is left out with a warning. With one
 * process, and in all other ranks, `own` does not change. Call merge_fini() in any case, after the
 * report: `own` borrows from *m.
 */
void merge_hosts(struct merge *m, struct hosts *h, struct run_result *own, const struct ask *a);
