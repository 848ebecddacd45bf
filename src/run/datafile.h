/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.h - one file of a dataset: is it there, write it, remove it. */
#pragma once

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "data/dataset.h"
#include "run/crew.h"

/* What the workers that write one dataset share. */
struct datafiles {
	const struct dataset *dataset;
	bool ours; /* a manifest says that mlgen wrote what is there */
	_Atomic uint64_t *bytes_done; /* counted up chunk by chunk */
	uint64_t missing_bytes;       /* before the first one was written */
	/* Whole files, and bytes known to be on the device. */
	_Atomic uint64_t written_files, written_bytes, synced_bytes;
};

/* Its path: 0, or -ENAMETOOLONG with err. */
int datafile_path(const struct dataset *ds, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err);

/* The folder of a path, in place. */
void datafile_folder(char path[PATH_MAX]);

/* "PATH: OPERATION: what strerror says"; gives `code` back. */
int datafile_failed(const char *path, enum mlgen_op op, int code,
		    struct mlgen_err *err);

/*
 * Is it there with its full size? 1, 0 when it is missing or, being ours, has
 * another size; -EEXIST when it is not ours. Leaves its path in w->path.
 */
int datafile_look(const struct datafiles *d, struct crew_worker *w,
		  uint64_t index, struct mlgen_err *err);

/*
 * Write it under a temporary name, sync it, drop it from the page cache and
 * rename it into place; makes its folder. Nothing is left behind on failure.
 * 0, CREW_STOPPED, or -errno.
 */
int datafile_write(struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err);

/* Remove it and its temporary name, where they exist. */
int datafile_remove(const struct dataset *ds, struct crew_worker *w,
		    uint64_t index, struct mlgen_err *err);
