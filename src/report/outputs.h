/* SPDX-License-Identifier: Apache-2.0 */
/* outputs.h - --output, --json, --html, --log, --trace, --metrics and logs of jobs are checked
 * together, then opened. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "report/csv.h"
#include "report/output.h"
#include "report/prom.h"
#include "report/tracefile.h"

struct outputs {
	struct output *text;     /* --output, or standard output */
	struct output *json;     /* --json; stays closed without it */
	struct output *html;     /* --html; the same */
	struct csv **log;        /* --log; NULL: it is only checked, none is kept */
	struct tracefile *trace; /* --trace; the same */
	struct prom **prom;      /* --metrics, --metrics-file; the same */
	const char *host;        /* for these */
	struct output *rows;     /* --log that is written as a whole; NULL = not */
	struct output *logs;     /* write_iolog, one of each job; NULL: as of log */
};

/*
 * Refused: what place.h refuses; what ours.h does, of all but --output and --metrics-file; of a
 * trace what tracefile.h does; two options, or one and standard output or error, with the same
 * regular file; a file that this program reads: job files and what they include, documents, the
 * engine, lists of tensors, the files of plain jobs and of datasets. Before all of that is checked
 * no file is made and none is changed. 0, or -errno with err and nothing open.
 */
int outputs_open(const struct outputs *o, const struct jobset *set, struct mlgen_err *err);
