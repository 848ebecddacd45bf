/* SPDX-License-Identifier: Apache-2.0 */
/* profile.h - what of a trace is compared with another: per phase, in memory that no length of it
 * makes grow. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "tracing/score/inflight.h"
#include "tracing/score/rounds.h"
#include "tracing/score/spread.h"
#include "trace/trace.h"

enum {
	PROFILE_PHASES = 16, /* of more names the last has the rest */
	PROFILE_NAME_BYTES = 32,
};

/* The phase of what is in none. */
#define PROFILE_BETWEEN "between"

/* Of reuse distances: files are blocks of so many bytes. */
#define PROFILE_BLOCK UINT64_C(65536)

struct profile_phase {
	char name[PROFILE_NAME_BYTES];
	/* Of calls on files in scope that did not fail, by enum trace_op. */
	double operations[TRACE_FAULT];
	uint64_t calls, read_bytes, written_bytes;
	struct spread read_sizes, write_sizes;
	uint64_t files;
	struct spread file_sizes, file_samples;
	uint64_t followed, sequential; /* accesses behind another, in order */
	struct spread seeks;           /* bytes, of those not in order */
	/* Of samples, where markers number them, and of opens of files, whose numbers say
	 * nothing. */
	bool has_samples;
	struct rounds_sums rounds, file_rounds;
	struct spread reuse; /* blocks; those that were new are in `cold` */
	double touches, cold;
	struct spread think, steps; /* ns */
	struct inflight_seen inflight;
	uint64_t duration_ns;
	double gini, workers; /* of bytes, by threads; those at work at once */
	double *series;       /* bytes, by the time they were asked for */
	size_t series_count, series_room;
	uint64_t series_start_ns, series_step_ns;
	uint64_t cache_bytes; /* that came into the page cache */
	bool has_cache;
	struct spread block_sizes;
};

struct profile {
	struct profile_phase *phases;
	size_t count;
	uint64_t records;
	uint64_t epochs;      /* that are marked */
	uint64_t other_calls; /* on files that are no data set or checkpoint */
	uint64_t failed_calls;
	double blocks; /* different ones of PROFILE_BLOCK that were read */
	char *host;    /* NULL = not known */
	char *storage; /* mounts that held what was read and written; likewise */
	struct trace_read read;
};

/*
 * The file is a trace, which is read twice. `whole`: all of it is one phase, "all". 0, or -errno
 * with err: as trace_reader_open, or it cannot be read. profile_fini takes a zeroed one.
 */
int profile_trace(struct profile *to, const char *path, bool whole, struct mlgen_err *err);
void profile_fini(struct profile *p);

/* NULL = it has no such phase, or nothing was called in it. */
const struct profile_phase *profile_find(const struct profile *p, const char *name);
