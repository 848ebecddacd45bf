/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state of a model: which rank holds which tensors, of how many bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/ranges.h"
#include "job/job.h"

/*
 * Pure functions of numbers: nothing is kept per layer or tensor, but the names and sizes of a
 * tensor_sizes file. Formulas, names and who writes what are DLIO's
 * (checkpointing/base_checkpointing.py); sizes are those of scale=100 % times scale, at least a
 * byte.
 */
struct state {
	const struct job *job;
	uint64_t ranks, tensor_parallel, pipeline_parallel, data_parallel;
	unsigned zero_stage;
	/* Exactly one of these is what the state is made of. */
	enum { STATE_TRANSFORMER, STATE_SIZE, STATE_LIST, STATE_PATTERN } kind;
	struct state_list *list; /* STATE_LIST: the file's lines */
	struct ranges local;     /* ranks */
};

/* Of a job with checkpoints. 0, or -errno with err ("OPTION: what is wrong, what would be right"):
 * a parallelism that does not divide the model, a list that cannot be read. state_fini takes a
 * zeroed or failed one. */
int state_init(struct state *s, const struct job *job, struct mlgen_err *err);
void state_fini(struct state *s);

/* Of the whole model; 0 where the state is no transformer's. */
uint64_t state_parameters(const struct state *s);

/* Tensors come in groups: what a layer of the model is on one rank, and what the optimizer is. A
 * layout puts groups into files. */
struct state_group {
	bool is_optimizer;
	uint64_t rank;
	uint64_t layer; /* DLIO's number: 0 embedding, 1 .. L, L+1, L+2 */
	uint64_t tensors, bytes;
};

/* How many groups a rank saves (those that another rank saves for it are not among them): model
 * layers first, the optimizer last. 0 = it saves nothing. */
uint64_t state_groups(const struct state *s, uint64_t rank);
void state_group(const struct state *s, uint64_t rank, uint64_t i, struct state_group *g);

#define STATE_NAME_BYTES 128
struct state_tensor {
	char name[STATE_NAME_BYTES]; /* "layers.3.mlp.gate_up.weight" */
	uint64_t bytes;
	unsigned value_bytes; /* of one element: its type in a file */
};
void state_tensor(const struct state *s, const struct state_group *g, uint64_t i,
		  struct state_tensor *t);

/* Bytes of a rank, and of all ranks of the job. */
struct state_bytes {
	uint64_t model, optimizer, total;
};
void state_rank_bytes(const struct state *s, uint64_t rank, struct state_bytes *b);
void state_all_bytes(const struct state *s, struct state_bytes *b);

/*
 * The ranks that this process plays (job_local_ranks), as a list of ranges: state_local(i) is the
 * i-th rank. state_whole makes of *of the same state, but as one process would play it that has
 * those of all processes of the job: what a directory of theirs holds. It borrows from *s; its
 * ranges are its own (ranges_fini(&of->local)). 0, or -errno with err.
 */
int state_whole(struct state *of, const struct state *s, struct mlgen_err *err);
uint64_t state_locals(const struct state *s);
uint64_t state_local(const struct state *s, uint64_t i);
bool state_is_local(const struct state *s, uint64_t rank);
