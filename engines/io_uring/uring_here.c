/* SPDX-License-Identifier: Apache-2.0 */
/* uring_here.c - perform operations that this ring does not support by system calls. */
#include "io_uring.h"

#include <unistd.h>

static int64_t here_status(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* The descriptor is registered in a slot, so that a polled ring can read by slot, too. */
static int64_t open_here(struct worker_ring *r, struct mlgen_file *file)
{
	file->word = 0;
	file->fd = openat(mlgen_file_dir(file), mlgen_file_name(file),
			  uring_open_flags(file) | O_CLOEXEC, file->mode);
	if (file->fd < 0)
		return -errno;
	if (r->free_slots.count) {
		hold_slot(r, file);
		if (io_uring_register_files_update(&r->uring, slot_of(file), &file->fd, 1) != 1)
			free_slot(r, file);
	}
	return 0;
}

static int64_t stat_here(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? fstatat(mlgen_file_dir(op->file), mlgen_file_name(op->file), &st, 0)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

static int64_t close_here(struct worker_ring *r, struct mlgen_file *file)
{
	const int none = -1;
	int64_t rc = here_status(close(file->fd));

	if (file->word) {
		io_uring_register_files_update(&r->uring, slot_of(file), &none, 1);
		free_slot(r, file);
	}
	file->fd = -1;
	return rc;
}

int64_t uring_here_do(struct worker_ring *r, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	off_t off = (off_t)op->off, len = (off_t)op->len_bytes;
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file);

	switch (op->op) {
	case MLGEN_OPEN:
		return open_here(r, file);
	case MLGEN_STAT:
		return stat_here(op);
	case MLGEN_ALLOCATE:
		return here_status(fallocate(file->fd, 0, off, len));
	case MLGEN_FSYNC:
		return here_status(fsync(file->fd));
	case MLGEN_FDATASYNC:
		return here_status(fdatasync(file->fd));
	case MLGEN_ADVISE:
		return -posix_fadvise(file->fd, off, len, op->advice);
	case MLGEN_CLOSE:
		return close_here(r, file);
	case MLGEN_RENAME:
		return here_status(renameat(at, name, at, op->path2));
	case MLGEN_UNLINK:
		return here_status(unlinkat(at, name, 0));
	case MLGEN_MKDIR:
		return here_status(mkdirat(at, name, file->mode));
	case MLGEN_RMDIR:
		return here_status(unlinkat(at, name, AT_REMOVEDIR));
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_OPS:
		break;
	}
	return -EOPNOTSUPP;
}
