/* SPDX-License-Identifier: Apache-2.0 */
/* replay_spool.c - converts records to operations, and stores these in a temporary file. */
#include "work/replay/replay_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/model/model.h"

/* Records beyond this offset are not replayed, because ext4 has no larger files. */
#define REPLAY_LARGEST_BYTES (UINT64_C(1) << 44)

/* ---- records that are not replayed ---- */

static const char *const reasons[LEFT_REASONS] = {
	[LEFT_GETDENTS] = "getdents",
	[LEFT_ADVISE] = "advise",
	[LEFT_MAPPING] = "mmap and munmap",
	[LEFT_SYSTEM] = "on files of the system or the program",
	[LEFT_NO_FILE] = "on files without a name",
	[LEFT_NO_OFFSET] = "without an offset",
	[LEFT_FAILED] = "that failed",
	[LEFT_TOO_LARGE] = "of more than 16 TiB",
	[LEFT_CLOSE] = "close of files that another thread opened",
};

uint64_t replay_left_text(const struct replay_left_counts *l, char *out, size_t bytes)
{
	uint64_t all = 0;
	size_t at = 0;

	*out = '\0';
	for (unsigned i = 0; i < LEFT_REASONS; i++) {
		if (!l->count[i])
			continue;
		all += l->count[i];
		if (at < bytes)
			at += (size_t)snprintf(out + at, bytes - at, "%s%" PRIu64 " %s",
					       at ? ", " : "", l->count[i], reasons[i]);
	}
	return all;
}

/* ---- the file ---- */

#define NOWHERE UINT64_MAX

enum { CHUNK_OPS = (REPLAY_CHUNK_BYTES - 16) / sizeof(struct replay_op) };

struct chunk {
	uint64_t next; /* offset of the next chunk; NOWHERE = none */
	uint64_t count;
	struct replay_op ops[CHUNK_OPS];
};

/* A worker, while its operations are written. */
struct spool_lane {
	struct chunk *chunk;
	uint64_t first; /* offset of its first chunk */
	uint64_t at;    /* offset of the present chunk */
};

struct replay_spool {
	int fd;
	const char *folder;
	VEC(struct spool_lane) lanes;
	uint64_t end; /* file size, in bytes */
};

int replay_spool_new(struct replay_spool **out, const char *measured, struct mlgen_err *err)
{
	const char *folder = unnamed_folder(measured);
	int fd = unnamed_open(folder);

	if (fd < 0)
		return mlgen_fail(
			err, fd,
			"%s: cannot create a temporary file: %s; set TMPDIR to another folder",
			folder, strerror(-fd));
	struct replay_spool *s = mem_zalloc(sizeof(*s));
	s->fd = fd;
	s->folder = folder;
	*out = s;
	return 0;
}

void replay_spool_free(struct replay_spool *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->lanes.count; i++)
		mem_free(s->lanes.at[i].chunk);
	vec_fini(&s->lanes);
	close(s->fd);
	mem_free(s);
}

static uint64_t alloc_chunk(struct replay_spool *s)
{
	uint64_t at = s->end;

	s->end += sizeof(struct chunk);
	return at;
}

static int write_chunk(const struct replay_spool *s, struct spool_lane *l, uint64_t next,
		       struct mlgen_err *err)
{
	l->chunk->next = next;
	int rc = writeall_at(s->fd, l->chunk, sizeof(*l->chunk), l->at);
	if (rc < 0)
		return mlgen_fail(err, rc,
				  "%s: cannot write the operations of the trace, 48 bytes each: "
				  "%s; set TMPDIR to another folder",
				  s->folder, strerror(-rc));
	l->chunk->count = 0;
	l->at = next;
	return 0;
}

int replay_spool_add(struct replay_spool *s, unsigned worker, const struct replay_op *op,
		     struct mlgen_err *err)
{
	int rc = 0;

	while (s->lanes.count <= worker)
		vec_push(&s->lanes, (struct spool_lane){ .first = NOWHERE, .at = NOWHERE });
	struct spool_lane *l = &s->lanes.at[worker];
	if (l->at == NOWHERE) {
		l->chunk = mem_zalloc(sizeof(*l->chunk));
		l->first = l->at = alloc_chunk(s);
	}
	if (l->chunk->count == CHUNK_OPS)
		rc = write_chunk(s, l, alloc_chunk(s), err);
	l->chunk->ops[l->chunk->count++] = *op;
	return rc;
}

int replay_spool_end(struct replay_spool *s, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->lanes.count && rc == 0; i++) {
		struct spool_lane *l = &s->lanes.at[i];

		if (l->at == NOWHERE)
			continue;
		rc = write_chunk(s, l, NOWHERE, err);
		mem_free(l->chunk);
		l->chunk = NULL;
	}
	return rc;
}

/* ---- reading ---- */

struct replay_cursor {
	const struct replay_spool *spool;
	uint64_t next; /* offset of the next chunk */
	uint64_t at;   /* index of the next operation in `chunk` */
	struct chunk chunk;
};

struct replay_cursor *replay_cursor_new(const struct replay_ops *o, unsigned worker)
{
	const struct replay_spool *s = o->spool;
	struct replay_cursor *c = mem_zalloc(sizeof(*c));

	c->spool = s;
	c->next = worker < s->lanes.count ? s->lanes.at[worker].first : NOWHERE;
	return c;
}

void replay_cursor_free(struct replay_cursor *c)
{
	mem_free(c);
}

static int read_chunk(struct replay_cursor *c, struct mlgen_err *err)
{
	char *to = (char *)&c->chunk;
	size_t done = 0;

	while (done < sizeof(c->chunk)) {
		ssize_t n = pread(c->spool->fd, to + done, sizeof(c->chunk) - done,
				  (off_t)(c->next + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return mlgen_fail(
				err, n ? -errno : -EIO,
				"%s: cannot read the temporary file of the trace's operations: %s",
				c->spool->folder, strerror(n ? errno : EIO));
		done += (size_t)n;
	}
	c->next = c->chunk.next;
	c->at = 0;
	/* The next chunk is read ahead. */
	if (c->next != NOWHERE)
		posix_fadvise(c->spool->fd, (off_t)c->next, sizeof(struct chunk),
			      POSIX_FADV_WILLNEED);
	return 0;
}

int replay_cursor_next(struct replay_cursor *c, const struct replay_op **op, struct mlgen_err *err)
{
	if (c->at == c->chunk.count) {
		int rc = c->next == NOWHERE ? 0 : read_chunk(c, err);

		if (rc < 0)
			return rc;
		if (c->at == c->chunk.count)
			return 0;
	}
	*op = &c->chunk.ops[c->at++];
	return 1;
}

/* ---- records as operations ---- */

#define PAGE_BYTES UINT64_C(4096)

/* The most bytes that one call moves on Linux (read(2)). */
#define CALL_MOST_BYTES UINT64_C(0x7ffff000)

/* How each operation of a trace is converted. */
static const struct op_row {
	uint8_t op;   /* enum mlgen_op + 1; 0 = none */
	uint8_t left; /* enum replay_left + 1: why there is none; 0 = not counted */
} rows[TRACE_OPS] = {
	[TRACE_OPEN] = { MLGEN_OPEN + 1, 0 },
	[TRACE_CLOSE] = { MLGEN_CLOSE + 1, 0 },
	[TRACE_STAT] = { MLGEN_STAT + 1, 0 },
	[TRACE_READ] = { MLGEN_READ + 1, 0 },
	[TRACE_WRITE] = { MLGEN_WRITE + 1, 0 },
	[TRACE_FSYNC] = { MLGEN_FSYNC + 1, 0 },
	[TRACE_FDATASYNC] = { MLGEN_FDATASYNC + 1, 0 },
	[TRACE_RENAME] = { MLGEN_RENAME + 1, 0 },
	[TRACE_UNLINK] = { MLGEN_UNLINK + 1, 0 },
	[TRACE_MKDIR] = { MLGEN_MKDIR + 1, 0 },
	[TRACE_RMDIR] = { MLGEN_RMDIR + 1, 0 },
	[TRACE_ALLOCATE] = { MLGEN_ALLOCATE + 1, 0 },
	[TRACE_FAULT] = { MLGEN_READ + 1, 0 },
	[TRACE_GETDENTS] = { 0, LEFT_GETDENTS + 1 },
	[TRACE_ADVISE] = { 0, LEFT_ADVISE + 1 },
	[TRACE_MMAP] = { 0, LEFT_MAPPING + 1 },
	[TRACE_MUNMAP] = { 0, LEFT_MAPPING + 1 },
};

bool replay_moves(unsigned op)
{
	return op == TRACE_READ || op == TRACE_WRITE || op == TRACE_FAULT;
}

uint64_t replay_bytes(const struct trace_record *r)
{
	bool is_known = r->len_bytes != TRACE_UNKNOWN;

	if (r->op == TRACE_FAULT)
		return is_known && r->len_bytes ? r->len_bytes : PAGE_BYTES;
	if (r->op == TRACE_WRITE || !is_known)
		return r->result > 0 ? (uint64_t)r->result : 0;
	return r->op == TRACE_READ ? u64_min(r->len_bytes, CALL_MOST_BYTES) : r->len_bytes;
}

static bool has_offset(unsigned op)
{
	return replay_moves(op) || op == TRACE_ALLOCATE;
}

/* The reason why a record cannot be replayed, + 1; 0 = it can. */
static unsigned reason(const struct trace_record *r, uint32_t file)
{
	if (!file)
		return LEFT_NO_FILE + 1;
	if ((has_offset(r->op) || r->op == TRACE_CLOSE) && opkind_failed(r))
		return LEFT_FAILED + 1;
	if (has_offset(r->op) && r->off == TRACE_UNKNOWN)
		return LEFT_NO_OFFSET + 1;
	if (has_offset(r->op) && replay_bytes(r) > REPLAY_LARGEST_BYTES)
		return LEFT_TOO_LARGE + 1;
	return 0;
}

int replay_op_from(struct replay_op *op, const struct trace_record *r, uint32_t file,
		   struct replay_left_counts *left)
{
	const struct op_row none = { 0 }, *row = r->op < TRACE_OPS ? &rows[r->op] : &none;
	unsigned why = row->op ? reason(r, file) : row->left;

	if (why)
		left->count[why - 1]++;
	if (why == LEFT_NO_OFFSET + 1 && (r->op == TRACE_WRITE || r->op == TRACE_ALLOCATE))
		left->writes++;
	if (!row->op || why)
		return 0;
	*op = (struct replay_op){ .op = (uint8_t)(row->op - 1), .file = file, .off = r->off };
	/* If the flags are unknown, a file that is written also has to be made. */
	if (r->op == TRACE_OPEN)
		op->len_bytes = r->len_bytes == TRACE_UNKNOWN ? O_CREAT : (uint32_t)r->len_bytes;
	if (r->op == TRACE_FAULT)
		op->off -= op->off % PAGE_BYTES;
	op->flags = (r->op == TRACE_FAULT ? REPLAY_TOUCH : 0) |
		    (opkind_failed(r) ? REPLAY_MAY_FAIL : 0);
	return 1;
}

/* ---- records and their files ---- */

static void mark_present(struct replay_file *f)
{
	if (!(f->flags & REPLAY_FILE_MADE))
		f->flags |= REPLAY_FILE_PRESENT;
}

/* A record shows that the file had at least `bytes`. */
static void extend_present(struct replay_file *f, uint64_t bytes)
{
	if (f->flags & REPLAY_FILE_MADE)
		return;
	mark_present(f);
	f->bytes = u64_max(f->bytes, bytes);
}

static void mark_made(struct replay_file *f)
{
	f->flags |= REPLAY_FILE_CHANGED | REPLAY_FILE_MADE;
}

static void add_open(struct replay_file *f, uint64_t flags)
{
	if (flags == TRACE_UNKNOWN)
		return;
	if (flags & O_DIRECTORY)
		f->flags |= REPLAY_FILE_FOLDER;
	if (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL))
		mark_made(f);
	else if (!(flags & O_CREAT))
		mark_present(f);
}

void replay_file_add_record(struct replay_file *f, const struct trace_record *r)
{
	uint64_t got = r->op == TRACE_FAULT ? 1 : (uint64_t)r->result;

	if (opkind_failed(r))
		return;
	switch (r->op) {
	case TRACE_OPEN:
		add_open(f, r->len_bytes);
		break;
	case TRACE_STAT:
		if (f->flags & REPLAY_FILE_CHANGED || r->len_bytes == TRACE_UNKNOWN)
			mark_present(f);
		else
			extend_present(f, r->len_bytes);
		break;
	case TRACE_READ:
	case TRACE_FAULT:
		if (got == 0)
			break;
		extend_present(f, r->off + got);
		f->flags |= REPLAY_FILE_READ;
		break;
	case TRACE_WRITE:
	case TRACE_ALLOCATE:
		f->flags |= REPLAY_FILE_CHANGED;
		break;
	case TRACE_RENAME:
	case TRACE_UNLINK:
		mark_present(f);
		/* Another file may get the name afterwards. */
		f->flags |= REPLAY_FILE_CHANGED | REPLAY_FILE_MADE;
		break;
	case TRACE_MKDIR:
		mark_made(f);
		f->flags |= REPLAY_FILE_FOLDER;
		break;
	case TRACE_RMDIR:
		mark_present(f);
		f->flags |= REPLAY_FILE_CHANGED | REPLAY_FILE_FOLDER;
		break;
	default:
		if (!(f->flags & REPLAY_FILE_CHANGED))
			mark_present(f);
		break;
	}
}

void replay_file_add_device(struct replay_file *f, const struct trace_record *r)
{
	uint64_t end;

	if (__builtin_add_overflow(r->off, replay_bytes(r), &end) || end > UINT64_MAX - PAGE_BYTES)
		end = UINT64_MAX - PAGE_BYTES;
	/* The size of the device, which the trace may state, is not needed. */
	if (!(f->flags & REPLAY_FILE_DEVICE))
		f->bytes = 0;
	f->flags |= REPLAY_FILE_DEVICE | REPLAY_FILE_PRESENT |
		    (r->op == TRACE_WRITE ? REPLAY_FILE_CHANGED : REPLAY_FILE_READ);
	f->bytes = u64_max(f->bytes, round_up(end, PAGE_BYTES));
}
