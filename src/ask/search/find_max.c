/* SPDX-License-Identifier: Apache-2.0 */
/* find_max.c - --find-max and --find-min: the largest or smallest value that is enough. */
#include "ask/search/search_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/ask.h"
#include "ask/results/results.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "job/job.h"
#include "report/text/text.h"
#include "run/result/result.h"

/* ---- facts about the job, its runs and the requirement ---- */

const struct job_result *find_result(const struct find_max *f, const struct run_result *r)
{
	for (size_t i = 0; r && i < r->job_count; i++)
		if (strcmp(r->jobs[i].job->name, f->job->name) == 0)
			return &r->jobs[i];
	return NULL;
}

uint64_t find_shown(const struct find_max *f, uint64_t number)
{
	return f->is_min ? FIND_MIN_STEPS + 1 - number : number;
}

void find_append_shown(struct buf *out, const struct find_max *f, uint64_t number)
{
	buf_addf(out, "%" PRIu64 "%s", find_shown(f, number), f->is_min ? "%" : "");
}

bool find_is_au(const struct requirement *q)
{
	return strcmp(q->metric, "au") == 0 || strcmp(q->metric, "au_percent") == 0;
}

double find_au_limit(const struct find_max *f)
{
	for (unsigned i = 0; i < f->required_count; i++)
		if (find_is_au(&f->required[i]) && f->required[i].op[0] != '<')
			return f->required[i].value;
	return (double)NAN;
}

bool find_trains(const struct find_max *f)
{
	return job_work(f->job)->has_accelerators;
}

bool find_counts_accelerators(const struct find_max *f)
{
	return strcmp(f->option->name, "accelerators") == 0;
}

bool find_is_hidden(const struct find_max *f, const struct metrics_probe *p)
{
	double limit = find_au_limit(f);

	return p->supply_percent < limit && p->au_percent >= limit;
}

bool find_is_time(const struct requirement *q)
{
	struct figure figure;

	return figure_init_measured(&figure, q->metric, NULL) == 0 && figure_is_ns(&figure);
}

const char *find_figure_text(char *out, const struct requirement *q, double v)
{
	char text[UNITS_TEXT_BYTES];
	struct figure figure;
	bool is_rate = figure_init_measured(&figure, q->metric, NULL) == 0 &&
		       figure_has_unit(&figure, "bytes/s");

	if (isnan(v))
		snprintf(out, FIND_FIGURE_BYTES, "-");
	else if (find_is_time(q))
		snprintf(out, FIND_FIGURE_BYTES, "%s ms", units_human_ms(text, v));
	else if (is_rate) {
		const struct rate_unit unit = show_rate_unit(v);

		show_rate(out, &unit, v);
	} else
		snprintf(out, FIND_FIGURE_BYTES, "%s", units_sig4(text, v));
	return out;
}

const char *find_au_text(char *out, double au)
{
	snprintf(out, UNITS_TEXT_BYTES, "-");
	if (!isnan(au))
		snprintf(out, UNITS_TEXT_BYTES, "%.1f%%", au);
	return out;
}

/* ---- does a run meet what is required, and by how much? ---- */

/* Least absolute margin: its sign tells whether a value exactly at the limit holds. */
#define HARDLY 1e-9

/* The distance of the value from the limit, as a fraction of the limit; negative = missed. */
static double margin_of(const struct requirement *q, double value)
{
	double scale = fabs(q->value) > 0 ? fabs(q->value) : 1;
	double margin = (value - q->value) / scale;

	if (isnan(value))
		return -1;
	if (q->op[0] == '<')
		margin = -margin;
	if (q->op[0] == '=')
		margin = -fabs(margin);
	return require_holds(q, value) ? fmax(margin, HARDLY) : fmin(margin, -HARDLY);
}

/* The margin of the rate at which read threads deliver. The AU of a short probe would not do,
 * because it depends on samples that were read ahead. */
static double supply_margin(const struct find_max *f, const struct job_result *r,
			    struct metrics_probe *p)
{
	double limit = find_au_limit(f);

	if (!r || !(limit > 0) || (p->full && !verdict_epochs_are_short(r)))
		return (double)INFINITY;
	p->supply_percent = verdict_supply_percent(r);
	if (isnan(p->supply_percent))
		return (double)INFINITY;
	return (p->supply_percent - limit) / limit;
}

/* ---- jobs that ran at the same time as the varied one ---- */

/*
 * A job that ran for less than this part of the varied job's time ended too early. The rest is
 * tolerated, because the time of epochs does not include dropping the page cache in between.
 */
#define SAME_TIME 0.8

static void append_result(struct buf *out, const struct job_result *r)
{
	char text[UNITS_TEXT_BYTES];

	if (job_result_has_accelerators(r)) {
		buf_addf(out, "%s AU", find_au_text(text, r->ml.au_percent));
		if (r->ml.au_percent < r->ml.target_au_percent)
			buf_addf(out, " (target %g%%: missed)", r->ml.target_au_percent);
		return;
	}
	double rate = r->work->asked->bytes_per_sec(r);
	const struct rate_unit unit = show_rate_unit(rate);
	buf_add(out, show_rate(text, &unit, rate));
}

/* Results of the jobs that ran at the same time as the varied one, and whether they ended early.
 * Owned by the caller; NULL = the job was alone. */
static char *format_concurrent_jobs(const struct find_max *f, const struct run_result *r)
{
	const struct job_result *varied = find_result(f, r);
	struct buf out = { 0 };

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *other = &r->jobs[i];

		if (other == varied || other->group != varied->group || !job_result_ran(other))
			continue;
		buf_addf(&out, "%s%s ", out.len ? ", " : "", other->job->name);
		append_result(&out, other);
		if (other->failed.is_too_many) {
			buf_add(&out, " (");
			verdict_append_failed(&out, other);
			buf_addc(&out, ')');
		}
		/* A job of checkpoints may run for long after its last checkpoint, so its elapsed
		 * time is compared. */
		if (job_result_is_of_checkpoints(other)
			    ? other->elapsed_seconds < SAME_TIME * varied->elapsed_seconds
			    : other->wall_seconds < SAME_TIME * varied->wall_seconds)
			buf_addf(&out, " (ended after %.1f of %.1f s: the rest ran without it)",
				 other->wall_seconds, varied->wall_seconds);
	}
	return out.len ? buf_detach(&out) : NULL;
}

/* ---- one probe ---- */

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%.*s", (int)size - 1, from ? from : "");
}

static void fill_probe(struct metrics_probe *p, const struct job_result *r)
{
	const struct ml_result *ml = &r->ml;

	copy_text(p->verdict, sizeof(p->verdict), r->verdict.name);
	p->seconds = r->elapsed_seconds;
	if (!r->work || !r->work->is_open_ended)
		return;
	p->seconds = r->wall_seconds;
	p->sample_bytes_per_sec = r->work->asked->bytes_per_sec(r);
	if (!r->work->has_accelerators)
		return;
	p->au_percent = ml->au_percent;
	p->demand_bytes_per_sec = ml->demand_bytes_per_sec;
	p->steps = ml->steps;
	p->cut_short = p->full && !r->complete;
	if (ml->stall_ns && ml->stall_ns->count)
		p->stall_p99_ns = (double)hist_percentile(ml->stall_ns, 99);
}

/* The spread of epochs after the first, which warms up, and the standard error of their mean; both
 * in points of AU. */
static double epochs_differ(const struct ml_result *ml, double *error)
{
	const struct epoch_result *e = ml->epochs.items;
	double least = (double)INFINITY, most = 0, sum = 0, squares = 0, n = 0;

	*error = 0;
	for (size_t i = 1; i < ml->epochs.count; i++) {
		if (isnan(e[i].au_percent))
			continue;
		least = fmin(least, e[i].au_percent);
		most = fmax(most, e[i].au_percent);
		sum += e[i].au_percent;
		squares += e[i].au_percent * e[i].au_percent;
		n++;
	}
	if (n < 2)
		return (double)NAN;
	*error = sqrt(fmax(0, squares / n - sum * sum / n / n) / n);
	return most - least;
}

/* Store the run if it is the nearest one so far on its side of the limit. Returns the standard
 * error in points of AU. */
static double fill_side(struct find_max *f, const struct run_result *run,
			const struct job_result *r, const struct metrics_probe *p)
{
	struct find_side *s = p->holds ? &f->held : &f->missed;
	double error = 0, differ = epochs_differ(&r->ml, &error);
	bool is_nearer = p->holds ? p->value >= s->value : p->value <= s->value;

	if (s->value && !is_nearer)
		return error;
	s->value = p->value;
	copy_text(s->verdict, sizeof(s->verdict), p->verdict);
	mem_replace(&s->headline, r->verdict.headline);
	if (p->too_many_errors) {
		/* The job that had the errors may not be the varied job. */
		size_t i = 0;
		struct buf text = { 0 };

		while (!run->jobs[i].failed.is_too_many)
			i++;
		buf_addf(&text, "%s: ", run->jobs[i].job->name);
		verdict_append_failed(&text, &run->jobs[i]);
		buf_add(&text, "; ");
		verdict_append_allowance(&text, &run->jobs[i]);
		mem_replace(&s->headline, buf_str(&text));
		buf_fini(&text);
	}
	s->memory_percent = r->storage.memory_percent;
	s->demand_bytes_per_sec = s->bytes_per_sec = (double)NAN;
	s->epochs_differ = differ;
	if (job_result_has_accelerators(r)) {
		s->bytes_per_sec = r->ml.sample_bytes_per_sec;
		s->demand_bytes_per_sec = r->ml.demand_bytes_per_sec;
		s->epochs = r->ml.epochs_total;
		s->is_at_ceiling = !isnan(r->ml.ceiling.cached_au_percent);
	}
	s->is_cut = p->cut_short;
	mem_free(s->concurrent_jobs);
	s->concurrent_jobs = format_concurrent_jobs(f, run);
	return error;
}

/* Keep the full run that the document shows: the largest that held or, if none held, the last one.
 * Takes over `run`. */
static void keep_best(struct find_max *f, struct probe *run, const struct metrics_probe *p)
{
	const struct settings *set = &f->ask->set->settings;
	bool needs_document = f->ask->json || set->output_format != OUTPUT_TEXT;
	bool is_better = !f->held.value ? true : p->holds && p->value >= f->held.value;

	if (!needs_document || !is_better || run->abandoned) {
		probe_fini(run);
		return;
	}
	if (f->has_best)
		probe_fini(&f->best);
	f->best = *run;
	f->has_best = true;
}

/* Measure the ceiling if this full run failed and the host may be the reason. */
static void measure_ceiling(struct find_max *f, struct probe *run, struct metrics_probe *p)
{
	struct mlgen_err err = { 0 };
	struct ask a = probe_ask(run, f->ask);
	const struct job_result *r = find_result(f, run->result);

	bool is_unclear = !strcmp(p->verdict, "host") || !strcmp(p->verdict, "unclear");

	if (!p->full || p->holds || !is_unclear)
		return;
	if (ceiling_measure(&a, run->result, true, &err) < 0)
		f->interrupted = true;
	fill_probe(p, r);
}

/* Pass the result of a run to the search. */
static void add_result(struct find_max *f, struct probe *run, struct search_step step,
		       struct metrics_probe *p)
{
	const struct job_result *r = find_result(f, run->result);
	double noise = 0;

	p->possible = true;
	if (r)
		fill_probe(p, r);
	if (r && r->dataset) {
		f->files = r->dataset->files;
		f->has_existing_files = r->dataset->is_found;
		f->samples_per_file = r->dataset->samples_per_file;
	}
	/* Errors of other jobs make the run invalid, too. */
	p->errors = 0;
	for (size_t i = 0; run->result && i < run->result->job_count; i++)
		p->errors += run->result->jobs[i].errors;
	p->too_many_errors = run->result && failed_in_any(run->result);
	if (p->too_many_errors)
		copy_text(p->verdict, sizeof(p->verdict), "errors");

	/* The smallest margin decides. A run with too many errors has failed, whatever its figures.
	 */
	double margin = (double)INFINITY;
	for (unsigned i = 0; i < f->required_count; i++) {
		double *value = &p->figures[i];

		if (!r || !require_value(r, f->required[i].metric, value))
			*value = (double)NAN;
		margin = fmin(margin, margin_of(&f->required[i], *value));
	}
	margin = fmin(margin, supply_margin(f, r, p));
	if (p->too_many_errors)
		margin = -1;
	p->margin_percent = 100 * margin;
	p->holds = margin >= 0;

	measure_ceiling(f, run, p);
	if (r && p->full)
		noise = fill_side(f, run->result, r, p) / 100;
	search_add_result(&f->search, step, margin, noise);
	if (p->full && step.what == SEARCH_SHORT)
		search_add_result(&f->search,
				  (struct search_step){ .what = SEARCH_FULL, .value = step.value },
				  margin, noise);
}

/* Is the error about this value, such as a limit of the system that it exceeds? Any other failure
 * ends the search. */
static bool is_about_value(const struct probe *run, const struct mlgen_err *err)
{
	return !run->run || !run_has_started(run->run) || err->code == -EAGAIN ||
	       err->code == -ENOMEM || err->code == -EMFILE || err->code == -ENFILE;
}

/* The first probe failed: the job cannot run at all, and its own error is reported. */
static bool is_refused(const struct find_max *f)
{
	return f->probe_count == 1 && !f->probes[0].possible && !f->err.code && !f->interrupted;
}

static void probe(struct find_max *f, struct search_step step)
{
	struct probe_args args = { 0 };
	struct probe run = { 0 };
	struct mlgen_err err = { 0 };
	bool is_full = false;
	int rc = find_length(f, step, &args, &is_full, &err);
	double limit = find_au_limit(f);

	/* A full run ends early once its AU cannot reach the limit. */
	if (is_full && f->ask->set->count == 1 && limit > 0)
		args.au_floor = limit;
	if (rc == 0)
		rc = probe_run(&run, f->ask, &args, &err);
	probe_args_fini(&args);
	f->interrupted |= run.interrupted;
	f->abandoned |= run.abandoned;
	if (f->interrupted) {
		probe_fini(&run);
		return;
	}

	f->probes = mem_realloc(f->probes, (f->probe_count + 1) * sizeof(*f->probes));
	struct metrics_probe *p = &f->probes[f->probe_count++];
	*p = (struct metrics_probe){ .value = step.value,
				     .full = is_full,
				     .margin_percent = (double)NAN,
				     .au_percent = (double)NAN,
				     .sample_bytes_per_sec = (double)NAN,
				     .seconds = (double)NAN,
				     .stall_p99_ns = (double)NAN,
				     .supply_percent = (double)NAN,
				     .demand_bytes_per_sec = (double)NAN,
				     .steps = UINT64_MAX };

	if (rc == 0) {
		add_result(f, &run, step, p);
	} else {
		copy_text(p->error, sizeof(p->error), err.text);
		if (is_about_value(&run, &err))
			search_set_impossible(&f->search, step);
		else
			f->err = err;
	}
	if (!is_refused(f))
		find_text_probe(f, p);
	if (rc == 0 && p->full)
		keep_best(f, &run, p);
	else
		probe_fini(&run);
}

/* ---- whole search ---- */

static void find_run(struct find_max *f)
{
	struct search_step step;

	signals_set_mode(SIGNALS_POLLED);
	if (f->table)
		find_text_head(f);
	while (!f->interrupted && !f->err.code &&
	       (step = search_next(&f->search)).what != SEARCH_END) {
		probe(f, step);
		f->interrupted |= signals_received() > 0;
	}
	f->answer = search_answer(&f->search);
	if (!f->interrupted && !f->err.code)
		find_limit(f);
	if (!f->is_min)
		find_fraction(f);
}

static int find_report(struct find_max *f)
{
	const struct settings *set = &f->ask->set->settings;
	bool is_json = set->output_format != OUTPUT_TEXT;

	find_lines(f);
	if (f->ask->json)
		find_json(f, f->ask->json);
	if (is_json)
		find_json(f, f->ask->to);
	else
		find_text_answer(f, f->ask->to, set->quiet);
	if (f->interrupted)
		return EXIT_INTERRUPTED;
	if (f->err.code) {
		log_error("%s", f->err.text);
		return EXIT_FAILED;
	}
	return f->answer.found ? EXIT_RAN : EXIT_MISSED;
}

static int ask_find(const struct ask *a, bool is_min)
{
	const struct settings *set = &a->set->settings;
	struct find_max f = { .ask = a,
			      .is_min = is_min,
			      .word = is_min ? "find-min" : "find-max",
			      .without_storage = (double)NAN,
			      .delivered_bytes_per_sec = (double)NAN,
			      .fraction = (double)NAN };
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	if (!set->quiet && set->output_format == OUTPUT_TEXT)
		f.table = a->to;
	for (size_t i = 0; i < a->set->count; i++)
		if (a->set->jobs[i]->write_iolog)
			log_note("%s: write_iolog is ignored: the runs of --%s do not write it",
				 a->set->jobs[i]->name, f.word);
	jobset_reuse_scans(a->set);
	if (find_question(&f, &err) < 0) {
		log_error("%s", err.text);
	} else {
		find_run(&f);
		if (is_refused(&f))
			log_error("%s", f.probes[0].error);
		else
			status = find_report(&f);
	}

	if (f.has_best)
		probe_fini(&f.best);
	search_fini(&f.search);
	mem_free(f.probes);
	for (size_t i = 0; i < f.line_count; i++)
		mem_free(f.lines[i].text);
	mem_free(f.lines);
	mem_free(f.held.headline);
	mem_free(f.held.concurrent_jobs);
	mem_free(f.missed.headline);
	mem_free(f.missed.concurrent_jobs);
	mem_free(f.requirement);
	mem_free(f.fits);
	return status;
}

int ask_find_max(const struct ask *a)
{
	return ask_find(a, false);
}

int ask_find_min(const struct ask *a)
{
	return ask_find(a, true);
}
