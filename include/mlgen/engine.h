/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - the interface of engines: a const table of functions that move bytes. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <mlgen/err.h>
#include <mlgen/field.h>

/*
 * An engine knows no job, dataset or statistic and contains no measurement code: the io layer above
 * measures every time and counts every byte. Each worker thread owns a `struct mlgen_ctx`. Nothing
 * in it is shared, so an engine needs no locks. State that the workers of a job share is in `struct
 * mlgen_engine_job`. Tables are const. The program exports no symbols to an engine: everything that
 * an engine needs comes through ctx.
 *
 * An engine is built in, as engines/NAME.c or a folder engines/NAME/ with the table
 * mlgen_engine_NAME, or is a shared object: see MLGEN_ENGINE_ABI.
 */
#define MLGEN_ENGINE_ABI 5

/*
 * A shared object exports its table as `mlgen_engine` and is loaded by ioengine=PATH, with a '/' in
 * the path. It needs no mlgen library:
 *
 *	cc -shared -fPIC -o my.so my.c
 *	mlgen --ioengine=./my.so ...
 *
 * An engine built with headers of another ABI is refused.
 */
extern const struct mlgen_engine mlgen_engine __attribute__((visibility("default")));

/* Metadata operations are ordinary operations; caps lists those that the engine supports. */
enum mlgen_op {
	MLGEN_OPEN,     /* the file's name with file->flags, file->mode; sets file->fd */
	MLGEN_STAT,     /* file->fd if open, otherwise the file's name; fills `size_bytes` */
	MLGEN_READ,     /* iov, off */
	MLGEN_WRITE,    /* iov, off */
	MLGEN_ALLOCATE, /* off, len_bytes */
	MLGEN_FSYNC,
	MLGEN_FDATASYNC,
	MLGEN_ADVISE, /* off, len_bytes, advice */
	MLGEN_CLOSE,  /* -EINTR counts as closed */
	MLGEN_RENAME, /* the file's name to path2, in the same folder */
	MLGEN_UNLINK, /* the file's name */
	MLGEN_MKDIR,  /* the file's name, file->mode */
	MLGEN_RMDIR,  /* the file's name */
	MLGEN_OPS
};

#define MLGEN_CAP(op) (1u << (op))
#define MLGEN_CAP_DIRECT (1u << 16)   /* reads and writes files opened with O_DIRECT */
#define MLGEN_CAP_NO_FILES (1u << 17) /* touches no file at all */
/*
 * Each worker may have a private table of descriptors (unshare(2), CLONE_FILES), which makes calls
 * on files cheaper. The table does not contain descriptors that another thread opens after the
 * start of the workers, and no other thread can use the descriptors of the worker. An engine whose
 * library has threads that open or close files or connections must not set this flag.
 */
#define MLGEN_CAP_PRIVATE_FDS (1u << 18)

/*
 * A chain is passed in a single submit. An OPEN that fails cancels the rest (-ECANCELED). After a
 * READ or WRITE, even if short or failed, the next operation runs, so that the CLOSE is never lost.
 */
enum mlgen_io_flags {
	MLGEN_IO_LINK = 1, /* the next io starts only after this io has completed */
};

/*
 * Files that are written or removed are named relative to a folder that the caller holds open. A
 * symbolic link or folder that someone swaps into the path then has no effect. An engine passes
 * mlgen_file_dir() and mlgen_file_name() to openat(2) and similar calls. Files that are only read
 * have a path and no name.
 */
struct mlgen_file {
	const char *path; /* owned by the caller until closed; for messages */
	const char *name; /* relative to dir_fd; NULL = use `path` */
	int dir_fd;       /* valid with a name */
	int fd;           /* -1 when closed, or if `word` identifies the file */
	int flags;        /* flags of open(2) */
	unsigned mode;
	uint64_t word; /* private to the engine, such as a slot or a handle; 0 = none */
	/* Number that the io layer gives to an open file in a trace; 0 = none. Engines only hold
	 * pointers to files, so an engine built without this member still works. */
	uint32_t trace;
};

/* The first two arguments of openat(2), unlinkat(2), fstatat(2) ... */
static inline int mlgen_file_dir(const struct mlgen_file *file)
{
	return file->name ? file->dir_fd : AT_FDCWD;
}

static inline const char *mlgen_file_name(const struct mlgen_file *file)
{
	return file->name ? file->name : file->path;
}

/* An operation. The caller owns it. An engine writes only `result`, and file->fd, file->word and
 * size_bytes where enum mlgen_op says so. */
struct mlgen_io {
	enum mlgen_op op;
	unsigned flags;
	struct mlgen_file *file;
	const struct iovec *iov; /* several parts may point to the same memory */
	int iovcnt;
	uint64_t off;        /* bytes */
	uint64_t len_bytes;  /* READ, WRITE: the sum of iov */
	int advice;          /* ADVISE: POSIX_FADV_... */
	const char *path2;   /* RENAME: a name if the file has one, otherwise a path */
	uint64_t size_bytes; /* STAT: result. OPEN: set by the caller; 0 = unknown */
	int64_t result;      /* bytes or 0; -errno */
	void *owner;         /* private to the caller; engines do not use it */
};

struct mlgen_engine;

struct mlgen_engine_job {
	const struct mlgen_engine *engine;
	const void *opts; /* opts_size bytes, described by engine->opts */
	unsigned workers;
	/* Files are being prepared and nothing is measured: ignore options that select a path to
	 * the device (polled, uncached, nowait). */
	bool is_preparing;
	void *priv; /* the engine's */
	/* Other workers of the same job, set up earlier: for example, the training workers whose
	 * checkpoints these workers save. NULL = none. */
	const struct mlgen_engine_job *beside;
	/* Find another engine by name, in order to wrap it; returns NULL if it is not built. */
	const struct mlgen_engine *(*find)(const char *name);
	/* Set by job_init if MLGEN_CAP_PRIVATE_FDS does not hold for this job, because the wrapped
	 * engine does not have the flag. */
	bool shares_fds;
};

struct mlgen_ctx {
	struct mlgen_engine_job *job;
	const void *opts; /* job->opts */
	unsigned iodepth; /* maximum operations in flight */
	unsigned files;   /* maximum files open at once */
	void *buf;        /* the worker's buffer, aligned; touched unless the engine has no files */
	size_t buf_bytes;
	/* Pages of the buffer are replaced during the run, so an engine must not pin them, for
	 * example by registering the buffer. */
	bool buf_is_given_back;
	/*
	 * Set by init. can_link: the engine accepts chains, OPEN to CLOSE of a file with
	 * MLGEN_IO_LINK on all but the last operation. in_use: optional features in use, a few
	 * words separated by commas, for the report ("" = none). note: a sentence for the user
	 * where an optional speed-up was not available ("" = none).
	 */
	bool can_link;
	char in_use[192];
	char note[256];
	/* The run's clock, real or virtual. sleep_until returns false if the job ends before that
	 * time; the engine then completes the operation with -ECANCELED. */
	uint64_t (*now_ns)(const struct mlgen_ctx *ctx);
	bool (*sleep_until)(const struct mlgen_ctx *ctx, uint64_t ns);
	/* Value number `index` of a distribution: different for each worker, and the same in every
	 * run with the same randseed. */
	uint64_t (*draw)(const struct mlgen_ctx *ctx, const struct mlgen_dist *dist,
			 uint64_t index);
	const void *clock; /* private to the three functions above */
	void *priv;        /* the engine's */
};

/*
 * An engine with a NULL `reap` is synchronous: n is 1, and the operation is complete when submit
 * returns. Otherwise the engine is asynchronous.
 */
struct mlgen_engine {
	unsigned abi; /* MLGEN_ENGINE_ABI */
	size_t size;  /* sizeof(struct mlgen_engine) */
	const char *name;
	const char *help; /* a clause for --enghelp */
	unsigned caps;
	const struct mlgen_field *opts; /* or NULL */
	size_t opts_size;

	/* Optional. Called on the main thread, before the first worker of a job starts and after
	 * the last worker has ended. */
	int (*job_init)(struct mlgen_engine_job *job, struct mlgen_err *err);
	void (*job_fini)(struct mlgen_engine_job *job);
	/* Optional. Called on the worker's own thread. fini is also called after a failed init. */
	int (*init)(struct mlgen_ctx *ctx, struct mlgen_err *err);
	void (*fini)(struct mlgen_ctx *ctx);
	/*
	 * Submit n operations. Returns the number accepted from the front, 0 if the engine is full
	 * (reap first), or -errno. The error of an operation goes into its result, never here:
	 * -errno from an asynchronous engine ends its worker.
	 */
	int (*submit)(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
	/*
	 * Return at least min, at most max completed operations; wait for at most timeout_ns
	 * (UINT64_MAX = for ever). The result is their number, or -errno; it is less than min only
	 * after the timeout.
	 */
	int (*reap)(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
		    uint64_t timeout_ns);
	/* Optional: allocate the worker's buffer. NULL = out of memory. */
	void *(*buf_alloc)(struct mlgen_ctx *ctx, size_t bytes);
	void (*buf_free)(struct mlgen_ctx *ctx, void *buf, size_t bytes);
};
