/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h - mlgen's trace of its own threads: a ring for each, and a thread that empties them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "trace/trace.h"

/* ---- a ring: from a thread that records to the thread that writes the file ---- */

/*
 * A bounded queue of records with exactly one producer, which never waits, and one consumer. A name
 * follows its record in further slots. A record that finds no room is lost and counted by
 * operation.
 *
 * An open file has a small number in place of its name, so that an operation on the file needs one
 * slot: the record of TRACE_OPEN has both, and later records have only the number. The producer
 * allocates and frees the numbers, which are valid in this ring only.
 *
 * In a slot, `file` is the number, 0 = none. pid and tid are the lengths in bytes of a name and a
 * second name that follow. cpu_ns of an open is the file's size, 0 = unknown. The consumer replaces
 * these members by their usual values.
 *
 * mlgen states the sizes that it knows anyway. It does not ask the filesystem for sizes, devices or
 * inodes: no job requested that I/O, and a filesystem that hangs would hold up the consumer.
 */
enum {
	TRACE_RING_SLOTS_MIN = 1024,
	TRACE_RING_SLOTS_MAX = 65536,
	TRACE_RING_AHEAD = 12, /* slots to prefetch */
	TRACE_RING_NUMBERS_MAX = 65535,
	TRACE_RING_NAME_BYTES = 4096, /* longer names are cut */
};

/* Events that found no room. Only the producer writes; other threads may read a count that is off
 * by one. */
struct trace_ring_lost {
	_Atomic uint64_t count, first_ns, last_ns;
};

struct trace_ring {
	/* Written by the producer. */
	struct trace_record *slots;
	uint64_t mask;
	uint64_t tail_seen;    /* the tail when it was last read */
	_Atomic uint64_t head; /* pairs with trace_ring_read */
	uint16_t *free_numbers;
	uint32_t free_count;
	uint32_t index; /* index of the ring: the upper half of its file numbers */
	struct trace_ring_lost lost[TRACE_OPS];
	/* Written by the consumer. */
	_Alignas(64) _Atomic uint64_t tail; /* pairs with trace_ring_check_room */
	uint64_t at;
	uint32_t *ids; /* ids of names in the trace, by number */
	uint32_t tid;
	_Atomic bool is_over;
	size_t bytes;
};

/*
 * Make a ring with `slots` slots, a power of two, and numbers for `numbers` files. All its memory
 * is touched in advance. `index` identifies the ring, from 1; above 65534 its files have no
 * numbers. NULL: out of memory.
 */
struct trace_ring *trace_ring_new(unsigned slots, unsigned numbers, unsigned index);
void trace_ring_free(struct trace_ring *r); /* NULL is fine */

/* ---- a ring: functions of the producer ---- */

/* Read the consumer's position again. False: still no room for `slots` slots; the loss is counted.
 */
bool trace_ring_check_room(struct trace_ring *r, unsigned slots, unsigned op, uint64_t now_ns)
	__attribute__((cold));

/* Room for a record of operation `op` and its names, `slots` in all; NULL: it is lost. The consumer
 * sees the record after trace_ring_publish. */
static inline struct trace_record *trace_ring_room(struct trace_ring *r, unsigned slots,
						   unsigned op, uint64_t now_ns)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head + slots - r->tail_seen > r->mask + 1 &&
	    !trace_ring_check_room(r, slots, op, now_ns))
		return NULL;
	return &r->slots[head & r->mask];
}

static inline void trace_ring_publish(struct trace_ring *r, unsigned slots)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* The consumer has read the cache lines of the next slots in the meantime. They are fetched
	 * some records before they are written. */
	for (unsigned i = 0; i < slots; i++)
		__builtin_prefetch(&r->slots[(head + TRACE_RING_AHEAD + i) & r->mask], 1);
	atomic_store_explicit(&r->head, head + slots, memory_order_release);
}

/* Slots of a record with its names. */
static inline unsigned trace_ring_slots(size_t name_bytes)
{
	return 1 + (unsigned)((name_bytes + sizeof(struct trace_record) - 1) /
			      sizeof(struct trace_record));
}

/* Copy part of the names to byte `at` after the record that trace_ring_room returned. */
void trace_ring_copy_name(struct trace_ring *r, size_t at, const void *name, size_t bytes);

/* Allocate a number for a file; 0 = none is free. */
static inline uint32_t trace_ring_alloc_number(struct trace_ring *r)
{
	return r->free_count ? r->index << 16 | r->free_numbers[--r->free_count] : 0;
}

/* The number as a slot stores it; 0: it belongs to another ring. */
static inline uint32_t trace_ring_number(const struct trace_ring *r, uint32_t number)
{
	return number >> 16 == r->index ? number & 0xffff : 0;
}

/* Free a number, which may be reused at once. */
static inline void trace_ring_free_number(struct trace_ring *r, uint32_t number)
{
	r->free_numbers[r->free_count++] = (uint16_t)number;
}

/* A marker; see record.h for its numbers. */
struct trace_mark {
	unsigned op;
	uint64_t start_ns, end_ns, off, len_bytes;
	int64_t result;   /* a rank, or -1 */
	const char *text; /* NULL = none */
};
void trace_ring_mark(struct trace_ring *r, const struct trace_mark *m);

/* The producer's last call. */
void trace_ring_end(struct trace_ring *r);

/* ---- a ring: functions of the consumer ---- */

struct trace_ring_item {
	struct trace_record record; /* pid and tid are 0 */
	const char *name, *name2;   /* valid until the next record; not terminated */
	size_t name_bytes, name2_bytes;
};

/* Size of a buffer for two names. */
#define TRACE_RING_NAMES_BYTES (2 * TRACE_RING_NAME_BYTES + sizeof(struct trace_record))

/* The position after the last record that can be read now. */
uint64_t trace_ring_head(const struct trace_ring *r);

/* Read the next record before `head`, with its names in `room` of TRACE_RING_NAMES_BYTES; false =
 * there is none. */
bool trace_ring_read(struct trace_ring *r, uint64_t head, char *room,
		     struct trace_ring_item *taken);
/* Hand the slots of all records read so far back to the producer. */
void trace_ring_release(struct trace_ring *r);

/* Has the producer ended? Call before trace_ring_head. */
bool trace_ring_is_over(const struct trace_ring *r);

/* ---- the tracer: rings of all threads, and the thread that writes their records ---- */

/*
 * Each thread that does I/O has a ring of its own and never waits. The tracer's thread empties all
 * rings every few ms and writes the records. A ring has 4 MiB, or less if all would exceed 256 MiB
 * together, but at least 64 KiB. A ring is freed once its thread has ended it and all its records
 * are written.
 *
 * The file is truncated when the first ring appears, or at the end; until then it keeps its former
 * contents. A write error ends the trace and nothing else.
 */
struct tracer;

struct tracer_config {
	int fd;              /* open for writing; the caller's */
	const char *path;    /* for messages; copied */
	struct clock *clock; /* clock of all records */
	uint64_t threads;    /* estimated number of threads that have a ring at the same time */
};

/* Memory of the rings of this many threads. */
uint64_t tracer_ring_bytes(uint64_t threads);

struct tracer *tracer_new(const struct tracer_config *cfg);

/* Add an entry for the whole trace, before tracer_start. Numbers after the first `count` are
 * unknown. */
void tracer_entry(struct tracer *t, enum trace_entry_kind kind, const uint64_t *number,
		  size_t count, const char *text);
/* Add the fact "key=value", unless the value is NULL or "". */
void tracer_fact(struct tracer *t, const char *key, const char *value);

/* Start the tracer's thread. Call on the main thread: the new thread inherits its CPU affinity. 0
 * or -errno with err. */
int tracer_start(struct tracer *t, struct mlgen_err *err);

/*
 * Make the ring of the calling thread, with numbers for `files` files that are open at once. `role`
 * is the role of a TRACE_THREAD entry (record.h). NULL: out of memory, which tracer_stop reports.
 */
struct trace_ring *tracer_ring(struct tracer *t, const char *role, uint64_t files);

struct tracer_total {
	bool is_begun; /* the file was truncated and the trace begun */
	uint64_t records, bytes, lost;
	uint64_t cpu_ns; /* CPU time of the tracer's thread */
};

/*
 * Write the records in all rings, including rings still in use, and end the trace. With `always`
 * the trace is written even if no thread had a ring. 0, or -errno with err: the trace is
 * incomplete. A tracer that was not started writes no trace.
 */
int tracer_stop(struct tracer *t, bool always, struct tracer_total *total, struct mlgen_err *err);

/* Stop the tracer if it runs, and free it. No thread may use its ring from then on. NULL is fine.
 */
void tracer_free(struct tracer *t);
