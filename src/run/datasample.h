/* SPDX-License-Identifier: Apache-2.0 */
/* datasample.h - before files are read: are those there that a dataset says it has? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/crew.h"
#include "run/datafile.h"

/* So many files are asked for, evenly spread, unless all are. */
#define DATASAMPLE_FILES UINT64_C(1000)

/*
 * By name: is each a regular file that this user may read, as large as the dataset has it? Of a set
 * that is not complete only what lies there is looked at, for a file that is missing is going to be
 * made; of one that is not ours nothing is. Opens and reads no file. With `all` the crew asks for
 * every one; which one is named does not depend on who was first. 0, CREW_STOPPED, or -errno with
 * err, which names the way out.
 */
struct datasample {
	const struct datafiles *files;
	bool is_complete[2]; /* of files->sets */
	bool all;
	uint64_t first_files;           /* of the first set only these are read; 0 = all */
	bool forgiving;                 /* what a complete set lacks is for its readers to count */
	const struct crew_config *crew; /* but for its engine */
};
int datasample_check(const struct datasample *s, struct mlgen_err *err);
