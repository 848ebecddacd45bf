/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - which blocks a plain job accesses: offsets, lengths and directions as a function of
 * the position. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * What rw=, bs=, bssplit=, rwmixread=, io_size=, norandommap= and loops= of a job come to, with
 * fio's meaning: how many bytes and requests, in which order. A pure function of (randseed, worker,
 * position) behind an iterator; a random map is a permutation, so memory does not grow with the
 * files. pattern_next costs a few ns: random block numbers are computed some dozens at a time.
 *
 * A region is the part of a file that a worker moves in; several are taken in turn, request by
 * request. Reads and writes of a sequential mix each have their own position.
 */
struct pattern;

struct pattern_region {
	uint64_t off, bytes;
};

struct pattern_op {
	uint64_t off, len_bytes; /* off in the file */
	uint32_t region;
	bool is_write;
};

struct pattern_config {
	const struct job *job;
	const struct pattern_region *regions;
	unsigned count;
	uint64_t worker; /* of numjobs, from 0 */
};

/* 0, or -EINVAL with err (a region smaller than a request, ...). */
int pattern_new(struct pattern **out, const struct pattern_config *cfg, struct mlgen_err *err);
void pattern_free(struct pattern *p); /* NULL is fine */

/* The next request; false when all loops are done (never with time_based). */
bool pattern_next(struct pattern *p, struct pattern_op *op);

/* Bytes that all loops move, with several sizes up to a request more; UINT64_MAX with
 * time_based. */
uint64_t pattern_bytes(const struct pattern *p);

/* The largest request of the job. */
uint64_t pattern_largest_bytes(const struct job *job);
