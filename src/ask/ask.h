/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - questions that mlgen answers in one command; each has a table row and a function. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "hosts/hosts.h"
#include "io/host.h"
#include "job/job.h"
#include "run/result/result.h"

struct mlperf_row; /* ask/mlperf/mlperf.h */

/* Exit status of the program. */
enum {
	EXIT_RAN = 0,
	EXIT_FAILED = 1, /* results so far are reported */
	EXIT_USAGE = 2,  /* wrong usage, found before the first byte of I/O */
	EXIT_MISSED = 3, /* a stated requirement was missed */
	EXIT_INTERRUPTED = 130,
};

/* The program around a question; all pointers are borrowed. */
struct ask {
	const struct jobset *set; /* jobs and settings of the command line */
	const struct jobset_env *env;
	const struct host *host;
	struct hosts *hosts; /* hosts of the job; NULL = only this one */
	int argc;
	char *const *argv;
	FILE *to;   /* text of the answer */
	FILE *json; /* JSON for --json and --html; NULL = not given */
};

extern const struct question ask_questions[];

/*
 * Set up the environment of job files: engines, questions, and folders of shipped jobs. Fills
 * `binary_dir` (PATH_MAX bytes), which must outlive `env`. argv0 names the program if /proc is not
 * mounted.
 */
void ask_env(struct jobset_env *env, char *binary_dir, const char *argv0);

/* Each function prints its answer to a->to and errors to stderr, and returns the exit status. */
int ask_find_max(const struct ask *a);
int ask_find_min(const struct ask *a);
int ask_table(const struct ask *a);
int ask_compare(const struct ask *a);
int ask_merge(const struct ask *a);
int ask_report(const struct ask *a);
int ask_page(const struct ask *a);
int ask_datasize(const struct ask *a);
int ask_miss_curve(const struct ask *a); /* reads jobs, and documents of their runs */
int ask_check(const struct ask *a);      /* reads documents */
int ask_import_dlio(const struct ask *a);
int ask_clean(const struct ask *a);

/* The part of a workload that questions use: its rate, its workers, its rules. */
struct asked {
	/* Bytes per second that storage moved; NaN = unknown. */
	double (*bytes_per_sec)(const struct job_result *r);
	/* Number of concurrent workers, and their name. */
	uint64_t (*workers)(const struct job_result *r);
	const char *worker; /* "accelerators" */
	/* Meaning of the rates of merged runs that overlapped in time. */
	const char *side_by_side;
	/* An example of a requirement of --find-max, for a message. */
	const char *example;
	/* Options that --find-max may vary: a larger value is more load, or more concurrency, of
	 * the same job. Ends with NULL. */
	const char *const *varied;
	/* Options that --find-min may reduce, in percent of the dataset. A larger value costs more
	 * and is never worse. Ends with NULL; NULL = no such option. */
	const char *const *lessened;
	/* Rules of MLPerf Storage for the workload; a single row means that there are none. */
	const struct mlperf_row *mlperf_rules;
};
