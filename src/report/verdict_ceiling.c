/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_ceiling.c - see verdict_ceiling.h. */
#include "report/verdict_ceiling.h"

#include <math.h>

#include "base/units.h"
#include "report/verdict.h"

/* AU in points, else percent of the result's rate; NaN where one is not known. */
static double points_up_to(double au, double rate, const struct job *job,
			   const struct ml_result *ml)
{
	double own = verdict_steady_rate(job, ml);

	if (!isnan(ml->au_percent))
		return au - ml->au_percent;
	return own > 0 ? 100 * (rate - own) / own : (double)NAN;
}

static double near_points(const struct ml_result *ml)
{
	double part = CEILING_NEAR_PART * ml->au_percent;

	return isnan(part) ? CEILING_NEAR_POINTS : fmin(part, CEILING_NEAR_POINTS);
}

static void verdict_ceiling_take(struct ceiling_gap *g, bool of_null,
				 const struct ceiling_result *c, double points)
{
	double au = of_null ? c->null_au_percent : c->cached_au_percent;
	double rate = of_null ? c->null_samples_per_sec : c->cached_samples_per_sec;

	g->of_null = of_null;
	g->points = points;
	g->reached = g->is_rate ? rate : au;
}

void verdict_ceiling(struct ceiling_gap *g, const struct job *job, const struct ml_result *ml)
{
	const struct ceiling_result *c = &ml->ceiling;

	*g = (struct ceiling_gap){ .points = (double)NAN,
				   .reached = (double)NAN,
				   .copying = (double)NAN };
	if (!c->is_tried)
		return;
	double null = points_up_to(c->null_au_percent, c->null_samples_per_sec, job, ml);
	double cached = points_up_to(c->cached_au_percent, c->cached_samples_per_sec, job, ml);
	bool is_model = verdict_is_model(job);
	bool of_null = job->direct || is_model || isnan(cached);
	double bound = of_null ? null : cached;
	double sure = is_model ? null : cached;
	g->is_rate = isnan(ml->au_percent);
	g->copying = null - cached;
	if (bound <= near_points(ml)) {
		g->says = CEILING_NEAR;
		verdict_ceiling_take(g, of_null, c, bound);
	} else if (sure > near_points(ml) && c->jobs_beside == 0) {
		g->says = CEILING_ABOVE;
		verdict_ceiling_take(g, is_model, c, sure);
	} else if (!isnan(bound)) {
		verdict_ceiling_take(g, of_null, c, bound);
	}
}

void verdict_ceiling_put(struct buf *out, const struct ceiling_gap *g)
{
	char rate[UNITS_TEXT_BYTES];

	buf_add(out, "with storage taken away this host reaches ");
	if (g->is_rate)
		buf_addf(out, "%s samples/s", units_sig4(rate, g->reached));
	else
		buf_addf(out, "%.1f%% AU", g->reached);
}

double verdict_steady_rate(const struct job *job, const struct ml_result *ml)
{
	if (!ml->step_ns || ml->step_ns->count == 0)
		return (double)NAN;
	double step = hist_mean(ml->step_ns) / 1e9;
	double samples = (double)(job->batch_size * ml->accelerators);
	double taken = (double)(ml->samples + ml->failed_samples);
	if (ml->failed_samples)
		samples *= (double)ml->samples / taken;
	return step > 0 ? samples / step : (double)NAN;
}
