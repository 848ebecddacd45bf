/* SPDX-License-Identifier: Apache-2.0 */
/* engine_rig.h - one engine with its options below an io layer, and a file to move. */
#pragma once

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "field/fields.h"
#include "io/engines.h"
#include "io/io.h"
#include "temp.h"

#define RIG_OPTIONS 6

/*
 * Time is virtual and stands still unless an engine sleeps on it. The file holds rig_byte(offset)
 * at each offset.
 */
struct rig {
	struct clock *clock;
	struct opstat stat;
	struct mlgen_engine_job job;
	void *opts;
	struct io *io;
	struct mlgen_err err;
	char dir[TEMP_BYTES], path[300];
	struct mlgen_file file;
};

static inline unsigned char rig_byte(uint64_t off)
{
	return (unsigned char)((off * 31 + off / 4096 * 7) % 251);
}

/* rig_byte of all offsets up to `bytes`, made once; whoever asks may have threads. */
static inline const unsigned char *rig_content(uint64_t bytes)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static unsigned char *made;
	static uint64_t made_bytes, room;

	pthread_mutex_lock(&lock);
	if (!made) {
		room = UINT64_C(64) << 20;
		made = mmap(NULL, room, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		ck_assert(made != MAP_FAILED);
	}
	ck_assert_uint_le(bytes, room);
	for (; made_bytes < bytes; made_bytes++)
		made[made_bytes] = rig_byte(made_bytes);
	pthread_mutex_unlock(&lock);
	return made;
}

static inline bool rig_bytes_are(const unsigned char *bytes, uint64_t off, uint64_t n)
{
	return memcmp(bytes, rig_content(off + n + 1) + off, n) == 0;
}

static inline void rig_option(struct rig *r, const struct mlgen_engine *e, const char *option)
{
	char name[32] = { 0 };
	const char *value = strchr(option, '=');

	ck_assert_ptr_nonnull(value);
	memcpy(name, option, (size_t)(value - option));
	const struct mlgen_field *f = field_find(e->opts, name);
	ck_assert_msg(f != NULL, "%s has no option %s", e->name, name);
	ck_assert_msg(field_parse(f, r->opts, value + 1, 1024, &r->err) == 0, "%s", r->err.text);
}

/* Engine and options ("name=value", up to a NULL); 0 or the error of job_init. */
static inline int rig_job(struct rig *r, const char *engine, const char *const *options)
{
	const struct mlgen_engine *e = engines_find(engine);

	memset(r, 0, sizeof(*r));
	r->clock = clock_new_virtual(1000);
	clock_join(r->clock);
	opstat_init(&r->stat);
	ck_assert_msg(e != NULL, "%s is not built in", engine);
	r->opts = mem_zalloc(e->opts_size);
	field_defaults(e->opts, r->opts);
	for (int i = 0; options && i < RIG_OPTIONS && options[i]; i++)
		rig_option(r, e, options[i]);
	r->job = (struct mlgen_engine_job){
		.engine = e, .opts = r->opts, .workers = 1, .find = engines_find
	};
	return e->job_init ? e->job_init(&r->job, &r->err) : 0;
}

static inline int rig_io(struct rig *r, unsigned depth, size_t buf_bytes)
{
	const struct io_config cfg = { .job = &r->job,
				       .clock = r->clock,
				       .stat = &r->stat,
				       .iodepth = depth,
				       .buf_bytes = buf_bytes };

	return io_new(&r->io, &cfg, &r->err);
}

static inline void rig_end(struct rig *r)
{
	io_free(r->io);
	if (r->job.engine->job_fini)
		r->job.engine->job_fini(&r->job);
	field_fini(r->job.engine->opts, r->opts);
	mem_free(r->opts);
	opstat_fini(&r->stat);
	clock_leave(r->clock);
	clock_free(r->clock);
	if (r->file.fd > 0)
		close(r->file.fd);
	if (r->dir[0]) {
		unlink(r->path);
		ck_assert_int_eq(rmdir(r->dir), 0);
	}
}

/* False, with the reason on stderr and the rig ended, where this host does not allow io_uring; any
 * other error is a failure. */
static inline bool rig_start(struct rig *r, const char *engine, const char *const *options,
			     unsigned depth, size_t buf_bytes)
{
	int rc = rig_job(r, engine, options);

	if (rc == 0)
		rc = rig_io(r, depth, buf_bytes);
	if (rc == 0)
		return true;
	ck_assert_msg((rc == -EPERM || rc == -ENOSYS) && strstr(r->err.text, "io_uring"), "%s: %s",
		      engine, r->err.text);
	fprintf(stderr, "skipped: %s\n", r->err.text);
	rig_end(r);
	return false;
}

/* A file of so many bytes, open with those flags beside O_CLOEXEC. */
static inline void rig_file(struct rig *r, uint64_t bytes, int flags)
{
	int fd;

	temp_folder_in(r->dir, flags & O_DIRECT ? temp_disk() : temp_place());
	snprintf(r->path, sizeof(r->path), "%s/data", r->dir);
	fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, rig_content(bytes + 1), (size_t)bytes), (ssize_t)bytes);
	close(fd);
	r->file = (struct mlgen_file){ .path = r->path, .flags = flags };
	r->file.fd = open(r->path, flags | O_CLOEXEC);
}

static inline struct io_op rig_op(struct rig *r, enum mlgen_op kind, uint64_t off, uint64_t bytes)
{
	return (struct io_op){
		.io = { .op = kind, .file = &r->file, .off = off, .len_bytes = bytes }
	};
}

/* Wait until n more have come back, in `done`. */
static inline void rig_reap(struct rig *r, struct io_op **done, unsigned n)
{
	for (unsigned got = 0; got < n;) {
		int rc = io_reap(r->io, done + got, 1, n - got);

		ck_assert_int_gt(rc, 0);
		got += (unsigned)rc;
	}
}

/* A worker's context and its engine, without the io layer. */
struct bare_rig {
	const struct mlgen_engine *engine;
	struct mlgen_engine_job job;
	struct mlgen_ctx ctx;
	struct mlgen_err err;
	void *opts;
	int rc;
};

/* Options as rig_job has them; NULL = none at all, not even the defaults. */
static inline void bare_prepare(struct bare_rig *b, const char *engine, const char *const *options,
				unsigned depth)
{
	struct rig r = { 0 };

	memset(b, 0, sizeof(*b));
	b->engine = engines_find(engine);
	ck_assert_msg(b->engine != NULL, "%s is not built in", engine);
	if (options) {
		r.opts = b->opts = mem_zalloc(b->engine->opts_size);
		field_defaults(b->engine->opts, b->opts);
	}
	for (int i = 0; options && options[i]; i++)
		rig_option(&r, b->engine, options[i]);
	b->job = (struct mlgen_engine_job){ .engine = b->engine, .opts = b->opts, .workers = 4 };
	b->ctx = (struct mlgen_ctx){ .job = &b->job, .opts = b->opts, .iodepth = depth };
}

static inline void bare_buffer(struct bare_rig *b, size_t bytes)
{
	b->ctx.buf = mem_buffer(bytes, MEM_MALLOC);
	b->ctx.buf_bytes = bytes;
}

static inline void bare_end(struct bare_rig *b)
{
	b->engine->fini(&b->ctx);
	ck_assert_ptr_null(b->ctx.priv);
	if (b->ctx.buf)
		mem_buffer_free(b->ctx.buf, b->ctx.buf_bytes, MEM_MALLOC);
	if (b->opts)
		field_fini(b->engine->opts, b->opts);
	mem_free(b->opts);
}

/* Memory that a user who is not root may lock is that of all his rings, and the kernel frees them a
 * moment after their end. */
static inline int bare_try(struct bare_rig *b)
{
	for (int tries = 0;; tries++) {
		b->err.code = 0;
		int rc = b->engine->init(&b->ctx, &b->err);

		if (rc != -ENOMEM || getuid() == 0 || tries == 40)
			return rc;
		usleep(50000);
	}
}

/* False, with the reason on stderr and the rig ended, where this host does not allow io_uring. */
static inline bool bare_init(struct bare_rig *b)
{
	b->rc = bare_try(b);
	if (b->rc == 0)
		return true;
	ck_assert_msg(b->rc == -EPERM || b->rc == -ENOSYS || (b->rc == -ENOMEM && getuid() != 0),
		      "%s", b->err.text);
	fprintf(stderr, "skipped: %s\n", b->err.text);
	bare_end(b);
	return false;
}

/* One operation, alone: its result. */
static inline int64_t bare_do(struct bare_rig *b, struct mlgen_io *op)
{
	struct mlgen_io *done = NULL;

	op->result = 77;
	ck_assert_int_eq(b->engine->submit(&b->ctx, &op, 1), 1);
	ck_assert_int_eq(b->engine->reap(&b->ctx, &done, 1, 1, UINT64_MAX), 1);
	ck_assert_ptr_eq(done, op);
	return op->result;
}
