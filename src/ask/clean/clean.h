/* SPDX-License-Identifier: Apache-2.0 */
/* clean.h - --clean: what mlgen's manifests own below a directory. */
#pragma once

/*
 * Folders below a directory are walked; where a manifest says that mlgen made a dataset or a
 * checkpoint, its files are listed, and with --yes they go. What no manifest names stays, and is
 * named.
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

/* ---- what is found and removed ---- */

/*
 * Nothing is kept of a file that was passed: what owns it, a dataset or one checkpoint, is known
 * from the manifest of the folder, and judges it by its name. Folders are held (files.h) one below
 * the other; no symbolic link is followed, and no other filesystem entered.
 */
struct clean {
	FILE *to;
	bool removes;  /* else it only looks */
	bool is_quiet; /* prints nothing of what it finds */
	bool is_again; /* looks for what is left of one dataset only */
	bool replaces; /* also checkpoints whose run is not seen here */
	struct process self;
	char path[PATH_MAX];   /* of what is looked at */
	dev_t dev;             /* of the directory that was named */
	uint64_t manifests;    /* found */
	uint64_t files, bytes; /* of manifests: found, or removed */
	uint64_t strangers;    /* others, which stay */
	uint64_t faults;       /* that were told */
};

/* A dataset whose files are looked for. */
struct clean_set {
	struct dataset sets[2]; /* to train with, to evaluate with */
	unsigned count;
	int dir_fd; /* of its directory */
	uid_t maker;
	uint64_t files, bytes;
	bool is_marked;  /* as incomplete */
	bool is_stopped; /* that failed: nothing of it is removed */
	bool stays;      /* something of it does: then its manifest, too */
};

/* c->path, or NAME in it, stays; `why` may be NULL. */
void clean_stays(struct clean *c, const char *name, const char *why);
/* The same as a sentence that was made where most is known. */
void clean_stays_because(struct clean *c, const char *sentence);
/* What keeps something from being looked at, or removed. */
void clean_fault(struct clean *c, const struct mlgen_err *err);
/* The line of a dataset, or a checkpoint: what, how many files. */
void clean_put(struct clean *c, const char *what, uint64_t files, uint64_t bytes);

/* clean_dataset.c: the folder of `dir` has a manifest of a dataset. */
void clean_dataset(struct clean *c, DIR *dir, unsigned depth);
/* Is it one of its files, which go, or of its manifest's? False: it is not, and `why` says what is
 * wrong with it, if it has such a name. */
bool clean_set_takes(struct clean *c, struct clean_set *of, int folder_fd, const char *name,
		     const struct stat *st, char *why, size_t why_bytes);
/* Does its manifest speak of a folder at c->path; or of a folder or a file? */
bool clean_set_has_folder(const struct clean *c, const struct clean_set *of);
bool clean_set_has(const struct clean *c, const struct clean_set *of);

/* clean_checkpoint.c: `name` in a folder may be a checkpoint. False: it is not one of ours. */
bool clean_checkpoint(struct clean *c, int parent_fd, const char *name);

/* clean_walk.c: all that lies in a folder; `of` NULL: of no dataset. */
void clean_walk(struct clean *c, DIR *dir, struct clean_set *of, unsigned depth);
