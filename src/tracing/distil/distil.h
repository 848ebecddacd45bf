/* SPDX-License-Identifier: Apache-2.0 */
/* distil.h - a trace of a program becomes a job that asks storage for the same. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>

/*
 * A distilled job asks storage for what a traced program asked: a section for each training, one
 * for checkpoints that no training saves, and plain jobs for all other reads and writes. Each
 * option has a comment with the reason, and with how sure it is. Lists that are too long for an
 * option go to side files next to the job: NAME.sizes, NAME.calls and others.
 */

/* Strings stay the caller's. */
struct distil_ask {
	const char *const *paths; /* the files of one trace */
	size_t path_count;
	/* Folder and name of side files; "" = the current folder. Names in the job have no
	 * folder. */
	const char *side_folder, *side_name;
};

/*
 * Read the trace, and write the job to `to`; nothing is written on an error. 0, or -errno with err:
 * as trace_reader_open; -ENODATA if the trace has nothing that a job could ask for; as open if a
 * side file exists with other content, or cannot be written.
 */
int distil_trace(FILE *to, const struct distil_ask *a, struct mlgen_err *err);
