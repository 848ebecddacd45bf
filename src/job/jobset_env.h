/* SPDX-License-Identifier: Apache-2.0 */
/* jobset_env.h - what the loader of jobs has to know of the program around it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "job/question.h"

struct jobset_env {
	const struct mlgen_engine *const *engines; /* NULL-ended */
	const struct question *questions;          /* NULL = none */
	const char *binary_dir;                    /* jobs/ beside it is searched */
	const char *installed_dir;                 /* PREFIX/share/mlgen/jobs */
	/* Why a known engine was not built in, NULL = not known; optional. */
	const char *(*why_absent)(const char *engine);
	/*
	 * The engine of a shared object, which stays loaded; NULL with err. Asked for what
	 * jobset_is_path says, and only for engines on which jobs are going to run: to load it runs
	 * code of its own. Optional.
	 */
	const struct mlgen_engine *(*load)(const char *path, struct mlgen_err *err);
	/* Could it be one? 0 or -errno with err; nothing of it is run. Optional. */
	int (*look)(const char *path, struct mlgen_err *err);
	/*
	 * The format of the files in a directory, where that is one of shards, which hold many
	 * samples one behind the other, and where there are at least so many; NULL = they are no
	 * shards, or cannot be looked at. Optional.
	 */
	const char *(*shards)(const char *directory, uint64_t least);
};

/* Is ioengine= the path of a shared object? "./my.so", "external:my.so". */
bool jobset_is_path(const char *ioengine);

/*
 * The path of a job file: NAME.job as the command line means it: here, in $MLGEN_JOBS, in jobs/
 * beside the binary, among the installed. NULL = none.
 * An argument with a slash is a path. The result is the caller's (mem_free).
 */
char *jobset_find_file(const char *name, const struct jobset_env *env);

/* The job file whose name comes closest, as an argument that would find it: where `name` has a
 * folder there, else where job files are looked for.
 * NULL = none is close. The result is the caller's (mem_free). */
char *jobset_nearest_file(const char *name, const struct jobset_env *env);
