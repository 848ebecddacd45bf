/* SPDX-License-Identifier: Apache-2.0 */
/* job.h - one section of a job file: its options, declared once, and their rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/field.h>

#include "base/dist.h"
#include "field/fields.h"
#include "job/diag.h"

enum job_rw { RW_READ, RW_WRITE, RW_RW, RW_RANDREAD, RW_RANDWRITE, RW_RANDRW };
enum job_format {
	FORMAT_NPZ,
	FORMAT_NPY,
	FORMAT_RAW,
	FORMAT_TFRECORD,
	FORMAT_JPEG,
	FORMAT_INDEXED_BINARY,
	FORMAT_MMAP_INDEXED_BINARY,
	FORMAT_HDF5,
	FORMAT_PARQUET,
	FORMAT_TAR,
	FORMAT_PNG,
	FORMAT_CSV,
	FORMAT_AUTO /* the last: dataset=scan finds out */
};
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
 * are three threads then (run/interleave.h). */
#define JOB_INTERLEAVE_THREADS 3u
bool job_interleaves(const struct job *j);

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
struct buf;
void job_option_text(const struct job *j, const char *option, struct buf *out);
/* The same of any field, of job_fields (base: the job) or of engine->opts. */
void job_field_text(const struct job *j, const struct mlgen_field *f, const void *base,
		    struct buf *out);
