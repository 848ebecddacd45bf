/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - tokens of what one loader has read, on their way to its accelerator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Counts and a time, never data. */
struct token {
	uint64_t samples;
	uint64_t sample_bytes; /* payload */
	uint64_t id_sum;       /* of the extents' ids, modulo 2^64 */
	uint64_t extents;
	uint64_t ready_ns; /* the last of it was read */
	uint64_t stage;    /* it belongs to (stages.h) */
};

/* to += t; ready when both are. */
void token_add(struct token *to, const struct token *t);

/* Cut `samples` of t's samples off into `out`, bytes in proportion; ids and
 * extents go with the first part. */
void token_take(struct token *t, uint64_t samples, struct token *out);

/*
 * A bounded first-in first-out with exactly one producer and one consumer.
 * It is made for as many tokens as prefetch allows to be under way, so a push
 * always finds room; waiting is the users' business (bell.h).
 */
struct ring;

struct ring *ring_new(uint64_t tokens);
void ring_free(struct ring *r); /* NULL is fine */

/* Producer only. */
void ring_push(struct ring *r, const struct token *t);

/* Consumer only. The next one of this stage; those of stages before, which
 * nobody took, are dropped. False when there is none. */
bool ring_pop(struct ring *r, uint64_t stage, struct token *t);
