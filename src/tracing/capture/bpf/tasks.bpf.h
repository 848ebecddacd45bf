/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tasks.bpf.h - followed tasks: their CPU time, children, execve calls and exits. */
#pragma once

#include "tracing/capture/bpf/names.bpf.h"
#include "tracing/capture/bpf/pages.bpf.h"

/* ---- on and off the CPU ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *from = thread_of(prev), *to;
	u64 now;

	if (from && from->on_since_ns) {
		now = bpf_ktime_get_ns();
		from->cpu_ns += now - from->on_since_ns;
		from->all_cpu_ns += now - from->on_since_ns;
		from->on_since_ns = 0;
	}
	to = thread_of(next);
	if (to)
		to->on_since_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- tasks ---- */

static __always_inline void tell_task(struct task_struct *task, u32 parent, u32 maker, u64 start_ns,
				      u8 more)
{
	struct capture_event *e = ring_next_slot(TRACE_FORK, EVENT_TASK);

	if (!e)
		return;
	e->start_ns = start_ns;
	e->duration_ns = 0;
	e->off = TRACE_UNKNOWN;
	e->len_bytes = 0;
	e->cpu_ns = TRACE_UNKNOWN;
	e->ino = 0;
	e->dev = 0;
	e->pid = task->tgid;
	e->tid = task->pid;
	e->number = parent;
	e->result = maker; /* the thread that created the task */
	e->more = more | (task->pid != task->tgid ? EVENT_IS_THREAD : 0);
	ring_give(e);
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task, u64 clone_flags)
{
	u64 both = bpf_get_current_pid_tgid();
	struct thread_state *s = current_thread();

	if (!s)
		return 0;
	flush_fault(s);
	s = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		add_loss(LOSS_TASKS);
		return 0;
	}
	s->is_told = 1;
	tell_task(task, both >> 32, (u32)both, bpf_ktime_get_ns(), 0);
	return 0;
}

/* Follow the threads and children of followed processes. mltrace attaches on_newtask, for new
 * tasks, and then runs this program until it adds no more tasks. */
SEC("iter/task")
int each_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *s;

	if (!task)
		return 0;
	s = thread_of(task);
	if (!s) {
		if (!thread_of(task->group_leader) && !thread_of(task->real_parent))
			return 0;
		s = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (!s) {
			add_loss(LOSS_TASKS);
			return 0;
		}
	} else if (s->is_told) {
		return 0;
	}
	s->is_told = 1;
	shared.tasks_added++;
	tell_task(task, task->real_parent->tgid, 0, task->start_time, EVENT_SEEN);
	return 0;
}

/* Copy as much of a user's text as fits. */
static __always_inline u32 copy_user(struct capture_text *to, unsigned long from, unsigned long end)
{
	u64 bytes = end > from ? end - from : 0;

	if (bytes > EVENT_PATH_BYTES - 1) {
		bytes = EVENT_PATH_BYTES - 1;
		to->task.more |= EVENT_IS_CUT;
	}
	bytes &= EVENT_PATH_BYTES - 1;
	if (bpf_probe_read_user(to->text, bytes, (void *)from))
		return 0;
	return bytes;
}

static __always_inline void fill_text(struct capture_text *t, struct thread_state *s, u16 op,
				      u8 kind)
{
	u64 now = bpf_ktime_get_ns(), both = bpf_get_current_pid_tgid();

	t->task = (struct capture_event){
		.start_ns = now,
		.off = TRACE_UNKNOWN,
		.cpu_ns = take_cpu(s, now),
		.pid = both >> 32,
		.tid = (u32)both,
		.op = op,
		.kind = kind,
	};
	t->spare = 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	struct thread_state *s = thread_of(task);
	struct scratch *buffer = scratch();
	struct file_seen f = { 0 };
	struct capture_text *t;

	if (!s || !buffer)
		return 0;
	flush_fault(s);
	f.file = binprm->file;
	if (see_file(f.file, &f, false))
		need_file_name(s, &f); /* uses the scratch buffer, too */
	t = &buffer->text;
	fill_text(t, s, TRACE_EXEC, EVENT_EXEC);
	t->task.ino = f.id.ino;
	t->task.dev = f.id.dev;
	t->bytes =
		copy_user(t, BPF_CORE_READ(task, mm, arg_start), BPF_CORE_READ(task, mm, arg_end));
	ring_copy(t, offsetof(struct capture_text, text) + (t->bytes & (EVENT_PATH_BYTES - 1)),
		  TRACE_EXEC);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_state *s = thread_of(task);
	struct scratch *buffer = scratch();
	struct capture_text *t;
	int code;

	if (!s || !buffer)
		return 0;
	flush_fault(s);
	flush_added(s, 0, 0);
	t = &buffer->text;
	fill_text(t, s, TRACE_EXIT, EVENT_EXIT);
	t->task.cpu_ns = s->all_cpu_ns;
	code = task->exit_code;
	t->task.result = code & 0x7f ? 128 + (code & 0x7f) : code >> 8 & 0xff;
	if (task->pid != task->tgid)
		t->task.more |= EVENT_IS_THREAD;
	if (task->signal->live.counter == 0)
		t->task.more |= EVENT_IS_LAST;
	t->bytes = 16;
	bpf_probe_read_kernel(t->text, 16, &task->comm);
	ring_copy(t, offsetof(struct capture_text, text) + 16, TRACE_EXIT);
	return 0;
}
