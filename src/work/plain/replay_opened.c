/* SPDX-License-Identifier: Apache-2.0 */
/* replay_opened.c - see replay_opened.h. */
#include "work/plain/replay_opened.h"

static uint32_t *at(struct spill *s, uint32_t i)
{
	spill_need(s, (size_t)(i + 1) * sizeof(uint32_t));
	return (uint32_t *)s->at + i;
}

static uint32_t *open_of(struct replay_opened *x, unsigned worker, uint32_t file)
{
	bool is_new;
	uint32_t n = map_number(&x->keys, (uint64_t)worker << 32 | file, &is_new);

	return at(&x->open, n);
}

static void opens(struct replay_opened *x, unsigned worker, uint32_t *open)
{
	uint32_t *all = at(&x->counts, worker);

	++*open;
	++*all;
	if (*all > x->most)
		x->most = *all;
}

/* Is it done on a descriptor, and not by the name? */
static bool needs_open(unsigned op)
{
	return op == MLGEN_READ || op == MLGEN_WRITE || op == MLGEN_FSYNC ||
	       op == MLGEN_FDATASYNC || op == MLGEN_ALLOCATE;
}

bool replay_opened_take(struct replay_opened *x, unsigned worker, const struct replay_op *op)
{
	uint32_t *open = open_of(x, worker, op->file);

	if (op->op == MLGEN_OPEN) {
		if (!(op->flags & REPLAY_MAY_FAIL))
			opens(x, worker, open);
	} else if (op->op == MLGEN_CLOSE) {
		if (!*open)
			return false;
		--*open;
		--*at(&x->counts, worker);
	} else if (needs_open(op->op) && !*open) {
		opens(x, worker, open);
	}
	return true;
}

unsigned replay_opened_most(const struct replay_opened *x)
{
	return x->most ? x->most : 1;
}

void replay_opened_fini(struct replay_opened *x)
{
	map_fini(&x->keys);
	spill_free(&x->open);
	spill_free(&x->counts);
	*x = (struct replay_opened){ 0 };
}
