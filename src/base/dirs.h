/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.h - make a directory with all that lead to it; may one be made, and what is in its way? */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* 0, or -errno; then `path` is cut behind the one that could not be made. *made, where it is not
 * NULL, is set once there is one more. */
int dirs_make(char *path, bool *made);

/* Could this user make something in it? Where it is missing, in the first part of the path that is
 * there, as it would be made then. */
bool dirs_can_write(const char *path);

/* Has the directory, an open descriptor, no entry? False where it cannot be read. */
bool dirs_is_empty(int dir_fd);

/* Room for the longest path and some words. */
#define DIRS_WAY_BYTES (PATH_MAX + 80)

/*
 * What stands behind strerror() of a call on `path` that failed with `code`, -errno: of -ENOTDIR
 * which part of the path is no directory, "; d is a regular file: ...". Empty for others. Gives
 * `out`.
 */
const char *dirs_in_the_way(char out[DIRS_WAY_BYTES], const char *path, int code);
