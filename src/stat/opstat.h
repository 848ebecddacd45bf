/* SPDX-License-Identifier: Apache-2.0 */
/* opstat.h - statistics of a worker's operations, and sizes of requests. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <mlgen/engine.h>

#include "base/util.h"
#include "stat/hist.h"

/* ---- sizes of requests, by powers of two ---- */

#define SIZES_CLASSES 65

/*
 * Class n holds sizes above 2^(n-1) up to 2^n bytes, the last class everything above 2^63. A class
 * is reported by the largest size that occurred in it. One writer. A zeroed struct is empty.
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

/* Count n requests of this size. */
static inline void sizes_add(struct sizes *s, uint64_t bytes, uint64_t n)
{
	unsigned i = sizes_class_of(bytes);

	s->count[i] += n;
	if (n && bytes > s->largest[i])
		s->largest[i] = bytes;
}

/* Add `from` to `to`; the order of merges does not matter. */
void sizes_merge(struct sizes *to, const struct sizes *from);

/* Store the classes with at least one percent of all requests in `out`, the most frequent first,
 * up to `max`. Returns their number; 0 if nothing was counted. */
struct sizes_share {
	uint64_t bytes; /* largest size in the class */
	double percent;
};
unsigned sizes_shares(const struct sizes *s, struct sizes_share *out, unsigned max);

/* ---- statistics of one worker's operations ---- */

/* CPU time and faults of one thread. */
struct usage {
	uint64_t user_ns, system_ns;
	uint64_t waited_ns; /* runnable but not running; 0 may mean unknown */
	uint64_t context_switches, major_faults, minor_faults;
};

/* Measure the calling thread between usage_begin and usage_end (getrusage RUSAGE_THREAD). */
void usage_begin(struct usage *u);
void usage_end(struct usage *u);
void usage_add(struct usage *to, const struct usage *from);

/*
 * The classes of fio. Depth classes begin at 1, 2, 4, 8, 16, 32 and 64 and extend to the next
 * class. Batch size classes end at 0, 4, 8, 16, 32, 64 and unlimited, and begin after the previous
 * class.
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
 * Private to one worker, and merged after the worker has been joined. The status line reads
 * `io_bytes`, `linked`, `errors`, the counts of `lat`, `blocked_ns`, `reap_ns` and `idle_ns` while
 * the worker runs, so these are relaxed atomics with a single writer.
 */
struct opstat {
	/* Latencies from submit to completion of successful operations, by kind. */
	struct hist *lat[MLGEN_OPS];
	struct hist *sample; /* per sample, first submit to last completion */
	/* Operations done in chains: counted, not timed. */
	_Atomic uint64_t linked[MLGEN_OPS];
	/* Paced streams, 0 read, 1 write: intended start to submit, and to completion; otherwise
	 * empty. */
	struct hist *slat[2], *total[2];
	/* Operations by queue depth; calls of submit and reap by number of operations moved. */
	uint64_t depth[OPSTAT_DEPTHS], submits[OPSTAT_DEPTHS], reaps[OPSTAT_DEPTHS];
	/* Bytes transferred, 0 read, 1 written, and their value at the last opstat_reset.
	 * io_bytes itself never falls. */
	_Atomic uint64_t io_bytes[2], bytes_at_reset[2];
	uint64_t eval_bytes;     /* bytes read for evaluations */
	struct sizes sizes[2];   /* requested sizes: 0 read, 1 written */
	uint64_t short_ios[2];   /* resumed short transfers */
	_Atomic uint64_t errors; /* tolerated, see ignored_counts() in job.h */
	/*
	 * The longest time in `sample`, and the file of that sample; `of` is NULL if there is none.
	 */
	struct {
		uint64_t ns, file;
		const void *of; /* the dataset of the read thread */
	} slowest;
	/* Parts of the worker's wall time. */
	_Atomic uint64_t blocked_ns[MLGEN_OPS]; /* inside calls of each kind */
	_Atomic uint64_t reap_ns;               /* waiting in reap, async engines */
	_Atomic uint64_t idle_ns;               /* waiting for room or for work */
	uint64_t data_ns;                       /* producing or verifying data */
	uint64_t wall_ns;
	struct usage usage; /* filled in by the worker, see usage_begin */
};

/* Bytes transferred since opstat_reset. Any thread. */
static inline uint64_t opstat_io_bytes(const struct opstat *s, unsigned direction)
{
	/* Load this first: the writer raised io_bytes before, so io_bytes is not smaller. */
	uint64_t left_out = atomic_load(&s->bytes_at_reset[direction]);

	return atomic_load_explicit(&s->io_bytes[direction], memory_order_relaxed) - left_out;
}

/* Count an operation done in a chain. The worker only. */
static inline void opstat_add_linked(struct opstat *s, enum mlgen_op op)
{
	count_add(&s->linked[op], 1);
}

/* Count an error tolerated by continue_on_error or ignore_error. The worker only. */
static inline void opstat_add_error(struct opstat *s)
{
	count_add(&s->errors, 1);
}

void opstat_init(struct opstat *s); /* allocates the histograms */
void opstat_fini(struct opstat *s);
void opstat_reset(struct opstat *s); /* restart counting */
void opstat_merge(struct opstat *to, const struct opstat *from);
/* Merge only transfers with their latencies and errors, without samples and times: for a thread
 * that helps the workers. */
void opstat_merge_transfers(struct opstat *to, const struct opstat *from);

/* "open", "stat", "read", ... */
const char *opstat_name(enum mlgen_op op);
