/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - read extents by their plans, several at a time where the engine can. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/plan.h"
#include "io/io.h"
#include "job/job.h"

/*
 * A task is one extent on its way: its plan, its file, what of it is under
 * way. A plan says which operations have to wait for those before them; all
 * others fill the engine's queue. One thread owns a reader.
 *
 * A small file that is one request, open, read and close, goes out as a chain
 * where the engine takes chains. It counts as one request of iodepth, though
 * it is three operations to the io. One that is short or interrupted is gone
 * on with in single operations.
 */
struct reader;

struct read_task {
	struct extent extent;
	int error; /* 0 or -errno of the first operation that failed */
	enum mlgen_op error_op;
	uint64_t error_off, error_done; /* of the request; bytes it still got */
	const char *path;
	uint64_t start_ns, end_ns; /* of its operations; 0 = it had none */
	const struct dataset *dataset;
	/* Where its reads lie, one behind the other: reader_into. */
	void *into;
	uint64_t into_bytes, into_used;
	uint64_t packed_bytes;   /* asked for of what is compressed */
	const char *error_words; /* -EBADMSG: why it cannot be decompressed */
};

struct unpack;

/* How many operations at a time the io of a job's reader needs room for: its
 * `iodepth`; job_depth of them are transfers. */
unsigned reader_ops(const struct job *job);

/* Reads up to `tasks` extents at a time over io, `iodepth` requests of them at
 * a time. Nothing is under way yet. */
struct reader *reader_new(struct io *io, struct opstat *stat, unsigned tasks,
			  unsigned iodepth);
void reader_free(struct reader *r); /* NULL is fine */

/* From now on what is compressed is decompressed when it was read, with one
 * task at a time; `u` stays the caller's. */
void reader_unpack(struct reader *r, struct unpack *u);

/* From now on this is called behind each read of an extent, with what it got of
 * the file, before anything else of that is begun; one task at a time. */
typedef void reader_decode(void *arg, const struct read_task *task,
			   uint64_t bytes);
void reader_decode_with(struct reader *r, reader_decode *decode, void *arg);

/* Is there room for one more extent, and is any under way? */
bool reader_has_room(const struct reader *r);
bool reader_is_busy(const struct reader *r);

/*
 * Of a plan that goes forward through a file (format->is_forward), the file
 * stays open from one extent to the next: with one task at a time, and the
 * extents in order. reader_close ends that early.
 */
void reader_start(struct reader *r, const struct plan_config *config,
		  const struct extent *x);
void reader_close(struct reader *r);

/* Right after reader_start: that extent is read to here, as far as there is
 * room, and the rest into the io's buffer. NULL = all of it. */
void reader_into(struct reader *r, void *into, uint64_t bytes);

/* Has the extent that was started last any operation? */
bool reader_does_io(const struct reader *r);

/*
 * Go on until an extent is finished; only with reader_is_busy. Its task is
 * valid until the next call here. NULL with *rc = -errno when the engine
 * failed.
 */
const struct read_task *reader_finish_one(struct reader *r, int *rc);

/* Word the failure of a task: path, operation, offset, the system's words. */
void reader_describe(const struct read_task *t, const char *where,
		     struct mlgen_err *err);
