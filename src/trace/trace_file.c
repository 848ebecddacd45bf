/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - see trace_file.h. */
#include "trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/util.h"

/* A look for the next chunk reads so much at a time. */
#define WINDOW_BYTES (64u << 10)

#define ROOM_LEAST 4096u

/* As large as the largest chunk so far. */
struct trace_unpack {
	ZSTD_DCtx *zstd;
	size_t packed_room, raw_room;
	unsigned char *packed, *raw;
	unsigned char *window;
};

struct trace_unpack *trace_unpack_new(void)
{
	struct trace_unpack *u = mem_zalloc(sizeof(*u));

	u->zstd = ZSTD_createDCtx();
	if (!u->zstd)
		mem_none(sizeof(*u));
	return u;
}

void trace_unpack_free(struct trace_unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->zstd);
	mem_free(u->packed);
	mem_free(u->raw);
	mem_free(u->window);
	mem_free(u);
}

static int fail_read(const struct trace_file *f, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "%s: cannot read at %" PRIu64 ": %s", f->path, f->at,
			  strerror(-rc));
}

/* As many as there are up to the end of the file: their number, or -errno. */
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

static int trace_file_refuse(const struct trace_file *f, int rc, uint32_t version,
			     struct mlgen_err *err)
{
	if (rc == -EPROTONOSUPPORT)
		return mlgen_fail(err, rc,
				  "%s: is a trace of version %" PRIu32
				  ", and this mlgen reads version %u",
				  f->path, version, TRACE_VERSION);
	if (rc == -EBADMSG)
		return mlgen_fail(err, rc,
				  "%s: is a trace whose first 64 bytes are damaged: what made it "
				  "is not known",
				  f->path);
	if (f->bytes == 0)
		return mlgen_fail(err, rc, "%s: is empty, and no trace", f->path);
	return mlgen_fail(
		err, rc, "%s: is no trace, which begins with %s; mlgen --trace=FILE JOB writes one",
		f->path, TRACE_MAGIC);
}

static int look_at_head(struct trace_file *f, struct mlgen_err *err)
{
	struct trace_file_head h = { 0 };
	uint32_t version = 0;
	struct stat st;
	int64_t n;
	int rc;

	if (fstat(f->fd, &st) < 0)
		return fail_read(f, -errno, err);
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(err, -EINVAL, "%s: is no regular file, which a trace is",
				  f->path);
	f->bytes = (uint64_t)st.st_size;
	n = read_at(f->fd, &h, sizeof(h), 0);
	if (n < 0)
		return fail_read(f, (int)n, err);
	rc = trace_get_file_head(&f->head, &h, &version);
	if ((rc == 0 || rc == -EPROTONOSUPPORT) && (size_t)n < sizeof(h))
		rc = -EBADMSG;
	f->at = sizeof(h);
	return rc < 0 ? trace_file_refuse(f, rc, version, err) : 0;
}

/* With its descriptor, which is its own. */
static int file_begin(struct trace_file *f, struct mlgen_err *err)
{
	int rc = look_at_head(f, err);

	if (rc < 0)
		trace_file_close(f);
	return rc;
}

int trace_file_open(struct trace_file *f, const char *path, struct mlgen_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*f = (struct trace_file){ .path = path, .fd = fd };
	return fd < 0 ? mlgen_fail(err, -errno, "%s: cannot open: %s", path, strerror(errno))
		      : file_begin(f, err);
}

int trace_file_from(struct trace_file *f, int fd, const char *name, struct mlgen_err *err)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	*f = (struct trace_file){ .path = name, .fd = copy };
	return copy < 0 ? fail_read(f, -errno, err) : file_begin(f, err);
}

void trace_file_close(struct trace_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static uint64_t end_of(const struct trace_file *f, const struct trace_chunk_head *h)
{
	return f->at + sizeof(*h) + round_up(h->packed_bytes, 8);
}

/* A head that is whole, of a chunk that is there. 1, 0, or -errno. */
static int read_head(const struct trace_file *f, struct trace_chunk_head *h)
{
	int64_t n = read_at(f->fd, h, sizeof(*h), f->at);

	if (n < 0)
		return (int)n;
	return n == sizeof(*h) && trace_get_chunk_head(h);
}

/* Chunks begin at multiples of 8: the first word there that may be a head's. */
static size_t find_magic(const unsigned char *in, size_t bytes)
{
	static const unsigned char magic[] = { 'T', 'M', 'C', 'K' };

	for (size_t at = 0; at + 8 <= bytes; at += 8)
		if (memcmp(in + at, magic, sizeof(magic)) == 0)
			return at;
	return bytes;
}

/* On to the next whole head behind `at`: 1, 0 = there is none, or -errno. */
static int find_head(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     struct trace_read *read)
{
	uint64_t from = f->at;

	if (!u->window)
		u->window = mem_zalloc(WINDOW_BYTES);
	f->at += 8;
	while (f->at < f->bytes) {
		int64_t n = read_at(f->fd, u->window, WINDOW_BYTES, f->at);
		size_t skip;
		int rc;

		if (n <= 0)
			return (int)n;
		skip = find_magic(u->window, (size_t)n);
		f->at += skip;
		if (skip == (size_t)n)
			continue;
		rc = read_head(f, h);
		if (rc != 0) {
			read->damaged_bytes += f->at - from;
			return rc;
		}
		f->at += 8;
	}
	read->damaged_bytes += f->bytes - from;
	return 0;
}

/* The file ends without its end. */
static int end_early(struct trace_file *f, struct trace_read *read)
{
	read->truncated++;
	f->is_over = true;
	return 0;
}

/* Of a whole chunk: 1, 0 = it is damaged, or -errno. */
static int read_contents(const struct trace_file *f, struct trace_unpack *u,
			 const struct trace_chunk_head *h)
{
	int64_t n;
	size_t raw;

	if (h->packed_bytes > ZSTD_compressBound(TRACE_CHUNK_RAW_MOST))
		return 0;
	u->packed = mem_grow(u->packed, &u->packed_room, u64_max(h->packed_bytes, ROOM_LEAST), 1);
	n = read_at(f->fd, u->packed, h->packed_bytes, f->at + sizeof(*h));
	if (n < 0)
		return (int)n;
	if ((uint64_t)n < h->packed_bytes || trace_crc(u->packed, (size_t)n) != h->packed_crc)
		return 0;
	u->raw = mem_grow(u->raw, &u->raw_room, u64_max(h->raw_bytes, ROOM_LEAST), 1);
	if (h->flags & TRACE_CHUNK_IS_ZSTD) {
		raw = ZSTD_decompressDCtx(u->zstd, u->raw, h->raw_bytes, u->packed,
					  h->packed_bytes);
		return !ZSTD_isError(raw) && raw == h->raw_bytes;
	}
	if (h->packed_bytes != h->raw_bytes)
		return 0;
	memcpy(u->raw, u->packed, h->raw_bytes);
	return 1;
}

static int take_end(struct trace_file *f, const struct trace_unpack *u,
		    const struct trace_chunk_head *h, struct trace_read *read)
{
	struct trace_end end;

	if (h->raw_bytes < sizeof(end))
		return end_early(f, read);
	memcpy(&end, u->raw, sizeof(end));
	trace_swap_end(&end);
	if (end.records > f->records)
		read->damaged_records += end.records - f->records;
	if (end.lost > f->lost)
		read->lost += end.lost - f->lost;
	f->is_over = true;
	return 0;
}

/* Chunks that are missing, and those that are there again. */
static bool is_in_order(struct trace_file *f, const struct trace_chunk_head *h,
			struct trace_read *read)
{
	if (h->number < f->number)
		return false;
	read->damaged_chunks += h->number - f->number;
	f->number = h->number + 1;
	return true;
}

/* 1 = *h is there, 0 = the end, -errno with err. */
static int next_head(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     struct trace_read *read, struct mlgen_err *err)
{
	int rc;

	if (f->at >= f->bytes)
		return end_early(f, read);
	rc = read_head(f, h);
	if (rc == 0 && f->bytes - f->at >= sizeof(*h)) {
		rc = find_head(f, u, h, read);
		if (rc == 0)
			read->damaged_chunks++;
	}
	if (rc < 0)
		return fail_read(f, rc, err);
	if (rc == 0 || end_of(f, h) > f->bytes)
		return end_early(f, read);
	return 1;
}

static void count_damage(const struct trace_file *f, const struct trace_chunk_head *h,
			 struct trace_read *read)
{
	read->damaged_chunks++;
	read->damaged_bytes += end_of(f, h) - f->at;
}

int trace_file_chunk(struct trace_file *f, struct trace_unpack *u, struct trace_chunk_head *h,
		     void **raw, struct trace_read *read, struct mlgen_err *err)
{
	for (;;) {
		int rc;

		if (f->is_over)
			return 0;
		rc = next_head(f, u, h, read, err);
		if (rc <= 0)
			return rc;
		rc = read_contents(f, u, h);
		if (rc < 0)
			return fail_read(f, rc, err);
		if (!is_in_order(f, h, read) || rc == 0) {
			count_damage(f, h, read);
			f->at = end_of(f, h);
			continue;
		}
		if (h->kind == TRACE_CHUNK_END)
			return take_end(f, u, h, read);
		f->at = end_of(f, h);
		read->chunks++;
		*raw = u->raw;
		if (h->kind == TRACE_CHUNK_RECORDS || h->kind == TRACE_CHUNK_ENTRIES)
			return 1;
	}
}
