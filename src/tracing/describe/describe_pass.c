/* SPDX-License-Identifier: Apache-2.0 */
/* describe_pass.c - the first time through a trace: accounts of what its records and entries
 * say. */
#include "tracing/describe/describe_inside.h"

#include <string.h>

#include "tracing/describe/opkind.h"

/* Of facts, mounts and losses: what nobody would read is left out. */
#define ENTRIES_MOST 1024

/* ---- entries ---- */

/* The next element of a list that the store has; NULL: it is long enough. */
static void *grow_list(struct description *to, struct metric_list *l, size_t *room,
		       size_t element_bytes)
{
	void *had = l->items;

	if (l->count == ENTRIES_MOST)
		return NULL;
	if (l->count == *room) {
		*room = *room ? 2 * *room : 16;
		l->items = json_store_alloc(&to->store, *room * element_bytes);
		if (had)
			memcpy(l->items, had, l->count * element_bytes);
	}
	return (char *)l->items + l->count++ * element_bytes;
}

static void note_fact(struct describe *d, const struct trace_entry *e)
{
	struct described_trace *t = &d->to->figures.trace;
	char *key = json_store_text(&d->to->store, e->text);
	char *equals = strchr(key, '=');
	struct metric_pair *pairs = t->facts.items, *p = NULL;

	if (!equals)
		return;
	*equals = '\0';
	/* The later one counts. */
	for (size_t i = 0; i < t->facts.count && !p; i++)
		if (!strcmp(pairs[i].key, key))
			p = &pairs[i];
	if (!p)
		p = grow_list(d->to, &t->facts, &d->fact_room, sizeof(*p));
	if (p)
		*p = (struct metric_pair){ key, equals + 1 };
}

static void note_mount(struct describe *d, const struct trace_entry *e)
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

static void note_loss(struct describe *d, const struct trace_entry *e)
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
		/* Times, until the start of the trace is known. */
		.first_seconds = (double)e->number[2],
		.last_seconds = (double)e->number[3],
		.why = *e->text ? json_store_text(&d->to->store, e->text) : NULL,
	};
}

void describe_entries(struct describe *d, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->entry_count; i++) {
		const struct trace_entry *e = &batch->entries[i];

		if (e->kind == TRACE_FILE)
			filebook_name(&d->files, e);
		else if (e->kind == TRACE_FACT)
			note_fact(d, e);
		else if (e->kind == TRACE_MOUNT)
			note_mount(d, e);
		else if (e->kind == TRACE_LOST)
			note_loss(d, e);
		else
			taskbook_name(&d->tasks, e);
	}
}

/* ---- records ---- */

static void add_size(struct describe *d, unsigned sized, const struct trace_record *r,
		     uint64_t bytes)
{
	struct size_account *s = &d->sizes[sized];
	unsigned i = sizes_class_of(r->len_bytes);

	if (r->len_bytes == TRACE_UNKNOWN)
		return;
	s->count[i]++;
	s->bytes[i] += bytes;
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

static void add_moved(struct describe *d, const struct trace_record *r, unsigned kind)
{
	if (opkind_failed(r))
		return;
	d->moved_ns += opkind_duration_ns(r);
	add_size(d, kind & OPKIND_READ ? SIZED_READ : SIZED_WRITE, r, opkind_bytes(r));
}

static void add_block(struct describe *d, const struct trace_record *r)
{
	struct described_block *b = &d->to->figures.trace.block;
	bool writes = r->flags & TRACE_WRITES;
	uint64_t bytes = opkind_bytes(r);

	pairing_begin(d->block, pairing_key(r->file, r->off), r->start_ns);
	*(writes ? &b->writes : &b->reads) += 1;
	*(writes ? &b->written_bytes : &b->read_bytes) += bytes;
	if (!writes && r->flags & TRACE_READ_AHEAD)
		d->block_ahead_bytes += bytes;
	add_size(d, writes ? SIZED_BLOCK_WRITE : SIZED_BLOCK_READ, r, bytes);
}

/* From its issue, where that was seen, or as the record itself has it. */
static void add_block_end(struct describe *d, const struct trace_record *r)
{
	struct described_block *b = &d->to->figures.trace.block;
	uint64_t end = opkind_end_ns(r), began = r->start_ns;
	bool is_paired = pairing_end(d->block, pairing_key(r->file, r->off), &began);
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
		pairing_begin(d->async, pairing_key(r->pid, r->off), r->start_ns);
		break;
	case TRACE_ASYNC_COMPLETE:
		pairing_end(d->async, pairing_key(r->pid, r->off), &began);
		break;
	case TRACE_FAULT:
		d->fault_first_ns = u64_min(d->fault_first_ns, r->start_ns);
		d->fault_last_ns = u64_max(d->fault_last_ns, opkind_end_ns(r));
		break;
	default:
		markbook_note(&d->marks, r);
	}
	if (r->op == TRACE_STEP && r->len_bytes != TRACE_UNKNOWN)
		d->to->figures.trace.steps.samples += r->len_bytes;
}

static void add_record(struct describe *d, const struct trace_record *r)
{
	unsigned kind = opkind_of(r->op);

	if (!r->op || r->op >= TRACE_OPS || !trace_op_name(r->op) || !opkind_has_time(r))
		return;
	/* What began before anybody looked does not make the trace longer. */
	if (!trace_is_marker(r->op) || !(r->flags & TRACE_BEGINS)) {
		d->start_ns = u64_min(d->start_ns, r->start_ns);
		d->end_ns = u64_max(d->end_ns, opkind_end_ns(r));
	}
	add_op(d, r);
	filebook_add(&d->files, r, kind);
	taskbook_add(&d->tasks, r, kind);
	if (kind & (OPKIND_READ | OPKIND_WRITE))
		add_moved(d, r, kind);
	else if (!(kind & OPKIND_CALL))
		add_event(d, r);
}

void describe_records(struct describe *d, const struct trace_batch *batch)
{
	for (size_t i = 0; i < batch->record_count; i++)
		add_record(d, &batch->records[i]);
}
