/* SPDX-License-Identifier: Apache-2.0 */
/* io_trace.c - see io_trace.h. */
#include "io/io_trace.h"

#include <errno.h>
#include <string.h>

/* A chain's close that is seen before its open: that one gives no number, which nobody would give
 * back. */
#define CLOSED_BEFORE UINT32_MAX

#define HAS_RANGE                                                                                  \
	(MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP(MLGEN_ALLOCATE) |              \
	 MLGEN_CAP(MLGEN_ADVISE))

/* What is always told by name. */
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

/* What goes along with a record: a path, and of a rename the other one, in two parts. */
struct names {
	const char *path, *folder, *name;
	size_t path_bytes, folder_bytes, name_bytes;
};

/* path2 is in the folder of the file, where that has a name of its own. */
static void add_second(struct names *n, const struct mlgen_io *io)
{
	const char *slash = memrchr(n->path, '/', n->path_bytes);

	if (!io->path2)
		return;
	if (io->file->name && slash) {
		n->folder = n->path;
		n->folder_bytes = (size_t)(slash - n->path) + 1;
	}
	n->name = io->path2;
	n->name_bytes = strnlen(n->name, TRACE_RING_NAME_BYTES - n->folder_bytes);
}

static struct names names_of(const struct mlgen_io *io)
{
	struct names n = { 0 };

	if (!io->file->path)
		return n;
	n.path = io->file->path;
	n.path_bytes = strnlen(n.path, TRACE_RING_NAME_BYTES);
	if (io->op == MLGEN_RENAME)
		add_second(&n, io);
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

static inline void io_trace_fill(struct trace_record *to, const struct io_op *op, bool is_async)
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

static void let_go(struct trace_ring *ring, struct mlgen_file *file)
{
	uint32_t number = trace_ring_number(ring, file->trace);

	if (number)
		trace_ring_give_number(ring, number);
	file->trace = 0;
}

/* As a slot has it. */
static uint32_t take_number(struct trace_ring *ring, const struct io_op *op)
{
	struct mlgen_file *file = op->io.file;
	bool is_late = file->trace == CLOSED_BEFORE && op->is_linked;

	let_go(ring, file);
	if (op->io.result >= 0 && !is_late)
		file->trace = trace_ring_take_number(ring);
	return trace_ring_number(ring, file->trace);
}

static __attribute__((noinline)) void put_named(struct trace_ring *ring, const struct io_op *op,
						bool is_async)
{
	const struct names n = names_of(&op->io);
	size_t second = n.folder_bytes + n.name_bytes;
	unsigned slots = trace_ring_slots(n.path_bytes + second);
	struct trace_record *to = trace_ring_room(ring, slots, kinds[op->io.op], op->end_ns);

	if (!to && op->io.op == MLGEN_OPEN)
		let_go(ring, op->io.file);
	if (!to)
		return;
	io_trace_fill(to, op, is_async);
	to->pid = (uint32_t)n.path_bytes;
	to->tid = (uint32_t)second;
	if (op->io.op == MLGEN_OPEN) {
		to->file = take_number(ring, op);
		to->cpu_ns = op->io.size_bytes;
	}
	if (n.path_bytes)
		trace_ring_name(ring, 0, n.path, n.path_bytes);
	if (n.folder_bytes)
		trace_ring_name(ring, n.path_bytes, n.folder, n.folder_bytes);
	if (n.name_bytes)
		trace_ring_name(ring, n.path_bytes + n.folder_bytes, n.name, n.name_bytes);
	trace_ring_put(ring, slots);
}

/* The file has its number; or it has none, and is named. */
static inline void io_trace_put(struct trace_ring *ring, const struct io_op *op, uint32_t number,
				bool is_async)
{
	struct trace_record *to;

	if (number == 0 || MLGEN_CAP(op->io.op) & NAMES) {
		put_named(ring, op, is_async);
		return;
	}
	to = trace_ring_room(ring, 1, kinds[op->io.op], op->end_ns);
	if (!to)
		return;
	io_trace_fill(to, op, is_async);
	to->file = number;
	trace_ring_put(ring, 1);
}

void io_trace(struct trace_ring *ring, struct io_op *op, bool is_async)
{
	struct mlgen_file *file = op->io.file;
	uint32_t number;

	if (!file || op->io.result == -ECANCELED)
		return;
	number = trace_ring_number(ring, file->trace);
	io_trace_put(ring, op, number, is_async);
	if (op->io.op != MLGEN_CLOSE)
		return;
	let_go(ring, file);
	if (op->is_linked && !number)
		file->trace = CLOSED_BEFORE;
}
