/* SPDX-License-Identifier: Apache-2.0 */
/* require.h - does a result meet what --require states? */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "run/results.h"

/*
 * Any number that a run measures, by its key (figure.h): "samples_per_sec",
 * "storage.memory_percent", "epochs.0.au_percent", "read.clat_ns.p99.9", "au". Before a run, with r
 * NULL, only checks that some job could have the metrics and meet what is said of them: -EINVAL
 * with err. After it: 0 when every job that has such a figure meets all of them, else the number of
 * misses, each said in one line on stderr. A figure that does not apply (null) misses, and so does
 * one that no job has.
 */
int require_check(const char *text, const struct run_result *r, struct mlgen_err *err);

/* Such a figure of one job, NaN = unknown; false: it has none of this name. */
bool require_value(const struct job_result *r, const char *metric, double *value);

/* NaN meets nothing. */
bool require_holds(const struct requirement *q, double value);
