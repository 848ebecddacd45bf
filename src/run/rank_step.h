/* SPDX-License-Identifier: Apache-2.0 */
/* rank_step.h - what a rank's steps have in common, in training and evaluation: take a batch,
 * compute. */
#pragma once

#include "run/train.h"

/* The times of one step, ns. begin + stall + compute + late + barrier = end. */
struct step {
	uint64_t begin_ns, taken_ns, compute_ns, woken_ns, end_ns;
	uint64_t others_ns; /* of the barrier: waiting for other processes */
	struct token token;
};

/* So many batches of a stage have been taken: its loaders may read on. */
void rank_step_limit(struct rank *r, const struct stage *at, uint64_t batches);

/* Take a batch, from s->begin_ns on, and compute: all times of the step, which ends when it is
 * computed. 0, or -EPIPE once closed. */
int rank_step_compute(struct rank *r, const struct stage *at, uint64_t batch, struct step *s);
