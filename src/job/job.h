/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - job files and options: what a job is, how it is read, checked and shown. */
#pragma once

/*
 * A job is one section of a job file, or what --name=NAME begins on the command line: a struct job,
 * which holds the value of every option. jobset_load() makes all jobs of a command line. It reads
 * the files it names, and for each job puts the layers of options one over the other: defaults of
 * its workload, [global], the section, the [option=value] sections that it selects, the command
 * line. Every fault is collected in a struct diag, with the file and the line it stands in, so that
 * a user is told all of them at once.
 *
 * An option is a row of a table: name, type, limits, default and a sentence of help. The rows of
 * jobs are job_fields, those of the program settings_fields, those of an engine its own; parsing,
 * --showjob, --cmdhelp, the man pages and completion all walk these rows (field/fields.h).
 *
 *	workload	what phase= names: a row of facts about it, and a folder below src/work
 *	setting		an option of the program as a whole, on the command line only
 *	question	an option that asks for something else than a run: --compare, --find-max
 *	stand-in	the table of an engine whose shared object is not loaded, as nothing runs
 *
 * Jobs belong to their jobset and do not change once it is loaded, so that every thread may read
 * them. Loading itself is for one thread.
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

/* Where a fault is: file NULL = the command line, line 0 = none. */
struct diag_place {
	const char *file; /* not owned; lives as long as the jobset */
	unsigned line;
};

enum diag_level { DIAG_NOTE, DIAG_WARNING, DIAG_ERROR };

struct diag_entry {
	enum diag_level level;
	struct diag_place at;
	char *text;
};

/* A file of noise has a fault a line: the first of them tell enough. */
#define DIAG_ERRORS_OF_FILE 20
#define DIAG_MAX 100

struct diag_file {
	const char *file; /* NULL = the command line */
	size_t errors;    /* all of them */
};

/* At most DIAG_ERRORS_OF_FILE errors of each file are kept, and DIAG_MAX warnings and as many
 * notes; `errors` counts all. */
struct diag {
	struct diag_entry *entries;
	size_t count, errors;
	struct diag_file *files; /* those that have errors */
	size_t file_count;
};

void diag_init(struct diag *d);
void diag_fini(struct diag *d);

/*
 * Add one; the same text at the same place is kept once. It is made printable (printable.h), as the
 * names of files are when they are printed.
 */
__attribute__((format(printf, 4, 5))) void diag_add(struct diag *d, enum diag_level level,
						    struct diag_place at, const char *fmt, ...);

/* Would one more error of this file be kept? */
bool diag_has_room(const struct diag *d, const char *file);

/*
 * Print all, in the order file, line: "unet3d.job:12: prefetch: ..." for errors, "unet3d.job:12:
 * warning: ..." and "...: note: ..." for the others;
 * of the command line "mlgen: ...". Errors of a file that were not kept are counted in one line;
 * warnings and notes are left out then.
 */
void diag_print(const struct diag *d, FILE *to);

/* ---- the values of options that are one of several words ---- */

enum job_rw { RW_READ, RW_WRITE, RW_RW, RW_RANDREAD, RW_RANDWRITE, RW_RANDRW };

/*
 * The formats of data sets, a row each: FORMAT_NPZ, the value "npz" of format= and what --cmdhelp
 * says of it, and format_npz, the row of functions in data/formats.
 */
/* clang-format off */
#define JOB_FORMATS(X) \
	X(NPZ, npz, "NumPy archives, uncompressed; NumPy loads them") \
	X(NPY, npy, "NumPy arrays") \
	X(RAW, raw, "the samples' bytes and nothing else") \
	X(TFRECORD, tfrecord, "TensorFlow's records, each a tf.train.Example, and their index files") \
	X(JPEG, jpeg, "grey images; sample_size is the encoded file") \
	X(INDEXED_BINARY, indexed_binary, "samples back to back, with files of offsets and sizes next to them") \
	X(MMAP_INDEXED_BINARY, mmap_indexed_binary, "the same files, mapped by the framework instead of read") \
	X(HDF5, hdf5, "HDF5, one contiguous dataset of all samples of a file") \
	X(PARQUET, parquet, "Parquet, plain pages in row groups; see columns") \
	X(TAR, tar, "tar shards, as WebDataset writes them") \
	X(PNG, png, "grey images; sample_size is the encoded file") \
	X(CSV, csv, "rows of sample_size numbers each, which take some 3.6 bytes as text")

enum job_format {
#define FORMAT_VALUE(word, name, help) FORMAT_##word,
	JOB_FORMATS(FORMAT_VALUE)
#undef FORMAT_VALUE
	FORMAT_AUTO /* the last: dataset=scan finds out */
};
/* clang-format on */

enum job_loader { LOADER_PYTORCH, LOADER_TFDATA, LOADER_PLAIN };
enum job_shuffle {
	SHUFFLE_NONE,
	SHUFFLE_SAMPLE,
	SHUFFLE_FILE,
	SHUFFLE_BUFFER, /* number: the samples that it holds */
	SHUFFLE_REPLACEMENT,
	SHUFFLE_WEIGHTED, /* dist: of a sample's weight, in plain numbers */
	SHUFFLE_IMPORTANCE,
	SHUFFLE_PAGES, /* number: bytes of a page; second: of a window */
	SHUFFLE_CHUNKS /* number: samples of a chunk; second: of a group */
};
/* Is an order drawn with replacement? */
static inline bool shuffle_repeats(int shuffle)
{
	return shuffle == SHUFFLE_REPLACEMENT || shuffle == SHUFFLE_WEIGHTED ||
	       shuffle == SHUFFLE_IMPORTANCE;
}

enum job_importance { IMPORTANCE_AGGRESSIVE, IMPORTANCE_RELAXED };
/* What a cache tier keeps; the rows stand in data/cache/cache.c. */
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
/* For whom there is one of them, and what is kept as a whole. */
enum job_cache_scope { CACHE_OF_HOST, CACHE_OF_RANK, CACHE_OF_ALL };
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
/* On which files a trace is replayed. */
enum job_replay_files { REPLAY_OWN, REPLAY_TRACED };
/* When an operation of it is due. */
enum job_replay_time { REPLAY_THINK, REPLAY_FIXED, REPLAY_ASAP };
/* Behind which others it begins: those of its thread, on its file, or all. */
enum job_replay_order { REPLAY_BY_THREAD, REPLAY_BY_FILE, REPLAY_GLOBAL };
/* Which errors are counted instead of ending the run. */
enum job_continue { CONTINUE_NONE, CONTINUE_READ, CONTINUE_WRITE, CONTINUE_IO, CONTINUE_ALL };

/* The word of an enum job_cache. */
const char *cache_word(int policy);

/* ---- a job ---- */

/*
 * What a command that runs its jobs several times need not find out again. It is of the job as the
 * command line has it; those that follow from it, and lead to it by scaled_as, add to it.
 */
struct job_kept {
	bool finds;            /* what a scan finds in files is kept */
	int scan_fd;           /* there, a file without a name; -1 = nothing is yet */
	bool has_told[2];      /* what is to be noted of a scan; by its part */
	bool has_named_device; /* that its files lie on */
};

/* Of checkpoint_archive, with its end. */
enum { JOB_ARCHIVE_BYTES = 32 };

/* From so many bytes on, and up to so many, what glibc's malloc maps moves its threshold up when it
 * is freed (M_MMAP_THRESHOLD, mallopt(3)): from then on memory of that size is kept and taken
 * again. */
#define JOB_MALLOC_MAPS_BYTES (UINT64_C(128) << 10)
#define JOB_MALLOC_MAPS_MAX_BYTES (UINT64_C(32) << 20)

/* Validated as a whole, immutable once loaded. Times are ns, sizes bytes. */
struct job {
	char *name; /* of the section */

	int phase; /* of workload_choices; see job_work() */
	char *directory;
	bool shared; /* all hosts of a job have the same directory */
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
	double dataset_ratio;    /* x memory; 0 = use num_files */
	uint64_t distinct_files; /* that are read; 0 = all */
	int dataset;
	int scan_errors;
	char *scan_key;               /* an array of npz; NULL = the first */
	char *scan_pair;              /* "FROM:TO", names; NULL = no twins */
	uint64_t scan_depth;          /* 0 = no limit */
	char *file_list;              /* of a scan; NULL = its directory */
	char *scan_cache;             /* of a scan; NULL = nothing is kept */
	uint64_t label_size_bytes;    /* of a second file per sample; 0 = none */
	uint64_t row_group_size;      /* rows */
	char *columns, *read_columns; /* NULL = one column; all of them */
	char *hdf5_dataset;           /* of a scan; NULL = the first */

	char *accelerator; /* NULL = none named */
	uint64_t accelerators;
	uint64_t batch_size;
	struct dist compute_time;
	int barrier;
	uint64_t epochs;
	uint64_t steps;   /* 0 = no limit; per rank, over all epochs */
	double target_au; /* percent; NaN = none */
	char *guess;      /* options whose values are guesses; NULL = none */

	uint64_t eval_files;
	uint64_t eval_batch_size; /* 0 = batch_size */
	struct dist eval_time;
	uint64_t eval_every, eval_after; /* epochs */

	int loader;
	uint64_t read_threads;
	uint64_t prefetch;
	struct variant shuffle; /* enum job_shuffle */
	int importance_mode;
	double importance_rep; /* in steps of a half */
	struct dist importance_difficulty, importance_decay;
	int shard;
	bool drop_last;
	int access;
	char *recorded_calls; /* a file; of access=recorded */
	bool deterministic;
	uint64_t decode_threads;
	struct dist preprocess_time;   /* of one sample */
	struct dist first_sample_time; /* what a loader's takes beside that */
	struct dist worker_start;      /* 0 = loaders stay */
	int decompress;
	uint64_t decompress_rate; /* compressed bytes per second */
	int preprocess, preprocess_at;
	char *preprocess_split;   /* NULL = by bytes; see job_read_shares */
	char *first_sample_split; /* NULL = all behind the first read */
	bool hold_samples;
	uint64_t fresh_memory; /* bytes of a read; 0 = none */

	/* A cache between sampler and storage; CACHE_NONE = there is none, and nothing of what
	 * follows counts. */
	int cache;
	struct cache_size cache_size; /* of each cache */
	int cache_scope;
	struct variant cache_unit; /* enum job_cache_unit; number: bytes of a page */
	char *cache_directory;     /* NULL = memory, or played */
	int cache_fill;
	uint64_t cache_queue; /* fills that wait, of cache_fill=async */
	int cache_layout;
	bool cache_persist;
	struct dist cache_latency;      /* 0 = not played */
	uint64_t cache_bandwidth_bytes; /* per second; 0 = not played */
	int cache_substitute;
	bool cache_hits_first;
	uint64_t cache_prefetch; /* samples ahead of what is decided */
	double cache_warm;       /* percent of its size */
	int cache_stage;
	double cache_decoded_factor; /* decoded bytes of a raw one */
	bool cache_verify;

	/* The state of a model: data/state/state.h makes sizes of it. */
	char *model; /* NULL = none named */
	uint64_t model_layers, model_hidden, model_ffn, model_heads, model_kv_heads,
		model_vocabulary;
	uint64_t model_bytes, optimizer_bytes; /* of one value */
	uint64_t ranks;                        /* 0 = of the parallelism, or the accelerators */
	uint64_t tensor_parallel, pipeline_parallel;
	uint64_t data_parallel; /* 0 = what ranks leave */
	uint64_t zero_stage;
	uint64_t checkpoint_size_bytes; /* instead of a model; 0 = the model */
	char *tensor_sizes;             /* a file, instead of a model; NULL = none */
	char *checkpoint_archive;       /* NULL = as its file is called */

	uint64_t checkpoints;   /* to save, or to restore */
	uint64_t pause_ns;      /* before each but the first */
	char *checkpoint_every; /* NULL = never; see job_checkpoint_every */
	int checkpoint_mode;
	uint64_t snapshot_bandwidth; /* bytes per second; 0 = takes no time */
	char *checkpoint_ranks;      /* "all", "zero", "0-7,16" */
	uint64_t checkpoint_threads; /* writers, or readers, of a rank */
	uint64_t checkpoint_keep;    /* 0 = all */
	char *checkpoint_directory;  /* NULL: see job_checkpoint_directory */
	int checkpoint_layout;
	int checkpoint_pattern;
	int checkpoint_fsync;
	bool rename_commit;
	uint64_t restore_shift; /* ranks */
	int verify;

	char *ioengine;
	bool direct, buffered; /* one is the reverse of the other */
	struct u64_pair bs;    /* bytes; a training reads with bs.read */
	uint64_t iodepth;
	int invalidate;
	int drop_caches;
	int mem; /* enum mem_kind */

	/* phase=io: a plain job, as fio has it. */
	int rw;
	double rwmixread, rwmixwrite; /* percent; sum 100 */
	char *bssplit;                /* NULL = bs; see job_sizes */
	char *filename;               /* NULL = $jobname.$jobnum.0; a:b */
	uint64_t filesize_bytes;      /* of each file; 0 = from size */
	struct size_share size, io_size, offset;
	uint64_t numjobs;
	uint64_t loops;
	bool norandommap;
	uint64_t iodepth_batch_submit; /* 0 = all that is free */
	uint64_t iodepth_batch_complete_min;
	uint64_t iodepth_batch_complete_max; /* 0 = iodepth */
	struct u64_pair rate;                /* bytes per second; 0 = none */
	struct u64_pair rate_iops;
	uint64_t thinktime_ns, thinktime_blocks;
	uint64_t fsync, fdatasync; /* after so many writes; 0 = never */
	bool end_fsync;
	bool create_only;

	/* phase=replay: the operations of a trace. */
	char *replay_trace; /* a trace, or a log of fio's */
	int replay_files, replay_time, replay_order;
	double replay_speed;        /* 2 = twice as fast */
	uint64_t replay_span_bytes; /* of block devices; 0 = all */
	uint64_t replay_threads;    /* 0 = as many as the trace has at a time */

	uint64_t memory_limit; /* bytes; 0 = none; the same in all jobs */
	bool memory_limit_required;
	uint64_t randseed;
	char *cpus_allowed; /* NULL = no change */
	int numa;
	char *numa_cpu_nodes; /* NULL = no change; a list or "all" */
	int continue_on_error;
	char *ignore_error;          /* ignored.h; NULL = no list */
	struct u64_share max_errors; /* that a good run may have */
	struct f64_list percentile_list;
	bool group_reporting;
	char *write_iolog; /* a file; NULL = no log */
	int kb_base;       /* 1024 or 1000 */

	/* Not options. */
	/* Of a job that several processes run: the accelerators of those before this one, and of
	 * all of them; all 0 = there are no others. */
	uint64_t accelerators_before, accelerators_all;
	/* What is dealt out to them: first to hosts, then to the processes of each. Zeroed: there
	 * are no others. */
	struct job_place {
		uint64_t host, hosts, process, processes;
		uint64_t rank, total; /* of all processes */
	} place;
	unsigned group; /* jobs of one group start together */
	/* Whose accelerators and batches scale counts: the job as it was before a question changed
	 * it, so that its dataset stays; NULL = its own. */
	const struct job *scaled_as;
	struct job_kept *kept; /* owned */
	/* What accelerator= may be, a blank in front of each; NULL = anything. */
	char *accelerators_known;
	const struct mlgen_engine *engine; /* of `ioengine` */
	void *engine_opts;                 /* engine->opts_size bytes, or NULL */
	struct job_origin *origins;        /* one per row of job_fields */
	struct job_origin *engine_origins; /* ... of engine->opts, or NULL */
	struct diag_place at;              /* the section's header */
};

/* Where a value came from, for --showjob and messages. */
struct job_origin {
	struct diag_place at; /* file NULL: default or command line */
	char *how;            /* "default", "[global]", "[NAME]",
				   "[accelerator=h100]", "command line" */
	char *raw;            /* the text as written, NULL for a default */
};

/* Every option of a job. The index of a row is the index of its origin. */
extern const struct mlgen_field job_fields[];

struct job *job_new(const char *name); /* all defaults */
void job_free(struct job *j);          /* NULL is fine */

/* Its own, or that of the job it follows from; NULL where job_new has not made it. */
struct job_kept *job_kept(const struct job *j);

/* Give the job its engine, with that engine's options at their defaults. */
void job_set_engine(struct job *j, const struct mlgen_engine *engine);

/*
 * What relates two options, as a list of plain ifs; each fault goes to `d` at the place of the
 * option that is wrong.
 */
void job_check(const struct job *j, struct diag *d);

/* What of it a plain job does. */
bool job_reads(const struct job *j);
bool job_writes(const struct job *j);
bool job_is_random(const struct job *j);

/* Sizes of requests of one direction (0 read, 1 write), by weight: bssplit, or bs alone. Their
 * number, or -EINVAL with err where bssplit cannot be read. */
#define JOB_SIZES_MAX 64
struct job_size {
	uint64_t bytes;
	double percent; /* all of a direction sum to 100 */
};
int job_sizes(const struct job *j, unsigned direction, struct job_size sizes[JOB_SIZES_MAX],
	      struct mlgen_err *err);

/* Of preprocess_split or first_sample_split, in the order of reads. Their number, 0 = it is not
 * given, or -EINVAL with err where it cannot be read. */
#define JOB_READ_SHARES_MAX 64
struct job_read_share {
	uint64_t read;  /* of a sample, from 1 */
	double percent; /* of the time; all sum to at most 100 */
};
int job_read_shares(const char *list, struct job_read_share shares[JOB_READ_SHARES_MAX],
		    struct mlgen_err *err);

/*
 * Requests that one read thread has under way: iodepth, and 1 on a synchronous engine. Samples it
 * reads at the same time: as many with loader=plain, one with the framework's own.
 */
unsigned job_depth(const struct job *j);
unsigned job_samples_at_once(const struct job *j);
/* Samples of shuffle=buffer:N; 0 = no buffer. */
uint64_t job_shuffle_buffer(const struct job *j);

/* Does it deliver as TFRecordDataset does, which opens files ahead? For each of read_threads there
 * are three threads then (work/train/pipeline/pipeline_internal.h). */
#define JOB_INTERLEAVE_THREADS 3u
/* ... and the records of a file that a thread may have read before one was delivered. */
#define INTERLEAVE_RECORDS 3u
bool job_interleaves(const struct job *j);

/* Does preprocess_time pass batch by batch, decode_threads of them at a time, behind the loaders?
 * Else each of them spends it on what it has read. */
bool job_decodes_batches(const struct job *job);

/* Threads that read for an accelerator; 0 = it reads itself. */
uint64_t job_read_threads(const struct job *j);
/* Readers of an accelerator: these threads, or with none its own. */
uint64_t job_readers(const struct job *j);
/* Of all processes that run it; those of this one are job->accelerators. */
uint64_t job_all_accelerators(const struct job *j);
/* The processes among which its cache tier is divided, cache_scope=all, and which part this one's
 * is; 1 and 0 where it is whole. */
uint64_t job_cache_parts(const struct job *j);
uint64_t job_cache_part(const struct job *j);
/* Processes of the job on this host, of which a limit is dealt out evenly; 1 = it is alone. */
uint64_t job_host_processes(const struct job *j);

/* checkpoint_every in parts. 0, or -EINVAL with err where it cannot be read; count 0 = never. */
struct checkpoint_every {
	enum { EVERY_STEPS, EVERY_EPOCHS, EVERY_TIME } unit;
	uint64_t count; /* of steps or epochs; ns */
};
int job_checkpoint_every(const struct job *j, struct checkpoint_every *e, struct mlgen_err *err);
/* Does this job save or restore a model's state, be it besides something else? */
bool job_has_checkpoints(const struct job *j);
/* checkpoint_directory, or the default of the phase; to be freed. */
char *job_checkpoint_directory(const struct job *j);
/* May a checkpoint_archive be called so? */
bool job_is_archive(const char *name);

/* Where the option was set, for a message. */
struct diag_place job_place(const struct job *j, const char *option);

/* Do the page caches of this host lose its files before each epoch? */
static inline bool job_drops_each_epoch(const struct job *j)
{
	return j->invalidate == INVALIDATE_EPOCH || j->drop_caches == DROP_CACHES_EPOCH;
}

/* With some engines a job only plays its files. */
static inline bool job_touches_files(const struct job *j)
{
	return !(j->engine && j->engine->caps & MLGEN_CAP_NO_FILES);
}

/* Does anybody say the option, a job file or the command line? */
bool job_is_given(const struct job *j, const char *option);

/* On the command line? */
bool job_is_commanded(const struct job *j, const char *option);

/* And something else than its default: --showjob writes defaults, too, which are no opinion. */
bool job_is_changed(const struct job *j, const char *option);

/*
 * The value of one option as text that a section of this job reads back to the same value, whatever
 * its kb_base; appended.
 */
void job_option_text(const struct job *j, const char *option, struct buf *out);
/* The same of any field, of job_fields (base: the job) or of engine->opts. */
void job_field_text(const struct job *j, const struct mlgen_field *f, const void *base,
		    struct buf *out);

/* ---- ranks, models and checkpoints ---- */

/* Ranks of the whole job: `ranks`, or what the parallelism says. Those of a job whose parallelism
 * is wrong mean nothing. */
uint64_t job_ranks(const struct job *j);

/* Of these all processes of the job save: checkpoint_ranks, in a training those below its
 * accelerators. 0, or -errno with err; *out is the caller's (ranges_fini). */
int job_saved_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);
/* Of them this process plays: all, where it is alone; else in a training those that its
 * accelerators are, or its even share, which may be none. */
int job_local_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err);

/* Most bytes that all ranks together may have: offsets and sums are 63 bit. */
#define MODEL_BYTES_MAX 9.2e18

/*
 * Rules of a job with checkpoints, one after the other, from 0 on: the option that rule i is about,
 * or NULL behind the last. *rc is 0, or -errno with err: "OPTION: what is wrong, what would be
 * right".
 */
const char *job_check_model(const struct job *j, unsigned i, int *rc, struct mlgen_err *err);

/* ---- errors that count, guesses, advice ---- */

/* What a request that fails with EAGAIN met, as with nowait=1. */
#define IGNORED_HINT_EAGAIN "it would have had to wait; ignore_error=EAGAIN counts such"

/*
 * Does this one count (a negative errno)? A list is all that counts of its kind. To a training each
 * of its operations is a read.
 */
bool ignored_counts(const struct job *j, enum mlgen_op op, int error);

/* Each name in it is that of an option: a fault for each that is not. */
void guess_check(const struct job *j, struct diag *d);

/*
 * "compute_time is a guess of its source", one after the other with "; ", appended; nothing where
 * there is none. A value that was given on the command line is no longer the source's.
 */
void guess_text(const struct job *j, struct buf *out);

/* Could it have more files, by num_files or dataset_ratio? Those of a scan are what they are. */
bool advice_makes_files(const struct job *j);

/* How it gets more of them: "more num_files", "a directory with more files". What makes_files is
 * follows from advice_makes_files, or from a dataset that is known (dataset_makes_files). */
const char *advice_more_files(const struct job *j, bool makes_files);

/* Does what plays a framework open files of this format with O_DIRECT? */
bool advice_format_takes_direct(const struct job *j);

/* Could direct=1 be set, which it has not: is it taken by engine, format, layout of checkpoints,
 * and by the sizes of requests? */
bool advice_direct(const struct job *j);

/* ---- workloads ---- */

/*
 * A workload is a folder below src/work and a row in its table (work/workloads.c). Nobody outside
 * that folder asks which one a job is: what has to be known of it is a fact of its row, or a
 * function that a room calls.
 */
struct workload_default {
	const char *option, *value; /* NULL ends the list */
};

enum workload_checkpoints {
	CHECKPOINTS_NONE,
	CHECKPOINTS_ASKED, /* with checkpoint_every, beside something else */
	CHECKPOINTS_ALWAYS,
};

struct workload {
	/* ---- its options ---- */

	/* Headings (mlgen_field.group) of options that are its own, what a message calls one of
	 * them, and those of others that it takes, too. The lists end with NULL; a heading in none
	 * of them is everybody's. */
	const char *const *groups;
	const char *option_of; /* "an option of phase=train" */
	const char *const *also;
	/* Defaults that are not those of job_fields; NULL = none. */
	const struct workload_default *defaults;
	/* Options of others that are tried here, and what does it here: they are refused by that
	 * name on the command line, too. NULL = none. */
	const struct workload_default *instead;
	/* What relates two of its options, as job_check() has it. */
	void (*check)(const struct job *j, struct diag *d);
	/* The option by which more is done at once. */
	const char *more_at_once;

	/* ---- what it does ---- */

	bool is_plain;                /* as fio has them, and reported so */
	const char *said_by;          /* an option that alone says so; or NULL */
	bool has_dataset;             /* its directory holds samples */
	bool only_prepares;           /* it makes that, and measures nothing */
	bool has_accelerators;        /* that take batches, and have an AU */
	bool is_open_ended;           /* time_based makes it as long as runtime */
	bool is_grouped;              /* by group_reporting, into one record */
	bool counts_errors;           /* continue_on_error, max_errors */
	bool needs_read, needs_write; /* of its engine, in any case */
	bool restores;                /* its checkpoints are read */
	enum workload_checkpoints checkpoints;

	/* ---- what rooms further on ask of it ---- */

	const struct activity *run; /* run/slot/slot.h */
	const struct page *page;    /* report/plan/plan.h */
	const struct asked *asked;  /* ask/ask.h */
};

/* All of them, and the values of phase= in the same order; NULL ends both. */
extern const struct workload *const workloads[];
extern const struct mlgen_choice workload_choices[];

const struct workload *job_work(const struct job *j);

/* As phase= has it: "train". */
const char *job_work_name(const struct job *j);

/* Do its accelerators take samples of a data set? Not those of every workload that has some. */
static inline bool workload_trains(const struct workload *w)
{
	return w->has_accelerators && w->has_dataset;
}

/* Has a job of this workload that option? Of job_fields. */
bool workload_has(const struct workload *w, const struct mlgen_field *f);

/* "an option of phase=train"; of one that not every workload has. */
const char *workload_of(const struct mlgen_field *f);

/* Has this option of job_fields, given or not, its workload's default? */
bool workload_is_default(const struct job *j, const struct mlgen_field *f);

/* ---- options of the program ---- */

enum settings_format {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_FIO_JSON,
	OUTPUT_DLIO,
	OUTPUT_CSV /* of --table */
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
	bool thorough;      /* look at all files of a dataset before it is read */
	char *section;      /* run only these, a name a line */
	bool readonly;      /* refuse anything that writes */
	bool allow_fill;    /* preparation may use more than half of the free space */
	char *allow_device; /* may be written, a:b; NULL = none */
	bool replace;       /* delete a dataset made otherwise, or checkpoints of other runs */
	int output_format;
	char *output, *json, *json_each, *html, *log;
	char *title, *note;           /* for readers; each note has a line; NULL = none */
	char *metrics, *metrics_file; /* of a run, for Prometheus */
	uint64_t metrics_linger_ns;   /* 0 = not */
	bool force;                   /* outputs replace any regular file */
	char *trace;                  /* of a run: a file for all that it does */
	uint64_t log_interval_ns;
	int eta;
	bool live;                   /* a full screen in the place of the status line */
	uint64_t status_interval_ns; /* 0 = never */
	bool quiet, brief, verbose, series, page;
	char *require; /* "au>=90"; several joined with ',' */
	/* Questions (src/ask): */
	char *find_max; /* an integer option; NULL = not asked */
	char *find_min; /* cache_size; NULL = not asked */
	int ceiling;
	char *table;      /* keys, a,b,c; the arguments are results */
	bool compare;     /* the arguments are results */
	double tolerance; /* percent; NaN = what the noise says */
	bool merge;       /* the arguments are results */
	bool report;      /* the same */
	int check;
	bool datasize;
	bool miss_curve;
	uint64_t memory_bytes; /* of one host; 0 = of this one */
	uint64_t hosts;
	/* Of several processes that a launcher started: */
	int barrier_over;
	uint64_t peers_port; /* 0 = any */
	int import;
	bool clean; /* the arguments are directories */
	bool yes;   /* clean removes */
};

extern const struct mlgen_field settings_fields[];

/* Is a run looked at over time, for the document or for the page? */
static inline bool settings_has_series(const struct settings *s)
{
	return s->series || s->html;
}

/* ---- questions ---- */

enum question_about {
	ABOUT_FILES,     /* the arguments are no jobs */
	ABOUT_DOCUMENTS, /* the same where one is a *.json; else it is of a run */
	ABOUT_JOBS,
};

/*
 * One question. It is asked where `option`, of settings_fields, has another value than its default.
 * A table of them ends with an empty row; where one is wanted, NULL is an empty one.
 */
struct question {
	const char *option;
	enum question_about about;
	const char *files;    /* what to name where there are none */
	bool needs_two;       /* one file has nothing to be compared with */
	bool writes_json;     /* of files: --json has the answer, too */
	bool writes_html;     /* of files: --html has a page of it */
	bool shows_documents; /* ... and of the files, which are of runs */
	bool takes_documents; /* of jobs: *.json among them are results of runs */
	bool only_looks;      /* of jobs: none is run, so that no shared object is loaded */
	bool before_dry_run;  /* of jobs: answered with --dry-run, too, which is not made */
	bool takes_require;   /* --require is about its figures */
	bool prints_csv;      /* --output-format=csv is one of its own */
	bool has_report;      /* of runs: --title and --note have a place in it */
	bool is_implied;      /* by documents alone, *.json, where nothing is asked */
	bool is_live;         /* what it prints appears while it is answered */
	/* Options that mean nothing without a question that has this list, NULL-ended; NULL =
	 * none. */
	const char *const *goes_with;
	int (*answer)(const struct ask *a); /* gives the exit status */
};

/* Does its name look like what a run wrote, and like no job? */
bool question_is_document(const char *file);

/* ---- all jobs of a command line ---- */

/*
 * To load a shared object runs its constructors, and a job that is only looked at has no need of
 * them. Its table stands empty then: by all appearances it can do everything, and it has every
 * option that nobody else has, as text. Nothing can be run by it. Zeroed is empty.
 */
struct standins {
	struct mlgen_engine **engines;
	char **paths; /* their names */
	size_t count;
	struct mlgen_field *fields; /* of all of them; NULL = no options */
	char **options;             /* their names */
	size_t field_count;
};

struct jobset_env {
	const struct mlgen_engine *const *engines; /* NULL-ended */
	const struct question *questions;          /* NULL = none */
	const char *binary_dir;                    /* jobs/ beside it is searched */
	const char *installed_dir;                 /* PREFIX/share/mlgen/jobs */
	/* Why a known engine was not built in, NULL = not known; optional. */
	const char *(*why_absent)(const char *engine);
	/*
	 * The engine of a shared object, which stays loaded; NULL with err. Asked for what
	 * jobset_is_path says, and only for engines on which jobs are going to run: to load it runs
	 * code of its own. Optional.
	 */
	const struct mlgen_engine *(*load)(const char *path, struct mlgen_err *err);
	/* Could it be one? 0 or -errno with err; nothing of it is run. Optional. */
	int (*look)(const char *path, struct mlgen_err *err);
	/*
	 * The format of the files in a directory, where that is one of shards, which hold many
	 * samples one behind the other, and where there are at least so many; NULL = they are no
	 * shards, or cannot be looked at. Optional.
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
	/* In the place of shared objects that were not loaded: with parse-only, showjob, dry-run,
	 * datasize and miss-curve, which run nothing. */
	struct standins standins;
	const struct question *question; /* what is asked; NULL: to run */
	/* Arguments of a question about files, of which none is a job; with takes_documents, all
	 * arguments. Owned. */
	char **files;
	size_t file_count;
};

/*
 * Read the command line and every job file it names; faults of all of them go to `d`. 0 with the
 * jobs validated (or a general request such as --help in settings and no jobs), -EINVAL when `d`
 * has errors; fini in any case, after `d` was printed: its places point to the paths here.
 * Precedence: defaults < [global] above < section < [option=value] < command line.
 */
int jobset_load(struct jobset *set, int argc, char *const argv[], const struct jobset_env *env,
		struct diag *d);
void jobset_fini(struct jobset *set);

/* They will be run several times, by what follows from this set: what scans find is kept from now
 * on. */
void jobset_keep(const struct jobset *set);

/* One of the parts of --require: "au>=90". */
#define REQUIREMENTS_MAX 16

struct requirement {
	char metric[64]; /* "au", "samples_per_sec", ... */
	char op[3];      /* >= <= > < == */
	double value;
};
/* Up to max of them, with commas or "and" between; their number or -EINVAL. */
int jobset_requirements(const char *text, struct requirement *out, unsigned max,
			struct mlgen_err *err);

/* With all includes, however often. No job file comes near. */
#define JOBREADER_BYTES_MAX (4u << 20)

/*
 * Why no line of a job file can hold this value of an option so that it is read back alike, as a
 * clause: "a '#'". NULL: one can.
 */
const char *jobreader_cannot_hold(const char *value);

/* ---- what is printed of jobs and options ---- */

/* Can one job file hold them all? 0, or -EINVAL with what it cannot hold. */
int showjob_check(const struct jobset *set, struct mlgen_err *err);

/*
 * The file, of jobs that were checked: every option with its origin in a comment line above it.
 */
void showjob_print(FILE *to, const struct jobset *set);

/* --cmdhelp=OPTION|all. 0, or -ENOENT with a suggestion in err. */
int help_option(FILE *to, const char *name, const struct mlgen_engine *const *engines,
		struct mlgen_err *err);

/* The option list of a man page (mdoc) from a table. has_dashes: on a command line an option is
 * written --name, otherwise name=VALUE. */
void help_mdoc(FILE *to, const struct mlgen_field *table, bool has_dashes);

/*
 * Topics are the groups of the tables of options: "dataset", "plain-io". "" is the screen that
 * names them, "all" every option a line, the name of an option what --cmdhelp says of it. 0, or
 * -ENOENT with the topics in err.
 */
int help_topic(FILE *to, const char *topic, const struct mlgen_engine *const *engines,
	       struct mlgen_err *err);

/* Print a line with the words behind it, from `indent` on, and end it. Lines of the text that end a
 * sentence stay lines; others are filled. */
void help_text_print(FILE *to, struct buf *line, const char *text, size_t indent, size_t columns);
