/* SPDX-License-Identifier: Apache-2.0 */
/* dirlock.h - one process at a time changes a dataset directory. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <mlgen/err.h>

#define DIRLOCK_NAME ".mlgen-dataset.lock"

/* A flock on a file in the directory, which is there only meanwhile. The kernel drops it with the
 * process, however that ends. */
struct dirlock {
	bool is_held;
	int dir_fd, fd; /* the directory (below.h), the file */
	uid_t maker;    /* of files that are made there (below.h) */
};

/* 0, -EBUSY when another mlgen is at work there, or another -errno. */
int dirlock_take(struct dirlock *l, const char *directory, struct mlgen_err *err);
/* The same in a directory that the caller holds; its path is for messages. */
int dirlock_take_at(struct dirlock *l, int dir_fd, const char *directory, struct mlgen_err *err);
void dirlock_drop(struct dirlock *l); /* takes a zeroed struct */
