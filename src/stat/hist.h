/* SPDX-License-Identifier: Apache-2.0 */
/* hist.h - a histogram of nanoseconds, and moments of a series. */
#pragma once

#include <math.h>
#include <stdint.h>

/* ---- a log-linear histogram of nanoseconds: O(1), mergeable, 0.4 % ---- */

/*
 * 7 sub-bucket bits: values below 256 are exact, above that a bucket is at most 1/128 of its value
 * wide, so a midpoint errs by at most 0.39 %. Range 2^42 ns (73 minutes); larger values are counted
 * in the last bucket and in `saturated`, and stay exact in max and sum. One writer; the status line
 * may read while it writes (every field is a relaxed 64-bit word).
 */
#define HIST_BITS 7
#define HIST_RANGE_BITS 42
#define HIST_BUCKETS ((HIST_RANGE_BITS - HIST_BITS + 1) << HIST_BITS)

struct hist {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns; /* UINT64_MAX while empty */
	uint64_t max_ns;
	uint64_t saturated;
	double sum_squares; /* of ns */
	uint64_t buckets[HIST_BUCKETS];
};

/* A new, empty one (36 KiB, pages touched as they are used). */
struct hist *hist_new(void);
void hist_free(struct hist *h); /* NULL is fine */
void hist_reset(struct hist *h);

/* to += from. Exact, in any order. */
void hist_merge(struct hist *to, const struct hist *from);

/*
 * to -= before, which is an earlier copy of it: what the interval between them holds. Its least and
 * largest are the middles of their buckets, unless nothing was as small, or as large, before; then
 * they are exact. Where `to` was reset meanwhile, what came behind that.
 */
void hist_subtract(struct hist *to, const struct hist *before);

/* to += from, while another thread may be adding to that. */
void hist_gather(struct hist *to, const struct hist *from);

/*
 * The smallest bucket midpoint with at least ceil(percent/100 * count) values at or below it,
 * clamped to [min, max]; 100 gives max; 0 when empty.
 */
uint64_t hist_percentile(const struct hist *h, double percent);

/* How many values lie beyond that percentile's rank: count - ceil(p * count). */
uint64_t hist_beyond(const struct hist *h, double percent);

double hist_mean(const struct hist *h);   /* 0 when empty */
double hist_stddev(const struct hist *h); /* population */

/*
 * The first and the last bucket of what was counted; empty: the first is behind the last. Whoever
 * looks at buckets looks from one to the other: a page that was never used may take memory when it
 * is read.
 */
unsigned hist_first(const struct hist *h);
unsigned hist_last(const struct hist *h);

/* Bucket geometry, for readers of bins. */
uint64_t hist_bucket_midpoint(unsigned bucket);
uint64_t hist_bucket_least(unsigned bucket);

static inline unsigned hist_bucket_of(uint64_t ns)
{
	unsigned shift;

	if (ns < 2u << HIST_BITS)
		return (unsigned)ns;
	if (ns >> HIST_RANGE_BITS)
		return HIST_BUCKETS - 1;
	shift = 63 - (unsigned)__builtin_clzll(ns) - HIST_BITS;
	return (shift << HIST_BITS) + (unsigned)(ns >> shift);
}

/* A word of a histogram, whole: on a 64-bit machine a plain store. */
#define HIST_STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

/* A value beyond all before it, or beyond the range: hist_add's, and seldom. */
void hist_add_extreme(struct hist *h, uint64_t ns) __attribute__((cold));

/* Count one value: O(1), about 2 ns. The writer only. */
static inline void hist_add(struct hist *h, uint64_t ns)
{
	uint64_t *bucket = &h->buckets[hist_bucket_of(ns)];
	/* Signed is one instruction, and its square is the same. */
	double value = (double)(int64_t)ns;
	double squares = h->sum_squares + value * value;

	HIST_STORE(*bucket, *bucket + 1);
	HIST_STORE(h->count, h->count + 1);
	HIST_STORE(h->sum_ns, h->sum_ns + ns);
	__atomic_store(&h->sum_squares, &squares, __ATOMIC_RELAXED);
	if (ns < h->min_ns || ns > h->max_ns || ns >> HIST_RANGE_BITS)
		hist_add_extreme(h, ns);
}

/* ---- mean and standard deviation of numbers as they come ---- */

/*
 * Of a population, one value at a time (Welford 1962): exact where sums of squares of large values
 * would lose the difference. A zeroed one is empty.
 */
struct moments {
	uint64_t count;
	double mean;    /* 0 of nothing */
	double squares; /* of the differences from the mean, summed */
};

static inline void moments_add(struct moments *m, double v)
{
	double delta = v - m->mean;

	m->count++;
	m->mean += delta / (double)m->count;
	m->squares += delta * (v - m->mean);
}

/* NaN of nothing. */
static inline double moments_mean(const struct moments *m)
{
	return m->count ? m->mean : (double)NAN;
}

/* NaN of nothing. */
static inline double moments_stdev(const struct moments *m)
{
	return m->count ? sqrt(m->squares / (double)m->count) : (double)NAN;
}
