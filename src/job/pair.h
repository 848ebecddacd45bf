/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - sizes as options have them: alone, for reads and writes, or a share. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "job/fields.h"

/* As units_size; "1k-4k", from which fio would draw, is refused as a range. */
int size_parse(uint64_t *out, const char *text, unsigned kb_base, struct mlgen_err *err);

/*
 * Read "4k", which is both, or "4k,64k", which is reads and writes. A half that is left out
 * (",64k") stays as it is in `out`. fio's third value, of trims, is read and dropped: nothing here
 * trims. 0, or -EINVAL, -ERANGE.
 */
int pair_parse(struct u64_pair *out, const char *text, bool is_size, unsigned kb_base,
	       struct mlgen_err *err);
void pair_format(struct buf *out, const struct u64_pair *pair, bool is_size);

/* Read a size, or with a % behind it 0 to 100 percent. */
int share_parse(struct size_share *out, const char *text, unsigned kb_base, struct mlgen_err *err);
void share_format(struct buf *out, const struct size_share *share);

/* The same with a count in place of a size. */
int u64_share_parse(struct u64_share *out, const char *text, struct mlgen_err *err);
void u64_share_format(struct buf *out, const struct u64_share *share);

/* Read the size of a cache: a size, with a % behind it a percentage, which may be above 100, or
 * with "samples" behind it a count. None of them may be 0. */
int cache_size_parse(struct cache_size *out, const char *text, unsigned kb_base,
		     struct mlgen_err *err);
void cache_size_format(struct buf *out, const struct cache_size *size);
