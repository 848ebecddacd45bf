/* SPDX-License-Identifier: Apache-2.0 */
/* trace_reader.c - read the chunks of trace files, and open the source of a replay. */
#include "trace/trace_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"

/* Bytes to read at a time in the search for the next chunk after damage. */
#define WINDOW_BYTES (64u << 10)

/* Least size of a buffer for a chunk. */
#define BUFFER_BYTES_MIN 4096u

/* A file of a trace, damaged or not. */
struct trace_file {
	const char *path; /* the caller's */
	int fd;           /* -1 = closed */
	struct trace_head head;
	uint64_t at;     /* offset of the next chunk */
	uint64_t bytes;  /* size of the file */
	uint32_t number; /* expected number of the next chunk */
	bool is_over;    /* the last chunk was read */
	uint64_t records, lost;
};

/* Buffers for one chunk at a time, with the size of the largest chunk so far. */
struct trace_unpack {
	ZSTD_DCtx *zstd;
	size_t packed_room, raw_room;
	unsigned char *packed, *raw;
	unsigned char *window;
};

static int fail_read(const struct trace_file *f, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s: cannot read at %" PRIu64 ": %s", f->path, f->at,
			  strerror(-rc));
}

/* Read, but not past the end of the file. Returns the number of bytes, or -errno. */
static int64_t read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t n = pread(fd, (char *)to + got, bytes - got, (off_t)(at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (int64_t)got;
}

static int fail_file_head(const struct trace_file *f, int rc, uint32_t version,
			  struct mlgen_err *err)
{
	if (rc == -EPROTONOSUPPORT)
		return mlgen_fail(err, rc,
				  "%s: is a trace of version %" PRIu32
				  ", but this mlgen reads version %u",
				  f->path, version, TRACE_VERSION);
	if (rc == -EBADMSG)
		return mlgen_fail(err, rc,
				  "%s: is a trace whose first 64 bytes are damaged, so the program "
				  "that wrote it is unknown",
				  f->path);
	if (f->bytes == 0)
		return mlgen_fail(err, rc, "%s: is empty, not a trace", f->path);
	return mlgen_fail(
		err, rc,
		"%s: is not a trace, which begins with %s; mlgen --trace=FILE JOB writes a trace",
		f->path, TRACE_MAGIC);
}

static int read_file_head(struct trace_file *f, struct mlgen_err *err)
{
	struct trace_file_head h = { 0 };
	uint32_t version = 0;
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return fail_read(f, -errno, err);
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(err, -EINVAL, "%s: is not a regular file, as a trace must be",
				  f->path);
	f->bytes = (uint64_t)st.st_size;
	int64_t n = read_at(f->fd, &h, sizeof(h), 0);
	if (n < 0)
		return fail_read(f, (int)n, err);
	int rc = trace_decode_file_head(&f->head, &h, &version);
	if ((rc == 0 || rc == -EPROTONOSUPPORT) && (size_t)n < sizeof(h))
		rc = -EBADMSG;
	f->at = sizeof(h);
	return rc < 0 ? fail_file_head(f, rc, version, err) : 0;
}

static void close_file(struct trace_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static uint64_t end_of(const struct trace_file *f, const struct trace_chunk_head *h)
{
	return f->at + sizeof(*h) + round_up(h->packed_bytes, 8);
}

/* Read the head of a chunk. 1, 0 = it is damaged or cut, or -errno. */
static int read_head(const struct trace_file *f, struct trace_chunk_head *h)
{
	int64_t n = read_at(f->fd, h, sizeof(*h), f->at);

	if (n < 0)
		return (int)n;
	return n == sizeof(*h) && trace_decode_chunk_head(h);
}

/* Offset of the first magic number at a multiple of 8, where chunks begin; `bytes` = there is none.
 */
static size_t find_magic(const unsigned char *in, size_t bytes)
{
	static const unsigned char magic[] = { 'T', 'M', 'C', 'K' };

	for (size_t at = 0; at + 8 <= bytes; at += 8)
		if (memcmp(in + at, magic, sizeof(magic)) == 0)
			return at;
	return bytes;
}

/* Advance to the next intact head after `at`. 1, 0 = there is none, or -errno. */
static int find_head(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     struct trace_read *read)
{
	uint64_t from = f->at;

	if (!u->window)
		u->window = mem_zalloc(WINDOW_BYTES);
	f->at += 8;
	while (f->at < f->bytes) {
		int64_t n = read_at(f->fd, u->window, WINDOW_BYTES, f->at);

		if (n <= 0)
			return (int)n;
		size_t skip = find_magic(u->window, (size_t)n);
		f->at += skip;
		if (skip == (size_t)n)
			continue;
		int rc = read_head(f, h);
		if (rc != 0) {
			read->damaged_bytes += f->at - from;
			return rc;
		}
		f->at += 8;
	}
	read->damaged_bytes += f->bytes - from;
	return 0;
}

/* The file has no end chunk, or an incomplete one. */
static int end_truncated(struct trace_file *f, struct trace_read *read)
{
	read->truncated++;
	f->is_over = true;
	return 0;
}

/* Read and decompress a chunk. 1, 0 = it is damaged, or -errno. */
static int read_contents(const struct trace_file *f, struct trace_unpack *u,
			 const struct trace_chunk_head *h)
{
	if (h->packed_bytes > ZSTD_compressBound(TRACE_CHUNK_RAW_MAX))
		return 0;
	u->packed =
		mem_grow(u->packed, &u->packed_room, u64_max(h->packed_bytes, BUFFER_BYTES_MIN), 1);
	int64_t n = read_at(f->fd, u->packed, h->packed_bytes, f->at + sizeof(*h));
	if (n < 0)
		return (int)n;
	if ((uint64_t)n < h->packed_bytes || trace_crc(u->packed, (size_t)n) != h->packed_crc)
		return 0;
	u->raw = mem_grow(u->raw, &u->raw_room, u64_max(h->raw_bytes, BUFFER_BYTES_MIN), 1);
	if (h->flags & TRACE_CHUNK_IS_ZSTD) {
		size_t raw = ZSTD_decompressDCtx(u->zstd, u->raw, h->raw_bytes, u->packed,
						 h->packed_bytes);

		return !ZSTD_isError(raw) && raw == h->raw_bytes;
	}
	if (h->packed_bytes != h->raw_bytes)
		return 0;
	memcpy(u->raw, u->packed, h->raw_bytes);
	return 1;
}

static int read_end(struct trace_file *f, const struct trace_unpack *u,
		    const struct trace_chunk_head *h, struct trace_read *read)
{
	struct trace_end end;

	if (h->raw_bytes < sizeof(end))
		return end_truncated(f, read);
	memcpy(&end, u->raw, sizeof(end));
	trace_swap_end(&end);
	if (end.records > f->records)
		read->damaged_records += end.records - f->records;
	if (end.lost > f->lost)
		read->lost += end.lost - f->lost;
	f->is_over = true;
	return 0;
}

/* Read the head of the next chunk, skipping damage. 1, 0 at the end, or -errno with err. */
static int next_head(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     struct trace_read *read, struct mlgen_err *err)
{
	if (f->at >= f->bytes)
		return end_truncated(f, read);
	int rc = read_head(f, h);
	if (rc == 0 && f->bytes - f->at >= sizeof(*h)) {
		rc = find_head(f, u, h, read);
		if (rc == 0)
			read->damaged_chunks++;
	}
	if (rc < 0)
		return fail_read(f, rc, err);
	if (rc == 0 || end_of(f, h) > f->bytes)
		return end_truncated(f, read);
	return 1;
}

/*
 * Read the next intact chunk of records or entries: 1 with *h and *raw (valid until the next call),
 * 0 at the end, or -errno with err. Damaged and missing chunks are counted in `read`.
 */
static int read_chunk(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		      void **raw, struct trace_read *read, struct mlgen_err *err)
{
	for (;;) {
		if (f->is_over)
			return 0;
		int rc = next_head(f, u, h, read, err);
		if (rc <= 0)
			return rc;
		rc = read_contents(f, u, h);
		if (rc < 0)
			return fail_read(f, rc, err);
		/* Missing chunks count as damaged; a chunk with a lower number was seen before. */
		bool is_in_order = h->number >= f->number;
		if (is_in_order) {
			read->damaged_chunks += h->number - f->number;
			f->number = h->number + 1;
		}
		if (!is_in_order || rc == 0) {
			read->damaged_chunks++;
			read->damaged_bytes += end_of(f, h) - f->at;
			f->at = end_of(f, h);
			continue;
		}
		if (h->kind == TRACE_CHUNK_END)
			return read_end(f, u, h, read);
		f->at = end_of(f, h);
		read->chunks++;
		*raw = u->raw;
		if (h->kind == TRACE_CHUNK_RECORDS || h->kind == TRACE_CHUNK_ENTRIES)
			return 1;
	}
}

struct trace_reader {
	struct trace_file *files; /* sorted by part */
	size_t count, at;
	int fd;     /* descriptor of the only file (trace_reader_open_fd), owned; otherwise -1 */
	char *name; /* name of that file for messages, owned */
	struct trace_unpack unpack;
	struct trace_read read;
	struct trace_entry *entries; /* entries of the current chunk */
	size_t entry_room;
	struct trace_names *names; /* names in all files; NULL with a single file */
	struct spill
		ids; /* maps an id in the current file to its id in `names` (uint32_t; 0 = none) */
};

COMPARE_BY(compare_parts, struct trace_file, head.part)

static int check_parts(const struct trace_reader *r, struct mlgen_err *err)
{
	const struct trace_file *first = r->files;

	for (size_t i = 1; i < r->count; i++) {
		const struct trace_file *f = &r->files[i];

		if (memcmp(f->head.run_id, first->head.run_id, sizeof(f->head.run_id)) != 0)
			return mlgen_fail(err, -EINVAL,
					  "%s: belongs to another run than %s; a trace consists of "
					  "the files of one run",
					  f->path, first->path);
		if (f->head.part == f[-1].head.part)
			return mlgen_fail(err, -EINVAL,
					  "%s: is part %" PRIu32 " of its trace, and so is %s",
					  f->path, f->head.part, f[-1].path);
	}
	return 0;
}

static int open_file(const struct trace_reader *r, struct trace_file *f, const char *path,
		     struct mlgen_err *err)
{
	int fd = r->fd < 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			   : fcntl(r->fd, F_DUPFD_CLOEXEC, 0);

	*f = (struct trace_file){ .path = path, .fd = fd };
	if (fd < 0)
		return r->fd < 0 ? mlgen_fail(err, -errno, "%s: cannot open: %s", path,
					      strerror(errno))
				 : fail_read(f, -errno, err);
	int rc = read_file_head(f, err);
	if (rc < 0)
		close_file(f);
	return rc;
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

/* Check all files and open the first. Only the current file stays open: there may be many. On an
 * error the reader is closed. */
static int reader_begin(struct trace_reader **out, struct trace_reader *r, const char *const *paths,
			struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->count; i++) {
		rc = open_file(r, &r->files[i], paths[i], err);
		close_file(&r->files[i]);
	}
	if (rc == 0) {
		qsort(r->files, r->count, sizeof(*r->files), compare_parts);
		rc = check_parts(r, err);
	}
	if (rc == 0)
		rc = trace_reader_rewind(r, err);
	if (rc < 0) {
		trace_reader_close(r);
		return rc;
	}
	r->unpack.zstd = ZSTD_createDCtx();
	if (!r->unpack.zstd)
		mem_out_of_memory(sizeof(r->unpack));
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

int trace_reader_open_fd(struct trace_reader **out, int fd, const char *name, struct mlgen_err *err)
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
		close_file(&r->files[i]);
	ZSTD_freeDCtx(r->unpack.zstd);
	mem_free(r->unpack.packed);
	mem_free(r->unpack.raw);
	mem_free(r->unpack.window);
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
		close_file(&r->files[r->at]);
	r->read = (struct trace_read){ 0 };
	return begin_file(r, 0, err);
}

static uint32_t *id_slot(struct trace_reader *r, uint32_t id)
{
	spill_reserve(&r->ids, ((size_t)id + 1) * sizeof(uint32_t));
	return (uint32_t *)r->ids.at + id;
}

/* The id in the whole trace. An id whose entry is lost with a damaged chunk gets a unique name, and
 * no entry. */
static uint32_t whole_id(struct trace_reader *r, uint32_t id)
{
	char name[32];

	if (id == 0 || !r->names)
		return id;
	uint32_t *to = id_slot(r, id);
	if (!*to) {
		int n = snprintf(name, sizeof(name), "%c%zu:%" PRIu32, 0, r->at, id);

		*to = trace_names_id(r->names, name, (size_t)n, NULL);
	}
	return *to;
}

/* Ids are consecutive, and each has an entry of more than a byte. A larger id is damage, which must
 * not make a table of ids huge. */
static bool is_plausible_id(const struct trace_file *f, uint64_t id)
{
	return id <= f->bytes;
}

static bool parse_records(struct trace_reader *r, struct trace_file *f,
			  const struct trace_chunk_head *h, void *raw, struct trace_batch *batch)
{
	struct trace_record *records = raw;

	if (h->raw_bytes != (uint64_t)h->count * sizeof(*records))
		return false;
	trace_swap_records(records, h->count);
	for (size_t i = 0; i < h->count; i++)
		if (!is_plausible_id(f, records[i].file))
			return false;
	for (size_t i = 0; i < h->count; i++)
		r->read.unknown_ops += !trace_op_name(records[i].op);
	for (size_t i = 0; r->names && i < h->count; i++) {
		struct trace_record *at = &records[i];

		at->file = whole_id(r, at->file);
		if (at->op == TRACE_RENAME && at->off <= UINT32_MAX)
			at->off = whole_id(r, (uint32_t)at->off);
	}
	f->records += h->count;
	r->read.records += h->count;
	batch->records = records;
	batch->record_count = h->count;
	return true;
}

/* Parse one entry. Returns its length in the chunk, or 0 if it exceeds the chunk. */
static size_t parse_entry(struct trace_entry *to, const unsigned char *at, size_t bytes)
{
	struct trace_stored_entry e;

	if (bytes < sizeof(e))
		return 0;
	memcpy(&e, at, sizeof(e));
	trace_swap_entry(&e);
	size_t whole = sizeof(e) + ((size_t)e.text_bytes + 8) / 8 * 8;
	if (whole > bytes || at[sizeof(e) + e.text_bytes])
		return 0;
	*to = (struct trace_entry){ .kind = e.kind,
				    .text = (const char *)at + sizeof(e),
				    .text_bytes = e.text_bytes };
	memcpy(to->number, e.number, sizeof(to->number));
	return whole;
}

/* False: the chunk is not consistent. */
static bool parse_entries(struct trace_reader *r, struct trace_file *f,
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
		size_t n = parse_entry(e, raw + at, h->raw_bytes - at);

		if (n == 0 || (e->kind == TRACE_FILE && !is_plausible_id(f, e->number[0])))
			return false;
		at += n;
	}
	for (size_t i = 0; i < h->count; i++) {
		struct trace_entry *e = &r->entries[i];

		if (e->kind == TRACE_LOST) {
			f->lost += e->number[1];
			r->read.lost += e->number[1];
		} else if (e->kind == TRACE_FILE && r->names && e->number[0] <= UINT32_MAX) {
			uint32_t *id = id_slot(r, (uint32_t)e->number[0]);

			*id = trace_names_id(r->names, e->text, e->text_bytes, NULL);
			e->number[0] = *id;
		}
	}
	r->read.entries += h->count;
	batch->entries = r->entries;
	batch->entry_count = h->count;
	return true;
}

int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct mlgen_err *err)
{
	*batch = (struct trace_batch){ 0 };
	while (r->at < r->count) {
		struct trace_file *f = &r->files[r->at];
		struct trace_chunk_head h;
		void *raw;
		int rc = read_chunk(f, &r->unpack, &h, &raw, &r->read, err);

		if (rc < 0)
			return rc;
		if (rc > 0) {
			bool is_intact = h.kind == TRACE_CHUNK_ENTRIES
						 ? parse_entries(r, f, &h, raw, batch)
						 : parse_records(r, f, &h, raw, batch);

			if (is_intact)
				return 1;
			r->read.damaged_chunks++;
			continue;
		}
		close_file(f);
		r->at++;
		if (r->at == r->count)
			break;
		rc = begin_file(r, r->at, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

const struct trace_read *trace_reader_totals(const struct trace_reader *r)
{
	return &r->read;
}

/* Formats, recognised by the first bytes of a file. */
enum form { FORM_TRACE, FORM_IOLOG, FORM_OTHER };

static const struct beginning {
	const char *text;
	enum form form;
	const char *is;     /* description, for FORM_OTHER */
	const char *import; /* format for mltrace import */
} beginnings[] = {
	{ TRACE_MAGIC, FORM_TRACE, "a trace", NULL },
	{ "fio version ", FORM_IOLOG, "a fio log", NULL },
	{ "start_ns,", FORM_OTHER, "a trace as CSV text", "csv" },
	{ "# darshan log version", FORM_OTHER, "the text of a Darshan log", "darshan" },
	{ "\x07tae", FORM_OTHER, "a blktrace file", "blktrace" },
};

/* NULL = unknown. */
static const struct beginning *find_beginning(const char *at, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++) {
		size_t n = strlen(beginnings[i].text);

		if (bytes >= n && memcmp(at, beginnings[i].text, n) == 0)
			return &beginnings[i];
	}
	return NULL;
}

static int read_form(struct trace_input *in, struct mlgen_err *err)
{
	int rc = trace_input_more(in, err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return mlgen_fail(err, -EINVAL, "%s: is empty, neither a trace nor a fio iolog",
				  in->name);
	const struct beginning *b = find_beginning(in->buffer + in->at, in->end - in->at);
	if (!b)
		return mlgen_fail(
			err, -EINVAL,
			"%s: is neither an mlgen trace nor a fio iolog, which begins with 'fio "
			"version 3 iolog' or 'fio version 2 iolog'; convert logs of other programs "
			"first, for example with mltrace import --format=strace FILE -o OUT",
			in->name);
	if (b->form == FORM_OTHER)
		return mlgen_fail(err, -EINVAL,
				  "%s: is %s; mltrace import --format=%s FILE -o OUT converts it "
				  "to a trace, which can be replayed",
				  in->name, b->is, b->import);
	if (b->form == FORM_TRACE && in->gunzip)
		return mlgen_fail(err, -EINVAL, "%s: is a gzip-compressed trace; unpack it first",
				  in->name);
	return (int)b->form;
}

/* FORM_TRACE, FORM_IOLOG or -errno with err. A pipe or device is refused without opening it, which
 * could wait. */
static int source_form(const char *path, struct mlgen_err *err)
{
	struct trace_input in;

	if (strcmp(path, "-") == 0)
		return mlgen_fail(err, -EINVAL,
				  "-: is standard input; name a file, because the trace is read "
				  "more than once");
	int rc = filekind_check(path, "; name a trace or a fio iolog", err);
	if (rc < 0)
		return rc;
	rc = trace_input_open(&in, path, err);
	in.is_binary = true;
	in.only_looks = true;
	if (rc == 0)
		rc = read_form(&in, err);
	trace_input_close(&in);
	return rc;
}

/* Convert a log to a trace in `fd`; `name` is for messages. */
static int convert_iolog(const char *path, int fd, const char *name, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };
	struct trace_fill *fill = NULL;
	struct trace_fill_totals filled;
	struct trace_input in;
	int rc = trace_input_open(&in, path, err);

	if (rc == 0)
		rc = trace_fill_new(&fill, fd, name, "fio-iolog", err);
	if (rc == 0)
		rc = trace_iolog_read(&in, fill, &what, err);
	trace_input_close(&in);
	if (rc < 0) {
		trace_fill_abandon(fill);
		return rc;
	}
	trace_iolog_log_notes(path, &what);
	return trace_fill_finish(fill, &filled, err);
}

static int open_iolog(struct trace_reader **out, const char *path, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(NULL);
	struct buf name = { 0 };
	int fd = unnamed_open(folder), rc;

	buf_addf(&name, "temporary file below %s (set TMPDIR=DIR for another directory)", folder);
	rc = fd < 0 ? mlgen_fail(err, fd, "%s: %s", buf_str(&name), strerror(-fd))
		    : convert_iolog(path, fd, buf_str(&name), err);
	buf_fini(&name);
	if (rc == 0)
		return trace_reader_open_fd(out, fd, path, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

int trace_source_open(struct trace_reader **out, const char *path, struct mlgen_err *err)
{
	int form = source_form(path, err);

	*out = NULL;
	if (form < 0)
		return form;
	return form == FORM_IOLOG ? open_iolog(out, path, err)
				  : trace_reader_open(out, &path, 1, err);
}
