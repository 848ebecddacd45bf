/* SPDX-License-Identifier: Apache-2.0 */
/* traced_threads.c - see traced_threads.h. */
#include "run/traced_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/mem.h"

struct traced_thread {
	uint64_t since_ns;
	size_t job;
	uint32_t tid;
};

struct traced_threads {
	pthread_mutex_t lock;
	struct traced_thread *list; /* by tid and time, where it is sorted */
	size_t count, room;
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
	mem_free(t->list);
	mem_free(t);
}

void traced_threads_add(struct traced_threads *t, size_t job, uint64_t now_ns)
{
	pthread_mutex_lock(&t->lock);
	t->list = mem_grow(t->list, &t->room, t->count + 1, sizeof(*t->list));
	t->list[t->count++] = (struct traced_thread){
		.since_ns = now_ns,
		.job = job,
		.tid = (uint32_t)gettid(),
	};
	t->is_sorted = false;
	pthread_mutex_unlock(&t->lock);
}

COMPARE_BY2(compare_threads, struct traced_thread, tid, since_ns)

/* How many began at that time or before it, of its number or a lower one. */
static size_t begun_by(const struct traced_threads *t, const struct traced_thread *key)
{
	size_t from = 0, to = t->count;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (compare_threads(&t->list[mid], key) <= 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

bool traced_threads_is(struct traced_threads *t, size_t job, uint32_t tid, uint64_t at_ns)
{
	const struct traced_thread key = { .since_ns = at_ns, .tid = tid };
	size_t n;

	if (!t->is_sorted && t->count)
		qsort(t->list, t->count, sizeof(*t->list), compare_threads);
	t->is_sorted = true;
	n = begun_by(t, &key);
	return n && t->list[n - 1].tid == tid && t->list[n - 1].job == job;
}

bool traced_threads_has(const struct traced_threads *t, size_t job)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->list[i].job == job)
			return true;
	return false;
}
