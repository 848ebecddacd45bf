/* SPDX-License-Identifier: Apache-2.0 */
/* trace_fill.c - a trace file made of records that come in any order. */
#include "trace/trace_fill.h"

#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config.h"
#include "trace/trace_sort.h"

struct trace_fill {
	struct trace_writer *writer;
	struct trace_sort *sort;
	struct trace_filled filled;
};

static void put_fact(struct trace_fill *f, const char *text)
{
	struct trace_entry e = { .kind = TRACE_FACT,
				 .text = text,
				 .text_bytes = strlen(text) };

	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = TRACE_UNKNOWN;
	trace_writer_entry(f->writer, &e);
}

static void put_facts(struct trace_fill *f, const char *form)
{
	struct buf text = { 0 };

	put_fact(f, "program=mlgen");
	put_fact(f, "version=" MLGEN_VERSION);
	buf_addf(&text, "import=%s", form);
	put_fact(f, buf_str(&text));
	buf_fini(&text);
}

int trace_fill_new(struct trace_fill **out, int fd, const char *path,
		   const char *form, struct mlgen_err *err)
{
	struct trace_head head = { .part = 0 };
	struct trace_fill *f = mem_zalloc(sizeof(*f));
	int rc;

	*out = NULL;
	/* Without it, two that are read together would only seem to be of one
	 * run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	rc = trace_writer_new(&f->writer, fd, path, &head, err);
	if (rc < 0) {
		mem_free(f);
		return rc;
	}
	f->sort = trace_sort_new(TRACE_SORT_RUN);
	put_facts(f, form);
	*out = f;
	return 0;
}

uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes)
{
	uint32_t id = trace_writer_name(f->writer, name, bytes);

	if (id > f->filled.files)
		f->filled.files = id;
	return id;
}

int trace_fill_add(struct trace_fill *f, const struct trace_record *r,
		   struct mlgen_err *err)
{
	f->filled.records += !trace_is_marker(r->op);
	f->filled.markers += trace_is_marker(r->op);
	return trace_sort_add(f->sort, r, err);
}

int trace_fill_finish(struct trace_fill *f, struct trace_filled *filled,
		      struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc;

	while ((rc = trace_sort_next(f->sort, &r, err)) > 0)
		trace_writer_record(f->writer, r);
	*filled = f->filled;
	if (rc == 0) {
		rc = trace_writer_finish(f->writer, NULL, err);
		f->writer = NULL;
	}
	trace_fill_abandon(f);
	return rc;
}

void trace_fill_abandon(struct trace_fill *f)
{
	struct mlgen_err unused = { 0 };

	if (!f)
		return;
	if (f->writer)
		trace_writer_finish(f->writer, NULL, &unused);
	trace_sort_free(f->sort);
	mem_free(f);
}
