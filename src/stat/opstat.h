/* SPDX-License-Identifier: Apache-2.0 */
/* opstat.h - what a worker counts of its operations, and sizes of requests. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/util.h"
#include "stat/hist.h"

/* ---- how large requests were, by classes of a power of two ---- */

#define SIZES_CLASSES 65

/*
 * Class n holds sizes above 2^(n-1) up to 2^n bytes, the last one all above 2^63; it is named by
 * the largest size that it met. One writer. A zeroed struct is empty.
 */
struct sizes {
	uint64_t count[SIZES_CLASSES];
	uint64_t largest[SIZES_CLASSES]; /* bytes */
};

/* The exponent of the next power of two: 1 is class 0, 4096 is class 12. */
static inline unsigned sizes_class_of(uint64_t bytes)
{
	return bytes > 1 ? 64 - (unsigned)__builtin_clzll(bytes - 1) : 0;
}

/* n requests of so many bytes. */
static inline void sizes_add(struct sizes *s, uint64_t bytes, uint64_t n)
{
	unsigned i = sizes_class_of(bytes);

	s->count[i] += n;
	if (n && bytes > s->largest[i])
		s->largest[i] = bytes;
}

/* to += from; in any order. */
void sizes_merge(struct sizes *to, const struct sizes *from);

/*
 * The classes with at least one percent of all requests, the most frequent first, at most `max`.
 * Their number; 0 where nothing was counted.
 */
struct sizes_share {
	uint64_t bytes; /* the largest of the class */
	double percent;
};
unsigned sizes_shares(const struct sizes *s, struct sizes_share *out, unsigned max);

/* ---- what one worker counts of its operations, and how they add up ---- */

/* CPU and faults of one thread. */
struct usage {
	uint64_t user_ns, system_ns;
	uint64_t waited_ns; /* ready to run, without a CPU; 0 also where unknown */
	uint64_t context_switches, major_faults, minor_faults;
};

/* On the thread itself: from here ... to here (getrusage RUSAGE_THREAD). */
void usage_begin(struct usage *u);
void usage_end(struct usage *u);
void usage_add(struct usage *to, const struct usage *from);

/*
 * Classes as fio has them. Of depths, from 1 on: 1, 2, 4, 8, 16, 32, 64, each that many and more up
 * to the next. Of batch sizes, from 0 on: 0, 4, 8, 16, 32, 64, more, each that many and fewer down
 * to the one before.
 */
#define OPSTAT_DEPTHS 8

static inline unsigned opstat_depth_class(unsigned n)
{
	unsigned class = n ? 32 - (unsigned)__builtin_clz(n) : 0;

	return class < OPSTAT_DEPTHS ? class : OPSTAT_DEPTHS - 1;
}

static inline unsigned opstat_batch_class(unsigned n)
{
	unsigned class = n > 4 ? 31 - (unsigned)__builtin_clz(n - 1) : n > 0;

	return class < 6 ? class : 6;
}

/*
 * Private to one worker; merged after it has been joined. `io_bytes`, `linked`, `errors`, the
 * counts of `lat`, and `blocked_ns`, `reap_ns` and `idle_ns` are also read by the status line while
 * the worker runs, hence relaxed atomics with a single writer.
 */
struct opstat {
	/* Submit to completion, per kind, of what did not fail. */
	struct hist *lat[MLGEN_OPS];
	struct hist *sample; /* first submitted to last completed */
	/* Done in chains: counted, not timed. */
	_Atomic uint64_t linked[MLGEN_OPS];
	/* Paced streams, 0 read, 1 write: intended start to submit, and to completion; empty where
	 * nothing is paced. */
	struct hist *slat[2], *total[2];
	/* Operations by how many were in flight with them, and calls of submit and reap by how many
	 * operations they moved. */
	uint64_t depth[OPSTAT_DEPTHS], submits[OPSTAT_DEPTHS], reaps[OPSTAT_DEPTHS];
	/* As transferred, 0 read, 1 written; and how many of these opstat_reset has left out, so
	 * that there is one counter of all that never falls. */
	_Atomic uint64_t io_bytes[2], left_out_bytes[2];
	uint64_t eval_bytes;     /* for evaluations, of those read */
	struct sizes sizes[2];   /* as asked for: 0 read, 1 written */
	uint64_t short_ios[2];   /* resumed short transfers */
	_Atomic uint64_t errors; /* counted by continue_on_error */
	/* The longest of `sample`, and what it was of; of = NULL: none. */
	struct {
		uint64_t ns, file;
		const void *of; /* the reader's dataset */
	} slowest;
	/* Where the worker's wall time went. */
	_Atomic uint64_t blocked_ns[MLGEN_OPS]; /* inside calls of each kind */
	_Atomic uint64_t reap_ns;               /* waiting in reap, async engines */
	_Atomic uint64_t idle_ns;               /* waiting for room or for work */
	uint64_t data_ns;                       /* making, or checking, what is written or read */
	uint64_t wall_ns;
	struct usage usage; /* filled by the worker, see usage_begin */
};

/* As transferred since opstat_reset. Any thread. */
static inline uint64_t opstat_io_bytes(const struct opstat *s, unsigned direction)
{
	/* The writer has raised the other one before: it is no less. */
	uint64_t left_out = atomic_load(&s->left_out_bytes[direction]);

	return atomic_load_explicit(&s->io_bytes[direction], memory_order_relaxed) - left_out;
}

/* One more that was done in a chain. The worker only. */
static inline void opstat_add_linked(struct opstat *s, enum mlgen_op op)
{
	uint64_t n = atomic_load_explicit(&s->linked[op], memory_order_relaxed);

	atomic_store_explicit(&s->linked[op], n + 1, memory_order_relaxed);
}

/* One more that continue_on_error counts. The worker only. */
static inline void opstat_add_error(struct opstat *s)
{
	uint64_t n = atomic_load_explicit(&s->errors, memory_order_relaxed);

	atomic_store_explicit(&s->errors, n + 1, memory_order_relaxed);
}

void opstat_init(struct opstat *s); /* allocates the histograms */
void opstat_fini(struct opstat *s);
void opstat_reset(struct opstat *s); /* start of what is counted */
void opstat_merge(struct opstat *to, const struct opstat *from);
/* Only what was moved, with its latencies and errors: not the samples, and none of the time, of a
 * thread that helps the workers. */
void opstat_merge_moved(struct opstat *to, const struct opstat *from);

/* "open", "stat", "read", ... */
const char *opstat_name(enum mlgen_op op);
