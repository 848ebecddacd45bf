/* SPDX-License-Identifier: Apache-2.0 */
/* uring_ops.c - requests and results of operations that move no bytes. */
#include "io_uring.h"

/* ---- requests ---- */

static void prep_open(struct worker_ring *r, struct io_uring_sqe *sqe, struct mlgen_file *file)
{
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file);

	file->fd = -1;
	file->word = 0;
	if (r->free_slots.count) {
		hold_slot(r, file);
		/* The kernel refuses O_CLOEXEC for a slot, which no other program inherits. */
		io_uring_prep_openat_direct(sqe, at, name, uring_open_flags(file) & ~O_CLOEXEC,
					    file->mode, slot_of(file));
	} else {
		io_uring_prep_openat(sqe, at, name, uring_open_flags(file) | O_CLOEXEC, file->mode);
	}
}

/* size_bytes holds the index of the result in r->stats until the operation completes. */
static void prep_stat(struct worker_ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	bool by_fd = file->fd >= 0;

	op->size_bytes = stack_pop(&r->free_stats);
	io_uring_prep_statx(sqe, by_fd ? file->fd : mlgen_file_dir(file),
			    by_fd ? "" : mlgen_file_name(file), by_fd ? AT_EMPTY_PATH : 0,
			    STATX_SIZE, &r->stats[op->size_bytes]);
}

static void prep_close(struct io_uring_sqe *sqe, const struct mlgen_file *file)
{
	if (file->word)
		io_uring_prep_close_direct(sqe, slot_of(file));
	else
		io_uring_prep_close(sqe, file->fd);
}

/* The length field has 32 bits; newer kernels accept a longer length in addr. */
static void prep_advise(struct io_uring_sqe *sqe, int fd, const struct mlgen_io *op)
{
	io_uring_prep_fadvise(sqe, fd, op->off, 0, op->advice);
	if (op->len_bytes <= UINT32_MAX)
		sqe->len = (unsigned)op->len_bytes;
	else
		sqe->addr = op->len_bytes;
}

/* ---- results ---- */

static void settle_open(struct worker_ring *r, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;

	if (op->result < 0 && file->word)
		free_slot(r, file);
	if (op->result >= 0 && !file->word)
		file->fd = (int)op->result;
	if (op->result > 0)
		op->result = 0;
}

static void settle_stat(struct worker_ring *r, struct mlgen_io *op)
{
	unsigned at = (unsigned)op->size_bytes;

	op->size_bytes = op->result < 0 ? 0 : r->stats[at].stx_size;
	stack_push(&r->free_stats, at);
}

static void settle_close(struct worker_ring *r, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;

	/* The close did not run: the open before it failed and freed the slot. */
	if (op->result == -ECANCELED)
		return;
	if (file->word)
		free_slot(r, file);
	file->fd = -1;
}

bool uring_ops_supports(const struct worker_ring *r, const struct mlgen_io *op)
{
	/* Only newer kernels accept the length; see prep_advise. */
	if (op->op == MLGEN_ADVISE && op->len_bytes > UINT32_MAX && op->file->fd >= 0)
		return false;
	return r->supports[op->op];
}

void uring_ops_prep(struct worker_ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	int fd = file->word ? (int)slot_of(file) : file->fd;
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file);

	switch (op->op) {
	case MLGEN_OPEN:
		prep_open(r, sqe, file);
		return;
	case MLGEN_STAT:
		prep_stat(r, sqe, op);
		return;
	case MLGEN_CLOSE:
		prep_close(sqe, file);
		return;
	case MLGEN_RENAME:
		io_uring_prep_renameat(sqe, at, name, at, op->path2, 0);
		return;
	case MLGEN_UNLINK:
		io_uring_prep_unlinkat(sqe, at, name, 0);
		return;
	case MLGEN_RMDIR:
		io_uring_prep_unlinkat(sqe, at, name, AT_REMOVEDIR);
		return;
	case MLGEN_MKDIR:
		io_uring_prep_mkdirat(sqe, at, name, file->mode);
		return;
	case MLGEN_ALLOCATE:
		io_uring_prep_fallocate(sqe, fd, 0, (off_t)op->off, (off_t)op->len_bytes);
		break;
	case MLGEN_FSYNC:
		io_uring_prep_fsync(sqe, fd, 0);
		break;
	case MLGEN_FDATASYNC:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	case MLGEN_ADVISE:
		prep_advise(sqe, fd, op);
		break;
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_OPS:
		return;
	}
	/* Operations on an open file, by slot or descriptor. */
	if (file->word)
		sqe->flags |= IOSQE_FIXED_FILE;
}

void uring_ops_settle(struct worker_ring *r, struct mlgen_io *op)
{
	if (op->op == MLGEN_OPEN)
		settle_open(r, op);
	else if (op->op == MLGEN_STAT)
		settle_stat(r, op);
	else if (op->op == MLGEN_CLOSE)
		settle_close(r, op);
}
