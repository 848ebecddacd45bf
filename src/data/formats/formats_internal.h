/* SPDX-License-Identifier: Apache-2.0 */
/* formats_internal.h - what the formats share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/file/file.h"

/* ---- What the header of a NumPy array says, whoever wrote it ---- */

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

/* ---- Arrays in files that somebody else has written, alone or with a twin ---- */

struct look;

struct npy_array {
	uint64_t data_off, data_bytes, file_bytes;
	uint64_t samples; /* 0 = it holds nothing */
};

/*
 * The one that is open: its first axis is the samples'. Of one axis there is one sample, and also
 * where the first of several varies fastest, for then no row lies in one piece; but one axis of
 * `labels` elements, which is as many samples as the file has beside which it stands, is a sample
 * each. 0 or -errno with l->err.
 */
int npy_array_look(struct look *l, uint64_t labels, struct npy_array *a);

/* From the array that is open to its twin by scan_pair=: from *a, which was the first's, to *a,
 * which is the twin's. Both have as many samples. The look is as after look_open, of the twin. */
int npy_twin_look(struct look *l, struct npy_array *a);

/* ---- Tar files of samples that somebody else has written ---- */

/* format->look, look_beside and found_range. */
int tar_look(struct look *l);
bool tar_beside(const char *path, unsigned i, char *out, size_t size);
void tar_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
		     uint64_t *len);

/* How far a reader has to go that has delivered the first n samples, n > 0: it knows that one is
 * complete when it has read the first member of the next, or the end mark. */
uint64_t tar_found_needed(const struct file_shape *shape, uint64_t n);

/* ---- The members of a tar file one by one, for src/data/tar_*.c alone ---- */

struct look;

enum { TAR_BLOCK = 512 };

/* Words of a sample: where its first member's bytes begin, where these end, and where those of its
 * last member end. */
enum { TAR_DATA, TAR_FIRST_END, TAR_END, TAR_WORDS };

struct tar_walk {
	struct look *l;
	uint64_t at; /* of the next header */
	/* The member, or what an extended header has said of it. */
	uint64_t size, data;
	bool has_name, has_size; /* from an extended header */
	bool has_sparse_name;    /* the one that counts, of a sparse member */
	bool has_sparse_map;     /* stands before the member's bytes */
	bool is_member;          /* of a sample: the last step was to one */
	char name[PATH_MAX];
	/* The sample that is open. */
	char key[PATH_MAX];
	bool is_open;
	uint64_t words[TAR_WORDS];
};

/* One header and what belongs to it: 0, 1 = it is the end, or -errno with l->err. */
int tar_step(struct tar_walk *w);

/*
 * Of GNU tar's sparse members the bytes that are not holes are stored; these move *data to them. 0,
 * or -errno with l->err. The headers that go on behind that of the old format, 'S', whose byte 482
 * says whether there are any:
 */
int tar_pass_sparse_headers(struct tar_walk *w, bool has_more, uint64_t *data);
/* The map that pax format 1.0 begins the member with, of which w->size loses as much. */
int tar_pass_sparse_map(struct tar_walk *w, uint64_t *data);

/* The bytes of a member of this name and size are at `data`: of the open sample, or the first of
 * another. 0, or -errno with l->err. */
int tar_take(struct tar_walk *w, uint64_t data);

/* The length of a name's key; 0 = it has none, and is of no sample. */
size_t tar_key_length(const char *name);

/* By the index of DALI's wds2idx beside it, to the end: 1, or 0 where there is none or one of
 * another file (l->note), and nothing was taken; -errno with l->err. */
int tar_by_index(struct tar_walk *w);
