/* SPDX-License-Identifier: Apache-2.0 */
/* opstat.h - what one worker counts of its operations, and how they add up. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "stat/hist.h"
#include "stat/sizes.h"

/* CPU and faults of one thread. */
struct usage {
	uint64_t user_ns, system_ns;
	uint64_t context_switches, major_faults, minor_faults;
};

/* On the thread itself: from here ... to here (getrusage RUSAGE_THREAD). */
void usage_begin(struct usage *u);
void usage_end(struct usage *u);
void usage_add(struct usage *to, const struct usage *from);

/*
 * Private to one worker; merged after it has been joined. `io_bytes` and
 * `samples` are also read by the status line while the worker runs, hence
 * relaxed atomics with a single writer.
 */
struct opstat {
	struct hist *lat[MLGEN_OPS];  /* submit to completion, per kind */
	struct hist *sample;          /* first submitted to last completed */
	_Atomic uint64_t io_bytes[2]; /* as transferred: 0 read, 1 written */
	struct sizes sizes[2];        /* as asked for: 0 read, 1 written */
	uint64_t short_ios[2];        /* resumed short transfers */
	uint64_t errors;              /* counted by continue_on_error */
	/* Where the worker's wall time went. */
	uint64_t blocked_ns[MLGEN_OPS]; /* inside calls of each kind */
	uint64_t reap_ns;               /* waiting in reap, async engines */
	uint64_t idle_ns;               /* waiting for room or for work */
	uint64_t wall_ns;
	struct usage usage; /* filled by the worker, see usage_begin */
};

void opstat_init(struct opstat *s); /* allocates the histograms */
void opstat_fini(struct opstat *s);
void opstat_reset(struct opstat *s); /* start of what is counted */
void opstat_merge(struct opstat *to, const struct opstat *from);

/* "open", "stat", "read", ... */
const char *opstat_name(enum mlgen_op op);
