/* SPDX-License-Identifier: Apache-2.0 */
/* rank.h - one simulated accelerator: take a batch, compute, wait for the others. */
#pragma once

#include "run/epochs.h"
#include "run/train.h"

/*
 * Ring those of its loaders that wait for a batch below `limit`; UINT64_MAX is all of them. The
 * others sleep on: a wake that finds nothing to do takes the CPU from an accelerator that wakes at
 * the same moment. Any thread.
 */
void rank_call(struct rank *r, uint64_t limit);

/* The accelerator's thread. */
void *rank_main(void *arg);

/* ---- what a rank's steps have in common, in training and evaluation: take a batch, compute ----
 */

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

/* ---- an order that follows from losses, or from what a cache has, is drawn before its epoch ----
 */

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
