/* SPDX-License-Identifier: Apache-2.0 */
/* tracer.c - see tracer.h. */
#include "trace/tracer.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "trace/trace_writer.h"
#include "trace/tracer_entries.h"
#include "trace/tracer_lines.h"

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
