/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.c - rings of threads, and the thread that writes them to a file. */
#include "trace/tracer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/trace.h"

struct owned_entry {
	struct trace_entry entry;
	char *text; /* text of the entry, owned */
};

/* A ring and the state of the thread that reads it. */
struct ring_reader {
	struct trace_ring *ring; /* owned */
	char role[64];
	/* Losses by operation that the trace contains as entries, and the time of the last loss. */
	uint64_t reported[TRACE_OPS];
	uint64_t reported_ns[TRACE_OPS];
};

/* A zeroed struct is empty. */
struct ring_readers {
	struct ring_reader **at;
	size_t count, room; /* vec.h */
	char *names;        /* buffer for the names of a record */
};

#define PAGE_BYTES UINT64_C(4096)
#define SLOT_BYTES sizeof(struct trace_record)

/* 65535 is reserved by the numbers of files in io/io_internal.h. */
#define INDEX_MAX 65534u

_Static_assert(sizeof(struct trace_record) == 64, "a slot is a cache line");

/* A single block of memory holds the ring, its slots, the ids of numbers, and the free numbers. */
struct trace_ring *trace_ring_new(unsigned slots, unsigned numbers, unsigned index)
{
	size_t head = round_up(sizeof(struct trace_ring), PAGE_BYTES);
	size_t data = slots * SLOT_BYTES, bytes;

	assert(slots >= TRACE_RING_SLOTS_MIN && (slots & (slots - 1)) == 0);
	if (index > INDEX_MAX)
		numbers = 0;
	if (numbers > TRACE_RING_NUMBERS_MAX)
		numbers = TRACE_RING_NUMBERS_MAX;
	bytes = head + data + (numbers + 1) * sizeof(uint32_t) + numbers * sizeof(uint16_t);
	struct trace_ring *r = mem_table(bytes);
	if (!r)
		return NULL;
	memset(r, 0, head);
	r->bytes = bytes;
	r->slots = (struct trace_record *)((char *)r + head);
	r->mask = slots - 1;
	r->index = numbers ? index : 0;
	r->ids = (uint32_t *)((char *)r->slots + data);
	memset(r->ids, 0, (numbers + 1) * sizeof(*r->ids));
	r->free_numbers = (uint16_t *)(r->ids + numbers + 1);
	for (unsigned i = numbers; i > 0; i--)
		r->free_numbers[r->free_count++] = (uint16_t)i;
	return r;
}

void trace_ring_free(struct trace_ring *r)
{
	if (r)
		mem_buffer_free(r, r->bytes, MEM_MMAP);
}

bool trace_ring_check_room(struct trace_ring *r, unsigned slots, unsigned op, uint64_t now_ns)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	struct trace_ring_lost *lost = &r->lost[op];

	/* Pairs with trace_ring_release: the consumer has read the slots before the tail. */
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head + slots - r->tail_seen <= r->mask + 1)
		return true;
	uint64_t n = atomic_load_explicit(&lost->count, memory_order_relaxed);
	if (n == 0)
		atomic_store_explicit(&lost->first_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&lost->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&lost->count, n + 1, memory_order_relaxed);
	return false;
}

void trace_ring_copy_name(struct trace_ring *r, size_t at, const void *name, size_t bytes)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t all = (size_t)(r->mask + 1) * SLOT_BYTES;
	size_t to = (size_t)((head + 1) & r->mask) * SLOT_BYTES + at;

	to %= all;
	size_t first = bytes < all - to ? bytes : all - to;
	memcpy((char *)r->slots + to, name, first);
	memcpy(r->slots, (const char *)name + first, bytes - first);
}

void trace_ring_mark(struct trace_ring *r, const struct trace_mark *m)
{
	size_t bytes = m->text ? strnlen(m->text, TRACE_RING_NAME_BYTES) : 0;
	unsigned slots = trace_ring_slots(bytes);
	struct trace_record *to = trace_ring_room(r, slots, m->op, m->end_ns);

	if (!to)
		return;
	*to = (struct trace_record){
		.start_ns = m->start_ns,
		.duration_ns = m->end_ns - m->start_ns,
		.off = m->off,
		.len_bytes = m->len_bytes,
		.result = m->result,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = (uint32_t)bytes,
		.op = (uint16_t)m->op,
	};
	if (bytes)
		trace_ring_copy_name(r, 0, m->text, bytes);
	trace_ring_publish(r, slots);
}

void trace_ring_end(struct trace_ring *r)
{
	/* Pairs with trace_ring_is_over: the consumer then sees all records. */
	atomic_store_explicit(&r->is_over, true, memory_order_release);
}

uint64_t trace_ring_head(const struct trace_ring *r)
{
	/* Pairs with trace_ring_publish. */
	return atomic_load_explicit(&r->head, memory_order_acquire);
}

bool trace_ring_read(struct trace_ring *r, uint64_t head, char *room, struct trace_ring_item *taken)
{
	struct trace_record *rec = &taken->record;
	uint64_t at = r->at;

	if (r->at == head)
		return false;
	*rec = r->slots[r->at & r->mask];
	taken->name_bytes = rec->pid;
	taken->name2_bytes = rec->tid;
	rec->pid = rec->tid = 0;
	size_t bytes = taken->name_bytes + taken->name2_bytes;
	/* The names may wrap around from the last slot to the first. */
	for (size_t done = 0; done < bytes; done += SLOT_BYTES)
		memcpy(room + done, &r->slots[++at & r->mask], SLOT_BYTES);
	taken->name = room;
	taken->name2 = room + taken->name_bytes;
	r->at += trace_ring_slots(bytes);
	return true;
}

void trace_ring_release(struct trace_ring *r)
{
	/* Pairs with trace_ring_check_room. */
	atomic_store_explicit(&r->tail, r->at, memory_order_release);
}

bool trace_ring_is_over(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->is_over, memory_order_acquire);
}

/* Numbers after the first `count` are unknown; the text stays the caller's. */
static struct trace_entry make_entry(enum trace_entry_kind kind, const uint64_t *number,
				     size_t count, const char *text)
{
	struct trace_entry e = { .kind = kind, .text = text, .text_bytes = strlen(text) };

	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = i < count ? number[i] : TRACE_UNKNOWN;
	return e;
}

static void free_reader(struct ring_reader *reader)
{
	trace_ring_free(reader->ring);
	mem_free(reader);
}

static void free_readers(struct ring_readers *l)
{
	for (size_t i = 0; i < l->count; i++)
		free_reader(l->at[i]);
	mem_free(l->at);
	mem_free(l->names);
	*l = (struct ring_readers){ 0 };
}

/* Replace the number and names of a slot (tracer.h) by ids of the trace, and write the record. */
static void write_record(struct trace_ring *ring, struct trace_ring_item *taken,
			 struct trace_writer *w, uint32_t pid)
{
	uint64_t known[4] = { TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN };
	struct trace_record *rec = &taken->record;
	uint32_t number = rec->file;

	if (taken->name_bytes == 0) {
		rec->file = ring->ids[number]; /* ids[0] is 0 */
	} else {
		if (rec->op == TRACE_OPEN && rec->cpu_ns)
			known[0] = rec->cpu_ns;
		rec->file = trace_writer_file(w, taken->name, taken->name_bytes, known);
		if (number)
			ring->ids[number] = rec->file;
		if (taken->name2_bytes)
			rec->off = trace_writer_name(w, taken->name2, taken->name2_bytes);
	}
	rec->pid = pid;
	rec->tid = ring->tid;
	if (rec->op == TRACE_OPEN)
		rec->cpu_ns = TRACE_UNKNOWN;
	trace_writer_record(w, rec);
}

/* Write the records of a ring; without a writer they count as lost. Returns how full it was, 0
 * to 1. */
static double drain_ring(struct ring_readers *l, struct ring_reader *reader, struct trace_writer *w,
			 uint64_t *lost)
{
	struct trace_ring *ring = reader->ring;
	uint64_t head = trace_ring_head(ring);
	double full = (double)(head - ring->at) / (double)(ring->mask + 1);
	struct trace_ring_item taken;
	unsigned count = 0;
	uint32_t pid = (uint32_t)getpid();

	while (trace_ring_read(ring, head, l->names, &taken)) {
		if (w)
			write_record(ring, &taken, w, pid);
		else
			(*lost)++;
		/* Free slots early, since compressing a chunk takes its time. */
		if (++count % 256 == 0)
			trace_ring_release(ring);
	}
	trace_ring_release(ring);
	return full;
}

static uint64_t ring_lost(const struct trace_ring *ring)
{
	uint64_t n = 0;

	for (unsigned op = 0; op < TRACE_OPS; op++)
		n += atomic_load_explicit(&ring->lost[op].count, memory_order_relaxed);
	return n;
}

/* Write entries of losses that are not in the trace yet. `w` may be NULL. */
static void write_lost(struct ring_reader *reader, struct trace_writer *w)
{
	for (unsigned op = 0; w && op < TRACE_OPS; op++) {
		const struct trace_ring_lost *lost = &reader->ring->lost[op];
		uint64_t n = atomic_load_explicit(&lost->count, memory_order_relaxed);
		uint64_t first = atomic_load_explicit(&lost->first_ns, memory_order_relaxed);
		uint64_t last = atomic_load_explicit(&lost->last_ns, memory_order_relaxed);
		uint64_t before = reader->reported[op];
		const uint64_t number[] = { op, n - before,
					    before ? reader->reported_ns[op] : first, last,
					    reader->ring->tid };

		if (n == before)
			continue;
		struct trace_entry e =
			make_entry(TRACE_LOST, number, 5, "the ring of its thread was full");
		trace_writer_entry(w, &e);
		reader->reported[op] = n;
		reader->reported_ns[op] = last;
	}
}

/*
 * Write the records in all rings and free the rings whose threads have ended. Losses of freed rings
 * are added to *lost. Returns how full the fullest ring was, 0 to 1.
 */
static double drain_rings(struct ring_readers *l, struct trace_writer *w, uint64_t *lost)
{
	double fullest = 0;
	size_t count = 0;

	if (!l->names)
		l->names = mem_zalloc(TRACE_RING_NAMES_BYTES);
	for (size_t i = 0; i < l->count; i++) {
		struct ring_reader *reader = l->at[i];
		bool is_over = trace_ring_is_over(reader->ring);
		double full = drain_ring(l, reader, w, lost);

		fullest = full > fullest ? full : fullest;
		if (!is_over) {
			l->at[count++] = reader;
			continue;
		}
		write_lost(reader, w);
		*lost += ring_lost(reader->ring);
		free_reader(reader);
	}
	l->count = count;
	return fullest;
}

/* Interval between two rounds over the rings. */
#define POLL_MIN_NS UINT64_C(500000)
#define POLL_MAX_NS UINT64_C(4000000)

#define WRITER_NICE (-10)

/* Buffered records are written after this time, so that a killed run loses little. */
#define FLUSH_NS NS_PER_S

struct tracer {
	struct tracer_config cfg;
	char *path;
	unsigned slots;
	pthread_t thread;
	bool is_started;
	VEC(struct owned_entry) entries; /* added before the start */

	pthread_mutex_t lock;          /* protects the next three */
	struct ring_readers new_rings; /* not yet seen by the thread */
	unsigned rings;                /* made so far */
	struct mlgen_err err;          /* the first */

	/* Signals to the thread: a new ring, or the end. */
	_Atomic uint32_t calls;
	_Atomic bool is_over;
	bool always; /* set before is_over */

	/* Used by the thread only. */
	struct clock *pace;
	struct trace_writer *writer; /* NULL = not begun, or could not begin */
	struct ring_readers readers;
	struct tracer_total total;
	uint64_t flushed_ns, poll_ns;
};

static void tracer_fail(struct tracer *t, const struct mlgen_err *err)
{
	pthread_mutex_lock(&t->lock);
	if (!t->err.code)
		t->err = *err;
	pthread_mutex_unlock(&t->lock);
}

/* ---- the thread: beginning ---- */

static void tracer_begin(struct tracer *t)
{
	struct trace_head head = { .wall_ns = clock_wall_ns(),
				   .clock_ns = clock_now(t->cfg.clock) };
	const uint64_t fallback_id[2] = { head.wall_ns, (uint64_t)getpid() };
	struct mlgen_err err = { 0 };
	int rc;

	t->total.is_begun = true;
	if (getrandom(head.run_id, sizeof(head.run_id), 0) < (ssize_t)sizeof(head.run_id))
		memcpy(head.run_id, fallback_id, sizeof(head.run_id));
	if (ftruncate(t->cfg.fd, 0) == 0)
		rc = trace_writer_new(&t->writer, t->cfg.fd, t->path, &head, &err);
	else
		rc = mlgen_fail(&err, -errno, "%s: cannot be truncated: %s", t->path,
				strerror(errno));
	if (rc < 0) {
		tracer_fail(t, &err);
		return;
	}
	for (size_t i = 0; i < t->entries.count; i++)
		trace_writer_entry(t->writer, &t->entries.at[i].entry);
	t->flushed_ns = clock_now(t->pace);
}

/* ---- the thread: rounds ---- */

/* Add the rings made since the last round, with entries of their threads. */
static void add_new_rings(struct tracer *t)
{
	pthread_mutex_lock(&t->lock);
	struct ring_readers new_rings = t->new_rings;
	t->new_rings = (struct ring_readers){ 0 };
	pthread_mutex_unlock(&t->lock);
	if (new_rings.count && !t->total.is_begun)
		tracer_begin(t);
	for (size_t i = 0; i < new_rings.count; i++) {
		struct ring_reader *reader = new_rings.at[i];
		const uint64_t number[] = { reader->ring->tid, (uint64_t)getpid() };
		struct trace_entry e = make_entry(TRACE_THREAD, number, 2, reader->role);

		if (t->writer)
			trace_writer_entry(t->writer, &e);
		vec_push(&t->readers, reader);
	}
	mem_free(new_rings.at);
}

static void write_all_lost(struct tracer *t)
{
	for (size_t i = 0; i < t->readers.count; i++)
		write_lost(t->readers.at[i], t->writer);
}

/* True: a ring was more than half full, so that the next round must follow at once. */
static bool write_round(struct tracer *t)
{
	add_new_rings(t);
	double fullest = drain_rings(&t->readers, t->writer, &t->total.lost);
	uint64_t now = clock_now(t->pace);
	if (t->writer && now - t->flushed_ns >= FLUSH_NS) {
		write_all_lost(t);
		trace_writer_flush(t->writer);
		t->flushed_ns = now;
	}

	/* Adapt the interval: the fuller the rings were, the sooner the next round. */
	if (fullest > 0.25)
		t->poll_ns = u64_max(t->poll_ns / 2, POLL_MIN_NS);
	else if (fullest < 0.06)
		t->poll_ns = u64_min(t->poll_ns * 5 / 4, POLL_MAX_NS);

	return fullest > 0.5;
}

/* Time of the next round. No thread has a ring before the first group of jobs and between groups.
 */
static uint64_t next_round(const struct tracer *t)
{
	if (!t->writer && !t->readers.count)
		return CLOCK_NEVER;
	return clock_now(t->pace) + (t->readers.count ? t->poll_ns : FLUSH_NS);
}

static void write_until_over(struct tracer *t)
{
	for (;;) {
		uint32_t seen = atomic_load(&t->calls);

		if (atomic_load(&t->is_over))
			return;
		if (!write_round(t))
			clock_wait(t->pace, &t->calls, seen, next_round(t));
	}
}

static void tracer_end(struct tracer *t)
{
	struct trace_written written = { 0 };
	struct mlgen_err err = { 0 };

	add_new_rings(t);
	if (t->always && !t->total.is_begun)
		tracer_begin(t);
	drain_rings(&t->readers, t->writer, &t->total.lost);
	for (size_t i = 0; i < t->readers.count; i++)
		t->total.lost += ring_lost(t->readers.at[i]->ring);
	if (!t->writer)
		return;
	write_all_lost(t);
	/* Repeat the entries of processes, which now have an end. */
	uint64_t now = clock_now(t->cfg.clock);
	for (size_t i = 0; i < t->entries.count; i++) {
		struct trace_entry e = t->entries.at[i].entry;

		if (e.kind != TRACE_PROCESS)
			continue;
		e.number[3] = now;
		trace_writer_entry(t->writer, &e);
	}
	if (trace_writer_finish(t->writer, &written, &err) < 0)
		tracer_fail(t, &err);
	t->writer = NULL;
	t->total.records = written.records;
	t->total.bytes = written.bytes;
	t->total.lost += written.lost;
}

static void *tracer_main(void *arg)
{
	struct tracer *t = arg;
	struct timespec ts;

	clock_join(t->pace);
	/* If permitted, run at once after waking, even if all CPUs are busy: rings must not fill
	 * up. */
	(void)setpriority(PRIO_PROCESS, 0, WRITER_NICE);
	write_until_over(t);
	tracer_end(t);
	clock_leave(t->pace);
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0)
		t->total.cpu_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return NULL;
}

/* ---- set-up and end ---- */

/* Slots of a ring: a power of two between TRACE_RING_SLOTS_MIN and TRACE_RING_SLOTS_MAX. */
static unsigned slots_for(uint64_t threads)
{
	const uint64_t most = UINT64_C(256) << 20;
	unsigned slots = TRACE_RING_SLOTS_MAX;

	while (slots > TRACE_RING_SLOTS_MIN &&
	       threads > most / (slots * sizeof(struct trace_record)))
		slots /= 2;
	return slots;
}

uint64_t tracer_ring_bytes(uint64_t threads)
{
	return u64_product(threads, slots_for(threads) * sizeof(struct trace_record));
}

struct tracer *tracer_new(const struct tracer_config *cfg)
{
	struct tracer *t = mem_zalloc(sizeof(*t));

	t->cfg = *cfg;
	t->path = mem_strdup(cfg->path);
	t->slots = slots_for(cfg->threads);
	t->poll_ns = POLL_MIN_NS;
	t->pace = clock_new_real();
	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void tracer_entry(struct tracer *t, enum trace_entry_kind kind, const uint64_t *number,
		  size_t count, const char *text)
{
	struct owned_entry e = { .text = mem_strdup(text) };

	e.entry = make_entry(kind, number, count, e.text);
	vec_push(&t->entries, e);
}

void tracer_fact(struct tracer *t, const char *key, const char *value)
{
	struct buf text = { 0 };

	if (value && *value) {
		buf_addf(&text, "%s=%s", key, value);
		tracer_entry(t, TRACE_FACT, NULL, 0, buf_str(&text));
	}
	buf_fini(&text);
}

int tracer_start(struct tracer *t, struct mlgen_err *err)
{
	clock_expect(t->pace, 1);
	int rc = thread_start(&t->thread, tracer_main, t);

	t->is_started = rc == 0;
	return rc == 0 ? 0 : mlgen_fail(err, rc, "cannot start a thread: %s", strerror(-rc));
}

static void wake_thread(struct tracer *t)
{
	atomic_fetch_add(&t->calls, 1);
	clock_wake(t->pace, &t->calls);
}

struct trace_ring *tracer_ring(struct tracer *t, const char *role, uint64_t files)
{
	struct mlgen_err err = { 0 };
	struct ring_reader *reader;

	pthread_mutex_lock(&t->lock);
	unsigned index = ++t->rings;
	pthread_mutex_unlock(&t->lock);
	struct trace_ring *ring =
		trace_ring_new(t->slots, (unsigned)u64_min(files, TRACE_RING_NUMBERS_MAX), index);
	if (!ring) {
		mlgen_fail(&err, -ENOMEM,
			   "%s: no memory to record what %s does; the trace does not contain it",
			   t->path, role);
		tracer_fail(t, &err);
		return NULL;
	}
	ring->tid = (uint32_t)gettid();
	reader = mem_zalloc(sizeof(*reader));
	reader->ring = ring;
	snprintf(reader->role, sizeof(reader->role), "%s", role);
	pthread_mutex_lock(&t->lock);
	vec_push(&t->new_rings, reader);
	pthread_mutex_unlock(&t->lock);
	wake_thread(t);
	return ring;
}

int tracer_stop(struct tracer *t, bool always, struct tracer_total *total, struct mlgen_err *err)
{
	*total = (struct tracer_total){ 0 };
	if (!t->is_started)
		return 0;
	t->always = always;
	atomic_store(&t->is_over, true);
	wake_thread(t);
	pthread_join(t->thread, NULL);
	t->is_started = false;
	*total = t->total;
	if (!t->err.code)
		return 0;
	*err = t->err;
	return t->err.code;
}

void tracer_free(struct tracer *t)
{
	struct tracer_total total;
	struct mlgen_err err = { 0 };

	if (!t)
		return;
	(void)tracer_stop(t, false, &total, &err);
	free_readers(&t->readers);
	free_readers(&t->new_rings);
	for (size_t i = 0; i < t->entries.count; i++)
		mem_free(t->entries.at[i].text);
	vec_fini(&t->entries);
	pthread_mutex_destroy(&t->lock);
	clock_free(t->pace);
	mem_free(t->path);
	mem_free(t);
}
