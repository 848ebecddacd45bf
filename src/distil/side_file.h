/* SPDX-License-Identifier: Apache-2.0 */
/* side_file.h - files that go along with a distilled job: they are written whole, and over nobody
 * else's. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/dist.h"

/* Writes the content; errors are those of the stream. */
typedef void side_file_write(FILE *to, const void *arg);

/*
 * FOLDERNAME.SUFFIX (a folder ends with a slash, or is empty), whose name is told (base/log.h) and
 * put into `name`, relative to the folder, of at least SIDE_FILE_BYTES. One that is there with the
 * very same content stays; with another one it is refused. 0, or -errno with err; nothing is left
 * then.
 */
enum { SIDE_FILE_BYTES = 256 };
int side_file(char name[SIDE_FILE_BYTES], const char *folder, const char *stem, const char *suffix,
	      side_file_write *write, const void *arg, struct mlgen_err *err);

/* So, a file of ascending values for a distribution (base/dist.h), the first line of which is
 * `comment`. */
struct side_values {
	const uint64_t *values;
	size_t count;
	enum dist_unit unit;
	const char *comment;
};
int side_file_values(char name[SIDE_FILE_BYTES], const char *folder, const char *stem,
		     const char *suffix, const struct side_values *v, struct mlgen_err *err);
