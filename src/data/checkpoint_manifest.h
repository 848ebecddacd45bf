/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_manifest.h - the JSON document in a checkpoint's directory: read, compare, replace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "data/checkpoints.h"

/*
 * `directory` is the checkpoint's own. Nothing is kept between calls: a
 * manifest is a few KiB, and is read when something is asked of it.
 */

/* Its number, bytes and whether it is complete, into `k`. 0; else it is none of
 * ours, and `why` says what is wrong with it. */
int checkpoint_manifest_look(const char *directory, struct checkpoint *k,
			     char *why, size_t why_bytes);

/* Is it of the same model, layout, ranks and access as the job's, and with
 * verify= of the same bytes? Else the first difference: "zero_stage: 3 there,
 * 1 in the job". */
bool checkpoint_manifest_fits(const char *directory,
			      const struct shard_set *set, char *how,
			      size_t how_bytes);

/* Write it, synced when it is complete. 0 or -errno. */
int checkpoint_manifest_store(const char *directory,
			      const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete);

/* It is incomplete from now on. 0 or -errno. */
int checkpoint_manifest_mark(const char *directory);

/* 0 or -errno; -EINVAL: it names what can be no file of it. */
int checkpoint_manifest_files(const char *directory,
			      struct checkpoint_files *files);
