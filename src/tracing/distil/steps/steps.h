/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - how a training in a trace consumes samples: ranks, loaders, batches, steps. */
#pragma once

/*
 * Markers of a trace show when steps ended. Without markers the pauses of readers do: a rank that
 * computes holds up its readers, so that the reads of a rank, its pulse, have a pause before each
 * batch. They also show how far ahead batches are read, and how long a step computes. The pipeline
 * of a training is its loader with its workers, what these do with a sample, and the steps.
 */

#include "tracing/distil/facts/facts.h"

/* Options of a training's pipeline, after those of its data set; fills its part of d->found[party].
 * 0, or -errno with err: as visits_next, or a side file that cannot be written. */
int distil_pipeline(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
/* Options of its evaluations, after its pipeline. Errors are the same. */
int distil_eval(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);

/* Ranks that are threads of one process: if reads show that there are several, number the tasks of
 * the party by rank and worker. 0, or -errno with err as visits_next. */
int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err);
