/* SPDX-License-Identifier: Apache-2.0 */
/* scan_internal.h - declarations that the files of data/scan share. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "base/vec.h"
#include "data/scan/scan.h"

/* ---- Braces: many names written as one, as in bash and WebDataset ---- */

/* Expanded names; owned. */
struct namelist {
	char **at;
	size_t count, room; /* vec.h */
	size_t bytes;       /* sum of all names, each with its zero byte */
	bool is_over;       /* a limit is exceeded */
};

void namelist_add(struct namelist *l, char *name); /* takes ownership of the name */
void namelist_fini(struct namelist *l);            /* a zeroed struct is fine */

/*
 * Expand braces and append the names in the order in which they are written: "s-{000..127}.tar"
 * makes 128 names, "{a,b}/{0..3}" eight. A range has letters or numbers; numbers keep the width of
 * the wider end if that begins with 0. A third number is the step. Braces may be nested; braces
 * without a comma or a range are part of the name. Returns 0, or -E2BIG with err.
 */
int braces_expand(struct namelist *to, const char *name, struct mlgen_err *err);

/* ---- Links: targets of links, so that a scan follows each target once ---- */

/* A file that a link leads to: 32 bytes, until the scan ends. */
struct scan_link {
	dev_t dev;
	ino_t ino;
	uint64_t name_at; /* identifies the entry of the scan */
	uint64_t rank;    /* index of that entry in the final order */
};

struct scan_links {
	VEC(struct scan_link) files;
	struct map_text folders; /* keyed by dev and ino */
};

void links_fini(struct scan_links *l); /* a zeroed struct is fine */

/* If several links lead to the same file, keep only the first of them in the scan. The scan must be
 * in its final order. Returns the number of removed files. */
struct scan;
uint64_t links_keep_single(struct scan_links *l, struct scan *s);

/* ---- Entries of a scan, and the walk through folders ---- */

/* Bits for the length of a path, which is less than PATH_MAX, 4096. */
#define LENGTH_BITS 12
#define LENGTH_MASK ((UINT64_C(1) << LENGTH_BITS) - 1)
/* Flag in `name`: the path goes through a link. */
#define THROUGH_LINK (UINT64_C(1) << 63)

/* Size of a folder that is still to be listed. */
#define IS_FOLDER UINT64_MAX

struct scan_entry {
	/* Offset of the name in the name file, and its length. The file's mtime, an int64_t of ns,
	 * is stored before the name. */
	uint64_t name;
	uint64_t size_bytes;
};

struct scan {
	struct scan_entry *entries;
	uint64_t count, room;
	uint64_t bytes;
	char *base, *place; /* owned */
	struct namefile names;
	struct scan_skipped skipped;
	struct listed *listed; /* owned */
	struct scan_marks marks;
	bool is_quiet;
};

static inline uint64_t entry_name_at(const struct scan_entry *e)
{
	return (e->name & ~THROUGH_LINK) >> LENGTH_BITS;
}

static inline size_t entry_name_length(const struct scan_entry *e)
{
	return (size_t)(e->name & LENGTH_MASK);
}

void scan_push(struct scan *s, struct scan_entry e);
int scan_entry_name(const struct scan *s, const struct scan_entry *e, char *out, size_t size);
/* Sort the entries from `first` on by the bytes of their names, and drop duplicates. */
int scan_sort(struct scan *s, uint64_t first, struct mlgen_err *err);

/* A folder on the path from the place to the current folder; used to detect circles. */
struct scan_folder {
	const struct scan_folder *above;
	uint64_t depth; /* 1 = the place itself */
	bool is_linked; /* reached through a link */
	dev_t dev;
	ino_t ino;
};

struct scan_walk {
	struct scan *scan;
	const struct scan_request *req;
	struct mlgen_err *err;
	struct scan_links links;
	char path[PATH_MAX]; /* current folder, ends in a slash */
	size_t length;       /* length of path */
	size_t top_length;   /* length of the scan's base in path, slash included */
	unsigned warnings;   /* number of notes about skipped files */
};

/* Set w->path to the scan's base. Returns 0, or -errno with err. */
int scan_walk_begin(struct scan_walk *w);
/* Add all files below a folder, in order; `name` is relative to the base. */
int scan_walk_folder(struct scan_walk *w, const char *name);
/* Add one file, which may have vanished. */
int scan_walk_file(struct scan_walk *w, const char *name);

/* Count a file or folder that is left out, and name the first few in a note. */
void scan_skip(struct scan_walk *w, uint64_t *counter, const char *why);
/* Refuse a list with missing or unusable files, unless scan_errors=skip. */
int scan_judge_list(struct scan_walk *w, const char *list);

/* ---- File lists (file_list=) ---- */

/*
 * Read a list: one path a line, ended by LF or CRLF; empty lines are ignored. Relative paths are
 * below the request's directory or, without one, below the folder of the list. "-" is standard
 * input. If standard input is not a regular file, it is copied to a temporary file, which replaces
 * it. A run that is repeated in this process then reads the same list again.
 *
 * With two more columns, PATH TAB OFFSET TAB LENGTH, a line is a sample of LENGTH bytes, and a path
 * may be in many lines; the scan owns these samples (scan.h). Either all lines have columns or none
 * has.
 *
 * Paths that do not exist or are not files are counted and named with their line, as in scan_skip.
 * Returns 0, or -errno with err: the list cannot be read twice (a FIFO), a line is not a path or
 * not a sample within its file, or no line names a file.
 */
int scan_list_read(struct scan_walk *w, struct scan_places *p);

/* Read `n` bytes at offset `at` as a string. Returns its length, or -errno. */
int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out, size_t size);

/* Fill err for a failed operation on the name file; returns `code`. */
int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err);

/* Consider a listed file for a mark. Memory does not grow with the number of files. */
void scan_marks_add(struct scan_marks *m, uint64_t name, const struct stat *st);
