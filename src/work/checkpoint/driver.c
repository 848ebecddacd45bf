/* SPDX-License-Identifier: Apache-2.0 */
/* driver.c - see driver.h. */
#include "work/checkpoint/driver.h"

/* No epoch, no step: DLIO calls such checkpoints so, too. */
#define ONLY_EPOCH 1

static bool driver_is_over(const struct driver *d)
{
	return atomic_load(&d->closed) || atomic_load(d->interrupted);
}

/* Until then; false: it is over before. */
static bool nap(struct driver *d, uint64_t until_ns)
{
	for (;;) {
		uint32_t seen = bell_look(&d->go);

		if (driver_is_over(d))
			return false;
		if (clock_now(d->clock) >= until_ns)
			return true;
		bell_wait(&d->go, d->clock, seen, until_ns);
	}
}

static uint64_t end_ns(const struct driver *d)
{
	return d->job->runtime_ns ? atomic_load(&d->start_ns) + d->job->runtime_ns : UINT64_MAX;
}

static int driver_begin(struct driver *d, uint64_t i)
{
	struct mlgen_err err = { 0 };
	int rc = 0;

	atomic_store(&d->begun, i + 1);
	if (d->restore)
		saver_begin_restore(d->saver, &d->restore[i]);
	else
		rc = saver_begin_save(d->saver, ONLY_EPOCH, UINT64_MAX, &err);
	if (rc < 0)
		failure_set(d->failure, &err);
	return rc;
}

/* Before number i; false: there will be none. */
static bool pause_before(struct driver *d, uint64_t i)
{
	uint64_t now = clock_now(d->clock), end = end_ns(d);
	uint64_t until = i ? now + d->job->pause_ns : now;

	if (!nap(d, until < end ? until : end))
		return false;
	if (i && clock_now(d->clock) >= end)
		d->is_complete = true;
	return !d->is_complete;
}

static void drive(struct driver *d)
{
	for (uint64_t i = 0; i < d->count; i++) {
		if (!pause_before(d, i))
			return;
		if (driver_begin(d, i) < 0 || saver_await(d->saver) < 0)
			return;
		/* Another process ran out of time first. */
		if (saver_is_over(d->saver))
			break;
	}
	d->is_complete = !driver_is_over(d);
}

static void start_time(struct driver *d)
{
	if (d->watch)
		d->watch->begin(d->watched);
	atomic_store(&d->start_ns, clock_now(d->clock));
	if (d->job->runtime_ns)
		stop_at(d->stop, end_ns(d));
}

static void *driver_main(void *arg)
{
	struct driver *d = arg;

	clock_join(d->clock);
	if (saver_await_ready(d->saver) == 0 && nap(d, d->start_after_ns)) {
		start_time(d);
		drive(d);
	}
	saver_finish(d->saver);
	clock_leave(d->clock);
	return NULL;
}

int driver_start(struct driver *d, struct mlgen_err *err)
{
	int rc = worker_start(&d->thread, d->clock, driver_main, d, err);

	if (rc < 0)
		driver_close(d);
	return rc;
}

void driver_join(struct driver *d)
{
	worker_join(&d->thread);
}

void driver_close(struct driver *d)
{
	atomic_store(&d->closed, true);
	saver_close(d->saver);
	driver_wake(d);
}

void driver_wake(struct driver *d)
{
	saver_wake(d->saver);
	bell_ring(&d->go, d->clock);
}
