/* SPDX-License-Identifier: Apache-2.0 */
/* reader_complete.c - operations of a reader's tasks come back: what failed, what was short, what
 * is over. */
#include <errno.h>

#include "run/reader_inside.h"

void reader_end_task(struct reader *r, struct task *t)
{
	t->next_task = NULL;
	*r->last_finished = t;
	r->last_finished = &t->next_task;
}

/* After a failure only the close is left to do, if the file is open. */
static void skip_to_close(struct task *t)
{
	while (t->has_next && (!t->is_open || t->next.op != MLGEN_CLOSE))
		t->has_next = task_next(t);
}

static void take_error(struct task *t, const struct io_op *op)
{
	t->public.error = (int)op->io.result;
	t->public.error_op = op->io.op;
	t->public.error_off = op->io.off;
	t->public.error_done = op->done_bytes;
}

/* As transfer.c has it. */
static bool is_transient(const struct read_task *p)
{
	return p->error == -EINTR || (p->error == -EAGAIN && p->error_op != MLGEN_READ);
}

/* In single operations the io layer resumes what is short or interrupted, and tells a file that has
 * been cut. */
static void end_chain(struct reader *r, struct task *t)
{
	if (is_transient(&t->public))
		t->public.error = 0;
	if (t->public.error || t->got_bytes >= t->chain_bytes)
		return;
	t->is_again = true;
	t->public.into_used = 0;
	reader_plan(r, t);
}

/* The first operation that fails cancels others; in whichever order they come back, the cause
 * counts. */
static void complete_link(struct reader *r, struct task *t, const struct io_op *op)
{
	const struct read_task *p = &t->public;
	int error = op->io.result < 0 ? (int)op->io.result : 0;

	if (op->io.op == MLGEN_READ)
		t->got_bytes = op->done_bytes;
	if (error && (!p->error || p->error == -ECANCELED ||
		      (error != -ECANCELED && op->io.op < p->error_op)))
		take_error(t, op);
	if (t->in_flight)
		return;
	r->requests--;
	end_chain(r, t);
}

/* What a scan has looked into was another file. */
static bool is_replaced(const struct task *t, const struct io_op *op)
{
	return op->io.op == MLGEN_STAT && op->io.result >= 0 && t->config->dataset->found &&
	       op->io.size_bytes != t->plan.file_bytes;
}

/* What comes next begins behind it. */
static void unpack_op(struct reader *r, struct task *t, const struct io_op *op)
{
	task_unpack(t, r->unpack, op);
	io_wake(r->io);
	if (t->public.error)
		skip_to_close(t);
}

/* What was to be kept is not; what was removed, somebody else has removed. */
static void fail_fill(struct task *t, const struct io_op *op)
{
	if (op->io.op == MLGEN_UNLINK)
		return;
	if (!t->public.fill_error)
		t->public.fill_error = (int)op->io.result;
	skip_to_close(t);
}

static void complete_single(struct reader *r, struct task *t, const struct io_op *op)
{
	r->requests--;
	if (t->is_again && op->io.op == MLGEN_READ && op->done_bytes)
		r->stat->short_ios[0]++;
	if (op->io.op == MLGEN_OPEN || op->io.op == MLGEN_CLOSE)
		t->is_open = op->io.op == MLGEN_OPEN && op->io.result >= 0;
	if (!t->public.error && op->io.result >= 0 && r->unpack)
		unpack_op(r, t, op);
	if (!t->public.error && op->io.op == MLGEN_READ && r->decode)
		r->decode(r->decode_arg, &t->public, op->done_bytes);
	if (t->public.error || (op->io.result >= 0 && !is_replaced(t, op)))
		return;
	if (t->is_filling) {
		fail_fill(t, op);
		return;
	}
	take_error(t, op);
	if (op->io.result >= 0) {
		t->public.error = -ESTALE;
		t->public.error_done = op->io.size_bytes;
	}
	skip_to_close(t);
}

void reader_complete(struct reader *r, struct io_op *op)
{
	struct task *t = op->owner;

	t->in_flight--;
	r->free_ops[r->free_count++] = op;
	/* Known only now: an asynchronous engine starts a batch when it is handed over. */
	if (!t->first_ns || op->start_ns < t->first_ns)
		t->first_ns = op->start_ns;
	t->last_ns = op->end_ns;
	if (t->is_chain)
		complete_link(r, t, op);
	else
		complete_single(r, t, op);
	if (op->io.op == MLGEN_READ)
		reader_give_back(r, t, op);
	if (!t->has_next && !t->in_flight)
		reader_end_task(r, t);
}
