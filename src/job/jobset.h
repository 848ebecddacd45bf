/* SPDX-License-Identifier: Apache-2.0 */
/* jobset.h - from argv and job files to a list of validated jobs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "job/diag.h"
#include "job/job.h"
#include "job/jobset_env.h"
#include "job/question.h"
#include "job/settings.h"
#include "job/standin.h"

struct jobset {
	struct settings settings;
	struct job **jobs;
	size_t count;
	char **paths; /* the job files read, for messages; owned */
	size_t path_count;
	/* In the place of shared objects that were not loaded: with parse-only, showjob, dry-run,
	 * datasize and miss-curve, which run nothing. */
	struct standins standins;
	const struct question *question; /* what is asked; NULL: to run */
	/* Of a question about files: the arguments, which are no jobs, and there are none, but
	 * where the last is one (takes_job); of one with takes_documents all arguments. Owned. */
	char **files;
	size_t file_count;
	/* Of --capture: behind "--", NULL-ended, argv's; NULL = none. */
	char *const *command;
};

/*
 * Read the command line and every job file it names; faults of all of them go to `d`. 0 with the
 * jobs validated (or a general request such as --help in settings and no jobs), -EINVAL when `d`
 * has errors; fini in any case, after `d` was printed: its places point to the paths here.
 * Precedence: defaults < [global] above < section < [option=value] < command line.
 */
int jobset_load(struct jobset *set, int argc, char *const argv[], const struct jobset_env *env,
		struct diag *d);
void jobset_fini(struct jobset *set);

/* They will be run several times, by what follows from this set: what scans find is kept from now
 * on. */
void jobset_keep(const struct jobset *set);

/* One of the parts of --require: "au>=90". */
#define REQUIREMENTS_MAX 16

struct requirement {
	char metric[64]; /* "au", "samples_per_sec", ... */
	char op[3];      /* >= <= > < == */
	double value;
};
/* Up to max of them, with commas or "and" between; their number or -EINVAL. */
int jobset_requirements(const char *text, struct requirement *out, unsigned max,
			struct mlgen_err *err);
