/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - the workers of a plain job: streams of requests. */
#include "work/plain/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "io/engines.h"
#include "io/devices.h"
#include "job/job.h"
#include "run/watch/watch.h"

/* ---- set-up ---- */

/* Maximum memory for the requests of a worker; larger requests share it. */
#define BUFFER_BYTES (UINT64_C(256) << 20)
#define PAGE_BYTES UINT64_C(4096)

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
	size_t bytes;

	if (needs->writes)
		cfg.io.stamp = rng_u64(j->randseed, RNG_CONTENT, s->index) | 1;
	snprintf(cfg.role, sizeof(cfg.role), "worker %" PRIu64, s->index);
	cfg.list = s->all->workers;
	cfg.has_ramp = j->ramp_time_ns > 0;
	int rc = worker_open(&s->worker, &cfg, err);
	if (rc < 0 || !needs->writes)
		return rc;
	/* Written bytes are incompressible, and every worker writes different bytes. */
	void *buffer = io_buffer(stream_io(s), &bytes);
	rng_fill(buffer, bytes, j->randseed, RNG_CONTENT, s->index * bytes);
	return 0;
}

/* Report a failure of the engine itself, not of an operation. */
static int fail_engine(const char *name, int rc, struct mlgen_err *err)
{
	return mlgen_fail(err, rc, "ioengine=%s: cannot continue: %s", name, strerror(-rc));
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

	/* Only the owner may open a file with O_NOATIME. The result is checked because rc may be an
	 * error of the engine. */
	if (op.io.result == -EPERM && (file->flags & O_NOATIME)) {
		file->flags &= ~O_NOATIME;
		rc = try_open(s, file, of, &op);
	}
	if (rc >= 0)
		return 0;
	if (op.io.result >= 0)
		return fail_engine(engine, rc, err);
	if (rc == -EOPNOTSUPP)
		return mlgen_fail(err, rc,
				  "%s: open: %s; this filesystem does not support ioengine=%s",
				  file->path, strerror(-rc), engine);
	if (rc == -EINVAL && (file->flags & O_DIRECT))
		return mlgen_fail(
			err, rc,
			"%s: open: %s; this filesystem does not support O_DIRECT, use direct=0",
			file->path, strerror(-rc));
	return mlgen_fail(err, rc, "%s: open: %s", file->path, strerror(-rc));
}

static int open_files(struct stream *s, struct mlgen_err *err)
{
	const struct job *j = s->all->job;
	const struct iofile *files = iofiles_of(s->all->files, s->index, &s->file_count);
	int rc = 0;

	s->files = mem_array(s->file_count, sizeof(*s->files));
	for (size_t i = 0; i < s->file_count && rc == 0; i++) {
		struct mlgen_file *f = &s->files[i];

		/* O_RDWR, because a mapping that is written also has to be readable. O_NOATIME,
		 * because updating the access time costs 2 % of a read from memory; fio does the
		 * same. */
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

size_t stream_buffer_bytes(const struct job *j, unsigned depth)
{
	uint64_t one = round_up(pattern_largest_bytes(j), PAGE_BYTES);

	return (size_t)(one < BUFFER_BYTES / depth ? one * depth : BUFFER_BYTES);
}

static int stream_set_up(struct stream *s, struct mlgen_err *err)
{
	const struct job *j = s->all->job;
	struct stream_needs needs = { .writes = job_writes(j) };

	s->depth = job_depth(j);
	/*
	 * 0 = submit all free requests in one system call. But a device that gets all requests at
	 * once also completes them all at once, and is idle until the next requests: 4 KiB at
	 * iodepth=32 on a virtio disk give 82 thousand IOPS one by one, as fio does it, and 70
	 * thousand all at once.
	 */
	s->batch_submit = j->direct ? 1 : 0;
	if (j->iodepth_batch_submit)
		s->batch_submit = (unsigned)j->iodepth_batch_submit;
	s->is_sync = !j->engine->reap;
	pace_init(&s->pace, j);

	const struct iofile *files = iofiles_of(s->all->files, s->index, &s->file_count);
	struct pattern_region *regions = mem_array(s->file_count, sizeof(*regions));
	struct pattern_config cfg = {
		.job = j, .regions = regions, .count = (unsigned)s->file_count, .worker = s->index
	};
	for (size_t i = 0; i < s->file_count; i++)
		regions[i] = files[i].region;
	int rc = pattern_new(&s->pattern, &cfg, err);
	mem_free(regions);
	if (rc == 0 && s->index == 0) /* the status line shows it */
		atomic_store(&s->all->bytes, u64_product(pattern_bytes(s->pattern), s->all->count));

	needs.depth = s->depth;
	needs.files = (unsigned)s->file_count;
	needs.buffer_bytes = stream_buffer_bytes(j, s->depth);
	if (rc == 0)
		rc = stream_open_io(s, &needs, err);
	if (rc < 0)
		return rc;
	s->ops = mem_array(s->depth, sizeof(*s->ops));
	s->free_ops = mem_array(s->depth, sizeof(struct stream_op *));
	s->done = mem_array(s->depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < s->depth; i++) {
		s->ops[i].io.owner = &s->ops[i];
		s->free_ops[s->free_count++] = &s->ops[i];
	}
	return open_files(s, err);
}

static void stream_close_files(struct stream *s)
{
	for (size_t i = 0; i < s->open_files && stream_in_flight(s) == 0; i++) {
		struct io_op op = { .io = { .op = MLGEN_CLOSE, .file = &s->files[i] } };

		io_do(stream_io(s), &op);
		if (op.io.result < 0)
			stream_handle_error(s, &op);
	}
}

/* ---- the start ---- */

/* A pace was not kept if the last request was late by more than 1/LATE_PART of the elapsed time. */
#define LATE_PART 100

static uint64_t stream_now(const struct stream *s)
{
	return clock_now(s->all->clock);
}

void stream_fail(struct stream *s, const struct mlgen_err *err)
{
	failure_set(s->all->failure, err);
}

bool stream_is_over(const struct stream *s)
{
	return atomic_load_explicit(&s->all->is_closed, memory_order_relaxed) ||
	       atomic_load_explicit(s->all->interrupted, memory_order_relaxed);
}

/* The last stream to reach the barrier sets time zero. */
static void begin_time(void *arg, uint64_t votes)
{
	struct streams *all = arg;

	(void)votes;
	if (all->watch)
		all->watch->begin(all->watch_arg);
	atomic_store(&all->start_ns, clock_now(all->clock));
	if (all->job->runtime_ns)
		stop_at(all->stop, atomic_load(&all->start_ns) + all->job->ramp_time_ns +
					   all->job->runtime_ns);
}

static const struct peers_decision decide_start = { .apply = begin_time };

/* Wait for all streams to start together. False: the run is over. */
static bool start_together(struct stream *s)
{
	struct streams *all = s->all;
	const struct job *j = all->job;

	for (;;) { /* startdelay */
		uint32_t seen = eventcount_get(&all->start_event);

		if (stream_is_over(s) || stream_now(s) >= all->start_after_ns)
			break;
		eventcount_wait(&all->start_event, all->clock, seen, all->start_after_ns);
	}
	if (peers_barrier(&all->peers, &decide_start, all) < 0)
		return false;
	uint64_t start = atomic_load(&all->start_ns);
	s->count_from_ns = start + j->ramp_time_ns;
	s->end_ns = j->runtime_ns ? s->count_from_ns + j->runtime_ns : UINT64_MAX;
	io_wake(stream_io(s));
	if (!j->ramp_time_ns)
		worker_start_counting(&s->worker, all->place, start);
	return true;
}

/* ---- errors ---- */

/* Describe a read beyond the end of a file. Only a read that has returned some bytes shows where
 * the end is. */
static void describe_end(const struct stream *s, const struct io_op *op, struct mlgen_err *err)
{
	const struct mlgen_io *io = &op->io;
	char end[32] = "after the end of the file";
	const char *why = "";

	if (op->done_bytes)
		snprintf(end, sizeof(end), "it ends at %" PRIu64, io->off + op->done_bytes);
	if (s->all->kind->why_short)
		why = s->all->kind->why_short(s);
	if (*why)
		mlgen_fail(err, -ENODATA, "%s: read at %" PRIu64 ": %s; %s", io->file->path,
			   io->off, end, why);
	else
		mlgen_fail(err, -ENODATA,
			   "%s: read at %" PRIu64 ": %s; it was truncated while %s ran",
			   io->file->path, io->off, end, s->all->job->name);
}

/* A hint in addition to the error's own text; "" = none. */
static const char *error_hint(const struct stream *s, const struct mlgen_io *io)
{
	bool is_call = io->op == MLGEN_READ || io->op == MLGEN_WRITE;

	switch (-io->result) {
	case EOPNOTSUPP: /* a device without poll queues, ... */
		return io_note(stream_io(s));
	case EAGAIN:
		return IGNORED_HINT_EAGAIN;
	case ENOSPC:
		return "make room, or use a smaller size=";
	case EINVAL:
		return is_call && (io->file->flags & O_DIRECT)
			       ? "direct=1 needs bs and offset in multiples of the device's block"
			       : "";
	default:
		return "";
	}
}

static void describe_error(const struct stream *s, const struct io_op *op, struct mlgen_err *err)
{
	const struct mlgen_io *io = &op->io;
	int code = (int)io->result;
	const char *hint = error_hint(s, io);
	char at[32] = "", why[NOROOM_BYTES];

	if (code == -ENODATA) {
		describe_end(s, op, err);
		return;
	}
	if (io->op == MLGEN_READ || io->op == MLGEN_WRITE)
		snprintf(at, sizeof(at), " at %" PRIu64, io->off);
	noroom_text(why, io->file->path, code, io->off + io->len_bytes);
	mlgen_fail(err, code, "%s: %s%s: %s%s%s%s", io->file->path, opstat_name(io->op), at,
		   strerror(-code), why, *hint ? "; " : "", hint);
}

void stream_handle_error(struct stream *s, const struct io_op *op)
{
	struct mlgen_err err = { 0 };
	bool is_counted = ignored_counts(s->all->job, op->io.op, (int)op->io.result);

	if (op->io.result == -ECANCELED && stop_is_due(s->all->stop, stream_now(s)))
		return; /* cancelled by the end of the run */
	if (is_counted)
		opstat_add_error(&s->worker.stat);
	if (is_counted && worker_has_error(&s->worker))
		return;
	describe_error(s, op, &err);
	if (is_counted)
		worker_keep_error(&s->worker, &err, stream_now(s));
	else
		stream_fail(s, &err);
}

/* ---- requests ---- */

static void stream_complete(struct stream *s, struct io_op *op)
{
	struct stream_op *so = op->owner;
	struct opstat *stat = &s->worker.stat;

	s->free_ops[s->free_count++] = so;
	if (so->due_ns && op->io.result != -ECANCELED)
		s->lag_ns = op->start_ns - so->due_ns;
	if (op->io.result < 0) {
		stream_handle_error(s, op);
	} else if (so->due_ns) {
		unsigned d = op->io.op == MLGEN_WRITE;

		hist_add(stat->slat[d], s->lag_ns);
		hist_add(stat->total[d], op->end_ns - so->due_ns);
	}
}

/* Submit a request. A synchronous engine has completed it on return. */
static void stream_submit(struct stream *s, enum mlgen_op kind, struct mlgen_file *file,
			  uint64_t due_ns)
{
	struct stream_op *so = s->free_ops[--s->free_count];
	struct io_op *op = &so->io;

	op->io.op = kind;
	op->io.file = file;
	op->io.off = s->next.off;
	op->io.len_bytes = s->next.len_bytes;
	so->due_ns = due_ns;
	if (s->is_sync) {
		io_do(stream_io(s), op);
		stream_complete(s, op);
		s->has_completed = true;
		return;
	}
	io_submit(stream_io(s), op);
	s->unflushed++;
	if (s->unflushed == s->batch_submit) {
		io_flush(stream_io(s));
		s->unflushed = 0;
	}
}

/* True if `every` writes were made since the last sync, which resets the count. */
static bool sync_is_due(uint64_t *unsynced, uint64_t every)
{
	if (!every || *unsynced < every)
		return false;
	*unsynced = 0;
	return true;
}

/* Submit the sync that fsync= or fdatasync= asks for. False: none is due. */
static bool submit_sync(struct stream *s)
{
	const struct job *j = s->all->job;
	enum mlgen_op kind;

	if (sync_is_due(&s->unsynced, j->fsync))
		kind = MLGEN_FSYNC;
	else if (sync_is_due(&s->unsynced_data, j->fdatasync))
		kind = MLGEN_FDATASYNC;
	else
		return false;
	stream_submit(s, kind, s->last_written, 0);
	return true;
}

static bool must_think(const struct stream *s)
{
	const struct job *j = s->all->job;

	return j->thinktime_ns && s->since_thought >= j->thinktime_blocks;
}

/*
 * Submit all requests that may start now. Returns the time at which the next one is due if it has
 * to wait, otherwise UINT64_MAX.
 */
static uint64_t stream_fill(struct stream *s)
{
	uint64_t due_ns = 0;

	while (s->free_count && !must_think(s)) {
		if (submit_sync(s))
			continue;
		if (!s->has_next && !s->is_exhausted) {
			s->has_next = pattern_next(s->pattern, &s->next);
			s->is_exhausted = !s->has_next;
		}
		if (!s->has_next)
			break;
		if (s->pace.is_paced) {
			due_ns = atomic_load(&s->all->start_ns) +
				 pace_due(&s->pace, s->next.is_write);
			if (due_ns > stream_now(s))
				return due_ns;
			pace_advance(&s->pace, s->next.is_write, s->next.len_bytes);
			/* Do not reuse the time of the last completion, which may be before this
			 * request was due. */
			io_wake(stream_io(s));
		}
		s->has_next = false;
		struct mlgen_file *file = &s->files[s->next.region];
		stream_submit(s, s->next.is_write ? MLGEN_WRITE : MLGEN_READ, file, due_ns);
		if (s->next.is_write) {
			s->unsynced++;
			s->unsynced_data++;
			s->has_written = true;
			s->last_written = file;
		}
		s->since_thought++;
		if (s->is_sync)
			break; /* the time is checked after each request */
	}
	return UINT64_MAX;
}

int stream_engine_failed(struct stream *s, int rc)
{
	struct mlgen_err err = { 0 };

	fail_engine(s->all->job->engine->name, rc, &err);
	stream_fail(s, &err);
	return rc;
}

/* Wait for requests. Returns how many are complete, or -errno if the engine failed. */
static int reap(struct stream *s, unsigned min, uint64_t deadline_ns)
{
	const struct job *j = s->all->job;
	unsigned max =
		j->iodepth_batch_complete_max ? (unsigned)j->iodepth_batch_complete_max : s->depth;

	if (min > stream_in_flight(s))
		min = stream_in_flight(s);
	if (max < min)
		max = min;
	int n = io_reap_until(stream_io(s), s->done, min, max, deadline_ns);
	s->unflushed = 0;
	for (int i = 0; i < n; i++)
		stream_complete(s, s->done[i]);
	return n < 0 ? stream_engine_failed(s, n) : n;
}

void stream_sleep_until(struct stream *s, uint64_t until_ns)
{
	uint64_t begin = stream_now(s);

	if (until_ns > s->end_ns)
		until_ns = s->end_ns;
	if (until_ns > begin)
		stop_sleep_exactly(s->all->stop, s->all->clock, until_ns, &s->late_ns);
	count_add(&s->worker.stat.idle_ns, stream_now(s) - begin);
	io_wake(stream_io(s));
}

/* Number of completions to wait for when nothing more can be submitted (batch_complete_min). */
static unsigned min_completions(const struct stream *s)
{
	uint64_t min = s->all->job->iodepth_batch_complete_min;

	if (must_think(s) || s->is_exhausted)
		return stream_in_flight(s);
	if (min == 0 && s->free_count == 0)
		return 0; /* polls */
	return min ? (unsigned)min : 1;
}

/*
 * Submit requests, then wait for completions or until the next request is due. Returns the present
 * time: that of the last completion if there was one, so that the clock need not be read.
 */
static uint64_t submit_and_wait(struct stream *s)
{
	s->has_completed = false;
	uint64_t due_ns = stream_fill(s);
	if (s->has_completed)
		return io_last_ns(stream_io(s));
	if (stream_in_flight(s)) {
		int n = reap(s, min_completions(s), due_ns < s->end_ns ? due_ns : s->end_ns);

		return n > 0 ? io_last_ns(stream_io(s)) : stream_now(s);
	}
	if (must_think(s)) {
		s->since_thought = 0;
		due_ns = stream_now(s) + s->all->job->thinktime_ns;
	}
	if (due_ns != UINT64_MAX)
		stream_sleep_until(s, due_ns);
	else
		s->is_complete = true; /* there is nothing left to do */
	return stream_now(s);
}

/* Wait for all requests in flight. Their time is still measured. */
static void drain(struct stream *s)
{
	while (stream_in_flight(s) && reap(s, stream_in_flight(s), CLOCK_NEVER) >= 0)
		;
}

static void stream_run(struct stream *s)
{
	const struct streams *all = s->all;
	uint64_t start_ns = atomic_load(&all->start_ns), now_ns = start_ns;

	while (!s->is_complete && !stream_is_over(s)) {
		if (!s->worker.counts && now_ns >= s->count_from_ns) {
			/* ramp_time is over. */
			if (all->watch)
				all->watch->ramp_ended(all->watch_arg);
			worker_start_counting(&s->worker, all->place, stream_now(s));
		}
		now_ns = submit_and_wait(s);
		s->is_complete |= now_ns >= s->end_ns;
	}
	drain(s);
	if (all->job->end_fsync && s->has_written)
		for (size_t i = 0; i < s->open_files && !stream_is_over(s); i++) {
			stream_submit(s, MLGEN_FSYNC, &s->files[i], 0);
			drain(s);
		}
	if (s->worker.counts)
		s->wall_ns = stream_now(s) - s->worker.begin_ns;
	s->was_late = s->lag_ns > s->wall_ns / LATE_PART;
	traced_stage(all->traced, s->worker.trace, start_ns, stream_now(s));
}

static void pattern_fini(struct stream *s)
{
	pattern_free(s->pattern);
	mem_free(s->files);
	mem_free(s->ops);
	mem_free(s->free_ops);
	mem_free(s->done);
}

const struct stream_kind stream_pattern = {
	.set_up = stream_set_up,
	.run = stream_run,
	.close_files = stream_close_files,
	.fini = pattern_fini,
};

static void *stream_main(void *arg)
{
	struct stream *s = arg;
	struct streams *all = s->all;
	struct mlgen_err err = { 0 };

	clock_join(all->clock);
	int rc = all->kind->set_up(s, &err);
	if (rc == -ECANCELED && stop_is_set(all->stop))
		peers_cut(&all->peers); /* nobody has to wait for this stream */
	else if (rc < 0)
		stream_fail(s, &err);
	else if (start_together(s))
		all->kind->run(s);
	worker_stop_counting(&s->worker, stream_now(s));
	if (all->watch)
		all->watch->end(all->watch_arg, s->index);
	/* Some filesystems report failed writes only when a file is closed. */
	if (stream_io(s))
		all->kind->close_files(s);
	worker_close(&s->worker);
	clock_leave(all->clock);
	return NULL;
}

/* ---- the streams of a job ---- */

int streams_init(struct streams *p, const struct job *job, const struct stream_kind *kind,
		 uint64_t count, const struct iofiles *files, struct clock *clock,
		 struct failure *failure, const _Atomic bool *interrupted, struct mlgen_err *err)
{
	*p = (struct streams){ .job = job,
			       .kind = kind,
			       .files = files,
			       .clock = clock,
			       .failure = failure,
			       .interrupted = interrupted,
			       .count = count };
	p->engine_job = (struct mlgen_engine_job){
		.engine = job->engine,
		.opts = job->engine_opts,
		.find = engines_find,
		.workers = (unsigned)count,
	};
	int rc = job->engine->job_init ? job->engine->job_init(&p->engine_job, err) : 0;
	if (rc < 0)
		return rc;
	peers_init(&p->peers, clock, p->count);
	p->streams = mem_array(p->count, sizeof(*p->streams));
	for (uint64_t i = 0; i < p->count; i++) {
		p->streams[i].all = p;
		p->streams[i].index = i;
		worker_init(&p->streams[i].worker);
	}
	return 0;
}

void streams_fini(struct streams *p)
{
	if (!p->streams)
		return;
	for (uint64_t i = 0; i < p->count; i++) {
		worker_fini(&p->streams[i].worker);
		p->kind->fini(&p->streams[i]);
	}
	mem_free(p->streams);
	peers_fini(&p->peers);
	if (p->job->engine->job_fini)
		p->job->engine->job_fini(&p->engine_job);
	*p = (struct streams){ 0 };
}

int streams_start(struct streams *p, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < p->count && rc == 0; i++)
		rc = worker_start(&p->streams[i].worker.thread, p->clock, stream_main,
				  &p->streams[i], err);
	if (rc < 0)
		streams_close(p);
	return rc;
}

void streams_join(struct streams *p)
{
	for (uint64_t i = 0; p->streams && i < p->count; i++)
		worker_join(&p->streams[i].worker.thread);
}

void streams_close(struct streams *p)
{
	atomic_store(&p->is_closed, true);
	peers_close(&p->peers);
	streams_wake(p);
}

void streams_wake(struct streams *p)
{
	eventcount_notify(&p->start_event, p->clock);
}
