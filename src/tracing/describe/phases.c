/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c - when a trace reads, writes, both, or neither, by its intervals. */
#include "tracing/describe/phases.h"

static enum phase_kind kind_of(const struct interval *i)
{
	uint64_t read = i->read_bytes, written = i->written_bytes;

	if (!read && !written)
		return MOVES_NOTHING;
	if (written < read / PHASES_PART || !written)
		return MOVES_IN;
	return read < written / PHASES_PART || !read ? MOVES_OUT : MOVES_BOTH;
}

size_t phases_find(const struct intervals *s, struct phase *to, size_t most)
{
	struct phase now = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		enum phase_kind kind = kind_of(&s->at[i]);

		if (i == 0 || kind != now.kind) {
			now = (struct phase){ .kind = kind, .first = i };
			n++;
		}
		now.count++;
		now.bytes += s->at[i].read_bytes + s->at[i].written_bytes;
		if (n <= most)
			to[n - 1] = now;
	}
	return n;
}
