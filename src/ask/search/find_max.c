/* SPDX-License-Identifier: Apache-2.0 */
/* find_max.c - --find-max, --find-min: the largest, or smallest, value of an option that meets what
 * is required. */
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

/* ---- what of a job and its runs the parts look at ---- */

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

void find_put_shown(struct buf *out, const struct find_max *f, uint64_t number)
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

/* AU holds, but only because epochs are short. */
bool find_is_hidden(const struct find_max *f, const struct metrics_probe *p)
{
	double limit = find_au_limit(f);

	return p->supply_percent < limit && p->au_percent >= limit;
}

static bool is_figure(struct figure *out, const struct requirement *q)
{
	struct mlgen_err err = { 0 };

	return figure_init_measured(out, q->metric, &err) == 0;
}

bool find_is_time(const struct requirement *q)
{
	struct figure figure;

	return is_figure(&figure, q) && figure_is_ns(&figure);
}

static bool is_rate(const struct requirement *q)
{
	struct figure figure;

	return is_figure(&figure, q) && figure_has_unit(&figure, "bytes/s");
}

const char *find_figure_text(char *out, const struct requirement *q, double v)
{
	char text[UNITS_TEXT_BYTES];

	if (isnan(v))
		snprintf(out, FIND_FIGURE_BYTES, "-");
	else if (find_is_time(q))
		snprintf(out, FIND_FIGURE_BYTES, "%s ms", units_human_ms(text, v));
	else if (is_rate(q)) {
		const struct rate_unit unit = show_rate_unit(v);

		show_rate(out, &unit, v);
	} else
		snprintf(out, FIND_FIGURE_BYTES, "%s", units_sig4(text, v));
	return out;
}

/* `out` holds UNITS_TEXT_BYTES. */
const char *find_au_text(char *out, double au)
{
	snprintf(out, UNITS_TEXT_BYTES, "-");
	if (!isnan(au))
		snprintf(out, UNITS_TEXT_BYTES, "%.1f%%", au);
	return out;
}

/* ---- does a run meet what is required, and by how much? ---- */

/* What holds, or not, with nothing to spare. */
#define HARDLY 1e-9

/* What there is to spare, as a part of the limit. */
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

/* A short probe lives on what was read ahead. */
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

/* Fills figures, margin_percent and holds of `p`, whose `full` and `errors` are set; r NULL: it was
 * not measured. A run with too many errors holds nothing. What there is to spare of the part that
 * is met least, as a part of its limit. */
static double find_judge(const struct find_max *f, const struct job_result *r,
			 struct metrics_probe *p)
{
	double least = (double)INFINITY;

	for (unsigned i = 0; i < f->required_count; i++) {
		double *value = &p->figures[i];

		if (!r || !require_value(r, f->required[i].metric, value))
			*value = (double)NAN;
		least = fmin(least, margin_of(&f->required[i], *value));
	}
	least = fmin(least, supply_margin(f, r, p));
	if (p->too_many_errors)
		least = -1;
	p->margin_percent = 100 * least;
	p->holds = least >= 0;
	return least;
}

/* ---- what became of the jobs that ran beside the one that is varied ---- */

/* Between epochs the page cache is dropped, which is in no epoch's time. */
#define SAME_TIME 0.8

static double seconds_of(const struct job_result *r)
{
	return r->wall_seconds;
}

static void put_figure(struct buf *out, const struct job_result *r)
{
	char text[UNITS_TEXT_BYTES];
	double rate;

	if (job_result_has_accelerators(r)) {
		buf_addf(out, "%s AU", find_au_text(text, r->ml.au_percent));
		if (r->ml.au_percent < r->ml.target_au_percent)
			buf_addf(out, " (target %g%%: missed)", r->ml.target_au_percent);
		return;
	}
	rate = r->work->asked->bytes_per_sec(r);
	const struct rate_unit unit = show_rate_unit(rate);
	buf_add(out, show_rate(text, &unit, rate));
}

/* Beside checkpoints the last one may be long over. */
static bool has_left(const struct job_result *r, const struct job_result *varied)
{
	return !job_result_is_of_checkpoints(r)
		       ? seconds_of(r) < SAME_TIME * seconds_of(varied)
		       : r->elapsed_seconds < SAME_TIME * varied->elapsed_seconds;
}

/* Jobs that ran at the side of the one that is varied: what they came to, or that they were not
 * there to the end. Owned by the caller; NULL: it is alone. */
static char *find_beside(const struct find_max *f, const struct run_result *r)
{
	const struct job_result *varied = find_result(f, r);
	struct buf out = { 0 };

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *other = &r->jobs[i];

		if (other == varied || other->group != varied->group || !job_result_ran(other))
			continue;
		buf_addf(&out, "%s%s ", out.len ? ", " : "", other->job->name);
		put_figure(&out, other);
		if (other->failed.is_too_many) {
			buf_add(&out, " (");
			verdict_put_failed(&out, other);
			buf_addc(&out, ')');
		}
		if (has_left(other, varied))
			buf_addf(&out, " (gone after %.1f of %.1f s: the rest ran without it)",
				 seconds_of(other), seconds_of(varied));
	}
	return out.len ? buf_take(&out) : NULL;
}

/* ---- the question ---- */

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

static struct metrics_probe *add_probe(struct find_max *f, uint64_t value, bool is_full)
{
	f->probes = mem_realloc(f->probes, (f->probe_count + 1) * sizeof(*f->probes));
	struct metrics_probe *p = &f->probes[f->probe_count++];
	*p = (struct metrics_probe){ .value = value,
				     .full = is_full,
				     .margin_percent = (double)NAN,
				     .au_percent = (double)NAN,
				     .sample_bytes_per_sec = (double)NAN,
				     .seconds = (double)NAN,
				     .stall_p99_ns = (double)NAN,
				     .supply_percent = (double)NAN,
				     .demand_bytes_per_sec = (double)NAN,
				     .steps = UINT64_MAX };
	return p;
}

/* Epochs behind the first, which warms up: how far they are apart, and how well their mean is known
 * (standard error), both in points of AU. */
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

/* Of the job that had them, be it another one. */
static void take_error_headline(struct find_side *s, const struct run_result *run)
{
	size_t i = 0;
	struct buf text = { 0 };

	while (!run->jobs[i].failed.is_too_many)
		i++;
	buf_addf(&text, "%s: ", run->jobs[i].job->name);
	verdict_put_failed(&text, &run->jobs[i]);
	buf_add(&text, "; ");
	verdict_put_allowance(&text, &run->jobs[i]);
	mem_replace(&s->headline, buf_str(&text));
	buf_fini(&text);
}

/* Points of AU within which the run knows its own. */
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
	if (p->too_many_errors)
		take_error_headline(s, run);
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
	mem_free(s->beside);
	s->beside = find_beside(f, run);
	return error;
}

/* The document is about the largest full run that held, else about the last. */
static void keep_best(struct find_max *f, struct probe *run, const struct metrics_probe *p)
{
	const struct settings *set = &f->ask->set->settings;
	bool is_asked = f->ask->json || set->output_format != OUTPUT_TEXT;
	bool is_better = !f->held.value ? true : p->holds && p->value >= f->held.value;

	if (!is_asked || !is_better || run->abandoned) {
		probe_fini(run);
		return;
	}
	if (f->has_best)
		probe_fini(&f->best);
	f->best = *run;
	f->has_best = true;
}

static bool is_unclear(const struct metrics_probe *p)
{
	return !strcmp(p->verdict, "host") || !strcmp(p->verdict, "unclear");
}

/* Of a full run that failed: is it the host? */
static void measure_ceiling(struct find_max *f, struct probe *run, struct metrics_probe *p)
{
	struct mlgen_err err = { 0 };
	struct ask a = probe_ask(run, f->ask);
	const struct job_result *r = find_result(f, run->result);

	if (!p->full || p->holds || !is_unclear(p))
		return;
	if (ceiling_measure(&a, run->result, true, &err) < 0)
		f->interrupted = true;
	fill_probe(p, r);
}

/* Of all jobs: of one beside this one they spoil the run, too. */
static void take_errors(struct metrics_probe *p, const struct run_result *r)
{
	p->errors = 0;
	for (size_t i = 0; r && i < r->job_count; i++)
		p->errors += r->jobs[i].errors;
	p->too_many_errors = r && failed_in_any(r);
	if (p->too_many_errors)
		copy_text(p->verdict, sizeof(p->verdict), "errors");
}

/* What the run came to, told to the search. */
static void take_result(struct find_max *f, struct probe *run, struct search_step step,
			struct metrics_probe *p)
{
	const struct job_result *r = find_result(f, run->result);
	double noise = 0;

	p->possible = true;
	if (r)
		fill_probe(p, r);
	if (r && r->dataset) {
		f->files = r->dataset->files;
		f->has_found_files = r->dataset->is_found;
		f->samples_per_file = r->dataset->samples_per_file;
	}
	take_errors(p, run->result);
	double margin = find_judge(f, r, p);
	measure_ceiling(f, run, p);
	if (r && p->full)
		noise = fill_side(f, run->result, r, p) / 100;
	search_tell(&f->search, step, margin, noise);
	if (p->full && step.what == SEARCH_SHORT)
		search_tell(&f->search,
			    (struct search_step){ .what = SEARCH_FULL, .value = step.value },
			    margin, noise);
}

/* A limit of the system is one of this value; anything else ends the search. */
static bool is_about_value(const struct probe *run, const struct mlgen_err *err)
{
	return !run->run || !run_has_started(run->run) || err->code == -EAGAIN ||
	       err->code == -ENOMEM || err->code == -EMFILE || err->code == -ENFILE;
}

static void take_failure(struct find_max *f, const struct probe *run, struct search_step step,
			 struct metrics_probe *p, const struct mlgen_err *err)
{
	copy_text(p->error, sizeof(p->error), err->text);
	if (is_about_value(run, err))
		search_tell_impossible(&f->search, step);
	else
		f->err = *err;
}

/* A run that has missed it, whatever comes, is not run to its end. */
static double au_floor(const struct find_max *f, bool is_full)
{
	double limit = find_au_limit(f);
	bool is_alone = f->ask->set->count == 1;

	return is_full && is_alone && limit > 0 ? limit : 0;
}

/* The job cannot run at all: what a run of it would have said. */
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

	args.au_floor = au_floor(f, is_full);
	if (rc == 0)
		rc = probe_run(&run, f->ask, &args, &err);
	probe_args_fini(&args);
	f->interrupted |= run.interrupted;
	f->abandoned |= run.abandoned;
	if (f->interrupted) {
		probe_fini(&run);
		return;
	}
	struct metrics_probe *p = add_probe(f, step.value, is_full);
	if (rc < 0)
		take_failure(f, &run, step, p, &err);
	else
		take_result(f, &run, step, p);
	if (!is_refused(f))
		find_text_probe(f, p);
	if (rc == 0 && p->full)
		keep_best(f, &run, p);
	else
		probe_fini(&run);
}

/* ---- the whole ---- */

static void find_max_find(struct find_max *f)
{
	struct search_step step;

	signals_attend(SIGNALS_LOOKED);
	if (f->table)
		find_text_head(f);
	while (!f->interrupted && !f->err.code &&
	       (step = search_next(&f->search)).what != SEARCH_END) {
		probe(f, step);
		f->interrupted |= signals_taken() > 0;
	}
	f->answer = search_answer(&f->search);
	if (!f->interrupted && !f->err.code)
		find_limit(f);
	if (!f->is_min)
		find_fraction(f);
}

static int find_max_report(struct find_max *f)
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

static void find_fini(struct find_max *f)
{
	if (f->has_best)
		probe_fini(&f->best);
	search_fini(&f->search);
	mem_free(f->probes);
	for (size_t i = 0; i < f->line_count; i++)
		mem_free(f->lines[i].text);
	mem_free(f->lines);
	mem_free(f->held.headline);
	mem_free(f->held.beside);
	mem_free(f->missed.headline);
	mem_free(f->missed.beside);
	mem_free(f->requirement);
	mem_free(f->fits);
}

static void tell_logs(const struct jobset *set, const char *word)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->jobs[i]->write_iolog)
			log_note("%s: write_iolog is of a run; those of --%s write none",
				 set->jobs[i]->name, word);
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
	tell_logs(a->set, f.word);
	jobset_keep(a->set);
	if (find_question(&f, &err) < 0) {
		log_error("%s", err.text);
	} else {
		find_max_find(&f);
		if (is_refused(&f))
			log_error("%s", f.probes[0].error);
		else
			status = find_max_report(&f);
	}
	find_fini(&f);
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
