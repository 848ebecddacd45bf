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

static bool is_number(const struct mlgen_field *f)
{
	return f->type == MLGEN_U64 || f->type == MLGEN_F64 ||
	       f->type == MLGEN_SIZE || f->type == MLGEN_PERCENT ||
	       f->type == MLGEN_TIME;
}

static const struct mlgen_field *find(const char *metric)
{
	const struct mlgen_field *f =
		field_find(metrics_ml_fields,
			   !strcmp(metric, "au") ? "au_percent" : metric);
	return f && is_number(f) ? f : NULL;
}

static double value_of(const struct mlgen_field *f, const struct ml_result *ml)
{
	const char *member = (const char *)ml + f->off;
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

static int check_job(const struct job_result *r, const struct requirement *q)
{
	char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];
	double value = value_of(find(q->metric), &r->ml);
	if (holds(value, q))
		return 0;
	log_error("%s: %s is %s, required %s%s", r->job->name, q->metric,
		  isnan(value) ? "unknown" : units_sig4(got, value), q->op,
		  units_put_f64(want, q->value));
	return 1;
}

static bool has_training(const struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		if (r->jobs[i].kind == RESULT_TRAIN)
			return true;
	return false;
}

int require_check(const char *text, const struct run_result *r,
		  struct mlgen_err *err)
{
	struct requirement q[REQUIREMENTS_MAX];
	int n = jobset_requirements(text, q, REQUIREMENTS_MAX, err), missed = 0;
	for (int i = 0; i < n; i++) {
		if (!find(q[i].metric))
			return mlgen_fail(
				err, -EINVAL,
				"require=%s: no such metric '%s'; any "
				"number of ml{} in the JSON report, or "
				"au",
				text, q[i].metric);
		for (size_t k = 0; r && k < r->job_count; k++)
			if (r->jobs[k].kind == RESULT_TRAIN)
				missed += check_job(&r->jobs[k], &q[i]);
	}
	if (n > 0 && r && !has_training(r)) {
		log_error("require=%s: nothing was trained", text);
		missed = n;
	}
	return n < 0 ? n : missed;
}
