/* SPDX-License-Identifier: Apache-2.0 */
/* datadir.h - a dataset's directory while files in it are made and removed. */
#pragma once

#include <sys/types.h>

#include <mlgen/err.h>

#include "run/crew.h"

/*
 * The directory is held (below.h) from before the workers start until they are done; a worker holds
 * the folder that it is at, and goes to the next one below the directory, through no symbolic link.
 */
struct datadir {
	const char *path; /* the caller's */
	int fd;
	uid_t maker; /* who owns what is made in it (dirlock.h) */
};

/* What is behind "DIRECTORY/" of a path that begins so; "" of it itself. */
const char *datadir_below(const struct datadir *d, const char *path);

/* 0 or -errno with err. */
int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err);
void datadir_close(struct datadir *d); /* once, after 0 */

/*
 * The folder of w->path, a path below the directory, becomes w->folder_fd; with _make the folders
 * that are missing are made. 0, -ENOENT without err, -ELOOP (a symbolic link) or another -errno
 * with err.
 */
int datadir_hold(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err);
int datadir_make(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err);

/*
 * A folder on the way is no folder, or a symbolic link: that cannot be written or removed in.
 * `folder_fd` is what below_folder said of `path`; 0 for -ENOENT and for a descriptor, which stays
 * open.
 */
int datadir_check_folder(int folder_fd, const char *path, struct mlgen_err *err);

/* May files that lie in this folder be removed, which a manifest lists? 0, or -EPERM with err: it
 * belongs to somebody else. `path` is for the message. */
int datadir_check_owner(const struct datadir *d, int folder_fd, const char *path,
			struct mlgen_err *err);
