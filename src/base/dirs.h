/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.h - make a directory with all that lead to it; may one be made? */
#pragma once

#include <stdbool.h>

/* 0, or -errno; then `path` is cut behind the one that could not be made. *made,
 * where it is not NULL, is set once there is one more. */
int dirs_make(char *path, bool *made);

/* Could this user make something in it? Where it is missing, in the first part of
 * the path that is there, as it would be made then. */
bool dirs_can_write(const char *path);
