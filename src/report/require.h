/* SPDX-License-Identifier: Apache-2.0 */
/* require.h - does a result meet what --require states? */
#pragma once

#include <mlgen/err.h>

#include "run/results.h"

/*
 * Any number of jobs[].ml of a training or of jobs[].io of a plain job in the
 * JSON by its key ("samples_per_sec", "storage.memory_percent"), then of the
 * job itself ("read.iops"); of a latency min, max, mean, stddev and any
 * percentile ("read.clat_ns.p99.9"); `au` is au_percent. Before a run, with r
 * NULL, only checks that some job could have the metrics: -EINVAL with err.
 * After it: 0 when every job that has such a figure meets all of them, else
 * the number of misses, each said in one line on stderr. A figure that does
 * not apply (null) misses, and so does one that no job has.
 */
int require_check(const char *text, const struct run_result *r,
		  struct mlgen_err *err);
