/* SPDX-License-Identifier: Apache-2.0 */
/* plan_report.h - what a dry run computes and prints. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "data/dataset.h"
#include "io/host.h"
#include "io/mount.h"
#include "job/jobset.h"
#include "stat/metric.h"
#include "stat/sizes.h"

/* One line of the checklist; FAIL is what would stop the run. */
enum plan_state { PLAN_OK, PLAN_WARNING, PLAN_FAIL };

struct plan_check {
	char *name; /* dataset data space storage memory direct files steps
		       hold */
	int state;
	char *text; /* of OK the rule it keeps, else what is wrong; may be NULL */
};

/* Operations of an average sample. */
struct plan_calls {
	double open, stat, read, write, fsync, close;
};

/* What only a plain job has. */
struct plan_io {
	char *directory; /* of the first file; NULL = none, or unknown */
	uint64_t files, file_bytes;
	uint64_t move_bytes;   /* of all workers and loops; UINT64_MAX:
				  until runtime, or unknown */
	uint64_t buffer_bytes; /* of all workers */
};

/* Unknown figures are NaN or UINT64_MAX. */
struct plan_report {
	const struct job *job;
	struct dataset dataset;
	struct dataset_totals totals;
	bool touches_files; /* false: ioengine=null */

	uint64_t present_files, present_bytes, write_files, write_bytes;
	bool present_estimate;
	struct mount mount; /* zeroed when it could not be read */
	uint64_t free_bytes, memory_bytes;
	double dataset_memory_ratio;

	uint64_t steps_per_epoch, left_over_samples;
	/* Of the evaluation; zeros without. */
	uint64_t eval_files, eval_bytes, eval_steps;
	uint64_t total_steps; /* of one rank; UINT64_MAX: until runtime */
	double read_bytes, least_seconds;

	/* Of one accelerator, then of all. */
	double samples_per_sec_one, bytes_per_sec_one;
	double demand_bytes_per_sec, demand_io_bytes_per_sec;

	struct plan_io io; /* zeroed but for phase=io */

	uint64_t reads_in_flight;
	uint64_t open_files, open_files_limit; /* need at once, allowed */
	uint64_t direct_align_bytes;           /* 0 = buffered */
	struct plan_calls calls_per_sample;
	struct sizes read_sizes; /* of the samples looked at */
	double io_bytes_per_sample;
	uint64_t program_bytes; /* estimate of mlgen's own memory */
	double framework_bytes; /* what the framework would hold */
	double held_bytes;      /* with hold_samples, beside program_bytes */

	struct metric_list checks;   /* struct plan_check */
	struct metric_list blockers; /* those that are PLAN_FAIL, borrowed */
};

/*
 * Compute; touches nothing: reads the manifest, or looks at the files of a
 * plain job, and asks for sizes, space and limits. 0, or -EINVAL with err for a job that cannot be planned.
 */
int plan_make(struct plan_report *p, const struct job *job,
	      const struct host *host, const struct settings *set,
	      struct mlgen_err *err);
void plan_fini(struct plan_report *p); /* takes a zeroed struct */

/* The check of this name, or NULL. */
const struct plan_check *plan_find_check(const struct plan_report *p,
					 const char *name);

/*
 * The page for one job: what it would write, read and need. The right-hand
 * column is a checklist: ok, WARNING, or FAIL for what would stop the run,
 * with the sentence below the line.
 */
void plan_text(FILE *to, const struct plan_report *p);
