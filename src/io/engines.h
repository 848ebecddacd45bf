/* SPDX-License-Identifier: Apache-2.0 */
/* engines.h - the engines that were built in, and why others were not. */
#pragma once

#include <stdio.h>

#include <mlgen/engine.h>

/* NULL-ended, in the order of --enghelp. */
extern const struct mlgen_engine *const engines_built[];

/* Known engines that configure left out; ends with a NULL name. */
struct engine_absent {
	const char *name;
	const char *why; /* "libaio not found: install libaio-dev ..." */
};
extern const struct engine_absent engines_absent[];

/* By name; NULL = not built. A path loads; NULL = engines_load says why. */
const struct mlgen_engine *engines_find(const char *name);

/*
 * The engine of a shared object, fio's "external:PATH" also; NULL with err.
 * It stays loaded until the program ends: jobs and their threads, which can hang in it, hold its
 * tables and functions.
 */
const struct mlgen_engine *engines_load(const char *path, struct mlgen_err *err);

/* Is there a file that could be one? Nothing of it is run. 0, or -errno with err. */
int engines_look(const char *path, struct mlgen_err *err);

/* Why a known engine was not built; NULL = no such engine is known. */
const char *engines_why_absent(const char *name);

/* --enghelp (name "") or --enghelp=ENGINE. 0, or -errno with err. */
int engines_help(FILE *to, const char *name, struct mlgen_err *err);
