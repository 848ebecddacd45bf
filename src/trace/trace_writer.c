/* SPDX-License-Identifier: Apache-2.0 */
/* trace_writer.c - write records and entries as chunks of a file. */
#include "trace/trace_internal.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "config.h"

_Static_assert(sizeof(struct trace_record) == 64, "the layout of a file");
_Static_assert(sizeof(struct trace_file_head) == 64, "the layout of a file");
_Static_assert(sizeof(struct trace_chunk_head) == 48, "the layout of a file");
_Static_assert(sizeof(struct trace_stored_entry) == 56, "the layout of a file");
_Static_assert(sizeof(struct trace_index_entry) == 32, "the layout of a file");
_Static_assert(sizeof(struct trace_end) == 48, "the layout of a file");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SWAP(x) ((void)(x))
#else
#define SWAP(x)                                                                                    \
	((x) = _Generic((x), uint16_t                                                              \
			: __builtin_bswap16, uint32_t                                              \
			: __builtin_bswap32, uint64_t                                              \
			: __builtin_bswap64, int64_t                                               \
			: __builtin_bswap64)(x))
#endif

uint32_t trace_crc(const void *bytes, size_t count)
{
	return (uint32_t)crc32_z(0, bytes, count);
}

void trace_swap_records(struct trace_record *r, size_t count)
{
	for (size_t i = 0; i < count; i++, r++) {
		SWAP(r->start_ns);
		SWAP(r->duration_ns);
		SWAP(r->off);
		SWAP(r->len_bytes);
		SWAP(r->result);
		SWAP(r->cpu_ns);
		SWAP(r->pid);
		SWAP(r->tid);
		SWAP(r->file);
		SWAP(r->op);
		SWAP(r->flags);
	}
}

void trace_swap_entry(struct trace_stored_entry *e)
{
	SWAP(e->kind);
	SWAP(e->text_bytes);
	for (unsigned i = 0; i < TRACE_NUMBERS; i++)
		SWAP(e->number[i]);
}

static void trace_swap_index(struct trace_index_entry *e, size_t count)
{
	for (size_t i = 0; i < count; i++, e++) {
		SWAP(e->off);
		SWAP(e->first_ns);
		SWAP(e->last_ns);
		SWAP(e->kind);
		SWAP(e->count);
	}
}

void trace_swap_end(struct trace_end *e)
{
	SWAP(e->records);
	SWAP(e->entries);
	SWAP(e->chunks);
	SWAP(e->lost);
	SWAP(e->index_off);
	SWAP(e->bytes);
}

static uint32_t file_head_crc(const struct trace_file_head *h)
{
	return trace_crc(h, offsetof(struct trace_file_head, crc));
}

void trace_encode_file_head(struct trace_file_head *to, const struct trace_head *head)
{
	*to = (struct trace_file_head){ .version = htole32(TRACE_VERSION),
					.part = htole32(head->part),
					.wall_ns = htole64(head->wall_ns),
					.clock_ns = htole64(head->clock_ns),
					.record_bytes = htole32(sizeof(struct trace_record)) };
	memcpy(to->magic, TRACE_MAGIC, sizeof(to->magic));
	memcpy(to->run_id, head->run_id, sizeof(to->run_id));
	to->crc = htole32(file_head_crc(to));
}

bool trace_is_magic(const void *first, size_t bytes)
{
	return bytes >= TRACE_MAGIC_BYTES && memcmp(first, TRACE_MAGIC, TRACE_MAGIC_BYTES) == 0;
}

/* The version is checked first, since a later one may have its checksum elsewhere. */
int trace_decode_file_head(struct trace_head *to, const struct trace_file_head *h,
			   uint32_t *version)
{
	if (!trace_is_magic(h->magic, sizeof(h->magic)))
		return -EINVAL;
	*version = le32toh(h->version);
	if (*version != TRACE_VERSION)
		return -EPROTONOSUPPORT;
	if (le32toh(h->crc) != file_head_crc(h) ||
	    le32toh(h->record_bytes) != sizeof(struct trace_record))
		return -EBADMSG;
	*to = (struct trace_head){ .part = le32toh(h->part),
				   .wall_ns = le64toh(h->wall_ns),
				   .clock_ns = le64toh(h->clock_ns) };
	memcpy(to->run_id, h->run_id, sizeof(to->run_id));
	return 0;
}

static void swap_chunk_head(struct trace_chunk_head *h)
{
	SWAP(h->magic);
	SWAP(h->kind);
	SWAP(h->flags);
	SWAP(h->number);
	SWAP(h->count);
	SWAP(h->raw_bytes);
	SWAP(h->packed_bytes);
	SWAP(h->first_ns);
	SWAP(h->last_ns);
	SWAP(h->packed_crc);
	SWAP(h->crc);
}

static uint32_t chunk_head_crc(const struct trace_chunk_head *h)
{
	return trace_crc(h, offsetof(struct trace_chunk_head, crc));
}

void trace_encode_chunk_head(struct trace_chunk_head *h)
{
	h->magic = TRACE_CHUNK_MAGIC;
	swap_chunk_head(h);
	h->crc = htole32(chunk_head_crc(h));
}

bool trace_decode_chunk_head(struct trace_chunk_head *h)
{
	uint32_t crc = chunk_head_crc(h);

	swap_chunk_head(h);
	return h->magic == TRACE_CHUNK_MAGIC && h->crc == crc &&
	       h->raw_bytes <= TRACE_CHUNK_RAW_MAX;
}

/* zstd level. A trace is written during a measurement: CPU time matters more than size. */
#define LEVEL 1

struct trace_writer {
	int fd;
	char *path;
	int error;   /* -errno of the first error */
	uint64_t at; /* file offset of the next chunk */
	struct trace_written done;
	uint32_t chunk_number;
	struct trace_names *names;
	ZSTD_CCtx *zstd;
	/* Buffers, as large as the largest contents so far, up to a chunk. */
	unsigned char *packed; /* a chunk with its head, as written */
	VEC(struct trace_record) records;
	unsigned char *entries;
	VEC(struct trace_index_entry) index;
	size_t packed_room, entry_room;
	size_t entry_bytes, entry_count;
	uint64_t lost_events; /* sum of TRACE_LOST entries */
};

/* Compress and write a chunk, and fill in the rest of *h. False: it failed, and the file is
 * truncated to its last whole chunk. */
static bool write_chunk(struct trace_writer *w, struct trace_chunk_head *h, const void *raw)
{
	size_t bound = ZSTD_compressBound(h->raw_bytes), n = 0, end;

	w->packed = mem_grow(w->packed, &w->packed_room, sizeof(*h) + bound + 8, 1);
	unsigned char *to = w->packed + sizeof(*h);
	if (h->flags & TRACE_CHUNK_IS_ZSTD)
		n = ZSTD_compressCCtx(w->zstd, to, bound, raw, h->raw_bytes, LEVEL);
	if (n == 0 || ZSTD_isError(n)) {
		h->flags &= (uint16_t)~TRACE_CHUNK_IS_ZSTD;
		n = h->raw_bytes;
		memcpy(to, raw, n);
	}
	h->packed_bytes = (uint32_t)n;
	h->packed_crc = trace_crc(to, n);
	h->number = w->chunk_number;
	memcpy(w->packed, h, sizeof(*h));
	trace_encode_chunk_head((struct trace_chunk_head *)w->packed);
	end = round_up(n, 8);
	memset(to + n, 0, end - n);
	int rc = writeall_at(w->fd, w->packed, sizeof(*h) + end, w->at);
	if (rc < 0) {
		w->error = rc;
		(void)!ftruncate(w->fd, (off_t)w->at);
		return false;
	}
	w->at += sizeof(*h) + end;
	w->chunk_number++;
	return true;
}

/* Write a part of the index. The first entry of the next part points to this part. */
static void write_index(struct trace_writer *w)
{
	struct trace_chunk_head h = {
		.kind = TRACE_CHUNK_INDEX,
		.flags = TRACE_CHUNK_IS_ZSTD,
		.count = (uint32_t)w->index.count,
		.raw_bytes = (uint32_t)(w->index.count * sizeof(*w->index.at)),
	};
	uint64_t at = w->at;

	trace_swap_index(w->index.at, w->index.count);
	if (!write_chunk(w, &h, w->index.at))
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
		write_index(w);
}

static void write_entries(struct trace_writer *w)
{
	struct trace_chunk_head h = { .kind = TRACE_CHUNK_ENTRIES,
				      .flags = TRACE_CHUNK_IS_ZSTD,
				      .count = (uint32_t)w->entry_count,
				      .raw_bytes = (uint32_t)w->entry_bytes };
	uint64_t at = w->at;

	if (w->entry_count && !w->error && write_chunk(w, &h, w->entries)) {
		w->done.entries += w->entry_count;
		add_to_index(w, &h, at);
	}
	w->entry_count = w->entry_bytes = 0;
}

static void write_records(struct trace_writer *w)
{
	struct trace_chunk_head h = {
		.kind = TRACE_CHUNK_RECORDS,
		.flags = TRACE_CHUNK_IS_ZSTD,
		.count = (uint32_t)w->records.count,
		.raw_bytes = (uint32_t)(w->records.count * sizeof(*w->records.at)),
		.first_ns = UINT64_MAX,
	};

	write_entries(w); /* entries with the names of files precede the records */
	uint64_t at = w->at;
	for (size_t i = 0; i < w->records.count; i++) {
		const struct trace_record *r = &w->records.at[i];
		bool has_end = r->duration_ns < TRACE_UNKNOWN - r->start_ns;

		h.first_ns = u64_min(h.first_ns, r->start_ns);
		h.last_ns = u64_max(h.last_ns, r->start_ns + (has_end ? r->duration_ns : 0));
	}
	trace_swap_records(w->records.at, w->records.count);
	if (!w->error && write_chunk(w, &h, w->records.at)) {
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

	trace_encode_file_head(&h, head);
	int rc = writeall_at(fd, &h, sizeof(h), 0);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: cannot write: %s", path, strerror(-rc));
	w = mem_zalloc(sizeof(*w));
	w->fd = fd;
	w->path = mem_strdup(path);
	w->at = sizeof(h);
	w->names = trace_names_new();
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		mem_out_of_memory(sizeof(*w));
	/* The first entry of the first part is the file head. */
	vec_push(&w->index, (struct trace_index_entry){ 0 });
	*out = w;
	return 0;
}

void trace_writer_record(struct trace_writer *w, const struct trace_record *r)
{
	vec_push(&w->records, *r);
	if (w->records.count == TRACE_CHUNK_RECORD_COUNT)
		write_records(w);
}

void trace_writer_entry(struct trace_writer *w, const struct trace_entry *e)
{
	size_t text = e->text ? e->text_bytes : 0;
	struct trace_stored_entry stored = { .kind = e->kind };

	if (text > TRACE_TEXT_MAX)
		text = TRACE_TEXT_MAX;
	if (e->kind == TRACE_LOST)
		w->lost_events += e->number[1];
	size_t bytes = sizeof(stored) + round_up(text + 1, 8);
	if (w->entry_bytes + bytes > TRACE_CHUNK_ENTRY_BYTES)
		write_entries(w);
	w->entries = mem_grow(w->entries, &w->entry_room, w->entry_bytes + bytes, 1);
	unsigned char *to = w->entries + w->entry_bytes;
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

uint32_t trace_writer_name(struct trace_writer *w, const char *text, size_t bytes)
{
	static const uint64_t unknown[4] = { TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN,
					     TRACE_UNKNOWN };

	return trace_writer_file(w, text, bytes, unknown);
}

uint32_t trace_writer_file(struct trace_writer *w, const char *path, size_t bytes,
			   const uint64_t known[4])
{
	struct trace_entry e = { .kind = TRACE_FILE };
	bool is_new;

	if (bytes > TRACE_TEXT_MAX)
		bytes = TRACE_TEXT_MAX;
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
		write_records(w);
	else
		write_entries(w);
}

int trace_writer_finish(struct trace_writer *w, struct trace_written *written,
			struct mlgen_err *err)
{
	struct trace_chunk_head h = { .kind = TRACE_CHUNK_END,
				      .count = 1,
				      .raw_bytes = sizeof(struct trace_end) };
	struct trace_end end;

	trace_writer_flush(w);
	if (!w->error && w->index.count > 1)
		write_index(w);
	if (!w->error) {
		end = (struct trace_end){ .records = w->done.records,
					  .entries = w->done.entries,
					  .chunks = w->chunk_number,
					  .lost = w->lost_events + w->done.lost,
					  .index_off = w->index.at[0].off,
					  .bytes = w->at + sizeof(h) + sizeof(end) };
		trace_swap_end(&end);
		write_chunk(w, &h, &end);
	}
	int rc = w->error;
	if (rc < 0)
		mlgen_fail(err, rc,
			   "%s: cannot write: %s. The trace is incomplete: %" PRIu64
			   " records were written, %" PRIu64 " were lost",
			   w->path, strerror(-rc), w->done.records, w->done.lost);
	w->done.chunks = w->chunk_number;
	w->done.bytes = w->at;
	if (written)
		*written = w->done;

	trace_names_free(w->names);
	ZSTD_freeCCtx(w->zstd);
	mem_free(w->packed);
	vec_fini(&w->records);
	mem_free(w->entries);
	vec_fini(&w->index);
	mem_free(w->path);
	mem_free(w);

	return rc;
}

struct trace_fill {
	struct trace_writer *writer;
	struct trace_sort *sort; /* NULL: not sorted, and the writer is the caller's */
	struct trace_fill_totals filled;
	uint64_t first_ns, last_ns; /* earliest and latest start of operations */
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

struct trace_fill *trace_fill_append(struct trace_writer *writer)
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

	*out = NULL;
	/* An id of zeros does little harm: if two such traces are read together, they appear to be
	 * of one run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	int rc = trace_writer_new(&f->writer, fd, path, &head, err);
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

uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes)
{
	uint32_t id = trace_writer_name(f->writer, name, bytes);

	if (id > f->filled.files)
		f->filled.files = id;
	return id;
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

const struct trace_fill_totals *trace_fill_get_totals(const struct trace_fill *f)
{
	return &f->filled;
}

int trace_fill_finish(struct trace_fill *f, struct trace_fill_totals *filled, struct mlgen_err *err)
{
	const struct trace_record *r;
	int rc = 0;

	while (f->sort && (rc = trace_sort_next(f->sort, &r, err)) > 0)
		trace_writer_record(f->writer, r);
	if (f->sort && rc == 0) {
		rc = trace_writer_finish(f->writer, NULL, err);
		f->writer = NULL;
	}
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
