/* SPDX-License-Identifier: Apache-2.0 */
/* require.c - see require.h. */
#include "ask/require.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ask/figure.h"
#include "ask/results_file.h"
#include "base/log.h"
#include "base/units.h"
#include "report/json.h"

/* ---- what can never hold ---- */

struct span {
	double least, most;
	bool least_is_out, most_is_out;
};

static void narrow(struct span *s, const struct requirement *q)
{
	bool is_out = q->op[1] != '=';
	if (q->op[0] != '<' && q->value >= s->least) {
		s->least_is_out =
			is_out || (s->least_is_out && q->value <= s->least);
		s->least = q->value;
	}
	if (q->op[0] != '>' && q->value <= s->most) {
		s->most_is_out =
			is_out || (s->most_is_out && q->value >= s->most);
		s->most = q->value;
	}
	/* Equal to what lies outside. */
	if (q->op[0] == '=' && (q->value < s->least || q->value > s->most))
		s->most = -1;
}

static bool is_empty(const struct span *s)
{
	return s->least > s->most ||
	       (s->least >= s->most && (s->least_is_out || s->most_is_out));
}

/* No figure is below 0. q[n] with all before it that are of the same. */
static int check_possible(const char *text, const struct requirement *q,
			  const struct figure *f, size_t n,
			  struct mlgen_err *err)
{
	char number[UNITS_TEXT_BYTES];
	bool is_percent = f[n].row->type == MLGEN_PERCENT;
	struct span alone = { .most = is_percent ? 100 : (double)INFINITY };
	struct span all = alone;
	narrow(&alone, &q[n]);
	for (size_t i = 0; i <= n; i++)
		if (strcmp(f[i].path, f[n].path) == 0)
			narrow(&all, &q[i]);
	units_put_f64(number, q[n].value);
	if (is_empty(&alone))
		return mlgen_fail(
			err, -EINVAL,
			"require=%s: %s%s%s can never hold; %s is %s", text,
			q[n].metric, q[n].op, number, q[n].metric,
			is_percent ? "between 0 and 100" : "never below 0");
	if (is_empty(&all))
		return mlgen_fail(err, -EINVAL,
				  "require=%s: %s%s%s can never hold together "
				  "with what stands before it",
				  text, q[n].metric, q[n].op, number);
	return 0;
}

static int find_figures(const char *text, const struct requirement *q,
			struct figure *f, size_t n, struct mlgen_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct mlgen_err why = { 0 };
		if (figure_init_measured(&f[i], q[i].metric, &why) < 0)
			return mlgen_fail(err, -EINVAL, "require=%s: %s", text,
					  why.text);
		if (check_possible(text, q, f, i, err) < 0)
			return -EINVAL;
	}
	return 0;
}

/* ---- what a result has ---- */

/* Its document, to be closed: a key is what it is there. */
static void open_result(struct results_file *doc, const struct run_result *r)
{
	const struct jobset none = { 0 };
	*doc = (struct results_file){ .path = "result",
				      .root = json_document(r, &none) };
	doc->jobs = json_object_get(doc->root, "jobs");
}

/* Of a preparation nothing is asked. */
static bool value_of(const struct results_file *doc, size_t job,
		     const struct figure *f, double *value)
{
	struct figure_value v;
	if (!results_figures(results_job(doc, job)) ||
	    figure_value(f, doc, job, &v, NULL) < 0)
		return false;
	*value = v.kind == VALUE_NONE ? (double)NAN : v.real;
	return v.is_there;
}

static void log_missed(const char *job, const struct requirement *q,
		       double value)
{
	char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];
	log_error("%s: %s is %s, required %s%s", job, q->metric,
		  isnan(value) ? "unknown" : units_sig4(got, value), q->op,
		  units_put_f64(want, q->value));
}

/* Jobs that have no such figure are none of its business. */
static int count_missed(const struct results_file *doc,
			const struct requirement *q, const struct figure *f,
			const char *text)
{
	int missed = 0;
	bool any = false;
	for (size_t i = 0; i < json_array_size(doc->jobs); i++) {
		double value;
		if (!value_of(doc, i, f, &value))
			continue;
		any = true;
		if (require_holds(q, value))
			continue;
		missed++;
		log_missed(results_job_name(results_job(doc, i)), q, value);
	}
	if (any)
		return missed;
	log_error("require=%s: no job that ran has %s", text, q->metric);
	return 1;
}

int require_check(const char *text, const struct run_result *r,
		  struct mlgen_err *err)
{
	struct requirement q[REQUIREMENTS_MAX];
	struct figure f[REQUIREMENTS_MAX];
	struct results_file doc;
	int n = jobset_requirements(text, q, REQUIREMENTS_MAX, err), missed = 0;
	if (n < 0 || find_figures(text, q, f, (size_t)n, err) < 0)
		return -EINVAL;
	if (!r)
		return 0;
	open_result(&doc, r);
	for (int i = 0; i < n; i++)
		missed += count_missed(&doc, &q[i], &f[i], text);
	results_close(&doc);
	return missed;
}

bool require_value(const struct job_result *r, const char *metric,
		   double *value)
{
	struct job_result job = *r;
	const struct run_result alone = { .jobs = &job, .job_count = 1 };
	struct results_file doc;
	struct figure f;
	if (figure_init_measured(&f, metric, NULL) < 0)
		return false;
	open_result(&doc, &alone);
	bool is_there = value_of(&doc, 0, &f, value);
	results_close(&doc);
	return is_there;
}

bool require_holds(const struct requirement *q, double value)
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
