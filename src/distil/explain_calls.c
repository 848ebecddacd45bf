/* SPDX-License-Identifier: Apache-2.0 */
/* explain_calls.c - the calls of a specimen as explain() compares them, and its longest piece. */
#include "base/util.h"
#include "describe/touchrun.h"
#include "distil/explain.h"
#include "trace/trace.h"

static enum mlgen_op op_of(unsigned trace_op)
{
	switch (trace_op) {
	case TRACE_OPEN:
		return MLGEN_OPEN;
	case TRACE_STAT:
		return MLGEN_STAT;
	case TRACE_READ:
		return MLGEN_READ;
	case TRACE_CLOSE:
		return MLGEN_CLOSE;
	default:
		return MLGEN_OPS;
	}
}

/* Pages that are touched, as a read of them; false: they were there. */
static bool touch(const struct specimen *s, const struct specimen_call *c, struct touchrun *run,
		  struct explain_call *out)
{
	uint64_t from, bytes;

	if (c->off == TRACE_UNKNOWN || !touchrun_next(run, c->off, s->file_bytes, &from, &bytes))
		return false;
	*out = (struct explain_call){
		.op = MLGEN_READ,
		.off = from,
		.len_bytes = round_up(bytes, TOUCHRUN_BYTES),
		.got_bytes = bytes,
	};
	return true;
}

unsigned explain_calls_of(const struct specimen *s, struct explain_call *out, unsigned most)
{
	struct touchrun run = { 0 };
	unsigned n = 0;

	for (uint32_t i = 0; i < s->count && n < most; i++) {
		const struct specimen_call *c = &s->calls[i];
		bool is_map = c->op == TRACE_MMAP || c->op == TRACE_MUNMAP;

		if (is_map)
			run = (struct touchrun){ 0 };
		if (c->op == TRACE_FAULT)
			n += touch(s, c, &run, &out[n]);
		if (c->op >= TRACE_FAULT || is_map || c->result < 0)
			continue;
		out[n++] = (struct explain_call){
			.op = op_of(c->op),
			.off = c->off,
			.len_bytes = c->len_bytes,
			.got_bytes = c->op == TRACE_READ ? (uint64_t)c->result : 0,
		};
	}
	return n;
}

struct explain_piece explain_longest(const struct explain_call *calls, unsigned count)
{
	struct explain_piece best = { 0 }, now = { 0 };

	for (unsigned i = 0; i < count; i++) {
		const struct explain_call *c = &calls[i];

		if (c->op != MLGEN_READ || c->off == TRACE_UNKNOWN)
			continue;
		if (c->off != now.off + now.len_bytes)
			now = (struct explain_piece){ .off = c->off };
		now.len_bytes += c->got_bytes;
		if (now.len_bytes > best.len_bytes)
			best = now;
	}
	return best;
}
