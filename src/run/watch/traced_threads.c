/* SPDX-License-Identifier: Apache-2.0 */
/* traced_threads.c - trace rings for the threads of a run, and the job that each worked for. */
#include "run/watch/watch_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/tracer.h"

struct traced_thread {
	uint64_t since_ns;
	size_t job;
	uint32_t tid;
};

struct traced_threads {
	pthread_mutex_t lock;
	VEC(struct traced_thread) list; /* sorted by tid and time if is_sorted */
	bool is_sorted;
};

struct traced_threads *traced_threads_new(void)
{
	struct traced_threads *t = mem_zalloc(sizeof(*t));

	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void traced_threads_free(struct traced_threads *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	vec_fini(&t->list);
	mem_free(t);
}

void traced_threads_add(struct traced_threads *t, size_t job, uint64_t now_ns)
{
	pthread_mutex_lock(&t->lock);
	vec_push(&t->list, (struct traced_thread){
				   .since_ns = now_ns,
				   .job = job,
				   .tid = (uint32_t)gettid(),
			   });
	t->is_sorted = false;
	pthread_mutex_unlock(&t->lock);
}

COMPARE_BY2(compare_threads, struct traced_thread, tid, since_ns)

bool traced_threads_is(struct traced_threads *t, size_t job, uint32_t tid, uint64_t at_ns)
{
	const struct traced_thread key = { .since_ns = at_ns, .tid = tid };
	size_t n;

	if (!t->is_sorted && t->list.count)
		qsort(t->list.at, t->list.count, sizeof(*t->list.at), compare_threads);
	t->is_sorted = true;
	/* Number of entries with a lower tid, or with this tid and a start no later than at_ns. */
	n = BISECT(i, 0, t->list.count, compare_threads(&t->list.at[i], &key) > 0);
	return n && t->list.at[n - 1].tid == tid && t->list.at[n - 1].job == job;
}

bool traced_threads_has(const struct traced_threads *t, size_t job)
{
	for (size_t i = 0; i < t->list.count; i++)
		if (t->list.at[i].job == job)
			return true;
	return false;
}

struct trace_ring *traced_ring(const struct traced *t, const char *role, uint64_t files)
{
	char text[TRACED_ROLE_BYTES + 64];

	if (!t || !t->tracer)
		return NULL;
	if (t->threads)
		traced_threads_add(t->threads, t->number, clock_now(t->clock));
	if (!t->job)
		return tracer_ring(t->tracer, role, files);
	snprintf(text, sizeof(text), "%s of %s", role, t->job);
	return tracer_ring(t->tracer, text, files);
}

void traced_stage(const struct traced *t, struct trace_ring *ring, uint64_t begin_ns,
		  uint64_t end_ns)
{
	const struct trace_mark mark = {
		.op = TRACE_STAGE,
		.start_ns = begin_ns,
		.end_ns = u64_max(begin_ns, end_ns),
		.off = TRACE_UNKNOWN,
		.len_bytes = TRACE_UNKNOWN,
		.result = -1,
		.text = t ? t->stage : NULL,
	};

	if (ring && mark.text)
		trace_ring_mark(ring, &mark);
}
