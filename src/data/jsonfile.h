/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.h - replace a JSON document as a whole, so that nobody ever sees half of it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The temporary name of NAME, a literal. */
#define JSONFILE_PART(name) "." name ".part"

/* DIRECTORY/NAME becomes `root`, by way of DIRECTORY/.NAME.part. Synced, with
 * its directory: it is there after a power failure, too. 0 or -errno. */
int jsonfile_replace(const char *directory, const char *name,
		     const json_t *root, bool is_synced);

/* Names made or renamed in it are there after a power failure. 0 or -errno. */
int jsonfile_sync_directory(const char *path);
