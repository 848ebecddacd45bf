/* SPDX-License-Identifier: Apache-2.0 */
/* score_files.c - how alike a trace is to others, and whether that is enough. */
#include "ask/ask.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ask/require.h"
#include "ask/score_candidate.h"
#include "base/log.h"
#include "base/units.h"
#include "report/json.h"
#include "score/score.h"
#include "trace/trace_reader.h"

/* Each is held as figures, which are small; but a floor is of each two. */
#define TRACES_MOST 33

static void print_score(const struct ask *a, const struct score_document *d)
{
	if (a->set->settings.output_format == OUTPUT_JSON)
		json_struct(a->to, scored_fields, d, NULL);
	else
		score_text(a->to, &d->score);
	if (a->json)
		json_struct(a->json, scored_fields, d, NULL);
}

static void warn_incomplete(const struct scored *s)
{
	const struct scored_trace *t = s->traces.items;

	for (size_t i = 0; i < s->traces.count; i++)
		if (!t[i].is_complete)
			log_warn("%s: the trace is incomplete; the score is of what there is",
				 t[i].file);
}

/* ---- --require: score.m1 to score.m12 ---- */

#define REQUIREMENTS_MOST 32

/* From 1; 0 = it is none. */
static unsigned metric_of(const char *key)
{
	char text[16];

	for (unsigned m = 1; m <= SCORE_METRICS; m++) {
		snprintf(text, sizeof(text), "score.m%u", m);
		if (strcmp(text, key) == 0)
			return m;
	}
	return 0;
}

/* How many there are, or -EINVAL with err. */
static int read_requirements(const struct settings *set, struct requirement *q,
			     struct mlgen_err *err)
{
	int n = set->require ? jobset_requirements(set->require, q, REQUIREMENTS_MOST, err) : 0;

	for (int i = 0; i < n; i++)
		if (!metric_of(q[i].metric))
			return mlgen_fail(err, -EINVAL,
					  "require=%s: %s is no figure of a score; it has score.m1 "
					  "to score.m%d",
					  set->require, q[i].metric, SCORE_METRICS);
	return n;
}

/* What is unknown misses nothing, as in the score itself. */
static int count_missed(const struct scored *s, const struct requirement *q, int count)
{
	int missed = 0;

	for (int i = 0; i < count; i++) {
		double value = s->worst[metric_of(q[i].metric) - 1];
		char got[UNITS_TEXT_BYTES], want[UNITS_TEXT_BYTES];

		if (isnan(value) || require_holds(&q[i], value))
			continue;
		missed++;
		log_error("%s: %s is %s, required %s%s", s->candidate, q[i].metric,
			  units_sig4(got, value), q[i].op, units_put_f64(want, q[i].value));
	}
	return missed;
}

/* ---- the question ---- */

/* Before a job is run, which takes longer: are the others traces? */
static int check_traces(const struct jobset *set, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i + 1 < set->file_count; i++) {
		const char *const path[] = { set->files[i] };
		struct trace_reader *r;

		rc = trace_reader_open(&r, path, 1, err);
		if (rc == 0)
			trace_reader_close(r);
	}
	return rc;
}

static int check_question(const struct jobset *set, struct mlgen_err *err)
{
	int format = set->settings.output_format;

	if (format != OUTPUT_TEXT && format != OUTPUT_JSON)
		return mlgen_fail(err, -EINVAL, "output-format: a score is text or json");
	if (set->file_count > TRACES_MOST)
		return mlgen_fail(err, -EINVAL, "score: more than %d traces", TRACES_MOST);
	if (!set->count)
		return 0;
	/* It was read, and would be read again for the run. */
	if (strcmp(set->files[set->file_count - 1], "-") == 0)
		return mlgen_fail(
			err, -EINVAL,
			"score: a job on standard input cannot be read twice; name a file");
	return check_traces(set, err);
}

/* The files are what they are called; the last may lie elsewhere. */
static int score_files(const struct ask *a, const char *candidate, const struct requirement *q,
		       int required)
{
	const struct jobset *set = a->set;
	const char *paths[TRACES_MOST];
	struct score_document d;
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	for (size_t i = 0; i < set->file_count; i++)
		paths[i] = set->files[i];
	paths[set->file_count - 1] = candidate;
	if (score_traces(&d, paths, (const char *const *)set->files, set->file_count, &err) == 0) {
		warn_incomplete(&d.score);
		print_score(a, &d);
		status = count_missed(&d.score, q, required) > 0 || d.score.verdict == SCORE_FAIL
				 ? EXIT_MISSED
				 : EXIT_RAN;
	} else {
		log_error("%s", err.text);
	}
	score_fini(&d);
	return status;
}

static int score_job(const struct ask *a, const struct requirement *q, int required)
{
	struct score_candidate c;
	int status = score_candidate_run(&c, a);

	if (status == EXIT_RAN)
		status = score_files(a, c.path, q, required);
	score_candidate_fini(&c);
	return status;
}

int ask_score(const struct ask *a)
{
	const struct jobset *set = a->set;
	struct requirement q[REQUIREMENTS_MOST];
	struct mlgen_err err = { 0 };
	int required = read_requirements(&set->settings, q, &err);

	if (required < 0 || check_question(set, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_USAGE;
	}
	if (set->count)
		return score_job(a, q, required);
	return score_files(a, set->files[set->file_count - 1], q, required);
}
