/* SPDX-License-Identifier: Apache-2.0 */
/* run_collect.c - what a run has measured; see run.h. */
#include "base/mem.h"
#include "run/activity.h"
#include "run/collect.h"
#include "run/result/result.h"
#include "run/run_inside.h"

/* A job that was still running when the threads were given up. */
static void close_books(struct run *r, struct slot *s)
{
	if (!s->begin_ns || atomic_load(&s->phase) == LIVE_DONE)
		return;
	if (atomic_load(&s->work_begin_ns))
		slot_end_work(s);
	else
		s->end_ns = clock_now(r->shared.cfg.clock);
}

/* The records of one slot, at the end of the list. */
static void collect_slot(struct run *r, struct slot *s)
{
	struct run_result *out = &r->result;
	size_t n = s->does->records(s);

	out->jobs = mem_realloc(out->jobs, (out->job_count + n) * sizeof(*out->jobs));
	for (size_t i = 0; i < n; i++) {
		struct job_result *job = &out->jobs[out->job_count++];

		collect_job(job, i, s);
		if (out->err.code && !job->complete)
			job->err = out->err;
	}
}

struct run_result *run_collect(struct run *r)
{
	struct run_result *out = &r->result;

	*out = (struct run_result){ .host = *r->shared.cfg.host,
				    .timestamp_ms = r->timestamp_ms,
				    .title = r->shared.cfg.title,
				    .notes = r->shared.cfg.notes,
				    .interrupted = atomic_load(&r->shared.interrupted),
				    .trace = r->traced };
	if (atomic_load(&r->shared.failure.is_set))
		out->err = r->shared.failure.err;
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		close_books(r, &r->slots[i]);
	for (size_t i = 0; i < r->shared.cfg.count; i++)
		collect_slot(r, &r->slots[i]);
	disks_end(&r->disks, r->shared.cfg.clock);
	disks_collect(out, &r->disks);
	merge_groups(out);
	return out;
}
