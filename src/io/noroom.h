/* SPDX-License-Identifier: Apache-2.0 */
/* noroom.h - why a file could not be made or grow: no inodes, a quota, a limit of its size; and the
 * way out. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Room for a sentence with the name of a mount point. */
#define NOROOM_BYTES 400

/*
 * What stands behind strerror() of a call that failed with `code`, -errno, on a file: "; no inodes
 * are left on /mnt ...". `path` need not be there, its nearest folder is asked; the file would have
 * had `end_bytes`, 0 = not known. Empty for other errors, and where it is space that is used up: of
 * that the caller knows how much it lacks. Gives `out`.
 */
const char *noroom_put(char out[NOROOM_BYTES], const char *path, int code, uint64_t end_bytes);
