/* SPDX-License-Identifier: Apache-2.0 */
/* tar_walk.h - the members of a tar file one by one, for src/data/tar_*.c alone. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
