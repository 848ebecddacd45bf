/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_rules.h - what MLPerf Storage asks of a run: workloads, sizes, options that may differ. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/jobset.h"

/* github.com/mlcommons/storage: v2.0 is caa90c9 (Submission_guidelines.md,
 * mlpstorage/rules.py), v1.0 its v1.0-branch (the same, benchmark.sh,
 * report.py). v1.0 has the same numbers, but for the run to warm up. */
#define MLPERF_STEPS 500  /* of an epoch, at least */
#define MLPERF_MEMORIES 5 /* dataset by the memory of all hosts, at least */
#define MLPERF_EPOCHS 5   /* of every training */
#define MLPERF_RUNS 5     /* that count */
#define MLPERF_SPREAD 5   /* percent, within which they are repeated */
#define MLPERF_CHECKPOINTS 10
#define MLPERF_PREFETCH 2   /* at most */
#define MLPERF_RANKS_HERE 4 /* of a checkpoint on one host, at least */
#define MLPERF_SUBSET 8     /* ranks of one host with storage of its own */

struct mlperf_workload {
	const char *name; /* of the job that is shipped */
	bool is_training;
	bool has_v1, has_v2;
	double au;      /* percent, the floor */
	uint64_t ranks; /* of a checkpoint */
};

/* "v1.0", "v2.0" of enum settings_check. */
const char *mlperf_version(int check);

/* By the job's name, or that of its file, which a document has as the origin of
 * its phase; NULL = none of theirs. */
const struct mlperf_workload *mlperf_find_workload(const struct job *j);
/* Is it one of that version, with that accelerator? */
bool mlperf_has_workload(const struct mlperf_workload *w, int check);
bool mlperf_has_accelerator(const char *name); /* NULL is none */

/* The dataset that they ask for. Counts are whole numbers. */
struct mlperf_need {
	double sample_bytes;  /* nominal, as their tool counts */
	double steps_samples; /* MLPERF_STEPS for all accelerators */
	double memory_samples;
	double samples; /* the larger one */
	double files, bytes;
	/* Their tools round a rule's files down, so that an epoch of 499 steps
	 * passes; from here on a dataset does. */
	double steps_passes, memory_passes; /* samples */
};
void mlperf_need(struct mlperf_need *n, const struct job *j,
		 double sample_bytes, uint64_t hosts, uint64_t memory_bytes);

/*
 * Is an option one that a closed submission may set, or that has a rule of its
 * own, or that does not touch what is run? Else one of the open division?
 */
bool mlperf_is_closed_option(const struct mlperf_workload *w, int check,
			     const struct job *j, const struct mlgen_field *f);
bool mlperf_is_open_option(const struct mlgen_field *f);

/*
 * Compare a job with the shipped one of its workload; what a closed submission
 * must not have changed goes to `out`, "batch_size=14, the rules have 7; ...".
 * The number of such options, or -errno with err where there is nothing to
 * compare with.
 */
int mlperf_compare(const struct job *j, const struct mlperf_workload *w,
		   int check, const struct jobset_env *env, struct buf *out,
		   struct mlgen_err *err);
