/* SPDX-License-Identifier: Apache-2.0 */
/* replay_count.h - what the operations of a replay come to. */
#pragma once

#include "work/plain/replay_ops.h"

/* Of align_bytes: no filesystem needs more for O_DIRECT. */
#define REPLAY_ALIGN_MOST UINT64_C(4096)

/* One more, of this file; slice_seconds is set. */
void replay_count(struct replay_ops *o, const struct replay_file *f, const struct replay_op *op);
