/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_internal.h - what the files of work/train/pipeline share. */
#pragma once

#include <stdbool.h>

#include "run/read/read.h"
#include "run/watch/watch.h"
#include "work/train/pipeline/pipeline.h"

/* ---- one simulated accelerator: take a batch, compute, wait for the others ---- */

/*
 * Ring those of its loaders that wait for a batch below `limit`; UINT64_MAX is all of them. The
 * others sleep on: a wake that finds nothing to do takes the CPU from an accelerator that wakes at
 * the same moment. Any thread.
 */
void rank_call(struct rank *r, uint64_t limit);

/* The accelerator's thread. */
void *rank_main(void *arg);

/* ---- a step of a rank, in training and evaluation: take a batch, compute ---- */

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

/* ---- what is counted of the steps of a rank, from the end of ramp_time on ---- */

/* Its histograms, before its thread starts, and behind it; fini takes a zeroed rank. */
void rank_account_init(struct rank *r);
void rank_account_fini(struct rank *r);

/* By the rank's own thread. */

/* A whole step. The first of an epoch stands apart: it waits for a pipeline to fill. */
void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s);

/* Can the AU that is asked for still be reached? One whole epoch is run in any case: what is known
 * then is known of all files. */
void rank_look_for_hope(struct rank *r, uint64_t epoch);

/* Of what was counted until now nothing is left. */
void rank_forget(struct rank *r);

/* ramp_time is over. What was delivered (extents, id_sum) stays in the account: it is still
 * checked. */
void rank_start_counting(struct rank *r, struct epoch_account *a);

/* ---- orders that follow from losses, or from what a cache has ---- */

/*
 * By each rank before an epoch is read. All meet; the last of them makes weights of what the epoch
 * before has computed on, batch by batch in the order of the plan, and draws. So loaders, which
 * read no further than their rank lets them, find an order that nobody changes, without a lock. 0,
 * or -EPIPE once closed; any other order is known, and there is nothing to do.
 *
 * Of several processes each draws for the ranks that it has, or knows (sampler_ranks_known), and
 * before that one rank of each tells the others what these have computed on: 4 bytes a sample of an
 * epoch. It follows from caches that only they know, and all have to learn the same, in the same
 * order.
 */
int rank_order_draw(struct rank *r, uint64_t epoch);

/* ---- tf.data in order: how far each thread may be ahead of what was delivered ---- */

/*
 * What TFRecordDataset(num_parallel_reads=W) is made of (TensorFlow 2,
 * parallel_interleave_dataset_op.cc; its arguments in readers.py): 3W threads, a file each. Of W
 * files a record is delivered in turn; the next 2W have been opened, and their beginning read. A
 * thread has two records in its buffer and a third in its hand: it reads a fourth once the first
 * was delivered. It opens its next file, 3W files on, when all of this one was delivered and the
 * turn comes to it again. An epoch begins when the one before was delivered.
 *
 * Delivered means taken by what is behind it, a batch that is being made: as far as the accelerator
 * has batches ahead (rank->limit), and as all before it was read. A record is an extent here where
 * an extent has one; of larger ones the first record counts, since the rest comes with it. Of row
 * groups that differ a thread has one more than was delivered of its file.
 *
 * That is a pure function of a position, and nothing is kept per file: a number a loader of what it
 * has read, and one of the rank, which whoever reads what is next moves on for all. A thread that
 * need not wait looks at one number more for it, and changes two.
 */

/* ---- what a training puts into a trace beside its operations: samples, steps, epochs ---- */

/* Who a loader is; without a thread of its own it is its rank. */
void tracemarks_role(const struct loader *l, char role[TRACED_ROLE_BYTES]);

/* A rank's ring, which with read_threads=0 is that of its loader. */
void tracemarks_open(struct rank *r);
void tracemarks_close(struct rank *r);

/* The loader has a trace: an extent is complete. One that failed is not, and an index is none. */
void tracemarks_sample(const struct loader *l, const struct read_task *task);

/* Where there is a trace: a step, in training or evaluation, and what was computed in it; an epoch
 * or an evaluation, to r->end_ns. */
void tracemarks_step(const struct rank *r, const struct stage *at, uint64_t batch,
		     const struct step *s);
void tracemarks_stage(const struct rank *r, const struct stage *at, uint64_t begin_ns);

/* ---- what all loader models do; for src/run/loader*.c alone ---- */

struct read_task;

/* Wait until a batch may be read; dropping the cache is done here, because then everyone is here.
 * False: the run is over. */
bool loader_await(struct loader *l, uint64_t number);

/* ... and until so many extents have been delivered in order, of all stages. */
bool loader_await_turn(struct loader *l, uint64_t number, uint64_t delivered);

/* From a stage to the next one, and its order. */
void loader_next_stage(struct loader *l, struct stage *at, struct sampler_epoch *order);

/* Begin to read the extent at a position of a stage, which is of this batch of it, and finish the
 * next one: it is added to the token. False: the run is over. */
void loader_start(struct loader *l, const struct stage *at, struct sampler_epoch *order,
		  uint64_t position, uint64_t batch);
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

/* ---- loaders that end with each epoch, for others that begin with the next (worker_start) ---- */

/* Does each stage have threads of its own? */
bool loader_begins_anew(const struct job *job);

/* On such a thread, before its first read: waits until its stage may be read, and for worker_start.
 * False: the run is over. */
bool loader_anew_begin(struct loader *l);
