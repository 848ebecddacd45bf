/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_model.h - the files of a checkpoint held against language models whose sizes are
 * published. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "distil/checkpoint_trial.h"

/* Options that give these files, byte for byte. */
struct checkpoint_model {
	const char *name; /* "llama3-8b"; NULL = none does */
	uint64_t layers, hidden, ffn, heads, kv_heads, vocabulary;
	uint64_t ranks, tensor_parallel, pipeline_parallel, zero_stage;
	char scale[32]; /* "100" */
};

/*
 * The files of the first checkpoint, by their names ("zero_pp_rank_0_mp_rank_0_ optim_states.pt").
 * With `is_whole` the model's size is not scaled: where scale is of something else, too.
 */
void checkpoint_model_find(struct checkpoint_model *m, const struct saves *s,
			   const struct distil *d, bool is_whole);
