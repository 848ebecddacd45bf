/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_trial.h - options of a checkpoint, and the files and calls that they would be. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/state/state.h"
#include "distil/saves.h"
#include "job/job.h"

/* A job whose options are set, and then what follows from them. */
struct trial {
	struct job *job;
	struct state state;
	struct content *content;
	struct shard_set set;
	bool is_open;
};

/* phase=checkpoint and nothing else is set. */
void trial_init(struct trial *t);
void trial_fini(struct trial *t);
/* Once more after the options are changed; false = they are wrong. */
bool trial_open(struct trial *t);

/* Bytes of a file of a rank; 0 = there is none. */
uint64_t trial_bytes(const struct trial *t, uint64_t rank, uint64_t index);

/* Bytes of the call that writes the first of it. */
uint64_t trial_first_write(struct trial *t, uint64_t rank);

/* Are these the calls that write it? Of the first so many that were kept. */
bool trial_writes(struct trial *t, uint64_t rank, const struct saved_file *f);

/* checkpoint_size with which the first file of a rank has so many bytes, and is written by these
 * calls (NULL = by any): the roundest. False = there is none. The trial has it. */
bool trial_fit_size(struct trial *t, uint64_t rank, uint64_t bytes, const struct saved_file *like);

/* Twos that divide it, or tens, which count as three. */
unsigned trial_roundness(uint64_t n);
