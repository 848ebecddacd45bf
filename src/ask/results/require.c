/* SPDX-License-Identifier: Apache-2.0 */
/* require.c - check whether a result meets the requirements of --require. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"

/* ---- requirements that can never hold ---- */

/* The range of values that the requirements allow; `is_out` excludes the bound itself. */
struct value_range {
	double least, most;
	bool least_is_out, most_is_out;
};

static void narrow(struct value_range *s, const struct requirement *q)
{
	bool is_out = q->op[1] != '=';

	if (q->op[0] != '<' && q->value >= s->least) {
		s->least_is_out = is_out || (s->least_is_out && q->value <= s->least);
		s->least = q->value;
	}
	if (q->op[0] != '>' && q->value <= s->most) {
		s->most_is_out = is_out || (s->most_is_out && q->value >= s->most);
		s->most = q->value;
	}
	/* A figure cannot equal a value outside the range. */
	if (q->op[0] == '=' && (q->value < s->least || q->value > s->most))
		s->most = -1;
}

static bool is_empty(const struct value_range *s)
{
	return s->least > s->most || (s->least >= s->most && (s->least_is_out || s->most_is_out));
}

static int find_figures(const char *text, const struct requirement *q, struct figure *f, size_t n,
			struct mlgen_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct mlgen_err why = { 0 };

		if (figure_init_measured(&f[i], q[i].metric, &why) < 0)
			return mlgen_fail(err, -EINVAL, "require=%s: %s", text, why.text);

		/* Check the requirement alone, and together with all earlier requirements of the
		 * same figure. No figure is below 0. */
		char number[UNITS_TEXT_BYTES];
		bool is_percent = f[i].row->type == MLGEN_PERCENT;
		struct value_range alone = { .most = is_percent ? 100 : (double)INFINITY };
		struct value_range all = alone;

		narrow(&alone, &q[i]);
		for (size_t k = 0; k <= i; k++)
			if (strcmp(f[k].path, f[i].path) == 0)
				narrow(&all, &q[k]);
		units_format_f64(number, q[i].value);
		if (is_empty(&alone))
			return mlgen_fail(err, -EINVAL,
					  "require=%s: %s%s%s can never hold; %s is %s", text,
					  q[i].metric, q[i].op, number, q[i].metric,
					  is_percent ? "between 0 and 100" : "never below 0");
		if (is_empty(&all))
			return mlgen_fail(
				err, -EINVAL,
				"require=%s: %s%s%s contradicts the requirements before it", text,
				q[i].metric, q[i].op, number);
	}
	return 0;
}

/* ---- figures of a result ---- */

/* False if the job has no such figure; a job that only prepares has no figures at all. */
static bool read_value(const struct record *r, const struct figure *f, double *value)
{
	struct figure_value v;

	if (record_kind(r) == RECORD_NOTHING || !figure_value(f, r, &v))
		return false;
	*value = v.kind == VALUE_NONE ? (double)NAN : v.real;
	return true;
}

/* Jobs that have no such figure are ignored. */
static int count_missed(const struct record *records, const struct run_result *r,
			const struct requirement *q, const struct figure *f, const char *text)
{
	char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];
	int missed = 0;
	bool any_has_it = false;
	bool is_au = strcmp(f->path, "au_percent") == 0 || strcmp(f->path, "ml.au_percent") == 0;

	for (size_t i = 0; i < r->job_count; i++) {
		double value;

		if (!read_value(&records[i], f, &value))
			continue;
		any_has_it = true;
		/* AU leaves out the first step of each epoch, which may take most of the time. */
		bool misleads = is_au && q->op[0] == '>' && job_result_au_misleads(&r->jobs[i]);
		if (require_holds(q, value) && !misleads)
			continue;
		missed++;
		if (require_holds(q, value))
			log_error("%s: %s is %.1f, without the first step of each epoch; with "
				  "first steps, accelerators were busy for %.1f%% of the time: "
				  "use more steps per epoch",
				  r->jobs[i].job->name, q->metric, r->jobs[i].ml.au_percent,
				  job_result_busy_percent(&r->jobs[i]));
		else
			log_error("%s: %s is %s, required %s%s", records[i].job->doc.jobname,
				  q->metric, isnan(value) ? "unknown" : units_sig4(got, value),
				  q->op, units_format_f64(want, q->value));
	}
	if (any_has_it)
		return missed;
	log_error("require=%s: no job that ran has %s", text, q->metric);
	return 1;
}

int require_check(const char *text, const struct run_result *r, struct mlgen_err *err)
{
	struct requirement q[REQUIREMENTS_MAX];
	struct figure f[REQUIREMENTS_MAX];
	int n = jobset_requirements(text, q, REQUIREMENTS_MAX, err), missed = 0;

	if (n < 0 || find_figures(text, q, f, (size_t)n, err) < 0)
		return -EINVAL;
	if (!r)
		return 0;
	struct job_result *jobs = mem_array(r->job_count, sizeof(*jobs));
	struct record *records = mem_array(r->job_count, sizeof(*records));
	for (size_t i = 0; i < r->job_count; i++)
		record_of_run(&records[i], &jobs[i], r, i);
	for (int i = 0; i < n; i++)
		missed += count_missed(records, r, &q[i], &f[i], text);
	mem_free(records);
	mem_free(jobs);
	return missed;
}

bool require_value(const struct job_result *r, const char *metric, double *value)
{
	struct job_result job = *r;
	const struct run_result alone = { .jobs = &job, .job_count = 1 };
	struct job_result m;
	struct record record;
	struct figure f;

	if (figure_init_measured(&f, metric, NULL) < 0)
		return false;
	record_of_run(&record, &m, &alone, 0);
	return read_value(&record, &f, value);
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
