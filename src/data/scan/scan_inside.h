/* SPDX-License-Identifier: Apache-2.0 */
/* scan_inside.h - what the files of the lister share: its entries, and the way through folders. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "data/scan/namefile.h"
#include "data/scan/scan.h"
#include "data/scan/scan_links.h"
#include "data/scan/scan_marks.h"

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
/* What all that was left out comes to. `found`: "dataset=scan found". 0, or -EACCES or -EINVAL with
 * err. */
int scan_judge(struct walk *w, const char *where, const char *found);
/* The same of a list, before its files are looked at. */
int scan_judge_list(struct walk *w, const char *list);
