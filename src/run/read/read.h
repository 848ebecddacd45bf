/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - reads extents: the calls of their plans, through one I/O context. */
#pragma once

/*
 * A reader takes extents and performs the calls of their plans (data/file/file.h): it opens files,
 * submits reads up to the depth that the job has, and hands back each extent when its last read is
 * complete. What is compressed may be unpacked for real. A reader belongs to the thread that made
 * it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "io/io.h"
#include "job/job.h"

struct reader;
struct unpack;

/* ---- read extents by their plans, several at a time where the engine can ---- */

/*
 * A task is one extent on its way: its plan, its file, what of it is under way. A plan says which
 * operations have to wait for those before them; all others fill the engine's queue. One thread
 * owns a reader.
 *
 * A small file that is one request, open, read and close, goes out as a chain where the engine
 * takes chains. It counts as one request of iodepth, though it is three operations to the io. One
 * that is short or interrupted is gone on with in single operations.
 */
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
	bool is_tier;            /* the last of it was of a cache's own files */
	int fill_error;          /* of a piece that is_fill, which is no error of it */
	void *owner;             /* reader_own */
};

/* How many operations at a time the io of a job's reader needs room for: its `iodepth`; job_depth
 * of them are transfers. */
unsigned reader_ops(const struct job *job);

/* Reads up to `tasks` extents at a time over io, `iodepth` requests of them at a time. Nothing is
 * under way yet. */
struct reader *reader_new(struct io *io, struct opstat *stat, unsigned tasks, unsigned iodepth);
void reader_free(struct reader *r); /* NULL is fine */

/* From now on what is compressed is decompressed when it was read, with one task at a time; `u`
 * stays the caller's. */
void reader_unpack(struct reader *r, struct unpack *u);

/* From now on this is called behind each read of an extent, with what it got of the file, before
 * anything else of that is begun; one task at a time. */
typedef void reader_decode(void *arg, const struct read_task *task, uint64_t bytes);
void reader_decode_with(struct reader *r, reader_decode *decode, void *arg);

/* From now on a read of at least so many bytes goes into memory that nobody has touched yet
 * (fresh_memory), whose io `gives_back`; 0 = none does. With JOB_MALLOC_MAPS_BYTES that moves as
 * glibc's threshold does. is_array: NumPy takes the memory. */
void reader_fresh(struct reader *r, uint64_t bytes, bool is_array);

/* Is there room for one more extent, and is any under way? */
bool reader_has_room(const struct reader *r);
bool reader_is_busy(const struct reader *r);

/*
 * Of a plan that goes forward through a file (format->is_forward), the file stays open from one
 * extent to the next: with one task at a time, and the extents in order. reader_close ends that
 * early.
 */
void reader_start(struct reader *r, const struct plan_config *config, const struct extent *x);
void reader_close(struct reader *r);

/* Right after reader_start: that extent is read to here, as far as there is room, and the rest into
 * the io's buffer. NULL = all of it. */
void reader_into(struct reader *r, void *into, uint64_t bytes);

/*
 * A piece of an extent that is not read by a plan: bytes of a file, in requests of the plan's size.
 * Of an open file `open` stays so; else the file is opened and closed. UNLINK removes `file`, as
 * far as it is there.
 */
struct read_piece {
	enum mlgen_op op; /* READ, WRITE or UNLINK */
	bool is_tier;     /* of a file of a cache */
	/* What fails of it fails not the extent, but sets fill_error. */
	bool is_fill;
	struct mlgen_file *open;
	struct mlgen_file file;
	uint64_t off, bytes; /* of direct ones `off` is a whole block's */
	/* Whole blocks of it where it is direct; NULL: the io's buffer. */
	void *memory;
};

/* One after the other; all of it the caller's, until the extent is finished. */
struct read_list {
	struct read_piece *pieces;
	unsigned count;
	/* Before the first of those that are fills, which are the last: false
	 * = leave them. NULL = nobody asks. */
	bool (*begins)(void *arg);
	void *arg;
};

/* As reader_start, by a list; of the plan it needs dataset, requests and alignment. */
void reader_start_list(struct reader *r, const struct plan_config *config, const struct extent *x,
		       const struct read_list *list);

/* The same of one that was had without any operation, in that time. */
void reader_took(struct reader *r, const struct plan_config *config, const struct extent *x,
		 uint64_t start_ns, uint64_t end_ns);

/* The extent that was started last has this, which is the caller's. */
void reader_own(struct reader *r, void *owner);

/* Has the extent that was started last any operation? */
bool reader_does_io(const struct reader *r);

/*
 * Go on until an extent is finished; only with reader_is_busy. Its task is valid until the next
 * call here. NULL with *rc = -errno when the engine failed.
 */
const struct read_task *reader_finish_one(struct reader *r, int *rc);

/* Word the failure of a task: path, operation, offset, the system's words. */
void reader_describe(const struct read_task *t, const char *where, struct mlgen_err *err);

/* ---- decompresses what a thread has read, and drops it (decompress=real) ---- */

/*
 * Of one thread. Reads of compressed bytes come to lie in its room, whole, and are decompressed
 * from there as the framework would, into a buffer that is used again and again: what comes out is
 * dropped. A stream that goes through a file is gone on with from read to read.
 */
/* For reads of so many bytes at most. NULL: no memory for zlib and zstd. */
struct unpack *unpack_new(uint64_t most_bytes);
void unpack_free(struct unpack *u); /* NULL is fine */
/* What it takes of memory. */
uint64_t unpack_bytes(uint64_t most_bytes);

/* Where a read of most_bytes fits; page-aligned. */
void *unpack_room(struct unpack *u);

/* Another file is read from its beginning. */
void unpack_begin(struct unpack *u);

/* These bytes: NULL, or what is wrong with them, at *off of them. */
const char *unpack_read(struct unpack *u, enum plan_packed packed, const void *at, uint64_t bytes,
			uint64_t *off);
