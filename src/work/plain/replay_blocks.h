/* SPDX-License-Identifier: Apache-2.0 */
/* replay_blocks.h - requests of block devices as reads and writes, which a trace has as two records
 * each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace.h"

/*
 * Of a trace that has no calls on files: a request is a read or write of a file that stands for its
 * device, from its issue to its completion. Remembers 16384 that were issued: of more than these,
 * and where a completion is lost, nobody knows when the oldest was done.
 */
struct replay_blocks;

/* With span_bytes (0 = none) what lies beyond is folded: its offset is the rest of a division by
 * it, so that what is sequential stays so. */
struct replay_blocks *replay_blocks_new(uint64_t span_bytes);
void replay_blocks_free(struct replay_blocks *b); /* NULL is fine */

/* Any record, in the order of starts. Then replay_blocks_next until there is no more. */
void replay_blocks_add(struct replay_blocks *b, const struct trace_record *r);

/* The next request, in the order of issues, as TRACE_READ or TRACE_WRITE; false: it is not done
 * yet, or there is none. At the end all that are left are given. */
bool replay_blocks_next(struct replay_blocks *b, bool is_end, struct trace_record *out);

/* So far, of those given. */
uint64_t replay_blocks_folded(const struct replay_blocks *b);
