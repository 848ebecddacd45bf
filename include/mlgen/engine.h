/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - what an engine is: a const table of functions that moves bytes. */
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
 * takes every time and counts every byte. One worker thread owns one `struct mlgen_ctx`; nothing in
 * it is shared, so an engine needs no locks. What workers of one job do share is in `struct
 * mlgen_engine_job`. Tables are const; the program exports no symbols to an engine: everything it
 * needs comes through ctx.
 * An engine is built in, as engines/NAME.c or a folder engines/NAME/ with the table
 * mlgen_engine_NAME, or is a shared object of its own: see MLGEN_ENGINE_ABI.
 */
#define MLGEN_ENGINE_ABI 5

/*
 * A shared object exports its table as `mlgen_engine` and is loaded by
 * ioengine=PATH, with a '/' in the path; it needs no library of mlgen's:
 *
 *	cc -shared -fPIC -o my.so my.c
 *	mlgen --ioengine=./my.so ...
 *
 * One built with headers of another ABI is refused, not guessed at.
 */
extern const struct mlgen_engine mlgen_engine __attribute__((visibility("default")));

/* Metadata operations are ordinary operations; caps say which are taken. */
enum mlgen_op {
	MLGEN_OPEN,     /* the file's name with file->flags, mode; sets fd */
	MLGEN_STAT,     /* file->fd if open, else its name; fills `size_bytes` */
	MLGEN_READ,     /* iov, off */
	MLGEN_WRITE,    /* iov, off */
	MLGEN_ALLOCATE, /* off, len_bytes */
	MLGEN_FSYNC,
	MLGEN_FDATASYNC,
	MLGEN_ADVISE, /* off, len_bytes, advice */
	MLGEN_CLOSE,  /* -EINTR counts as closed */
	MLGEN_RENAME, /* the file's name to path2, in the same folder */
	MLGEN_UNLINK, /* its name */
	MLGEN_MKDIR,  /* its name, file->mode */
	MLGEN_RMDIR,  /* its name */
	MLGEN_OPS
};

#define MLGEN_CAP(op) (1u << (op))
#define MLGEN_CAP_DIRECT (1u << 16)   /* moves files opened with O_DIRECT */
#define MLGEN_CAP_NO_FILES (1u << 17) /* touches no file at all */
/*
 * Each worker may have a table of descriptors of its own (unshare(2), CLONE_FILES), which makes
 * calls on files cheaper. What another thread opens once the workers have begun is not in it, and
 * nobody else sees what a worker opens: not for an engine whose library has threads that open or
 * close files or connections.
 */
#define MLGEN_CAP_PRIVATE_FDS (1u << 18)

/*
 * A chain is handed over in one submit. An OPEN that fails cancels the rest (-ECANCELED); behind a
 * READ or WRITE, short or failed, the next one runs all the same, so that the CLOSE is never lost.
 */
enum mlgen_io_flags {
	MLGEN_IO_LINK = 1, /* the next io runs only after this one */
};

/*
 * What is written or removed is named within a folder that the caller holds open, so that nobody
 * can put a link or another folder on the way there: an engine hands mlgen_file_dir() and
 * mlgen_file_name() to openat(2) and its kin. What is only read has a path and no name.
 */
struct mlgen_file {
	const char *path; /* owned by the caller until closed; for messages */
	const char *name; /* in the folder of dir_fd; NULL = by `path` */
	int dir_fd;       /* with a name */
	int fd;           /* -1 when closed, or kept elsewhere */
	int flags;        /* for open(2) */
	unsigned mode;
	uint64_t word; /* the engine's own: a slot, a handle; 0 = none */
	/* The io layer's, who numbers what is open for a trace; 0 = none. An engine has only
	 * pointers to files, so that one built without this member works as before. */
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

/* One operation. The caller owns it; an engine writes only `result` (and file->fd, file->word,
 * size_bytes where the operation says so). */
struct mlgen_io {
	enum mlgen_op op;
	unsigned flags;
	struct mlgen_file *file;
	const struct iovec *iov; /* parts may repeat over one buffer */
	int iovcnt;
	uint64_t off;        /* bytes */
	uint64_t len_bytes;  /* of READ, WRITE: the sum of iov */
	int advice;          /* ADVISE: POSIX_FADV_... */
	const char *path2;   /* RENAME: a name where the file has one */
	uint64_t size_bytes; /* STAT: result. OPEN: the caller's; 0 = unknown */
	int64_t result;      /* bytes or 0; -errno */
	void *owner;         /* the caller's; engines leave it */
};

struct mlgen_engine;

struct mlgen_engine_job {
	const struct mlgen_engine *engine;
	const void *opts; /* opts_size bytes, by engine->opts */
	unsigned workers;
	/* Files are made, nothing is measured: what asks for a kind of path to the device (polled,
	 * not cached, not waiting) does not count. */
	bool is_preparing;
	void *priv; /* the engine's */
	/* Other workers of the same job, set up before these: a training's, for those that save its
	 * checkpoints. NULL = none. */
	const struct mlgen_engine_job *beside;
	/* For an engine that wraps another: by name; NULL = not built. */
	const struct mlgen_engine *(*find)(const char *name);
	/* job_init says that MLGEN_CAP_PRIVATE_FDS does not hold for this job: the engine that is
	 * wrapped does not have it. */
	bool shares_fds;
};

struct mlgen_ctx {
	struct mlgen_engine_job *job;
	const void *opts; /* as job->opts */
	unsigned iodepth; /* most operations in flight */
	unsigned files;   /* most files that are open at once */
	void *buf;        /* the worker's buffer, aligned; touched, if files are */
	size_t buf_bytes;
	/* Pages of it are given back while it works, and others come in their place: nobody may
	 * keep them, as registered buffers do. */
	bool buf_is_given_back;
	/*
	 * What init says of itself. can_link: takes chains, OPEN to CLOSE of one file with
	 * MLGEN_IO_LINK on all but the last. in_use: which of the optional means are in use, in a
	 * few words with commas, for the report ("" = nothing to say). note: a sentence for the
	 * user where something that is only faster could not be had ("" = none).
	 */
	bool can_link;
	char in_use[192];
	char note[256];
	/* The run's clock; real or virtual. A sleep returns false where the job ends before that
	 * time: the operation it was for gets -ECANCELED. */
	uint64_t (*now_ns)(const struct mlgen_ctx *ctx);
	bool (*sleep_until)(const struct mlgen_ctx *ctx, uint64_t ns);
	/* Value number `index` of a distribution: this worker's own, and the same in every run of
	 * the same randseed. */
	uint64_t (*draw)(const struct mlgen_ctx *ctx, const struct mlgen_dist *dist,
			 uint64_t index);
	const void *clock; /* for the three above only */
	void *priv;        /* the engine's */
};

/*
 * Synchronous or asynchronous is one fact: is `reap` NULL. Then n is 1 and the operation is
 * complete when submit returns.
 */
struct mlgen_engine {
	unsigned abi; /* MLGEN_ENGINE_ABI */
	size_t size;  /* sizeof(struct mlgen_engine) */
	const char *name;
	const char *help; /* one clause for --enghelp */
	unsigned caps;
	const struct mlgen_field *opts; /* or NULL */
	size_t opts_size;

	/* Optional, on the main thread, around all workers of a job. */
	int (*job_init)(struct mlgen_engine_job *job, struct mlgen_err *err);
	void (*job_fini)(struct mlgen_engine_job *job);
	/* Optional, on the worker's own thread. fini takes a failed init. */
	int (*init)(struct mlgen_ctx *ctx, struct mlgen_err *err);
	void (*fini)(struct mlgen_ctx *ctx);
	/*
	 * Hand over n operations. The number accepted from the front, or
	 * -errno where nothing could be taken; 0 = full, reap first. What an operation itself meets
	 * goes into its result, never here: -errno from an asynchronous engine ends its worker.
	 */
	int (*submit)(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n);
	/*
	 * Collect at least min, at most max completed operations. Waits until timeout_ns have
	 * passed (UINT64_MAX: for ever). Their number, or -errno; fewer than min only after the
	 * timeout.
	 */
	int (*reap)(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
		    uint64_t timeout_ns);
	/* Optional: memory that this engine likes. NULL = out of memory. */
	void *(*buf_alloc)(struct mlgen_ctx *ctx, size_t bytes);
	void (*buf_free)(struct mlgen_ctx *ctx, void *buf, size_t bytes);
};
