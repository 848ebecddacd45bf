/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - find a format, and what all formats share. */
#include "data/file/file_internal.h"

#include <string.h>

#include "base/dist.h"
#include "base/util.h"
#include "data/scan/scan.h"

static const struct format *const formats[] = {
#define FORMAT_OF(word, name, help) [FORMAT_##word] = &format_##name,
	JOB_FORMATS(FORMAT_OF)
#undef FORMAT_OF
};

const struct format *format_of(enum job_format f)
{
	return f < ARRAY_LEN(formats) ? formats[f] : NULL;
}

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

void format_shape(const struct dataset *ds, uint64_t file, struct file_shape *shape)
{
	memset(shape, 0, sizeof(*shape));
	shape->part = (unsigned)(file / ds->files);
	shape->common = ds->common;
	shape->samples = ds->samples_per_file;
	shape->two_sides = ds->sample_size.kind == DIST_DLIO;
	if (ds->scan) {
		shape->sides[0] = 1;
		file = dataset_distinct_file(ds, file);
		shape->sides[1] = shape->scanned_bytes = scan_size(ds->scan, file);
		if (ds->found)
			scan_index_shape(ds->found, file, shape);
		if (ds->labels) {
			shape->has_labels = true;
			shape->label_bytes = labels_bytes(ds->labels, file);
		}
		return;
	}
	dist_draw_sides(&ds->sample_size, DATASET_SEED, RNG_SAMPLE_SIZE,
			ds->first_size + dataset_distinct_file(ds, file), shape->sides);
}

static bool is_label(const struct file_shape *shape)
{
	return shape->has_labels && shape->part > 0;
}

bool format_has_parts(const struct format *f, const struct file_shape *shape)
{
	return !is_label(shape) && (shape->samples > 1 || (shape->facts && !f->look));
}

uint64_t format_sample_bytes(const struct file_shape *shape)
{
	return shape->sides[0] * shape->sides[1];
}

uint64_t format_file_bytes(const struct format *f, const struct file_shape *shape)
{
	if (is_label(shape))
		return shape->label_bytes;
	return shape->scanned_bytes && shape->part == 0 ? shape->scanned_bytes
							: f->file_bytes(shape);
}

void format_sample_range(const struct format *f, const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len)
{
	if (is_label(shape)) {
		*off = 0;
		*len = shape->label_bytes;
	} else if (shape->facts) {
		f->scanned_range(shape, first, n, off, len);
	} else if (shape->scanned_bytes) {
		*off = 0;
		*len = shape->scanned_bytes;
	} else {
		f->sample_range(shape, first, n, off, len);
	}
}

void format_content(void *to, size_t bytes, uint64_t seed_index, uint64_t offset)
{
	/* Each file has a stream; the low byte separates them from all other uses of randomness. */
	rng_fill(to, bytes, DATASET_SEED, seed_index << 8 | RNG_CONTENT, offset);
}
