/* SPDX-License-Identifier: Apache-2.0 */
/* replay_take.c - see replay_take.h. */
#include "work/plain/replay_take.h"

#include <fcntl.h>

#include "base/util.h"
#include "describe/opkind.h"

#define PAGE_BYTES UINT64_C(4096)

/* Linux moves no more with one call, whatever it is asked for (read(2)). */
#define CALL_MOST_BYTES UINT64_C(0x7ffff000)

/* In which way a record is done again. */
static const struct take_row {
	uint8_t op;   /* enum mlgen_op + 1; 0 = it is not */
	uint8_t left; /* enum replay_left + 1: the reason; 0 = nobody misses it */
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

static bool has_place(unsigned op)
{
	return replay_moves(op) || op == TRACE_ALLOCATE;
}

/* Why it cannot be done, + 1; 0 = it can. */
static unsigned reason(const struct trace_record *r, uint32_t file)
{
	if (!file)
		return LEFT_NO_FILE + 1;
	if ((has_place(r->op) || r->op == TRACE_CLOSE) && opkind_failed(r))
		return LEFT_FAILED + 1;
	if (has_place(r->op) && r->off == TRACE_UNKNOWN)
		return LEFT_NO_OFFSET + 1;
	if (has_place(r->op) && replay_bytes(r) > REPLAY_LARGEST_BYTES)
		return LEFT_TOO_LARGE + 1;
	return 0;
}

int replay_take(struct replay_op *op, const struct trace_record *r, uint32_t file,
		struct replay_left_counts *left)
{
	const struct take_row none = { 0 }, *row = r->op < TRACE_OPS ? &rows[r->op] : &none;
	unsigned why = row->op ? reason(r, file) : row->left;

	if (why)
		left->count[why - 1]++;
	if (why == LEFT_NO_OFFSET + 1 && (r->op == TRACE_WRITE || r->op == TRACE_ALLOCATE))
		left->writes++;
	if (!row->op || why)
		return 0;
	*op = (struct replay_op){ .op = (uint8_t)(row->op - 1), .file = file, .off = r->off };
	/* Where it is not known how, what is written is made, too. */
	if (r->op == TRACE_OPEN)
		op->len_bytes = r->len_bytes == TRACE_UNKNOWN ? O_CREAT : (uint32_t)r->len_bytes;
	if (r->op == TRACE_FAULT)
		op->off -= op->off % PAGE_BYTES;
	op->flags = (r->op == TRACE_FAULT ? REPLAY_TOUCH : 0) |
		    (opkind_failed(r) ? REPLAY_MAY_FAIL : 0);
	return 1;
}

/* ---- its file ---- */

static void was_there(struct replay_file *f)
{
	if (!(f->flags & REPLAY_FILE_MADE))
		f->flags |= REPLAY_FILE_THERE;
}

/* Somebody found so many bytes in it. */
static void had_bytes(struct replay_file *f, uint64_t bytes)
{
	if (f->flags & REPLAY_FILE_MADE)
		return;
	was_there(f);
	f->bytes = u64_max(f->bytes, bytes);
}

static void is_made(struct replay_file *f)
{
	f->flags |= REPLAY_FILE_CHANGED | REPLAY_FILE_MADE;
}

static void take_open(struct replay_file *f, uint64_t flags)
{
	if (flags == TRACE_UNKNOWN)
		return;
	if (flags & O_DIRECTORY)
		f->flags |= REPLAY_FILE_FOLDER;
	if (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL))
		is_made(f);
	else if (!(flags & O_CREAT))
		was_there(f);
}

static void take_read(struct replay_file *f, const struct trace_record *r)
{
	uint64_t got = r->op == TRACE_FAULT ? 1 : (uint64_t)r->result;

	if (got == 0)
		return;
	had_bytes(f, r->off + got);
	f->flags |= REPLAY_FILE_READ;
}

/* Where a name goes, or comes from. */
static void is_gone(struct replay_file *f, unsigned is)
{
	was_there(f);
	f->flags |= REPLAY_FILE_CHANGED | is;
}

void replay_take_file(struct replay_file *f, const struct trace_record *r)
{
	if (opkind_failed(r))
		return;
	switch (r->op) {
	case TRACE_OPEN:
		take_open(f, r->len_bytes);
		break;
	case TRACE_STAT:
		if (f->flags & REPLAY_FILE_CHANGED || r->len_bytes == TRACE_UNKNOWN)
			was_there(f);
		else
			had_bytes(f, r->len_bytes);
		break;
	case TRACE_READ:
	case TRACE_FAULT:
		take_read(f, r);
		break;
	case TRACE_WRITE:
	case TRACE_ALLOCATE:
		f->flags |= REPLAY_FILE_CHANGED;
		break;
	case TRACE_RENAME:
	case TRACE_UNLINK:
		is_gone(f, 0);
		f->flags |= REPLAY_FILE_MADE; /* who has the name now */
		break;
	case TRACE_MKDIR:
		is_made(f);
		f->flags |= REPLAY_FILE_FOLDER;
		break;
	case TRACE_RMDIR:
		is_gone(f, REPLAY_FILE_FOLDER);
		break;
	default:
		if (!(f->flags & REPLAY_FILE_CHANGED))
			was_there(f);
		break;
	}
}

void replay_take_device(struct replay_file *f, const struct trace_record *r)
{
	uint64_t end;

	if (__builtin_add_overflow(r->off, replay_bytes(r), &end) || end > UINT64_MAX - PAGE_BYTES)
		end = UINT64_MAX - PAGE_BYTES;
	/* How large the device is does not matter. */
	if (!(f->flags & REPLAY_FILE_DEVICE))
		f->bytes = 0;
	f->flags |= REPLAY_FILE_DEVICE | REPLAY_FILE_THERE |
		    (r->op == TRACE_WRITE ? REPLAY_FILE_CHANGED : REPLAY_FILE_READ);
	f->bytes = u64_max(f->bytes, round_up(end, PAGE_BYTES));
}
