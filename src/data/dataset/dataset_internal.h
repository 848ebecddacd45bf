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
 * Does the job's directory hold train/ with files of the very names that DLIO gives those of the
 * format, and no manifest of mlgen's? Only the first name is looked at: dataset_dlio_keep sees all
 * of them. *ds has format and directory.
 */
bool dataset_dlio_is_there(const struct dataset *ds, const struct job *job);

/*
 * Of a scan of train/ or valid/ these files alone: an index beside them leaves. Their number, and
 * in *named how many their names say there are; 0 where any file has another name, which makes the
 * directory somebody else's.
 */
uint64_t dataset_dlio_keep(struct scan *scan, const struct format *format, uint64_t *named);

/* ---- A dataset of the files that are there (dataset=scan) ---- */

/* Are its files those that are there: with dataset=scan, and where DLIO has made what mlgen would?
 * *ds has format and directory. */
bool dataset_scan_takes(const struct dataset *ds, const struct job *job);

/* What of the job's options only made files can have: 0, or -EINVAL with err. */
int dataset_scan_check(const struct job *job, struct mlgen_err *err);

/*
 * Refuse what of the job only made files can have, list ds->directory into ds->scan and count:
 * ds->files is all of them. What is `given` is taken in the place of listing. 0 or -errno with err.
 * Part of dataset_init.
 */
int dataset_scan(struct dataset *ds, const struct job *job, struct dataset_given *given,
		 struct mlgen_err *err);

/* The same of files to evaluate with, those of valid/; the rest of *eval is that of an empty
 * one. */
int dataset_scan_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct dataset_given *given, struct mlgen_err *err);

/* The first ds->files of the scan are the dataset: their mean is its sample_size, and their
 * samples_per_file. */
void dataset_scan_mean(struct dataset *ds);

/* ---- The JSON document that is a dataset's manifest: read, replace ---- */

/* The parameters as they are written; zeroed before use. */
struct manifest {
	uint64_t num_files, samples_per_file, subfolders, eval_files;
	uint64_t label_size, row_group_size;
	char format[32];
	char sample_size[128];
	char *sizes;   /* what sample_size=file:PATH had; owned, or NULL */
	char *columns; /* owned; NULL = none given */
	bool complete;
};

void manifest_fini(struct manifest *m);

/* 0, -ENOENT without err, or another -errno with it. */
int manifest_load(const char *directory, struct manifest *m, struct mlgen_err *err);

/*
 * Files show what they are by how they begin and end, TFRecord by the checksum of its first length,
 * indexed binaries by the two indices beside them; else by their suffix, and what shows nothing is
 * raw. Up to 64 of them, spread over the scan, decide. Files of that format's suffixes are then
 * taken as they are, the others are looked at.
 *
 * Labels, checksums, indices and other kinds leave the scan and are told; -EINVAL with err where
 * less than 90 % of the rest are of one format. `directory` is the scan's base.
 */
int detect_format(const struct format **out, struct scan *scan, const char *directory,
		  struct mlgen_err *err);

/* The same of a format that is given: what by its name is a label, a checksum or an index leaves,
 * unless nothing else is there. Nothing is read. */
void detect_leave_out(struct scan *scan, const char *directory);
