/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_beside.c - what became of the jobs that ran beside the one --find-max varies. */
#include "ask/find_max.h"

#include <math.h>

#include "ask/asked.h"
#include "report/verdict_errors.h"
#include "run/failed.h"

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

char *find_beside(const struct find_max *f, const struct run_result *r)
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
