/* SPDX-License-Identifier: Apache-2.0 */
/* setup_checkpoints.h - what saving, restoring and a training with checkpoints set up alike. */
#pragma once

#include "data/state/state.h"
#include "run/slot/slot.h"

/*
 * In this order, on the conductor's thread: init; open; saver; and end once its threads were
 * joined. fini takes a slot in any state. Of a job without checkpoints init is all there is to
 * call, and it does nothing.
 */

/* What a job has that saves or restores; all but the saver is made by init. */
struct job_checkpoints {
	struct state state;
	struct shard_set shards;
	/* What a directory holds: with the ranks of other processes. */
	struct state whole;
	struct shard_set whole_shards;
	uint64_t align_bytes; /* direct=1; 0 = buffered */
	struct content *content;
	struct checkpoints in_directory;
	struct saver *saver; /* NULL = not yet */
};

/* Into s->checkpoints: the state, and what its files are. 0 or -errno with err. */
int setup_checkpoints_init(struct slot *s, struct mlgen_err *err);

/* Before the first byte: may they be saved there, what can the mount do? Of jobs without
 * checkpoints they hold. */
extern const struct rule setup_checkpoints_rules[];

/* Descriptors that it needs at once. */
uint64_t setup_checkpoints_files(const struct slot *s);
/* As in slot.h, added. */
void setup_checkpoints_need(const struct slot *s, uint64_t room_bytes, struct memneed *n);

/* The contents of files, and a look into the directory, which tells of those that are broken. */
int setup_checkpoints_open(struct slot *s, const struct run_shared *run, struct mlgen_err *err);

/* Before saving `count` of them: is there room, and may it be written there? Makes the
 * directory. */
int setup_checkpoints_place(struct slot *s, const struct run_shared *run, uint64_t count,
			    struct mlgen_err *err);

/* The saver, not started. `beside`: the engine's part of the training that saves; NULL = the job
 * does nothing else. */
int setup_checkpoints_saver(struct slot *s, struct run_shared *run,
			    struct mlgen_engine_job *beside, struct mlgen_err *err);

void setup_checkpoints_end(struct slot *s);
void setup_checkpoints_fini(struct slot *s);
