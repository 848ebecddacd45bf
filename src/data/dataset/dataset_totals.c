/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_totals.c - bytes of all files of a dataset, counted or expected. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/units.h"
#include "data/file/file.h"
#include "data/scan/scan.h"
#include "stat/moments.h"

/* No filesystem holds more, and sums of sizes stay within 64 bits. */
#define MOST_BYTES 0x1p62

/* Of all parts. */
static uint64_t file_bytes_of(const struct dataset *ds, const struct file_shape *shape)
{
	struct file_shape part = *shape;
	uint64_t bytes = 0;

	for (part.part = 0; part.part < ds->parts; part.part++)
		bytes += format_file_bytes(ds->format, &part);
	return bytes;
}

static uint64_t all_parts_bytes(const struct dataset *ds, uint64_t file)
{
	struct file_shape shape;

	format_shape(ds, file, &shape);
	return file_bytes_of(ds, &shape);
}

static void totals_same(const struct dataset *ds, struct dataset_totals *t)
{
	t->bytes = ds->files * all_parts_bytes(ds, 0);
	t->sample_bytes = dataset_samples(ds) * dataset_sample_bytes(ds, 0);
	t->row_bytes = dataset_samples(ds) * dataset_row_bytes(ds, 0);
	t->mean_file_bytes = (double)all_parts_bytes(ds, 0);
	t->mean_sample_bytes = (double)dataset_sample_bytes(ds, 0);
}

static void totals_expected(const struct dataset *ds, struct dataset_totals *t)
{
	t->estimate = true;
	t->mean_sample_bytes = dist_mean(&ds->sample_size);
	t->mean_file_bytes = dataset_mean_file_bytes(ds);
	t->stdev_file_bytes = dist_stdev(&ds->sample_size) * (double)ds->samples_per_file;
	t->bytes = (uint64_t)((double)ds->files * t->mean_file_bytes);
	t->sample_bytes = t->row_bytes =
		(uint64_t)((double)dataset_samples(ds) * t->mean_sample_bytes);
}

static void totals_exact(const struct dataset *ds, struct dataset_totals *t)
{
	struct moments files = { 0 };

	for (uint64_t i = 0; i < ds->files; i++) {
		struct file_shape shape;
		uint64_t bytes;

		format_shape(ds, i, &shape);
		bytes = file_bytes_of(ds, &shape);
		t->bytes += bytes;
		t->sample_bytes += shape.samples * format_sample_bytes(&shape);
		moments_add(&files, (double)bytes);
	}
	t->row_bytes = t->sample_bytes;
	t->mean_file_bytes = files.mean;
	t->stdev_file_bytes = moments_stdev(&files);
	t->mean_sample_bytes = (double)t->sample_bytes / (double)dataset_samples(ds);
}

/* Counted whatever their number: no sizes are drawn, they are at hand. */
/* A label is read with each sample of its file. */
static uint64_t label_bytes_read(const struct dataset *ds)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < ds->files; i++)
		bytes += labels_bytes(ds->labels, i) *
			 (dataset_first_extent(ds, i + 1) - dataset_first_extent(ds, i));
	return bytes;
}

static void totals_of_scan(const struct dataset *ds, struct dataset_totals *t)
{
	struct moments files = { 0 };

	for (uint64_t i = 0; i < ds->files; i++) {
		uint64_t bytes = scan_size(ds->scan, i);

		/* And what stands beside it. */
		if (ds->parts > 1)
			bytes = all_parts_bytes(ds, i);
		t->bytes += bytes;
		moments_add(&files, (double)bytes);
	}
	t->sample_bytes = t->row_bytes =
		ds->found ? found_sample_bytes(ds->found, ds->files) : t->bytes;
	if (ds->labels)
		t->label_files = (double)labels_count(ds->labels, ds->files);
	if (ds->labels && ds->found)
		t->sample_bytes = t->row_bytes += label_bytes_read(ds);
	t->mean_file_bytes = (double)t->bytes / (double)ds->files;
	if (ds->found && ds->format->look) {
		t->scan_read_bytes = (double)found_read_bytes(ds->found);
		t->scan_seconds = found_seconds(ds->found);
		t->scan_kept_files = (double)found_kept_files(ds->found);
	}
	t->mean_sample_bytes = (double)t->sample_bytes / (double)dataset_samples(ds);
	t->stdev_file_bytes = moments_stdev(&files);
}

/* What a sample may take of a file; of a pair both. */
static uint64_t bytes_to_read(const struct dataset *ds, uint64_t file)
{
	uint64_t bytes = 0;

	for (unsigned part = 0; part < dataset_sample_parts(ds); part++)
		bytes += dataset_file_bytes(ds, part * ds->files + file);
	return bytes;
}

static uint64_t look_for_large(const struct dataset *ds, uint64_t enough_bytes)
{
	uint64_t step = 1 + (ds->files - 1) / DATASET_EXACT_FILES;
	uint64_t largest = 0, most = 0;

	for (uint64_t i = 0; i < ds->files && most < enough_bytes; i += step) {
		uint64_t bytes = bytes_to_read(ds, i);

		if (bytes > most) {
			most = bytes;
			largest = i;
		}
	}
	return largest;
}

int dataset_check_bytes(const struct dataset *ds, double files, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	double bytes = dataset_mean_file_bytes(ds) * files;

	if (bytes < MOST_BYTES)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "num_files: the dataset would have %s; lower num_files, samples_per_file "
			  "or sample_size",
			  units_human_bytes(text, bytes));
}

uint64_t dataset_large_file(const struct dataset *ds, uint64_t enough_bytes)
{
	uint64_t known = 0, found;

	if (!ds->scan && dist_is_const(&ds->sample_size))
		return 0; /* they are all alike */
	if (ds->known)
		known = atomic_load_explicit(&ds->known->largest, memory_order_relaxed);
	if (known)
		return known - 1;
	found = look_for_large(ds, enough_bytes);
	/* Whoever comes at the same time finds the same. */
	if (ds->known && bytes_to_read(ds, found) < enough_bytes)
		atomic_store_explicit(&ds->known->largest, found + 1, memory_order_relaxed);
	return found;
}

uint64_t dataset_largest_file(const struct dataset *ds)
{
	return dataset_large_file(ds, UINT64_MAX);
}

double dataset_mean_file_bytes(const struct dataset *ds)
{
	double mean = dist_mean(&ds->sample_size);

	if (ds->labels)
		return ((double)scan_bytes(ds->scan) +
			(double)labels_sum(ds->labels, scan_files(ds->scan))) /
		       (double)scan_files(ds->scan);
	if (ds->found)
		return (double)scan_bytes(ds->scan) / (double)scan_files(ds->scan);

	struct file_shape shape = {
		.samples = ds->samples_per_file,
		.sides = { 1, mean < 1 ? 1 : (uint64_t)mean },
		.common = ds->common,
	};
	double rest = mean - (double)shape.sides[1];

	return (double)file_bytes_of(ds, &shape) + rest * (double)ds->samples_per_file;
}

void dataset_totals(const struct dataset *ds, struct dataset_totals *t)
{
	*t = (struct dataset_totals){ .scan_read_bytes = (double)NAN,
				      .scan_seconds = (double)NAN,
				      .scan_kept_files = (double)NAN,
				      .label_files = (double)NAN };
	if (ds->scan)
		totals_of_scan(ds, t);
	else if (dist_is_const(&ds->sample_size))
		totals_same(ds, t);
	else if (ds->files > DATASET_EXACT_FILES)
		totals_expected(ds, t);
	else
		totals_exact(ds, t);
}
