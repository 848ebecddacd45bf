/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.h - replace a JSON document as a whole, so that nobody ever sees half of it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The temporary name of NAME, a literal. */
#define JSONFILE_PART(name) "." name ".part"

/* NAME in the folder (below.h) becomes `root`, by way of .NAME.part, a file that
 * is new: nothing is written through a link of either name. Synced, with the
 * folder: it is there after a power failure, too. 0 or -errno. */
int jsonfile_replace(int folder_fd, const char *name, const json_t *root,
		     bool is_synced);
