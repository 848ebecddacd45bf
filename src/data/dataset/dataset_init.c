/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_init.c - the dataset of a job: its format, and enough files for all ranks. */
#include "data/dataset/dataset_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/plans/plans.h"
#include "data/scan/scan.h"
#include "job/job.h"
#include "stat/hist.h"

/* ---- a dataset that scale= made for fewer accelerators ---- */

/* Batches per rank and epoch: AU is measured from the second step on. */
#define BATCHES_MIN 2

uint64_t dataset_ranks_for(const struct dataset *ds, uint64_t files)
{
	uint64_t samples, batches;

	if (!ds->scaled.part || files < ds->scaled.part ||
	    __builtin_mul_overflow(files, ds->samples_per_file, &samples))
		return 0;
	batches = samples / ds->scaled.batch;
	return batches / BATCHES_MIN;
}

int dataset_use_existing(struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	struct manifest m;

	/* manifest_read reports what is wrong with a manifest. */
	if (!ds->scaled.part || !job_touches_files(job) ||
	    manifest_load(ds->directory, &m, NULL) < 0)
		return 0;
	bool is_taken = m.complete && m.num_files < ds->files &&
			dataset_ranks_for(ds, m.num_files) >= ds->scaled.ranks;
	if (is_taken) {
		ds->scaled.whole = ds->files;
		ds->files = m.num_files;
		ds->files_named = m.num_files;
	}
	manifest_fini(&m);
	return is_taken ? dataset_check_ranks(ds, job, job_all_accelerators(job), err) : 0;
}

/* ---- bytes of all files, counted or expected ---- */

/* No filesystem holds more bytes, and sums of sizes stay within 64 bits. */
#define DATASET_BYTES_MAX 0x1p62

/* Bytes of all parts of a file. */
static uint64_t parts_bytes(const struct dataset *ds, const struct file_shape *shape)
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
	return parts_bytes(ds, &shape);
}

/* Exact for any number of files, because a scan has all sizes in memory. */
static void totals_of_scan(const struct dataset *ds, struct dataset_totals *t)
{
	struct moments files = { 0 };

	for (uint64_t i = 0; i < ds->files; i++) {
		uint64_t bytes = scan_size(ds->scan, i);

		if (ds->parts > 1)
			bytes = all_parts_bytes(ds, i);
		t->bytes += bytes;
		moments_add(&files, (double)bytes);
	}
	t->row_bytes = ds->found ? scan_index_sample_bytes(ds->found, ds->files) : t->bytes;
	if (ds->labels)
		t->label_files = (double)labels_count(ds->labels, ds->files);
	/* A file's label is read with each of its extents. */
	for (uint64_t i = 0; ds->labels && ds->found && i < ds->files; i++)
		t->row_bytes += labels_bytes(ds->labels, i) *
				(dataset_first_extent(ds, i + 1) - dataset_first_extent(ds, i));
	t->sample_bytes = t->row_bytes;
	t->mean_file_bytes = (double)t->bytes / (double)ds->files;
	if (ds->found && ds->format->look) {
		t->scan_read_bytes = (double)scan_index_read_bytes(ds->found);
		t->scan_seconds = scan_index_seconds(ds->found);
		t->scan_kept_files = (double)scan_index_cached_files(ds->found);
	}
	t->mean_sample_bytes = (double)t->sample_bytes / (double)dataset_samples(ds);
	t->stdev_file_bytes = moments_stdev(&files);
}

int dataset_check_bytes(const struct dataset *ds, double files, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	double bytes = dataset_mean_file_bytes(ds) * files;

	if (bytes < DATASET_BYTES_MAX)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "num_files: the dataset would have %s; lower num_files, samples_per_file "
			  "or sample_size",
			  units_human_bytes(text, bytes));
}

uint64_t dataset_large_file(const struct dataset *ds, uint64_t enough_bytes)
{
	uint64_t step = 1 + (ds->files - 1) / DATASET_EXACT_FILES;
	uint64_t known = 0, largest = 0, most = 0;

	if (!ds->scan && dist_is_const(&ds->sample_size))
		return 0; /* all files have the same size */
	if (ds->memo)
		known = atomic_load_explicit(&ds->memo->largest_file, memory_order_relaxed);
	if (known)
		return known - 1;
	for (uint64_t i = 0; i < ds->files && most < enough_bytes; i += step) {
		uint64_t bytes = 0;

		/* For a pair, the bytes of both files belong to samples. */
		for (unsigned part = 0; part < dataset_sample_parts(ds); part++)
			bytes += dataset_file_bytes(ds, part * ds->files + i);
		if (bytes > most) {
			most = bytes;
			largest = i;
		}
	}
	/* Relaxed order suffices: another thread finds and stores the same index. */
	if (ds->memo && most < enough_bytes)
		atomic_store_explicit(&ds->memo->largest_file, largest + 1, memory_order_relaxed);
	return largest;
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

	return (double)parts_bytes(ds, &shape) + rest * (double)ds->samples_per_file;
}

void dataset_totals(const struct dataset *ds, struct dataset_totals *t)
{
	*t = (struct dataset_totals){ .scan_read_bytes = (double)NAN,
				      .scan_seconds = (double)NAN,
				      .scan_kept_files = (double)NAN,
				      .label_files = (double)NAN };
	if (ds->scan) {
		totals_of_scan(ds, t);
	} else if (dist_is_const(&ds->sample_size)) {
		t->bytes = ds->files * all_parts_bytes(ds, 0);
		t->sample_bytes = dataset_samples(ds) * dataset_sample_bytes(ds, 0);
		t->row_bytes = dataset_samples(ds) * dataset_row_bytes(ds, 0);
		t->mean_file_bytes = (double)all_parts_bytes(ds, 0);
		t->mean_sample_bytes = (double)dataset_sample_bytes(ds, 0);
	} else if (ds->files > DATASET_EXACT_FILES) {
		t->estimate = true;
		t->mean_sample_bytes = dist_mean(&ds->sample_size);
		t->mean_file_bytes = dataset_mean_file_bytes(ds);
		t->stdev_file_bytes = dist_stdev(&ds->sample_size) * (double)ds->samples_per_file;
		t->bytes = (uint64_t)((double)ds->files * t->mean_file_bytes);
		t->sample_bytes = t->row_bytes =
			(uint64_t)((double)dataset_samples(ds) * t->mean_sample_bytes);
	} else {
		struct moments files = { 0 };

		for (uint64_t i = 0; i < ds->files; i++) {
			struct file_shape shape;

			format_shape(ds, i, &shape);
			uint64_t bytes = parts_bytes(ds, &shape);
			t->bytes += bytes;
			t->sample_bytes += shape.samples * format_sample_bytes(&shape);
			moments_add(&files, (double)bytes);
		}
		t->row_bytes = t->sample_bytes;
		t->mean_file_bytes = files.mean;
		t->stdev_file_bytes = moments_stdev(&files);
		t->mean_sample_bytes = (double)t->sample_bytes / (double)dataset_samples(ds);
	}
}

/* ---- the dataset of a job ---- */

#define TRAIN_FOLDER "train"
#define EVAL_FOLDER "valid"
/* Bytes of "." and ".part", which surround the name of a file while it is written. */
#define TEMPORARY_NAME_BYTES 6
/* Minimum number of batches per rank that scale leaves. */
#define SCALED_BATCHES 4

static double files_by_ratio(const struct dataset *ds, const struct job *job, uint64_t memory_bytes)
{
	double want = job->dataset_ratio * (double)memory_bytes;
	double files = ceil(want / dataset_mean_file_bytes(ds));
	struct dataset trial = *ds;
	struct dataset_totals totals;

	/* The sum of drawn sizes may be a little less than the mean predicts: add a few files. */
	for (unsigned i = 0; i < 3 && files <= (double)DATASET_EXACT_FILES; i++) {
		trial.files = files < 1 ? 1 : (uint64_t)files;
		dataset_totals(&trial, &totals);
		if ((double)totals.bytes >= want)
			break;
		files += ceil((want - (double)totals.bytes) / dataset_mean_file_bytes(ds));
	}
	return files < 1 ? 1 : files;
}

static const struct job *scaled_as(const struct job *job)
{
	return job->scaled_as ? job->scaled_as : job;
}

static uint64_t scaled_part(const struct job *job, uint64_t files)
{
	return (uint64_t)ceil((double)files * (job->scale / 100));
}

/* The scaled part of the files, but enough for `batches` batches of every rank. */
static uint64_t files_by_scale(const struct dataset *ds, const struct job *job, uint64_t files,
			       uint64_t batch, uint64_t batches)
{
	uint64_t part = scaled_part(job, files);
	uint64_t samples, least;

	if (__builtin_mul_overflow(batch, job_all_accelerators(scaled_as(job)), &samples) ||
	    __builtin_mul_overflow(samples, batches, &samples))
		return files;
	least = divide_up(samples, ds->samples_per_file);
	if (part < least)
		part = least;
	return part < files ? part : files;
}

static int choose_files(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
			struct mlgen_err *err)
{
	uint64_t batch = scaled_as(job)->batch_size, part;
	double files = (double)job->num_files;

	if (job->dataset_ratio > 0)
		files = files_by_ratio(ds, job, memory_bytes);
	int r = dataset_check_bytes(ds, files, err);
	if (r)
		return r;
	ds->files = job->dataset_ratio > 0 ? (uint64_t)files : job->num_files;
	part = scaled_part(job, ds->files);
	if (job->scale < 100)
		ds->files = files_by_scale(ds, job, ds->files, batch, SCALED_BATCHES);
	if (job->scale < 100 && ds->files > part) {
		ds->scaled.part = part;
		ds->scaled.batch = batch;
		ds->scaled.ranks = job_all_accelerators(scaled_as(job));
	}
	ds->files_named = ds->files;
	return 0;
}

static uint64_t eval_batch(const struct job *job)
{
	return job->eval_batch_size ? job->eval_batch_size : job->batch_size;
}

static int check_names(const struct dataset *ds, struct mlgen_err *err)
{
	char path[PATH_MAX - TEMPORARY_NAME_BYTES];
	int r = 0;

	for (uint64_t part = 1; part <= ds->parts && r >= 0; part++)
		r = dataset_path(ds, part * ds->files - 1, path, sizeof(path));
	if (r >= 0)
		return 0;
	return mlgen_fail(err, -ENAMETOOLONG,
			  "directory: %.60s... is too long for the names of files in it",
			  ds->directory);
}

static int check_eval(const struct dataset *eval, const struct job *job, struct mlgen_err *err)
{
	uint64_t samples = dataset_samples(eval), batch = eval_batch(job);

	if (!job->drop_last || samples / batch / job_all_accelerators(job) > 0)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "eval_files: %" PRIu64 " with %" PRIu64
			  " samples are less than one eval_batch_size of %" PRIu64
			  " for each of %" PRIu64
			  " accelerators; use more eval_files or a smaller eval_batch_size",
			  eval->files, samples, batch, job_all_accelerators(job));
}

bool dataset_makes_files(const struct dataset *ds, const struct job *job)
{
	return advice_makes_files(job) && !(ds && ds->is_found);
}

int dataset_init_format(struct dataset *ds, struct mlgen_err *err)
{
	const struct format *f = ds->format;

	ds->parts = ds->labels ? 2 : 1;
	ds->extent_samples = 1;
	ds->split = TRAIN_FOLDER;
	if (f->needs)
		return mlgen_fail(err, -EINVAL,
				  "format: %s is not supported, because mlgen was built without "
				  "%s; install it (./configure --install-deps) and build again",
				  f->name, f->needs);
	if (ds->options.label_size_bytes && f != &format_npy)
		return mlgen_fail(err, -EINVAL,
				  "label_size: only format=npy has files of labels, format=%s has "
				  "none; drop label_size",
				  f->name);
	return f->init && !ds->is_found ? f->init(ds, err) : 0;
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static struct format_options options_of(const struct job *job)
{
	bool has_pairs =
		job->dataset == DATASET_SCAN && job->scan_pair && !namepair_is_none(job->scan_pair);

	return (struct format_options){
		.label_size_bytes = job->label_size_bytes,
		.row_group_size = job->row_group_size,
		.access = job->access,
		.decompress = job->decompress,
		.columns = copy_of(job->columns),
		.read_columns = copy_of(job->read_columns),
		.scan_key = copy_of(job->scan_key),
		.hdf5_dataset = copy_of(job->hdf5_dataset),
		.scan_pair = has_pairs ? copy_of(job->scan_pair) : NULL,
	};
}

/* Set what is known about existing files before the scan. */
static void init_common(struct dataset *ds, const struct job *job)
{
	ds->is_found = true;
	ds->samples_per_file = 1;
	ds->subfolders = 1;
	ds->parts = 1;
	ds->extent_samples = 1;
	ds->options = options_of(job);
}

/* Scale the number of files, which must suffice for `batches` batches of each rank. */
static int settle_scanned(struct dataset *ds, const struct job *job, uint64_t batch,
			  uint64_t batches, struct mlgen_err *err)
{
	if (job->scale < 100)
		ds->files = files_by_scale(ds, job, ds->files, batch, batches);
	ds->files_named = ds->files;
	dataset_scan_mean(ds);
	return ds->found ? 0 : dataset_init_format(ds, err);
}

static int init_scanned_eval(struct dataset *eval, const struct dataset *train,
			     const struct job *job, struct dataset_received *given,
			     struct mlgen_err *err)
{
	memset(eval, 0, sizeof(*eval));
	init_common(eval, job);
	eval->recorded = recorded_ref(train->recorded);
	int r = dataset_scan_eval(eval, train, job, given, err);
	if (r == 0)
		r = settle_scanned(eval, job, eval_batch(scaled_as(job)), 1, err);
	eval->split = EVAL_FOLDER;
	if (r == 0)
		dataset_number_eval(eval, train, eval->files);
	return r;
}

int dataset_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		 struct mlgen_err *err)
{
	return dataset_init_received(ds, job, memory_bytes, NULL, err);
}

int dataset_init_received(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
			  struct dataset_received *given, struct mlgen_err *err)
{
	int r = 0;

	memset(ds, 0, sizeof(*ds));
	ds->memo = mem_zalloc(sizeof(*ds->memo));
	ds->format = format_of((enum job_format)job->format);

	/* The directory without trailing slashes. */
	const char *d = job->directory ? job->directory : ".";
	size_t n = strlen(d);

	while (n > 1 && d[n - 1] == '/')
		n--;
	ds->directory = mem_strndup(d, n);
	if (job->access == ACCESS_RECORDED && !job_work(job)->only_prepares) {
		r = recorded_read(&ds->recorded, job->recorded_calls, (unsigned)job->kb_base, err);
		if (r == 0)
			ds->recorded->seed = job->randseed;
	}
	if (r == 0 && (given ? given->is_found : dataset_uses_scan(ds, job))) {
		init_common(ds, job);
		r = dataset_scan(ds, job, given, err);
		if (r == 0)
			r = settle_scanned(ds, job, scaled_as(job)->batch_size, SCALED_BATCHES,
					   err);
	} else if (r == 0) {
		ds->samples_per_file = job->samples_per_file;
		ds->subfolders = job->subfolders ? job->subfolders : 1;
		ds->sample_size = job->sample_size;
		dist_ref(&ds->sample_size);
		ds->options = options_of(job);
		r = dataset_init_format(ds, err);
		if (r == 0)
			r = choose_files(ds, job, memory_bytes, err);
		if (r == 0)
			r = check_names(ds, err);
	}
	if (r == 0 && !job_work(job)->only_prepares && job->decompress != DECOMPRESS_NONE &&
	    !dataset_packed_max(ds))
		r = mlgen_fail(err, -EINVAL, "decompress: %s %s; use decompress=none",
			       ds->found ? "no files are compressed in"
					 : "mlgen knows of no compressed files in",
			       ds->directory);
	if (r == 0 && !job_work(job)->only_prepares)
		r = dataset_check_ranks(ds, job, job_all_accelerators(job), err);
	if (r)
		dataset_fini(ds);
	return r;
}

void dataset_fini(struct dataset *ds)
{
	if (ds->format && ds->format->fini)
		ds->format->fini(ds);
	dist_unref(&ds->sample_size);
	recorded_free(ds->recorded);
	mem_free(ds->options.columns);
	mem_free(ds->options.read_columns);
	mem_free(ds->options.scan_key);
	mem_free(ds->options.hdf5_dataset);
	mem_free(ds->options.scan_pair);
	mem_free(ds->directory);
	scan_index_free(ds->found);
	labels_free(ds->labels);
	mem_free(ds->memo);
	scan_free(ds->scan);
	memset(ds, 0, sizeof(*ds));
}

int dataset_init_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct mlgen_err *err)
{
	return dataset_init_eval_received(eval, train, job, NULL, err);
}

int dataset_init_eval_received(struct dataset *eval, const struct dataset *train,
			       const struct job *job, struct dataset_received *given,
			       struct mlgen_err *err)
{
	/* Scale leaves enough files for one step. */
	uint64_t files = job->scale < 100 ? files_by_scale(train, job, job->eval_files,
							   eval_batch(scaled_as(job)), 1)
					  : job->eval_files;
	int r = train->scan && files ? init_scanned_eval(eval, train, job, given, err)
				     : dataset_init_split(eval, train, files, err);

	if (r == 0 && eval->files && !job_work(job)->only_prepares)
		r = check_eval(eval, job, err);
	if (r)
		dataset_fini(eval);
	return r;
}

int dataset_init_split(struct dataset *eval, const struct dataset *train, uint64_t files,
		       struct mlgen_err *err)
{
	const struct format_options *o = &train->options;

	memset(eval, 0, sizeof(*eval));
	if (files == 0)
		return 0;
	*eval = (struct dataset){
		.format = train->format,
		.directory = mem_strdup(train->directory),
		.files = files,
		.samples_per_file = train->samples_per_file,
		.subfolders = train->subfolders,
		.sample_size = train->sample_size,
		.options = *o,
		.memo = mem_zalloc(sizeof(*eval->memo)),
	};
	dist_ref(&eval->sample_size);
	eval->recorded = recorded_ref(train->recorded);
	eval->options.columns = copy_of(o->columns);
	eval->options.read_columns = copy_of(o->read_columns);
	eval->options.scan_key = copy_of(o->scan_key);
	eval->options.hdf5_dataset = copy_of(o->hdf5_dataset);
	eval->options.scan_pair = copy_of(o->scan_pair);
	int r = dataset_init_format(eval, err);
	if (r == 0)
		r = dataset_check_bytes(eval, (double)files, err);
	eval->split = EVAL_FOLDER;
	dataset_number_eval(eval, train, files);
	if (r == 0)
		r = check_names(eval, err);
	if (r)
		dataset_fini(eval);
	return r;
}

void dataset_number_eval(struct dataset *eval, const struct dataset *train, uint64_t files_named)
{
	eval->files_named = files_named;
	eval->first_size = train->files_named;
	eval->first_content = train->files_named * train->parts;
}

int dataset_check_ranks(const struct dataset *ds, const struct job *job, uint64_t ranks,
			struct mlgen_err *err)
{
	const char *more = advice_more_files(job, dataset_makes_files(ds, job));
	uint64_t samples = dataset_samples(ds);
	uint64_t batch = job->batch_size;

	/* Without drop_last, an order too short to give each rank a full batch is padded, and all
	 * batches are short. */
	if (!job->drop_last || samples / batch / ranks > 0)
		return 0;
	if (ranks == 1)
		return mlgen_fail(err, -EINVAL,
				  "batch_size: %" PRIu64 " is more than the %" PRIu64
				  " samples of the dataset; %s or a smaller batch_size",
				  batch, samples, more);
	return mlgen_fail(
		err, -EINVAL,
		"accelerators: %" PRIu64 " need at least %" PRIu64 " x batch_size %" PRIu64
		" = %.15g samples per step, the dataset has %" PRIu64 "; %s or fewer accelerators",
		ranks, ranks, batch, (double)ranks * (double)batch, samples, more);
}
