/* SPDX-License-Identifier: Apache-2.0 */
/* rank_checkpoint.h - a rank's part in the checkpoints of a training: standing still for them. */
#pragma once

#include "run/train.h"

/*
 * Behind each step of training, which ended at *end_ns. Where a checkpoint is
 * due after it, all ranks meet here, whatever barrier= says, and the last of
 * them begins it:
 *
 *	sync	meet, begin; wait until it is committed; meet
 *	async	meet; wait for the one before; a snapshot, each its own; meet,
 *		begin
 *
 * They meet after the same step: that of a number, the last of an epoch, or the
 * first that no rank has gone beyond when the first of them finds that the time
 * has come; of several processes the first behind a barrier at which one of them
 * does. So each goes through all barriers in the same order, and may leave
 * between any two. None begins once the run is interrupted.
 *
 * 0, or -EPIPE once closed. *end_ns is when the next step begins.
 */
int rank_checkpoint(struct rank *r, const struct stage *at, uint64_t batch, uint64_t *end_ns);

/* By the last here at a barrier of training, of several processes: is it time for one? Where it is
 * for any of them, saves.is_now is set by that barrier. */
bool rank_checkpoint_vote(struct train *t);
