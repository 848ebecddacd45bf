/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_internal.h - what the files of work/train/pipeline share. */
#pragma once

#include <stdbool.h>

#include "run/read/read.h"
#include "run/watch/watch.h"
#include "work/train/pipeline/pipeline.h"

/* ---- one simulated accelerator: take a batch, compute, wait for the other ranks ---- */

/*
 * Wake the rank's loaders that wait for a batch below `limit`; UINT64_MAX wakes all. The other
 * loaders sleep on: a wake-up with nothing to do takes the CPU from an accelerator that wakes at
 * the same moment. Any thread.
 */
void rank_wake_loaders(struct rank *r, uint64_t limit);

/* The accelerator's thread. */
void *rank_main(void *arg);

/* ---- a step of a rank, in training and evaluation: take a batch, compute ---- */

/* The times of one step, ns. begin + stall + compute + late + barrier = end. */
struct step {
	uint64_t begin_ns, taken_ns, compute_ns, woken_ns, end_ns;
	uint64_t host_barrier_ns; /* part of the barrier: waiting for other processes */
	struct token token;
};

/* The rank has taken this many batches of a stage: let its loaders read on. */
void rank_step_limit(struct rank *r, const struct stage *at, uint64_t batches);

/* Take a batch, from s->begin_ns on, and compute. Fills all times of the step, which ends with the
 * compute time. 0, or -EPIPE once closed. */
int rank_step_compute(struct rank *r, const struct stage *at, uint64_t batch, struct step *s);

/* ---- counts of a rank's steps, from the end of ramp_time on ---- */

/* The functions below run on the rank's own thread. */

/* Count a whole step. The first step of an epoch is counted apart: it waits for a pipeline to
 * fill. */
void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s);

/* Reset all counts. */
void rank_reset_counts(struct rank *r);

/* Start counting at the end of ramp_time. The account keeps extents and id_sum, which are still
 * checked. */
void rank_start_counting(struct rank *r, struct epoch_account *a);

/* ---- orders that follow from losses, or from the contents of a cache ---- */

/*
 * Draw the order of an epoch; each rank calls it before the epoch is read. All ranks meet. The last
 * one turns the samples that the previous epoch has computed on, batch by batch in plan order, into
 * weights, and draws. Loaders read no further than their rank lets them, so they see an order that
 * nobody changes, without a lock. 0, or -EPIPE once closed. Any other order is known in advance,
 * and there is nothing to do.
 *
 * With several processes each draws for the ranks that it knows (sampler_ranks_known). Before that,
 * one rank per process sends the others the samples that its ranks have computed on: 4 bytes per
 * sample of an epoch. Only that process knows its cache, and all processes must learn the same
 * samples in the same order.
 */
int rank_order_draw(struct rank *r, uint64_t epoch);

/* ---- tf.data in order: how far each thread may be ahead of the delivered extents ---- */

/*
 * This models TFRecordDataset(num_parallel_reads=W) (TensorFlow 2,
 * parallel_interleave_dataset_op.cc; its arguments in readers.py): 3W threads, a file each. W files
 * deliver a record in turn; the next 2W have been opened, and their beginning read. A thread has
 * two records in its buffer and a third in its hand: it reads a fourth once the first was
 * delivered. It opens its next file, 3W files on, when all of this one was delivered and the turn
 * comes to it again. An epoch begins when the previous one was delivered.
 *
 * A record is delivered when the stage after it takes it for a batch in the making: as far as the
 * accelerator has batches ahead (rank->limit), and once all records before it were read. A record
 * is an extent here where an extent has one record; of larger extents the first record counts,
 * since the rest comes with it. With row groups of different sizes a thread reads one more than was
 * delivered of its file.
 *
 * Both limits are a pure function of a position, and nothing is stored per file: each loader has
 * the number of extents it has read, and the rank has one number, which whichever loader reads the
 * next extent advances for all. A thread that need not wait reads one more number and writes two.
 */

/* ---- marks of a training in a trace: samples, steps, epochs ---- */

/* Open a rank's trace ring; with read_threads=0 the rank uses its loader's ring. */
void tracemarks_open(struct rank *r);

/* Mark an extent as complete; the loader has a trace. Failed extents and indexes get no mark. */
void tracemarks_sample(const struct loader *l, const struct read_task *task);

/* tracemarks_step: mark a step of training or evaluation with its compute time. tracemarks_stage:
 * mark an epoch or an evaluation, up to r->end_ns. Both do nothing without a trace. */
void tracemarks_step(const struct rank *r, const struct stage *at, uint64_t batch,
		     const struct step *s);
void tracemarks_stage(const struct rank *r, const struct stage *at, uint64_t begin_ns);

/* ---- steps that all loader models share; for loader*.c alone ---- */

struct read_task;

/* Wait until a batch may be read. Loaders drop the page cache here, because every loader calls
 * this. False: the run is over. */
bool loader_await(struct loader *l, uint64_t number);

/* Wait for a batch, and until this many extents of all stages have been delivered in order. */
bool loader_await_turn(struct loader *l, uint64_t number, uint64_t delivered);

/* Move on to the next stage and its order. */
void loader_next_stage(struct loader *l, struct stage *at, struct sampler_epoch *order);

/* start: begin to read the extent at a position of a stage, in this batch of the stage. finish:
 * finish the next extent, and add it to the token; false: the run is over. */
void loader_start(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		  uint64_t position, uint64_t batch);
bool loader_finish(struct loader *l, struct token *token);

/* Hand a token to the accelerator and clear it; a token without extents is not sent. */
void loader_push(struct loader *l, struct token *token, uint64_t stage);

/* Read the indexes that a worker reads of every file before its first sample. False: the run is
 * over. */
bool loader_read_indexes(struct loader *l);

/* Begin the reads of a loader without a thread. */
void loader_begin_turn(struct loader *l);

/* Does a loader, and not the rank, spend preprocess_time or first_sample_time? */
bool loader_preprocesses(const struct job *j);

/* ---- worker_start: new loader threads for each epoch ---- */

/* Does each stage have threads of its own? */
bool loader_restarts(const struct job *job);

/* Wait until the stage of a new thread may be read, and for worker_start. Called before its first
 * read. False: the run is over. */
bool loader_await_restart(struct loader *l);
