/* SPDX-License-Identifier: Apache-2.0 */
/* strace_tasks.c - the threads and processes of a log of strace. */
#include "tracing/import/strace_tasks.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace.h"

enum { PLACES = 256, TEXT_KEPT = 16 << 10 };

static struct strace_task **place_of(const struct strace_tasks *t, uint32_t tid)
{
	return &t->places[(tid * UINT32_C(2654435761)) & (t->size - 1)];
}

struct strace_task *strace_tasks_find(const struct strace_tasks *t, uint32_t tid)
{
	struct strace_task *task = t->size ? *place_of(t, tid) : NULL;

	while (task && task->tid != tid)
		task = task->next;
	return task;
}

static void strace_tasks_enter(struct strace_tasks *t, struct strace_task *task)
{
	struct strace_task **place = place_of(t, task->tid);

	task->next = *place;
	*place = task;
}

static void strace_tasks_grow(struct strace_tasks *t)
{
	struct strace_tasks old = *t;

	t->size = old.size ? 2 * old.size : PLACES;
	t->places = mem_array(t->size, sizeof(struct strace_task *));
	for (size_t i = 0; i < old.size; i++)
		for (struct strace_task *at = old.places[i], *next; at; at = next) {
			next = at->next;
			strace_tasks_enter(t, at);
		}
	mem_free(old.places);
}

static void process_put(struct strace_process *p)
{
	if (--p->threads)
		return;
	mem_free(p->command);
	mem_free(p->cwd);
	mem_free(p->maps);
	mem_free(p);
}

void strace_task_move(struct strace_task *task, struct strace_process *to)
{
	if (!to) {
		to = mem_zalloc(sizeof(*to));
		to->pid = task->tid;
		to->start_ns = TRACE_UNKNOWN;
	}
	to->threads++;
	if (task->process)
		process_put(task->process);
	task->process = to;
}

struct strace_task *strace_tasks_add(struct strace_tasks *t, uint32_t tid,
				     struct strace_process *process)
{
	struct strace_task *task = mem_zalloc(sizeof(*task));

	if (t->count >= t->size)
		strace_tasks_grow(t);
	task->tid = tid;
	task->pending.fd = -1;
	strace_task_move(task, process);
	strace_tasks_enter(t, task);
	t->count++;
	return task;
}

static void strace_tasks_leave(struct strace_tasks *t, struct strace_task *task)
{
	struct strace_task **at = place_of(t, task->tid);

	while (*at != task)
		at = &(*at)->next;
	*at = task->next;
}

void strace_tasks_remove(struct strace_tasks *t, struct strace_task *task)
{
	strace_tasks_leave(t, task);
	t->count--;
	strace_task_unlist(task);
	process_put(task->process);
	buf_fini(&task->pending.text);
	mem_free(task);
}

void strace_tasks_rename(struct strace_tasks *t, struct strace_task *task, uint32_t tid)
{
	strace_tasks_leave(t, task);
	if (task->process->pid == task->tid)
		task->process->pid = tid;
	task->tid = tid;
	strace_tasks_enter(t, task);
}

struct strace_task *strace_tasks_only(const struct strace_tasks *t)
{
	for (size_t i = 0; t->count == 1 && i < t->size; i++)
		if (t->places[i])
			return t->places[i];
	return NULL;
}

void strace_tasks_fini(struct strace_tasks *t)
{
	for (size_t i = 0; i < t->size; i++)
		while (t->places[i])
			strace_tasks_remove(t, t->places[i]);
	mem_free(t->places);
	*t = (struct strace_tasks){ 0 };
}

/* ---- lists ---- */

void strace_task_list(struct strace_task *task, struct strace_task **list)
{
	strace_task_unlist(task);
	task->list = list;
	task->behind = *list;
	if (*list)
		(*list)->before = task;
	*list = task;
}

void strace_task_unlist(struct strace_task *task)
{
	if (!task->list)
		return;
	if (task->before)
		task->before->behind = task->behind;
	else
		*task->list = task->behind;
	if (task->behind)
		task->behind->before = task->before;
	task->list = NULL;
	task->before = task->behind = NULL;
	if (task->pending.text.size > TEXT_KEPT)
		buf_fini(&task->pending.text);
}

/* ---- processes ---- */

void strace_process_copy(struct strace_process *to, const struct strace_process *from)
{
	size_t bytes = from->map_count * sizeof(*from->maps);

	mem_replace(&to->command, from->command);
	mem_replace(&to->cwd, from->cwd);
	mem_free(to->maps);
	to->maps = bytes ? mem_array(from->map_count, sizeof(*to->maps)) : NULL;
	if (bytes)
		memcpy(to->maps, from->maps, bytes);
	to->map_count = to->map_size = from->map_count;
}

void strace_process_exec(struct strace_process *p)
{
	p->map_count = 0;
}

/* The first that ends behind `at`. */
static size_t first_behind(const struct strace_process *p, uint64_t at)
{
	return BISECT(i, 0, p->map_count, p->maps[i].to > at);
}

static void put_map(struct strace_process *p, size_t i, struct strace_map map)
{
	if (p->map_count == p->map_size) {
		p->map_size = p->map_size ? 2 * p->map_size : 16;
		p->maps = mem_realloc(p->maps, p->map_size * sizeof(*p->maps));
	}
	memmove(&p->maps[i + 1], &p->maps[i], (p->map_count - i) * sizeof(*p->maps));
	p->maps[i] = map;
	p->map_count++;
}

/* Of one that is cut in the middle both ends stay. */
static void unmap(struct strace_process *p, uint64_t at, uint64_t to)
{
	size_t i = first_behind(p, at), gone = i;

	if (i < p->map_count && p->maps[i].from < at) {
		struct strace_map rest = { to, p->maps[i].to, p->maps[i].file };

		p->maps[i].to = at;
		if (rest.to > to) {
			put_map(p, i + 1, rest);
			return;
		}
		gone = ++i;
	}
	while (gone < p->map_count && p->maps[gone].to <= to)
		gone++;
	if (gone < p->map_count && p->maps[gone].from < to)
		p->maps[gone].from = to;
	memmove(&p->maps[i], &p->maps[gone], (p->map_count - gone) * sizeof(*p->maps));
	p->map_count -= gone - i;
}

void strace_process_map(struct strace_process *p, uint64_t at, uint64_t bytes, uint32_t file)
{
	uint64_t to = at + bytes;

	if (to <= at)
		return;
	if (p->map_count)
		unmap(p, at, to);
	if (file)
		put_map(p, first_behind(p, at), (struct strace_map){ at, to, file });
}

uint32_t strace_process_mapped(const struct strace_process *p, uint64_t at, uint64_t bytes)
{
	size_t i = first_behind(p, at);

	return i < p->map_count && p->maps[i].from < at + bytes ? p->maps[i].file : 0;
}
