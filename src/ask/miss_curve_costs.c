/* SPDX-License-Identifier: Apache-2.0 */
/* miss_curve_costs.c - what a hit and a miss cost in runs of the job, and what AU is by that. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "ask/figure.h"
#include "ask/miss_curve.h"
#include "ask/results_file.h"
#include "base/util.h"

/* With a tier hits and misses are told apart; without, all are misses. */
static void take_costs(struct miss_curve *m, const struct record *r)
{
	const char *policy = record_option(r, "cache");
	bool has_tier = policy && strcmp(policy, "none") != 0;
	double miss_ns = figure_number(has_tier ? "cache.miss_ns.p50" : "sample_ns.p50", r);

	if (!isnan(miss_ns))
		m->miss_ns = miss_ns;
	if (has_tier && !isnan(figure_number("cache.hit_ns.p50", r)))
		m->hit_ns = figure_number("cache.hit_ns.p50", r);
}

static int read_costs(struct miss_curve *m, const char *path, struct mlgen_err *err)
{
	struct results_file f;
	bool is_of_job = false;
	int rc = results_open(&f, path, err);

	for (size_t i = 0; i < f.count && rc == 0; i++) {
		const struct record *r = &f.records[i];

		if (!r->ml || strcmp(r->job->jobname, m->job) != 0)
			continue;
		is_of_job = true;
		take_costs(m, r);
	}
	results_close(&f);
	if (rc == 0 && !is_of_job)
		return mlgen_fail(
			err, -EINVAL,
			"%s: has no training called '%s'; name what a run of this job wrote", path,
			m->job);
	return rc;
}

/* A tier that is played has its cost in the job; of bytes that of the mean. */
static void take_played(struct miss_curve *m, const struct job *j)
{
	double mean_bytes = (double)m->data_bytes / (double)m->units;

	if (dist_mean(&j->cache_latency) <= 0 && !j->cache_bandwidth_bytes)
		return;
	m->hit_ns = dist_mean(&j->cache_latency);
	if (j->cache_bandwidth_bytes)
		m->hit_ns += mean_bytes * (double)NS_PER_S / (double)j->cache_bandwidth_bytes;
}

/*
 * A step computes for so long, or waits for its batch where its loaders take longer: each reads one
 * extent after the other. Without threads of its own an accelerator reads first and computes then.
 */
static double au_of(const struct miss_curve *m, const struct job *j, double hit)
{
	double each = hit * m->hit_ns + (1 - hit) * m->miss_ns;
	double batch = (double)j->batch_size * each;
	double compute = dist_mean(&j->compute_time);
	uint64_t threads = job_read_threads(j);

	if (compute <= 0 || isnan(each))
		return (double)NAN;
	if (!threads)
		return 100 * compute / (compute + batch);
	return 100 * compute / fmax(compute, batch / (double)threads);
}

int miss_curve_costs(struct miss_curve *m, const struct job *j, char *const *files, size_t count,
		     struct mlgen_err *err)
{
	struct miss_point *points = m->points.items;
	int rc = 0;

	take_played(m, j);
	for (size_t i = 0; i < count && rc == 0; i++)
		if (question_is_document(files[i]))
			rc = read_costs(m, files[i], err);
	for (size_t i = 0; i < m->points.count && rc == 0; i++)
		points[i].au_percent = au_of(m, j, points[i].hit_ratio);
	return rc;
}
