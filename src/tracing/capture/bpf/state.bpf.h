/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state.bpf.h - state of each followed thread, the ring of events to mltrace, and its losses. */
#pragma once

#include "tracing/capture/bpf/ktypes.bpf.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "tracing/capture/bpf/bpf_events.h"
#include "trace/record.h"

const volatile struct capture_settings settings SEC(".rodata.settings");
struct capture_shared shared SEC(".data.shared");

struct identity {
	u64 ino;
	u32 dev, generation;
};

/* Consecutive pages that came into the page cache. */
struct added_pages {
	u64 ino, first, count, start_ns;
	u32 dev;
};

/* A thread is followed if it has this state. */
struct thread_state {
	u64 entered_ns; /* 0 = outside of a recorded call */
	u64 position;   /* file position on entry */
	struct identity closing;
	struct identity named; /* the last file whose name was sent */
	u64 on_since_ns;       /* 0 = not on a CPU, or not known */
	u64 cpu_ns, all_cpu_ns;
	u64 fault_address, fault_ns;
	/* A page fault that waits for its page, or probably got it at miss_end_ns. */
	u64 miss_ino, miss_page, miss_ns, miss_end_ns;
	u32 miss_dev;
	u32 call;
	u32 is_told;
	struct added_pages added;
	/* The last asynchronous read that was submitted. */
	u64 asked_ino, asked_from, asked_end;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_KINDS);
	__type(key, u32);
	__type(value, struct capture_loss);
} losses SEC(".maps");

/* Buffer for an event that is too large for the stack. */
struct scratch {
	/* Arguments of tell_name(): pointers, stored as numbers. */
	u64 leaf, mnt, inode;
	union {
		struct capture_name name;
		struct capture_paths paths;
		struct capture_text text;
	};
	char slack[EVENT_PATH_BYTES]; /* for the verifier, which bounds each copy separately */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline struct thread_state *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline struct thread_state *current_thread(void)
{
	return thread_of(bpf_get_current_task_btf());
}

/* ---- loss ---- */

static __noinline void add_loss(u32 kind)
{
	struct capture_loss *l;
	u64 now = bpf_ktime_get_ns();

	l = bpf_map_lookup_elem(&losses, &kind);
	if (!l)
		return;
	l->events++;
	if (!l->first_ns)
		l->first_ns = now;
	l->last_ns = now;
}

/* ---- the ring ---- */

/* A wake-up at each event would cost five times as much as the event. The reader polls several
 * times a second. It is woken only if it sleeps and much data waits. */
static __always_inline u64 ring_flags(void)
{
	if (!shared.reader_sleeps ||
	    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < settings.wake_bytes)
		return BPF_RB_NO_WAKEUP;
	shared.reader_sleeps = 0;
	return BPF_RB_FORCE_WAKEUP;
}

/* Reserve an event and set op, kind, pid and tid; flags, more and number are 0. The caller must set
 * all other members. NULL: the event is lost, and counted. */
static __always_inline struct capture_event *ring_next_slot(u16 op, u8 kind)
{
	struct capture_event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);
	u64 both;

	if (!e) {
		add_loss(op);
		return NULL;
	}
	both = bpf_get_current_pid_tgid();
	e->pid = both >> 32;
	e->tid = (u32)both;
	e->op = op;
	e->flags = 0;
	e->kind = kind;
	e->more = 0;
	e->spare = 0;
	e->number = 0;
	return e;
}

/* The event belongs to the thread that made the request, not to the current one. */
static __always_inline void copy_request(struct capture_event *e, const struct capture_request *r,
					 u64 duration_ns, s64 result)
{
	e->start_ns = r->start_ns;
	e->duration_ns = duration_ns;
	e->off = r->off;
	e->len_bytes = r->len_bytes;
	e->result = result;
	e->cpu_ns = TRACE_UNKNOWN;
	e->ino = r->ino;
	e->dev = r->dev;
	e->pid = r->pid;
	e->tid = r->tid;
	e->flags = r->flags;
}

static __always_inline void ring_give(struct capture_event *e)
{
	bpf_ringbuf_submit(e, ring_flags());
}

/* Send an event from the scratch buffer. False: the event is lost, and counted. */
static __always_inline bool ring_copy(const void *from, u64 bytes, u32 loss)
{
	if (bpf_ringbuf_output(&ring, (void *)from, bytes, ring_flags()) == 0)
		return true;
	add_loss(loss);
	return false;
}

/* ---- time ---- */

/* CPU time since the last record of this thread. */
static __always_inline u64 take_cpu(struct thread_state *s, u64 now)
{
	u64 ns = s->cpu_ns;

	if (s->on_since_ns) {
		ns += now - s->on_since_ns;
		s->all_cpu_ns += now - s->on_since_ns;
	}
	s->on_since_ns = now;
	s->cpu_ns = 0;
	return ns;
}

/* Set the times of the current thread's event, which lasts from the entry into the call to now. */
static __always_inline void event_times(struct capture_event *e, struct thread_state *s, u64 now)
{
	e->start_ns = s->entered_ns;
	e->duration_ns = now - s->entered_ns;
	e->cpu_ns = take_cpu(s, now);
}
