/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - the files of a data set: their names and sizes, where samples lie, and the calls by
 * which they are read. */
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
 * What a data set is, as far as those need to know who read it. Everything is a pure function of
 * an index: the name and the size of a file, where its samples lie, and the calls by which they
 * are read. Nothing is kept per file or per sample but what a scan has found.
 *
 *   dataset   the files, made or found; set up by data/dataset
 *   extent    what is read together: consecutive samples of one file
 *   format    a row of functions: what a file holds, how it is written and looked at
 *   look      one open file of a scan, and what is found in it
 *   found     what was found in all files
 *   plan      an iterator over the calls that read one extent
 *
 * A data set that is set up is constant, and every thread may ask. A look and a plan belong to
 * one thread each.
 */

/* ---- the files of a dataset as pure functions of their index ---- */

/*
 * Nothing is kept per file or sample: name, size and place of every sample are computed, so a
 * billion samples cost what ten do. Sizes depend on DATASET_SEED only, never on `randseed`: runs
 * with different seeds read the same files in another order (MLPerf Storage rules 6.3: generator
 * seed 10).
 */
#define DATASET_SEED 10

/* What is read together: consecutive samples of one file. */
struct extent {
	uint64_t id; /* 0 .. dataset_extents() - 1 */
	uint64_t file;
	uint64_t first_sample; /* within the file */
	uint32_t samples;
};

struct format;
struct found;
struct labels;
struct recorded;
struct scan;

/* Of some formats: as in struct job. */
struct format_options {
	uint64_t label_size_bytes;
	uint64_t row_group_size;
	/* owned; NULL = none given */
	char *columns, *read_columns, *scan_key, *hdf5_dataset;
	/* Of a scan of npy files, else NULL: each has a twin (scan.h), part 1, and a sample is
	 * of both. Label files of other kinds are in dataset.labels. */
	char *scan_pair;
	int access, decompress;
};

/* What was looked for in a dataset, once for all who ask. */
struct dataset_known {
	_Atomic uint64_t largest; /* its index and 1; 0 = nobody has asked */
};

/*
 * A format has one file for its samples, or several (an index beside it):
 * its parts. Files are numbered part by part, 0 .. parts x files - 1, and only those of part 0 hold
 * samples.
 */
struct dataset {
	const struct format *format;
	char *directory;      /* owned */
	uint64_t files;       /* that this job reads; of each part */
	uint64_t files_named; /* the N in the names; the manifest's */
	/* Names and sizes repeat after so many files; 0 = they do not. Of a dataset that is only
	 * read. */
	uint64_t distinct_files;
	uint64_t samples_per_file;
	/* Of files that have different numbers of them: of all these files, and samples_per_file is
	 * the mean, rounded up. 0 = all have as many. */
	uint64_t uneven_samples;
	uint64_t subfolders;
	struct dist sample_size; /* held */
	struct format_options options;
	unsigned parts;          /* 1 or more */
	uint64_t extent_samples; /* divides samples_per_file */
	/* Of a scan: extents have different numbers of samples, which the format knows;
	 * extent_samples is their mean, rounded down. */
	bool extents_differ;
	void *common;           /* the format's; see format->init */
	const char *split;      /* the folder: "train" or "valid" */
	uint64_t first_size;    /* of its file 0 among all sizes drawn */
	uint64_t first_content; /* of its file 0 among all contents */
	uint64_t eval_files;    /* beside it, as in the manifest; 0 = none */
	/* Where so many batches of so many ranks take more files than scale leaves, which is
	 * `part`; 0 = they do not. `whole` is how many that would be where others, which are there,
	 * are read; else 0. */
	struct {
		uint64_t part, batch, ranks, whole;
	} scaled;
	struct dataset_known *known; /* what was looked for; owned */
	/* Its files were there, and are somebody else's: of dataset=scan, or where DLIO had made
	 * them. */
	bool is_found;
	bool has_megatron; /* part 1 is an index of its own name */
	/* dataset=scan: names and sizes come from here; owned. The first `files` of it, and
	 * sample_size is the constant that is their mean. */
	struct scan *scan;
	/* Label files of a scan (scan.h), which are part 1; owned, NULL = the files have none. */
	struct labels *labels;
	/* access=recorded: the calls by which samples are read; held, else NULL. */
	struct recorded *recorded;
	/* What lies in these files, where it was looked at; owned, NULL = a file is a sample. */
	struct found *found;
};

/*
 * From a validated job: num_files by dataset_ratio (x memory_bytes / mean file size, rounded up) if
 * set, then scale: max(ceil(scale x N), 4 batches for every rank). 0, or -EINVAL with err (more
 * accelerators than samples, batch larger than a shard: each names the numbers and the way out).
 *
 * With dataset=scan the directory is listed, which takes its time, and the files are those that are
 * there (scan.h; -errno as there, too). What only made files can have is refused. The same holds
 * where a dataset would be made and DLIO has made one (dataset_internal.h).
 */
int dataset_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		 struct mlgen_err *err);
void dataset_fini(struct dataset *ds);

/*
 * A directory may hold a complete dataset that was scaled for fewer accelerators than this job has.
 * If it has two batches for each of them, which AU needs, its files are the dataset: who adds an
 * accelerator writes nothing anew. Anything else stays as dataset_init() left it. 0, or -EINVAL
 * with err as there.
 */
int dataset_take_there(struct dataset *ds, const struct job *job, struct mlgen_err *err);

/* For how many ranks so many files would be taken; 0 = for none, or scale has nothing to do with
 * it. */
uint64_t dataset_ranks_for(const struct dataset *ds, uint64_t files);

/*
 * The files that a job evaluates with, job->eval_files of them (a part of them with scale), in the
 * folder "valid": a dataset of its own with the train dataset's directory, format and options.
 * Sizes and contents go on where the train dataset's end (DLIO draws them in this order). With
 * eval_files=0 it is zeroed: no files, no format.
 */
int dataset_init_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct mlgen_err *err);

/* The same for so many files. */
int dataset_init_split(struct dataset *eval, const struct dataset *train, uint64_t files,
		       struct mlgen_err *err);

/* Its files are the first of so many, beside a train dataset whose files_named is known: a manifest
 * says both. */
void dataset_place_eval(struct dataset *eval, const struct dataset *train, uint64_t files_named);

/* Can it have more files, by num_files or dataset_ratio? NULL = what the job's options say of
 * it. */
bool dataset_makes_files(const struct dataset *ds, const struct job *job);

/* Of a dataset with format, sizes and options: what the format makes of them. Part of dataset_init.
 * 0, or -EINVAL with err. */
int dataset_init_format(struct dataset *ds, struct mlgen_err *err);

/* -EINVAL when so many files would be more bytes than offsets can count. */
int dataset_check_bytes(const struct dataset *ds, double files, struct mlgen_err *err);

/* Whether so many ranks get a batch each: 0, or -EINVAL with err. Part of dataset_init (but for
 * phase=prepare) and of sampler_init. */
int dataset_check_ranks(const struct dataset *ds, const struct job *job, uint64_t ranks,
			struct mlgen_err *err);

uint64_t dataset_all_files(const struct dataset *ds); /* of all parts */
/* dataset_all_files without the label files that are missing. */
uint64_t dataset_there(const struct dataset *ds);
/* The first so many parts have the bytes of samples; others only say where. */
unsigned dataset_sample_parts(const struct dataset *ds);

/* A path whose storage is that of its files: the directory, or the first of the places of a
 * scan. */
const char *dataset_place(const struct dataset *ds);

/* False: the number is that of a label that a file does not have. There is no such file, and
 * dataset_path is -ENOENT. */
bool dataset_has_file(const struct dataset *ds, uint64_t file);
/* How many files the samples of a file of part 0 are read from. */
unsigned dataset_parts_of(const struct dataset *ds, uint64_t file);

/* Within its part, the file that stands for this one: itself, but with distinct_files. */
uint64_t dataset_file_of(const struct dataset *ds, uint64_t file);

uint64_t dataset_samples(const struct dataset *ds);
uint64_t dataset_extents(const struct dataset *ds);
void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x);
/* Extents before this file, 0 .. all files. */
uint64_t dataset_first_extent(const struct dataset *ds, uint64_t file);
/* Payload of an extent that is asked for (of columns those that are read). */
uint64_t dataset_extent_bytes(const struct dataset *ds, const struct extent *x);
/* Samples of every file, where all have as many; else 0. */
uint64_t dataset_each(const struct dataset *ds);
/* The largest read of compressed bytes; 0 = nothing is compressed. */
uint64_t dataset_packed_most(const struct dataset *ds);
/* The most samples that a file has. */
uint64_t dataset_most(const struct dataset *ds);

/* "DIR[/FOLDER]/train", without a subfolder: where the files of a part are.
 * Its length, or -ENAMETOOLONG. */
int dataset_folder(const struct dataset *ds, unsigned part, char *out, size_t size);

/*
 * Full path of a file, "DIR[/FOLDER]/train[/SUB]/img_III_of_N.npz" as DLIO names them (III padded
 * to the digits of N, from 0; subfolder index % subfolders when subfolders > 1; FOLDER and suffix
 * as the format's part has them). Its length, or -ENAMETOOLONG; of a scan also -errno, where its
 * names cannot be read back.
 */
int dataset_path(const struct dataset *ds, uint64_t file, char *out, size_t size);

/*
 * The other way round, of a dataset that is made: which of its files has this path, as dataset_path
 * writes it? False: none of them.
 */
bool dataset_find(const struct dataset *ds, const char *path, uint64_t *file);
/* Is the path that of a folder with such files, or of one between those and the dataset's
 * directory? */
bool dataset_has_folder(const struct dataset *ds, const char *path);

/* Of one sample of a file (of part 0): payload that is asked for (of columns those that are read),
 * all of its payload; and the whole file. Bytes. */
uint64_t dataset_sample_bytes(const struct dataset *ds, uint64_t file);
uint64_t dataset_row_bytes(const struct dataset *ds, uint64_t file);
uint64_t dataset_file_bytes(const struct dataset *ds, uint64_t file);

/* The largest of up to a million of its files (of part 0; of pairs both), evenly spaced. They are
 * looked at when it is first asked for; any thread. */
uint64_t dataset_largest_file(const struct dataset *ds);

/* The same, or the first of them that has so many bytes: for those to whom larger ones are all
 * alike, and who need not draw a million sizes. */
uint64_t dataset_large_file(const struct dataset *ds, uint64_t enough_bytes);

/* Names of contents, no two alike in a directory: format_writer.seed_index. */
uint64_t dataset_content(const struct dataset *ds, uint64_t file);

/* Of all parts of a file whose samples are as large as the mean. */
double dataset_mean_file_bytes(const struct dataset *ds);

/* Up to here totals are summed up file by file. */
#define DATASET_EXACT_FILES UINT64_C(1000000)

struct dataset_totals {
	uint64_t bytes;        /* of all files on disk */
	uint64_t sample_bytes; /* payload that is asked for */
	uint64_t row_bytes;    /* all payload */
	double mean_file_bytes, stdev_file_bytes;
	double mean_sample_bytes; /* of what is drawn, and asked for */
	/* What a scan has read to look into the files; NaN = it has not. */
	double scan_read_bytes, scan_seconds;
	double scan_kept_files; /* of which an earlier scan knew it; NaN */
	double label_files;     /* of files that have one; NaN = no pairs */
	bool estimate;          /* above a million files: expectation */
};
void dataset_totals(const struct dataset *ds, struct dataset_totals *t);

/* ---- the byte layout of a file: what to write, where a sample lies ---- */

/* What one file holds. */
struct file_shape {
	uint64_t samples;
	uint64_t sides[2];  /* of one sample; {1, bytes} unless dlio: */
	bool two_sides;     /* dlio: shape (samples, d1, d2), else (samples, bytes) */
	unsigned part;      /* which of the format's files (dataset.h) */
	const void *common; /* the dataset's; format->init made it */
	/* Of a file that a scan has looked at (look.h), else NULL: its facts and words, which
	 * format->look has put down. Sides say nothing of it. */
	const uint64_t *facts, *words;
	uint64_t found_bytes; /* size of a file of a scan; 0 = it is made */
	bool has_labels;      /* part 1 is a label file, which is read whole ... */
	uint64_t label_bytes; /* ... and has this size; 0 = the file has none */
};

/*
 * Writes the content of one file a chunk at a time: fill the buffer, write it at `off`, ask for the
 * next. The last chunk may be the header again, with the checksum that was not known before.
 * Allocates nothing. Start with shape and seed_index set and the rest zero.
 */
struct format_writer {
	struct file_shape shape;
	uint64_t seed_index; /* of the content: the file's index */
	uint64_t pos;
	unsigned stage; /* the format's own */
	uint32_t crc[2];
};

struct look;
struct plan_kind;

/* Names of the files of one part: FOLDER/train/img_III_of_N.SUFFIX. */
struct format_part {
	const char *folder; /* NULL = the dataset's directory itself */
	const char *suffix;
	/* Of a scan: the name of the file of samples and this; NULL = such a part is of made files
	 * alone. */
	const char *beside;
};

#define FORMAT_PARTS 3

struct format {
	const char *name; /* also the suffix of its files */
	/* NULL = it is built in; else the library that configure missed. */
	const char *needs;
	/*
	 * Optional: what all files have in common, from ds->options and the sizes; in ds->common
	 * (NULL is fine for fini), with ds->parts and ds->extent_samples where they are not 1. ds
	 * has all else but the number of files. Not asked of a scan: limits of what mlgen writes
	 * are not those of the files of others. 0, or -EINVAL with err: "OPTION: what is wrong,
	 * what would be right".
	 */
	int (*init)(struct dataset *ds, struct mlgen_err *err);
	void (*fini)(struct dataset *ds);
	/* suffix NULL for a part 0 means `name`. */
	struct format_part parts[FORMAT_PARTS];
	/* What every file of part 0 begins with; NULL = nothing is known. */
	const char *magic;
	size_t magic_bytes;
	uint64_t (*file_bytes)(const struct file_shape *shape);
	/* Where samples first .. first+n-1 lie. */
	void (*sample_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			     uint64_t *off, uint64_t *len);
	/* The next chunk into buf (>= 64 KiB): true, or false when done. */
	bool (*write_next)(struct format_writer *w, void *buf, size_t bytes, uint64_t *off,
			   size_t *len);
	/* access=framework, buffered and with direct=1 (data/file/file.h); NULL: no framework reads
	 * it so, and job_check refuses. */
	const struct plan_kind *framework[2];
	const char *reader; /* whose calls these are: "NumPy" */
	bool is_array;      /* what that returns is an array of NumPy */
	/* Optional, where samples are all of one size: bytes of one that are asked for, as
	 * declared; NULL = all. */
	uint64_t (*read_bytes)(const struct dataset *ds);
	/* Optional: what a framework's worker reads of every file before its first sample (an
	 * index). Its extents have no samples. */
	const struct plan_kind *at_start;
	/*
	 * dataset=scan: how many samples an open file has, and where (file.h); and where they lie
	 * by what was put down. Where there is no `look` a file is a sample, or a list says where
	 * samples lie (scan.h), and found_range takes its words. 0, or -errno with l->err, by
	 * look_fail where the file is not what its format says. No file, however damaged, makes it
	 * crash, hang, or take memory by what it says.
	 */
	int (*look)(struct look *l);
	void (*found_range)(const struct file_shape *shape, uint64_t first, uint64_t n,
			    uint64_t *off, uint64_t *len);
	/*
	 * Optional: the i-th of the files beside `path` that `look` reads, too. False: there are no
	 * more; "" = such a name would be too long.
	 */
	bool (*look_beside)(const char *path, unsigned i, char *out, size_t size);
	/* Of dataset.has_megatron: the path of the index of the file at `path`. False: there is
	 * none, or no room. */
	bool (*named_index)(const char *path, char *out, size_t size);
	/* Optional: what they have in common, once all were looked at: of ds with found and files.
	 * 0, or -EINVAL with err. */
	int (*found_init)(struct dataset *ds, struct mlgen_err *err);
	/* Where extents have different numbers of samples (dataset.h): the first sample of the n-th
	 * of a file, and how many it has. */
	void (*found_extent)(const struct file_shape *shape, uint64_t n, uint64_t *first,
			     uint64_t *samples);
	/* access=framework goes through a file from its beginning to its end: extents in order, the
	 * file stays open between them. */
	bool is_forward;
};

#define FORMAT_ROW(word, name, help) extern const struct format format_##name;
JOB_FORMATS(FORMAT_ROW)
#undef FORMAT_ROW

/* NULL for FORMAT_AUTO. */
const struct format *format_of(enum job_format f);
/* By name; NULL = none. */
const struct format *format_find(const char *name);

/* `file` counts through all parts: part x ds->files + file. */
void format_shape(const struct dataset *ds, uint64_t file, struct file_shape *shape);
/* Are its samples parts of the file, that are read by themselves? A file with one is read whole,
 * but where a list says of what bytes it is. */
bool format_has_parts(const struct format *f, const struct file_shape *shape);
/* Payload of one sample, whole; of a file that is made. */
uint64_t format_sample_bytes(const struct file_shape *shape);
/* The size of a file, and where samples first .. first+n-1 lie in it, made or found. */
uint64_t format_file_bytes(const struct format *f, const struct file_shape *shape);
void format_sample_range(const struct format *f, const struct file_shape *shape, uint64_t first,
			 uint64_t n, uint64_t *off, uint64_t *len);

/* Payload of a file, from `offset` bytes into it: incompressible, and no two files have a block in
 * common. */
void format_content(void *to, size_t bytes, uint64_t seed_index, uint64_t offset);

/* What a scan reads of one file (header, index, directory), so that its samples can be found. */

struct format_options;

/* Numbers of a file that stay in memory; what they mean is the format's. */
#define LOOK_FACTS 6

/* The most that look_at gives at once. */
#define LOOK_BYTES 65536

/* So many places of a file that were read are remembered one by one. */
#define LOOK_RANGES 8

/*
 * One open file, of one thread. A format's `look` (file.h) reads what it needs by look_at, and
 * says how many samples there are, and where: by a few facts, and where those are not enough by
 * words, which go to a file without a name, so that memory does not grow with samples.
 *
 * The kernel is told not to read ahead, and what was read leaves the page cache again: nothing of
 * what is then measured was warmed.
 */
struct look {
	/* The file. */
	const char *path; /* for messages */
	int fd;
	uint64_t file_bytes;
	const struct format_options *options; /* the job's */
	struct mlgen_err *err;

	/* What is found; zero before. */
	uint64_t samples;
	uint64_t sample_bytes; /* payload of all of them */
	uint64_t facts[LOOK_FACTS];
	uint64_t word_count;
	uint64_t packed_most; /* of reads of compressed bytes, the largest */
	uint64_t words_at;    /* in their file: where its first word is */
	/* Of its index (file.h), where that is not as the file is: what is wrong with it. The
	 * file itself is looked at then. */
	struct mlgen_err note;

	/* look.c's own. */
	struct namefile *words;
	uint8_t *window; /* LOOK_BYTES */
	uint64_t window_off, read_bytes;
	size_t window_bytes;
	struct {
		uint64_t off, end;
	} ranges[LOOK_RANGES];
	unsigned range_count;
};

/* Its window and words are there for the files of one thread: 0, or -errno with err. look_fini
 * takes one that failed, and leaves the words. */
int look_init(struct look *l, struct namefile *words, struct mlgen_err *err);
void look_fini(struct look *l);

/* Opens a file of so many bytes, relative to a directory that is open; 0 or -errno with err. */
int look_open(struct look *l, int dir_fd, const char *name, const char *path, uint64_t file_bytes);
void look_close(struct look *l);

/*
 * So many bytes (at most LOOK_BYTES) at `off`, which are there until the next call; NULL with err
 * where the file ends before (-EINVAL, "cut off") or cannot be read (-errno): the code is in
 * err->code.
 */
const uint8_t *look_at(struct look *l, uint64_t off, size_t bytes);

/* The same of what does not fit, into the caller's memory: 0 or -errno. */
int look_copy(struct look *l, uint64_t off, void *to, uint64_t bytes);

/* One more word of this file: 0, or -errno with err. */
int look_word(struct look *l, uint64_t word);

/* What was found is forgotten, as after look_open. */
void look_again(struct look *l);

/* "PATH: at byte OFF: ...": what is wrong, and what would be right. -EINVAL. */
__attribute__((format(printf, 3, 4))) int look_fail(struct look *l, uint64_t off, const char *fmt,
						    ...);

/* Little-endian numbers in a file. */
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

/* ---- where the findings of a scan are kept, for the next one ---- */

/*
 * In a file of the user's (scan_cache=), which is replaced as a whole; or, for the probes of one
 * command, in a file without a name, which the job as that command has it holds. With neither
 * nothing is kept.
 */
struct kept_request {
	const char *path;        /* NULL = none of the user's */
	struct job_kept *memory; /* NULL = no probes */
	enum scan_part part;     /* which one is scanned */
	bool is_quiet;           /* what could be told was told before */
};

/* scan_cache=PATH as messages and scans have it: behind its links; owned by who asks. NULL =
 * NULL. */
char *kept_path(const char *path);

/* ---- what a scan found inside the files of a dataset ---- */

/*
 * Each file is looked at once (format->look, file.h), by several threads, since storage answers
 * many at a time. Here are 72 bytes a file; what is per sample lies in files without a name
 * (scan.h), mapped while the dataset is.
 */
struct found;

/*
 * Looks at all files of a scan, of a dataset that has directory, format and options. Those without
 * a sample leave the scan and are counted, and so do, but with SCAN_REFUSE, those that are damaged.
 * 0, or -errno with err: that of the first such file in order where it is refused or nothing is
 * left, -EINVAL where no file has a sample, -EINTR.
 *
 * What an earlier scan has found of a file that has not changed since is taken from where that is
 * kept, and what this one finds is kept there (file.h); keeps NULL: nothing is.
 */
int found_new(struct found **out, struct scan *scan, const struct dataset *ds,
	      enum job_scan_errors errors, const struct kept_request *keeps, struct mlgen_err *err);
/* The same of samples that a list gives (scan.h): no file is looked into. */
int found_new_listed(struct found **out, struct scan *scan, struct mlgen_err *err);
void found_free(struct found *f); /* NULL is fine */

/* What one process of a job has found, for the others (hosts/hosts.h): as it was before
 * format->found_init. `beside` as of namefile_open. 0 or -errno with err. */
struct relay;
int found_give(const struct found *f, struct relay *to, struct mlgen_err *err);
int found_take(struct found **out, const char *beside, struct relay *from, struct mlgen_err *err);

/* What it took: bytes read of the files, and seconds. */
uint64_t found_read_bytes(const struct found *f);
double found_seconds(const struct found *f);
/* Files that were not looked into, because what is in them was kept. */
uint64_t found_kept_files(const struct found *f);

/* The largest read of compressed bytes that a plan has; 0 = nothing is. */
uint64_t found_packed_most(const struct found *f);

/* Samples of the files before this one, 0 .. all files; and their payload. */
uint64_t found_first_sample(const struct found *f, uint64_t file);
uint64_t found_sample_bytes(const struct found *f, uint64_t file);
/* The file that has a sample. */
uint64_t found_file_of(const struct found *f, uint64_t sample);

/*
 * Where extents have different numbers of samples, format->found_init says which fact is how many
 * of them a file has; it becomes how many there are before it. Then, as above: before a file, and
 * the file that has one.
 */
void found_count_extents(struct found *f, unsigned fact);
uint64_t found_first_extent(const struct found *f, uint64_t file);
uint64_t found_file_of_extent(const struct found *f, uint64_t extent);

/* Samples of every file, where all have as many; else 0. */
uint64_t found_each(const struct found *f);
/* The most samples that a file has. */
uint64_t found_most(const struct found *f);

/* Its samples, facts and words; the rest of *shape is as it was. */
void found_shape(const struct found *f, uint64_t file, struct file_shape *shape);

/* ---- a text that lies beside a file and says where its samples are ---- */

struct look;

/*
 * The first that there is of those that `beside` names (format->look_beside), and its path. NULL:
 * there is none that can be read; what is no file is none.
 */
FILE *look_index_open(const struct look *l,
		      bool (*beside)(const char *path, unsigned i, char *out, size_t size),
		      char path[PATH_MAX]);

/* As far as it was read it counts as read, and it leaves the page cache. */
void look_index_close(struct look *l, FILE *f);

/* l->note: "PATH: ...", what is wrong with the index. */
__attribute__((format(printf, 3, 4))) void look_index_note(struct look *l, const char *path,
							   const char *fmt, ...);

/* ---- which calls of read(2) become of what a Python program asks of a file that is open ---- */

/* io.open() gives a file a buffer of st_blksize bytes. */
#define PYFILE_BLOCK 4096u

/* The kernel transfers no more in one call. */
#define PYFILE_CALL_MAX UINT64_C(2147479552)

/*
 * CPython's io.BufferedReader over a file of known size (3.11; the rules are those of its
 * _io/bufferedio.c): an iterator without memory behind it.
 *
 * A read takes what is left in the buffer; then, in one call, the whole blocks of the rest; then it
 * fills the buffer for what remains. A seek to a place that the buffer holds, as long as it is not
 * used up, costs nothing; any other empties it.
 *
 * Begin one of the calls, then take its reads by pyfile_next() until that says that there are no
 * more: only then may the next call begin.
 */
struct pyfile {
	uint64_t file_bytes;
	uint64_t raw;        /* where the descriptor stands */
	uint64_t want;       /* bytes that the call under way still lacks */
	unsigned have, used; /* bytes in the buffer, and of these given away */
	bool to_end;         /* the call under way is pyfile_read_all() */
};

void pyfile_open(struct pyfile *f, uint64_t file_bytes);
/* seek(off), and seek(off, SEEK_CUR) likewise. */
void pyfile_seek(struct pyfile *f, uint64_t off);
/* seek(0 or less, SEEK_END), to this place: the buffer is emptied. */
void pyfile_seek_end(struct pyfile *f, uint64_t off);
/* read(bytes). */
void pyfile_read(struct pyfile *f, uint64_t bytes);
/* read(): all that is left, after an fstat(2) that says how much that is. */
void pyfile_read_all(struct pyfile *f);

/* The next read(2) of the call under way: true, or false when it has got what it asked for, or the
 * file's end. */
bool pyfile_next(struct pyfile *f, uint64_t *off, uint64_t *bytes);

/* Where the program is: behind what it has been given. */
uint64_t pyfile_tell(const struct pyfile *f);

/* ---- the operations by which an extent is read, one after the other ---- */

struct plan_config {
	const struct dataset *dataset;
	enum job_access access;
	uint64_t bs_bytes;
	bool direct;
	uint64_t align_bytes; /* of direct=1; 0 = none is needed */
};

/* What a read gets, as far as it is compressed: a part of a stream that goes through the file; one
 * stream of deflate; the pages of a Parquet chunk, by its codec: of zstd, or of gzip and all
 * others. */
enum plan_packed { PLAN_RAW, PLAN_STREAM, PLAN_DEFLATE, PLAN_PAGES, PLAN_ZSTD_PAGES };

struct plan_op {
	enum mlgen_op op;
	enum plan_packed packed;
	bool after;    /* only when all earlier ones are complete */
	unsigned part; /* OPEN, STAT without one: of which of the sample's files */
	/* READ: what is asked for, and what of it the file has; less where a request reaches past
	 * the end. */
	uint64_t off, len_bytes, got_bytes;
};

struct plan_counts;
struct recorded_template;

/* Of plan_recorded. */
struct plan_recorded {
	const struct recorded_template *of;
	uint64_t done;              /* reads of the run that plan.step is at */
	uint64_t here;              /* behind the last one */
	bool goes_on;               /* a rest takes more than one call */
	bool is_counted;            /* runs are left out, but for their ends ... */
	struct plan_counts *counts; /* ... and go here; may be NULL */
};

#define PLAN_OWN_BYTES 192

/* An iterator; a plain struct, no memory behind it. */
struct plan {
	const struct plan_config *config;
	const struct plan_kind *kind;
	uint64_t off, end; /* still to read */
	uint64_t file_bytes;
	unsigned has; /* the plan's own */
	unsigned step;
	/* What Python's own reading of files makes of its program. */
	struct pyfile python;
	uint64_t jump; /* plan_hdf5: the word of the next chunk; plan_parquet:
			* the row group */
	/* A struct of its kind, of what that knows of the file; zeroed by plan_init(). */
	_Alignas(uint64_t) unsigned char own[PLAN_OWN_BYTES];
	struct plan_recorded recorded;
	/* The label file, after all that kind->next gives: its step and place. */
	unsigned label_step;
	uint64_t label_off;
	struct extent extent;
	struct file_shape shape;
};

/* What one extent takes: operations by kind, reads by size, and the bytes that are transferred. */
struct plan_counts {
	uint64_t ops[MLGEN_OPS];
	struct sizes reads;
	uint64_t io_bytes;
};

/*
 * One way of reading a file. plan_init has set config, kind, extent, shape and file_bytes (of part
 * 0), and the rest to zero. An OPEN of another part makes file_bytes that part's. A label file
 * (dataset.labels) is read after the last operation of the kind, which knows nothing of it.
 */
struct plan_kind {
	void (*init)(struct plan *p, const struct file_shape *shape, const struct extent *x);
	/* The next operation into a zeroed op, without got_bytes. */
	bool (*next)(struct plan *p, struct plan_op *op);
	/* Optional: reads that are all alike are counted in one go and left out of what follows; a
	 * large file has millions. */
	void (*skip)(struct plan *p, struct plan_counts *c);
	/* No read is larger, whatever the extent. */
	uint64_t (*largest_read)(const struct plan_config *config);
};

/* access=plain: open; the whole file (one sample per file) or the samples' bytes in bs requests,
 * rounded to align_bytes; close; of a pair of files both, one after the other. */
extern const struct plan_kind plan_plain;
/* DLIO's way with direct=1: open; stat, for the size of its buffer; the whole file in one aligned
 * read; close. */
extern const struct plan_kind plan_whole_file;
/* numpy.load(file)['x'] of an npz file. */
extern const struct plan_kind plan_numpy;
/* The others of access=framework. plan_npy_direct is plan_whole_file's way with an array;
 * plan_forward is a buffered stream from a file's beginning to its end; plan_indexes reads index
 * files at the start, plan_map maps the samples' file as well, and then a sample is one read, or
 * none. */
extern const struct plan_kind plan_npy, plan_npy_direct, plan_pillow, plan_png, plan_pandas,
	plan_forward, plan_indexes, plan_map, plan_indexed, plan_mapped, plan_hdf5, plan_parquet;

/* access=recorded: the templates of dataset.recorded. */
extern const struct plan_kind plan_recorded;

/* access=framework is what the dataset's format says (file.h); an extent without samples is what
 * is read of a file at the start (format->at_start). */
void plan_init(struct plan *p, const struct plan_config *config, const struct extent *x);

/* The next operation, or false when there is none. */
bool plan_next(struct plan *p, struct plan_op *op);

/* Is what is still to come an open, one read and the close, and nothing else? Then they can be
 * handed over as a chain. The read, if so, in *read. */
bool plan_is_chain(const struct plan *p, struct plan_op *read);

/* The same summed up, without going through all of them. */
void plan_count(const struct plan_config *config, const struct extent *x, struct plan_counts *c);

/* The most that one READ asks for; UINT64_MAX where a file's size decides. */
uint64_t plan_largest_read(const struct plan_config *config);

/*
 * The buffer of a worker with `depth` requests under way: each has a part of its own, as large as
 * the largest request for the largest file, but at most
 * 1 MiB (larger requests repeat over it), together at most 16 MiB; deeper queues share. Looks at
 * the sizes of up to a million files.
 */
size_t plan_buffer_bytes(const struct plan_config *config, unsigned depth);
