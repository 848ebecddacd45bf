/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c - operations on files and names by plain system calls. */
#include "io/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

static int64_t meta_open(struct mlgen_io *op)
{
	op->file->fd = openat(mlgen_file_dir(op->file), mlgen_file_name(op->file),
			      op->file->flags | O_CLOEXEC, op->file->mode);
	return status(op->file->fd);
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

static int64_t meta_allocate(struct mlgen_io *op)
{
	return status(fallocate(op->file->fd, 0, (off_t)op->off, (off_t)op->len_bytes));
}

static int64_t meta_fsync(struct mlgen_io *op)
{
	return status(fsync(op->file->fd));
}

static int64_t meta_fdatasync(struct mlgen_io *op)
{
	return status(fdatasync(op->file->fd));
}

static int64_t meta_advise(struct mlgen_io *op)
{
	return -posix_fadvise(op->file->fd, (off_t)op->off, (off_t)op->len_bytes, op->advice);
}

static int64_t meta_close(struct mlgen_io *op)
{
	int64_t rc = status(close(op->file->fd));

	op->file->fd = -1;
	return rc;
}

static int64_t meta_rename(struct mlgen_io *op)
{
	return status(renameat(mlgen_file_dir(op->file), mlgen_file_name(op->file),
			       mlgen_file_dir(op->file), op->path2));
}

static int64_t meta_unlink(struct mlgen_io *op)
{
	return status(unlinkat(mlgen_file_dir(op->file), mlgen_file_name(op->file), 0));
}

static int64_t meta_mkdir(struct mlgen_io *op)
{
	return status(mkdirat(mlgen_file_dir(op->file), mlgen_file_name(op->file), op->file->mode));
}

static int64_t meta_rmdir(struct mlgen_io *op)
{
	return status(unlinkat(mlgen_file_dir(op->file), mlgen_file_name(op->file), AT_REMOVEDIR));
}

/* clang-format off */
static int64_t (*const meta[MLGEN_OPS])(struct mlgen_io *) = {
	[MLGEN_OPEN] = meta_open,
	[MLGEN_STAT] = meta_stat,
	[MLGEN_ALLOCATE] = meta_allocate,
	[MLGEN_FSYNC] = meta_fsync,
	[MLGEN_FDATASYNC] = meta_fdatasync,
	[MLGEN_ADVISE] = meta_advise,
	[MLGEN_CLOSE] = meta_close,
	[MLGEN_RENAME] = meta_rename,
	[MLGEN_UNLINK] = meta_unlink,
	[MLGEN_MKDIR] = meta_mkdir,
	[MLGEN_RMDIR] = meta_rmdir,
};
/* clang-format on */

void meta_do(struct mlgen_io *op)
{
	int64_t (*does)(struct mlgen_io *) = meta[op->op];

	op->result = does ? does(op) : -EOPNOTSUPP;
}

uint64_t meta_end_before(const char *path, uint64_t off)
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
