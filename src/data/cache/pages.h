/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h - neighbours of a file that are kept together: cache_unit=page. */
#pragma once

#include <assert.h>

#include <mlgen/err.h>

#include "base/util.h"
#include "data/file/dataset.h"

/*
 * A page is so many extents of a file, one behind the other, as many as SIZE has room for on the
 * mean and one at least; the last page of a file may have fewer. SIZE is that of an extent at
 * least, and of a file at most (pages_check).
 * A sample lies in one page: they begin and end with samples, as those of shuffle=pages do. All
 * files have as many extents.
 */
struct pages {
	uint64_t extents;      /* of a page */
	uint64_t file_extents; /* of a file */
	uint64_t per_file, count;
};

/* Can pages be of this size? 0, or -EINVAL with err: what would be right. */
int pages_check(const struct dataset *ds, uint64_t size_bytes, struct mlgen_err *err);

static inline struct pages pages_of(const struct dataset *ds, uint64_t size_bytes)
{
	uint64_t each = dataset_first_extent(ds, 1);
	double mean = dataset_mean_file_bytes(ds) / (double)each;
	double fit = (double)size_bytes / (mean > 1 ? mean : 1);
	struct pages p = { .file_extents = each, .extents = 1 };

	if (fit > 1)
		p.extents = fit < (double)each ? (uint64_t)fit : each;
	p.per_file = divide_up(each, p.extents);
	p.count = p.per_file * ds->files;
	return p;
}

static inline uint64_t pages_unit(const struct pages *p, const struct extent *x)
{
	return x->file * p->per_file + x->id % p->file_extents / p->extents;
}

/* The first extent of a page, and how many it has. */
static inline uint64_t pages_first(const struct pages *p, uint64_t page)
{
	assert(p->per_file > 0);
	return page / p->per_file * p->file_extents + page % p->per_file * p->extents;
}

static inline uint64_t pages_extents(const struct pages *p, uint64_t page)
{
	assert(p->per_file > 0);
	return u64_min(p->extents, p->file_extents - page % p->per_file * p->extents);
}
