/* SPDX-License-Identifier: Apache-2.0 */
/* reader_unpack.c - decompresses what an operation of a task has read. */
#include <errno.h>

#include "run/reader_inside.h"
#include "run/unpack.h"

void task_unpack(struct task *t, struct unpack *u, const struct io_op *op)
{
	struct read_task *p = &t->public;
	uint64_t off;

	if (op->io.op == MLGEN_OPEN)
		unpack_begin(u);
	if (t->packed == PLAN_RAW)
		return;
	p->error_words = unpack_read(u, t->packed, op->into, op->done_bytes, &off);
	if (!p->error_words)
		return;
	p->error = -EBADMSG;
	p->error_op = op->io.op;
	p->error_off = op->first_off + off;
}
