/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_judge.c - does a run of --find-max meet what is required, and by how much? */
#include "ask/find_max.h"

#include <math.h>

#include "ask/require.h"
#include "report/verdict_supply.h"

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

double find_judge(const struct find_max *f, const struct job_result *r, struct metrics_probe *p)
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
