/* SPDX-License-Identifier: Apache-2.0 */
/* tier_units.c - see tier_units.h. */
#include "run/tier_inside.h"

#include <assert.h>

#include "base/util.h"

/* Of the largest file. */
#define EXTENTS_LOOKED_AT 1024u

static uint64_t align_up(const struct tier_units *u, uint64_t bytes)
{
	uint64_t align = u->plan->align_bytes;

	return align && bytes % align ? bytes + align - bytes % align : bytes;
}

/* Of an extent within its file of a part, as plan_plain reads it. */
static struct tier_range range_of(const struct tier_units *u, const struct extent *x, uint64_t file)
{
	const struct dataset *ds = u->plan->dataset;
	uint64_t align = u->plan->align_bytes, end, all;
	struct tier_range r = { .file = file };
	struct file_shape shape;

	format_shape(ds, file, &shape);
	all = end = format_file_bytes(ds->format, &shape);
	if (format_has_parts(ds->format, &shape)) {
		format_sample_range(ds->format, &shape, x->first_sample, x->samples, &r.off, &end);
		end += r.off;
	}
	if (align)
		r.off -= r.off % align;
	r.bytes = u64_min(align_up(u, end), all) - r.off;
	return r;
}

static struct tier_range whole_file(const struct tier_units *u, uint64_t file)
{
	return (struct tier_range){ .file = file,
				    .bytes = dataset_file_bytes(u->plan->dataset, file) };
}

uint64_t tier_ranges_end(const struct tier_units *u, const struct tier_range *ranges, unsigned n)
{
	assert(n > 0);
	const struct tier_range *last = &ranges[n - 1];

	return last->at + align_up(u, last->bytes);
}

/* All of a page, as if it were one. */
static struct extent whole_page(const struct tier_units *u, uint64_t page)
{
	struct extent x;
	uint64_t n = pages_extents(&u->pages, page);

	dataset_extent(u->plan->dataset, pages_first(&u->pages, page), &x);
	x.samples = (uint32_t)(n * u->plan->dataset->extent_samples);
	return x;
}

unsigned tier_unit_ranges(const struct tier_units *u, const struct extent *x,
			  struct tier_range *out)
{
	const struct dataset *ds = u->plan->dataset;
	unsigned parts = dataset_parts_of(ds, x->file);
	struct extent page;

	if (u->kind == CACHE_PAGES) {
		page = whole_page(u, pages_unit(&u->pages, x));
		x = &page;
	}
	for (unsigned p = 0; p < parts; p++) {
		uint64_t file = p * ds->files + x->file;

		out[p] = u->kind == CACHE_FILES ? whole_file(u, file) : range_of(u, x, file);
		out[p].at = p ? tier_ranges_end(u, out, p) : 0;
	}
	return parts;
}

unsigned tier_extent_ranges(const struct tier_units *u, const struct extent *x,
			    struct tier_range *out)
{
	struct tier_range all[TIER_RANGES];
	unsigned n = tier_unit_ranges(u, x, all);

	for (unsigned i = 0; i < n; i++) {
		out[i] = range_of(u, x, all[i].file);
		out[i].at = all[i].at + out[i].off - all[i].off;
	}
	return n;
}

uint64_t tier_unit_of(const struct tier_units *u, const struct extent *x)
{
	switch (u->kind) {
	case CACHE_FILES:
		return x->file;
	case CACHE_PAGES:
		return pages_unit(&u->pages, x);
	default:
		return x->id;
	}
}

static uint64_t bytes_of(const struct tier_units *u, const struct extent *x)
{
	struct tier_range ranges[TIER_RANGES];

	return tier_ranges_end(u, ranges, tier_unit_ranges(u, x, ranges));
}

uint64_t tier_unit_bytes(const struct tier_units *u, uint64_t unit)
{
	struct extent x = { .file = unit };

	if (u->same_bytes)
		return u->same_bytes;
	if (u->kind == CACHE_PAGES)
		dataset_extent(u->plan->dataset, pages_first(&u->pages, unit), &x);
	else if (u->kind != CACHE_FILES)
		dataset_extent(u->plan->dataset, unit, &x);
	return bytes_of(u, &x);
}

const char *tier_unit_word(const struct tier_units *u)
{
	return u->kind == CACHE_FILES ? "file" : u->kind == CACHE_PAGES ? "page" : "sample";
}

uint64_t tier_unit_samples(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;

	switch (u->kind) {
	case CACHE_FILES:
		return ds->samples_per_file;
	case CACHE_PAGES:
		return u->pages.extents * ds->extent_samples;
	default:
		return ds->extent_samples;
	}
}

/* The first of its extents, and how many it has. */
static uint64_t first_of(const struct tier_units *u, uint64_t unit, uint64_t *count)
{
	const struct dataset *ds = u->plan->dataset;
	uint64_t first;

	switch (u->kind) {
	case CACHE_FILES:
		first = dataset_first_extent(ds, unit);
		*count = dataset_first_extent(ds, unit + 1) - first;
		return first;
	case CACHE_PAGES:
		*count = pages_extents(&u->pages, unit);
		return pages_first(&u->pages, unit);
	default:
		*count = 1;
		return unit;
	}
}

uint64_t tier_unit_first(const struct tier_units *u, uint64_t unit)
{
	uint64_t count;

	return first_of(u, unit, &count);
}

void tier_unit_extent(const struct tier_units *u, uint64_t unit, const struct extent *instead_of,
		      struct extent *out)
{
	uint64_t had, count, first = first_of(u, unit, &count), at;

	at = instead_of->id - first_of(u, tier_unit_of(u, instead_of), &had);
	dataset_extent(u->plan->dataset, first + at % count, out);
}

uint64_t tier_kept_bytes(const struct tier_units *u, uint64_t bytes)
{
	double kept = (double)bytes * u->factor + 0.5;

	/* Not through a double where nothing changes. */
	return u->factor == 1 ? bytes : u64_max(1, (uint64_t)kept);
}

/* All files are alike, and all samples in them. */
static bool are_alike(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;

	return dist_is_const(&ds->sample_size) && !ds->scan && !ds->found && !ds->uneven_samples &&
	       !ds->extents_differ &&
	       (u->kind != CACHE_PAGES || u->pages.file_extents % u->pages.extents == 0) &&
	       (u->kind == CACHE_FILES || !u->plan->align_bytes);
}

static uint64_t largest(const struct tier_units *u)
{
	const struct dataset *ds = u->plan->dataset;
	struct extent x = { .file = dataset_large_file(ds, UINT64_MAX) };
	uint64_t first = dataset_first_extent(ds, x.file), most = 0;
	uint64_t n = dataset_first_extent(ds, x.file + 1) - first;
	uint64_t step;

	if (u->kind == CACHE_FILES)
		return bytes_of(u, &x);
	if (u->kind == CACHE_PAGES) {
		first = x.file * u->pages.per_file;
		n = u->pages.per_file;
	}
	step = n ? 1 + (n - 1) / EXTENTS_LOOKED_AT : 1;
	for (uint64_t i = 0; i < n; i += step)
		most = u64_max(most, tier_unit_bytes(u, first + i));
	return most;
}

static uint64_t stored_bytes_of(const struct tier_units *u)
{
	uint64_t bytes = 0;

	if (u->same_bytes)
		return u->same_bytes * u->count;
	for (uint64_t i = 0; i < u->count; i++)
		bytes += tier_unit_bytes(u, i);
	return bytes;
}

void tier_units_init(struct tier_units *u, const struct plan_config *plan, const struct job *job)
{
	int kind = job->cache_unit.kind;
	const struct dataset *ds = plan->dataset;

	*u = (struct tier_units){ .plan = plan, .kind = kind, .factor = 1 };
	if (job->cache_stage == CACHE_DECODED)
		u->factor = job->cache_decoded_factor;
	u->count = kind == CACHE_FILES ? ds->files : dataset_extents(ds);
	if (kind == CACHE_PAGES) {
		u->pages = pages_of(ds, job->cache_unit.number);
		u->count = u->pages.count;
	}
	u->largest_bytes = largest(u);
	if (are_alike(u))
		u->same_bytes = tier_unit_bytes(u, 0);
	u->stored_bytes = stored_bytes_of(u);
}
