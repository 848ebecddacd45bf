/* SPDX-License-Identifier: Apache-2.0 */
/* hold.c - what loaders hand to their accelerator, and where what was read ahead is kept. */
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

/* Slots begin at multiples of it; those that direct=1 reads into at whole pages. */
#define SLOT_ALIGN 64ull
#define DIRECT_ALIGN 4096ull

/* Giving less back is not worth the call. */
#define GIVE_BACK_BYTES 65536ull

/* Of the largest file; and those that stand for all. */
#define EXTENTS_LOOKED_AT 32768u
#define MEAN_OF 1024u

#define NO_SLOT UINT64_MAX

struct held {
	uint64_t batch;   /* whose extent it has */
	uint64_t touched; /* bytes from its beginning that are in use */
	uint64_t next;
};

struct hold {
	unsigned char *base;
	size_t bytes;
	uint64_t slot_bytes, slots;
	pthread_mutex_t lock; /* of what follows */
	struct held *slot;
	uint64_t free_slots; /* a stack */
	uint64_t taken;      /* batches */
	uint64_t window;
	uint64_t *kept;  /* stacks: of batch b from `taken` on, b % window */
	uint64_t beyond; /* a stack: of batches behind those */
};

/* How much there is to hold. */

static bool is_held(const struct job *j)
{
	return j->hold_samples && job_touches_files(j);
}

/* Its requests one behind the other; the last one may ask for more than there is. */
static uint64_t room_of(const struct plan_config *config, const struct extent *x)
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

static uint64_t largest_room(const struct pass *pass)
{
	const struct dataset *ds = pass->dataset;
	uint64_t largest = dataset_largest_file(ds);
	uint64_t first = dataset_first_extent(ds, largest), room = 0;
	uint64_t n = dataset_first_extent(ds, largest + 1) - first;
	struct extent x;

	for (uint64_t i = 0; i < n; i += divide_up(n, EXTENTS_LOOKED_AT)) {
		dataset_extent(ds, first + i, &x);
		room = u64_max(room, room_of(&pass->plan, &x));
	}
	return round_up(room, pass->plan.direct ? DIRECT_ALIGN : SLOT_ALIGN);
}

/* What is still being read when its batch has been taken, of whatever else arrived, is none of the
 * window's, nor is the beginning of files. */
static uint64_t slots_of(const struct job *j, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;
	uint64_t extents = divide_up(s->batch, s->extent_samples);

	return pass->window * extents + job_readers(j) * job_samples_at_once(j) +
	       loader_extents_beyond(j, pass);
}

static void add_pass(struct hold_config *c, const struct job *j, const struct pass *pass)
{
	c->window = u64_max(c->window, pass->window);
	c->slots = u64_max(c->slots, slots_of(j, pass));
	c->slot_bytes = u64_max(c->slot_bytes, largest_room(pass));
}

static double mean_bytes(const struct plan_config *plan)
{
	uint64_t n = dataset_extents(plan->dataset);
	double bytes = 0, samples = 0;

	for (uint64_t id = 0; id < n; id += divide_up(n, MEAN_OF)) {
		struct plan_counts c;
		struct extent x;

		dataset_extent(plan->dataset, id, &x);
		plan_count(plan, &x, &c);
		bytes += (double)c.io_bytes;
		samples += x.samples;
	}
	return samples > 0 ? bytes / samples : 0;
}

double hold_samples(const struct job *job, const struct pass *pass)
{
	const struct sampler *s = &pass->sampler;

	return (double)pass->window * (double)s->batch +
	       (double)loader_extents_beyond(job, pass) * (double)s->extent_samples;
}

/* An epoch has no more than its samples, nor has an evaluation. */
static double pass_bytes(const struct job *job, const struct pass *pass)
{
	double samples = hold_samples(job, pass);
	double all = (double)sampler_rank_samples(&pass->sampler);

	if (samples > all && (pass->is_eval || !loader_model(job)->runs_on))
		samples = all;
	return samples * (double)job->accelerators * mean_bytes(&pass->plan);
}

/* Memory. */

static int map(struct hold *h)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(h->slots, h->slot_bytes, &bytes))
		return -ENOMEM;
	/* Not reserved: extents are smaller than the largest. */
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	h->base = p;
	h->bytes = bytes;
	return 0;
}

/* What lies behind that is still needed; not for a little of it. */
static void give_back(const struct hold *h, uint64_t slot, uint64_t needed, uint64_t touched)
{
	if (touched - needed >= GIVE_BACK_BYTES)
		mem_give_back(h->base + slot + needed, (size_t)(touched - needed));
}

static void hold_put(struct hold *h, uint64_t *stack, uint64_t slot)
{
	h->slot[slot].next = *stack;
	*stack = slot;
}

static void release_all(struct hold *h, uint64_t *stack)
{
	while (*stack != NO_SLOT) {
		uint64_t slot = *stack;

		*stack = h->slot[slot].next;
		hold_put(h, &h->free_slots, slot);
	}
}

/* Where an extent that was read lies until its batch has been taken. */
static uint64_t *stack_of(struct hold *h, uint64_t batch)
{
	if (batch < h->taken)
		return &h->free_slots;
	if (batch - h->taken >= h->window)
		return &h->beyond;
	return &h->kept[batch % h->window];
}

static void release(struct hold *h, uint64_t taken)
{
	uint64_t n = taken > h->taken ? taken - h->taken : 0;
	uint64_t beyond = h->beyond;

	for (uint64_t i = 0; i < n && i < h->window; i++)
		release_all(h, &h->kept[(h->taken + i) % h->window]);
	h->taken += n;
	if (n == 0)
		return;
	h->beyond = NO_SLOT;
	while (beyond != NO_SLOT) {
		uint64_t slot = beyond;

		beyond = h->slot[slot].next;
		hold_put(h, stack_of(h, h->slot[slot].batch), slot);
	}
}

static void make_slots(struct hold *h)
{
	h->slot = mem_array(h->slots, sizeof(*h->slot));
	h->kept = mem_array(h->window, sizeof(*h->kept));
	h->free_slots = h->beyond = NO_SLOT;
	for (uint64_t i = 0; i < h->window; i++)
		h->kept[i] = NO_SLOT;
	for (uint64_t i = h->slots; i > 0; i--)
		hold_put(h, &h->free_slots, i - 1);
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
			  "hold_samples: samples read ahead%s would take %s, and the memory of "
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
				  "hold_samples: %s of address space for what an accelerator has "
				  "ahead cannot be had; lower prefetch or batch_size, raise ulimit "
				  "-v, or set hold_samples=0",
				  units_human_bytes(text, bytes));
	}
	pthread_mutex_init(&h->lock, NULL);
	make_slots(h);
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
	mem_free(h->kept);
	mem_free(h);
}

void *hold_take(struct hold *h, uint64_t batch, uint64_t taken, uint64_t *bytes)
{
	uint64_t slot;

	*bytes = h->slot_bytes;
	pthread_mutex_lock(&h->lock);
	release(h, taken);
	slot = h->free_slots;
	if (slot != NO_SLOT) {
		h->free_slots = h->slot[slot].next;
		h->slot[slot].batch = batch;
	}
	pthread_mutex_unlock(&h->lock);
	return slot == NO_SLOT ? NULL : h->base + slot * h->slot_bytes;
}

void hold_keep(struct hold *h, void *at, uint64_t bytes)
{
	uint64_t begin = (uint64_t)((unsigned char *)at - h->base);
	struct held *s = &h->slot[begin / h->slot_bytes];

	/* Nobody else has it. */
	if (bytes < s->touched)
		give_back(h, begin, bytes, s->touched);
	s->touched = bytes;
	pthread_mutex_lock(&h->lock);
	hold_put(h, stack_of(h, s->batch), begin / h->slot_bytes);
	pthread_mutex_unlock(&h->lock);
}
