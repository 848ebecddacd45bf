/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - readers: tasks for extents, their files and lists of pieces. */
#include "run/read/read_internal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- lists of pieces ---- */

/* Step within a piece: open its file, the first request, further requests. */
enum { LIST_OPEN, LIST_FIRST, LIST_MORE };

/* Always returns true, like the two functions below, so that && can join them. */
static bool next_piece(struct reader_task *t)
{
	t->piece++;
	t->list_step = LIST_OPEN;
	t->list_done = 0;
	return true;
}

/* Set t->next to the next request of a piece. Direct requests are whole blocks; the file may end
 * within the last block of a read. */
static bool next_transfer(struct reader_task *t, const struct read_piece *p)
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

/* Set t->next to an operation that waits for those before it. */
static bool next_alone(struct reader_task *t, enum mlgen_op op)
{
	t->next.op = op;
	t->next.after = true;
	return true;
}

bool task_next(struct reader_task *t)
{
	const struct read_piece *p;

	if (!t->list)
		return plan_next(&t->plan, &t->next);
	t->next = (struct plan_op){ 0 };
	if (t->piece == t->list->count)
		return false;
	p = &t->list->pieces[t->piece];
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

bool task_is_refused(struct reader_task *t)
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

void task_list_op(struct reader *r, struct reader_task *t, struct io_op *op)
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

/* Make a free task active, without operations. */
static struct reader_task *activate_task(struct reader *r, const struct plan_config *config,
					 const struct extent *x)
{
	struct reader_task *t = r->free_task;

	r->free_task = t->next_task;
	r->active++;
	r->last_task = t;
	t->public = (struct read_task){ .extent = *x, .path = t->path, .dataset = config->dataset };
	t->config = config;
	t->list = NULL;
	t->is_filling = false;
	t->is_active = true;
	t->has_next = t->is_resumed = false;
	t->packed = PLAN_RAW;
	t->in_flight = 0;
	t->first_ns = 0;
	t->got_bytes = 0;
	return t;
}

void reader_start_list(struct reader *r, const struct plan_config *config, const struct extent *x,
		       const struct read_list *list)
{
	struct reader_task *t = activate_task(r, config, x);

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

void reader_add_finished(struct reader *r, const struct plan_config *config, const struct extent *x,
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

void reader_set_owner(struct reader *r, void *owner)
{
	r->last_task->public.owner = owner;
}

/* ---- readers ---- */

/* Deeper queues need no chains; and an io_uring has room for 32768 operations. */
#define CHAIN_DEPTH_MAX 4096u

unsigned reader_ops(const struct job *job)
{
	const unsigned chain =
		MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_CLOSE);
	unsigned depth = job_depth(job);

	if (!job->engine->reap || (job->engine->caps & chain) != chain || depth > CHAIN_DEPTH_MAX)
		return depth;
	return depth + (CHAIN_OPS - 1) * job_samples_at_once(job);
}

struct reader *reader_new(struct io *io, struct opstat *stat, unsigned tasks, unsigned iodepth)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	unsigned ops = io_room(io);

	*r = (struct reader){ .io = io,
			      .stat = stat,
			      .task_count = tasks,
			      .op_count = ops,
			      .depth = iodepth,
			      .fresh.from_bytes = UINT64_MAX };
	r->can_chain = io_can_link(io) && ops >= iodepth + (CHAIN_OPS - 1) * tasks;
	r->last_finished = &r->finished;
	r->tasks = mem_array(tasks, sizeof(*r->tasks));
	r->ops = mem_array(ops, sizeof(*r->ops));
	r->from = mem_array(ops, sizeof(*r->from));
	r->free_ops = mem_array(ops, sizeof(*r->free_ops));
	r->done = mem_array(ops, sizeof(*r->done));
	for (unsigned i = 0; i < ops; i++)
		r->free_ops[r->free_count++] = &r->ops[i];
	for (unsigned i = tasks; i > 0; i--) {
		r->tasks[i - 1].next_task = r->free_task;
		r->free_task = &r->tasks[i - 1];
	}
	return r;
}

/* Chains are off, since nothing can run between the read and the close of a chain. */
void reader_unpack(struct reader *r, struct unpack *u)
{
	r->unpack = u;
	r->can_chain = false;
}

void reader_decode_with(struct reader *r, reader_decode *decode, void *arg)
{
	r->decode = decode;
	r->decode_arg = arg;
	r->can_chain = false;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	mem_free(r->tasks);
	mem_free(r->ops);
	mem_free(r->from);
	mem_free(r->free_ops);
	mem_free(r->done);
	mem_free(r);
}

bool reader_has_room(const struct reader *r)
{
	return r->active < r->task_count;
}

bool reader_is_busy(const struct reader *r)
{
	return r->active > 0;
}

bool reader_does_io(const struct reader *r)
{
	return r->last_task && r->last_task->has_next;
}

void reader_close(struct reader *r)
{
	struct reader_task *t = r->last_task;
	struct io_op op;

	if (!t || !t->is_open || t->is_active)
		return;
	t->is_open = false;
	op = (struct io_op){ .io = { .op = MLGEN_CLOSE, .file = &t->file } };
	io_do(r->io, &op);
}

void reader_start(struct reader *r, const struct plan_config *config, const struct extent *x)
{
	struct reader_task *t = r->free_task;
	bool continues_file = t->is_open && t->config == config &&
			      t->public.extent.file == x->file && x->first_sample > 0;
	bool needs_open = config->access == ACCESS_FRAMEWORK &&
			  config->dataset->format->is_forward && x->first_sample > 0;

	if (!continues_file)
		reader_close(r);
	activate_task(r, config, x);
	if (!continues_file) {
		t->part = 0;
		t->file = (struct mlgen_file){ .path = t->path, .fd = -1 };
		t->file.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* see files.h */
		if (config->direct)
			t->file.flags |= O_DIRECT;
		int n = dataset_path(config->dataset, x->file, t->path, sizeof(t->path));
		if (n < 0) {
			t->public.error = n;
			t->public.error_op = MLGEN_OPEN;
			reader_end_task(r, t);
			return;
		}
	}
	/* Only the first extent of the file opens it, and this open has failed. */
	if (!continues_file && needs_open) {
		t->public.error = -EBADF;
		t->public.error_op = MLGEN_READ;
		reader_end_task(r, t);
		return;
	}
	reader_plan(r, t);
	if (!t->has_next)
		reader_end_task(r, t);
}

void reader_into(struct reader *r, void *into, uint64_t bytes)
{
	struct read_task *p = &r->last_task->public;

	p->into = into;
	p->into_bytes = bytes;
}

/* Return the least number of completions that can finish an extent. */
static unsigned least_missing(const struct reader *r)
{
	unsigned least = CHAIN_OPS;

	for (unsigned i = 0; i < r->task_count && least > 1; i++) {
		const struct reader_task *t = &r->tasks[i];
		unsigned n = t->is_chain ? t->in_flight : 1;

		if (t->is_active && t->in_flight && n < least)
			least = n;
	}
	return least;
}

const struct read_task *reader_finish_one(struct reader *r, int *rc)
{
	struct reader_task *t;

	while (!(t = r->finished)) {
		reader_submit(r);
		if (r->finished)
			continue;
		int n = io_reap(r->io, r->done, least_missing(r), r->op_count);
		if (n < 0) {
			*rc = n;
			return NULL;
		}
		for (int i = 0; i < n; i++)
			reader_complete(r, r->done[i]);
	}
	r->finished = t->next_task;
	if (!r->finished)
		r->last_finished = &r->finished;
	t->is_active = false;
	t->next_task = r->free_task;
	r->free_task = t;
	r->active--;
	t->public.start_ns = t->first_ns;
	t->public.end_ns = t->first_ns ? t->last_ns : 0;
	if (t->first_ns && !t->public.error && t->public.extent.samples) {
		struct opstat *s = r->stat;
		uint64_t ns = t->last_ns - t->first_ns;

		hist_add(s->sample, ns);
		if (ns > s->slowest.ns) {
			s->slowest.ns = ns;
			s->slowest.file = t->public.extent.file;
			s->slowest.of = t->config->dataset;
		}
	}
	*rc = 0;
	return &t->public;
}
