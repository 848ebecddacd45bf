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
 * Nothing is kept per file or sample: name, size and place of every sample
 * are computed, so a billion samples cost what ten do. Sizes depend on
 * DATASET_SEED only, never on `randseed`: runs with different seeds read the
 * same files in another order (MLPerf Storage rules 6.3: generator seed 10).
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

struct dataset {
	const struct format *format;
	char *directory;      /* owned */
	uint64_t files;       /* that this job reads */
	uint64_t files_named; /* the N in the names; the manifest's */
	uint64_t samples_per_file;
	uint64_t subfolders;
	struct dist sample_size;
};

/*
 * From a validated job: num_files by dataset_ratio (x memory_bytes / mean file
 * size, rounded up) if set, then scale: max(ceil(scale x N), 4 batches for
 * every rank). 0, or -EINVAL with err (more accelerators than samples, batch
 * larger than a shard: each names the numbers and the way out).
 */
int dataset_init(struct dataset *ds, const struct job *job,
		 uint64_t memory_bytes, struct mlgen_err *err);
void dataset_fini(struct dataset *ds);

/* -EINVAL when so many files would be more bytes than offsets can count. */
int dataset_check_bytes(const struct dataset *ds, double files,
			struct mlgen_err *err);

/* Whether so many ranks get a batch each: 0, or -EINVAL with err. Part of
 * dataset_init (but for phase=prepare) and of sampler_init. */
int dataset_check_ranks(const struct dataset *ds, const struct job *job,
			uint64_t ranks, struct mlgen_err *err);

uint64_t dataset_samples(const struct dataset *ds);
uint64_t dataset_extents(const struct dataset *ds);
void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x);

/*
 * Full path of a file, "DIR/train[/SUB]/img_III_of_N.npz" as DLIO names them
 * (III padded to the digits of N, from 0; subfolder index % subfolders when
 * subfolders > 1). Its length, or -ENAMETOOLONG.
 */
int dataset_path(const struct dataset *ds, uint64_t file, char *out,
		 size_t size);

/* Payload of one sample of a file, and the whole file, in bytes. */
uint64_t dataset_sample_bytes(const struct dataset *ds, uint64_t file);
uint64_t dataset_file_bytes(const struct dataset *ds, uint64_t file);

struct dataset_totals {
	uint64_t bytes;        /* of all files on disk */
	uint64_t sample_bytes; /* payload */
	double mean_file_bytes, stdev_file_bytes;
	double mean_sample_bytes; /* of what is drawn */
	bool estimate;            /* above a million files: expectation */
};
void dataset_totals(const struct dataset *ds, struct dataset_totals *t);
