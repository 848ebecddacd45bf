/* SPDX-License-Identifier: Apache-2.0 */
/* dirlock.h - one process at a time changes a dataset directory. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <mlgen/err.h>

/* A flock on a file in the directory, which is there only meanwhile. The
 * kernel drops it with the process, however that ends. */
struct dirlock {
	const char *directory; /* the caller's */
	bool is_held;
	int fd;
	uid_t maker; /* of files that are made there (below.h) */
};

/* 0, -EBUSY when another mlgen is at work there, or another -errno. */
int dirlock_take(struct dirlock *l, const char *directory,
		 struct mlgen_err *err);
void dirlock_drop(struct dirlock *l); /* takes a zeroed struct */
