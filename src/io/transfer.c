/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - buffers and transfers in parts, metadata calls, and records of a trace. */
#include "io/io_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * An engine operation moves at most 1 GiB and 1024 parts. Linux cuts a transfer at 2 GiB less a
 * page and refuses more parts (UIO_MAXIOV).
 */
#define ONE_CALL_BYTES (1ull << 30)
#define ONE_CALL_PARTS 1024ull
/* The part lists of all slots of a deep queue take 1 MiB; a slot has at least 16 parts. */
#define ALL_PARTS 65536ull
#define MIN_PARTS 16ull

#define SLICE_BYTES 4096ull /* slices are multiples of it */

/* Aim at one part. */
static void aim_at(struct io_op *op, void *at, uint64_t bytes)
{
	op->iov.iov_base = at;
	op->iov.iov_len = (size_t)bytes;
	op->io.iov = &op->iov;
	op->io.iovcnt = 1;
	op->io.len_bytes = bytes;
}

/* Aim at parts that repeat over the buffer, the first of them from `skip` on. */
static void aim_parts(struct iobuf *b, struct io_op *op, uint64_t skip, uint64_t rest)
{
	struct iovec *parts = &b->parts[op->slot * b->slot_parts];
	uint64_t moved = 0, n = 0;

	for (; n < b->slot_parts && moved < rest; n++, skip = 0) {
		uint64_t len = b->span_bytes - skip;

		if (len > rest - moved)
			len = rest - moved;
		parts[n].iov_base = b->base + skip;
		parts[n].iov_len = (size_t)len;
		moved += len;
	}
	op->io.iov = parts;
	op->io.iovcnt = (int)n;
	op->io.len_bytes = moved;
}

/* Aim at the caller's own list of parts, or at a copy of the rest of that list. */
static void aim_from(struct iobuf *b, struct io_op *op, uint64_t rest)
{
	struct iovec *parts = &b->parts[op->slot * b->slot_parts];
	const struct iovec *from = op->from;
	uint64_t skip = op->done_bytes, moved = 0, n = 0;

	if (skip == 0) {
		op->io.iov = from;
		op->io.iovcnt = (int)op->from_parts;
		op->io.len_bytes = rest;
		return;
	}
	for (; skip >= from->iov_len; from++)
		skip -= from->iov_len;
	for (; n < b->slot_parts && moved < rest; n++, from++, skip = 0) {
		parts[n].iov_base = (unsigned char *)from->iov_base + skip;
		parts[n].iov_len = from->iov_len - (size_t)skip;
		moved += parts[n].iov_len;
	}
	op->io.iov = parts;
	op->io.iovcnt = (int)n;
	op->io.len_bytes = moved;
}

void iobuf_init(struct iobuf *b, uint64_t bytes, unsigned depth, unsigned transfers)
{
	uint64_t span = bytes < ONE_CALL_BYTES ? bytes : ONE_CALL_BYTES;
	uint64_t parts = ALL_PARTS / (depth + 1);
	unsigned slices = transfers ? transfers : 1;

	if (parts < MIN_PARTS)
		parts = MIN_PARTS;
	if (parts > ONE_CALL_PARTS)
		parts = ONE_CALL_PARTS;
	if (parts > ONE_CALL_BYTES / span)
		parts = ONE_CALL_BYTES / span;
	*b = (struct iobuf){
		.span_bytes = span,
		.slice_bytes = bytes / slices / SLICE_BYTES * SLICE_BYTES,
		.slices = slices,
		.slot_parts = parts,
	};
	if (b->slice_bytes > span)
		b->slice_bytes = span;
	b->parts = mem_array((depth + 1) * b->slot_parts, sizeof(*b->parts));
	b->transfers.slot = mem_array(transfers, sizeof(unsigned));
	b->others.slot = mem_array(depth - transfers, sizeof(unsigned));
	for (unsigned i = depth; i > 0; i--)
		iobuf_release_slot(b, i - 1);
}

void iobuf_fini(struct iobuf *b)
{
	mem_free(b->parts);
	mem_free(b->transfers.slot);
	mem_free(b->others.slot);
	*b = (struct iobuf){ 0 };
}

void iobuf_aim_rest(struct iobuf *b, struct io_op *op)
{
	uint64_t rest = op->want_bytes - op->done_bytes;
	uint64_t skip = op->done_bytes ? op->done_bytes % b->span_bytes : 0;

	op->is_cut = true;
	op->io.off = op->first_off + op->done_bytes;
	if (op->from)
		aim_from(b, op, rest);
	else if (op->into)
		aim_at(op, (unsigned char *)op->into + op->done_bytes,
		       rest < ONE_CALL_BYTES ? rest : ONE_CALL_BYTES);
	else if (rest > b->span_bytes - skip)
		aim_parts(b, op, skip, rest);
	else
		aim_at(op, iobuf_at(b, op) + skip, rest);
}

#define DIRECT_BYTES 512ull /* smallest block at which O_DIRECT can resume */

/* Retries without progress: enough for a few signals, and never an endless loop. */
#define TRIES_MAX 100u

/*
 * Did a short transfer meet the end of the file? A direct read cannot resume at an unaligned offset
 * (-EINVAL), and only the end of a file makes it stop at one.
 */
static bool met_end(const struct io_op *op)
{
	const struct mlgen_io *e = &op->io;

	if (e->result == 0)
		return true;
	if (op->eof_ok && op->eof_bytes && op->done_bytes >= op->eof_bytes)
		return true;
	if (e->op == MLGEN_WRITE || !(e->file->flags & O_DIRECT))
		return false;
	return op->done_bytes % DIRECT_BYTES || (op->eof_ok && op->eof_bytes == 0);
}

static int64_t end_result(const struct io_op *op)
{
	if (op->io.op == MLGEN_WRITE)
		return -EIO; /* a write that moves nothing and gives no reason */
	if (!op->eof_ok || op->done_bytes < op->eof_bytes)
		return -ENODATA;
	return (int64_t)op->done_bytes;
}

/* EAGAIN of a READ or WRITE (nowait) is final: a retry would spin until the data arrives. */
bool transfer_may_retry(struct io_op *op)
{
	bool is_busy = op->io.result == -EAGAIN && !transfer_moves(op);

	if (op->io.result != -EINTR && !is_busy)
		return false;
	if (op->io.op == MLGEN_CLOSE && op->io.result == -EINTR)
		op->io.result = 0; /* Linux has closed the descriptor all the same */
	if (op->io.op == MLGEN_CLOSE || op->is_linked)
		return false;
	return op->tries++ < TRIES_MAX;
}

bool transfer_check_result(struct iobuf *buf, struct opstat *stat, struct io_op *op)
{
	uint64_t got = (uint64_t)op->io.result;

	if (op->io.result < 0)
		return transfer_may_retry(op);
	if (!transfer_moves(op))
		return false;
	op->done_bytes += got;
	transfer_count(stat, op, got);
	if (op->was_short && got)
		stat->short_ios[op->io.op == MLGEN_WRITE]++;
	if (op->done_bytes < op->want_bytes && !op->is_linked) {
		op->was_short = got < op->io.len_bytes;
		op->tries = 0;
		if (!op->was_short || !met_end(op)) {
			iobuf_aim_rest(buf, op);
			return true;
		}
		op->io.result = end_result(op);
		return false;
	}
	op->io.result = (int64_t)op->done_bytes;
	return false;
}

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

static int64_t meta_stat(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? fstatat(mlgen_file_dir(op->file), mlgen_file_name(op->file), &st, 0)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

static int64_t meta_result(struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	off_t off = (off_t)op->off, len = (off_t)op->len_bytes;
	const char *name = mlgen_file_name(file);
	int dir = mlgen_file_dir(file), rc;

	switch (op->op) {
	case MLGEN_OPEN:
		file->fd = openat(dir, name, file->flags | O_CLOEXEC, file->mode);
		return status(file->fd);
	case MLGEN_STAT:
		return meta_stat(op);
	case MLGEN_ALLOCATE:
		return status(fallocate(file->fd, 0, off, len));
	case MLGEN_FSYNC:
		return status(fsync(file->fd));
	case MLGEN_FDATASYNC:
		return status(fdatasync(file->fd));
	case MLGEN_ADVISE:
		return -posix_fadvise(file->fd, off, len, op->advice);
	case MLGEN_CLOSE:
		rc = close(file->fd);
		file->fd = -1;
		return status(rc);
	case MLGEN_RENAME:
		return status(renameat(dir, name, dir, op->path2));
	case MLGEN_UNLINK:
		return status(unlinkat(dir, name, 0));
	case MLGEN_MKDIR:
		return status(mkdirat(dir, name, file->mode));
	case MLGEN_RMDIR:
		return status(unlinkat(dir, name, AT_REMOVEDIR));
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_OPS:
		break;
	}
	return -EOPNOTSUPP;
}

void meta_do(struct mlgen_io *op)
{
	op->result = meta_result(op);
}

uint64_t meta_eof_before(const char *path, uint64_t off)
{
	struct mlgen_file file = { .path = path, .fd = -1 };
	struct mlgen_io op = { .op = MLGEN_STAT, .file = &file };

	meta_do(&op);
	return op.result == 0 && op.size_bytes < off ? op.size_bytes : off;
}

bool meta_end_fifo(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st) != 0 || !S_ISFIFO(st.st_mode))
		return false;
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return true;
}

/* Marks a file whose close, in a chain, is recorded before its open. The open then assigns no
 * number, because no close would release it. */
#define CLOSED_BEFORE UINT32_MAX

#define HAS_RANGE                                                                                  \
	(MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP(MLGEN_ALLOCATE) |              \
	 MLGEN_CAP(MLGEN_ADVISE))

/* Operations that are always recorded with names. */
#define NAMES                                                                                      \
	(MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_RENAME) | MLGEN_CAP(MLGEN_UNLINK) |               \
	 MLGEN_CAP(MLGEN_MKDIR) | MLGEN_CAP(MLGEN_RMDIR))

static const uint16_t kinds[MLGEN_OPS] = {
	[MLGEN_OPEN] = TRACE_OPEN,           [MLGEN_STAT] = TRACE_STAT,
	[MLGEN_READ] = TRACE_READ,           [MLGEN_WRITE] = TRACE_WRITE,
	[MLGEN_ALLOCATE] = TRACE_ALLOCATE,   [MLGEN_FSYNC] = TRACE_FSYNC,
	[MLGEN_FDATASYNC] = TRACE_FDATASYNC, [MLGEN_ADVISE] = TRACE_ADVISE,
	[MLGEN_CLOSE] = TRACE_CLOSE,         [MLGEN_RENAME] = TRACE_RENAME,
	[MLGEN_UNLINK] = TRACE_UNLINK,       [MLGEN_MKDIR] = TRACE_MKDIR,
	[MLGEN_RMDIR] = TRACE_RMDIR,
};

/* Names in a record: a path, and for a rename the second path as folder and name. */
struct names {
	const char *path, *folder, *name;
	size_t path_bytes, folder_bytes, name_bytes;
};

static struct names names_of(const struct mlgen_io *io)
{
	struct names n = { 0 };
	const char *slash;

	if (!io->file->path)
		return n;
	n.path = io->file->path;
	n.path_bytes = strnlen(n.path, TRACE_RING_NAME_BYTES);
	if (io->op != MLGEN_RENAME || !io->path2)
		return n;
	/* path2 is relative to the folder of the file if the file has a name of its own. */
	slash = memrchr(n.path, '/', n.path_bytes);
	if (io->file->name && slash) {
		n.folder = n.path;
		n.folder_bytes = (size_t)(slash - n.path) + 1;
	}
	n.name = io->path2;
	n.name_bytes = strnlen(n.name, TRACE_RING_NAME_BYTES - n.folder_bytes);
	return n;
}

static inline uint64_t length_of(const struct mlgen_io *io)
{
	if (MLGEN_CAP(io->op) & HAS_RANGE)
		return io->len_bytes;
	if (io->op == MLGEN_OPEN)
		return (uint64_t)(unsigned)io->file->flags;
	if (io->op == MLGEN_STAT)
		return io->result < 0 ? TRACE_UNKNOWN : io->size_bytes;
	return 0;
}

static inline void fill_record(struct trace_record *to, const struct io_op *op, bool is_async)
{
	const struct mlgen_io *io = &op->io;

	to->start_ns = op->start_ns;
	to->duration_ns = op->end_ns - op->start_ns;
	to->off = MLGEN_CAP(io->op) & HAS_RANGE ? io->off : TRACE_UNKNOWN;
	to->len_bytes = length_of(io);
	to->result = io->result;
	to->cpu_ns = TRACE_UNKNOWN;
	to->pid = to->tid = to->file = 0;
	to->op = kinds[io->op];
	to->flags = (uint16_t)((op->is_linked ? TRACE_CHAINED : 0) | (is_async ? TRACE_ASYNC : 0));
}

static void release_number(struct trace_ring *ring, struct mlgen_file *file)
{
	uint32_t number = trace_ring_number(ring, file->trace);

	if (number)
		trace_ring_free_number(ring, number);
	file->trace = 0;
}

static __attribute__((noinline)) void record_with_names(struct trace_ring *ring,
							const struct io_op *op, bool is_async)
{
	const struct names n = names_of(&op->io);
	size_t second = n.folder_bytes + n.name_bytes;
	unsigned slots = trace_ring_slots(n.path_bytes + second);
	struct trace_record *to = trace_ring_room(ring, slots, kinds[op->io.op], op->end_ns);
	struct mlgen_file *file = op->io.file;

	if (!to && op->io.op == MLGEN_OPEN)
		release_number(ring, file);
	if (!to)
		return;
	fill_record(to, op, is_async);
	to->pid = (uint32_t)n.path_bytes;
	to->tid = (uint32_t)second;
	if (op->io.op == MLGEN_OPEN) {
		bool is_late = file->trace == CLOSED_BEFORE && op->is_linked;

		release_number(ring, file);
		if (op->io.result >= 0 && !is_late)
			file->trace = trace_ring_alloc_number(ring);
		to->file = trace_ring_number(ring, file->trace); /* 0 = none */
		to->cpu_ns = op->io.size_bytes;
	}
	if (n.path_bytes)
		trace_ring_copy_name(ring, 0, n.path, n.path_bytes);
	if (n.folder_bytes)
		trace_ring_copy_name(ring, n.path_bytes, n.folder, n.folder_bytes);
	if (n.name_bytes)
		trace_ring_copy_name(ring, n.path_bytes + n.folder_bytes, n.name, n.name_bytes);
	trace_ring_publish(ring, slots);
}

void io_trace(struct trace_ring *ring, struct io_op *op, bool is_async)
{
	struct mlgen_file *file = op->io.file;
	uint32_t number;

	if (!file || op->io.result == -ECANCELED)
		return;
	number = trace_ring_number(ring, file->trace);
	if (number == 0 || MLGEN_CAP(op->io.op) & NAMES) {
		record_with_names(ring, op, is_async);
	} else {
		struct trace_record *to = trace_ring_room(ring, 1, kinds[op->io.op], op->end_ns);

		if (to) {
			fill_record(to, op, is_async);
			to->file = number;
			trace_ring_publish(ring, 1);
		}
	}
	if (op->io.op != MLGEN_CLOSE)
		return;
	release_number(ring, file);
	if (op->is_linked && !number)
		file->trace = CLOSED_BEFORE;
}
