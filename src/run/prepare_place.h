/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_place.h - is there room for the files of a dataset, and may they be written. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "run/filemaker.h"

/* What is to be written, and what is there: files to evaluate with, too. */
struct prepare_need {
	const struct dataset *dataset;
	bool readonly, allow_fill;
	uint64_t missing_files, missing_bytes;
	uint64_t present_files, present_bytes;
	uint64_t eval_bytes;  /* of files to evaluate with, all of them */
	uint64_t freed_bytes; /* of what is removed first */
};

/*
 * What is refused before the first file is written: rows, as those of rules.h, that a run asks when
 * it has looked at what is there, and a dry run, too. With nothing missing all of them hold.
 */
struct prepare_rule {
	const char *name; /* NULL = the end of them */
	int (*ask)(const struct prepare_need *n, struct mlgen_err *err);
};
extern const struct prepare_rule prepare_rules[];

/* With those above it. 0 or -errno with err. */
int prepare_make_directory(const char *directory, struct mlgen_err *err);
