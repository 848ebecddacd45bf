/* SPDX-License-Identifier: Apache-2.0 */
/* tier_thread.c - see tier_thread.h. */
#include "run/tier_thread.h"

#include <errno.h>
#include <string.h>

/* Its requests are those of one unit after the other. */
#define THREAD_DEPTH 1u

void tier_thread_init(struct tier_thread *t)
{
	worker_init(&t->worker);
}

void tier_thread_fini(struct tier_thread *t)
{
	tier_loader_free(t->loader);
	reader_free(t->reader);
	worker_fini(&t->worker);
}

static int open_thread(struct tier_thread *th)
{
	struct tier *t = th->cache->tier;
	struct worker_config cfg = {
		.place = t->cfg.place,
		.traced = t->cfg.traced,
		.io = { .job = t->cfg.engine_job,
			.clock = t->cfg.clock,
			.iodepth = THREAD_DEPTH,
			.transfers = THREAD_DEPTH,
			.files = th->files,
			.buf_bytes = th->buf_bytes,
			.mem = MEM_MALLOC,
			.stop = th->may_stop ? t->cfg.stop : NULL },
	};
	int rc;

	if (!th->is_not_counted)
		cfg.list = t->cfg.workers;
	cfg.has_ramp = t->job->ramp_time_ns > 0;
	th->worker.is_helper = true;
	snprintf(cfg.role, sizeof(cfg.role), "%s", th->role);
	rc = worker_open(&th->worker, &cfg, &th->err);
	if (rc < 0)
		return rc;
	th->reader = reader_new(th->worker.io, &th->worker.stat, 1, THREAD_DEPTH);
	th->loader = tier_loader_new(t, th->cache->own_first, th->number, &th->worker, th->reader,
				     &th->err);
	if (!th->loader)
		return th->err.code;
	th->loader->fills_itself = th->fills_itself;
	return 0;
}

static void close_thread(struct tier_thread *th)
{
	struct tier *t = th->cache->tier;

	if (th->loader && !th->is_not_counted)
		tier_loader_close(th->loader);
	else if (th->loader && t->place->leave)
		t->place->leave(th->loader);
	if (!th->is_not_counted)
		worker_stop_counting(&th->worker, clock_now(t->cfg.clock));
	worker_close(&th->worker);
}

static void *thread_main(void *thread)
{
	struct tier_thread *th = thread;
	struct clock *clock = th->cache->tier->cfg.clock;

	clock_join(clock);
	if (open_thread(th) == 0)
		th->work(th);
	close_thread(th);
	clock_leave(clock);
	return NULL;
}

int tier_thread_start(struct tier_thread *t, struct mlgen_err *err)
{
	return worker_start(&t->worker.thread, t->cache->tier->cfg.clock, thread_main, t, err);
}

int tier_thread_join(struct tier_thread *t, struct mlgen_err *err)
{
	worker_join(&t->worker.thread);
	if (!t->err.code || t->err.code == -ECANCELED)
		return 0;
	if (err && !err->code)
		*err = t->err;
	return t->err.code;
}

void tier_thread_begin(struct tier_thread *t)
{
	const struct tier_config *cfg = &t->cache->tier->cfg;

	if (!t->worker.counts && !t->is_not_counted &&
	    (!cfg->counting || atomic_load(cfg->counting)))
		worker_start_counting(&t->worker, cfg->place, clock_now(cfg->clock));
}

int tier_thread_finish(struct tier_thread *t, const char *name, const struct read_task **task)
{
	int rc;

	*task = reader_finish_one(t->reader, &rc);
	if (*task)
		return 0;
	return mlgen_fail(&t->err, rc, "%s: cannot go on: %s", name, strerror(-rc));
}
