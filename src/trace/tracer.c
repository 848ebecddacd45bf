/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.c - rings of threads, emptied into a file. */
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

struct tracer_kept {
	struct trace_entry entry;
	char *text; /* the entry's, owned */
};

/* A zeroed one has none. */
struct tracer_entries {
	struct tracer_kept *at;
	size_t count, room; /* vec.h */
};

/* One ring, and what its reader knows of it. */
struct tracer_line {
	struct trace_ring *ring; /* owned */
	char role[64];
	uint64_t told[TRACE_OPS]; /* of what was lost */
	uint64_t told_ns[TRACE_OPS];
};

/* A zeroed one has none. */
struct tracer_lines {
	struct tracer_line **at;
	size_t count, room; /* vec.h */
	char *names;        /* a name that is taken out */
};

#define PAGE_BYTES UINT64_C(4096)
#define SLOT_BYTES sizeof(struct trace_record)

/* The last one means something else to who numbers files (io/io_internal.h). */
#define INDEX_MAX 65534u

_Static_assert(sizeof(struct trace_record) == 64, "a slot is a cache line");

/* One piece of memory: the ring, its slots, numbers, and what they stand for. */
struct trace_ring *trace_ring_new(unsigned slots, unsigned numbers, unsigned index)
{
	size_t head = round_up(sizeof(struct trace_ring), PAGE_BYTES);
	size_t data = slots * SLOT_BYTES, bytes;
	struct trace_ring *r;

	assert(slots >= TRACE_RING_SLOTS_MIN && (slots & (slots - 1)) == 0);
	if (index > INDEX_MAX)
		numbers = 0;
	if (numbers > TRACE_RING_NUMBERS_MAX)
		numbers = TRACE_RING_NUMBERS_MAX;
	bytes = head + data + (numbers + 1) * sizeof(uint32_t) + numbers * sizeof(uint16_t);
	r = mem_table(bytes);
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

static void count_lost(struct trace_ring_lost *l, uint64_t now_ns)
{
	uint64_t n = atomic_load_explicit(&l->count, memory_order_relaxed);

	if (n == 0)
		atomic_store_explicit(&l->first_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&l->last_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&l->count, n + 1, memory_order_relaxed);
}

bool trace_ring_look(struct trace_ring *r, unsigned slots, unsigned op, uint64_t now_ns)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* Pairs with trace_ring_taken: it has read what lay there. */
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head + slots - r->tail_seen <= r->mask + 1)
		return true;
	count_lost(&r->lost[op], now_ns);
	return false;
}

void trace_ring_name(struct trace_ring *r, size_t at, const void *name, size_t bytes)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t all = (size_t)(r->mask + 1) * SLOT_BYTES;
	size_t to = (size_t)((head + 1) & r->mask) * SLOT_BYTES + at;
	size_t first;

	to %= all;
	first = bytes < all - to ? bytes : all - to;
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
		trace_ring_name(r, 0, m->text, bytes);
	trace_ring_put(r, slots);
}

void trace_ring_end(struct trace_ring *r)
{
	/* Pairs with trace_ring_is_over: what was put is seen then. */
	atomic_store_explicit(&r->is_over, true, memory_order_release);
}

uint64_t trace_ring_head(const struct trace_ring *r)
{
	/* Pairs with trace_ring_put. */
	return atomic_load_explicit(&r->head, memory_order_acquire);
}

/* The names lie in slots, of which the last may be followed by the first. */
static void copy_names(const struct trace_ring *r, char *room, size_t bytes)
{
	uint64_t at = r->at + 1;

	for (size_t done = 0; done < bytes; done += SLOT_BYTES)
		memcpy(room + done, &r->slots[at++ & r->mask], SLOT_BYTES);
}

bool trace_ring_take(struct trace_ring *r, uint64_t head, char *room, struct trace_taken *taken)
{
	struct trace_record *rec = &taken->record;

	if (r->at == head)
		return false;
	*rec = r->slots[r->at & r->mask];
	taken->name_bytes = rec->pid;
	taken->name2_bytes = rec->tid;
	rec->pid = rec->tid = 0;
	copy_names(r, room, taken->name_bytes + taken->name2_bytes);
	taken->name = room;
	taken->name2 = room + taken->name_bytes;
	r->at += trace_ring_slots(taken->name_bytes + taken->name2_bytes);
	return true;
}

void trace_ring_taken(struct trace_ring *r)
{
	/* Pairs with trace_ring_look. */
	atomic_store_explicit(&r->tail, r->at, memory_order_release);
}

bool trace_ring_is_over(const struct trace_ring *r)
{
	return atomic_load_explicit(&r->is_over, memory_order_acquire);
}

/* Numbers behind the first `count` are not known; the text is the caller's. */
static struct trace_entry tracer_entries_make(enum trace_entry_kind kind, const uint64_t *number,
					      size_t count, const char *text)
{
	struct trace_entry e = { .kind = kind, .text = text, .text_bytes = strlen(text) };

	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = i < count ? number[i] : TRACE_UNKNOWN;
	return e;
}

static void tracer_entries_add(struct tracer_entries *e, enum trace_entry_kind kind,
			       const uint64_t *number, size_t count, const char *text)
{
	char *own = mem_strdup(text);

	vec_push(e, (struct tracer_kept){
			    .entry = tracer_entries_make(kind, number, count, own),
			    .text = own,
		    });
}

static void tracer_entries_add_fact(struct tracer_entries *e, const char *key, const char *value)
{
	struct buf text = { 0 };

	if (value && *value) {
		buf_addf(&text, "%s=%s", key, value);
		tracer_entries_add(e, TRACE_FACT, NULL, 0, buf_str(&text));
	}
	buf_fini(&text);
}

static void tracer_entries_write(const struct tracer_entries *e, struct trace_writer *w)
{
	for (size_t i = 0; i < e->count; i++)
		trace_writer_entry(w, &e->at[i].entry);
}

/* The processes among them once more, which end now. */
static void tracer_entries_write_end(const struct tracer_entries *e, struct trace_writer *w,
				     uint64_t now_ns)
{
	for (size_t i = 0; i < e->count; i++) {
		struct trace_entry one = e->at[i].entry;

		if (one.kind != TRACE_PROCESS)
			continue;
		one.number[3] = now_ns;
		trace_writer_entry(w, &one);
	}
}

static void tracer_entries_fini(struct tracer_entries *e)
{
	for (size_t i = 0; i < e->count; i++)
		mem_free(e->at[i].text);
	vec_fini(e);
	*e = (struct tracer_entries){ 0 };
}

static void append(struct tracer_lines *l, struct tracer_line *line)
{
	vec_push(l, line);
}

static void tracer_lines_add(struct tracer_lines *l, struct trace_ring *ring, const char *role)
{
	struct tracer_line *line = mem_zalloc(sizeof(*line));

	line->ring = ring;
	snprintf(line->role, sizeof(line->role), "%s", role);
	append(l, line);
}

/* Those of the other, which is empty then; the writer is told whose they are. NULL: there is none,
 * here and below, and nothing is written. */
static void tracer_lines_join(struct tracer_lines *l, struct tracer_lines *from,
			      struct trace_writer *w)
{
	for (size_t i = 0; i < from->count; i++) {
		struct tracer_line *line = from->at[i];
		const uint64_t number[] = { line->ring->tid, (uint64_t)getpid() };
		struct trace_entry e = tracer_entries_make(TRACE_THREAD, number, 2, line->role);

		if (w)
			trace_writer_entry(w, &e);
		append(l, line);
	}
	mem_free(from->at);
	*from = (struct tracer_lines){ 0 };
}

static void free_line(struct tracer_line *line)
{
	trace_ring_free(line->ring);
	mem_free(line);
}

static void tracer_lines_fini(struct tracer_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free_line(l->at[i]);
	mem_free(l->at);
	mem_free(l->names);
	*l = (struct tracer_lines){ 0 };
}

/* Its id. Of a file that is opened its size may have come along. */
static uint32_t name_file(struct trace_record *rec, const struct trace_taken *taken,
			  struct trace_writer *w)
{
	uint64_t known[4] = { TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN };

	if (rec->op == TRACE_OPEN && rec->cpu_ns)
		known[0] = rec->cpu_ns;
	return trace_writer_file(w, taken->name, taken->name_bytes, known);
}

/* A name behind a record is the file's; with a number it is so from now on. */
static void resolve(struct trace_ring *ring, struct trace_taken *taken, struct trace_writer *w)
{
	struct trace_record *rec = &taken->record;
	uint32_t number = rec->file;

	if (taken->name_bytes == 0) {
		rec->file = ring->ids[number]; /* 0 of 0 */
		return;
	}
	rec->file = name_file(rec, taken, w);
	if (number)
		ring->ids[number] = rec->file;
	if (taken->name2_bytes)
		rec->off = trace_writer_name(w, taken->name2, taken->name2_bytes);
}

static void write_one(struct trace_ring *ring, struct trace_taken *taken, struct trace_writer *w,
		      uint32_t pid)
{
	resolve(ring, taken, w);
	taken->record.pid = pid;
	taken->record.tid = ring->tid;
	if (taken->record.op == TRACE_OPEN)
		taken->record.cpu_ns = TRACE_UNKNOWN;
	trace_writer_record(w, &taken->record);
}

/* How full it was. */
static double drain_line(struct tracer_lines *l, struct tracer_line *line, struct trace_writer *w,
			 uint64_t *lost)
{
	struct trace_ring *ring = line->ring;
	uint64_t head = trace_ring_head(ring);
	double full = (double)(head - ring->at) / (double)(ring->mask + 1);
	struct trace_taken taken;
	unsigned taken_count = 0;
	uint32_t pid = (uint32_t)getpid();

	while (trace_ring_take(ring, head, l->names, &taken)) {
		if (w)
			write_one(ring, &taken, w, pid);
		else
			(*lost)++;
		/* A chunk that is compressed takes its time. */
		if (++taken_count % 256 == 0)
			trace_ring_taken(ring);
	}
	trace_ring_taken(ring);
	return full;
}

static uint64_t line_lost(const struct tracer_line *line)
{
	uint64_t n = 0;

	for (unsigned op = 0; op < TRACE_OPS; op++)
		n += atomic_load_explicit(&line->ring->lost[op].count, memory_order_relaxed);
	return n;
}

/* What was lost since it was told last, which was some time before. */
static void tell_op(struct tracer_line *line, unsigned op, struct trace_writer *w)
{
	const struct trace_ring_lost *lost = &line->ring->lost[op];
	uint64_t n = atomic_load_explicit(&lost->count, memory_order_relaxed);
	uint64_t first = atomic_load_explicit(&lost->first_ns, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&lost->last_ns, memory_order_relaxed);
	uint64_t told = line->told[op];
	const uint64_t number[] = { op, n - told, told ? line->told_ns[op] : first, last,
				    line->ring->tid };
	struct trace_entry e;

	if (n == told)
		return;
	e = tracer_entries_make(TRACE_LOST, number, 5, "its thread's ring was full");
	trace_writer_entry(w, &e);
	line->told[op] = n;
	line->told_ns[op] = last;
}

static void tell_line(struct tracer_line *line, struct trace_writer *w)
{
	for (unsigned op = 0; w && op < TRACE_OPS; op++)
		tell_op(line, op, w);
}

/*
 * Write what is in them by now, and let go those whose thread has ended: what was lost of these is
 * added to *lost. How full the fullest was, 0 to 1.
 */
static double tracer_lines_drain(struct tracer_lines *l, struct trace_writer *w, uint64_t *lost)
{
	double fullest = 0;
	size_t kept = 0;

	if (!l->names)
		l->names = mem_zalloc(TRACE_RING_NAMES_BYTES);
	for (size_t i = 0; i < l->count; i++) {
		struct tracer_line *line = l->at[i];
		bool is_over = trace_ring_is_over(line->ring);
		double full = drain_line(l, line, w, lost);

		fullest = full > fullest ? full : fullest;
		if (!is_over) {
			l->at[kept++] = line;
			continue;
		}
		tell_line(line, w);
		*lost += line_lost(line);
		free_line(line);
	}
	l->count = kept;
	return fullest;
}

/* What was lost so far of those that are left, and entries of what is new. */
static uint64_t tracer_lines_lost(const struct tracer_lines *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += line_lost(l->at[i]);
	return n;
}

static void tracer_lines_tell_lost(struct tracer_lines *l, struct trace_writer *w)
{
	for (size_t i = 0; i < l->count; i++)
		tell_line(l->at[i], w);
}

/* Between two looks at the rings. */
#define POLL_MIN_NS UINT64_C(500000)
#define POLL_MAX_NS UINT64_C(4000000)

#define WRITER_NICE (-10)

/* What lies in memory goes out after so long: for who is killed. */
#define FLUSH_NS NS_PER_S

struct tracer {
	struct tracer_config cfg;
	char *path;
	unsigned slots;
	pthread_t thread;
	bool is_started;
	struct tracer_entries entries; /* from before its start */

	pthread_mutex_t lock;      /* of the next three */
	struct tracer_lines fresh; /* rings that the writer has not seen yet */
	unsigned rings;            /* made so far */
	struct mlgen_err err;      /* the first */

	/* To the writer: a ring is there, or it is over. */
	_Atomic uint32_t calls;
	_Atomic bool is_over;
	bool always; /* set before is_over */

	/* The writer's. */
	struct clock *pace;
	struct trace_writer *writer; /* NULL: not begun, or it cannot be */
	struct tracer_lines lines;
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

/* ---- the writer: beginning ---- */

/* All parts of a run would have it; this has one. */
static void make_id(struct trace_head *head)
{
	uint64_t word[2] = { head->wall_ns, (uint64_t)getpid() };
	ssize_t n = getrandom(head->run_id, sizeof(head->run_id), 0);

	if (n < (ssize_t)sizeof(head->run_id))
		memcpy(head->run_id, word, sizeof(head->run_id));
}

static int empty_file(const struct tracer *t, struct mlgen_err *err)
{
	return ftruncate(t->cfg.fd, 0) == 0 ? 0
					    : mlgen_fail(err, -errno, "%s: cannot be emptied: %s",
							 t->path, strerror(errno));
}

static void tracer_begin(struct tracer *t)
{
	struct trace_head head = { .wall_ns = clock_wall_ns(),
				   .clock_ns = clock_now(t->cfg.clock) };
	struct mlgen_err err = { 0 };
	int rc = empty_file(t, &err);

	t->total.is_begun = true;
	make_id(&head);
	if (rc == 0)
		rc = trace_writer_new(&t->writer, t->cfg.fd, t->path, &head, &err);
	if (rc < 0) {
		tracer_fail(t, &err);
		return;
	}
	tracer_entries_write(&t->entries, t->writer);
	t->flushed_ns = clock_now(t->pace);
}

/* ---- the writer: rounds ---- */

/* Rings that came since the last round. */
static void take_fresh(struct tracer *t)
{
	pthread_mutex_lock(&t->lock);
	struct tracer_lines fresh = t->fresh;
	t->fresh = (struct tracer_lines){ 0 };
	pthread_mutex_unlock(&t->lock);
	if (fresh.count && !t->total.is_begun)
		tracer_begin(t);
	tracer_lines_join(&t->lines, &fresh, t->writer);
}

/* The fuller they were, the sooner it looks again. */
static void pace(struct tracer *t, double fullest)
{
	if (fullest > 0.25)
		t->poll_ns = u64_max(t->poll_ns / 2, POLL_MIN_NS);
	else if (fullest < 0.06)
		t->poll_ns = u64_min(t->poll_ns * 5 / 4, POLL_MAX_NS);
}

static void write_out(struct tracer *t)
{
	uint64_t now = clock_now(t->pace);

	if (!t->writer || now - t->flushed_ns < FLUSH_NS)
		return;
	tracer_lines_tell_lost(&t->lines, t->writer);
	trace_writer_flush(t->writer);
	t->flushed_ns = now;
}

/* More than half full: somebody is faster than a poll, so it does not wait. */
static bool write_round(struct tracer *t)
{
	double fullest;

	take_fresh(t);
	fullest = tracer_lines_drain(&t->lines, t->writer, &t->total.lost);
	write_out(t);
	pace(t, fullest);
	return fullest > 0.5;
}

/* Between two groups of jobs nobody has a ring. */
static uint64_t next_round(const struct tracer *t)
{
	if (!t->writer && !t->lines.count)
		return CLOCK_NEVER;
	return clock_now(t->pace) + (t->lines.count ? t->poll_ns : FLUSH_NS);
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

	take_fresh(t);
	if (t->always && !t->total.is_begun)
		tracer_begin(t);
	tracer_lines_drain(&t->lines, t->writer, &t->total.lost);
	t->total.lost += tracer_lines_lost(&t->lines);
	if (!t->writer)
		return;
	tracer_lines_tell_lost(&t->lines, t->writer);
	tracer_entries_write_end(&t->entries, t->writer, clock_now(t->cfg.clock));
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
	/* Where it may: of a host whose CPUs are all busy it takes its part when it wakes, not when
	 * a ring has been full for long. */
	(void)setpriority(PRIO_PROCESS, 0, WRITER_NICE);
	write_until_over(t);
	tracer_end(t);
	clock_leave(t->pace);
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) == 0)
		t->total.cpu_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return NULL;
}

/* ---- all others ---- */

/* A power of two, between the least and the most. */
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
	tracer_entries_add(&t->entries, kind, number, count, text);
}

void tracer_fact(struct tracer *t, const char *key, const char *value)
{
	tracer_entries_add_fact(&t->entries, key, value);
}

int tracer_start(struct tracer *t, struct mlgen_err *err)
{
	clock_expect(t->pace, 1);
	int rc = thread_start(&t->thread, tracer_main, t);

	t->is_started = rc == 0;
	return rc == 0 ? 0 : mlgen_fail(err, rc, "cannot start a thread: %s", strerror(-rc));
}

static void call_writer(struct tracer *t)
{
	atomic_fetch_add(&t->calls, 1);
	clock_wake(t->pace, &t->calls);
}

struct trace_ring *tracer_ring(struct tracer *t, const char *role, uint64_t files)
{
	struct mlgen_err err = { 0 };
	struct trace_ring *ring;

	pthread_mutex_lock(&t->lock);
	unsigned index = ++t->rings;
	pthread_mutex_unlock(&t->lock);
	ring = trace_ring_new(t->slots, (unsigned)u64_min(files, TRACE_RING_NUMBERS_MAX), index);
	if (!ring) {
		mlgen_fail(&err, -ENOMEM, "%s: no memory for what %s does; it is not in the trace",
			   t->path, role);
		tracer_fail(t, &err);
		return NULL;
	}
	ring->tid = (uint32_t)gettid();
	pthread_mutex_lock(&t->lock);
	tracer_lines_add(&t->fresh, ring, role);
	pthread_mutex_unlock(&t->lock);
	call_writer(t);
	return ring;
}

int tracer_stop(struct tracer *t, bool always, struct tracer_total *total, struct mlgen_err *err)
{
	*total = (struct tracer_total){ 0 };
	if (!t->is_started)
		return 0;
	t->always = always;
	atomic_store(&t->is_over, true);
	call_writer(t);
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
	tracer_lines_fini(&t->lines);
	tracer_lines_fini(&t->fresh);
	tracer_entries_fini(&t->entries);
	pthread_mutex_destroy(&t->lock);
	clock_free(t->pace);
	mem_free(t->path);
	mem_free(t);
}
