/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_inside.h - what the files of mlperf_check share: the subjects of the rules, and the rules'
 * rows. */
#pragma once

#include "ask/mlperf_check.h"
#include "ask/mlperf_rules.h"
#include "base/buf.h"

enum mlperf_state {
	MLPERF_NONE, /* the rule is not about this job */
	MLPERF_OK,
	MLPERF_UNCHECKED,
	MLPERF_BROKEN, /* the last: the worst of several is the largest */
};

struct mlperf_group;

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

/* Is a result of it the mean of several runs? */
bool mlperf_repeats(const struct mlperf_subject *s);
/* The figures of a training in the window of that version. */
const struct mlperf_window *mlperf_window(const struct mlperf_subject *s);
/* What a result is the mean of: samples, or bytes, per second; NaN. */
double mlperf_rate(const struct mlperf_subject *s);
