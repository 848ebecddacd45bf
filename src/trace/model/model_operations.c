/* SPDX-License-Identifier: Apache-2.0 */
/* model_operations.c - kinds of operations, operations in flight, and order. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

/* ---- kinds ---- */

/* clang-format off */
static const unsigned char kinds[TRACE_OPS] = {
	[TRACE_OPEN] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_CLOSE] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_STAT] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_READ] = OPKIND_CALL | OPKIND_READ,
	[TRACE_WRITE] = OPKIND_CALL | OPKIND_WRITE,
	[TRACE_FSYNC] = OPKIND_CALL,
	[TRACE_FDATASYNC] = OPKIND_CALL,
	[TRACE_RENAME] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_UNLINK] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_MKDIR] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_RMDIR] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_GETDENTS] = OPKIND_CALL | OPKIND_METADATA,
	[TRACE_MMAP] = OPKIND_CALL,
	[TRACE_MUNMAP] = OPKIND_CALL,
	[TRACE_ALLOCATE] = OPKIND_CALL,
	[TRACE_ADVISE] = OPKIND_CALL,
};
/* clang-format on */

unsigned opkind_of(unsigned op)
{
	return op < ARRAY_LEN(kinds) ? kinds[op] : 0;
}

uint64_t opkind_bytes(const struct trace_record *r)
{
	switch (r->op) {
	case TRACE_READ:
	case TRACE_WRITE:
		return r->result > 0 ? (uint64_t)r->result : 0;
	case TRACE_CACHE_ADD:
	case TRACE_BLOCK_ISSUE:
	case TRACE_BLOCK_COMPLETE:
	case TRACE_CHECKPOINT:
	case TRACE_SAMPLE:
		return r->len_bytes == TRACE_UNKNOWN ? 0 : r->len_bytes;
	default:
		return 0;
	}
}

/* ---- elements that are numbered by a key ---- */

void *keyed_item(struct keyed *k, uint64_t key, size_t item_bytes, bool *is_new)
{
	bool unused;
	uint32_t n = map_number(&k->keys, key, is_new ? is_new : &unused);
	size_t bytes = ((size_t)n + 1) * item_bytes;

	if (bytes > k->items.bytes)
		spill_reserve(&k->items, bytes);
	return (char *)k->items.at + n * item_bytes;
}

void keyed_fini(struct keyed *k)
{
	map_fini(&k->keys);
	spill_free(&k->items);
}

/* ---- fairness and order ---- */

struct fairness fairness_of(double *shares, size_t n)
{
	struct fairness f = { (double)NAN, (double)NAN };
	double sum = 0, ranked = 0, count = (double)n;

	qsort(shares, n, sizeof(*shares), f64_compare);
	for (size_t i = 0; i < n; i++) {
		sum += shares[i];
		ranked += (double)(i + 1) * shares[i];
	}
	if (sum > 0) {
		f.most_over_mean = shares[n - 1] * count / sum;
		f.gini = fmax(0, 2 * ranked / (count * sum) - (count + 1) / count);
	}
	return f;
}

void order_add(struct order *o, uint64_t x, uint64_t y)
{
	double a = (double)x, b = (double)y;

	o->count++;
	o->x += a;
	o->y += b;
	o->xx += a * a;
	o->yy += b * b;
	o->xy += a * b;
}

double order_correlation(const struct order *o)
{
	double n = (double)o->count;
	double across = n * o->xy - o->x * o->y;
	double a = n * o->xx - o->x * o->x, b = n * o->yy - o->y * o->y;

	if (o->count < 2 || !(a > 0) || !(b > 0))
		return (double)NAN;
	return fmax(-1, fmin(1, across / (sqrt(a) * sqrt(b))));
}

void round_place_visit(struct round_place *p, uint32_t round, uint32_t position,
		       struct order *order)
{
	if (p->round == round)
		return;
	if (order && p->round && p->round + 1 == round)
		order_add(order, p->position, position);
	*p = (struct round_place){ round, position };
}

/* ---- recent values by key, in a table of fixed size ---- */

/* Values by key. The upper bits of a key, which is hashed, choose a set of RECENT_WAYS entries. */
#define RECENT_WAYS 4

struct recent_entry {
	uint64_t key, value;
	uint64_t age; /* larger = later; 0 = free */
};

/* The entry of a key in its set; otherwise the free or oldest entry, which the caller replaces. */
static struct recent_entry *find_entry(struct recent_entry *entries, unsigned set_bits,
				       uint64_t key, bool *is_there)
{
	struct recent_entry *set = &entries[(key >> (64 - set_bits)) * RECENT_WAYS], *oldest = set;

	for (unsigned i = 0; i < RECENT_WAYS; i++) {
		*is_there = set[i].age && set[i].key == key;
		if (*is_there)
			return &set[i];
		if (set[i].age < oldest->age)
			oldest = &set[i];
	}
	return oldest;
}

/* ---- requests between begin and end ---- */

#define PAIRING_SET_BITS 14

void pairing_init(struct pairing *p)
{
	const size_t entries = RECENT_WAYS << PAIRING_SET_BITS;

	*p = (struct pairing){ .entries = mem_array(entries, sizeof(*p->entries)) };
}

void pairing_fini(struct pairing *p)
{
	mem_free(p->entries);
	*p = (struct pairing){ 0 };
}

void pairing_begin(struct pairing *p, uint64_t key, uint64_t now_ns)
{
	bool is_there;
	struct recent_entry *e = find_entry(p->entries, PAIRING_SET_BITS, key, &is_there);

	p->depth += !e->age;
	p->depth_most = u64_max(p->depth_most, p->depth);
	*e = (struct recent_entry){ key, now_ns, now_ns + 1 };
}

bool pairing_end(struct pairing *p, uint64_t key, uint64_t *began_ns)
{
	bool is_there;
	struct recent_entry *e = find_entry(p->entries, PAIRING_SET_BITS, key, &is_there);

	if (!is_there)
		return false;
	*began_ns = e->value;
	e->age = 0;
	p->depth--;
	return true;
}

/* ---- accesses in sequence ---- */

#define POSITION_SET_BITS 16

void positions_init(struct positions *p)
{
	const size_t entries = RECENT_WAYS << POSITION_SET_BITS;

	*p = (struct positions){ .entries = mem_array(entries, sizeof(*p->entries)) };
}

void positions_fini(struct positions *p)
{
	mem_free(p->entries);
	*p = (struct positions){ 0 };
}

static struct recent_entry *find_position(struct positions *p, uint32_t file, uint32_t thread,
					  uint64_t *key, bool *is_there)
{
	*key = ((uint64_t)file << 32 | thread) * FIBONACCI_HASH;
	return find_entry(p->entries, POSITION_SET_BITS, *key, is_there);
}

enum access_kind positions_access(struct positions *p, uint32_t file, uint32_t thread,
				  uint64_t from, uint64_t end, uint64_t *apart)
{
	uint64_t key;
	bool is_there;
	struct recent_entry *e = find_position(p, file, thread, &key, &is_there);
	enum access_kind kind = ACCESS_FIRST;
	uint64_t left = e->value;

	if (is_there)
		kind = from == left ? ACCESS_SEQUENTIAL : from > left ? ACCESS_AHEAD : ACCESS_BACK;
	if (apart)
		*apart = !is_there ? 0 : from > left ? from - left : left - from;
	*e = (struct recent_entry){ key, end, ++p->clock };
	return kind;
}

void positions_remove(struct positions *p, uint32_t file, uint32_t thread)
{
	uint64_t key;
	bool is_there;

	/* If the pair has no entry, this frees the oldest entry of a full set. */
	find_position(p, file, thread, &key, &is_there)->age = 0;
}

/* ---- operations in flight ---- */

static void swap_ends(uint64_t *a, uint64_t *b)
{
	uint64_t first = *a;

	*a = *b;
	*b = first;
}

static void drop_first(struct inflight *f)
{
	size_t i = 0;

	f->ends[0] = f->ends[--f->count];
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= f->count)
			return;
		if (child + 1 < f->count && f->ends[child + 1] < f->ends[child])
			child++;
		if (f->ends[i] <= f->ends[child])
			return;
		swap_ends(&f->ends[i], &f->ends[child]);
		i = child;
	}
}

bool inflight_next(struct inflight *f, uint64_t now_ns, struct inflight_piece *piece)
{
	bool ends = f->count && f->ends[0] <= now_ns;

	if (!ends && f->now_ns >= now_ns)
		return false;
	*piece = (struct inflight_piece){ f->now_ns, ends ? f->ends[0] : now_ns, f->count };
	f->now_ns = u64_max(f->now_ns, piece->end_ns);
	if (ends) {
		f->ended_ns = u64_max(f->ended_ns, piece->end_ns);
		drop_first(f);
	}
	return true;
}

void inflight_advance(struct inflight *f, uint64_t now_ns)
{
	struct inflight_piece unused;

	while (inflight_next(f, now_ns, &unused))
		continue;
}

void inflight_begin(struct inflight *f, uint64_t end_ns)
{
	if (f->count == INFLIGHT_MAX)
		drop_first(f);
	f->ends = mem_grow(f->ends, &f->room, f->count + 1, sizeof(*f->ends));
	size_t i = f->count++;
	f->ends[i] = end_ns;
	while (i && f->ends[(i - 1) / 2] > f->ends[i]) {
		swap_ends(&f->ends[(i - 1) / 2], &f->ends[i]);
		i = (i - 1) / 2;
	}
}

void inflight_fini(struct inflight *f)
{
	mem_free(f->ends);
	*f = (struct inflight){ 0 };
}
