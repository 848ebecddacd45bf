/* SPDX-License-Identifier: Apache-2.0 */
/* model_files.c - how the files of a trace are accessed, and an account of each. */
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

#define PAGE_BYTES 4096

/* ---- page faults as reads ---- */

bool fault_run_next(struct fault_run *t, uint64_t off, uint64_t end, uint64_t *from,
		    uint64_t *bytes)
{
	uint64_t first = off / FAULT_AROUND_BYTES, last, reach;
	bool continues = t->blocks && off <= t->end && first + 1 >= t->blocks && first <= t->blocks;

	if (off >= end)
		return false;
	reach = off + u64_min(FAULT_AROUND_BYTES, end - off);
	last = continues ? (reach - 1) / FAULT_AROUND_BYTES : first;
	if (continues)
		first = t->blocks;
	t->end = reach;
	if (first > last)
		return false;
	t->blocks = last + 1;
	*from = first * FAULT_AROUND_BYTES;
	*bytes = u64_min((last + 1 - first) * FAULT_AROUND_BYTES, end - *from);
	return true;
}

/* ---- files that are open or mapped ---- */

struct mapped_file {
	uint64_t end; /* end of the mapped part; 0 = none */
	uint64_t opens;
	bool was_opened;
};

static struct mapped_file *mapped_file_at(struct mappings *m, uint32_t id)
{
	spill_reserve(&m->files, ((size_t)id + 1) * sizeof(struct mapped_file));
	return (struct mapped_file *)m->files.at + id;
}

/* The state of the record's thread, for the record's file. */
static struct mapped_thread *mapped_thread_at(struct mappings *m, const struct trace_record *r)
{
	struct mapped_thread *t = &m->last[r->tid % MAPPINGS_THREADS];

	if (t->tid != r->tid || t->file != r->file)
		*t = (struct mapped_thread){ .tid = r->tid, .file = r->file };
	return t;
}

bool mappings_add_call(struct mappings *m, const struct trace_record *r)
{
	uint64_t off = r->off == TRACE_UNKNOWN ? 0 : r->off;
	struct mapped_file *f;

	switch (r->op) {
	case TRACE_MMAP:
		f = mapped_file_at(m, r->file);
		if (r->len_bytes != TRACE_UNKNOWN && off + r->len_bytes > off)
			f->end = u64_max(f->end, off + r->len_bytes);
		mapped_thread_at(m, r)->run = (struct fault_run){ 0 };
		return false;
	case TRACE_MUNMAP:
		return false;
	case TRACE_OPEN:
		f = mapped_file_at(m, r->file);
		f->was_opened = true;
		f->opens++;
		return true;
	case TRACE_CLOSE:
		f = mapped_file_at(m, r->file);
		if (!f->opens)
			return !f->was_opened;
		f->opens--;
		return true;
	default:
		return true;
	}
}

bool mappings_add_fault(struct mappings *m, const struct trace_record *fault,
			struct trace_record *read)
{
	uint64_t end = mapped_file_at(m, fault->file)->end, from, bytes;

	if (fault->off == TRACE_UNKNOWN ||
	    !fault_run_next(&mapped_thread_at(m, fault)->run, fault->off, end, &from, &bytes))
		return false;
	*read = *fault;
	read->op = TRACE_READ;
	read->off = from;
	read->len_bytes = round_up(bytes, FAULT_AROUND_BYTES);
	read->result = (int64_t)bytes;
	return true;
}

void mappings_fini(struct mappings *m)
{
	spill_free(&m->files);
	*m = (struct mappings){ 0 };
}

/* ---- an account of each file ---- */

void trace_files_init(struct trace_files *b, struct trace_names *names)
{
	*b = (struct trace_files){ .names = names };
	positions_init(&b->reads_at);
	positions_init(&b->faults_at);
}

void trace_files_fini(struct trace_files *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		mem_free(trace_files_at(b, i)->faulted);
	positions_fini(&b->reads_at);
	positions_fini(&b->faults_at);
	extent_pool_fini(&b->pool);
	spill_free(&b->files);
	memset(b, 0, sizeof(*b));
}

struct file_account *trace_files_at(const struct trace_files *b, uint32_t id)
{
	return id < b->count ? (struct file_account *)b->files.at + id : NULL;
}

static struct file_account *need_account(struct trace_files *b, uint32_t id)
{
	size_t bytes = ((size_t)id + 1) * sizeof(struct file_account);

	if (bytes > b->files.bytes)
		spill_reserve(&b->files, bytes);
	if (id >= b->count)
		b->count = id + 1;
	return trace_files_at(b, id);
}

void trace_files_add_entry(struct trace_files *b, const struct trace_entry *e)
{
	uint64_t id = e->number[0];

	if (id == 0 || id >= UINT32_MAX)
		return;
	struct file_account *f = need_account(b, (uint32_t)id);
	/* A later entry replaces an earlier one. */
	const char *slash = memrchr(e->text, '/', e->text_bytes);
	if (!slash)
		f->directory = trace_names_id(b->names, ".", 1, NULL);
	else if (slash == e->text)
		f->directory = trace_names_id(b->names, "/", 1, NULL);
	else
		f->directory = trace_names_id(b->names, e->text, (size_t)(slash - e->text), NULL);
	if (!f->size_bytes && e->number[1] != TRACE_UNKNOWN)
		f->size_bytes = e->number[1] + 1;
}

static void add_read(struct trace_files *b, struct file_account *f, const struct trace_record *r)
{
	uint64_t bytes = opkind_bytes(r);

	f->reads++;
	f->read_bytes += bytes;
	if (r->off == TRACE_UNKNOWN || r->off > INT64_MAX) {
		b->unknown_offsets++;
		return;
	}
	/* A read that finds the end of the file says nothing about order. */
	if (!bytes)
		return;
	enum access_kind kind =
		positions_access(&b->reads_at, r->file, r->tid, r->off, r->off + bytes, NULL);
	b->accesses[kind]++;
	f->followed += kind != ACCESS_FIRST;
	f->sequential += kind == ACCESS_SEQUENTIAL;
	extent_set_add(&b->pool, &f->read, r->off, r->off + bytes);
}

void trace_files_add_record(struct trace_files *b, const struct trace_record *r, unsigned kind)
{
	if (!r->file || opkind_failed(r) || (!(kind & OPKIND_CALL) && r->op != TRACE_FAULT))
		return;
	struct file_account *f = need_account(b, r->file);
	if (r->op == TRACE_FAULT) {
		uint64_t bytes =
			r->len_bytes && r->len_bytes <= INT64_MAX ? r->len_bytes : PAGE_BYTES;

		if (r->off > INT64_MAX)
			return;
		if (!f->faulted)
			f->faulted = mem_zalloc(sizeof(*f->faulted));
		b->faults[positions_access(&b->faults_at, r->file, r->tid, r->off, r->off + bytes,
					   NULL)]++;
		extent_set_add(&b->pool, f->faulted, r->off, r->off + bytes);
		return;
	}
	if (r->op == TRACE_OPEN || r->op == TRACE_CLOSE)
		positions_remove(&b->reads_at, r->file, r->tid);
	f->opens += r->op == TRACE_OPEN;
	f->metadata += (kind & OPKIND_METADATA) != 0;
	if (kind & OPKIND_READ)
		add_read(b, f, r);
	if (kind & OPKIND_WRITE) {
		f->writes++;
		f->written_bytes += opkind_bytes(r);
	}
}

bool file_account_is_used(const struct file_account *f)
{
	return f->opens || f->metadata || f->reads || f->writes || f->faulted;
}

uint64_t trace_files_unique_bytes(const struct trace_files *b, const struct file_account *f)
{
	uint64_t unique = extent_set_bytes(&b->pool, &f->read);

	return f->read_bytes && !unique ? TRACE_UNKNOWN : unique;
}
