/* SPDX-License-Identifier: Apache-2.0 */
/* text_block.h - one job's part of the text report, and how its lines are laid out. */
#pragma once

#include "base/buf.h"
#include "report/show.h"
#include "run/results.h"

#define TEXT_COLUMNS 90

/* What the report of one job is made from. */
struct text_block {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	struct rate_unit unit;
	struct show_shares time, loader;
};

/* A label, then text in as many lines as it takes, `indent` from the left. */
void text_put(struct buf *out, const char *label, size_t indent,
	      const char *text);
