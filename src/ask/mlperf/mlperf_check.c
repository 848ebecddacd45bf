/* SPDX-License-Identifier: Apache-2.0 */
/* mlperf_check.c - --check: rules shared by training jobs and checkpoints, and their evaluation. */
#include "ask/mlperf/mlperf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/log.h"
#include "base/mem.h"
#include "report/text/text.h"

/* ---- rules ---- */

/* Columns in which a rule's state and text begin. */
#define STATE_AT 14
#define TEXT_AT 27

/* The findings about one job or group. */
struct rule_findings {
	struct mlperf_rule *rules;
	size_t count;
	unsigned broken, unchecked, unchecked_of_result;
};

static const char *const states[] = {
	[MLPERF_NONE] = "",
	[MLPERF_OK] = "ok",
	[MLPERF_BROKEN] = "broken",
	[MLPERF_UNCHECKED] = "not checked",
};

enum mlperf_state mlperf_not_yet(struct buf *text)
{
	buf_add(text, "known after the run");
	return MLPERF_UNCHECKED;
}

enum mlperf_state mlperf_check_workload(const struct mlperf_subject *s, struct buf *text)
{
	const struct mlperf_workload *w = s->workload;
	const char *name = s->job->accelerator;

	if (job_work(s->job)->only_prepares) {
		buf_add(text,
			"phase=prepare writes a dataset and measures nothing; use --phase=train");
		return MLPERF_BROKEN;
	}
	if (!w) {
		const struct mlperf_workload *other = mlperf_find_any(s->job);

		buf_addf(text, "%s is not one of its workloads: %s",
			 other ? other->name : s->job->name, s->rules->names);
		return MLPERF_BROKEN;
	}
	buf_add(text, w->name);
	if (!w->is_training)
		return MLPERF_OK;
	if (!mlperf_has_accelerator(w, name)) {
		buf_addf(text,
			 ": accelerator=%s is not one of its accelerators; use --accelerator=",
			 name ? name : "");
		for (const char *const *a = w->accelerators; *a; a++)
			buf_addf(text, "%s%s", a == w->accelerators ? "" : " or ", *a);
		return MLPERF_BROKEN;
	}
	buf_addf(text, " on %" PRIu64 " x %s", s->job->accelerators, name);
	if (s->hosts > 1)
		buf_addf(text, ", %" PRIu64 " hosts", s->hosts);
	return MLPERF_OK;
}

enum mlperf_state mlperf_check_options(const struct mlperf_subject *s, struct buf *text)
{
	struct mlgen_err err = { 0 };

	if (!s->workload)
		return MLPERF_NONE;
	int n = mlperf_compare(s->job, s->workload, s->ask->env, text, &err);
	if (n < 0)
		buf_add(text, err.text);
	else if (n == 0)
		buf_addf(text,
			 "as in the shipped %s.job, except options that a CLOSED submission "
			 "may set",
			 s->workload->name);
	return n < 0 ? MLPERF_UNCHECKED : n > 0 ? MLPERF_BROKEN : MLPERF_OK;
}

enum mlperf_state mlperf_check_complete(const struct mlperf_subject *s, struct buf *text)
{
	if (!s->run)
		return MLPERF_NONE;
	if (s->result->err.code)
		buf_add(text, s->result->err.text);
	else if (s->result->interrupted)
		buf_add(text, "the run was stopped by a signal");
	else if (s->result->errors)
		buf_addf(text,
			 "%" PRIu64 " errors were counted; continue_on_error=none ends a run "
			 "at the first error",
			 s->result->errors);
	else if (!s->result->complete)
		buf_add(text, "the run did not reach its end");
	else
		buf_add(text, "the run reached its end, without errors");
	return s->result->complete && !s->result->errors && !s->result->err.code ? MLPERF_OK
										 : MLPERF_BROKEN;
}

const struct mlperf_row mlperf_other_rules[] = {
	{ "workload", mlperf_check_workload, false },
	{ 0 },
};

/* ---- evaluation ---- */

struct rule_finding {
	enum mlperf_state state;
	const struct mlperf_subject *of;
	char *text;
	bool is_common; /* the text is the same for all runs */
};

static struct rule_finding evaluate(const struct mlperf_row *row, const struct mlperf_subject *s)
{
	struct buf text = { 0 };
	enum mlperf_state state = row->check(s, &text);
	struct rule_finding found = { state, s, mem_strdup(buf_str(&text)), true };

	buf_fini(&text);
	return found;
}

/* The worst finding of all counted runs; the first of several equally bad ones. */
static struct rule_finding evaluate_all(const struct mlperf_row *row, const struct mlperf_group *g)
{
	struct rule_finding worst = { .state = MLPERF_NONE };

	for (size_t i = 0; i < g->count; i++) {
		if (g->of[i].turn < g->warm_ups)
			continue;
		struct rule_finding current = evaluate(row, &g->of[i]);
		bool is_first = !worst.of;
		bool is_common =
			is_first || (worst.is_common && strcmp(worst.text, current.text) == 0);
		if (is_first || current.state > worst.state) {
			mem_free(worst.text);
			worst = current;
		} else {
			mem_free(current.text);
		}
		worst.is_common = is_common;
		if (row->is_of_result)
			break;
	}
	return worst;
}

/* The findings about one job of the group or, if `only` is NULL, about all its jobs. */
static void find_all(struct rule_findings *f, const struct mlperf_group *g,
		     const struct mlperf_subject *only)
{
	const struct mlperf_row *rows = job_work(g->of[0].job)->asked->mlperf_rules;
	size_t n = 0;

	while (rows[n].name)
		n++;
	*f = (struct rule_findings){ .rules = mem_array(n, sizeof(*f->rules)) };
	for (const struct mlperf_row *row = rows; row->name; row++) {
		struct rule_finding found = only ? evaluate(row, only) : evaluate_all(row, g);
		struct buf text = { 0 };

		f->broken += found.state == MLPERF_BROKEN;
		f->unchecked += found.state == MLPERF_UNCHECKED;
		f->unchecked_of_result += found.state == MLPERF_UNCHECKED && row->is_of_result;
		if (found.state != MLPERF_NONE) {
			if (!found.is_common)
				buf_addf(&text, "%s: ", found.of->name);
			buf_add(&text, found.text);
			f->rules[f->count++] = (struct mlperf_rule){
				.rule = row->name,
				.state = states[found.state],
				.text = buf_detach(&text),
			};
		}
		buf_fini(&text);
		mem_free(found.text);
	}
}

/* ---- text ---- */

unsigned mlperf_print(FILE *to, const struct ask *a, const struct mlperf_groups *g)
{
	bool is_quiet = a->set->settings.quiet;
	unsigned broken = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct rule_findings f;

		find_all(&f, &g->of[i], NULL);
		/* The block follows a report or another block. */
		if (!is_quiet && (i || !a->set->file_count))
			fputc('\n', to);

		const struct mlperf_subject *s = &g->of[i].of[0];
		bool is_valid_run = s->run && f.unchecked == f.unchecked_of_result;

		fprintf(to, "%s: MLPerf Storage %s: ", s->job->name, s->rules->version);
		if (f.broken)
			fprintf(to, "NOT VALID, %u of %zu rules broken", f.broken, f.count);
		else if (s->run && !f.unchecked)
			fprintf(to, "VALID, all %zu rules kept", f.count);
		else if (is_valid_run)
			fprintf(to, "VALID as %s; for a result",
				g->of[i].turns > 1 ? "runs" : "a run");
		else
			fputs("no rule broken", to);
		if (f.unchecked)
			fprintf(to, "%s %u not checked", is_valid_run && !f.broken ? "" : ",",
				f.unchecked);
		fputc('\n', to);
		for (size_t k = 0; !is_quiet && k < f.count; k++) {
			const struct mlperf_rule *rule = &f.rules[k];
			struct buf line = { 0 };

			buf_addf(&line, "  %s", rule->rule);
			plan_pad_to(&line, STATE_AT);
			/* A broken rule must catch the eye. */
			bool is_broken = strcmp(rule->state, states[MLPERF_BROKEN]) == 0;
			buf_add(&line, is_broken ? "BROKEN" : rule->state);
			plan_pad_to(&line, TEXT_AT);
			plan_print_wrapped(to, &line, TEXT_AT, rule->text);
		}
		broken += f.broken;
		for (size_t k = 0; k < f.count; k++)
			mem_free(f.rules[k].text);
		mem_free(f.rules);
	}
	return broken;
}

void mlperf_check(FILE *to, const struct ask *a, const struct run_result *r)
{
	const struct mlperf_source source = { r, NULL };
	struct mlperf_groups g;

	mlperf_groups_init(&g, a, &source, r ? 1 : 0);
	mlperf_print(to, a, &g);
	mlperf_groups_fini(&g);
}

/* ---- JSON ---- */

static void fill_rules(struct metric_list *to, const struct mlperf_group *g,
		       const struct mlperf_subject *s)
{
	struct rule_findings f;

	find_all(&f, g, s);
	*to = (struct metric_list){ f.rules, f.count };
}

void mlperf_fill(struct run_result *r, const struct ask *a)
{
	const struct mlperf_source source = { r, NULL };
	struct mlperf_groups g;

	mlperf_groups_init(&g, a, &source, 1);
	for (size_t i = 0; i < g.count; i++)
		for (size_t k = 0; k < g.of[i].count; k++) {
			const struct mlperf_subject *s = &g.of[i].of[k];
			size_t job = (size_t)(s->result - r->jobs);

			if (!r->jobs[job].ml.mlperf_check.items)
				fill_rules(&r->jobs[job].ml.mlperf_check, &g.of[i], s);
		}
	mlperf_groups_fini(&g);
}

void mlperf_plan(struct metric_list *to, const struct job *j, const struct ask *a)
{
	struct mlperf_groups g;

	mlperf_groups_init(&g, a, NULL, 0);
	for (size_t i = 0; i < g.count; i++)
		for (size_t k = 0; k < g.of[i].count; k++)
			if (g.of[i].of[k].job == j)
				fill_rules(to, &g.of[i], &g.of[i].of[k]);
	mlperf_groups_fini(&g);
}

/* ---- documents ---- */

/* The documents of the command line. */
struct documents {
	struct results_file *of;
	struct mlperf_source *sources;
	size_t count;
};

static int check_document(const struct results_file *f, struct mlgen_err *err)
{
	if (f->records[0].merged)
		return mlgen_fail(err, -EINVAL,
				  "%s: is merged and lacks the figures of its runs; name the "
				  "documents that were merged",
				  f->path);
	for (size_t i = 0; i < f->count; i++)
		if (f->records[i].plan)
			return mlgen_fail(err, -EINVAL,
					  "%s: is from a dry run: nothing was measured", f->path);
	return 0;
}

/* Refuse copies of a run: their spread would be 0 %. */
static int check_duplicates(const struct documents *d, const struct run_result *new,
			    const char *path, struct mlgen_err *err)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct run_result *old = d->sources[i].run;

		if (old->timestamp_ms == new->timestamp_ms &&
		    strcmp(old->host.hostname, new->host.hostname) == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: is the same run as %s (host %s, started in the same "
					  "millisecond)",
					  path, d->sources[i].name, new->host.hostname);
	}
	return 0;
}

static int read_document(struct documents *d, const struct ask *a, const char *path,
			 struct mlgen_err *err)
{
	struct results_file *doc = &d->of[d->count];
	int rc = results_open(doc, path, err);

	if (rc < 0)
		return rc;
	rc = check_document(doc, err);
	if (rc == 0)
		rc = result_read(doc, a->env, err);
	if (rc == 0)
		rc = check_duplicates(d, &doc->run, path, err);
	if (rc == 0)
		d->sources[d->count++] = (struct mlperf_source){ &doc->run, mem_strdup(doc->name) };
	else
		results_close(doc);
	return rc;
}

int ask_check(const struct ask *a)
{
	size_t n = a->set->file_count;
	struct documents d = { .of = mem_array(n, sizeof(*d.of)),
			       .sources = mem_array(n, sizeof(*d.sources)) };
	struct mlgen_err err = { 0 };
	unsigned broken = 0;
	int rc = 0;

	if (a->set->settings.output_format != OUTPUT_TEXT)
		rc = mlgen_fail(&err, -EINVAL,
				"output-format: a check of documents prints text; a run with "
				"--check writes the rules to its JSON");
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = read_document(&d, a, a->set->files[i], &err);
	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		struct mlperf_groups g;

		mlperf_groups_init(&g, a, d.sources, d.count);
		broken = mlperf_print(a->to, a, &g);
		mlperf_groups_fini(&g);
	}

	for (size_t i = 0; i < d.count; i++)
		results_close(&d.of[i]);
	for (size_t i = 0; i < d.count; i++)
		mem_free(d.sources[i].name);
	mem_free(d.of);
	mem_free(d.sources);
	return rc < 0 ? EXIT_USAGE : broken ? EXIT_MISSED : EXIT_RAN;
}
