/* SPDX-License-Identifier: Apache-2.0 */
/* newfile.h - a file on its way: written under a temporary name, given its own when it is whole. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "run/crew.h"
#include "run/filemaker.h"

/*
 * One worker's, on its stack. What has its name is whole and on the device: a file is new under its
 * temporary name, filled from a source, synced, and renamed. While it grows it is synced and
 * dropped from the page cache every
 * 16 MiB: that bounds the cache it takes and the wait after a SIGINT, and what reads it first reads
 * storage. Several workers may each fill a piece of one.
 *
 * Functions give 0, CREW_STOPPED, or -errno with err, which names the file by the name that it will
 * have.
 */
struct newfile {
	struct filemaker *maker;
	struct crew_worker *w;
	const char *path;       /* that it will have; the caller's */
	uint64_t bytes;         /* of all of it */
	struct mlgen_file file; /* under its temporary name */
	bool is_piece;          /* others write elsewhere in it */
	uint64_t end, unsynced; /* bytes so far: up to here; the last of them */
};

/* What data sets, the files of plain jobs, ... do not have in common. */
struct newfile_kind {
	const char *suffix; /* of temporary names */
	bool replaces;      /* what has its name by then; else that stays */
	/*
	 * The next chunk of the content, at most `size` bytes: 1, 0 behind the last one, or -errno
	 * with err. One that does not begin where the last one ended (a header, again) is written,
	 * and not counted.
	 */
	int (*next)(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		    struct mlgen_err *err);
	/* Behind ENOSPC: what of the `left` bytes, and the way out. */
	void (*put_no_room)(const struct newfile *x, const char *left, char *out, size_t size);
};

/* ".NAME" and the suffix, beside NAME. 0, or -ENAMETOOLONG. */
int newfile_temporary(char out[PATH_MAX], const char *path, const struct newfile_kind *kind);

/* `what` failed; of no space it says what is still to be written. */
int newfile_failed(const struct newfile *x, const char *what, int code, struct mlgen_err *err);

/* So many bytes of the worker's buffer, at `off`. */
int newfile_write(struct newfile *x, uint64_t off, size_t len, struct mlgen_err *err);

/* All of a source, which is for kind->next, from x->end on. */
int newfile_fill(struct newfile *x, void *source, struct mlgen_err *err);

/*
 * Close it, also after an error, which is `so_far`. If it is whole, it is synced before, and then
 * it has its name and counts as made.
 */
int newfile_end(struct newfile *x, int so_far, bool is_whole, struct mlgen_err *err);
