/* SPDX-License-Identifier: Apache-2.0 */
/* mappings.c - see mappings.h. */
#include "tracing/score/mappings.h"

#include "base/util.h"

struct mapped_file {
	uint64_t end; /* of what is mapped of it; 0 = nothing was */
	uint64_t opens;
	bool was_opened;
};

static struct mapped_file *file_at(struct mappings *m, uint32_t id)
{
	spill_need(&m->files, ((size_t)id + 1) * sizeof(struct mapped_file));
	return (struct mapped_file *)m->files.at + id;
}

/* At the file of the record. */
static struct mapped_thread *thread_at(struct mappings *m, const struct trace_record *r)
{
	struct mapped_thread *t = &m->last[r->tid % MAPPINGS_THREADS];

	if (t->tid != r->tid || t->file != r->file)
		*t = (struct mapped_thread){ .tid = r->tid, .file = r->file };
	return t;
}

static void note_map(struct mapped_file *f, const struct trace_record *r)
{
	uint64_t off = r->off == TRACE_UNKNOWN ? 0 : r->off;

	if (r->len_bytes != TRACE_UNKNOWN && off + r->len_bytes > off)
		f->end = u64_max(f->end, off + r->len_bytes);
}

bool mappings_note(struct mappings *m, const struct trace_record *r)
{
	struct mapped_file *f;

	switch (r->op) {
	case TRACE_MMAP:
		note_map(file_at(m, r->file), r);
		thread_at(m, r)->run = (struct touchrun){ 0 };
		return true;
	case TRACE_MUNMAP:
		return true;
	case TRACE_OPEN:
		f = file_at(m, r->file);
		f->was_opened = true;
		f->opens++;
		return false;
	case TRACE_CLOSE:
		f = file_at(m, r->file);
		if (!f->opens)
			return f->was_opened;
		f->opens--;
		return false;
	default:
		return false;
	}
}

bool mappings_read(struct mappings *m, const struct trace_record *fault, struct trace_record *read)
{
	uint64_t end = file_at(m, fault->file)->end, from, bytes;

	if (fault->off == TRACE_UNKNOWN ||
	    !touchrun_next(&thread_at(m, fault)->run, fault->off, end, &from, &bytes))
		return false;
	*read = *fault;
	read->op = TRACE_READ;
	read->off = from;
	read->len_bytes = round_up(bytes, TOUCHRUN_BYTES);
	read->result = (int64_t)bytes;
	return true;
}

void mappings_fini(struct mappings *m)
{
	spill_free(&m->files);
	*m = (struct mappings){ 0 };
}
