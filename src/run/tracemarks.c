/* SPDX-License-Identifier: Apache-2.0 */
/* tracemarks.c - see tracemarks.h. */
#include "run/tracemarks.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/util.h"

void tracemarks_role(const struct loader *l, char role[TRACED_ROLE_BYTES])
{
	if (l->rank->train->job->read_threads)
		snprintf(role, TRACED_ROLE_BYTES, "loader %" PRIu64 " of rank %" PRIu64, l->index,
			 l->rank->index);
	else
		snprintf(role, TRACED_ROLE_BYTES, "rank %" PRIu64, l->rank->index);
}

void tracemarks_open(struct rank *r)
{
	char role[TRACED_ROLE_BYTES];

	if (!r->train->job->read_threads) {
		r->trace = r->loaders[0].worker.trace;
		return;
	}
	snprintf(role, sizeof(role), "rank %" PRIu64, r->index);
	r->trace = traced_ring(r->train->traced, role, 0);
}

void tracemarks_close(struct rank *r)
{
	if (r->trace && r->train->job->read_threads)
		trace_ring_end(r->trace);
	r->trace = NULL;
}

/* A sample of several files is named by its first; task->path is the last. */
static const char *path_of(const struct read_task *task, char path[PATH_MAX])
{
	const struct dataset *ds = task->dataset;

	return dataset_sample_parts(ds) > 1 &&
			       dataset_path(ds, task->extent.file, path, PATH_MAX) > 0
		       ? path
		       : task->path;
}

void tracemarks_sample(const struct loader *l, const struct read_task *task)
{
	const struct extent *x = &task->extent;
	char path[PATH_MAX];
	uint64_t end_ns = task->end_ns ? task->end_ns : io_last_ns(l->worker.io);
	const struct trace_mark mark = {
		.op = TRACE_SAMPLE,
		.start_ns = task->start_ns ? task->start_ns : end_ns,
		.end_ns = end_ns,
		.off = x->id,
		.len_bytes = dataset_extent_bytes(task->dataset, x),
		.result = (int64_t)l->rank->index,
		.text = path_of(task, path),
	};

	if (!task->error && x->samples)
		trace_ring_mark(l->worker.trace, &mark);
}

void tracemarks_step(const struct rank *r, const struct stage *at, uint64_t batch,
		     const struct step *s)
{
	struct trace_mark mark = {
		.op = TRACE_COMPUTE,
		.start_ns = s->taken_ns,
		.end_ns = s->woken_ns,
		.off = at->epoch * at->pass->sampler.steps + batch,
		.len_bytes = s->token.samples,
		.result = (int64_t)r->index,
	};

	if (!r->trace)
		return;
	if (s->compute_ns)
		trace_ring_mark(r->trace, &mark);
	mark.op = TRACE_STEP;
	mark.start_ns = s->begin_ns;
	mark.end_ns = s->end_ns;
	trace_ring_mark(r->trace, &mark);
}

void tracemarks_stage(const struct rank *r, const struct stage *at, uint64_t begin_ns)
{
	bool is_eval = at->pass->is_eval;
	struct trace_mark mark = {
		.op = TRACE_STAGE,
		.start_ns = begin_ns,
		.end_ns = u64_max(r->end_ns, begin_ns),
		.off = TRACE_UNKNOWN,
		.len_bytes = TRACE_UNKNOWN,
		.result = (int64_t)r->index,
		.text = is_eval ? "eval" : "train",
	};

	if (!r->trace)
		return;
	trace_ring_mark(r->trace, &mark);
	if (is_eval)
		return;
	mark.op = TRACE_EPOCH;
	mark.off = at->epoch;
	mark.text = NULL;
	trace_ring_mark(r->trace, &mark);
}
