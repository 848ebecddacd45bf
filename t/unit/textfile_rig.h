/* SPDX-License-Identifier: Apache-2.0 */
/* textfile_rig.h - a text file in a folder of its own, for the tests of what reads it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/mlgen-text-XXXXXX";
static char path[64];

static inline void make_place(const char *name)
{
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/%s", dir, name);
}

/* Whatever a test has left in the file's place goes, too. */
static inline void remove_place(void)
{
	unlink(path);
	rmdir(path);
	rmdir(dir);
}

/* A text and its bytes, zero bytes in it among them. */
#define TEXT(s) s, sizeof(s) - 1

static inline void put(const char *text, size_t bytes)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
	ck_assert_int_eq(fclose(f), 0);
}
