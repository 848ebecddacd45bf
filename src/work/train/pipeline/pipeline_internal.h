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

/* Start counting at the end of ramp_time. The account keeps its extents and id_sum, because they
 * are checked for the whole epoch. */
void rank_start_counting(struct rank *r, struct epoch_account *a);

/* ---- orders that follow from losses, or from the contents of a cache ---- */

/*
 * Draw the order of an epoch. Each rank must call this before the epoch is read; all ranks meet
 * here. The last rank converts the samples that the previous epoch has computed on into weights,
 * batch by batch in plan order, and draws. Loaders read no further than their rank lets them, so
 * they see an order that nobody changes, without a lock. 0, or -EPIPE once closed. Does nothing for
 * other orders, which are known in advance.
 *
 * With several processes, each draws for the ranks that it knows (sampler_ranks_known). Before
 * that, one rank per process sends the other processes the samples that its own ranks have computed
 * on: 4 bytes per sample of an epoch. No other process knows the contents of its cache, and all
 * processes must learn the same samples in the same order.
 */
int rank_order_draw(struct rank *r, uint64_t epoch);

/* ---- tf.data in order: how far each thread may be ahead of the delivered extents ---- */

/*
 * This models TFRecordDataset(num_parallel_reads=W) (TensorFlow 2,
 * parallel_interleave_dataset_op.cc; its arguments in readers.py): 3W threads, each with a file of
 * its own. W files deliver one record each in turn; the next 2W files have been opened, and their
 * beginning has been read. A thread has two records in its buffer and holds a third: it reads a
 * fourth once the first was delivered. When all of its file was delivered and its turn comes again,
 * it opens its next file, 3W files further on. An epoch begins when the previous epoch was
 * delivered.
 *
 * A record is delivered when the next stage of the pipeline adds it to a batch: the batch must be
 * within the window of the accelerator (rank->limit), and all earlier records must have been read.
 * Extents stand for records here. Of an extent with several records only the first matters, since
 * the rest is read with it. With row groups of different sizes a thread reads one extent more than
 * was delivered of its file.
 *
 * Both limits are pure functions of a position, so nothing is stored per file. Each loader stores
 * the number of extents that it has read. The rank has a single number, which is advanced by the
 * loader that reads the next extent. The cost for a thread that need not wait is to read one number
 * and to write two.
 */

/* ---- marks of a training in a trace: samples, steps, epochs ---- */

/* Open a rank's trace ring; with read_threads=0 the rank uses its loader's ring. */
void tracemarks_open(struct rank *r);

/* Mark an extent as complete; the loader must have a trace. Failed extents and indexes get no
 * mark. */
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

/* Wait for worker_start, and until the stage of a new thread may be read. Call it before the
 * thread's first read. False: the run is over. */
bool loader_await_restart(struct loader *l);
