/* SPDX-License-Identifier: Apache-2.0 */
/* fault_inject.c - pass operations to the wrapped engine and inject their faults. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>

#define SHORT_BYTES 4096u /* a shortened O_DIRECT transfer is a multiple of this */

static bool is_transfer(const struct mlgen_io *op)
{
	return op->op == MLGEN_READ || op->op == MLGEN_WRITE;
}

static bool is_multiple(uint64_t number, uint64_t every)
{
	return every && number % every == 0;
}

/*
 * Halve the bytes of a transfer, or the number of its parts if there are several. A part never
 * shrinks to nothing, which would look like the end of the file.
 */
static void shorten(struct shadow *s)
{
	struct mlgen_io *op = &s->io;
	size_t half;

	if (!is_transfer(op))
		return;
	if (op->iovcnt > 1) {
		op->iovcnt /= 2;
		op->len_bytes = 0;
		for (int i = 0; i < op->iovcnt; i++)
			op->len_bytes += op->iov[i].iov_len;
		return;
	}
	half = op->iov->iov_len / 2;
	if (op->file->flags & O_DIRECT)
		half -= half % SHORT_BYTES;
	if (half == 0)
		return;
	s->half = (struct iovec){ op->iov->iov_base, half };
	op->iov = &s->half;
	op->len_bytes = half;
}

/* Complete an operation, apart from its delay, and copy its results to the caller's. */
static void inject_finish(struct fault *f, struct shadow *s)
{
	s->outer->result = s->error ? s->error : s->io.result;
	s->outer->size_bytes = s->io.size_bytes;
	s->due_ns = s->is_late ? f->inner.now_ns(&f->inner) + f->opts->delay_ns : 0;
	s->is_done = true;
	f->done[f->done_count++] = s;
}

/* Fail an operation without performing it. */
static void inject_fail(struct fault *f, struct shadow *s, int error)
{
	if (s->io.op == MLGEN_OPEN) {
		s->io.file->fd = -1;
		s->io.file->word = 0;
	}
	s->error = error;
	inject_finish(f, s);
}

/* Reap completions of the wrapped engine. 0 or -errno. */
static int inject_pull(struct fault *f, unsigned min, uint64_t timeout_ns)
{
	int n;

	if (!f->in_engine)
		return 0;
	n = f->engine->reap(&f->inner, f->reaped, min, f->in_engine, timeout_ns);
	if (n < 0)
		return n == -EINTR ? 0 : n;
	f->in_engine -= (unsigned)n;
	for (int i = 0; i < n; i++)
		inject_finish(f, (struct shadow *)f->reaped[i]);
	return 0;
}

/* Submit to an asynchronous engine, and wait while the engine is full. 0 or -errno. */
static int submit_async(struct fault *f, struct shadow *s)
{
	struct mlgen_io *one = &s->io;
	int rc;

	while ((rc = f->engine->submit(&f->inner, &one, 1)) == 0) {
		rc = f->in_engine ? inject_pull(f, 1, UINT64_MAX) : -EAGAIN;
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	f->in_engine++;
	return 0;
}

/* Number an operation and submit it or inject its fault. 0 or the engine's failure. */
static int inject(struct fault *f, struct shadow *s)
{
	uint64_t number = 1 + atomic_fetch_add(&f->shared->operations, 1);
	struct mlgen_io *one = &s->io;
	int rc;

	s->is_late = is_multiple(number, f->opts->delay_every);
	if (number == f->opts->fail_after && s->io.op != MLGEN_CLOSE) {
		inject_fail(f, s, f->shared->error);
		return 0;
	}
	if (number == f->opts->fail_after)
		s->error = f->shared->error; /* a failed close closes nevertheless, as on Linux */
	if (is_multiple(number, f->opts->short_every))
		shorten(s);
	if (!(f->engine->caps & MLGEN_CAP(s->io.op))) {
		s->io.result = fault_here_do(&s->io);
		inject_finish(f, s);
		return 0;
	}
	if (f->engine->reap)
		return submit_async(f, s);
	rc = f->engine->submit(&f->inner, &one, 1);
	if (rc != 1)
		s->io.result = rc < 0 ? rc : -EIO;
	inject_finish(f, s);
	return 0;
}

static struct shadow *shadow_of(struct fault *f, struct mlgen_io *op)
{
	struct shadow *s = f->unused[--f->unused_count];

	s->io = *op;
	s->io.flags &= ~(unsigned)MLGEN_IO_LINK;
	s->outer = op;
	s->error = 0;
	s->is_late = false;
	s->is_done = false;
	return s;
}

/*
 * Perform one operation of a chain and wait for it, because the wrapped engine may perform some
 * members of a chain and this engine the others. Members that follow a failed open are cancelled.
 */
static int inject_link(struct fault *f, struct shadow *s, bool *is_cancelled)
{
	const struct mlgen_io *outer = s->outer;
	int rc = 0;

	if (*is_cancelled)
		inject_fail(f, s, -ECANCELED);
	else
		rc = inject(f, s);
	while (rc == 0 && !s->is_done)
		rc = inject_pull(f, 1, UINT64_MAX);
	if (outer->op == MLGEN_OPEN && outer->result < 0)
		*is_cancelled = true;
	if (!(outer->flags & MLGEN_IO_LINK))
		*is_cancelled = false;
	return rc;
}

/*
 * Return the operations that are due, in the order of completion. When the job ends, transfers that
 * are not due are cancelled. Metadata operations keep their result, so that the caller learns of a
 * file that was created or renamed.
 */
static unsigned return_due(struct fault *f, struct mlgen_io **io, unsigned max, uint64_t now)
{
	unsigned returned = 0, waiting = 0;

	for (unsigned i = 0; i < f->done_count; i++) {
		struct shadow *s = f->done[i];

		if (returned == max || (s->due_ns > now && !f->is_cut)) {
			f->done[waiting++] = s;
			continue;
		}
		if (s->due_ns > now && is_transfer(&s->io))
			s->outer->result = -ECANCELED;
		io[returned++] = s->outer;
		f->unused[f->unused_count++] = s;
	}
	f->done_count = waiting;
	return returned;
}

static uint64_t next_due(const struct fault *f, uint64_t end)
{
	for (unsigned i = 0; i < f->done_count; i++)
		if (f->done[i]->due_ns < end)
			end = f->done[i]->due_ns;
	return end;
}

/* Wait until the wrapped engine completes an operation, or until the time `until`. 0 or -errno. */
static int wait_until(struct fault *f, uint64_t now, uint64_t until)
{
	unsigned before = f->done_count;
	int rc;

	if (until == UINT64_MAX)
		return inject_pull(f, 1, until);
	rc = inject_pull(f, 1, until - now);
	/* The engine's timeout is in real time, while this clock may be virtual. */
	if (rc == 0 && f->done_count == before)
		f->is_cut |= !f->inner.sleep_until(&f->inner, until);
	return rc;
}

int fault_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct fault *f = ctx->priv;
	bool is_chained = false, is_cancelled = false;
	unsigned i;
	int rc = 0;

	for (i = 0; i < n && f->unused_count; i++) {
		struct shadow *s = shadow_of(f, io[i]);

		if (is_chained || (io[i]->flags & MLGEN_IO_LINK))
			rc = inject_link(f, s, &is_cancelled);
		else
			rc = inject(f, s);
		if (rc < 0)
			return rc;
		is_chained = io[i]->flags & MLGEN_IO_LINK;
	}
	return (int)i;
}

int fault_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns)
{
	struct fault *f = ctx->priv;
	uint64_t now = ctx->now_ns(ctx), end = UINT64_MAX;
	int rc = inject_pull(f, 0, 0);
	unsigned got = rc < 0 ? 0 : return_due(f, io, max, now);

	if (timeout_ns < UINT64_MAX - now)
		end = now + timeout_ns;
	while (rc == 0 && got < min && now < end && f->in_engine + f->done_count > 0) {
		rc = wait_until(f, now, next_due(f, end));
		now = ctx->now_ns(ctx);
		got += return_due(f, io + got, max - got, now);
	}
	return rc < 0 ? rc : (int)got;
}
