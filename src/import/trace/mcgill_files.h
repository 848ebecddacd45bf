/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_files.h - the files of one recording by McGill's scripts, in the order in which they are
 * read. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "import/trace/mcgill_line.h"

struct mcgill_file {
	char *path;
	enum mcgill_kind kind; /* MCGILL_NONE: its header will say */
};

/* A zeroed one has none. */
struct mcgill_files {
	struct mcgill_file *at;
	size_t count, room;
};

/*
 * As given; a directory stands for those of the set that are in it. What has paths and clocks comes
 * first, so that the others can use it. 0, or -errno with err.
 */
int mcgill_files_find(struct mcgill_files *f, char *const *given, size_t count,
		      struct mlgen_err *err);
void mcgill_files_fini(struct mcgill_files *f);
