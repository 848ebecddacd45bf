/* SPDX-License-Identifier: Apache-2.0 */
/* ionames.h - the names of a plain job's files, where fio has them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/vec.h"
#include "job/job.h"

/*
 * filename= is a list with ':' between its entries, '\:' for a colon in a name; relative names lie
 * in directory=. Without it each of numjobs has $jobname.$jobnum.0 there; a '/' in the name of a
 * job is a folder. A job that has the path of a device for its name is about that device.
 */
struct ionames {
	VEC(char *) paths;
	bool is_shared; /* by all of numjobs */
};

/* 0, or -EINVAL with err. */
int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err);
void ionames_fini(struct ionames *n); /* takes a zeroed or failed one */

/* directory=, NULL where the job has none. To be freed. */
char *ionames_directory(const struct job *job);

/* The next entry of such a list, without its '\'; *at moves on. NULL: no more. To be freed. Empty
 * ones are left out. */
char *ionames_next(const char **at);
