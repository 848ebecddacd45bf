/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_beside.c - what became of the jobs that ran beside the one --find-max varies. */
#include "ask/find_max.h"

#include <math.h>

#include "report/verdict_errors.h"
#include "run/failed.h"

/* Between epochs the page cache is dropped, which is in no epoch's time. */
#define SAME_TIME 0.8

static double seconds_of(const struct job_result *r)
{
	if (r->kind == RESULT_TRAIN)
		return r->ml.wall_seconds;
	if (r->kind == RESULT_IO)
		return r->io.wall_seconds;
	return r->kind == RESULT_CHECKPOINT
		       ? job_result_checkpoints(r)->wall_seconds
		       : (double)NAN;
}

static void put_figure(struct buf *out, const struct job_result *r)
{
	char text[UNITS_TEXT_BYTES];
	double rate = (double)NAN;
	if (r->kind == RESULT_TRAIN) {
		buf_addf(out, "%s AU", find_au_text(text, r->ml.au_percent));
		if (r->ml.au_percent < r->ml.target_au_percent)
			buf_addf(out, " (target %g%%: missed)",
				 r->ml.target_au_percent);
		return;
	}
	if (r->kind == RESULT_IO)
		rate = (double)(r->read.io_bytes + r->write.io_bytes) /
		       r->io.wall_seconds;
	else if (r->kind == RESULT_CHECKPOINT)
		rate = job_result_checkpoints(r)->bytes_per_sec;
	const struct rate_unit unit = show_rate_unit(rate);
	buf_add(out, show_rate(text, &unit, rate));
}

/* Beside checkpoints the last one may be long over. */
static bool has_left(const struct job_result *r,
		     const struct job_result *varied)
{
	return r->kind != RESULT_CHECKPOINT
		       ? seconds_of(r) < SAME_TIME * seconds_of(varied)
		       : r->elapsed_seconds <
				 SAME_TIME * varied->elapsed_seconds;
}

char *find_beside(const struct find_max *f, const struct run_result *r)
{
	const struct job_result *varied = find_result(f, r);
	struct buf out = { 0 };
	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *other = &r->jobs[i];
		if (other == varied || other->group != varied->group ||
		    other->kind == RESULT_NONE || other->kind == RESULT_PREPARE)
			continue;
		buf_addf(&out, "%s%s ", out.len ? ", " : "", other->job->name);
		put_figure(&out, other);
		if (failed_of(other)->is_too_many) {
			buf_add(&out, " (");
			verdict_put_failed(&out, other);
			buf_addc(&out, ')');
		}
		if (has_left(other, varied))
			buf_addf(&out,
				 " (gone after %.1f of %.1f s: the rest ran "
				 "without it)",
				 seconds_of(other), seconds_of(varied));
	}
	return out.len ? buf_take(&out) : NULL;
}
