/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.h - make a directory with all that lead to it. */
#pragma once

/* 0, or -errno; then `path` is cut behind the one that could not be made. */
int dirs_make(char *path);
