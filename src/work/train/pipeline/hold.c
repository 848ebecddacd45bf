/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - the tokens that pass to an accelerator, and the memory of samples read ahead. */
#include "work/train/pipeline/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

struct ring {
	uint64_t mask;
	struct token *tokens;
	/* Padding keeps both sides from writing to the same cache line. */
	char pad0[64];
	_Atomic uint64_t head; /* pushed, by the producer */
	char pad1[64];
	_Atomic uint64_t tail; /* popped, by the consumer */
	char pad2[64];
	/*
	 * The newest token, counted from 1, that the consumer is taking or the producer is adding
	 * to; 0 = none. Each side stores its own number before it reads the other's, so at least
	 * one of the two steps back. A consumer that loses its CPU here only keeps the producer
	 * from adding to that token.
	 */
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

void token_split(struct token *t, uint64_t samples, struct token *out)
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

static uint64_t ring_size(uint64_t tokens)
{
	uint64_t size = 2;

	while (size < tokens)
		size *= 2;
	return size;
}

struct ring *ring_new(uint64_t tokens)
{
	uint64_t size = ring_size(tokens);
	struct ring *r = mem_zalloc(sizeof(*r));

	r->mask = size - 1;
	r->tokens = mem_array(size, sizeof(*r->tokens));
	return r;
}

uint64_t ring_bytes(uint64_t tokens)
{
	return sizeof(struct ring) + ring_size(tokens) * sizeof(struct token);
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

/* Add t to the newest token, if that is still on the ring and has the same stage and batch. */
static bool merge(struct ring *r, uint64_t head, const struct token *t)
{
	struct token *newest = &r->tokens[(head - 1) & r->mask];

	atomic_store(&r->adding_to, head);
	bool merges = atomic_load(&r->taking) != head && tokens_on(r, head) > 0 &&
		      newest->stage == t->stage && newest->batch == t->batch;
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

/* Take the token at `tail`, unless it is of a later stage or batch. */
static bool ring_next_slot(struct ring *r, uint64_t tail, uint64_t stage, uint64_t batch,
			   struct token *t)
{
	*t = r->tokens[tail & r->mask];
	if (t->stage > stage || (t->stage == stage && t->batch > batch))
		return false;
	/* Gives the slot back to ring_push. */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return true;
}

/* Take a token that may be the newest, which the producer may add to. */
static bool take_newest(struct ring *r, uint64_t tail, uint64_t stage, uint64_t batch,
			struct token *t)
{
	atomic_store(&r->taking, tail + 1);
	bool is_taken =
		atomic_load(&r->adding_to) != tail + 1 && ring_next_slot(r, tail, stage, batch, t);
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
					    : ring_next_slot(r, tail, stage, batch, t);
	} while (is_taken && t->stage < stage);
	return is_taken;
}

/* Alignment of slots; with direct=1 they begin at whole pages. */
#define SLOT_ALIGN 64ull
#define DIRECT_ALIGN 4096ull

/* A slot that needs less memory returns the rest only if it is at least this much. */
#define GIVE_BACK_BYTES 65536ull

/* Number of extents of the largest file that are sampled to size the slots. */
#define SIZING_SAMPLES 32768u
/* Number of extents of the dataset that are sampled for the mean size. */
#define MEAN_SAMPLES 1024u

#define NO_SLOT UINT64_MAX

struct hold_slot {
	uint64_t batch;         /* the extent's batch */
	uint64_t touched_bytes; /* memory in use, from the slot's beginning */
	uint64_t next;          /* next slot on the stack */
};

struct hold {
	unsigned char *base;
	size_t bytes;
	uint64_t slot_bytes, slots;
	pthread_mutex_t lock; /* guards the members below */
	struct hold_slot *slot;
	uint64_t taken_batches;
	uint64_t window;
	/* Stacks of slots: free slots; slots read for batch b of the window, at b % window; slots
	 * read for later batches. */
	uint64_t free_slots;
	uint64_t *window_slots;
	uint64_t later_slots;
};

/* ---- sizes ---- */

static bool is_held(const struct job *j)
{
	return j->hold_samples && job_touches_files(j);
}

/* Bytes of an extent's reads, stored one after the other. The last read may ask for more bytes than
 * the extent has. */
static uint64_t extent_room(const struct plan_config *config, const struct extent *x)
{
	struct plan_counts skipped = { 0 };
	struct plan p;
	struct plan_op op;
	uint64_t at, room;

	plan_init(&p, config, x);
	if (p.kind->skip)
		p.kind->skip(&p, &skipped);
	at = room = skipped.io_bytes;
	while (plan_next(&p, &op)) {
		if (op.op != MLGEN_READ)
			continue;
		room = u64_max(room, at + op.len_bytes);
		at += op.got_bytes;
	}
	return room;
}

static void add_pass(struct hold_config *c, const struct job *j, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t extents = divide_up(s->batch, s->extent_samples);
	/* Two kinds of extents are outside the window: those still being read when other extents
	 * have filled their batch, and the beginnings of files. */
	uint64_t slots = pass->window * extents + job_readers(j) * job_samples_at_once(j) +
			 loader_extents_beyond(j, pass);
	const struct dataset *ds = pass->dataset;
	uint64_t largest = dataset_largest_file(ds);
	uint64_t first = dataset_first_extent(ds, largest), room = 0;
	uint64_t n = dataset_first_extent(ds, largest + 1) - first;
	struct extent x;

	for (uint64_t i = 0; i < n; i += divide_up(n, SIZING_SAMPLES)) {
		dataset_extent(ds, first + i, &x);
		room = u64_max(room, extent_room(&pass->plan, &x));
	}
	room = round_up(room, pass->plan.direct ? DIRECT_ALIGN : SLOT_ALIGN);
	c->window = u64_max(c->window, pass->window);
	c->slots = u64_max(c->slots, slots);
	c->slot_bytes = u64_max(c->slot_bytes, room);
}

double hold_samples(const struct job *job, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;

	return (double)pass->window * (double)s->batch +
	       (double)loader_extents_beyond(job, pass) * (double)s->extent_samples;
}

/* A pass has no more than its samples, unless the loaders run on into the next epoch. */
static double pass_bytes(const struct job *job, const struct pass *pass)
{
	double held = hold_samples(job, pass);
	double all = (double)sampler_rank_samples(&pass->sampler);
	uint64_t n = dataset_extents(pass->plan.dataset);
	double bytes = 0, samples = 0;

	if (held > all && (pass->is_eval || !loader_model(job)->runs_on))
		held = all;
	for (uint64_t id = 0; id < n; id += divide_up(n, MEAN_SAMPLES)) {
		struct plan_counts c;
		struct extent x;

		dataset_extent(pass->plan.dataset, id, &x);
		plan_count(&pass->plan, &x, &c);
		bytes += (double)c.io_bytes;
		samples += x.samples;
	}
	return samples > 0 ? held * (double)job->accelerators * (bytes / samples) : 0;
}

/* ---- memory ---- */

static int map(struct hold *h)
{
	size_t bytes;

	if (__builtin_mul_overflow(h->slots, h->slot_bytes, &bytes))
		return -ENOMEM;
	/* MAP_NORESERVE: most extents are smaller than the largest. */
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	h->base = p;
	h->bytes = bytes;
	return 0;
}

static void push_slot(struct hold *h, uint64_t *stack, uint64_t slot)
{
	h->slot[slot].next = *stack;
	*stack = slot;
}

/* The stack on which a slot stays after its read, until its batch has been taken. */
static uint64_t *stack_of(struct hold *h, uint64_t batch)
{
	if (batch < h->taken_batches)
		return &h->free_slots;
	if (batch - h->taken_batches >= h->window)
		return &h->later_slots;
	return &h->window_slots[batch % h->window];
}

/* The accelerator has taken this many batches: free their slots. */
static void release(struct hold *h, uint64_t taken)
{
	uint64_t later = h->later_slots;

	if (taken <= h->taken_batches)
		return;
	uint64_t n = taken - h->taken_batches;
	for (uint64_t i = 0; i < n && i < h->window; i++) {
		uint64_t *stack = &h->window_slots[(h->taken_batches + i) % h->window];

		while (*stack != NO_SLOT) {
			uint64_t slot = *stack;

			*stack = h->slot[slot].next;
			push_slot(h, &h->free_slots, slot);
		}
	}
	h->taken_batches = taken;
	h->later_slots = NO_SLOT;
	while (later != NO_SLOT) {
		uint64_t slot = later;

		later = h->slot[slot].next;
		push_slot(h, stack_of(h, h->slot[slot].batch), slot);
	}
}

void hold_plan(struct hold_config *c, const struct job *job, const struct stages *stages)
{
	*c = (struct hold_config){ 0 };
	if (!is_held(job))
		return;
	add_pass(c, job, &stages->train);
	if (stages->has_eval)
		add_pass(c, job, &stages->eval);
	if (c->slot_bytes == 0)
		c->slots = 0; /* files are mapped, not read */
}

double hold_bytes(const struct job *job, const struct stages *stages)
{
	double train = pass_bytes(job, &stages->train);
	double eval = stages->has_eval ? pass_bytes(job, &stages->eval) : 0;

	return train > eval ? train : eval;
}

int hold_check(const struct job *job, const struct stages *stages, uint64_t memory_bytes,
	       struct mlgen_err *err)
{
	char need[UNITS_TEXT_BYTES], have[UNITS_TEXT_BYTES];
	double bytes = is_held(job) ? hold_bytes(job, stages) : 0;
	bool is_eval = bytes > 0 && pass_bytes(job, &stages->train) < bytes;

	if (bytes <= (double)memory_bytes)
		return 0;
	return mlgen_fail(err, -ENOMEM,
			  "hold_samples: prefetched samples%s would need %s, but the memory of "
			  "this host is %s; lower prefetch, read_threads, %sbatch_size or "
			  "accelerators, or set hold_samples=0",
			  is_eval ? " in an evaluation" : "", units_human_bytes(need, bytes),
			  units_human_bytes(have, (double)memory_bytes), is_eval ? "eval_" : "");
}

int hold_new(struct hold **out, const struct hold_config *c, struct mlgen_err *err)
{
	double bytes = (double)c->slots * (double)c->slot_bytes;
	struct hold *h = mem_zalloc(sizeof(*h));
	char text[UNITS_TEXT_BYTES];

	*out = NULL;
	h->slots = c->slots;
	h->slot_bytes = c->slot_bytes;
	h->window = c->window;
	if (map(h) < 0) {
		mem_free(h);
		return mlgen_fail(err, -ENOMEM,
				  "hold_samples: cannot reserve %s of address space for the "
				  "prefetched samples of an accelerator; lower prefetch or "
				  "batch_size, raise ulimit -v, or set hold_samples=0",
				  units_human_bytes(text, bytes));
	}
	pthread_mutex_init(&h->lock, NULL);
	h->slot = mem_array(h->slots, sizeof(*h->slot));
	h->window_slots = mem_array(h->window, sizeof(*h->window_slots));
	h->free_slots = h->later_slots = NO_SLOT;
	for (uint64_t i = 0; i < h->window; i++)
		h->window_slots[i] = NO_SLOT;
	for (uint64_t i = h->slots; i > 0; i--)
		push_slot(h, &h->free_slots, i - 1);
	*out = h;
	return 0;
}

void hold_free(struct hold *h)
{
	if (!h)
		return;
	munmap(h->base, h->bytes);
	pthread_mutex_destroy(&h->lock);
	mem_free(h->slot);
	mem_free(h->window_slots);
	mem_free(h);
}

void *hold_reserve(struct hold *h, uint64_t batch, uint64_t taken, uint64_t *bytes)
{
	*bytes = h->slot_bytes;
	pthread_mutex_lock(&h->lock);
	release(h, taken);
	uint64_t slot = h->free_slots;
	if (slot != NO_SLOT) {
		h->free_slots = h->slot[slot].next;
		h->slot[slot].batch = batch;
	}
	pthread_mutex_unlock(&h->lock);
	return slot == NO_SLOT ? NULL : h->base + slot * h->slot_bytes;
}

void hold_commit(struct hold *h, void *at, uint64_t bytes)
{
	uint64_t begin = (uint64_t)((unsigned char *)at - h->base);
	struct hold_slot *s = &h->slot[begin / h->slot_bytes];

	/* No lock is needed: no other thread uses the slot. */
	if (s->touched_bytes >= bytes + GIVE_BACK_BYTES)
		mem_release_pages(h->base + begin + bytes, (size_t)(s->touched_bytes - bytes));
	s->touched_bytes = bytes;
	pthread_mutex_lock(&h->lock);
	push_slot(h, stack_of(h, s->batch), begin / h->slot_bytes);
	pthread_mutex_unlock(&h->lock);
}
