/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_look.c - what of a job and its runs the parts of --find-max look at. */
#include "ask/find_max.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/figure.h"
#include "job/job.h"

const struct job_result *find_result(const struct find_max *f, const struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++)
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
