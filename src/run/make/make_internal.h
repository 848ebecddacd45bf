/* SPDX-License-Identifier: Apache-2.0 */
/* make_internal.h - what the files of run/make share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "run/make/make.h"

/* ---- the folders of a dataset: which there are, may they be changed, sync and remove them ---- */

/*
 * The folders that files are in, and those above them up to the directory's own; one below another
 * comes first. Some come twice.
 */
uint64_t datafolders_count(const struct datafiles *d);

/*
 * Before anything is changed: is the directory, and are the folders in it, no symbolic links
 * (-ELOOP), and where it `removes` files, of an owner whose manifest may be believed (-EPERM)?
 * Subfolders are looked at when their turn comes. 0, or -errno with err.
 */
int datafolders_check(const struct datafiles *d, bool removes, struct mlgen_err *err);

/* On a worker's thread: what is in it has its name for good. 0, or -errno with err. */
int datafolder_sync(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err);

/* ---- before files are read: are those there that a dataset says it has? ---- */

/*
 * By name: is each a regular file that this user may read, as large as the dataset has it? Of a set
 * that is not complete only what lies there is looked at, for a file that is missing is going to be
 * made; of one that is not ours nothing is. Opens and reads no file. With `all` the crew asks for
 * every one; which one is named does not depend on who was first. 0, CREW_STOPPED, or -errno with
 * err, which names the way out.
 */
struct datasample {
	const struct datafiles *files;
	bool is_complete[2]; /* of files->sets */
	bool all;
	uint64_t first_files;           /* of the first set only these are read; 0 = all */
	bool forgiving;                 /* what a complete set lacks is for its readers to count */
	const struct crew_config *crew; /* but for its engine */
};
int datasample_check(const struct datasample *s, struct mlgen_err *err);

/* ---- does a file begin as its format does ---- */

/* ---- what the page cache has of a dataset that is complete ---- */

/* ---- a data set that is being prepared, by one process or several ---- */

struct prepare {
	const struct prepare_request *req;
	struct dataset *ds, *eval; /* eval NULL: none */
	enum manifest_state state, eval_state;
	bool replacing;  /* a dataset made otherwise is to go first */
	bool is_fresh;   /* there is no folder of it: nothing to look at */
	bool trusted[2]; /* of files.sets */
	struct dirlock lock;
	struct datafiles files;
	struct filemaker maker; /* of what the survey finds */
	/* That were missing, for all processes. */
	uint64_t missing_files, missing_bytes;
	bool has_told; /* the others: there is something to write */
};
