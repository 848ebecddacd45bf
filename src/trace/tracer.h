/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.h - the trace that mlgen records of its own threads: rings, and what empties them into a
 * file. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "trace/trace.h"

/* ---- records of one thread on their way to the one that writes them ---- */

/*
 * A bounded first-in first-out of records with exactly one producer, which never waits, and one
 * consumer. A name goes along in slots behind its record. What finds no room is counted, by
 * operation, and is lost.
 *
 * A file that is open has a small number in place of its name, so that an operation on it is one
 * slot: its record of TRACE_OPEN brings both, and those behind it the number alone. A number is the
 * producer's to take and to give back; it holds in this ring and no other.
 *
 * In a slot `file` is that number, 0 = none; pid and tid are the bytes of a name and of a second
 * one that follow; cpu_ns of an open is the file's size, 0 = not known. Whoever takes it out puts
 * that right.
 */
enum {
	TRACE_RING_SLOTS_MIN = 1024,
	TRACE_RING_SLOTS_MAX = 65536,
	TRACE_RING_AHEAD = 12, /* slots that are fetched early */
	TRACE_RING_NUMBERS_MAX = 65535,
	TRACE_RING_NAME_BYTES = 4096, /* of a longer name the first so many */
};

/* Events without room; one writer, read by anybody, be it torn by one event. */
struct trace_ring_lost {
	_Atomic uint64_t count, first_ns, last_ns;
};

struct trace_ring {
	/* The producer's. */
	struct trace_record *slots;
	uint64_t mask;
	uint64_t tail_seen;    /* there is room up to here, at least */
	_Atomic uint64_t head; /* pairs with trace_ring_take */
	uint16_t *free_numbers;
	uint32_t free_count;
	uint32_t index; /* of the ring: in the upper half of its numbers */
	struct trace_ring_lost lost[TRACE_OPS];
	/* The consumer's. */
	_Alignas(64) _Atomic uint64_t tail; /* pairs with trace_ring_look */
	uint64_t at;
	uint32_t *ids; /* of names, by number; for the consumer to use */
	uint32_t tid;
	_Atomic bool is_over;
	size_t bytes;
};

/*
 * So many slots, a power of two, and numbers for so many files, 0 and up. Its memory is touched.
 * `index` tells rings apart, 1 and up; beyond 65534 files have no numbers. NULL: there is no
 * memory.
 */
struct trace_ring *trace_ring_new(unsigned slots, unsigned numbers, unsigned index);
void trace_ring_free(struct trace_ring *r); /* NULL is fine */

/* The producer's, below. */

/*
 * Room for a record of that operation and a name behind it, `slots` in all; NULL: it is lost. What
 * is put there is the consumer's with trace_ring_put.
 */
/* Look how far the consumer is, for so many slots; else it is lost. */
bool trace_ring_look(struct trace_ring *r, unsigned slots, unsigned op, uint64_t now_ns)
	__attribute__((cold));

static inline struct trace_record *trace_ring_room(struct trace_ring *r, unsigned slots,
						   unsigned op, uint64_t now_ns)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head + slots - r->tail_seen > r->mask + 1 && !trace_ring_look(r, slots, op, now_ns))
		return NULL;
	return &r->slots[head & r->mask];
}

static inline void trace_ring_put(struct trace_ring *r, unsigned slots)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* The consumer has had the lines of what comes next in the meantime: they are fetched some
	 * records before they are written. */
	for (unsigned i = 0; i < slots; i++)
		__builtin_prefetch(&r->slots[(head + TRACE_RING_AHEAD + i) & r->mask], 1);
	atomic_store_explicit(&r->head, head + slots, memory_order_release);
}

/* Slots of a record with so many bytes of names. */
static inline unsigned trace_ring_slots(size_t name_bytes)
{
	return 1 + (unsigned)((name_bytes + sizeof(struct trace_record) - 1) /
			      sizeof(struct trace_record));
}

/* Behind the record that has room: bytes of its names, which are so many. */
void trace_ring_name(struct trace_ring *r, size_t at, const void *name, size_t bytes);

/* A number for a file; 0 = there is none. Given back it is another's. */
static inline uint32_t trace_ring_take_number(struct trace_ring *r)
{
	return r->free_count ? r->index << 16 | r->free_numbers[--r->free_count] : 0;
}

/* As a slot has it; 0: it is none of this ring. */
static inline uint32_t trace_ring_number(const struct trace_ring *r, uint32_t number)
{
	return number >> 16 == r->index ? number & 0xffff : 0;
}

static inline void trace_ring_give_number(struct trace_ring *r, uint32_t number)
{
	r->free_numbers[r->free_count++] = (uint16_t)number;
}

/* What its operations were for. text NULL = none. */
struct trace_mark {
	unsigned op;
	uint64_t start_ns, end_ns, off, len_bytes;
	int64_t result; /* a rank, or -1 */
	const char *text;
};
void trace_ring_mark(struct trace_ring *r, const struct trace_mark *m);

/* Nothing more comes. */
void trace_ring_end(struct trace_ring *r);

/* The consumer's, below. */

struct trace_taken {
	struct trace_record record; /* pid, tid: none */
	const char *name, *name2;   /* until the next one; not terminated */
	size_t name_bytes, name2_bytes;
};

/* So much memory for two names. */
#define TRACE_RING_NAMES_BYTES (2 * TRACE_RING_NAME_BYTES + sizeof(struct trace_record))

/* How far there is something to take. */
uint64_t trace_ring_head(const struct trace_ring *r);

/* The next one, up to there, names into `room` of TRACE_RING_NAMES_BYTES; false = there is none.
 * Its slots are free with trace_ring_taken. */
bool trace_ring_take(struct trace_ring *r, uint64_t head, char *room, struct trace_taken *taken);
void trace_ring_taken(struct trace_ring *r);

/* Has the producer ended? Ask before trace_ring_head. */
bool trace_ring_is_over(const struct trace_ring *r);

/* ---- a run's own trace: a ring for each thread, and a thread that writes what they bring ---- */

/*
 * Those that work put records into rings of their own and never wait; one thread of the tracer
 * looks at all rings every few ms and writes them. Each ring has 4 MiB, or less where there are so
 * many that they would have more than 256 MiB together, but no less than 64 KiB. It goes when its
 * thread has left it and all is written.
 *
 * The file is emptied when the first ring is there, or at the end: until then what was in it stays.
 * What cannot be written ends nothing but the trace.
 */
struct tracer;

struct tracer_config {
	int fd;              /* open for writing, the caller's */
	const char *path;    /* for messages; copied */
	struct clock *clock; /* of all records */
	uint64_t threads;    /* that will have a ring at a time, about */
};

/* What the rings of so many take together. */
uint64_t tracer_ring_bytes(uint64_t threads);

struct tracer *tracer_new(const struct tracer_config *cfg);

/* Before tracer_start: what holds for all of the trace. Numbers that are behind the first `count`
 * are not known. */
void tracer_entry(struct tracer *t, enum trace_entry_kind kind, const uint64_t *number,
		  size_t count, const char *text);
/* "key=value"; nothing where the value is "". */
void tracer_fact(struct tracer *t, const char *key, const char *value);

/* On the main thread, whose CPUs it has. 0 or -errno with err. */
int tracer_start(struct tracer *t, struct mlgen_err *err);

/*
 * On the thread that will write into it: its ring, with numbers for so many files that are open at
 * once. `role` says what it does (trace.h). NULL: there is no memory, which tracer_stop tells.
 */
struct trace_ring *tracer_ring(struct tracer *t, const char *role, uint64_t files);

struct tracer_total {
	bool is_begun; /* the file is a trace now */
	uint64_t records, bytes, lost;
	uint64_t cpu_ns; /* of the thread that writes */
};

/*
 * Write what is there, also of threads that still write, and end. With `always` there is a trace
 * even where nobody had a ring. 0, or -errno with err: it is not whole. A tracer that was not
 * started has no trace.
 */
int tracer_stop(struct tracer *t, bool always, struct tracer_total *total, struct mlgen_err *err);

/* Stops it if need be; not while a thread may still write into its ring. NULL is fine. */
void tracer_free(struct tracer *t);
