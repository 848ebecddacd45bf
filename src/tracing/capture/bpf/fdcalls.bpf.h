/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* fdcalls.bpf.h - other system calls on descriptors, and the entry and exit of all system calls. */
#pragma once

#include "tracing/capture/bpf/async.bpf.h"
#include "tracing/capture/bpf/calls.bpf.h"
#include "tracing/capture/bpf/pages.bpf.h"

#define MAP_ANONYMOUS 0x20

/* ---- other calls of a descriptor ---- */

struct fd_call {
	u64 off, len_bytes;
	u32 fd;
	u16 op;
};

static __always_inline bool fd_call_of(const struct ended_call *c, struct fd_call *to)
{
	to->fd = c->arg[0];
	to->off = TRACE_UNKNOWN;
	to->len_bytes = 0;
	switch (c->call) {
	case CALL_FSYNC:
		to->op = TRACE_FSYNC;
		return true;
	case CALL_FDATASYNC:
		to->op = TRACE_FDATASYNC;
		return true;
	case CALL_SYNC_RANGE:
		to->op = TRACE_FDATASYNC;
		to->off = c->arg[1];
		to->len_bytes = c->arg[2];
		return true;
	case CALL_GETDENTS:
		to->op = TRACE_GETDENTS;
		to->len_bytes = c->arg[2];
		return true;
	case CALL_FALLOCATE:
		to->op = TRACE_ALLOCATE;
		to->off = c->arg[2];
		to->len_bytes = c->arg[3];
		return true;
	case CALL_FTRUNCATE:
		to->op = TRACE_ALLOCATE;
		to->off = 0;
		to->len_bytes = c->arg[1];
		return true;
	case CALL_FADVISE:
		to->op = TRACE_ADVISE;
		to->off = c->arg[1];
		to->len_bytes = c->arg[2];
		return true;
	case CALL_MMAP:
		to->op = TRACE_MMAP;
		to->fd = c->arg[4];
		to->off = c->arg[5];
		to->len_bytes = c->arg[1];
		return !(c->arg[3] & MAP_ANONYMOUS);
	}
	return false;
}

static __always_inline void end_fd_call(struct thread_state *s, const struct ended_call *c)
{
	struct file_seen f;
	struct fd_call d;

	if (!fd_call_of(c, &d) || !see_file(file_at(d.fd), &f, false))
		return;
	need_file_name(s, &f);
	tell_call(s, &f, d.op, d.off, d.len_bytes, c, 0);
}

/* Report a call on an address; mltrace finds its file from earlier mmap calls. Most addresses have
 * no file, so there is no record, and the CPU time is left to the next record. */
static __always_inline void end_address_call(struct thread_state *s, const struct ended_call *c)
{
	struct capture_event *e =
		ring_next_slot(c->call == CALL_MUNMAP ? TRACE_MUNMAP : TRACE_ADVISE, EVENT_CALL);

	if (!e)
		return;
	e->start_ns = s->entered_ns;
	e->duration_ns = c->now - s->entered_ns;
	e->off = c->arg[0];
	e->len_bytes = c->arg[1];
	e->result = c->result;
	e->cpu_ns = TRACE_UNKNOWN;
	e->ino = 0;
	e->dev = 0;
	ring_give(e);
}

/* Report one side of a copy inside the kernel (sendfile and similar calls), if it is a file. */
static __always_inline void end_moved(struct thread_state *s, const struct ended_call *c, u32 fd,
				      u64 off_at, u64 bytes, u16 op)
{
	struct file_seen f;
	u64 off;

	if (!see_file(file_at(fd), &f, false))
		return;
	need_file_name(s, &f);
	off = f.position;
	if (off_at && bpf_probe_read_user(&off, sizeof(off), (void *)off_at))
		off = TRACE_UNKNOWN;
	if (off != TRACE_UNKNOWN && c->result > 0)
		off -= c->result;
	if (op == TRACE_READ)
		end_read_pages(s, &f, off, bytes);
	tell_call(s, &f, op, off, bytes, c, 0);
}

static __always_inline void end_copy(struct thread_state *s, const struct ended_call *c)
{
	if (c->call == CALL_SENDFILE) {
		end_moved(s, c, c->arg[1], c->arg[2], c->arg[3], TRACE_READ);
		end_moved(s, c, c->arg[0], 0, c->arg[3], TRACE_WRITE);
		return;
	}
	end_moved(s, c, c->arg[0], c->arg[1], c->arg[4], TRACE_READ);
	end_moved(s, c, c->arg[2], c->arg[3], c->arg[4], TRACE_WRITE);
}

static __always_inline void end_close(struct thread_state *s, const struct ended_call *c)
{
	struct file_seen f = { .id = s->closing };
	struct ended_call closed = *c;

	if (c->call == CALL_DUP2) {
		/* A dup2 that failed, or whose two descriptors are the same, closes nothing. */
		if (c->result < 0 || c->arg[0] == c->arg[1])
			return;
		closed.result = 0;
	}
	if (f.id.ino)
		tell_call(s, &f, TRACE_CLOSE, TRACE_UNKNOWN, 0, &closed, 0);
}

/* Report a call that is not a read or write. */
static __noinline int end_other(struct thread_state *s, const struct ended_call *c)
{
	if (!s || !c)
		return 0;
	switch (c->call) {
	case CALL_CLOSE:
	case CALL_DUP2:
		end_close(s, c);
		break;
	case CALL_OPEN:
	case CALL_CREAT:
	case CALL_OPENAT:
	case CALL_OPENAT2:
		end_open(s, c);
		break;
	case CALL_FSTAT:
		end_fstat(s, c);
		break;
	case CALL_STAT:
	case CALL_NEWFSTATAT:
	case CALL_STATX:
		end_stat(s, c);
		break;
	case CALL_RENAME:
	case CALL_RENAMEAT:
	case CALL_UNLINK:
	case CALL_UNLINKAT:
	case CALL_MKDIR:
	case CALL_MKDIRAT:
	case CALL_RMDIR:
		end_naming(s, c);
		break;
	case CALL_MUNMAP:
	case CALL_MADVISE:
		end_address_call(s, c);
		break;
	case CALL_SENDFILE:
	case CALL_COPY_RANGE:
	case CALL_SPLICE:
		end_copy(s, c);
		break;
	case CALL_IO_SUBMIT:
		end_io_submit(s, c->arg[0], c->arg[2], c->result);
		break;
	case CALL_IO_GETEVENTS:
		end_io_getevents(s, c->arg[3], c->result, c->now);
		break;
	default:
		end_fd_call(s, c);
	}
	return 0;
}

/* ---- entry and exit ---- */

static __always_inline int enter(struct pt_regs *regs, long id, bool is_typed)
{
	struct thread_state *s = current_thread();
	struct ended_call c = { 0 };
	struct file_seen f;

	if (!s)
		return 0;
	s->call = c.call =
		(u64)id < CALL_NUMBERS ? settings.call_of[id & (CALL_NUMBERS - 1)] : CALL_NONE;
	if (s->miss_ns)
		flush_fault(s);
	if (s->added.count)
		flush_other(s);
	if (!s->call)
		return 0;
	if (is_compat()) {
		add_loss(LOSS_COMPAT);
		s->call = CALL_NONE;
		return 0;
	}
	call_arguments(&c, regs);
	if (c.call == CALL_CLOSE || c.call == CALL_DUP2) {
		u32 fd = c.arg[c.call == CALL_DUP2 ? 1 : 0];

		s->closing.ino = 0;
		if (see_file(file_at(fd), &f, is_typed)) {
			need_file_name(s, &f);
			s->closing = f.id;
		}
	} else if (at_own_position(&c)) {
		s->position = 0;
		if (see_file(file_at(c.arg[0]), &f, is_typed))
			s->position = f.position;
	}
	s->entered_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int leave(struct pt_regs *regs, long result, bool is_typed)
{
	struct thread_state *s = current_thread();
	struct ended_call c;

	if (!s || !s->entered_ns)
		return 0;
	if (s->miss_ns)
		flush_fault(s);
	c.now = bpf_ktime_get_ns();
	c.result = result;
	c.call = s->call;
	call_arguments(&c, regs);
	if (c.call >= CALL_READ && c.call <= CALL_PWRITEV2)
		end_transfer(s, &c, is_typed);
	else
		end_other(s, &c);
	s->entered_ns = 0;
	s->call = CALL_NONE;
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	return enter(regs, id, true);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_leave, struct pt_regs *regs, long result)
{
	return leave(regs, result, true);
}

/* Kernels before 6.2 use this pair of programs instead; mltrace loads one of the two pairs. */
SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter_old, struct pt_regs *regs, long id)
{
	return enter(regs, id, false);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_leave_old, struct pt_regs *regs, long result)
{
	return leave(regs, result, false);
}
