/* SPDX-License-Identifier: Apache-2.0 */
/* trace_reader.c - see trace_reader.h. */
#include "trace/trace_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compare.h"
#include "base/mem.h"
#include "base/spill.h"
#include "trace/trace_chunk.h"
#include "trace/trace_file.h"
#include "trace/trace_names.h"

struct trace_reader {
	struct trace_file *files; /* by part */
	size_t count, at;
	int fd;     /* of the only one, owned; -1 = they are opened by path */
	char *name; /* what messages call it, owned */
	struct trace_unpack *unpack;
	struct trace_read read;
	struct trace_entry *entries; /* of the chunk at hand */
	size_t entry_room;
	/* Of several files: names of all, and what a file's ids are there. */
	struct trace_names *names;
	struct spill ids; /* uint32_t, by id of the file at hand; 0 = none yet */
};

COMPARE_BY(compare_parts, struct trace_file, head.part)

/* Files are held closed but the one at hand: there may be many. */
static int check_parts(const struct trace_reader *r, struct mlgen_err *err)
{
	const struct trace_file *first = r->files;

	for (size_t i = 1; i < r->count; i++) {
		const struct trace_file *f = &r->files[i];

		if (memcmp(f->head.run_id, first->head.run_id, sizeof(f->head.run_id)) != 0)
			return mlgen_fail(
				err, -EINVAL,
				"%s: is of another run than %s; the files of one run are one trace",
				f->path, first->path);
		if (f->head.part == f[-1].head.part)
			return mlgen_fail(err, -EINVAL,
					  "%s: is part %" PRIu32 " of its trace, as is %s", f->path,
					  f->head.part, f[-1].path);
	}
	return 0;
}

static int open_file(const struct trace_reader *r, struct trace_file *f, const char *path,
		     struct mlgen_err *err)
{
	return r->fd < 0 ? trace_file_open(f, path, err) : trace_file_from(f, r->fd, path, err);
}

static int open_all(struct trace_reader *r, const char *const *paths, struct mlgen_err *err)
{
	for (size_t i = 0; i < r->count; i++) {
		int rc = open_file(r, &r->files[i], paths[i], err);

		if (rc < 0)
			return rc;
		trace_file_close(&r->files[i]);
	}
	qsort(r->files, r->count, sizeof(*r->files), compare_parts);
	return check_parts(r, err);
}

static struct trace_reader *reader_new(size_t count)
{
	struct trace_reader *r = mem_zalloc(sizeof(*r));

	r->fd = -1;
	r->files = mem_array(count, sizeof(*r->files));
	r->count = count;
	for (size_t i = 0; i < count; i++)
		r->files[i].fd = -1;
	return r;
}

/* Closes it where that fails. */
static int reader_begin(struct trace_reader **out, struct trace_reader *r, const char *const *paths,
			struct mlgen_err *err)
{
	int rc = open_all(r, paths, err);

	if (rc == 0)
		rc = trace_reader_rewind(r, err);
	if (rc < 0) {
		trace_reader_close(r);
		return rc;
	}
	r->unpack = trace_unpack_new();
	if (r->count > 1)
		r->names = trace_names_new();
	*out = r;
	return 0;
}

int trace_reader_open(struct trace_reader **out, const char *const *paths, size_t count,
		      struct mlgen_err *err)
{
	return reader_begin(out, reader_new(count), paths, err);
}

int trace_reader_from(struct trace_reader **out, int fd, const char *name, struct mlgen_err *err)
{
	struct trace_reader *r = reader_new(1);
	const char *const *paths = (const char *const *)&r->name;

	r->fd = fd;
	r->name = mem_strdup(name);
	return reader_begin(out, r, paths, err);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		trace_file_close(&r->files[i]);
	trace_unpack_free(r->unpack);
	trace_names_free(r->names);
	spill_free(&r->ids);
	if (r->fd >= 0)
		close(r->fd);
	mem_free(r->name);
	mem_free(r->entries);
	mem_free(r->files);
	mem_free(r);
}

const struct trace_head *trace_reader_head(const struct trace_reader *r)
{
	return &r->files[0].head;
}

static int begin_file(struct trace_reader *r, size_t i, struct mlgen_err *err)
{
	struct trace_file *f = &r->files[i];
	int rc = open_file(r, f, f->path, err);

	r->at = i;
	if (rc == 0) {
		r->read.files++;
		r->read.bytes += f->bytes;
	}
	spill_free(&r->ids);
	return rc;
}

int trace_reader_rewind(struct trace_reader *r, struct mlgen_err *err)
{
	if (r->at < r->count)
		trace_file_close(&r->files[r->at]);
	r->read = (struct trace_read){ 0 };
	return begin_file(r, 0, err);
}

/* Ids. */

static uint32_t *place_of(struct trace_reader *r, uint32_t id)
{
	spill_need(&r->ids, ((size_t)id + 1) * sizeof(uint32_t));
	return (uint32_t *)r->ids.at + id;
}

/* The name of an id may be lost with its chunk: it has one all the same, of which nobody else has
 * the like, and no entry. */
static uint32_t id_of(struct trace_reader *r, uint32_t id)
{
	uint32_t *to;
	char name[32];
	int n;

	if (id == 0 || !r->names)
		return id;
	to = place_of(r, id);
	if (!*to) {
		n = snprintf(name, sizeof(name), "%c%zu:%" PRIu32, 0, r->at, id);
		*to = trace_names_id(r->names, name, (size_t)n, NULL);
	}
	return *to;
}

static void turn_ids(struct trace_reader *r, struct trace_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct trace_record *at = &records[i];

		at->file = id_of(r, at->file);
		if (at->op == TRACE_RENAME && at->off <= UINT32_MAX)
			at->off = id_of(r, (uint32_t)at->off);
	}
}

static void turn_entry(struct trace_reader *r, struct trace_entry *e)
{
	uint32_t id;

	if (e->kind != TRACE_FILE || !r->names || e->number[0] > UINT32_MAX)
		return;
	id = (uint32_t)e->number[0];
	e->number[0] = trace_names_id(r->names, e->text, e->text_bytes, NULL);
	*place_of(r, id) = (uint32_t)e->number[0];
}

/* Contents. */

/* Ids are given one by one, and each has an entry of more than a byte: so that nobody who keeps a
 * table of them is asked for more than the file is worth. */
static bool is_id(const struct trace_file *f, uint64_t id)
{
	return id <= f->bytes;
}

static bool take_records(struct trace_reader *r, struct trace_file *f,
			 const struct trace_chunk_head *h, void *raw, struct trace_batch *batch)
{
	struct trace_record *records = raw;

	if (h->raw_bytes != (uint64_t)h->count * sizeof(*records))
		return false;
	trace_swap_records(records, h->count);
	for (size_t i = 0; i < h->count; i++)
		if (!is_id(f, records[i].file))
			return false;
	for (size_t i = 0; i < h->count; i++)
		r->read.unknown_ops += !trace_op_name(records[i].op);
	if (r->names)
		turn_ids(r, records, h->count);
	f->records += h->count;
	r->read.records += h->count;
	batch->records = records;
	batch->record_count = h->count;
	return true;
}

/* Bytes of the entry there, or 0: it does not fit. */
static size_t take_entry(struct trace_entry *to, const unsigned char *at, size_t bytes)
{
	struct trace_stored_entry e;
	size_t whole;

	if (bytes < sizeof(e))
		return 0;
	memcpy(&e, at, sizeof(e));
	trace_swap_entry(&e);
	whole = sizeof(e) + ((size_t)e.text_bytes + 8) / 8 * 8;
	if (whole > bytes || at[sizeof(e) + e.text_bytes])
		return 0;
	*to = (struct trace_entry){ .kind = e.kind,
				    .text = (const char *)at + sizeof(e),
				    .text_bytes = e.text_bytes };
	memcpy(to->number, e.number, sizeof(to->number));
	return whole;
}

/* False: its count and its bytes are not alike. */
static bool take_entries(struct trace_reader *r, struct trace_file *f,
			 const struct trace_chunk_head *h, const unsigned char *raw,
			 struct trace_batch *batch)
{
	size_t at = 0;

	if (h->count > h->raw_bytes / sizeof(struct trace_stored_entry))
		return false;
	if (h->count > r->entry_room) {
		r->entry_room = h->count;
		r->entries = mem_realloc(r->entries, h->count * sizeof(*r->entries));
	}
	for (size_t i = 0; i < h->count; i++) {
		struct trace_entry *e = &r->entries[i];
		size_t n = take_entry(e, raw + at, h->raw_bytes - at);

		if (n == 0 || (e->kind == TRACE_FILE && !is_id(f, e->number[0])))
			return false;
		at += n;
	}
	for (size_t i = 0; i < h->count; i++) {
		turn_entry(r, &r->entries[i]);
		if (r->entries[i].kind == TRACE_LOST) {
			f->lost += r->entries[i].number[1];
			r->read.lost += r->entries[i].number[1];
		}
	}
	r->read.entries += h->count;
	batch->entries = r->entries;
	batch->entry_count = h->count;
	return true;
}

static bool take_chunk(struct trace_reader *r, struct trace_file *f,
		       const struct trace_chunk_head *h, void *raw, struct trace_batch *batch)
{
	return h->kind == TRACE_CHUNK_ENTRIES ? take_entries(r, f, h, raw, batch)
					      : take_records(r, f, h, raw, batch);
}

int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct mlgen_err *err)
{
	*batch = (struct trace_batch){ 0 };
	while (r->at < r->count) {
		struct trace_file *f = &r->files[r->at];
		struct trace_chunk_head h;
		void *raw;
		int rc = trace_file_chunk(f, r->unpack, &h, &raw, &r->read, err);

		if (rc < 0)
			return rc;
		if (rc > 0 && take_chunk(r, f, &h, raw, batch))
			return 1;
		if (rc > 0) {
			r->read.damaged_chunks++;
			continue;
		}
		trace_file_close(f);
		r->at++;
		if (r->at == r->count)
			break;
		rc = begin_file(r, r->at, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

const struct trace_read *trace_reader_read(const struct trace_reader *r)
{
	return &r->read;
}
