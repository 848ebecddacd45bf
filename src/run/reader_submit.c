/* SPDX-License-Identifier: Apache-2.0 */
/* reader_submit.c - operations of a reader's tasks go to the engine, as far as plans and depth
 * allow. */
#include "base/mem.h"
#include "run/reader_inside.h"
#include "run/unpack.h"

/* Larger ones gain nothing by a chain. */
#define CHAIN_BYTES_MAX (1u << 20)

static bool fits_chain(struct task *t)
{
	struct plan_op read;

	if (!plan_is_chain(&t->plan, &read))
		return false;
	t->chain_bytes = read.got_bytes;
	return read.len_bytes <= CHAIN_BYTES_MAX;
}

void reader_plan(struct reader *r, struct task *t)
{
	plan_init(&t->plan, t->config, &t->public.extent);
	t->is_chain = r->can_chain && !t->is_again && fits_chain(t);
	t->has_next = task_next(t);
}

/* What the chain has got is not read again, but for a block of which only a part came: direct reads
 * begin at whole ones. */
static void skip_got(struct task *t)
{
	uint64_t skip = t->got_bytes;

	if (t->config->align_bytes)
		skip -= skip % t->config->align_bytes;
	t->next.off += skip;
	t->next.len_bytes -= skip;
	t->next.got_bytes -= skip;
	t->public.into_used += skip;
}

/* Behind the requests before it. */
static void *take_room(struct task *t)
{
	struct read_task *p = &t->public;
	uint64_t align = t->config->align_bytes;
	unsigned char *at = p->into;

	if (!at || t->next.len_bytes > p->into_bytes - p->into_used)
		return NULL;
	at += p->into_used;
	p->into_used += t->next.got_bytes;
	if (align)
		p->into_used += (align - p->into_used % align) % align;
	return at;
}

/* Another of the sample's files; the one before it is closed. */
static void turn_to_part(struct task *t, unsigned part)
{
	const struct dataset *ds = t->config->dataset;

	t->part = part;
	dataset_path(ds, part * ds->files + t->public.extent.file, t->path,
		     sizeof(t->path)); /* dataset_init made sure it fits */
}

static bool is_by_path(const struct task *t)
{
	return t->next.op == MLGEN_OPEN || (t->next.op == MLGEN_STAT && !t->is_open);
}

static void submit_next(struct reader *r, struct task *t)
{
	struct io_op *op = r->free_ops[--r->free_count];
	bool is_last = t->next.op == MLGEN_CLOSE;

	if (t->is_again && t->next.op == MLGEN_READ)
		skip_got(t);
	if (is_by_path(t) && t->next.part != t->part)
		turn_to_part(t, t->next.part);
	op->io.op = t->next.op;
	op->io.flags = t->is_chain && !is_last ? MLGEN_IO_LINK : 0;
	op->io.file = &t->file;
	op->io.off = t->next.off;
	op->io.len_bytes = t->next.len_bytes;
	op->into = t->next.op == MLGEN_READ ? take_room(t) : NULL;
	if (op->into)
		reader_renew(r, t, op);
	op->from = NULL;
	t->packed = t->next.packed;
	if (t->packed != PLAN_RAW)
		t->public.packed_bytes += t->next.got_bytes;
	if (r->unpack && t->packed != PLAN_RAW && !op->into)
		op->into = unpack_room(r->unpack);
	/* What is read of the files of others is as large as a scan found. */
	if (t->next.op == MLGEN_STAT || t->next.op == MLGEN_OPEN)
		op->io.size_bytes = t->plan.file_bytes;
	op->eof_ok = t->next.got_bytes < t->next.len_bytes;
	op->eof_bytes = t->next.got_bytes;
	op->owner = t;
	if (t->list)
		task_list_op(r, t, op);
	t->in_flight++;
	io_submit(r->io, op);
	/* After a failure that was the close, and no other file is begun. */
	t->has_next = !t->public.error && !t->public.fill_error && task_next(t);
}

static bool may_submit(const struct reader *r, const struct task *t)
{
	if (!t->has_next || r->requests == r->depth)
		return false;
	if (t->is_chain)
		return io_room(r->io) >= CHAIN_OPS;
	return io_room(r->io) && !(t->next.after && t->in_flight);
}

/* Hand over whatever may go now. */
void reader_submit(struct reader *r)
{
	for (unsigned i = 0; i < r->task_count; i++) {
		struct task *t = &r->tasks[i];

		while (t->is_active && may_submit(r, t)) {
			if (task_is_refused(t)) {
				reader_end_task(r, t);
				break;
			}
			r->requests++;
			do {
				submit_next(r, t);
			} while (t->is_chain && t->has_next);
		}
	}
}
