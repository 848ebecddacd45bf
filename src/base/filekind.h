/* SPDX-License-Identifier: Apache-2.0 */
/* filekind.h - things that lie where a file should be: fifos, sockets, devices, directories. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <mlgen/err.h>

/*
 * An open of a fifo waits for somebody at its other end, maybe for ever: where one may be, open
 * with O_NONBLOCK, which regular files do not know. What a read then meets is an error or an end;
 * only then it is asked what it is.
 */

/* "a fifo", "a socket", ...; NULL for a regular file. */
const char *filekind_other(mode_t mode);

/* 0 where `path` is a regular file, or where nobody can tell; else -EISDIR or -EINVAL with err:
 * "PATH: is a fifo, and no regular fileADVICE". */
int filekind_check(const char *path, const char *advice, struct mlgen_err *err);

/* Of what lies in the place of a dataset's file. */
#define FILEKIND_OF_DATASET "; remove it, and --phase=prepare writes the file"

/*
 * Open a regular file of at most most_bytes to be read, and nothing else, without ever waiting:
 * `path` below dir_fd as openat(2) takes it, with more flags (O_NOFOLLOW) or 0. 0 or -errno; where
 * it is something else, or has more, *wrong says so ("is a fifo, and no regular file"), and is NULL
 * if not.
 */
int filekind_open(FILE **out, int dir_fd, const char *path, int flags, uint64_t most_bytes,
		  const char **wrong);
