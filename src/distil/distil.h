/* SPDX-License-Identifier: Apache-2.0 */
/* distil.h - a trace of a program becomes a job that asks storage for the same. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "distil/jobtext.h"

/* Where it is told, and what it is called. Paths are the caller's. */
struct distil_ask {
	const char *const *paths; /* the files of one trace */
	size_t path_count;
	/* Files beside the job (NAME.sizes, NAME.calls and others) go to this folder, "" = the
	 * current one; their names have no folder in the job. */
	const char *side_folder, *side_name;
};

/*
 * Read the trace and find out: a new job, the caller's, jobtext_free. 0, or -errno with err: as
 * trace_reader_open; -ENODATA, there is nothing in it that a job could ask for; a side file that is
 * another's or cannot be written.
 */
int distil_trace(struct jobtext **out, const struct distil_ask *a, struct mlgen_err *err);
