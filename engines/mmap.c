/* SPDX-License-Identifier: Apache-2.0 */
/* mmap.c - engine: copies to and from files that are mapped into memory. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <mlgen/engine.h>

/*
 * A file is mapped whole when it is opened, and at its first use where another
 * has opened it; file->word is 1 + its place in the worker's table.
 *
 * A mapping may be longer than its file, never shorter: that a file grows
 * costs a mapping now and then, and its size is exact all the time. What lies
 * behind the end of a file that became shorter raises SIGBUS, as does a page
 * that the device cannot deliver; either becomes -EIO of the operation.
 */
struct mmap_opts {
	bool thp;
};

/* clang-format off */
static const struct mlgen_field mmap_fields[] = {
	{ "thp", MLGEN_F_BOOL(struct mmap_opts, thp),
	  .def = "0", .group = "mmap", .flags = MLGEN_FIO,
	  .help = "Ask for transparent huge pages in the mappings; the filesystem decides." },
	{ 0 },
};
/* clang-format on */

#define GROW_BYTES (1ull << 30) /* of addresses, which cost nothing */

struct map {
	char *base; /* NULL: of an empty file nothing can be mapped */
	uint64_t mapped_bytes;
	uint64_t size_bytes; /* of the file; it may have grown since */
	int prot;            /* what open(2) was asked for */
};

struct table {
	struct map *maps;
	unsigned *unused; /* a stack of their numbers */
	unsigned count, unused_count;
	uint64_t page_bytes;
	bool thp;
};

/*
 * A signal has one handler in the whole process, so this is the one engine
 * with variables of its own: who is to be woken, per thread, and what was
 * there before the first job that uses it.
 */
struct guard {
	sigjmp_buf env;
	const char *from, *to; /* the mapping in use */
};

static _Thread_local struct guard *volatile guard;
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static struct sigaction previous;

/* A fault comes again by itself, a signal that was sent does not. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
	if (previous.sa_flags & SA_SIGINFO) {
		previous.sa_sigaction(sig, info, context);
		return;
	}
	if (previous.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
		previous.sa_handler(sig);
		return;
	}
	sigaction(sig, &previous, NULL);
	if (info->si_code <= 0)
		raise(sig);
}

/* A handler that is left by a jump has to restore the mask itself: the next
 * fault would find its signal blocked, which ends the process. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *found = context;
	struct guard *g = guard;
	const char *at = info->si_addr;

	if (g && info->si_code > 0 && at >= g->from && at < g->to) {
		guard = NULL;
		pthread_sigmask(SIG_SETMASK, &found->uc_sigmask, NULL);
		siglongjmp(g->env, 1);
	}
	pass_on(sig, info, context);
}

static int mmap_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	struct sigaction ours = { .sa_sigaction = on_sigbus,
				  .sa_flags = SA_SIGINFO };
	int rc = 0;

	pthread_mutex_lock(&users_lock);
	if (users == 0 && sigaction(SIGBUS, &ours, &previous) != 0)
		rc = mlgen_fail(err, -errno, "ioengine=mmap: sigaction: %s",
				strerror(errno));
	else
		job->priv = &users;
	users += job->priv != NULL;
	pthread_mutex_unlock(&users_lock);
	return rc;
}

static void mmap_job_fini(struct mlgen_engine_job *job)
{
	pthread_mutex_lock(&users_lock);
	if (job->priv && --users == 0)
		sigaction(SIGBUS, &previous, NULL);
	job->priv = NULL;
	pthread_mutex_unlock(&users_lock);
}

/* Does this kernel know them at all? A file's mapping never says no. */
static bool has_thp(size_t page_bytes)
{
	void *p = mmap(NULL, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	bool has =
		p != MAP_FAILED && madvise(p, page_bytes, MADV_HUGEPAGE) == 0;

	if (p != MAP_FAILED)
		munmap(p, page_bytes);
	return has;
}

static void choose_pages(struct mlgen_ctx *ctx, struct table *t)
{
	const struct mmap_opts *opts = ctx->opts;

	if (!opts || !opts->thp)
		return;
	t->thp = has_thp((size_t)t->page_bytes);
	if (t->thp)
		snprintf(ctx->in_use, sizeof(ctx->in_use), "thp");
	else
		snprintf(ctx->note, sizeof(ctx->note),
			 "thp: this kernel has no transparent huge pages; "
			 "mappings have small ones");
}

static int mmap_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct table *t = calloc(1, sizeof(*t));
	sigset_t sigbus;

	(void)err;
	if (!t)
		return -ENOMEM;
	ctx->priv = t;
	/* Of a fault whose signal is blocked the process dies. */
	sigemptyset(&sigbus);
	sigaddset(&sigbus, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &sigbus, NULL);
	t->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
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

static void unmap(struct map *m)
{
	if (m->base)
		munmap(m->base, (size_t)m->mapped_bytes);
	*m = (struct map){ 0 };
}

static void mmap_fini(struct mlgen_ctx *ctx)
{
	struct table *t = ctx->priv;

	if (!t)
		return;
	for (unsigned i = 0; t->maps && i < t->count; i++)
		unmap(&t->maps[i]);
	free(t->unused);
	free(t->maps);
	free(t);
	ctx->priv = NULL;
}

/* Mappings; 0 or -errno. */

static int map_bytes(const struct table *t, struct map *m, int fd,
		     uint64_t bytes)
{
	void *base =
		m->base ? mremap(m->base, (size_t)m->mapped_bytes,
				 (size_t)bytes, MREMAP_MAYMOVE)
			: mmap(NULL, (size_t)bytes, m->prot, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		/* what mmap(2) says of a filesystem without mappings */
		return errno == ENODEV ? -EOPNOTSUPP : -errno;
	m->base = base;
	m->mapped_bytes = bytes;
	if (t->thp)
		madvise(base, (size_t)bytes, MADV_HUGEPAGE);
	return 0;
}

static int64_t size_of(int fd)
{
	struct stat st;
	off_t size;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	size = S_ISREG(st.st_mode) ? st.st_size : lseek(fd, 0, SEEK_END);
	return size < 0 ? -errno : size;
}

/* As the file is now, if that is more. */
static int follow(const struct table *t, struct map *m, int fd,
		  uint64_t ahead_bytes)
{
	int64_t is = size_of(fd);
	uint64_t size = (uint64_t)is;
	int rc = 0;

	if (is < 0)
		return (int)is;
	if (size > m->mapped_bytes)
		rc = map_bytes(t, m, fd, size + ahead_bytes);
	if (rc == 0 && size > m->size_bytes)
		m->size_bytes = size;
	return rc;
}

/*
 * fallocate, so that a filesystem that is full says so here: in the mapping it
 * would be a SIGBUS.
 */
static int grow(const struct table *t, struct map *m, const struct mlgen_io *op)
{
	uint64_t end = op->off + op->len_bytes;
	int fd = op->file->fd;
	struct stat st;
	int rc = follow(t, m, fd, GROW_BYTES);

	if (rc < 0 || m->size_bytes >= end)
		return rc;
	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOSPC; /* as write(2) at the end of a device */
	if (fallocate(fd, 0, (off_t)op->off, (off_t)op->len_bytes) != 0 &&
	    (errno != EOPNOTSUPP || ftruncate(fd, (off_t)end) != 0))
		return -errno;
	return follow(t, m, fd, GROW_BYTES);
}

static int prot_of(int flags)
{
	static const int prots[] = {
		[O_RDONLY] = PROT_READ,
		[O_WRONLY] = PROT_WRITE,
		[O_RDWR] = PROT_READ | PROT_WRITE,
	};

	return (flags & O_ACCMODE) <= O_RDWR ? prots[flags & O_ACCMODE] : 0;
}

static int attach(struct table *t, struct mlgen_file *file, int flags)
{
	unsigned at;
	int rc;

	if (t->unused_count == 0)
		return -EMFILE;
	at = t->unused[t->unused_count - 1];
	t->maps[at].prot = prot_of(flags);
	rc = follow(t, &t->maps[at], file->fd, 0);
	if (rc < 0)
		return rc;
	t->unused_count--;
	file->word = at + 1u;
	return 0;
}

static void detach(struct table *t, struct mlgen_file *file)
{
	if (file->word == 0)
		return;
	unmap(&t->maps[file->word - 1]);
	t->unused[t->unused_count++] = (unsigned)file->word - 1;
	file->word = 0;
}

/* NULL with the error in *rc. */
static struct map *map_of(struct table *t, struct mlgen_file *file, int *rc)
{
	if (file->word == 0) {
		int flags = fcntl(file->fd, F_GETFL);
		*rc = flags < 0 ? -errno : attach(t, file, flags);
		if (*rc < 0)
			return NULL;
	}
	return &t->maps[file->word - 1];
}

/* Operations; bytes, 0 or -errno. */

static void copy_parts(char *at, const struct mlgen_io *op, size_t bytes)
{
	for (const struct iovec *part = op->iov; bytes; part++) {
		size_t n = part->iov_len < bytes ? part->iov_len : bytes;
		if (op->op == MLGEN_READ)
			memcpy(part->iov_base, at, n);
		else
			memcpy(at, part->iov_base, n);
		at += n;
		bytes -= n;
	}
}

/* The mask is not saved, which would be a system call: see on_sigbus. */
static int64_t copy(const struct map *m, const struct mlgen_io *op,
		    uint64_t bytes)
{
	struct guard here;

	if (bytes == 0)
		return 0;
	here.from = m->base;
	here.to = m->base + m->mapped_bytes;
	if (sigsetjmp(here.env, 0))
		return -EIO;
	guard = &here;
	atomic_signal_fence(memory_order_seq_cst); /* partner: on_sigbus */
	copy_parts(m->base + op->off, op, (size_t)bytes);
	atomic_signal_fence(memory_order_seq_cst);
	guard = NULL;
	return (int64_t)bytes;
}

static uint64_t left(const struct map *m, uint64_t off)
{
	return off < m->size_bytes ? m->size_bytes - off : 0;
}

static bool is_offset(const struct mlgen_io *op)
{
	return op->off <= INT64_MAX && op->len_bytes <= INT64_MAX - op->off;
}

static int64_t do_read(struct table *t, struct mlgen_io *op)
{
	int rc = 0;
	struct map *m = map_of(t, op->file, &rc);
	uint64_t bytes = op->len_bytes;

	if (!m)
		return rc;
	if (!(m->prot & PROT_READ))
		return -EBADF;
	if (bytes > left(m, op->off)) {
		rc = is_offset(op) ? follow(t, m, op->file->fd, GROW_BYTES)
				   : -EINVAL;
		if (rc < 0)
			return rc;
		if (bytes > left(m, op->off))
			bytes = left(m, op->off);
	}
	return copy(m, op, bytes);
}

/*
 * A page of a hole that finds no space is a SIGBUS as well. What the
 * filesystem says of the same blocks tells it from a bad device; a file that
 * became shorter stays as short.
 */
static int64_t why_not(const struct mlgen_io *op)
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

/* What fits is written; the rest comes again, and meets the error. */
static int64_t do_write(struct table *t, struct mlgen_io *op)
{
	int rc = 0;
	struct map *m = map_of(t, op->file, &rc);
	uint64_t bytes = op->len_bytes;
	int64_t done;

	if (!m)
		return rc;
	if (!(m->prot & PROT_WRITE))
		return -EBADF;
	if (bytes > left(m, op->off)) {
		rc = is_offset(op) ? grow(t, m, op) : -EINVAL;
		if (rc < 0 && left(m, op->off) == 0)
			return rc;
		if (bytes > left(m, op->off))
			bytes = left(m, op->off);
	}
	done = copy(m, op, bytes);
	return done == -EIO ? why_not(op) : done;
}

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* A mapping that is written has to be one that could be read: mmap(2). */
static int open_flags(int flags)
{
	if ((flags & O_ACCMODE) == O_WRONLY)
		flags = (flags & ~O_ACCMODE) | O_RDWR;
	return flags | O_CLOEXEC;
}

/* A folder is opened to be synced, and has no mapping. */
static int64_t do_open(struct table *t, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;
	int rc;

	file->word = 0;
	file->fd = openat(mlgen_file_dir(file), mlgen_file_name(file),
			  open_flags(file->flags), file->mode);
	if (file->fd < 0)
		return -errno;
	rc = attach(t, file, file->flags);
	if (rc == 0 || rc == -EISDIR)
		return 0;
	close(file->fd);
	file->fd = -1;
	return rc;
}

static int64_t do_close(struct table *t, struct mlgen_io *op)
{
	int64_t rc;

	detach(t, op->file);
	rc = status(close(op->file->fd));
	op->file->fd = -1;
	return rc;
}

/* On Linux it writes back what was stored into mappings, too: one flush of the
 * device, not one for msync and another. */
static int64_t do_fsync(struct table *t, struct mlgen_io *op)
{
	(void)t;
	return status(fsync(op->file->fd));
}

static int64_t do_fdatasync(struct table *t, struct mlgen_io *op)
{
	const struct map *m =
		op->file->word ? &t->maps[op->file->word - 1] : NULL;

	if (!m || !m->base || !(m->prot & PROT_WRITE))
		return status(fdatasync(op->file->fd));
	return status(msync(m->base, (size_t)m->mapped_bytes, MS_SYNC));
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

/* First the mapping: pages that are mapped are not dropped from the cache. */
static int64_t do_advise(struct table *t, struct mlgen_io *op)
{
	const struct map *m =
		op->file->word ? &t->maps[op->file->word - 1] : NULL;
	uint64_t start = op->off / t->page_bytes * t->page_bytes;

	if (m && start < m->mapped_bytes) {
		uint64_t bytes = m->mapped_bytes - start;
		if (op->len_bytes && op->len_bytes + op->off - start < bytes)
			bytes = op->len_bytes + op->off - start;
		madvise(m->base + start, (size_t)bytes, madvice(op->advice));
	}
	return -posix_fadvise(op->file->fd, (off_t)op->off,
			      (off_t)op->len_bytes, op->advice);
}

/* A row here is a cap below. */
/* clang-format off */
static int64_t (*const does[MLGEN_OPS])(struct table *, struct mlgen_io *) = {
	[MLGEN_OPEN] = do_open,
	[MLGEN_READ] = do_read,
	[MLGEN_WRITE] = do_write,
	[MLGEN_FSYNC] = do_fsync,
	[MLGEN_FDATASYNC] = do_fdatasync,
	[MLGEN_ADVISE] = do_advise,
	[MLGEN_CLOSE] = do_close,
};
/* clang-format on */

static int mmap_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct mlgen_io *op = io[0];

	(void)n; /* always 1: this engine has no reap */
	op->result = does[op->op](ctx->priv, op);
	return 1;
}

const struct mlgen_engine mlgen_engine_mmap = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "mmap",
	.help = "copies to and from mapped files; one request at a time per "
		"worker",
	.caps = MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_READ) |
		MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP(MLGEN_FSYNC) |
		MLGEN_CAP(MLGEN_FDATASYNC) | MLGEN_CAP(MLGEN_ADVISE) |
		MLGEN_CAP(MLGEN_CLOSE) | MLGEN_CAP_PRIVATE_FDS,
	.opts = mmap_fields,
	.opts_size = sizeof(struct mmap_opts),
	.job_init = mmap_job_init,
	.job_fini = mmap_job_fini,
	.init = mmap_init,
	.fini = mmap_fini,
	.submit = mmap_submit, /* no reap: done when submit returns */
};
