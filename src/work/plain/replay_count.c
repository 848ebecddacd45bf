/* SPDX-License-Identifier: Apache-2.0 */
/* replay_count.c - see replay_count.h. */
#include "work/plain/replay_count.h"

#include "base/util.h"

static void count_slice(struct replay_ops *o, const struct replay_op *op)
{
	double at = (double)op->start_ns / o->job->replay_speed / 1e9 / o->slice_seconds;
	size_t i = at < REPLAY_SLICES - 1 ? (size_t)at : REPLAY_SLICES - 1;

	o->slices[i].asked_ios++;
	o->slices[i].asked_bytes += op->len_bytes;
}

/* As a power of two. */
static uint64_t alignment(const struct replay_op *op)
{
	uint64_t bits = op->off | op->len_bytes;

	return bits & (~bits + 1);
}

static void count_moving(struct replay_ops *o, const struct replay_file *f,
			 const struct replay_op *op)
{
	bool writes = op->op == MLGEN_WRITE;

	o->bytes[writes] += writes ? op->len_bytes : op->moved_bytes;
	o->largest_bytes = u64_max(o->largest_bytes, op->len_bytes);
	o->blocks += (f->flags & REPLAY_FILE_DEVICE) != 0;
	o->align_bytes = u64_min(o->align_bytes, alignment(op));
	count_slice(o, op);
}

void replay_count(struct replay_ops *o, const struct replay_file *f, const struct replay_op *op)
{
	o->operations++;
	o->touches += (op->flags & REPLAY_TOUCH) != 0;
	o->writes |= (f->flags & REPLAY_FILE_CHANGED) != 0;
	if (f->flags & REPLAY_FILE_CHANGED && o->job->replay_files == REPLAY_TRACED)
		o->redirected++;
	if (op->op == MLGEN_READ || op->op == MLGEN_WRITE)
		count_moving(o, f, op);
}
