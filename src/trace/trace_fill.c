/* SPDX-License-Identifier: Apache-2.0 */
/* trace_fill.c - a trace file made of records that come in any order. */
#include "trace/trace_fill.h"

#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"
#include "trace/trace_sort.h"

struct trace_fill {
	struct trace_writer *writer;
	struct trace_sort *sort; /* NULL: the writer is somebody else's */
	struct trace_filled filled;
	uint64_t first_ns, last_ns; /* of operations */
};

void trace_fill_entry(struct trace_fill *f, enum trace_entry_kind kind, const uint64_t *number,
		      size_t count, const char *text)
{
	struct trace_entry e = { .kind = kind, .text = text, .text_bytes = strlen(text) };

	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = i < count ? number[i] : TRACE_UNKNOWN;
	trace_writer_entry(f->writer, &e);
	f->filled.processes += kind == TRACE_PROCESS;
	f->filled.mounts += kind == TRACE_MOUNT;
}

void trace_fill_fact(struct trace_fill *f, const char *key, const char *value)
{
	struct buf text = { 0 };

	buf_addf(&text, "%s=%s", key, value);
	trace_fill_entry(f, TRACE_FACT, NULL, 0, buf_str(&text));
	buf_fini(&text);
}

struct trace_fill *trace_fill_over(struct trace_writer *writer)
{
	struct trace_fill *f = mem_zalloc(sizeof(*f));

	f->writer = writer;
	return f;
}

int trace_fill_new(struct trace_fill **out, int fd, const char *path, const char *form,
		   struct mlgen_err *err)
{
	struct trace_head head = { .part = 0 };
	struct trace_fill *f = mem_zalloc(sizeof(*f));
	int rc;

	*out = NULL;
	/* Without it, two that are read together would only seem to be of one run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	rc = trace_writer_new(&f->writer, fd, path, &head, err);
	if (rc < 0) {
		mem_free(f);
		return rc;
	}
	f->sort = trace_sort_new(TRACE_SORT_RUN);
	trace_fill_fact(f, "program", "mlgen");
	trace_fill_fact(f, "version", MLGEN_VERSION);
	trace_fill_fact(f, "import", form);
	*out = f;
	return 0;
}

static uint32_t keep_id(struct trace_fill *f, uint32_t id)
{
	if (id > f->filled.files)
		f->filled.files = id;
	return id;
}

uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes)
{
	return keep_id(f, trace_writer_name(f->writer, name, bytes));
}

uint32_t trace_fill_file(struct trace_fill *f, const char *path, size_t bytes,
			 const uint64_t known[4])
{
	return keep_id(f, trace_writer_file(f->writer, path, bytes, known));
}

int trace_fill_add(struct trace_fill *f, const struct trace_record *r, struct mlgen_err *err)
{
	if (!trace_is_marker(r->op)) {
		f->first_ns = f->filled.records ? u64_min(f->first_ns, r->start_ns) : r->start_ns;
		f->last_ns = u64_max(f->last_ns, r->start_ns);
	}
	f->filled.records += !trace_is_marker(r->op);
	f->filled.markers += trace_is_marker(r->op);
	if (f->sort)
		return trace_sort_add(f->sort, r, err);
	trace_writer_record(f->writer, r);
	return 0;
}

bool trace_fill_span(const struct trace_fill *f, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = f->first_ns;
	*last_ns = f->last_ns;
	return f->filled.records;
}

const struct trace_filled *trace_fill_look(const struct trace_fill *f)
{
	return &f->filled;
}

static int write_sorted(struct trace_fill *f, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	while ((rc = trace_sort_next(f->sort, &r, err)) > 0)
		trace_writer_record(f->writer, r);
	if (rc < 0)
		return rc;
	rc = trace_writer_finish(f->writer, NULL, err);
	f->writer = NULL;
	return rc;
}

int trace_fill_finish(struct trace_fill *f, struct trace_filled *filled, struct mlgen_err *err)
{
	int rc = f->sort ? write_sorted(f, err) : 0;

	*filled = f->filled;
	trace_fill_abandon(f);
	return rc;
}

void trace_fill_abandon(struct trace_fill *f)
{
	struct mlgen_err unused = { 0 };

	if (!f)
		return;
	if (f->sort && f->writer)
		trace_writer_finish(f->writer, NULL, &unused);
	trace_sort_free(f->sort);
	mem_free(f);
}
