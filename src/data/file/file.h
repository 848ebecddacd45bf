/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the files of a data set: names, sizes, places of samples, and the calls that read. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "base/dist.h"
#include "data/scan/scan.h"
#include "job/job.h"
#include "stat/opstat.h"

/*
 * A data set as its readers know it. Everything is a pure function of an index: the name and the
 * size of a file, the places of its samples, and the calls that read them. Only what a scan has
 * found is stored per file or per sample.
 *
 *   dataset     the files, made by mlgen or found by a scan; data/dataset sets it up
 *   extent      the unit of reading: consecutive samples of one file
 *   format      a row of functions: what a file holds, how to write it and how to look into it
 *   look        one open file of a scan, and the results for it
 *   scan index  the results for all files of a scan
 *   plan        an iterator over the calls that read one extent
 *
 * A data set is constant once it is set up, and every thread may query it. A look and a plan
 * belong to one thread each.
 */

/* ---- the files of a dataset as pure functions of their index ---- */

/*
 * The name, size and place of every sample are computed, so a billion samples cost as much memory
 * as ten. Sizes depend on DATASET_SEED only, never on `randseed`: runs with different seeds read
 * the same files in another order (MLPerf Storage rules 6.3: generator seed 10).
 */
#define DATASET_SEED 10

/* The unit of reading: consecutive samples of one file. */
struct extent {
	uint64_t id; /* 0 .. dataset_extents() - 1 */
	uint64_t file;
	uint64_t first_sample; /* within the file */
	uint32_t samples;
};

struct format;
struct labels;
struct recorded;
struct scan;
struct scan_index;

/* Options that only some formats use; values as in struct job. */
struct format_options {
	uint64_t label_size_bytes;
	uint64_t row_group_size;
	/* owned; NULL = none given */
	char *columns, *read_columns, *scan_key, *hdf5_dataset;
	/* The pair FROM:TO of a scan of npy files, or NULL. Each file has a twin (scan.h) in part
	 * 1, and a sample consists of both. The labels of other formats are in
	 * dataset.labels. */
	char *scan_pair;
	int access, decompress;
};

/* Results of searches in a dataset, shared by all callers. */
struct dataset_memo {
	_Atomic uint64_t largest_file; /* index plus 1; 0 = not searched yet */
};

/*
 * A format stores samples in one file, or in a data file with index files next to it. Each of these
 * kinds of file is a part. Files are numbered part by part, 0 .. parts x files - 1. Only files of
 * part 0 hold samples. A member marked "owned" is freed with the dataset; one marked "held" is
 * shared, and the dataset has a reference to it.
 */
struct dataset {
	const struct format *format;
	char *directory;      /* owned */
	uint64_t files;       /* number read by this job; per part */
	uint64_t files_named; /* N in the names of files (img_III_of_N); the manifest has it */
	/* Names and sizes repeat after this many files; 0 = never. Only for a dataset that is not
	 * written. */
	uint64_t distinct_files;
	uint64_t samples_per_file;
	/* Samples of all files together, if files have different numbers of samples;
	 * samples_per_file is then the mean, rounded up. 0 = every file has samples_per_file. */
	uint64_t uneven_samples;
	uint64_t subfolders;
	struct dist sample_size; /* held */
	struct format_options options;
	unsigned parts;          /* 1 or more */
	uint64_t extent_samples; /* divides samples_per_file */
	/* Extents of this scan have different numbers of samples, which the format knows;
	 * extent_samples is their mean, rounded down. */
	bool extents_differ;
	void *common;           /* private to the format; see format->init */
	const char *split;      /* the folder: "train" or "valid" */
	uint64_t first_size;    /* index of file 0 among all sizes drawn */
	uint64_t first_content; /* index of file 0 among all contents */
	uint64_t eval_files;    /* the manifest's number of evaluation files; 0 = none */
	/* Set if scale would leave too few files, otherwise 0: `part` is the number that it would
	 * leave, and each of `ranks` ranks needs 4 batches of `batch` samples. If the job uses
	 * existing files, and these are fewer than the files it would make, `whole` is the number
	 * it would make; otherwise 0. */
	struct {
		uint64_t part, batch, ranks, whole;
	} scaled;
	struct dataset_memo *memo; /* owned */
	/* Somebody else made the files: dataset=scan, or a dataset that DLIO has written. */
	bool is_found;
	bool has_megatron; /* part 1 is Megatron's index, which has a name of its own */
	/* Names and sizes of the files with dataset=scan; owned. The dataset is the first `files`
	 * files of the scan, and sample_size is a constant: their mean. */
	struct scan *scan;
	/* Label files of a scan (scan.h), which are part 1; owned, NULL = the files have none. */
	struct labels *labels;
	/* access=recorded: the calls that read samples; held, otherwise NULL. */
	struct recorded *recorded;
	/* Contents of the files, if the scan has looked into them; owned, NULL = each file is one
	 * sample. */
	struct scan_index *found;
};

/*
 * Set up a dataset from a validated job. num_files comes from dataset_ratio (x memory_bytes / mean
 * file size, rounded up) if that is set; scale then leaves max(ceil(scale x N), 4 batches for every
 * rank). 0, or -EINVAL with err: more accelerators than samples, or a batch larger than a shard.
 * err has the numbers and suggests what to change.
 *
 * With dataset=scan the files are those that exist in the directory. Listing it may take long, and
 * fails with the errors of scan.h. Options that apply only to files made by mlgen are refused. A
 * directory with a dataset that DLIO has written is scanned, too (dataset_internal.h).
 */
int dataset_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		 struct mlgen_err *err);
void dataset_fini(struct dataset *ds);

/*
 * A directory may hold a complete dataset that was scaled for fewer accelerators than this job has.
 * If it has two batches for each accelerator, the minimum for AU, the job uses its files: adding an
 * accelerator rewrites nothing. Otherwise the dataset stays as dataset_init() left it. 0, or
 * -EINVAL with err, as dataset_init() returns.
 */
int dataset_use_existing(struct dataset *ds, const struct job *job, struct mlgen_err *err);

/* Number of ranks that this many existing files suffice for. 0 = not even one, or `scaled` is not
 * set. */
uint64_t dataset_ranks_for(const struct dataset *ds, uint64_t files);

/*
 * Set up the dataset that a job evaluates with: job->eval_files files (fewer with scale) in the
 * folder "valid", with the train dataset's directory, format and options. Sizes and contents
 * continue after the train dataset's (DLIO draws them in this order). eval_files=0 leaves *eval
 * zeroed, without files or format.
 */
int dataset_init_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct mlgen_err *err);

/* Like dataset_init_eval, but with this number of files. */
int dataset_init_split(struct dataset *eval, const struct dataset *train, uint64_t files,
		       struct mlgen_err *err);

/* Set the N in the names of the evaluation files to `files_named`. Their sizes and contents
 * continue after the train dataset's, whose files_named must be set. A manifest has this number for
 * both datasets. */
void dataset_number_eval(struct dataset *eval, const struct dataset *train, uint64_t files_named);

/* True if the user can get more files by setting num_files or dataset_ratio. ds NULL = decide by
 * the job's options. */
bool dataset_makes_files(const struct dataset *ds, const struct job *job);

/* Let the format complete a dataset that has format, sizes and options. Part of dataset_init. 0, or
 * -EINVAL with err. */
int dataset_init_format(struct dataset *ds, struct mlgen_err *err);

/* Returns 0, or -EINVAL with err if this many files would have more bytes than offsets can
 * count. */
int dataset_check_bytes(const struct dataset *ds, double files, struct mlgen_err *err);

/* Check that each of `ranks` ranks gets a batch: 0, or -EINVAL with err. Part of dataset_init
 * (unless phase=prepare) and of sampler_init. */
int dataset_check_ranks(const struct dataset *ds, const struct job *job, uint64_t ranks,
			struct mlgen_err *err);

uint64_t dataset_all_files(const struct dataset *ds); /* all parts */
/* Number of files of all parts, not counting label files that do not exist. */
uint64_t dataset_existing_files(const struct dataset *ds);
/* Number of leading parts that hold bytes of samples; the remaining parts are indexes. */
unsigned dataset_sample_parts(const struct dataset *ds);

/* A path on the filesystem that holds the files: the directory, or the first directory of a
 * scan. */
const char *dataset_storage_path(const struct dataset *ds);

/* False if `file` is the number of a label file that does not exist; dataset_path returns -ENOENT
 * for it. */
bool dataset_has_file(const struct dataset *ds, uint64_t file);
/* Number of files, one per part, that together store the samples of this file of part 0. */
unsigned dataset_parts_of(const struct dataset *ds, uint64_t file);

/* Index of a file within its part. With distinct_files, the index of the first file that has the
 * same name and size. */
uint64_t dataset_distinct_file(const struct dataset *ds, uint64_t file);

uint64_t dataset_samples(const struct dataset *ds);
uint64_t dataset_extents(const struct dataset *ds);
void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x);
/* Number of extents before this file. `file` may be ds->files: then all extents. */
uint64_t dataset_first_extent(const struct dataset *ds, uint64_t file);
/* Payload bytes that the job requests from an extent; only columns that are read count. */
uint64_t dataset_extent_bytes(const struct dataset *ds, const struct extent *x);
/* Samples of each file if all files have the same number, otherwise 0. */
uint64_t dataset_equal_samples(const struct dataset *ds);
/* The largest read of compressed bytes; 0 = nothing is compressed. */
uint64_t dataset_packed_max(const struct dataset *ds);
/* The largest number of samples in a file. */
uint64_t dataset_max_samples(const struct dataset *ds);

/* Format "DIR[/FOLDER]/train", the folder of a part without its subfolders. Returns the length, or
 * -ENAMETOOLONG. */
int dataset_folder(const struct dataset *ds, unsigned part, char *out, size_t size);

/*
 * Format the full path of a file, "DIR[/FOLDER]/train[/SUB]/img_III_of_N.npz" as DLIO names them:
 * III is padded to the digits of N and starts at 0, the subfolder is index % subfolders if there
 * are several, FOLDER and suffix are the part's. Returns the length, or -ENAMETOOLONG; for a scan
 * also -errno if its names cannot be read back.
 */
int dataset_path(const struct dataset *ds, uint64_t file, char *out, size_t size);

/* The inverse of dataset_path for a made dataset. False if none of its files has this path. */
bool dataset_find(const struct dataset *ds, const char *path, uint64_t *file);
/* True if the path is a folder of such files, or lies between such a folder and the dataset's
 * directory. */
bool dataset_has_folder(const struct dataset *ds, const char *path);

/* For a file of part 0, dataset_sample_bytes returns the payload of one sample that the job
 * requests (the columns that are read), and dataset_row_bytes all payload of one sample.
 * dataset_file_bytes returns the size of a file of any part. */
uint64_t dataset_sample_bytes(const struct dataset *ds, uint64_t file);
uint64_t dataset_row_bytes(const struct dataset *ds, uint64_t file);
uint64_t dataset_file_bytes(const struct dataset *ds, uint64_t file);

/* The largest of up to a million evenly spaced files of part 0; for a pair, the sizes of both files
 * are added. Only the first call searches. Any thread. */
uint64_t dataset_largest_file(const struct dataset *ds);

/* Like dataset_largest_file, but the search ends at the first file with at least `enough_bytes`.
 * Callers that treat all larger files alike need not draw a million sizes. */
uint64_t dataset_large_file(const struct dataset *ds, uint64_t enough_bytes);

/* Seed of a file's content (format_writer.seed_index), unique within a directory. */
uint64_t dataset_content(const struct dataset *ds, uint64_t file);

/* Bytes of all parts of a file whose samples have the mean size. */
double dataset_mean_file_bytes(const struct dataset *ds);

/* Totals of up to this many files are summed file by file. */
#define DATASET_EXACT_FILES UINT64_C(1000000)

struct dataset_totals {
	uint64_t bytes;        /* size on disk of all files */
	uint64_t sample_bytes; /* payload that the job requests */
	uint64_t row_bytes;    /* all payload */
	double mean_file_bytes, stdev_file_bytes;
	double mean_sample_bytes; /* mean payload of a sample, as drawn from sample_size */
	/* Bytes read and seconds spent by the scan to inspect the contents of files; NaN = it
	 * inspected no file. */
	double scan_read_bytes, scan_seconds;
	double scan_kept_files; /* files whose results came from the scan cache; NaN as above */
	double label_files;     /* files that have a label; NaN = no pairs */
	bool estimate;          /* totals are expected values: more than a million files */
};
void dataset_totals(const struct dataset *ds, struct dataset_totals *t);

/* ---- the byte layout of a file: its content, and the place of each sample ---- */

/* The content of one file. */
struct file_shape {
	uint64_t samples;
	uint64_t sides[2];  /* sides of a sample; {1, bytes} unless sample_size is dlio:... */
	bool two_sides;     /* dlio: shape (samples, d1, d2), otherwise (samples, bytes) */
	unsigned part;      /* index into the format's parts */
	const void *common; /* dataset.common, which format->init has made */
	/* Facts and words that format->look has stored for a file of a scan, otherwise NULL. Such a
	 * file has no sides. */
	const uint64_t *facts, *words;
	uint64_t scanned_bytes; /* size of a file of a scan; 0 = a made file */
	bool has_labels;        /* part 1 is a label file, which is read whole */
	uint64_t label_bytes;   /* size of the label file; 0 = this data file has no label file */
};

/*
 * Generates the content of one file a chunk at a time. The caller writes each chunk at its offset
 * and asks for the next. The last chunk may be the header again, with the checksum that was not
 * known before. Allocates nothing. The caller sets shape and seed_index and zeroes the rest.
 */
struct format_writer {
	struct file_shape shape;
	uint64_t seed_index; /* seed of the content; see dataset_content */
	uint64_t pos;
	unsigned stage; /* private to the format */
	uint32_t crc[2];
};

struct look;
struct plan_kind;

/* Names of the files of one part: FOLDER/train/img_III_of_N.SUFFIX. */
struct format_part {
	const char *folder; /* NULL = the dataset's directory itself */
	const char *suffix;
	/* Suffix that a scan appends to the name of the file of samples; NULL = only made files
	 * have this part. */
	const char *sidecar_suffix;
};

#define FORMAT_PARTS 3

struct format {
	const char *name; /* also the suffix of its files */
	/* Library that configure did not find; NULL = the format is built in. */
	const char *needs;
	/*
	 * Optional: from ds->options and the sizes, compute what all files have in common and store
	 * it in ds->common. Also set ds->parts and ds->extent_samples if they are not 1. fini must
	 * accept a NULL ds->common. *ds has everything except the number of files. Not called for a
	 * scan: the limits of mlgen's writer do not apply to other programs' files. 0, or -EINVAL
	 * with err: "OPTION: what is wrong, what would be right".
	 */
	int (*init)(struct dataset *ds, struct mlgen_err *err);
	void (*fini)(struct dataset *ds);
	/* A NULL suffix of part 0 means `name`. */
	struct format_part parts[FORMAT_PARTS];
	/* First bytes of every file of part 0; NULL = unknown. */
	const char *magic;
	size_t magic_bytes;
	uint64_t (*file_bytes)(const struct file_shape *shape);
	/* The range of bytes that holds samples first .. first+n-1. */
	void (*sample_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len);
	/* Store the next chunk in buf (>= 64 KiB). False when done. */
	bool (*write_next)(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len);
	/* Plans for access=framework: first buffered, then with direct=1. NULL = no framework reads
	 * the format this way, and job_check refuses it. */
	const struct plan_kind *framework[2];
	const char *reader; /* the framework whose calls these are: "NumPy" */
	bool is_array;      /* the reader returns a NumPy array */
	/* Optional, for formats whose samples all have one declared size: number of bytes that the
	 * job requests of each sample. NULL = all. */
	uint64_t (*read_bytes)(const struct dataset *ds);
	/* Optional: the calls that a framework's worker makes on every file before its first
	 * sample, such as reading an index. Extents for this plan have no samples. */
	const struct plan_kind *at_start;
	/*
	 * dataset=scan: `look` finds the number and the places of samples in an open file, and
	 * scanned_range returns a place from what `look` has stored. A format without `look` has
	 * one sample per file, unless a list gives the places (scan.h); scanned_range then uses the
	 * list's words. `look` returns 0, or -errno with l->err. It reports a file that violates
	 * its format with look_fail. No file, however damaged, may cause a crash, a hang, or an
	 * allocation of a size that the file claims.
	 */
	int (*look)(struct look *l);
	void (*scanned_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len);
	/*
	 * Optional: the path of the i-th file next to `path` that `look` also reads. False = no
	 * more; "" = the name would be too long.
	 */
	bool (*sidecar_path)(const char *path, unsigned i, char *out, size_t size);
	/* If dataset.has_megatron: the path of the index of the file at `path`. False = the path
	 * does not have the suffix of such files, or `out` is too small. */
	bool (*index_path)(const char *path, char *out, size_t size);
	/* Optional: compute what all files have in common after the scan has looked into them;
	 * ds->found and ds->files are set. 0, or -EINVAL with err. */
	int (*scanned_init)(struct dataset *ds, struct mlgen_err *err);
	/* If extents have different numbers of samples: the first sample of a file's n-th extent,
	 * and its number of samples. */
	void (*found_extent)(const struct file_shape *shape, uint64_t n, uint64_t *first,
			     uint64_t *samples);
	/* access=framework reads a file from its beginning to its end: extents come in order, and
	 * the file stays open between them. */
	bool is_forward;
};

#define FORMAT_ROW(word, name, help) extern const struct format format_##name;
JOB_FORMATS(FORMAT_ROW)
#undef FORMAT_ROW

/* Return NULL for FORMAT_AUTO. */
const struct format *format_of(enum job_format f);
/* The format with this name, or NULL. */
const struct format *format_find(const char *name);

/* Files are numbered part by part: `file` is part x ds->files + index. */
void format_shape(const struct dataset *ds, uint64_t file, struct file_shape *shape);
/* True if samples are read separately, as ranges of the file. A file of one sample is read whole,
 * unless a list gives the sample's range. */
bool format_has_parts(const struct format *f, const struct file_shape *shape);
/* All payload of one sample of a made file. */
uint64_t format_sample_bytes(const struct file_shape *shape);
/* format_file_bytes returns the size of a file, format_sample_range the range that holds samples
 * first .. first+n-1. Files may be made or found. */
uint64_t format_file_bytes(const struct format *f, const struct file_shape *shape);
void format_sample_range(const struct format *f, const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len);

/* Fill `to` with payload of a file from `offset` on: incompressible, and no two files share a
 * block. */
void format_content(void *to, size_t bytes, uint64_t seed_index, uint64_t offset);

/* ---- the bytes that a scan reads of one file (header, index, directory) ---- */

struct format_options;

/* Numbers per file that stay in memory; the format defines their meaning. */
#define LOOK_FACTS 6

/* The largest number of bytes that look_at returns at once. */
#define LOOK_BYTES 65536

/* Number of ranges of a file that are remembered separately. */
#define LOOK_RANGES 8

/*
 * An open file, used by a single thread. A format's `look` reads what it needs with look_at. It
 * stores the number and the places of samples in a few facts and, if those do not suffice, in
 * words. Words go to an unnamed file, so that memory does not grow with the number of samples.
 *
 * The kernel is advised against readahead, and the pages that were read are dropped again: a scan
 * must not warm the page cache for the measurement that follows.
 */
struct look {
	/* The file. */
	const char *path; /* shown in messages */
	int fd;
	uint64_t file_bytes;
	const struct format_options *options; /* the job's */
	struct mlgen_err *err;

	/* Results, which look_open zeroes. */
	uint64_t samples;
	uint64_t sample_bytes; /* payload of all samples */
	uint64_t facts[LOOK_FACTS];
	uint64_t word_count;
	uint64_t packed_max; /* the largest read of compressed bytes */
	uint64_t words_at;   /* offset of the first word in the file of words */
	/* Fault of an index that does not match its file. The file itself is then read
	 * instead. */
	struct mlgen_err note;

	/* Private to look.c. */
	struct namefile *words;
	uint8_t *window; /* LOOK_BYTES */
	uint64_t window_off, read_bytes;
	size_t window_bytes;
	struct {
		uint64_t off, end;
	} ranges[LOOK_RANGES];
	unsigned range_count;
};

/* Prepare a look for the files of one thread; 0, or -errno with err. look_fini accepts a look whose
 * init failed, and leaves `words` alone. */
int look_init(struct look *l, struct namefile *words, struct mlgen_err *err);
void look_fini(struct look *l);

/* Open a file of this size, with `name` relative to an open directory; 0 or -errno with err. */
int look_open(struct look *l, int dir_fd, const char *name, const char *path, uint64_t file_bytes);
void look_close(struct look *l);

/*
 * Return `bytes` bytes (at most LOOK_BYTES) at `off`, valid until the next call. NULL with err if
 * the file ends earlier (-EINVAL) or cannot be read (-errno); err->code has the code.
 */
const uint8_t *look_at(struct look *l, uint64_t off, size_t bytes);

/* Copy any number of bytes into the caller's memory: 0 or -errno with err. */
int look_copy(struct look *l, uint64_t off, void *to, uint64_t bytes);

/* Append a word to the file's words: 0, or -errno with err. */
int look_add_word(struct look *l, uint64_t word);

/* Drop all results; the state is as after look_open. */
void look_reset(struct look *l);

/* Report "PATH: at byte OFF: ...", what is wrong and what would be right. Returns -EINVAL. */
__attribute__((format(printf, 3, 4))) int look_fail(struct look *l, uint64_t off, const char *fmt,
						    ...);

/* Little-endian and big-endian numbers in a file. */
static inline uint64_t look_le(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | at[bytes];
	return v;
}

static inline uint64_t look_be(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

/* ---- the scan cache: results of a scan for the next scan ---- */

/*
 * The cache is a file that the user names (scan_cache=). It is only replaced as a whole. The probe
 * runs of a command share an unnamed file instead (struct job_reuse). A request without a path and
 * without such a file has no cache.
 */
struct scan_cache_request {
	const char *path;         /* the user's file; NULL = none */
	struct job_reuse *memory; /* NULL = no probes */
	enum scan_part part;      /* the part that is scanned */
	bool is_quiet;            /* an earlier scan has reported everything */
};

/* scan_cache=PATH with its symbolic links resolved, for messages and scans; the caller frees it.
 * NULL for NULL. */
char *scan_cache_path(const char *path);

/* ---- the scan index: what a scan found inside the files of a dataset ---- */

/*
 * Every file is inspected one time (format->look). Several threads share the files, because storage
 * serves many requests at a time. The index has 72 bytes for each file. The data of each sample
 * is stored as 64-bit words in unnamed files (scan.h), which stay mapped as long as the dataset
 * exists.
 */
struct scan_index;

/*
 * Look into all files of a scan, for a dataset with directory, format and options. Files without a
 * sample are dropped from the scan and counted, and damaged files are, too, unless `errors` is
 * SCAN_REFUSE. 0, or -errno with err: -EINVAL if no file has a sample, or -EINTR. If damaged files
 * are refused or no file is left, err is the error of the first damaged file in the order of the
 * scan.
 *
 * Results for files that have not changed since an earlier scan come from the scan cache, which
 * then gets the results of this scan. If `keeps` is NULL, there is no cache.
 */
int scan_index_new(struct scan_index **out, struct scan *scan, const struct dataset *ds,
		   enum job_scan_errors errors, const struct scan_cache_request *keeps,
		   struct mlgen_err *err);
/* Build the index from a list of samples (scan.h) without looking into any file. */
int scan_index_new_listed(struct scan_index **out, struct scan *scan, struct mlgen_err *err);
void scan_index_free(struct scan_index *f); /* NULL is fine */

/* Send the index from one process of a job to the other processes (hosts/hosts.h). They receive it
 * in the state that it had before format->scanned_init. `beside` is passed to namefile_open. 0 or
 * -errno with err. */
struct relay;
int scan_index_send(const struct scan_index *f, struct relay *to, struct mlgen_err *err);
int scan_index_receive(struct scan_index **out, const char *beside, struct relay *from,
		       struct mlgen_err *err);

/* Cost of the scan: bytes read from the files, and seconds. */
uint64_t scan_index_read_bytes(const struct scan_index *f);
double scan_index_seconds(const struct scan_index *f);
/* Number of files whose results came from the scan cache. */
uint64_t scan_index_cached_files(const struct scan_index *f);

/* The largest read of compressed bytes in any plan; 0 = nothing is compressed. */
uint64_t scan_index_packed_max(const struct scan_index *f);

/* scan_index_first_sample returns the number of samples in the files before this one,
 * scan_index_sample_bytes their payload. `file` may be the number of files: then all samples. */
uint64_t scan_index_first_sample(const struct scan_index *f, uint64_t file);
uint64_t scan_index_sample_bytes(const struct scan_index *f, uint64_t file);
/* The file that contains this sample. */
uint64_t scan_index_file_of(const struct scan_index *f, uint64_t sample);

/*
 * If extents have different numbers of samples, format->scanned_init calls
 * scan_index_count_extents. `fact` is the index of the fact that stores a file's number of extents.
 * The call replaces that number by the number of extents before the file. From then on
 * scan_index_first_extent returns the number of extents before a file, and
 * scan_index_file_of_extent the file that contains an extent.
 */
void scan_index_count_extents(struct scan_index *f, unsigned fact);
uint64_t scan_index_first_extent(const struct scan_index *f, uint64_t file);
uint64_t scan_index_file_of_extent(const struct scan_index *f, uint64_t extent);

/* Samples of each file if all files have the same number, otherwise 0. */
uint64_t scan_index_equal_samples(const struct scan_index *f);
/* The largest number of samples in a file. */
uint64_t scan_index_max_samples(const struct scan_index *f);

/* Set samples, facts and words of a file; the rest of *shape stays. */
void scan_index_shape(const struct scan_index *f, uint64_t file, struct file_shape *shape);

/* ---- index files: text files next to data files, with the places of the samples in them ---- */

struct look;

/*
 * Open the first readable regular file among those that `sidecar` names (format->sidecar_path),
 * and set its path. NULL = there is none.
 */
FILE *look_index_open(const struct look *l,
		      bool (*sidecar)(const char *path, unsigned i, char *out, size_t size),
		      char path[PATH_MAX]);

/* Close an index file. The part that was parsed counts as read, and its pages leave the page
 * cache. */
void look_index_close(struct look *l, FILE *f);

/* Set l->note to "PATH: MESSAGE", where the message says what is wrong with the index. */
__attribute__((format(printf, 3, 4))) void look_index_note(struct look *l, const char *path,
							   const char *fmt, ...);

/* ---- the read(2) calls of a Python program that uses an open file ---- */

/* Bytes of the buffer that io.open() gives a file: st_blksize. */
#define PYFILE_BLOCK 4096u

/* The kernel transfers at most this many bytes in one call. */
#define PYFILE_CALL_MAX UINT64_C(2147479552)

/*
 * CPython's io.BufferedReader over a file of known size (3.11; the rules are those of its
 * _io/bufferedio.c), as an iterator that allocates nothing.
 *
 * A read uses up the bytes left in the buffer; then it reads the whole blocks of the rest in one
 * call; then it fills the buffer for what remains. A seek to a place that the buffer holds costs
 * nothing as long as the buffer is not used up; any other seek empties it.
 *
 * Start with one of the functions below, then call pyfile_next() for its reads until it returns
 * false. Only then may the next function be started.
 */
struct pyfile {
	uint64_t file_bytes;
	uint64_t raw;        /* offset of the file descriptor */
	uint64_t want;       /* bytes that the current call still lacks */
	unsigned have, used; /* bytes in the buffer, and how many of them the program has read */
	bool to_end;         /* the current call is pyfile_read_all() */
};

void pyfile_open(struct pyfile *f, uint64_t file_bytes);
/* seek(off), or the equivalent seek(..., SEEK_CUR). */
void pyfile_seek(struct pyfile *f, uint64_t off);
/* seek(0 or less, SEEK_END) to the offset `off`; empties the buffer. */
void pyfile_seek_end(struct pyfile *f, uint64_t off);
/* read(bytes). */
void pyfile_read(struct pyfile *f, uint64_t bytes);
/* read(): the rest of the file, whose length an fstat(2) has returned. */
void pyfile_read_all(struct pyfile *f);

/* The next read(2) of the current call. False when the call has all its bytes or is at the end of
 * the file. */
bool pyfile_next(struct pyfile *f, uint64_t *off, uint64_t *bytes);

/* The program's position: the end of the bytes that it has read. */
uint64_t pyfile_tell(const struct pyfile *f);

/* ---- the operations that read an extent, in order ---- */

struct plan_config {
	const struct dataset *dataset;
	enum job_access access;
	uint64_t bs_bytes;
	bool direct;
	uint64_t align_bytes; /* needed with direct=1; 0 = no alignment */
};

/* Compression of the bytes of a read: none; part of a compressed stream that spans the whole file;
 * a complete deflate stream; the pages of a Parquet chunk, compressed with gzip or another codec;
 * the same with zstd. */
enum plan_packed { PLAN_RAW, PLAN_STREAM, PLAN_DEFLATE, PLAN_PAGES, PLAN_ZSTD_PAGES };

struct plan_op {
	enum mlgen_op op;
	enum plan_packed packed;
	bool after;    /* wait until all earlier operations are complete */
	unsigned part; /* OPEN, and STAT of a file that is not open: number of its part */
	/* READ: the bytes asked for, and how many of them the file has; fewer if the request
	 * reaches past the end. */
	uint64_t off, len_bytes, got_bytes;
};

struct plan_counts;
struct recorded_template;

/* State of plan_recorded. */
struct plan_recorded {
	const struct recorded_template *of;
	uint64_t done;   /* reads of the current run (plan.step) */
	uint64_t here;   /* end of the last read */
	bool goes_on;    /* the rest of a read takes several calls, and the current call is not the
			    last */
	bool is_counted; /* plan_next skips the inner reads of each run */
	struct plan_counts *counts; /* is_counted: the skipped reads are added here; may be NULL */
};

#define PLAN_OWN_BYTES 192

/* An iterator that owns no memory. */
struct plan {
	const struct plan_config *config;
	const struct plan_kind *kind;
	uint64_t off, end; /* still to read */
	uint64_t file_bytes;
	unsigned has; /* private to the kind */
	unsigned step;
	/* Python's view of the file, for the kinds that follow a Python program. */
	struct pyfile python;
	/* plan_hdf5: the word of the next chunk; plan_parquet: the row group */
	uint64_t jump;
	/* Private struct of the kind, with its state for the file; plan_init() zeroes it. */
	_Alignas(uint64_t) unsigned char own[PLAN_OWN_BYTES];
	struct plan_recorded recorded;
	/* Step and offset in the label file, which is read after the operations of kind->next. */
	unsigned label_step;
	uint64_t label_off;
	struct extent extent;
	struct file_shape shape;
};

/* Cost of one extent: operations by kind, reads by size, and the bytes transferred. */
struct plan_counts {
	uint64_t ops[MLGEN_OPS];
	struct sizes reads;
	uint64_t io_bytes;
};

/*
 * A way to read a file. plan_init has set config, kind, extent, shape and file_bytes (of part 0)
 * and zeroed the rest. An OPEN of another part sets file_bytes to that part's size. A label file
 * (dataset.labels) is read after the last operation of the kind, which ignores labels.
 */
struct plan_kind {
	void (*init)(struct plan *p, const struct file_shape *shape, const struct extent *x);
	/* Store the next operation in *op. plan_next zeroes *op before the call and sets got_bytes
	 * after it. */
	bool (*next)(struct plan *p, struct plan_op *op);
	/* Optional: count reads of equal size at once and skip them; a large file has millions. */
	void (*skip)(struct plan *p, struct plan_counts *c);
	/* Upper bound of the bytes of a single read in any extent. */
	uint64_t (*largest_read)(const struct plan_config *config);
};

/* access=plain: open; the whole file (one sample per file) or the samples' bytes in requests of bs,
 * rounded to align_bytes; close. Both files of a pair are read, one after the other. */
extern const struct plan_kind plan_plain;
/* DLIO with direct=1: open; stat, for the size of its buffer; the whole file in one aligned read;
 * close. */
extern const struct plan_kind plan_whole_file;
/* numpy.load(file)['x'] of an npz file. */
extern const struct plan_kind plan_numpy;
/* The other plans of access=framework. plan_npy_direct is plan_whole_file for an array;
 * plan_forward is a buffered stream from a file's beginning to its end. plan_indexes reads index
 * files at the start; plan_map also maps the file of samples, so that a sample takes at most one
 * read. */
extern const struct plan_kind plan_npy, plan_npy_direct, plan_pillow, plan_png, plan_pandas,
	plan_forward, plan_indexes, plan_map, plan_indexed, plan_mapped, plan_hdf5, plan_parquet;

/* access=recorded: the templates of dataset.recorded. */
extern const struct plan_kind plan_recorded;

/* The dataset's format chooses the plan of access=framework. For an extent without samples, the
 * plan is format->at_start: the calls that a worker makes on the extent's file before its first
 * sample. */
void plan_init(struct plan *p, const struct plan_config *config, const struct extent *x);

/* The next operation, or false when there is none. */
bool plan_next(struct plan *p, struct plan_op *op);

/* True if exactly an open, one read and the close remain, so that they can be submitted as a
 * chain; *read is the read. */
bool plan_is_chain(const struct plan *p, struct plan_op *read);

/* Sum up a plan without visiting every operation. */
void plan_count(const struct plan_config *config, const struct extent *x, struct plan_counts *c);

/* The largest size of one READ; UINT64_MAX = it depends on a file's size. */
uint64_t plan_largest_read(const struct plan_config *config);

/*
 * Buffer size of a worker with `depth` requests in flight. Each request has its own part, as large
 * as the largest request for the largest file, but at most 1 MiB (larger requests wrap around it).
 * All parts together have at most 16 MiB; in deeper queues several requests share a part. This
 * function reads the sizes of up to a million files.
 */
size_t plan_buffer_bytes(const struct plan_config *config, unsigned depth);
