/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the options of a job and their defaults. */
#include "job/job.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/words.h"

/* clang-format off */
static const struct mlgen_choice phases[] = {
	{ "train", PHASE_TRAIN, "read the dataset as a training job does" },
	{ "prepare", PHASE_PREPARE, "write or complete the dataset and check all of it" },
	{ 0 },
};

static const struct mlgen_choice formats[] = {
	{ "npz", FORMAT_NPZ, "NumPy archives, uncompressed; NumPy loads them" },
	{ "raw", FORMAT_RAW, "the samples' bytes and nothing else" },
	{ 0 },
};

static const struct mlgen_choice loaders[] = {
	{ "pytorch", LOADER_PYTORCH, "batch k of an accelerator is read by thread k modulo read_threads and delivered in order" },
	{ "plain", LOADER_PLAIN, "each sample is read by whichever thread is free; a full batch is delivered" },
	{ 0 },
};

static const struct mlgen_choice shuffles[] = {
	{ "none", SHUFFLE_NONE, "in the order of the files" },
	{ "sample", SHUFFLE_SAMPLE, "every sample in a new random order each epoch" },
	{ "file", SHUFFLE_FILE, "files in a new random order each epoch, each read front to back" },
	{ 0 },
};

static const struct mlgen_choice shards[] = {
	{ "strided", SHARD_STRIDED, "accelerator r of n takes the samples r, r+n, r+2n, ..." },
	{ "contiguous", SHARD_CONTIGUOUS, "accelerator r of n takes the r-th n-th of the order" },
	{ 0 },
};

static const struct mlgen_choice barriers[] = {
	{ "none", BARRIER_NONE, "nobody waits for anybody" },
	{ "step", BARRIER_STEP, "all wait for the slowest after every step, as when gradients are summed" },
	{ "epoch", BARRIER_EPOCH, "all wait for the slowest at the end of an epoch" },
	{ 0 },
};

static const struct mlgen_choice accesses[] = {
	{ "plain", ACCESS_PLAIN, "open, the bytes in requests of bs, close" },
	{ "framework", ACCESS_FRAMEWORK, "the opens, stats, reads and closes of the framework, with its sizes and in its order: NumPy's for npz" },
	{ 0 },
};

static const struct mlgen_choice invalidates[] = {
	{ "0", INVALIDATE_NONE, "the page cache is left as it is" },
	{ "run", INVALIDATE_RUN, "the job's files leave the page cache before the run" },
	{ "epoch", INVALIDATE_EPOCH, "they leave it before every epoch" },
	{ "1", INVALIDATE_RUN, "as run" },
	{ 0 },
};

static const struct mlgen_choice numas[] = {
	{ "none", NUMA_NONE, "wherever the kernel puts them" },
	{ "device", NUMA_DEVICE, "on the CPUs of the node that the dataset's disk is attached to; their buffers lie there, too" },
	{ 0 },
};

static const struct mlgen_choice continues[] = {
	{ "none", CONTINUE_NONE, "the first error ends the run" },
	{ "read", CONTINUE_READ, "errors of reads are counted, the run goes on" },
	{ "write", CONTINUE_WRITE, "errors of writes are counted" },
	{ "io", CONTINUE_IO, "errors of reads and writes are counted" },
	{ "all", CONTINUE_ALL, "errors of every operation are counted" },
	{ "0", CONTINUE_NONE, "as none" },
	{ "1", CONTINUE_ALL, "as all" },
	{ 0 },
};

static const struct mlgen_choice kb_bases[] = {
	{ "1024", 1024, "k, kB and KiB are 1024 bytes" },
	{ "1000", 1000, "k and kB are 1000 bytes, KiB stays 1024" },
	{ 0 },
};

/* The units in which limits are held: ns and bytes. */
#define NS_PER_S 1e9
#define NS_PER_DAY (86400 * NS_PER_S)
#define KI 1024.0
#define MI (KI * KI)
#define GI (KI * MI)
#define TI (KI * GI)

/* No test runs for longer than a year; a longer time is a slip of units. */
#define LONGEST_RUN (366 * NS_PER_DAY)

/* Exact in a double, and products of two counts fit uint64_t (job_check). */
#define MOST_FILES 1e10
#define MOST_SAMPLES_PER_FILE 1e8
#define MOST_STEPS 1e15

const struct mlgen_field job_fields[] = {
	{ "phase", MLGEN_F_ENUM(struct job, phase, phases),
	  .def = "train", .group = "Job",
	  .help = "What the job does." },
	{ "directory", MLGEN_F_STR(struct job, directory),
	  .def = "mlgen-data/$jobname", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Directory of the dataset, made when it is missing.\n"
		  "DLIO: dataset.data_folder." },
	{ "startdelay", MLGEN_F_TIME(struct job, startdelay_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Wait this long before the job starts." },
	{ "stonewall", MLGEN_F_BOOL(struct job, stonewall),
	  .def = "0", .group = "Job", .alias = "wait_for_previous", .flags = MLGEN_FIO,
	  .help = "Wait for all jobs above to end before this one starts." },
	{ "runtime", MLGEN_F_TIME(struct job, runtime_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .alias = "timeout", .flags = MLGEN_FIO,
	  .help = "End the run after this time; 0 is no limit.\n"
		  "Of runtime, steps and epochs the first that is reached ends the run." },
	{ "time_based", MLGEN_F_BOOL(struct job, time_based),
	  .def = "0", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Repeat epochs until runtime has passed." },
	{ "ramp_time", MLGEN_F_TIME(struct job, ramp_time_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Run this long before anything is counted." },
	{ "randseed", MLGEN_F_U64(struct job, randseed),
	  .def = "123", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Seed of everything random; the same seed reads the same samples in the same order.\n"
		  "DLIO: train.seed." },
	{ "cpus_allowed", MLGEN_F_STR(struct job, cpus_allowed),
	  .group = "Job", .flags = MLGEN_FIO,
	  .help = "Run the job's threads on these CPUs only, such as 0-3,8." },
	{ "numa_cpu_nodes", MLGEN_F_STR(struct job, numa_cpu_nodes),
	  .group = "Job", .flags = MLGEN_FIO,
	  .help = "Run the job's threads on the CPUs of these NUMA nodes only, such as 0,2-3; all is every node." },
	{ "numa", MLGEN_F_ENUM(struct job, numa, numas),
	  .def = "none", .group = "Job",
	  .help = "On which NUMA node read threads run." },
	{ "continue_on_error", MLGEN_F_ENUM(struct job, continue_on_error, continues),
	  .def = "none", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Which I/O errors are counted instead of ending the run." },
	{ "kb_base", MLGEN_F_ENUM(struct job, kb_base, kb_bases),
	  .def = "1024", .group = "Job", .flags = MLGEN_FIO,
	  .help = "What k, m, g, t and p mean in the sizes of this job." },

	{ "format", MLGEN_F_ENUM(struct job, format, formats),
	  .def = "npz", .group = "Dataset",
	  .help = "File format of the dataset.\n"
		  "DLIO: dataset.format." },
	{ "num_files", MLGEN_F_U64(struct job, num_files),
	  .def = "256", .min = 1, .max = MOST_FILES, .unit = "files", .group = "Dataset",
	  .help = "Files of the dataset.\n"
		  "DLIO: dataset.num_files_train." },
	{ "samples_per_file", MLGEN_F_U64(struct job, samples_per_file),
	  .def = "1", .min = 1, .max = MOST_SAMPLES_PER_FILE, .unit = "samples", .group = "Dataset",
	  .help = "Samples in each file; a sample is what is read and consumed as one.\n"
		  "DLIO: dataset.num_samples_per_file." },
	{ "subfolders", MLGEN_F_U64(struct job, subfolders),
	  .def = "0", .max = 1e6, .unit = "folders", .group = "Dataset",
	  .help = "Spread the files over this many folders; 0 is all in one.\n"
		  "DLIO: dataset.num_subfolders_train." },
	{ "sample_size", FIELD_SIZE_DIST(struct job, sample_size),
	  .def = "2m", .min = 1, .max = TI, .unit = "bytes", .group = "Dataset",
	  .help = "Bytes of one sample, without what the format adds; a size or a distribution.\n"
		  "Distributions: normal:MEAN:STDEV, uniform:MIN:MAX,\n"
		  "lognormal:MEAN:STDEV, exponential:MEAN,\n"
		  "gamma:SHAPE:SCALE, dlio:MEAN:STDEV.\n"
		  "DLIO: dataset.record_length_bytes and its stdev, drawn as dlio: does." },
	{ "scale", MLGEN_F_PERCENT(struct job, scale),
	  .def = "100%", .min = 0.001, .max = 100, .group = "Dataset",
	  .help = "Use this part of num_files, but enough for four batches of every accelerator." },
	{ "dataset_ratio", MLGEN_F_F64(struct job, dataset_ratio),
	  .def = "0", .max = 1000, .unit = "x memory", .group = "Dataset",
	  .help = "Choose num_files so that the dataset is this many times this host's memory; 0 keeps num_files.\n"
		  "MLPerf Storage asks for 5, so that the page cache cannot hold it." },

	{ "accelerator", MLGEN_F_STR(struct job, accelerator),
	  .group = "Accelerator", .flags = MLGEN_SELECTS,
	  .help = "Name of the simulated accelerator; selects the [accelerator=NAME] section of the job.\n"
		  "Without such sections it is a label for the report." },
	{ "accelerators", MLGEN_F_U64(struct job, accelerators),
	  .def = "1", .min = 1, .max = 65536, .group = "Accelerator",
	  .help = "Number of simulated accelerators on this host.\n"
		  "PyTorch: ranks of this host." },
	{ "batch_size", MLGEN_F_U64(struct job, batch_size),
	  .def = "1", .min = 1, .max = 16 * MI, .unit = "samples", .group = "Accelerator",
	  .help = "Samples that one accelerator consumes per step.\n"
		  "DLIO: reader.batch_size." },
	{ "compute_time", FIELD_TIME_DIST(struct job, compute_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Accelerator",
	  .help = "Time one step computes, spent asleep; a time or a distribution.\n"
		  "Distributions: normal:MEAN:STDEV, uniform:MIN:MAX,\n"
		  "lognormal:MEAN:STDEV, exponential:MEAN, gamma:SHAPE:SCALE.\n"
		  "DLIO: train.computation_time." },
	{ "barrier", MLGEN_F_ENUM(struct job, barrier, barriers),
	  .def = "step", .group = "Accelerator",
	  .help = "When the accelerators wait for each other." },
	{ "epochs", MLGEN_F_U64(struct job, epochs),
	  .def = "1", .min = 1, .max = 1e9, .group = "Accelerator",
	  .help = "How often the dataset is read.\n"
		  "DLIO: train.epochs." },
	{ "steps", MLGEN_F_U64(struct job, steps),
	  .def = "0", .max = MOST_STEPS, .group = "Accelerator",
	  .help = "End the run after this many steps of each accelerator, over all epochs; 0 is no limit." },
	{ "target_au", MLGEN_F_PERCENT(struct job, target_au),
	  .min = 1, .max = 100, .group = "Accelerator",
	  .help = "Accelerator utilisation at which the report calls the run good.\n"
		  "MLPerf Storage asks for 90% of most workloads." },

	{ "loader", MLGEN_F_ENUM(struct job, loader, loaders),
	  .def = "pytorch", .group = "Loader",
	  .help = "Which data loader's order of reads and deliveries is kept." },
	{ "read_threads", MLGEN_F_U64(struct job, read_threads),
	  .def = "4", .min = 1, .max = 1024, .unit = "threads", .group = "Loader",
	  .help = "Threads that read for one accelerator.\n"
		  "PyTorch: num_workers. MLPerf Storage: reader.read_threads (up to 32)." },
	{ "prefetch", MLGEN_F_U64(struct job, prefetch),
	  .def = "2", .min = 1, .max = 1024, .unit = "batches", .group = "Loader",
	  .help = "Batches read ahead: by each thread with loader=pytorch, by all of an accelerator with loader=plain.\n"
		  "PyTorch: prefetch_factor." },
	{ "shuffle", MLGEN_F_ENUM(struct job, shuffle, shuffles),
	  .def = "sample", .group = "Loader",
	  .help = "The order in which samples are read.\n"
		  "DLIO: reader.sample_shuffle, reader.file_shuffle." },
	{ "shard", MLGEN_F_ENUM(struct job, shard, shards),
	  .def = "strided", .group = "Loader",
	  .help = "Which samples belong to which accelerator.\n"
		  "PyTorch: DistributedSampler is strided." },
	{ "drop_last", MLGEN_F_BOOL(struct job, drop_last),
	  .def = "1", .group = "Loader",
	  .help = "Leave out the last, incomplete batch of an epoch.\n"
		  "PyTorch: drop_last." },
	{ "access", MLGEN_F_ENUM(struct job, access, accesses),
	  .def = "plain", .group = "Loader",
	  .help = "By which calls a sample is read." },

	{ "ioengine", MLGEN_F_STR(struct job, ioengine),
	  .def = "psync", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "How bytes are moved; --enghelp lists the engines.\n"
		  "With a slash in it, the path of an engine that is a shared object." },
	{ "direct", MLGEN_F_BOOL(struct job, direct),
	  .def = "0", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Read past the page cache, with O_DIRECT." },
	{ "bs", MLGEN_F_SIZE(struct job, bs_bytes),
	  .def = "1m", .min = 512, .max = GI, .unit = "bytes", .group = "I/O", .alias = "blocksize", .flags = MLGEN_FIO,
	  .help = "Bytes of one read or write request." },
	{ "iodepth", MLGEN_F_U64(struct job, iodepth),
	  .def = "1", .min = 1, .max = 4096, .unit = "requests", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Requests that one read thread has under way; more than one needs an asynchronous engine." },
	{ "invalidate", MLGEN_F_ENUM(struct job, invalidate, invalidates),
	  .def = "run", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "When the job's files are dropped from the page cache, so that storage answers and not memory." },

	{ "percentile_list", FIELD_F64_LIST(struct job, percentile_list),
	  .def = "50:90:99:99.9", .min = 0, .max = 100, .group = "Report", .flags = MLGEN_FIO,
	  .help = "Latency percentiles to report, at most 20." },
	{ "group_reporting", MLGEN_F_BOOL(struct job, group_reporting),
	  .def = "0", .group = "Report", .flags = MLGEN_FIO,
	  .help = "Report the jobs that start together as one." },
	{ 0 },
};
/* clang-format on */

/* The default directory carries the job's name. */
static void set_default_directory(struct job *j)
{
	struct buf path = { 0 };

	words_expand(&path, j->directory, j->name, NULL);
	mem_replace(&j->directory, buf_str(&path));
	buf_fini(&path);
}

static struct job_origin *origins_new(size_t count)
{
	struct job_origin *origins = mem_array(count, sizeof(*origins));

	for (size_t i = 0; i < count; i++)
		origins[i].how = mem_strdup("default");
	return origins;
}

static void origins_free(struct job_origin *origins, size_t count)
{
	for (size_t i = 0; origins && i < count; i++) {
		mem_free(origins[i].how);
		mem_free(origins[i].raw);
	}
	mem_free(origins);
}

static void free_engine_opts(struct job *j)
{
	if (!j->engine_opts)
		return;
	field_fini(j->engine->opts, j->engine_opts);
	mem_free(j->engine_opts);
	origins_free(j->engine_origins, field_count(j->engine->opts));
	j->engine_opts = NULL;
	j->engine_origins = NULL;
}

/*
 * What the text writers leave as 1m means 10^6 to a reader with kb_base=1000:
 * write the binary form, which means the same to both.
 */
static void add_binary_suffixes(struct buf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		bool is_suffix = c > text && strchr("kmgtp", *c) &&
				 c[-1] >= '0' && c[-1] <= '9';

		buf_addc(out, *c);
		if (is_suffix)
			buf_add(out, "ib");
	}
}

struct job *job_new(const char *name)
{
	struct job *j = mem_zalloc(sizeof(*j));

	j->name = mem_strdup(name);
	field_defaults(job_fields, j);
	set_default_directory(j);
	j->origins = origins_new(field_count(job_fields));
	return j;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	free_engine_opts(j);
	origins_free(j->origins, field_count(job_fields));
	field_fini(job_fields, j);
	mem_free(j->name);
	mem_free(j);
}

void job_set_engine(struct job *j, const struct mlgen_engine *engine)
{
	free_engine_opts(j);
	j->engine = engine;
	if (!engine || !engine->opts)
		return;
	j->engine_opts = mem_zalloc(engine->opts_size);
	j->engine_origins = origins_new(field_count(engine->opts));
	field_defaults(engine->opts, j->engine_opts);
}

unsigned job_depth(const struct job *j)
{
	return j->engine && j->engine->reap ? (unsigned)j->iodepth : 1;
}

unsigned job_samples_at_once(const struct job *j)
{
	return j->loader == LOADER_PLAIN ? job_depth(j) : 1;
}

struct diag_place job_place(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	const struct job_origin *origin = NULL;

	assert(f);
	origin = &j->origins[f - job_fields];
	if (!origin->raw)
		return j->at;
	return origin->at;
}

void job_field_text(const struct job *j, const struct mlgen_field *f,
		    const void *base, struct buf *out)
{
	struct buf text = { 0 };
	bool is_size = f->type == MLGEN_SIZE || f->type == MLGEN_SIZE_DIST;

	field_format(&text, f, base);
	if (is_size && j->kb_base == 1000)
		add_binary_suffixes(out, buf_str(&text));
	else
		buf_add(out, buf_str(&text));
	buf_fini(&text);
}

void job_option_text(const struct job *j, const char *option, struct buf *out)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	assert(f);
	job_field_text(j, f, j, out);
}
