/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.h - structs from the JSON that json.h made of them. */
#pragma once

#include <jansson.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

#include "report/json_store.h"

/* The document, for messages: "c1.json: jobs[0].ml.steps: ...". */
struct json_reader {
	struct json_store *store;
	const char *file;
};

/*
 * Fill a struct by the table that it was written by. A key that is null or missing (an older
 * program wrote the document) is not known (field/unknown.h). Keys that no row has are passed over.
 * Latencies without values are NULL; all others are whole: count and buckets, least and largest are
 * those that were counted, sums are as exact as the mean in the document. `path` is where `o`
 * stands. 0, or -EINVAL with err where a value is of another type than its row.
 */
int json_read_struct(const struct json_reader *r, json_t *o, const struct mlgen_field *table,
		     void *base, const char *path, struct mlgen_err *err);

/* Of a latency that was read, and not merged since: the document's own, which has digits that the
 * sums do not give back. */
double json_read_stddev(const struct hist *h);
