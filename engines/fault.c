/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - engine: wraps another and fails, shortens or delays what is asked for. */

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mlgen/engine.h>

/*
 * What happens to an operation is a function of its number and nothing else.
 * All workers of a job count together, from 1, in the order of submission;
 * what the io layer hands over once more is counted once more. With one worker
 * the same operation meets the same fault in every run.
 *
 * Every operation is taken, so that every one can be failed; metadata that the
 * wrapped engine leaves is done here. The shape is asynchronous over either
 * kind of engine: over a synchronous one, an operation is done in submit and
 * given back by reap.
 */
struct fault_opts {
	char *engine;
	uint64_t fail_after;
	char *fail_errno;
	uint64_t short_every;
	uint64_t delay_every;
	uint64_t delay_ns;
};

/* clang-format off */
static const struct mlgen_field fault_fields[] = {
	{ "engine", MLGEN_F_STR(struct fault_opts, engine),
	  .def = "psync", .group = "fault",
	  .help = "The engine that does what is not failed; its own options are unset." },
	{ "fail_after", MLGEN_F_U64(struct fault_opts, fail_after),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "The operation of this number fails, and no other; the first is 1, 0 fails none." },
	{ "fail_errno", MLGEN_F_STR(struct fault_opts, fail_errno),
	  .def = "EIO", .group = "fault",
	  .help = "The error it fails with, by name or number." },
	{ "short_every", MLGEN_F_U64(struct fault_opts, short_every),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "Each read and write whose number is a multiple of this moves half of its bytes." },
	{ "delay_every", MLGEN_F_U64(struct fault_opts, delay_every),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "Each operation whose number is a multiple of this completes later by delay=." },
	{ "delay", MLGEN_F_TIME(struct fault_opts, delay_ns),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "fault",
	  .help = "How much later; the operations behind it are not held up." },
	{ 0 },
};

static const struct {
	const char *name;
	int code;
} errors[] = {
	{ "EPERM", EPERM }, { "ENOENT", ENOENT }, { "EINTR", EINTR },
	{ "EIO", EIO }, { "ENXIO", ENXIO }, { "EBADF", EBADF },
	{ "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM }, { "EACCES", EACCES },
	{ "EBUSY", EBUSY }, { "EEXIST", EEXIST }, { "ENODEV", ENODEV },
	{ "EINVAL", EINVAL }, { "ENFILE", ENFILE }, { "EMFILE", EMFILE },
	{ "EFBIG", EFBIG }, { "ENOSPC", ENOSPC }, { "EROFS", EROFS },
	{ "EDQUOT", EDQUOT }, { "ESTALE", ESTALE }, { "EREMOTEIO", EREMOTEIO },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "ETIMEDOUT", ETIMEDOUT },
	{ "ECANCELED", ECANCELED }, { "ESHUTDOWN", ESHUTDOWN },
};
/* clang-format on */

#define ERRNO_MAX 4095    /* MAX_ERRNO of the kernel */
#define SHORT_BYTES 4096u /* O_DIRECT is cut at multiples of it */

/* All workers of a job. */
struct shared {
	struct mlgen_engine_job inner;
	void *inner_opts;
	_Atomic uint64_t operations;
	int error; /* -errno */
};

/* One operation as the wrapped engine sees it: the caller's stays as it is. */
struct shadow {
	struct mlgen_io io; /* first: what comes back is this */
	struct iovec half;
	struct mlgen_io *outer;
	int error; /* its result whatever comes back; 0 = that */
	bool is_late, is_done;
	uint64_t due_ns; /* 0 = at once */
};

struct fault {
	struct mlgen_ctx inner;
	const struct mlgen_engine *engine;
	const struct fault_opts *opts;
	struct shared *shared;
	bool is_init;
	struct shadow *shadows;
	struct shadow **unused; /* a stack */
	struct shadow **done;   /* first to last */
	struct mlgen_io **reaped;
	unsigned unused_count, done_count, in_engine;
	bool is_cut; /* the job ends before what is delayed */
};

/* Setting up. */

/* -errno, or 0 for what is none. */
static int error_of(const char *word)
{
	char *end;
	long number = strtol(word, &end, 10);

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcasecmp(errors[i].name, word) == 0)
			return -errors[i].code;
	if (end == word || *end || number < 1 || number > ERRNO_MAX)
		return 0;
	return (int)-number;
}

static int find_inner(struct mlgen_engine_job *job, struct shared *s,
		      struct mlgen_err *err)
{
	const struct fault_opts *opts = job->opts;
	const struct mlgen_engine *e =
		job->find ? job->find(opts->engine) : NULL;

	if (!e)
		return mlgen_fail(err, -EINVAL,
				  "engine: '%s' is not built in; --enghelp "
				  "lists what is",
				  opts->engine);
	if (e == job->engine)
		return mlgen_fail(err, -EINVAL,
				  "engine: '%s' cannot wrap itself; name one "
				  "that moves bytes, as engine=psync",
				  opts->engine);
	s->inner = (struct mlgen_engine_job){ .engine = e,
					      .workers = job->workers,
					      .is_preparing = job->is_preparing,
					      .find = job->find };
	return 0;
}

static int start_inner(struct shared *s, struct mlgen_err *err)
{
	const struct mlgen_engine *e = s->inner.engine;

	if (e->opts_size) {
		s->inner_opts = calloc(1, e->opts_size);
		if (!s->inner_opts)
			return -ENOMEM;
		s->inner.opts = s->inner_opts;
	}
	return e->job_init ? e->job_init(&s->inner, err) : 0;
}

static int fault_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	const struct fault_opts *opts = job->opts;
	struct shared *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return mlgen_fail(err, -ENOMEM, "ioengine=fault: no memory");
	s->error = error_of(opts->fail_errno);
	rc = s->error ? find_inner(job, s, err)
		      : mlgen_fail(err, -EINVAL,
				   "fail_errno: '%s' is neither an error of "
				   "storage by name, such as EIO or ENOSPC, "
				   "nor a number from 1 to %d",
				   opts->fail_errno, ERRNO_MAX);
	if (rc == 0)
		rc = start_inner(s, err);
	if (rc < 0) {
		free(s->inner_opts);
		free(s);
		return rc;
	}
	/* What the wrapped engine says holds for both. */
	job->shares_fds = s->inner.shares_fds ||
			  !(s->inner.engine->caps & MLGEN_CAP_PRIVATE_FDS);
	job->priv = s;
	return 0;
}

static void fault_job_fini(struct mlgen_engine_job *job)
{
	struct shared *s = job->priv;

	if (!s)
		return;
	if (s->inner.engine->job_fini)
		s->inner.engine->job_fini(&s->inner);
	free(s->inner_opts);
	free(s);
	job->priv = NULL;
}

static int allocate(struct fault *f, unsigned depth)
{
	f->shadows = calloc(depth, sizeof(*f->shadows));
	f->unused = calloc(depth, sizeof(*f->unused));
	f->done = calloc(depth, sizeof(*f->done));
	f->reaped = calloc(depth, sizeof(*f->reaped));
	if (!f->shadows || !f->unused || !f->done || !f->reaped)
		return -ENOMEM;
	for (unsigned i = 0; i < depth; i++)
		f->unused[f->unused_count++] = &f->shadows[i];
	return 0;
}

static int fault_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct fault *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	ctx->priv = f;
	f->opts = ctx->opts;
	f->shared = ctx->job->priv;
	f->engine = f->shared->inner.engine;
	f->inner = *ctx;
	f->inner.job = &f->shared->inner;
	f->inner.opts = f->shared->inner.opts;
	f->inner.priv = NULL;
	rc = allocate(f, ctx->iodepth);
	if (rc < 0)
		return rc;
	f->is_init = true;
	rc = f->engine->init ? f->engine->init(&f->inner, err) : 0;
	/* What the wrapped engine says of itself holds for both. */
	ctx->can_link = f->inner.can_link;
	memcpy(ctx->in_use, f->inner.in_use, sizeof(ctx->in_use));
	memcpy(ctx->note, f->inner.note, sizeof(ctx->note));
	return rc;
}

static void fault_fini(struct mlgen_ctx *ctx)
{
	struct fault *f = ctx->priv;

	if (!f)
		return;
	if (f->is_init && f->engine->fini)
		f->engine->fini(&f->inner);
	free(f->reaped);
	free(f->done);
	free(f->unused);
	free(f->shadows);
	free(f);
	ctx->priv = NULL;
}

/* Metadata that the wrapped engine leaves; 0 or -errno. */

static int64_t status(int rc)
{
	return rc < 0 ? -errno : 0;
}

static int64_t do_open(struct mlgen_io *op)
{
	op->file->fd =
		openat(mlgen_file_dir(op->file), mlgen_file_name(op->file),
		       op->file->flags | O_CLOEXEC, op->file->mode);
	return status(op->file->fd);
}

static int64_t do_stat(struct mlgen_io *op)
{
	struct stat st;

	if (op->file->fd < 0 ? fstatat(mlgen_file_dir(op->file),
				       mlgen_file_name(op->file), &st, 0)
			     : fstat(op->file->fd, &st))
		return -errno;
	op->size_bytes = (uint64_t)st.st_size;
	return 0;
}

static int64_t do_close(struct mlgen_io *op)
{
	int64_t rc = status(close(op->file->fd));

	op->file->fd = -1;
	return rc;
}

static int64_t do_here(struct mlgen_io *op)
{
	const struct mlgen_file *file = op->file;
	off_t off = (off_t)op->off, len = (off_t)op->len_bytes;
	const char *name = mlgen_file_name(file);
	int at = mlgen_file_dir(file);

	switch (op->op) {
	case MLGEN_OPEN:
		return do_open(op);
	case MLGEN_STAT:
		return do_stat(op);
	case MLGEN_ALLOCATE:
		return status(fallocate(file->fd, 0, off, len));
	case MLGEN_FSYNC:
		return status(fsync(file->fd));
	case MLGEN_FDATASYNC:
		return status(fdatasync(file->fd));
	case MLGEN_ADVISE:
		return -posix_fadvise(file->fd, off, len, op->advice);
	case MLGEN_CLOSE:
		return do_close(op);
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
	return -EOPNOTSUPP; /* bytes are the wrapped engine's to move */
}

/* Faults. */

static bool is_multiple(uint64_t number, uint64_t every)
{
	return every && number % every == 0;
}

/*
 * A real transfer of fewer bytes. Of one part half of it, never down to
 * nothing, which would be the end of the file; of several parts half of them.
 */
static void shorten(struct shadow *s)
{
	struct mlgen_io *op = &s->io;
	size_t half;

	if (op->op != MLGEN_READ && op->op != MLGEN_WRITE)
		return;
	if (op->iovcnt > 1) {
		op->iovcnt /= 2;
		op->len_bytes = 0;
		for (int i = 0; i < op->iovcnt; i++)
			op->len_bytes += op->iov[i].iov_len;
		return;
	}
	half = op->iov->iov_len / 2;
	if (op->file->flags & O_DIRECT)
		half -= half % SHORT_BYTES;
	if (half == 0)
		return;
	s->half = (struct iovec){ op->iov->iov_base, half };
	op->iov = &s->half;
	op->len_bytes = half;
}

/* Complete, but for a delay. The results become the caller's. */
static void finish(struct fault *f, struct shadow *s)
{
	s->outer->result = s->error ? s->error : s->io.result;
	s->outer->size_bytes = s->io.size_bytes;
	s->due_ns =
		s->is_late ? f->inner.now_ns(&f->inner) + f->opts->delay_ns : 0;
	s->is_done = true;
	f->done[f->done_count++] = s;
}

/* Not done at all. */
static void fail(struct fault *f, struct shadow *s, int error)
{
	if (s->io.op == MLGEN_OPEN) {
		s->io.file->fd = -1;
		s->io.file->word = 0;
	}
	s->error = error;
	finish(f, s);
}

/* What the wrapped engine has completed. 0 or -errno. */
static int pull(struct fault *f, unsigned min, uint64_t timeout_ns)
{
	int n;

	if (!f->in_engine)
		return 0;
	n = f->engine->reap(&f->inner, f->reaped, min, f->in_engine,
			    timeout_ns);
	if (n < 0)
		return n == -EINTR ? 0 : n;
	f->in_engine -= (unsigned)n;
	for (int i = 0; i < n; i++)
		finish(f, (struct shadow *)f->reaped[i]);
	return 0;
}

static void do_in_place(struct fault *f, struct shadow *s)
{
	struct mlgen_io *one = &s->io;
	int rc = f->engine->submit(&f->inner, &one, 1);

	if (rc != 1)
		s->io.result = rc < 0 ? rc : -EIO;
	finish(f, s);
}

/* 0 or -errno; waits where the wrapped engine is full. */
static int hand_over(struct fault *f, struct shadow *s)
{
	struct mlgen_io *one = &s->io;
	int rc;

	while ((rc = f->engine->submit(&f->inner, &one, 1)) == 0) {
		rc = f->in_engine ? pull(f, 1, UINT64_MAX) : -EAGAIN;
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	f->in_engine++;
	return 0;
}

/* Number the operation and let it go its way. 0 or the engine's failure. */
static int start(struct fault *f, struct shadow *s)
{
	uint64_t number = 1 + atomic_fetch_add(&f->shared->operations, 1);

	s->is_late = is_multiple(number, f->opts->delay_every);
	if (number == f->opts->fail_after && s->io.op != MLGEN_CLOSE) {
		fail(f, s, f->shared->error);
		return 0;
	}
	if (number == f->opts->fail_after)
		s->error =
			f->shared->error; /* closed all the same, as on Linux */
	if (is_multiple(number, f->opts->short_every))
		shorten(s);
	if (!(f->engine->caps & MLGEN_CAP(s->io.op))) {
		s->io.result = do_here(&s->io);
		finish(f, s);
		return 0;
	}
	if (f->engine->reap)
		return hand_over(f, s);
	do_in_place(f, s);
	return 0;
}

static struct shadow *shadow_of(struct fault *f, struct mlgen_io *op)
{
	struct shadow *s = f->unused[--f->unused_count];

	s->io = *op;
	s->io.flags &= ~(unsigned)MLGEN_IO_LINK;
	s->outer = op;
	s->error = 0;
	s->is_late = false;
	s->is_done = false;
	return s;
}

/*
 * A chain is gone through here, one after the other: its parts may be done in
 * different places. What follows an open that failed is cancelled.
 */
static int start_link(struct fault *f, struct shadow *s, bool *is_cancelled)
{
	const struct mlgen_io *outer = s->outer;
	int rc = 0;

	if (*is_cancelled)
		fail(f, s, -ECANCELED);
	else
		rc = start(f, s);
	while (rc == 0 && !s->is_done)
		rc = pull(f, 1, UINT64_MAX);
	if (outer->op == MLGEN_OPEN && outer->result < 0)
		*is_cancelled = true;
	if (!(outer->flags & MLGEN_IO_LINK))
		*is_cancelled = false;
	return rc;
}

static int fault_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	struct fault *f = ctx->priv;
	bool is_chained = false, is_cancelled = false;
	unsigned i;
	int rc = 0;

	for (i = 0; i < n && f->unused_count; i++) {
		struct shadow *s = shadow_of(f, io[i]);
		if (is_chained || (io[i]->flags & MLGEN_IO_LINK))
			rc = start_link(f, s, &is_cancelled);
		else
			rc = start(f, s);
		if (rc < 0)
			return rc;
		is_chained = io[i]->flags & MLGEN_IO_LINK;
	}
	return (int)i;
}

/* Give back what is due, in the order of completion. */
static unsigned give_due(struct fault *f, struct mlgen_io **io, unsigned max,
			 uint64_t now)
{
	unsigned given = 0, kept = 0;

	for (unsigned i = 0; i < f->done_count; i++) {
		struct shadow *s = f->done[i];
		if (given == max || (s->due_ns > now && !f->is_cut)) {
			f->done[kept++] = s;
			continue;
		}
		if (s->due_ns > now)
			s->outer->result = -ECANCELED;
		io[given++] = s->outer;
		f->unused[f->unused_count++] = s;
	}
	f->done_count = kept;
	return given;
}

static uint64_t next_due(const struct fault *f, uint64_t end)
{
	for (unsigned i = 0; i < f->done_count; i++)
		if (f->done[i]->due_ns < end)
			end = f->done[i]->due_ns;
	return end;
}

/* Until the wrapped engine has one more, or that time. 0 or -errno. */
static int wait_until(struct fault *f, uint64_t now, uint64_t until)
{
	unsigned before = f->done_count;
	int rc;

	if (until == UINT64_MAX)
		return pull(f, 1, until);
	rc = pull(f, 1, until - now);
	/* Its own time-out is real time, and this may not be. */
	if (rc == 0 && f->done_count == before)
		f->is_cut |= !f->inner.sleep_until(&f->inner, until);
	return rc;
}

static int fault_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
		      unsigned max, uint64_t timeout_ns)
{
	struct fault *f = ctx->priv;
	uint64_t now = ctx->now_ns(ctx), end = UINT64_MAX;
	int rc = pull(f, 0, 0);
	unsigned got = rc < 0 ? 0 : give_due(f, io, max, now);

	if (timeout_ns < UINT64_MAX - now)
		end = now + timeout_ns;
	while (rc == 0 && got < min && now < end &&
	       f->in_engine + f->done_count > 0) {
		rc = wait_until(f, now, next_due(f, end));
		now = ctx->now_ns(ctx);
		got += give_due(f, io + got, max - got, now);
	}
	return rc < 0 ? rc : (int)got;
}

const struct mlgen_engine mlgen_engine_fault = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "fault",
	.help = "wraps another engine and fails, shortens or delays its "
		"operations",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT |
		MLGEN_CAP_PRIVATE_FDS,
	.opts = fault_fields,
	.opts_size = sizeof(struct fault_opts),
	.job_init = fault_job_init,
	.job_fini = fault_job_fini,
	.init = fault_init,
	.fini = fault_fini,
	.submit = fault_submit,
	.reap = fault_reap,
};
