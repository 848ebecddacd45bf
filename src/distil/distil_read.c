/* SPDX-License-Identifier: Apache-2.0 */
/* distil_read.c - a trace is read once, by time, into what finders look at. */
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "describe/opkind.h"
#include "distil/distil_inside.h"
#include "distil/visiting.h"
#include "score/scope.h"

struct reading {
	struct distil *d;
	struct visiting *visiting;
};

const char *distil_path(const struct distil *d, uint32_t file)
{
	size_t bytes;

	return trace_ordered_name(d->records, file, &bytes);
}

static bool prints_to(const struct distil *d, const char *key, const char *path)
{
	const char *file = distil_fact(d, key);

	return file && strcmp(file, path) == 0;
}

bool distil_in_scope(const struct distil *d, uint32_t file)
{
	const char *path = distil_path(d, file);

	if (d->scope && d->scope[file])
		return d->scope[file] == DISTIL_IN_SCOPE;
	return scope_has(path) && !prints_to(d, "stdout", path) && !prints_to(d, "stderr", path);
}

static void take_entry(void *arg, const struct trace_entry *e, uint32_t id)
{
	struct distil *d = arg;
	struct trace_entry file = *e;

	if (e->kind == TRACE_FILE) {
		file.number[0] = id;
		filebook_name(&d->files, &file);
	} else if (e->kind == TRACE_FACT) {
		buf_addn(&d->facts, e->text, e->text_bytes);
		buf_addn(&d->facts, "", 1);
	} else {
		taskbook_name(&d->tasks, e);
	}
}

const char *distil_fact(const struct distil *d, const char *key)
{
	size_t n = strlen(key);

	for (size_t at = 0; at < d->facts.len;) {
		const char *text = d->facts.s + at;

		if (strncmp(text, key, n) == 0 && text[n] == '=')
			return text + n + 1;
		at += strlen(text) + 1;
	}
	return NULL;
}

static bool is_kept(struct distil *d, const struct trace_record *r)
{
	uint32_t file = r->file;

	if (!file)
		return false;
	if (!d->scope[file])
		d->scope[file] =
			distil_in_scope(d, file) && !scope_is_probe(distil_path(d, file), r)
				? DISTIL_IN_SCOPE
				: DISTIL_OUT_OF_SCOPE;
	return d->scope[file] == DISTIL_IN_SCOPE;
}

static void count(struct distil *d, const struct trace_record *r, unsigned kind)
{
	if (kind & OPKIND_CALL) {
		d->calls += !opkind_failed(r);
		d->failed_calls += opkind_failed(r);
	}
	d->faults += r->op == TRACE_FAULT;
	d->blocks += r->op == TRACE_BLOCK_ISSUE;
	d->has_cpu |= r->cpu_ns != TRACE_UNKNOWN && r->op != TRACE_EXIT;
	d->has_markers |= r->op == TRACE_EPOCH || r->op == TRACE_STAGE || r->op == TRACE_STEP ||
			  r->op == TRACE_CHECKPOINT;
	if (!trace_is_marker(r->op) || !(r->flags & TRACE_BEGINS)) {
		d->start_ns = u64_min(d->start_ns, r->start_ns);
		d->end_ns = u64_max(d->end_ns, opkind_end_ns(r));
	}
}

/* Of more nobody needs to know what became of them. */
enum { RENAMES_MOST = 1 << 16 };

static void note_rename(struct distil *d, const struct trace_record *r)
{
	if (r->op != TRACE_RENAME || opkind_failed(r) || r->off >= d->file_count ||
	    d->renames.count == RENAMES_MOST)
		return;
	vec_push(&d->renames, (struct distil_rename){ r->file, (uint32_t)r->off });
}

static int take_record(struct reading *g, const struct trace_record *r, struct mlgen_err *err)
{
	struct distil *d = g->d;
	unsigned kind = opkind_of(r->op);
	uint32_t task = 0;

	if (!r->op || !trace_op_name(r->op) || !opkind_has_time(r))
		return 0;
	count(d, r, kind);
	note_rename(d, r);
	filebook_add(&d->files, r, kind);
	taskbook_add(&d->tasks, r, kind);
	if (trace_is_marker(r->op)) {
		markbook_note(&d->marks, r);
		return 0;
	}
	if (!map_find(&d->tasks.thread_keys, (uint64_t)r->pid << 32 | r->tid, &task))
		return 0;
	return visiting_add(g->visiting, r, task, is_kept(d, r), err);
}

static int read_records(struct distil *d, struct mlgen_err *err)
{
	struct reading g = { .d = d };
	const struct trace_record *r;
	int rc;

	d->file_count = trace_ordered_names(d->records) + 1;
	d->scope = mem_array(d->file_count, sizeof(*d->scope));
	g.visiting = visiting_new(d->visits, &d->specimens, &d->written);
	while ((rc = trace_ordered_next(d->records, &r, err)) > 0) {
		rc = take_record(&g, r, err);
		if (rc < 0)
			break;
	}
	visiting_end(g.visiting);
	visiting_free(g.visiting);
	return rc;
}

/* Their sizes are those of files when all that is known of these is known. */
static void size_specimens(const struct distil *d, struct specimens *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct file_account *f = filebook_at(&d->files, s->at[i].visit.file);

		s->at[i].file_bytes = f && f->size_bytes ? f->size_bytes - 1 : TRACE_UNKNOWN;
	}
}

int distil_read(struct distil *d, struct mlgen_err *err)
{
	struct trace_ordered_wants wants = { .told = take_entry, .arg = d };
	struct trace_reader *r = NULL;
	int rc = trace_reader_open(&r, d->paths, d->path_count, err);

	if (rc < 0)
		return rc;
	d->start_ns = UINT64_MAX;
	d->names = trace_names_new();
	d->visits = visits_new();
	filebook_init(&d->files, d->names);
	taskbook_init(&d->tasks, d->names);
	rc = trace_ordered_read_some(&d->records, r, &wants, err);
	d->read = *trace_reader_read(r);
	trace_reader_close(r);
	if (rc == 0)
		rc = read_records(d, err);
	if (rc < 0)
		return rc;
	taskbook_sum(&d->tasks);
	markbook_settle(&d->marks, &d->files);
	size_specimens(d, &d->specimens);
	size_specimens(d, &d->written);
	return 0;
}
