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
	char pad2[64];
	/* The newest token, counted from 1, that the consumer is taking, or the producer adds to; 0
	 * = none. Each says so first and looks at the other's then: at least one of two that meet
	 * steps back. A consumer that loses its CPU here is in the way of that one token only. */
	_Atomic uint64_t taking;
	_Atomic uint64_t adding_to;
};

void token_add(struct token *to, const struct token *t)
{
	to->samples += t->samples;
	to->failed_samples += t->failed_samples;
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
	uint64_t delivered = token_delivered(out);
	t->ready_ns = out->ready_ns;
	t->samples = out->samples - samples;
	if (out->failed_samples > samples)
		t->failed_samples = out->failed_samples - samples;
	if (delivered)
		t->sample_bytes = out->sample_bytes / delivered * token_delivered(t);
	out->samples = samples;
	out->failed_samples -= t->failed_samples;
	out->sample_bytes -= t->sample_bytes;
}

uint64_t token_delivered(const struct token *t)
{
	return t->samples - t->failed_samples;
}

static uint64_t size_of(uint64_t tokens)
{
	uint64_t size = 2;

	while (size < tokens)
		size *= 2;
	return size;
}

struct ring *ring_new(uint64_t tokens)
{
	uint64_t size = size_of(tokens);
	struct ring *r = mem_zalloc(sizeof(*r));

	r->mask = size - 1;
	r->tokens = mem_array(size, sizeof(*r->tokens));
	return r;
}

uint64_t ring_bytes(uint64_t tokens)
{
	return sizeof(struct ring) + size_of(tokens) * sizeof(struct token);
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	mem_free(r->tokens);
	mem_free(r);
}

static uint64_t tokens_on(const struct ring *r, uint64_t head)
{
	return head - atomic_load_explicit(&r->tail, memory_order_acquire);
}

static bool is_alike(const struct token *a, const struct token *b)
{
	return a->stage == b->stage && a->batch == b->batch;
}

/* Add t to the newest token, if that is still there, and alike. */
static bool merge(struct ring *r, uint64_t head, const struct token *t)
{
	struct token *newest = &r->tokens[(head - 1) & r->mask];
	bool merges;

	atomic_store(&r->adding_to, head);
	merges = atomic_load(&r->taking) != head && tokens_on(r, head) > 0 && is_alike(newest, t);
	if (merges)
		token_add(newest, t);
	atomic_store(&r->adding_to, 0);
	return merges;
}

void ring_push(struct ring *r, const struct token *t)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (tokens_on(r, head) >= RING_TOKENS && merge(r, head, t))
		return;
	assert(tokens_on(r, head) <= r->mask);
	r->tokens[head & r->mask] = *t;
	/* Publishes the token to ring_pop. */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/* The token at `tail`, unless it is of a later stage or batch. */
static bool ring_take(struct ring *r, uint64_t tail, uint64_t stage, uint64_t batch,
		      struct token *t)
{
	*t = r->tokens[tail & r->mask];
	if (t->stage > stage || (t->stage == stage && t->batch > batch))
		return false;
	/* Gives the slot back to ring_push. */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

/* As take, of what may be the newest token. */
static bool take_newest(struct ring *r, uint64_t tail, uint64_t stage, uint64_t batch,
			struct token *t)
{
	bool is_taken;

	atomic_store(&r->taking, tail + 1);
	is_taken = atomic_load(&r->adding_to) != tail + 1 && ring_take(r, tail, stage, batch, t);
	atomic_store(&r->taking, 0);
	return is_taken;
}

bool ring_pop(struct ring *r, uint64_t stage, uint64_t batch, struct token *t)
{
	bool is_taken;

	do {
		uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
		uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

		if (tail == head)
			return false;
		is_taken = tail + 1 == head ? take_newest(r, tail, stage, batch, t)
					    : ring_take(r, tail, stage, batch, t);
	} while (is_taken && t->stage < stage);
	return is_taken;
}
