/* SPDX-License-Identifier: Apache-2.0 */
/* scan_braces.h - names with braces, as bash and WebDataset write many of them in one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

/* Names that were made; owned. */
struct namelist {
	char **at;
	size_t count, room; /* vec.h */
	size_t bytes;       /* of all names, with a zero each */
	bool is_over;       /* there would be more than can be */
};

void namelist_add(struct namelist *l, char *name); /* which it owns */
void namelist_fini(struct namelist *l);            /* takes a zeroed one */

/* So many names at most come of braces. */
#define BRACES_MAX 1000000u

/*
 * Adds what a name stands for: "s-{000..127}.tar" 128 names, "{a,b}/{0..3}" eight, in the order in
 * which they are written. A range is of numbers, which keep the width of the wider end where that
 * begins with 0, or of letters; a third number is the step. Braces may stand within one another;
 * those without a comma or a range are part of the name. 0, or -E2BIG with err.
 */
int braces_expand(struct namelist *to, const char *name, struct mlgen_err *err);
