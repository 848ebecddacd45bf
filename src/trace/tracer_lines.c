/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_lines.c - see tracer_lines.h. */
#include "trace/tracer_lines.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "trace/tracer_entries.h"

static void append(struct tracer_lines *l, struct tracer_line *line)
{
	vec_push(l, line);
}

void tracer_lines_add(struct tracer_lines *l, struct trace_ring *ring, const char *role)
{
	struct tracer_line *line = mem_zalloc(sizeof(*line));

	line->ring = ring;
	snprintf(line->role, sizeof(line->role), "%s", role);
	append(l, line);
}

void tracer_lines_join(struct tracer_lines *l, struct tracer_lines *from, struct trace_writer *w)
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

void tracer_lines_fini(struct tracer_lines *l)
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

double tracer_lines_drain(struct tracer_lines *l, struct trace_writer *w, uint64_t *lost)
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

uint64_t tracer_lines_lost(const struct tracer_lines *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += line_lost(l->at[i]);
	return n;
}

void tracer_lines_tell_lost(struct tracer_lines *l, struct trace_writer *w)
{
	for (size_t i = 0; i < l->count; i++)
		tell_line(l->at[i], w);
}
