/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict_cache.c - see train_verdict_cache.h. */
#include "work/train/train_verdict_cache.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "data/cache/cache.h"
#include "report/verdict.h"

/* Hits take so much of the time of samples, and the tier is the limit. */
#define MOST_OF_TIME 0.5

static double seconds_of(const struct hist *h)
{
	return h ? hist_mean(h) * (double)h->count / 1e9 : 0;
}

static double hit_share(const struct cache_result *c)
{
	double hits = seconds_of(c->hit_ns), misses = seconds_of(c->miss_ns);

	return hits > 0 ? hits / (hits + misses + seconds_of(c->peer_ns)) : 0;
}

static double count_of(const struct hist *h)
{
	return h ? (double)h->count : 0;
}

/* Of a tier that is divided most of them are other processes'. */
static double mean_hit_seconds(const struct cache_result *c)
{
	return (seconds_of(c->hit_ns) + seconds_of(c->peer_ns)) /
	       (count_of(c->hit_ns) + count_of(c->peer_ns));
}

bool verdict_cache_holds(const struct verdict_findings *f)
{
	const struct cache_result *c = &f->ml->cache;

	return c->policy && has_text(c->directory) &&
	       show_io_percent(&f->ml->loader_percent) >= VERDICT_STORAGE_PERCENT &&
	       hit_share(c) >= MOST_OF_TIME;
}

void verdict_cache_headline(struct buf *out, const struct verdict_findings *f)
{
	char rate[UNITS_TEXT_BYTES];

	buf_addf(out, "the tier's disk is the limit: %s and storage gave %s",
		 f->ml->cache.directory, show_rate(rate, &f->unit, f->ml->sample_bytes_per_sec));
}

void verdict_cache_because(struct buf *out, const struct verdict_findings *f)
{
	const struct cache_result *c = &f->ml->cache;
	char hit[UNITS_TEXT_BYTES], miss[UNITS_TEXT_BYTES];

	buf_addf(out, "%.1f%% of the time of samples is that of hits", hit_share(c) * 100);
	buf_addf(out, ", of %s ms each (mean)", units_human_ms(hit, hist_mean(c->hit_ns)));
	if (c->miss_ns && c->miss_ns->count)
		buf_addf(out, "; a miss takes %s ms", units_human_ms(miss, hist_mean(c->miss_ns)));
	verdict_say(out, f, "; host CPU {ml.host.cpu_percent}");
}

void verdict_cache_try(struct buf *out, const struct verdict_findings *f)
{
	(void)f;
	buf_add(out, "--cache_directory=PATH : a tier on a faster disk");
}

/* ---- what another size would be worth ---- */

/* What a reader is busy with for one sample, in seconds: reading, decoding and all else but waiting
 * for accelerators. */
static double busy_seconds(const struct verdict_findings *f)
{
	const struct ml_result *ml = f->ml;
	double readers = (double)ml->accelerators * (double)job_readers(f->job);
	double idle = ml->loader_percent.idle / 100;

	return (1 - idle) * f->result->wall_seconds * readers / (double)ml->samples;
}

/* Seconds that it may be busy, for this AU. */
static double seconds_allowed(const struct verdict_findings *f, double au_percent)
{
	const struct ml_result *ml = f->ml;
	double readers = (double)ml->accelerators * (double)job_readers(f->job);
	double samples = (double)ml->accelerators * (double)f->job->batch_size * 1e9 /
			 dist_mean(&f->job->compute_time);

	return readers / (samples * au_percent / 100);
}

static bool has_costs(const struct cache_result *c)
{
	return c->policy && count_of(c->hit_ns) + count_of(c->peer_ns) > 0 &&
	       count_of(c->miss_ns) > 0 && !isnan(c->all.hit_ratio);
}

double verdict_cache_share(const struct verdict_findings *f, double au_percent)
{
	const struct cache_result *c = &f->ml->cache;

	if (!has_costs(c) || !cacheshare_holds_for(f->job) ||
	    !(dist_mean(&f->job->compute_time) > 0) || f->ml->samples == 0)
		return (double)NAN;
	double saved = hist_mean(c->miss_ns) / 1e9 - mean_hit_seconds(c);
	double lacks = busy_seconds(f) - seconds_allowed(f, au_percent);
	double ratio = c->all.hit_ratio + lacks / saved;
	return saved > 0 && lacks > 0 ? cacheshare_for((enum job_cache)f->job->cache, ratio)
				      : (double)NAN;
}

bool verdict_put_larger_cache(struct buf *out, const struct verdict_findings *f)
{
	double au = verdict_target_au(f->result);
	double percent = ceil(verdict_cache_share(f, au) * 100);

	if (!(percent <= 100))
		return false;
	buf_addf(out, "--cache_size=%.0f%% : a tier of %.0f%% would reach %g%% AU (estimate)",
		 percent, percent, au);
	return true;
}
