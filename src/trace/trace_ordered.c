/* SPDX-License-Identifier: Apache-2.0 */
/* trace_ordered.c - all records of a trace by their start, with the names they speak of. */
#include "trace/trace_ordered.h"

#include <errno.h>

#include "base/mem.h"
#include "base/signals.h"
#include "base/spill.h"
#include "trace/trace_names.h"
#include "trace/trace_sort.h"

struct trace_ordered {
	struct trace_sort *sort;
	struct trace_names *names;
	struct spill ids; /* of names, by the ids that the reader gives */
	struct trace_ordered_wants wants;
	unsigned signals; /* that were there before it was */
};

static uint32_t *id_of(struct trace_ordered *o, uint64_t file)
{
	size_t need = ((size_t)file + 1) * sizeof(uint32_t);

	if (o->ids.bytes < need)
		spill_need(&o->ids, need + need / 2);
	return (uint32_t *)o->ids.at + file;
}

/* Of one that no entry names nothing is known. */
static uint32_t named(struct trace_ordered *o, uint64_t file)
{
	return file && file < o->ids.bytes / sizeof(uint32_t) ? *id_of(o, file) : 0;
}

static void take_entry(struct trace_ordered *o, const struct trace_entry *e)
{
	uint32_t id = 0;

	if (e->kind == TRACE_FILE && e->number[0] && e->number[0] < UINT32_MAX)
		id = *id_of(o, e->number[0]) =
			trace_names_id(o->names, e->text, e->text_bytes, NULL);
	if (o->wants.told)
		o->wants.told(o->wants.arg, e, id);
}

static int take_record(struct trace_ordered *o, const struct trace_record *from,
		       struct mlgen_err *err)
{
	struct trace_record r = *from;

	r.file = named(o, r.file);
	if (r.op == TRACE_RENAME && r.off != TRACE_UNKNOWN)
		r.off = named(o, r.off);
	return trace_sort_add(o->sort, &r, err);
}

static int take_batch(struct trace_ordered *o, const struct trace_batch *b, struct mlgen_err *err)
{
	int rc = signals_taken() != o->signals ? mlgen_fail(err, -EINTR, "interrupted") : 0;

	for (size_t i = 0; i < b->entry_count; i++)
		take_entry(o, &b->entries[i]);
	for (size_t i = 0; rc == 0 && i < b->record_count; i++)
		if (!o->wants.keeps || o->wants.keeps(o->wants.arg, &b->records[i]))
			rc = take_record(o, &b->records[i], err);
	return rc;
}

int trace_ordered_read(struct trace_ordered **out, struct trace_reader *r, struct mlgen_err *err)
{
	return trace_ordered_read_some(out, r, &(struct trace_ordered_wants){ 0 }, err);
}

int trace_ordered_read_some(struct trace_ordered **out, struct trace_reader *r,
			    const struct trace_ordered_wants *wants, struct mlgen_err *err)
{
	struct trace_ordered *o = mem_zalloc(sizeof(*o));
	struct trace_batch batch;
	int rc;

	o->sort = trace_sort_new(TRACE_SORT_RUN);
	o->names = trace_names_new();
	o->wants = *wants;
	o->signals = signals_taken();
	while ((rc = trace_reader_next(r, &batch, err)) > 0) {
		rc = take_batch(o, &batch, err);
		if (rc < 0)
			break;
	}
	spill_free(&o->ids);
	if (rc < 0)
		trace_ordered_free(o);
	*out = rc < 0 ? NULL : o;
	return rc;
}

void trace_ordered_free(struct trace_ordered *o)
{
	if (!o)
		return;
	trace_sort_free(o->sort);
	trace_names_free(o->names);
	mem_free(o);
}

int trace_ordered_next(struct trace_ordered *o, const struct trace_record **r,
		       struct mlgen_err *err)
{
	return trace_sort_next(o->sort, r, err);
}

const char *trace_ordered_name(const struct trace_ordered *o, uint32_t file, size_t *bytes)
{
	const char *text = trace_names_text(o->names, file, bytes);

	if (!text)
		*bytes = 0;
	return text ? text : "";
}

uint32_t trace_ordered_names(const struct trace_ordered *o)
{
	return trace_names_count(o->names);
}
