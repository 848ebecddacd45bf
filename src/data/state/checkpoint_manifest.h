/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_manifest.h - the JSON document in a checkpoint's directory: read, compare, replace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "data/state/checkpoints.h"

/*
 * `folder_fd` is the checkpoint's own (below.h). Nothing is kept between calls: a manifest is a few
 * KiB, and is read when something is asked of it. What is only read is read through links; what is
 * to be changed or deleted is not.
 */

/* What it says of it, into `k`. 0; else it is none of ours, and `why` says what is wrong with it.
 * set NULL: of any state. */
int checkpoint_manifest_look(int folder_fd, const struct shard_set *set, struct checkpoint *k,
			     char *why, size_t why_bytes);

/* Is it of the same model, layout, ranks and access as the job's, and with verify= of the same
 * bytes? Else the first difference: "zero_stage: 3 there,
 * 1 in the job". */
bool checkpoint_manifest_fits(int folder_fd, const struct shard_set *set, char *how,
			      size_t how_bytes);

/* Write it, synced when it is complete. 0 or -errno. */
int checkpoint_manifest_store(int folder_fd, const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete);

/* It is incomplete from now on, and that process deletes it. 0 or -errno. */
int checkpoint_manifest_mark(int folder_fd, const struct process *by);

/*
 * As look, into r->now of one that is going to be deleted, and its files. -EPERM: it names what no
 * layout gives to a file, or is no file itself; `why` says so.
 */
int checkpoint_manifest_files(int folder_fd, const struct shard_set *set,
			      struct checkpoint_removal *r, char *why, size_t why_bytes);
