/* SPDX-License-Identifier: Apache-2.0 */
/* hist.h - a histogram of nanoseconds, and moments of a series. */
#pragma once

#include <math.h>
#include <stdint.h>

/* ---- a log-linear histogram of nanoseconds: O(1), mergeable, 0.4 % ---- */

/*
 * Buckets have 7 sub-bucket bits: values below 256 are exact, larger buckets are at most 1/128 of
 * their value wide, so a midpoint errs by at most 0.39 %. The range is 2^42 ns (73 minutes); larger
 * values are counted in the last bucket and in `saturated`, and remain exact in max and sum. There
 * is one writer; the status line may read at the same time (every member is a relaxed 64-bit word).
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
	double sum_squares; /* sum of ns^2 */
	uint64_t buckets[HIST_BUCKETS];
};

/* Allocate an empty histogram (36 KiB, whose pages are touched when used). */
struct hist *hist_new(void);
void hist_free(struct hist *h); /* NULL is fine */
void hist_reset(struct hist *h);

/* Add `from` to `to`. The result is exact in any order. */
void hist_merge(struct hist *to, const struct hist *from);

/*
 * Subtract `before`, an earlier copy of `to`: the values added since that copy remain. Minimum and
 * maximum are bucket midpoints, or exact if they lie outside the earlier range. If `to` was reset
 * in between, negative differences count as 0.
 */
void hist_subtract(struct hist *to, const struct hist *before);

/* Add `from` to `to`, even while another thread adds values to `from`. */
void hist_merge_live(struct hist *to, const struct hist *from);

/*
 * The smallest bucket midpoint with at least ceil(percent/100 * count) values at or below it,
 * clamped to [min, max]; 100 gives max; 0 when empty.
 */
uint64_t hist_percentile(const struct hist *h, double percent);

/* Number of values above the percentile's rank: count - ceil(p * count). */
uint64_t hist_beyond(const struct hist *h, double percent);

double hist_mean(const struct hist *h);   /* 0 when empty */
double hist_stddev(const struct hist *h); /* population */

/* The first and the last used bucket; if the histogram is empty, first > last. Read only these
 * buckets: reading a page that was never touched may allocate memory. */
unsigned hist_first_bucket(const struct hist *h);
unsigned hist_last_bucket(const struct hist *h);

/* Midpoint and lower bound of a bucket. */
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

/* Store a member without tearing; a plain store on 64-bit machines. */
#define HIST_STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

/* Slow path of hist_add: a new minimum or maximum, or a value beyond the range. */
void hist_add_extreme(struct hist *h, uint64_t ns) __attribute__((cold));

/* Add a value: O(1), about 2 ns. The writer only. */
static inline void hist_add(struct hist *h, uint64_t ns)
{
	uint64_t *bucket = &h->buckets[hist_bucket_of(ns)];
	/* A signed conversion is one instruction, and the square is the same. */
	double value = (double)(int64_t)ns;
	double squares = h->sum_squares + value * value;

	HIST_STORE(*bucket, *bucket + 1);
	HIST_STORE(h->count, h->count + 1);
	HIST_STORE(h->sum_ns, h->sum_ns + ns);
	__atomic_store(&h->sum_squares, &squares, __ATOMIC_RELAXED);
	if (ns < h->min_ns || ns > h->max_ns || ns >> HIST_RANGE_BITS)
		hist_add_extreme(h, ns);
}

/* ---- running mean and standard deviation ---- */

/* Mean and deviation of a population, updated with each value (Welford 1962). Sums of squares of
 * large values would lose precision. A zeroed struct is empty. */
struct moments {
	uint64_t count;
	double mean;    /* 0 if empty */
	double squares; /* sum of squared differences from the mean */
};

static inline void moments_add(struct moments *m, double v)
{
	double delta = v - m->mean;

	m->count++;
	m->mean += delta / (double)m->count;
	m->squares += delta * (v - m->mean);
}

/* NaN if empty. */
static inline double moments_mean(const struct moments *m)
{
	return m->count ? m->mean : (double)NAN;
}

/* NaN if empty. */
static inline double moments_stdev(const struct moments *m)
{
	return m->count ? sqrt(m->squares / (double)m->count) : (double)NAN;
}
