/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - does a directory hold what is somebody else's? */
#pragma once

#include <mlgen/err.h>

#include "job/job.h"

/*
 * Where a dataset or checkpoints would be made, a directory has to be missing, or mlgen's: one with
 * a manifest in it (of checkpoints: in a folder below it). Without one it may hold lost+found,
 * .snapshot, and folders that mlgen made or that hold nothing but such folders; so jobs may lie
 * beside and below one another, and a mount point is as good as a new folder. What mlgen leaves
 * where it was killed before its manifest (a lock, half a manifest) is its own.
 *
 * Nothing is changed. A directory is read until the first few names are found that are not mlgen's,
 * and one that cannot be read is for those who write in it to tell.
 *
 * 0, or -EEXIST with err, which names what lies there and the ways out.
 */
int foreign_check_dataset(const char *directory, const struct job *job, struct mlgen_err *err);
int foreign_check_checkpoints(const char *directory, const struct job *job, struct mlgen_err *err);
