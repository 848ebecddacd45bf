/* SPDX-License-Identifier: Apache-2.0 */
/* merge_files.h - the runs that become one report, and what came of them. */
#pragma once

#include <stdint.h>

#include "ask/ask.h"
#include "ask/result_read.h"
#include "report/detail.h"
#include "report/metrics_merged.h"

/* A document, as the first look at it found it. */
struct merge_run {
	const char *path; /* borrowed */
	char *name, *hostname;
	uint64_t start_ms, end_ms; /* at least until then */
	uint64_t turn;             /* from 1 */
	uint64_t fingerprint;
	uint64_t rank;                           /* of one job; UINT64_MAX = of a document */
	double clock_offset_ns, clock_unsure_ns; /* NaN = unknown */
	struct metrics_merged_job *jobs;         /* as the result's; owned */
};

/* The least and the most of the runs, and which they are; NaN = none has it. */
struct merge_spread {
	double least, most;
	const struct merge_run *least_of, *most_of;
};

/* Of one job record. */
struct merge_job {
	struct merge_spread au_percent, bytes_per_sec, host_barrier;
};

struct merge {
	const struct ask *ask;
	bool is_one_job;        /* of which each run is a process (merge_hosts.h) */
	struct merge_run *runs; /* in the order of their starts */
	size_t count;
	uint64_t hosts, turns;
	double overlap_percent;   /* the least of the turns; NaN */
	struct result_doc result; /* of documents */
	struct run_result *run;   /* that all went into */
	struct merge_job *jobs;   /* as its jobs */
};

/* Documents of unlike jobs, dry runs, merged reports, the same run twice and turns of unlike
 * numbers of runs are refused: -EINVAL with err. Fills runs, hosts, turns. */
int merge_look(struct merge *m, struct mlgen_err *err);

/* Of a run, before it goes into others: what its jobs came to, and whether that is the least or the
 * most. */
void merge_note(struct merge *m, struct merge_run *run, const struct run_result *result);
/* Fills *m with all that the report needs, from a document of merged runs whose result is `result`,
 * verdicts included. `of` may go then. */
void merge_of_document(struct merge *m, const struct metrics_merged *of, struct run_result *result);
/* When all are noted. */
void merge_mark_slowest(struct merge *m);
/* Of one job: the verdict names the host that the others wait for. */
void merge_tell_slowest(const struct merge *m);
/* The host of what was merged: the first, and how many others. */
void merge_name_hosts(struct merge *m);
void merge_fini(struct merge *m);

/* The report, its first line with the number of hosts behind it. */
void merge_print(FILE *to, const struct merge *m, enum detail detail);
/* The jobs of `set` are those of the result. 0 or -EIO. */
int merge_print_json(FILE *to, const struct merge *m, const struct jobset *set);
