/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - how a data set comes to be: from a job, a manifest, a scan, or another process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"
#include "job/job.h"

/*
 * How a data set comes to be: from the options of a job and the memory of the host, from the
 * manifest in its directory, from the files that are there, or from another process of the same
 * job that has looked already. The data set itself, and what may be asked of it, is in
 * data/file/file.h.
 *
 * All of this happens before the run, in one thread.
 */

/* ---- The files that one process of a job has found, for the others ---- */

/*
 * What a process need not look for: of one dataset, the train or the evaluation part. Who takes it
 * lists nothing.
 */
struct dataset_given {
	bool is_found; /* there are files; else a dataset is to be made */
	const struct format *format;
	unsigned parts;
	char *directory;       /* owned */
	struct scan *scan;     /* owned, until it is taken */
	struct scan_index *found;   /* the same; NULL = nothing was looked into */
	struct labels *labels; /* the same; NULL = no labels */
};

/* As dataset_init and dataset_init_eval, of what is given; NULL: this process looks for itself. */
int dataset_given_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		       struct dataset_given *given, struct mlgen_err *err);
int dataset_given_init_eval(struct dataset *eval, const struct dataset *train,
			    const struct job *job, struct dataset_given *given,
			    struct mlgen_err *err);

/* Of a dataset that is set up, or of none (ds->format NULL): 0 or -errno with err. */
int dataset_give(const struct dataset *ds, struct relay *to, struct mlgen_err *err);

/* The same on the other side; `beside` as of namefile_open. Fini in any case. */
int dataset_given_take(struct dataset_given *g, const char *beside, struct relay *from,
		       struct mlgen_err *err);
void dataset_given_fini(struct dataset_given *g); /* takes a zeroed one */

/* ---- Of which format the files of a scan are (format=auto) ---- */

/* Of a regular file alone: by what is in it, else by its suffix. NULL: it shows nothing, or is not
 * there. */
const struct format *detect_file(const char *path);

/* jobset_env asks this: the name of the format of shards (is_forward) that the first files below a
 * directory have, if there are at least `least` of them; else NULL. Symbolic links are followed,
 * and a huge directory is not gone through. */
const char *detect_shards(const char *directory, uint64_t least);

/* ---- Does a directory hold what is somebody else's? ---- */

/*
 * Where a dataset or checkpoints would be made, a directory has to be missing, or mlgen's: one with
 * a manifest in it (of checkpoints: in a folder below it). Without one it may hold lost+found,
 * .snapshot, and folders that mlgen made or that hold nothing but such folders; so jobs may lie
 * beside and below one another, and a mount point is as good as a new folder. What mlgen leaves
 * where it was killed before its manifest (a lock, half a manifest) is its own.
 *
 * Nothing is changed. A directory is read until the first few names are found that are not mlgen's,
 * and one that cannot be read is for those who write in it to tell.
 *
 * 0, or -EEXIST with err, which names what lies there and the ways out.
 */
int foreign_check_dataset(const char *directory, const struct job *job, struct mlgen_err *err);
int foreign_check_checkpoints(const char *directory, const struct job *job, struct mlgen_err *err);

/* ---- What a dataset directory was made from and whether it is complete ---- */

/*
 * DIRECTORY/mlgen-dataset.json holds the parameters and `complete`. It is replaced atomically and
 * synced. Complete is trusted here: nothing is listed or stat'ed (run/make does). Files are
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

/* Both in a directory that is held (files.h), and through no link of the manifest's name. */
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
