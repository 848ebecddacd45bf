/* SPDX-License-Identifier: Apache-2.0 */
/* formats_internal.h - what the formats share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/file.h"
#include "data/formats/formats.h"

/* ---- What the header of a NumPy array says, whoever wrote it ---- */

struct look;

/* Magic, version, length of the text (2 or 4 bytes). */
#define NPY_PREFIX_MAX 12u

struct npy_head {
	uint64_t header_bytes; /* with the prefix */
	bool has_long_length;  /* of four bytes: versions 2 and 3 */
	bool is_fortran;       /* the first axis varies fastest */
	unsigned axes;
	uint64_t first_axis; /* 1 where there is none */
	uint64_t item_bytes, items;
};

/*
 * The prefix, of so many bytes: header_bytes and has_long_length. NULL, or what is wrong with it.
 */
const char *npy_head_prefix(struct npy_head *h, const uint8_t *at, size_t bytes);
/* The text behind it, which need not end in a zero: all else. NULL, or what is wrong. Any thread;
 * takes no memory. */
const char *npy_head_text(struct npy_head *h, const char *text, size_t bytes);

/* Both, of an array at `off` whose bytes end at `end`: 0, or -errno with l->err. Its data is
 * checked to be there. */
int npy_head_look(struct look *l, uint64_t off, uint64_t end, struct npy_head *h);

/* ---- Arrays in files that somebody else has written, alone or with a twin ---- */

struct look;

/* ---- Tar files of samples that somebody else has written ---- */

/* ---- The members of a tar file one by one, for src/data/tar_*.c alone ---- */

struct look;

/*
 * Version 1.0: magic, length, a Python dict, spaces up to NPY_HEADER_BYTES. `descr` is the element
 * type as NumPy writes it, `shape` the inside of the tuple: "3," or "3, 4".
 */
void npy_header(uint8_t out[NPY_HEADER_BYTES], const char *descr, const char *shape);

/* That of all samples of a file: bytes, (samples, d1, d2) or (samples, bytes). */
void npy_samples_header(uint8_t out[NPY_HEADER_BYTES], const struct file_shape *shape);

struct zip_found {
	uint64_t dir_off, dir_bytes;
	uint64_t end_off; /* of the end record */
	bool has_comment; /* behind it */
	bool has_locator; /* of a zip64 end record, before it */
	struct zip_member member;
};

/*
 * The member called `key`, or key with the suffix behind it, the last of several; with a NULL key
 * the first whose name has the suffix. 0, or -errno with the look's err: no such member, or one
 * that cannot be read.
 */
int zip_look(struct look *l, const char *key, const char *suffix, struct zip_found *found);
