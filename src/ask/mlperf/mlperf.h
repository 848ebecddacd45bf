/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf.h - check jobs, runs and results of several runs by the rules of MLPerf Storage. */
#pragma once

/*
 * A version of the rules is a row with its workloads and the requirements on a dataset. Rules judge
 * a subject: a job of a run or of a plan. Runs of the same job form a group. A workload has its own
 * rules as rows of struct asked (ask/ask.h). This folder has the rules that training jobs and
 * checkpoints share.
 *
 * A rule that cannot be decided from the available figures is reported as not checked, never as
 * kept. The requirements of a version are members of its row; no rule asks for the version itself.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "job/job.h"
#include "run/result/result.h"

struct mlperf_group;

/* ---- requirements: workloads, sizes, options that may differ ---- */

/*
 * Sources: github.com/mlcommons/storage. v2.0 is caa90c9 (Submission_guidelines.md,
 * mlpstorage/rules.py). v1.0 is its v1.0-branch (the same file, benchmark.sh, report.py). v3.0 is
 * Rules.md 0366ccf and, where Rules.md does not say enough, 2f65ef1 of its fork
 * hazemawadalla/storage (mlpstorage_py/config.py, submission_checker/, configs/dlio/workload/). All
 * versions have in common:
 */
#define MLPERF_STEPS 500  /* minimum steps of an epoch */
#define MLPERF_MEMORIES 5 /* minimum size of the dataset in units of the memory of all hosts */
#define MLPERF_CHECKPOINTS 10
#define MLPERF_SUBSET 8 /* ranks of a subset run: one host with its own storage */

/* A workload in one version. */
struct mlperf_workload {
	const char *name; /* name of the shipped job; NULL ends a table */
	bool is_training;

	/* Training: */
	const char *const *accelerators; /* ends with NULL */
	double au;                       /* required minimum, percent */
	uint64_t epochs;
	bool saves;      /* saves its model after the last epoch */
	bool has_direct; /* O_DIRECT is allowed */

	/* Checkpoints: */
	uint64_t ranks;
	bool has_subset; /* a run of MLPERF_SUBSET ranks is a result, too */
};

/* When caches must be emptied for training. */
enum mlperf_empties {
	MLPERF_EMPTY_NEVER, /* the size of the dataset and new seeds suffice */
	MLPERF_EMPTY_RUN,
	MLPERF_EMPTY_EPOCH,
};

struct mlperf_accelerator {
	const char *name; /* NULL ends a table */
	double memory_bytes;
};

/* The requirements of one version; versions are rows of a table. */
struct mlperf_rules {
	const char *version; /* "v2.0" */
	const char *option;  /* "v2" in --check=mlperf-v2 */
	const struct mlperf_workload *workloads;
	const char *names; /* names of the workloads, for messages */
	size_t window;     /* offset of its figures in struct mlperf_result */
	size_t epoch_rate; /* offset of an epoch's rate in struct mlperf_epoch */
	/* The first run is a warm-up and is not counted; each run needs a new seed. */
	bool warms_up;
	/* A result of checkpoints is the mean of several runs, like a result of training. */
	bool repeats_checkpoints;
	/* The time between two runs must be less than the time of a run. */
	bool is_consecutive;
	/* The dataset must have exactly the required size. */
	bool is_exact;
	enum mlperf_empties empties;
	uint64_t epochs;     /* epochs of jobs without a workload; 0 = any number */
	uint64_t ranks_here; /* minimum ranks of a checkpoint on one host */
	const char *ranks_here_text;
	/* Memory of the accelerators whose state a checkpoint has, the smallest first; NULL = any.
	 */
	const struct mlperf_accelerator *memories;
	/* Caches must be emptied before restores, unless more than this many times the host's
	 * memory was saved; 0 = always. */
	unsigned cache_memories;
	/* Saves and restores may be two runs, at most this long apart; 0 = they must be one run. */
	unsigned phases_seconds;
};

/* The rules for a value of enum settings_check; v2.0 for CHECK_NONE. */
const struct mlperf_rules *mlperf_rules_of(int check);
/* Like mlperf_rules_of(), but for CHECK_NONE the first version, v2.0 or later, that has the job's
 * workload on its accelerator. */
const struct mlperf_rules *mlperf_rules_for(int check, const struct job *j);

/* Find the workload of a job by the name of the job or of its job file. A document names the job
 * file as the origin of the phase option. NULL = no workload of this version. */
const struct mlperf_workload *mlperf_find_workload(const struct mlperf_rules *rules,
						   const struct job *j);
/* Like mlperf_find_workload(), but in any version. */
const struct mlperf_workload *mlperf_find_any(const struct job *j);
/* True if the workload has that accelerator; false for NULL. */
bool mlperf_has_accelerator(const struct mlperf_workload *w, const char *name);

/* The required dataset. Counts are whole numbers. */
struct mlperf_need {
	double sample_bytes;  /* nominal, as MLPerf's tool counts */
	double steps_samples; /* MLPERF_STEPS for all accelerators */
	double memory_samples;
	double samples; /* the larger of steps_samples and memory_samples */
	double files, bytes;
	/* The smallest dataset that passes: MLPerf's tools round the number of files down, so even
	 * an epoch of 499 steps passes. */
	double steps_passes, memory_passes; /* samples */
};
/* Compute the required dataset. `per_file` is the mean number of samples per file, which for
 * existing files is their own. */
void mlperf_need(struct mlperf_need *n, const struct job *j, double per_file, double sample_bytes,
		 uint64_t hosts, uint64_t memory_bytes);

/*
 * Compare a job with the shipped job of its workload. Options that a closed submission must not
 * change are appended to `out`: "batch_size=14, the rules have 7; ...". Returns their number, or
 * -errno with err if there is nothing to compare with.
 */
int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   const struct jobset_env *env, struct buf *out, struct mlgen_err *err);

/* ---- checks: would a run be valid for MLPerf Storage? ---- */

/*
 * Checks for --check=mlperf-v1|v2 (settings.check). They use the memory of the run, which is
 * memory_limit or all memory of its host; --memory overrides it, and --hosts overrides the number
 * of hosts. These checks do not change the exit status, but ask_check(), which checks documents,
 * does.
 */

/*
 * Print a block for each job and its repetitions; with --quiet only the first line. Call only with
 * output_format=normal, after text_report(). For a dry run, call with r NULL after the plans are
 * printed: then only rules that are known before a run are checked.
 */
void mlperf_check(FILE *to, const struct ask *a, const struct run_result *r);

/* Fill ml.mlperf_check of each result. Call after verdict_fill() and before json_report(). */
void mlperf_fill(struct run_result *r, const struct ask *a);
/* Fill the checks of a planned job; mlperf_rules_fini() frees them. */
void mlperf_plan(struct metric_list *to, const struct job *j, const struct ask *a);

/* ---- subjects of the rules, and rows of rules ---- */

enum mlperf_state {
	MLPERF_NONE, /* the rule does not apply to the job */
	MLPERF_OK,
	MLPERF_UNCHECKED,
	MLPERF_BROKEN, /* the last, because the largest state of several is the worst */
};

/* A job of a run or of a plan; borrowed. */
struct mlperf_subject {
	const struct ask *ask;
	const struct run_result *run; /* NULL = before the run */
	const struct job_result *result;
	const struct job *job;
	const char *name; /* name of the run's document or of the section */
	const struct mlperf_rules *rules;
	const struct mlperf_workload *workload; /* NULL = no workload of MLPerf */
	uint64_t hosts, memory_bytes;           /* number of hosts, and memory of each host */
	const char *memory_of;                  /* " of memory_limit" or "" */
	double samples; /* samples of the dataset; NaN = unknown, see `why` */
	double samples_per_file;
	struct mlperf_need need;
	struct mlgen_err why;
	uint64_t begin_ms, end_ms; /* times of the whole run */
	unsigned turn; /* counted from 0; runs of several hosts at the same time share a turn */
	const struct mlperf_group *group;
};

/* Runs of the same job in the order of their starts. */
struct mlperf_group {
	struct mlperf_subject *of;
	size_t count;
	unsigned turns, warm_ups; /* the first `warm_ups` turns are not counted */
	const struct mlperf_groups *all;
};

struct mlperf_groups {
	struct mlperf_group *of;
	size_t count;
};

/* A run and the name of its document; NULL = the run has just ended. */
struct mlperf_source {
	const struct run_result *run;
	char *name; /* name of the document, owned; NULL = no document */
};

/* Group the jobs of all sources or, if there is no source, the planned jobs. */
void mlperf_groups_init(struct mlperf_groups *g, const struct ask *a,
			const struct mlperf_source *sources, size_t count);
void mlperf_groups_fini(struct mlperf_groups *g);

/* Print all groups. Returns the number of broken rules. */
unsigned mlperf_print(FILE *to, const struct ask *a, const struct mlperf_groups *g);

/* A rule appends its findings to `text`: figures if it is kept; otherwise the option that breaks
 * the rule, and the option's correct value. */
typedef enum mlperf_state mlperf_check_fn(const struct mlperf_subject *s, struct buf *text);
struct mlperf_row {
	const char *name; /* NULL ends a table */
	mlperf_check_fn *check;
	bool is_of_result; /* judges the whole result, which may consist of several runs */
};

/* Rules of jobs that are not workloads of MLPerf. */
extern const struct mlperf_row mlperf_other_rules[];

/* Rules that training jobs and checkpoints share. */
mlperf_check_fn mlperf_check_workload, mlperf_check_options, mlperf_check_complete,
	mlperf_check_runs;

/* The state of a rule that cannot be judged before the run. */
enum mlperf_state mlperf_not_yet(struct buf *text);

/* The figures of a training job in the window of the subject's version. */
const struct mlperf_window *mlperf_window(const struct mlperf_subject *s);
