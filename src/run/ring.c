/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c - see ring.h. */
#include "run/ring.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/mem.h"

struct ring {
	uint64_t mask;
	struct token *tokens;
	/* A cache line each: the two sides never write the same one. */
	char pad0[64];
	_Atomic uint64_t head; /* pushed, by the producer */
	char pad1[64];
	_Atomic uint64_t tail; /* popped, by the consumer */
};

void token_add(struct token *to, const struct token *t)
{
	to->samples += t->samples;
	to->sample_bytes += t->sample_bytes;
	to->id_sum += t->id_sum;
	to->extents += t->extents;
	if (to->ready_ns < t->ready_ns)
		to->ready_ns = t->ready_ns;
}

void token_take(struct token *t, uint64_t samples, struct token *out)
{
	*out = *t;
	*t = (struct token){ 0 };
	if (out->samples <= samples)
		return;
	t->ready_ns = out->ready_ns;
	t->samples = out->samples - samples;
	t->sample_bytes = out->sample_bytes / out->samples * t->samples;
	out->samples = samples;
	out->sample_bytes -= t->sample_bytes;
}

struct ring *ring_new(uint64_t tokens)
{
	uint64_t size = 2;
	while (size < tokens)
		size *= 2;
	struct ring *r = mem_zalloc(sizeof(*r));
	r->mask = size - 1;
	r->tokens = mem_array(size, sizeof(*r->tokens));
	return r;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	mem_free(r->tokens);
	mem_free(r);
}

void ring_push(struct ring *r, const struct token *t)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	assert(head - atomic_load_explicit(&r->tail, memory_order_acquire) <=
	       r->mask);
	r->tokens[head & r->mask] = *t;
	/* Publishes the token to ring_pop. */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

bool ring_pop(struct ring *r, uint64_t stage, struct token *t)
{
	for (;;) {
		uint64_t tail =
			atomic_load_explicit(&r->tail, memory_order_relaxed);
		if (tail ==
		    atomic_load_explicit(&r->head, memory_order_acquire))
			return false;
		*t = r->tokens[tail & r->mask];
		if (t->stage > stage)
			return false;
		/* Gives the slot back to ring_push. */
		atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
		if (t->stage == stage)
			return true;
	}
}
