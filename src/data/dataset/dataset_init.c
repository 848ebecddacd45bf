/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_init.c - the dataset of a job: how many files, of which format, enough for all ranks. */
#include "data/file/file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/dataset/dataset.h"
#include "data/dataset/dataset_internal.h"
#include "data/plans/plans.h"
#include "data/scan/scan.h"
#include "job/job.h"

#define TRAIN_FOLDER "train"
#define EVAL_FOLDER "valid"
/* What the name of a file gets while it is written: "." and ".part". */
#define TEMPORARY_EXTRA 6
/* Of every rank, that scale leaves. */
#define SCALED_BATCHES 4

/* A directory without the slashes behind it. */
static char *dataset_directory_of(const struct job *job)
{
	const char *d = job->directory ? job->directory : ".";
	size_t n = strlen(d);

	while (n > 1 && d[n - 1] == '/')
		n--;
	return mem_strndup(d, n);
}

static double files_by_ratio(const struct dataset *ds, const struct job *job, uint64_t memory_bytes)
{
	double want = job->dataset_ratio * (double)memory_bytes;
	double files = ceil(want / dataset_mean_file_bytes(ds));
	struct dataset trial = *ds;
	struct dataset_totals totals;

	/* Sizes that are drawn may add up to a little less than their mean says: a few files more
	 * then. */
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

static uint64_t part_of(const struct job *job, uint64_t files)
{
	return (uint64_t)ceil((double)files * (job->scale / 100));
}

/* A part of the files, but enough for so many batches of every rank. */
static uint64_t files_by_scale(const struct dataset *ds, const struct job *job, uint64_t files,
			       uint64_t batch, uint64_t batches)
{
	uint64_t part = part_of(job, files);
	uint64_t samples, least;

	if (__builtin_mul_overflow(batch, job_all_accelerators(scaled_as(job)), &samples) ||
	    __builtin_mul_overflow(samples, batches, &samples))
		return files;
	least = divide_up(samples, ds->samples_per_file);
	if (part < least)
		part = least;
	return part < files ? part : files;
}

static void scale_files(struct dataset *ds, const struct job *job)
{
	uint64_t part = part_of(job, ds->files);

	ds->files = files_by_scale(ds, job, ds->files, scaled_as(job)->batch_size, SCALED_BATCHES);
	if (ds->files <= part)
		return;
	ds->scaled.part = part;
	ds->scaled.batch = scaled_as(job)->batch_size;
	ds->scaled.ranks = job_all_accelerators(scaled_as(job));
}

static int choose_files(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
			struct mlgen_err *err)
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
		scale_files(ds, job);
	ds->files_named = ds->files;
	return 0;
}

static uint64_t eval_batch(const struct job *job)
{
	return job->eval_batch_size ? job->eval_batch_size : job->batch_size;
}

/* What is evaluated in a step is at least left. */
static uint64_t eval_files(const struct dataset *ds, const struct job *job)
{
	return job->scale < 100
		       ? files_by_scale(ds, job, job->eval_files, eval_batch(scaled_as(job)), 1)
		       : job->eval_files;
}

static int check_names(const struct dataset *ds, struct mlgen_err *err)
{
	char path[PATH_MAX - TEMPORARY_EXTRA];
	int r = 0;

	for (uint64_t part = 1; part <= ds->parts && r >= 0; part++)
		r = dataset_path(ds, part * ds->files - 1, path, sizeof(path));
	if (r >= 0)
		return 0;
	return mlgen_fail(err, -ENAMETOOLONG,
			  "directory: %.60s... is too long for the names of files in it",
			  ds->directory);
}

static int check_full_batches(const struct dataset *ds, const struct job *job, uint64_t ranks,
			      struct mlgen_err *err)
{
	const char *more = advice_more_files(job, dataset_makes_files(ds, job));
	uint64_t samples = dataset_samples(ds);
	uint64_t batch = job->batch_size;

	if (samples / batch / ranks > 0)
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

static int check_eval(const struct dataset *eval, const struct job *job, struct mlgen_err *err)
{
	uint64_t samples = dataset_samples(eval), batch = eval_batch(job);

	if (!job->drop_last || samples / batch / job_all_accelerators(job) > 0)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "eval_files: %" PRIu64 " with %" PRIu64
			  " samples are not one eval_batch_size of %" PRIu64 " for each of %" PRIu64
			  " accelerators; more eval_files or a smaller eval_batch_size",
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
				  "format: %s was left out of this mlgen, which was built without "
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

static int init_made(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		     struct mlgen_err *err)
{
	int r;

	ds->samples_per_file = job->samples_per_file;
	ds->subfolders = job->subfolders ? job->subfolders : 1;
	ds->sample_size = job->sample_size;
	dist_hold(&ds->sample_size);
	ds->options = options_of(job);
	r = dataset_init_format(ds, err);
	if (r == 0)
		r = choose_files(ds, job, memory_bytes, err);
	return r ? r : check_names(ds, err);
}

/* What its files have in common before they are known. */
static void begin_found(struct dataset *ds, const struct job *job)
{
	ds->is_found = true;
	ds->samples_per_file = 1;
	ds->subfolders = 1;
	ds->parts = 1;
	ds->extent_samples = 1;
	ds->options = options_of(job);
}

/* A part of so many files, of which samples are asked for in batches. */
static int settle_found(struct dataset *ds, const struct job *job, uint64_t batch, uint64_t batches,
			struct mlgen_err *err)
{
	if (job->scale < 100)
		ds->files = files_by_scale(ds, job, ds->files, batch, batches);
	ds->files_named = ds->files;
	dataset_scan_mean(ds);
	return ds->found ? 0 : dataset_init_format(ds, err);
}

static int init_found(struct dataset *ds, const struct job *job, struct dataset_given *given,
		      struct mlgen_err *err)
{
	int r;

	begin_found(ds, job);
	r = dataset_scan(ds, job, given, err);
	return r ? r : settle_found(ds, job, scaled_as(job)->batch_size, SCALED_BATCHES, err);
}

static int init_found_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
			   struct dataset_given *given, struct mlgen_err *err)
{
	int r;

	memset(eval, 0, sizeof(*eval));
	begin_found(eval, job);
	eval->recorded = recorded_hold(train->recorded);
	r = dataset_scan_eval(eval, train, job, given, err);
	if (r == 0)
		r = settle_found(eval, job, eval_batch(scaled_as(job)), 1, err);
	eval->split = EVAL_FOLDER;
	if (r == 0)
		dataset_place_eval(eval, train, eval->files);
	return r;
}

static int check_packed(const struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	if (job->decompress == DECOMPRESS_NONE || dataset_packed_most(ds))
		return 0;
	return mlgen_fail(err, -EINVAL, "decompress: %s %s; use decompress=none",
			  ds->found ? "nothing is compressed in the files of"
				    : "mlgen knows of nothing compressed in",
			  ds->directory);
}

static int read_recorded(struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	int r;

	if (job->access != ACCESS_RECORDED || job_work(job)->only_prepares)
		return 0;
	r = recorded_read(&ds->recorded, job->recorded_calls, (unsigned)job->kb_base, err);
	if (r == 0)
		ds->recorded->seed = job->randseed;
	return r;
}

static bool takes_files(const struct dataset *ds, const struct job *job,
			const struct dataset_given *given)
{
	return given ? given->is_found : dataset_scan_takes(ds, job);
}

int dataset_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		 struct mlgen_err *err)
{
	return dataset_given_init(ds, job, memory_bytes, NULL, err);
}

int dataset_given_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		       struct dataset_given *given, struct mlgen_err *err)
{
	int r;

	memset(ds, 0, sizeof(*ds));
	ds->known = mem_zalloc(sizeof(*ds->known));
	ds->format = format_of((enum job_format)job->format);
	ds->directory = dataset_directory_of(job);
	r = read_recorded(ds, job, err);
	if (r == 0)
		r = takes_files(ds, job, given) ? init_found(ds, job, given, err)
						: init_made(ds, job, memory_bytes, err);
	if (r == 0 && !job_work(job)->only_prepares)
		r = check_packed(ds, job, err);
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
	dist_drop(&ds->sample_size);
	recorded_free(ds->recorded);
	mem_free(ds->options.columns);
	mem_free(ds->options.read_columns);
	mem_free(ds->options.scan_key);
	mem_free(ds->options.hdf5_dataset);
	mem_free(ds->options.scan_pair);
	mem_free(ds->directory);
	found_free(ds->found);
	labels_free(ds->labels);
	mem_free(ds->known);
	scan_free(ds->scan);
	memset(ds, 0, sizeof(*ds));
}

int dataset_init_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct mlgen_err *err)
{
	return dataset_given_init_eval(eval, train, job, NULL, err);
}

int dataset_given_init_eval(struct dataset *eval, const struct dataset *train,
			    const struct job *job, struct dataset_given *given,
			    struct mlgen_err *err)
{
	uint64_t files = eval_files(train, job);
	int r = train->scan && files ? init_found_eval(eval, train, job, given, err)
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
	int r;

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
		.known = mem_zalloc(sizeof(*eval->known)),
	};
	dist_hold(&eval->sample_size);
	eval->recorded = recorded_hold(train->recorded);
	eval->options.columns = copy_of(o->columns);
	eval->options.read_columns = copy_of(o->read_columns);
	eval->options.scan_key = copy_of(o->scan_key);
	eval->options.hdf5_dataset = copy_of(o->hdf5_dataset);
	eval->options.scan_pair = copy_of(o->scan_pair);
	r = dataset_init_format(eval, err);
	if (r == 0)
		r = dataset_check_bytes(eval, (double)files, err);
	eval->split = EVAL_FOLDER;
	dataset_place_eval(eval, train, files);
	if (r == 0)
		r = check_names(eval, err);
	if (r)
		dataset_fini(eval);
	return r;
}

void dataset_place_eval(struct dataset *eval, const struct dataset *train, uint64_t files_named)
{
	eval->files_named = files_named;
	eval->first_size = train->files_named;
	eval->first_content = train->files_named * train->parts;
}

int dataset_check_ranks(const struct dataset *ds, const struct job *job, uint64_t ranks,
			struct mlgen_err *err)
{
	/* Otherwise an order that is too short for one batch each is padded, and all batches are
	 * short. */
	return job->drop_last ? check_full_batches(ds, job, ranks, err) : 0;
}
