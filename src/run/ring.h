/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - tokens of what one loader has read, on their way to its accelerator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts and a time, never data. */
struct token {
	uint64_t samples;        /* places in a batch */
	uint64_t failed_samples; /* of them: could not be read */
	uint64_t sample_bytes;   /* payload of the others */
	uint64_t id_sum;         /* of the extents' ids, modulo 2^64 */
	uint64_t extents;
	uint64_t ready_ns; /* the last of it was read */
	uint64_t stage;    /* it belongs to (slot.h) */
	uint64_t batch;    /* of the stage, the first that it can be for */
};

/* to += t; ready when both are. */
void token_add(struct token *to, const struct token *t);

/* Cut `samples` of t's samples off into `out`. What failed of them, ids and extents go with the
 * first part, bytes with what did not fail. */
void token_take(struct token *t, uint64_t samples, struct token *out);

/* Those that an accelerator can compute on. */
uint64_t token_delivered(const struct token *t);

/* From so many on a ring adds what is pushed to the token before it, where that is of the same
 * stage and batch. */
#define RING_TOKENS 1000u

/*
 * A bounded first-in first-out with exactly one producer and one consumer.
 * It is made for as many tokens as may be under way, at most RING_TOKENS and one a stage or batch,
 * so a push always finds room; waiting is the users' business (slot.h).
 */
struct ring;

struct ring *ring_new(uint64_t tokens);
uint64_t ring_bytes(uint64_t tokens); /* of memory for so many */
void ring_free(struct ring *r);       /* NULL is fine */

/* Producer only. */
void ring_push(struct ring *r, const struct token *t);

/* Consumer only. The next one that can be for this batch of this stage; those of stages before,
 * which nobody took, are dropped. False when there is none, or one is being added to: then the
 * producer rings when it is done. */
bool ring_pop(struct ring *r, uint64_t stage, uint64_t batch, struct token *t);
