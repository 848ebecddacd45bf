/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h - set up a data set: from a job, a manifest, a scan, or another process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/file/file.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"
#include "job/job.h"

/*
 * A data set is set up from a job's options and the host's memory, from the manifest in its
 * directory, or from the files that exist. If another process of the job has already scanned these
 * files, it sends its results. data/file/file.h has the data set itself and its queries.
 *
 * All of this happens before the run, in one thread.
 *
 * Only one process lists the files. It sends its results to the others in pieces of 1 MiB. With
 * 10^5 files and four processes, each of the others makes 780 stat and 30 getdents calls, instead
 * of 101,700 and 232. Messages about the files come from the process that listed them.
 */

/* ---- A scan by one process of a job, which sends the results to the others ---- */

/*
 * The results of a scan for one dataset, the train or the evaluation part. A process that receives
 * them lists no directory.
 */
struct dataset_received {
	bool is_found; /* the files exist; otherwise mlgen makes them */
	const struct format *format;
	unsigned parts;
	char *directory;          /* owned */
	struct scan *scan;        /* owned, until a dataset takes it over */
	struct scan_index *found; /* owned like `scan`; NULL = no file was looked into */
	struct labels *labels;    /* owned like `scan`; NULL = no labels */
};

/* Like dataset_init and dataset_init_eval, but use the results in `given`; NULL = this process
 * scans itself. */
int dataset_init_received(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
			  struct dataset_received *given, struct mlgen_err *err);
int dataset_init_eval_received(struct dataset *eval, const struct dataset *train,
			       const struct job *job, struct dataset_received *given,
			       struct mlgen_err *err);

/* Send the results of the scan that ds was set up from; ds->format NULL = there is no dataset.
 * Returns 0, or -errno with err. */
int dataset_send(const struct dataset *ds, struct relay *to, struct mlgen_err *err);

/* Receive the results. `beside` is passed to namefile_open. Call dataset_received_fini even after
 * an error; it accepts a zeroed struct. */
int dataset_receive(struct dataset_received *g, const char *beside, struct relay *from,
		    struct mlgen_err *err);
void dataset_received_fini(struct dataset_received *g);

/* ---- Detection of the format of a scan's files (format=auto) ---- */

/* Return the format of a regular file by its content, otherwise by its suffix. NULL = the format is
 * unknown, or the file does not exist. */
const struct format *detect_file(const char *path);

/* Return the name of the shard format (is_forward) that the first `least` files below a directory
 * have. NULL if there are fewer files, or one has another format. Follows symbolic links and gives
 * up in a huge directory. jobset_env uses this. */
const char *detect_shards(const char *directory, uint64_t least);

/* ---- Protection of directories with somebody else's files ---- */

/*
 * A directory for a dataset or for checkpoints must be missing or belong to mlgen. It belongs to
 * mlgen if it contains a manifest (for checkpoints: if a folder in it does). Without a manifest it
 * may hold lost+found, .snapshot, and folders that mlgen made or that hold only such folders. The
 * directories of jobs may therefore be next to and below each other, and a mount point may be used
 * like a new folder. A lock or an unfinished manifest, which mlgen leaves if it is killed, also
 * belongs to mlgen.
 *
 * The check changes nothing. It reads a directory until it has found a few names that are not
 * mlgen's. A directory that cannot be read passes: writing to it will report the error.
 *
 * Returns 0, or -EEXIST with err, which names the foreign files and suggests what to do.
 */
int foreign_check_dataset(const char *directory, const struct job *job, struct mlgen_err *err);
int foreign_check_checkpoints(const char *directory, const struct job *job, struct mlgen_err *err);

/* ---- The manifest: how a dataset was made, and whether it is complete ---- */

/*
 * DIRECTORY/mlgen-dataset.json holds the parameters and `complete`. It is replaced atomically and
 * synced. `complete` is trusted here: files are neither listed nor stat'ed (run/make does that).
 * Files are written under a temporary name and renamed when whole, so an incomplete dataset is
 * resumed by looking for missing names.
 */
enum manifest_state { MANIFEST_ABSENT, MANIFEST_INCOMPLETE, MANIFEST_COMPLETE };

/*
 * Read the manifest of ds->directory, compare it with the job, and set ds->files_named from it. The
 * job may have fewer files than the manifest. After a mismatch, returns -EINVAL; err has both
 * values and advice (another directory, or --phase=prepare --replace). If the manifest is
 * truncated, unreadable or of a newer version, returns -EINVAL; err has its path. Foreign files
 * without a manifest are not an error here. A scan has no manifest and is complete.
 */
int manifest_read(struct dataset *ds, enum manifest_state *state, struct mlgen_err *err);

/*
 * Read the manifest for the evaluation dataset of a train dataset that was just read: names, sizes
 * and contents follow from both. ABSENT: the directory has no evaluation files yet, which is not a
 * mismatch.
 */
int manifest_read_eval(struct dataset *eval, const struct dataset *train,
		       enum manifest_state *state, struct mlgen_err *err);

/* Write the manifest, including ds->eval_files. Options of a format are left out if they have their
 * default. */
int manifest_write(const struct dataset *ds, bool complete, struct mlgen_err *err);

/*
 * Set up the dataset that a manifest describes, including eval_files. No job is needed. --replace
 * uses it to delete the files. Fails with -ENOENT without a manifest. After a failure, dataset_fini
 * is not needed.
 */
int manifest_describe(const char *directory, struct dataset *ds, struct mlgen_err *err);

/* Like manifest_describe and manifest_write, in a directory that is held open (files.h). The
 * manifest must not be a symbolic link. */
int manifest_describe_at(int dir_fd, const char *directory, struct dataset *ds,
			 struct mlgen_err *err);
int manifest_write_at(int dir_fd, const struct dataset *ds, bool complete, struct mlgen_err *err);

/*
 * Count the files of ds (all parts; train or evaluation) that exist with their full size, and their
 * bytes. With a complete manifest, these are all files. Without a manifest there are none, because
 * the files are then not ours. Otherwise each file is checked; above a million files, only a sample
 * is checked, and *estimate is set.
 */
int manifest_present(const struct dataset *ds, uint64_t *files, uint64_t *bytes, bool *estimate,
		     struct mlgen_err *err);
