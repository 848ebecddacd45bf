/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls.bpf.h - reads, writes and calls by path: their file, offset, length and result. */
#pragma once

#include "tracing/capture/bpf/names.bpf.h"

#define O_APPEND 02000
#define AT_REMOVEDIR 0x200
#define CREAT_FLAGS (1 | 0100 | 01000) /* O_WRONLY, O_CREAT, O_TRUNC */

/* A call that has ended. */
struct ended_call {
	u64 arg[6];
	s64 result;
	u64 now;
	u32 call;
};

static __always_inline void call_arguments(struct ended_call *c, struct pt_regs *regs)
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

/* Is this a program of another architecture, whose calls have other numbers? */
static __always_inline bool is_compat(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & 2; /* TS_COMPAT */
#else
	return task->thread_info.flags & 1 << 22; /* TIF_32BIT */
#endif
}

/* ---- events of calls on a file ---- */

static __always_inline void tell_call(struct thread_state *s, const struct file_seen *f, u16 op,
				      u64 off, u64 len_bytes, const struct ended_call *c, u16 flags)
{
	struct capture_event *e = ring_next_slot(op, EVENT_CALL);

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

/* Offset of a call that read or wrote at the position of the open file. */
static __always_inline u64 at_position(const struct thread_state *s, const struct file_seen *f,
				       s64 moved, bool writes, u16 *flags)
{
	u64 off = f->position - (moved > 0 ? moved : 0);

	/* Another thread or process has moved the position in the meantime. */
	if (off != s->position && !(writes && f->flags & O_APPEND))
		*flags |= TRACE_OFF_INEXACT;
	return off;
}

/* ---- reads and writes ---- */

static __always_inline bool at_own_position(const struct ended_call *c)
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

static __always_inline void end_transfer(struct thread_state *s, const struct ended_call *c,
					 bool is_typed)
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
		/* The call appends, whatever offset was given. */
		off = f.size - c->result;
		flags |= TRACE_OFF_INEXACT;
	} else {
		off = c->arg[3];
	}
	if (!writes)
		end_read_pages(s, &f, off, bytes);
	tell_call(s, &f, writes ? TRACE_WRITE : TRACE_READ, off, bytes, c, flags);
}

/* ---- by path ---- */

struct path_call {
	u64 path[2];
	int from[2];
	u64 len_bytes;
	struct identity id; /* result of a stat call; ino 0 = none */
	u16 op;
};

/* Copy one path. Returns its length in the text. */
static __always_inline u64 copy_path(struct capture_paths *to, u32 which, u64 at, u64 from)
{
	long n;

	if (at > EVENT_PATH_BYTES)
		return 0;
	n = bpf_probe_read_user_str(to->text + at, EVENT_PATH_BYTES, (void *)from);
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

static __noinline int tell_paths(struct thread_state *s, const struct ended_call *c,
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
	buffer = scratch(); /* names use the scratch buffer, too */
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

static __always_inline u64 open_flags(const struct ended_call *c)
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

static __always_inline void end_open(struct thread_state *s, const struct ended_call *c)
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

/* Convert a device number that stat reports to the kernel's form. */
static __always_inline u32 device_of(u64 told)
{
	return (u32)(told >> 8 & 0xfff) << 20 | (u32)(told & 0xff) | (u32)(told >> 12 & 0xfff00);
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

static __always_inline void end_fstat(struct thread_state *s, const struct ended_call *c)
{
	struct file_seen f;

	if (!see_file(file_at(c->arg[0]), &f, false))
		return;
	need_file_name(s, &f);
	tell_call(s, &f, TRACE_STAT, TRACE_UNKNOWN, c->result < 0 ? TRACE_UNKNOWN : f.size, c, 0);
}

static __always_inline void end_stat(struct thread_state *s, const struct ended_call *c)
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

/* ---- create, remove and rename names ---- */

static __always_inline void end_naming(struct thread_state *s, const struct ended_call *c)
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
