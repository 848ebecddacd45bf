/* SPDX-License-Identifier: Apache-2.0 */
/* oneplace.h - is a directory the same one on all hosts of a job? */
#pragma once

#include <mlgen/err.h>

#include "hosts/hosts.h"

/*
 * Together, on the main thread or the conductor: rank 0 puts a file with a random token into the
 * directory, or into what leads to it where that is missing, and the others must read that token by
 * that name; for 10 s they look again, since caches of attributes and names hold that long (NFS:
 * acregmax 60 s is of files that are known; one that was never looked for is asked for). Where rank
 * 0 may not write, the directory itself is compared: number and time of change. The file is gone
 * then. `otherwise` is what else could be done than to name another directory. 0 where all see the
 * same, or -EXDEV with err in all: whose is another one. With one host nothing is done.
 */
int oneplace_check(struct hosts *h, const char *directory, const char *otherwise,
		   struct mlgen_err *err);
