/* SPDX-License-Identifier: Apache-2.0 */
/* jobset.h - from argv and job files to a list of validated jobs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "job/diag.h"
#include "job/job.h"
#include "job/question.h"
#include "job/settings.h"
#include "job/standin.h"

/* What the loader has to know of the program around it. */
struct jobset_env {
	const struct mlgen_engine *const *engines; /* NULL-ended */
	const struct question *questions;          /* NULL = none */
	const char *binary_dir;    /* jobs/ beside it is searched */
	const char *installed_dir; /* PREFIX/share/mlgen/jobs */
	/* Why a known engine was not built in, NULL = not known; optional. */
	const char *(*why_absent)(const char *engine);
	/*
	 * The engine of a shared object, which stays loaded; NULL with err.
	 * Asked for what jobset_is_path says, and only for engines on which
	 * jobs are going to run: to load it runs code of its own. Optional.
	 */
	const struct mlgen_engine *(*load)(const char *path,
					   struct mlgen_err *err);
	/* Could it be one? 0 or -errno with err; nothing of it is run.
	 * Optional. */
	int (*look)(const char *path, struct mlgen_err *err);
};

/* Is ioengine= the path of a shared object? "./my.so", "external:my.so". */
bool jobset_is_path(const char *ioengine);

struct jobset {
	struct settings settings;
	struct job **jobs;
	size_t count;
	char **paths; /* the job files read, for messages; owned */
	size_t path_count;
	/* In the place of shared objects that were not loaded: with
	 * parse-only, showjob, dry-run and datasize, which run nothing. */
	struct standins standins;
	const struct question *question; /* what is asked; NULL: to run */
	/* Of a question about files: the arguments, which are no jobs, and
	 * there are none; owned. */
	char **files;
	size_t file_count;
};

/*
 * Read the command line and every job file it names; faults of all of them go
 * to `d`. 0 with the jobs validated (or a general request such as --help in
 * settings and no jobs), -EINVAL when `d` has errors; fini in any case, after
 * `d` was printed: its places point to the paths here. Precedence: defaults <
 * [global] above < section < [option=value] < command line.
 */
int jobset_load(struct jobset *set, int argc, char *const argv[],
		const struct jobset_env *env, struct diag *d);
void jobset_fini(struct jobset *set);

/*
 * The path of a job file: NAME.job as the command line means it: here, in
 * $MLGEN_JOBS, in jobs/ beside the binary, among the installed. NULL = none.
 * An argument with a slash is a path. The result is the caller's (mem_free).
 */
char *jobset_find_file(const char *name, const struct jobset_env *env);

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
