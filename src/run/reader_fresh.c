/* SPDX-License-Identifier: Apache-2.0 */
/* reader_fresh.c - reads go into memory that is new, as a program's do that allocates for each
 * (fresh_memory). */
#include "base/mem.h"
#include "run/reader_inside.h"

/* NumPy asks for huge pages for an array of so many bytes or more (its alloc.c). */
#define ARRAY_HUGE_BYTES (UINT64_C(4) << 20)

void reader_fresh(struct reader *r, uint64_t bytes, bool is_array)
{
	uint64_t from = bytes ? bytes : UINT64_MAX;

	r->fresh = (struct fresh){ .from_bytes = from, .array_bytes = from, .is_array = is_array };
	if (bytes == JOB_MALLOC_MAPS_BYTES)
		r->fresh.moves_to_bytes = JOB_MALLOC_MAPS_MAX_BYTES;
}

static enum mem_pages pages_of(struct reader *r, uint64_t bytes)
{
	bool is_huge = r->fresh.is_array && bytes >= ARRAY_HUGE_BYTES;

	r->fresh.has_huge |= is_huge;
	if (!r->fresh.has_huge)
		return MEM_PAGES_AS_BEFORE;
	return is_huge ? MEM_PAGES_HUGE : MEM_PAGES_SMALL;
}

/* An array that is held is new as a whole, before the first read into it, however large: others are
 * still in use when it is taken, as in DLIO's loader. */
void reader_renew(struct reader *r, const struct task *t, const struct io_op *op)
{
	const struct read_task *p = &t->public;
	bool is_held = r->fresh.is_array && p->into;
	uint64_t bytes = is_held ? p->into_bytes : op->io.len_bytes;

	if (is_held ? op->into != p->into || bytes < r->fresh.array_bytes
		    : bytes < r->fresh.from_bytes)
		return;
	mem_renew(op->into, (size_t)bytes, pages_of(r, bytes));
	io_wake(r->io);
}

/* Nobody looks at what it has read any more; what is held until its batch is taken was renewed
 * before. */
void reader_give_back(struct reader *r, const struct task *t, const struct io_op *op)
{
	uint64_t bytes = op->want_bytes;

	if (bytes < r->fresh.from_bytes)
		return;
	if (!op->into)
		io_give_back(r->io, op, pages_of(r, bytes));
	else if (t->packed != PLAN_RAW && !t->public.into)
		mem_give_back(op->into, (size_t)bytes);
	if (bytes <= r->fresh.moves_to_bytes)
		r->fresh.from_bytes = bytes + 1;
}
