/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.h - the operations of a plan as a line of text, for tests to compare. */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/file/file.h"

#define PLAN_TEXT_BYTES 1024

static inline void plan_text_add(struct plan_counts *c, const struct plan_op *op)
{
	c->ops[op->op]++;
	if (op->op == MLGEN_READ)
		sizes_add(&c->reads, op->len_bytes, 1);
	c->io_bytes += op->got_bytes;
}

/*
 * "open stat 4096@0=128 close": a read is LENGTH@OFFSET, and =GOT where the file has less; an open
 * of another part than 0 is open1, open2. What is true of all plans of frameworks is checked on the
 * way: each operation waits, the counts are those of the operations, no read is larger than said.
 */
static inline const char *plan_text(const struct plan_config *config, const struct extent *x,
				    char out[PLAN_TEXT_BYTES])
{
	struct plan_counts want = { 0 }, got;
	struct plan_op op;
	struct plan p;
	size_t n = 0;

	out[0] = '\0';
	plan_init(&p, config, x);
	while (plan_next(&p, &op)) {
		char *at = out + n;
		size_t room = PLAN_TEXT_BYTES - n;

		ck_assert(op.after);
		plan_text_add(&want, &op);
		if (op.op == MLGEN_OPEN && op.part)
			snprintf(at, room, " open%u", op.part);
		else if (op.op != MLGEN_READ)
			snprintf(at, room, " %s",
				 op.op == MLGEN_OPEN   ? "open"
				 : op.op == MLGEN_STAT ? "stat"
						       : "close");
		else if (op.got_bytes == op.len_bytes)
			snprintf(at, room, " %" PRIu64 "@%" PRIu64, op.len_bytes, op.off);
		else
			snprintf(at, room, " %" PRIu64 "@%" PRIu64 "=%" PRIu64, op.len_bytes,
				 op.off, op.got_bytes);
		n += strlen(at);
		ck_assert_uint_lt(n, PLAN_TEXT_BYTES - 64);
		ck_assert_uint_le(op.len_bytes, plan_largest_read(config));
	}
	ck_assert(!plan_next(&p, &op));
	plan_count(config, x, &got);
	ck_assert(memcmp(&got, &want, sizeof(got)) == 0);
	return n ? out + 1 : out;
}
