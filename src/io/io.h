/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - operations of one worker through an engine: submitted, completed, counted, watched. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stat/opstat.h"
#include "trace/tracer.h"

/* ---- one worker's access to its engine: the only caller of submit and reap ---- */

/*
 * The io layer reads the clock, resumes short transfers, counts bytes and records the latency of
 * every operation. A call that fails with EINTR is repeated; EAGAIN from a READ or WRITE is an
 * error. Synchronous and asynchronous engines look the same: io_submit hands one operation over,
 * io_reap returns completed ones. On a synchronous engine an operation is complete when io_submit
 * returns, and io_reap never waits.
 *
 * Metadata operations that the engine does not support are performed and timed here. READ and WRITE
 * never are (-EOPNOTSUPP).
 *
 * Buffer: a READ or WRITE may be larger than the buffer; its iovec then repeats over the buffer.
 * The bytes of a read are dropped unless the caller provides room for them (`into`). All writes in
 * flight send the same bytes from the start of the buffer, unless the caller provides its own parts
 * (`from`), which it must not change until the operation is returned. With `stamp` the buffer is
 * divided into slices, and each operation that is no larger than a slice has one to itself. A write
 * from a slice carries a mark at the start of every 4 KiB: its file offset, and the stamp plus the
 * number of the write. No two blocks written are then alike, which matters because storage arrays
 * deduplicate.
 *
 * Batches: an asynchronous engine gets operations in batches. io_submit may hold them back until
 * io_room is 0 or io_reap is called (min 0 is enough). An operation starts when its batch goes out.
 * The time inside the engine's submit is recorded as blocked_ns of the batch's first operation, and
 * the time inside the engine's reap as reap_ns.
 *
 * Idle time: a worker is assumed to do I/O without a pause, so the end of the last call to the
 * engine is recorded as the start of the next operation. After any wait, call io_wake.
 *
 * Chains: MLGEN_IO_LINK is only for engines for which io_can_link is true. Submit a chain one
 * operation after the other, with room for all of it and no other call in between; the chain goes
 * out as a whole. A linked operation is not resumed: a short one returns the bytes it moved, and
 * the operations after a failed OPEN return -ECANCELED. Each operation of a chain is returned
 * separately. Linked operations complete together, so they count in opstat.linked and have no
 * latency of their own. Every other operation counts in its histogram, even if it failed.
 *
 * Stop: once the stop is set, no call is begun. Submitted operations and the remaining parts of a
 * split transfer are returned with -ECANCELED and are not counted. Operations inside the engine are
 * waited for; an engine that only sleeps (ioengine=null) wakes at once. A CLOSE or UNLINK is
 * performed nevertheless, because it releases something. With an engine that has no files, or with
 * `ends_in_time`, reaching the time limit of the stop has the same effect as setting the stop,
 * except that flushes are still performed.
 *
 * One thread owns an io. No function here allocates after io_new.
 */
struct io;

struct io_op {
	struct mlgen_io io; /* op, file, off, len_bytes, ... from the caller */
	bool eof_ok;        /* READ: may end early (reaches past the end) */
	uint64_t eof_bytes; /* READ: bytes up to the end of the file; 0 = not known */
	void *owner;        /* the caller's */
	void *into;         /* READ: room for all of its bytes; NULL = the buffer */
	/* WRITE: source of the bytes, NULL = the buffer. The parts must sum up to len_bytes. At
	 * most 1024 parts, and no more bytes than one system call moves. */
	const struct iovec *from;
	unsigned from_parts;
	/* Results, valid once the operation is returned. */
	uint64_t done_bytes;
	uint64_t start_ns, end_ns; /* submitted, completed */
	/* Private to the io layer. */
	uint64_t want_bytes; /* submitted length */
	struct iovec iov;    /* list of a single part */
	uint64_t first_off;  /* submitted offset */
	struct io_op *next;
	unsigned slot, tries;
	bool is_started, is_linked;
	bool is_cut; /* io.off and io.len_bytes are those of a part */
	bool was_short;
};

struct io_config {
	struct mlgen_engine_job *job;
	struct clock *clock;
	struct opstat *stat;
	unsigned iodepth;   /* operations; a chain of three counts as three */
	unsigned transfers; /* limit of READs and WRITEs among them; 0 = no limit */
	unsigned files;     /* maximum open at once; 0 = same as iodepth */
	size_t buf_bytes;   /* multiple of 4096 */
	enum mem_kind mem;  /* memory of the buffer */
	uint64_t stamp;     /* mark in written blocks; 0 = none */
	uint64_t seed;      /* this worker's, for values that the engine draws */
	/* Files to be read may turn out not to be regular (base/files.h). An engine that opens
	 * files itself does not use O_NONBLOCK and may block on a fifo. After one second of
	 * waiting, the path of the oldest operation is checked; if it is a fifo, meta_end_fifo ends
	 * the wait. */
	bool may_meet_fifos;
	struct stop *stop; /* the job's; NULL = none */
	bool ends_in_time;
	bool renews_pages; /* io_renew_pages will be called */
	/* The thread's ring: completed operations are recorded there, failed ones included, but not
	 * operations that never began (-ECANCELED). NULL = no trace. */
	struct trace_ring *trace;
};

/* Allocate the buffer and start the engine; call on the worker's thread. 0 or -errno with err. */
int io_new(struct io **out, const struct io_config *cfg, struct mlgen_err *err);

/* Stop the engine and free the buffer; call on the worker's thread when it ends. io_free may be
 * called on any thread, and io_look works until then. */
void io_stop(struct io *io);
void io_free(struct io *io); /* NULL is fine; stops the io first if needed */

/* The buffer, for filling before a WRITE. */
void *io_buffer(struct io *io, size_t *bytes);

/* Give the buffer fresh pages in place of those that a returned READ has touched. The next READ
 * faults them in. Not for huge pages. */
void io_renew_pages(struct io *io, const struct io_op *op, enum mem_pages pages);

/*
 * Start one operation; at most iodepth may be in flight. Once io_reap has returned the operation,
 * op->io.result is a number of bytes, 0 or -errno. Without eof_ok, a READ that reaches the end of
 * the file before len_bytes fails with -ENODATA, and done_bytes is the number of bytes read. With
 * eof_ok, a READ is complete once it has eof_bytes (no further call is made), and fails with
 * -ENODATA if the file ends before that.
 */
void io_submit(struct io *io, struct io_op *op);

/* Number of further operations that io_submit accepts now. */
unsigned io_room(const struct io *io);

/* Hand over the operations that io_submit has held back. If that fails, the next io_reap reports
 * the error. */
void io_flush(struct io *io);

/* Facts that the engine reports in its mlgen_ctx: whether operations can be linked, which optional
 * features are in use, and a note for the user. */
bool io_can_link(const struct io *io);
const char *io_in_use(const struct io *io);
const char *io_note(const struct io *io);

/*
 * Return completed operations, at most max; wait until there are min of them, which must not exceed
 * the number in flight. Returns their number, or -errno if the engine itself failed. After such a
 * failure every further call fails, too, and operations still in flight are never returned.
 * Operations that completed before the failure are returned first, even if they are fewer than min.
 */
int io_reap(struct io *io, struct io_op **done, unsigned min, unsigned max);

/* Like io_reap, but stop waiting at deadline_ns with fewer than min. CLOCK_NEVER: no deadline. */
int io_reap_until(struct io *io, struct io_op **done, unsigned min, unsigned max,
		  uint64_t deadline_ns);

/* Submit, wait, return the result. No other operation may be in flight. On a synchronous engine
 * this is the cheapest way. */
int64_t io_do(struct io *io, struct io_op *op);

/*
 * The worker was idle: the next operation reads its start from the clock instead of using the end
 * of the previous call.
 */
void io_wake(struct io *io);

/* Time of the last completion, ns (no clock read). */
uint64_t io_last_ns(const struct io *io);

/* The operation that has been outstanding longest; start_ns 0 = none. Any thread; the fields may
 * mix two operations. */
struct io_outstanding {
	uint64_t start_ns, off;
	enum mlgen_op op;
	char path[512]; /* may be cut */
};
void io_look(const struct io *io, struct io_outstanding *out);

/* ---- operations on files and names by plain system calls ---- */

/*
 * Perform an operation that the engine does not support. Sets result, 0 or -errno, and the other
 * results of the operation (fd, size_bytes). READ and WRITE fail with -EOPNOTSUPP: only engines
 * move bytes.
 */
void meta_do(struct mlgen_io *op);

/* The size of the file if it is smaller than `off`. Otherwise, or if the size cannot be read,
 * `off`. */
uint64_t meta_eof_before(const char *path, uint64_t off);

/* End an open or read that waits for the other side of a fifo, by opening that side for a moment.
 * False: the path is not a fifo, and was not touched. */
bool meta_end_fifo(const char *path);
