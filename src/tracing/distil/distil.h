/* SPDX-License-Identifier: Apache-2.0 */
/* distil.h - turn the trace of a program into a job that makes the same requests to storage. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>

/*
 * A distilled job makes the same demands on storage as a traced program. It has a section for each
 * training run, a section for checkpoints that belong to no training run, and plain jobs for all
 * other reads and writes. Each option has a comment with its reason and confidence. Lists that are
 * too long for an option are written to side files next to the job: NAME.sizes, NAME.calls and
 * more.
 */

/* The caller owns all strings. */
struct distil_ask {
	const char *const *paths; /* the files of one trace */
	size_t path_count;
	/* Folder and base name of side files; folder "" = the current one. The job refers to side
	 * files without the folder. */
	const char *side_folder, *side_name;
};

/*
 * Read the trace and print the job to `to`, or nothing on an error. 0, or -errno with err: as
 * trace_reader_open; -ENODATA if the trace has no reads or writes of data; as open if a side file
 * exists with other content, or cannot be written.
 */
int distil_trace(FILE *to, const struct distil_ask *a, struct mlgen_err *err);
