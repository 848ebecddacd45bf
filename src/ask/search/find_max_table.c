/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_table.c - the table of --find-max, to which each run adds a row when it ends. */
#include "ask/search/search_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/results/results.h"
#include "base/log.h"
#include "base/units.h"
#include "job/job.h"
#include "report/text/text.h"

/* Append "stall_ns.p99 < 1ms". */
static void append_requirement(struct buf *out, const struct requirement *q)
{
	char value[UNITS_TEXT_BYTES];

	if (find_is_time(q))
		units_format_time(value, (uint64_t)q->value);
	else
		units_format_f64(value, q->value);
	buf_addf(out, "%s %s %s", q->metric, q->op, value);
}

static int option_width(const struct find_max *f)
{
	int len = (int)strlen(f->option->name);

	return len > 12 ? len : 12;
}

static int metric_width(const struct requirement *q)
{
	int len = (int)strlen(q->metric);

	return len > 11 ? len : 11; /* "14.86 GiB/s" */
}

/* The table of a training job always has columns for AU and stalls. */
static bool has_column(const struct find_max *f, unsigned i)
{
	const struct requirement *q = &f->required[i];

	return !find_trains(f) || (!find_is_au(q) && strcmp(q->metric, "stall_ns.p99") != 0);
}

/* Append "storage-bound". False if no verdict explains the AU. */
static bool append_verdict(struct buf *out, const struct metrics_probe *p)
{
	const char *label = verdict_label(p->verdict);

	if (!label || !strcmp(p->verdict, "compute"))
		return false;
	if (strcmp(p->verdict, "memory") == 0)
		label = "from memory";
	for (const char *c = label; *c; c++)
		buf_addc(out, (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c));
	return true;
}

/* Append why a run fails: the limit of its AU, or the first missed requirement. */
static void append_reason(struct buf *out, const struct find_max *f, const struct metrics_probe *p)
{
	const struct requirement *q = NULL;

	for (unsigned i = 0; i < f->required_count && !q; i++)
		if (!require_holds(&f->required[i], p->figures[i]))
			q = &f->required[i];

	if (!p->too_many_errors && find_is_hidden(f, p))
		buf_addf(out, "reads reach %.0f%% of need, ", p->supply_percent);
	/* A busy host is only a hint if storage is modelled: a measurement shows whether it is the
	 * limit. */
	bool is_hint = verdict_is_model(f->job) && !strcmp(p->verdict, "host");
	bool is_of_au = !q || p->too_many_errors || find_is_au(q);
	if (is_of_au && !is_hint && append_verdict(out, p))
		return;
	if (q) {
		buf_add(out, "misses ");
		append_requirement(out, q);
	} else {
		buf_add(out, "unclear");
	}
}

static void append_row(struct buf *out, const struct find_max *f, const struct metrics_probe *p)
{
	char figure[FIND_FIGURE_BYTES], ms[UNITS_TEXT_BYTES], steps[UNITS_TEXT_BYTES];
	struct buf why = { 0 };

	if (find_trains(f))
		buf_addf(out, " %6s", find_au_text(figure, p->au_percent));
	for (unsigned i = 0; i < f->required_count; i++)
		if (has_column(f, i))
			buf_addf(out, "  %*s", metric_width(&f->required[i]),
				 find_figure_text(figure, &f->required[i], p->figures[i]));
	double rate = p->sample_bytes_per_sec / f->unit.bytes;
	if (job_work(f->job)->is_open_ended && isnan(rate))
		buf_addf(out, " %6s", "-");
	else if (job_work(f->job)->is_open_ended)
		buf_addf(out, " %6.*f", show_rate_decimals(&f->unit, rate), rate);
	if (find_trains(f))
		buf_addf(out, "  %13s %6s", units_human_ms(ms, p->stall_p99_ns),
			 units_human_count(steps, p->steps));
	buf_add(out, p->holds ? "  pass  " : "  fail  ");
	if (!p->holds)
		append_reason(&why, f, p);
	else if (strcmp(p->verdict, "memory") == 0)
		append_verdict(&why, p);
	if (p->cut_short)
		buf_addf(&why, "%sended early", why.len ? ", " : "");
	wrap_words(out, wrap_column_of(out), wrap_columns(), buf_str(&why));
	buf_fini(&why);
}

void find_append_question(struct buf *out, const struct find_max *f)
{
	buf_addf(out, "%s: %s %s with ", f->job->name, f->is_min ? "least" : "most",
		 f->option->name);
	for (unsigned i = 0; i < f->required_count; i++) {
		buf_add(out, i ? " and " : "");
		append_requirement(out, &f->required[i]);
	}
}

void find_text_head(struct find_max *f)
{
	const struct settings *set = &f->ask->set->settings;
	struct buf out = { 0 };

	find_append_question(&out, f);
	buf_addc(&out, '\n');
	text_append_title(&out, set->title, set->note);
	text_print(f->table, &out);
	fflush(f->table);
	buf_fini(&out);
}

void find_text_probe(struct find_max *f, const struct metrics_probe *p)
{
	struct buf line = { 0 }, value = { 0 };
	bool is_first = !f->unit.name;
	char number[24];

	/* The rate of the first probe decides the unit of all rates. */
	if (is_first)
		f->unit = show_rate_unit(p->sample_bytes_per_sec);
	if (!f->table)
		return;
	if (is_first) {
		buf_addf(&line, "\n%5s %*s", "probe", option_width(f), f->option->name);
		if (find_trains(f))
			buf_addf(&line, " %6s", "AU");
		for (unsigned i = 0; i < f->required_count; i++)
			if (has_column(f, i))
				buf_addf(&line, "  %*s", metric_width(&f->required[i]),
					 f->required[i].metric);
		if (job_work(f->job)->is_open_ended)
			buf_addf(&line, " %6s", f->unit.name);
		if (find_trains(f))
			buf_addf(&line, "  %13s %6s", "stall p99, ms", "steps");
		buf_addc(&line, '\n');
		text_print(f->table, &line);
		buf_reset(&line);
	}
	snprintf(number, sizeof(number), "%zu", f->probe_count);
	find_append_shown(&value, f, p->value);
	buf_addf(&line, "%5s %*s", p->full ? "full" : number, option_width(f), buf_str(&value));
	buf_fini(&value);
	if (p->possible)
		append_row(&line, f, p);
	else
		buf_addf(&line, "  %s: %s", f->err.code ? "failed" : "not possible", p->error);

	size_t len = line.len;
	while (len && line.s[len - 1] == ' ')
		len--;
	buf_cut(&line, len);
	buf_addc(&line, '\n');
	text_print(f->table, &line);
	fflush(f->table);
	buf_fini(&line);
}
