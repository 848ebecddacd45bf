/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.h - write JSON documents: to a stream, or as a file that nobody sees half of. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Write `root` with jansson's `flags`. A real has the fewest digits that are read as the same
 * number, so that 63.1 stays 63.1 and whoever reads the document decides as mlgen did. 0, or
 * -EIO. */
int jsonfile_dump(FILE *to, const json_t *root, size_t flags);

/* The temporary name of NAME, a literal. */
#define JSONFILE_PART(name) "." name ".part"

/* NAME in the folder (below.h) becomes `root`, by way of .NAME.part, a file that is new: nothing is
 * written through a link of either name. Synced, with the folder: it is there after a power
 * failure, too. 0 or -errno. */
int jsonfile_replace(int folder_fd, const char *name, const json_t *root, bool is_synced);
