/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - every option of a job: name, type, limits, default, a sentence. */
#include "job/job_internal.h"

#include "base/mem.h"
#include "base/util.h"

/* clang-format off */
/* What each of them does is a row of data/cache/cache.c. */
static const struct mlgen_choice cache_policies[] = {
	{ "none", CACHE_NONE, "there is no cache" },
	{ "lru", CACHE_LRU, "what was not read for longest makes room" },
	{ "fifo", CACHE_FIFO, "what came first makes room" },
	{ "lfu", CACHE_LFU, "what was read least often since it came makes room, of those what was not read for longest" },
	{ "random", CACHE_RANDOM, "any of them makes room" },
	{ "clock", CACHE_CLOCK, "what came first makes room, but what was read again since then has a second turn" },
	{ "minio", CACHE_MINIO, "what fits is kept, and nothing ever makes room (CoorDL, VLDB 2021)" },
	{ "importance", CACHE_IMPORTANCE, "the least important makes room, unless the newcomer is no more important (SHADE, FAST 2023); of shuffle=importance or weighted" },
	{ "belady", CACHE_BELADY, "what is read again last makes room, or the newcomer is not kept: of samples of one size no policy can hit more; of an order that is known" },
	{ "hot", CACHE_HOT, "the first of a ranking that fit are kept and no others" },
	{ 0 },
};
/* clang-format on */

/* clang-format off */
static const struct mlgen_choice rws[] = {
	{ "read", RW_READ, "reads from front to back" },
	{ "write", RW_WRITE, "writes from front to back" },
	{ "rw", RW_RW, "both from front to back, mixed by rwmixread" },
	{ "randread", RW_RANDREAD, "reads in random order" },
	{ "randwrite", RW_RANDWRITE, "writes in random order" },
	{ "randrw", RW_RANDRW, "both in random order" },
	{ "readwrite", RW_RW, "as rw" },
	{ 0 },
};

static const struct mlgen_choice mems[] = {
	{ "malloc", MEM_MALLOC, "ordinary memory" },
	{ "mmap", MEM_MMAP, "a mapping of its own" },
	{ "hugepage", MEM_HUGEPAGE, "a mapping of huge pages, which have to be reserved (vm.nr_hugepages)" },
	{ "mmaphuge", MEM_HUGEPAGE, "as hugepage" },
	{ 0 },
};

static const struct mlgen_choice formats[] = {
#define FORMAT_CHOICE(word, name, help) { #name, FORMAT_##word, help },
	JOB_FORMATS(FORMAT_CHOICE)
#undef FORMAT_CHOICE
	{ "auto", FORMAT_AUTO, "what the files show themselves to be; of dataset=scan, and its default" },
	{ 0 },
};

static const struct mlgen_choice loaders[] = {
	{ "pytorch", LOADER_PYTORCH, "batch k of an accelerator is read by thread k modulo read_threads and delivered in order" },
	{ "tfdata", LOADER_TFDATA, "each of read_threads reads a file of its own from front to back, and a sample of each is delivered in turn; it runs on across epochs" },
	{ "plain", LOADER_PLAIN, "each sample is read by whichever thread is free; a full batch is delivered" },
	{ 0 },
};

static const struct mlgen_choice shuffles[] = {
	{ "none", SHUFFLE_NONE, "in the order of the files" },
	{ "sample", SHUFFLE_SAMPLE, "every sample in a new random order each epoch" },
	{ "file", SHUFFLE_FILE, "files in a new random order each epoch, each read front to back" },
	{ "buffer:N", SHUFFLE_BUFFER, "as read, through a buffer of so many samples from which one is drawn; it fills before the first batch, as tf.data's does" },
	{ "replacement", SHUFFLE_REPLACEMENT, "each is drawn among all, so that an epoch has some several times and 37% of them not at all" },
	{ "weighted:DIST", SHUFFLE_WEIGHTED, "each is drawn among all in proportion to its weight, which is drawn once for each sample" },
	{ "importance", SHUFFLE_IMPORTANCE, "each is drawn among all by a weight that follows from its rank by loss in the batch that it was last trained in, and what is in the cache comes first, as in SHADE" },
	{ "pages:SIZE[:WINDOW]", SHUFFLE_PAGES, "pages of neighbours, of SIZE together, in a new random order each epoch, and the samples of so many pages shuffled (twice batch_size of them, as in FFCV, where WINDOW is not written)" },
	{ "chunks:N[:GROUP]", SHUFFLE_CHUNKS, "chunks of N neighbours in a new random order each epoch, and the samples of so many chunks (1) shuffled, as in DIESEL" },
	{ 0 },
};

static const struct mlgen_choice importance_modes[] = {
	{ "aggressive", IMPORTANCE_AGGRESSIVE, "from the second epoch on, each accelerator takes of a draw of its own what was drawn most often" },
	{ "relaxed", IMPORTANCE_RELAXED, "each accelerator takes what it draws" },
	{ 0 },
};

static const struct mlgen_choice shards[] = {
	{ "strided", SHARD_STRIDED, "accelerator r of n takes the samples r, r+n, r+2n, ..." },
	{ "contiguous", SHARD_CONTIGUOUS, "accelerator r of n takes the r-th n-th of the order" },
	{ "file", SHARD_FILE, "accelerator r of n takes whole files: r, r+n, r+2n, ..." },
	{ 0 },
};

static const struct mlgen_choice datasets[] = {
	{ "made", DATASET_MADE, "mlgen writes the files that are missing; a dataset that DLIO or MLPerf Storage made is read as it is" },
	{ "scan", DATASET_SCAN, "the files that are in directory, of any name and size; they are only read. Where it has train/ and valid/, those are what is trained with and what is evaluated with" },
	{ 0 },
};

static const struct mlgen_choice scan_errors[] = {
	{ "auto", SCAN_SKIP_DAMAGED, "a file that is damaged, or as mlgen cannot read it, is counted, reported and left out; with anything else the job does not run" },
	{ "refuse", SCAN_REFUSE, "the job does not run" },
	{ "skip", SCAN_SKIP, "it is counted, reported and left out" },
	{ 0 },
};

static const struct mlgen_choice preprocesses[] = {
	{ "sleep", PREPROCESS_SLEEP, "asleep, as if another CPU did it" },
	{ "burn", PREPROCESS_BURN, "busy on a CPU of this host" },
	{ 0 },
};

static const struct mlgen_choice preprocess_places[] = {
	{ "sample", PREPROCESS_AT_SAMPLE, "when all of it was read, as a decoder that takes a buffer" },
	{ "reads", PREPROCESS_AT_READS, "behind each read, as much of it as of the sample's bytes was read: what would be less than 50 us behind a later one: as NumPy, which checks and copies what it has got before it asks for more" },
	{ 0 },
};

static const struct mlgen_choice decompressions[] = {
	{ "none", DECOMPRESS_NONE, "takes no time: compressed bytes are only read" },
	{ "real", DECOMPRESS_REAL, "deflate (gzip, zlib) and zstd are decompressed by the thread that read them, which uses this host's CPUs" },
	{ "sleep", DECOMPRESS_SLEEP, "the thread is asleep for as long as decompress_rate says, as if another CPU did it" },
	{ 0 },
};

static const struct mlgen_choice cache_scopes[] = {
	{ "host", CACHE_OF_HOST, "one for all accelerators of a host" },
	{ "rank", CACHE_OF_RANK, "one for each accelerator, of that size each" },
	{ "all", CACHE_OF_ALL, "one of that size, which all processes of a job have together: each keeps a part of its samples, and gives them to the others over TCP; of one process that is host" },
	{ 0 },
};

static const struct mlgen_choice cache_units[] = {
	{ "sample", CACHE_SAMPLES, "what is read together: a sample, where samples can be read alone" },
	{ "file", CACHE_FILES, "whole files" },
	{ "page:SIZE", CACHE_PAGES, "neighbours of a file, of SIZE together, from that of one sample to that of a file; a miss brings all of them" },
	{ 0 },
};

static const struct mlgen_choice cache_fills[] = {
	{ "sync", CACHE_FILL_SYNC, "by the thread that read the sample, before it goes on" },
	{ "async", CACHE_FILL_ASYNC, "behind it, by a thread of the tier; what does not fit into cache_queue is dropped and counted" },
	{ 0 },
};

static const struct mlgen_choice cache_layouts[] = {
	{ "slab", CACHE_LAYOUT_SLAB, "one file of slots, which are overwritten" },
	{ "files", CACHE_LAYOUT_FILES, "a file for each sample, unlinked when it goes" },
	{ 0 },
};

static const struct mlgen_choice cache_substitutes[] = {
	{ "none", CACHE_SUBSTITUTE_NONE, "the sample itself is read" },
	{ "group", CACHE_SUBSTITUTE_GROUP, "another of the same file is taken, if the tier has one (Quiver)" },
	{ "any", CACHE_SUBSTITUTE_ANY, "any other that the tier has is taken (iCache)" },
	{ 0 },
};

static const struct mlgen_choice cache_stages[] = {
	{ "raw", CACHE_RAW, "as they are read; a hit is decoded like any other" },
	{ "decoded", CACHE_DECODED, "as they are when decoded: cache_decoded_factor times the size, and a hit needs no preprocess_time" },
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
	{ "recorded", ACCESS_RECORDED, "the calls that recorded_calls has; of samples alone" },
	{ 0 },
};

static const struct mlgen_choice layouts[] = {
	{ "torch", LAYOUT_TORCH, "one file a rank, as torch.save writes it: a zip archive with a record per tensor" },
	{ "deepspeed", LAYOUT_DEEPSPEED, "files of model and optimizer states by rank and layer, as DLIO writes them, each as torch.save to an open file does" },
	{ "stream", LAYOUT_STREAM, "the same files, the tensors' bytes back to back in chunks of 32 MiB, dropped from the page cache behind the writer" },
	{ "pattern", LAYOUT_PATTERN, "one file a rank, in the mix of write sizes that was measured of checkpoint_pattern" },
	{ 0 },
};

static const struct mlgen_choice patterns[] = {
	{ "unet3d", PATTERN_UNET3D, "1,280 bytes and about 2.2 MB in turn, 499,153,191 bytes, by rank 0" },
	{ "bert", PATTERN_BERT, "4,096 and 8,384,512 bytes in turn, 4,034,713,312 bytes, by every rank" },
	{ "dlrm", PATTERN_DLRM, "7,348 bytes and about 518 MB in turn, 27,129,166,561 bytes, by rank 0" },
	{ 0 },
};

static const struct mlgen_choice checkpoint_modes[] = {
	{ "sync", CHECKPOINT_SYNC, "accelerators stand still until it is written" },
	{ "async", CHECKPOINT_ASYNC, "they stand still for a snapshot in memory; it is written while they go on" },
	{ 0 },
};

static const struct mlgen_choice checkpoint_fsyncs[] = {
	{ "none", CHECKPOINT_FSYNC_NONE, "nothing is flushed; the report says how much was not durable" },
	{ "file", CHECKPOINT_FSYNC_FILE, "each file before it is closed" },
	{ "end", CHECKPOINT_FSYNC_END, "all files of a rank when the last one is written" },
	{ "0", CHECKPOINT_FSYNC_NONE, "as none" },
	{ "1", CHECKPOINT_FSYNC_FILE, "as file" },
	{ 0 },
};

static const struct mlgen_choice verifies[] = {
	{ "none", VERIFY_NONE, "what is read is dropped" },
	{ "crc32c", VERIFY_CRC32C, "each block of 4 KiB against the checksum that was written with it" },
	{ "0", VERIFY_NONE, "as none" },
	{ 0 },
};

static const struct mlgen_choice drops[] = {
	{ "no", DROP_CACHES_NO, "the caches are left as they are" },
	{ "run", DROP_CACHES_RUN, "before the job begins; where that is not permitted it does not run" },
	{ "epoch", DROP_CACHES_EPOCH, "before every epoch of a training; likewise" },
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
#define NS_PER_DAY (86400 * NS_PER_S)
#define KI 1024.0
#define MI (KI * KI)
#define GI (KI * MI)
#define TI (KI * GI)

/* No test runs for longer than a year; a longer time is a slip of units. */
#define LONGEST_RUN (366 * NS_PER_DAY)

/* Exact in a double. As a sample has a byte, a dataset of 8 EiB at most keeps their product in
 * uint64_t (train_check.c). */
#define MOST_FILES 1e10
#define MOST_SAMPLES_PER_FILE 1e10
#define MOST_STEPS 1e15

/* Of one file or device; sums over all workers of a job fit uint64_t. */
#define MOST_BYTES (1024 * TI)

static const struct mlgen_choice replay_files[] = {
	{ "own", REPLAY_OWN, "files of the same names and sizes below directory, which are made first" },
	{ "traced", REPLAY_TRACED, "the files that the trace names, which are only read; what would change one goes below directory instead, and is counted" },
	{ 0 },
};

static const struct mlgen_choice replay_times[] = {
	{ "think", REPLAY_THINK, "as long after what its thread had done before as in the trace, so that faster storage makes it shorter" },
	{ "fixed", REPLAY_FIXED, "at its time in the trace; latencies count from there" },
	{ "asap", REPLAY_ASAP, "at once" },
	{ 0 },
};

static const struct mlgen_choice replay_orders[] = {
	{ "thread", REPLAY_BY_THREAD, "those of its thread" },
	{ "file", REPLAY_BY_FILE, "those on its file, too" },
	{ "global", REPLAY_GLOBAL, "all of the trace" },
	{ 0 },
};

const struct mlgen_field job_fields[] = {
	{ "phase", MLGEN_F_ENUM(struct job, phase, workload_choices),
	  .def = "train", .group = "Job",
	  .help = "What the job does.\n"
		  "A section with rw= and without phase= is phase=io." },
	{ "directory", MLGEN_F_STR(struct job, directory),
	  .def = "mlgen-data/$jobname", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Directory of the dataset, made when it is missing; of the files of a plain job, by default the current one.\n"
		  "A relative path is made whole, of an absolute one the last folder:\n"
		  "without the others a filesystem may not be mounted.\n"
		  "With dataset=scan also files, and several with ':' between them\n"
		  "(a colon in a name is '\\:'), patterns such as shard-*.tar, and\n"
		  "braces: shard-{000..127}.tar, {a,b}/{0..3}. What is there under\n"
		  "the very name is that. Together they are read in byte order.\n"
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
		  "Of runtime, steps and epochs the first that is reached ends the run.\n"
		  "What is computed, and storage that is only played, is cut then.\n"
		  "Real calls under way, and a checkpoint of them, are waited for." },
	{ "time_based", MLGEN_F_BOOL(struct job, time_based),
	  .def = "0", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Repeat epochs, or a plain job's size, until runtime has passed." },
	{ "ramp_time", MLGEN_F_TIME(struct job, ramp_time_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Run this long before anything is counted." },
	{ "randseed", MLGEN_F_U64(struct job, randseed),
	  .def = "123", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Seed of everything random; the same seed reads the same samples in the same order.\n"
		  "DLIO: train.seed." },
	{ "memory_limit", MLGEN_F_SIZE(struct job, memory_limit),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Job",
	  .help = "Memory that mlgen and the page cache of what it reads may take, by a control group of its own; 0 is all there is.\n"
		  "The same for all jobs. dataset_ratio counts from it." },
	{ "memory_limit_required", MLGEN_F_BOOL(struct job, memory_limit_required),
	  .def = "1", .group = "Job",
	  .help = "Refuse to run where memory_limit cannot be had; with 0 a warning is enough." },
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
	  .help = "Which I/O errors are counted instead of ending the run.\n"
		  "What failed is in no throughput; status 1, unless max_errors allows it." },
	{ "ignore_error", MLGEN_F_STR(struct job, ignore_error),
	  .group = "Job", .flags = MLGEN_FIO,
	  .help = "I/O errors that count instead of ending the run: of reads, of writes.\n"
		  "EAGAIN:5,ENOSPC is two errors of reads and one of writes.\n"
		  "A list takes the place of continue_on_error for its kind.\n"
		  "To a training every operation is a read." },
	{ "max_errors", FIELD_U64_SHARE(struct job, max_errors),
	  .def = "0", .group = "Job",
	  .help = "With continue_on_error or ignore_error: samples of a training, or operations of a plain job, that may fail in a run with status 0; a number, or a percentage of all.\n"
		  "What was counted is judged when the job is over: it ends no run.\n"
		  "A training in which more failed has no AU." },
	{ "kb_base", MLGEN_F_ENUM(struct job, kb_base, kb_bases),
	  .def = "1024", .group = "Job", .flags = MLGEN_FIO,
	  .help = "What k, m, g, t and p mean in the sizes of this job." },

	{ "scale", MLGEN_F_PERCENT(struct job, scale),
	  .def = "100%", .min = 0.001, .max = 100, .group = "Workload",
	  .help = "Use this part of num_files, but enough for four batches of every accelerator, or the files that are there, if made so and enough for two; of a checkpoint, this part of every tensor's bytes." },
	{ "access", MLGEN_F_ENUM(struct job, access, accesses),
	  .def = "plain", .group = "Workload",
	  .help = "By which calls a sample is read, or a checkpoint written and read." },

	{ "format", MLGEN_F_ENUM(struct job, format, formats),
	  .def = "npz", .group = "Dataset",
	  .help = "File format of the dataset.\n"
		  "auto goes by how files begin, and by their suffix; labels,\n"
		  "checksums and other kinds beside them are left out and counted.\n"
		  "DLIO: dataset.format." },
	{ "shared", MLGEN_F_BOOL(struct job, shared),
	  .def = "1", .group = "Dataset",
	  .help = "Of one job on several hosts (mpirun, srun): all of them have the same directory, and make the dataset in it together; with 0 each has one of its own there." },
	{ "num_files", MLGEN_F_U64(struct job, num_files),
	  .def = "256", .min = 1, .max = MOST_FILES, .unit = "files", .group = "Dataset",
	  .help = "Files of the dataset.\n"
		  "With dataset=scan, on the command line: so many have to be there,\n"
		  "and the first of them are read; in a job file it yields to those\n"
		  "that are there.\n"
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
		  "gamma:SHAPE:SCALE, dlio:MEAN:STDEV, file:PATH.\n"
		  "DLIO: dataset.record_length_bytes and its stdev, drawn as dlio: does." },
	{ "dataset_ratio", MLGEN_F_F64(struct job, dataset_ratio),
	  .def = "0", .max = 1000, .unit = "x memory", .group = "Dataset",
	  .help = "Choose num_files so that the dataset is this many times this host's memory; 0 keeps num_files.\n"
		  "MLPerf Storage asks for 5, so that the page cache cannot hold it." },
	{ "distinct_files", MLGEN_F_U64(struct job, distinct_files),
	  .def = "0", .max = MOST_FILES, .unit = "files", .group = "Dataset",
	  .help = "Read only so many files, the first of the dataset, over and over in place of all the others; 0 reads all.\n"
		  "Few enough stay in the page cache: --ceiling does so." },

	{ "dataset", MLGEN_F_ENUM(struct job, dataset, datasets),
	  .def = "made", .group = "Dataset",
	  .help = "Where the files come from." },
	{ "scan_errors", MLGEN_F_ENUM(struct job, scan_errors, scan_errors),
	  .def = "auto", .group = "Dataset",
	  .help = "What happens when dataset=scan meets a directory that it cannot read, a socket, a loop of links, a damaged file." },
	{ "scan_key", MLGEN_F_STR(struct job, scan_key),
	  .group = "Dataset",
	  .help = "Array of an npz file that dataset=scan reads, by its name; without it the first one." },
	{ "scan_pair", MLGEN_F_STR(struct job, scan_pair),
	  .group = "Dataset",
	  .help = "FROM:TO: with dataset=scan, read two files for each sample: one with FROM in its path, and its label, with TO in place of it.\n"
		  "images/:labels/ are folders, _x.npy:_y.npy ends of names; of\n"
		  "several FROM in a path the last one counts. A label may have\n"
		  "another suffix, or be missing; of npy arrays both are needed.\n"
		  "Without it, images/ next to labels/ are read so; none: never." },
	{ "scan_depth", MLGEN_F_U64(struct job, scan_depth),
	  .def = "0", .max = 4096, .unit = "folders", .group = "Dataset",
	  .help = "How deep dataset=scan looks: 1 takes the files of directory itself, 2 those of its folders as well, and so on; 0 is no limit.\n"
		  "What lies deeper is left out, and said." },
	{ "file_list", MLGEN_F_STR(struct job, file_list),
	  .group = "Dataset",
	  .help = "With dataset=scan: a file that names the files, one path a line; - is standard input.\n"
		  "Relative paths are below directory where that is given, else\n"
		  "below the folder of the list. They are read in byte order.\n"
		  "With two columns behind each path, OFFSET and LENGTH, a TAB in\n"
		  "front of each, a line is a sample of so many bytes there." },
	{ "scan_cache", MLGEN_F_STR(struct job, scan_cache),
	  .group = "Dataset",
	  .help = "With dataset=scan: a file that keeps what the scan found inside files, so that the next one, also on another host, looks only into those that have changed.\n"
		  "Files are known by path below the directory, size and time of change.\n"
		  "The cache is replaced as a whole, also by a dry run. Where it lies in\n"
		  "the directory, it is no file of the scan." },
	{ "label_size", MLGEN_F_SIZE(struct job, label_size_bytes),
	  .def = "0", .max = TI, .unit = "bytes", .group = "Dataset",
	  .help = "With format=npy: a second file for each sample, a label of this size beside the image, as 3D U-Net's reference has it; 0 is none.\n"
		  "It is read with access=framework." },
	{ "hdf5_dataset", MLGEN_F_STR(struct job, hdf5_dataset),
	  .group = "Dataset",
	  .help = "With format=hdf5 and dataset=scan: the dataset in each file whose first axis the samples are, such as images or train/images.\n"
		  "Without it the first by name that has two dimensions or more,\n"
		  "else the first with one: records_0 of DLIO, and not labels." },
	{ "row_group_size", MLGEN_F_U64(struct job, row_group_size),
	  .def = "1024", .min = 1, .max = MOST_SAMPLES_PER_FILE, .unit = "rows", .group = "Dataset",
	  .help = "Rows of a Parquet row group, which is what is read at a time.\n"
		  "DLIO: dataset.parquet.row_group_size." },
	{ "columns", MLGEN_F_STR(struct job, columns),
	  .group = "Dataset",
	  .help = "Columns of a Parquet file: NAME:TYPE, with commas; without it one column of sample_size bytes.\n"
		  "A NAME may be a range, such as feature_000..026. TYPE is\n"
		  "int8, int32, int64, float16, float32 or float64, with [N]\n"
		  "behind it for a list of N such values.\n"
		  "DLIO: dataset.parquet.columns." },
	{ "read_columns", MLGEN_F_STR(struct job, read_columns),
	  .group = "Dataset",
	  .help = "Which of columns are read, names and ranges with commas; without it all are. With access=framework only." },

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
		  "lognormal:MEAN:STDEV, exponential:MEAN,\n"
		  "gamma:SHAPE:SCALE, file:PATH.\n"
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

	{ "guess", MLGEN_F_STR(struct job, guess),
	  .group = "Accelerator",
	  .help = "Options, with commas, whose values their source has guessed; dry run and report say so." },

	{ "eval_files", MLGEN_F_U64(struct job, eval_files),
	  .def = "0", .max = MOST_FILES, .unit = "files", .group = "Evaluation",
	  .help = "Files that are read to evaluate the model between epochs, beside those of num_files; 0 is no evaluation.\n"
		  "DLIO: dataset.num_files_eval." },
	{ "eval_batch_size", MLGEN_F_U64(struct job, eval_batch_size),
	  .def = "0", .max = 16 * MI, .unit = "samples", .group = "Evaluation",
	  .help = "Samples of a step of evaluation; 0 is batch_size.\n"
		  "DLIO: reader.batch_size_eval." },
	{ "eval_time", FIELD_TIME_DIST(struct job, eval_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Evaluation",
	  .help = "Time that a step of evaluation computes; a time or a distribution.\n"
		  "DLIO: evaluation.eval_time." },
	{ "eval_every", MLGEN_F_U64(struct job, eval_every),
	  .def = "1", .min = 1, .max = 1e9, .unit = "epochs", .group = "Evaluation",
	  .help = "Evaluate after every so many epochs.\n"
		  "DLIO: evaluation.epochs_between_evals." },
	{ "eval_after", MLGEN_F_U64(struct job, eval_after),
	  .def = "1", .min = 1, .max = 1e9, .unit = "epochs", .group = "Evaluation",
	  .help = "The first epoch after which it is done.\n"
		  "DLIO: evaluation.eval_after_epoch." },

	{ "loader", MLGEN_F_ENUM(struct job, loader, loaders),
	  .def = "pytorch", .group = "Loader",
	  .help = "Which data loader's order of reads and deliveries is kept.\n"
		  "With dataset=scan of tar and tfrecord files, and none of loader,\n"
		  "shuffle and shard, it is tfdata with shard=file,\n"
		  "shuffle=buffer:1000 and access=framework." },
	{ "read_threads", MLGEN_F_U64(struct job, read_threads),
	  .def = "4", .max = 1024, .unit = "threads", .group = "Loader",
	  .help = "Threads that read for one accelerator.\n"
		  "With 0 it reads each batch itself, and that time is stall.\n"
		  "PyTorch: num_workers. MLPerf Storage: reader.read_threads (up to 32)." },
	{ "prefetch", MLGEN_F_U64(struct job, prefetch),
	  .def = "2", .max = 1024, .unit = "batches", .group = "Loader",
	  .help = "Batches read ahead: by each thread with loader=pytorch, by all of an accelerator with loader=plain and loader=tfdata. 0 with read_threads=0 only.\n"
		  "PyTorch: prefetch_factor." },
	{ "shuffle", FIELD_VARIANT(struct job, shuffle, shuffles),
	  .def = "sample", .group = "Loader",
	  .help = "The order in which samples are read.\n"
		  "DLIO: reader.sample_shuffle, reader.file_shuffle." },
	{ "importance_mode", MLGEN_F_ENUM(struct job, importance_mode, importance_modes),
	  .def = "aggressive", .group = "Loader",
	  .help = "With shuffle=importance, which samples of a draw an accelerator takes.\n"
		  "SHADE: PADS is aggressive." },
	{ "importance_rep", MLGEN_F_F64(struct job, importance_rep),
	  .def = "3", .min = 1, .max = 100, .group = "Loader",
	  .help = "With shuffle=importance, how often a sample that is in the cache is read for once that it was drawn, in steps of 0.5.\n"
		  "SHADE: replication factor." },
	{ "importance_difficulty", FIELD_NUMBER_DIST(struct job, importance_difficulty),
	  .def = "lognormal:1:1", .max = 1e6, .group = "Loader",
	  .help = "With shuffle=importance, the loss of a sample in the first epoch; a number or a distribution, drawn once for each sample." },
	{ "importance_decay", FIELD_NUMBER_DIST(struct job, importance_decay),
	  .def = "0.9", .max = 10, .group = "Loader",
	  .help = "With shuffle=importance, what is left of a loss after an epoch; a number, or a distribution that is drawn for each sample and epoch, and whose mean is left." },
	{ "shard", MLGEN_F_ENUM(struct job, shard, shards),
	  .def = "strided", .group = "Loader",
	  .help = "Which samples belong to which accelerator.\n"
		  "PyTorch: DistributedSampler is strided." },
	{ "drop_last", MLGEN_F_BOOL(struct job, drop_last),
	  .def = "1", .group = "Loader",
	  .help = "Leave out the last, incomplete batch of an epoch.\n"
		  "PyTorch: drop_last." },
	{ "deterministic", MLGEN_F_BOOL(struct job, deterministic),
	  .def = "1", .group = "Loader",
	  .help = "With loader=tfdata: samples are delivered in order, so that a slow file holds up the others, and for each of read_threads there are three, two of which open files ahead; 0 delivers them as they arrive.\n"
		  "TensorFlow: interleave(deterministic=); TFRecordDataset has it." },
	{ "decode_threads", MLGEN_F_U64(struct job, decode_threads),
	  .def = "1", .min = 1, .max = 1024, .unit = "threads", .group = "Loader",
	  .help = "With loader=tfdata: batches of an accelerator that are preprocessed at the same time.\n"
		  "DLIO: reader.computation_threads." },
	{ "preprocess_time", FIELD_TIME_DIST(struct job, preprocess_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Loader",
	  .help = "Time it takes to decode one sample after it was read; a time or a distribution.\n"
		  "DLIO: reader.preprocess_time." },
	{ "preprocess", MLGEN_F_ENUM(struct job, preprocess, preprocesses),
	  .def = "sleep", .group = "Loader",
	  .help = "How preprocess_time is spent." },
	{ "preprocess_at", MLGEN_F_ENUM(struct job, preprocess_at, preprocess_places),
	  .def = "sample", .group = "Loader",
	  .help = "When preprocess_time is spent." },
	{ "preprocess_split", MLGEN_F_STR(struct job, preprocess_split),
	  .group = "Loader",
	  .help = "With preprocess_at=reads: behind which of a sample's reads, the first of which is 1, how many percent of preprocess_time are spent, as READ/PERCENT with colons between them: 1/20:4/50. What is left of 100 comes behind the sample. Empty: as each read has of its bytes." },
	{ "first_sample_time", FIELD_TIME_DIST(struct job, first_sample_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Loader",
	  .help = "So much longer the first sample of a new read thread takes to decode, as where that imports modules; a time or a distribution. It is spent as preprocess= says, with preprocess_at=reads behind the first read or as first_sample_split= says, else when all was read." },
	{ "first_sample_split", MLGEN_F_STR(struct job, first_sample_split),
	  .group = "Loader",
	  .help = "As preprocess_split=, of first_sample_time: each module is imported by the first call that needs it. Empty: all behind the first read." },
	{ "worker_start", FIELD_TIME_DIST(struct job, worker_start),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Loader",
	  .help = "With loader=pytorch: read threads end with each epoch, and others begin with the next, each of which takes so long until its first read, as processes that are forked and import modules do; a time or a distribution. 0: they stay.\n"
		  "PyTorch: persistent_workers=False." },
	{ "decompress", MLGEN_F_ENUM(struct job, decompress, decompressions),
	  .def = "none", .group = "Loader",
	  .help = "With dataset=scan and access=framework: how compressed files of format=tfrecord, hdf5 or parquet are decompressed once they are read." },
	{ "decompress_rate", MLGEN_F_SIZE(struct job, decompress_rate),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Loader",
	  .help = "With decompress=sleep: compressed bytes that one thread decompresses in a second." },
	{ "recorded_calls", MLGEN_F_STR(struct job, recorded_calls),
	  .group = "Loader", .flags = MLGEN_BESIDE,
	  .help = "With access=recorded: a file of templates, the calls by which a sample is read, one a line, each for a share of the samples.\n"
		  "template 100%, open, stat, read PLACE LENGTH [COUNT], close;\n"
		  "\"Recorded calls\" in mlgen-job(5) has an example.\n"
		  "In a job file the path is relative to that file." },
	{ "hold_samples", MLGEN_F_BOOL(struct job, hold_samples),
	  .def = "0", .group = "Loader",
	  .help = "Keep what is read ahead in memory until its batch is taken, as a framework does; without it mlgen reads into the same buffer again and again." },
	{ "fresh_memory", MLGEN_F_SIZE(struct job, fresh_memory),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Loader",
	  .help = "Reads of at least so many bytes go into memory that nobody has touched yet, whose pages the kernel has to make while it copies, on the CPU of who reads; 0: none do.\n"
		  "128k is what glibc's malloc, and so Python, begins with, and it\n"
		  "moves as it does there: what was mapped for up to 32 MiB is kept\n"
		  "once it is free, so that from then on only reads of more bytes go\n"
		  "into new memory. Any other size stays, as with another malloc or\n"
		  "with MALLOC_MMAP_THRESHOLD_.\n"
		  "With hold_samples=1 an array of NumPy (format=npy, npz and hdf5) is\n"
		  "new as a whole each time, and asks for huge pages from 4 MiB on." },

	{ "cache", MLGEN_F_ENUM(struct job, cache, cache_policies),
	  .def = "none", .group = "Cache",
	  .help = "What a cache tier between sampler and storage keeps.\n"
		  "A hit is read from the tier; \"A cache tier\" in mlgen-job(5)." },
	{ "cache_size", FIELD_CACHE_SIZE(struct job, cache_size),
	  .min = 1, .max = MOST_BYTES, .unit = "bytes", .group = "Cache",
	  .help = "Size of each tier: bytes, a percentage of the dataset's (15%), or a count (5000 samples)." },
	{ "cache_scope", MLGEN_F_ENUM(struct job, cache_scope, cache_scopes),
	  .def = "host", .group = "Cache",
	  .help = "For whom there is one." },
	{ "cache_unit", FIELD_VARIANT(struct job, cache_unit, cache_units),
	  .def = "sample", .group = "Cache",
	  .help = "What is kept as a whole." },
	{ "cache_directory", MLGEN_F_STR(struct job, cache_directory),
	  .group = "Cache",
	  .help = "Where the tier's bytes are, such as a directory on local NVMe: a miss is written there, a hit is read from there.\n"
		  "Unset they are in memory, which is really taken, or only played\n"
		  "with cache_latency or cache_bandwidth. What others have in the\n"
		  "directory is left alone. Of several processes of a job on a host\n"
		  "each has a folder of its own there, and as much as cache_size in it." },
	{ "cache_fill", MLGEN_F_ENUM(struct job, cache_fill, cache_fills),
	  .def = "sync", .group = "Cache",
	  .help = "With cache_directory: who writes a sample that was missed." },
	{ "cache_queue", MLGEN_F_U64(struct job, cache_queue),
	  .def = "64", .min = 1, .max = 1e6, .unit = "samples", .group = "Cache",
	  .help = "With cache_fill=async: samples that may wait to be written; more are not kept. The default takes no more than 1 GiB of memory, or two samples." },
	{ "cache_layout", MLGEN_F_ENUM(struct job, cache_layout, cache_layouts),
	  .def = "slab", .group = "Cache",
	  .help = "With cache_directory: how samples lie there." },
	{ "cache_persist", MLGEN_F_BOOL(struct job, cache_persist),
	  .def = "0", .group = "Cache",
	  .help = "With cache_directory: what the tier holds stays for the next run, which checks whose it is." },
	{ "cache_latency", FIELD_TIME_DIST(struct job, cache_latency),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Cache",
	  .help = "Time it takes the tier to begin to answer, a time or a distribution: the tier is only played, and takes no memory for bytes." },
	{ "cache_bandwidth", MLGEN_F_SIZE(struct job, cache_bandwidth_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Cache",
	  .help = "Bytes that the tier gives in a second, all who read together; it is only played, likewise. 0 is no limit." },
	{ "cache_substitute", MLGEN_F_ENUM(struct job, cache_substitute, cache_substitutes),
	  .def = "none", .group = "Cache",
	  .help = "What is trained on in place of a sample that a full tier does not have and would not keep.\n"
		  "Quiver: A. V. Kumar and M. Sivathanu, FAST '20. iCache: W. Chen\n"
		  "et al., HPCA 2023. An epoch has then not every sample once." },
	{ "cache_hits_first", MLGEN_F_BOOL(struct job, cache_hits_first),
	  .def = "0", .group = "Cache",
	  .help = "An epoch's order begins with what the tier has, as SHADE's does in any case; of shuffle=sample, replacement and weighted." },
	{ "cache_prefetch", MLGEN_F_U64(struct job, cache_prefetch),
	  .def = "0", .max = 1e6, .unit = "samples", .group = "Cache",
	  .help = "Samples that threads of the tier bring into it ahead of their batch, by the order that is known (NoPFS: N. Dryden et al., SC '21)." },
	{ "cache_warm", MLGEN_F_PERCENT(struct job, cache_warm),
	  .def = "0%", .max = 100, .group = "Cache",
	  .help = "Fill this part of the tier before the run, which is not measured (Hoard: C. Pinto et al., 2018, has all of it)." },
	{ "cache_stage", MLGEN_F_ENUM(struct job, cache_stage, cache_stages),
	  .def = "raw", .group = "Cache",
	  .help = "As what samples are kept." },
	{ "cache_decoded_factor", MLGEN_F_F64(struct job, cache_decoded_factor),
	  .def = "1", .min = 0.01, .max = 1000, .group = "Cache",
	  .help = "With cache_stage=decoded: bytes of a decoded sample for each byte that was read." },
	{ "cache_verify", MLGEN_F_BOOL(struct job, cache_verify),
	  .def = "0", .group = "Cache",
	  .help = "Look at each hit, whether it is the sample that was asked for." },

	{ "model", MLGEN_F_STR(struct job, model),
	  .group = "Model", .flags = MLGEN_SELECTS,
	  .help = "Name of the model; selects the [model=NAME] section of the job." },
	{ "model_layers", MLGEN_F_U64(struct job, model_layers),
	  .def = "0", .max = 1e6, .unit = "layers", .group = "Model",
	  .help = "Layers of a transformer, whose state is saved.\n"
		  "DLIO: model.num_layers." },
	{ "model_hidden", MLGEN_F_U64(struct job, model_hidden),
	  .def = "2048", .min = 1, .max = 1e7, .group = "Model",
	  .help = "Hidden size of the model.\n"
		  "DLIO: model.transformer.hidden_size." },
	{ "model_ffn", MLGEN_F_U64(struct job, model_ffn),
	  .def = "8192", .min = 1, .max = 1e8, .group = "Model",
	  .help = "Hidden size of its feed-forward layers.\n"
		  "DLIO: model.transformer.ffn_hidden_size." },
	{ "model_heads", MLGEN_F_U64(struct job, model_heads),
	  .def = "32", .min = 1, .max = 1e6, .unit = "heads", .group = "Model",
	  .help = "Attention heads.\n"
		  "DLIO: model.transformer.num_attention_heads." },
	{ "model_kv_heads", MLGEN_F_U64(struct job, model_kv_heads),
	  .def = "8", .min = 1, .max = 1e6, .unit = "heads", .group = "Model",
	  .help = "Heads of keys and values.\n"
		  "DLIO: model.transformer.num_kv_heads." },
	{ "model_vocabulary", MLGEN_F_U64(struct job, model_vocabulary),
	  .def = "32000", .min = 1, .max = 1e9, .unit = "tokens", .group = "Model",
	  .help = "Size of the vocabulary.\n"
		  "DLIO: model.transformer.vocab_size." },
	{ "model_bytes", MLGEN_F_U64(struct job, model_bytes),
	  .def = "2", .min = 1, .max = 16, .unit = "bytes", .group = "Model",
	  .help = "Bytes of one parameter of the model.\n"
		  "DLIO: model.model_datatype; fp16 is 2." },
	{ "optimizer_bytes", MLGEN_F_U64(struct job, optimizer_bytes),
	  .def = "4", .max = 16, .unit = "bytes", .group = "Model",
	  .help = "Bytes of one value of the optimizer, which has three for each parameter; 0 is no optimizer.\n"
		  "DLIO: model.optimizer_datatype; fp32 is 4." },
	{ "checkpoint_size", MLGEN_F_SIZE(struct job, checkpoint_size_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Model",
	  .help = "Instead of a model: one tensor of this size in each rank.\n"
		  "DLIO: model.model_size_bytes." },
	{ "tensor_sizes", MLGEN_F_STR(struct job, tensor_sizes),
	  .group = "Model", .flags = MLGEN_BESIDE,
	  .help = "Instead of a model: a file with the tensors of each rank, one a line: BYTES, or NAME BYTES.\n"
		  "In a job file the path is relative to that file." },

	{ "ranks", MLGEN_F_U64(struct job, ranks),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Ranks of the whole job, on all its hosts; 0 is what the parallelism says, or accelerators." },
	{ "tensor_parallel", MLGEN_F_U64(struct job, tensor_parallel),
	  .def = "1", .min = 1, .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Ranks that share each layer.\n"
		  "DLIO: model.parallelism.tensor." },
	{ "pipeline_parallel", MLGEN_F_U64(struct job, pipeline_parallel),
	  .def = "1", .min = 1, .max = 1e6, .unit = "stages", .group = "Checkpoint",
	  .help = "Stages among which the layers are dealt out.\n"
		  "DLIO: model.parallelism.pipeline." },
	{ "data_parallel", MLGEN_F_U64(struct job, data_parallel),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Copies of the model; 0 is ranks divided by tensor_parallel and pipeline_parallel.\n"
		  "DLIO: model.parallelism.data." },
	{ "zero_stage", MLGEN_F_U64(struct job, zero_stage),
	  .def = "0", .max = 3, .group = "Checkpoint",
	  .help = "What the copies share among them: from 1 on the optimizer, with 3 the model, too.\n"
		  "DLIO: model.parallelism.zero_stage." },
	{ "checkpoints", MLGEN_F_U64(struct job, checkpoints),
	  .def = "1", .min = 1, .max = 1e6, .unit = "checkpoints", .group = "Checkpoint",
	  .help = "How many phase=checkpoint saves, or phase=restore restores, the newest ones.\n"
		  "DLIO: checkpoint.num_checkpoints_write, num_checkpoints_read." },
	{ "pause", MLGEN_F_TIME(struct job, pause_ns),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Checkpoint",
	  .help = "Time between two of them.\n"
		  "DLIO: checkpoint.time_between_checkpoints." },
	{ "checkpoint_every", MLGEN_F_STR(struct job, checkpoint_every),
	  .group = "Checkpoint",
	  .help = "With phase=train: save a checkpoint every so often: 500 steps, 2 epochs, 10 minutes.\n"
		  "Steps count through all epochs; a time may be written 90s or 10m.\n"
		  "DLIO: checkpoint.steps_between_checkpoints, epochs_between_checkpoints." },
	{ "checkpoint_mode", MLGEN_F_ENUM(struct job, checkpoint_mode, checkpoint_modes),
	  .def = "sync", .group = "Checkpoint",
	  .help = "Whether training waits until a checkpoint is written." },
	{ "snapshot_bandwidth", MLGEN_F_SIZE(struct job, snapshot_bandwidth),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Checkpoint",
	  .help = "With checkpoint_mode=async: bytes per second at which each rank copies its state to host memory; 0 takes no time." },
	{ "checkpoint_ranks", MLGEN_F_STR(struct job, checkpoint_ranks),
	  .def = "all", .group = "Checkpoint",
	  .help = "The ranks that this host plays: all, zero, or numbers and ranges with commas, such as 0-7,64.\n"
		  "Of one job on several hosts: of all of them, which have even shares." },
	{ "checkpoint_threads", MLGEN_F_U64(struct job, checkpoint_threads),
	  .def = "1", .min = 1, .max = 1024, .unit = "threads", .group = "Checkpoint",
	  .help = "Threads that write, or read, the files of one rank." },
	{ "checkpoint_keep", MLGEN_F_U64(struct job, checkpoint_keep),
	  .def = "0", .max = 1e6, .unit = "checkpoints", .group = "Checkpoint",
	  .help = "Delete older checkpoints that mlgen wrote once there are more than so many; 0 keeps all. What other runs still need does not count." },
	{ "checkpoint_directory", MLGEN_F_STR(struct job, checkpoint_directory),
	  .group = "Checkpoint",
	  .help = "Where checkpoints lie; by default directory, and with phase=train checkpoints in it.\n"
		  "DLIO: checkpoint.checkpoint_folder." },
	{ "checkpoint_layout", MLGEN_F_ENUM(struct job, checkpoint_layout, layouts),
	  .def = "torch", .group = "Checkpoint",
	  .help = "The files of a checkpoint, and with access=framework the calls by which they are written and read." },
	{ "checkpoint_pattern", MLGEN_F_ENUM(struct job, checkpoint_pattern, patterns),
	  .def = "unet3d", .group = "Checkpoint",
	  .help = "With checkpoint_layout=pattern: whose write sizes." },
	{ "checkpoint_archive", MLGEN_F_STR(struct job, checkpoint_archive),
	  .group = "Checkpoint",
	  .help = "With checkpoint_layout=torch: the name in front of all records of an archive, which torch.save takes from that of its file; up to 31 letters, digits, dots, hyphens and underscores. Empty: rank_R." },
	{ "checkpoint_fsync", MLGEN_F_ENUM(struct job, checkpoint_fsync, checkpoint_fsyncs),
	  .def = "file", .group = "Checkpoint",
	  .help = "When files are flushed to storage.\n"
		  "DLIO: checkpoint.fsync, which it accepts and does not do." },
	{ "rename_commit", MLGEN_F_BOOL(struct job, rename_commit),
	  .def = "0", .group = "Checkpoint",
	  .help = "Write under a temporary name, and rename when all ranks are done." },
	{ "restore_shift", MLGEN_F_U64(struct job, restore_shift),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "With phase=restore: each rank reads what the one so many behind it has written, of those that are played here. What another host has written is read with its checkpoint_ranks and checkpoint_directory.\n"
		  "DLIO: checkpoint.recovery_rank_shift." },

	{ "ioengine", MLGEN_F_STR(struct job, ioengine),
	  .def = "psync", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "How bytes are moved; --enghelp lists the engines.\n"
		  "With a slash in it, the path of an engine that is a shared object." },
	{ "direct", MLGEN_F_BOOL(struct job, direct),
	  .def = "0", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Read and write past the page cache, with O_DIRECT." },
	{ "buffered", MLGEN_F_BOOL(struct job, buffered),
	  .def = "1", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "The reverse of direct; of the two the last that is set counts." },
	{ "bs", FIELD_SIZE_PAIR(struct job, bs),
	  .def = "1m", .min = 512, .max = GI, .unit = "bytes", .group = "I/O", .alias = "blocksize", .flags = MLGEN_FIO,
	  .help = "Bytes of one read or write request; for reads and writes, or READ,WRITE.\n"
		  "The default of phase=io is 4k, as in fio." },
	{ "iodepth", MLGEN_F_U64(struct job, iodepth),
	  .def = "1", .min = 1, .max = 4096, .unit = "requests", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Requests that one read thread, or one of numjobs, has under way; more than one needs an asynchronous engine." },
	{ "invalidate", MLGEN_F_ENUM(struct job, invalidate, invalidates),
	  .def = "run", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "When the job's files are dropped from the page cache, so that storage answers and not memory.\n"
		  "What is not yet on storage is written there first." },
	{ "drop_caches", MLGEN_F_ENUM(struct job, drop_caches, drops),
	  .def = "no", .group = "I/O",
	  .help = "When this host's page cache is emptied of everything, which takes root (vm.drop_caches).\n"
		  "Names and sizes of files go, too, which invalidate leaves there.\n"
		  "With phase=restore the job's own files go, and everything only if\n"
		  "more than 1% of them stays." },
	{ "verify", MLGEN_F_ENUM(struct job, verify, verifies),
	  .def = "none", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "With phase=restore: how what is read is checked." },
	{ "mem", MLGEN_F_ENUM(struct job, mem, mems),
	  .def = "malloc", .group = "I/O", .alias = "iomem", .flags = MLGEN_FIO,
	  .help = "What memory the buffers are made of." },

	{ "rw", MLGEN_F_ENUM(struct job, rw, rws),
	  .def = "read", .group = "Plain I/O", .alias = "readwrite", .flags = MLGEN_FIO,
	  .help = "Reads or writes, in order or at random; makes the section a plain I/O job." },
	{ "rwmixread", MLGEN_F_PERCENT(struct job, rwmixread),
	  .def = "50%", .max = 100, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "With rw=rw and rw=randrw: percentage of the requests that read." },
	{ "rwmixwrite", MLGEN_F_PERCENT(struct job, rwmixwrite),
	  .def = "50%", .max = 100, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "What rwmixread leaves to writes; of the two the last that is set counts." },
	{ "bssplit", MLGEN_F_STR(struct job, bssplit),
	  .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Requests of several sizes instead of bs, by percentages: 4k/10:64k/50:32k/40.\n"
		  "With a comma for reads and writes apart. Sizes without a\n"
		  "percentage share what is left." },
	{ "size", FIELD_SIZE_SHARE(struct job, size),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Bytes that each of numjobs reads or writes, from offset on, or percent of the file; 0 is all of it.\n"
		  "A file that is missing is made of this size." },
	{ "io_size", FIELD_SIZE_SHARE(struct job, io_size),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .alias = "io_limit", .flags = MLGEN_FIO,
	  .help = "Bytes to move before the job ends, less or more than size; 0 is size." },
	{ "offset", FIELD_SIZE_SHARE(struct job, offset),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Where in the file the job begins." },
	{ "filename", MLGEN_F_STR(struct job, filename),
	  .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "File or block device, shared by all of numjobs; several with ':' between them.\n"
		  "Without it each of numjobs has $jobname.N.0. A colon in a\n"
		  "name is written \\:. To write a device, see --allow_device." },
	{ "filesize", MLGEN_F_SIZE(struct job, filesize_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Bytes of each file that is made; 0 is what size needs." },
	{ "numjobs", MLGEN_F_U64(struct job, numjobs),
	  .def = "1", .min = 1, .max = 65536, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "How many threads do this job, each all of it." },
	{ "loops", MLGEN_F_U64(struct job, loops),
	  .def = "1", .min = 1, .max = 1e9, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "How often size is gone through." },
	{ "norandommap", MLGEN_F_BOOL(struct job, norandommap),
	  .def = "0", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Draw each random block anew instead of every block once." },
	{ "iodepth_batch_submit", MLGEN_F_U64(struct job, iodepth_batch_submit),
	  .def = "0", .max = 4096, .unit = "requests", .group = "Plain I/O", .alias = "iodepth_batch", .flags = MLGEN_FIO,
	  .help = "Most requests handed over in one call; 0 is all that iodepth has free, or 1 with direct=1, which keeps a device busier." },
	{ "iodepth_batch_complete_min", MLGEN_F_U64(struct job, iodepth_batch_complete_min),
	  .def = "1", .max = 4096, .unit = "requests", .group = "Plain I/O", .alias = "iodepth_batch_complete", .flags = MLGEN_FIO,
	  .help = "Requests to wait for when iodepth is full; 0 asks without waiting." },
	{ "iodepth_batch_complete_max", MLGEN_F_U64(struct job, iodepth_batch_complete_max),
	  .def = "0", .max = 4096, .unit = "requests", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Most completed requests taken in one call; 0 is iodepth." },
	{ "rate", FIELD_SIZE_PAIR(struct job, rate),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Bytes per second of each of numjobs, for reads and writes or READ,WRITE; 0 is no limit.\n"
		  "Latencies then count from when a request was due." },
	{ "rate_iops", FIELD_U64_PAIR(struct job, rate_iops),
	  .def = "0", .max = 1e9, .unit = "requests/s", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "The same in requests per second; with both the slower one counts." },
	{ "thinktime", MLGEN_F_TIME(struct job, thinktime_ns),
	  .def = "0", .max = NS_PER_DAY, .unit = "us", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Pause after every thinktime_blocks requests; a bare number is in microseconds." },
	{ "thinktime_blocks", MLGEN_F_U64(struct job, thinktime_blocks),
	  .def = "1", .min = 1, .max = 1e9, .unit = "requests", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Requests between two pauses of thinktime." },
	{ "fsync", MLGEN_F_U64(struct job, fsync),
	  .def = "0", .max = 1e9, .unit = "writes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Call fsync after this many writes; 0 is never." },
	{ "fdatasync", MLGEN_F_U64(struct job, fdatasync),
	  .def = "0", .max = 1e9, .unit = "writes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Call fdatasync after this many writes; 0 is never." },
	{ "end_fsync", MLGEN_F_BOOL(struct job, end_fsync),
	  .def = "0", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Call fsync on every file written when the job ends." },
	{ "create_only", MLGEN_F_BOOL(struct job, create_only),
	  .def = "0", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Make the files that are missing and do nothing else." },

	{ "replay_trace", MLGEN_F_STR(struct job, replay_trace),
	  .group = "Replay", .alias = "read_iolog",
	  .help = "The trace whose operations are done again, of mlgen's or version 2 or 3 of fio's iolog; makes the section phase=replay." },
	{ "replay_files", MLGEN_F_ENUM(struct job, replay_files, replay_files),
	  .def = "own", .group = "Replay",
	  .help = "On which files. What writes is never on any but those below directory." },
	{ "replay_time", MLGEN_F_ENUM(struct job, replay_time, replay_times),
	  .def = "think", .group = "Replay",
	  .help = "When an operation is due." },
	{ "replay_order", MLGEN_F_ENUM(struct job, replay_order, replay_orders),
	  .def = "thread", .group = "Replay",
	  .help = "Behind which others an operation begins, and with how many of them under way: as it did in the trace." },
	{ "replay_speed", MLGEN_F_F64(struct job, replay_speed),
	  .def = "1", .min = 0.001, .max = 1e6, .group = "Replay",
	  .help = "How many times as fast as the trace: of its times, and of its pauses." },
	{ "replay_threads", MLGEN_F_U64(struct job, replay_threads),
	  .def = "0", .max = 65536, .unit = "threads", .group = "Replay",
	  .help = "Threads that replay; those of the trace share them, in the order of its times. 0 is as many as it has at the same time." },
	{ "replay_span", MLGEN_F_SIZE(struct job, replay_span_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Replay",
	  .help = "Of a trace of block requests alone: those beyond so many bytes of a device are folded, by the rest of a division. 0 is as they were." },

	{ "percentile_list", FIELD_F64_LIST(struct job, percentile_list),
	  .def = "50:90:99:99.9", .min = 0, .max = 100, .group = "Report", .flags = MLGEN_FIO,
	  .help = "Latency percentiles to report, at most 20.\n"
		  "The default of phase=io is fio's list of seventeen." },
	{ "group_reporting", MLGEN_F_BOOL(struct job, group_reporting),
	  .def = "0", .group = "Report", .flags = MLGEN_FIO,
	  .help = "Report the jobs that start together as one.\n"
		  "Host and storage are looked at from the first start to the last end." },
	{ "write_iolog", MLGEN_F_STR(struct job, write_iolog),
	  .group = "Report", .flags = MLGEN_FIO,
	  .help = "Write what the job did as a log that fio replays with read_iolog, version 3, when all jobs have ended.\n"
		  "All threads of a job are in one log, those of numjobs, too, in the\n"
		  "order of time. Each job has a log of its own: $jobname.iolog. A log\n"
		  "that is there is replaced, any other file is refused." },
	{ 0 },
};
/* clang-format on */

const char *cache_word(int policy)
{
	const struct mlgen_choice *c = cache_policies;

	while (c->name && c->value != policy)
		c++;
	return c->name;
}
