/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c - see reader.h. */
#include "run/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/mem.h"

struct task {
	struct read_task public;
	bool is_active;
	bool has_next;
	unsigned in_flight;
	struct plan plan;
	struct plan_op next;
	struct mlgen_file file;
	uint64_t first_ns; /* its first operation started; 0 = not known */
	char path[PATH_MAX];
};

struct reader {
	struct io *io;
	struct opstat *stat;
	const struct plan_config *config;
	struct task *tasks;
	unsigned task_count, active;
	struct io_op *ops;
	struct io_op **free_ops; /* a stack */
	struct io_op **done;
	unsigned depth, free_count;
};

struct reader *reader_new(struct io *io, struct opstat *stat,
			  const struct plan_config *config, unsigned tasks,
			  unsigned iodepth)
{
	struct reader *r = mem_zalloc(sizeof(*r));
	*r = (struct reader){ .io = io,
			      .stat = stat,
			      .config = config,
			      .task_count = tasks,
			      .depth = iodepth };
	r->tasks = mem_array(tasks, sizeof(*r->tasks));
	r->ops = mem_array(iodepth, sizeof(*r->ops));
	r->free_ops = mem_array(iodepth, sizeof(*r->free_ops));
	r->done = mem_array(iodepth, sizeof(*r->done));
	for (unsigned i = 0; i < iodepth; i++)
		r->free_ops[r->free_count++] = &r->ops[i];
	return r;
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

void reader_start(struct reader *r, const struct extent *x)
{
	struct task *t = r->tasks;
	while (t->is_active)
		t++;
	t->public = (struct read_task){ .extent = *x, .path = t->path };
	t->is_active = true;
	t->in_flight = 0;
	t->first_ns = 0;
	t->file = (struct mlgen_file){ .path = t->path, .fd = -1 };
	t->file.flags = O_RDONLY | O_CLOEXEC;
	if (r->config->align_bytes)
		t->file.flags |= O_DIRECT;
	r->active++;
	if (dataset_path(r->config->dataset, x->file, t->path,
			 sizeof(t->path)) < 0) {
		t->public.error = -ENAMETOOLONG;
		t->has_next = false;
		return;
	}
	plan_init(&t->plan, r->config, x);
	t->has_next = plan_next(&t->plan, &t->next);
}

static void submit_next(struct reader *r, struct task *t)
{
	struct io_op *op = r->free_ops[--r->free_count];
	op->io.op = t->next.op;
	op->io.flags = 0;
	op->io.file = &t->file;
	op->io.off = t->next.off;
	op->io.len_bytes = t->next.len_bytes;
	op->eof_ok = t->next.got_bytes < t->next.len_bytes;
	op->eof_bytes = t->next.got_bytes;
	op->owner = t;
	t->in_flight++;
	io_submit(r->io, op);
	t->has_next = plan_next(&t->plan, &t->next);
}

/* Hand over whatever may go now. */
static void submit_ready(struct reader *r)
{
	for (unsigned i = 0; i < r->task_count; i++) {
		struct task *t = &r->tasks[i];
		while (t->is_active && t->has_next && r->free_count &&
		       io_room(r->io) && !(t->next.after && t->in_flight))
			submit_next(r, t);
	}
}

/* After a failure only the close is left to do, if the file is open. */
static void skip_to_close(struct task *t, bool is_open)
{
	while (t->has_next && (!is_open || t->next.op != MLGEN_CLOSE))
		t->has_next = plan_next(&t->plan, &t->next);
}

static void complete(struct reader *r, struct io_op *op)
{
	struct task *t = op->owner;
	t->in_flight--;
	r->free_ops[r->free_count++] = op;
	/* Known only now: an asynchronous engine starts a batch when it is
	 * handed over. */
	if (!t->first_ns || op->start_ns < t->first_ns)
		t->first_ns = op->start_ns;
	if (op->io.result >= 0 || t->public.error)
		return;
	t->public.error = (int)op->io.result;
	t->public.error_op = op->io.op;
	t->public.error_off = op->io.off;
	t->public.error_done = op->done_bytes;
	skip_to_close(t, op->io.op != MLGEN_OPEN);
}

static struct task *finished(struct reader *r)
{
	for (unsigned i = 0; i < r->task_count; i++) {
		struct task *t = &r->tasks[i];
		if (t->is_active && !t->has_next && t->in_flight == 0)
			return t;
	}
	return NULL;
}

const struct read_task *reader_finish_one(struct reader *r, int *rc)
{
	struct task *t;
	while (!(t = finished(r))) {
		submit_ready(r);
		int n = io_reap(r->io, r->done, 1, r->depth);
		if (n < 0) {
			*rc = n;
			return NULL;
		}
		for (int i = 0; i < n; i++)
			complete(r, r->done[i]);
	}
	t->is_active = false;
	r->active--;
	if (t->first_ns && !t->public.error)
		hist_add(r->stat->sample, io_last_ns(r->io) - t->first_ns);
	*rc = 0;
	return &t->public;
}

static void describe_short(const struct reader *r, const struct read_task *t,
			   const char *where, struct mlgen_err *err)
{
	uint64_t expected =
		dataset_file_bytes(r->config->dataset, t->extent.file);
	mlgen_fail(err, -ENODATA,
		   "%s: the file ends at %" PRIu64 " of %" PRIu64
		   " bytes; it was truncated or replaced (%s); "
		   "--phase=prepare writes it again",
		   t->path, t->error_off + t->error_done, expected, where);
}

void reader_describe(const struct reader *r, const struct read_task *t,
		     const char *where, struct mlgen_err *err)
{
	const char *what = opstat_name(t->error_op);
	if (t->error == -ENODATA)
		describe_short(r, t, where, err);
	else if (t->error_op == MLGEN_READ)
		mlgen_fail(err, t->error, "%s: %s at %" PRIu64 ": %s (%s)",
			   t->path, what, t->error_off, strerror(-t->error),
			   where);
	else if (t->error == -ENOENT)
		mlgen_fail(err, t->error,
			   "%s: %s: %s (%s); the dataset was complete: "
			   "--phase=prepare writes what is missing",
			   t->path, what, strerror(ENOENT), where);
	else
		mlgen_fail(err, t->error, "%s: %s: %s (%s)", t->path, what,
			   strerror(-t->error), where);
}
