/* SPDX-License-Identifier: Apache-2.0 */
/* found.h - what a scan found inside the files of a dataset: how many samples each has, and
 * where. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/dataset.h"
#include "data/file/format.h"
#include "data/file/kept.h"
#include "data/scan/scan.h"

/*
 * Each file is looked at once (format->look, look.h), by several threads, since storage answers
 * many at a time. Here are 72 bytes a file; what is per sample lies in files without a name
 * (namefile.h), mapped while the dataset is.
 */
struct found;

/*
 * Looks at all files of a scan, of a dataset that has directory, format and options. Those without
 * a sample leave the scan and are counted, and so do, but with SCAN_REFUSE, those that are damaged.
 * 0, or -errno with err: that of the first such file in order where it is refused or nothing is
 * left, -EINVAL where no file has a sample, -EINTR.
 *
 * What an earlier scan has found of a file that has not changed since is taken from where that is
 * kept, and what this one finds is kept there (kept.h); keeps NULL: nothing is.
 */
int found_new(struct found **out, struct scan *scan, const struct dataset *ds,
	      enum job_scan_errors errors, const struct kept_request *keeps, struct mlgen_err *err);
/* The same of samples that a list gives (listed.h): no file is looked into. */
int found_new_listed(struct found **out, struct scan *scan, struct mlgen_err *err);
void found_free(struct found *f); /* NULL is fine */

/* What one process of a job has found, for the others (hosts/relay.h): as it was before
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
