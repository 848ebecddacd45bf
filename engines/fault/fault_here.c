/* SPDX-License-Identifier: Apache-2.0 */
/* fault_here.c - perform metadata operations that the wrapped engine does not support. */
#include "fault.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t fault_status(int rc)
{
	return rc < 0 ? -errno : 0;
}

static int64_t fault_stat(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? fstatat(mlgen_file_dir(op->file), mlgen_file_name(op->file), &st, 0)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

int64_t fault_here_do(struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	off_t off = (off_t)op->off, len = (off_t)op->len_bytes;
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file), rc;

	switch (op->op) {
	case MLGEN_OPEN:
		file->fd = openat(at, name, file->flags | O_CLOEXEC, file->mode);
		return fault_status(file->fd);
	case MLGEN_STAT:
		return fault_stat(op);
	case MLGEN_ALLOCATE:
		return fault_status(fallocate(file->fd, 0, off, len));
	case MLGEN_FSYNC:
		return fault_status(fsync(file->fd));
	case MLGEN_FDATASYNC:
		return fault_status(fdatasync(file->fd));
	case MLGEN_ADVISE:
		return -posix_fadvise(file->fd, off, len, op->advice);
	case MLGEN_CLOSE:
		rc = close(file->fd);
		file->fd = -1;
		return fault_status(rc);
	case MLGEN_RENAME:
		return fault_status(renameat(at, name, at, op->path2));
	case MLGEN_UNLINK:
		return fault_status(unlinkat(at, name, 0));
	case MLGEN_MKDIR:
		return fault_status(mkdirat(at, name, file->mode));
	case MLGEN_RMDIR:
		return fault_status(unlinkat(at, name, AT_REMOVEDIR));
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_OPS:
		break;
	}
	return -EOPNOTSUPP; /* only the wrapped engine moves bytes */
}
