/* SPDX-License-Identifier: Apache-2.0 */
/* rank_eval.c - see rank_eval.h. */
#include "run/rank_eval.h"

#include <errno.h>

#include "base/util.h"
#include "run/rank_step.h"
#include "run/tracemarks.h"

static void add_eval_step(struct rank *r, const struct step *s)
{
	struct rank_count *c = &r->count;

	count_add(&c->eval_steps, 1);
	count_add(&c->eval_samples, token_delivered(&s->token));
	count_add(&c->eval_failed_samples, s->token.failed_samples);
	count_add(&c->eval_sample_bytes, s->token.sample_bytes);
}

int rank_eval(struct rank *r, const struct stage *at, bool *stopped)
{
	struct train *t = r->train;
	struct step s = { .end_ns = u64_max(r->end_ns, peers_passed_ns(&t->peers)) };
	uint64_t begin_ns = s.end_ns;

	r->have = (struct token){ 0 };
	rank_step_limit(r, at, 0);
	for (uint64_t b = 0; b < at->pass->sampler.steps; b++) {
		if (train_wants_stop(t, 0, s.end_ns))
			break;
		s.begin_ns = s.end_ns;
		if (rank_step_compute(r, at, b, &s) < 0) {
			*stopped = true;
			break;
		}
		add_eval_step(r, &s);
		tracemarks_step(r, at, b, &s);
	}
	if (train_is_closed(t))
		return -EPIPE;
	if (*stopped)
		peers_cut(&t->peers);
	else if (t->job->barrier != BARRIER_NONE &&
		 peers_barrier(&t->peers, &train_decide_stop, t) < 0)
		return -EPIPE;
	r->end_ns = u64_max(s.end_ns, peers_passed_ns(&t->peers));
	count_add(&r->count.eval_ns, r->end_ns - begin_ns);
	tracemarks_stage(r, at, begin_ns);
	*stopped |= t->job->barrier != BARRIER_NONE ? atomic_load(&t->is_decided)
						    : train_wants_stop(t, 0, r->end_ns);
	return 0;
}
