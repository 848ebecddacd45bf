/* SPDX-License-Identifier: Apache-2.0 */
/* reader_submit.c - a reader submits the calls of an extent, and takes what is complete. */
#include "run/read/read_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "io/io.h"
#include "job/job.h"

/* ---- memory that is new to every read ---- */

/* NumPy asks for huge pages for an array of so many bytes or more (its alloc.c). */
#define ARRAY_HUGE_BYTES (UINT64_C(4) << 20)

void reader_fresh(struct reader *r, uint64_t bytes, bool is_array)
{
	uint64_t from = bytes ? bytes : UINT64_MAX;

	r->fresh = (struct fresh){ .from_bytes = from, .array_bytes = from, .is_array = is_array };
	if (bytes == JOB_MALLOC_MAPS_BYTES)
		r->fresh.moves_to_bytes = JOB_MALLOC_MAPS_MAX_BYTES;
}

static enum mem_pages pages_of(struct reader *r, uint64_t bytes)
{
	bool is_huge = r->fresh.is_array && bytes >= ARRAY_HUGE_BYTES;

	r->fresh.has_huge |= is_huge;
	if (!r->fresh.has_huge)
		return MEM_PAGES_AS_BEFORE;
	return is_huge ? MEM_PAGES_HUGE : MEM_PAGES_SMALL;
}

/* Before a read into memory of its own, and behind a read. */
/* An array that is held is new as a whole, before the first read into it, however large: others are
 * still in use when it is taken, as in DLIO's loader. */
static void reader_renew(struct reader *r, const struct task *t, const struct io_op *op)
{
	const struct read_task *p = &t->public;
	bool is_held = r->fresh.is_array && p->into;
	uint64_t bytes = is_held ? p->into_bytes : op->io.len_bytes;

	if (is_held ? op->into != p->into || bytes < r->fresh.array_bytes
		    : bytes < r->fresh.from_bytes)
		return;
	mem_renew(op->into, (size_t)bytes, pages_of(r, bytes));
	io_wake(r->io);
}

/* Nobody looks at what it has read any more; what is held until its batch is taken was renewed
 * before. */
static void reader_give_back(struct reader *r, const struct task *t, const struct io_op *op)
{
	uint64_t bytes = op->want_bytes;

	if (bytes < r->fresh.from_bytes)
		return;
	if (!op->into)
		io_give_back(r->io, op, pages_of(r, bytes));
	else if (t->packed != PLAN_RAW && !t->public.into)
		mem_give_back(op->into, (size_t)bytes);
	if (bytes <= r->fresh.moves_to_bytes)
		r->fresh.from_bytes = bytes + 1;
}

/* ---- what went wrong, as a sentence ---- */

static const struct task *task_of(const struct read_task *t)
{
	return (const struct task *)t; /* its first member */
}

/* Among the files of all parts. */
static uint64_t file_of(const struct read_task *t)
{
	const struct task *task = task_of(t);

	return task->part * task->config->dataset->files + t->extent.file;
}

/* Files of a scan are not for mlgen to write. */
static bool is_ours(const struct read_task *t)
{
	return !task_of(t)->config->dataset->scan;
}

/* What is no file is no short one, nor one that cannot be read. */
static bool is_other(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	char advice[PATH_MAX];

	snprintf(advice, sizeof(advice), " (%s); remove it%s", where,
		 is_ours(t) ? ", and --phase=prepare writes the file" : "");
	return filekind_check(t->path, advice, err) < 0;
}

static void describe_short(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	uint64_t expected = dataset_file_bytes(task_of(t)->config->dataset, file_of(t));
	uint64_t end = t->error_off + t->error_done;

	/* It may end long before what was asked for. */
	if (t->error_done == 0)
		end = meta_end_before(t->path, end);
	mlgen_fail(err, -ENODATA,
		   "%s: the file ends at %" PRIu64 " of %" PRIu64
		   " bytes; it was truncated or replaced (%s)%s",
		   t->path, end, expected, where,
		   is_ours(t) ? "; --phase=prepare writes it again" : "");
}

/* A file of a cache's. */
static void describe_tier(const struct read_task *t, const char *what, const char *where,
			  struct mlgen_err *err)
{
	mlgen_fail(err, t->error,
		   "%s: %s at %" PRIu64
		   " of a cached sample: %s (%s); another cache_directory, or cache=none",
		   t->path, what, t->error_off, strerror(-t->error), where);
}

void reader_describe(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	const char *what = opstat_name(t->error_op);

	if (t->is_tier) {
		describe_tier(t, what, where, err);
		return;
	}
	if (t->error != -ENOENT && is_other(t, where, err))
		return;
	if (t->error == -ESTALE && t->error_op == MLGEN_STAT)
		mlgen_fail(err, t->error,
			   "%s: has %" PRIu64 " bytes, and had %" PRIu64
			   " when it was scanned; it was replaced (%s)",
			   t->path, t->error_done,
			   dataset_file_bytes(task_of(t)->config->dataset, file_of(t)), where);
	else if (t->error == -EBADMSG && t->error_words)
		mlgen_fail(err, t->error,
			   "%s: at byte %" PRIu64 ": it cannot be decompressed: %s (%s)", t->path,
			   t->error_off, t->error_words, where);
	else if (t->error == -ENODATA)
		describe_short(t, where, err);
	else if (t->error_op == MLGEN_READ)
		mlgen_fail(err, t->error, "%s: %s at %" PRIu64 ": %s (%s)%s%s", t->path, what,
			   t->error_off, strerror(-t->error), where,
			   t->error == -EAGAIN ? "; " : "",
			   t->error == -EAGAIN ? IGNORED_HINT_EAGAIN : "");
	else if (t->error == -ENOENT)
		mlgen_fail(err, t->error, "%s: %s: %s (%s)%s", t->path, what, strerror(ENOENT),
			   where,
			   is_ours(t) ? "; the dataset was complete: --phase=prepare writes what "
					"is missing"
				      : "");
	else
		mlgen_fail(err, t->error, "%s: %s: %s (%s)", t->path, what, strerror(-t->error),
			   where);
}

/* ---- what is compressed ---- */

/* An operation of it is done: what it read is decompressed. */
static void task_unpack(struct task *t, struct unpack *u, const struct io_op *op)
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

/* ---- completions ---- */

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

/* ---- submissions ---- */

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
