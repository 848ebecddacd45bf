/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - read a trace twice: what there is, and what it was for. */
#include "tracing/describe/describe_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/describe/opkind.h"

static void open_books(struct describe *d, struct description *to)
{
	*d = (struct describe){ .to = to,
				.names = trace_names_new(),
				.block = pairing_new(),
				.async = pairing_new(),
				.start_ns = UINT64_MAX,
				.fault_first_ns = UINT64_MAX };
	filebook_init(&d->files, d->names);
	taskbook_init(&d->tasks, d->names);
}

static void close_books(struct describe *d)
{
	trace_reader_close(d->reader);
	markbook_fini(&d->marks);
	taskbook_fini(&d->tasks);
	filebook_fini(&d->files);
	pairing_free(d->block);
	pairing_free(d->async);
	trace_names_free(d->names);
	mem_free(d->wanted);
}

static int pass_one(struct describe *d, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(d->reader, &batch, err)) > 0) {
		describe_entries(d, &batch);
		describe_records(d, &batch);
	}
	return rc;
}

/* ---- names that the end needs ---- */

COMPARE_BY(compare_wanted, struct wanted_name, id)

static void want(struct describe *d, uint32_t id)
{
	d->wanted[d->wanted_count++].id = id;
}

static void want_names(struct describe *d)
{
	const struct mark_list *stages = &d->marks.stages;
	const struct mark_list *checkpoints = &d->marks.checkpoints;

	d->wanted =
		mem_array(d->top_count + stages->count + checkpoints->count, sizeof(*d->wanted));
	for (size_t i = 0; i < d->top_count; i++)
		want(d, d->top[i]);
	for (uint32_t i = 0; i < stages->count; i++)
		want(d, mark_at(stages, i)->name);
	for (uint32_t i = 0; i < checkpoints->count; i++)
		want(d, mark_at(checkpoints, i)->name);
	qsort(d->wanted, d->wanted_count, sizeof(*d->wanted), compare_wanted);
}

static struct wanted_name *find_wanted(const struct describe *d, uint32_t id)
{
	const struct wanted_name key = { .id = id };
	struct wanted_name *w = d->wanted_count ? bsearch(&key, d->wanted, d->wanted_count,
							  sizeof(key), compare_wanted)
						: NULL;

	/* The first of those with this id has the text. */
	while (w && w > d->wanted && w[-1].id == id)
		w--;
	return w;
}

const char *describe_name(const struct describe *d, uint32_t id)
{
	const struct wanted_name *w = find_wanted(d, id);

	return w && w->text ? w->text : "";
}

static void take_name(struct describe *d, const struct trace_entry *e)
{
	struct wanted_name *w;

	if (e->kind != TRACE_FILE || e->number[0] >= UINT32_MAX)
		return;
	w = find_wanted(d, (uint32_t)e->number[0]);
	/* The later one counts; the same comes again with each part. */
	if (w && (!w->text || strcmp(w->text, e->text) != 0))
		w->text = json_store_text(&d->to->store, e->text);
}

/* ---- the second time ---- */

static int pass_two(struct describe *d, struct mlgen_err *err)
{
	struct trace_batch batch;
	int rc = trace_reader_rewind(d->reader, err);

	while (rc == 0 && (rc = trace_reader_next(d->reader, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++)
			take_name(d, &batch.entries[i]);
		for (size_t i = 0; i < batch.record_count; i++) {
			const struct trace_record *r = &batch.records[i];

			intervals_add(&d->to->log, r);
			markbook_add(&d->marks, &d->files, r, opkind_of(r->op));
		}
		rc = 0;
	}
	return rc;
}

static int read_twice(struct describe *d, uint64_t interval_ns, struct mlgen_err *err)
{
	int rc = pass_one(d, err);

	if (rc < 0)
		return rc;
	if (d->start_ns > d->end_ns)
		d->start_ns = d->end_ns = 0;
	taskbook_sum(&d->tasks);
	markbook_settle(&d->marks, &d->files);
	d->top_count = filebook_top(&d->files, d->top, DESCRIBE_TOP);
	want_names(d);
	intervals_init(&d->to->log, d->start_ns, d->end_ns, interval_ns);
	rc = pass_two(d, err);
	if (rc == 0)
		describe_fill(d);
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
	open_books(d, to);
	d->reader = reader;
	rc = read_twice(d, interval_ns, err);
	close_books(d);
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
