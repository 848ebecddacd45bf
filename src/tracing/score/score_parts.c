/* SPDX-License-Identifier: Apache-2.0 */
/* score_parts.c - M1 to M12: what of two traces is compared, and how far apart it may be. */
#include "tracing/score/score_parts.h"

#include <math.h>

#include "base/util.h"
#include "tracing/score/distance.h"
#include "tracing/score/spread_pair.h"

/* Sizes of caches that miss ratios are compared at, in parts of what the real trace read. */
#define CACHES 10
/* Times without an operation that chance makes more or less; of very few half of them at most,
 * since a limit of all would be none. */
#define IDLE_BY_CHANCE 2.
#define IDLE_BY_CHANCE_MOST .5
/* A correlation says something of so many seconds that vary so much. */
#define SERIES_LEAST 30
#define SERIES_VARIABILITY .2

/* Something where there should be nothing is all of it too much. */
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

static struct score_distance spread_ks(const struct spread *a, const struct spread *b,
				       const char *why)
{
	return apart(spread_pair_ks(a, b), why);
}

static struct score_distance spread_w1_log2(const struct spread *a, const struct spread *b,
					    const char *why)
{
	return apart(spread_pair_w1_log2(a, b), why);
}

/* The value at a share of n values is that at another one by chance: these are off by sqrt(share (1
 * - share) / n), and two are by sqrt(2) more off each other. Twice that is allowed, which chance
 * exceeds in one of 20. */
static struct score_distance spread_quantile(const struct spread *a, const struct spread *b,
					     double share, const char *why)
{
	struct score_distance d = apart(spread_pair_quantile(a, b, share), why);
	double n = (double)u64_min(a->count, b->count);

	if (n > 0)
		d.at_least = spread_pair_quantile_around(a, b, share,
							 2 * sqrt(2 * share * (1 - share) / n));
	return d;
}

/* ---- M1 to M5: what was asked for ---- */

static struct score_distance operation_mix(const struct score_pair *p)
{
	if (!p->a->calls != !p->b->calls)
		return apart(1, NULL);
	return apart(distance_variation(p->a->operations, p->b->operations, TRACE_FAULT),
		     "no operation");
}

static struct score_distance bytes_apart(uint64_t a, uint64_t b, const char *why)
{
	return apart(a || b ? distance_relative((double)a, (double)b) : (double)NAN, why);
}

static struct score_distance bytes_read(const struct score_pair *p)
{
	return bytes_apart(p->a->read_bytes, p->b->read_bytes, "nothing was read");
}

static struct score_distance bytes_written(const struct score_pair *p)
{
	return bytes_apart(p->a->written_bytes, p->b->written_bytes, "nothing was written");
}

static struct score_distance read_size(const struct score_pair *p)
{
	return spread_ks(&p->a->read_sizes, &p->b->read_sizes, "nothing was read");
}

static struct score_distance read_size_log(const struct score_pair *p)
{
	return spread_w1_log2(&p->a->read_sizes, &p->b->read_sizes, "one of them read nothing");
}

static struct score_distance write_size(const struct score_pair *p)
{
	return spread_ks(&p->a->write_sizes, &p->b->write_sizes, "nothing was written");
}

static struct score_distance write_size_log(const struct score_pair *p)
{
	return spread_w1_log2(&p->a->write_sizes, &p->b->write_sizes, "one of them wrote nothing");
}

static struct score_distance file_count(const struct score_pair *p)
{
	return bytes_apart(p->a->files, p->b->files, "no file was used");
}

static struct score_distance file_size(const struct score_pair *p)
{
	return spread_ks(&p->a->file_sizes, &p->b->file_sizes, "no file was used");
}

static struct score_distance file_samples(const struct score_pair *p)
{
	if (spread_is_one_sided(&p->a->file_samples, &p->b->file_samples))
		return apart((double)NAN, "one of them marks no samples");
	return spread_ks(&p->a->file_samples, &p->b->file_samples, "no samples are marked");
}

static double sequential_of(const struct profile_phase *p)
{
	return p->followed ? (double)p->sequential / (double)p->followed : (double)NAN;
}

static struct score_distance sequential(const struct score_pair *p)
{
	return difference(sequential_of(p->a), sequential_of(p->b),
			  "no access behind another in one file");
}

static struct score_distance score_parts_seek(const struct score_pair *p)
{
	return spread_w1_log2(&p->a->seeks, &p->b->seeks, "no seeks in one of them");
}

/* ---- M6, M7: again ---- */

static const char *const no_rounds = "nothing was read in rounds";

/* Of samples where both number them, else of files. */
static const struct rounds_sums *rounds_of(const struct score_pair *p,
					   const struct profile_phase *of)
{
	return p->a->has_samples && p->b->has_samples ? &of->rounds : &of->file_rounds;
}

/* Of the items that there are, as many as the one that knows more has met, the part that this one
 * has met. */
static double coverage_of(const struct score_pair *p, const struct profile_phase *of)
{
	uint64_t items = u64_max(rounds_of(p, p->a)->items, rounds_of(p, p->b)->items);
	uint64_t met = rounds_of(p, of)->items;

	return met ? (double)met / (double)items : (double)NAN;
}

static struct score_distance coverage(const struct score_pair *p)
{
	return difference(coverage_of(p, p->a), coverage_of(p, p->b), no_rounds);
}

/* Of each item in an epoch. Where one trace marks none it is held to have as many as the other: the
 * n-th visit of a file of many samples is no n-th epoch. */
static double visits_of(const struct profile *of, const struct profile *other,
			const struct rounds_sums *r)
{
	uint64_t marked = of->epochs ? of->epochs : other->epochs;

	return r->items ? (double)r->visits / (double)r->items /
				  (double)(marked ? marked : r->rounds)
			: (double)NAN;
}

static struct score_distance multiplicity(const struct score_pair *p)
{
	return difference(visits_of(p->real, p->candidate, rounds_of(p, p->a)),
			  visits_of(p->candidate, p->real, rounds_of(p, p->b)), no_rounds);
}

/* A correlation of n shuffled items is off 0 by 1 / sqrt(n) of chance, and two are by sqrt(2 / n)
 * off each other: three times that is allowed. */
static struct score_distance orders(const struct score_pair *p, double a, double b, const char *why)
{
	struct score_distance d = difference(a, b, why);
	uint64_t items = u64_min(rounds_of(p, p->a)->items, rounds_of(p, p->b)->items);

	if (items)
		d.at_least = 3 * sqrt(2 / (double)items);
	return d;
}

static struct score_distance order(const struct score_pair *p)
{
	return orders(p, rounds_of(p, p->a)->order, rounds_of(p, p->b)->order,
		      "one of them has no two rounds");
}

static struct score_distance first_order(const struct score_pair *p)
{
	return orders(p, rounds_of(p, p->a)->places, rounds_of(p, p->b)->places,
		      "one of them does not number its samples");
}

/* Misses of a cache of so many blocks, of all accesses. */
static double miss_ratio(const struct profile_phase *p, const struct weighted *w, size_t count,
			 double blocks)
{
	double misses = p->cold;

	for (size_t i = 0; i < count; i++)
		if (w[i].value >= blocks)
			misses += w[i].weight;
	return misses / p->touches;
}

static struct score_distance miss_ratios(const struct score_pair *p)
{
	struct spread_pair t;
	struct score_distance d;
	double sum = 0;

	if (!(p->a->touches > 0) || !(p->b->touches > 0))
		return apart((double)NAN, "nothing was read by its offset");
	t = spread_pair_of(&p->a->reuse, &p->b->reuse);
	for (unsigned i = 1; i <= CACHES; i++) {
		double blocks = ceil(p->real->blocks * i / CACHES);

		sum += fabs(miss_ratio(p->a, t.a, t.a_count, blocks) -
			    miss_ratio(p->b, t.b, t.b_count, blocks));
	}
	spread_pair_fini(&t);
	d = apart(sum / CACHES, NULL);
	/* A share of n blocks is off by sqrt(1 / (4 n)) of chance at most, and two are by sqrt(1 /
	 * (2 n)) off each other. */
	d.at_least = sqrt(1 / (2 * fmin(p->real->blocks, p->candidate->blocks)));
	return d;
}

/* ---- M8 to M10: when ---- */

static struct score_distance think(const struct score_pair *p)
{
	struct spread_pair t = spread_pair_of(&p->a->think, &p->b->think);
	double mean = weighted_mean(t.a, t.a_count);
	double d = distance_w1(t.a, t.a_count, t.b, t.b_count);

	spread_pair_fini(&t);
	return apart(mean > 0 ? d / mean : (double)NAN, "no time between the calls of a thread");
}

/* A time of about a millisecond is counted or not by chance, and so is one at an end of the phase:
 * two of few are more than the threshold. */
static struct score_distance idle_count(const struct score_pair *p)
{
	struct score_distance d = bytes_apart(p->a->inflight.idle_count, p->b->inflight.idle_count,
					      "storage was never idle for a millisecond");

	if (p->a->inflight.idle_count)
		d.at_least = fmin(IDLE_BY_CHANCE / (double)p->a->inflight.idle_count,
				  IDLE_BY_CHANCE_MOST);
	return d;
}

static struct score_distance idle_time(const struct score_pair *p)
{
	return bytes_apart(p->a->inflight.idle_ns, p->b->inflight.idle_ns,
			   "storage was never idle for a millisecond");
}

static struct score_distance step_p50(const struct score_pair *p)
{
	return spread_quantile(&p->a->steps, &p->b->steps, .5, "no steps are marked");
}

static struct score_distance step_p95(const struct score_pair *p)
{
	return spread_quantile(&p->a->steps, &p->b->steps, .95, "no steps are marked");
}

static struct score_distance duration(const struct score_pair *p)
{
	if (!p->a->duration_ns || !p->b->duration_ns)
		return apart((double)NAN, "it took no time that is known");
	return apart(distance_relative((double)p->a->duration_ns, (double)p->b->duration_ns), NULL);
}

static struct score_distance depth(const struct score_pair *p)
{
	return spread_ks(&p->a->inflight.depth, &p->b->inflight.depth,
			 "how long operations took is not known");
}

static struct score_distance gini(const struct score_pair *p)
{
	return difference(p->a->gini, p->b->gini, "no thread moved a byte");
}

static struct score_distance workers(const struct score_pair *p)
{
	return apart(p->a->workers > 0 || p->b->workers > 0
			     ? distance_relative(p->a->workers, p->b->workers)
			     : (double)NAN,
		     "no thread moved a byte");
}

/* ---- M11, M12: how fast, and from where ---- */

static size_t seconds_of(const struct score_pair *p)
{
	size_t n =
		p->a->series_count < p->b->series_count ? p->a->series_count : p->b->series_count;

	/* Those that are longer than a second are of hours: as they are. */
	return p->a->series_step_ns == p->b->series_step_ns ? n : 0;
}

static bool has_series(const struct score_pair *p)
{
	return seconds_of(p) >= SERIES_LEAST &&
	       distance_variability(p->a->series, p->a->series_count) >= SERIES_VARIABILITY;
}

static const char *const no_series = "below 30 seconds, or about the same in all; the means count";

static struct score_distance bandwidth_course(const struct score_pair *p)
{
	if (!has_series(p))
		return apart((double)NAN, no_series);
	return apart(1 - distance_pearson(p->a->series, p->b->series, seconds_of(p)),
		     "it does not vary in the candidate");
}

static struct score_distance bandwidth_varies(const struct score_pair *p)
{
	if (!has_series(p))
		return apart((double)NAN, no_series);
	return apart(distance_ratio(distance_variability(p->a->series, p->a->series_count),
				    distance_variability(p->b->series, p->b->series_count)),
		     "it does not vary in the candidate");
}

static double bandwidth_of(const struct profile_phase *p)
{
	return p->duration_ns ? (double)(p->read_bytes + p->written_bytes) / (double)p->duration_ns
			      : (double)NAN;
}

static struct score_distance bandwidth(const struct score_pair *p)
{
	if (has_series(p))
		return apart((double)NAN, "its course counts");
	return apart(distance_relative(bandwidth_of(p->a), bandwidth_of(p->b)),
		     "it took no time that is known");
}

static double hits_of(const struct profile_phase *p)
{
	return p->has_cache && p->read_bytes
		       ? fmax(0, 1 - (double)p->cache_bytes / (double)p->read_bytes)
		       : (double)NAN;
}

static struct score_distance cache_hits(const struct score_pair *p)
{
	return difference(hits_of(p->a), hits_of(p->b), "pages of the cache were not recorded");
}

static struct score_distance block_size(const struct score_pair *p)
{
	if (!p->a->block_sizes.count || !p->b->block_sizes.count)
		return apart((double)NAN, "block requests were not recorded");
	return spread_ks(&p->a->block_sizes, &p->b->block_sizes, NULL);
}

/* ---- the table ---- */

#define NONE ((double)NAN)
/* ln 1.25: of a ratio of .8 to 1.25. */
#define LN_5_4 .22314355131420976

/* Thresholds are those of mlgen(1), COMPARING TRACES. */
/* clang-format off */
const struct score_part score_parts[] = {
	{ 1, "operations: mix", .03, .01, operation_mix },
	{ 2, "bytes read", .02, .005, bytes_read },
	{ 2, "bytes written", .02, .005, bytes_written },
	{ 3, "read size: D", .05, .02, read_size },
	{ 3, "read size: W1, log2", .25, .1, read_size_log },
	{ 3, "write size: D", .05, .02, write_size },
	{ 3, "write size: W1, log2", .25, .1, write_size_log },
	{ 4, "files", .05, .02, file_count },
	{ 4, "file size: D", .05, .02, file_size },
	{ 4, "samples a file: D", .05, .02, file_samples },
	{ 5, "in sequence", .02, .01, sequential },
	{ 5, "seek: W1, log2", .5, NONE, score_parts_seek },
	{ 6, "coverage", .02, 0, coverage },
	{ 6, "visits an epoch", .05, 0, multiplicity },
	{ 6, "order of two rounds", .05, NONE, order },
	{ 6, "order of the first", .05, NONE, first_order },
	{ 7, "miss ratios", .03, .01, miss_ratios },
	{ 8, "think time: W1 of mean", .1, .02, think },
	{ 8, "idle: times", .03, NONE, idle_count },
	{ 8, "idle: time", .05, NONE, idle_time },
	{ 9, "step: p50", .1, .05, step_p50 },
	{ 9, "step: p95", .15, .1, step_p95 },
	{ 9, "time of the phase", .1, .05, duration },
	{ 10, "in flight: D", .1, .05, depth },
	{ 10, "Gini of threads", .05, .02, gini },
	{ 10, "threads", .05, NONE, workers },
	{ 11, "bandwidth: 1 - r", .2, .1, bandwidth_course },
	{ 11, "bandwidth: ln of CoVs", LN_5_4, NONE, bandwidth_varies },
	{ 11, "bandwidth: mean", .05, NONE, bandwidth },
	{ 12, "cache hits", .05, .03, cache_hits },
	{ 12, "block size: D", .15, .1, block_size },
	{ 0 },
};

static const char *const names[SCORE_METRICS] = {
	"operations", "bytes", "request sizes", "files", "sequence", "rounds",
	"reuse", "think time", "steps", "concurrency", "bandwidth", "kernel",
};
/* clang-format on */

const char *score_metric_name(unsigned metric)
{
	return names[metric - 1];
}
