/* SPDX-License-Identifier: Apache-2.0 */
/* io_uring.c - engine: batches of requests through one io_uring per worker. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <liburing.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <mlgen/engine.h>

#define SAYS "ioengine=io_uring: io_uring_setup: "

/* A ring has no more entries (IORING_MAX_ENTRIES of the kernel). */
#define ENTRIES_MAX 32768u

/* One request moves no more: Linux cuts it there itself (MAX_RW_COUNT). */
#define ONE_REQUEST_BYTES 0x7ffff000u

/* Nor is one registered buffer larger than 1 GiB: a larger one is several. */
#define ONE_BUFFER_SHIFT 30
#define ONE_BUFFER_BYTES (1ull << ONE_BUFFER_SHIFT)

/* How often a submission that the kernel has no memory for is repeated. */
#define TRIES_MAX 100u

/* Linux 6.14; of no header of its time. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

/* In this order, so that options of zeros are the defaults. */
enum use { USE_AUTO, USE_NO, USE_YES };

struct uring_opts {
	int registerfiles, fixedbufs; /* enum use */
	bool sqthread_poll, hipri, uncached, nowait;
	uint64_t force_async;
};

/* clang-format off */
static const struct mlgen_choice uses[] = {
	{ "auto", USE_AUTO, "where this host allows it" },
	{ "0", USE_NO, "no" },
	{ "1", USE_YES, "yes" },
	{ 0 },
};

static const struct mlgen_field uring_fields[] = {
	{ "registerfiles", MLGEN_F_ENUM(struct uring_opts, registerfiles, uses),
	  .def = "auto", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Open files in a table that is registered with the ring; 1: an error where that is refused." },
	{ "fixedbufs", MLGEN_F_ENUM(struct uring_opts, fixedbufs, uses),
	  .def = "auto", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Register the worker's buffer with the ring; goes without, and says so, where that is refused." },
	{ "sqthread_poll", MLGEN_F_BOOL(struct uring_opts, sqthread_poll),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "A kernel thread per worker looks for requests; it occupies a CPU." },
	{ "hipri", MLGEN_F_BOOL(struct uring_opts, hipri),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Poll for completions; takes direct=1 and a device with poll queues." },
	{ "uncached", MLGEN_F_BOOL(struct uring_opts, uncached),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Drop from the page cache what was read or written (RWF_DONTCACHE, Linux 6.14)." },
	{ "nowait", MLGEN_F_BOOL(struct uring_opts, nowait),
	  .def = "0", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "A request that would have to wait fails with EAGAIN (RWF_NOWAIT)." },
	{ "force_async", MLGEN_F_U64(struct uring_opts, force_async),
	  .def = "0", .unit = "requests", .group = "io_uring", .flags = MLGEN_FIO,
	  .help = "Each Nth request goes to a kernel worker at once, without trying in place; 0: none." },
	{ 0 },
};
/* clang-format on */

static const struct uring_opts defaults;

/* Numbers that are free, last in first out. */
struct stack {
	unsigned *item;
	unsigned count;
};

struct ring {
	struct io_uring uring;
	struct mlgen_ctx *ctx;
	const struct uring_opts *opts;
	bool is_open;
	bool takes[MLGEN_OPS]; /* this ring does it; others are done here */
	unsigned in_kernel;
	int rw_flags;
	uint64_t requests; /* counted for force_async only */
	/* The registered buffer; fixed_bytes 0 = none. */
	uintptr_t buf;
	uint64_t fixed_bytes;
	/* The table of registered files: slots nobody uses; 0 slots = none. */
	unsigned slots;
	struct stack free_slots;
	/* Where the STAT operations in flight are answered. */
	struct statx *stats;
	struct stack free_stats;
	/* Complete without the ring, first to last. */
	struct mlgen_io **done;
	unsigned done_count;
};

static int fill(struct stack *s, unsigned count)
{
	s->item = calloc(count, sizeof(*s->item));
	if (!s->item)
		return -ENOMEM;
	for (unsigned i = count; i > 0; i--)
		s->item[s->count++] = i - 1;
	return 0;
}

static void push(struct stack *s, unsigned item)
{
	s->item[s->count++] = item;
}

static unsigned pop(struct stack *s)
{
	return s->item[--s->count];
}

/* A file in the table has its slot + 1 as its word. */

static void hold_slot(struct ring *r, struct mlgen_file *file)
{
	file->word = pop(&r->free_slots) + 1u;
}

static unsigned slot_of(const struct mlgen_file *file)
{
	return (unsigned)file->word - 1;
}

static void free_slot(struct ring *r, struct mlgen_file *file)
{
	push(&r->free_slots, slot_of(file));
	file->word = 0;
}

/* Why there is no ring. */

static int refused_perm(int rc, struct mlgen_err *err)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int disabled = 0;

	if (f && fscanf(f, "%d", &disabled) != 1)
		disabled = 0;
	if (f)
		fclose(f);
	if (disabled)
		return mlgen_fail(err, rc,
				  SAYS "%s; kernel.io_uring_disabled is %d "
				       "(%s), set it to 0 or use "
				       "ioengine=libaio",
				  strerror(-rc), disabled,
				  disabled == 1 ? "for the privileged only"
						: "for nobody");
	return mlgen_fail(err, rc,
			  SAYS "%s; a seccomp profile, such as that of a "
			       "container, refuses it: allow io_uring_setup, "
			       "io_uring_enter and io_uring_register there, or "
			       "use ioengine=libaio",
			  strerror(-rc));
}

static int refused_old(int rc, struct mlgen_err *err)
{
	struct utsname host = { .release = "?" };

	uname(&host);
	return mlgen_fail(err, rc,
			  SAYS "%s; it takes Linux 5.11, built with io_uring, "
			       "and a seccomp profile that does not hide it "
			       "(this is Linux %s); or use ioengine=libaio",
			  strerror(-rc), host.release);
}

static uint64_t limit_of(__rlimit_resource_t resource)
{
	struct rlimit limit = { 0 };

	getrlimit(resource, &limit);
	return limit.rlim_cur;
}

/* Kernels before 5.12 lock the memory of rings; all of one user's count. */
static int refused_memory(const struct mlgen_ctx *ctx, int rc,
			  struct mlgen_err *err)
{
	uint64_t entries = 1, bytes;

	while (entries < ctx->iodepth)
		entries *= 2;
	/* One SQE, two CQEs and one index for each, and two pages of heads. */
	bytes = entries * (64 + 2 * 16 + 4) + 8192;
	return mlgen_fail(err, rc,
			  SAYS "%s; %u rings of iodepth=%u need %" PRIu64
			       " KiB of locked memory and the limit is %" PRIu64
			       " KiB: raise it (ulimit -l) or lower iodepth",
			  strerror(-rc), ctx->job->workers, ctx->iodepth,
			  ctx->job->workers * bytes / 1024 + 1,
			  limit_of(RLIMIT_MEMLOCK) / 1024);
}

static int refused(const struct mlgen_ctx *ctx, int rc, struct mlgen_err *err)
{
	switch (rc) {
	case -EPERM:
	case -EACCES:
		return refused_perm(rc, err);
	case -ENOSYS:
		return refused_old(rc, err);
	case -ENOMEM:
		return refused_memory(ctx, rc, err);
	case -EMFILE:
	case -ENFILE:
		return mlgen_fail(err, rc,
				  SAYS
				  "%s; each of %u workers has a ring, and "
				  "each ring a descriptor: raise ulimit -n",
				  strerror(-rc), ctx->job->workers);
	default:
		return mlgen_fail(err, rc, SAYS "%s", strerror(-rc));
	}
}

/* What init says of itself. */

__attribute__((format(printf, 3, 4))) static void append(char *text,
							 size_t size,
							 const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void note(struct mlgen_ctx *ctx,
						       const char *fmt, ...)
{
	char text[sizeof(ctx->note)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	append(ctx->note, sizeof(ctx->note), "%s%s", *ctx->note ? "; " : "",
	       text);
}

/* Those that the ring has been set up with, as the kernel names them; IOPOLL
 * has words of its own. */
static void put_flags(const struct ring *r, char *text, size_t size)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = {
		{ IORING_SETUP_SQPOLL, "SQPOLL" },
		{ IORING_SETUP_SINGLE_ISSUER, "SINGLE_ISSUER" },
		{ IORING_SETUP_DEFER_TASKRUN, "DEFER_TASKRUN" },
		{ IORING_SETUP_COOP_TASKRUN, "COOP_TASKRUN" },
		{ IORING_SETUP_TASKRUN_FLAG, "TASKRUN_FLAG" },
		{ IORING_SETUP_SUBMIT_ALL, "SUBMIT_ALL" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (r->uring.flags & names[i].flag)
			append(text, size, "%s%s", *text ? "|" : "",
			       names[i].name);
}

static void say_in_use(struct ring *r)
{
	struct mlgen_ctx *ctx = r->ctx;
	char flags[96] = "";
	const char *const means[] = {
		r->slots && r->fixed_bytes ? "registered files and buffers"
		: r->slots                 ? "registered files"
		: r->fixed_bytes           ? "registered buffers"
					   : "",
		flags,
		r->opts->hipri ? "polled completions" : "",
		r->opts->uncached ? "RWF_DONTCACHE" : "",
		r->opts->nowait ? "RWF_NOWAIT" : "",
	};

	put_flags(r, flags, sizeof(flags));
	for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
		if (*means[i])
			append(ctx->in_use, sizeof(ctx->in_use), "%s%s",
			       *ctx->in_use ? ", " : "", means[i]);
}

/* Setting up the ring. */

/*
 * Best first. Completions are worked off by this thread when it asks for them
 * (DEFER_TASKRUN, Linux 6.1), or at least without interrupting it
 * (COOP_TASKRUN, 5.19). TASKRUN_FLAG lets a look at the empty ring see that
 * there is such work. SUBMIT_ALL (5.18) does not stop behind a bad request.
 * IORING_SETUP_NO_SQARRAY is not for this list: a liburing that does not know
 * it returns completions that are none.
 */
static const unsigned set_ups[] = {
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_SUBMIT_ALL,
	0,
};

/* Of no use where another thread submits, and refused. */
#define NOT_WITH_SQPOLL                                                        \
	(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN |              \
	 IORING_SETUP_TASKRUN_FLAG)

static int set_up(struct ring *r)
{
	unsigned entries = r->ctx->iodepth, flags;
	int rc = -EINVAL;

	/* That thread gives entries back late: a completion may be here first. */
	if (r->opts->sqthread_poll)
		entries *= 2;
	for (size_t i = 0; i < sizeof(set_ups) / sizeof(set_ups[0]); i++) {
		flags = set_ups[i];
		if (r->opts->sqthread_poll) {
			flags &= ~NOT_WITH_SQPOLL;
			flags |= IORING_SETUP_SQPOLL;
		}
		if (r->opts->hipri)
			flags |= IORING_SETUP_IOPOLL;
		rc = io_uring_queue_init(entries, &r->uring, flags);
		if (rc != -EINVAL)
			break;
	}
	r->is_open = rc == 0;
	return rc;
}

/* clang-format off */
static const enum io_uring_op opcode[MLGEN_OPS] = {
	[MLGEN_OPEN] = IORING_OP_OPENAT,
	[MLGEN_STAT] = IORING_OP_STATX,
	[MLGEN_READ] = IORING_OP_READ,
	[MLGEN_WRITE] = IORING_OP_WRITE,
	[MLGEN_ALLOCATE] = IORING_OP_FALLOCATE,
	[MLGEN_FSYNC] = IORING_OP_FSYNC,
	[MLGEN_FDATASYNC] = IORING_OP_FSYNC,
	[MLGEN_ADVISE] = IORING_OP_FADVISE,
	[MLGEN_CLOSE] = IORING_OP_CLOSE,
	[MLGEN_RENAME] = IORING_OP_RENAMEAT,
	[MLGEN_UNLINK] = IORING_OP_UNLINKAT,
	[MLGEN_MKDIR] = IORING_OP_MKDIRAT,
	[MLGEN_RMDIR] = IORING_OP_UNLINKAT,
};
/* clang-format on */

/* A polled ring takes nothing but reads and writes. */
static void see_what_it_takes(struct ring *r)
{
	struct io_uring_probe *probe = io_uring_get_probe_ring(&r->uring);

	for (unsigned op = 0; op < MLGEN_OPS; op++) {
		bool moves = op == MLGEN_READ || op == MLGEN_WRITE;
		/* Where asking is refused: all that Linux 5.11 has. */
		bool has = probe ? io_uring_opcode_supported(probe,
							     (int)opcode[op])
				 : op != MLGEN_MKDIR;
		r->takes[op] = moves || (has && !r->opts->hipri);
	}
	io_uring_free_probe(probe);
}

static int allocate(struct ring *r)
{
	unsigned depth = r->ctx->iodepth;

	r->done = calloc(depth, sizeof(*r->done));
	r->stats = calloc(depth, sizeof(*r->stats));
	if (!r->done || !r->stats)
		return -ENOMEM;
	return fill(&r->free_stats, depth);
}

static const char *why_no_table(int rc)
{
	switch (rc) {
	case -EMFILE:
		return "raise ulimit -n to that, or lower iodepth";
	case -EINVAL:
		return "it takes Linux 5.19";
	case -EPERM:
	case -EACCES:
		return "allow io_uring_register in the seccomp profile";
	default:
		return "the kernel has no room for it";
	}
}

static int register_files(struct ring *r, struct mlgen_err *err)
{
	struct mlgen_ctx *ctx = r->ctx;
	unsigned slots = ctx->files > ctx->iodepth ? ctx->files : ctx->iodepth;
	int rc;

	if (r->opts->registerfiles == USE_NO)
		return 0;
	rc = io_uring_register_files_sparse(&r->uring, slots);
	if (rc < 0 && r->opts->registerfiles == USE_YES)
		return mlgen_fail(err, rc,
				  "registerfiles: a table of %u files: "
				  "%s; %s, or drop registerfiles=1",
				  slots, strerror(-rc), why_no_table(rc));
	if (rc < 0) {
		note(ctx,
		     "registerfiles: not a table of %u files but ordinary "
		     "descriptors: %s; %s",
		     slots, strerror(-rc), why_no_table(rc));
		return 0;
	}
	r->slots = slots;
	return fill(&r->free_slots, slots);
}

static int register_parts(struct ring *r, uint64_t bytes)
{
	uint64_t n = (bytes + ONE_BUFFER_BYTES - 1) >> ONE_BUFFER_SHIFT;
	struct iovec *parts = calloc(n, sizeof(*parts));
	uint64_t left = bytes;
	int rc;

	if (!parts)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++, left -= ONE_BUFFER_BYTES) {
		parts[i].iov_base =
			(char *)r->ctx->buf + (i << ONE_BUFFER_SHIFT);
		parts[i].iov_len =
			left < ONE_BUFFER_BYTES ? left : ONE_BUFFER_BYTES;
	}
	rc = io_uring_register_buffers(&r->uring, parts, (unsigned)n);
	free(parts);
	return rc;
}

/* Never an error: what is measured stays the same. */
static void register_buffer(struct ring *r)
{
	struct mlgen_ctx *ctx = r->ctx;
	uint64_t need = ctx->job->workers * ((ctx->buf_bytes + 1023) / 1024);
	uint64_t limit = limit_of(RLIMIT_MEMLOCK);
	int rc;

	if (r->opts->fixedbufs == USE_NO || !ctx->buf || !ctx->buf_bytes)
		return;
	rc = register_parts(r, ctx->buf_bytes);
	if (rc == -ENOMEM && limit != RLIM_INFINITY)
		note(ctx,
		     "fixedbufs: %" PRIu64 " KiB of locked memory wanted, "
		     "ulimit -l is %" PRIu64 " KiB; not registered, the "
		     "numbers mean the same",
		     need, limit / 1024);
	else if (rc < 0)
		note(ctx,
		     "fixedbufs: %s; not registered, the numbers mean the "
		     "same",
		     strerror(-rc));
	if (rc < 0)
		return;
	r->buf = (uintptr_t)ctx->buf;
	r->fixed_bytes = ctx->buf_bytes;
}

static int too_deep(const struct ring *r, struct mlgen_err *err)
{
	bool polls = r->opts->sqthread_poll;
	unsigned most = polls ? ENTRIES_MAX / 2 : ENTRIES_MAX;

	if (r->ctx->iodepth <= most)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "iodepth: %u is more than a ring of io_uring "
			  "holds%s, %u",
			  r->ctx->iodepth, polls ? " with sqthread_poll" : "",
			  most);
}

static int start(struct ring *r, struct mlgen_err *err)
{
	int rc = too_deep(r, err);

	if (rc < 0)
		return rc;
	rc = set_up(r);
	if (rc < 0)
		return refused(r->ctx, rc, err);
	/* Waiting with a timeout, and every operation used here but mkdir. */
	if (!(r->uring.features & IORING_FEAT_EXT_ARG))
		return refused_old(-ENOSYS, err);
	/* Saves looking the descriptor up; what refuses it goes without. */
	io_uring_register_ring_fd(&r->uring);
	see_what_it_takes(r);
	rc = allocate(r);
	if (rc == 0)
		rc = register_files(r, err);
	if (rc == 0)
		register_buffer(r);
	return rc;
}

static int uring_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct ring *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	ctx->priv = r;
	ctx->can_link = false;
	ctx->in_use[0] = ctx->note[0] = '\0';
	r->ctx = ctx;
	r->opts = ctx->opts && !ctx->job->is_preparing ? ctx->opts : &defaults;
	r->rw_flags = (r->opts->uncached ? RWF_DONTCACHE : 0) |
		      (r->opts->nowait ? RWF_NOWAIT : 0);
	rc = start(r, err);
	if (rc < 0)
		return rc;
	/* Opening a file for reads behind it takes a slot known beforehand. */
	ctx->can_link = r->slots && !r->opts->hipri;
	say_in_use(r);
	return 0;
}

/* What is still under way would go on writing to a buffer that is gone. */
static void drain(struct ring *r)
{
	struct io_uring_cqe *cqe;
	int rc = 0;

	while (r->in_kernel && (rc == 0 || rc == -EINTR)) {
		rc = io_uring_wait_cqe(&r->uring, &cqe);
		if (rc)
			continue;
		io_uring_cqe_seen(&r->uring, cqe);
		r->in_kernel--;
	}
}

/*
 * A ring ends in the background; what is taken back here is closed and
 * unlocked now: the next worker's files and memory are under the same limits.
 */
static void end_ring(struct ring *r)
{
	drain(r);
	if (r->slots)
		io_uring_unregister_files(&r->uring);
	if (r->fixed_bytes)
		io_uring_unregister_buffers(&r->uring);
	io_uring_queue_exit(&r->uring);
}

static void uring_fini(struct mlgen_ctx *ctx)
{
	struct ring *r = ctx->priv;

	if (!r)
		return;
	if (r->is_open)
		end_ring(r);
	free(r->free_slots.item);
	free(r->free_stats.item);
	free(r->stats);
	free(r->done);
	free(r);
	ctx->priv = NULL;
}

/* Reads and writes: as few steps as can be, this runs for each of them. */

static bool is_fixed(const struct ring *r, uint64_t at, uint64_t len)
{
	return at < r->fixed_bytes && len <= r->fixed_bytes - at &&
	       at >> ONE_BUFFER_SHIFT == (at + len - 1) >> ONE_BUFFER_SHIFT;
}

static void prep_one_part(const struct ring *r, struct io_uring_sqe *sqe,
			  const struct iovec *iov, bool is_write)
{
	uint64_t at = (uintptr_t)iov->iov_base - r->buf;
	uint64_t len = iov->iov_len < ONE_REQUEST_BYTES ? iov->iov_len
							: ONE_REQUEST_BYTES;

	sqe->addr = (uintptr_t)iov->iov_base;
	sqe->len = (unsigned)len;
	if (is_fixed(r, at, len)) {
		sqe->opcode =
			is_write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
		sqe->buf_index = (uint16_t)(at >> ONE_BUFFER_SHIFT);
	} else {
		sqe->opcode = is_write ? IORING_OP_WRITE : IORING_OP_READ;
	}
}

static void prep_parts(struct io_uring_sqe *sqe, const struct mlgen_io *op,
		       bool is_write)
{
	sqe->addr = (uintptr_t)op->iov;
	sqe->len = (unsigned)op->iovcnt;
	sqe->opcode = is_write ? IORING_OP_WRITEV : IORING_OP_READV;
}

static void prep_transfer(struct ring *r, struct io_uring_sqe *sqe,
			  const struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	bool is_write = op->op == MLGEN_WRITE;

	*sqe = (struct io_uring_sqe){
		.flags = file->word ? IOSQE_FIXED_FILE : 0,
		.fd = file->word ? (int)slot_of(file) : file->fd,
		.off = op->off,
		.rw_flags = r->rw_flags,
	};
	if (op->iovcnt == 1)
		prep_one_part(r, sqe, op->iov, is_write);
	else
		prep_parts(sqe, op, is_write);
	if (r->opts->force_async && ++r->requests % r->opts->force_async == 0)
		sqe->flags |= IOSQE_ASYNC;
}

/* The other operations. */

/*
 * Without O_NONBLOCK: of a filesystem that cannot read without waiting, the
 * ring would take it for one that can, and wait in the submission instead of
 * handing such reads to threads of its own.
 */
static int open_flags(const struct mlgen_file *file)
{
	return file->flags & ~O_NONBLOCK;
}

static void prep_open(struct ring *r, struct io_uring_sqe *sqe,
		      struct mlgen_file *file)
{
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file);

	file->fd = -1;
	file->word = 0;
	if (r->free_slots.count) {
		hold_slot(r, file);
		/* No program run from here inherits it: the flag is refused. */
		io_uring_prep_openat_direct(sqe, at, name,
					    open_flags(file) & ~O_CLOEXEC,
					    file->mode, slot_of(file));
	} else {
		io_uring_prep_openat(sqe, at, name,
				     open_flags(file) | O_CLOEXEC, file->mode);
	}
}

/* Until it is back, size_bytes is the number of its answer's place. */
static void prep_stat(struct ring *r, struct io_uring_sqe *sqe,
		      struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	bool by_fd = file->fd >= 0;

	op->size_bytes = pop(&r->free_stats);
	io_uring_prep_statx(sqe, by_fd ? file->fd : mlgen_file_dir(file),
			    by_fd ? "" : mlgen_file_name(file),
			    by_fd ? AT_EMPTY_PATH : 0, STATX_SIZE,
			    &r->stats[op->size_bytes]);
}

static void prep_close(struct io_uring_sqe *sqe, const struct mlgen_file *file)
{
	if (file->word)
		io_uring_prep_close_direct(sqe, slot_of(file));
	else
		io_uring_prep_close(sqe, file->fd);
}

/* A length has 32 bits; newer kernels look for a longer one in addr. */
static void prep_advise(struct io_uring_sqe *sqe, int fd,
			const struct mlgen_io *op)
{
	io_uring_prep_fadvise(sqe, fd, op->off, 0, op->advice);
	if (op->len_bytes <= UINT32_MAX)
		sqe->len = (unsigned)op->len_bytes;
	else
		sqe->addr = op->len_bytes;
}

static void prep_other(struct ring *r, struct io_uring_sqe *sqe,
		       struct mlgen_io *op)
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
		io_uring_prep_fallocate(sqe, fd, 0, (off_t)op->off,
					(off_t)op->len_bytes);
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
	/* What is done to the open file itself. */
	if (file->word)
		sqe->flags |= IOSQE_FIXED_FILE;
}

static bool moves_bytes(const struct mlgen_io *op)
{
	return op->op == MLGEN_READ || op->op == MLGEN_WRITE;
}

static void put(struct ring *r, struct io_uring_sqe *sqe, struct mlgen_io *op)
{
	if (moves_bytes(op))
		prep_transfer(r, sqe, op);
	else
		prep_other(r, sqe, op);
	/*
	 * Linked hard but for the open: a short read ends a soft chain, the
	 * close behind it would never run, and the slot be lost.
	 */
	if (op->flags & MLGEN_IO_LINK)
		sqe->flags |= op->op == MLGEN_OPEN ? IOSQE_IO_LINK
						   : IOSQE_IO_HARDLINK;
	sqe->user_data = (uintptr_t)op;
}

/* Once the kernel has answered: what else the operation writes. */

static void opened(struct ring *r, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;

	if (op->result < 0 && file->word)
		free_slot(r, file);
	if (op->result >= 0 && !file->word)
		file->fd = (int)op->result;
	if (op->result > 0)
		op->result = 0;
}

static void stated(struct ring *r, struct mlgen_io *op)
{
	unsigned at = (unsigned)op->size_bytes;

	op->size_bytes = op->result < 0 ? 0 : r->stats[at].stx_size;
	push(&r->free_stats, at);
}

static void closed(struct ring *r, struct mlgen_io *op)
{
	struct mlgen_file *file = op->file;

	/* It did not run: the open before it failed, and gave the slot back. */
	if (op->result == -ECANCELED)
		return;
	if (file->word)
		free_slot(r, file);
	file->fd = -1;
}

/* A polled ring's first answer says whether the device can be polled. */
static void cannot_poll(struct ring *r)
{
	if (!*r->ctx->note)
		note(r->ctx,
		     "hipri: the device has no poll queues, or the file is "
		     "not open with direct=1; drop hipri, or give the driver "
		     "some (nvme.poll_queues=N)");
}

static void settle(struct ring *r, struct mlgen_io *op)
{
	if (op->op == MLGEN_OPEN)
		opened(r, op);
	else if (op->op == MLGEN_STAT)
		stated(r, op);
	else if (op->op == MLGEN_CLOSE)
		closed(r, op);
}

/* What the ring does not take; 0 or -errno. */

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

/* A polled ring reads by slot all the same: the descriptor is put there. */
static int64_t open_here(struct ring *r, struct mlgen_file *file)
{
	file->word = 0;
	file->fd = openat(mlgen_file_dir(file), mlgen_file_name(file),
			  open_flags(file) | O_CLOEXEC, file->mode);
	if (file->fd < 0)
		return -errno;
	if (r->free_slots.count) {
		hold_slot(r, file);
		if (io_uring_register_files_update(&r->uring, slot_of(file),
						   &file->fd, 1) != 1)
			free_slot(r, file);
	}
	return 0;
}

static int64_t stat_here(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? fstatat(mlgen_file_dir(op->file),
				       mlgen_file_name(op->file), &st, 0)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

static int64_t close_here(struct ring *r, struct mlgen_file *file)
{
	const int none = -1;
	int64_t rc = status(close(file->fd));

	if (file->word) {
		io_uring_register_files_update(&r->uring, slot_of(file), &none,
					       1);
		free_slot(r, file);
	}
	file->fd = -1;
	return rc;
}

static int64_t do_here(struct ring *r, struct mlgen_io *op)
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
		return status(fallocate(file->fd, 0, off, len));
	case MLGEN_FSYNC:
		return status(fsync(file->fd));
	case MLGEN_FDATASYNC:
		return status(fdatasync(file->fd));
	case MLGEN_ADVISE:
		return -posix_fadvise(file->fd, off, len, op->advice);
	case MLGEN_CLOSE:
		return close_here(r, file);
	case MLGEN_RENAME:
		return status(renameat(at, name, at, op->path2));
	case MLGEN_UNLINK:
		return status(unlinkat(at, name, 0));
	case MLGEN_MKDIR:
		return status(mkdirat(at, name, file->mode));
	case MLGEN_RMDIR:
		return status(unlinkat(at, name, AT_REMOVEDIR));
	case MLGEN_READ:
	case MLGEN_WRITE:
	case MLGEN_OPS:
		break;
	}
	return -EOPNOTSUPP;
}

static bool is_for_ring(const struct ring *r, const struct mlgen_io *op)
{
	/* The length that only newer kernels take, see prep_advise. */
	if (op->op == MLGEN_ADVISE && op->len_bytes > UINT32_MAX &&
	    op->file->fd >= 0)
		return false;
	return r->takes[op->op];
}

static void is_done(struct ring *r, struct mlgen_io *op, int64_t result)
{
	op->result = result;
	r->done[r->done_count++] = op;
}

/* Submitting. */

static unsigned chain_of(struct mlgen_io **io, unsigned n)
{
	unsigned len = 1;

	while (len < n && io[len - 1]->flags & MLGEN_IO_LINK)
		len++;
	return len;
}

/* A chain goes as a whole, and its file needs a slot. */
static bool chain_fits(const struct ring *r, struct mlgen_io **io, unsigned len)
{
	return io_uring_sq_space_left(&r->uring) >= len &&
	       (io[0]->op != MLGEN_OPEN || r->free_slots.count);
}

/* No slot is free and nothing under way will free one. */
static void refuse_chain(struct ring *r, struct mlgen_io **io, unsigned len)
{
	is_done(r, io[0], -EMFILE);
	for (unsigned i = 1; i < len; i++)
		is_done(r, io[i], -ECANCELED);
}

static bool put_next(struct ring *r, struct mlgen_io *op)
{
	struct io_uring_sqe *sqe;

	if (!moves_bytes(op) && !is_for_ring(r, op)) {
		is_done(r, op, do_here(r, op));
		return true;
	}
	sqe = io_uring_get_sqe(&r->uring);
	if (!sqe)
		return false;
	put(r, sqe, op);
	return true;
}

/* How many of n are in the submission queue, or done already. */
static unsigned put_all(struct ring *r, struct mlgen_io **io, unsigned n)
{
	unsigned i = 0, whole = 0; /* of a chain that was found to fit */

	for (; i < n; i++) {
		if (i >= whole && io[i]->flags & MLGEN_IO_LINK) {
			whole = i + chain_of(io + i, n - i);
			if (!chain_fits(r, io + i, whole - i))
				break;
		}
		if (!put_next(r, io[i]))
			break;
	}
	if (i == 0 && whole && !r->in_kernel && !r->done_count) {
		refuse_chain(r, io, whole);
		i = whole;
	}
	return i;
}

/*
 * The kernel is short of memory, or of room for completions. Those under way
 * give some back: wait for one more. False: that does not help.
 */
static bool wait_for_room(struct ring *r, unsigned *tries)
{
	unsigned ready = io_uring_cq_ready(&r->uring);
	struct io_uring_cqe *cqe;
	int rc;

	if (++*tries > TRIES_MAX)
		return false;
	if (ready == r->in_kernel)
		return true;
	rc = io_uring_wait_cqes(&r->uring, &cqe, ready + 1, NULL, NULL);
	return rc == 0 || rc == -EINTR;
}

/*
 * With the events that came in meanwhile: with DEFER_TASKRUN the thread has to
 * ask for them, and so it need not enter a second time. A kernel without
 * SUBMIT_ALL stops behind a bad request.
 */
static int send_all(struct ring *r)
{
	unsigned tries = 0;

	while (io_uring_sq_ready(&r->uring)) {
		int rc = io_uring_submit_and_get_events(&r->uring);
		if (rc > 0)
			r->in_kernel += (unsigned)rc;
		else if (rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
			return rc ? rc : -EAGAIN;
		else if (rc != -EINTR && !wait_for_room(r, &tries))
			return rc;
	}
	return 0;
}

/* The kernel's thread takes them; wake it where it has gone to sleep. */
static int send_to_thread(struct ring *r, unsigned n)
{
	int rc;

	do {
		rc = io_uring_submit(&r->uring);
	} while (rc == -EINTR);
	r->in_kernel += n;
	return rc < 0 ? rc : 0;
}

static int uring_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct ring *r = ctx->priv;
	unsigned done = r->done_count, taken = put_all(r, io, n);
	int rc = 0;

	if (r->opts->sqthread_poll)
		rc = send_to_thread(r, taken - (r->done_count - done));
	else
		rc = send_all(r);
	return rc < 0 ? rc : (int)taken;
}

/* Reaping. */

static unsigned take_done(struct ring *r, struct mlgen_io **io, unsigned max)
{
	unsigned n = r->done_count < max ? r->done_count : max;

	memcpy(io, r->done, n * sizeof(*io));
	r->done_count -= n;
	memmove(r->done, r->done + n, r->done_count * sizeof(*r->done));
	return n;
}

static unsigned take(struct ring *r, struct mlgen_io **io, unsigned max)
{
	struct io_uring_cqe *cqe;
	unsigned head, n = 0;

	io_uring_for_each_cqe(&r->uring, head, cqe)
	{
		struct mlgen_io *op = io_uring_cqe_get_data(cqe);

		if (n == max)
			break;
		op->result = cqe->res;
		if (!moves_bytes(op))
			settle(r, op);
		else if (op->result == -EOPNOTSUPP && r->opts->hipri)
			cannot_poll(r);
		io[n++] = op;
	}
	io_uring_cq_advance(&r->uring, n);
	r->in_kernel -= n;
	return n;
}

/* Has the kernel completions that it shows only when it is entered? */
static bool holds_back(const struct ring *r)
{
	return r->opts->hipri || (IO_URING_READ_ONCE(*r->uring.sq.kflags) &
				  (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN));
}

static unsigned look(struct ring *r, struct mlgen_io **io, unsigned max)
{
	unsigned n = take(r, io, max);

	if (n == 0 && r->in_kernel && holds_back(r) &&
	    io_uring_get_events(&r->uring) >= 0)
		n = take(r, io, max);
	return n;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A polled ring knows no timeout: the kernel polls on until there are n. */
static int poll_until(struct ring *r, unsigned n, uint64_t end_ns)
{
	int rc = 0;

	while (rc >= 0 && io_uring_cq_ready(&r->uring) < n) {
		if (now_ns() >= end_ns)
			return -ETIME;
		rc = io_uring_get_events(&r->uring);
	}
	return rc;
}

/* Until there are n completions, or it is end_ns (UINT64_MAX: for ever). 0,
 * -ETIME, -EINTR or the ring's failure; 0, too, when time is up and some of
 * the n are there. */
static int await(struct ring *r, unsigned n, uint64_t end_ns)
{
	struct io_uring_cqe *first;
	struct __kernel_timespec ts;
	uint64_t now, left_ns;
	int rc;

	if (end_ns == UINT64_MAX) {
		rc = io_uring_submit_and_wait(&r->uring, n);
	} else if (r->opts->hipri) {
		rc = poll_until(r, n, end_ns);
	} else {
		now = now_ns();
		left_ns = now < end_ns ? end_ns - now : 0;
		ts.tv_sec = (int64_t)(left_ns / 1000000000u);
		ts.tv_nsec = (int64_t)(left_ns % 1000000000u);
		rc = io_uring_wait_cqes(&r->uring, &first, n, &ts, NULL);
	}
	return rc < 0 ? rc : 0;
}

static uint64_t end_of(uint64_t timeout_ns)
{
	uint64_t now = timeout_ns == UINT64_MAX ? 0 : now_ns();

	return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
}

static bool is_past(uint64_t end_ns)
{
	return end_ns != UINT64_MAX && now_ns() >= end_ns;
}

/* The time counts from here, however often a signal or a part of what is
 * waited for ends the wait. */
static int uring_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
		      unsigned max, uint64_t timeout_ns)
{
	struct ring *r = ctx->priv;
	unsigned got = r->done_count ? take_done(r, io, max) : 0;
	bool is_late = false;
	uint64_t end_ns;

	got += min > got ? take(r, io + got, max - got)
			 : look(r, io + got, max - got);
	end_ns = got < min ? end_of(timeout_ns) : 0;
	while (got < min && !is_late) {
		int rc = await(r, min - got, end_ns);
		if (rc < 0 && rc != -ETIME && rc != -EINTR)
			return rc;
		is_late = rc == -ETIME || is_past(end_ns);
		got += take(r, io + got, max - got);
	}
	return (int)got;
}

const struct mlgen_engine mlgen_engine_io_uring = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "io_uring",
	.help = "Linux io_uring; iodepth requests at a time per worker",
	.caps = MLGEN_CAP(MLGEN_OPEN) | MLGEN_CAP(MLGEN_STAT) |
		MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP(MLGEN_ALLOCATE) | MLGEN_CAP(MLGEN_FSYNC) |
		MLGEN_CAP(MLGEN_FDATASYNC) | MLGEN_CAP(MLGEN_ADVISE) |
		MLGEN_CAP(MLGEN_CLOSE) | MLGEN_CAP(MLGEN_RENAME) |
		MLGEN_CAP(MLGEN_UNLINK) | MLGEN_CAP(MLGEN_MKDIR) |
		MLGEN_CAP(MLGEN_RMDIR) | MLGEN_CAP_DIRECT |
		MLGEN_CAP_PRIVATE_FDS,
	.opts = uring_fields,
	.opts_size = sizeof(struct uring_opts),
	.init = uring_init,
	.fini = uring_fini,
	.submit = uring_submit,
	.reap = uring_reap,
};
