/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* block.bpf.h - block requests of followed threads, and all requests to the disks they use. */
#pragma once

#include "tracing/capture/bpf/state.bpf.h"

/* Whole disks that hold files of followed processes; mltrace fills the map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, u32);
} disks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct capture_request);
} block_requests SEC(".maps");

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define SECTOR_SHIFT 9

static __always_inline u32 disk_of(struct request *rq)
{
	struct gendisk *disk = rq->q->disk;

	return disk ? (u32)disk->major << 20 | (u32)disk->first_minor : 0;
}

static __always_inline void tell_block(const struct capture_request *r, u16 op, u64 duration_ns,
				       s64 result)
{
	struct capture_event *e = ring_next_slot(op, EVENT_BLOCK);

	if (!e)
		return;
	copy_request(e, r, duration_ns, result);
	ring_give(e);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_issue, struct request *rq)
{
	struct thread_state *s = current_thread();
	u32 dev = disk_of(rq), op = rq->cmd_flags & REQ_OP_MASK;
	struct capture_request r = { 0 };
	u64 key = (u64)(unsigned long)rq, both;

	if ((!s && !bpf_map_lookup_elem(&disks, &dev)) || !dev || op > REQ_OP_WRITE ||
	    !rq->__data_len)
		return 0;
	if (s) { /* otherwise it is not known whose request this is */
		both = bpf_get_current_pid_tgid();
		r.pid = both >> 32;
		r.tid = (u32)both;
	}
	r.start_ns = bpf_ktime_get_ns();
	r.off = rq->__sector << SECTOR_SHIFT;
	r.len_bytes = rq->__data_len;
	r.dev = dev;
	r.flags = op == REQ_OP_WRITE ? TRACE_WRITES : 0;
	if (rq->cmd_flags & 1u << bpf_core_enum_value(enum req_flag_bits, __REQ_RAHEAD))
		r.flags |= TRACE_READ_AHEAD;
	bpf_map_update_elem(&block_requests, &key, &r, BPF_ANY);
	tell_block(&r, TRACE_BLOCK_ISSUE, 0, 0);
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_complete, struct request *rq, u8 error, unsigned int bytes)
{
	u64 key = (u64)(unsigned long)rq;
	struct capture_request *r;

	r = bpf_map_lookup_elem(&block_requests, &key);
	if (!r)
		return 0;
	tell_block(r, TRACE_BLOCK_COMPLETE, bpf_ktime_get_ns() - r->start_ns,
		   error ? -5 : (s64)bytes);
	bpf_map_delete_elem(&block_requests, &key);
	return 0;
}
