/* SPDX-License-Identifier: Apache-2.0 */
/* replay_take.h - a record of a trace as operations of a replay, and what it shows of its file. */
#pragma once

#include "trace/trace.h"
#include "work/plain/replay_left.h"
#include "work/plain/replay_ops.h"

/* A read, write or page of a mapping: of those a replay has bytes. */
bool replay_moves(unsigned op);

/*
 * The operation that a record of this file (0 = it has no name) becomes, into *op, but for its
 * times, its turn and its part: 1. 0: it is none, and counted in `left` where a person would miss
 * it.
 */
int replay_take(struct replay_op *op, const struct trace_record *r, uint32_t file,
		struct replay_left_counts *left);

/* What the record shows of the file before the replay, and what it does to it. */
void replay_take_file(struct replay_file *f, const struct trace_record *r);

/* The same of a request of a block device: all of it up to there is made. */
void replay_take_device(struct replay_file *f, const struct trace_record *r);

/* The whole length of what it moves; one operation has at most REPLAY_MOST_BYTES of it. */
uint64_t replay_bytes(const struct trace_record *r);
#define REPLAY_MOST_BYTES (UINT64_C(1) << 30)

/* What a record says beyond is left out: ext4 has no larger file. */
#define REPLAY_LARGEST_BYTES (UINT64_C(1) << 44)
