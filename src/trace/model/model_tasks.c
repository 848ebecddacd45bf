/* SPDX-License-Identifier: Apache-2.0 */
/* model_tasks.c - an account of each thread and process of a trace, and its role. */
#include <string.h>

#include "base/util.h"
#include "trace/model/model.h"

/* A process that reads a smaller part of all bytes is a helper, not a loader. */
#define FEW_PERCENT 1

/* ---- accounts ---- */

void trace_tasks_fini(struct trace_tasks *b)
{
	keyed_fini(&b->threads);
	keyed_fini(&b->processes);
}

static struct task_account *need_process(struct trace_tasks *b, uint32_t pid)
{
	bool is_new;
	struct task_account *a = keyed_item(&b->processes, pid, sizeof(*a), &is_new);

	if (is_new)
		*a = (struct task_account){ .pid = pid, .first_ns = UINT64_MAX };
	return a;
}

static struct task_account *need_thread(struct trace_tasks *b, uint32_t pid, uint32_t tid)
{
	struct task_account *a = b->last ? trace_tasks_thread(b, b->last - 1) : NULL;
	bool is_new;

	if (a && a->pid == pid && a->tid == tid)
		return a;
	a = keyed_item(&b->threads, thread_key(pid, tid), sizeof(*a), &is_new);
	if (is_new)
		*a = (struct task_account){ .pid = pid, .tid = tid, .first_ns = UINT64_MAX };
	b->last = (uint32_t)(a - trace_tasks_thread(b, 0)) + 1;
	return a;
}

bool trace_tasks_find_thread(const struct trace_tasks *b, const struct trace_record *r,
			     uint32_t *number)
{
	return map_find(&b->threads.keys, thread_key(r->pid, r->tid), number);
}

struct task_account *trace_tasks_find_process(const struct trace_tasks *b, uint32_t pid)
{
	uint32_t n;

	return map_find(&b->processes.keys, pid, &n) ? trace_tasks_process(b, n) : NULL;
}

void trace_tasks_add_entry(struct trace_tasks *b, const struct trace_entry *e)
{
	const uint64_t *n = e->number;
	uint32_t text = 0;

	if (e->kind != TRACE_PROCESS && e->kind != TRACE_THREAD)
		return;
	if (e->text_bytes)
		text = trace_names_id(b->names, e->text, e->text_bytes, NULL);
	if (e->kind == TRACE_THREAD) {
		need_thread(b, (uint32_t)n[1], (uint32_t)n[0])->text = text;
		return;
	}
	struct task_account *a = need_process(b, (uint32_t)n[0]);
	if (text)
		a->text = text;
	if (n[1] != TRACE_UNKNOWN)
		a->parent = (uint32_t)n[1];
}

static void add_call(struct task_account *a, const struct trace_record *r, unsigned kind)
{
	/* The thread does not wait for an asynchronous call. */
	if (!(r->flags & TRACE_ASYNC))
		a->call_ns += opkind_duration_ns(r);
	a->timeless |= !opkind_has_duration(r);
	if (opkind_failed(r))
		return;
	a->operations++;
	a->opens += r->op == TRACE_OPEN;
	a->metadata += (kind & OPKIND_METADATA) != 0;
	a->syncs += r->op == TRACE_FSYNC || r->op == TRACE_FDATASYNC;
	if (kind & OPKIND_READ) {
		a->reads++;
		a->read_bytes += opkind_bytes(r);
	}
	if (kind & OPKIND_WRITE) {
		a->writes++;
		a->written_bytes += opkind_bytes(r);
	}
}

static void add_time(struct trace_tasks *b, struct task_account *a, const struct trace_record *r)
{
	uint64_t end = opkind_end_ns(r);

	a->first_ns = u64_min(a->first_ns, r->start_ns);
	a->last_ns = u64_max(a->last_ns, end);
	/* Asynchronous calls and events of the kernel may be out of order with the calls of their
	 * thread. The same is true of all records of a process whose threads are unknown. */
	if (!r->tid || trace_is_marker(r->op) || r->op >= TRACE_CACHE_ADD ||
	    r->flags & (TRACE_ASYNC | TRACE_CHAINED))
		return;
	b->clock_steps += end < a->ended_ns;
	a->ended_ns = end;
}

void trace_tasks_add_record(struct trace_tasks *b, const struct trace_record *r, unsigned kind)
{
	/* The end of a block request is recorded for whatever task is on the CPU. */
	if (!opkind_has_time(r) || (!r->pid && !r->tid) ||
	    (r->op >= TRACE_CACHE_ADD && r->op <= TRACE_BLOCK_COMPLETE))
		return;
	struct task_account *a = need_thread(b, r->pid, r->tid);
	add_time(b, a, r);
	if (r->cpu_ns != TRACE_UNKNOWN && r->op == TRACE_EXIT) {
		a->exit_cpu_ns += r->cpu_ns;
		a->has_exit_cpu = true;
	} else if (r->cpu_ns != TRACE_UNKNOWN) {
		a->cpu_ns += r->cpu_ns;
		a->has_cpu = true;
	}
	if (kind & OPKIND_CALL) {
		add_call(a, r, kind);
	} else if (r->op == TRACE_FAULT) {
		a->faults++;
		a->fault_ns += opkind_duration_ns(r);
	} else if (r->op == TRACE_ON_CPU) {
		a->switches++;
		a->on_cpu_ns += opkind_duration_ns(r);
	}
	a->execs += r->op == TRACE_EXEC;
	if (r->op == TRACE_FORK && r->result > 0) {
		a->children++;
		need_process(b, (uint32_t)r->result)->parent = r->pid;
	}
}

void task_account_add(struct task_account *to, const struct task_account *from)
{
	to->threads++;
	to->children += from->children;
	to->execs += from->execs;
	to->operations += from->operations;
	to->opens += from->opens;
	to->metadata += from->metadata;
	to->reads += from->reads;
	to->read_bytes += from->read_bytes;
	to->writes += from->writes;
	to->written_bytes += from->written_bytes;
	to->syncs += from->syncs;
	to->faults += from->faults;
	to->switches += from->switches;
	to->first_ns = u64_min(to->first_ns, from->first_ns);
	to->last_ns = u64_max(to->last_ns, from->last_ns);
	to->span_ns += from->span_ns;
	to->call_ns += from->call_ns;
	to->fault_ns += from->fault_ns;
	to->cpu_ns += from->cpu_ns;
	to->exit_cpu_ns += from->exit_cpu_ns;
	to->on_cpu_ns += from->on_cpu_ns;
	to->cpu_span_ns += from->cpu_span_ns;
	to->timeless |= from->timeless;
	to->has_cpu |= from->has_cpu;
	to->has_exit_cpu |= from->has_exit_cpu;
}

/* ---- roles ---- */

/* The role that a thread states as its text. */
static enum task_role stated_role(const char *text)
{
	static const struct {
		const char *begins;
		enum task_role role;
	} stated[] = {
		{ "loader", ROLE_LOADER },    { "rank", ROLE_TRAINER },
		{ "trainer", ROLE_TRAINER },  { "accelerator", ROLE_TRAINER },
		{ "saver", ROLE_CHECKPOINT }, { "checkpoint", ROLE_CHECKPOINT },
		{ "worker", ROLE_WORKER },
	};

	for (size_t i = 0; text && i < ARRAY_LEN(stated); i++)
		if (!strncmp(text, stated[i].begins, strlen(stated[i].begins)))
			return stated[i].role;
	return ROLE_OTHER;
}

static bool is_few(uint64_t part, uint64_t whole)
{
	return part < divide_up(whole, 100 / FEW_PERCENT);
}

static bool is_writer(const struct task_account *a, const struct task_account *all)
{
	return a->written_bytes > 0 && a->written_bytes >= a->read_bytes &&
	       !is_few(a->written_bytes, all->written_bytes);
}

static bool is_reader(const struct task_account *a, const struct task_account *all)
{
	return a->read_bytes > 0 && !is_few(a->read_bytes, all->read_bytes) && !is_writer(a, all);
}

/* The parent of a process that may be a loader: forked, and still running the same program. NULL if
 * it is none. */
static struct task_account *parent_of_loader(const struct trace_tasks *b,
					     const struct task_account *a,
					     const struct task_account *all)
{
	if (!is_reader(a, all) || a->execs || !a->parent)
		return NULL;
	return trace_tasks_find_process(b, a->parent);
}

void trace_tasks_finish(struct trace_tasks *b)
{
	for (uint32_t i = 0; i < b->threads.keys.count; i++) {
		struct task_account *a = trace_tasks_thread(b, i);

		a->threads = 1;
		if (!task_account_is_used(a))
			continue;
		a->span_ns = a->last_ns - a->first_ns;
		if (a->on_cpu_ns || a->has_cpu || a->has_exit_cpu)
			a->cpu_span_ns = a->span_ns;
		task_account_add(need_process(b, a->pid), a);
	}
	for (uint32_t i = 0; i < b->threads.keys.count; i++) {
		struct task_account *thread = trace_tasks_thread(b, i);
		struct task_account *process = trace_tasks_find_process(b, thread->pid);
		enum task_role role = stated_role(
			thread->text ? trace_names_text(b->names, thread->text, NULL) : NULL);

		/* A process is a trainer if one of its threads states that; otherwise it has the
		 * role of the first thread that states one. */
		if (!process || role == ROLE_OTHER)
			continue;
		thread->role = (int)role;
		thread->sure = SURE_STATED;
		if (process->role == ROLE_OTHER || role == ROLE_TRAINER) {
			process->role = (int)role;
			process->sure = SURE_STATED;
		}
	}

	uint32_t count = b->processes.keys.count;
	struct task_account all = { 0 };
	for (uint32_t i = 0; i < count; i++) {
		all.read_bytes += trace_tasks_process(b, i)->read_bytes;
		all.written_bytes += trace_tasks_process(b, i)->written_bytes;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct task_account *parent = parent_of_loader(b, trace_tasks_process(b, i), &all);

		if (parent)
			parent->loaders++;
	}
	for (uint32_t i = 0; i < count; i++)
		if (trace_tasks_process(b, i)->role == ROLE_OTHER) {
			struct task_account *a = trace_tasks_process(b, i);
			const struct task_account *loads_for = parent_of_loader(b, a, &all);
			bool has_parent = a->parent && trace_tasks_find_process(b, a->parent);

			a->sure = SURE_GUESS;
			if (a->loaders) {
				a->role = ROLE_TRAINER;
				a->sure = a->loaders > 1 ? SURE_LIKELY : SURE_GUESS;
			} else if (is_writer(a, &all)) {
				a->role = ROLE_CHECKPOINT;
				if (has_parent && 2 * a->written_bytes >= all.written_bytes)
					a->sure = SURE_LIKELY;
			} else if (loads_for) {
				a->role = ROLE_LOADER;
				a->sure = loads_for->loaders > 1 ? SURE_LIKELY : SURE_GUESS;
			} else if (is_reader(a, &all)) {
				a->role = ROLE_TRAINER;
			}
		}

	/* A thread that states nothing has the role that was guessed for its process. */
	for (uint32_t i = 0; i < b->threads.keys.count; i++) {
		struct task_account *a = trace_tasks_thread(b, i);
		const struct task_account *p = trace_tasks_find_process(b, a->pid);

		if (a->role != ROLE_OTHER || !p)
			continue;
		a->role = p->sure == SURE_STATED ? (int)ROLE_OTHER : p->role;
		a->sure = p->sure == SURE_STATED ? (int)SURE_GUESS : p->sure;
	}
}
