/* SPDX-License-Identifier: Apache-2.0 */
/* rank_account.c - see rank_account.h. */
#include "run/rank_account.h"

#include "base/util.h"

void rank_account_init(struct rank *r)
{
	r->step = hist_new();
	r->first_step = hist_new();
	r->stall = hist_new();
	r->oversleep = hist_new();
	r->epoch_stall = hist_new();
	pthread_mutex_init(&r->books, NULL);
	if (r->train->job->ramp_time_ns)
		r->left_out_stall = hist_new();
}

void rank_account_fini(struct rank *r)
{
	hist_free(r->step);
	hist_free(r->first_step);
	hist_free(r->stall);
	hist_free(r->oversleep);
	hist_free(r->epoch_stall);
	hist_free(r->left_out_stall);
	pthread_mutex_destroy(&r->books);
}

/* Nothing was computed with a sample that was not read. */
static uint64_t useful_compute_ns(const struct step *s)
{
	double part;

	if (!s->token.failed_samples)
		return s->compute_ns;
	part = (double)token_delivered(&s->token) / (double)s->token.samples;
	return (uint64_t)((double)s->compute_ns * part);
}

static void add_counted_step(struct rank *r, struct epoch_account *a, const struct step *s)
{
	uint64_t wall = s->end_ns - s->begin_ns;
	uint64_t stall = s->taken_ns - s->begin_ns;
	uint64_t useful_ns = useful_compute_ns(s);

	hist_add(r->step, wall);
	hist_add(r->stall, stall);
	hist_add(r->epoch_stall, stall);
	r->counted_steps++;
	r->counted_compute_ns += useful_ns;
	r->counted_wall_ns += wall;
	a->counted_steps++;
	a->counted_compute_ns += useful_ns;
	a->counted_wall_ns += wall;
}

void rank_count_step(struct rank *r, struct epoch_account *a, const struct step *s)
{
	struct rank_count *c = &r->count;
	uint64_t late = s->woken_ns - s->taken_ns - s->compute_ns;

	count_add(&c->compute_ns, s->compute_ns);
	count_add(&c->stall_ns, s->taken_ns - s->begin_ns);
	count_add(&c->oversleep_ns, late);
	count_add(&c->barrier_ns, s->end_ns - s->woken_ns - s->others_ns);
	count_add(&c->host_barrier_ns, s->others_ns);
	count_add(&c->step_ns, s->end_ns - s->begin_ns);
	count_add(&c->useful_ns, useful_compute_ns(s));
	count_add(&c->samples, token_delivered(&s->token));
	count_add(&c->failed_samples, s->token.failed_samples);
	count_add(&c->sample_bytes, s->token.sample_bytes);
	count_add(&c->steps, 1);
	if (s->compute_ns)
		hist_add(r->oversleep, late);
	a->samples += token_delivered(&s->token);
	a->failed_samples += s->token.failed_samples;
	a->sample_bytes += s->token.sample_bytes;
	a->extents += s->token.extents;
	a->id_sum += s->token.id_sum;
	a->wall_ns += s->end_ns - s->begin_ns;
	if (a->steps++ > 0) {
		a->measured_compute_ns += s->woken_ns - s->taken_ns;
		add_counted_step(r, a, s);
	} else {
		a->first_wait_compute_ns = s->woken_ns - s->begin_ns;
		a->first_step_ns = s->end_ns - s->begin_ns;
		hist_add(r->first_step, a->first_step_ns);
	}
}

void rank_look_for_hope(struct rank *r, uint64_t epoch)
{
	double lost = (double)r->counted_wall_ns - (double)r->counted_compute_ns;

	if (r->is_hopeless || epoch == 0 || lost <= r->train->loss_most_ns)
		return;
	r->is_hopeless = true;
	atomic_fetch_add(&r->train->hopeless, 1);
}

/* Keep the counters that a running job shows (train_look). */
static void leave_out(struct rank *r)
{
	struct rank_count *to = &r->left_out, *from = &r->count;

	count_add(&to->samples, count_get(&from->samples));
	count_add(&to->sample_bytes, count_get(&from->sample_bytes));
	count_add(&to->useful_ns, count_get(&from->useful_ns));
	count_add(&to->step_ns, count_get(&from->step_ns));
	count_add(&to->stall_ns, count_get(&from->stall_ns));
	hist_merge(r->left_out_stall, r->stall);
}

void rank_forget(struct rank *r)
{
	struct rank_count *c = &r->count;
	_Atomic uint64_t *const counters[] = {
		&c->steps,           &c->samples,
		&c->sample_bytes,    &c->failed_samples,
		&c->compute_ns,      &c->stall_ns,
		&c->barrier_ns,      &c->useful_ns,
		&c->step_ns,         &c->oversleep_ns,
		&c->eval_steps,      &c->eval_ns,
		&c->eval_samples,    &c->eval_sample_bytes,
		&c->checkpoint_ns,   &c->eval_failed_samples,
		&c->host_barrier_ns,
	};

	pthread_mutex_lock(&r->books);
	if (r->left_out_stall)
		leave_out(r);
	for (unsigned i = 0; i < ARRAY_LEN(counters); i++)
		count_set(counters[i], 0);
	struct hist *const hists[] = { r->step, r->first_step, r->stall, r->oversleep,
				       r->epoch_stall };
	for (unsigned i = 0; i < ARRAY_LEN(hists); i++)
		hist_reset(hists[i]);
	pthread_mutex_unlock(&r->books);
	r->counted_steps = r->counted_compute_ns = r->counted_wall_ns = 0;
}

void rank_start_counting(struct rank *r, struct epoch_account *a)
{
	const struct train *t = r->train;

	if (t->watch)
		t->watch->begin_anew(t->watched);
	rank_forget(r);
	usage_begin(&r->counted);
	*a = (struct epoch_account){ .epoch = a->epoch,
				     .stall = r->epoch_stall,
				     .extents = a->extents,
				     .id_sum = a->id_sum };
	r->counts = true;
	atomic_store(&r->train->counting, true);
}
