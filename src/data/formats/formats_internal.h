/* SPDX-License-Identifier: Apache-2.0 */
/* formats_internal.h - what the formats share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- The header of a NumPy array, from any writer ---- */

struct look;

/* Magic, version, length of the text (2 or 4 bytes). */
#define NPY_PREFIX_MAX 12u

struct npy_head {
	uint64_t header_bytes; /* including the prefix */
	bool has_long_length;  /* four bytes long: versions 2 and 3 */
	bool is_fortran;       /* the first axis varies fastest */
	unsigned axes;
	uint64_t first_axis; /* 1 if there is no axis */
	uint64_t item_bytes, items;
};

/* Parse a prefix of this many bytes: sets header_bytes and has_long_length. Returns NULL, or what
 * is wrong. */
const char *npy_head_prefix(struct npy_head *h, const uint8_t *at, size_t bytes);
/* Parse the text after the prefix, which need not end in a zero: sets all other members. Returns
 * NULL, or what is wrong. Any thread; allocates nothing. */
const char *npy_head_text(struct npy_head *h, const char *text, size_t bytes);

/* Parse both, for an array at `off` whose bytes end at `end`, and check that its data lies in the
 * file: 0, or -errno with l->err. */
int npy_head_look(struct look *l, uint64_t off, uint64_t end, struct npy_head *h);

/*
 * Format a header of version 1.0: magic, length, a Python dict, spaces up to NPY_HEADER_BYTES.
 * `descr` is the element type as NumPy writes it, `shape` the inside of the tuple: "3," or "3, 4".
 */
void npy_header(uint8_t out[NPY_HEADER_BYTES], const char *descr, const char *shape);

/* Format the header of an array of all samples of a file: bytes, with the shape (samples, d1, d2)
 * or (samples, bytes). */
void npy_samples_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *shape);

/* ---- A zip archive from any writer ---- */

struct zip_scanned {
	uint64_t dir_off, dir_bytes;
	uint64_t end_off; /* offset of the end record */
	bool has_comment; /* after the end record */
	bool has_locator; /* a zip64 locator precedes the end record */
	struct zip_member member;
};

/*
 * Find the member called `key`, or `key` followed by the suffix; if there are several, the last
 * one. With a NULL key, find the first member whose name has the suffix. 0, or -errno with l->err:
 * there is no such member, or it cannot be read.
 */
int zip_look(struct look *l, const char *key, const char *suffix, struct zip_scanned *found);

/* ---- Images ---- */

/* The square root of a number below 2^64, rounded down. */
static inline uint64_t square_root(uint64_t v)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= v)
			root += bit;
	return root;
}
