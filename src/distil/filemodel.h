/* SPDX-License-Identifier: Apache-2.0 */
/* filemodel.h - a data set of one file that has so many bytes: what plans are made of to be held
 * against a trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "data/file/file.h"
#include "job/job.h"

/* What of a data set does not follow from the bytes of a file. */
struct filemodel {
	enum job_format format;
	uint64_t samples_per_file;
	uint64_t row_group_size;            /* of Parquet */
	const char *columns, *read_columns; /* NULL = one column */
	uint64_t row_bytes;                 /* of columns; else it follows from the file's */
};

/*
 * Its sample_size is a constant, so that the file has as many bytes as are asked for, or the fewest
 * above: where headers and padding make several sizes of a sample the same file, the one in the
 * middle. False: no file of the format has so many samples and bytes. To be given back by
 * dataset_fini in either case.
 */
bool filemodel_init(struct dataset *ds, const struct filemodel *m, uint64_t file_bytes);

/* What sample_size a file of another size has, of such a data set; but Parquet, which has rows of
 * one size in all files. */
uint64_t filemodel_sample_bytes(const struct dataset *ds, uint64_t file_bytes);
