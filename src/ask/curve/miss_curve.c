/* SPDX-License-Identifier: Apache-2.0 */
/* miss_curve.c - --miss-curve: the hit ratio of a cache by size and policy, without a run. */
#include "ask/curve/curve.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/results/results.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"
#include "report/document/document.h"
#include "report/metrics/metrics.h"

struct miss_curve_document {
	const char *version;
	uint64_t schema_version;
	struct metric_list curves; /* struct miss_curve */
};

/* ---- costs of hits and misses in runs of the job, and the resulting AU ---- */

static int read_costs(struct miss_curve *m, const char *path, struct mlgen_err *err)
{
	struct results_file f;
	bool is_of_job = false;
	int rc = results_open(&f, path, err);

	for (size_t i = 0; i < f.count && rc == 0; i++) {
		const struct record *r = &f.records[i];

		if (!r->ml || strcmp(r->job->doc.jobname, m->job) != 0)
			continue;
		is_of_job = true;

		/* Without a cache tier all accesses are misses. */
		const char *policy = record_option(r, "cache");
		bool has_tier = policy && strcmp(policy, "none") != 0;
		double miss_ns = figure_number(has_tier ? "cache.miss_ns.p50" : "sample_ns.p50", r);

		if (!isnan(miss_ns))
			m->miss_ns = miss_ns;
		if (has_tier && !isnan(figure_number("cache.hit_ns.p50", r)))
			m->hit_ns = figure_number("cache.hit_ns.p50", r);
	}
	results_close(&f);
	if (rc == 0 && !is_of_job)
		return mlgen_fail(err, -EINVAL,
				  "%s: contains no training '%s'; name a document that a run of "
				  "this job wrote",
				  path, m->job);
	return rc;
}

/*
 * A step lasts as long as its computation, or as long as its read threads need for a batch,
 * whichever is longer. Each read thread reads one extent after another. An accelerator without read
 * threads first reads its batch, then computes.
 */
static double predicted_au(const struct miss_curve *m, const struct job *j, double hit)
{
	double mean_ns = hit * m->hit_ns + (1 - hit) * m->miss_ns;
	double batch_ns = (double)j->batch_size * mean_ns;
	double compute_ns = dist_mean(&j->compute_time);
	uint64_t threads = job_read_threads(j);

	if (compute_ns <= 0 || isnan(mean_ns))
		return (double)NAN;
	if (!threads)
		return 100 * compute_ns / (compute_ns + batch_ns);
	return 100 * compute_ns / fmax(compute_ns, batch_ns / (double)threads);
}

/* Read the costs of hits and misses from the job and from documents, and compute AU from them.
 * 0, or -errno with err: a document cannot be read. */
static int miss_curve_costs(struct miss_curve *m, const struct job *j, char *const *files,
			    size_t count, struct mlgen_err *err)
{
	struct miss_point *points = m->points.items;
	int rc = 0;

	/* If the tier is modelled, the job's options give the cost of a hit: a latency, and the
	 * mean size of a unit divided by the bandwidth. */
	if (dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes)
		m->hit_ns = dist_mean(&j->cache_latency);
	if (j->cache_bandwidth_bytes)
		m->hit_ns += (double)m->data_bytes / (double)m->units * (double)NS_PER_S /
			     (double)j->cache_bandwidth_bytes;
	for (size_t i = 0; i < count && rc == 0; i++)
		if (question_is_document(files[i]))
			rc = read_costs(m, files[i], err);
	for (size_t i = 0; i < m->points.count && rc == 0; i++)
		points[i].au_percent = predicted_au(m, j, points[i].hit_ratio);
	return rc;
}

/* ---- document ---- */

/* clang-format off */
#define S struct miss_point
static const struct mlgen_field point_fields[] = {
	{ "policy", METRICS_TEXT(S, policy), .help = "Policy, named as in the option cache." },
	{ "size_percent", MLGEN_F_PERCENT(S, size_percent), .unit = "percent", .help = "Size of each cache, in percent of the dataset." },
	{ "size_bytes", MLGEN_F_U64(S, size_bytes), .unit = "bytes", .help = "The same in bytes." },
	{ "hits", MLGEN_F_U64(S, hits), .help = "Accesses after the first epoch that are hits." },
	{ "hit_ratio", MLGEN_F_F64(S, hit_ratio), .flags = MLGEN_NULLABLE, .help = "Hits divided by accesses, 0 to 1." },
	{ "au_percent", MLGEN_F_PERCENT(S, au_percent), .unit = "percent", .flags = MLGEN_NULLABLE, .help = "AU predicted from the costs of hits and misses; null = the costs are unknown." },
	{ 0 },
};
#undef S

#define S struct miss_curve
static const struct mlgen_field curve_fields[] = {
	{ "jobname", METRICS_TEXT(S, job), .help = "Job of the curve." },
	{ "data_bytes", MLGEN_F_U64(S, data_bytes), .unit = "bytes", .help = "Size of the dataset: payload of samples, or of files with cache_unit=file." },
	{ "units", MLGEN_F_U64(S, units), .help = "Units of the dataset: a cache keeps whole samples, or whole files." },
	{ "caches", MLGEN_F_U64(S, caches), .help = "Caches of each size: one, or one for each accelerator with cache_scope=rank." },
	{ "epochs", MLGEN_F_U64(S, epochs), .help = "Epochs of the job." },
	{ "accesses", MLGEN_F_U64(S, accesses), .help = "Accesses of the epochs after the first." },
	{ "hit_ns", MLGEN_F_F64(S, hit_ns), .unit = "ns", .flags = MLGEN_NULLABLE, .help = "Time of a hit; null = unknown." },
	{ "miss_ns", MLGEN_F_F64(S, miss_ns), .unit = "ns", .flags = MLGEN_NULLABLE, .help = "Time of a miss; null = unknown." },
	{ "left_out", METRICS_CHARS(S, left_out), .flags = MLGEN_NULLABLE, .help = "Options of the job that change the hits of a run and that the curve ignores; null = none." },
	{ "points", METRIC_LIST(S, points, struct miss_point, point_fields), .help = "Points of the curve, policy by policy, the smallest size first." },
	{ 0 },
};
#undef S

#define S struct miss_curve_document
const struct mlgen_field miss_curve_fields[] = {
	{ "mlgen version", METRICS_TEXT(S, version), .help = "Version of this program." },
	{ "schema_version", MLGEN_F_U64(S, schema_version), .help = "Version of the schema, as in documents of runs; see mlgen-json(5)." },
	{ "miss_curves", METRIC_LIST(S, curves, struct miss_curve, curve_fields), .help = "One curve for each job." },
	{ 0 },
};
#undef S
/* clang-format on */

/* ---- text ---- */

#define COLUMN 8

static void print_rows(FILE *to, const struct miss_curve *m, bool is_au)
{
	const struct miss_point *points = m->points.items;
	char bytes[UNITS_TEXT_BYTES];

	fprintf(to, "  %20s", "size");
	for (size_t i = 0; i < m->points.count; i += MISS_CURVE_SIZES)
		fprintf(to, "%*s", COLUMN, points[i].policy);
	fputc('\n', to);
	for (size_t s = 0; s < MISS_CURVE_SIZES; s++) {
		fprintf(to, "  %5.0f %%  %11s", points[s].size_percent,
			units_human_bytes(bytes, (double)points[s].size_bytes));
		for (size_t i = s; i < m->points.count; i += MISS_CURVE_SIZES)
			fprintf(to, is_au ? "%*.1f" : "%*.4f", COLUMN,
				is_au ? points[i].au_percent : points[i].hit_ratio);
		fputc('\n', to);
	}
}

/* List options that change the hits of a run, but that the curve ignores. */
static void fill_left_out(struct miss_curve *m, const struct job *j)
{
	const struct {
		const char *name;
		bool is_set;
	} options[] = {
		{ "cache_substitute", j->cache_substitute != CACHE_SUBSTITUTE_NONE },
		{ "cache_hits_first", j->cache_hits_first },
		{ "cache_prefetch", j->cache_prefetch > 0 },
		{ "cache_warm", j->cache_warm > 0 },
	};
	struct buf text = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].is_set)
			buf_addf(&text, "%s%s", text.len ? ", " : "", options[i].name);
	snprintf(m->left_out, sizeof(m->left_out), "%s", buf_str(&text));
	buf_fini(&text);
}

static void print_curve(FILE *to, const struct miss_curve *m, const struct job *j)
{
	char bytes[UNITS_TEXT_BYTES], accesses[UNITS_TEXT_BYTES];

	fprintf(to,
		"%s: hit ratio of a cache of %s%s, by its size and policy, in epochs 2 to %" PRIu64
		" (%s accesses)\n",
		m->job, units_human_bytes(bytes, (double)m->data_bytes),
		m->caches > 1 ? " for each accelerator" : "", m->epochs,
		units_human_count(accesses, m->accesses));
	if (*m->left_out)
		fprintf(to, "  counted without %s, which the job sets\n", m->left_out);
	print_rows(to, m, false);

	char hit[UNITS_TEXT_BYTES], miss[UNITS_TEXT_BYTES];
	const struct miss_point *points = m->points.items;

	if (isnan(points[0].au_percent)) {
		if (!isnan(m->miss_ns))
			fprintf(to, "  no AU: the time of a hit is unknown; name a result of a run "
				    "with a cache, or set cache_latency\n");
		return;
	}
	fprintf(to,
		"AU in percent, if a hit takes %s and a miss %s, with %" PRIu64
		" read threads per accelerator\n",
		units_human_time(hit, (uint64_t)m->hit_ns),
		units_human_time(miss, (uint64_t)m->miss_ns), job_readers(j));
	print_rows(to, m, true);
}

/* ---- question ---- */

static int make_curve(const struct ask *a, const struct job *j, struct miss_curve *m,
		      struct mlgen_err *err)
{
	struct dataset ds;

	if (!workload_trains(job_work(j)))
		return mlgen_fail(err, -EINVAL,
				  "miss-curve: '%s' has phase=%s and reads no samples in epochs; "
				  "name a training, such as unet3d.job",
				  j->name, job_work_name(j));
	int rc = dataset_init(&ds, j, host_job_memory_bytes(a->host), err);
	if (rc < 0)
		return rc;
	rc = dataset_use_existing(&ds, j, err);
	if (rc == 0)
		rc = miss_curve_count(m, j, &ds, err);
	if (rc == 0)
		fill_left_out(m, j);
	if (rc == 0)
		rc = miss_curve_costs(m, j, a->set->files, a->set->file_count, err);
	dataset_fini(&ds);
	return rc;
}

int ask_miss_curve(const struct ask *a)
{
	const struct jobset *set = a->set;
	struct miss_curve *curves = mem_array(set->count, sizeof(*curves));
	struct miss_curve_document d = {
		.version = metrics_version(),
		.schema_version = METRICS_SCHEMA_VERSION,
		.curves = { curves, set->count },
	};
	struct mlgen_err err = { 0 };
	int format = set->settings.output_format, rc = 0;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON)
		rc = mlgen_fail(&err, -EINVAL, "output-format: --miss-curve prints text or json");
	else if (!set->count)
		rc = mlgen_fail(&err, -EINVAL,
				"miss-curve: no job; name a job in addition to the documents, "
				"such as unet3d.job");
	for (size_t i = 0; i < set->count && rc == 0; i++) {
		rc = make_curve(a, set->jobs[i], &curves[i], &err);
		if (rc == 0 && format == OUTPUT_TEXT)
			print_curve(a->to, &curves[i], set->jobs[i]);
	}
	if (rc == 0 && format == OUTPUT_JSON)
		json_struct(a->to, miss_curve_fields, &d, NULL);
	if (rc == 0 && a->json)
		json_struct(a->json, miss_curve_fields, &d, NULL);
	for (size_t i = 0; i < set->count; i++)
		miss_curve_fini(&curves[i]);
	mem_free(curves);
	if (rc == 0)
		return EXIT_RAN;
	log_error("%s", err.text);
	return EXIT_USAGE;
}
