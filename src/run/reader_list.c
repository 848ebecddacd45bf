/* SPDX-License-Identifier: Apache-2.0 */
/* reader_list.c - the operations of an extent that is read, or kept, piece by piece:
 * reader_start_list. */
#include <errno.h>
#include <fcntl.h>

#include "base/util.h"
#include "run/reader_inside.h"

enum { LIST_OPEN, LIST_FIRST, LIST_MORE };

static const struct read_piece *piece_of(const struct task *t)
{
	return &t->list->pieces[t->piece];
}

static bool next_piece(struct task *t)
{
	t->piece++;
	t->list_step = LIST_OPEN;
	t->list_done = 0;
	return true;
}

/* The next request of a piece. What is direct is whole blocks, and of a read the file may have less
 * of the last one. */
static bool next_transfer(struct task *t, const struct read_piece *p)
{
	uint64_t left = p->bytes - t->list_done;
	uint64_t n = u64_min(left, t->config->bs_bytes);
	uint64_t align = t->config->align_bytes;

	t->next.op = p->op;
	t->next.after = t->list_step == LIST_FIRST;
	t->next.off = p->off + t->list_done;
	t->next.got_bytes = t->next.len_bytes = n;
	if (align && n % align)
		t->next.len_bytes += align - n % align;
	t->list_at = t->list_done;
	t->list_done += n;
	t->list_step = LIST_MORE;
	return true;
}

static bool next_alone(struct task *t, enum mlgen_op op)
{
	t->next.op = op;
	t->next.after = true;
	return true;
}

bool task_next(struct task *t)
{
	const struct read_piece *p;

	if (!t->list)
		return plan_next(&t->plan, &t->next);
	t->next = (struct plan_op){ 0 };
	if (t->piece == t->list->count)
		return false;
	p = piece_of(t);
	t->next_piece = t->piece;
	if (p->op == MLGEN_UNLINK)
		return next_alone(t, MLGEN_UNLINK) && next_piece(t);
	if (t->list_step == LIST_OPEN) {
		t->list_step = LIST_FIRST;
		if (!p->open)
			return next_alone(t, MLGEN_OPEN);
	}
	if (t->list_done < p->bytes)
		return next_transfer(t, p) &&
		       (t->list_done < p->bytes || !p->open || next_piece(t));
	return next_alone(t, MLGEN_CLOSE) && next_piece(t);
}

bool task_is_refused(struct task *t)
{
	const struct read_piece *p;

	if (!t->list || !t->list->begins)
		return false;
	p = &t->list->pieces[t->next_piece];
	if (!p->is_fill || t->is_filling)
		return false;
	if (t->list->begins(t->list->arg))
		return false;
	t->has_next = false;
	return true;
}

void task_list_op(struct reader *r, struct task *t, struct io_op *op)
{
	const struct read_piece *p = &t->list->pieces[t->next_piece];
	struct iovec *from = &r->from[op - r->ops];
	unsigned char *memory = p->memory;

	t->is_filling = p->is_fill;
	t->public.is_tier = p->is_tier;
	t->public.path = p->open ? p->open->path : p->file.path;
	if (op->io.op == MLGEN_OPEN || op->io.op == MLGEN_UNLINK)
		t->file = p->file;
	op->io.size_bytes = 0;
	op->io.file = p->open ? p->open : &t->file;
	op->from = NULL;
	if (op->io.op == MLGEN_READ)
		op->into = memory ? memory + t->list_at : NULL;
	if (op->io.op != MLGEN_WRITE)
		return;
	*from = (struct iovec){ memory + t->list_at, op->io.len_bytes };
	op->from = from;
	op->from_parts = 1;
}

void reader_start_list(struct reader *r, const struct plan_config *config, const struct extent *x,
		       const struct read_list *list)
{
	struct task *t = reader_take_task(r, config, x);

	t->list = list;
	t->piece = t->next_piece = 0;
	t->list_step = LIST_OPEN;
	t->list_done = t->list_at = 0;
	t->is_chain = false;
	t->part = 0;
	t->has_next = task_next(t);
	if (!t->has_next)
		reader_end_task(r, t);
}

void reader_took(struct reader *r, const struct plan_config *config, const struct extent *x,
		 uint64_t start_ns, uint64_t end_ns)
{
	static const struct read_list nothing;

	reader_start_list(r, config, x, &nothing);
	if (dataset_path(config->dataset, x->file, r->last_task->path, sizeof(r->last_task->path)) <
	    0)
		r->last_task->path[0] = '\0';
	r->last_task->first_ns = start_ns;
	r->last_task->last_ns = end_ns;
	r->last_task->public.is_tier = true;
}

void reader_own(struct reader *r, void *owner)
{
	r->last_task->public.owner = owner;
}
