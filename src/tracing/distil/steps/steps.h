/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - how a training run consumes samples: ranks, loaders, batches, steps. */
#pragma once

/*
 * Markers of a trace show when steps ended. Without markers the pauses of workers do: a rank that
 * computes holds up its workers, so the reads of a rank, its pulse, pause before each batch. The
 * pauses also show how far ahead batches are read and how long a step computes. The pipeline of a
 * training run is its loader with the workers, the time to process a sample, and the steps.
 */

#include "tracing/distil/facts/facts.h"

/*
 * Print the pipeline options of a training run, and fill the pipeline's part of d->found[party].
 * Call after distil_dataset. 0, or -errno with err: as visits_next, or a side file that cannot be
 * written.
 */
int distil_pipeline(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
/* Print the options of the evaluations of a training run. Call after distil_pipeline; the errors
 * are the same. */
int distil_eval(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);

/* Detect ranks that are threads of one process. If the reads show several ranks, number the tasks
 * of the party by rank and worker. 0, or -errno with err as visits_next. */
int rank_split(struct distil *d, uint32_t party, struct mlgen_err *err);
