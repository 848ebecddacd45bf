/* SPDX-License-Identifier: Apache-2.0 */
/* listed.h - the samples that a list gives of its files: spooled as they come, then grouped by
 * file. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "data/scan/namefile.h"
#include "data/scan/scan_places.h"

/*
 * A list may have millions of samples of one file, next to each other or not: here is memory for
 * files, and what is per sample lies in files without a name (namefile.h).
 */
struct listed;
struct scan;

/* `beside` as of namefile_open. 0 or -errno with err. */
int listed_new(struct listed **out, const char *beside, struct mlgen_err *err);
void listed_free(struct listed *l); /* NULL is fine */

/* One of the places, by its path; or one that is left out, with its samples. */
#define LISTED_NONE UINT64_MAX
struct listed_file {
	uint64_t place; /* LISTED_NONE = left out */
	uint64_t bytes; /* its size */
};

/* The file that has this path as it stands, or NULL: nobody has added it. Until the next one is
 * added. */
const struct listed_file *listed_find(const struct listed *l, const struct places *p,
				      const char *path);
/* The last of the places, or without one a path that is left out. */
void listed_add_place(struct listed *l, const struct places *p, uint64_t bytes);
void listed_add_none(struct listed *l, const char *path);

/* So many bytes of a place: 0, or -errno with err. */
int listed_add(struct listed *l, uint64_t place, uint64_t off, uint64_t bytes,
	       struct mlgen_err *err);

/* Once the scan of these places is in order: which of its files each is. What is no file of it
 * takes its samples along. 0, or -errno with err. */
int listed_settle(struct listed *l, const struct scan *s, const struct places *p,
		  struct mlgen_err *err);

/* Of one file of the scan. */
struct listed_count {
	uint64_t samples, bytes;
};

/*
 * Counts the samples of each file of the scan into counts[], which is zero, and puts their places
 * into `words`, a new one: two words a sample, offset and length, file by file, and those of a file
 * in the order of the list. 0, or -errno with err: a sample ends behind its file, which was larger
 * when the list was read.
 */
int listed_group(struct listed *l, const struct scan *s, struct listed_count *counts,
		 struct namefile *words, struct mlgen_err *err);
