/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - name, size and place of every sample, computed from its index. */
#include "data/dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "data/format.h"

/* Up to here totals are summed up file by file. */
#define EXACT_FILES UINT64_C(1000000)
/* No filesystem holds more, and sums of sizes stay within 64 bits. */
#define MOST_BYTES 0x1p62
/* What the name of a file gets while it is written: "." and ".part". */
#define TEMPORARY_EXTRA 6

static unsigned digits(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

/* A directory without the slashes behind it. */
static char *directory_of(const struct job *job)
{
	const char *d = job->directory ? job->directory : ".";
	size_t n = strlen(d);

	while (n > 1 && d[n - 1] == '/')
		n--;
	return mem_strndup(d, n);
}

static uint64_t file_bytes_of(const struct dataset *ds,
			      const struct file_shape *shape)
{
	return ds->format->file_bytes(shape);
}

/* Of a file whose samples are as large as the distribution's mean. */
static double mean_file_bytes(const struct dataset *ds)
{
	struct file_shape one = { .samples = 1, .sides = { 1, 1 } };
	struct file_shape two = { .samples = 2, .sides = { 1, 1 } };
	uint64_t per_sample =
		file_bytes_of(ds, &two) - file_bytes_of(ds, &one) - 1;
	uint64_t per_file = file_bytes_of(ds, &one) - 1 - per_sample;

	return (dist_mean(&ds->sample_size) + (double)per_sample) *
		       (double)ds->samples_per_file +
	       (double)per_file;
}

int dataset_check_bytes(const struct dataset *ds, double files,
			struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	double bytes = mean_file_bytes(ds) * files;

	if (bytes < MOST_BYTES)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "num_files: the dataset would have %s; lower "
			  "num_files, samples_per_file or sample_size",
			  units_human_bytes(text, bytes));
}

static double files_by_ratio(const struct dataset *ds, const struct job *job,
			     uint64_t memory_bytes)
{
	double want = job->dataset_ratio * (double)memory_bytes;
	double files = ceil(want / mean_file_bytes(ds));
	struct dataset trial = *ds;
	struct dataset_totals totals;

	/* Sizes that are drawn may add up to a little less than their mean
	 * says: a few files more then. */
	for (unsigned i = 0; i < 3 && files <= (double)EXACT_FILES; i++) {
		trial.files = files < 1 ? 1 : (uint64_t)files;
		dataset_totals(&trial, &totals);
		if ((double)totals.bytes >= want)
			break;
		files += ceil((want - (double)totals.bytes) /
			      mean_file_bytes(ds));
	}
	return files < 1 ? 1 : files;
}

/* A part of the files, but enough for four batches of every rank. */
static uint64_t files_by_scale(const struct dataset *ds, const struct job *job,
			       uint64_t files)
{
	uint64_t part = (uint64_t)ceil((double)files * (job->scale / 100));
	uint64_t samples, least;

	if (__builtin_mul_overflow(job->batch_size, job->accelerators,
				   &samples) ||
	    __builtin_mul_overflow(samples, 4, &samples))
		return files;
	least = divide_up(samples, ds->samples_per_file);
	if (part < least)
		part = least;
	return part < files ? part : files;
}

static int choose_files(struct dataset *ds, const struct job *job,
			uint64_t memory_bytes, struct mlgen_err *err)
{
	double files = (double)job->num_files;
	int r;

	if (job->dataset_ratio > 0)
		files = files_by_ratio(ds, job, memory_bytes);
	r = dataset_check_bytes(ds, files, err);
	if (r)
		return r;
	ds->files = job->dataset_ratio > 0 ? (uint64_t)files : job->num_files;
	if (job->scale < 100)
		ds->files = files_by_scale(ds, job, ds->files);
	ds->files_named = ds->files;
	return 0;
}

static int check_names(const struct dataset *ds, struct mlgen_err *err)
{
	char path[PATH_MAX - TEMPORARY_EXTRA];

	if (dataset_path(ds, ds->files - 1, path, sizeof(path)) > 0)
		return 0;
	return mlgen_fail(err, -ENAMETOOLONG,
			  "directory: %.60s... is too long for the names of "
			  "files in it",
			  ds->directory);
}

static int check_full_batches(uint64_t samples, uint64_t batch, uint64_t ranks,
			      struct mlgen_err *err)
{
	if (samples / batch / ranks > 0)
		return 0;
	if (ranks == 1)
		return mlgen_fail(err, -EINVAL,
				  "batch_size: %" PRIu64 " is more than the "
				  "%" PRIu64 " samples of the dataset; more "
				  "num_files or a smaller batch_size",
				  batch, samples);
	return mlgen_fail(
		err, -EINVAL,
		"accelerators: %" PRIu64 " need at least %" PRIu64
		" x batch_size %" PRIu64 " = %.15g samples per step, "
		"the dataset has %" PRIu64 "; more num_files or fewer "
		"accelerators",
		ranks, ranks, batch, (double)ranks * (double)batch, samples);
}

/* drop_last=0: the last batch may be short, but never all of them. */
static int check_shard(uint64_t samples, uint64_t batch, uint64_t ranks,
		       struct mlgen_err *err)
{
	uint64_t shard = divide_up(samples, ranks);

	if (ranks > samples)
		return mlgen_fail(err, -EINVAL,
				  "accelerators: %" PRIu64 " are more than the "
				  "%" PRIu64 " samples of the dataset; more "
				  "num_files or fewer accelerators",
				  ranks, samples);
	if (batch > shard)
		return mlgen_fail(err, -EINVAL,
				  "batch_size: %" PRIu64 " is more than the "
				  "%" PRIu64 " samples of one accelerator's "
				  "shard (%" PRIu64 " samples / %" PRIu64
				  " accelerators); more num_files or a smaller "
				  "batch_size",
				  batch, shard, samples, ranks);
	return 0;
}

/* Mean and variance as they grow (Welford): exact where sums of squares of
 * large sizes would lose the difference. */
struct moments {
	uint64_t n;
	double mean, squares;
};

static void moments_add(struct moments *m, double v)
{
	double delta = v - m->mean;

	m->n++;
	m->mean += delta / (double)m->n;
	m->squares += delta * (v - m->mean);
}

static void totals_same(const struct dataset *ds, struct dataset_totals *t)
{
	t->bytes = ds->files * dataset_file_bytes(ds, 0);
	t->sample_bytes = dataset_samples(ds) * dataset_sample_bytes(ds, 0);
	t->mean_file_bytes = (double)dataset_file_bytes(ds, 0);
	t->mean_sample_bytes = (double)dataset_sample_bytes(ds, 0);
}

static void totals_expected(const struct dataset *ds, struct dataset_totals *t)
{
	t->estimate = true;
	t->mean_sample_bytes = dist_mean(&ds->sample_size);
	t->mean_file_bytes = mean_file_bytes(ds);
	t->stdev_file_bytes =
		dist_stdev(&ds->sample_size) * (double)ds->samples_per_file;
	t->bytes = (uint64_t)((double)ds->files * t->mean_file_bytes);
	t->sample_bytes =
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
	t->mean_file_bytes = files.mean;
	t->stdev_file_bytes = sqrt(files.squares / (double)files.n);
	t->mean_sample_bytes =
		(double)t->sample_bytes / (double)dataset_samples(ds);
}

int dataset_init(struct dataset *ds, const struct job *job,
		 uint64_t memory_bytes, struct mlgen_err *err)
{
	int r;

	memset(ds, 0, sizeof(*ds));
	ds->format = format_of((enum job_format)job->format);
	ds->directory = directory_of(job);
	ds->samples_per_file = job->samples_per_file;
	ds->subfolders = job->subfolders ? job->subfolders : 1;
	ds->sample_size = job->sample_size;
	r = choose_files(ds, job, memory_bytes, err);
	if (r == 0)
		r = check_names(ds, err);
	if (r == 0 && job->phase != PHASE_PREPARE)
		r = dataset_check_ranks(ds, job, job->accelerators, err);
	if (r)
		dataset_fini(ds);
	return r;
}

void dataset_fini(struct dataset *ds)
{
	mem_free(ds->directory);
	memset(ds, 0, sizeof(*ds));
}

int dataset_check_ranks(const struct dataset *ds, const struct job *job,
			uint64_t ranks, struct mlgen_err *err)
{
	uint64_t samples = dataset_samples(ds);

	return job->drop_last
		       ? check_full_batches(samples, job->batch_size, ranks,
					    err)
		       : check_shard(samples, job->batch_size, ranks, err);
}

uint64_t dataset_samples(const struct dataset *ds)
{
	return ds->files * ds->samples_per_file;
}

uint64_t dataset_extents(const struct dataset *ds)
{
	return dataset_samples(ds); /* npz and raw: a sample is an extent */
}

void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x)
{
	x->id = id;
	x->file = id / ds->samples_per_file;
	x->first_sample = id % ds->samples_per_file;
	x->samples = 1;
}

int dataset_path(const struct dataset *ds, uint64_t file, char *out,
		 size_t size)
{
	char sub[24] = "";
	int n;

	if (ds->subfolders > 1)
		snprintf(sub, sizeof(sub), "/%0*" PRIu64,
			 (int)digits(ds->subfolders - 1),
			 file % ds->subfolders);
	n = snprintf(out, size,
		     "%s/train%s/img_%0*" PRIu64 "_of_%" PRIu64 ".%s",
		     ds->directory, sub, (int)digits(ds->files_named), file,
		     ds->files_named, ds->format->name);
	return n > 0 && (size_t)n < size ? n : -ENAMETOOLONG;
}

uint64_t dataset_sample_bytes(const struct dataset *ds, uint64_t file)
{
	struct file_shape shape;

	format_shape(ds, file, &shape);
	return format_sample_bytes(&shape);
}

uint64_t dataset_file_bytes(const struct dataset *ds, uint64_t file)
{
	struct file_shape shape;

	format_shape(ds, file, &shape);
	return file_bytes_of(ds, &shape);
}

void dataset_totals(const struct dataset *ds, struct dataset_totals *t)
{
	memset(t, 0, sizeof(*t));
	if (dist_is_const(&ds->sample_size))
		totals_same(ds, t);
	else if (ds->files > EXACT_FILES)
		totals_expected(ds, t);
	else
		totals_exact(ds, t);
}
