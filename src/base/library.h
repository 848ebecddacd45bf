/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - load a shared library on first use, so that runs without it start faster. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

/* A symbol of the library and the offset of the pointer to it in the caller's table. */
struct library_symbol {
	const char *name;
	size_t off;
};

/*
 * Load the library named soname and store the address of each of the `count` symbols in `table`,
 * whose members at the given offsets are pointers. The library stays loaded until the process ends.
 * Loading it twice is harmless. 0, or -ENOENT with err, whose text begins with `who`: the library
 * is not installed, or is not the version that mlgen was built with.
 */
int library_load(const char *who, const char *soname, const struct library_symbol *symbols,
		 size_t count, void *table, struct mlgen_err *err);
