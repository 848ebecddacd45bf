/* SPDX-License-Identifier: Apache-2.0 */
/* fault_inject.c - let operations go to the wrapped engine, or meet their fault. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>

#define SHORT_BYTES 4096u /* O_DIRECT is cut at multiples of it */

static bool is_multiple(uint64_t number, uint64_t every)
{
	return every && number % every == 0;
}

/*
 * A real transfer of fewer bytes. Of one part half of it, never down to nothing, which would be the
 * end of the file; of several parts half of them.
 */
static void shorten(struct shadow *s)
{
	struct mlgen_io *op = &s->io;
	size_t half;

	if (op->op != MLGEN_READ && op->op != MLGEN_WRITE)
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

/* Complete, but for a delay. The results become the caller's. */
static void inject_finish(struct fault *f, struct shadow *s)
{
	s->outer->result = s->error ? s->error : s->io.result;
	s->outer->size_bytes = s->io.size_bytes;
	s->due_ns = s->is_late ? f->inner.now_ns(&f->inner) + f->opts->delay_ns : 0;
	s->is_done = true;
	f->done[f->done_count++] = s;
}

/* Not done at all. */
static void inject_fail(struct fault *f, struct shadow *s, int error)
{
	if (s->io.op == MLGEN_OPEN) {
		s->io.file->fd = -1;
		s->io.file->word = 0;
	}
	s->error = error;
	inject_finish(f, s);
}

/* What the wrapped engine has completed. 0 or -errno. */
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

static void inject_in_place(struct fault *f, struct shadow *s)
{
	struct mlgen_io *one = &s->io;
	int rc = f->engine->submit(&f->inner, &one, 1);

	if (rc != 1)
		s->io.result = rc < 0 ? rc : -EIO;
	inject_finish(f, s);
}

/* 0 or -errno; waits where the wrapped engine is full. */
static int hand_over(struct fault *f, struct shadow *s)
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

/* Number the operation and let it go its way. 0 or the engine's failure. */
static int inject(struct fault *f, struct shadow *s)
{
	uint64_t number = 1 + atomic_fetch_add(&f->shared->operations, 1);

	s->is_late = is_multiple(number, f->opts->delay_every);
	if (number == f->opts->fail_after && s->io.op != MLGEN_CLOSE) {
		inject_fail(f, s, f->shared->error);
		return 0;
	}
	if (number == f->opts->fail_after)
		s->error = f->shared->error; /* closed all the same, as on Linux */
	if (is_multiple(number, f->opts->short_every))
		shorten(s);
	if (!(f->engine->caps & MLGEN_CAP(s->io.op))) {
		s->io.result = fault_here_do(&s->io);
		inject_finish(f, s);
		return 0;
	}
	if (f->engine->reap)
		return hand_over(f, s);
	inject_in_place(f, s);
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
 * A chain is gone through here, one after the other: its parts may be done in different places.
 * What follows an open that failed is cancelled.
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

static bool inject_is_transfer(const struct mlgen_io *op)
{
	return op->op == MLGEN_READ || op->op == MLGEN_WRITE;
}

/*
 * Give back what is due, in the order of completion. When the job ends, transfers that are not due
 * are cancelled. The others report what they have done: the caller would not know of a file that
 * was made or renamed.
 */
static unsigned give_due(struct fault *f, struct mlgen_io **io, unsigned max, uint64_t now)
{
	unsigned given = 0, kept = 0;

	for (unsigned i = 0; i < f->done_count; i++) {
		struct shadow *s = f->done[i];

		if (given == max || (s->due_ns > now && !f->is_cut)) {
			f->done[kept++] = s;
			continue;
		}
		if (s->due_ns > now && inject_is_transfer(&s->io))
			s->outer->result = -ECANCELED;
		io[given++] = s->outer;
		f->unused[f->unused_count++] = s;
	}
	f->done_count = kept;
	return given;
}

static uint64_t next_due(const struct fault *f, uint64_t end)
{
	for (unsigned i = 0; i < f->done_count; i++)
		if (f->done[i]->due_ns < end)
			end = f->done[i]->due_ns;
	return end;
}

/* Until the wrapped engine has one more, or that time. 0 or -errno. */
static int wait_until(struct fault *f, uint64_t now, uint64_t until)
{
	unsigned before = f->done_count;
	int rc;

	if (until == UINT64_MAX)
		return inject_pull(f, 1, until);
	rc = inject_pull(f, 1, until - now);
	/* Its own time-out is real time, and this may not be. */
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
	unsigned got = rc < 0 ? 0 : give_due(f, io, max, now);

	if (timeout_ns < UINT64_MAX - now)
		end = now + timeout_ns;
	while (rc == 0 && got < min && now < end && f->in_engine + f->done_count > 0) {
		rc = wait_until(f, now, next_due(f, end));
		now = ctx->now_ns(ctx);
		got += give_due(f, io + got, max - got, now);
	}
	return rc < 0 ? rc : (int)got;
}
