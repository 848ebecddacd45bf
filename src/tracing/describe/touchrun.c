/* SPDX-License-Identifier: Apache-2.0 */
/* touchrun.c - see touchrun.h. */
#include "tracing/describe/touchrun.h"

#include "base/util.h"

bool touchrun_next(struct touchrun *t, uint64_t off, uint64_t end, uint64_t *from, uint64_t *bytes)
{
	uint64_t first = off / TOUCHRUN_BYTES, last, reach;
	bool goes_on = t->blocks && off <= t->end && first + 1 >= t->blocks && first <= t->blocks;

	if (off >= end)
		return false;
	reach = off + u64_min(TOUCHRUN_BYTES, end - off);
	last = goes_on ? (reach - 1) / TOUCHRUN_BYTES : first;
	if (goes_on)
		first = t->blocks;
	t->end = reach;
	if (first > last)
		return false;
	t->blocks = last + 1;
	*from = first * TOUCHRUN_BYTES;
	*bytes = u64_min((last + 1 - first) * TOUCHRUN_BYTES, end - *from);
	return true;
}
