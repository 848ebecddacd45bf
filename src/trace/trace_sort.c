/* SPDX-License-Identifier: Apache-2.0 */
/* trace_sort.c - sort records by time, on disk if need be. */
#include "trace/trace_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "base/vec.h"

/* Records of a block. When runs are merged, each run has a block in memory. The more runs, the
 * smaller the blocks, down to BLOCK_MIN, so that all blocks together stay within MERGE_RECORDS. */
enum { BLOCK = 1024, BLOCK_MIN = 16, MERGE_RECORDS = 1 << 19 };

/* Sort key of a record in a run. */
struct sort_key {
	uint64_t start_ns;
	uint32_t place; /* upper bits: kind of the record; lower bits: its position in the run */
};
/* Kinds in the order for equal times: a phase applies to records that start with it, and any marker
 * to calls that start with it. */
enum { KIND_PHASE, KIND_MARKER, KIND_CALL };
#define KIND_SHIFT 30
#define PLACE_MASK ((1u << KIND_SHIFT) - 1)

/* Sorted records in the file, and the current block in memory. */
struct sort_run {
	uint64_t at, end; /* unread part of the file, in records */
	struct trace_record *block;
	size_t used, count;
};

struct trace_sort {
	size_t run, room, count; /* counts of records */
	struct trace_record *records;
	struct sort_key *keys;
	bool is_merging;
	size_t next; /* next record to return, if all records are in memory */
	const char *folder;
	int fd;
	unsigned signals; /* signals_received() when this was made */
	uint64_t written; /* records in the file */
	VEC(struct sort_run) runs;
	size_t block;
	size_t *heap; /* heap of runs, by their next record */
	size_t heap_count;
	struct trace_record current; /* returned by trace_sort_next */
};

struct trace_sort *trace_sort_new(size_t run)
{
	struct trace_sort *s = mem_zalloc(sizeof(*s));

	s->run = run;
	s->fd = -1;
	s->signals = signals_received();
	return s;
}

void trace_sort_free(struct trace_sort *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->runs.count; i++)
		mem_free(s->runs.at[i].block);
	vec_fini(&s->runs);
	mem_free(s->heap);
	mem_free(s->records);
	mem_free(s->keys);
	mem_free(s);
}

/* ---- a run in memory ---- */

COMPARE_BY2(by_key, struct sort_key, start_ns, place)

static struct sort_key key_of(const struct trace_record *r, size_t place)
{
	uint32_t kind = trace_is_phase(r->op)    ? KIND_PHASE
			: trace_is_marker(r->op) ? KIND_MARKER
						 : KIND_CALL;

	return (struct sort_key){ r->start_ns, kind << KIND_SHIFT | (uint32_t)place };
}

/* Records often arrive sorted, and then need no qsort. */
static void sort_run(struct trace_sort *s)
{
	bool is_sorted = true;

	s->keys = mem_realloc(s->keys, (s->count + 1) * sizeof(*s->keys));
	for (size_t i = 0; i < s->count; i++) {
		s->keys[i] = key_of(&s->records[i], i);
		is_sorted &= i == 0 || by_key(&s->keys[i - 1], &s->keys[i]) < 0;
	}
	if (!is_sorted)
		qsort(s->keys, s->count, sizeof(*s->keys), by_key);
}

static const struct trace_record *sorted(const struct trace_sort *s, size_t i)
{
	return &s->records[s->keys[i].place & PLACE_MASK];
}

/* ---- runs in the file ---- */

static int sort_fail(const struct trace_sort *s, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error,
			  "%s: sorting the trace by time needs a temporary file there: %s; set "
			  "TMPDIR=DIR for another directory",
			  s->folder, strerror(error));
}

static int spill_run(struct trace_sort *s, struct mlgen_err *err)
{
	struct trace_record *block;
	uint64_t first = s->written;
	int rc = 0;

	if (s->fd < 0) {
		s->folder = unnamed_folder(NULL);
		s->fd = unnamed_open(s->folder);
	}
	if (s->fd < 0)
		return sort_fail(s, -s->fd, err);
	sort_run(s);
	block = mem_array(BLOCK, sizeof(*block));
	for (size_t i = 0; rc == 0 && i < s->count;) {
		size_t n = 0;

		while (n < BLOCK && i < s->count)
			block[n++] = *sorted(s, i++);
		rc = writeall_at(s->fd, block, n * sizeof(*block), s->written * sizeof(*block));
		if (rc < 0)
			rc = sort_fail(s, -rc, err);
		s->written += n;
	}
	mem_free(block);
	vec_push(&s->runs, (struct sort_run){ .at = first, .end = s->written });
	s->count = 0;
	return rc;
}

int trace_sort_add(struct trace_sort *s, const struct trace_record *r, struct mlgen_err *err)
{
	if (s->count == s->run) {
		int rc = spill_run(s, err);

		if (rc < 0)
			return rc;
	}
	if (s->count == s->room) {
		s->room = (size_t)u64_min(s->run, 2 * s->room + 64);
		s->records = mem_realloc(s->records, s->room * sizeof(*s->records));
	}
	s->records[s->count++] = *r;
	return 0;
}

/* ---- merging runs ---- */

static const struct trace_record *head_of(const struct trace_sort *s, size_t k)
{
	const struct sort_run *run = &s->runs.at[s->heap[k]];

	return &run->block[run->used];
}

/* Equal records come in the order of runs. */
static bool comes_before(const struct trace_sort *s, size_t a, size_t b)
{
	struct sort_key x = key_of(head_of(s, a), s->heap[a]);
	struct sort_key y = key_of(head_of(s, b), s->heap[b]);

	return by_key(&x, &y) < 0;
}

static void sink(struct trace_sort *s, size_t at)
{
	for (;;) {
		size_t first = at, run = s->heap[at];

		for (size_t k = 2 * at + 1; k <= 2 * at + 2; k++)
			if (k < s->heap_count && comes_before(s, k, first))
				first = k;
		if (first == at)
			return;
		s->heap[at] = s->heap[first];
		s->heap[first] = run;
		at = first;
	}
}

/* Read the next block of a run. 1, 0 at the end of the run, or -errno with err. */
static int fill_block(struct trace_sort *s, struct sort_run *run, struct mlgen_err *err)
{
	size_t count = (size_t)u64_min(s->block, run->end - run->at);
	size_t bytes = count * sizeof(*run->block);
	uint64_t at = run->at * sizeof(*run->block);
	char *to = (char *)run->block;

	while (bytes) {
		ssize_t n = pread(s->fd, to, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return sort_fail(s, n ? errno : EIO, err);
		to += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	if (signals_received() != s->signals)
		return mlgen_fail(err, -EINTR, "interrupted");
	run->at += count;
	run->used = 0;
	run->count = count;
	return count > 0;
}

static int begin_merge(struct trace_sort *s, struct mlgen_err *err)
{
	int rc = s->count ? spill_run(s, err) : 0;

	mem_free(s->records);
	mem_free(s->keys);
	s->records = NULL;
	s->keys = NULL;
	s->block = (size_t)u64_max(BLOCK_MIN, u64_min(BLOCK, MERGE_RECORDS / s->runs.count));
	s->heap = mem_array(s->runs.count, sizeof(*s->heap));
	for (size_t i = 0; rc >= 0 && i < s->runs.count; i++) {
		s->runs.at[i].block = mem_array(s->block, sizeof(struct trace_record));
		rc = fill_block(s, &s->runs.at[i], err);
		s->heap[s->heap_count++] = i;
	}
	for (size_t i = s->heap_count; rc >= 0 && i-- > 0;)
		sink(s, i);
	return rc < 0 ? rc : 0;
}

static int next_merged(struct trace_sort *s, const struct trace_record **r, struct mlgen_err *err)
{
	int rc = 1;

	if (!s->heap_count)
		return 0;
	struct sort_run *run = &s->runs.at[s->heap[0]];
	s->current = run->block[run->used++];
	*r = &s->current;
	if (run->used == run->count)
		rc = fill_block(s, run, err);
	if (rc < 0)
		return rc;
	if (rc == 0)
		s->heap[0] = s->heap[--s->heap_count];
	sink(s, 0);
	return 1;
}

int trace_sort_next(struct trace_sort *s, const struct trace_record **r, struct mlgen_err *err)
{
	if (!s->is_merging) {
		int rc = s->runs.count ? begin_merge(s, err) : 0;

		s->is_merging = true;
		if (rc < 0)
			return rc;
		if (!s->runs.count)
			sort_run(s);
	}
	if (s->runs.count)
		return next_merged(s, r, err);
	if (s->next == s->count)
		return 0;
	*r = sorted(s, s->next++);
	return 1;
}

struct trace_ordered {
	struct trace_sort *sort;
	struct trace_names *names;
	struct spill ids; /* ids of names, by the reader's ids */
};

static uint32_t *id_of(struct trace_ordered *o, uint64_t file)
{
	size_t need = ((size_t)file + 1) * sizeof(uint32_t);

	if (o->ids.bytes < need)
		spill_reserve(&o->ids, need + need / 2);
	return (uint32_t *)o->ids.at + file;
}

/* The id of a file in `names`; 0 without an entry. */
static uint32_t find_id(struct trace_ordered *o, uint64_t file)
{
	return file && file < o->ids.bytes / sizeof(uint32_t) ? *id_of(o, file) : 0;
}

static int add_batch(struct trace_ordered *o, const struct trace_ordered_filter *wants,
		     const struct trace_batch *b, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < b->entry_count; i++) {
		const struct trace_entry *e = &b->entries[i];
		uint32_t id = 0;

		if (e->kind == TRACE_FILE && e->number[0] && e->number[0] < UINT32_MAX)
			id = *id_of(o, e->number[0]) =
				trace_names_id(o->names, e->text, e->text_bytes, NULL);
		if (wants->told)
			wants->told(wants->arg, e, id);
	}
	for (size_t i = 0; rc == 0 && i < b->record_count; i++) {
		struct trace_record r = b->records[i];

		if (wants->keeps && !wants->keeps(wants->arg, &r))
			continue;
		r.file = find_id(o, r.file);
		if (r.op == TRACE_RENAME && r.off != TRACE_UNKNOWN)
			r.off = find_id(o, r.off);
		rc = trace_sort_add(o->sort, &r, err);
	}
	return rc;
}

int trace_ordered_read(struct trace_ordered **out, struct trace_reader *r, struct mlgen_err *err)
{
	return trace_ordered_read_filtered(out, r, &(struct trace_ordered_filter){ 0 }, err);
}

int trace_ordered_read_filtered(struct trace_ordered **out, struct trace_reader *r,
				const struct trace_ordered_filter *wants, struct mlgen_err *err)
{
	struct trace_ordered *o = mem_zalloc(sizeof(*o));
	unsigned signals = signals_received();
	struct trace_batch batch;
	int rc;

	o->sort = trace_sort_new(TRACE_SORT_RUN);
	o->names = trace_names_new();
	while ((rc = trace_reader_next(r, &batch, err)) > 0) {
		rc = signals_received() != signals ? mlgen_fail(err, -EINTR, "interrupted")
						   : add_batch(o, wants, &batch, err);
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
