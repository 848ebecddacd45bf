/* SPDX-License-Identifier: Apache-2.0 */
/* tier_folder.h - the folder of a cache tier in cache_directory: ours alone, made, kept and
 * removed. */
#pragma once

#include "run/tier_inside.h"

#define TIER_MARKER ".mlgen-cache"
#define TIER_SLAB "slab"
#define TIER_MANIFEST "manifest"
#define TIER_SHARDS 256u

/*
 * cache_directory/mlgen-cache-JOB, with -RANK, -partN or -processN where a job has several on a
 * host: what has the marker in it is ours, and the marker is locked while a run uses it. Whatever
 * else lies in there, or beside it, is not touched.
 */

/* Hold it, made if it was not there, with what an earlier run has left in it. 0, or -errno with
 * err: it is somebody else's, or another run's. */
int tier_folder_open(struct tier_cache *c, struct mlgen_err *err);
/* Everything of ours in it goes, but for the marker. */
void tier_folder_empty(struct tier_cache *c);
/* With the marker and itself, unless others have put something there. */
void tier_folder_remove(struct tier_cache *c);
/* It is held no longer. */
void tier_folder_close(struct tier_cache *c);

/* Of a slot's file, whatever unit is in it; within the folder. */
void tier_file_name(char out[TIER_NAME_BYTES], uint32_t slot);

/* tier_manifest.c: what is in the slots of a tier that is kept, for the next run. */

/* Take what an earlier one has left over; the manifest is gone then. 1 where it did, 0: there was
 * none, or -errno with err: it is of something else. */
int tier_manifest_read(struct tier_cache *c, struct mlgen_err *err);
/* Room on the disk for the one to come, before the tier takes all there is; where there is none,
 * that is what tier_manifest_write says. */
void tier_manifest_reserve(struct tier_cache *c);
/* After all have been joined. 0, or -errno with err. */
int tier_manifest_write(struct tier_cache *c, struct mlgen_err *err);
bool tier_manifest_is_there(const struct tier_cache *c);
