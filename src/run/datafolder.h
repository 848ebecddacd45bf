/* SPDX-License-Identifier: Apache-2.0 */
/* datafolder.h - the folders of a dataset: which there are, may they be changed, sync and remove
 * them. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "run/datafile.h"

/*
 * The folders that files are in, and those above them up to the directory's own; one below another
 * comes first. Some come twice.
 */
uint64_t datafolders_count(const struct datafiles *d);
int datafolder_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		    struct mlgen_err *err);

/*
 * Before anything is changed: is the directory, and are the folders in it, no symbolic links
 * (-ELOOP), and where it `removes` files, of an owner whose manifest may be believed (-EPERM)?
 * Subfolders are looked at when their turn comes. 0, or -errno with err.
 */
int datafolders_check(const struct datafiles *d, bool removes, struct mlgen_err *err);

/* On a worker's thread: what is in it has its name for good. 0, or -errno with err. */
int datafolder_sync(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err);

/* Remove those that are empty; what holds files of others stays. */
void datafolders_remove(const struct datafiles *d);
