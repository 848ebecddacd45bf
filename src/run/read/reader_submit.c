/* SPDX-License-Identifier: Apache-2.0 */
/* reader_submit.c - submit the operations of extents, and process their completions. */
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

/* ---- untouched memory for each read ---- */

/* NumPy asks for huge pages for arrays of this size or larger (its alloc.c). */
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

/*
 * Replace the pages that a read goes into, before it is submitted. A held array is replaced as a
 * whole before the first read into it, since older arrays are still in use when it is allocated, as
 * in DLIO's loader.
 */
static void reader_renew(struct reader *r, const struct reader_task *t, const struct io_op *op)
{
	const struct read_task *p = &t->public;
	bool is_held = r->fresh.is_array && p->into;
	uint64_t bytes = is_held ? p->into_bytes : op->io.len_bytes;

	if (is_held ? op->into != p->into || bytes < r->fresh.array_bytes
		    : bytes < r->fresh.from_bytes)
		return;
	mem_reset_pages(op->into, (size_t)bytes, pages_of(r, bytes));
	io_wake(r->io);
}

/* After a read: free the pages of its bytes. Memory that is held until its batch is delivered was
 * replaced before the read. */
static void reader_give_back(struct reader *r, const struct reader_task *t, const struct io_op *op)
{
	uint64_t bytes = op->want_bytes;

	if (bytes < r->fresh.from_bytes)
		return;
	if (!op->into)
		io_renew_pages(r->io, op, pages_of(r, bytes));
	else if (t->packed != PLAN_RAW && !t->public.into)
		mem_release_pages(op->into, (size_t)bytes);
	if (bytes <= r->fresh.moves_to_bytes)
		r->fresh.from_bytes = bytes + 1;
}

/* ---- descriptions of failures ---- */

/* The expected size of the file that the task was reading. */
static uint64_t expected_bytes(const struct read_task *t)
{
	const struct reader_task *task =
		(const struct reader_task *)t; /* `public` is the first member */
	const struct dataset *ds = task->config->dataset;

	return dataset_file_bytes(ds, task->part * ds->files + t->extent.file);
}

static void describe_short(const struct read_task *t, const char *where, bool is_ours,
			   struct mlgen_err *err)
{
	uint64_t end = t->error_off + t->error_done;

	/* The file may end long before the request. */
	if (t->error_done == 0)
		end = meta_eof_before(t->path, end);
	mlgen_fail(err, -ENODATA,
		   "%s: the file ends at %" PRIu64 " of %" PRIu64
		   " bytes; it was truncated or replaced (%s)%s",
		   t->path, end, expected_bytes(t), where,
		   is_ours ? "; --phase=prepare writes it again" : "");
}

void reader_describe(const struct read_task *t, const char *where, struct mlgen_err *err)
{
	const char *what = opstat_name(t->error_op);
	char advice[PATH_MAX];

	if (t->is_tier) {
		mlgen_fail(
			err, t->error,
			"%s: %s at %" PRIu64
			" of a cached sample: %s (%s); use another cache_directory, or cache=none",
			t->path, what, t->error_off, strerror(-t->error), where);
		return;
	}
	/* mlgen does not write the files of a scan. */
	bool is_ours = !t->dataset->scan;
	/* If the path is not a regular file, that is the cause of any other error. */
	snprintf(advice, sizeof(advice), " (%s); remove it%s", where,
		 is_ours ? ", and --phase=prepare writes the file" : "");
	if (t->error != -ENOENT && filekind_check(t->path, advice, err) < 0)
		return;
	if (t->error == -ESTALE && t->error_op == MLGEN_STAT)
		mlgen_fail(err, t->error,
			   "%s: has %" PRIu64 " bytes, but had %" PRIu64
			   " when it was scanned; it was replaced (%s)",
			   t->path, t->error_done, expected_bytes(t), where);
	else if (t->error == -EBADMSG && t->error_words)
		mlgen_fail(err, t->error,
			   "%s: at byte %" PRIu64 ": cannot be decompressed: %s (%s)", t->path,
			   t->error_off, t->error_words, where);
	else if (t->error == -ENODATA)
		describe_short(t, where, is_ours, err);
	else if (t->error_op == MLGEN_READ)
		mlgen_fail(err, t->error, "%s: %s at %" PRIu64 ": %s (%s)%s%s", t->path, what,
			   t->error_off, strerror(-t->error), where,
			   t->error == -EAGAIN ? "; " : "",
			   t->error == -EAGAIN ? IGNORED_HINT_EAGAIN : "");
	else if (t->error == -ENOENT)
		mlgen_fail(err, t->error, "%s: %s: %s (%s)%s", t->path, what, strerror(ENOENT),
			   where,
			   is_ours ? "; the dataset was complete: --phase=prepare writes what is "
				     "missing"
				   : "");
	else
		mlgen_fail(err, t->error, "%s: %s: %s (%s)", t->path, what, strerror(-t->error),
			   where);
}

/* ---- completions ---- */

/* Decompress the bytes that an operation has read. */
static void task_unpack(struct reader_task *t, struct unpack *u, const struct io_op *op)
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

void reader_end_task(struct reader *r, struct reader_task *t)
{
	t->next_task = NULL;
	*r->last_finished = t;
	r->last_finished = &t->next_task;
}

/* Skip to the close of an open file, which is the only operation after a failure. */
static void skip_to_close(struct reader_task *t)
{
	while (t->has_next && (!t->is_open || t->next.op != MLGEN_CLOSE))
		t->has_next = task_next(t);
}

static void set_error(struct reader_task *t, const struct io_op *op)
{
	t->public.error = (int)op->io.result;
	t->public.error_op = op->io.op;
	t->public.error_off = op->io.off;
	t->public.error_done = op->done_bytes;
}

/* A failed operation cancels the rest of the chain. That operation's error is reported, whatever
 * the order of completions. */
static void complete_link(struct reader *r, struct reader_task *t, const struct io_op *op)
{
	struct read_task *p = &t->public;
	int error = op->io.result < 0 ? (int)op->io.result : 0;

	if (op->io.op == MLGEN_READ)
		t->got_bytes = op->done_bytes;
	if (error && (!p->error || p->error == -ECANCELED ||
		      (error != -ECANCELED && op->io.op < p->error_op)))
		set_error(t, op);
	if (t->in_flight)
		return;
	r->requests--;
	/* transfer.c retries after these errors, too. */
	if (p->error == -EINTR || (p->error == -EAGAIN && p->error_op != MLGEN_READ))
		p->error = 0;
	if (p->error || t->got_bytes >= t->chain_bytes)
		return;
	/* Continue in single operations: the io layer resumes a short or interrupted one, and
	 * reports a truncated file. */
	t->is_resumed = true;
	p->into_used = 0;
	reader_plan(r, t);
}

static void complete_single(struct reader *r, struct reader_task *t, const struct io_op *op)
{
	r->requests--;
	if (t->is_resumed && op->io.op == MLGEN_READ && op->done_bytes)
		r->stat->short_ios[0]++;
	if (op->io.op == MLGEN_OPEN || op->io.op == MLGEN_CLOSE)
		t->is_open = op->io.op == MLGEN_OPEN && op->io.result >= 0;
	if (!t->public.error && op->io.result >= 0 && r->unpack) {
		task_unpack(t, r->unpack, op);
		/* The next operation begins after the decompression. */
		io_wake(r->io);
		if (t->public.error)
			skip_to_close(t);
	}
	if (!t->public.error && op->io.op == MLGEN_READ && r->decode)
		r->decode(r->decode_arg, &t->public, op->done_bytes);
	/* A file that was replaced has another size than when it was scanned. */
	bool is_replaced = op->io.op == MLGEN_STAT && op->io.result >= 0 &&
			   t->config->dataset->found && op->io.size_bytes != t->plan.file_bytes;
	if (t->public.error || (op->io.result >= 0 && !is_replaced))
		return;
	if (t->is_filling) {
		/* The sample stays uncached. If its file could not be removed, another process has
		 * removed it. */
		if (op->io.op == MLGEN_UNLINK)
			return;
		if (!t->public.fill_error)
			t->public.fill_error = (int)op->io.result;
		skip_to_close(t);
		return;
	}
	set_error(t, op);
	if (op->io.result >= 0) {
		t->public.error = -ESTALE;
		t->public.error_done = op->io.size_bytes;
	}
	skip_to_close(t);
}

void reader_complete(struct reader *r, struct io_op *op)
{
	struct reader_task *t = op->owner;

	t->in_flight--;
	r->free_ops[r->free_count++] = op;
	/* The start is known only after completion: an asynchronous engine starts a batch on
	 * submission. */
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

/* Larger requests gain nothing from a chain. */
#define CHAIN_BYTES_MAX (1u << 20)

void reader_plan(struct reader *r, struct reader_task *t)
{
	struct plan_op read;

	plan_init(&t->plan, t->config, &t->public.extent);
	t->is_chain = r->can_chain && !t->is_resumed && plan_is_chain(&t->plan, &read);
	if (t->is_chain) {
		t->chain_bytes = read.got_bytes;
		t->is_chain = read.len_bytes <= CHAIN_BYTES_MAX;
	}
	t->has_next = task_next(t);
}

/* Reserve room in `into` for the next read, after the reads before it; NULL = there is none. */
static void *reserve_room(struct reader_task *t)
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

static void submit_next(struct reader *r, struct reader_task *t)
{
	struct io_op *op = r->free_ops[--r->free_count];
	bool is_last = t->next.op == MLGEN_CLOSE;
	bool is_by_path = t->next.op == MLGEN_OPEN || (t->next.op == MLGEN_STAT && !t->is_open);

	/* Do not read the bytes of the chain again. Direct reads begin at a whole block, so a block
	 * that was read in part is read again. */
	if (t->is_resumed && t->next.op == MLGEN_READ) {
		uint64_t skip = t->got_bytes;

		if (t->config->align_bytes)
			skip -= skip % t->config->align_bytes;
		t->next.off += skip;
		t->next.len_bytes -= skip;
		t->next.got_bytes -= skip;
		t->public.into_used += skip;
	}
	/* Another file of the sample; the previous one is closed. */
	if (is_by_path && t->next.part != t->part) {
		const struct dataset *ds = t->config->dataset;

		t->part = t->next.part;
		dataset_path(ds, t->part * ds->files + t->public.extent.file, t->path,
			     sizeof(t->path)); /* dataset_init made sure it fits */
	}
	op->io.op = t->next.op;
	op->io.flags = t->is_chain && !is_last ? MLGEN_IO_LINK : 0;
	op->io.file = &t->file;
	op->io.off = t->next.off;
	op->io.len_bytes = t->next.len_bytes;
	op->into = t->next.op == MLGEN_READ ? reserve_room(t) : NULL;
	if (op->into)
		reader_renew(r, t, op);
	op->from = NULL;
	t->packed = t->next.packed;
	if (t->packed != PLAN_RAW)
		t->public.packed_bytes += t->next.got_bytes;
	if (r->unpack && t->packed != PLAN_RAW && !op->into)
		op->into = unpack_room(r->unpack);
	/* The null engine returns this size for a STAT, and a trace records it for an OPEN. */
	if (t->next.op == MLGEN_STAT || t->next.op == MLGEN_OPEN)
		op->io.size_bytes = t->plan.file_bytes;
	op->eof_ok = t->next.got_bytes < t->next.len_bytes;
	op->eof_bytes = t->next.got_bytes;
	op->owner = t;
	if (t->list)
		task_list_op(r, t, op);
	t->in_flight++;
	io_submit(r->io, op);
	/* After a failure this operation was the close, and no other file is opened. */
	t->has_next = !t->public.error && !t->public.fill_error && task_next(t);
}

static bool may_submit(const struct reader *r, const struct reader_task *t)
{
	if (!t->has_next || r->requests == r->depth)
		return false;
	if (t->is_chain)
		return io_room(r->io) >= CHAIN_OPS;
	return io_room(r->io) && !(t->next.after && t->in_flight);
}

void reader_submit(struct reader *r)
{
	for (unsigned i = 0; i < r->task_count; i++) {
		struct reader_task *t = &r->tasks[i];

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
