/* SPDX-License-Identifier: Apache-2.0 */
/* merge_files.h - the runs that become one report, and what came of them. */
#pragma once

#include <stdint.h>

#include "ask/ask.h"
#include "ask/result_read.h"
#include "report/metrics_merged.h"

/* A document, as the first look at it found it. */
struct merge_run {
	const char *path; /* borrowed */
	char *name, *hostname;
	uint64_t start_ms, end_ms; /* at least until then */
	uint64_t turn;             /* from 1 */
	uint64_t fingerprint;
};

/* The least and the most of the runs, and which they are; NaN = none has it. */
struct merge_spread {
	double least, most;
	const char *least_of, *most_of;
};

/* Of one job record. */
struct merge_job {
	struct merge_spread au_percent, bytes_per_sec;
};

struct merge {
	const struct ask *ask;
	struct merge_run *runs; /* in the order of their starts */
	size_t count;
	uint64_t hosts, turns;
	double overlap_percent; /* the least of the turns; NaN */
	struct result_doc result;
	struct merge_job *jobs; /* as result.run.jobs */
};

/* Documents of unlike jobs, dry runs, merged reports, the same run twice and
 * turns of unlike numbers of runs are refused: -EINVAL with err. Fills runs,
 * hosts, turns. */
int merge_look(struct merge *m, struct mlgen_err *err);

/* The report, its first line with the number of hosts behind it. */
void merge_print(FILE *to, const struct merge *m, bool quiet);
/* 0 or -EIO. */
int merge_print_json(FILE *to, const struct merge *m);
