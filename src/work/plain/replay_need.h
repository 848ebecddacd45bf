/* SPDX-License-Identifier: Apache-2.0 */
/* replay_need.h - what a replay takes of memory, and what can be lowered. */
#pragma once

#include "run/memneed.h"
#include "work/plain/replay_ops.h"

void replay_need(struct memneed *n, const struct job *j, const struct replay_ops *o,
		 const struct replay_files *f);
void replay_put_costs(struct buf *out, const struct job *j);
