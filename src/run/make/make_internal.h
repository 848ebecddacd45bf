/* SPDX-License-Identifier: Apache-2.0 */
/* make_internal.h - declarations that the files of run/make share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "run/make/make.h"

/* ---- the folders of a dataset: check, sync and remove them ---- */

/* Number of folders: those that hold files, and their parents up to and including the directory. By
 * index, a folder comes before its parent; some folders come twice. */
uint64_t datafolders_count(const struct datafiles *d);

/*
 * Check folders before any change: the directory and the folders in it must not be symbolic links
 * (-ELOOP). With `removes`, the folders' owner must also be trusted (-EPERM). Subfolders are
 * checked when they are opened. 0, or -errno with err.
 */
int datafolders_check(const struct datafiles *d, bool removes, struct mlgen_err *err);

/* Task of a pool whose owner is a struct datafiles: make the names in a folder permanent. */
int datafolder_sync(struct pool_worker *w, uint64_t index, struct mlgen_err *err);

/* ---- do the files exist that a dataset says it has? ---- */

/*
 * Check files by name, without opening them: each must be a regular file of the right size that
 * this user may read. Missing files of an incomplete set are skipped, since they are going to be
 * made; a set that is not ours is skipped altogether. With `all`, the thread pool checks every
 * file, and the bad file with the lowest index is reported. 0, POOL_STOPPED, or -errno with err,
 * which suggests a remedy.
 */
struct datasample {
	const struct datafiles *files;
	bool is_complete[2]; /* per set of `files` */
	bool all;
	uint64_t first_files; /* number of files of the first set that are read; 0 = all */
	bool forgiving;       /* readers count the missing files of a complete set */
	const struct pool_config *pool; /* the engine in it is not used */
};
int datasample_check(const struct datasample *s, struct mlgen_err *err);

/* ---- a dataset that one process or several are preparing ---- */

struct prepare {
	const struct prepare_request *req;
	struct dataset *ds, *eval; /* eval NULL: none */
	enum manifest_state state, eval_state;
	bool replacing;  /* a dataset with another description is removed first */
	bool is_fresh;   /* no folder of the dataset exists: there is nothing to look at */
	bool trusted[2]; /* per set of `files` */
	struct dirlock lock;
	struct datafiles files;
	struct filemaker maker;
	uint64_t missing_files, missing_bytes; /* sums over all processes */
	bool has_sent_order; /* rank 0: the other processes know whether there is work */
};
