/* SPDX-License-Identifier: Apache-2.0 */
/* hist.c - a log-linear histogram of nanoseconds: O(1), mergeable, 0.4 %. */
#include "stat/hist.h"

#include <math.h>
#include <stdbool.h>

#include "base/mem.h"
#include "base/util.h"

/* Relaxed order is enough for one writer with concurrent readers: a reader needs untorn words,
 * not an order among them. On every 64-bit machine these are plain loads and stores. */
#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define STORE(x, v) HIST_STORE(x, v)

static inline double load_f64(const double *x)
{
	double v;

	__atomic_load(x, &v, __ATOMIC_RELAXED);
	return v;
}

/* The rank of a percentile, 1 .. count; 0 when empty. */
static uint64_t rank_of(const struct hist *h, double percent)
{
	if (h->count == 0)
		return 0;
	if (percent >= 100)
		return h->count;
	double rank = percent / 100 * (double)h->count;
	/* 99.9 % of 1000 is 999, although the floating-point product is slightly larger. */
	rank = ceil(rank - rank * 1e-12);
	return rank < 1 ? 1 : (uint64_t)rank;
}

struct hist *hist_new(void)
{
	struct hist *h = mem_zalloc(sizeof(*h));

	h->min_ns = UINT64_MAX;
	return h;
}

void hist_free(struct hist *h)
{
	mem_free(h);
}

void hist_reset(struct hist *h)
{
	double zero = 0;

	if (h->count == 0)
		return;
	for (unsigned i = hist_first_bucket(h); i <= hist_last_bucket(h); i++)
		STORE(h->buckets[i], 0);
	STORE(h->count, 0);
	STORE(h->sum_ns, 0);
	STORE(h->min_ns, UINT64_MAX);
	STORE(h->max_ns, 0);
	STORE(h->saturated, 0);
	__atomic_store(&h->sum_squares, &zero, __ATOMIC_RELAXED);
}

void hist_merge(struct hist *to, const struct hist *from)
{
	if (from->count == 0)
		return; /* leaves the pages of an unused histogram untouched */
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->saturated += from->saturated;
	to->sum_squares += from->sum_squares;
	if (from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	for (unsigned i = hist_first_bucket(from); i <= hist_last_bucket(from); i++)
		to->buckets[i] += from->buckets[i];
}

static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void hist_subtract(struct hist *to, const struct hist *before)
{
	bool is_least_new = to->min_ns < before->min_ns;
	bool is_most_new = to->max_ns > before->max_ns;

	/* The count is summed up from the buckets, because differences are cut off at 0 after a
	 * reset. */
	to->count = 0;
	to->sum_ns = difference(to->sum_ns, before->sum_ns);
	to->saturated = difference(to->saturated, before->saturated);
	to->sum_squares -= before->sum_squares;
	for (unsigned i = hist_first_bucket(to); i <= hist_last_bucket(to); i++) {
		to->buckets[i] = difference(to->buckets[i], before->buckets[i]);
		to->count += to->buckets[i];
	}
	if (to->count == 0) {
		to->min_ns = UINT64_MAX;
		to->max_ns = 0;
		return;
	}
	unsigned first = hist_first_bucket(to), last = hist_last_bucket(to);
	while (first < last && to->buckets[first] == 0)
		first++;
	while (last > first && to->buckets[last] == 0)
		last--;
	if (!is_least_new)
		to->min_ns = u64_max(to->min_ns, hist_bucket_midpoint(first));
	if (!is_most_new)
		to->max_ns = u64_min(to->max_ns, hist_bucket_midpoint(last));
}

void hist_merge_live(struct hist *to, const struct hist *from)
{
	uint64_t least = LOAD(from->min_ns), most = LOAD(from->max_ns);

	if (LOAD(from->count) == 0 || least > most)
		return;
	to->sum_ns += LOAD(from->sum_ns);
	to->saturated += LOAD(from->saturated);
	to->sum_squares += load_f64(&from->sum_squares);
	if (least < to->min_ns)
		to->min_ns = least;
	if (most > to->max_ns)
		to->max_ns = most;
	/* All other buckets are empty, or were when min and max were read. */
	unsigned last = hist_bucket_of(most);
	for (unsigned i = hist_bucket_of(least); i <= last; i++) {
		uint64_t n = LOAD(from->buckets[i]);

		to->buckets[i] += n;
		to->count += n;
	}
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	uint64_t rank = rank_of(h, percent);

	if (rank == 0)
		return 0;
	if (percent >= 100)
		return h->max_ns;
	uint64_t seen = 0;
	unsigned bucket = hist_first_bucket(h);
	while (bucket < hist_last_bucket(h)) {
		seen += h->buckets[bucket];
		if (seen >= rank)
			break;
		bucket++;
	}
	uint64_t ns = hist_bucket_midpoint(bucket);
	if (ns < h->min_ns)
		return h->min_ns;
	return ns > h->max_ns ? h->max_ns : ns;
}

uint64_t hist_beyond(const struct hist *h, double percent)
{
	return h->count - rank_of(h, percent);
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum_ns / (double)h->count : 0;
}

double hist_stddev(const struct hist *h)
{
	if (h->count == 0)
		return 0;
	double mean = hist_mean(h);
	double variance = h->sum_squares / (double)h->count - mean * mean;
	/* Rounding can make the variance slightly negative. */
	return variance > 0 ? sqrt(variance) : 0;
}

unsigned hist_first_bucket(const struct hist *h)
{
	return hist_bucket_of(h->min_ns);
}

unsigned hist_last_bucket(const struct hist *h)
{
	return hist_bucket_of(h->max_ns);
}

static unsigned shift_of(unsigned bucket)
{
	return bucket < 2u << HIST_BITS ? 0 : (bucket >> HIST_BITS) - 1;
}

uint64_t hist_bucket_least(unsigned bucket)
{
	unsigned shift = shift_of(bucket);

	return (uint64_t)(bucket - (shift << HIST_BITS)) << shift;
}

uint64_t hist_bucket_midpoint(unsigned bucket)
{
	return hist_bucket_least(bucket) + (UINT64_C(1) << shift_of(bucket)) / 2;
}

void hist_add_extreme(struct hist *h, uint64_t ns)
{
	if (ns < h->min_ns)
		STORE(h->min_ns, ns);
	if (ns > h->max_ns)
		STORE(h->max_ns, ns);
	if (ns >> HIST_RANGE_BITS)
		STORE(h->saturated, h->saturated + 1);
}
