/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* async.bpf.h - requests of io_uring and libaio, from their submission to their completion. */
#pragma once

#include "tracing/capture/bpf/names.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct capture_request_key);
	__type(value, struct capture_request);
} requests SEC(".maps");

/* ---- both ---- */

static __always_inline void tell_submit(struct thread_state *s, struct capture_request *r,
					struct capture_request_key *key)
{
	u64 both = bpf_get_current_pid_tgid();
	struct capture_event *e;

	r->start_ns = bpf_ktime_get_ns();
	r->pid = both >> 32;
	r->tid = (u32)both;
	r->number = __sync_fetch_and_add(&shared.next_request, 1);
	r->flags = TRACE_ASYNC;
	if (bpf_map_update_elem(&requests, key, r, BPF_ANY))
		add_loss(LOSS_ASYNC);
	if (r->op == TRACE_READ) {
		s->asked_ino = r->ino;
		s->asked_from = r->off;
		s->asked_end = r->off + r->len_bytes;
	}
	e = ring_next_slot(TRACE_ASYNC_SUBMIT, EVENT_ASYNC_SUBMIT);
	if (!e)
		return;
	e->start_ns = r->start_ns;
	e->duration_ns = 0;
	e->off = r->number;
	e->len_bytes = r->len_bytes;
	e->result = 0;
	e->cpu_ns = take_cpu(s, r->start_ns);
	e->ino = r->ino;
	e->dev = r->dev;
	e->number = r->number;
	ring_give(e);
}

/* Report the end of a request, with the thread that submitted it. `duration_ns` may be unknown. */
static __always_inline void tell_end(const struct capture_request *r, u64 duration_ns, s64 result)
{
	struct capture_event *e = ring_next_slot(r->op, EVENT_ASYNC_END);

	if (!e)
		return;
	copy_request(e, r, duration_ns, result);
	if (r->len_bytes == TRACE_UNKNOWN && result >= 0)
		e->len_bytes = result;
	e->number = r->number;
	ring_give(e);
}

/* ---- io_uring ---- */

/* Operations of io_uring, the same on all architectures. */
enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_FSYNC = 3,
	URING_READ_FIXED = 4,
	URING_WRITE_FIXED = 5,
	URING_READ = 22,
	URING_WRITE = 23,
};

#define IS_FIXED_FILE 1 /* IOSQE_FIXED_FILE in the flags of a request */

static __always_inline u16 uring_op(u8 opcode)
{
	switch (opcode) {
	case URING_READV:
	case URING_READ_FIXED:
	case URING_READ:
		return TRACE_READ;
	case URING_WRITEV:
	case URING_WRITE_FIXED:
	case URING_WRITE:
		return TRACE_WRITE;
	case URING_FSYNC:
		return TRACE_FSYNC;
	}
	return TRACE_NONE;
}

static __always_inline int uring_submit(struct io_kiocb *req)
{
	struct capture_request_key key = { (u64)(unsigned long)req, 0 };
	struct thread_state *s = current_thread();
	struct capture_request r = { 0 };
	struct io_rw *rw = (void *)req;
	struct file_seen f;
	u8 opcode;

	if (!s)
		return 0;
	opcode = BPF_CORE_READ(req, opcode);
	r.op = uring_op(opcode);
	if (!r.op)
		return 0;
	/* The file of a registered descriptor is known only at the completion. */
	if (!((u32)BPF_CORE_READ(req, flags) & IS_FIXED_FILE)) {
		if (!see_file(file_at(BPF_CORE_READ(req, cqe.fd)), &f, false))
			return 0;
		need_file_name(s, &f);
		r.ino = f.id.ino;
		r.dev = f.id.dev;
	}
	r.off = TRACE_UNKNOWN;
	if (r.op != TRACE_FSYNC) {
		r.off = BPF_CORE_READ(rw, kiocb.ki_pos);
		r.len_bytes = BPF_CORE_READ(rw, len);
		if (opcode == URING_READV || opcode == URING_WRITEV)
			r.len_bytes = iovec_bytes(BPF_CORE_READ(rw, addr), r.len_bytes);
	}
	tell_submit(s, &r, &key);
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *req)
{
	return uring_submit(req);
}

/* The tracepoint's name before 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_old, struct io_kiocb *req)
{
	return uring_submit(req);
}

/* Set the file of a completed request; a registered file is not known earlier. */
static __always_inline bool uring_file(struct io_kiocb *req, struct capture_request *r)
{
	struct file *file = BPF_CORE_READ(req, file);
	struct thread_state *s = current_thread();
	struct file_seen f;

	if (!see_file(file, &f, false))
		return false;
	r->ino = f.id.ino;
	r->dev = f.id.dev;
	/* An offset of -1 means the position of the open file, which the request has moved. */
	if (r->op != TRACE_FSYNC && r->off == TRACE_UNKNOWN) {
		r->off = f.position;
		r->flags |= TRACE_OFF_INEXACT;
	}
	if (s)
		need_file_name(s, &f);
	else
		need_name_of(&f.id, file);
	return true;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete, void *ring_context, struct io_kiocb *req)
{
	struct capture_request_key key = { (u64)(unsigned long)req, 0 };
	struct capture_request *found, r;
	s64 result;

	if (!req)
		return 0;
	found = bpf_map_lookup_elem(&requests, &key);
	if (!found)
		return 0;
	r = *found;
	bpf_map_delete_elem(&requests, &key);
	result = BPF_CORE_READ(req, cqe.res);
	if (!uring_file(req, &r) && result >= 0)
		return 0; /* a socket or a pipe */
	tell_end(&r, bpf_ktime_get_ns() - r.start_ns, result);
	return 0;
}

/* ---- libaio ---- */

/* The layout of <linux/aio_abi.h> on little-endian machines. */
struct iocb {
	u64 data;
	u32 key, rw_flags;
	u16 opcode;
	s16 reqprio;
	u32 fd;
	u64 buf, nbytes;
	s64 offset;
	u64 spare;
	u32 flags, resfd;
};

enum { AIO_PREAD = 0, AIO_PWRITE, AIO_FSYNC, AIO_FDSYNC, AIO_PREADV = 7, AIO_PWRITEV };

#define AIO_MOST 1024 /* requests of one call */

static __always_inline u16 aio_op(u16 opcode)
{
	switch (opcode) {
	case AIO_PREAD:
	case AIO_PREADV:
		return TRACE_READ;
	case AIO_PWRITE:
	case AIO_PWRITEV:
		return TRACE_WRITE;
	case AIO_FSYNC:
		return TRACE_FSYNC;
	case AIO_FDSYNC:
		return TRACE_FDATASYNC;
	}
	return TRACE_NONE;
}

struct aio_loop {
	struct thread_state *s;
	u64 list;
	u64 count, now;
};

/* A program may read completions from the ring by itself. Then the reuse of a request shows that
 * its previous use has ended. */
static __always_inline void aio_forget(struct capture_request_key *key)
{
	struct capture_request *old = bpf_map_lookup_elem(&requests, key);

	if (old && old->op)
		tell_end(old, TRACE_UNKNOWN, old->len_bytes);
}

static long aio_submitted(u32 i, void *context)
{
	struct aio_loop *loop = context;
	struct capture_request_key key = { 0 };
	struct capture_request r = { 0 };
	struct file_seen f;
	struct iocb cb;

	if (i >= loop->count)
		return 1;
	if (bpf_probe_read_user(&key.address, sizeof(key.address),
				(void *)(loop->list + i * sizeof(u64))) ||
	    bpf_probe_read_user(&cb, sizeof(cb), (void *)key.address))
		return 0;
	key.pid = bpf_get_current_pid_tgid() >> 32;
	r.op = aio_op(cb.opcode);
	if (!r.op || !see_file(file_at(cb.fd), &f, false))
		return 0;
	need_file_name(loop->s, &f);
	r.ino = f.id.ino;
	r.dev = f.id.dev;
	r.off = TRACE_UNKNOWN;
	if (r.op == TRACE_READ || r.op == TRACE_WRITE) {
		r.off = cb.offset;
		r.len_bytes = cb.opcode >= AIO_PREADV ? iovec_bytes(cb.buf, cb.nbytes) : cb.nbytes;
	}
	aio_forget(&key);
	tell_submit(loop->s, &r, &key);
	return 0;
}

static long aio_ended(u32 i, void *context)
{
	struct aio_loop *loop = context;
	struct capture_request_key key = { 0 };
	struct capture_request *r;
	u64 event[4];

	if (i >= loop->count)
		return 1;
	if (bpf_probe_read_user(event, sizeof(event), (void *)(loop->list + i * sizeof(event))))
		return 0;
	key.address = event[1];
	key.pid = bpf_get_current_pid_tgid() >> 32;
	r = bpf_map_lookup_elem(&requests, &key);
	if (!r)
		return 0;
	tell_end(r, loop->now - r->start_ns, event[2]);
	bpf_map_delete_elem(&requests, &key);
	return 0;
}

static __always_inline void end_io_submit(struct thread_state *s, u64 context, u64 list, s64 count)
{
	struct aio_loop loop = { s, list, count, 0 };

	(void)context;
	if (count > 0 && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(AIO_MOST, aio_submitted, &loop, 0);
}

static __always_inline void end_io_getevents(struct thread_state *s, u64 list, s64 count, u64 now)
{
	struct aio_loop loop = { s, list, count, now };

	if (count > 0 && bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		bpf_loop(AIO_MOST, aio_ended, &loop, 0);
}
