/* SPDX-License-Identifier: Apache-2.0 */
/* require.c - see require.h. */
#include "report/require.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "job/fields.h"
#include "job/jobset.h"
#include "report/metrics.h"

/* Where a path may begin; base NULL: only whether there is such a number. */
struct root {
	const struct mlgen_field *table;
	const void *base;
};

#define ROOTS 2

static bool is_number(const struct mlgen_field *f)
{
	return f->type == MLGEN_U64 || f->type == MLGEN_F64 ||
	       f->type == MLGEN_SIZE || f->type == MLGEN_PERCENT ||
	       f->type == MLGEN_TIME;
}

static double number_at(const struct mlgen_field *f, const char *member)
{
	double d;
	uint64_t u;
	if (f->type == MLGEN_F64 || f->type == MLGEN_PERCENT) {
		memcpy(&d, member, sizeof(d));
		return d;
	}
	memcpy(&u, member, sizeof(u));
	return u == UINT64_MAX && (f->flags & MLGEN_NULLABLE) ? (double)NAN
							      : (double)u;
}

/* "mean", "p99.9", ... of a latency; one without values has none of them. */
static bool look_at_hist(const struct hist *h, const char *key, double *value)
{
	static const char *const keys[] = { "min", "max", "mean", "stddev" };
	double percent;
	size_t i = 0;
	bool is_known = h && h->count > 0;
	*value = (double)NAN;
	if (*key == 'p' && units_f64(key + 1, &percent, NULL) == 0) {
		if (is_known)
			*value = (double)hist_percentile(h, percent);
		return percent >= 0 && percent <= 100;
	}
	while (i < sizeof(keys) / sizeof(*keys) && strcmp(key, keys[i]) != 0)
		i++;
	if (i == sizeof(keys) / sizeof(*keys))
		return false;
	if (is_known)
		*value = i == 0   ? (double)h->min_ns
			 : i == 1 ? (double)h->max_ns
			 : i == 2 ? hist_mean(h)
				  : hist_stddev(h);
	return true;
}

static const struct mlgen_field *find_part(const struct mlgen_field *table,
					   const char *part, size_t len)
{
	for (; table->name; table++)
		if (strlen(table->name) == len &&
		    strncmp(table->name, part, len) == 0)
			return table;
	return NULL;
}

/* Objects are entered, with a dot between, as far as the path goes. */
static bool look_up(const struct root *root, const char *path, double *value)
{
	const struct mlgen_field *table = root->table;
	const char *base = root->base;
	for (;;) {
		size_t len = strcspn(path, ".");
		const struct mlgen_field *f = find_part(table, path, len);
		const char *member = base && f ? base + f->off : NULL;
		const struct hist *h = NULL;
		*value = (double)NAN;
		if (!f)
			return false;
		if (!path[len]) {
			if (is_number(f) && member)
				*value = number_at(f, member);
			return is_number(f);
		}
		path += len + 1;
		if (f->type == MLGEN_HIST) {
			if (member)
				memcpy(&h, member, sizeof(h));
			return look_at_hist(h, path, value);
		}
		if (f->type != MLGEN_OBJECT)
			return false;
		table = f->sub;
		base = member;
	}
}

static bool look_up_any(const struct root *roots, unsigned n,
			const char *metric, double *value)
{
	const char *path = strcmp(metric, "au") ? metric : "au_percent";
	for (unsigned i = 0; i < n; i++)
		if (look_up(&roots[i], path, value))
			return true;
	return false;
}

/* Does any kind of job have it? */
static bool exists(const char *metric)
{
	const struct root roots[] = { { metrics_ml_fields, NULL },
				      { metrics_io_fields, NULL },
				      { metrics_job_fields, NULL } };
	double value;
	return look_up_any(roots, sizeof(roots) / sizeof(*roots), metric,
			   &value);
}

/* NaN meets nothing. */
static bool holds(double value, const struct requirement *q)
{
	bool is_equal = value <= q->value && value >= q->value;
	switch (q->op[0]) {
	case '>':
		return q->op[1] == '=' ? value >= q->value : value > q->value;
	case '<':
		return q->op[1] == '=' ? value <= q->value : value < q->value;
	default:
		return is_equal;
	}
}

/* A job with checkpoints alone has no accelerators; not all have checkpoints. */
static bool ml_has(const struct job_result *r, const char *metric)
{
	const char *path = strcmp(metric, "au") ? metric : "au_percent";
	char name[64];
	size_t len = strcspn(path, ".");
	if (len >= sizeof(name))
		return false;
	memcpy(name, path, len);
	name[len] = '\0';
	return metrics_ml_has(r, name);
}

/* Is the requirement about jobs of this kind? Then *missed grows if it is
 * not met. */
static bool check_job(const struct job_result *r, const struct requirement *q,
		      int *missed)
{
	char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];
	struct metrics_job m;
	struct root roots[ROOTS] = { { metrics_job_fields, &m },
				     { metrics_job_fields, &m } };
	double value;
	bool is_ml = r->kind == RESULT_TRAIN || r->kind == RESULT_CHECKPOINT;
	if (is_ml && ml_has(r, q->metric))
		roots[0] = (struct root){ metrics_ml_fields, &r->ml };
	else if (r->kind == RESULT_IO)
		roots[0] = (struct root){ metrics_io_fields, &r->io };
	else if (!is_ml)
		return false;
	metrics_job_figures(&m, r);
	if (!look_up_any(roots, ROOTS, q->metric, &value))
		return false;
	if (holds(value, q))
		return true;
	(*missed)++;
	log_error("%s: %s is %s, required %s%s", r->job->name, q->metric,
		  isnan(value) ? "unknown" : units_sig4(got, value), q->op,
		  units_put_f64(want, q->value));
	return true;
}

static int check_jobs(const struct run_result *r, const struct requirement *q,
		      const char *text)
{
	int missed = 0;
	bool any = false;
	for (size_t i = 0; i < r->job_count; i++)
		any |= check_job(&r->jobs[i], q, &missed);
	if (any)
		return missed;
	log_error("require=%s: no job that ran has %s", text, q->metric);
	return 1;
}

int require_check(const char *text, const struct run_result *r,
		  struct mlgen_err *err)
{
	struct requirement q[REQUIREMENTS_MAX];
	int n = jobset_requirements(text, q, REQUIREMENTS_MAX, err), missed = 0;
	for (int i = 0; i < n; i++) {
		if (!exists(q[i].metric))
			return mlgen_fail(
				err, -EINVAL,
				"require=%s: no such metric '%s'; any "
				"number of ml{} or io{} in the JSON report or "
				"of the job itself, such as read.iops or "
				"read.clat_ns.p99, or au",
				text, q[i].metric);
		if (r)
			missed += check_jobs(r, &q[i], text);
	}
	return n < 0 ? n : missed;
}
