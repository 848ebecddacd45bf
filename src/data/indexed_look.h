/* SPDX-License-Identifier: Apache-2.0 */
/* indexed_look.h - what a scan puts down about a file of samples with two index files beside it. */
#pragma once

#include "data/format.h"
#include "data/look.h"

/* What an index is called: the name of its file and this. */
#define INDEXED_OFFSETS ".off.idx"
#define INDEXED_SIZES ".sz.idx"

/*
 * The indexes are read once, each entry is held against the file, and words are
 * kept only of what cannot be computed: nothing where samples are all of one
 * size and follow each other, their offsets where they are of any size and do,
 * else offset and size. They are not mapped where they are: their pages would
 * be in the page cache when a framework's worker asks for them, and a file that
 * is cut off while it is mapped ends the process.
 *
 * format->look and found_range.
 */
int indexed_look(struct look *l);
bool indexed_beside(const char *path, unsigned i, char *out, size_t size);
void indexed_found_range(const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len);
