/* SPDX-License-Identifier: Apache-2.0 */
/* firstlook.h - what a path leads to is known before it is opened. */
#pragma once

#include <sys/stat.h>

/*
 * To open a file can do something: a FIFO waits for its other end, a tape winds, a watchdog starts.
 * So a path is looked at first, with a descriptor that can do nothing else (O_PATH), and that very
 * file is opened then, whatever the path leads to by now.
 */

/* Such a descriptor, with what it is of, or -errno. */
int firstlook(const char *path, struct stat *st);

/*
 * Open what was looked at, with flags as of open(2) but O_CREAT, and O_CLOEXEC in any case. A
 * descriptor, or -errno; -ESTALE where /proc is not mounted and the path leads elsewhere by now.
 * `looked_at` stays open.
 */
int firstlook_open(int looked_at, const char *path, const struct stat *st, int flags);
