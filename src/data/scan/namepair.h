/* SPDX-License-Identifier: Apache-2.0 */
/* namepair.h - the names of two files that are one: FROM:TO. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The first has FROM in its path; its twin has TO in place of the last FROM. So _x.npy:_y.npy are
 * ends of names, and images/:labels/ folders. A path may have both in it: then the one counts that
 * ends last, and of those that end together the longer one.
 */
struct namepair {
	const char *from, *to; /* in the text, which ends `to` alone */
	size_t from_bytes;
};

enum namepair_role { NAMEPAIR_NEITHER, NAMEPAIR_FIRST, NAMEPAIR_TWIN };

/* scan_pair=none: there are no pairs, and none are assumed. */
bool namepair_is_none(const char *text);

/* False: it is no two different texts with one ':' between them. */
bool namepair_parse(struct namepair *p, const char *text);

enum namepair_role namepair_role(const struct namepair *p, const char *path);

/* The twin's path: its length, or -ENAMETOOLONG; -EINVAL where FROM is not in the first's. Any
 * thread. */
int namepair_twin(const struct namepair *p, const char *path, char *out, size_t size);
