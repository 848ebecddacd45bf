/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - documents that programs read: JSON, and the log of intervals. */
#pragma once

/*
 * A result or a plan is written as one JSON document, by the tables of report/metrics; the same
 * tables read it back. --json-each replaces a document in intervals; --log writes a CSV row per
 * interval and job. A store owns all that is read. All calls come from the main thread.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "base/buf.h"
#include "base/vec.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/output/output.h"
#include "report/plan/plan.h"
#include "run/result/result.h"
#include "run/run.h"
#include "run/watch/watch.h"

/* ---- a result or a plan as one JSON document ---- */

/*
 * The output is one valid document and nothing else: numbers are never inf or nan, text is UTF-8
 * (any other byte becomes '?'), counts are whole numbers.
 */

/*
 * Write the report of r's jobs or, if `plans` is not NULL, the plans of set's jobs: plans[i] is the
 * plan of set->jobs[i], and of `r` only host, time and interruption are used. With
 * output_format=fio-json the document begins with "fio version", which some readers of fio's output
 * require. 0, or -EIO if the document could not be written completely.
 */
int json_report(FILE *to, const struct run_result *r, const struct jobset *set,
		const struct plan_report *plans);

/* The result of a question; its table writes it as the last object of the report. `r` may have no
 * jobs. */
struct json_extra {
	const char *key;
	const struct mlgen_field *table;
	const void *base;
};
int json_report_with(FILE *to, const struct run_result *r, const struct jobset *set,
		     const struct json_extra *extra);

/* The value of one member of a struct, by its row; a new reference. */
json_t *json_value(const struct mlgen_field *row, const void *member);

/* Write one struct as one object, by its table. 0 or -EIO. */
int json_struct(FILE *to, const struct mlgen_field *table, const void *base,
		const struct f64_list *percentiles);

/* ---- memory of the structs read from a document, and the list of missing members ---- */

/*
 * A store owns all that is read from a document, in a few large blocks; a zeroed store is empty.
 * Texts may come from another host and are printed, even in columns. Each text is made printable
 * when it is stored (log.h), so that it can neither control the terminal nor start a new line.
 */
struct json_store {
	struct json_block *blocks;
	VEC(struct json_missing) missing; /* members that the document lacks */
};

void json_store_fini(struct json_store *s);
/* Zeroed memory, as from mem_zalloc. */
void *json_store_alloc(struct json_store *s, size_t bytes);
char *json_store_text(struct json_store *s, const char *text);
struct hist *json_store_hist(struct json_store *s); /* an empty histogram */
/* Functions that allocate memory for a merge. Their owner is a json_store, into which texts and
 * histograms are copied. */
extern const struct merge_memory json_store_memory;
/* True if the document lacked this member of a struct, or had null for it. */
bool json_store_is_missing(const struct json_store *s, const struct mlgen_field *row,
			   const void *base);

/* ---- structs from a JSON document written by this module ---- */

/* The structs into which values are read, and the name of the file for messages: "c1.json:
 * jobs[0].ml.steps: ...". */
struct json_reader {
	struct json_store *store;
	const char *file;
};

/*
 * Fill a struct from the object `o`, which was written by the same table. `path` is the position of
 * `o` in the document. If a key is null, or missing because an older program wrote the document,
 * the member is unknown (field/fields.h). Keys without a row are ignored. Latencies without values
 * are NULL. Other latencies have exact counts, buckets, minimum and maximum; their sums are as
 * exact as the mean in the document. 0, or -EINVAL with err if a value has another type than its
 * row.
 */
int json_read_struct(const struct json_reader *r, json_t *o, const struct mlgen_field *table,
		     void *base, const char *path, struct mlgen_err *err);

/* The standard deviation in the document, for a latency that was read and not merged since.
 * Computed from the sums, it would have fewer digits. */
double json_read_stddev(const struct hist *h);

/* ---- --json-each: one document per process, replaced during the run ---- */

/*
 * A run can be collected only once, when its threads are done or abandoned. Therefore a child is
 * forked, which has a copy of the run at that moment. The child writes DIRECTORY/rank-N.json and
 * exits; the cost to the run is the copy of the page tables. The child sends nothing and takes no
 * lock that the run's threads hold for more than a few lines. A child that takes more than some
 * seconds is killed, and the earlier document stays.
 */
struct json_each;

/*
 * The directory is created if it is missing. Documents of rank `processes` and above were left by
 * an earlier run with more processes. They are removed before the first document is written, since
 * readers add up all documents in the directory. If a file with such a name was not written by
 * mlgen, the directory is refused. 0, or -errno with err.
 */
int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err);
/* Start writing a document of the run in progress, in which all jobs are incomplete. Does nothing
 * while an earlier child still writes. NULL is fine. */
void json_each_begin(struct json_each *e, struct run *run);
/* Write the result of the run that is over. 0, or -errno with err; NULL is fine. */
int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err);
void json_each_free(struct json_each *e);

/* ---- --log: one row per interval and job ---- */

struct csv;

/*
 * Open the log at a place, and create the file if need be. The first row empties the file and
 * writes the header. If no row is written, an old file stays and a new file is removed. Rows are
 * written one by one, so that the file can be followed, and a run that is killed leaves its rows.
 * While the log is open, no other run can use the file for an output (-EBUSY). The place is closed
 * in any case. 0, or -errno with err.
 */
int csv_open(struct csv **out, struct place *p, struct mlgen_err *err);

/*
 * Write the interval between two snapshots of a job. The columns are the figures of live_fields;
 * `time` is the time of the host, and `seconds` counts from the start of the first row's interval.
 * If the job made no progress, its figures are 0. A cell that does not apply to the phase is empty.
 */
void csv_row(struct csv *c, const struct live_span *s);

/* 0 or -errno of the first failed write; NULL is fine. */
int csv_close(struct csv *c);
