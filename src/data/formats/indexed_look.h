/* SPDX-License-Identifier: Apache-2.0 */
/* indexed_look.h - what a scan puts down about a file of samples with two index files beside it. */
#pragma once

#include "data/file/format.h"
#include "data/file/look.h"

/* What an index is called: the name of its file and this. */
#define INDEXED_OFFSETS ".off.idx"
#define INDEXED_SIZES ".sz.idx"

/*
 * Megatron-LM has one index, NAME.idx of NAME.bin (megatron/core/datasets/ indexed_dataset.py):
 * MMIDIDX, a version, the type of a token, how many sequences and documents there are; then for
 * each sequence its tokens (32 bits), for each its offset (64 bits), and the documents. A sample is
 * a sequence.
 */
/* NAME.idx, where the path is NAME.bin and there is room. */
bool indexed_megatron_path(const char *path, char *out, size_t size);
/* Is there such an index? `path` as openat(2) takes it. */
bool indexed_is_megatron(int dir_fd, const char *path);

/*
 * The indexes are read once, each entry is held against the file, and words are kept only of what
 * cannot be computed: nothing where samples are all of one size and follow each other, their
 * offsets where they are of any size and do, else offset and size. They are not mapped where they
 * are: their pages would be in the page cache when a framework's worker asks for them, and a file
 * that is cut off while it is mapped ends the process.
 *
 * format->look, found_init and found_range.
 */
int indexed_look(struct look *l);
int indexed_found_init(struct dataset *ds, struct mlgen_err *err);
/* Returns the size of the index of a file that was looked at. */
uint64_t indexed_found_index_bytes(const struct file_shape *shape);
bool indexed_beside(const char *path, unsigned i, char *out, size_t size);
void indexed_found_range(const struct file_shape *shape, uint64_t first, uint64_t n, uint64_t *off,
			 uint64_t *len);
