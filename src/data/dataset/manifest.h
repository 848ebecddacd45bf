/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.h - what a dataset directory was made from and whether it is complete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "data/scan/scan.h" /* MANIFEST_NAME */

/*
 * DIRECTORY/mlgen-dataset.json holds the parameters and `complete`. It is replaced atomically and
 * synced. Complete is trusted here: nothing is listed or stat'ed (run/datasample.h does). Files are
 * written under a temporary name and renamed when whole, so an incomplete dataset is resumed by
 * looking for names that are missing.
 */
enum manifest_state { MANIFEST_ABSENT, MANIFEST_INCOMPLETE, MANIFEST_COMPLETE };

/*
 * Read the manifest of ds->directory and compare: sets ds->files_named from it (fewer files in the
 * job = a subset). A mismatch is -EINVAL that names both values and the way out (another directory,
 * or --phase=prepare --replace);
 * a directory that has foreign files and no manifest is no error here. A cut, unreadable or
 * newer-version manifest is -EINVAL with its path. Of a scan nothing is read, and it is complete.
 */
int manifest_read(struct dataset *ds, enum manifest_state *state, struct mlgen_err *err);

/*
 * The same of the dataset to evaluate with, of a train dataset that was just read: names, sizes and
 * contents follow from both. ABSENT: there is none in the directory yet; that is no mismatch.
 */
int manifest_read_eval(struct dataset *eval, const struct dataset *train,
		       enum manifest_state *state, struct mlgen_err *err);

/* With ds->eval_files beside it. Options of a format are left out where they are its defaults. */
int manifest_write(const struct dataset *ds, bool complete, struct mlgen_err *err);

/*
 * The dataset that a manifest describes whatever the job says, for --replace (its files are the
 * ones to delete), with the number of eval_files beside it. -ENOENT without a manifest; then and on
 * failure there is nothing to fini.
 */
int manifest_describe(const char *directory, struct dataset *ds, struct mlgen_err *err);

/* Both in a directory that is held (below.h), and through no link of the manifest's name. */
int manifest_describe_at(int dir_fd, const char *directory, struct dataset *ds,
			 struct mlgen_err *err);
int manifest_write_at(int dir_fd, const struct dataset *ds, bool complete, struct mlgen_err *err);

/*
 * Files of ds (of all parts; it may be the one to evaluate with) that are there with their full
 * size: all when complete, none without a manifest (what lies there is not ours); else each is
 * looked at, above a million files a sample of them, *estimate = true.
 */
int manifest_present(const struct dataset *ds, uint64_t *files, uint64_t *bytes, bool *estimate,
		     struct mlgen_err *err);
