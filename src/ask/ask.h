/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - questions that are answered in one command: a row and a function each. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "hosts/hosts.h"
#include "io/host.h"
#include "job/job.h"
#include "run/result/result.h"

struct mlperf_row; /* ask/mlperf/mlperf.h */

/* What a program does with its exit status. */
enum {
	EXIT_RAN = 0,
	EXIT_FAILED = 1, /* results so far are reported */
	EXIT_USAGE = 2,  /* before the first byte */
	EXIT_MISSED = 3, /* a stated requirement */
	EXIT_INTERRUPTED = 130,
};

/* The program around a question; borrowed. */
struct ask {
	const struct jobset *set; /* as the command line has it */
	const struct jobset_env *env;
	const struct host *host;
	struct hosts *hosts; /* of one job; NULL = there are no others */
	int argc;
	char *const *argv;
	FILE *to;   /* the answer */
	FILE *json; /* of --json and --html; NULL = none */
};

extern const struct question ask_questions[];

/*
 * The environment of job files in a program: engines, questions, and the folders of shipped jobs.
 * `binary_dir` (PATH_MAX bytes) is filled and has to outlive `env`; argv0 names the program where
 * /proc is not mounted.
 */
void ask_env(struct jobset_env *env, char *binary_dir, const char *argv0);

/* Each prints its answer to a->to, faults to stderr, and gives the exit status. */
int ask_find_max(const struct ask *a);
int ask_find_min(const struct ask *a);
int ask_table(const struct ask *a);
int ask_compare(const struct ask *a);
int ask_merge(const struct ask *a);
int ask_report(const struct ask *a);
int ask_page(const struct ask *a);
int ask_datasize(const struct ask *a);
int ask_miss_curve(const struct ask *a); /* of jobs, and documents of them */
int ask_check(const struct ask *a);      /* of documents */
int ask_import_dlio(const struct ask *a);
int ask_clean(const struct ask *a);

/* What the questions ask of a workload: its rate, its workers, the rules that it has to keep. */
struct asked {
	/* What its storage moved, bytes per second; NaN = nothing that could be told. */
	double (*bytes_per_sec)(const struct job_result *r);
	/* How many were at work at once, and what they are. */
	uint64_t (*workers)(const struct job_result *r);
	const char *worker; /* "accelerators" */
	/* What rates of merged runs are that ran at the same time. */
	const char *side_by_side;
	/* A requirement of --find-max, for a message. */
	const char *example;
	/* Options that --find-max may vary: more of one is more load, or more at once, of the same
	 * job. Ends with NULL. */
	const char *const *varied;
	/* Options that --find-min may lessen, in hundredths of what there is: more of it costs, and
	 * is never worse. NULL = none; ends with NULL. */
	const char *const *lessened;
	/* MLPerf Storage's rules for it; the first row alone says that it has none. */
	const struct mlperf_row *mlperf_rules;
};
