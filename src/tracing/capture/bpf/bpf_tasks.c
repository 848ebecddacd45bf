/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_tasks.c - see bpf_tasks.h. */
#include "tracing/capture/bpf/bpf_tasks.h"

#include <string.h>

#include "base/mem.h"
#include "tracing/capture/capture_whom.h"

#define BUCKETS 4096

struct task {
	struct task *next;
	uint32_t pid, parent;
	uint64_t start_ns;
	char *text; /* NULL = not known */
};

struct bpf_tasks {
	struct trace_writer *writer;
	struct task *buckets[BUCKETS];
	uint64_t count;
};

struct bpf_tasks *tasks_new(struct trace_writer *writer)
{
	struct bpf_tasks *t = mem_zalloc(sizeof(*t));

	t->writer = writer;
	return t;
}

static void task_free(struct task *k)
{
	mem_free(k->text);
	mem_free(k);
}

void tasks_free(struct bpf_tasks *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct task *k = t->buckets[i], *next; k; k = next) {
			next = k->next;
			task_free(k);
		}
	mem_free(t);
}

/* What points to it, or to NULL. */
static struct task **task_at(struct bpf_tasks *t, uint32_t pid)
{
	struct task **at = &t->buckets[pid % BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

static const struct task *task_find(const struct bpf_tasks *t, uint32_t pid)
{
	const struct task *k = t->buckets[pid % BUCKETS];

	while (k && k->pid != pid)
		k = k->next;
	return k;
}

static void write_task(struct bpf_tasks *t, const struct task *k, uint64_t end_ns)
{
	struct trace_entry e = {
		.kind = TRACE_PROCESS,
		.number = { k->pid, k->parent ? k->parent : TRACE_UNKNOWN, k->start_ns, end_ns,
			    TRACE_UNKNOWN, TRACE_UNKNOWN },
		.text = k->text ? k->text : "",
	};

	e.text_bytes = strlen(e.text);
	trace_writer_entry(t->writer, &e);
}

static struct task *task_make(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	struct task **at = task_at(t, pid), *k = *at;

	if (!k) {
		k = mem_zalloc(sizeof(*k));
		*at = k;
	}
	t->count++;
	k->pid = pid;
	k->parent = parent;
	k->start_ns = start_ns;
	return k;
}

void tasks_started(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	const struct task *from = task_find(t, parent);
	struct task *k = task_make(t, pid, parent, start_ns);

	mem_replace(&k->text, from ? from->text : NULL);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_found(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns)
{
	struct task *k;

	if (task_find(t, pid))
		return; /* another of its threads */
	k = task_make(t, pid, parent, start_ns);
	mem_free(k->text);
	k->text = capture_pid_line((pid_t)pid);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_executed(struct bpf_tasks *t, uint32_t pid, const char *text, size_t bytes)
{
	struct task *k = *task_at(t, pid);

	if (!k)
		k = task_make(t, pid, 0, TRACE_UNKNOWN);
	mem_free(k->text);
	k->text = capture_line_of(text, bytes);
	write_task(t, k, TRACE_UNKNOWN);
}

void tasks_ended(struct bpf_tasks *t, uint32_t pid, uint64_t end_ns)
{
	struct task **at = task_at(t, pid), *k = *at;

	if (!k)
		return;
	write_task(t, k, end_ns);
	*at = k->next;
	task_free(k);
}

uint32_t tasks_parent(const struct bpf_tasks *t, uint32_t pid)
{
	const struct task *k = task_find(t, pid);

	return k ? k->parent : 0;
}

uint64_t tasks_count(const struct bpf_tasks *t)
{
	return t->count;
}
