/* SPDX-License-Identifier: Apache-2.0 */
/* scan_internal.h - what the parts of a scan share. */
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

/* ---- Names with braces, as bash and WebDataset write many of them in one ---- */

/* Names that were made; owned. */
struct namelist {
	char **at;
	size_t count, room; /* vec.h */
	size_t bytes;       /* of all names, with a zero each */
	bool is_over;       /* there would be more than can be */
};

void namelist_add(struct namelist *l, char *name); /* which it owns */
void namelist_fini(struct namelist *l);            /* takes a zeroed one */

/*
 * Adds what a name stands for: "s-{000..127}.tar" 128 names, "{a,b}/{0..3}" eight, in the order in
 * which they are written. A range is of numbers, which keep the width of the wider end where that
 * begins with 0, or of letters; a third number is the step. Braces may stand within one another;
 * those without a comma or a range are part of the name. 0, or -E2BIG with err.
 */
int braces_expand(struct namelist *to, const char *name, struct mlgen_err *err);

/* ---- What links led to, so that a scan follows each way once ---- */

/* Of a file that a link led to: 32 bytes, while it is scanned. */
struct link {
	dev_t dev;
	ino_t ino;
	uint64_t name_at; /* which entry of the scan it is */
	uint64_t rank;    /* of that in the order of all */
};

struct links {
	VEC(struct link) files;
	struct map_text folders; /* by dev and ino */
};

void links_fini(struct links *l); /* takes a zeroed one */

/* Of files that several links led to all but the first leave the scan, whose order stands: how
 * many. */
struct scan;
uint64_t links_keep_once(struct links *l, struct scan *s);

/* ---- What the files of the lister share: its entries, and the way through folders ---- */

/* A path has fewer bytes than PATH_MAX, 4096. */
#define LENGTH_BITS 12
#define LENGTH_MASK ((UINT64_C(1) << LENGTH_BITS) - 1)
/* Beside where a name is: a link led there. */
#define THROUGH_LINK (UINT64_C(1) << 63)

/* Of a folder that is still to be listed. */
#define IS_FOLDER UINT64_MAX

struct entry {
	/* Where in the file of names, and its length; before it stands when the file was last
	 * changed, an int64_t of ns. */
	uint64_t name;
	uint64_t size_bytes;
};

struct scan {
	struct entry *entries;
	uint64_t count, room;
	uint64_t bytes;
	char *base, *place; /* owned */
	struct namefile names;
	struct scan_skipped skipped;
	struct listed *listed; /* owned */
	struct scan_marks marks;
	bool is_quiet;
};

static inline uint64_t entry_name_at(const struct entry *e)
{
	return (e->name & ~THROUGH_LINK) >> LENGTH_BITS;
}

static inline size_t entry_name_length(const struct entry *e)
{
	return (size_t)(e->name & LENGTH_MASK);
}

void scan_push(struct scan *s, struct entry e);
int scan_entry_name(const struct scan *s, const struct entry *e, char *out, size_t size);
/* Entries from `first` on in the byte order of their names, each once. */
int scan_sort(struct scan *s, uint64_t first, struct mlgen_err *err);

/* The way down to the folder that is looked at, to find circles. */
struct folder {
	const struct folder *above;
	uint64_t depth; /* of what is listed first: 1 */
	bool is_linked; /* a link led there, or to one above it */
	dev_t dev;
	ino_t ino;
};

struct walk {
	struct scan *scan;
	const struct scan_request *req;
	struct mlgen_err *err;
	struct links links;
	char path[PATH_MAX]; /* of the folder, with a slash behind it */
	size_t length;       /* of path */
	size_t top_length;   /* of the scan's base in it, with a slash */
	unsigned told;
};

/* w->path is that of the scan's base. 0 or -errno with err. */
int scan_walk_begin(struct walk *w);
/* What is below a folder, in order; its name as below the base. */
int scan_walk_folder(struct walk *w, const char *name);
/* One file, that may have gone. */
int scan_walk_file(struct walk *w, const char *name);

/* One that is left out: counted, and the first few are named. */
void scan_skip(struct walk *w, uint64_t *counter, const char *why);
/* The same of a list, before its files are looked at. */
int scan_judge_list(struct walk *w, const char *list);

/* ---- The files that a list names, for a scan ---- */

struct walk;

/*
 * One path a line, with LF or CRLF behind it; empty lines say nothing. Relative ones are below the
 * request's directory, or where it has none below the list's folder. "-" is standard input: what is
 * no file is copied to one without a name, which becomes standard input, so that a run that is
 * repeated in this process reads the same list again.
 *
 * With two columns behind each path, PATH TAB OFFSET TAB LENGTH, a line is a sample of so many
 * bytes there, and a path may stand in many lines: the scan has them (scan.h). Either all lines
 * have columns or none has.
 *
 * What is not there, and no file, is counted and told with its line, for scan_judge. 0, or -errno
 * with err: a list that cannot be read twice (a FIFO), a line that is no path, or no sample of the
 * file, no line that is one.
 */
int scan_list_read(struct walk *w, struct scan_places *p);

/* So many bytes at `at`, as a string: its length, or -errno. */
int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out, size_t size);

/* What went wrong with it, in words: `code`. */
int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err);

/* One more file was listed; what it costs does not grow with them. */
void scan_marks_add(struct scan_marks *m, uint64_t name, const struct stat *st);
