/* SPDX-License-Identifier: Apache-2.0 */
/* loader_inside.h - what all loader models do; for src/run/loader*.c alone. */
#pragma once

#include <stdbool.h>

#include "run/loader.h"
#include "run/train.h"

struct read_task;

/* Wait until a batch may be read; dropping the cache is done here, because then everyone is here.
 * False: the run is over. */
bool loader_await(struct loader *l, uint64_t number);

/* ... and until so many extents have been delivered in order, of all stages. */
bool loader_await_turn(struct loader *l, uint64_t number, uint64_t delivered);

/* From a stage to the next one, and its order. */
void loader_next_stage(struct loader *l, struct stage *at, struct sampler_epoch *order);

/* Begin to read the extent at a position of a stage, and finish the next one: it is added to the
 * token. False: the run is over. */
void loader_start(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		  uint64_t position);
bool loader_finish(struct loader *l, struct token *token);

/* To the accelerator; an empty token is none. It is empty then. */
void loader_push(struct loader *l, struct token *token, uint64_t stage);

/* What a worker reads of every file before its first sample. False: the run is over. */
bool loader_read_indexes(struct loader *l);

/* Around what a loader without a thread reads. */
void loader_begin_turn(struct loader *l);
void loader_end_turn(struct loader *l);

/* Does a loader spend preprocess_time or first_sample_time, and not the rank? */
bool loader_preprocesses(const struct job *j);

/* Its reader is open: what decoding needs is made ready. */
int loader_open_decoding(struct loader *l, struct mlgen_err *err);

/* What has been read is decompressed and decoded, or the time that this takes is spent. Called once
 * for each extent that was begun. */
void loader_decode(struct loader *l, const struct read_task *task);

/* ---- loaders that end with each epoch, for others that begin with the next (worker_start) ---- */

/* Does each stage have threads of its own? */
bool loader_begins_anew(const struct job *job);

/* On such a thread, before its first read: waits until its stage may be read, and for worker_start.
 * False: the run is over. */
bool loader_anew_begin(struct loader *l);
