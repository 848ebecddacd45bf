/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h - a /proc and /sys of the test's own, for code that takes a root. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_BYTES 256

static inline void tree_make(char root[TREE_BYTES])
{
	const char *tmp = getenv("TMPDIR");

	/* Short: a root is kept where it is used. */
	snprintf(root, TREE_BYTES, "%.40s/mlgen-tree-XXXXXX",
		 tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static inline void tree_remove(const char *root)
{
	char command[TREE_BYTES + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	ck_assert_int_eq(system(command), 0);
}

/* root + path, with its folders. */
static inline void tree_name(char *name, size_t size, const char *root,
			     const char *path)
{
	int len = snprintf(name, size, "%s%s", root, path);

	ck_assert_int_lt(len, (int)size);
	for (char *s = name + 1; *s; s++)
		if (*s == '/') {
			*s = '\0';
			mkdir(name, 0755);
			*s = '/';
		}
}

static inline void tree_file(const char *root, const char *path,
			     const char *text)
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
