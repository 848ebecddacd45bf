/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_inside.h - what making and removing directories of checkpoints share. */
#pragma once

#include <jansson.h>

#include "data/state/checkpoints.h"

/* Of no checkpoint: they count from 1. */
#define CHECKPOINT_PROBE_EPOCH 0

/* Hold the directory, which is there. 0 or -errno with err. */
int checkpoints_reach(struct checkpoints *c, struct mlgen_err *err);

/* Messages with the directory, or the manifest in it; they give back rc. */
int checkpoint_fail(const struct checkpoints *c, const struct checkpoint *k, const char *what,
		    int rc, struct mlgen_err *err);
int checkpoint_fail_manifest(const struct checkpoints *c, const struct checkpoint *k, int rc,
			     struct mlgen_err *err);

/* Nothing was ever said or written in it: it goes, and this is true. The caller has locked the
 * directory (below_lock), since what another run is just beginning looks the same. */
bool checkpoint_drop_bare(const struct checkpoints *c, const struct checkpoint *k);

/* checkpoint_writer.c: it is this process's, as of now; how a manifest says so. */
void checkpoint_sign(struct checkpoint *k, const struct process *self);
json_t *checkpoint_writer_encode(const struct checkpoint *k);
void checkpoint_writer_decode(const json_t *from, struct checkpoint *k);
