/* SPDX-License-Identifier: Apache-2.0 */
/* question.h - what the program can be asked, by which option, about what. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "job/diag.h"
#include "job/settings.h"

struct ask; /* ask/ask.h: nothing here looks into it */

enum question_about {
	ABOUT_FILES,     /* the arguments are no jobs */
	ABOUT_DOCUMENTS, /* the same where one is a *.json; else it is of a run */
	ABOUT_JOBS,
	ABOUT_COMMAND, /* what stands behind -- is no argument of ours */
};

/*
 * One question. It is asked where `option`, of settings_fields, has another value than its default.
 * A table of them ends with an empty row; where one is wanted, NULL is an empty one.
 */
struct question {
	const char *option;
	enum question_about about;
	const char *files;    /* what to name where there are none */
	bool needs_two;       /* one file has nothing to be compared with */
	bool writes_json;     /* of files: --json has the answer, too */
	bool writes_html;     /* of files: --html has a page of it */
	bool shows_documents; /* ... and of the files, which are of runs */
	bool writes_log;      /* of files: so has --log, over time */
	bool takes_job;       /* of traces: the last file may be a job, which is run */
	bool takes_documents; /* of jobs: *.json among them are results of runs */
	bool takes_require;   /* --require is about its figures */
	bool prints_csv;      /* --output-format=csv is one of its own */
	bool has_report;      /* of runs: --title and --note have a place in it */
	bool is_implied;      /* by documents alone, *.json, where nothing is asked */
	bool is_live;         /* what it prints appears while it is answered */
	bool is_streamed;     /* the same, also to a file: it may be any length */
	/* Options that mean nothing without a question that has this list, NULL-ended; NULL =
	 * none. */
	const char *const *goes_with;
	int (*answer)(const struct ask *a); /* gives the exit status */
};

/* Does its name look like what a run wrote, and like no job? */
bool question_is_document(const char *file);

/* The first that is asked, those of files before those of jobs, or the one that is implied; NULL =
 * none. *of_files counts those of files that are asked. */
const struct question *question_asked(const struct question *table, const struct settings *s,
				      char *const *files, size_t file_count, unsigned *of_files);

/* Options that are there without their question are faults. */
void question_check_options(const struct question *table, const struct settings *s, struct diag *d);

/* So is another one beside `q`, where there are several about files. */
void question_check_one(const struct question *table, const struct question *q, unsigned of_files,
			struct diag *d);

/* So is --json beside `q`, which is of files, where nothing would be written to it. */
void question_check_json(const struct question *q, const struct settings *s, struct diag *d);

/* So is --require beside `q`, which is of files, where nothing would come of it. */
void question_check_require(const struct question *table, const struct question *q,
			    const struct settings *s, struct diag *d);

/* Is the file named as a trace, or does it begin as one? */
bool question_is_trace(const char *file);

/* So are fewer files than it takes. */
void question_check_files(const struct question *q, char *const *files, size_t file_count,
			  struct diag *d);
