/* SPDX-License-Identifier: Apache-2.0 */
/* trace_writer.c - see trace_writer.h. */
#include "trace/trace_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "base/writeall.h"
#include "trace/trace_chunk.h"
#include "trace/trace_names.h"

/* A trace is written beside what is measured: CPU counts more than bytes. */
#define LEVEL 1

struct trace_writer {
	int fd;
	char *path;
	int error;   /* the first one; -errno */
	uint64_t at; /* where the next chunk goes */
	struct trace_written done;
	uint32_t chunk_number;
	struct trace_names *names;
	ZSTD_CCtx *zstd;
	/* As large as what they had to hold so far, up to a chunk. */
	unsigned char *packed; /* as it goes out, with its head */
	VEC(struct trace_record) records;
	unsigned char *entries;
	VEC(struct trace_index_entry) index;
	size_t packed_room, entry_room;
	size_t entry_bytes, entry_count;
	uint64_t lost_told; /* by entries of TRACE_LOST */
};

/* The file ends where its last whole chunk does. */
static void keep_error(struct trace_writer *w, int rc)
{
	w->error = rc;
	(void)!ftruncate(w->fd, (off_t)w->at);
}

/* Fills in what follows from the contents. Bytes of head and contents. */
static size_t pack(struct trace_writer *w, struct trace_chunk_head *h, const void *raw)
{
	size_t most = ZSTD_compressBound(h->raw_bytes), n = 0;
	unsigned char *to;

	w->packed = mem_grow(w->packed, &w->packed_room, sizeof(*h) + most + 8, 1);
	to = w->packed + sizeof(*h);
	if (h->flags & TRACE_CHUNK_IS_ZSTD)
		n = ZSTD_compressCCtx(w->zstd, to, most, raw, h->raw_bytes, LEVEL);
	if (n == 0 || ZSTD_isError(n)) {
		h->flags &= (uint16_t)~TRACE_CHUNK_IS_ZSTD;
		n = h->raw_bytes;
		memcpy(to, raw, n);
	}
	h->packed_bytes = (uint32_t)n;
	h->packed_crc = trace_crc(to, n);
	h->number = w->chunk_number;
	memcpy(w->packed, h, sizeof(*h));
	trace_put_chunk_head((struct trace_chunk_head *)w->packed);
	size_t end = round_up(n, 8);
	memset(to + n, 0, end - n);
	return sizeof(*h) + end;
}

/* True: it is in the file. */
static bool put_chunk(struct trace_writer *w, struct trace_chunk_head *h, const void *raw)
{
	size_t bytes = pack(w, h, raw);
	int rc = writeall_at(w->fd, w->packed, bytes, w->at);

	if (rc < 0) {
		keep_error(w, rc);
		return false;
	}
	w->at += bytes;
	w->chunk_number++;
	return true;
}

/* The entries of a part, behind the first, which says where the one before it is. */
static void put_index(struct trace_writer *w)
{
	struct trace_chunk_head h = {
		.kind = TRACE_CHUNK_INDEX,
		.flags = TRACE_CHUNK_IS_ZSTD,
		.count = (uint32_t)w->index.count,
		.raw_bytes = (uint32_t)(w->index.count * sizeof(*w->index.at)),
	};
	uint64_t at = w->at;

	trace_swap_index(w->index.at, w->index.count);
	if (!put_chunk(w, &h, w->index.at))
		return;
	w->index.at[0] = (struct trace_index_entry){ .off = at, .kind = TRACE_CHUNK_INDEX };
	w->index.count = 1;
}

static void add_to_index(struct trace_writer *w, const struct trace_chunk_head *h, uint64_t at)
{
	vec_push(&w->index, (struct trace_index_entry){ .off = at,
							.first_ns = h->first_ns,
							.last_ns = h->last_ns,
							.kind = h->kind,
							.count = h->count });
	if (w->index.count == TRACE_INDEX_ENTRIES)
		put_index(w);
}

static void put_entries(struct trace_writer *w)
{
	struct trace_chunk_head h = { .kind = TRACE_CHUNK_ENTRIES,
				      .flags = TRACE_CHUNK_IS_ZSTD,
				      .count = (uint32_t)w->entry_count,
				      .raw_bytes = (uint32_t)w->entry_bytes };
	uint64_t at = w->at;

	if (w->entry_count && !w->error && put_chunk(w, &h, w->entries)) {
		w->done.entries += w->entry_count;
		add_to_index(w, &h, at);
	}
	w->entry_count = w->entry_bytes = 0;
}

static void take_times(struct trace_chunk_head *h, const struct trace_record *r, size_t count)
{
	h->first_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		bool has_end = r[i].duration_ns < TRACE_UNKNOWN - r[i].start_ns;

		h->first_ns = u64_min(h->first_ns, r[i].start_ns);
		h->last_ns = u64_max(h->last_ns, r[i].start_ns + (has_end ? r[i].duration_ns : 0));
	}
}

static void put_records(struct trace_writer *w)
{
	struct trace_chunk_head h = {
		.kind = TRACE_CHUNK_RECORDS,
		.flags = TRACE_CHUNK_IS_ZSTD,
		.count = (uint32_t)w->records.count,
		.raw_bytes = (uint32_t)(w->records.count * sizeof(*w->records.at)),
	};
	uint64_t at;

	put_entries(w); /* what names the files goes first */
	at = w->at;
	take_times(&h, w->records.at, w->records.count);
	trace_swap_records(w->records.at, w->records.count);
	if (!w->error && put_chunk(w, &h, w->records.at)) {
		w->done.records += w->records.count;
		add_to_index(w, &h, at);
	} else {
		w->done.lost += w->records.count;
	}
	w->records.count = 0;
}

int trace_writer_new(struct trace_writer **out, int fd, const char *path,
		     const struct trace_head *head, struct mlgen_err *err)
{
	struct trace_file_head h;
	struct trace_writer *w;
	int rc;

	trace_put_file_head(&h, head);
	rc = writeall_at(fd, &h, sizeof(h), 0);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: cannot write: %s", path, strerror(-rc));
	w = mem_zalloc(sizeof(*w));
	w->fd = fd;
	w->path = mem_strdup(path);
	w->at = sizeof(h);
	w->names = trace_names_new();
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		mem_none(sizeof(*w));
	/* Of the file head, before which there is none. */
	vec_push(&w->index, (struct trace_index_entry){ 0 });
	*out = w;
	return 0;
}

void trace_writer_record(struct trace_writer *w, const struct trace_record *r)
{
	vec_push(&w->records, *r);
	if (w->records.count == TRACE_CHUNK_RECORD_COUNT)
		put_records(w);
}

void trace_writer_entry(struct trace_writer *w, const struct trace_entry *e)
{
	size_t text = e->text ? e->text_bytes : 0;
	struct trace_stored_entry stored = { .kind = e->kind };
	unsigned char *to;
	size_t bytes;

	if (text > TRACE_TEXT_MOST)
		text = TRACE_TEXT_MOST;
	if (e->kind == TRACE_LOST)
		w->lost_told += e->number[1];
	bytes = sizeof(stored) + round_up(text + 1, 8);
	if (w->entry_bytes + bytes > TRACE_CHUNK_ENTRY_BYTES)
		put_entries(w);
	w->entries = mem_grow(w->entries, &w->entry_room, w->entry_bytes + bytes, 1);
	to = w->entries + w->entry_bytes;
	stored.text_bytes = (uint32_t)text;
	memcpy(stored.number, e->number, sizeof(stored.number));
	trace_swap_entry(&stored);
	memset(to, 0, bytes);
	memcpy(to, &stored, sizeof(stored));
	if (text)
		memcpy(to + sizeof(stored), e->text, text);
	w->entry_bytes += bytes;
	w->entry_count++;
}

static const uint64_t nothing_known[4] = { TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN,
					   TRACE_UNKNOWN };

uint32_t trace_writer_name(struct trace_writer *w, const char *text, size_t bytes)
{
	return trace_writer_file(w, text, bytes, nothing_known);
}

uint32_t trace_writer_file(struct trace_writer *w, const char *path, size_t bytes,
			   const uint64_t known[4])
{
	struct trace_entry e = { .kind = TRACE_FILE };
	bool is_new;

	if (bytes > TRACE_TEXT_MOST)
		bytes = TRACE_TEXT_MOST;
	e.number[0] = trace_names_id(w->names, path, bytes, &is_new);
	if (!is_new)
		return (uint32_t)e.number[0];
	memcpy(e.number + 1, known, 4 * sizeof(*known));
	e.text = path;
	e.text_bytes = bytes;
	trace_writer_entry(w, &e);
	return (uint32_t)e.number[0];
}

void trace_writer_flush(struct trace_writer *w)
{
	if (w->records.count)
		put_records(w);
	else
		put_entries(w);
}

static void put_end(struct trace_writer *w)
{
	struct trace_chunk_head h = { .kind = TRACE_CHUNK_END,
				      .count = 1,
				      .raw_bytes = sizeof(struct trace_end) };
	struct trace_end end = {
		.records = w->done.records,
		.entries = w->done.entries,
		.chunks = w->chunk_number,
		.lost = w->lost_told + w->done.lost,
		.index_off = w->index.at[0].off,
		.bytes = w->at + sizeof(h) + sizeof(end),
	};

	trace_swap_end(&end);
	put_chunk(w, &h, &end);
}

static void writer_free(struct trace_writer *w)
{
	trace_names_free(w->names);
	ZSTD_freeCCtx(w->zstd);
	mem_free(w->packed);
	vec_fini(&w->records);
	mem_free(w->entries);
	vec_fini(&w->index);
	mem_free(w->path);
	mem_free(w);
}

int trace_writer_finish(struct trace_writer *w, struct trace_written *written,
			struct mlgen_err *err)
{
	int rc;

	trace_writer_flush(w);
	if (!w->error && w->index.count > 1)
		put_index(w);
	if (!w->error)
		put_end(w);
	rc = w->error;
	if (rc < 0)
		mlgen_fail(err, rc,
			   "%s: cannot write: %s. The trace is incomplete: %" PRIu64
			   " records are in it, %" PRIu64 " are not",
			   w->path, strerror(-rc), w->done.records, w->done.lost);
	w->done.chunks = w->chunk_number;
	w->done.bytes = w->at;
	if (written)
		*written = w->done;
	writer_free(w);
	return rc;
}
