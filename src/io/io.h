/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - operations of one worker through an engine: submitted, completed, counted, looked at. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/clock.h"
#include "base/mem.h"
#include "stat/opstat.h"
#include "trace/tracer.h"

/* ---- one worker's way to its engine: the only caller of submit and reap ---- */

/*
 * The io layer takes the times, resumes short transfers (EINTR included; EAGAIN of a READ or WRITE
 * is an error), counts bytes and records the latency of every operation. It is the same for
 * synchronous and asynchronous engines: io_submit hands one operation over, io_reap gives completed
 * ones back. On a synchronous engine an operation is complete when io_submit returns and io_reap
 * never waits.
 *
 * Metadata operations that the engine does not take are done here, timed as such; READ and WRITE
 * never are (-EOPNOTSUPP).
 *
 * A READ or WRITE may be larger than the buffer: its iovec repeats over it. Contents of reads are
 * dropped, but where the caller has room of its own for them (`into`); writes take theirs from the
 * buffer's start, again and again, however many are under way, or from where the caller has it
 * (`from`: parts and their list stay as they are until the operation is given back). With `stamp`
 * each operation that fits has a slice of the buffer to itself, and a write from there gets, at the
 * start of every 4 KiB of it, its offset there and the stamp plus the number of the write, so that
 * no two blocks written are alike (arrays deduplicate).
 *
 * An asynchronous engine gets operations in batches: io_submit may keep them back until io_room is
 * 0 or io_reap is called (min 0 is enough), and an operation starts when its batch goes out. Time
 * inside the engine's submit is blocked_ns of the batch's first kind, time inside its reap is
 * reap_ns.
 *
 * A worker does I/O all the time unless it says otherwise: what follows starts where the last call
 * of the engine ended. After any wait call io_wake.
 *
 * MLGEN_IO_LINK is the engine's: link only where io_can_link says so. A chain is submitted one
 * operation after the other, with room for all of it and no other call between; it goes out whole.
 * A linked operation is not resumed:
 * a short one has its bytes as result, and those behind an OPEN that failed have -ECANCELED. Each
 * comes back by itself. They are counted in opstat.linked and have no latency of their own: they
 * are seen together.
 *
 * Every other operation counts in its histogram, also one that failed.
 *
 * Once the stop is set no call is begun: what is submitted, and the rest of what goes in parts,
 * comes back with -ECANCELED and is not counted. What is in the engine is waited for, but for what
 * it only sleeps for. A CLOSE or UNLINK gives back what is there, and is done all the same. Where
 * everything is played (an engine without files), or with `ends_in_time`, the time of the stop does
 * the same, but for a flush.
 *
 * One thread owns an io. Nothing here allocates after io_new.
 */
struct io;

struct io_op {
	struct mlgen_io io; /* op, file, off, len_bytes, ... from the caller */
	bool eof_ok;        /* READ: may end early (reaches past the end) */
	uint64_t eof_bytes; /* ... after so many bytes; 0 = not known */
	void *owner;        /* the caller's */
	void *into;         /* READ: room for all of it; NULL = the buffer */
	/* WRITE: what is written, in parts that sum up to len_bytes, at most 1024 and what goes
	 * into one call; NULL = the buffer. */
	const struct iovec *from;
	unsigned from_parts;
	/* For the caller to read, once it is given back. */
	uint64_t done_bytes;
	uint64_t start_ns, end_ns; /* submitted, completed */
	/* The io layer's. */
	uint64_t want_bytes; /* as submitted */
	struct iovec iov;    /* where one part is enough */
	uint64_t first_off;  /* as submitted */
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
	unsigned iodepth;   /* operations; a chain of three counts three */
	unsigned transfers; /* of them READ and WRITE; 0 = all may be */
	unsigned files;     /* most files open at once; 0 = as iodepth */
	size_t buf_bytes;   /* multiple of 4096 */
	enum mem_kind mem;  /* of the buffer */
	uint64_t stamp;     /* of what is written; 0 = none */
	uint64_t seed;      /* of what the engine draws: the worker's own */
	/* Files to be read may be something else (base/files.h), and an engine that opens them
	 * by itself does not know O_NONBLOCK: what has waited for a second is looked at, and a fifo
	 * is ended. */
	bool may_meet_fifos;
	struct stop *stop; /* of the job; NULL = none */
	bool ends_in_time;
	bool gives_back; /* io_give_back will be called */
	/* Of the thread: what is completed is put there, errors too, but for what was never begun
	 * (-ECANCELED). NULL = there is no trace. */
	struct trace_ring *trace;
};

/* On the worker's thread: buffer, engine ctx. 0 or -errno with err. */
int io_new(struct io **out, const struct io_config *cfg, struct mlgen_err *err);

/* On the worker's thread, when it ends: the engine goes, and the buffer. What is left is for
 * io_look, until io_free on whichever thread. */
void io_stop(struct io *io);
void io_free(struct io *io); /* NULL is fine; stops it if need be */

/* The buffer, for filling before a WRITE. */
void *io_buffer(struct io *io, size_t *bytes);

/* What a READ into the buffer, which was given back, has touched of it comes into use anew with the
 * next one. Not of huge pages. */
void io_give_back(struct io *io, const struct io_op *op, enum mem_pages pages);

/*
 * Start one operation; at most iodepth may be under way. result is in op->io.result once io_reap
 * has given it back: bytes, 0 or -errno; a READ that met the end of the file before len_bytes
 * without eof_ok has -ENODATA and done_bytes says how far it came. With eof_ok it is complete when
 * it has eof_bytes (nobody asks for more), and has -ENODATA when it ended before them.
 */
void io_submit(struct io *io, struct io_op *op);

/* How many more operations io_submit takes now. */
unsigned io_room(const struct io *io);

/* Hand over what io_submit has kept back. An error comes from io_reap. */
void io_flush(struct io *io);

/* May operations be linked? What the engine says of itself: mlgen_ctx. */
bool io_can_link(const struct io *io);
const char *io_in_use(const struct io *io);
const char *io_note(const struct io *io);

/*
 * Completed operations, at most max; waits until there are min (<= what is under way). Their
 * number, or -errno when the engine itself failed: then and ever after; what was under way does not
 * come back. What completed before it failed is given first, be it fewer than min.
 */
int io_reap(struct io *io, struct io_op **done, unsigned min, unsigned max);

/* The same, but gives up waiting at deadline_ns (CLOCK_NEVER: does not): then it is fewer than
 * min. */
int io_reap_until(struct io *io, struct io_op **done, unsigned min, unsigned max,
		  uint64_t deadline_ns);

/* Submit, wait, return the result. Nothing else may be under way. On a synchronous engine this is
 * the cheapest way. */
int64_t io_do(struct io *io, struct io_op *op);

/*
 * The worker was idle: the next operation's start is read from the clock anew, not taken from the
 * end of the call before.
 */
void io_wake(struct io *io);

/* Time of the last completion, ns (no clock read). */
uint64_t io_last_ns(const struct io *io);

/* What is outstanding longest; for another thread to look at, may be torn by one operation.
 * start_ns 0 = nothing. */
struct io_outstanding {
	uint64_t start_ns, off;
	enum mlgen_op op;
	char path[512]; /* may be cut */
};
void io_look(const struct io *io, struct io_outstanding *out);

/* ---- operations on files and names by plain system calls ---- */

/*
 * For engines that leave an operation to the io layer: does it and sets its result, 0 or -errno,
 * and what else the operation says (fd, size_bytes).
 * READ and WRITE have -EOPNOTSUPP: those are the engine's.
 */
void meta_do(struct mlgen_io *op);

/* Where a file ends that has nothing at `off`: before that, as far as can be told. */
uint64_t meta_end_before(const char *path, uint64_t off);

/* Who waits for the other end of a fifo, with an open or a read, meets its end: it is opened there
 * for a moment. False: it is none, and stays as it is. */
bool meta_end_fifo(const char *path);
