/* SPDX-License-Identifier: Apache-2.0 */
/* job_checkpoint.h - what follows from a job's options of checkpoints; see also job.h. */
#pragma once

#include "base/ranges.h"
#include "job/job.h"

/* Ranks of the whole job: `ranks`, or what the parallelism says. Those of a job whose parallelism
 * is wrong mean nothing. */
uint64_t job_ranks(const struct job *j);

/* Of these all processes of the job save: checkpoint_ranks, in a training those below its
 * accelerators. 0, or -errno with err; *out is the caller's (ranges_fini). */
int job_saved_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);
/* Of them this process plays: all, where it is alone; else in a training those that its
 * accelerators are, or its even share, which may be none. */
int job_local_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);
