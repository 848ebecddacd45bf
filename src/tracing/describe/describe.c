/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - read a trace twice: first into accounts, then into intervals and epochs. */
#include "tracing/describe/describe_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* Limit of each of the lists of facts, mounts and losses. */
#define ENTRIES_MOST 1024

/* ---- entries ---- */

/* The next element of a list in the store; NULL if the list is full. */
static void *grow_list(struct description *to, struct metric_list *l, size_t *room,
		       size_t element_bytes)
{
	const void *old = l->items;

	if (l->count == ENTRIES_MOST)
		return NULL;
	if (l->count == *room) {
		*room = *room ? 2 * *room : 16;
		l->items = json_store_alloc(&to->store, *room * element_bytes);
		if (old)
			memcpy(l->items, old, l->count * element_bytes);
	}
	return (char *)l->items + l->count++ * element_bytes;
}

static void add_fact(struct describe *d, const struct trace_entry *e)
{
	struct described_trace *t = &d->to->figures.trace;
	char *key = json_store_text(&d->to->store, e->text);
	char *equals = strchr(key, '=');
	struct metric_pair *pairs = t->facts.items, *p = NULL;

	if (!equals)
		return;
	*equals = '\0';
	/* A later fact replaces an earlier one. */
	for (size_t i = 0; i < t->facts.count && !p; i++)
		if (!strcmp(pairs[i].key, key))
			p = &pairs[i];
	if (!p)
		p = grow_list(d->to, &t->facts, &d->fact_room, sizeof(*p));
	if (p)
		*p = (struct metric_pair){ key, equals + 1 };
}

static void add_mount(struct describe *d, const struct trace_entry *e)
{
	struct described_trace *t = &d->to->figures.trace;
	struct metric_pair *p = grow_list(d->to, &t->mounts, &d->mount_room, sizeof(*p));
	char device[32];

	if (!p)
		return;
	snprintf(device, sizeof(device), "%u:%u", (unsigned)(e->number[0] >> 20),
		 (unsigned)(e->number[0] & 0xfffff));
	p->key = json_store_text(&d->to->store, device);
	p->value = json_store_text(&d->to->store, e->text);
}

static void add_loss(struct describe *d, const struct trace_entry *e)
{
	struct described_lost *l = &d->to->figures.trace.lost;
	struct described_loss *part;
	uint64_t op = e->number[0];

	if (e->number[1] == 0 || e->number[1] == TRACE_UNKNOWN)
		return;
	l->events += e->number[1];
	part = grow_list(d->to, &l->parts, &d->loss_room, sizeof(*part));
	if (!part)
		return;
	*part = (struct described_loss){
		.operation = op < TRACE_OPS ? trace_op_name((unsigned)op) : NULL,
		.events = e->number[1],
		.tid = e->number[4],
		/* describe_fill() subtracts the start of the trace, which is unknown here. */
		.first_seconds = (double)e->number[2],
		.last_seconds = (double)e->number[3],
		.why = *e->text ? json_store_text(&d->to->store, e->text) : NULL,
	};
}

/* ---- records ---- */

static void add_size(struct describe *d, unsigned sized, const struct trace_record *r)
{
	struct size_account *s = &d->sizes[sized];
	unsigned i = sizes_class_of(r->len_bytes);

	if (r->len_bytes == TRACE_UNKNOWN)
		return;
	s->count[i]++;
	s->bytes[i] += opkind_bytes(r);
	s->ns[i] += opkind_duration_ns(r);
}

static void add_op(struct describe *d, const struct trace_record *r)
{
	struct described_op *o = &d->to->figures.trace.operations.of[r->op];

	d->seen[r->op]++;
	if (opkind_failed(r)) {
		o->errors++;
		return;
	}
	o->count++;
	o->bytes += opkind_bytes(r);
	o->seconds += (double)opkind_duration_ns(r) / NS_PER_S;
	if (r->flags & TRACE_CHAINED) {
		o->chained++;
		return;
	}
	if (!opkind_has_duration(r)) {
		d->to->figures.trace.unknown_durations++;
		return;
	}
	if (!o->lat_ns)
		o->lat_ns = json_store_hist(&d->to->store);
	hist_add(o->lat_ns, r->duration_ns);
}

static void add_block(struct describe *d, const struct trace_record *r)
{
	struct described_block *b = &d->to->figures.trace.block;
	bool writes = r->flags & TRACE_WRITES;
	uint64_t bytes = opkind_bytes(r);

	pairing_begin(&d->block, pairing_key(r->file, r->off), r->start_ns);
	*(writes ? &b->writes : &b->reads) += 1;
	*(writes ? &b->written_bytes : &b->read_bytes) += bytes;
	if (!writes && r->flags & TRACE_READ_AHEAD)
		d->block_ahead_bytes += bytes;
	add_size(d, writes ? SIZED_BLOCK_WRITE : SIZED_BLOCK_READ, r);
}

/* The latency is the time since the issue, or the duration of the record if the issue was not seen.
 */
static void add_block_end(struct describe *d, const struct trace_record *r)
{
	struct described_block *b = &d->to->figures.trace.block;
	uint64_t end = opkind_end_ns(r), began = r->start_ns;
	bool is_paired = pairing_end(&d->block, pairing_key(r->file, r->off), &began);
	uint64_t ns = is_paired && end > began ? end - began : opkind_duration_ns(r);

	if (!is_paired && !opkind_duration_ns(r))
		return;
	if (!b->lat_ns)
		b->lat_ns = json_store_hist(&d->to->store);
	hist_add(b->lat_ns, ns);
	d->block_ns += ns;
}

static void add_event(struct describe *d, const struct trace_record *r)
{
	uint64_t began;

	switch (r->op) {
	case TRACE_CACHE_ADD:
		if (r->flags & TRACE_READ_AHEAD)
			d->cache_ahead_bytes += opkind_bytes(r);
		break;
	case TRACE_BLOCK_ISSUE:
		add_block(d, r);
		break;
	case TRACE_BLOCK_COMPLETE:
		add_block_end(d, r);
		break;
	case TRACE_ASYNC_SUBMIT:
		pairing_begin(&d->async, pairing_key(r->pid, r->off), r->start_ns);
		break;
	case TRACE_ASYNC_COMPLETE:
		pairing_end(&d->async, pairing_key(r->pid, r->off), &began);
		break;
	case TRACE_FAULT:
		d->fault_first_ns = u64_min(d->fault_first_ns, r->start_ns);
		d->fault_last_ns = u64_max(d->fault_last_ns, opkind_end_ns(r));
		break;
	default:
		trace_marks_add_marker(&d->marks, r);
	}
	if (r->op == TRACE_STEP && r->len_bytes != TRACE_UNKNOWN)
		d->to->figures.trace.steps.samples += r->len_bytes;
}

static void add_record(struct describe *d, const struct trace_record *r)
{
	unsigned kind = opkind_of(r->op);

	if (!r->op || r->op >= TRACE_OPS || !trace_op_name(r->op) || !opkind_has_time(r))
		return;
	/* A marker that began before the recording does not make the trace longer. */
	if (!trace_is_marker(r->op) || !(r->flags & TRACE_BEGINS)) {
		d->start_ns = u64_min(d->start_ns, r->start_ns);
		d->end_ns = u64_max(d->end_ns, opkind_end_ns(r));
	}
	add_op(d, r);
	trace_files_add_record(&d->files, r, kind);
	trace_tasks_add_record(&d->tasks, r, kind);
	if (!(kind & OPKIND_CALL)) {
		add_event(d, r);
	} else if (kind & (OPKIND_READ | OPKIND_WRITE) && !opkind_failed(r)) {
		d->moved_ns += opkind_duration_ns(r);
		add_size(d, kind & OPKIND_READ ? SIZED_READ : SIZED_WRITE, r);
	}
}

static int pass_one(struct describe *d, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(d->reader, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++) {
			const struct trace_entry *e = &batch.entries[i];

			if (e->kind == TRACE_FILE)
				trace_files_add_entry(&d->files, e);
			else if (e->kind == TRACE_FACT)
				add_fact(d, e);
			else if (e->kind == TRACE_MOUNT)
				add_mount(d, e);
			else if (e->kind == TRACE_LOST)
				add_loss(d, e);
			else
				trace_tasks_add_entry(&d->tasks, e);
		}

		for (size_t i = 0; i < batch.record_count; i++)
			add_record(d, &batch.records[i]);
	}
	return rc;
}

/* ---- names that the document needs ---- */

COMPARE_BY(compare_wanted, struct wanted_name, id)

/* An id may occur several times; its first element has the text. */
static struct wanted_name *find_wanted(const struct describe *d, uint32_t id)
{
	size_t n = (size_t)BISECT(i, 0, d->wanted_count, d->wanted[i].id >= id);

	return n < d->wanted_count && d->wanted[n].id == id ? &d->wanted[n] : NULL;
}

const char *describe_name(const struct describe *d, uint32_t id)
{
	const struct wanted_name *w = find_wanted(d, id);

	return w && w->text ? w->text : "";
}

/* ---- both passes ---- */

static int pass_two(struct describe *d, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc = trace_reader_rewind(d->reader, err);

	while (rc == 0 && (rc = trace_reader_next(d->reader, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++) {
			const struct trace_entry *e = &batch.entries[i];

			if (e->kind != TRACE_FILE || e->number[0] >= UINT32_MAX)
				continue;
			struct wanted_name *w = find_wanted(d, (uint32_t)e->number[0]);
			/* A later name replaces an earlier one. Each part of a trace repeats the
			 * names. */
			if (w && (!w->text || strcmp(w->text, e->text) != 0))
				w->text = json_store_text(&d->to->store, e->text);
		}
		for (size_t i = 0; i < batch.record_count; i++) {
			const struct trace_record *r = &batch.records[i];

			intervals_add(&d->to->log, r);
			trace_marks_add_access(&d->marks, &d->files, r, opkind_of(r->op));
		}
		rc = 0;
	}
	return rc;
}

int describe_trace(struct description *to, const char *const *paths, size_t count,
		   uint64_t interval_ns, struct mlgen_err *err)
{
	struct trace_reader *reader;
	struct describe *d;
	int rc = trace_reader_open(&reader, paths, count, err);

	memset(to, 0, sizeof(*to));
	if (rc < 0)
		return rc;
	d = mem_zalloc(sizeof(*d));
	d->reader = reader;
	d->to = to;
	d->names = trace_names_new();
	d->tasks.names = d->names;
	d->start_ns = d->fault_first_ns = UINT64_MAX;
	trace_files_init(&d->files, d->names);
	pairing_init(&d->block);
	pairing_init(&d->async);
	rc = pass_one(d, err);
	if (rc == 0) {
		if (d->start_ns > d->end_ns)
			d->start_ns = d->end_ns = 0;
		trace_tasks_finish(&d->tasks);
		trace_marks_finish(&d->marks, &d->files);
		describe_find_top(d);

		const struct mark_list *stages = &d->marks.stages;
		const struct mark_list *checkpoints = &d->marks.checkpoints;
		d->wanted = mem_array(d->top_count + stages->count + checkpoints->count,
				      sizeof(*d->wanted));
		for (size_t i = 0; i < d->top_count; i++)
			d->wanted[d->wanted_count++].id = d->top[i];
		for (uint32_t i = 0; i < stages->count; i++)
			d->wanted[d->wanted_count++].id = mark_at(stages, i)->name;
		for (uint32_t i = 0; i < checkpoints->count; i++)
			d->wanted[d->wanted_count++].id = mark_at(checkpoints, i)->name;
		qsort(d->wanted, d->wanted_count, sizeof(*d->wanted), compare_wanted);

		intervals_init(&to->log, d->start_ns, d->end_ns, interval_ns);
		rc = pass_two(d, err);
	}
	if (rc == 0)
		describe_fill(d);
	trace_reader_close(reader);
	trace_marks_fini(&d->marks);
	trace_tasks_fini(&d->tasks);
	trace_files_fini(&d->files);
	pairing_fini(&d->block);
	pairing_fini(&d->async);
	trace_names_free(d->names);
	mem_free(d->wanted);
	mem_free(d);
	return rc;
}

void description_fini(struct description *d)
{
	intervals_fini(&d->log);
	intervals_fini(&d->series);
	json_store_fini(&d->store);
	memset(d, 0, sizeof(*d));
}
