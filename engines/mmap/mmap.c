/* SPDX-License-Identifier: Apache-2.0 */
/* mmap.c - engine: copies to and from files that are mapped into memory. */
#include "mmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mmap_opts {
	uint64_t mmap_from;
	bool thp;
};

/* clang-format off */
static const struct mlgen_field mmap_fields[] = {
	{ "mmap_from", MLGEN_F_SIZE(struct mmap_opts, mmap_from),
	  .def = "0", .group = "mmap",
	  .help = "Smaller reads use read(2). The first read of this size or more maps the file; 0 maps each file when it is opened." },
	{ "thp", MLGEN_F_BOOL(struct mmap_opts, thp),
	  .def = "0", .group = "mmap", .flags = MLGEN_FIO,
	  .help = "Request transparent huge pages for the mappings; the filesystem decides." },
	{ 0 },
};
/* clang-format on */

/* ---- set-up ---- */

/* Does this kernel support transparent huge pages? madvise on a file's mapping would not fail. */
static bool has_thp(size_t page_bytes)
{
	void *p = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has = p != MAP_FAILED && madvise(p, page_bytes, MADV_HUGEPAGE) == 0;

	if (p != MAP_FAILED)
		munmap(p, page_bytes);
	return has;
}

static void choose_pages(struct mlgen_ctx *ctx, struct map_table *t)
{
	const struct mmap_opts *opts = ctx->opts;

	if (!opts || !opts->thp)
		return;
	t->thp = has_thp((size_t)t->page_bytes);
	if (t->thp)
		snprintf(ctx->in_use, sizeof(ctx->in_use), "thp");
	else
		snprintf(
			ctx->note, sizeof(ctx->note),
			"thp: this kernel has no transparent huge pages; mappings use small pages");
}

static int mmap_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	const struct mmap_opts *opts = ctx->opts;
	struct map_table *t = calloc(1, sizeof(*t));

	(void)err;
	if (!t)
		return -ENOMEM;
	ctx->priv = t;
	mmap_guard_thread();
	t->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	t->from_bytes = opts ? opts->mmap_from : 0;
	t->count = ctx->files > ctx->iodepth ? ctx->files : ctx->iodepth;
	t->maps = calloc(t->count, sizeof(*t->maps));
	t->unused = calloc(t->count, sizeof(*t->unused));
	if (!t->maps || !t->unused)
		return -ENOMEM;
	for (unsigned i = t->count; i > 0; i--)
		t->unused[t->unused_count++] = i - 1;
	choose_pages(ctx, t);
	return 0;
}

static void mmap_fini(struct mlgen_ctx *ctx)
{
	struct map_table *t = ctx->priv;

	if (!t)
		return;
	for (unsigned i = 0; t->maps && i < t->count; i++)
		mmap_map_drop(&t->maps[i]);
	free(t->unused);
	free(t->maps);
	free(t);
	ctx->priv = NULL;
}

/* ---- operations; the result is bytes, 0 or -errno ---- */

/* The file's mapping; NULL with the error in *rc. */
static struct file_map *map_of(struct map_table *t, struct mlgen_file *file, int *rc)
{
	if (file->word == 0) {
		int flags = fcntl(file->fd, F_GETFL);

		*rc = flags < 0 ? -errno : mmap_map_attach(t, file, flags);
		if (*rc < 0)
			return NULL;
	}
	return &t->maps[file->word - 1];
}

static uint64_t bytes_left(const struct file_map *m, uint64_t off)
{
	return off < m->size_bytes ? m->size_bytes - off : 0;
}

static bool is_valid_range(const struct mlgen_io *op)
{
	return op->off <= INT64_MAX && op->len_bytes <= INT64_MAX - op->off;
}

/* Read a file that became shorter, up to its end as pread(2) does. */
static int64_t read_rest(const struct file_map *m, const struct mlgen_io *op, uint64_t bytes)
{
	int64_t size = mmap_map_size(op->file->fd);

	if (size < 0 || (uint64_t)size >= op->off + bytes)
		return -EIO;
	bytes = (uint64_t)size > op->off ? (uint64_t)size - op->off : 0;
	return mmap_guard_copy(m, op, bytes);
}

/* The descriptor of a file opened for writing can be read, too, so the open mode is checked here.
 */
static int64_t read_unmapped(const struct mlgen_io *op)
{
	ssize_t n;

	if ((op->file->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	n = preadv(op->file->fd, op->iov, op->iovcnt, (off_t)op->off);
	return n < 0 ? -errno : n;
}

static int64_t mmap_read(struct map_table *t, struct mlgen_io *op)
{
	int rc = 0;
	struct file_map *m;
	uint64_t bytes = op->len_bytes;
	int64_t done;

	if (bytes < t->from_bytes)
		return read_unmapped(op);
	m = map_of(t, op->file, &rc);
	if (!m)
		return rc;
	if (!(m->prot & PROT_READ))
		return -EBADF;
	if (bytes > bytes_left(m, op->off)) {
		rc = is_valid_range(op) ? mmap_map_follow(t, m, op->file->fd, GROW_BYTES) : -EINVAL;
		if (rc < 0)
			return rc;
		if (bytes > bytes_left(m, op->off))
			bytes = bytes_left(m, op->off);
	}
	done = mmap_guard_copy(m, op, bytes);
	return done == -EIO ? read_rest(m, op, bytes) : done;
}

/*
 * Find the error of a write that raised SIGBUS. A page of a hole raises SIGBUS when no space is
 * left; allocating the same blocks then fails, too. On a bad device the allocation does not fail. A
 * file that became shorter is not extended.
 */
static int64_t write_error(const struct mlgen_io *op)
{
	off_t off = (off_t)op->off, len = (off_t)op->len_bytes;
	struct stat st;

	if (fstat(op->file->fd, &st) != 0 || st.st_size < off + len)
		return -EIO;
	if (fallocate(op->file->fd, FALLOC_FL_KEEP_SIZE, off, len) != 0 &&
	    (errno == ENOSPC || errno == EDQUOT))
		return -errno;
	return -EIO;
}

/* Write the bytes that fit. The caller submits the rest again, and that call gets the error. */
static int64_t mmap_write(struct map_table *t, struct mlgen_io *op)
{
	int rc = 0;
	struct file_map *m = map_of(t, op->file, &rc);
	uint64_t bytes = op->len_bytes;
	int64_t done;

	if (!m)
		return rc;
	if (!(m->prot & PROT_WRITE))
		return -EBADF;
	if (bytes > bytes_left(m, op->off)) {
		rc = is_valid_range(op) ? mmap_map_grow(t, m, op) : -EINVAL;
		if (rc < 0 && bytes_left(m, op->off) == 0)
			return rc;
		if (bytes > bytes_left(m, op->off))
			bytes = bytes_left(m, op->off);
	}
	done = mmap_guard_copy(m, op, bytes);
	return done == -EIO ? write_error(op) : done;
}

static int64_t mmap_status(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* A folder is opened only to be synced, and has no mapping. */
static int64_t mmap_open(struct map_table *t, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	int flags = file->flags | O_CLOEXEC, rc;

	/* A shared mapping for writing needs a descriptor that can be read: mmap(2). */
	if ((flags & O_ACCMODE) == O_WRONLY)
		flags = (flags & ~O_ACCMODE) | O_RDWR;
	file->word = 0;
	file->fd = openat(mlgen_file_dir(file), mlgen_file_name(file), flags, file->mode);
	if (file->fd < 0)
		return -errno;
	if (t->from_bytes)
		return 0;
	rc = mmap_map_attach(t, file, file->flags);
	if (rc == 0 || rc == -EISDIR)
		return 0;
	close(file->fd);
	file->fd = -1;
	return rc;
}

static int64_t mmap_close(struct map_table *t, struct mlgen_io *op)
{
	int64_t rc;

	mmap_map_detach(t, op->file);
	rc = mmap_status(close(op->file->fd));
	op->file->fd = -1;
	return rc;
}

/* fsync on Linux also writes back stores into mappings. A separate msync would flush the device a
 * second time. */
static int64_t mmap_fsync(struct map_table *t, struct mlgen_io *op)
{
	(void)t;
	return mmap_status(fsync(op->file->fd));
}

static int64_t mmap_fdatasync(struct map_table *t, struct mlgen_io *op)
{
	const struct file_map *m = op->file->word ? &t->maps[op->file->word - 1] : NULL;

	if (!m || !m->base || !(m->prot & PROT_WRITE))
		return mmap_status(fdatasync(op->file->fd));
	return mmap_status(msync(m->base, (size_t)m->mapped_bytes, MS_SYNC));
}

static int madvice(int advice)
{
	switch (advice) {
	case POSIX_FADV_RANDOM:
		return MADV_RANDOM;
	case POSIX_FADV_SEQUENTIAL:
		return MADV_SEQUENTIAL;
	case POSIX_FADV_WILLNEED:
		return MADV_WILLNEED;
	case POSIX_FADV_DONTNEED:
		return MADV_DONTNEED;
	default:
		return MADV_NORMAL;
	}
}

/* The mapping is advised first, because mapped pages are not dropped from the cache. */
static int64_t mmap_advise(struct map_table *t, struct mlgen_io *op)
{
	const struct file_map *m = op->file->word ? &t->maps[op->file->word - 1] : NULL;
	uint64_t start = op->off / t->page_bytes * t->page_bytes;

	if (m && start < m->mapped_bytes) {
		uint64_t bytes = m->mapped_bytes - start;

		if (op->len_bytes && op->len_bytes + op->off - start < bytes)
			bytes = op->len_bytes + op->off - start;
		madvise(m->base + start, (size_t)bytes, madvice(op->advice));
	}
	return -posix_fadvise(op->file->fd, (off_t)op->off, (off_t)op->len_bytes, op->advice);
}

/* Each row has its cap in the engine's table below. */
/* clang-format off */
static int64_t (*const operations[MLGEN_OPS])(struct map_table *, struct mlgen_io *) = {
	[MLGEN_OPEN] = mmap_open,
	[MLGEN_READ] = mmap_read,
	[MLGEN_WRITE] = mmap_write,
	[MLGEN_FSYNC] = mmap_fsync,
	[MLGEN_FDATASYNC] = mmap_fdatasync,
	[MLGEN_ADVISE] = mmap_advise,
	[MLGEN_CLOSE] = mmap_close,
};
/* clang-format on */

static int mmap_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct mlgen_io *op = io[0];

	(void)n; /* always 1: this engine has no reap */
	op->result = operations[op->op](ctx->priv, op);
	return 1;
}

const struct mlgen_engine mlgen_engine_mmap = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "mmap",
	.help = "copies to and from mapped files; one request at a time per worker",
	.caps = MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP(MLGEN_FSYNC) | MLGEN_CAP(MLGEN_FDATASYNC) | MLGEN_CAP(MLGEN_ADVISE) |
		MLGEN_CAP(MLGEN_CLOSE) | MLGEN_CAP_PRIVATE_FDS,
	.opts = mmap_fields,
	.opts_size = sizeof(struct mmap_opts),
	.job_init = mmap_guard_job_init,
	.job_fini = mmap_guard_job_fini,
	.init = mmap_init,
	.fini = mmap_fini,
	.submit = mmap_submit, /* no reap: done when submit returns */
};
