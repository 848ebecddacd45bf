/* SPDX-License-Identifier: Apache-2.0 */
/* score_parts.c - M1 to M12: the figures of two traces that are compared, and their thresholds. */
#include "tracing/score/score_internal.h"

#include <math.h>

#include "base/util.h"

/* Miss ratios are compared at this many cache sizes, up to the size of all that the real trace
 * read. */
#define CACHES 10
/* Number of idle times that chance may add or remove. The limit that follows is capped, because a
 * limit of 1 would allow everything. */
#define IDLE_BY_CHANCE 2.
#define IDLE_BY_CHANCE_MOST .5
/* A correlation needs at least this many seconds, and this coefficient of variation. */
#define SERIES_LEAST 30
#define SERIES_VARIABILITY .2

/* An infinite distance (from a figure that is 0) is reported as 1. */
static struct score_distance apart(double value, const char *why)
{
	return (struct score_distance){ .value = isinf(value) ? 1 : value,
					.why = isnan(value) ? why : NULL };
}

static struct score_distance difference(double a, double b, const char *why)
{
	return apart(fabs(a - b), why);
}

/* ---- distributions ---- */

static const struct spread *spread_of(const struct profile_phase *p, const struct score_part *part)
{
	return (const struct spread *)((const char *)p + part->off);
}

/* Does only one of the distributions have values? Then the distance is the largest possible. */
static bool is_one_sided(const struct spread *a, const struct spread *b)
{
	return (a->count == 0) != (b->count == 0);
}

static struct score_distance spread_ks(const struct score_pair *p, const struct score_part *part)
{
	const struct spread *a = spread_of(p->a, part), *b = spread_of(p->b, part);

	if (is_one_sided(a, b))
		return apart(1, NULL);
	struct spread_pair t = spread_pair_of(a, b);
	double d = distance_ks(t.a, t.a_count, t.b, t.b_count);
	spread_pair_fini(&t);
	return apart(d, part->why);
}

/* Replace values by their logarithms to base 2. */
static void to_logarithm(struct weighted *w, size_t count)
{
	for (size_t i = 0; i < count; i++)
		w[i].value = w[i].value > 0 ? log2(w[i].value) : 0;
}

static struct score_distance spread_w1_log2(const struct score_pair *p,
					    const struct score_part *part)
{
	struct spread_pair t = spread_pair_of(spread_of(p->a, part), spread_of(p->b, part));

	to_logarithm(t.a, t.a_count);
	to_logarithm(t.b, t.b_count);
	double d = distance_w1(t.a, t.a_count, t.b, t.b_count);
	spread_pair_fini(&t);
	return apart(d, part->why);
}

/* The quantiles at `share` + `off` and at `share` - `off`: the larger of their distances from the
 * quantile at `share`. */
static double quantile_width(const struct weighted *w, size_t count, double share, double off)
{
	double at = weighted_quantile(w, count, share);

	return fmax(weighted_quantile(w, count, fmin(share + off, 1)) - at,
		    at - weighted_quantile(w, count, fmax(share - off, 0)));
}

/* Chance moves the share of a quantile of n values by sqrt(share (1 - share) / n), and two
 * quantiles by sqrt(2) times that relative to each other. Twice as much is allowed, which chance
 * exceeds in one of 20 cases. */
static struct score_distance spread_quantile(const struct score_pair *p,
					     const struct score_part *part)
{
	const struct spread *a = spread_of(p->a, part), *b = spread_of(p->b, part);
	double share = part->share;
	struct spread_pair t = spread_pair_of(a, b);
	double at = weighted_quantile(t.a, t.a_count, share);
	struct score_distance d =
		apart(distance_relative(at, weighted_quantile(t.b, t.b_count, share)), part->why);
	double n = (double)u64_min(a->count, b->count);
	double off = 2 * sqrt(2 * share * (1 - share) / n);

	if (n > 0 && at > 0)
		d.at_least = fmax(quantile_width(t.a, t.a_count, share, off),
				  quantile_width(t.b, t.b_count, share, off)) /
			     at;
	spread_pair_fini(&t);
	return d;
}

/* ---- M1 to M5: operations, bytes, sizes, files and sequence ---- */

static struct score_distance operation_mix(const struct score_pair *p,
					   const struct score_part *part)
{
	if (!p->a->calls != !p->b->calls)
		return apart(1, NULL);
	return apart(distance_variation(p->a->operations, p->b->operations, TRACE_FAULT),
		     part->why);
}

static struct score_distance counts_apart(const struct score_pair *p, const struct score_part *part)
{
	const uint64_t *a = (const uint64_t *)((const char *)p->a + part->off);
	const uint64_t *b = (const uint64_t *)((const char *)p->b + part->off);

	return apart(*a || *b ? distance_relative((double)*a, (double)*b) : (double)NAN, part->why);
}

static struct score_distance file_samples(const struct score_pair *p, const struct score_part *part)
{
	if (is_one_sided(&p->a->file_samples, &p->b->file_samples))
		return apart((double)NAN, "one trace marks no samples");
	return spread_ks(p, part);
}

static double sequential_of(const struct profile_phase *p)
{
	return p->followed ? (double)p->sequential / (double)p->followed : (double)NAN;
}

static struct score_distance sequential(const struct score_pair *p, const struct score_part *part)
{
	return difference(sequential_of(p->a), sequential_of(p->b), part->why);
}

/* ---- M6, M7: rounds and reuse ---- */

/* Rounds of samples if both traces number them, otherwise of files. */
static const struct rounds_sums *rounds_of(const struct score_pair *p,
					   const struct profile_phase *of)
{
	return p->a->has_samples && p->b->has_samples ? &of->rounds : &of->file_rounds;
}

/* The part of all items that a trace visited. The trace with more items has all of them. */
static double coverage_of(const struct score_pair *p, const struct profile_phase *of)
{
	uint64_t items = u64_max(rounds_of(p, p->a)->items, rounds_of(p, p->b)->items);
	uint64_t met = rounds_of(p, of)->items;

	return met ? (double)met / (double)items : (double)NAN;
}

static struct score_distance coverage(const struct score_pair *p, const struct score_part *part)
{
	return difference(coverage_of(p, p->a), coverage_of(p, p->b), part->why);
}

/*
 * Visits of an item in an epoch. A trace without markers of epochs is assumed to have as many
 * epochs as the other trace, because the n-th visit of a file with many samples is not the n-th
 * epoch.
 */
static double visits_of(const struct profile *of, const struct profile *other,
			const struct rounds_sums *r)
{
	uint64_t marked = of->epochs ? of->epochs : other->epochs;

	return r->items ? (double)r->visits / (double)r->items /
				  (double)(marked ? marked : r->rounds)
			: (double)NAN;
}

static struct score_distance multiplicity(const struct score_pair *p, const struct score_part *part)
{
	return difference(visits_of(p->real, p->candidate, rounds_of(p, p->a)),
			  visits_of(p->candidate, p->real, rounds_of(p, p->b)), part->why);
}

/* The correlation of n shuffled items differs from 0 by 1 / sqrt(n) by chance, and two of them by
 * sqrt(2 / n). Three times that is allowed. */
static struct score_distance orders(const struct score_pair *p, double a, double b, const char *why)
{
	struct score_distance d = difference(a, b, why);
	uint64_t items = u64_min(rounds_of(p, p->a)->items, rounds_of(p, p->b)->items);

	if (items)
		d.at_least = 3 * sqrt(2 / (double)items);
	return d;
}

static struct score_distance order(const struct score_pair *p, const struct score_part *part)
{
	return orders(p, rounds_of(p, p->a)->order, rounds_of(p, p->b)->order, part->why);
}

static struct score_distance first_order(const struct score_pair *p, const struct score_part *part)
{
	return orders(p, rounds_of(p, p->a)->places, rounds_of(p, p->b)->places, part->why);
}

/* The part of all accesses that an LRU cache of that size misses. */
static double miss_ratio(const struct profile_phase *p, const struct weighted *w, size_t count,
			 double blocks)
{
	double misses = p->cold;

	for (size_t i = 0; i < count; i++)
		if (w[i].value >= blocks)
			misses += w[i].weight;
	return misses / p->accesses;
}

static struct score_distance miss_ratios(const struct score_pair *p, const struct score_part *part)
{
	double sum = 0;

	if (!(p->a->accesses > 0) || !(p->b->accesses > 0))
		return apart((double)NAN, part->why);
	struct spread_pair t = spread_pair_of(&p->a->reuse, &p->b->reuse);
	for (unsigned i = 1; i <= CACHES; i++) {
		double blocks = ceil(p->real->blocks * i / CACHES);

		sum += fabs(miss_ratio(p->a, t.a, t.a_count, blocks) -
			    miss_ratio(p->b, t.b, t.b_count, blocks));
	}
	spread_pair_fini(&t);
	struct score_distance d = apart(sum / CACHES, NULL);
	/* Chance moves a share of n blocks by at most sqrt(1 / (4 n)), and two shares by
	 * sqrt(1 / (2 n)) relative to each other. */
	d.at_least = sqrt(1 / (2 * fmin(p->real->blocks, p->candidate->blocks)));
	return d;
}

/* ---- M8 to M10: think time, steps and concurrency ---- */

static struct score_distance think(const struct score_pair *p, const struct score_part *part)
{
	struct spread_pair t = spread_pair_of(&p->a->think, &p->b->think);
	double mean = weighted_mean(t.a, t.a_count);
	double d = distance_w1(t.a, t.a_count, t.b, t.b_count);

	spread_pair_fini(&t);
	return apart(mean > 0 ? d / mean : (double)NAN, part->why);
}

/* Chance decides whether idle times of about a millisecond, and those at either end of the phase,
 * are counted. If there are few idle times, two of them already exceed the threshold. */
static struct score_distance idle_count(const struct score_pair *p, const struct score_part *part)
{
	struct score_distance d = counts_apart(p, part);

	if (p->a->inflight.idle_count)
		d.at_least = fmin(IDLE_BY_CHANCE / (double)p->a->inflight.idle_count,
				  IDLE_BY_CHANCE_MOST);
	return d;
}

static struct score_distance duration(const struct score_pair *p, const struct score_part *part)
{
	if (!p->a->duration_ns || !p->b->duration_ns)
		return apart((double)NAN, part->why);
	return apart(distance_relative((double)p->a->duration_ns, (double)p->b->duration_ns), NULL);
}

static struct score_distance gini(const struct score_pair *p, const struct score_part *part)
{
	return difference(p->a->gini, p->b->gini, part->why);
}

static struct score_distance workers(const struct score_pair *p, const struct score_part *part)
{
	return apart(p->a->workers > 0 || p->b->workers > 0
			     ? distance_relative(p->a->workers, p->b->workers)
			     : (double)NAN,
		     part->why);
}

/* ---- M11, M12: bandwidth and the kernel ---- */

static size_t seconds_of(const struct score_pair *p)
{
	size_t n =
		p->a->series_count < p->b->series_count ? p->a->series_count : p->b->series_count;

	/* Long traces have longer intervals, and intervals of different lengths are not compared.
	 */
	return p->a->series_step_ns == p->b->series_step_ns ? n : 0;
}

static bool has_series(const struct score_pair *p)
{
	return seconds_of(p) >= SERIES_LEAST &&
	       distance_variability(p->a->series, p->a->series_count) >= SERIES_VARIABILITY;
}

static const char *const no_series =
	"below 30 seconds, or nearly constant in all traces; the means are compared";

static struct score_distance bandwidth_course(const struct score_pair *p,
					      const struct score_part *part)
{
	if (!has_series(p))
		return apart((double)NAN, no_series);
	return apart(1 - distance_pearson(p->a->series, p->b->series, seconds_of(p)), part->why);
}

static struct score_distance bandwidth_varies(const struct score_pair *p,
					      const struct score_part *part)
{
	if (!has_series(p))
		return apart((double)NAN, no_series);
	return apart(distance_ratio(distance_variability(p->a->series, p->a->series_count),
				    distance_variability(p->b->series, p->b->series_count)),
		     part->why);
}

static double bandwidth_of(const struct profile_phase *p)
{
	return p->duration_ns ? (double)(p->read_bytes + p->written_bytes) / (double)p->duration_ns
			      : (double)NAN;
}

static struct score_distance bandwidth(const struct score_pair *p, const struct score_part *part)
{
	if (has_series(p))
		return apart((double)NAN, "its course is compared instead");
	return apart(distance_relative(bandwidth_of(p->a), bandwidth_of(p->b)), part->why);
}

static double hits_of(const struct profile_phase *p)
{
	return p->has_cache && p->read_bytes
		       ? fmax(0, 1 - (double)p->cache_bytes / (double)p->read_bytes)
		       : (double)NAN;
}

static struct score_distance cache_hits(const struct score_pair *p, const struct score_part *part)
{
	return difference(hits_of(p->a), hits_of(p->b), part->why);
}

static struct score_distance block_size(const struct score_pair *p, const struct score_part *part)
{
	if (!p->a->block_sizes.count || !p->b->block_sizes.count)
		return apart((double)NAN, part->why);
	return spread_ks(p, part);
}

/* ---- the table ---- */

#define NONE ((double)NAN)
/* ln 1.25: allows ratios from .8 to 1.25. */
#define LN_5_4 .22314355131420976

/* The thresholds are those of COMPARING TRACES in mlgen(1). */
/* clang-format off */
#define AT(m) .off = offsetof(struct profile_phase, m)
const struct score_part score_parts[] = {
	{ 1, "operations: mix", .03, .01, operation_mix, .why = "no operation" },
	{ 2, "bytes read", .02, .005, counts_apart, AT(read_bytes), .why = "nothing was read" },
	{ 2, "bytes written", .02, .005, counts_apart, AT(written_bytes), .why = "nothing was written" },
	{ 3, "read size: D", .05, .02, spread_ks, AT(read_sizes), .why = "nothing was read" },
	{ 3, "read size: W1, log2", .25, .1, spread_w1_log2, AT(read_sizes), .why = "one trace read nothing" },
	{ 3, "write size: D", .05, .02, spread_ks, AT(write_sizes), .why = "nothing was written" },
	{ 3, "write size: W1, log2", .25, .1, spread_w1_log2, AT(write_sizes), .why = "one trace wrote nothing" },
	{ 4, "files", .05, .02, counts_apart, AT(files), .why = "no file was used" },
	{ 4, "file size: D", .05, .02, spread_ks, AT(file_sizes), .why = "no file was used" },
	{ 4, "samples a file: D", .05, .02, file_samples, AT(file_samples), .why = "no samples are marked" },
	{ 5, "in sequence", .02, .01, sequential, .why = "no access follows another in the same file" },
	{ 5, "seek: W1, log2", .5, NONE, spread_w1_log2, AT(seeks), .why = "one trace has no seeks" },
	{ 6, "coverage", .02, 0, coverage, .why = "nothing was read in rounds" },
	{ 6, "visits an epoch", .05, 0, multiplicity, .why = "nothing was read in rounds" },
	{ 6, "order of two rounds", .05, NONE, order, .why = "one trace has fewer than two rounds" },
	{ 6, "order of the first", .05, NONE, first_order, .why = "one trace does not number its samples" },
	{ 7, "miss ratios", .03, .01, miss_ratios, .why = "nothing was read at a known offset" },
	{ 8, "think time: W1 of mean", .1, .02, think, .why = "no time between the calls of a thread" },
	{ 8, "idle: times", .03, NONE, idle_count, AT(inflight.idle_count), .why = "storage was never idle for a millisecond" },
	{ 8, "idle: time", .05, NONE, counts_apart, AT(inflight.idle_ns), .why = "storage was never idle for a millisecond" },
	{ 9, "step: p50", .1, .05, spread_quantile, AT(steps), .share = .5, .why = "no steps are marked" },
	{ 9, "step: p95", .15, .1, spread_quantile, AT(steps), .share = .95, .why = "no steps are marked" },
	{ 9, "time of the phase", .1, .05, duration, .why = "the time of the phase is not known" },
	{ 10, "in flight: D", .1, .05, spread_ks, AT(inflight.depth), .why = "the durations of operations are not known" },
	{ 10, "Gini of threads", .05, .02, gini, .why = "no thread moved a byte" },
	{ 10, "threads", .05, NONE, workers, .why = "no thread moved a byte" },
	{ 11, "bandwidth: 1 - r", .2, .1, bandwidth_course, .why = "the bandwidth does not vary in the candidate" },
	{ 11, "bandwidth: ln of CoVs", LN_5_4, NONE, bandwidth_varies, .why = "the bandwidth does not vary in the candidate" },
	{ 11, "bandwidth: mean", .05, NONE, bandwidth, .why = "the time of the phase is not known" },
	{ 12, "cache hits", .05, .03, cache_hits, .why = "additions to the page cache were not recorded" },
	{ 12, "block size: D", .15, .1, block_size, AT(block_sizes), .why = "block requests were not recorded" },
	{ 0 },
};
#undef AT
/* clang-format on */
