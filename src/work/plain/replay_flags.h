/* SPDX-License-Identifier: Apache-2.0 */
/* replay_flags.h - how a file of a replay is opened. */
#pragma once

#include "work/plain/replay_inside.h"

/*
 * Flags of open(2), by those that the trace has: what is only read of a traced file, and what a
 * replay can do again elsewhere. With direct= given it is said there whether O_DIRECT is among
 * them, else in the trace. Offsets are those of the trace, so that O_APPEND is not; and no link
 * leads out of the directory.
 */
int replay_flags(const struct job *j, const struct replay_files *f, uint32_t id, uint32_t traced);

/* Is O_DIRECT among them, where it was in the trace or not? */
bool replay_flags_pass_cache(const struct job *j, bool was_direct);

/* Where the trace does not show how it was opened. What a device was asked for had passed the page
 * cache. */
int replay_flags_unseen(const struct job *j, const struct replay_files *f, uint32_t id);
