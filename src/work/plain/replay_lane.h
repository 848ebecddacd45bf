/* SPDX-License-Identifier: Apache-2.0 */
/* replay_lane.h - one worker of a replay: does what its threads did in the trace. */
#pragma once

#include "work/plain/replay_ops.h"
#include "work/plain/replay_slices.h"
#include "work/plain/stream.h"

/* Of those that begin behind one another: of a file, or of all. */
struct replay_turns {
	_Atomic uint32_t begun, done;
};

/* What the workers of a replay share; streams.own. */
struct replay_shared {
	const struct replay_ops *ops;
	const struct replay_files *files;
	struct replay_turns *turns; /* by file, or one; NULL = none */
	struct bell go_on;          /* somebody began, or is done */
	/* Where each worker is: ns of the trace, or UINT64_MAX behind its end. */
	_Atomic uint64_t *positions;
};

/* What a worker has of its own for others, after join; stream.own. */
struct replay_done {
	uint64_t operations, bytes;
	uint64_t waits, wait_ns; /* for threads that were a second behind */
	struct replay_slices slices;
};

extern const struct stream_kind stream_replay;

/* After join; NULL where it was not set up. */
const struct replay_done *replay_done_of(const struct stream *s);

/* What a worker has for its requests, and for files that are open. */
size_t replay_buffer_bytes(const struct replay_ops *o);
size_t replay_open_bytes(const struct replay_ops *o, const char *directory);
