/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.h - one file of a dataset: is it there, write it, remove it. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "data/file/file.h"
#include "run/crew.h"
#include "run/datadir.h"
#include "run/newfile.h"

/*
 * What the workers that write one dataset share. Its files are counted through both sets: those to
 * train with, then those to evaluate with.
 */
struct datafiles {
	const struct dataset *sets[2]; /* the second may be NULL */
	struct datadir dir;            /* to write or remove, not to look */
	/* A manifest says that mlgen wrote what is there of them. */
	bool ours[2];
	bool looks_inside; /* at the first bytes, too */
};

/* As they are made; .NAME.part until then. */
extern const struct newfile_kind datafile_kind;

uint64_t datafiles_count(const struct datafiles *d);

/* Which set a file is in; *index becomes its index there. */
unsigned datafiles_set(const struct datafiles *d, uint64_t *index);

/* Its path: 0, or -errno with err. */
int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err);

int datafile_too_long(const struct dataset *ds, struct mlgen_err *err);

/* "PATH: OPERATION: what strerror says"; gives `code` back. */
int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err);

/*
 * Is it there with its full size? 1, 0 when it is missing or, being ours, has another size (or,
 * where d->looks_inside, other first bytes than its format); -EEXIST when it is not ours. Leaves
 * its path in w->path.
 */
int datafile_look(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		  struct mlgen_err *err);

/*
 * Before a complete dataset is trusted, of one file: can it be read, is it as long as it should be,
 * does it begin as its format does? -EILSEQ if not so; each error names the way out. Leaves the
 * page cache as it was.
 */
int datafile_check(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err);

/*
 * Make it (newfile.h), and its folder; it takes the place of what datafile_look has found. Nothing
 * is left behind on failure. 0, CREW_STOPPED, or -errno.
 */
int datafile_write(const struct datafiles *d, struct filemaker *maker, struct crew_worker *w,
		   uint64_t index, struct mlgen_err *err);

/* Remove it and its temporary name, where they exist. */
int datafile_remove(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err);
