/* SPDX-License-Identifier: Apache-2.0 */
/* read.h - read extents: perform the operations of their plans through one I/O context. */
#pragma once

/*
 * A reader performs the operations of plans (data/file/file.h): it opens files, submits reads up to
 * the job's depth, and returns each extent when its last operation is complete. Compressed bytes
 * may be decompressed for real. A reader belongs to the thread that made it.
 *
 * All extents are read into the same buffer, so memory is bounded and the buffer stays in the CPU
 * cache. A framework that keeps its samples touches more memory: hold_samples= and fresh_memory=
 * simulate that. Compressed bytes are read into memory of their own, since the buffer is reused,
 * and are inflated between two operations: no operation follows one whose bytes are damaged.
 */

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "io/io.h"
#include "job/job.h"

struct reader;
struct unpack;

/* ---- readers: read extents by their plans, several at a time where the engine can ---- */

/*
 * A task is an extent that is being read, with its plan and its file. The plan says which
 * operations wait for those before them; all others fill the engine's queue.
 *
 * A small file that one request reads is submitted as a chain of open, read and close, if the
 * engine has chains. A chain counts as one request of iodepth, though it is three operations of the
 * io. After a chain that was short or interrupted, the rest is read in single operations.
 */
struct read_task {
	struct extent extent;
	int error; /* 0 or -errno of the first operation that failed */
	enum mlgen_op error_op;
	uint64_t error_off, error_done; /* the failed request's offset; bytes it transferred */
	const char *path;
	uint64_t start_ns, end_ns; /* first and last operation; 0 = there was none */
	const struct dataset *dataset;
	/* Destination of the task's reads, one after the other; set by reader_into. */
	void *into;
	uint64_t into_bytes, into_used;
	uint64_t packed_bytes;   /* compressed bytes that were requested */
	const char *error_words; /* -EBADMSG: why the bytes cannot be decompressed */
	bool is_tier;            /* the last piece was a file of a cache */
	int fill_error;          /* error of a piece with is_fill; the task has not failed */
	void *owner;             /* reader_set_owner */
};

/* Number of operations that the io of a job's reader must have room for: `iodepth` of its
 * io_config. At most job_depth of them are transfers at a time. */
unsigned reader_ops(const struct job *job);

/* A reader of up to `tasks` extents and `iodepth` requests at a time over `io`. */
struct reader *reader_new(struct io *io, struct opstat *stat, unsigned tasks, unsigned iodepth);
void reader_free(struct reader *r); /* NULL is fine */

/* Decompress the compressed bytes of each read from now on. The reader must have one task. `u`
 * stays the caller's. */
void reader_unpack(struct reader *r, struct unpack *u);

/* Call `decode` after each read from now on, before the next operation of the extent begins.
 * `bytes` is the number of bytes read. The reader must have one task. */
typedef void reader_decode(void *arg, const struct read_task *task, uint64_t bytes);
void reader_decode_with(struct reader *r, reader_decode *decode, void *arg);

/* Give reads of `bytes` or more untouched memory from now on (fresh_memory); 0 = no read. The
 * reader's io must have `renews_pages`. With JOB_MALLOC_MAPS_BYTES, the threshold moves as glibc's
 * does. is_array: the memory is a NumPy array. */
void reader_fresh(struct reader *r, uint64_t bytes, bool is_array);

/* Is there room for one more extent (has_room)? Is any extent being read (is_busy)? */
bool reader_has_room(const struct reader *r);
bool reader_is_busy(const struct reader *r);

/*
 * Start an extent. If its plan goes forward through a file (format->is_forward), the file stays
 * open for the next extent; this needs one task at a time and extents in order. reader_close closes
 * the file early.
 */
void reader_start(struct reader *r, const struct plan_config *config, const struct extent *x);
void reader_close(struct reader *r);

/* Call right after reader_start: read the extent into `into`, and what has no room there into the
 * io's buffer. NULL = read the whole extent into the io's buffer. */
void reader_into(struct reader *r, void *into, uint64_t bytes);

/*
 * A part of an extent that is not read by a plan: bytes of a file, in requests of the plan's size.
 * A file in `open` stays open; otherwise `file` is opened and closed. UNLINK removes `file` if it
 * exists.
 */
struct read_piece {
	enum mlgen_op op; /* READ, WRITE or UNLINK */
	bool is_tier;     /* the file belongs to a cache */
	/* A cache fill: its failure sets fill_error and does not fail the extent. */
	bool is_fill;
	struct mlgen_file *open;
	struct mlgen_file file;
	uint64_t off, bytes; /* `off` is a multiple of the block size with direct I/O */
	/* Whole blocks with direct I/O; NULL: the io's buffer. */
	void *memory;
};

/* Pieces in their order; the caller keeps them until the extent is finished. */
struct read_list {
	struct read_piece *pieces;
	unsigned count;
	/* Called before the first fill; fills must come last. false = skip all fills. NULL =
	 * perform them. */
	bool (*begins)(void *arg);
	void *arg;
};

/* Like reader_start, for a list. `config` needs dataset, request size and alignment. */
void reader_start_list(struct reader *r, const struct plan_config *config, const struct extent *x,
		       const struct read_list *list);

/* Add an extent that was finished without any operation, from start_ns to end_ns. */
void reader_add_finished(struct reader *r, const struct plan_config *config, const struct extent *x,
			 uint64_t start_ns, uint64_t end_ns);

/* Set `owner` of the extent that was started last, for the caller's use. */
void reader_set_owner(struct reader *r, void *owner);

/* Does the extent that was started last have any operation? */
bool reader_does_io(const struct reader *r);

/*
 * Continue until an extent is finished; only if reader_is_busy. Its task is valid until the next
 * call of this reader. NULL with *rc = -errno when the engine failed.
 */
const struct read_task *reader_finish_one(struct reader *r, int *rc);

/* Describe the failure of a task in err: path, operation, offset and strerror. */
void reader_describe(const struct read_task *t, const char *where, struct mlgen_err *err);

/* ---- unpackers: decompress the bytes that a thread has read (decompress=real) ---- */

/*
 * An unpacker belongs to one thread. Compressed bytes are read into its room and decompressed from
 * there as the framework would, into one buffer that is overwritten: the output is dropped. A
 * stream that spans several reads is continued from read to read.
 */
/* An unpacker for reads of up to most_bytes. NULL: no memory for zlib and zstd. */
struct unpack *unpack_new(uint64_t most_bytes);
void unpack_free(struct unpack *u); /* NULL is fine */
/* Memory that an unpacker needs. */
uint64_t unpack_bytes(uint64_t most_bytes);

/* The unpacker's room for a read of most_bytes; page-aligned. */
void *unpack_room(struct unpack *u);

/* Start to decompress a file from its beginning. */
void unpack_begin(struct unpack *u);

/* Decompress bytes. NULL, or a description of the fault that is *off bytes after `at`. */
const char *unpack_read(struct unpack *u, enum plan_packed packed, const void *at, uint64_t bytes,
			uint64_t *off);
