/* SPDX-License-Identifier: Apache-2.0 */
/* uring_reap.c - reap completions of a ring, and wait for them. */
#include "io_uring.h"

#include <string.h>
#include <time.h>

static unsigned reap_done(struct worker_ring *r, struct mlgen_io **io, unsigned max)
{
	unsigned n = r->done_count < max ? r->done_count : max;

	memcpy(io, r->done, n * sizeof(*io));
	r->done_count -= n;
	memmove(r->done, r->done + n, r->done_count * sizeof(*r->done));
	return n;
}

/* Explain -EOPNOTSUPP from a read or write on a polled ring: the device cannot be polled. */
static void note_no_poll(struct worker_ring *r)
{
	if (!*r->ctx->note)
		uring_note(r->ctx, "hipri: the device has no poll queues, or the file is not open "
				   "with direct=1; drop hipri, or configure poll queues in the "
				   "driver (nvme.poll_queues=N)");
}

static unsigned reap_ring(struct worker_ring *r, struct mlgen_io **io, unsigned max)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&r->uring, head, cqe)
	{
		struct mlgen_io *op = io_uring_cqe_get_data(cqe);

		if (n == max)
			break;
		op->result = cqe->res;
		if (!moves_bytes(op))
			uring_ops_settle(r, op);
		else if (op->result == -EOPNOTSUPP && r->opts->hipri)
			note_no_poll(r);
		io[n++] = op;
	}
	io_uring_cq_advance(&r->uring, n);
	r->in_kernel -= n;
	return n;
}

/* May the kernel have completions that it shows only when it is entered? */
static bool holds_back(const struct worker_ring *r)
{
	return r->opts->hipri || (IO_URING_READ_ONCE(*r->uring.sq.kflags) &
				  (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN));
}

static unsigned reap_available(struct worker_ring *r, struct mlgen_io **io, unsigned max)
{
	unsigned n = reap_ring(r, io, max);

	if (n == 0 && r->in_kernel && holds_back(r) && io_uring_get_events(&r->uring) >= 0)
		n = reap_ring(r, io, max);
	return n;
}

static uint64_t reap_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A polled ring has no timeout: the kernel would poll until there are n completions. */
static int poll_until(struct worker_ring *r, unsigned n, uint64_t end_ns)
{
	int rc = 0;

	while (rc >= 0 && io_uring_cq_ready(&r->uring) < n) {
		if (reap_now_ns() >= end_ns)
			return -ETIME;
		rc = io_uring_get_events(&r->uring);
	}
	return rc;
}

/* Wait for n completions until end_ns (UINT64_MAX = for ever). 0, -ETIME, -EINTR or the ring's
 * failure. The result is also 0 at the timeout if some of the n completions have arrived. */
static int await(struct worker_ring *r, unsigned n, uint64_t end_ns)
{
	struct io_uring_cqe *first;
	struct __kernel_timespec ts;
	uint64_t now, left_ns;
	int rc;

	if (end_ns == UINT64_MAX) {
		rc = io_uring_submit_and_wait(&r->uring, n);
	} else if (r->opts->hipri) {
		rc = poll_until(r, n, end_ns);
	} else {
		now = reap_now_ns();
		left_ns = now < end_ns ? end_ns - now : 0;
		ts.tv_sec = (int64_t)(left_ns / 1000000000u);
		ts.tv_nsec = (int64_t)(left_ns % 1000000000u);
		rc = io_uring_wait_cqes(&r->uring, &first, n, &ts, NULL);
	}
	return rc < 0 ? rc : 0;
}

/* The timeout starts with the call, even if signals or some of the completions end a wait early. */
int uring_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
	       uint64_t timeout_ns)
{
	struct worker_ring *r = ctx->priv;
	unsigned got = r->done_count ? reap_done(r, io, max) : 0;
	bool is_late = false;
	uint64_t now = 0, end_ns = UINT64_MAX;

	got += min > got ? reap_ring(r, io + got, max - got)
			 : reap_available(r, io + got, max - got);
	if (got < min && timeout_ns != UINT64_MAX)
		now = reap_now_ns();
	if (timeout_ns < UINT64_MAX - now)
		end_ns = now + timeout_ns;
	while (got < min && !is_late) {
		int rc = await(r, min - got, end_ns);

		if (rc < 0 && rc != -ETIME && rc != -EINTR)
			return rc;
		is_late = rc == -ETIME || (end_ns != UINT64_MAX && reap_now_ns() >= end_ns);
		got += reap_ring(r, io + got, max - got);
	}
	return (int)got;
}
