/* SPDX-License-Identifier: Apache-2.0 */
/* engines.h - the engines that are built in, and the reasons why others are not. */
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

/* The engine with this name, or of the shared object if the name contains a '/'. NULL = not built,
 * or not loadable: call engines_load for the reason. */
const struct mlgen_engine *engines_find(const char *name);

/*
 * Load the engine of a shared object; fio's "external:PATH" is accepted. NULL with err.
 * The object stays loaded until the program ends: jobs and their threads, which can hang in the
 * engine, hold its tables and functions.
 */
const struct mlgen_engine *engines_load(const char *path, struct mlgen_err *err);

/* Check that a file exists that could be a shared object, without loading it. 0 or -errno with
 * err. */
int engines_check_path(const char *path, struct mlgen_err *err);

/* The reason why a known engine was not built; NULL = the engine is unknown. */
const char *engines_why_absent(const char *name);

/* --enghelp (name "") or --enghelp=ENGINE. 0, or -errno with err. */
int engines_help(FILE *to, const char *name, struct mlgen_err *err);
