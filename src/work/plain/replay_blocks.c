/* SPDX-License-Identifier: Apache-2.0 */
/* replay_blocks.c - see replay_blocks.h. */
#include "work/plain/replay_blocks.h"

#include "base/mem.h"
#include "describe/opkind.h"
#include "describe/pairing.h"

#define ROOM 16384u

struct issued {
	struct trace_record request;
	bool is_done;
};

struct replay_blocks {
	struct pairing *under_way; /* numbers of requests */
	struct issued list[ROOM];  /* by number, from first to next */
	uint64_t first, next;
	uint64_t span_bytes, folded;
};

struct replay_blocks *replay_blocks_new(uint64_t span_bytes)
{
	struct replay_blocks *b = mem_zalloc(sizeof(*b));

	b->under_way = pairing_new();
	b->span_bytes = span_bytes;
	return b;
}

void replay_blocks_free(struct replay_blocks *b)
{
	if (!b)
		return;
	pairing_free(b->under_way);
	mem_free(b);
}

static struct issued *issued_at(struct replay_blocks *b, uint64_t number)
{
	return &b->list[number % ROOM];
}

static struct issued *add_issue(struct replay_blocks *b, const struct trace_record *r)
{
	struct issued *i = issued_at(b, b->next++);

	*i = (struct issued){ .request = *r };
	i->request.op = r->flags & TRACE_WRITES ? TRACE_WRITE : TRACE_READ;
	i->request.result = r->len_bytes == TRACE_UNKNOWN ? 0 : (int64_t)r->len_bytes;
	return i;
}

/* One that was issued before the trace began is known where its completion says how long it
 * took. */
static void add_end(struct replay_blocks *b, const struct trace_record *r)
{
	uint64_t end_ns = opkind_end_ns(r), number;
	struct issued *i;

	if (pairing_end(b->under_way, pairing_key(r->file, r->off), &number)) {
		if (number < b->first)
			return;
		i = issued_at(b, number);
	} else if (opkind_duration_ns(r)) {
		i = add_issue(b, r);
	} else {
		return;
	}
	i->is_done = true;
	i->request.duration_ns = end_ns - i->request.start_ns;
	if (r->result < 0)
		i->request.result = r->result;
}

void replay_blocks_add(struct replay_blocks *b, const struct trace_record *r)
{
	/* A flush has no bytes. */
	if (!opkind_has_time(r) || !opkind_bytes(r))
		return;
	if (r->op == TRACE_BLOCK_COMPLETE)
		add_end(b, r);
	if (r->op != TRACE_BLOCK_ISSUE)
		return;
	pairing_begin(b->under_way, pairing_key(r->file, r->off), b->next);
	add_issue(b, r);
}

static void replay_blocks_fold(struct replay_blocks *b, struct trace_record *r)
{
	if (!b->span_bytes || r->off == TRACE_UNKNOWN || r->off < b->span_bytes)
		return;
	r->off %= b->span_bytes;
	b->folded++;
}

bool replay_blocks_next(struct replay_blocks *b, bool is_end, struct trace_record *out)
{
	bool is_full = b->next - b->first == ROOM;

	if (b->first == b->next || !(issued_at(b, b->first)->is_done || is_full || is_end))
		return false;
	*out = issued_at(b, b->first++)->request;
	replay_blocks_fold(b, out);
	return true;
}

uint64_t replay_blocks_folded(const struct replay_blocks *b)
{
	return b->folded;
}
