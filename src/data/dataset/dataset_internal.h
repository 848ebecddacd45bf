/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_internal.h - what the parts of data/dataset share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "data/scan/scan.h"

/* ---- A dataset that DLIO or MLPerf Storage wrote, where mlgen would make its own ---- */

/*
 * True if the job's directory has no manifest of mlgen, but a folder train/ whose files have DLIO's
 * names for the format. Checks only the first name; dataset_dlio_keep checks all names. The caller
 * has set format and directory of *ds.
 */
bool dataset_dlio_exists(const struct dataset *ds, const struct job *job);

/*
 * Keep only DLIO's files in a scan of train/ or valid/, without the indexes next to them. Returns
 * their number, and sets *named to the N of their names (img_III_of_N). Returns 0 if any file has
 * another name: the directory then belongs to another program.
 */
uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named);

/* ---- A dataset of the files that exist (dataset=scan) ---- */

/* True if the dataset consists of existing files: with dataset=scan, or if DLIO has already made
 * the dataset that mlgen would make. The caller has set format and directory of *ds. */
bool dataset_uses_scan(const struct dataset *ds, const struct job *job);

/* Refuse job options that apply only to files made by mlgen. Returns 0, or -EINVAL with err. */
int dataset_scan_check(const struct job *job, struct mlgen_err *err);

/*
 * Check the job's options, scan ds->directory into ds->scan and set ds->files to the number of all
 * files. Results that were received (`given`) replace the scan. 0 or -errno with err. Part of
 * dataset_init.
 */
int dataset_scan(struct dataset *ds, const struct job *job, struct dataset_received *given,
		 struct mlgen_err *err);

/* Like dataset_scan, for the evaluation files in valid/. Before the call, *eval must be an empty
 * dataset. */
int dataset_scan_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct dataset_received *given, struct mlgen_err *err);

/* Set sample_size and samples_per_file to the means of the first ds->files files of the scan. */
void dataset_scan_mean(struct dataset *ds);

/* ---- The JSON document of a manifest ---- */

/* The parameters as the manifest stores them. */
struct manifest {
	uint64_t num_files, samples_per_file, subfolders, eval_files;
	uint64_t label_size, row_group_size;
	char format[32];
	char sample_size[128];
	char *sizes;   /* the content of sample_size=file:PATH; owned, or NULL */
	char *columns; /* owned; NULL = none given */
	bool complete;
};

void manifest_fini(struct manifest *m);

/* Load the manifest of a directory. Returns 0, -ENOENT without err, or another -errno with err. */
int manifest_load(const char *directory, struct manifest *m, struct mlgen_err *err);

/* ---- Detection of formats ---- */

/*
 * Find the format of a scan's files. The first and last bytes of a file show its format (for
 * TFRecord, the checksum of the first length), or its index files do (for indexed binaries).
 * Otherwise the suffix decides; a file without a known suffix is raw. Up to 64 files, spread over
 * the scan, vote. All files with a suffix of the winning format are then accepted by name. All
 * other files are looked into.
 *
 * Labels, checksums, indexes and files of other formats leave the scan and are reported. -EINVAL
 * with err if less than 90 % of the rest have one format. `directory` is the scan's base.
 */
int detect_format(const struct format **out, struct scan *scan, const char *directory,
		  struct mlgen_err *err);

/* Drop labels, checksums and indexes from the scan by their names, unless it has no other files.
 * Reads nothing. Used if the format is given. */
void detect_drop_formats(struct scan *scan, const char *directory);
