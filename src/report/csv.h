/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h - --log: one row per interval and job. */
#pragma once

#include <mlgen/err.h>

#include "base/buf.h"
#include "report/place.h"
#include "run/watch/watch.h"

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
