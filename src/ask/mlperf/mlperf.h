/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf.h - the rules of MLPerf Storage: for a job, a run, and a result of several runs. */
#pragma once

/*
 * A version of the rules is a row with its workloads and what a dataset needs. What a rule looks at
 * is a subject: one job of a run, or of a plan; runs of the same job are a group. A workload has
 * its own rules as rows of struct asked (ask/ask.h); those that trainings and checkpoints share are
 * here.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "job/job.h"
#include "run/result/result.h"

struct mlperf_group;

/* ---- what MLPerf Storage asks of a run: workloads, sizes, options that may differ ---- */

/* github.com/mlcommons/storage: v2.0 is caa90c9 (Submission_guidelines.md, mlpstorage/rules.py),
 * v1.0 its v1.0-branch (the same, benchmark.sh, report.py), v3.0 Rules.md 0366ccf and, where that
 * says less, 2f65ef1 of its fork hazemawadalla/storage (mlpstorage_py/config.py,
 * submission_checker/, configs/dlio/workload/). What all versions have in common: */
#define MLPERF_STEPS 500  /* of an epoch, at least */
#define MLPERF_MEMORIES 5 /* dataset by the memory of all hosts, at least */
#define MLPERF_CHECKPOINTS 10
#define MLPERF_SUBSET 8 /* ranks of one host with storage of its own */

/* A workload, as one version has it. */
struct mlperf_workload {
	const char *name; /* of the job that is shipped; NULL ends a table */
	bool is_training;

	/* of a training */
	const char *const *accelerators; /* NULL ends them */
	double au;                       /* percent, the floor */
	uint64_t epochs;
	bool saves;      /* its model, behind the last epoch */
	bool has_direct; /* O_DIRECT may be chosen */

	/* of checkpoints */
	uint64_t ranks;
	bool has_subset; /* MLPERF_SUBSET of them are a result, too */
};

/* When caches have to be empty for a training. */
enum mlperf_empties {
	MLPERF_EMPTY_NEVER, /* its size and new seeds do */
	MLPERF_EMPTY_RUN,
	MLPERF_EMPTY_EPOCH,
};

struct mlperf_accelerator {
	const char *name; /* NULL ends a table */
	double memory_bytes;
};

/* What one version asks for; the versions are rows of a table. */
struct mlperf_rules {
	const char *version; /* "v2.0" */
	const char *option;  /* "v2", of --check=mlperf-v2 */
	const struct mlperf_workload *workloads;
	const char *names; /* of these, for a message */
	size_t window;     /* its figures, in struct mlperf_result */
	size_t epoch_rate; /* and of an epoch, in struct mlperf_epoch */
	/* A first run that does not count, and a new seed for each. */
	bool warms_up;
	/* A result of checkpoints is the mean of runs, as that of trainings. */
	bool repeats_checkpoints;
	/* Less time lies between two runs than one takes. */
	bool is_consecutive;
	/* The dataset is neither smaller nor larger than the size to be. */
	bool is_exact;
	enum mlperf_empties empties;
	uint64_t epochs;     /* of what is none of theirs; 0 = not asked */
	uint64_t ranks_here; /* of a checkpoint on one host, at least */
	const char *ranks_here_text;
	/* What the accelerators of a checkpoint hold, the least first; NULL = any. */
	const struct mlperf_accelerator *memories;
	/* Caches are emptied before restores, but where more than so many times the host's memory
	 * was saved; 0 = always. */
	unsigned cache_memories;
	/* Saves and restores may be two runs, with at most so much between them; 0 = they are
	 * one. */
	unsigned phases_seconds;
};

/* Of enum settings_check; where nothing is checked those of v2.0. */
const struct mlperf_rules *mlperf_rules_of(int check);
/* The same for this job: where nothing is checked those of the first version from v2.0 on that has
 * its workload on its accelerator. */
const struct mlperf_rules *mlperf_rules_for(int check, const struct job *j);

/* By the job's name, or that of its file, which a document has as the origin of its phase; NULL =
 * none of that version's. */
const struct mlperf_workload *mlperf_find_workload(const struct mlperf_rules *rules,
						   const struct job *j);
/* The same in any version. */
const struct mlperf_workload *mlperf_find_any(const struct job *j);
/* Has the workload that accelerator? NULL is none. */
bool mlperf_has_accelerator(const struct mlperf_workload *w, const char *name);

/* The dataset that they ask for. Counts are whole numbers. */
struct mlperf_need {
	double sample_bytes;  /* nominal, as their tool counts */
	double steps_samples; /* MLPERF_STEPS for all accelerators */
	double memory_samples;
	double samples; /* the larger one */
	double files, bytes;
	/* Their tools round a rule's files down, so that an epoch of 499 steps passes; from here on
	 * a dataset does. */
	double steps_passes, memory_passes; /* samples */
};
/* Files have so many samples each, in the mean: those that are there their own. */
void mlperf_need(struct mlperf_need *n, const struct job *j, double per_file, double sample_bytes,
		 uint64_t hosts, uint64_t memory_bytes);

/*
 * Compare a job with the shipped one of its workload; what a closed submission must not have
 * changed goes to `out`, "batch_size=14, the rules have 7; ...". The number of such options, or
 * -errno with err where there is nothing to compare with.
 */
int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   const struct jobset_env *env, struct buf *out, struct mlgen_err *err);

/* ---- rule by rule: would this run be valid for MLPerf Storage? ---- */

/*
 * For --check=mlperf-v1|v2 (settings.check). Memory is what the run had: memory_limit, else all of
 * its host; or what --memory says, of so many --hosts. Neither changes the exit status; ask_check
 * of documents does.
 */

/*
 * The page, one block a job and its repetitions; with --quiet only the first line of each. To be
 * called with output_format=normal only, behind text_report; or with r NULL behind the plans of a
 * dry run, when only what is known before a run can be checked.
 */
void mlperf_check(FILE *to, const struct ask *a, const struct run_result *r);

/* The same into ml.mlperf_check of each result: to be called after verdict_fill and before
 * json_report. */
void mlperf_fill(struct run_result *r, const struct ask *a);
/* ... of a job that is planned; given back by mlperf_rules_fini. */
void mlperf_plan(struct metric_list *to, const struct job *j, const struct ask *a);

/* ---- what the files of mlperf_check share: the subjects of the rules, and the rules' rows ---- */

enum mlperf_state {
	MLPERF_NONE, /* the rule is not about this job */
	MLPERF_OK,
	MLPERF_UNCHECKED,
	MLPERF_BROKEN, /* the last: the worst of several is the largest */
};

/* One job of a run, or of a plan; borrowed. */
struct mlperf_subject {
	const struct ask *ask;
	const struct run_result *run; /* NULL: before it */
	const struct job_result *result;
	const struct job *job;
	const char *name; /* of the run's document, or of the section */
	const struct mlperf_rules *rules;
	const struct mlperf_workload *workload; /* NULL = none of theirs */
	uint64_t hosts, memory_bytes;           /* of each host */
	const char *memory_of;                  /* " of memory_limit", or nothing */
	double samples;                         /* of the dataset; NaN: why it is not known */
	double samples_per_file;
	struct mlperf_need need;
	struct mlgen_err why;
	uint64_t begin_ms, end_ms; /* of the whole run */
	unsigned turn;             /* from 0; runs of several hosts at a time share it */
	const struct mlperf_group *group;
};

/* The same job again and again, in the order of their starts. */
struct mlperf_group {
	struct mlperf_subject *of;
	size_t count;
	unsigned turns, warm_ups; /* the first so many do not count */
	const struct mlperf_groups *all;
};

struct mlperf_groups {
	struct mlperf_group *of;
	size_t count;
};

/* A run, and the name of its document; NULL = it is the one just done. */
struct mlperf_source {
	const struct run_result *run;
	char *name; /* of the document, owned; NULL: there is none */
};

/* Of no source: of the jobs as they are planned. */
void mlperf_groups_init(struct mlperf_groups *g, const struct ask *a,
			const struct mlperf_source *sources, size_t count);
void mlperf_groups_fini(struct mlperf_groups *g);

/* The page; the number of broken rules. */
unsigned mlperf_print(FILE *to, const struct ask *a, const struct mlperf_groups *g);

/* A rule says what it found in `text`: of one that is kept the figures, of one that is broken the
 * option that breaks it and what would be right. */
typedef enum mlperf_state mlperf_check_fn(const struct mlperf_subject *s, struct buf *text);
struct mlperf_row {
	const char *name; /* NULL ends a table */
	mlperf_check_fn *check;
	bool is_of_result; /* which may be more than this run */
};

/* Of what is none of their workloads. */
extern const struct mlperf_row mlperf_other_rules[];

/* Rules that trainings and checkpoints have. */
mlperf_check_fn mlperf_check_workload, mlperf_check_options, mlperf_check_complete,
	mlperf_check_runs;

/* Before the run there is nothing to say yet. */
enum mlperf_state mlperf_not_yet(struct buf *text);

/* The figures of a training in the window of that version. */
const struct mlperf_window *mlperf_window(const struct mlperf_subject *s);
