/* SPDX-License-Identifier: Apache-2.0 */
/* saver_request.c - several requests of one thread at a time. */
#include <errno.h>
#include <string.h>

#include "run/saver_inside.h"

static bool checks(const struct saver_thread *t)
{
	const struct saver_config *cfg = &t->saver->cfg;

	return cfg->is_restore && cfg->job->verify == VERIFY_CRC32C;
}

/* One has come back. */
static int saver_request_complete(struct saver_thread *t, struct io_op *op)
{
	struct saver_request *q = op->owner;
	int rc = 0;

	if (op->io.result == -ENODATA && op->io.op == MLGEN_READ)
		rc = saver_failed_short(t, op);
	else if (op->io.result < 0)
		rc = saver_failed(t, op);
	else if (checks(t))
		rc = saver_check(t, op->io.file->path, &q->at, q->off, q->slice, q->bytes);
	if (rc == 0)
		saver_moved(t, q->bytes);
	saver_give(t, q);
	return rc;
}

static int engine_failed(struct saver_thread *t, int rc)
{
	t->is_dead = true;
	return saver_failed_as(t, rc, "ioengine=%s: cannot go on: %s",
			       t->saver->cfg.job->engine->name, strerror(-rc));
}

/* Wait for `min` of them. Of several errors the first is told. */
static int reap(struct saver_thread *t, unsigned min)
{
	int n = io_reap(saver_io(t), t->done, min, t->depth);
	int rc = n < 0 ? engine_failed(t, n) : 0;

	for (int i = 0; i < n; i++) {
		int one = saver_request_complete(t, t->done[i]);

		rc = rc ? rc : one;
	}
	return rc;
}

int saver_take(struct saver_thread *t, struct saver_request **out)
{
	int rc = 0;

	while (rc == 0 && t->unused_count == 0)
		rc = reap(t, 1);
	if (rc == 0 && saver_must_stop(t->saver))
		rc = SAVER_STOPPED;
	if (rc == 0)
		*out = t->unused[--t->unused_count];
	return rc;
}

/* Each goes out by itself: they are large, and making the next one takes as long as a small device
 * needs for this one. */
void saver_submit(struct saver_thread *t, struct saver_request *q, struct saver_open *f)
{
	q->io.io.file = &f->io;
	q->io.owner = q;
	io_submit(saver_io(t), &q->io);
	io_flush(saver_io(t));
}

void saver_give(struct saver_thread *t, struct saver_request *q)
{
	t->unused[t->unused_count++] = q;
}

int saver_drain(struct saver_thread *t)
{
	int rc = 0;

	while (t->unused_count < t->depth && !t->is_dead) {
		int one = reap(t, t->depth - t->unused_count);

		rc = rc ? rc : one;
	}
	return rc;
}
