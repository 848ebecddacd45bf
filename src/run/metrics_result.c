/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_result.c - all of a job's result: the tables of its parts, and what has no key of its
 * own. */
#include "run/metrics_result.h"

#include <math.h>

#include "job/job.h"
#include "run/failed.h"

/* ---- rules ---- */

/* Without a pace the delay is none, and the total is the latency: ahead of the row of the
 * latencies. */
static void paced(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct direction_result, 0);
	bool is_paced = to->total_ns;

	if (is_paced || b->total_ns)
		merge_latencies(m, &to->total_ns, b->total_ns ? b->total_ns : b->lat_ns);
	if (!is_paced && to->total_ns)
		merge_latencies(m, &to->total_ns, to->lat_ns);
}

/* Seconds of several hosts or jobs are not the same seconds. */
static void add_seconds(const struct merging *m, struct interval_stat *to,
			const struct interval_stat *b)
{
	to->min += b->min;
	to->max += b->max;
	to->mean += b->mean;
	if (m->how == MERGE_GROUP)
		return;
	to->dev = (double)NAN;
	to->samples = b->samples < to->samples ? b->samples : to->samples;
}

static void interval(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct interval_stat, f->off);
	double n = (double)to->samples, more = (double)b->samples;
	double mean = merge_mean_of(to->mean, n, b->mean, more);
	double squares = n * (to->dev * to->dev + to->mean * to->mean) +
			 more * (b->dev * b->dev + b->mean * b->mean);
	double variance = n + more > 0 ? squares / (n + more) - mean * mean : 0;

	if (m->how != MERGE_TURNS) {
		add_seconds(m, to, b);
		return;
	}
	to->dev = isnan(variance) || variance > 0 ? sqrt(variance) : 0;
	to->min = n > 0 && to->min < b->min ? to->min : b->min;
	to->max = fmax(to->max, b->max);
	to->mean = mean;
	to->samples += b->samples;
}

static void request_sizes(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	sizes_merge((void *)(at->to + f->off), (const void *)(at->b + f->off));
}

static void failures(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	(void)m;
	failed_merge((void *)(at->to + f->off), (const void *)(at->b + f->off));
}

static void first_err(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct mlgen_err, f->off);

	if (!to->code)
		*to = *b;
}

/* CPU time adds up; each is a percent of its own time. */
static double cpu_f64(const struct merging *m, double a, double b)
{
	const struct job_result *before = (const void *)m->record.a;
	const struct job_result *from = (const void *)m->record.b;
	double x = before->elapsed_seconds, y = from->elapsed_seconds;
	double whole = merge_span.f64(m, x, y);

	return whole > 0 ? (a * x + b * y) / whole : a;
}

static bool is_plain(const struct merge_at *at)
{
	const struct job_result *r = (const void *)at->to;

	return r->work && r->work->is_plain;
}

/* Of the two that follow only one is of a job. */
static void ml_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (!is_plain(at))
		merge_members.whole(m, f, at);
}

static void io_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	if (is_plain(at))
		merge_members.whole(m, f, at);
}

/* Where only one of them had a tier it is that one's. */
static void cache_object(struct merging *m, const struct mlgen_field *f, const struct merge_at *at)
{
	MERGE_STRUCTS(struct cache_result, f->off);

	if (a->policy && b->policy)
		merge_members.whole(m, f, at);
	else if (b->policy)
		*to = *b;
}

static const struct merge_rule merge_cache = { .whole = cache_object, .ordered = 1 << MERGE_TURNS };
static const struct merge_rule merge_paced = { .whole = paced };
static const struct merge_rule merge_interval = { .whole = interval, .ordered = 1 << MERGE_GROUP };
static const struct merge_rule merge_sizes = { .whole = request_sizes };
static const struct merge_rule merge_failed = { .whole = failures, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_err = { .whole = first_err, .ordered = MERGE_ORDERED };
static const struct merge_rule merge_cpu = { .f64 = cpu_f64 };
static const struct merge_rule merge_ml = { .whole = ml_object };
static const struct merge_rule merge_io = { .whole = io_object };

/* clang-format off */

#define D struct direction_result
static const struct mlgen_field direction_fields[] = {
	{ "io_bytes", RESULT_U64(D, io_bytes, sum) },
	{ "total_ios", RESULT_U64(D, total_ios, sum) },
	{ "short_ios", RESULT_U64(D, short_ios, sum) },
	{ "sizes", RESULT_PART(D, sizes, sizes) },
	{ "total_ns", RESULT_HIST(D, total_ns, paced) },
	{ "slat_ns", RESULT_HIST(D, slat_ns, hist) },
	{ "lat_ns", RESULT_HIST(D, lat_ns, hist) },
	{ "bw_kib", RESULT_PART(D, bw_kib, interval) },
	{ "iops", RESULT_PART(D, iops, interval) },
	{ 0 },
};
#undef D

/* Directions first: they have latencies of ops. */
#define J struct job_result
const struct mlgen_field metrics_result_fields[] = {
	{ "read", RESULT_OBJECT(J, read, struct direction_result, direction_fields, members) },
	{ "write", RESULT_OBJECT(J, write, struct direction_result, direction_fields, members) },
	{ "sync", RESULT_OBJECT(J, sync, struct op_result, metrics_op_fields, members) },
	{ "ml", .type = MLGEN_OBJECT, .sub = metrics_ml_fields, .merge = &merge_ml },
	{ "ml.cut_seconds", RESULT_F64(J, ml.cut_seconds, span) },
	{ "ml.runtime_seconds", RESULT_F64(J, ml.runtime_seconds, span) },
	{ "ml.mlperf_epochs", RESULT_LIST(J, ml.mlperf_epochs, struct mlperf_epoch, NULL, forget) },
	{ "ml.ceiling.is_tried", RESULT_BOOL(J, ml.ceiling.is_tried, forget) },
	{ "ml.saves.is_restore", RESULT_BOOL(J, ml.saves.is_restore, first) },
	{ "ml.restores.is_restore", RESULT_BOOL(J, ml.restores.is_restore, first) },
	{ "ml.cache", RESULT_OBJECT(J, ml.cache, struct cache_result, metrics_cache_fields, cache) },
	{ "io", .type = MLGEN_OBJECT, .sub = metrics_io_fields, .merge = &merge_io },
	{ "numa.seen", RESULT_PART(J, numa.seen, numa_nodes) },
	{ "failed", RESULT_PART(J, failed, failed) },
	{ "prepare", RESULT_OBJECT(J, prepare, struct prepare_result, metrics_prepare_fields, apart) },
	{ "prepare.is_nothing_resident", RESULT_BOOL(J, prepare.is_nothing_resident, first) },
	{ "depths", RESULT_PART(J, depths, mean_ios) },
	{ "elapsed_seconds", RESULT_F64(J, elapsed_seconds, span) },
	{ "usr_cpu_percent", RESULT_F64(J, usr_cpu_percent, cpu), .unit = "%" },
	{ "sys_cpu_percent", RESULT_F64(J, sys_cpu_percent, cpu), .unit = "%" },
	{ "ctx", RESULT_U64(J, ctx, sum) },
	{ "majf", RESULT_U64(J, majf, sum) },
	{ "minf", RESULT_U64(J, minf, sum) },
	{ "err", RESULT_PART(J, err, err) },
	{ "read_align_bytes", RESULT_U64(J, read_align_bytes, first), .unit = "bytes" },
	{ 0 },
};
#undef J

/* clang-format on */
