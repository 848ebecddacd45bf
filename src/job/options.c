/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - every option of a job: name, type, limits, default, a sentence. */
#include "job/job_internal.h"

#include "base/mem.h"
#include "base/util.h"

/* clang-format off */
/* The functions of these policies are in data/cache/cache.c. */
static const struct mlgen_choice cache_policies[] = {
	{ "none", CACHE_NONE, "there is no cache" },
	{ "lru", CACHE_LRU, "evict the least recently read entry" },
	{ "fifo", CACHE_FIFO, "evict the entry that was stored first" },
	{ "lfu", CACHE_LFU, "evict the entry with the fewest reads since it was stored; among equals, the least recently read entry" },
	{ "random", CACHE_RANDOM, "evict an entry at random" },
	{ "clock", CACHE_CLOCK, "like fifo, but an entry that was read again gets a second chance" },
	{ "minio", CACHE_MINIO, "keep the first entries that fit, and never evict (CoorDL, VLDB 2021)" },
	{ "importance", CACHE_IMPORTANCE, "evict the least important entry, unless the new entry is not more important (SHADE, FAST 2023); needs shuffle=importance or weighted" },
	{ "belady", CACHE_BELADY, "evict the entry whose next read is the furthest away, or do not keep the new entry. With samples of equal size no policy can have more hits; needs an order that is known in advance" },
	{ "hot", CACHE_HOT, "keep only the first samples of a ranking, up to the size of the tier" },
	{ 0 },
};

static const struct mlgen_choice rws[] = {
	{ "read", RW_READ, "sequential reads" },
	{ "write", RW_WRITE, "sequential writes" },
	{ "rw", RW_RW, "sequential reads and writes, mixed by rwmixread" },
	{ "randread", RW_RANDREAD, "random reads" },
	{ "randwrite", RW_RANDWRITE, "random writes" },
	{ "randrw", RW_RANDRW, "random reads and writes, mixed by rwmixread" },
	{ "readwrite", RW_RW, "the same as rw" },
	{ 0 },
};

static const struct mlgen_choice mems[] = {
	{ "malloc", MEM_MALLOC, "ordinary memory" },
	{ "mmap", MEM_MMAP, "a separate mapping" },
	{ "hugepage", MEM_HUGEPAGE, "a mapping of huge pages, which must be reserved first (vm.nr_hugepages)" },
	{ "mmaphuge", MEM_HUGEPAGE, "the same as hugepage" },
	{ 0 },
};

static const struct mlgen_choice formats[] = {
#define FORMAT_CHOICE(word, name, help) { #name, FORMAT_##word, help },
	JOB_FORMATS(FORMAT_CHOICE)
#undef FORMAT_CHOICE
	{ "auto", FORMAT_AUTO, "detected from the files; only with dataset=scan, which has this default" },
	{ 0 },
};

static const struct mlgen_choice loaders[] = {
	{ "pytorch", LOADER_PYTORCH, "thread k modulo read_threads reads batch k of an accelerator; batches are delivered in order" },
	{ "tfdata", LOADER_TFDATA, "each of read_threads reads a separate file sequentially, and their samples are delivered in turn; reading continues across epochs" },
	{ "plain", LOADER_PLAIN, "any free thread reads the next sample; full batches are delivered" },
	{ 0 },
};

static const struct mlgen_choice shuffles[] = {
	{ "none", SHUFFLE_NONE, "in the order of the files" },
	{ "sample", SHUFFLE_SAMPLE, "every sample in a new random order each epoch" },
	{ "file", SHUFFLE_FILE, "files in a new random order each epoch, each file read sequentially" },
	{ "buffer:N", SHUFFLE_BUFFER, "through a buffer of this many samples, from which samples are drawn at random; the buffer fills before the first batch, as in tf.data" },
	{ "replacement", SHUFFLE_REPLACEMENT, "every read draws from all samples, so that an epoch repeats some samples and does not read 37% of them" },
	{ "weighted:DIST", SHUFFLE_WEIGHTED, "every read draws from all samples in proportion to their weights; each weight is drawn once" },
	{ "importance", SHUFFLE_IMPORTANCE, "every read draws from all samples by weight, which follows from a sample's rank by loss in its last batch. Cached samples come first, as in SHADE" },
	{ "pages:SIZE[:WINDOW]", SHUFFLE_PAGES, "pages of SIZE with neighbouring samples, in a new random order each epoch, and the samples of WINDOW pages shuffled (default: twice batch_size samples, as in FFCV)" },
	{ "chunks:N[:GROUP]", SHUFFLE_CHUNKS, "chunks of N neighbouring samples in a new random order each epoch, and the samples of GROUP chunks (default 1) shuffled, as in DIESEL" },
	{ 0 },
};

static const struct mlgen_choice importance_modes[] = {
	{ "aggressive", IMPORTANCE_AGGRESSIVE, "from the second epoch on, each accelerator draws separately and uses the samples that were drawn most often" },
	{ "relaxed", IMPORTANCE_RELAXED, "each accelerator uses the samples it draws" },
	{ 0 },
};

static const struct mlgen_choice shards[] = {
	{ "strided", SHARD_STRIDED, "accelerator r of n reads the samples r, r+n, r+2n, ..." },
	{ "contiguous", SHARD_CONTIGUOUS, "accelerator r of n reads the r-th of n equal parts of the order" },
	{ "file", SHARD_FILE, "accelerator r of n reads whole files: r, r+n, r+2n, ..." },
	{ 0 },
};

static const struct mlgen_choice datasets[] = {
	{ "made", DATASET_MADE, "mlgen writes missing files; a dataset that DLIO or MLPerf Storage generated is read unchanged" },
	{ "scan", DATASET_SCAN, "existing files in directory, of any name and size; they are only read. If the folders train/ and valid/ exist, training reads train/ and evaluation reads valid/" },
	{ 0 },
};

static const struct mlgen_choice scan_errors[] = {
	{ "auto", SCAN_SKIP_DAMAGED, "a file that is damaged, or that mlgen cannot interpret, is counted, reported and left out; in all other cases the job does not run" },
	{ "refuse", SCAN_REFUSE, "the job does not run" },
	{ "skip", SCAN_SKIP, "the file is counted, reported and left out" },
	{ 0 },
};

static const struct mlgen_choice preprocesses[] = {
	{ "sleep", PREPROCESS_SLEEP, "the thread sleeps, as if another CPU did the work" },
	{ "burn", PREPROCESS_BURN, "the thread keeps a CPU of this host busy" },
	{ 0 },
};

static const struct mlgen_choice preprocess_places[] = {
	{ "sample", PREPROCESS_AT_SAMPLE, "after the whole sample was read, as in a decoder that needs the whole sample" },
	{ "reads", PREPROCESS_AT_READS, "after each read, in proportion to the bytes read so far; pauses shorter than 50 us are merged into the next pause. NumPy works this way: it checks and copies data before it reads more" },
	{ 0 },
};

static const struct mlgen_choice decompressions[] = {
	{ "none", DECOMPRESS_NONE, "no decompression: compressed bytes are only read" },
	{ "real", DECOMPRESS_REAL, "the thread that read the bytes decompresses deflate (gzip, zlib) and zstd on this host's CPUs" },
	{ "sleep", DECOMPRESS_SLEEP, "the thread sleeps for as long as decompress_rate says, as if another CPU did the work" },
	{ 0 },
};

static const struct mlgen_choice cache_scopes[] = {
	{ "host", CACHE_SCOPE_HOST, "one tier for all accelerators of a host" },
	{ "rank", CACHE_SCOPE_RANK, "one tier of this size for each accelerator" },
	{ "all", CACHE_SCOPE_ALL, "one tier of this size for all processes of a job: each process stores a part of the samples and sends them to other processes over TCP. With one process, the same as host" },
	{ 0 },
};

static const struct mlgen_choice cache_units[] = {
	{ "sample", CACHE_SAMPLES, "the unit of a read: one sample, if samples can be read separately" },
	{ "file", CACHE_FILES, "whole files" },
	{ "page:SIZE", CACHE_PAGES, "neighbouring samples of a file with a total of SIZE, which is between a sample and a file; a miss stores all of them" },
	{ 0 },
};

static const struct mlgen_choice cache_fills[] = {
	{ "sync", CACHE_FILL_SYNC, "the thread that read the sample, before it continues" },
	{ "async", CACHE_FILL_ASYNC, "later, a thread of the tier; samples that do not fit into cache_queue are dropped and counted" },
	{ 0 },
};

static const struct mlgen_choice cache_layouts[] = {
	{ "slab", CACHE_LAYOUT_SLAB, "one file with slots that are overwritten" },
	{ "files", CACHE_LAYOUT_FILES, "a file for each sample, unlinked when the sample is evicted" },
	{ 0 },
};

static const struct mlgen_choice cache_substitutes[] = {
	{ "none", CACHE_SUBSTITUTE_NONE, "the sample itself is read" },
	{ "group", CACHE_SUBSTITUTE_GROUP, "use another sample of the same file, if the tier contains any (Quiver)" },
	{ "any", CACHE_SUBSTITUTE_ANY, "use any other sample in the tier (iCache)" },
	{ 0 },
};

static const struct mlgen_choice cache_stages[] = {
	{ "raw", CACHE_RAW, "the bytes as they were read; a hit must be decoded like any other sample" },
	{ "decoded", CACHE_DECODED, "decoded samples: cache_decoded_factor times the size, and a hit needs no preprocess_time" },
	{ 0 },
};

static const struct mlgen_choice barriers[] = {
	{ "none", BARRIER_NONE, "accelerators do not wait for each other" },
	{ "step", BARRIER_STEP, "all wait for the slowest after every step, as when gradients are summed" },
	{ "epoch", BARRIER_EPOCH, "all wait for the slowest at the end of an epoch" },
	{ 0 },
};

static const struct mlgen_choice accesses[] = {
	{ "plain", ACCESS_PLAIN, "open, the bytes in requests of bs, close" },
	{ "framework", ACCESS_FRAMEWORK, "the opens, stats, reads and closes of the framework, in its sizes and order, such as NumPy's for npz" },
	{ "recorded", ACCESS_RECORDED, "the calls listed in recorded_calls; only for samples" },
	{ 0 },
};

static const struct mlgen_choice layouts[] = {
	{ "torch", LAYOUT_TORCH, "one file per rank, as torch.save writes it: a zip archive with a record per tensor" },
	{ "deepspeed", LAYOUT_DEEPSPEED, "files of model and optimizer states by rank and layer, as DLIO writes them; each file as torch.save to an open file writes it" },
	{ "stream", LAYOUT_STREAM, "the same files, but with tensors back to back, in chunks of 32 MiB that are dropped from the page cache after each write" },
	{ "pattern", LAYOUT_PATTERN, "one file per rank, with measured write sizes of the model in checkpoint_pattern" },
	{ 0 },
};

static const struct mlgen_choice patterns[] = {
	{ "unet3d", PATTERN_UNET3D, "1,280 bytes and about 2.2 MB in turn, 499,153,191 bytes, by rank 0" },
	{ "bert", PATTERN_BERT, "4,096 and 8,384,512 bytes in turn, 4,034,713,312 bytes, by every rank" },
	{ "dlrm", PATTERN_DLRM, "7,348 bytes and about 518 MB in turn, 27,129,166,561 bytes, by rank 0" },
	{ 0 },
};

static const struct mlgen_choice checkpoint_modes[] = {
	{ "sync", CHECKPOINT_SYNC, "accelerators wait until the checkpoint is written" },
	{ "async", CHECKPOINT_ASYNC, "accelerators wait while a snapshot is copied in memory; the snapshot is written while they continue" },
	{ 0 },
};

static const struct mlgen_choice checkpoint_fsyncs[] = {
	{ "none", CHECKPOINT_FSYNC_NONE, "nothing is flushed; the report shows how much was not durable" },
	{ "file", CHECKPOINT_FSYNC_FILE, "each file before it is closed" },
	{ "end", CHECKPOINT_FSYNC_END, "all files of a rank after the last file is written" },
	{ "0", CHECKPOINT_FSYNC_NONE, "the same as none" },
	{ "1", CHECKPOINT_FSYNC_FILE, "the same as file" },
	{ 0 },
};

static const struct mlgen_choice verifies[] = {
	{ "none", VERIFY_NONE, "nothing is checked" },
	{ "crc32c", VERIFY_CRC32C, "each block of 4 KiB is compared with its checksum, which was written with it" },
	{ "0", VERIFY_NONE, "the same as none" },
	{ 0 },
};

static const struct mlgen_choice drops[] = {
	{ "no", DROP_CACHES_NO, "the caches are left as they are" },
	{ "run", DROP_CACHES_RUN, "before the job begins; the job does not run if that is not permitted" },
	{ "epoch", DROP_CACHES_EPOCH, "before every epoch of a training; the job does not run if that is not permitted" },
	{ 0 },
};

static const struct mlgen_choice invalidates[] = {
	{ "0", INVALIDATE_NONE, "the page cache is left as it is" },
	{ "run", INVALIDATE_RUN, "the job's files are dropped from the page cache before the run" },
	{ "epoch", INVALIDATE_EPOCH, "the job's files are dropped from the page cache before every epoch" },
	{ "1", INVALIDATE_RUN, "the same as run" },
	{ 0 },
};

static const struct mlgen_choice numas[] = {
	{ "none", NUMA_NONE, "wherever the kernel puts them" },
	{ "device", NUMA_DEVICE, "on the CPUs of the node of the dataset's disk, with buffers in the memory of this node" },
	{ 0 },
};

static const struct mlgen_choice continues[] = {
	{ "none", CONTINUE_NONE, "the first error ends the run" },
	{ "read", CONTINUE_READ, "errors of reads are counted, and the run continues" },
	{ "write", CONTINUE_WRITE, "errors of writes are counted" },
	{ "io", CONTINUE_IO, "errors of reads and writes are counted" },
	{ "all", CONTINUE_ALL, "errors of every operation are counted" },
	{ "0", CONTINUE_NONE, "the same as none" },
	{ "1", CONTINUE_ALL, "the same as all" },
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

/* No test runs for longer than a year; a longer time has a wrong unit. */
#define LONGEST_RUN (366 * NS_PER_DAY)

/* Exact in a double. Samples have at least a byte, so that the product of files and samples per file
 * fits uint64_t for a dataset of at most 8 EiB (train_check.c). */
#define MOST_FILES 1e10
#define MOST_SAMPLES_PER_FILE 1e10
#define MOST_STEPS 1e15

/* Bytes of a file or device; sums over all workers of a job fit uint64_t. */
#define MOST_BYTES (1024 * TI)

static const struct mlgen_choice replay_files[] = {
	{ "own", REPLAY_OWN, "files of the same names and sizes below directory, which are created first" },
	{ "traced", REPLAY_TRACED, "the files that the trace names, which are only read; operations that would change a file use a file below directory instead, and are counted" },
	{ 0 },
};

static const struct mlgen_choice replay_times[] = {
	{ "think", REPLAY_THINK, "with the trace's pause after the thread's previous operation, so that faster storage makes the replay shorter" },
	{ "fixed", REPLAY_FIXED, "at its time in the trace; latencies are measured from this time" },
	{ "asap", REPLAY_ASAP, "at once" },
	{ 0 },
};

static const struct mlgen_choice replay_orders[] = {
	{ "thread", REPLAY_BY_THREAD, "the operations of its thread" },
	{ "file", REPLAY_BY_FILE, "the operations of its thread, and those on its file" },
	{ "global", REPLAY_GLOBAL, "all operations of the trace" },
	{ 0 },
};

const struct mlgen_field job_fields[] = {
	{ "phase", MLGEN_F_ENUM(struct job, phase, workload_choices),
	  .def = "train", .group = "Job",
	  .help = "What the job does.\n"
		  "A section with rw= and without phase= is phase=io." },
	{ "directory", MLGEN_F_STR(struct job, directory),
	  .def = "mlgen-data/$jobname", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Directory of the dataset, or of the files of a plain job; by default the current directory. A missing directory is created.\n"
		  "All folders of a relative path are created, but only the last folder\n"
		  "of an absolute path: if other folders are missing, a filesystem may\n"
		  "not be mounted.\n"
		  "With dataset=scan, several directories and files separated by ':'\n"
		  "(write a colon in a name as '\\:'), patterns such as shard-*.tar, and\n"
		  "braces: shard-{000..127}.tar, {a,b}/{0..3}. A file with exactly\n"
		  "such a name takes precedence. Files are read in byte order.\n"
		  "DLIO: dataset.data_folder." },
	{ "startdelay", MLGEN_F_TIME(struct job, startdelay_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Wait this long before the job starts." },
	{ "stonewall", MLGEN_F_BOOL(struct job, stonewall),
	  .def = "0", .group = "Job", .alias = "wait_for_previous", .flags = MLGEN_FIO,
	  .help = "Wait for all jobs above to end before this job starts." },
	{ "runtime", MLGEN_F_TIME(struct job, runtime_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .alias = "timeout", .flags = MLGEN_FIO,
	  .help = "End the run after this time; 0 is no limit.\n"
		  "Whichever of runtime, steps and epochs is reached first ends the run.\n"
		  "Compute time, and storage that is only simulated, end immediately.\n"
		  "The run waits for calls in flight, and for a checkpoint being written." },
	{ "time_based", MLGEN_F_BOOL(struct job, time_based),
	  .def = "0", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Repeat epochs, or a plain job's size, until runtime has passed." },
	{ "ramp_time", MLGEN_F_TIME(struct job, ramp_time_ns),
	  .def = "0", .max = LONGEST_RUN, .unit = "s", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Run for this time before the measurement starts." },
	{ "randseed", MLGEN_F_U64(struct job, randseed),
	  .def = "123", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Seed of all random choices; the same seed reads the same samples in the same order.\n"
		  "DLIO: train.seed." },
	{ "memory_limit", MLGEN_F_SIZE(struct job, memory_limit),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Job",
	  .help = "Memory limit, by a control group, for mlgen and the page cache of its files; 0 is no limit.\n"
		  "The limit is the same for all jobs. dataset_ratio refers to it." },
	{ "memory_limit_required", MLGEN_F_BOOL(struct job, memory_limit_required),
	  .def = "1", .group = "Job",
	  .help = "Refuse to run if memory_limit cannot be set; with 0, only warn." },
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
		  "The throughput does not include failed operations. The exit status is 1, unless max_errors allows them." },
	{ "ignore_error", MLGEN_F_STR(struct job, ignore_error),
	  .group = "Job", .flags = MLGEN_FIO,
	  .help = "I/O errors that are counted instead of ending the run: a list for reads, and a list for writes.\n"
		  "EAGAIN:5,ENOSPC has two errors of reads and one error of writes.\n"
		  "A list replaces continue_on_error for reads or for writes.\n"
		  "In a training every operation counts as a read." },
	{ "max_errors", FIELD_U64_SHARE(struct job, max_errors),
	  .def = "0", .group = "Job",
	  .help = "With continue_on_error or ignore_error: samples of a training, or operations of a plain job, that may fail in a run with exit status 0; a number, or a percentage of all.\n"
		  "The limit is checked after the job, and does not end the run.\n"
		  "A training with more failures has no AU." },
	{ "kb_base", MLGEN_F_ENUM(struct job, kb_base, kb_bases),
	  .def = "1024", .group = "Job", .flags = MLGEN_FIO,
	  .help = "Meaning of k, m, g, t and p in the sizes of this job." },

	{ "scale", MLGEN_F_PERCENT(struct job, scale),
	  .def = "100%", .min = 0.001, .max = 100, .group = "Workload",
	  .help = "Use this part of num_files, but enough files for four batches of every accelerator; existing files of the same scale are used if they are enough for two. In a checkpoint, use this part of every tensor." },
	{ "access", MLGEN_F_ENUM(struct job, access, accesses),
	  .def = "plain", .group = "Workload",
	  .help = "The calls that read a sample, or write and read a checkpoint." },

	{ "format", MLGEN_F_ENUM(struct job, format, formats),
	  .def = "npz", .group = "Dataset",
	  .help = "File format of the dataset.\n"
		  "auto looks at the first bytes of files and at their suffix; labels,\n"
		  "checksums and other kinds of files are left out and counted.\n"
		  "DLIO: dataset.format." },
	{ "shared", MLGEN_F_BOOL(struct job, shared),
	  .def = "1", .group = "Dataset",
	  .help = "For a job on several hosts (mpirun, srun): all hosts share the directory and create the dataset in it together. With 0, the directory of each host is on separate storage and has a separate dataset." },
	{ "num_files", MLGEN_F_U64(struct job, num_files),
	  .def = "256", .min = 1, .max = MOST_FILES, .unit = "files", .group = "Dataset",
	  .help = "Files of the dataset.\n"
		  "With dataset=scan, on the command line: at least this many must exist,\n"
		  "and only the first of them are read. In a job file, existing files\n"
		  "take precedence.\n"
		  "DLIO: dataset.num_files_train." },
	{ "samples_per_file", MLGEN_F_U64(struct job, samples_per_file),
	  .def = "1", .min = 1, .max = MOST_SAMPLES_PER_FILE, .unit = "samples", .group = "Dataset",
	  .help = "Samples in each file; a sample is the unit that is read and consumed.\n"
		  "DLIO: dataset.num_samples_per_file." },
	{ "subfolders", MLGEN_F_U64(struct job, subfolders),
	  .def = "0", .max = 1e6, .unit = "folders", .group = "Dataset",
	  .help = "Spread the files over this many folders; with 0 all files are in one folder.\n"
		  "DLIO: dataset.num_subfolders_train." },
	{ "sample_size", FIELD_SIZE_DIST(struct job, sample_size),
	  .def = "2m", .min = 1, .max = TI, .unit = "bytes", .group = "Dataset",
	  .help = "Bytes of one sample, without the overhead of the format; a size or a distribution.\n"
		  "Distributions: normal:MEAN:STDEV, uniform:MIN:MAX,\n"
		  "lognormal:MEAN:STDEV, exponential:MEAN,\n"
		  "gamma:SHAPE:SCALE, dlio:MEAN:STDEV, file:PATH.\n"
		  "DLIO: dataset.record_length_bytes and its stdev, drawn as with dlio:." },
	{ "dataset_ratio", MLGEN_F_F64(struct job, dataset_ratio),
	  .def = "0", .max = 1000, .unit = "x memory", .group = "Dataset",
	  .help = "Choose num_files so that the dataset is this many times this host's memory; 0 keeps num_files.\n"
		  "MLPerf Storage requires 5, so that the page cache cannot hold it." },
	{ "distinct_files", MLGEN_F_U64(struct job, distinct_files),
	  .def = "0", .max = MOST_FILES, .unit = "files", .group = "Dataset",
	  .help = "Read only the first INT files of the dataset, and repeat them in place of all other files; 0 reads all.\n"
		  "A few files stay in the page cache; --ceiling uses this option." },

	{ "dataset", MLGEN_F_ENUM(struct job, dataset, datasets),
	  .def = "made", .group = "Dataset",
	  .help = "Where the files come from." },
	{ "scan_errors", MLGEN_F_ENUM(struct job, scan_errors, scan_errors),
	  .def = "auto", .group = "Dataset",
	  .help = "What to do when dataset=scan finds an unreadable directory, a socket, a symlink loop or a damaged file." },
	{ "scan_key", MLGEN_F_STR(struct job, scan_key),
	  .group = "Dataset",
	  .help = "Name of the array that dataset=scan reads in an npz file; by default the first array." },
	{ "scan_pair", MLGEN_F_STR(struct job, scan_pair),
	  .group = "Dataset",
	  .help = "FROM:TO: with dataset=scan, read two files for each sample: a file with FROM in its path, and its label, whose path has TO instead.\n"
		  "Folders: images/:labels/; ends of names: _x.npy:_y.npy. If FROM\n"
		  "occurs several times in a path, the last counts. A label may have\n"
		  "another suffix, or be missing; npy arrays need both files.\n"
		  "The default is images/:labels/ if both folders exist; none: no labels." },
	{ "scan_depth", MLGEN_F_U64(struct job, scan_depth),
	  .def = "0", .max = 4096, .unit = "folders", .group = "Dataset",
	  .help = "Depth of dataset=scan: 1 reads only the files in directory= itself, 2 also those in its subfolders, and so on; 0 is no limit.\n"
		  "Deeper files are left out, which is reported." },
	{ "file_list", MLGEN_F_STR(struct job, file_list),
	  .group = "Dataset",
	  .help = "With dataset=scan: a list of the files, one path per line; - is standard input.\n"
		  "Relative paths are below directory if it is set, else below\n"
		  "the folder of the list. Files are read in byte order.\n"
		  "With two more columns, OFFSET and LENGTH, separated by TABs,\n"
		  "a line is one sample: LENGTH bytes at OFFSET." },
	{ "scan_cache", MLGEN_F_STR(struct job, scan_cache),
	  .group = "Dataset",
	  .help = "With dataset=scan: a file that caches the results of the scan, so that the next scan, even on another host, opens only files that have changed.\n"
		  "Files are known by path below the directory, size and time of change.\n"
		  "The cache is replaced as a whole, also by a dry run. A cache inside\n"
		  "the directory is not a file of the dataset." },
	{ "label_size", MLGEN_F_SIZE(struct job, label_size_bytes),
	  .def = "0", .max = TI, .unit = "bytes", .group = "Dataset",
	  .help = "With format=npy: a second file for each sample, a label of this size next to the image, as in the reference code of 3D U-Net; 0 is no label.\n"
		  "Labels are read only with access=framework." },
	{ "hdf5_dataset", MLGEN_F_STR(struct job, hdf5_dataset),
	  .group = "Dataset",
	  .help = "With format=hdf5 and dataset=scan: name of the HDF5 dataset, the same in each file, that holds the samples along its first axis, such as images or train/images.\n"
		  "The default is the first dataset by name that has two dimensions or\n"
		  "more, else the first with one dimension: records_0 of DLIO, not labels." },
	{ "row_group_size", MLGEN_F_U64(struct job, row_group_size),
	  .def = "1024", .min = 1, .max = MOST_SAMPLES_PER_FILE, .unit = "rows", .group = "Dataset",
	  .help = "Rows of a Parquet row group, which is read as a whole.\n"
		  "DLIO: dataset.parquet.row_group_size." },
	{ "columns", MLGEN_F_STR(struct job, columns),
	  .group = "Dataset",
	  .help = "Columns of a Parquet file: NAME:TYPE, separated by commas; the default is one column of sample_size bytes.\n"
		  "A NAME may be a range, such as feature_000..026. TYPE is\n"
		  "int8, int32, int64, float16, float32 or float64, followed\n"
		  "by [N] for a list of N such values.\n"
		  "DLIO: dataset.parquet.columns." },
	{ "read_columns", MLGEN_F_STR(struct job, read_columns),
	  .group = "Dataset",
	  .help = "Columns to read, from those in columns=: names and ranges separated by commas; by default all columns. Only with access=framework." },

	{ "accelerator", MLGEN_F_STR(struct job, accelerator),
	  .group = "Accelerator", .flags = MLGEN_SELECTS,
	  .help = "Name of the simulated accelerator; selects the [accelerator=NAME] section of the job.\n"
		  "If the job has no such sections, the name is only a label in the report." },
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
	  .help = "Compute time of one step, simulated by sleeping; a time or a distribution.\n"
		  "Distributions: normal:MEAN:STDEV, uniform:MIN:MAX,\n"
		  "lognormal:MEAN:STDEV, exponential:MEAN,\n"
		  "gamma:SHAPE:SCALE, file:PATH.\n"
		  "DLIO: train.computation_time." },
	{ "barrier", MLGEN_F_ENUM(struct job, barrier, barriers),
	  .def = "step", .group = "Accelerator",
	  .help = "When the accelerators wait for each other." },
	{ "epochs", MLGEN_F_U64(struct job, epochs),
	  .def = "1", .min = 1, .max = 1e9, .group = "Accelerator",
	  .help = "Number of times the dataset is read.\n"
		  "DLIO: train.epochs." },
	{ "steps", MLGEN_F_U64(struct job, steps),
	  .def = "0", .max = MOST_STEPS, .group = "Accelerator",
	  .help = "End the run after this many steps of each accelerator, over all epochs; 0 is no limit." },
	{ "target_au", MLGEN_F_PERCENT(struct job, target_au),
	  .min = 1, .max = 100, .group = "Accelerator",
	  .help = "Accelerator utilisation at which the report calls the run good.\n"
		  "MLPerf Storage requires 90% for most workloads." },

	{ "guess", MLGEN_F_STR(struct job, guess),
	  .group = "Accelerator",
	  .help = "Options, separated by commas, with values that are only a guess; dry run and report list them." },

	{ "eval_files", MLGEN_F_U64(struct job, eval_files),
	  .def = "0", .max = MOST_FILES, .unit = "files", .group = "Evaluation",
	  .help = "Files for the evaluation of the model between epochs, in addition to num_files; 0 is no evaluation.\n"
		  "DLIO: dataset.num_files_eval." },
	{ "eval_batch_size", MLGEN_F_U64(struct job, eval_batch_size),
	  .def = "0", .max = 16 * MI, .unit = "samples", .group = "Evaluation",
	  .help = "Samples of a step of evaluation; 0 is batch_size.\n"
		  "DLIO: reader.batch_size_eval." },
	{ "eval_time", FIELD_TIME_DIST(struct job, eval_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Evaluation",
	  .help = "Compute time of a step of evaluation; a time or a distribution.\n"
		  "DLIO: evaluation.eval_time." },
	{ "eval_every", MLGEN_F_U64(struct job, eval_every),
	  .def = "1", .min = 1, .max = 1e9, .unit = "epochs", .group = "Evaluation",
	  .help = "Number of epochs between two evaluations.\n"
		  "DLIO: evaluation.epochs_between_evals." },
	{ "eval_after", MLGEN_F_U64(struct job, eval_after),
	  .def = "1", .min = 1, .max = 1e9, .unit = "epochs", .group = "Evaluation",
	  .help = "The first epoch that is followed by an evaluation.\n"
		  "DLIO: evaluation.eval_after_epoch." },

	{ "loader", MLGEN_F_ENUM(struct job, loader, loaders),
	  .def = "pytorch", .group = "Loader",
	  .help = "The data loader whose order of reads and deliveries mlgen follows.\n"
		  "With dataset=scan of tar and tfrecord files, and without loader,\n"
		  "shuffle and shard, the default is tfdata with shard=file,\n"
		  "shuffle=buffer:1000 and access=framework." },
	{ "read_threads", MLGEN_F_U64(struct job, read_threads),
	  .def = "4", .max = 1024, .unit = "threads", .group = "Loader",
	  .help = "Threads that read for one accelerator.\n"
		  "With 0 the accelerator reads each batch itself, and this time counts as stall.\n"
		  "PyTorch: num_workers. MLPerf Storage: reader.read_threads (up to 32)." },
	{ "prefetch", MLGEN_F_U64(struct job, prefetch),
	  .def = "2", .max = 1024, .unit = "batches", .group = "Loader",
	  .help = "Batches read ahead: by each thread with loader=pytorch, by all threads of an accelerator with loader=plain and loader=tfdata. 0 only with read_threads=0.\n"
		  "PyTorch: prefetch_factor." },
	{ "shuffle", FIELD_VARIANT(struct job, shuffle, shuffles),
	  .def = "sample", .group = "Loader",
	  .help = "The order in which samples are read.\n"
		  "DLIO: reader.sample_shuffle, reader.file_shuffle." },
	{ "importance_mode", MLGEN_F_ENUM(struct job, importance_mode, importance_modes),
	  .def = "aggressive", .group = "Loader",
	  .help = "With shuffle=importance, which samples of a draw an accelerator uses.\n"
		  "SHADE: PADS corresponds to aggressive." },
	{ "importance_rep", MLGEN_F_F64(struct job, importance_rep),
	  .def = "3", .min = 1, .max = 100, .group = "Loader",
	  .help = "With shuffle=importance, how many times a cached sample is read for each time it was drawn, in steps of 0.5.\n"
		  "SHADE: replication factor." },
	{ "importance_difficulty", FIELD_NUMBER_DIST(struct job, importance_difficulty),
	  .def = "lognormal:1:1", .max = 1e6, .group = "Loader",
	  .help = "With shuffle=importance, the loss of a sample in the first epoch; a number or a distribution, drawn once for each sample." },
	{ "importance_decay", FIELD_NUMBER_DIST(struct job, importance_decay),
	  .def = "0.9", .max = 10, .group = "Loader",
	  .help = "With shuffle=importance, the factor by which a loss changes in an epoch; a number, or a distribution that is drawn for each sample and epoch." },
	{ "shard", MLGEN_F_ENUM(struct job, shard, shards),
	  .def = "strided", .group = "Loader",
	  .help = "How samples are divided among accelerators.\n"
		  "PyTorch: DistributedSampler is strided." },
	{ "drop_last", MLGEN_F_BOOL(struct job, drop_last),
	  .def = "1", .group = "Loader",
	  .help = "Leave out the last, incomplete batch of an epoch.\n"
		  "PyTorch: drop_last." },
	{ "deterministic", MLGEN_F_BOOL(struct job, deterministic),
	  .def = "1", .group = "Loader",
	  .help = "With loader=tfdata: deliver samples in order, so that a slow file delays other files. Each of read_threads has two additional threads that open files ahead. 0 delivers samples as they arrive.\n"
		  "TensorFlow: interleave(deterministic=); TFRecordDataset is deterministic." },
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
	  .help = "How mlgen spends preprocess_time." },
	{ "preprocess_at", MLGEN_F_ENUM(struct job, preprocess_at, preprocess_places),
	  .def = "sample", .group = "Loader",
	  .help = "When mlgen spends preprocess_time." },
	{ "preprocess_split", MLGEN_F_STR(struct job, preprocess_split),
	  .group = "Loader",
	  .help = "With preprocess_at=reads: the percentage of preprocess_time that is spent after certain reads of a sample, as READ/PERCENT separated by colons: 1/20:4/50. The first read is 1. The rest up to 100 is spent after the sample. Empty: in proportion to the bytes of each read." },
	{ "first_sample_time", FIELD_TIME_DIST(struct job, first_sample_time),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Loader",
	  .help = "Additional time to decode the first sample of a new read thread, such as for importing modules; a time or a distribution. preprocess= sets how the time is spent: with preprocess_at=reads after the first read, or according to first_sample_split=; otherwise after the whole sample was read." },
	{ "first_sample_split", MLGEN_F_STR(struct job, first_sample_split),
	  .group = "Loader",
	  .help = "Like preprocess_split=, for first_sample_time: the first call that needs a module imports it. Empty: all after the first read." },
	{ "worker_start", FIELD_TIME_DIST(struct job, worker_start),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Loader",
	  .help = "With loader=pytorch: read threads end with each epoch, and new ones start with the next. Each new thread waits for this time before its first read, like a process that is forked and imports modules; a time or a distribution. 0 keeps the threads.\n"
		  "PyTorch: persistent_workers=False." },
	{ "decompress", MLGEN_F_ENUM(struct job, decompress, decompressions),
	  .def = "none", .group = "Loader",
	  .help = "With dataset=scan and access=framework: how compressed files of format=tfrecord, hdf5 or parquet are decompressed after they are read." },
	{ "decompress_rate", MLGEN_F_SIZE(struct job, decompress_rate),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Loader",
	  .help = "With decompress=sleep: compressed bytes that one thread decompresses per second." },
	{ "recorded_calls", MLGEN_F_STR(struct job, recorded_calls),
	  .group = "Loader", .flags = MLGEN_BESIDE,
	  .help = "With access=recorded: a file of templates. A template lists the calls that read a sample, one per line, and applies to a share of the samples.\n"
		  "Lines: template 100%, open, stat, read PLACE LENGTH [COUNT], close.\n"
		  "The section \"Recorded calls\" of mlgen-job(5) has an example.\n"
		  "In a job file the path is relative to that file." },
	{ "hold_samples", MLGEN_F_BOOL(struct job, hold_samples),
	  .def = "0", .group = "Loader",
	  .help = "Keep prefetched samples in memory until their batch is consumed, as a framework does. With 0, mlgen reads into the same buffer again and again." },
	{ "fresh_memory", MLGEN_F_SIZE(struct job, fresh_memory),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Loader",
	  .help = "Reads of at least this many bytes use new memory, so that the kernel has to allocate pages while it copies, on the CPU of the read thread. 0 turns this off.\n"
		  "128k is the initial threshold of glibc's malloc, and therefore of\n"
		  "Python. This value rises as in glibc: mapped memory of up to 32 MiB\n"
		  "is kept after it is freed, and from then on only larger reads use\n"
		  "new memory. Any other value is fixed, as with another malloc or\n"
		  "with MALLOC_MMAP_THRESHOLD_.\n"
		  "With hold_samples=1 each NumPy array (format=npy, npz and hdf5) is\n"
		  "allocated as a whole, with huge pages from 4 MiB on." },

	{ "cache", MLGEN_F_ENUM(struct job, cache, cache_policies),
	  .def = "none", .group = "Cache",
	  .help = "Policy of a cache tier between sampler and storage.\n"
		  "Hits are read from the tier. See \"A cache tier\" in mlgen-job(5)." },
	{ "cache_size", FIELD_CACHE_SIZE(struct job, cache_size),
	  .min = 1, .max = MOST_BYTES, .unit = "bytes", .group = "Cache",
	  .help = "Size of each tier: bytes, a percentage of the dataset's size (15%), or a count (5000 samples)." },
	{ "cache_scope", MLGEN_F_ENUM(struct job, cache_scope, cache_scopes),
	  .def = "host", .group = "Cache",
	  .help = "Which accelerators share a tier." },
	{ "cache_unit", FIELD_VARIANT(struct job, cache_unit, cache_units),
	  .def = "sample", .group = "Cache",
	  .help = "The unit in which the tier stores and evicts." },
	{ "cache_directory", MLGEN_F_STR(struct job, cache_directory),
	  .group = "Cache",
	  .help = "Directory of the tier, such as on local NVMe: mlgen writes misses to it, and reads hits from it.\n"
		  "If unset, the tier is in memory, which mlgen really allocates, or it\n"
		  "is only simulated with cache_latency or cache_bandwidth. Other files\n"
		  "in the directory stay unchanged. Each process of a job on a host has\n"
		  "a separate folder in it, with up to cache_size." },
	{ "cache_fill", MLGEN_F_ENUM(struct job, cache_fill, cache_fills),
	  .def = "sync", .group = "Cache",
	  .help = "With cache_directory: which thread writes a sample after a miss." },
	{ "cache_queue", MLGEN_F_U64(struct job, cache_queue),
	  .def = "64", .min = 1, .max = 1e6, .unit = "samples", .group = "Cache",
	  .help = "With cache_fill=async: maximum number of samples waiting to be written; further samples are dropped. The default is reduced so that the queue needs at most 1 GiB of memory, but never to fewer than two samples." },
	{ "cache_layout", MLGEN_F_ENUM(struct job, cache_layout, cache_layouts),
	  .def = "slab", .group = "Cache",
	  .help = "With cache_directory: how samples are stored there." },
	{ "cache_persist", MLGEN_F_BOOL(struct job, cache_persist),
	  .def = "0", .group = "Cache",
	  .help = "With cache_directory: keep the contents of the tier for the next run, which checks that they belong to its dataset." },
	{ "cache_latency", FIELD_TIME_DIST(struct job, cache_latency),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Cache",
	  .help = "Latency of a simulated tier, a time or a distribution. With this option the tier is only simulated and uses no memory for samples." },
	{ "cache_bandwidth", MLGEN_F_SIZE(struct job, cache_bandwidth_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Cache",
	  .help = "Bytes per second that the tier delivers to all read threads together. With this option the tier is only simulated; 0 is no limit." },
	{ "cache_substitute", MLGEN_F_ENUM(struct job, cache_substitute, cache_substitutes),
	  .def = "none", .group = "Cache",
	  .help = "What to deliver instead of a miss, once the tier is full and would not keep the missed sample.\n"
		  "Quiver: A. V. Kumar and M. Sivathanu, FAST '20. iCache: W. Chen\n"
		  "et al., HPCA 2023. An epoch then does not read each sample once." },
	{ "cache_hits_first", MLGEN_F_BOOL(struct job, cache_hits_first),
	  .def = "0", .group = "Cache",
	  .help = "With shuffle=sample, replacement or weighted: begin each epoch with the samples in the tier, as SHADE always does." },
	{ "cache_prefetch", MLGEN_F_U64(struct job, cache_prefetch),
	  .def = "0", .max = 1e6, .unit = "samples", .group = "Cache",
	  .help = "Number of samples that threads of the tier fetch before their batch needs them, which is possible because the order is known in advance (NoPFS: N. Dryden et al., SC '21)." },
	{ "cache_warm", MLGEN_F_PERCENT(struct job, cache_warm),
	  .def = "0%", .max = 100, .group = "Cache",
	  .help = "Fill this part of the tier before the run; this is not part of the measurement (Hoard: C. Pinto et al., 2018, fills the whole tier)." },
	{ "cache_stage", MLGEN_F_ENUM(struct job, cache_stage, cache_stages),
	  .def = "raw", .group = "Cache",
	  .help = "The form in which samples are stored." },
	{ "cache_decoded_factor", MLGEN_F_F64(struct job, cache_decoded_factor),
	  .def = "1", .min = 0.01, .max = 1000, .group = "Cache",
	  .help = "With cache_stage=decoded: bytes of a decoded sample for each byte that was read." },
	{ "cache_verify", MLGEN_F_BOOL(struct job, cache_verify),
	  .def = "0", .group = "Cache",
	  .help = "Check that each hit is the sample that was requested." },

	{ "model", MLGEN_F_STR(struct job, model),
	  .group = "Model", .flags = MLGEN_SELECTS,
	  .help = "Name of the model; selects the [model=NAME] section of the job." },
	{ "model_layers", MLGEN_F_U64(struct job, model_layers),
	  .def = "0", .max = 1e6, .unit = "layers", .group = "Model",
	  .help = "Layers of a transformer; checkpoints contain its state.\n"
		  "DLIO: model.num_layers." },
	{ "model_hidden", MLGEN_F_U64(struct job, model_hidden),
	  .def = "2048", .min = 1, .max = 1e7, .group = "Model",
	  .help = "Hidden size of the model.\n"
		  "DLIO: model.transformer.hidden_size." },
	{ "model_ffn", MLGEN_F_U64(struct job, model_ffn),
	  .def = "8192", .min = 1, .max = 1e8, .group = "Model",
	  .help = "Hidden size of the feed-forward layers.\n"
		  "DLIO: model.transformer.ffn_hidden_size." },
	{ "model_heads", MLGEN_F_U64(struct job, model_heads),
	  .def = "32", .min = 1, .max = 1e6, .unit = "heads", .group = "Model",
	  .help = "Attention heads.\n"
		  "DLIO: model.transformer.num_attention_heads." },
	{ "model_kv_heads", MLGEN_F_U64(struct job, model_kv_heads),
	  .def = "8", .min = 1, .max = 1e6, .unit = "heads", .group = "Model",
	  .help = "Number of key and value heads.\n"
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
	  .help = "Bytes of one value of the optimizer, which has three values per parameter; 0 is no optimizer.\n"
		  "DLIO: model.optimizer_datatype; fp32 is 4." },
	{ "checkpoint_size", MLGEN_F_SIZE(struct job, checkpoint_size_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Model",
	  .help = "Instead of a model: one tensor of this size in each rank.\n"
		  "DLIO: model.model_size_bytes." },
	{ "tensor_sizes", MLGEN_F_STR(struct job, tensor_sizes),
	  .group = "Model", .flags = MLGEN_BESIDE,
	  .help = "Instead of a model: a file that lists the tensors of each rank, one per line: BYTES, or NAME BYTES.\n"
		  "In a job file the path is relative to that file." },

	{ "ranks", MLGEN_F_U64(struct job, ranks),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Ranks of the whole job, on all hosts; 0 is the product of the parallel options, or accelerators." },
	{ "tensor_parallel", MLGEN_F_U64(struct job, tensor_parallel),
	  .def = "1", .min = 1, .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Ranks that share each layer.\n"
		  "DLIO: model.parallelism.tensor." },
	{ "pipeline_parallel", MLGEN_F_U64(struct job, pipeline_parallel),
	  .def = "1", .min = 1, .max = 1e6, .unit = "stages", .group = "Checkpoint",
	  .help = "Number of stages that the layers are distributed over.\n"
		  "DLIO: model.parallelism.pipeline." },
	{ "data_parallel", MLGEN_F_U64(struct job, data_parallel),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "Copies of the model; 0 is ranks divided by tensor_parallel and pipeline_parallel.\n"
		  "DLIO: model.parallelism.data." },
	{ "zero_stage", MLGEN_F_U64(struct job, zero_stage),
	  .def = "0", .max = 3, .group = "Checkpoint",
	  .help = "State that is sharded over the copies: from 1 on the optimizer, with 3 also the model.\n"
		  "DLIO: model.parallelism.zero_stage." },
	{ "checkpoints", MLGEN_F_U64(struct job, checkpoints),
	  .def = "1", .min = 1, .max = 1e6, .unit = "checkpoints", .group = "Checkpoint",
	  .help = "Number of checkpoints that phase=checkpoint saves, or that phase=restore restores, newest first.\n"
		  "DLIO: checkpoint.num_checkpoints_write, num_checkpoints_read." },
	{ "pause", MLGEN_F_TIME(struct job, pause_ns),
	  .def = "0", .max = NS_PER_DAY, .unit = "s", .group = "Checkpoint",
	  .help = "Time between two checkpoints.\n"
		  "DLIO: checkpoint.time_between_checkpoints." },
	{ "checkpoint_every", MLGEN_F_STR(struct job, checkpoint_every),
	  .group = "Checkpoint",
	  .help = "With phase=train: interval between checkpoints: 500 steps, 2 epochs, 10 minutes.\n"
		  "Steps count through all epochs; a time may be written 90s or 10m.\n"
		  "DLIO: checkpoint.steps_between_checkpoints, epochs_between_checkpoints." },
	{ "checkpoint_mode", MLGEN_F_ENUM(struct job, checkpoint_mode, checkpoint_modes),
	  .def = "sync", .group = "Checkpoint",
	  .help = "Whether training waits until a checkpoint is written." },
	{ "snapshot_bandwidth", MLGEN_F_SIZE(struct job, snapshot_bandwidth),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Checkpoint",
	  .help = "With checkpoint_mode=async: bytes per second at which each rank copies its state to host memory; with 0 the copy takes no time." },
	{ "checkpoint_ranks", MLGEN_F_STR(struct job, checkpoint_ranks),
	  .def = "all", .group = "Checkpoint",
	  .help = "The ranks that this host simulates: all, zero, or numbers and ranges separated by commas, such as 0-7,64.\n"
		  "In a job on several hosts: the ranks of all hosts, which are divided evenly." },
	{ "checkpoint_threads", MLGEN_F_U64(struct job, checkpoint_threads),
	  .def = "1", .min = 1, .max = 1024, .unit = "threads", .group = "Checkpoint",
	  .help = "Threads that write, or read, the files of one rank." },
	{ "checkpoint_keep", MLGEN_F_U64(struct job, checkpoint_keep),
	  .def = "0", .max = 1e6, .unit = "checkpoints", .group = "Checkpoint",
	  .help = "Keep this many checkpoints that mlgen wrote, and delete older ones; 0 keeps all. Checkpoints that other runs still need do not count." },
	{ "checkpoint_directory", MLGEN_F_STR(struct job, checkpoint_directory),
	  .group = "Checkpoint",
	  .help = "Directory of the checkpoints; by default directory, and with phase=train its folder checkpoints.\n"
		  "DLIO: checkpoint.checkpoint_folder." },
	{ "checkpoint_layout", MLGEN_F_ENUM(struct job, checkpoint_layout, layouts),
	  .def = "torch", .group = "Checkpoint",
	  .help = "The files of a checkpoint and, with access=framework, the calls that write and read them." },
	{ "checkpoint_pattern", MLGEN_F_ENUM(struct job, checkpoint_pattern, patterns),
	  .def = "unet3d", .group = "Checkpoint",
	  .help = "With checkpoint_layout=pattern: the model that defines the write sizes." },
	{ "checkpoint_archive", MLGEN_F_STR(struct job, checkpoint_archive),
	  .group = "Checkpoint",
	  .help = "With checkpoint_layout=torch: the name before all records of an archive, which torch.save derives from the name of its file; up to 31 letters, digits, dots, hyphens and underscores. Empty: rank_R." },
	{ "checkpoint_fsync", MLGEN_F_ENUM(struct job, checkpoint_fsync, checkpoint_fsyncs),
	  .def = "file", .group = "Checkpoint",
	  .help = "When files are flushed to storage.\n"
		  "DLIO: checkpoint.fsync, which DLIO accepts and ignores." },
	{ "rename_commit", MLGEN_F_BOOL(struct job, rename_commit),
	  .def = "0", .group = "Checkpoint",
	  .help = "Write under a temporary name, and rename after all ranks have finished." },
	{ "restore_shift", MLGEN_F_U64(struct job, restore_shift),
	  .def = "0", .max = 1e6, .unit = "ranks", .group = "Checkpoint",
	  .help = "With phase=restore: each rank reads the files of another rank, this many ranks further in the list of ranks of this host. To read the files of another host, use its checkpoint_ranks and checkpoint_directory.\n"
		  "DLIO: checkpoint.recovery_rank_shift." },

	{ "ioengine", MLGEN_F_STR(struct job, ioengine),
	  .def = "psync", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "The engine that does the I/O; --enghelp lists the engines.\n"
		  "A value with a slash is the path of an engine in a shared object." },
	{ "direct", MLGEN_F_BOOL(struct job, direct),
	  .def = "0", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Bypass the page cache with O_DIRECT." },
	{ "buffered", MLGEN_F_BOOL(struct job, buffered),
	  .def = "1", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "The inverse of direct; if both are set, the last counts." },
	{ "bs", FIELD_SIZE_PAIR(struct job, bs),
	  .def = "1m", .min = 512, .max = GI, .unit = "bytes", .group = "I/O", .alias = "blocksize", .flags = MLGEN_FIO,
	  .help = "Bytes of a request, for both reads and writes, or READ,WRITE.\n"
		  "The default of phase=io is 4k, as in fio." },
	{ "iodepth", MLGEN_F_U64(struct job, iodepth),
	  .def = "1", .min = 1, .max = 4096, .unit = "requests", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "Requests that each read thread, or each of the numjobs threads, keeps in flight; more than one needs an asynchronous engine." },
	{ "invalidate", MLGEN_F_ENUM(struct job, invalidate, invalidates),
	  .def = "run", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "When the job's files are dropped from the page cache, so that reads come from storage and not from memory.\n"
		  "Dirty pages are written to storage first." },
	{ "drop_caches", MLGEN_F_ENUM(struct job, drop_caches, drops),
	  .def = "no", .group = "I/O",
	  .help = "When all of this host's page cache is dropped, which requires root (vm.drop_caches).\n"
		  "Unlike invalidate, this also drops names and sizes of files.\n"
		  "With phase=restore, mlgen first drops only the job's files, and the\n"
		  "whole cache only if more than 1% of them stays." },
	{ "verify", MLGEN_F_ENUM(struct job, verify, verifies),
	  .def = "none", .group = "I/O", .flags = MLGEN_FIO,
	  .help = "With phase=restore: how the data that was read is checked." },
	{ "mem", MLGEN_F_ENUM(struct job, mem, mems),
	  .def = "malloc", .group = "I/O", .alias = "iomem", .flags = MLGEN_FIO,
	  .help = "The kind of memory for the buffers." },

	{ "rw", MLGEN_F_ENUM(struct job, rw, rws),
	  .def = "read", .group = "Plain I/O", .alias = "readwrite", .flags = MLGEN_FIO,
	  .help = "Reads or writes, in order or at random; makes the section a plain I/O job." },
	{ "rwmixread", MLGEN_F_PERCENT(struct job, rwmixread),
	  .def = "50%", .max = 100, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "With rw=rw and rw=randrw: percentage of the requests that read." },
	{ "rwmixwrite", MLGEN_F_PERCENT(struct job, rwmixwrite),
	  .def = "50%", .max = 100, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Percentage of the requests that write; if both rwmixread and rwmixwrite are set, the last counts." },
	{ "bssplit", MLGEN_F_STR(struct job, bssplit),
	  .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Requests of several sizes instead of bs, with their percentages: 4k/10:64k/50:32k/40.\n"
		  "A comma separates the lists of reads and of writes. Sizes without a\n"
		  "percentage share the rest." },
	{ "size", FIELD_SIZE_SHARE(struct job, size),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Bytes that each of the numjobs threads reads or writes, starting at offset, or a percentage of the file; 0 is the whole file.\n"
		  "A missing file is created with this size." },
	{ "io_size", FIELD_SIZE_SHARE(struct job, io_size),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .alias = "io_limit", .flags = MLGEN_FIO,
	  .help = "Bytes to move before the job ends, which may be less or more than size; 0 is size." },
	{ "offset", FIELD_SIZE_SHARE(struct job, offset),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Offset in the file at which the job begins." },
	{ "filename", MLGEN_F_STR(struct job, filename),
	  .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "File or block device, shared by all numjobs threads; separate several by ':'.\n"
		  "By default each of the numjobs threads has a file $jobname.N.0. Write a colon\n"
		  "in a name as \\:. To write to a device, see --allow_device." },
	{ "filesize", MLGEN_F_SIZE(struct job, filesize_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Bytes of each file that is created; 0 is as many as size requires." },
	{ "numjobs", MLGEN_F_U64(struct job, numjobs),
	  .def = "1", .min = 1, .max = 65536, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Number of threads; each thread does the whole job." },
	{ "loops", MLGEN_F_U64(struct job, loops),
	  .def = "1", .min = 1, .max = 1e9, .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Number of passes; each pass reads or writes as many bytes as size gives." },
	{ "norandommap", MLGEN_F_BOOL(struct job, norandommap),
	  .def = "0", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Draw every random block independently, instead of accessing each block once." },
	{ "iodepth_batch_submit", MLGEN_F_U64(struct job, iodepth_batch_submit),
	  .def = "0", .max = 4096, .unit = "requests", .group = "Plain I/O", .alias = "iodepth_batch", .flags = MLGEN_FIO,
	  .help = "Maximum number of requests submitted in one call; 0 is iodepth, or 1 if direct=1 is set, because submitting one by one keeps the device busier." },
	{ "iodepth_batch_complete_min", MLGEN_F_U64(struct job, iodepth_batch_complete_min),
	  .def = "1", .max = 4096, .unit = "requests", .group = "Plain I/O", .alias = "iodepth_batch_complete", .flags = MLGEN_FIO,
	  .help = "Requests to wait for when iodepth is full; 0 polls without waiting." },
	{ "iodepth_batch_complete_max", MLGEN_F_U64(struct job, iodepth_batch_complete_max),
	  .def = "0", .max = 4096, .unit = "requests", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Maximum number of completions reaped in one call; 0 is iodepth." },
	{ "rate", FIELD_SIZE_PAIR(struct job, rate),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes/s", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Limit in bytes per second for each of the numjobs threads: one value for both reads and writes, or READ,WRITE; 0 is no limit.\n"
		  "Latencies are then measured from the time when a request was due." },
	{ "rate_iops", FIELD_U64_PAIR(struct job, rate_iops),
	  .def = "0", .max = 1e9, .unit = "requests/s", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Limit in requests per second for each of the numjobs threads; if rate is also set, the slower limit applies." },
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
	  .help = "Call fsync on every written file when the job ends." },
	{ "create_only", MLGEN_F_BOOL(struct job, create_only),
	  .def = "0", .group = "Plain I/O", .flags = MLGEN_FIO,
	  .help = "Create the missing files and do nothing else." },

	{ "replay_trace", MLGEN_F_STR(struct job, replay_trace),
	  .group = "Replay", .alias = "read_iolog",
	  .help = "The trace to replay, from mlgen or in version 2 or 3 of fio's iolog; makes the section phase=replay." },
	{ "replay_files", MLGEN_F_ENUM(struct job, replay_files, replay_files),
	  .def = "own", .group = "Replay",
	  .help = "The files that the replay uses. It writes only to files below directory." },
	{ "replay_time", MLGEN_F_ENUM(struct job, replay_time, replay_times),
	  .def = "think", .group = "Replay",
	  .help = "When an operation is due." },
	{ "replay_order", MLGEN_F_ENUM(struct job, replay_order, replay_orders),
	  .def = "thread", .group = "Replay",
	  .help = "The earlier operations that an operation waits for. It starts with as many operations in flight as in the trace." },
	{ "replay_speed", MLGEN_F_F64(struct job, replay_speed),
	  .def = "1", .min = 0.001, .max = 1e6, .group = "Replay",
	  .help = "Speed relative to the trace; it divides times and pauses." },
	{ "replay_threads", MLGEN_F_U64(struct job, replay_threads),
	  .def = "0", .max = 65536, .unit = "threads", .group = "Replay",
	  .help = "Number of threads that replay; the threads of the trace share them. 0 is the largest number of simultaneous threads in the trace." },
	{ "replay_span", MLGEN_F_SIZE(struct job, replay_span_bytes),
	  .def = "0", .max = MOST_BYTES, .unit = "bytes", .group = "Replay",
	  .help = "Only for a trace of block requests: offsets wrap around after this many bytes of a device. 0 keeps the offsets." },

	{ "percentile_list", FIELD_F64_LIST(struct job, percentile_list),
	  .def = "50:90:99:99.9", .min = 0, .max = 100, .group = "Report", .flags = MLGEN_FIO,
	  .help = "Latency percentiles to report, at most 20.\n"
		  "The default of phase=io is fio's list of 17 percentiles." },
	{ "group_reporting", MLGEN_F_BOOL(struct job, group_reporting),
	  .def = "0", .group = "Report", .flags = MLGEN_FIO,
	  .help = "Report jobs that start together as one job.\n"
		  "Host and storage are measured from the first start to the last end." },
	{ "write_iolog", MLGEN_F_STR(struct job, write_iolog),
	  .group = "Report", .flags = MLGEN_FIO,
	  .help = "When all jobs have ended, write a log of what the job did that fio replays with read_iolog, version 3.\n"
		  "All threads of a job, including those of numjobs, are in one log, in the\n"
		  "order of time. Each job has its own log: $jobname.iolog. An\n"
		  "existing log is replaced; any other file is refused." },
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
