/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.bpf.h - system calls: what each of them was asked for, of which file, and what it gave. */
#pragma once

#include "capture/bpf/async.bpf.h"
#include "capture/bpf/names.bpf.h"
#include "capture/bpf/pages.bpf.h"

#define O_APPEND 02000
#define MAP_ANONYMOUS 0x20
#define AT_REMOVEDIR 0x200
#define CREAT_FLAGS (1 | 0100 | 01000) /* O_WRONLY, O_CREAT, O_TRUNC */

/* A call that is over. */
struct call {
	u64 arg[6];
	s64 result;
	u64 now;
	u32 call;
};

static __always_inline void call_arguments(struct call *c, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	c->arg[0] = regs->di;
	c->arg[1] = regs->si;
	c->arg[2] = regs->dx;
	c->arg[3] = regs->r10;
	c->arg[4] = regs->r8;
	c->arg[5] = regs->r9;
#else
	c->arg[0] = regs->orig_x0;
	for (int i = 1; i < 6; i++)
		c->arg[i] = regs->user_regs.regs[i];
#endif
}

/* Of a program of another architecture, whose calls have other numbers. */
static __always_inline bool is_compat(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & 2; /* TS_COMPAT */
#else
	return task->thread_info.flags & 1 << 22; /* TIF_32BIT */
#endif
}

/* ---- what most events are ---- */

static __always_inline void tell_call(struct thread_state *s,
				      const struct file_seen *f, u16 op,
				      u64 off, u64 len_bytes,
				      const struct call *c, u16 flags)
{
	struct capture_event *e = ring_take(op, EVENT_CALL);

	if (!e)
		return;
	event_times(e, s, c->now);
	e->off = off;
	e->len_bytes = len_bytes;
	e->result = c->result;
	e->ino = f->id.ino;
	e->dev = f->id.dev;
	e->flags = flags;
	ring_give(e);
}

/* Where a call that reads or writes at the file's own position did. */
static __always_inline u64 at_position(const struct thread_state *s,
				       const struct file_seen *f, s64 moved,
				       bool writes, u16 *flags)
{
	u64 off = f->position - (moved > 0 ? moved : 0);

	/* Another thread or process moved it, too, while this one ran. */
	if (off != s->position && !(writes && f->flags & O_APPEND))
		*flags |= TRACE_OFF_INEXACT;
	return off;
}

/* ---- reads and writes ---- */

static __always_inline bool at_own_position(const struct call *c)
{
	switch (c->call) {
	case CALL_READ:
	case CALL_WRITE:
	case CALL_READV:
	case CALL_WRITEV:
		return true;
	case CALL_PREADV2:
	case CALL_PWRITEV2:
		return c->arg[3] == (u64)-1;
	}
	return false;
}

static __always_inline void end_transfer(struct thread_state *s,
					 const struct call *c, bool is_typed)
{
	bool writes = is_writing(c->call);
	bool is_vector = c->call >= CALL_READV && c->call <= CALL_PWRITEV2;
	struct file_seen f;
	u64 off, bytes;
	u16 flags = 0;

	if (!see_file(file_at(c->arg[0]), &f, is_typed))
		return;
	need_file_name(s, &f);
	bytes = c->arg[2];
	if (is_vector)
		bytes = iovec_bytes(c->arg[1], c->arg[2]);
	if (bytes == TRACE_UNKNOWN && c->result >= 0)
		bytes = c->result;
	if (at_own_position(c)) {
		off = at_position(s, &f, c->result, writes, &flags);
	} else if (writes && f.flags & O_APPEND && c->result > 0) {
		/* It appends, wherever it was asked to write. */
		off = f.size - c->result;
		flags |= TRACE_OFF_INEXACT;
	} else {
		off = c->arg[3];
	}
	if (!writes)
		end_read_pages(s, &f, off, bytes);
	tell_call(s, &f, writes ? TRACE_WRITE : TRACE_READ, off, bytes, c,
		  flags);
}

/* ---- by path ---- */

struct path_call {
	u64 path[2];
	int from[2];
	u64 len_bytes;
	struct identity id; /* that the kernel gave; ino 0 = none */
	u16 op;
};

/* One of its paths; how many bytes of text that takes. */
static __always_inline u64 copy_path(struct capture_paths *to, u32 which,
				     u64 at, u64 from)
{
	long n;

	if (at > EVENT_PATH_BYTES)
		return 0;
	n = bpf_probe_read_user_str(to->text + at, EVENT_PATH_BYTES,
				    (void *)from);
	if (n < 0 || n > EVENT_PATH_BYTES)
		n = 0;
	to->path[which].bytes = n;
	return n;
}

static __always_inline bool is_relative(u64 path)
{
	char first = 0;

	bpf_probe_read_user(&first, 1, (void *)path);
	return first != '/';
}

static __noinline int tell_paths(struct thread_state *s, const struct call *c,
				 const struct path_call *p)
{
	struct identity from[2] = { 0 };
	struct scratch *buffer;
	struct capture_paths *to;
	u64 bytes;

	if (!s || !c || !p)
		return 0;
	if (is_relative(p->path[0]))
		see_directory(p->from[0], &from[0]);
	if (p->path[1] && is_relative(p->path[1]))
		see_directory(p->from[1], &from[1]);
	buffer = scratch(); /* names go through it, too */
	if (!buffer)
		return 0;
	to = &buffer->paths;
	u64 both = bpf_get_current_pid_tgid();
	to->call = (struct capture_event){
		.off = TRACE_UNKNOWN,
		.len_bytes = p->len_bytes,
		.result = c->result,
		.ino = p->id.ino,
		.dev = p->id.dev,
		.pid = both >> 32,
		.tid = (u32)both,
		.op = p->op,
		.kind = EVENT_PATHS,
	};
	event_times(&to->call, s, c->now);
	for (u32 i = 0; i < 2; i++) {
		to->path[i].ino = from[i].ino;
		to->path[i].dev = from[i].dev;
		to->path[i].bytes = 0;
	}
	bytes = copy_path(to, 0, 0, p->path[0]);
	if (p->path[1])
		bytes += copy_path(to, 1, bytes, p->path[1]);
	if (bytes > 2 * EVENT_PATH_BYTES)
		return 0;
	ring_copy(to, offsetof(struct capture_paths, text) + bytes, p->op);
	return 1;
}

static __always_inline u64 open_flags(const struct call *c)
{
	u64 flags = 0;

	switch (c->call) {
	case CALL_OPEN:
		return c->arg[1];
	case CALL_CREAT:
		return CREAT_FLAGS;
	case CALL_OPENAT2:
		bpf_probe_read_user(&flags, sizeof(flags), (void *)c->arg[2]);
		return flags;
	}
	return c->arg[2];
}

static __always_inline void end_open(struct thread_state *s,
				     const struct call *c)
{
	bool is_at = c->call == CALL_OPENAT || c->call == CALL_OPENAT2;
	struct path_call p = { .op = TRACE_OPEN };
	struct file_seen f;

	p.len_bytes = (u32)open_flags(c);
	if (c->result >= 0) {
		if (!see_file(file_at(c->result), &f, false))
			return;
		need_file_name(s, &f);
		tell_call(s, &f, TRACE_OPEN, TRACE_UNKNOWN, p.len_bytes, c, 0);
		return;
	}
	p.path[0] = c->arg[is_at ? 1 : 0];
	p.from[0] = is_at ? (int)c->arg[0] : AT_FDCWD;
	tell_paths(s, c, &p);
}

/* ---- stat ---- */

/* A device as the kernel has it, of what it tells programs. */
static __always_inline u32 device_of(u64 told)
{
	return (u32)(told >> 8 & 0xfff) << 20 | (u32)(told & 0xff) |
	       (u32)(told >> 12 & 0xfff00);
}

static __always_inline void read_stat(struct path_call *p, u64 from)
{
	u64 st[7] = { 0 };

	if (bpf_probe_read_user(st, sizeof(st), (void *)from))
		return;
	p->id.dev = device_of(st[0]);
	p->id.ino = st[1];
	p->len_bytes = st[6];
}

static __always_inline void read_statx(struct path_call *p, u64 from)
{
	u32 device[2] = { 0 };
	u64 st[2] = { 0 };

	if (bpf_probe_read_user(st, sizeof(st), (void *)(from + 32)) ||
	    bpf_probe_read_user(device, sizeof(device), (void *)(from + 136)))
		return;
	p->id.dev = device[0] << 20 | device[1];
	p->id.ino = st[0];
	p->len_bytes = st[1];
}

static __always_inline void end_fstat(struct thread_state *s,
				      const struct call *c)
{
	struct file_seen f;

	if (!see_file(file_at(c->arg[0]), &f, false))
		return;
	need_file_name(s, &f);
	tell_call(s, &f, TRACE_STAT, TRACE_UNKNOWN,
		  c->result < 0 ? TRACE_UNKNOWN : f.size, c, 0);
}

static __always_inline void end_stat(struct thread_state *s,
				     const struct call *c)
{
	bool is_at = c->call != CALL_STAT;
	struct path_call p = { .op = TRACE_STAT, .len_bytes = TRACE_UNKNOWN };
	char first = 0;

	p.path[0] = c->arg[is_at ? 1 : 0];
	p.from[0] = is_at ? (int)c->arg[0] : AT_FDCWD;
	if (is_at) {
		bpf_probe_read_user(&first, 1, (void *)p.path[0]);
		if (!first && p.from[0] >= 0) { /* AT_EMPTY_PATH */
			end_fstat(s, c);
			return;
		}
	}
	if (c->result == 0 && c->call == CALL_STATX)
		read_statx(&p, c->arg[4]);
	else if (c->result == 0)
		read_stat(&p, c->arg[is_at ? 2 : 1]);
	tell_paths(s, c, &p);
}

/* ---- names that come, go and change ---- */

static __always_inline void end_naming(struct thread_state *s,
				       const struct call *c)
{
	struct path_call p = { .from = { AT_FDCWD, AT_FDCWD } };

	p.path[0] = c->arg[0];
	switch (c->call) {
	case CALL_RENAME:
		p.op = TRACE_RENAME;
		p.path[1] = c->arg[1];
		break;
	case CALL_RENAMEAT:
		p.op = TRACE_RENAME;
		p.from[0] = c->arg[0];
		p.path[0] = c->arg[1];
		p.from[1] = c->arg[2];
		p.path[1] = c->arg[3];
		break;
	case CALL_UNLINKAT:
		p.op = c->arg[2] & AT_REMOVEDIR ? TRACE_RMDIR : TRACE_UNLINK;
		p.from[0] = c->arg[0];
		p.path[0] = c->arg[1];
		break;
	case CALL_MKDIRAT:
		p.op = TRACE_MKDIR;
		p.from[0] = c->arg[0];
		p.path[0] = c->arg[1];
		break;
	case CALL_UNLINK:
		p.op = TRACE_UNLINK;
		break;
	case CALL_RMDIR:
		p.op = TRACE_RMDIR;
		break;
	default:
		p.op = TRACE_MKDIR;
	}
	tell_paths(s, c, &p);
}

/* ---- other calls of a descriptor ---- */

struct fd_call {
	u64 off, len_bytes;
	u32 fd;
	u16 op;
};

static __always_inline bool fd_call_of(const struct call *c, struct fd_call *to)
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

static __always_inline void end_fd_call(struct thread_state *s,
					const struct call *c)
{
	struct file_seen f;
	struct fd_call d;

	if (!fd_call_of(c, &d) || !see_file(file_at(d.fd), &f, false))
		return;
	need_file_name(s, &f);
	tell_call(s, &f, d.op, d.off, d.len_bytes, c, 0);
}

/* Of an address: which file that is, mlgen knows from mmap. Most are of none and
 * become no record, so that CPU time is left to the next. */
static __always_inline void end_address_call(struct thread_state *s,
					     const struct call *c)
{
	struct capture_event *e =
		ring_take(c->call == CALL_MUNMAP ? TRACE_MUNMAP : TRACE_ADVISE,
			  EVENT_CALL);

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

/* Bytes that never come to the program: of what is a file at either end. */
static __always_inline void end_moved(struct thread_state *s,
				      const struct call *c, u32 fd, u64 off_at,
				      u64 bytes, u16 op)
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

static __always_inline void end_copy(struct thread_state *s,
				     const struct call *c)
{
	if (c->call == CALL_SENDFILE) {
		end_moved(s, c, c->arg[1], c->arg[2], c->arg[3], TRACE_READ);
		end_moved(s, c, c->arg[0], 0, c->arg[3], TRACE_WRITE);
		return;
	}
	end_moved(s, c, c->arg[0], c->arg[1], c->arg[4], TRACE_READ);
	end_moved(s, c, c->arg[2], c->arg[3], c->arg[4], TRACE_WRITE);
}

static __always_inline void end_close(struct thread_state *s,
				      const struct call *c)
{
	struct file_seen f = { .id = s->closing };
	struct call closed = *c;

	if (c->call == CALL_DUP2) {
		/* What failed, or copies to itself, closes nothing. */
		if (c->result < 0 || c->arg[0] == c->arg[1])
			return;
		closed.result = 0;
	}
	if (f.id.ino)
		tell_call(s, &f, TRACE_CLOSE, TRACE_UNKNOWN, 0, &closed, 0);
}

/* All that is not a read or write. */
static __noinline int end_other(struct thread_state *s, const struct call *c)
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
	struct call c = { 0 };
	struct file_seen f;

	if (!s)
		return 0;
	s->call = c.call = (u64)id < CALL_NUMBERS
				   ? settings.call_of[id & (CALL_NUMBERS - 1)]
				   : CALL_NONE;
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

static __always_inline int leave(struct pt_regs *regs, long result,
				 bool is_typed)
{
	struct thread_state *s = current_thread();
	struct call c;

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

/* The same for kernels before 6.2: one pair of them is loaded. */
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
