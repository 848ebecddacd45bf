/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_scan.h - a dataset of the files that are there (dataset=scan). */
#pragma once

#include "data/dataset/dataset_given.h"
#include "data/file/file.h"

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
