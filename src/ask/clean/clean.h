/* SPDX-License-Identifier: Apache-2.0 */
/* clean.h - --clean: what mlgen's manifests own below a directory. */
#pragma once

/*
 * All folders below a directory are walked. Where a manifest shows that mlgen made a dataset or a
 * checkpoint, its files are listed, and removed with --yes. Files that no manifest names stay and
 * are reported.
 */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <mlgen/err.h>

#include "base/thread.h"
#include "data/file/file.h"
#include "run/make/make.h"

/* ---- files that are found and removed ---- */

/*
 * No list of files is kept in memory: the manifest of a folder tells by a file's name whether the
 * file belongs to a dataset or a checkpoint. Folders are locked (files.h) one below another.
 * Symbolic links are not followed and other filesystems are not entered.
 */
struct clean {
	FILE *to;
	bool removes;   /* otherwise files are only listed */
	bool is_quiet;  /* prints nothing about files */
	bool is_repeat; /* another walk, for the remaining files of one dataset */
	/* --replace: remove even a checkpoint whose writer may run on another host */
	bool replaces;
	struct process self;
	char path[PATH_MAX];   /* the current file or folder */
	dev_t dev;             /* filesystem of the directory on the command line */
	uint64_t manifests;    /* found so far */
	uint64_t files, bytes; /* files named in manifests: found or removed */
	uint64_t strangers;    /* files without a manifest, which stay */
	uint64_t faults;       /* errors that were reported */
};

/* A dataset whose files are listed or removed. */
struct clean_set {
	struct dataset sets[2]; /* training files, evaluation files */
	unsigned count;
	int dir_fd; /* the dataset's directory */
	uid_t maker;
	uint64_t files, bytes;
	bool is_marked;  /* the manifest marks the dataset as incomplete */
	bool is_stopped; /* marking failed, so nothing is removed */
	bool stays;      /* some files of the dataset stay, so its manifest stays, too */
};

/* Report that c->path, or NAME in it, stays; `why` may be NULL. */
void clean_report_remaining(struct clean *c, const char *name, const char *why);
/* Report that something stays, in a sentence that already names the path. */
void clean_report_remaining_text(struct clean *c, const char *sentence);
/* Report an error that prevents listing or removing something. */
void clean_fault(struct clean *c, const struct mlgen_err *err);
/* Report a dataset or a checkpoint: what it is and the number of its files. */
void clean_report_owned(struct clean *c, const char *what, uint64_t files, uint64_t bytes);

/* clean_dataset.c: list or remove the dataset whose manifest is in the folder of `dir`. */
void clean_dataset(struct clean *c, DIR *dir, unsigned depth);
/* List or remove a file of the dataset. False: the file is not part of the dataset or is damaged,
 * and `why` has the reason. */
bool clean_set_remove(struct clean *c, struct clean_set *of, int folder_fd, const char *name,
		      const struct stat *st, char *why, size_t why_bytes);
/* Does the dataset have a folder at c->path? clean_set_has() asks for a folder or a file. */
bool clean_set_has_folder(const struct clean *c, const struct clean_set *of);
bool clean_set_has(const struct clean *c, const struct clean_set *of);

/* clean_checkpoint.c: list or remove the checkpoint `name`. False: it is not an mlgen
 * checkpoint. */
bool clean_checkpoint(struct clean *c, int parent_fd, const char *name);

/* clean.c: walk a folder; `of` is the dataset it belongs to, or NULL. */
void clean_walk(struct clean *c, DIR *dir, struct clean_set *of, unsigned depth);
