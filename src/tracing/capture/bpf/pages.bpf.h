/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pages.bpf.h - pages that come into the page cache, and page faults of mapped files. */
#pragma once

#include "tracing/capture/bpf/names.bpf.h"

#define PAGE_SHIFT settings.page_shift
#define WINDOW_BYTES 65536 /* size of the window that one fault maps */

/* ---- into the page cache ---- */

static __always_inline void tell_added(struct thread_state *s, u64 first, u64 count, u16 flags)
{
	struct capture_event *e = ring_next_slot(TRACE_CACHE_ADD, EVENT_CALL);

	if (!e)
		return;
	e->start_ns = s->added.start_ns;
	e->duration_ns = 0;
	e->off = first << PAGE_SHIFT;
	e->len_bytes = count << PAGE_SHIFT;
	e->result = 0;
	e->cpu_ns = TRACE_UNKNOWN;
	e->ino = s->added.ino;
	e->dev = s->added.dev;
	e->flags = flags;
	ring_give(e);
}

/*
 * Report the pages that a read of the bytes from..end brought in; pages outside of that range were
 * read ahead. If end is 0, all pages were requested.
 */
static __noinline void flush_added(struct thread_state *s, u64 from, u64 end)
{
	u64 first, after, asked_first, asked_after;

	if (!s || !s->added.count)
		return;
	first = s->added.first;
	after = first + s->added.count;
	asked_first = from >> PAGE_SHIFT;
	asked_after = (end + (1ull << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
	if (!end) {
		asked_first = first;
		asked_after = after;
	}
	if (asked_first < first)
		asked_first = first;
	if (asked_after > after)
		asked_after = after;
	if (asked_first >= asked_after) {
		tell_added(s, first, after - first, TRACE_READ_AHEAD);
	} else {
		if (first < asked_first)
			tell_added(s, first, asked_first - first, TRACE_READ_AHEAD);
		tell_added(s, asked_first, asked_after - asked_first, 0);
		if (asked_after < after)
			tell_added(s, asked_after, after - asked_after, TRACE_READ_AHEAD);
	}
	s->added.count = 0;
}

/* Report pages that were brought in by a request or by readahead, not by a read call. */
static __always_inline void flush_other(struct thread_state *s)
{
	if (s->asked_ino == s->added.ino)
		flush_added(s, s->asked_from, s->asked_end);
	else
		flush_added(s, 0, 1);
}

/* Report the pages of a read that has ended. */
static __always_inline void end_read_pages(struct thread_state *s, struct file_seen *f, u64 off,
					   u64 bytes)
{
	if (!s->added.count)
		return;
	if (s->added.ino == f->id.ino && s->added.dev == f->id.dev)
		flush_added(s, off, off + bytes);
	else
		flush_other(s);
}

static __always_inline bool is_writing(u32 call)
{
	return call == CALL_WRITE || call == CALL_PWRITE || call == CALL_WRITEV ||
	       call == CALL_PWRITEV || call == CALL_PWRITEV2;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_added, struct folio *folio)
{
	struct thread_state *s = current_thread();
	struct inode *inode;
	u64 flags = 0, pages = 1, index;
	struct added_pages a;

	/* Pages that a write creates were not read. */
	if (!s || is_writing(s->call))
		return 0;
	inode = folio->mapping->host;
	if ((inode->i_mode & S_IFMT) != S_IFREG)
		return 0;
	/* PG_head is in the flags, word 0, whose type changed in 6.18. */
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1)
		pages = 1ull << (folio->_flags_1 & 0xff);
	index = folio->index;
	a = s->added;
	if (a.count && a.first + a.count == index && a.ino == inode->i_ino &&
	    a.dev == inode->i_sb->s_dev) {
		s->added.count = a.count + pages;
		return 0;
	}
	if (a.count)
		flush_other(s);
	s->added.ino = inode->i_ino;
	s->added.dev = inode->i_sb->s_dev;
	s->added.first = index;
	s->added.count = pages;
	s->added.start_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- faults ---- */

static __always_inline void tell_fault(struct thread_state *s)
{
	struct capture_event *e = ring_next_slot(TRACE_FAULT, EVENT_CALL);

	if (!e)
		return;
	e->start_ns = s->miss_ns;
	e->duration_ns = s->miss_end_ns - s->miss_ns;
	e->off = s->miss_page << PAGE_SHIFT;
	e->len_bytes = 1ull << PAGE_SHIFT;
	e->result = 0;
	e->cpu_ns = s->entered_ns ? TRACE_UNKNOWN : take_cpu(s, bpf_ktime_get_ns());
	e->ino = s->miss_ino;
	e->dev = s->miss_dev;
	ring_give(e);
}

/* Report a fault before the next event of its thread, because no event shows its end. */
static __noinline void flush_fault(struct thread_state *s)
{
	if (!s || !s->miss_ns)
		return;
	tell_fault(s);
	s->miss_ns = 0;
}

static __always_inline void note_fault(unsigned long address)
{
	struct thread_state *s = current_thread();

	if (!s)
		return;
	if (s->miss_ns)
		flush_fault(s);
	s->fault_address = address;
	s->fault_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault_user, unsigned long address)
{
	note_fault(address);
	return 0;
}

/* The kernel copies to or from mapped memory. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_fault_kernel, unsigned long address)
{
	note_fault(address);
	return 0;
}

/* Is the page of the current fault among the pages from `first` to `last`? */
static __always_inline bool is_missed(const struct thread_state *s, struct inode *inode, u64 first,
				      u64 last)
{
	return s->miss_ns && s->miss_ino == inode->i_ino && s->miss_dev == inode->i_sb->s_dev &&
	       s->miss_page >= first && s->miss_page <= last;
}

/* Begin a fault, and report the previous one. */
static __always_inline void begin_miss(struct thread_state *s, struct inode *inode, u64 page,
				       u64 start_ns)
{
	flush_fault(s);
	need_inode_name(s, inode, s->fault_address);
	s->miss_ino = inode->i_ino;
	s->miss_dev = inode->i_sb->s_dev;
	s->miss_page = page;
	s->miss_ns = start_ns;
}

/* A page of a mapping is missing, and was not mapped along with its neighbours. */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_page_missed, struct address_space *mapping, unsigned long index)
{
	struct thread_state *s = current_thread();
	struct inode *inode;
	u64 now;

	if (!s)
		return 0;
	inode = mapping->host;
	now = bpf_ktime_get_ns();
	/* After a read from disk the kernel looks the page up again, and the tracepoint fires
	 * again. */
	if (!is_missed(s, inode, index, index))
		begin_miss(s, inode, index, s->fault_address ? s->fault_ns : now);
	s->miss_end_ns = now;
	return 0;
}

/*
 * The kernel maps a touched page together with its neighbours, the pages from `first` to `last`.
 * The start of the mapping shows which page was touched. If the mapping cannot be found (before
 * Linux 5.17, or while mappings change), assume a window that begins at a multiple of 64 KiB, like
 * all windows but the first of a mapping.
 */
static __always_inline u64 page_touched(u64 address, u64 first, u64 last)
{
	struct mapping_seen m;

	find_mapping(&m, address);
	if (m.page == TRACE_UNKNOWN)
		m.page = first + ((address & (WINDOW_BYTES - 1)) >> PAGE_SHIFT);
	return m.page >= first && m.page <= last ? m.page : last;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_pages_mapped, struct address_space *mapping, unsigned long first,
	     unsigned long last)
{
	struct thread_state *s = current_thread();
	struct inode *inode;

	if (!s)
		return 0;
	inode = mapping->host;
	if (is_missed(s, inode, first, last)) {
		if (s->added.count)
			flush_added(s, s->miss_page << PAGE_SHIFT,
				    (s->miss_page + 1) << PAGE_SHIFT);
	} else if (s->fault_address) {
		begin_miss(s, inode, page_touched(s->fault_address, first, last), s->fault_ns);
	} else {
		return 0; /* MAP_POPULATE, which has no fault */
	}
	s->miss_end_ns = bpf_ktime_get_ns();
	s->fault_address = 0;
	return 0;
}
