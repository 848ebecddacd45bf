/* SPDX-License-Identifier: Apache-2.0 */
/* stream_setup.c - what a stream needs before its first request: pattern, engine, buffer, open
 * files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "work/plain/stream.h"

/* Together at most so much memory for requests; larger ones share it. */
#define BUFFER_BYTES (UINT64_C(256) << 20)
#define PAGE_BYTES UINT64_C(4096)

/* What is written cannot be compressed, and every worker writes its own. */
static void fill_buffer(struct stream *s)
{
	size_t bytes;
	void *buf = io_buffer(stream_io(s), &bytes);

	rng_fill(buf, bytes, s->all->job->randseed, RNG_CONTENT, s->index * bytes);
}

int stream_open_io(struct stream *s, const struct stream_needs *needs, struct mlgen_err *err)
{
	const struct job *j = s->all->job;
	struct worker_config cfg = {
		.job_name = s->index == 0 ? j->name : NULL,
		.place = s->all->place,
		.traced = s->all->traced,
		.io = { .job = &s->all->engine_job,
			.clock = s->all->clock,
			.iodepth = needs->depth,
			.files = needs->files,
			.buf_bytes = needs->buffer_bytes,
			.mem = (enum mem_kind)j->mem,
			.seed = rng_u64(j->randseed, RNG_ENGINE, s->index),
			.stop = s->all->stop },
	};
	int rc;

	if (needs->writes)
		cfg.io.stamp = rng_u64(j->randseed, RNG_CONTENT, s->index) | 1;
	snprintf(cfg.role, sizeof(cfg.role), "worker %" PRIu64, s->index);
	cfg.list = s->all->workers;
	cfg.has_ramp = j->ramp_time_ns > 0;
	rc = worker_open(&s->worker, &cfg, err);
	if (rc == 0 && needs->writes)
		fill_buffer(s);
	return rc;
}

/* For the status line. */
static void tell_bytes(const struct stream *s)
{
	uint64_t bytes = pattern_bytes(s->pattern);

	atomic_store(&s->all->bytes,
		     bytes > UINT64_MAX / s->all->count ? UINT64_MAX : bytes * s->all->count);
}

static int make_pattern(struct stream *s, struct mlgen_err *err)
{
	size_t n = 0;
	const struct iofile *files = iofiles_of(s->all->files, s->index, &n);
	struct pattern_region *regions = mem_array(n, sizeof(*regions));
	struct pattern_config cfg = {
		.job = s->all->job, .regions = regions, .count = (unsigned)n, .worker = s->index
	};
	int rc;

	for (size_t i = 0; i < n; i++)
		regions[i] = files[i].region;
	rc = pattern_new(&s->pattern, &cfg, err);
	mem_free(regions);
	if (rc == 0 && s->index == 0)
		tell_bytes(s);
	return rc;
}

static void make_ops(struct stream *s)
{
	s->ops = mem_array(s->depth, sizeof(*s->ops));
	s->free_ops = mem_array(s->depth, sizeof(struct stream_op *));
	s->done = mem_array(s->depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < s->depth; i++) {
		s->ops[i].io.owner = &s->ops[i];
		s->free_ops[s->free_count++] = &s->ops[i];
	}
}

/* The engine itself, and none of its operations. */
int stream_fail_engine(const char *name, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "ioengine=%s: cannot go on: %s", name, strerror(-rc));
}

static int try_open(struct stream *s, struct mlgen_file *file, const struct iofile *of,
		    struct io_op *op)
{
	*op = (struct io_op){ .io = { .op = MLGEN_OPEN,
				      .file = file,
				      .size_bytes = of->kind == IOFILE_CHAR ? 0 : of->bytes } };
	return (int)io_do(stream_io(s), op);
}

static int open_one(struct stream *s, struct mlgen_file *file, const struct iofile *of,
		    struct mlgen_err *err)
{
	const char *engine = s->all->job->engine->name;
	struct io_op op;
	int rc = try_open(s, file, of, &op);

	/* Files of others; the engine's own error is another matter. */
	if (op.io.result == -EPERM && (file->flags & O_NOATIME)) {
		file->flags &= ~O_NOATIME;
		rc = try_open(s, file, of, &op);
	}
	if (rc >= 0)
		return 0;
	if (op.io.result >= 0)
		return stream_fail_engine(engine, rc, err);
	if (rc == -EOPNOTSUPP)
		return mlgen_fail(err, rc,
				  "%s: open: %s; this filesystem has no files for ioengine=%s",
				  file->path, strerror(-rc), engine);
	if (rc == -EINVAL && (file->flags & O_DIRECT))
		return mlgen_fail(err, rc,
				  "%s: open: %s; this filesystem has no O_DIRECT, use direct=0",
				  file->path, strerror(-rc));
	return mlgen_fail(err, rc, "%s: open: %s", file->path, strerror(-rc));
}

static int stream_setup_open_files(struct stream *s, struct mlgen_err *err)
{
	const struct job *j = s->all->job;
	const struct iofile *files = iofiles_of(s->all->files, s->index, &s->file_count);
	int rc = 0;

	s->files = mem_array(s->file_count, sizeof(*s->files));
	for (size_t i = 0; i < s->file_count && rc == 0; i++) {
		struct mlgen_file *f = &s->files[i];

		/* A mapping that is written has to be readable, too. To note the time of a read
		 * costs 2 % of it when it comes from memory; fio does without as well. */
		*f = (struct mlgen_file){
			.path = files[i].path,
			.fd = -1,
			.flags = (job_writes(j) ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOATIME |
				 (j->direct ? O_DIRECT : 0),
		};
		rc = open_one(s, f, &files[i], err);
		s->open_files += rc == 0;
	}
	return rc;
}

/*
 * 0 = all that is free: one system call for many requests. But a device that gets them all at once
 * is done with them all at once, and idle until the next: 4 KiB at iodepth=32 on a virtio disk, 82
 * thousand IOPS one by one, as fio does it, and 70 all at once.
 */
static unsigned batch_submit(const struct job *j)
{
	if (j->iodepth_batch_submit)
		return (unsigned)j->iodepth_batch_submit;
	return j->direct ? 1 : 0;
}

size_t stream_buffer_bytes(const struct job *j, unsigned depth)
{
	uint64_t one = pattern_largest_bytes(j), all;

	one = (one + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	all = one < BUFFER_BYTES / depth ? one * depth : BUFFER_BYTES;
	return (size_t)all;
}

int stream_set_up(struct stream *s, struct mlgen_err *err)
{
	const struct job *j = s->all->job;
	struct stream_needs needs = { .writes = job_writes(j) };
	int rc;

	s->depth = job_depth(j);
	s->batch_submit = batch_submit(j);
	s->is_sync = !j->engine->reap;
	iofiles_of(s->all->files, s->index, &s->file_count);
	pace_init(&s->pace, j);
	rc = make_pattern(s, err);
	needs.depth = s->depth;
	needs.files = (unsigned)s->file_count;
	needs.buffer_bytes = stream_buffer_bytes(j, s->depth);
	if (rc == 0)
		rc = stream_open_io(s, &needs, err);
	if (rc < 0)
		return rc;
	make_ops(s);
	return stream_setup_open_files(s, err);
}

void stream_close_files(struct stream *s)
{
	for (size_t i = 0; i < s->open_files && stream_in_flight(s) == 0; i++) {
		struct io_op op = { .io = { .op = MLGEN_CLOSE, .file = &s->files[i] } };

		io_do(stream_io(s), &op);
		if (op.io.result < 0)
			stream_take_error(s, &op);
	}
}
