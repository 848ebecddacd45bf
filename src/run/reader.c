/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. */
#include "run/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "run/reader_inside.h"
#include "run/unpack.h"

/* Larger ones gain nothing by a chain. */
#define CHAIN_BYTES_MAX (1u << 20)
#define CHAIN_OPS 3u

/* A queue so deep needs no chains; and a ring has room for 32768. */
#define CHAIN_DEPTH_MAX 4096u

struct reader {
	struct io *io;
	struct opstat *stat;
	struct unpack *unpack;  /* NULL = nothing is decompressed */
	struct task *last_task; /* that was started */
	struct task *tasks;
	unsigned task_count, active;
	struct task *free_task; /* a stack */
	struct task *finished, **last_finished;
	struct io_op *ops;
	struct io_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned op_count, free_count;
	unsigned depth, requests; /* under way; a chain is one */
	bool can_chain;
};

/* Starting. */

static void finish(struct reader *r, struct task *t)
{
	t->next_task = NULL;
	*r->last_finished = t;
	r->last_finished = &t->next_task;
}

static bool fits_chain(struct task *t)
{
	struct plan_op read;

	if (!plan_is_chain(&t->plan, &read))
		return false;
	t->chain_bytes = read.got_bytes;
	return read.len_bytes <= CHAIN_BYTES_MAX;
}

static void start_plan(struct reader *r, struct task *t)
{
	plan_init(&t->plan, t->config, &t->public.extent);
	t->is_chain = r->can_chain && !t->is_again && fits_chain(t);
	t->has_next = plan_next(&t->plan, &t->next);
}

/* What the chain has got is not read again, but for a block of which only a
 * part came: direct reads begin at whole ones. */
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
	return t->next.op == MLGEN_OPEN ||
	       (t->next.op == MLGEN_STAT && !t->is_open);
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
	t->packed = t->next.packed;
	if (t->packed != PLAN_RAW)
		t->public.packed_bytes += t->next.got_bytes;
	if (r->unpack && t->packed != PLAN_RAW && !op->into)
		op->into = unpack_room(r->unpack);
	if (t->next.op == MLGEN_STAT)
		op->io.size_bytes = t->plan.file_bytes;
	op->eof_ok = t->next.got_bytes < t->next.len_bytes;
	op->eof_bytes = t->next.got_bytes;
	op->owner = t;
	t->in_flight++;
	io_submit(r->io, op);
	/* After a failure that was the close, and no other file is begun. */
	t->has_next = !t->public.error && plan_next(&t->plan, &t->next);
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
static void submit_ready(struct reader *r)
{
	for (unsigned i = 0; i < r->task_count; i++) {
		struct task *t = &r->tasks[i];

		while (t->is_active && may_submit(r, t)) {
			r->requests++;
			do {
				submit_next(r, t);
			} while (t->is_chain && t->has_next);
		}
	}
}

/* Completing. */

/* After a failure only the close is left to do, if the file is open. */
static void skip_to_close(struct task *t)
{
	while (t->has_next && (!t->is_open || t->next.op != MLGEN_CLOSE))
		t->has_next = plan_next(&t->plan, &t->next);
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
	return p->error == -EINTR ||
	       (p->error == -EAGAIN && p->error_op != MLGEN_READ);
}

/* In single operations the io layer resumes what is short or interrupted, and
 * tells a file that has been cut. */
static void end_chain(struct reader *r, struct task *t)
{
	if (is_transient(&t->public))
		t->public.error = 0;
	if (t->public.error || t->got_bytes >= t->chain_bytes)
		return;
	t->is_again = true;
	t->public.into_used = 0;
	start_plan(r, t);
}

/* The first operation that fails cancels others; in whichever order they come
 * back, the cause counts. */
static void complete_link(struct reader *r, struct task *t,
			  const struct io_op *op)
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
	return op->io.op == MLGEN_STAT && op->io.result >= 0 &&
	       t->config->dataset->found &&
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

static void complete_single(struct reader *r, struct task *t,
			    const struct io_op *op)
{
	r->requests--;
	if (t->is_again && op->io.op == MLGEN_READ && op->done_bytes)
		r->stat->short_ios[0]++;
	if (op->io.op == MLGEN_OPEN || op->io.op == MLGEN_CLOSE)
		t->is_open = op->io.op == MLGEN_OPEN && op->io.result >= 0;
	if (!t->public.error && op->io.result >= 0 && r->unpack)
		unpack_op(r, t, op);
	if (t->public.error || (op->io.result >= 0 && !is_replaced(t, op)))
		return;
	take_error(t, op);
	if (op->io.result >= 0) {
		t->public.error = -ESTALE;
		t->public.error_done = op->io.size_bytes;
	}
	skip_to_close(t);
}

static void reader_complete(struct reader *r, struct io_op *op)
{
	struct task *t = op->owner;

	t->in_flight--;
	r->free_ops[r->free_count++] = op;
	/* Known only now: an asynchronous engine starts a batch when it is
	 * handed over. */
	if (!t->first_ns || op->start_ns < t->first_ns)
		t->first_ns = op->start_ns;
	t->last_ns = op->end_ns;
	if (t->is_chain)
		complete_link(r, t, op);
	else
		complete_single(r, t, op);
	if (!t->has_next && !t->in_flight)
		finish(r, t);
}

/* No extent is finished by fewer completions. */
static unsigned least_missing(const struct reader *r)
{
	unsigned least = CHAIN_OPS;

	for (unsigned i = 0; i < r->task_count && least > 1; i++) {
		const struct task *t = &r->tasks[i];
		unsigned n = t->is_chain ? t->in_flight : 1;

		if (t->is_active && t->in_flight && n < least)
			least = n;
	}
	return least;
}

unsigned reader_ops(const struct job *job)
{
	const unsigned chain = MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_READ) |
			       MLGEN_CAP(MLGEN_CLOSE);
	unsigned depth = job_depth(job);

	if (!job->engine->reap || (job->engine->caps & chain) != chain ||
	    depth > CHAIN_DEPTH_MAX)
		return depth;
	return depth + (CHAIN_OPS - 1) * job_samples_at_once(job);
}

struct reader *reader_new(struct io *io, struct opstat *stat, unsigned tasks,
			  unsigned iodepth)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	unsigned ops = io_room(io);

	*r = (struct reader){ .io = io,
			      .stat = stat,
			      .task_count = tasks,
			      .op_count = ops,
			      .depth = iodepth };
	r->can_chain =
		io_can_link(io) && ops >= iodepth + (CHAIN_OPS - 1) * tasks;
	r->last_finished = &r->finished;
	r->tasks = mem_array(tasks, sizeof(*r->tasks));
	r->ops = mem_array(ops, sizeof(*r->ops));
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

/* A chain has nothing between its read and its close. */
void reader_unpack(struct reader *r, struct unpack *u)
{
	r->unpack = u;
	r->can_chain = false;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	mem_free(r->tasks);
	mem_free(r->ops);
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

/* The file that the task has open goes on to be read. */
static bool continues(const struct task *t, const struct plan_config *config,
		      const struct extent *x)
{
	return t->is_open && t->config == config &&
	       t->public.extent.file == x->file && x->first_sample > 0;
}

static void take_file(struct reader *r, struct task *t)
{
	int n;

	t->part = 0;
	t->file = (struct mlgen_file){ .path = t->path, .fd = -1 };
	t->file.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK; /* see filekind.h */
	if (t->config->direct)
		t->file.flags |= O_DIRECT;
	n = dataset_path(t->config->dataset, t->public.extent.file, t->path,
			 sizeof(t->path));
	if (n >= 0)
		return;
	t->public.error = n;
	t->public.error_op = MLGEN_OPEN;
	finish(r, t);
}

/* The open was for the file's first extent, and it failed. */
static bool misses_open(const struct plan_config *config,
			const struct extent *x)
{
	return config->access == ACCESS_FRAMEWORK &&
	       config->dataset->format->is_forward && x->first_sample > 0;
}

bool reader_does_io(const struct reader *r)
{
	return r->last_task && r->last_task->has_next;
}

void reader_close(struct reader *r)
{
	struct task *t = r->last_task;
	struct io_op op;

	if (!t || !t->is_open || t->is_active)
		return;
	t->is_open = false;
	op = (struct io_op){ .io = { .op = MLGEN_CLOSE, .file = &t->file } };
	io_do(r->io, &op);
}

void reader_start(struct reader *r, const struct plan_config *config,
		  const struct extent *x)
{
	struct task *t = r->free_task;
	bool goes_on = continues(t, config, x);

	if (!goes_on)
		reader_close(r);
	r->free_task = t->next_task;
	r->active++;
	r->last_task = t;
	t->public = (struct read_task){ .extent = *x,
					.path = t->path,
					.dataset = config->dataset };
	t->config = config;
	t->is_active = true;
	t->has_next = t->is_again = false;
	t->packed = PLAN_RAW;
	t->in_flight = 0;
	t->first_ns = 0;
	t->got_bytes = 0;
	if (!goes_on)
		take_file(r, t);
	if (t->public.error)
		return;
	if (!goes_on && misses_open(config, x)) {
		t->public.error = -EBADF;
		t->public.error_op = MLGEN_READ;
		finish(r, t);
		return;
	}
	start_plan(r, t);
	if (!t->has_next)
		finish(r, t);
}

void reader_into(struct reader *r, void *into, uint64_t bytes)
{
	struct read_task *p = &r->last_task->public;

	p->into = into;
	p->into_bytes = bytes;
}

static void count_sample(struct opstat *s, const struct task *t)
{
	uint64_t ns = t->last_ns - t->first_ns;

	hist_add(s->sample, ns);
	if (ns <= s->slowest.ns)
		return;
	s->slowest.ns = ns;
	s->slowest.file = t->public.extent.file;
	s->slowest.of = t->config->dataset;
}

const struct read_task *reader_finish_one(struct reader *r, int *rc)
{
	struct task *t;

	while (!r->finished) {
		submit_ready(r);
		int n = io_reap(r->io, r->done, least_missing(r), r->op_count);
		if (n < 0) {
			*rc = n;
			return NULL;
		}
		for (int i = 0; i < n; i++)
			reader_complete(r, r->done[i]);
	}
	t = r->finished;
	r->finished = t->next_task;
	if (!r->finished)
		r->last_finished = &r->finished;
	t->is_active = false;
	t->next_task = r->free_task;
	r->free_task = t;
	r->active--;
	t->public.start_ns = t->first_ns;
	t->public.end_ns = t->first_ns ? t->last_ns : 0;
	if (t->first_ns && !t->public.error && t->public.extent.samples)
		count_sample(r->stat, t);
	*rc = 0;
	return &t->public;
}
