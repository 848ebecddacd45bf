/* SPDX-License-Identifier: Apache-2.0 */
/* require.h - does a result meet what --require states? */
#pragma once

#include <mlgen/err.h>

#include "run/results.h"

/*
 * Any number of jobs[].ml in the JSON by its key ("samples_per_sec"), and `au`
 * for au_percent. Before a run, with r NULL, only checks that the metrics
 * exist: -EINVAL with err. After it: 0 when every training job meets all of
 * them, else the number of misses, each said in one line on stderr. A figure
 * that does not apply (null) misses.
 */
int require_check(const char *text, const struct run_result *r,
		  struct mlgen_err *err);
