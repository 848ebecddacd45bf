/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - see stages.h. */
#include "run/stages.h"

uint64_t pass_shuffle_buffer(const struct job *job, const struct pass *pass)
{
	return pass->is_eval ? 0 : job_shuffle_buffer(job);
}

/* Is there an evaluation after so many epochs? */
static bool evaluates_after(const struct stages *s, uint64_t epochs)
{
	return s->has_eval && epochs >= s->eval_after &&
	       (epochs - s->eval_after) % s->eval_every == 0;
}

struct stage stage_first(const struct stages *s)
{
	return (struct stage){ .pass = &s->train };
}

void stage_next(const struct stages *s, struct stage *at)
{
	at->first_batch += at->pass->sampler.steps;
	at->number++;
	if (!at->pass->is_eval && evaluates_after(s, at->epoch + 1)) {
		at->pass = &s->eval;
		return;
	}
	at->pass = &s->train;
	at->epoch++;
}

bool stage_runs_on(const struct stages *s, const struct stage *at)
{
	return !at->pass->is_eval && !evaluates_after(s, at->epoch + 1);
}
