/* SPDX-License-Identifier: Apache-2.0 */
/* train_check.c - what relates two options of a training. */
#include "work/train/train_check.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/util.h"
#include "data/scan/scan.h"
#include "job/job.h"
#include "work/train/train_cache_check.h"

/* The kernel's own limit of threads: 2^22, pid_max in proc(5). */
#define THREADS_MAX 4194304.0
/* Samples that loaders may hold ready; each costs a token. */
#define READY_MAX 2147483648.0
/* Offsets are off_t. */
#define BYTES_MAX 9223372036854775807.0

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

static void note_unused(const struct job *j, const char *option, const char *needs, struct diag *d)
{
	if (job_is_changed(j, option))
		diag_add(d, DIAG_NOTE, job_place(j, option), "%s: counts with %s only", option,
			 needs);
}

static const char *access_name(const struct job *j)
{
	return j->access == ACCESS_PLAIN ? "plain" : "recorded";
}

/* ---- the dataset ---- */

static void check_dataset(const struct job *j, struct diag *d)
{
	double files = (double)j->num_files + (double)j->eval_files;
	double bytes = files * (double)j->samples_per_file *
		       (dist_mean(&j->sample_size) + (double)j->label_size_bytes);

	if (bytes > BYTES_MAX)
		FAULT(d, j, "sample_size",
		      "the dataset would have more than 8 EiB; lower sample_size, num_files or "
		      "samples_per_file");
	if (j->subfolders > j->num_files)
		FAULT(d, j, "subfolders",
		      "%" PRIu64 " folders for %" PRIu64 " files; some would be empty",
		      j->subfolders, j->num_files);
}

static void check_scan(const struct job *j, struct diag *d)
{
	static const char *const of_scan[] = { "scan_errors", "scan_key",  "scan_pair",
					       "scan_depth",  "file_list", "scan_cache" };
	struct namepair pair;

	for (size_t i = 0; i < ARRAY_LEN(of_scan); i++)
		if (j->dataset != DATASET_SCAN)
			note_unused(j, of_scan[i], "dataset=scan", d);
	if (j->dataset != DATASET_SCAN)
		return;
	if (j->format != FORMAT_NPZ && j->format != FORMAT_AUTO)
		note_unused(j, "scan_key", "format=npz", d);
	if (j->scan_pair && !namepair_is_none(j->scan_pair) && !namepair_parse(&pair, j->scan_pair))
		FAULT(d, j, "scan_pair",
		      "'%s': is not FROM:TO, two different parts of paths, such as images/:labels/ "
		      "or _x.npy:_y.npy, or none",
		      j->scan_pair);
	if (job_work(j)->only_prepares)
		FAULT(d, j, "dataset",
		      "scan reads the files that are there, so phase=prepare has nothing to write; "
		      "use phase=train, or dataset=made");
}

static void check_format(const struct job *j, struct diag *d)
{
	static const char *const of_parquet[] = { "columns", "read_columns", "row_group_size" };

	for (size_t i = 0; i < ARRAY_LEN(of_parquet); i++)
		if (j->format != FORMAT_PARQUET && j->format != FORMAT_AUTO)
			note_unused(j, of_parquet[i], "format=parquet", d);
	if (j->format == FORMAT_PARQUET && j->read_columns && j->access != ACCESS_FRAMEWORK &&
	    !job_work(j)->only_prepares)
		FAULT(d, j, "read_columns",
		      "access=%s reads whole rows, and knows no columns; use access=framework, or "
		      "leave read_columns out",
		      access_name(j));
	if ((j->format != FORMAT_HDF5 && j->format != FORMAT_AUTO) || j->dataset != DATASET_SCAN)
		note_unused(j, "hdf5_dataset", "format=hdf5 and dataset=scan", d);
	if (j->format == FORMAT_AUTO && j->dataset != DATASET_SCAN)
		FAULT(d, j, "format",
		      "auto is what files that are there are found to be; use dataset=scan, or "
		      "name the format that is to be made");
	if (j->format != FORMAT_NPY)
		note_unused(j, "label_size", "format=npy", d);
}

/* ---- who reads what ---- */

static void check_threads(const struct job *j, struct diag *d)
{
	double threads = (double)j->accelerators * (double)job_read_threads(j);

	if (threads > THREADS_MAX)
		FAULT(d, j, "read_threads",
		      "%" PRIu64 " for each of %" PRIu64
		      " accelerators are more than the %.0f threads that Linux can have",
		      job_read_threads(j), j->accelerators, THREADS_MAX);
}

static void check_prefetch(const struct job *j, struct diag *d)
{
	if (j->read_threads == 0 && j->loader != LOADER_PYTORCH)
		FAULT(d, j, "read_threads",
		      "without any the accelerator reads itself, as PyTorch does; use "
		      "loader=pytorch, or 1 or more");
	else if (j->read_threads == 0 && j->prefetch > 0)
		FAULT(d, j, "prefetch",
		      "%" PRIu64
		      " needs a thread to fetch ahead; use prefetch=0, or read_threads=1 or more",
		      j->prefetch);
	else if (j->read_threads > 0 && j->prefetch == 0)
		FAULT(d, j, "prefetch",
		      "0 reads nothing ahead, for which loader=pytorch has read_threads=0; with "
		      "read_threads=%" PRIu64 " use 1 or more",
		      j->read_threads);
}

static void check_ready(const struct job *j, struct diag *d)
{
	double ranks = (double)j->accelerators;
	double windows = j->loader == LOADER_PYTORCH ? ranks * (double)j->read_threads : ranks;
	double batch = (double)j->batch_size;
	double ready;

	if (j->eval_files)
		batch = fmax(batch, (double)j->eval_batch_size);
	ready = (double)j->prefetch * batch * windows;
	if (ready > READY_MAX)
		FAULT(d, j, "prefetch",
		      "%.0f samples would be ready at once, at most %.0f can be; lower prefetch, "
		      "batch_size or read_threads",
		      ready, READY_MAX);
	else if (ready + ranks * (double)job_shuffle_buffer(j) > READY_MAX)
		FAULT(d, j, "shuffle",
		      "%.0f samples would be ready at once, at most %.0f can be; use a smaller "
		      "buffer",
		      ready + ranks * (double)job_shuffle_buffer(j), READY_MAX);
}

/* Does any sample stand behind any other? */
static bool leaves_files(const struct job *j)
{
	return j->shuffle.kind != SHUFFLE_NONE && j->shuffle.kind != SHUFFLE_FILE &&
	       !job_shuffle_buffer(j);
}

static void check_shuffle(const struct job *j, struct diag *d)
{
	struct buf order = { 0 };

	job_option_text(j, "shuffle", &order);
	if (j->loader == LOADER_TFDATA && leaves_files(j))
		FAULT(d, j, "shuffle",
		      "%s is no order of loader=tfdata, which reads files from front to back; use "
		      "shuffle=file, none or buffer:N",
		      buf_str(&order));
	else if (j->shard == SHARD_FILE && leaves_files(j) && j->shuffle.kind != SHUFFLE_SAMPLE)
		FAULT(d, j, "shard",
		      "file gives every accelerator files of its own, and shuffle=%s is an order "
		      "of all samples; use shard=strided or contiguous",
		      buf_str(&order));
	buf_fini(&order);
	if (j->loader != LOADER_TFDATA && job_shuffle_buffer(j))
		FAULT(d, j, "shuffle",
		      "only loader=tfdata has a buffer to draw samples from; use loader=tfdata, or "
		      "shuffle=sample");
}

static void check_importance(const struct job *j, struct diag *d)
{
	double halves = j->importance_rep * 2;

	if (j->shuffle.kind != SHUFFLE_IMPORTANCE) {
		note_unused(j, "importance_mode", "shuffle=importance", d);
		note_unused(j, "importance_rep", "shuffle=importance", d);
		note_unused(j, "importance_difficulty", "shuffle=importance", d);
		note_unused(j, "importance_decay", "shuffle=importance", d);
		return;
	}
	if (floor(halves) < halves)
		FAULT(d, j, "importance_rep",
		      "%g is no multiple of 0.5, in which samples are repeated; use %g or %g",
		      j->importance_rep, floor(halves) / 2, ceil(halves) / 2);
	if (j->shard == SHARD_CONTIGUOUS)
		FAULT(d, j, "shard",
		      "contiguous cuts an order of all samples, and with shuffle=importance every "
		      "accelerator draws its own; use shard=strided");
}

/* dataset_ratio and a scan have their number of files later. */
static void check_shard(const struct job *j, struct diag *d)
{
	if (j->shard == SHARD_FILE && !job_work(j)->only_prepares && j->dataset == DATASET_MADE &&
	    j->dataset_ratio <= 0 && j->num_files < j->accelerators)
		FAULT(d, j, "shard",
		      "file gives every accelerator files of its own, and there are more ranks "
		      "than files: %" PRIu64 " accelerators, %" PRIu64
		      " files; lower accelerators, raise num_files, or use shard=strided",
		      j->accelerators, j->num_files);
}

static bool can_be_compressed(const struct job *j)
{
	return j->format == FORMAT_AUTO || j->format == FORMAT_TFRECORD ||
	       j->format == FORMAT_HDF5 || j->format == FORMAT_PARQUET;
}

static void check_decompress(const struct job *j, struct diag *d)
{
	if (j->decompress != DECOMPRESS_SLEEP)
		note_unused(j, "decompress_rate", "decompress=sleep", d);
	if (job_work(j)->only_prepares)
		note_unused(j, "decompress", "phase=train", d);
	if (j->decompress == DECOMPRESS_NONE || job_work(j)->only_prepares)
		return;
	if (!can_be_compressed(j))
		FAULT(d, j, "decompress",
		      "only files of format=tfrecord, hdf5 and parquet are known to be compressed "
		      "or not; use decompress=none, and preprocess_time for what decoding takes");
	else if (j->access != ACCESS_FRAMEWORK)
		FAULT(d, j, "decompress",
		      "access=%s reads bytes, whatever they mean; use access=framework, or "
		      "decompress=none",
		      access_name(j));
	if (j->decompress == DECOMPRESS_SLEEP && j->decompress_rate == 0)
		FAULT(d, j, "decompress_rate",
		      "decompress=sleep needs to know how many compressed bytes a thread "
		      "decompresses in a second, such as 100m; decompress=real finds out");
	if (j->decompress == DECOMPRESS_REAL && job_samples_at_once(j) > 1)
		FAULT(d, j, "decompress",
		      "real decompresses one sample at a time, and each thread reads %u; use "
		      "iodepth=1, or decompress=sleep",
		      job_samples_at_once(j));
}

static void check_split(const struct job *j, const char *option, const char *list, struct diag *d)
{
	struct job_read_share shares[JOB_READ_SHARES_MAX];
	struct mlgen_err err = { 0 };

	if (job_read_shares(list, shares, &err) < 0)
		diag_add(d, DIAG_ERROR, job_place(j, option), "%s: %s", option, err.text);
}

static void check_preprocess(const struct job *j, struct diag *d)
{
	bool any = dist_mean(&j->preprocess_time) > 0;
	bool first = dist_mean(&j->first_sample_time) > 0;

	if (!any)
		note_unused(j, "preprocess_split", "preprocess_time", d);
	if (!first)
		note_unused(j, "first_sample_split", "first_sample_time", d);
	if (!any && !first) {
		note_unused(j, "preprocess", "preprocess_time", d);
		note_unused(j, "preprocess_at", "preprocess_time", d);
		return;
	}
	if (j->preprocess_at == PREPROCESS_AT_SAMPLE) {
		note_unused(j, "preprocess_split", "preprocess_at=reads", d);
		note_unused(j, "first_sample_split", "preprocess_at=reads", d);
		return;
	}
	check_split(j, "preprocess_split", j->preprocess_split, d);
	check_split(j, "first_sample_split", j->first_sample_split, d);
	if (j->loader == LOADER_TFDATA)
		FAULT(d, j, "preprocess_at",
		      "loader=tfdata decodes batches that are read; use preprocess_at=sample");
	else if (job_samples_at_once(j) > 1)
		FAULT(d, j, "preprocess_at",
		      "reads are decoded one behind the other, and each thread reads %u samples at "
		      "a time; use iodepth=1, or preprocess_at=sample",
		      job_samples_at_once(j));
}

static void check_fresh_memory(const struct job *j, struct diag *d)
{
	const struct format *format = format_of((enum job_format)j->format);

	if (!j->fresh_memory)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "fresh_memory", "phase=train", d);
	else if (!job_touches_files(j))
		diag_add(d, DIAG_NOTE, job_place(j, "fresh_memory"),
			 "ioengine=%s moves no bytes, so that no memory is touched",
			 j->engine->name);
	else if (j->mem == MEM_HUGEPAGE)
		FAULT(d, j, "fresh_memory",
		      "huge pages are reserved before, and not made anew for a read; use "
		      "mem=malloc, or fresh_memory=0");
	else if (!j->hold_samples && format && format->is_array)
		diag_add(d, DIAG_NOTE, job_place(j, "fresh_memory"),
			 "fresh_memory: arrays of %s, which are new each time, are there only with "
			 "hold_samples=1",
			 format->reader);
}

static void check_first_sample(const struct job *j, struct diag *d)
{
	if (dist_mean(&j->first_sample_time) <= 0)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "first_sample_time", "phase=train", d);
	else if (j->loader == LOADER_TFDATA)
		FAULT(d, j, "first_sample_time",
		      "threads of loader=tfdata read, and others decode; use loader=pytorch or "
		      "plain, or first_sample_time=0");
}

static void check_worker_start(const struct job *j, struct diag *d)
{
	if (dist_mean(&j->worker_start) <= 0)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "worker_start", "phase=train", d);
	else if (j->loader != LOADER_PYTORCH)
		FAULT(d, j, "worker_start",
		      "only workers of loader=pytorch end with an epoch; use loader=pytorch, or "
		      "worker_start=0");
	else if (!j->read_threads)
		note_unused(j, "worker_start", "read_threads", d);
}

static void check_loader(const struct job *j, struct diag *d)
{
	check_decompress(j, d);
	check_threads(j, d);
	check_prefetch(j, d);
	check_ready(j, d);
	check_shuffle(j, d);
	check_importance(j, d);
	check_shard(j, d);
	check_fresh_memory(j, d);
	if (j->loader != LOADER_TFDATA) {
		note_unused(j, "deterministic", "loader=tfdata", d);
		note_unused(j, "decode_threads", "loader=tfdata", d);
	} else if (j->preprocess == PREPROCESS_BURN) {
		note_unused(j, "decode_threads", "preprocess=sleep", d);
	}
	check_preprocess(j, d);
	check_first_sample(j, d);
	check_worker_start(j, d);
	if (job_work(j)->only_prepares)
		note_unused(j, "hold_samples", "phase=train", d);
}

/* ---- how it is read ---- */

/* These a framework reads from the beginning of a file to its end. */
static bool is_stream(const struct job *j)
{
	return j->format == FORMAT_TFRECORD || j->format == FORMAT_TAR;
}

static void check_framework(const struct job *j, struct diag *d)
{
	struct buf format = { 0 };

	/* The files are not known yet: dataset_scan.c asks the same. */
	if (j->format == FORMAT_AUTO)
		return;
	job_option_text(j, "format", &format);
	if (j->format == FORMAT_RAW)
		FAULT(d, j, "access",
		      "framework means the calls of what reads a format, and no framework has "
		      "calls for format=raw; use access=plain, or format=%s",
		      j->dataset == DATASET_SCAN ? "jpeg" : "npz");
	else if (is_stream(j) && j->loader != LOADER_TFDATA)
		FAULT(d, j, "access",
		      "framework reads format=%s from the beginning of a file to its end, which of "
		      "the loaders only tfdata does; use loader=tfdata, or access=plain",
		      buf_str(&format));
	else if (j->direct && !advice_format_takes_direct(j))
		FAULT(d, j, "direct", "no framework reads format=%s with O_DIRECT; use direct=0%s",
		      buf_str(&format), j->read_columns ? "" : ", or access=plain");
	else if (job_is_changed(j, "bs"))
		diag_add(d, DIAG_NOTE, job_place(j, "bs"),
			 "bs: access=framework has sizes of its own; bs counts with access=plain");
	buf_fini(&format);
}

static void check_recorded(const struct job *j, struct diag *d)
{
	if (j->access != ACCESS_RECORDED)
		note_unused(j, "recorded_calls", "access=recorded", d);
	else if (!j->recorded_calls && !job_work(j)->only_prepares)
		FAULT(d, j, "access",
		      "recorded needs the calls that were recorded; name their file with "
		      "recorded_calls=FILE, or use access=plain");
	else if (job_is_changed(j, "bs"))
		diag_add(d, DIAG_NOTE, job_place(j, "bs"),
			 "bs: access=recorded has sizes of its own; bs counts with access=plain");
}

/* ---- what it is for ---- */

static void check_target(const struct job *j, struct diag *d)
{
	if (j->target_au > 0 && dist_mean(&j->compute_time) <= 0)
		diag_add(d, DIAG_NOTE, job_place(j, "compute_time"),
			 "compute_time: 0 leaves no accelerator utilisation to compare with "
			 "target_au");
}

static void check_eval(const struct job *j, struct diag *d)
{
	static const char *const options[] = { "eval_batch_size", "eval_time", "eval_every",
					       "eval_after" };

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (!j->eval_files)
			note_unused(j, options[i], "eval_files", d);
}

static void train_check_direct(const struct job *j, struct diag *d)
{
	/* Checkpoints ask for more than that. */
	if (!j->direct || !j->engine || !job_touches_files(j) || job_has_checkpoints(j))
		return;
	if (j->access == ACCESS_PLAIN && j->bs.read % 512)
		FAULT(d, j, "bs", "%" PRIu64 " is no multiple of 512, which direct=1 needs",
		      j->bs.read);
}

void train_check(const struct job *j, struct diag *d)
{
	check_dataset(j, d);
	check_scan(j, d);
	check_format(j, d);
	check_loader(j, d);
	train_cache_check(j, d);
	if (j->access == ACCESS_FRAMEWORK)
		check_framework(j, d);
	check_recorded(j, d);
	check_target(j, d);
	check_eval(j, d);
	note_unused(j, "verify", "phase=restore", d);
	guess_check(j, d);
	train_check_direct(j, d);
}
