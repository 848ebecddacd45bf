/* SPDX-License-Identifier: Apache-2.0 */
/* loader_anew.c - see loader_anew.h. */
#include "run/loader_anew.h"

#include "base/rng.h"
#include "run/loader_inside.h"

struct generation {
	struct loader *loader;
	void (*run)(struct loader *l);
};

bool loader_begins_anew(const struct job *job)
{
	return job->loader == LOADER_PYTORCH && job->read_threads &&
	       dist_mean(&job->worker_start) > 0;
}

bool loader_anew_begin(struct loader *l)
{
	const struct train *t = l->rank->train;
	uint64_t who = l->rank->index * t->job->read_threads + l->index, ns;

	if (!loader_await(l, l->next.first_batch))
		return false;
	ns = (uint64_t)dist_draw(&t->job->worker_start, rng_u64(t->job->randseed, RNG_START, who),
				 RNG_START, l->next.number);
	stop_sleep_until(t->stop, t->clock, clock_now(t->clock) + ns);
	count_add(&l->worker.stat.idle_ns, ns);
	io_wake(l->worker.io);
	return true;
}

static void *generation_main(void *arg)
{
	const struct generation *g = arg;
	struct clock *clock = g->loader->rank->train->clock;

	clock_join(clock);
	g->run(g->loader);
	clock_leave(clock);
	return NULL;
}

/* False with the run's failure: there is no thread. */
static bool run_one(struct generation *g)
{
	struct train *t = g->loader->rank->train;
	struct mlgen_err err = { 0 };
	pthread_t thread;

	if (worker_start(&thread, t->clock, generation_main, g, &err) < 0) {
		failure_set(t->failure, &err);
		return false;
	}
	clock_leave(t->clock);
	worker_join(&thread);
	clock_expect(t->clock, 1);
	clock_join(t->clock);
	return true;
}

void loader_anew(struct loader *l, void (*run)(struct loader *l))
{
	struct generation g = { .loader = l, .run = run };

	l->goes_on = true;
	while (l->goes_on && run_one(&g))
		;
}
