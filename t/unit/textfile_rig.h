/* SPDX-License-Identifier: Apache-2.0 */
/* textfile_rig.h - a text file in a folder of its own, for the tests of what reads it. */
#pragma once

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temp.h"

static char dir[TEMP_BYTES], path[TEMP_BELOW];

static inline void make_place(const char *name)
{
	temp_folder(dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
}

static inline void remove_place(void)
{
	temp_remove(dir);
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
