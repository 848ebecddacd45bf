/* SPDX-License-Identifier: Apache-2.0 */
/* document.h - documents that programs read: JSON, the log of intervals. */
#pragma once

/*
 * A result or a plan is written as one JSON document, by the tables of report/metrics; the same
 * tables read it back. --json-each writes one in intervals, --log a CSV row each interval and job.
 * What is read belongs to a store. All calls are the main thread's.
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
 * One valid document and nothing else: numbers are never inf or nan, text is UTF-8 (any other byte
 * becomes '?'), counts are whole numbers.
 */

/*
 * The report of r's jobs, or with `plans` (plans[i] of set->jobs[i]) the plan of set's jobs; of `r`
 * then only host, time and interruption are read. With output_format=fio-json it begins with "fio
 * version", which some readers of fio's output ask for. 0, or -EIO when it could not be written
 * whole.
 */
int json_report(FILE *to, const struct run_result *r, const struct jobset *set,
		const struct plan_report *plans);

/* The same with one more object at its end: what a question came to, by its table. `r` may have no
 * jobs. */
struct json_extra {
	const char *key;
	const struct mlgen_field *table;
	const void *base;
};
int json_report_with(FILE *to, const struct run_result *r, const struct jobset *set,
		     const struct json_extra *extra);

/* One member of a struct, by its row; a new reference. */
json_t *json_value(const struct mlgen_field *row, const void *member);

/* One struct as one object, by its table. 0 or -EIO. */
int json_struct(FILE *to, const struct mlgen_field *table, const void *base,
		const struct f64_list *percentiles);

/* ---- what a document's structs own, in few blocks, and what it has not ---- */

/* What is read belongs to a store, and is freed with it. A zeroed one is empty. Another host wrote
 * the texts: they are shown, in columns too, and none of them may be an order to a terminal or a
 * line of its own, so that each is made printable here (printable.h). */
struct json_store {
	struct json_block *blocks;
	VEC(struct json_lack) lacks; /* what the document has not */
};

void json_store_fini(struct json_store *s);
/* Zeroed, as mem_zalloc. */
void *json_store_alloc(struct json_store *s, size_t bytes);
char *json_store_text(struct json_store *s, const char *text);
struct hist *json_store_hist(struct json_store *s); /* empty */
/* For what is merged: the owner is a store, and copies what it takes. */
extern const struct merge_memory json_store_memory;
/* This row of a struct is missing in the document, or null. */
void json_store_note_lack(struct json_store *s, const struct mlgen_field *row, const void *base);
/* Was this row of a struct missing, or null, when it was read? */
bool json_store_lacks(const struct json_store *s, const struct mlgen_field *row, const void *base);

/* ---- structs from the JSON that document.h made of them ---- */

/* The document, for messages: "c1.json: jobs[0].ml.steps: ...". */
struct json_reader {
	struct json_store *store;
	const char *file;
};

/*
 * Fill a struct by the table that it was written by. A key that is null or missing (an older
 * program wrote the document) is not known (field/fields.h). Keys that no row has are passed over.
 * Latencies without values are NULL; all others are whole: count and buckets, least and largest are
 * those that were counted, sums are as exact as the mean in the document. `path` is where `o`
 * stands. 0, or -EINVAL with err where a value is of another type than its row.
 */
int json_read_struct(const struct json_reader *r, json_t *o, const struct mlgen_field *table,
		     void *base, const char *path, struct mlgen_err *err);

/* Of a latency that was read, and not merged since: the document's own, which has digits that the
 * sums do not give back. */
double json_read_stddev(const struct hist *h);

/* ---- the document of one process in a directory, replaced while its run goes on (--json-each)
 * ---- */

/*
 * What a run came to can be collected once, when its threads are done or given up. So a child is
 * forked, which has all of it as it is at that moment, writes DIRECTORY/rank-N.json and ends;
 * nobody of the run knows of it, and what it costs is the copy of the page tables. It sends
 * nothing, takes no lock that the run's threads hold over more than some lines, and is ended after
 * some seconds: then the document of before stays.
 */
struct json_each;

/*
 * The directory is made where it is missing. Documents of ranks that this run, of this many
 * processes, does not have are of a larger one before it: they are removed when the first one is
 * written, since whoever reads all of them would add them up. A file by such a name that mlgen has
 * not written is refused. 0, or -errno with err.
 */
int json_each_new(struct json_each **out, const struct jobset *set, unsigned rank,
		  unsigned processes, struct mlgen_err *err);
/* Of a run that goes on: its jobs are not complete in it. One at a time: while one is written
 * nothing is begun. NULL is fine. */
void json_each_begin(struct json_each *e, struct run *run);
/* The run is over: what it came to. 0, or -errno with err; NULL is fine. */
int json_each_end(struct json_each *e, const struct run_result *result, struct mlgen_err *err);
void json_each_free(struct json_each *e);

/* ---- --log: one row per interval and job ---- */

struct csv;

/*
 * Write there, and make the file if need be. It is emptied and gets its header with the first row;
 * without any, what was there stays and nothing is left. Rows are written as they come, so that the
 * file can be followed, and a run that is killed leaves what it had. Meanwhile no other run takes
 * the file for an output (-EBUSY). The place is closed, or taken over. 0, or -errno with err.
 */
int csv_open(struct csv **out, struct place *p, struct mlgen_err *err);

/*
 * The interval between two looks at a job, with the host: its columns are the figures of
 * live_fields, of which `time` is the host's and `seconds` counts from the first row's `before`.
 * Without progress a row is zeros; an empty cell does not apply to this phase.
 */
void csv_row(struct csv *c, const struct live_span *s);

/* 0 or -errno of the first failed write; NULL is fine. */
int csv_close(struct csv *c);
