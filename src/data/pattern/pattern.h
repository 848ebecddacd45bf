/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - the blocks that a plain job accesses: offsets, lengths and directions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * Generates the requests that the job options rw, bs, bssplit, rwmixread, io_size, norandommap and
 * loops describe, with fio's meaning. The sequence is a pure function of (randseed, worker,
 * position) behind an iterator. A random map is a permutation, so memory does not grow with the
 * files. pattern_next costs a few ns: random block numbers are computed in batches of 64.
 *
 * A region is the part of a file that a worker accesses. Several regions take turns, request by
 * request. Reads and writes of a sequential mix have separate positions.
 */
struct pattern;

struct pattern_region {
	uint64_t off, bytes;
};

struct pattern_op {
	uint64_t off, len_bytes; /* the offset counts from the start of the file */
	uint32_t region;
	bool is_write;
};

struct pattern_config {
	const struct job *job;
	const struct pattern_region *regions;
	unsigned count;
	uint64_t worker; /* number of the worker among numjobs, from 0 */
};

/* Return 0, or -EINVAL with err, for example if a region is smaller than a request. */
int pattern_new(struct pattern **out, const struct pattern_config *cfg, struct mlgen_err *err);
void pattern_free(struct pattern *p); /* NULL is fine */

/* Get the next request. False when all loops are done, which never happens with time_based. */
bool pattern_next(struct pattern *p, struct pattern_op *op);

/* Return the number of bytes that all loops move. With several sizes, up to one request more is
 * moved. UINT64_MAX with time_based. */
uint64_t pattern_bytes(const struct pattern *p);

/* Return the size of the largest request of the job in bytes. */
uint64_t pattern_largest_bytes(const struct job *job);
