/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_text.c - the answer of --find-max with its reasons, as text and JSON. */
#include "ask/search/search_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"
#include "report/document/document.h"
#include "report/text/text.h"

/* ---- JSON: find_max in the document of the best run ---- */

static uint64_t shown_if(const struct find_max *f, bool is_known, uint64_t number)
{
	return is_known ? find_shown(f, number) : UINT64_MAX;
}

/* A copy of the probes with the values that are printed. The caller frees the array; its elements
 * point into f. */
static struct metrics_probe *probes_as_shown(const struct find_max *f)
{
	struct metrics_probe *p = mem_array(f->probe_count, sizeof(*p));

	for (size_t i = 0; i < f->probe_count; i++) {
		p[i] = f->probes[i];
		p[i].value = find_shown(f, p[i].value);
		p[i].figure_list = (struct metric_list){ f->probes[i].figures,
							 p[i].possible ? f->required_count : 0 };
	}
	return p;
}

void find_json(const struct find_max *f, FILE *to)
{
	const struct search_answer *a = &f->answer;
	const struct run_result none = { .host = *f->ask->host,
					 .timestamp_ms = clock_wall_ns() / 1000000,
					 .title = f->ask->set->settings.title,
					 .notes = f->ask->set->settings.note,
					 .interrupted = f->interrupted };
	struct buf question = { 0 };

	find_append_question(&question, f);
	const struct metrics_find_max m = {
		.question = buf_str(&question),
		.option = f->option->name,
		.job = f->job->name,
		.lines = { f->lines, f->line_count },
		.requirement = f->requirement,
		.smallest = f->is_min,
		.answer = shown_if(f, a->found, a->value),
		.at_most = shown_if(f, a->found || a->at_most > a->value, a->at_most),
		.limited_by = shown_if(f, a->is_limited, a->limited_by),
		.confirmed = search_is_confirmed(&f->search),
		.interrupted = f->interrupted,
		.noise_percent = 100 * search_noise(&f->search),
		.limit = f->limit,
		.limit_bytes_per_sec = f->delivered_bytes_per_sec,
		.fraction = f->fraction,
		.ceiling_percent = f->without_storage,
		.probes = { probes_as_shown(f), f->probe_count },
	};
	const struct json_extra extra = { "find_max", metrics_find_max_fields, &m };
	if (f->has_best)
		json_report_with(to, f->best.result, &f->best.set, &extra);
	else
		json_report_with(to, &none, f->ask->set, &extra);
	mem_free(m.probes.items);
	buf_fini(&question);
}

/* ---- text ---- */

#define INDENT 10

/* The label of a command, which is wrapped so that a shell can read it. */
#define LABEL_PLAY "play it"

static void append_option(struct buf *out, const struct find_max *f, uint64_t n)
{
	buf_addf(out, "%s=", f->option->name);
	find_append_shown(out, f, n);
}

/* Append "5 x h100" or "read_threads=5". */
static void append_value(struct buf *out, const struct find_max *f, uint64_t n)
{
	char text[SHOW_ACCELERATORS_BYTES];

	if (find_counts_accelerators(f))
		buf_add(out, show_accelerators(text, n, f->job->accelerator));
	else
		append_option(out, f, n);
}

static void append_figures(struct buf *out, const struct find_max *f, const struct metrics_probe *p)
{
	char rate[UNITS_TEXT_BYTES], text[FIND_FIGURE_BYTES];

	for (unsigned i = 0; i < f->required_count; i++) {
		const struct requirement *q = &f->required[i];

		if (i)
			buf_add(out, ", ");
		if (find_is_au(q))
			buf_addf(out, "%s AU", find_au_text(text, p->figures[i]));
		else
			buf_addf(out, "%s %s", q->metric, find_figure_text(text, q, p->figures[i]));
	}
	if (!isnan(p->sample_bytes_per_sec))
		buf_addf(out, ", %s", show_rate(rate, &f->unit, p->sample_bytes_per_sec));
}

/* The last run of the value; a full run comes before short ones. */
static const struct metrics_probe *best_probe(const struct find_max *f, uint64_t value)
{
	const struct metrics_probe *best = NULL;

	for (size_t i = 0; i < f->probe_count; i++) {
		const struct metrics_probe *p = &f->probes[i];

		if (p->value == value && (!best || p->full >= best->full))
			best = p;
	}
	return best;
}

static const char *ordinal(uint64_t n)
{
	if (n / 10 % 10 == 1)
		return "th";
	return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

static void append_neighbour(struct buf *out, const struct find_max *f, uint64_t value)
{
	char au[UNITS_TEXT_BYTES];
	const struct metrics_probe *p = best_probe(f, value);

	if (!p)
		return;
	buf_add(out, ". ");
	if (find_counts_accelerators(f))
		buf_addf(out, "The %" PRIu64 "%s", value, ordinal(value));
	else
		append_option(out, f, value);
	buf_addc(out, ' ');
	if (!p->possible) {
		buf_add(out, "is not possible");
		return;
	}
	if (f->required_count == 1 && find_is_au(&f->required[0])) {
		buf_addf(out, "reached %s", find_au_text(au, p->au_percent));
		if (find_is_hidden(f, p))
			buf_addf(out, ", but read threads deliver only %.0f%%", p->supply_percent);
		return;
	}
	buf_add(out, "had ");
	append_figures(out, f, p);
}

static void append_short_epochs(struct buf *out, const struct find_max *f)
{
	const struct metrics_probe *p =
		f->answer.is_limited ? best_probe(f, f->answer.limited_by) : NULL;

	if (!p || !find_is_hidden(f, p))
		return;
	buf_addf(out,
		 "epochs are short: most of an epoch is read before its first "
		 "step, which AU leaves out. Read threads that are never idle "
		 "would deliver %.0f%% of what ",
		 p->supply_percent);
	append_value(out, f, p->value);
	buf_addf(out, " need; %s makes epochs longer",
		 find_makes_files(f) ? "num_files=" : "a directory with more files");
}

static void append_known(struct buf *out, const struct find_max *f, const char *before)
{
	const struct search_answer *a = &f->answer;
	const struct metrics_probe *p = best_probe(f, a->value);

	buf_add(out, before);
	append_value(out, f, a->value);
	if (p) {
		buf_add(out, " (");
		append_figures(out, f, p);
		buf_addc(out, ')');
	}
	if (a->is_limited)
		append_neighbour(out, f, a->limited_by);
}

/* Append "5 or 6 x h100: 3 full runs of 6 differed by -1.2, +0.7 and -0.3% from what is required
 * (noise 1.9%)". */
static void append_unsure(struct buf *out, const struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	const struct search_trial *t = search_find(&f->search, a->at_most, true);
	char noise[UNITS_TEXT_BYTES];
	const char *word = a->at_most > a->value + 1 ? "to" : "or";

	if (!a->found) {
		buf_add(out, "none or ");
		append_value(out, f, a->at_most);
	} else if (find_counts_accelerators(f)) {
		buf_addf(out, "%" PRIu64 " %s ", a->value, word);
		append_value(out, f, a->at_most);
	} else {
		append_value(out, f, a->value);
		buf_addf(out, " %s ", word);
		find_append_shown(out, f, a->at_most);
	}
	buf_addf(out, ": %u full runs of ", t ? t->runs : 0);
	find_append_shown(out, f, a->at_most);
	buf_add(out, " differed by");
	for (unsigned i = 0; t && i < t->runs; i++)
		buf_addf(out, "%s%+.1f",
			 i == 0            ? " "
			 : i + 1 < t->runs ? ", "
					   : " and ",
			 100 * t->margins[i]);
	buf_addf(out, "%% from what is required (noise %s%%)",
		 units_sig4(noise, 100 * search_noise(&f->search)));
}

/* Append a verb and the rate that the required AU needs: "needs 2.66 GiB/s for 90%". */
static void append_need(struct buf *out, const struct find_max *f, const struct find_side *s,
			const char *verb)
{
	char need[UNITS_TEXT_BYTES];
	double au = find_au_limit(f);

	if (isnan(au) || !(s->demand_bytes_per_sec > 0))
		return;
	buf_addf(out, "%s %s for %g%%", verb,
		 show_rate(need, &f->unit, s->demand_bytes_per_sec * au / 100), au);
}

static void append_none(struct buf *out, const struct find_max *f)
{
	char rate[UNITS_TEXT_BYTES];
	const struct find_side *s = &f->missed;
	const struct metrics_probe *p = best_probe(f, s->value);

	if (!p) {
		buf_add(out, "none was found");
		return;
	}
	if (!isnan(f->fraction)) {
		buf_addf(out, "none: %s feeds %.2g %s at %g%% AU",
			 verdict_is_model(f->job) ? "the modelled storage" : "storage", f->fraction,
			 f->job->accelerator ? f->job->accelerator : "of one accelerator",
			 find_au_limit(f));
		return;
	}
	buf_add(out, "none: ");
	append_value(out, f, s->value);
	buf_add(out, p->possible ? " gave " : " could not run");
	append_figures(out, f, p);
	if (find_is_hidden(f, p))
		buf_addf(out, ", but read threads deliver only %.0f%%", p->supply_percent);
	if (f->is_min && !(f->job->cache_warm > 0))
		buf_add(out, ". The first epoch, which fills the tier, counts; cache_warm=100% "
			     "fills it before the run");
	if (find_counts_accelerators(f) && s->demand_bytes_per_sec > 0 &&
	    !isnan(find_au_limit(f))) {
		buf_add(out, s->value == 1 ? ". One" : ". They");
		append_need(out, f, s, s->value == 1 ? " needs" : " need");
		buf_addf(out, ", got %s", show_rate(rate, &f->unit, s->bytes_per_sec));
	}
}

static bool is_limit(const struct find_max *f, const char *name)
{
	return f->limit && strcmp(f->limit, name) == 0;
}

static void append_answer(struct buf *out, const struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	const char *at_least = f->is_min ? "at most " : "at least ";
	/* f->limit is NULL for a plain job. Reads from memory are reported in a separate line. */
	bool is_storage = !f->limit || is_limit(f, "storage") || is_limit(f, "memory");

	if (a->at_most > a->value)
		append_unsure(out, f);
	else if (!a->found && (f->interrupted || f->err.code))
		buf_add(out, "unknown: the search did not get that far");
	else if (!a->found)
		append_none(out, f);
	else if (f->interrupted || f->err.code || !a->is_limited)
		append_known(out, f, at_least);
	else if (is_limit(f, "host"))
		append_known(
			out, f,
			f->is_min ? "not reached: the host, not the storage, is the limit. At most "
				  : "not reached: the host, not the storage, is the limit. At "
				    "least ");
	else
		append_known(out, f, is_storage ? "" : at_least);
}

/* Append the highest rate that storage delivered, and the rate that the failed value needs. */
static void append_storage_limit(struct buf *out, const struct find_max *f)
{
	char rate[UNITS_TEXT_BYTES];
	const struct find_side *s = &f->missed;
	double most = f->delivered_bytes_per_sec;
	double need = s->demand_bytes_per_sec * find_au_limit(f) / 100;

	buf_add(out, verdict_without_storage(f->job) ? "the storage that ioengine=null simulates"
						     : "storage");
	if (isnan(most))
		return;
	buf_addf(out, ", at about %s", show_rate(rate, &f->unit, most));
	if (find_counts_accelerators(f) && need > most) {
		buf_add(out, ": ");
		append_value(out, f, s->value);
		append_need(out, f, s, s->value == 1 ? " needs" : " need");
	}
}

/* Append "not found: 3 x h100 need 42 files for two steps per epoch, but there are 28; ...". */
static void append_files(struct buf *out, const struct find_max *f)
{
	uint64_t steps = find_steps_needed(f), next = f->search.most + 1;
	char files[UNITS_TEXT_BYTES], present[UNITS_TEXT_BYTES];

	buf_add(out, "not found: ");
	append_value(out, f, next);
	buf_addf(out, " need%s %s files for %s step%s per epoch, but there %s %s; %s%s",
		 find_counts_accelerators(f) && next > 1 ? "" : "s",
		 units_human_count(files, (uint64_t)find_files_needed(f, next)),
		 steps == 1 ? "one" : "two", steps == 1 ? "" : "s", f->files == 1 ? "is" : "are",
		 units_human_count(present, f->files),
		 advice_more_files(f->job, find_makes_files(f)),
		 f->job->scale < 100 ? " or a larger scale" : "");
}

/* Append a number between two texts: "not found: the run of 8 failed". */
static void append_number(struct buf *out, const struct find_max *f, const char *before,
			  uint64_t number, const char *after)
{
	buf_add(out, before);
	find_append_shown(out, f, number);
	buf_add(out, after);
}

static void append_limit(struct buf *out, const struct find_max *f)
{
	const struct search_answer *a = &f->answer;
	const struct metrics_probe *p = a->is_limited ? best_probe(f, a->limited_by) : NULL;

	if (f->interrupted)
		buf_add(out, "not found: the search was interrupted");
	else if (f->err.code)
		append_number(out, f, "not found: the run of ", f->probes[f->probe_count - 1].value,
			      " failed");
	else if (is_limit(f, "not possible"))
		append_number(out, f, "", a->limited_by, " is not possible: ");
	else if (is_limit(f, "files"))
		append_files(out, f);
	else if (is_limit(f, "option")) {
		append_number(out, f, "not found: ", f->search.most,
			      f->is_min ? " is the smallest value that is tried for "
					: " is the largest value that ");
		buf_addf(out, "%s%s", f->option->name, f->is_min ? "" : " can have");
	} else if (is_limit(f, "storage"))
		append_storage_limit(out, f);
	else if (is_limit(f, "host"))
		buf_add(out, "this host; the limit of storage was not found");
	else if (f->limit && f->missed.headline)
		buf_addf(out, "%s: %s", f->limit, f->missed.headline);
	if (p && !f->interrupted && !f->err.code && is_limit(f, "not possible"))
		buf_add(out, p->error);
}

static void append_host(struct buf *out, const struct find_max *f)
{
	char au[UNITS_TEXT_BYTES];

	if (isnan(f->without_storage))
		return;
	buf_addf(out, "%s: without storage, ", is_limit(f, "host") ? "the limit" : "not the limit");
	append_value(out, f, f->answer.limited_by);
	buf_addf(out, " reach%s %s here",
		 f->answer.limited_by == 1 || !find_counts_accelerators(f) ? "es" : "",
		 find_au_text(au, f->without_storage));
}

static void append_fits(struct buf *out, const struct find_max *f)
{
	if (f->fits)
		buf_add(out, f->fits);
}

static void append_play(struct buf *out, const struct find_max *f)
{
	if (!isnan(f->fraction))
		find_append_play(out, f);
}

static void append_sure(struct buf *out, const struct find_max *f)
{
	const struct find_side *s = f->held.value ? &f->held : &f->missed;
	if (!search_is_confirmed(&f->search)) {
		buf_add(out, "no: not confirmed by full runs");
		return;
	}
	buf_add(out, f->held.value && f->missed.value ? "each side confirmed by a full run"
						      : "confirmed by a full run");
	if (find_trains(f) && s->epochs && !s->is_cut)
		buf_addf(out, " of %" PRIu64 " epoch%s", s->epochs, s->epochs == 1 ? "" : "s");
	if (s->epochs > f->job->epochs && !f->job->time_based)
		buf_addf(out, " (the job's %" PRIu64 " %s repeated)", f->job->epochs,
			 f->job->epochs == 1 ? "is short and was" : "are short and were");
	if (!isnan(s->epochs_differ))
		buf_addf(out, "; epochs differ by %.1f points of AU", s->epochs_differ);
	if (!f->missed.is_cut)
		return;
	if (f->held.value)
		append_number(out, f, "; the run of ", f->missed.value, "");
	else
		buf_add(out, ", which");
	buf_addf(out, " ended when %g%% was out of reach", find_au_limit(f));
}

/* Append "with 5: volumes 99.1% AU, checkpoints 31.2 MiB/s; with 6: ...". */
static void append_concurrent_jobs(struct buf *out, const struct find_max *f)
{
	const struct find_side *const sides[] = { &f->held, &f->missed };

	for (size_t i = 0; i < 2; i++)
		if (sides[i]->concurrent_jobs) {
			append_number(out, f, out->len ? "; with " : "with ", sides[i]->value,
				      ": ");
			buf_add(out, sides[i]->concurrent_jobs);
		}
}

static void append_memory(struct buf *out, const struct find_max *f)
{
	char percent[UNITS_TEXT_BYTES];
	const struct find_side *s = f->held.value ? &f->held : &f->missed;

	if (strcmp(s->verdict, "memory") != 0)
		return;
	buf_add(out, "NOT A STORAGE RESULT: ");
	if (isnan(s->memory_percent))
		buf_add(out, s->headline);
	else
		buf_addf(out, "%s of the bytes came from this host's page cache; use %s%s%s",
			 show_percent(percent, s->memory_percent),
			 find_trains(f) && find_makes_files(f) ? "--dataset_ratio=5, " : "",
			 find_trains(f) ? "invalidate=epoch or " : "",
			 advice_direct(f->job) ? "direct=1" : "a --memory_limit");
}

/* ---- the lines ---- */

static void add_line(struct find_max *f, const char *label, char *text)
{
	f->lines = mem_realloc(f->lines, (f->line_count + 1) * sizeof(*f->lines));
	f->lines[f->line_count++] = (struct metrics_answer_line){ label, text };
}

static const struct {
	const char *label;
	void (*append)(struct buf *out, const struct find_max *f);
} parts[] = {
	{ "ANSWER", append_answer }, { "limit", append_limit },
	{ "fits", append_fits },     { LABEL_PLAY, append_play },
	{ "host", append_host },     { "jobs", append_concurrent_jobs },
	{ "sure", append_sure },     { "but", append_short_epochs },
	{ "but", append_memory },
};

void find_lines(struct find_max *f)
{
	struct buf mlperf = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct buf text = { 0 };

		parts[i].append(&text, f);
		if (text.len)
			add_line(f, parts[i].label, buf_detach(&text));
		buf_fini(&text);
	}
	find_text_mlperf(&mlperf, f);
	for (const char *at = buf_str(&mlperf); *at;) {
		struct buf line = { 0 };
		size_t len = strcspn(at, "\n");

		buf_addn(&line, at, len);
		add_line(f, NULL, buf_detach(&line));
		at += len + (at[len] == '\n');
	}
	buf_fini(&mlperf);
}

void find_text_answer(const struct find_max *f, FILE *to, bool quiet)
{
	struct buf out = { 0 };

	if (quiet)
		buf_addf(&out, "%s: %s\n", f->job->name, f->lines[0].text);
	else
		buf_addc(&out, '\n');
	for (size_t i = 0; !quiet && i < f->line_count; i++) {
		const struct metrics_answer_line *line = &f->lines[i];

		if (!line->label)
			buf_addf(&out, "%s\n", line->text);
		else if (strcmp(line->label, LABEL_PLAY) == 0)
			text_append_command(&out, line->label, INDENT, line->text);
		else
			text_append(&out, line->label, INDENT, line->text);
	}
	text_print(to, &out);
	fflush(to);
	buf_fini(&out);
}
