/* SPDX-License-Identifier: Apache-2.0 */
/* replay_spool.h - the operations of each worker of a replay, in a temporary file without a
 * name. */
#pragma once

#include <mlgen/err.h>

#include "work/plain/replay_ops.h"

/*
 * Workers have chunks of so many bytes each, of which one knows where the next is: memory is that
 * of a chunk a worker while it is written, and of one chunk a cursor while it is read. A cursor is
 * on one thread; several may read at once.
 */
enum { REPLAY_CHUNK_BYTES = 8 << 10 };

struct replay_spool;

/* In the folder of base/unnamed.h, not on the filesystem of `beside` where there is a choice. 0 or
 * -errno with err. */
int replay_spool_new(struct replay_spool **out, const char *beside, struct mlgen_err *err);
void replay_spool_free(struct replay_spool *s); /* NULL is fine */

/* Behind what this worker does so far. 0, or -errno with err: no room. */
int replay_spool_add(struct replay_spool *s, unsigned worker, const struct replay_op *op,
		     struct mlgen_err *err);
/* Nothing more is added. 0 or -errno with err. */
int replay_spool_end(struct replay_spool *s, struct mlgen_err *err);
