/* SPDX-License-Identifier: Apache-2.0 */
/* codefolders.h - folders that programs are loaded from, and those these are in: who looks for a
 * module asks for each of them again and again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A zeroed one is empty. */
struct codefolders {
	char **at; /* owned */
	size_t count, room;
};

/* The folder of a file, where that is a module by its ending; other paths add nothing. A
 * __pycache__ is its folder's. */
void codefolders_add(struct codefolders *f, const char *path);

/* Is a path one of the folders, or one that such a folder is in? */
bool codefolders_has(const struct codefolders *f, const char *path);

void codefolders_fini(struct codefolders *f);
