/* SPDX-License-Identifier: Apache-2.0 */
/* taskbook.c - an account of each thread of a trace, and of each process. */
#include "tracing/describe/taskbook.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tracing/describe/fairness.h"
#include "tracing/describe/opkind.h"
#include "tracing/describe/roles.h"

void taskbook_init(struct taskbook *b, struct trace_names *names)
{
	*b = (struct taskbook){ .names = names };
}

void taskbook_fini(struct taskbook *b)
{
	map_fini(&b->thread_keys);
	map_fini(&b->process_keys);
	spill_free(&b->threads);
	spill_free(&b->processes);
}

/* The account of this number, of which there is room from now on. */
static struct task_account *task_have(struct spill *s, uint32_t number)
{
	size_t bytes = ((size_t)number + 1) * sizeof(struct task_account);

	if (bytes > s->bytes)
		spill_need(s, bytes);
	return (struct task_account *)s->at + number;
}

static struct task_account *task_process(struct taskbook *b, uint32_t pid)
{
	bool is_new;
	uint32_t n = map_number(&b->process_keys, pid, &is_new);
	struct task_account *a = task_have(&b->processes, n);

	if (is_new)
		*a = (struct task_account){ .pid = pid, .first_ns = UINT64_MAX };
	return a;
}

static struct task_account *task_thread(struct taskbook *b, uint32_t pid, uint32_t tid)
{
	bool is_new;
	struct task_account *last = b->last ? taskbook_thread(b, b->last - 1) : NULL;

	if (last && last->pid == pid && last->tid == tid)
		return last;
	uint32_t n = map_number(&b->thread_keys, (uint64_t)pid << 32 | tid, &is_new);
	struct task_account *a = task_have(&b->threads, n);
	if (is_new)
		*a = (struct task_account){ .pid = pid, .tid = tid, .first_ns = UINT64_MAX };
	b->last = n + 1;
	return a;
}

void taskbook_name(struct taskbook *b, const struct trace_entry *e)
{
	const uint64_t *n = e->number;
	uint32_t text = 0;

	if (e->kind != TRACE_PROCESS && e->kind != TRACE_THREAD)
		return;
	if (e->text_bytes)
		text = trace_names_id(b->names, e->text, e->text_bytes, NULL);
	if (e->kind == TRACE_THREAD) {
		task_thread(b, (uint32_t)n[1], (uint32_t)n[0])->text = text;
		return;
	}
	struct task_account *a = task_process(b, (uint32_t)n[0]);
	if (text)
		a->text = text;
	if (n[1] != TRACE_UNKNOWN)
		a->parent = (uint32_t)n[1];
}

/* ---- pass one ---- */

static void add_call(struct task_account *a, const struct trace_record *r, unsigned kind)
{
	/* The thread went on meanwhile. */
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

static void add_cpu(struct task_account *a, const struct trace_record *r)
{
	if (r->cpu_ns == TRACE_UNKNOWN)
		return;
	if (r->op == TRACE_EXIT) {
		a->exit_cpu_ns += r->cpu_ns;
		a->has_exit_cpu = true;
		return;
	}
	a->cpu_ns += r->cpu_ns;
	a->has_cpu = true;
}

static void add_event(struct task_account *a, const struct trace_record *r)
{
	if (r->op == TRACE_FAULT) {
		a->faults++;
		a->fault_ns += opkind_duration_ns(r);
	} else if (r->op == TRACE_ON_CPU) {
		a->switches++;
		a->on_cpu_ns += opkind_duration_ns(r);
	}
}

static void add_time(struct taskbook *b, struct task_account *a, const struct trace_record *r)
{
	uint64_t end = opkind_end_ns(r);

	a->first_ns = u64_min(a->first_ns, r->start_ns);
	a->last_ns = u64_max(a->last_ns, end);
	/* Of a thread's records only what is asynchronous, or what the kernel did, may come in
	 * another order; of a process whose threads are not told apart, anything. */
	if (!r->tid || trace_is_marker(r->op) || r->op >= TRACE_CACHE_ADD ||
	    r->flags & (TRACE_ASYNC | TRACE_CHAINED))
		return;
	b->clock_steps += end < a->ended_ns;
	a->ended_ns = end;
}

void taskbook_add(struct taskbook *b, const struct trace_record *r, unsigned kind)
{
	/* Block requests end in whatever was on the CPU. */
	if (!opkind_has_time(r) || (!r->pid && !r->tid) ||
	    (r->op >= TRACE_CACHE_ADD && r->op <= TRACE_BLOCK_COMPLETE))
		return;
	struct task_account *a = task_thread(b, r->pid, r->tid);
	add_time(b, a, r);
	add_cpu(a, r);
	if (kind & OPKIND_CALL)
		add_call(a, r, kind);
	else
		add_event(a, r);
	a->execs += r->op == TRACE_EXEC;
	if (r->op == TRACE_FORK && r->result > 0) {
		a->children++;
		task_process(b, (uint32_t)r->result)->parent = r->pid;
	}
}

/* ---- sums ---- */

static void add_thread(struct task_account *to, const struct task_account *from)
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

static bool has_cpu(const struct task_account *a)
{
	return a->on_cpu_ns || a->has_cpu || a->has_exit_cpu;
}

void taskbook_sum(struct taskbook *b)
{
	for (uint32_t i = 0; i < b->thread_keys.count; i++) {
		struct task_account *a = taskbook_thread(b, i);

		a->threads = 1;
		if (a->first_ns > a->last_ns)
			continue; /* named, and nothing else */
		a->span_ns = a->last_ns - a->first_ns;
		a->cpu_span_ns = has_cpu(a) ? a->span_ns : 0;
		add_thread(task_process(b, a->pid), a);
	}
	roles_find(b);
}

static bool is_busier(const struct task_account *a, const struct task_account *b)
{
	uint64_t x = a->read_bytes + a->written_bytes;
	uint64_t y = b->read_bytes + b->written_bytes;

	return x != y ? x > y : a->operations > b->operations;
}

size_t taskbook_top(const struct task_account *all, uint32_t count, uint32_t *numbers, size_t most)
{
	size_t n = 0;

	for (uint32_t k = 0; k < count; k++) {
		size_t i = n;

		if ((all[k].first_ns > all[k].last_ns && all[k].role == ROLE_OTHER) ||
		    (n == most && !is_busier(&all[k], &all[numbers[n - 1]])))
			continue;
		if (n == most)
			i = n - 1;
		else
			n++;
		for (; i > 0 && is_busier(&all[k], &all[numbers[i - 1]]); i--)
			numbers[i] = numbers[i - 1];
		numbers[i] = k;
	}
	return n;
}

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : (double)NAN;
}

/* NaN: of some nobody knows. */
static double io_percent(const struct task_account *a)
{
	return a->timeless ? (double)NAN : percent_of(a->call_ns, a->span_ns);
}

/* NaN: nobody recorded it. */
static double cpu_percent(const struct task_account *a)
{
	uint64_t ns = a->on_cpu_ns      ? a->on_cpu_ns
		      : a->has_cpu      ? a->cpu_ns
		      : a->has_exit_cpu ? a->exit_cpu_ns
					: TRACE_UNKNOWN;

	return ns == TRACE_UNKNOWN ? (double)NAN : fmin(100, percent_of(ns, a->cpu_span_ns));
}

void taskbook_describe(const struct taskbook *b, const struct task_account *a,
		       struct described_task *to)
{
	uint64_t ns = a->last_ns > a->first_ns ? a->last_ns - a->first_ns : 0;
	double seconds = (double)ns / NS_PER_S;

	*to = (struct described_task){
		.pid = a->pid,
		.tid = a->tid,
		.parent = a->parent ? a->parent : TRACE_UNKNOWN,
		.text = a->text ? trace_names_text(b->names, a->text, NULL) : NULL,
		.role = a->role,
		.sure = a->sure,
		.threads = a->threads,
		.operations = a->operations,
		.opens = a->opens,
		.metadata = a->metadata,
		.reads = a->reads,
		.read_bytes = a->read_bytes,
		.writes = a->writes,
		.written_bytes = a->written_bytes,
		.faults = a->faults,
		.switches = a->on_cpu_ns ? a->switches : TRACE_UNKNOWN,
		.seconds = seconds,
		.read_bytes_per_sec = seconds > 0 ? (double)a->read_bytes / seconds : (double)NAN,
		.io_percent = io_percent(a),
		.fault_percent = percent_of(a->fault_ns, a->span_ns),
		.on_cpu_percent = cpu_percent(a),
	};
	to->off_cpu_percent = 100 - to->on_cpu_percent;
}

static void share(const struct task_account *all, uint32_t count, struct described_share *to)
{
	double *bytes = mem_array(count, sizeof(*bytes));
	double *times = mem_array(count, sizeof(*times));
	size_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!all[i].read_bytes && !all[i].written_bytes)
			continue;
		bytes[n] = (double)(all[i].read_bytes + all[i].written_bytes);
		times[n++] = (double)all[i].call_ns;
	}
	struct fairness of_bytes = fairness_of(bytes, n);
	struct fairness of_time = fairness_of(times, n);
	*to = (struct described_share){ n, of_bytes.most_over_mean, of_bytes.gini,
					of_time.most_over_mean, of_time.gini };
	mem_free(bytes);
	mem_free(times);
}

void taskbook_totals(const struct taskbook *b, struct described_trace *t)
{
	struct task_account all = { .first_ns = UINT64_MAX };

	share(b->processes.at, b->process_keys.count, &t->skew.processes);
	share(b->threads.at, b->thread_keys.count, &t->skew.threads);
	for (uint32_t i = 0; i < b->process_keys.count; i++) {
		const struct task_account *a = taskbook_process(b, i);

		t->processes_count += a->first_ns <= a->last_ns;
		if (a->first_ns <= a->last_ns) {
			t->threads_count += a->threads;
			add_thread(&all, a);
		}
	}
	t->clock_steps = b->clock_steps;
	t->io_percent = io_percent(&all);
	t->fault_percent = percent_of(all.fault_ns, all.span_ns);
	t->cpu.on_percent = cpu_percent(&all);
	t->cpu.off_percent = 100 - t->cpu.on_percent;
	t->cpu.switches = all.on_cpu_ns ? all.switches : TRACE_UNKNOWN;
	t->cpu.switches_per_sec = (double)NAN;
	if (isnan(t->cpu.on_percent))
		t->cpu.unknown = "the CPU time of threads was not recorded";
	if (!all.on_cpu_ns)
		t->cpu.switches_unknown = "when threads came off a CPU was not recorded";
}
