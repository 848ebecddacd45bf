/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - a stream of requests. */
#include "work/plain/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "io/engines.h"
#include "io/mount.h"
#include "job/job.h"
#include "run/watch/watch.h"

/* ---- what it needs before its first request ---- */

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

/* The engine itself failed: gives rc back. */
/* The engine itself, and none of its operations. */
static int stream_fail_engine(const char *name, int rc, struct mlgen_err *err)
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

/* On its own thread, for stream_pattern. */
static int stream_set_up(struct stream *s, struct mlgen_err *err)
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

static void stream_close_files(struct stream *s)
{
	for (size_t i = 0; i < s->open_files && stream_in_flight(s) == 0; i++) {
		struct io_op op = { .io = { .op = MLGEN_CLOSE, .file = &s->files[i] } };

		io_do(stream_io(s), &op);
		if (op.io.result < 0)
			stream_take_error(s, &op);
	}
}

/* ---- a worker ---- */

/* A pace that ends so far behind, as a part of the time, was not kept. */
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
	return atomic_load_explicit(&s->all->closed, memory_order_relaxed) ||
	       atomic_load_explicit(s->all->interrupted, memory_order_relaxed);
}

/* Starting together. */

static void await_start(struct stream *s)
{
	struct streams *all = s->all;

	for (;;) {
		uint32_t seen = bell_look(&all->go);

		if (stream_is_over(s) || stream_now(s) >= all->start_after_ns)
			return;
		bell_wait(&all->go, all->clock, seen, all->start_after_ns);
	}
}

/* At the barrier: time zero. */
static void begin_time(void *arg, uint64_t votes)
{
	struct streams *all = arg;

	(void)votes;
	if (all->watch)
		all->watch->begin(all->watched);
	atomic_store(&all->start_ns, clock_now(all->clock));
	if (all->job->runtime_ns)
		stop_at(all->stop, atomic_load(&all->start_ns) + all->job->ramp_time_ns +
					   all->job->runtime_ns);
}

static const struct peers_decision decide_start = { .apply = begin_time };

static void start_counting(struct stream *s, uint64_t now_ns)
{
	worker_start_counting(&s->worker, s->all->place, now_ns);
}

static void ramp_is_over(struct stream *s)
{
	const struct streams *all = s->all;

	if (all->watch)
		all->watch->begin_anew(all->watched);
	start_counting(s, stream_now(s));
}

/* False: the run is over. */
static bool start_together(struct stream *s)
{
	const struct job *j = s->all->job;
	uint64_t start;

	await_start(s);
	if (peers_barrier(&s->all->peers, &decide_start, s->all) < 0)
		return false;
	start = atomic_load(&s->all->start_ns);
	s->count_from_ns = start + j->ramp_time_ns;
	s->end_ns = j->runtime_ns ? s->count_from_ns + j->runtime_ns : UINT64_MAX;
	io_wake(stream_io(s));
	if (!j->ramp_time_ns)
		start_counting(s, start);
	return true;
}

/* Requests. */

/* Only a read that got something knows where the end is. */
static void describe_end(const struct stream *s, const struct io_op *op, struct mlgen_err *err)
{
	const struct mlgen_io *io = &op->io;
	char end[32] = "behind the end of the file";
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

/* What the error itself does not tell; "" = it tells all. */
static const char *stream_note(const struct stream *s, const struct mlgen_io *io)
{
	bool is_call = io->op == MLGEN_READ || io->op == MLGEN_WRITE;

	switch (-io->result) {
	case EOPNOTSUPP: /* a device without poll queues, ... */
		return io_note(stream_io(s));
	case EAGAIN:
		return IGNORED_HINT_EAGAIN;
	case ENOSPC:
		return "make room, or a smaller size=";
	case EINVAL:
		return is_call && (io->file->flags & O_DIRECT)
			       ? "direct=1 needs bs and offset in multiples of the device's block"
			       : "";
	default:
		return "";
	}
}

static void stream_describe(const struct stream *s, const struct io_op *op, struct mlgen_err *err)
{
	const struct mlgen_io *io = &op->io;
	int code = (int)io->result;
	const char *note = stream_note(s, io);
	char at[32] = "", why[NOROOM_BYTES];

	if (code == -ENODATA) {
		describe_end(s, op, err);
		return;
	}
	if (io->op == MLGEN_READ || io->op == MLGEN_WRITE)
		snprintf(at, sizeof(at), " at %" PRIu64, io->off);
	noroom_put(why, io->file->path, code, io->off + io->len_bytes);
	mlgen_fail(err, code, "%s: %s%s: %s%s%s%s", io->file->path, opstat_name(io->op), at,
		   strerror(-code), why, *note ? "; " : "", note);
}

/* Its error counts, or ends the run. */
void stream_take_error(struct stream *s, const struct io_op *op)
{
	struct mlgen_err err = { 0 };
	bool is_counted = ignored_counts(s->all->job, op->io.op, (int)op->io.result);

	if (op->io.result == -ECANCELED && stop_has_come(s->all->stop, stream_now(s)))
		return; /* it was not even begun, or only played */
	if (is_counted)
		opstat_add_error(&s->worker.stat);
	if (is_counted && worker_has_error(&s->worker))
		return;
	stream_describe(s, op, &err);
	if (is_counted)
		worker_keep_error(&s->worker, &err, stream_now(s));
	else
		stream_fail(s, &err);
}

static void stream_complete(struct stream *s, struct io_op *op)
{
	struct stream_op *so = op->owner;
	struct opstat *stat = &s->worker.stat;

	s->free_ops[s->free_count++] = so;
	if (so->due_ns && op->io.result != -ECANCELED)
		s->lag_ns = op->start_ns - so->due_ns;
	if (op->io.result < 0) {
		stream_take_error(s, op);
	} else if (so->due_ns) {
		unsigned d = op->io.op == MLGEN_WRITE;

		hist_add(stat->slat[d], s->lag_ns);
		hist_add(stat->total[d], op->end_ns - so->due_ns);
	}
}

/* Hand it over; a synchronous engine has then done it. */
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
		s->has_done = true;
		return;
	}
	io_submit(stream_io(s), op);
	s->kept_back++;
	if (s->kept_back == s->batch_submit) {
		io_flush(stream_io(s));
		s->kept_back = 0;
	}
}

/* Is it time for one, after so many writes? */
static bool sync_is_due(uint64_t *unsynced, uint64_t every)
{
	if (!every || *unsynced < every)
		return false;
	*unsynced = 0;
	return true;
}

/* A sync that fsync= or fdatasync= asks for. False: none is due. */
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

/* Draw the next request; false: there is none any more. */
static bool draw(struct stream *s)
{
	if (!s->has_next && !s->is_exhausted) {
		s->has_next = pattern_next(s->pattern, &s->next);
		s->is_exhausted = !s->has_next;
	}
	return s->has_next;
}

static void note_write(struct stream *s, struct mlgen_file *file)
{
	s->unsynced++;
	s->unsynced_data++;
	s->has_written = true;
	s->last_written = file;
}

static void submit_next(struct stream *s, uint64_t due_ns)
{
	struct mlgen_file *file = &s->files[s->next.region];
	bool is_write = s->next.is_write;

	s->has_next = false;
	stream_submit(s, is_write ? MLGEN_WRITE : MLGEN_READ, file, due_ns);
	if (is_write)
		note_write(s, file);
}

static bool thinks_now(const struct stream *s)
{
	const struct job *j = s->all->job;

	return j->thinktime_ns && s->since_thought >= j->thinktime_blocks;
}

/*
 * Submit whatever may go now. The time at which the next one is due, if that is not yet; else
 * UINT64_MAX.
 */
static uint64_t stream_fill(struct stream *s)
{
	uint64_t due_ns = 0;

	while (s->free_count && !thinks_now(s)) {
		if (submit_sync(s))
			continue;
		if (!draw(s))
			break;
		if (s->pace.is_paced) {
			due_ns = atomic_load(&s->all->start_ns) +
				 pace_due(&s->pace, s->next.is_write);
			if (due_ns > stream_now(s))
				return due_ns;
			pace_take(&s->pace, s->next.is_write, s->next.len_bytes);
			/* Not the end of the one before: that can lie before this one was due. */
			io_wake(stream_io(s));
		}
		submit_next(s, due_ns);
		s->since_thought++;
		if (s->is_sync)
			break; /* the time is looked at between any two */
	}
	return UINT64_MAX;
}

int stream_engine_failed(struct stream *s, int rc)
{
	struct mlgen_err err = { 0 };

	stream_fail_engine(s->all->job->engine->name, rc, &err);
	stream_fail(s, &err);
	return rc;
}

/* Wait for requests: how many are complete, or -errno: the engine failed. */
static int reap(struct stream *s, unsigned min, uint64_t deadline_ns)
{
	const struct job *j = s->all->job;
	unsigned max =
		j->iodepth_batch_complete_max ? (unsigned)j->iodepth_batch_complete_max : s->depth;
	int n;

	if (min > stream_in_flight(s))
		min = stream_in_flight(s);
	if (max < min)
		max = min;
	n = io_reap_until(stream_io(s), s->done, min, max, deadline_ns);
	s->kept_back = 0;
	for (int i = 0; i < n; i++)
		stream_complete(s, s->done[i]);
	return n < 0 ? stream_engine_failed(s, n) : n;
}

void stream_nap(struct stream *s, uint64_t until_ns)
{
	uint64_t begin = stream_now(s);

	if (until_ns > s->end_ns)
		until_ns = s->end_ns;
	if (until_ns > begin)
		stop_sleep_exactly(s->all->stop, s->all->clock, until_ns, &s->late_ns);
	count_add(&s->worker.stat.idle_ns, stream_now(s) - begin);
	io_wake(stream_io(s));
}

/* As many as batch_complete_min says, once nothing more can be submitted. */
static unsigned least(const struct stream *s)
{
	uint64_t min = s->all->job->iodepth_batch_complete_min;

	if (thinks_now(s) || s->is_exhausted)
		return stream_in_flight(s);
	if (min == 0 && s->free_count == 0)
		return 0; /* polls */
	return min ? (unsigned)min : 1;
}

/*
 * One round: submit, then wait for some or for what comes next. The time is that of the last
 * completion where there is one: no clock is read for it.
 */
static uint64_t turn(struct stream *s)
{
	uint64_t due_ns;

	s->has_done = false;
	due_ns = stream_fill(s);
	if (s->has_done)
		return io_last_ns(stream_io(s));
	if (stream_in_flight(s)) {
		int n = reap(s, least(s), due_ns < s->end_ns ? due_ns : s->end_ns);

		return n > 0 ? io_last_ns(stream_io(s)) : stream_now(s);
	}
	if (thinks_now(s)) {
		s->since_thought = 0;
		due_ns = stream_now(s) + s->all->job->thinktime_ns;
	}
	if (due_ns != UINT64_MAX)
		stream_nap(s, due_ns);
	else
		s->is_complete = true; /* there is nothing left to do */
	return stream_now(s);
}

/* What is under way ends; its time still counts. */
static void drain(struct stream *s)
{
	while (stream_in_flight(s) && reap(s, stream_in_flight(s), CLOCK_NEVER) >= 0)
		;
}

static void end_sync(struct stream *s)
{
	for (size_t i = 0; i < s->open_files && !stream_is_over(s); i++) {
		stream_submit(s, MLGEN_FSYNC, &s->files[i], 0);
		drain(s);
	}
}

static void stream_run(struct stream *s)
{
	uint64_t at_ns = atomic_load(&s->all->start_ns);

	while (!s->is_complete && !stream_is_over(s)) {
		if (!s->worker.counts && at_ns >= s->count_from_ns)
			ramp_is_over(s);
		at_ns = turn(s);
		s->is_complete |= at_ns >= s->end_ns;
	}
	drain(s);
	if (s->all->job->end_fsync && s->has_written)
		end_sync(s);
	if (s->worker.counts)
		s->wall_ns = stream_now(s) - s->worker.begin_ns;
	s->was_late = s->lag_ns > s->wall_ns / LATE_PART;
	traced_stage(s->all->traced, s->worker.trace, atomic_load(&s->all->start_ns),
		     stream_now(s));
}

/* Some filesystems tell only here what became of the writes. */
static void stream_leave(struct stream *s)
{
	struct streams *all = s->all;

	worker_stop_counting(&s->worker, stream_now(s));
	if (all->watch)
		all->watch->end(all->watched, s->index);
}

/* After join; what worker_init made, too. */
static void stream_fini(struct stream *s)
{
	worker_fini(&s->worker);
	s->all->kind->fini(s);
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
	struct mlgen_err err = { 0 };
	int rc;

	clock_join(s->all->clock);
	rc = s->all->kind->set_up(s, &err);
	if (rc == -ECANCELED && stop_is_set(s->all->stop))
		peers_cut(&s->all->peers); /* nobody need wait for it */
	else if (rc < 0)
		stream_fail(s, &err);
	else if (start_together(s))
		s->all->kind->run(s);
	stream_leave(s);
	if (stream_io(s))
		s->all->kind->close_files(s);
	worker_close(&s->worker);
	clock_leave(s->all->clock);
	return NULL;
}

/* ---- all of a job ---- */

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
	for (uint64_t i = 0; i < p->count; i++)
		stream_fini(&p->streams[i]);
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
	atomic_store(&p->closed, true);
	peers_close(&p->peers);
	streams_wake(p);
}

void streams_wake(struct streams *p)
{
	bell_ring(&p->go, p->clock);
}
