/* SPDX-License-Identifier: Apache-2.0 */
/* score_internal.h - profiles of traces, distances between them, and the figures compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "base/vec.h"
#include "trace/model/model.h"
#include "tracing/score/score.h"

/* ---- distances ---- */

/* A value, weighted by how often or for how long it occurred. */
struct weighted {
	double value, weight;
};

/*
 * Distances of two distributions, each in ascending order of values, with weights above 0. A
 * distance is symmetric, and 0 for equal distributions. NaN if one of them is empty.
 */

/* Kolmogorov and Smirnov's D: the largest distance of the distribution functions, 0 to 1. */
double distance_ks(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count);
/* Wasserstein's W1, in the unit of the values: the area between the distribution functions. */
double distance_w1(const struct weighted *a, size_t a_count, const struct weighted *b,
		   size_t b_count);

/* Total variation of two mixes of n kinds, by their counts: 0 = equal shares, 1 = no kind in
 * common. NaN if one of them is empty. */
double distance_variation(const double *a, const double *b, size_t n);

/* |candidate - real| / |real|; 0 for equal numbers, infinity if only `real` is 0. NaN if one of
 * them is NaN. */
double distance_relative(double real, double candidate);

/* |ln(candidate / real)|, so that twice and half are at the same distance. NaN unless both are
 * above 0. */
double distance_ratio(double real, double candidate);

/* Pearson's correlation of n pairs. NaN for fewer than two, or if one side does not vary. */
double distance_pearson(const double *x, const double *y, size_t n);

/* Standard deviation of a population divided by its mean. NaN if it is empty, or if its mean is
 * 0. */
double distance_variability(const double *x, size_t n);

/* The mean of the values, and the quantile: the smallest value with at least `share` (0 to 1) of
 * all weight at or below it. NaN if there is no value. */
double weighted_mean(const struct weighted *a, size_t count);
double weighted_quantile(const struct weighted *a, size_t count, double share);

/* ---- distributions ---- */

/* Up to this many different values are stored exactly. If there are more, all values are counted in
 * classes, 128 for each power of two, which is exact to 0.4 %. */
#define SPREAD_EXACT 4096

struct spread_value {
	uint64_t value, weight;
};

/* A zeroed struct is empty. */
struct spread {
	struct map values;
	VEC(struct spread_value) exact; /* numbered by `values` */
	double *classes;                /* NULL = exact */
	uint64_t count;                 /* values that were added */
};

void spread_add(struct spread *s, uint64_t value, uint64_t weight);
void spread_fini(struct spread *s);

static inline bool spread_is_exact(const struct spread *s)
{
	return !s->classes;
}

/* The values in ascending order; the caller frees them. If one of two compared distributions is in
 * classes, the other must be in classes, too. */
struct weighted *spread_points(const struct spread *s, bool in_classes, size_t *count);

/* The values of two distributions: exact if both are exact, otherwise in classes. */
struct spread_pair {
	struct weighted *a, *b; /* owned */
	size_t a_count, b_count;
};

struct spread_pair spread_pair_of(const struct spread *a, const struct spread *b);
void spread_pair_fini(struct spread_pair *t);

/* ---- reuse distances ---- */

/*
 * The stack distance of Mattson et al. (IBM Systems Journal 9/2, 1970): an LRU cache of c blocks
 * hits exactly the accesses with a distance below c. It is exact up to `most` different blocks.
 * With more, every second, fourth, ... block is sampled by its hash, and counts as two, four, ...
 * (Waldspurger et al., Efficient MRC construction with SHARDS, FAST '15).
 */
struct reuse;

#define REUSE_COLD UINT64_MAX /* the first access */

/* `most` is a power of two, 16 at least. Needs about 40 bytes for each block. */
struct reuse *reuse_new(uint32_t most);
void reuse_free(struct reuse *r); /* NULL is fine */

/* Access a block. Returns the number of accesses that this access represents, with *distance in
 * blocks. 0 if the block is not sampled; *distance is not set. */
uint64_t reuse_access(struct reuse *r, uint64_t key, uint64_t *distance);

/* Different blocks so far, or an estimate. */
uint64_t reuse_blocks(const struct reuse *r);

/* ---- rounds ---- */

/*
 * The order, completeness and number of visits of items: the n-th visit of an item is in round n.
 * Markers of epochs would be less exact, since loaders read ahead of them.
 */
struct rounds_sums {
	uint64_t rounds, visits, items;
	double order;  /* mean correlation of a round with the round before */
	double places; /* correlation of the first round with the items' numbers */
};

/* Later rounds are counted as one. */
enum { ROUNDS_MAX = 64 };

/* A zeroed struct is empty. */
struct rounds {
	struct keyed items; /* struct round_place */
	struct round {
		uint32_t next; /* position */
		struct order order;
	} at[ROUNDS_MAX];
	struct order places_order;
	struct rounds_sums sums;
};

void rounds_visit(struct rounds *b, uint64_t item);
bool rounds_has(const struct rounds *b, uint64_t item);
/* Compute the sums. A correlation without two items is NaN. */
struct rounds_sums rounds_finish(struct rounds *b);
void rounds_fini(struct rounds *b);

/* ---- profiles ---- */

enum {
	PROFILE_PHASES = 16, /* the last phase includes all phases beyond this limit */
	PROFILE_NAME_BYTES = 32,
};

/* The name of the phase of operations between phases. */
#define PROFILE_BETWEEN "between"

/* Operations in flight. A period of at least a millisecond without any is idle. */
struct profile_inflight {
	struct spread depth; /* weight: ns */
	uint64_t idle_count, idle_ns;
};

/* Add a piece of time up to until_ns. */
void profile_inflight_add(struct profile_inflight *to, const struct inflight_piece *piece,
			  uint64_t until_ns);

struct profile_phase {
	char name[PROFILE_NAME_BYTES];
	/* Calls on files in scope that did not fail, by enum trace_op. */
	double operations[TRACE_FAULT];
	uint64_t calls, read_bytes, written_bytes;
	struct spread read_sizes, write_sizes;
	uint64_t files;
	struct spread file_sizes, file_samples;
	uint64_t followed, sequential; /* accesses after another; those in sequence */
	struct spread seeks;           /* bytes, of accesses that are not in sequence */
	/* Rounds of samples, if markers number them, and of opens of files. */
	bool has_samples;
	struct rounds_sums rounds, file_rounds;
	struct spread reuse; /* blocks; first accesses are counted in `cold` */
	double accesses, cold;
	struct spread think, steps; /* ns */
	struct profile_inflight inflight;
	uint64_t duration_ns;
	double gini;    /* inequality of the bytes of threads */
	double workers; /* workers that ran at the same time */
	double *series; /* bytes in each interval, by the start of their call */
	size_t series_count;
	uint64_t series_start_ns, series_step_ns;
	uint64_t cache_bytes; /* added to the page cache */
	bool has_cache;
	struct spread block_sizes;
};

struct profile {
	struct profile_phase *phases;
	size_t count;
	uint64_t records;
	uint64_t epochs;      /* number of marked epochs */
	uint64_t other_calls; /* calls on files out of scope */
	uint64_t failed_calls;
	double blocks; /* different blocks of PROFILE_BLOCK that were read */
	char *host;    /* NULL = unknown */
	char *storage; /* mounts of the files that were read and written; NULL = unknown */
	struct trace_read read;
};

/*
 * Profile a trace, which is read twice, in memory that does not grow with its length. With `whole`
 * there is one phase, "all". 0, or -errno with err: as trace_reader_open, or the trace cannot be
 * read.
 */
int profile_trace(struct profile *to, const char *path, bool whole, struct mlgen_err *err);
void profile_fini(struct profile *p); /* accepts a zeroed struct */

/* NULL if there is no such phase, or no call in it. */
const struct profile_phase *profile_find(const struct profile *p, const char *name);

/* Files, samples and threads by phase, while a trace is profiled. */
struct profile_books {
	struct phase_book {
		struct rounds samples, files;
		struct keyed file_list;   /* struct phase_file */
		struct keyed thread_list; /* struct phase_thread */
	} * of[PROFILE_PHASES];
	struct positions positions;
	struct reuse *reuse; /* all phases share one, as they share the page cache */
};

void books_init(struct profile_books *b);
void books_fini(struct profile_books *b);

/* Add a call that did not fail, to phase number n, which is `p`. */
void books_call(struct profile_books *b, struct profile_phase *p, size_t n,
		const struct trace_record *r);
/* Add the marker of a sample. */
void books_sample(struct profile_books *b, struct profile_phase *p, size_t n,
		  const struct trace_record *r);
/* Call when all records were added. */
void books_finish(struct profile_books *b, struct profile *p);

/* ---- the figures that are compared ---- */

/* Two traces and one of their phases. The phase is empty in a trace that does not have it. */
struct score_pair {
	const struct profile *real, *candidate;
	const struct profile_phase *a, *b;
};

struct score_distance {
	double value;    /* NaN = unknown; `why` is the reason */
	double at_least; /* the limit is at least this, since chance alone can cause this distance;
			    0 = none */
	const char *why;
};

/* A figure of a metric. A metric fails if one of its figures fails. */
struct score_part {
	unsigned metric; /* 1 to SCORE_METRICS */
	const char *name;
	double distilled, preset; /* thresholds; NaN = none */
	struct score_distance (*distance)(const struct score_pair *p,
					  const struct score_part *part);
	/* Arguments of the function: a member of struct profile_phase, the share of a quantile, and
	 * the reason why the distance may be unknown. */
	size_t off;
	double share;
	const char *why;
};

/* Sorted by metric; the last row has no name. */
extern const struct score_part score_parts[];

/* Does the metric depend on the speed of host and storage? */
static inline bool score_is_timed(unsigned metric)
{
	return metric >= 8;
}
