/* SPDX-License-Identifier: Apache-2.0 */
/* newdir.h - may a directory be made and filled, or is a filesystem missing there? */
#pragma once

#include <limits.h>

#include <mlgen/err.h>

#include "job/job.h"

/* How a message about a directory begins: "FILE:LINE: OPTION: PATH of job 'NAME'", without FILE and
 * LINE where no file gives the option. Gives to->text. */
struct newdir_place {
	char text[PATH_MAX + 512];
};
const char *newdir_put_place(struct newdir_place *to, const struct job *j, const char *option,
			     const char *path);

/*
 * A filesystem that is not mounted leaves an empty directory or none, and a run would measure the
 * disk below. So of an absolute path only the last folder is made, and an empty directory that
 * fstab has a filesystem for is not filled. A relative path is made whole. `path` follows from the
 * option: 0, or -ENOENT with err, which names the job and where the option is given.
 */
int newdir_check(const struct job *j, const char *option, const char *path, struct mlgen_err *err);
