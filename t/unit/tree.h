/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a /proc and /sys of the test's own, for code that takes a root. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temp.h"

#define TREE_BYTES TEMP_BYTES

static inline void tree_make(char root[TREE_BYTES])
{
	temp_folder(root);
}

static inline void tree_remove(const char *root)
{
	temp_remove(root);
}

/* root + path, with its folders. */
static inline void tree_name(char *name, size_t size, const char *root, const char *path)
{
	int len = snprintf(name, size, "%s%s", root, path);

	ck_assert_int_lt(len, (int)size);
	temp_parents(name);
}

static inline void tree_file(const char *root, const char *path, const char *text)
{
	char name[600];
	FILE *f;

	tree_name(name, sizeof(name), root, path);
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

/* Whatever it points to need not be there. */
static inline void tree_link(const char *root, const char *path)
{
	char name[600];

	tree_name(name, sizeof(name), root, path);
	ck_assert_int_eq(symlink("nowhere", name), 0);
}

static inline void tree_folder(const char *root, const char *path)
{
	char name[600];

	tree_name(name, sizeof(name), root, path);
	ck_assert_int_eq(mkdir(name, 0755), 0);
}
