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

static uint64_t known_length(const struct trace_record *r)
{
	return r->len_bytes == TRACE_UNKNOWN ? 0 : r->len_bytes;
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
		return known_length(r);
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
		spill_need(&k->items, bytes);
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

/* ---- requests between begin and end ---- */

#define PAIRING_SETS (1u << 14)
#define PAIRING_WAYS 4

struct pairing_set {
	struct {
		uint64_t key, began_ns;
		bool is_used;
	} at[PAIRING_WAYS];
};

void pairing_init(struct pairing *p)
{
	*p = (struct pairing){ .sets = mem_array(PAIRING_SETS, sizeof(*p->sets)) };
}

void pairing_fini(struct pairing *p)
{
	mem_free(p->sets);
	*p = (struct pairing){ 0 };
}

/* PAIRING_WAYS if the set does not have the key. */
static unsigned find_request(const struct pairing_set *set, uint64_t key)
{
	unsigned i = 0;

	while (i < PAIRING_WAYS && !(set->at[i].is_used && set->at[i].key == key))
		i++;
	return i;
}

/* A free place, or that of the oldest request. */
static unsigned place_for_request(const struct pairing_set *set)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < PAIRING_WAYS; i++) {
		if (!set->at[i].is_used)
			return i;
		if (set->at[i].began_ns < set->at[oldest].began_ns)
			oldest = i;
	}
	return oldest;
}

void pairing_begin(struct pairing *p, uint64_t key, uint64_t now_ns)
{
	struct pairing_set *set = &p->sets[key >> 50];
	unsigned i = find_request(set, key);

	if (i == PAIRING_WAYS) {
		i = place_for_request(set);
		p->depth += !set->at[i].is_used;
	}
	set->at[i].key = key;
	set->at[i].began_ns = now_ns;
	set->at[i].is_used = true;
	p->depth_most = u64_max(p->depth_most, p->depth);
}

bool pairing_end(struct pairing *p, uint64_t key, uint64_t *began_ns)
{
	struct pairing_set *set = &p->sets[key >> 50];
	unsigned i = find_request(set, key);

	if (i == PAIRING_WAYS)
		return false;
	*began_ns = set->at[i].began_ns;
	set->at[i].is_used = false;
	p->depth--;
	return true;
}

/* ---- operations in flight ---- */

static void swap_ends(uint64_t *a, uint64_t *b)
{
	uint64_t had = *a;

	*a = *b;
	*b = had;
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
	size_t i;

	if (f->count == INFLIGHT_MOST)
		drop_first(f);
	f->ends = mem_grow(f->ends, &f->room, f->count + 1, sizeof(*f->ends));
	i = f->count++;
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
