/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - job files and options: what a job is, how it is read, checked and shown. */
#pragma once

/*
 * A job is one section of a job file, or a --name=NAME on the command line with the options that
 * follow. It is a struct job, which holds the value of every option. jobset_load() makes all jobs
 * of a command line: it reads the job files named there and merges the layers of options of each
 * job. The layers are, weakest first: defaults of the workload, [global], the section, the
 * [option=value] sections that the job selects, the command line. All faults are collected in a
 * struct diag with file and line, so that the user sees them at once.
 *
 * An option is a row of a table: name, type, limits, default and a sentence of help. job_fields has
 * the options of jobs, settings_fields those of the program; each engine has a table of its own.
 * Parsing, --showjob, --cmdhelp, the man pages and completion all walk these rows (field/fields.h).
 *
 *	workload	a value of phase=: a row of facts, and a folder below src/work
 *	setting		an option of the program as a whole, on the command line only
 *	question	an option that replaces the run by something else: --compare, --find-max
 *	stand-in	the table of an engine whose shared object is not loaded: nothing runs
 *
 * Jobs belong to their jobset and do not change once it is loaded, so every thread may read them.
 * Only one thread may load.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/dist.h"
#include "base/map.h"
#include "field/fields.h"

struct buf;
struct activity;
struct page;
struct asked;
struct ask;

/* ---- faults ---- */

/* The place of a fault: file NULL = the command line, line 0 = none. */
struct diag_place {
	const char *file; /* borrowed from the jobset */
	unsigned line;
};

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_entry {
	enum diag_level level;
	struct diag_place at;
	char *text;
};

/* A file that is not a job file has a fault in every line; the first few are enough. */
#define DIAG_ERRORS_PER_FILE 20
#define DIAG_MAX 100

struct diag_file {
	const char *file; /* NULL = the command line */
	size_t errors;    /* including the errors that are not stored */
};

/* Up to DIAG_ERRORS_PER_FILE errors of each file, DIAG_MAX warnings and DIAG_MAX notes are stored.
 * `errors` counts all errors. */
struct diag {
	struct diag_entry *entries;
	size_t count, errors;
	struct diag_file *files; /* the files that have errors */
	size_t file_count;
};

void diag_init(struct diag *d);
void diag_fini(struct diag *d);

/*
 * Add an entry, unless the same text is already stored for the same place. The text is made
 * printable (log.h).
 */
__attribute__((format(printf, 4, 5))) void diag_add(struct diag *d, enum diag_level level,
						    struct diag_place at, const char *fmt, ...);
/* Add an error of the command line. */
__attribute__((format(printf, 2, 3))) void diag_fail(struct diag *d, const char *fmt, ...);

/* Would another error of this file be stored? */
bool diag_has_room(const struct diag *d, const char *file);

/*
 * Print all entries, sorted by file and line: "unet3d.job:12: prefetch: ..." for errors,
 * "unet3d.job:12: warning: ..." and "unet3d.job:12: note: ..." for the rest. The command line has
 * the program's name as its file: "mlgen: ...". Errors that were not stored are counted in one line
 * per file; warnings and notes are left out in that case.
 */
void diag_print(const struct diag *d, FILE *to);

/* ---- the values of options that are one of several words ---- */

enum job_rw { RW_READ, RW_WRITE, RW_RW, RW_RANDREAD, RW_RANDWRITE, RW_RANDRW };

/*
 * The formats of data sets. A row makes the enum value FORMAT_NPZ, the value "npz" of format= with
 * its help, and names format_npz, the row of functions in data/formats.
 */
/* clang-format off */
#define JOB_FORMATS(X) \
	X(NPZ, npz, "uncompressed NumPy archives, which NumPy can load") \
	X(NPY, npy, "NumPy arrays") \
	X(RAW, raw, "only the bytes of the samples") \
	X(TFRECORD, tfrecord, "TensorFlow records, each a tf.train.Example, and their index files") \
	X(JPEG, jpeg, "grey images; sample_size is the encoded file") \
	X(INDEXED_BINARY, indexed_binary, "samples back to back, with separate files of offsets and sizes") \
	X(MMAP_INDEXED_BINARY, mmap_indexed_binary, "the same files, which the framework maps instead of reading") \
	X(HDF5, hdf5, "HDF5; one contiguous dataset contains all samples of a file") \
	X(PARQUET, parquet, "Parquet, plain pages in row groups; see columns") \
	X(TAR, tar, "tar shards, as WebDataset writes them") \
	X(PNG, png, "grey images; sample_size is the encoded file") \
	X(CSV, csv, "rows of sample_size numbers, each about 3.6 bytes of text")

enum job_format {
#define FORMAT_VALUE(word, name, help) FORMAT_##word,
	JOB_FORMATS(FORMAT_VALUE)
#undef FORMAT_VALUE
	FORMAT_AUTO /* the last value: dataset=scan detects the format */
};
/* clang-format on */

enum job_loader { LOADER_PYTORCH, LOADER_TFDATA, LOADER_PLAIN };
enum job_shuffle {
	SHUFFLE_NONE,
	SHUFFLE_SAMPLE,
	SHUFFLE_FILE,
	SHUFFLE_BUFFER, /* number: samples in the buffer */
	SHUFFLE_REPLACEMENT,
	SHUFFLE_WEIGHTED, /* dist: the weights of samples, plain numbers */
	SHUFFLE_IMPORTANCE,
	SHUFFLE_PAGES, /* number: bytes of a page; second: pages of a window */
	SHUFFLE_CHUNKS /* number: samples of a chunk; second: chunks of a group */
};
/* Does this kind of shuffle draw with replacement? */
static inline bool shuffle_repeats(int shuffle)
{
	return shuffle == SHUFFLE_REPLACEMENT || shuffle == SHUFFLE_WEIGHTED ||
	       shuffle == SHUFFLE_IMPORTANCE;
}

enum job_importance { IMPORTANCE_AGGRESSIVE, IMPORTANCE_RELAXED };
/* Eviction policies of a cache tier; data/cache/cache.c has their functions. */
enum job_cache {
	CACHE_NONE,
	CACHE_LRU,
	CACHE_FIFO,
	CACHE_LFU,
	CACHE_RANDOM,
	CACHE_CLOCK,
	CACHE_MINIO,
	CACHE_IMPORTANCE,
	CACHE_BELADY,
	CACHE_HOT
};
/* The owner of a cache: a host, a rank or the whole job. */
enum job_cache_scope { CACHE_SCOPE_HOST, CACHE_SCOPE_RANK, CACHE_SCOPE_ALL };
/* A cache stores and evicts units of this kind. */
enum job_cache_unit { CACHE_SAMPLES, CACHE_FILES, CACHE_PAGES };
enum job_cache_fill { CACHE_FILL_SYNC, CACHE_FILL_ASYNC };
enum job_cache_layout { CACHE_LAYOUT_FILES, CACHE_LAYOUT_SLAB };
enum job_cache_substitute { CACHE_SUBSTITUTE_NONE, CACHE_SUBSTITUTE_GROUP, CACHE_SUBSTITUTE_ANY };
enum job_cache_stage { CACHE_RAW, CACHE_DECODED };
enum job_shard { SHARD_STRIDED, SHARD_CONTIGUOUS, SHARD_FILE };
enum job_dataset { DATASET_MADE, DATASET_SCAN };
enum job_scan_errors { SCAN_REFUSE, SCAN_SKIP, SCAN_SKIP_DAMAGED };
enum job_preprocess { PREPROCESS_SLEEP, PREPROCESS_BURN };
enum job_preprocess_at { PREPROCESS_AT_SAMPLE, PREPROCESS_AT_READS };
enum job_decompress { DECOMPRESS_NONE, DECOMPRESS_REAL, DECOMPRESS_SLEEP };
enum job_barrier { BARRIER_NONE, BARRIER_STEP, BARRIER_EPOCH };
enum job_access { ACCESS_PLAIN, ACCESS_FRAMEWORK, ACCESS_RECORDED };
enum job_layout { LAYOUT_TORCH, LAYOUT_DEEPSPEED, LAYOUT_STREAM, LAYOUT_PATTERN };
enum job_pattern { PATTERN_UNET3D, PATTERN_BERT, PATTERN_DLRM };
enum job_checkpoint_mode { CHECKPOINT_SYNC, CHECKPOINT_ASYNC };
enum job_checkpoint_fsync { CHECKPOINT_FSYNC_NONE, CHECKPOINT_FSYNC_FILE, CHECKPOINT_FSYNC_END };
enum job_verify { VERIFY_NONE, VERIFY_CRC32C };
enum job_drop_caches { DROP_CACHES_NO, DROP_CACHES_RUN, DROP_CACHES_EPOCH };
enum job_numa { NUMA_NONE, NUMA_DEVICE };
enum job_invalidate { INVALIDATE_NONE, INVALIDATE_RUN, INVALIDATE_EPOCH };
/* The files that a replay uses: its own, or the files of the trace. */
enum job_replay_files { REPLAY_OWN, REPLAY_TRACED };
/* The due time of a replayed operation. */
enum job_replay_time { REPLAY_THINK, REPLAY_FIXED, REPLAY_ASAP };
/* A replayed operation waits for earlier operations of its thread, on its file, or for all. */
enum job_replay_order { REPLAY_BY_THREAD, REPLAY_BY_FILE, REPLAY_GLOBAL };
/* Errors that are counted instead of ending the run. */
enum job_continue { CONTINUE_NONE, CONTINUE_READ, CONTINUE_WRITE, CONTINUE_IO, CONTINUE_ALL };

/* The name of an enum job_cache value. */
const char *cache_word(int policy);

/* ---- a job ---- */

/*
 * Results of a run that later runs reuse, in a command that runs its jobs several times. The job of
 * the command line owns the struct; jobs that are derived from that job reach it through scaled_as.
 */
struct job_reuse {
	bool finds;              /* scans store their results in scan_fd */
	int scan_fd;             /* an unnamed file with the results; -1 = no scan has run */
	bool has_told[2];        /* notes of the scan were printed; per enum scan_part */
	bool has_printed_device; /* the device of the job's files was printed */
};

/* Size of checkpoint_archive, with the terminating NUL. */
enum { JOB_ARCHIVE_BYTES = 32 };

/*
 * glibc's malloc uses mmap for requests of at least M_MMAP_THRESHOLD bytes, at first 128 KiB. When
 * a mapping of up to 32 MiB is freed, the threshold rises to its size, and malloc then reuses
 * memory of that size (mallopt(3)).
 */
#define JOB_MALLOC_MAPS_BYTES (UINT64_C(128) << 10)
#define JOB_MALLOC_MAPS_MAX_BYTES (UINT64_C(32) << 20)

/* The values of all options. Checked as a whole, immutable once loaded. Times are ns, sizes bytes.
 */
struct job {
	char *name; /* the section's */

	int phase; /* index into workload_choices; see job_work() */
	char *directory;
	bool shared; /* all hosts of a job see the same directory */
	uint64_t startdelay_ns;
	bool stonewall;
	uint64_t runtime_ns; /* 0 = no limit */
	bool time_based;
	uint64_t ramp_time_ns;

	int format;
	uint64_t num_files;
	uint64_t samples_per_file;
	uint64_t subfolders;
	struct dist sample_size;
	double scale;            /* percent of num_files */
	double dataset_ratio;    /* multiple of memory; 0 = use num_files */
	uint64_t distinct_files; /* files read in place of all; 0 = all */
	int dataset;
	int scan_errors;
	char *scan_key;               /* array of npz files; NULL = the first */
	char *scan_pair;              /* "FROM:TO" in paths; NULL = one file per sample */
	uint64_t scan_depth;          /* levels of folders; 0 = no limit */
	char *file_list;              /* a file; NULL = scan the directory */
	char *scan_cache;             /* a file; NULL = results are not stored */
	uint64_t label_size_bytes;    /* second file per sample; 0 = no labels */
	uint64_t row_group_size;      /* rows */
	char *columns, *read_columns; /* NULL = one column; NULL = read all columns */
	char *hdf5_dataset;           /* path in the files of a scan; NULL = the first */

	char *accelerator; /* NULL = not named */
	uint64_t accelerators;
	uint64_t batch_size;
	struct dist compute_time;
	int barrier;
	uint64_t epochs;
	uint64_t steps;   /* 0 = no limit; per rank, over all epochs */
	double target_au; /* percent; NaN = no target */
	char *guess;      /* options whose values are guesses; NULL = no guesses */

	uint64_t eval_files;
	uint64_t eval_batch_size; /* 0 = batch_size */
	struct dist eval_time;
	uint64_t eval_every, eval_after; /* epochs */

	int loader;
	uint64_t read_threads;
	uint64_t prefetch;
	struct variant shuffle; /* enum job_shuffle */
	int importance_mode;
	double importance_rep; /* reads of a cached sample per draw, steps of 0.5 */
	struct dist importance_difficulty, importance_decay;
	int shard;
	bool drop_last;
	int access;
	char *recorded_calls; /* a file, for access=recorded */
	bool deterministic;
	uint64_t decode_threads;
	struct dist preprocess_time;   /* per sample */
	struct dist first_sample_time; /* extra time of a read thread's first sample */
	struct dist worker_start;      /* 0 = read threads outlive the epoch */
	int decompress;
	uint64_t decompress_rate; /* compressed bytes per second */
	int preprocess, preprocess_at;
	char *preprocess_split;   /* NULL = by bytes; see job_read_shares */
	char *first_sample_split; /* NULL = all time after the first read */
	bool hold_samples;
	uint64_t fresh_memory; /* smallest read that uses untouched memory; 0 = never */

	/* The cache between sampler and storage. CACHE_NONE: no cache, and the members up to
	 * cache_verify are unused. */
	int cache;
	struct cache_size cache_size; /* size of each cache */
	int cache_scope;
	struct variant cache_unit; /* enum job_cache_unit; number: bytes of a page */
	char *cache_directory;     /* NULL = memory, or simulated by latency and bandwidth */
	int cache_fill;
	uint64_t cache_queue; /* waiting fills, for cache_fill=async */
	int cache_layout;
	bool cache_persist;
	struct dist cache_latency;      /* 0 = not simulated */
	uint64_t cache_bandwidth_bytes; /* per second; 0 = not simulated */
	int cache_substitute;
	bool cache_hits_first;
	uint64_t cache_prefetch; /* samples that the tier prefetches ahead of their batch */
	double cache_warm;       /* percent of its size */
	int cache_stage;
	double cache_decoded_factor; /* decoded bytes per raw byte */
	bool cache_verify;

	/* The state of a model; data/state/state.h computes its sizes. */
	char *model; /* NULL = not named */
	uint64_t model_layers, model_hidden, model_ffn, model_heads, model_kv_heads,
		model_vocabulary;
	uint64_t model_bytes, optimizer_bytes; /* per value */
	uint64_t ranks; /* 0 = product of the parallelism, or the accelerators */
	uint64_t tensor_parallel, pipeline_parallel;
	uint64_t data_parallel; /* 0 = as many copies as the ranks allow */
	uint64_t zero_stage;
	uint64_t checkpoint_size_bytes; /* per rank, instead of a model; 0 = the model's */
	char *tensor_sizes;             /* a file, instead of a model; NULL = the model's */
	char *checkpoint_archive;       /* NULL = named after its file */

	uint64_t checkpoints;   /* to save, or to restore */
	uint64_t pause_ns;      /* between two checkpoints */
	char *checkpoint_every; /* NULL = never; see job_checkpoint_every */
	int checkpoint_mode;
	uint64_t snapshot_bandwidth; /* bytes per second; 0 = takes no time */
	char *checkpoint_ranks;      /* "all", "zero", "0-7,16" */
	uint64_t checkpoint_threads; /* threads per rank that write or read */
	uint64_t checkpoint_keep;    /* 0 = all */
	char *checkpoint_directory;  /* NULL: see job_checkpoint_directory */
	int checkpoint_layout;
	int checkpoint_pattern;
	int checkpoint_fsync;
	bool rename_commit;
	uint64_t restore_shift; /* ranks */
	int verify;

	char *ioengine;
	bool direct, buffered; /* buffered is always !direct */
	struct u64_pair bs;    /* bytes; a training job reads with bs.read */
	uint64_t iodepth;
	int invalidate;
	int drop_caches;
	int mem; /* enum mem_kind */

	/* phase=io: a plain job, with fio's options. */
	int rw;
	double rwmixread, rwmixwrite; /* percent; their sum is 100 */
	char *bssplit;                /* NULL = bs; see job_sizes */
	char *filename;               /* "a:b"; NULL = $jobname.$jobnum.0 */
	uint64_t filesize_bytes;      /* size of each file; 0 = from size */
	struct size_share size, io_size, offset;
	uint64_t numjobs;
	uint64_t loops;
	bool norandommap;
	uint64_t iodepth_batch_submit; /* 0 = as many as are free */
	uint64_t iodepth_batch_complete_min;
	uint64_t iodepth_batch_complete_max; /* 0 = iodepth */
	struct u64_pair rate;                /* bytes per second; 0 = no limit */
	struct u64_pair rate_iops;
	uint64_t thinktime_ns, thinktime_blocks;
	uint64_t fsync, fdatasync; /* after this many writes; 0 = never */
	bool end_fsync;
	bool create_only;

	/* phase=replay: the operations of a trace. */
	char *replay_trace; /* a trace, or a fio iolog */
	int replay_files, replay_time, replay_order;
	double replay_speed;        /* 2 = twice as fast */
	uint64_t replay_span_bytes; /* offsets of block devices wrap here; 0 = never */
	uint64_t replay_threads;    /* 0 = as many as the trace has at the same time */

	uint64_t memory_limit; /* bytes; 0 = no limit; equal in all jobs */
	bool memory_limit_required;
	uint64_t randseed;
	char *cpus_allowed; /* NULL = no change */
	int numa;
	char *numa_cpu_nodes; /* NULL = no change; a list or "all" */
	int continue_on_error;
	char *ignore_error;          /* see ignored_counts; NULL = no list */
	struct u64_share max_errors; /* limit of a run that succeeds */
	struct f64_list percentile_list;
	bool group_reporting;
	char *write_iolog; /* a file; NULL = no log */
	int kb_base;       /* 1024 or 1000 */

	/* Members that are not options. */

	/* Accelerators of the processes before this one, and of all processes of the job. Both are
	 * 0 where this process runs the job alone. */
	uint64_t accelerators_before, accelerators_all;
	/* The place of this process among all processes of the job: work is divided among hosts
	 * first, then among the processes of each host. Zeroed: this process is alone. */
	struct job_place {
		uint64_t host, hosts, process, processes;
		uint64_t rank, total; /* among all processes */
	} place;
	unsigned group; /* jobs of one group start together */
	/*
	 * The job whose accelerators and batches scale= counts. A question that changes a job sets
	 * this member to the unchanged job, so that the dataset stays the same. NULL = the job
	 * itself.
	 */
	const struct job *scaled_as;
	struct job_reuse *kept; /* owned */
	/* Values of accelerator= that have a section, each preceded by a space; NULL = any. */
	char *accelerators_known;
	const struct mlgen_engine *engine; /* named by `ioengine` */
	void *engine_opts;                 /* engine->opts_size bytes, or NULL */
	struct job_origin *origins;        /* for each row of job_fields */
	struct job_origin *engine_origins; /* for each row of engine->opts, or NULL */
	struct diag_place at;              /* the section's header */
};

/* The source of an option's value, for --showjob and messages. */
struct job_origin {
	struct diag_place at; /* file NULL: default or command line */
	char *how;            /* "default", "[global]", "[NAME]",
				   "[accelerator=h100]", "command line" */
	char *raw;            /* the text as written, NULL for a default */
};

/* All options of a job. The index of a row is the index of its origin. */
extern const struct mlgen_field job_fields[];

/* A job with all options at their defaults. */
struct job *job_new(const char *name);
void job_free(struct job *j); /* NULL is fine */

/* The job's own struct job_reuse, or that of scaled_as. NULL for a job that job_new() did not make.
 */
struct job_reuse *job_reuse(const struct job *j);

/* Set the job's engine, with the engine's options at their defaults. */
void job_set_engine(struct job *j, const struct mlgen_engine *engine);

/* Check rules that relate options of a job. Each fault goes to `d`, at the place of the option that
 * is wrong. */
void job_check(const struct job *j, struct diag *d);

/* Operations of a plain job. */
bool job_reads(const struct job *j);
bool job_writes(const struct job *j);
bool job_is_random(const struct job *j);

/* Sizes of requests of one direction (0 read, 1 write) with their weights: bssplit, or bs alone.
 * Returns their number, or -EINVAL with err if bssplit cannot be parsed. */
#define JOB_SIZES_MAX 64
struct job_size {
	uint64_t bytes;
	double percent; /* the sizes of a direction sum to 100 */
};
int job_sizes(const struct job *j, unsigned direction, struct job_size sizes[JOB_SIZES_MAX],
	      struct mlgen_err *err);

/* Shares of preprocess_split or first_sample_split, in the order of reads. Returns their number, 0
 * if the option is not set, or -EINVAL with err if it cannot be parsed. */
#define JOB_READ_SHARES_MAX 64
struct job_read_share {
	uint64_t read;  /* number of a sample's read, from 1 */
	double percent; /* share of the time; the sum is at most 100 */
};
int job_read_shares(const char *list, struct job_read_share shares[JOB_READ_SHARES_MAX],
		    struct mlgen_err *err);

/* Maximum number of requests that a read thread has in flight: iodepth, or 1 on a synchronous
 * engine. */
unsigned job_depth(const struct job *j);
/* Samples that a read thread reads at the same time: job_depth() with loader=plain, otherwise 1. */
unsigned job_samples_at_once(const struct job *j);
/* Samples of shuffle=buffer:N; 0 = no buffer. */
uint64_t job_shuffle_buffer(const struct job *j);

/* Does the loader deliver as TFRecordDataset does, which opens files ahead? Each of the
 * read_threads then stands for three threads (work/train/pipeline/pipeline_internal.h). */
#define JOB_INTERLEAVE_THREADS 3u
/* Records of a file that a thread may read before the first of them is delivered. */
#define JOB_INTERLEAVE_RECORDS 3u
bool job_interleaves(const struct job *j);

/* Is preprocess_time spent per batch by decode_threads, after the read threads? Otherwise each read
 * thread spends it on the samples that it has read. */
bool job_decodes_batches(const struct job *job);

/* Read threads of an accelerator; 0 = the accelerator's own thread reads. */
uint64_t job_read_threads(const struct job *j);
/* Threads that read for an accelerator: its read threads, or 1 for its own thread. */
uint64_t job_readers(const struct job *j);
/* Accelerators of all processes of the job; job->accelerators are those of this process. */
uint64_t job_all_accelerators(const struct job *j);
/* Processes that share the cache tier of cache_scope=all, and the index of this process's part; 1
 * and 0 where the tier is not divided. */
uint64_t job_cache_parts(const struct job *j);
uint64_t job_cache_part(const struct job *j);
/* Processes of the job on this host, which divide a limit evenly; 1 = this process is alone. */
uint64_t job_host_processes(const struct job *j);

/* Parse checkpoint_every; count 0 = never. 0, or -EINVAL with err. */
struct checkpoint_every {
	enum { EVERY_STEPS, EVERY_EPOCHS, EVERY_TIME } unit;
	uint64_t count; /* steps, epochs or ns */
};
int job_checkpoint_every(const struct job *j, struct checkpoint_every *e, struct mlgen_err *err);
/* Does this job save or restore a model's state, alone or during training? */
bool job_has_checkpoints(const struct job *j);
/* checkpoint_directory, or the default of the phase. The caller frees it. */
char *job_checkpoint_directory(const struct job *j);
/* Is this a valid value of checkpoint_archive? */
bool job_is_archive(const char *name);

/* The place where the option was set, or the section's header if it was not. */
struct diag_place job_place(const struct job *j, const char *option);

/* Are the job's files dropped from this host's page cache before each epoch? */
static inline bool job_drops_each_epoch(const struct job *j)
{
	return j->invalidate == INVALIDATE_EPOCH || j->drop_caches == DROP_CACHES_EPOCH;
}

/* Engines with MLGEN_CAP_NO_FILES simulate the job's files. */
static inline bool job_touches_files(const struct job *j)
{
	return !(j->engine && j->engine->caps & MLGEN_CAP_NO_FILES);
}

/* Is the option set in a job file or on the command line? */
bool job_is_given(const struct job *j, const char *option);

/* Is the option set on the command line? */
bool job_is_on_command_line(const struct job *j, const char *option);

/* Is the option set to another value than its default? A file that --showjob has written sets
 * defaults, too, and these express no choice. */
bool job_is_changed(const struct job *j, const char *option);

/* Append the option's value as text. A section of this job parses the text to the same value,
 * whatever its kb_base. */
void job_option_text(const struct job *j, const char *option, struct buf *out);
/* Append the value of any field, of job_fields (base: the job) or of engine->opts. */
void job_field_text(const struct job *j, const struct mlgen_field *f, const void *base,
		    struct buf *out);

/* ---- ranks, models and checkpoints ---- */

/* Ranks of the whole job: `ranks`, or the product of the parallelism. The number is meaningless if
 * the parallelism is invalid. */
uint64_t job_ranks(const struct job *j);

/* Ranks that all processes of the job save: checkpoint_ranks, and in a training job only those that
 * have an accelerator. 0, or -errno with err; the caller frees *out (ranges_fini). */
int job_saved_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);
/* The part of job_saved_ranks() that this process simulates: in a training job the ranks of its
 * accelerators, otherwise its even share, which may be empty. */
int job_local_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);

/* Limit of the bytes of all ranks together: offsets and sums have 63 bits. */
#define MODEL_BYTES_MAX 9.2e18

/*
 * Check rule i, from 0 on, of a job with checkpoints. Returns the option that the rule is about,
 * or NULL after the last rule. *rc is 0, or -errno with err: "OPTION: what is wrong, what would be
 * right".
 */
const char *job_check_model(const struct job *j, unsigned i, int *rc, struct mlgen_err *err);

/* ---- ignored errors, guesses, advice ---- */

/* Explanation for a request that fails with EAGAIN, as with nowait=1. */
#define IGNORED_HINT_EAGAIN "it would have had to wait; ignore_error=EAGAIN counts such errors"

/*
 * Is this error (a negative errno) counted instead of ending the run? A list of ignore_error
 * replaces continue_on_error for reads or for writes. All operations of a training job are reads.
 */
bool ignored_counts(const struct job *j, enum mlgen_op op, int error);

/* Report each name in guess= that is not an option. */
void guess_check(const struct job *j, struct diag *d);

/* Append "compute_time is a guess of its source" for each option in guess=, with "; " between them.
 * A value that the command line has set is not a guess. */
void guess_text(const struct job *j, struct buf *out);

/* Could num_files or dataset_ratio give the job more files? A scan uses the files that exist. */
bool advice_makes_files(const struct job *j);

/* Advice on how to get more files: "more num_files", "a directory with more files". makes_files is
 * the result of advice_makes_files, or of dataset_makes_files if the dataset is known. */
const char *advice_more_files(const struct job *j, bool makes_files);

/* Does access=framework open files of this format with O_DIRECT? */
bool advice_format_takes_direct(const struct job *j);

/* Is direct=0, and would direct=1 be accepted by the engine, the format, the layout of checkpoints
 * and the sizes of requests? */
bool advice_direct(const struct job *j);

/* ---- workloads ---- */

/*
 * A workload is a folder below src/work and a row in its table (work/workloads.c). Code outside
 * that folder does not compare workloads: it reads a fact of the row, or calls a function of it.
 */
struct workload_default {
	const char *option, *value; /* NULL ends the list */
};

enum workload_checkpoints {
	CHECKPOINTS_NONE,
	CHECKPOINTS_OPTIONAL, /* if checkpoint_every is set, in addition to the main work */
	CHECKPOINTS_ALWAYS,
};

struct workload {
	/* ---- options ---- */

	/*
	 * Groups (mlgen_field.group) of options that belong to this workload. `also` lists groups
	 * of other workloads that this workload has, too. Both lists end with NULL; every workload
	 * has the groups that no workload owns.
	 */
	const char *const *groups;
	const char *option_of; /* "an option of phase=train" */
	const char *const *also;
	/* Defaults that differ from job_fields; NULL = no differences. */
	const struct workload_default *defaults;
	/* Options of other workloads, each with the option that replaces it here. They are errors
	 * on the command line, too. NULL = no such options. */
	const struct workload_default *instead;
	/* Check rules that relate options, like job_check(). */
	void (*check)(const struct job *j, struct diag *d);
	/* The option that raises the number of concurrent requests. */
	const char *concurrency_option;

	/* ---- behaviour ---- */

	bool is_plain;                /* a job like fio's, reported like fio's */
	const char *implied_by;       /* an option that implies this phase; or NULL */
	bool has_dataset;             /* directory= holds samples */
	bool only_prepares;           /* makes the dataset and measures nothing */
	bool has_accelerators;        /* accelerators consume batches, and have an AU */
	bool is_open_ended;           /* time_based: it lasts as long as runtime */
	bool is_grouped;              /* group_reporting merges its jobs into one record */
	bool counts_errors;           /* has continue_on_error and max_errors */
	bool needs_read, needs_write; /* the engine must support this, whatever the options */
	bool restores;                /* reads checkpoints */
	enum workload_checkpoints checkpoints;

	/* ---- functions of other modules ---- */

	const struct activity *run; /* run/slot/slot.h */
	const struct page *page;    /* report/plan/plan.h */
	const struct asked *asked;  /* ask/ask.h */
};

/* All workloads, and the values of phase= in the same order; NULL ends both. */
extern const struct workload *const workloads[];
extern const struct mlgen_choice workload_choices[];

const struct workload *job_work(const struct job *j);

/* The value of phase=: "train". */
const char *job_work_name(const struct job *j);

/* Do the accelerators of this workload consume samples of a data set? */
static inline bool workload_trains(const struct workload *w)
{
	return w->has_accelerators && w->has_dataset;
}

/* Do jobs of this workload have the option `f` of job_fields? */
bool workload_has(const struct workload *w, const struct mlgen_field *f);

/* "an option of phase=train". `f` is an option that not every workload has. */
const char *workload_of(const struct mlgen_field *f);

/* Is the value of this option of job_fields, set or not, the default of its workload? */
bool workload_is_default(const struct job *j, const struct mlgen_field *f);

/* ---- options of the program ---- */

enum settings_format {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_FIO_JSON,
	OUTPUT_DLIO,
	OUTPUT_CSV /* needs --table */
};
enum settings_check {
	CHECK_NONE,
	CHECK_MLPERF_V1,
	CHECK_MLPERF_V2,
	CHECK_MLPERF_V3,
};
enum settings_import {
	IMPORT_NONE,
	IMPORT_DLIO,
};
enum settings_dry_run { DRY_RUN_OFF, DRY_RUN_GATE, DRY_RUN_SHOW };
enum settings_ceiling { CEILING_AUTO, CEILING_OFF, CEILING_ON };
enum settings_barrier_over { BARRIER_OVER_TCP, BARRIER_OVER_MPI };
enum settings_eta { ETA_AUTO, ETA_ALWAYS, ETA_NEVER };

struct settings {
	bool version, list_jobs;
	char *help;    /* a topic, "all", or "" for the topics */
	char *cmdhelp; /* an option, or "all" */
	char *enghelp; /* an engine, or "" for all */
	bool parse_only, showjob;
	int dry_run;        /* enum settings_dry_run */
	bool thorough;      /* check all files of a dataset before it is read */
	char *section;      /* names of the jobs to run, one per line; NULL = all */
	bool readonly;      /* refuse anything that writes */
	bool allow_fill;    /* preparation may use more than half of the free space */
	char *allow_device; /* devices that may be written, "a:b"; NULL = none */
	bool replace;       /* delete a dataset made otherwise, or checkpoints of other runs */
	int output_format;
	char *output, *json, *json_each, *html, *log;
	char *title, *note;           /* shown in reports; one note per line; NULL = none */
	char *metrics, *metrics_file; /* address and file for Prometheus */
	uint64_t metrics_linger_ns;   /* served this long after the run; 0 = not */
	bool force;                   /* outputs replace any regular file */
	char *trace;                  /* file that records all operations of the run */
	uint64_t log_interval_ns;
	int eta;
	bool live;                   /* a full screen in place of the status line */
	uint64_t status_interval_ns; /* 0 = never */
	bool quiet, brief, verbose, series, page;
	char *require; /* "au>=90"; several joined with ',' */
	/* Questions (src/ask): */
	char *find_max; /* an integer option; NULL = not asked */
	char *find_min; /* cache_size; NULL = not asked */
	int ceiling;
	char *table;      /* keys, a,b,c; the arguments are results */
	bool compare;     /* the arguments are results */
	double tolerance; /* percent; NaN = derived from the noise */
	bool merge;       /* the arguments are results */
	bool report;      /* the arguments are results */
	int check;
	bool datasize;
	bool miss_curve;
	uint64_t memory_bytes; /* memory of a host; 0 = this host's */
	uint64_t hosts;
	/* Several processes that a launcher has started: */
	int barrier_over;
	uint64_t peers_port; /* 0 = any */
	int import;
	bool clean; /* the arguments are directories */
	bool yes;   /* clean removes files instead of listing them */
};

extern const struct mlgen_field settings_fields[];

/* Does the run record a series over time, for the JSON document or the HTML page? */
static inline bool settings_has_series(const struct settings *s)
{
	return s->series || s->html;
}

/* ---- questions ---- */

enum question_about {
	ABOUT_FILES,     /* the arguments are files other than job files */
	ABOUT_DOCUMENTS, /* the arguments are results, if one is a *.json; otherwise jobs */
	ABOUT_JOBS,
};

/*
 * A question. It is asked when `option`, a row of settings_fields, differs from its default. A
 * table of questions ends with an empty row; functions take NULL for an empty table.
 */
struct question {
	const char *option;
	enum question_about about;
	const char *files;      /* advice for a command line without files */
	bool needs_two;         /* compares files: at least two */
	bool writes_json;       /* about files: --json writes the answer, too */
	bool writes_html;       /* about files: --html writes a page of the answer */
	bool shows_documents;   /* the page also shows the files, results of runs */
	bool accepts_documents; /* about jobs: arguments *.json are results of runs */
	bool only_looks;        /* about jobs: runs nothing, so no shared object is loaded */
	bool replaces_dry_run;  /* about jobs: --dry-run is answered and no plan is made */
	bool takes_require;     /* --require checks its figures */
	bool prints_csv;        /* supports --output-format=csv */
	bool has_report;        /* about runs: prints a report with --title and --note */
	bool is_implied;        /* asked if all arguments are *.json and no other question is */
	bool is_live;           /* prints while it is being answered */
	/* Options that need a question with this list; NULL-ended. NULL = no such options. */
	const char *const *goes_with;
	int (*answer)(const struct ask *a); /* returns the exit status */
};

/* Is this the name of a result (*.json) and not of a job? */
bool question_is_document(const char *file);

/* ---- all jobs of a command line ---- */

/*
 * Stand-ins for engines of shared objects, for jobs that are not run: loading a shared object would
 * execute its constructors. A stand-in claims all capabilities and has, as text, every option that
 * no other engine has. Its functions fail. Zeroed is empty.
 */
struct standins {
	struct mlgen_engine **engines;
	char **paths; /* names of the engines */
	size_t count;
	struct mlgen_field *fields; /* shared by all engines; NULL = no options */
	char **options;             /* names of the fields */
	size_t field_count;
};

struct jobset_env {
	const struct mlgen_engine *const *engines; /* NULL-ended */
	const struct question *questions;          /* NULL = no questions */
	const char *binary_dir;                    /* the program's; its jobs/ is searched */
	const char *installed_dir;                 /* PREFIX/share/mlgen/jobs */
	/* The reason why a known engine was not built in, or NULL. Optional. */
	const char *(*why_absent)(const char *engine);
	/*
	 * Load the engine of a shared object, which stays loaded; NULL with err. Called for names
	 * that jobset_is_path accepts, and only for engines on which jobs will run, because loading
	 * executes code of the object. Optional.
	 */
	const struct mlgen_engine *(*load)(const char *path, struct mlgen_err *err);
	/* Check whether the file could be an engine, without executing any of it. 0 or -errno with
	 * err. Optional. */
	int (*look)(const char *path, struct mlgen_err *err);
	/*
	 * The name of the format if the directory holds at least `least` shards, which are files
	 * with many samples one after the other. NULL if it holds fewer, or cannot be read.
	 * Optional.
	 */
	const char *(*shards)(const char *directory, uint64_t least);
};

/* Is ioengine= the path of a shared object? "./my.so", "external:my.so". */
bool jobset_is_path(const char *ioengine);

struct jobset {
	struct settings settings;
	struct job **jobs;
	size_t count;
	char **paths; /* the job files read, for messages; owned */
	size_t path_count;
	/* Used instead of shared objects by parse-only, showjob, dry-run, datasize and miss-curve,
	 * which run nothing. */
	struct standins standins;
	const struct question *question; /* NULL: run the jobs */
	/* Arguments of a question about files, none of which is a job, or all arguments if
	 * accepts_documents is set. Owned. */
	char **files;
	size_t file_count;
};

/*
 * Read the command line and every job file that it names. Returns 0 with checked jobs, or with a
 * general request such as --help in settings and no jobs. Returns -EINVAL if `d` has errors. Call
 * jobset_fini() in any case, after diag_print(): the places in `d` point to paths of the set.
 * Precedence: defaults < [global] above < section < [option=value] < command line.
 */
int jobset_load(struct jobset *set, int argc, char *const argv[], const struct jobset_env *env,
		struct diag *d);
void jobset_fini(struct jobset *set);

/* Announce that jobs derived from this set will run several times: scans store their results from
 * now on. */
void jobset_reuse_scans(const struct jobset *set);

/* A comparison of --require: "au>=90". */
#define REQUIREMENTS_MAX 16

struct requirement {
	char metric[64]; /* "au", "samples_per_sec", ... */
	char op[3];      /* >= <= > < == */
	double value;
};
/* Parse up to max comparisons, separated by commas or "and". Returns their number or -EINVAL. */
int jobset_requirements(const char *text, struct requirement *out, unsigned max,
			struct mlgen_err *err);

/* Limit of the bytes of a job file with all its includes, each counted every time it is read. */
#define JOBREADER_BYTES_MAX (4u << 20)

/* The reason why a line of a job file cannot hold this value of an option, as a clause: "a '#'".
 * NULL if the value is read back unchanged. */
const char *jobreader_cannot_hold(const char *value);

/* ---- printing of jobs and options ---- */

/* Can one job file hold all jobs of the set? 0, or -EINVAL with err. */
int showjob_check(const struct jobset *set, struct mlgen_err *err);

/* Print the set as one job file: every option with its origin in a comment line above. Call
 * showjob_check() first. */
void showjob_print(FILE *to, const struct jobset *set);

/* Print --cmdhelp=OPTION|all. 0, or -ENOENT with a suggestion in err. */
int help_option(FILE *to, const char *name, const struct mlgen_engine *const *engines,
		struct mlgen_err *err);

/* Print the option list of a man page (mdoc) from a table. Options are written --name if has_dashes
 * is set, otherwise name=VALUE. */
void help_mdoc(FILE *to, const struct mlgen_field *table, bool has_dashes);

/*
 * Print --help=TOPIC. Topics are the groups of the option tables: "dataset", "plain-io". "" prints
 * the screen that names the topics, "all" prints a line per option, and the name of an option
 * prints its --cmdhelp. 0, or -ENOENT with the topics in err.
 */
int help_topic(FILE *to, const char *topic, const struct mlgen_engine *const *engines,
	       struct mlgen_err *err);

/* Print `line`, then the text from column `indent` on, wrapped at `columns`. A line break of the
 * text stays if it ends a sentence. */
void help_text_print(FILE *to, struct buf *line, const char *text, size_t indent, size_t columns);
