/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - the files of a dataset as pure functions of their index. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/dist.h"
#include "job/job.h"

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
	/* Of a scan of npy files, else NULL: each has a twin (namepair.h), part 1, and a sample is
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
	/* Label files of a scan (labels.h), which are part 1; owned, NULL = the files have none. */
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
 * where a dataset would be made and DLIO has made one (dataset_dlio.h).
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
