/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_rules.h - what MLPerf Storage asks of a run: workloads, sizes, options that may differ. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

/* github.com/mlcommons/storage: v2.0 is caa90c9 (Submission_guidelines.md, mlpstorage/rules.py),
 * v1.0 its v1.0-branch (the same, benchmark.sh, report.py), v3.0 Rules.md 0366ccf and, where that
 * says less, 2f65ef1 of its fork hazemawadalla/storage (mlpstorage_py/config.py,
 * submission_checker/, configs/dlio/workload/). What all versions have in common: */
#define MLPERF_STEPS 500  /* of an epoch, at least */
#define MLPERF_MEMORIES 5 /* dataset by the memory of all hosts, at least */
#define MLPERF_RUNS 5     /* that count */
#define MLPERF_SPREAD 5   /* percent, within which they are repeated */
#define MLPERF_CHECKPOINTS 10
#define MLPERF_PREFETCH 2 /* at most */
#define MLPERF_SUBSET 8   /* ranks of one host with storage of its own */

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
 * Is an option one that a closed submission may set, or that has a rule of its own, or that does
 * not touch what is run? Else one of the open division?
 */
bool mlperf_is_closed_option(const struct mlperf_workload *w, const struct job *j,
			     const struct mlgen_field *f);
bool mlperf_is_open_option(const struct mlgen_field *f);

/*
 * Compare a job with the shipped one of its workload; what a closed submission must not have
 * changed goes to `out`, "batch_size=14, the rules have 7; ...". The number of such options, or
 * -errno with err where there is nothing to compare with.
 */
int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   const struct jobset_env *env, struct buf *out, struct mlgen_err *err);
