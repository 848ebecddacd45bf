/* SPDX-License-Identifier: Apache-2.0 */
/* content.h - the bytes of a checkpoint's tensors: from a pool, stamped, and their checksums by
 * arithmetic. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <mlgen/err.h>

/*
 * A pool of `span_bytes` random bytes is made once per job. Each writer has a slice, a copy of it
 * (content_fill), and stamps it anew for every write, so that what is written needs no copying and
 * no memory beyond the slices.
 *
 * A run is a range of a file that is written by one call. Byte p of a run is byte (p mod span) +
 * SHIFT * (p / span) of the slice: a run of up to a span is the slice itself; a longer one repeats
 * over it, each time shifted by a few bytes, so that no two aligned blocks of 4 KiB in it are
 * alike. The slice has CONTENT_SLACK bytes behind the span for that, which are a block like others.
 *
 * Stamp: at the start of every CONTENT_BLOCK of the slice stands a struct content_stamp, with the
 * crc32c of what is behind it. All of a block follows from where it is, also its checksums: the
 * stamp's join those of the rest, which never change.
 *
 * A struct content is read-only once it is made: any number of threads may use it, each with slices
 * of its own.
 */
#define CONTENT_BLOCK 4096u
#define CONTENT_SHIFT 4u
#define CONTENT_SLACK CONTENT_BLOCK
/* Parts of one call (UIO_MAXIOV), and so the longest run: 1024 spans, less than what Linux moves in
 * one call. */
#define CONTENT_PARTS 1024u
#define CONTENT_RUN_BYTES 0x7fff0000u

/* Little-endian. */
struct content_stamp {
	uint32_t magic;  /* CONTENT_MAGIC */
	uint32_t crc32c; /* of what follows in the block, all of it */
	uint32_t rank, checkpoint;
	uint64_t file; /* of the rank's, with the job's randseed above it */
	uint64_t off;  /* in the file: the run's, plus that in the slice */
};
#define CONTENT_MAGIC 0x6e67636bu

/* Whose bytes. */
struct content_of {
	uint64_t rank, checkpoint, file;
	uint64_t off; /* of the run, in the file */
};

struct content; /* the pool and tables for its checksums; read-only */

/* span_bytes: multiple of CONTENT_BLOCK. Same seed, same bytes, ever after. */
struct content *content_new(uint64_t span_bytes, uint64_t seed);
void content_free(struct content *c); /* NULL is fine */
uint64_t content_span_bytes(const struct content *c);

/* Once: make `slice` (span + CONTENT_SLACK bytes) the pool. */
void content_fill(const struct content *c, void *slice);

/* Stamp `slice` for the first `bytes` of a run (its whole length, <= CONTENT_RUN_BYTES and
 * CONTENT_PARTS spans) and point `parts` at it, which has room for one a span. Their number. */
unsigned content_put(const struct content *c, const struct content_of *of, void *slice,
		     uint64_t bytes, struct iovec *parts);
/* The slice holds other bytes at [at, at + bytes): make them the pool's again (stamps are not; they
 * come with the next put). */
void content_mend(const struct content *c, void *slice, uint64_t at, uint64_t bytes);

/* Bytes [p, p + bytes) of a run into `to`. */
void content_copy(const struct content *c, const struct content_of *of, uint64_t p, void *to,
		  uint64_t bytes);

/* Continue a zlib CRC-32 over bytes [p, p + bytes) of a run, from arithmetic:
 * a few ns a block. */
uint32_t content_crc32(const struct content *c, const struct content_of *of, uint64_t p,
		       uint64_t bytes, uint32_t crc);

/* verify=crc32c: `buf` holds bytes [p, p + bytes) of a run. By the blocks' own checksums and
 * stamps; what is no whole block is compared. The number of right bytes before the first wrong one
 * (bytes = all). */
uint64_t content_check(const struct content *c, const struct content_of *of, uint64_t p,
		       const void *buf, uint64_t bytes);
