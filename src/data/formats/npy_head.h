/* SPDX-License-Identifier: Apache-2.0 */
/* npy_head.h - what the header of a NumPy array says, whoever wrote it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct look;

/* Magic, version, length of the text (2 or 4 bytes). */
#define NPY_PREFIX_MAX 12u
/* Of the text. Only a structure of thousands of fields has more. */
#define NPY_TEXT_MAX (1u << 20)

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

/* What is one sample: the first axis, or all of it. */
uint64_t npy_head_samples(const struct npy_head *h);
