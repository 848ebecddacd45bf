/* SPDX-License-Identifier: Apache-2.0 */
/* results_file.h - a JSON document that mlgen wrote, checked before it is looked into. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include <mlgen/err.h>

#include "ask/record.h"

struct results_file {
	const char *path; /* borrowed */
	char *shown;      /* the path, printable; owned */
	const char *name; /* the last part of that */
	json_t *root;     /* owned */
	/* Of it: a list of objects, each with a jobname; NULL: it is no run. */
	json_t *jobs;
	/* What its tables say, one for each of its jobs, or of a score; owned. */
	struct record *records;
	size_t count;
	struct json_store store;
};

/*
 * Read a file, "-" for standard input. 0, or -errno with err: it cannot be read, is no JSON (line
 * and column), not mlgen's, of another schema version, or a value in it is of another type than its
 * row. All figures have the meaning that they have today (results_older.h).
 */
int results_open(struct results_file *f, const char *path, struct mlgen_err *err);
/* Whatever mlgen writes: descriptions of traces and miss curves, too, which have no record. */
int results_open_any(struct results_file *f, const char *path, struct mlgen_err *err);
/* Runs, and a score is taken, too: one record, without a job. */
int results_open_scored(struct results_file *f, const char *path, struct mlgen_err *err);
/* The same of a document that is in memory, and is called `name` in messages. */
int results_open_text(struct results_file *f, const char *name, const char *text, size_t bytes,
		      struct mlgen_err *err);
void results_close(struct results_file *f); /* takes a zeroed one */

/* Copies of a document have the same one, two runs do not. */
uint64_t results_fingerprint(const struct results_file *f);

/* A note on stderr where a job failed or was stopped: figures cover what ran before. */
void results_note_incomplete(const struct results_file *f);
