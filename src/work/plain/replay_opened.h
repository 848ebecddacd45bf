/* SPDX-License-Identifier: Apache-2.0 */
/* replay_opened.h - how many files each worker of a replay will have open. */
#pragma once

#include "base/map.h"
#include "work/plain/replay_ops.h"

/*
 * What a worker opens is its own. Where the trace uses a descriptor that another thread has opened,
 * or that was open before, the worker opens the file itself, at its first use, and keeps it until
 * the trace closes it or the end.
 */
struct replay_opened {
	struct map keys;     /* worker and file */
	struct spill open;   /* uint32_t, how often, by the number of the key */
	struct spill counts; /* uint32_t: all of a worker, by its number */
	unsigned most;
};

/* In the order of the trace. False: a close of what this worker does not have open, so that it has
 * nothing to do. */
bool replay_opened_take(struct replay_opened *x, unsigned worker, const struct replay_op *op);
unsigned replay_opened_most(const struct replay_opened *x);
void replay_opened_fini(struct replay_opened *x);
