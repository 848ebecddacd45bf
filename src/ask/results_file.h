/* SPDX-License-Identifier: Apache-2.0 */
/* results_file.h - a JSON document that mlgen wrote, checked before it is looked into. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include <mlgen/err.h>

struct results_file {
	const char *path; /* borrowed */
	char *shown;      /* the path, printable; owned */
	const char *name; /* the last part of that */
	json_t *root;     /* owned */
	/* Borrowed from it: */
	json_t *jobs; /* a list of objects, each with a jobname */
	const char *version, *hostname;
	uint64_t timestamp_ms;
};

/*
 * Read a file, "-" for standard input. 0, or -errno with err: it cannot be
 * read, is no JSON (line and column), not mlgen's, of another schema version.
 * All texts in it are made printable (printable.h), and all figures have the
 * meaning that they have today (results_older.h).
 */
int results_open(struct results_file *f, const char *path,
		 struct mlgen_err *err);
void results_close(struct results_file *f); /* takes a zeroed one */

/* One of its jobs, and the name of that. */
json_t *results_job(const struct results_file *f, size_t i);
const char *results_job_name(json_t *job);

/* The object of figures: ml, or io; NULL = it was a preparation, or did not
 * run. */
json_t *results_figures(json_t *job);

/* Text of the option in effect; NULL = unset, or unknown. */
const char *results_option(json_t *job, const char *option);

/* An object whose keys are the options that any of these jobs has, those of
 * engines too, in their order; to be released. */
json_t *results_options_of(json_t *const *jobs, size_t count);

/* Copies of a document have the same one, two runs do not. */
uint64_t results_fingerprint(const struct results_file *f);

/* A note on stderr where a job failed or was stopped: figures cover what ran
 * before. */
void results_note_incomplete(const struct results_file *f);

/* Did more fail in this job than its max_errors allows? Of a document of before
 * there was such an option: did anything? */
bool results_has_too_many_errors(json_t *job);

/* Was nothing run: a dry run's document? */
bool results_is_plan(json_t *job);
