/* SPDX-License-Identifier: Apache-2.0 */
/* trace_ring.c - see trace_ring.h. */
#include "trace/trace_ring.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

#define PAGE_BYTES UINT64_C(4096)
#define SLOT_BYTES sizeof(struct trace_record)

/* The last one means something else to who numbers files (io/io_trace.h). */
#define INDEX_MAX 65534u

_Static_assert(sizeof(struct trace_record) == 64, "a slot is a cache line");

/* One piece of memory: the ring, its slots, numbers, and what they stand for. */
struct trace_ring *trace_ring_new(unsigned slots, unsigned numbers, unsigned index)
{
	size_t head = round_up(sizeof(struct trace_ring), PAGE_BYTES);
	size_t data = slots * SLOT_BYTES, bytes;
	struct trace_ring *r;

	assert(slots >= TRACE_RING_SLOTS_MIN && (slots & (slots - 1)) == 0);
	if (index > INDEX_MAX)
		numbers = 0;
	if (numbers > TRACE_RING_NUMBERS_MAX)
		numbers = TRACE_RING_NUMBERS_MAX;
	bytes = head + data + (numbers + 1) * sizeof(uint32_t) + numbers * sizeof(uint16_t);
	r = mem_table(bytes);
	if (!r)
		return NULL;
	memset(r, 0, head);
	r->bytes = bytes;
	r->slots = (struct trace_record *)((char *)r + head);
	r->mask = slots - 1;
	r->index = numbers ? index : 0;
	r->ids = (uint32_t *)((char *)r->slots + data);
	memset(r->ids, 0, (numbers + 1) * sizeof(*r->ids));
	r->free_numbers = (uint16_t *)(r->ids + numbers + 1);
	for (unsigned i = numbers; i > 0; i--)
		r->free_numbers[r->free_count++] = (uint16_t)i;
	return r;
}

void trace_ring_free(struct trace_ring *r)
{
	if (r)
		mem_buffer_free(r, r->bytes, MEM_MMAP);
}

static void count_lost(struct trace_ring_lost *l, uint64_t now_ns)
{
	uint64_t n = atomic_load_explicit(&l->count, memory_order_relaxed);

	if (n == 0)
		atomic_store_explicit(&l->first_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&l->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&l->count, n + 1, memory_order_relaxed);
}

bool trace_ring_look(struct trace_ring *r, unsigned slots, unsigned op, uint64_t now_ns)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* Pairs with trace_ring_taken: it has read what lay there. */
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head + slots - r->tail_seen <= r->mask + 1)
		return true;
	count_lost(&r->lost[op], now_ns);
	return false;
}

void trace_ring_name(struct trace_ring *r, size_t at, const void *name, size_t bytes)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t all = (size_t)(r->mask + 1) * SLOT_BYTES;
	size_t to = (size_t)((head + 1) & r->mask) * SLOT_BYTES + at;
	size_t first;

	to %= all;
	first = bytes < all - to ? bytes : all - to;
	memcpy((char *)r->slots + to, name, first);
	memcpy(r->slots, (const char *)name + first, bytes - first);
}

void trace_ring_mark(struct trace_ring *r, const struct trace_mark *m)
{
	size_t bytes = m->text ? strnlen(m->text, TRACE_RING_NAME_BYTES) : 0;
	unsigned slots = trace_ring_slots(bytes);
	struct trace_record *to = trace_ring_room(r, slots, m->op, m->end_ns);

	if (!to)
		return;
	*to = (struct trace_record){
		.start_ns = m->start_ns,
		.duration_ns = m->end_ns - m->start_ns,
		.off = m->off,
		.len_bytes = m->len_bytes,
		.result = m->result,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = (uint32_t)bytes,
		.op = (uint16_t)m->op,
	};
	if (bytes)
		trace_ring_name(r, 0, m->text, bytes);
	trace_ring_put(r, slots);
}

void trace_ring_end(struct trace_ring *r)
{
	/* Pairs with trace_ring_is_over: what was put is seen then. */
	atomic_store_explicit(&r->is_over, true, memory_order_release);
}

uint64_t trace_ring_head(const struct trace_ring *r)
{
	/* Pairs with trace_ring_put. */
	return atomic_load_explicit(&r->head, memory_order_acquire);
}

/* The names lie in slots, of which the last may be followed by the first. */
static void copy_names(const struct trace_ring *r, char *room, size_t bytes)
{
	uint64_t at = r->at + 1;

	for (size_t done = 0; done < bytes; done += SLOT_BYTES)
		memcpy(room + done, &r->slots[at++ & r->mask], SLOT_BYTES);
}

bool trace_ring_take(struct trace_ring *r, uint64_t head, char *room, struct trace_taken *taken)
{
	struct trace_record *rec = &taken->record;

	if (r->at == head)
		return false;
	*rec = r->slots[r->at & r->mask];
	taken->name_bytes = rec->pid;
	taken->name2_bytes = rec->tid;
	rec->pid = rec->tid = 0;
	copy_names(r, room, taken->name_bytes + taken->name2_bytes);
	taken->name = room;
	taken->name2 = room + taken->name_bytes;
	r->at += trace_ring_slots(taken->name_bytes + taken->name2_bytes);
	return true;
}

void trace_ring_taken(struct trace_ring *r)
{
	/* Pairs with trace_ring_look. */
	atomic_store_explicit(&r->tail, r->at, memory_order_release);
}

bool trace_ring_is_over(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->is_over, memory_order_acquire);
}
