/* SPDX-License-Identifier: Apache-2.0 */
/* stages.h - the order of things: epoch after epoch, evaluations between them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/file.h"
#include "data/order/order.h"

/* What is read in a stage: the training's dataset, or the evaluation's. */
struct pass {
	bool is_eval;
	const struct dataset *dataset;
	struct sampler sampler;
	struct plan_config plan;
	uint64_t window; /* batches of it that a rank may have ahead */
};

/* Samples of the buffer that a pass is shuffled in. An evaluation needs no other order than that of
 * the files. */
uint64_t pass_shuffle_buffer(const struct job *job, const struct pass *pass);

/*
 * Stages and their batches are numbered through the whole run; every thread goes through them by
 * itself, and they are the same for all. Epochs go on for ever: whoever counts them knows the last.
 */
struct stages {
	struct pass train, eval;
	bool has_eval;
	uint64_t eval_after, eval_every; /* epochs, from 1 */
};

struct stage {
	const struct pass *pass;
	uint64_t number;      /* from 0 */
	uint64_t epoch;       /* from 0; of an evaluation the one before it */
	uint64_t first_batch; /* before it, in all */
	/* Of a rank: before it, in all. A loader keeps it, by its order. */
	uint64_t first_extent;
};

/* The first one. */
struct stage stage_first(const struct stages *s);
void stage_next(const struct stages *s, struct stage *at);

/* The stage after this one trains, too: it can be read ahead of. */
bool stage_runs_on(const struct stages *s, const struct stage *at);

static inline uint64_t stage_end_batch(const struct stage *at)
{
	return at->first_batch + at->pass->sampler.steps;
}
