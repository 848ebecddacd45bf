/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the figures of one job, of a run or of a document: the structs that the tables
 * describe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "field/field_path.h"
#include "report/json_read.h"
#include "report/metrics.h"
#include "report/metrics_find_max.h"
#include "report/metrics_merged.h"

struct scored; /* score/score.h */

/* Borrows all of it; NULL = it has none. */
struct record {
	const struct metrics_job *job; /* of a score there is none */
	/* What its page has; NULL = it has none of these. */
	const struct job_result *ml, *io;
	const struct cache_result *cache;
	const struct metrics_dataset *dataset;
	const struct prepare_result *prepare;
	const struct plan_report *plan;
	/* Of the whole document. */
	const struct metrics_top *top;
	const struct series_result *series;
	const struct trace_result *trace;
	const struct metrics_find_max *find_max;
	const struct metrics_merged *merged;
	const struct scored *score;
	const char *file; /* its name */
	/* Rows that it has not: of a run by its result, of a document by what was read of it. */
	const struct job_result *result;
	const struct json_store *store;
};

/* Where keys are looked for, in this order; first what a run measures. */
struct record_root {
	const char *name; /* in front of the key, and its object; NULL */
	const char *in;   /* the object of a job; NULL = the job itself */
	bool is_top;      /* of the document, not of the job */
	const struct mlgen_field *table;
	size_t off, bytes; /* of the pointer in struct record; of its struct */
};

#define RECORD_ROOTS 13
#define RECORD_ROOTS_MEASURED 4
extern const struct record_root record_roots[RECORD_ROOTS];

/* The key without the name in front of it; NULL = it is not of this root. */
const char *record_root_path(const struct record_root *root, const char *key);
const void *record_base(const struct record *r, const struct record_root *root);

/* What was measured in a job of a run, without its options. `m` belongs to the caller. */
void record_of_run(struct record *r, struct metrics_job *m, const struct run_result *run,
		   size_t job);

/* What a job did. */
enum record_kind {
	RECORD_NOTHING = 0, /* it only prepared, or did not run */
	RECORD_TRAIN = 1,
	RECORD_IO = 2,
	RECORD_CHECKPOINT = 4,
};
enum record_kind record_kind(const struct record *r);

/* Has it the row that a path has come to, of a struct `base`? */
bool record_has(const struct record *r, const struct field_path *path, const void *base);

/* Did more fail in it than its max_errors allows? Of a document of before there was such an option:
 * did anything? */
bool record_has_too_many_errors(const struct record *r);
/* Does it say so itself? */
bool record_counts_errors(const struct record *r);
/* Was it stopped before its end? */
bool record_is_cut(const struct record *r);

/* Text of the option in effect; NULL = unset, or unknown. */
const char *record_option(const struct record *r, const char *option);

/* The options that any of some records has, those of engines too, each once, in their order: the
 * next one, from a zeroed place on, or NULL. */
struct record_options {
	size_t record, option;
};
const char *record_next_option(struct record_options *at, const struct record *const *of,
			       size_t count);
