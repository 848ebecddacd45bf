/* SPDX-License-Identifier: Apache-2.0 */
/* writer_thread.c - a thread that writes or reads its part of each checkpoint. */
#include "work/checkpoint/writer/writer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"

static bool saves(const struct writer *s)
{
	return !s->cfg.is_restore;
}

static bool syncs(const struct writer *s, int when)
{
	return saves(s) && s->cfg.job->checkpoint_fsync == when;
}

/* ---- set-up ---- */

/* Number of the thread; the lead is the last. */
static uint64_t number_of(const struct writer_thread *t)
{
	const struct writer *s = t->writer;

	return s->lead && t == writer_lead_thread(s) ? s->thread_count : (uint64_t)(t - s->threads);
}

static int set_up(struct writer_thread *t, struct mlgen_err *err)
{
	struct writer *s = t->writer;
	struct worker_config cfg = {
		.job_name = number_of(t) == 0 ? s->cfg.job->name : NULL,
		.place = s->cfg.place,
		.traced = s->cfg.traced,
		.io = { .job = &s->engine_job,
			.clock = s->cfg.clock,
			.iodepth = t->depth,
			.files = (unsigned)t->file_slots + 1,
			.buf_bytes = t->depth * s->slice_bytes,
			.mem = (enum mem_kind)s->cfg.job->mem,
			.may_meet_fifos = !saves(s),
			/* Count down, because read threads count up from 0. */
			.seed = rng_u64(s->cfg.job->randseed, RNG_ENGINE,
					UINT64_MAX - number_of(t)),
			.stop = s->cfg.stop },
	};

	if (t->rank)
		snprintf(cfg.role, sizeof(cfg.role), "saver %" PRIu64, t->rank->rank);
	else
		snprintf(cfg.role, sizeof(cfg.role), "saver of all");
	cfg.list = s->cfg.workers;
	cfg.share = s->cfg.beside ? WORKER_APART : WORKER_WHOLE;
	int rc = worker_open(&t->worker, &cfg, err);
	if (rc < 0)
		return rc;

	bool is_framework = writer_is_framework(s);
	size_t bytes;
	unsigned char *buf = io_buffer(writer_io(t), &bytes);
	t->requests = mem_array(t->depth, sizeof(*t->requests));
	t->unused = mem_array(t->depth, sizeof(struct writer_request *));
	t->done = mem_array(t->depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < t->depth; i++) {
		t->requests[i].slice = buf + i * s->slice_bytes;
		if (saves(s))
			content_fill(s->cfg.set->content, t->requests[i].slice);
		writer_release(t, &t->requests[i]);
	}
	t->parts = mem_array(is_framework ? CONTENT_PARTS : 1, sizeof(*t->parts));
	if (is_framework && saves(s))
		t->head = mem_zalloc(shard_max_head_bytes(s->cfg.set));
	/* A path consists of the directory, two names and their slashes. */
	bytes = strlen(s->cfg.checkpoints->directory) + CHECKPOINT_NAME_BYTES + NAME_MAX + 3;
	t->files = mem_array(t->file_slots, sizeof(*t->files));
	for (uint64_t i = 0; i < t->file_slots; i++)
		t->files[i].path = mem_zalloc(bytes);
	t->tail.path = mem_zalloc(bytes);

	worker_start_counting(&t->worker, s->cfg.place, clock_now(s->cfg.clock));
	return 0;
}

void writer_thread_fini(struct writer_thread *t)
{
	worker_fini(&t->worker);
	for (uint64_t i = 0; t->files && i < t->file_slots; i++)
		mem_free(t->files[i].path);
	mem_free(t->files);
	mem_free(t->tail.path);
	mem_free(t->head);
	mem_free(t->parts);
	mem_free(t->done);
	mem_free(t->unused);
	mem_free(t->requests);
}

/* ---- files ---- */

/* The thread's part of a file; false = none. An empty file has one part as well. */
static bool part_of(const struct writer_thread *t, uint64_t index, struct writer_range *part)
{
	const struct writer *s = t->writer;
	uint64_t bytes = t->rank->source->files[index].bytes;
	uint64_t bs = s->span_bytes, n, from, to;

	*part = (struct writer_range){ 0, bytes };
	if (writer_is_framework(s))
		return index % s->threads_each == t->index;
	n = bytes ? (bytes + bs - 1) / bs : 1;
	from = n * t->index / s->threads_each;
	to = n * (t->index + 1) / s->threads_each;
	part->from = from * bs;
	if (to < n)
		part->to = to * bs;
	return from < to;
}

/* Wait until another thread of the rank has created the file. */
static int await_file(struct writer_thread *t, struct writer_file *file)
{
	struct writer_rank *r = t->rank;

	for (;;) {
		uint32_t seen = eventcount_get(&r->made);

		if (writer_must_stop(t->writer))
			return WRITER_STOPPED;
		if (atomic_load(&file->is_made))
			return 0;
		eventcount_wait(&r->made, t->writer->cfg.clock, seen, CLOCK_NEVER);
	}
}

/* The file must be new: an existing file of this name belongs to somebody else. The first of
 * several writers creates the file. */
static int open_to_write(struct writer_thread *t, struct writer_open_file *f, uint64_t index)
{
	struct writer_file *file = &t->rank->files[index];
	int flags = O_WRONLY | O_NOFOLLOW, rc;

	if (t->writer->cfg.align_bytes)
		flags |= O_DIRECT;
	if (atomic_exchange(&file->is_begun, true)) {
		rc = await_file(t, file);
		return rc ? rc : writer_open(t, f, index, flags);
	}
	rc = writer_open(t, f, index, flags | O_CREAT | O_EXCL);
	if (rc == 0 && file->writers > 1) {
		atomic_store(&file->is_made, true);
		eventcount_notify(&t->rank->made, t->writer->cfg.clock);
	}
	return rc;
}

static int close_last(struct writer_thread *t)
{
	return writer_do_to(t, MLGEN_CLOSE, &t->files[--t->open_files]);
}

static int move_file(struct writer_thread *t, uint64_t index, const struct writer_range *part)
{
	const struct writer *s = t->writer;
	struct writer_open_file *f = &t->files[t->open_files];
	int rc;

	shard_init(&t->shard, s->cfg.set, t->rank->source->rank, index, s->now.number);
	t->at = (struct shard_piece){ 0 };
	if (saves(s))
		rc = open_to_write(t, f, index);
	else /* O_NONBLOCK: see files.h */
		rc = writer_open(t, f, index,
				 (s->cfg.job->direct ? O_DIRECT : 0) | O_RDONLY | O_NONBLOCK);
	if (rc)
		return rc;
	t->open_files++;
	if (writer_is_framework(s) && shard_calls_stat(s->cfg.set, !saves(s)))
		rc = writer_do_to(t, MLGEN_STAT, f);
	if (rc)
		return rc;
	rc = saves(s) ? writer_write(t, f, part) : writer_read(t, f, part);
	/* The last writer flushes the file. */
	if (rc == 0 && syncs(s, CHECKPOINT_FSYNC_FILE) &&
	    atomic_fetch_sub(&t->rank->files[index].left, 1) == 1)
		rc = writer_do_to(t, MLGEN_FSYNC, f);
	if (rc == 0 && !syncs(s, CHECKPOINT_FSYNC_END))
		rc = close_last(t);
	return rc;
}

/* checkpoint_fsync=end: wait until all threads of the rank have written. */
static int await_writers(struct writer_thread *t)
{
	struct writer_rank *r = t->rank;
	struct clock *clock = t->writer->cfg.clock;

	if (atomic_fetch_sub(&r->writing, 1) == 1)
		eventcount_notify(&r->written, clock);
	for (;;) {
		uint32_t seen = eventcount_get(&r->written);

		if (writer_must_stop(t->writer))
			return WRITER_STOPPED;
		if (atomic_load(&r->writing) == 0)
			return 0;
		eventcount_wait(&r->written, clock, seen, CLOCK_NEVER);
	}
}

/* checkpoint_fsync=end: flush the files of this thread, which need not be their last writer. */
static int sync_all(struct writer_thread *t)
{
	const struct writer *s = t->writer;
	int rc = await_writers(t);

	for (uint64_t i = 0; rc == 0 && i < t->open_files; i++) {
		uint64_t index = t->files[i].index, by = index % s->threads_each;

		/* If a small file has fewer parts than there are threads, the last thread has one
		 * of the parts. */
		if (!writer_is_framework(s) && t->rank->files[index].writers < s->threads_each)
			by = s->threads_each - 1;
		if (by == t->index)
			rc = writer_do_to(t, MLGEN_FSYNC, &t->files[i]);
	}
	return rc;
}

static int move_files(struct writer_thread *t)
{
	const struct writer *s = t->writer;
	struct writer_range part;
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < t->rank->source->file_count; i++) {
		if (writer_must_stop(s))
			rc = WRITER_STOPPED;
		else if (part_of(t, i, &part))
			rc = move_file(t, i, &part);
	}
	if (rc == 0 && syncs(s, CHECKPOINT_FSYNC_END))
		rc = sync_all(t);
	/* Files of a dead engine stay open: it may still use them. */
	while (t->open_files && !t->is_dead) {
		int closed = close_last(t);

		rc = rc ? rc : closed;
	}
	return rc;
}

/* ---- rounds ---- */

static void take_part(struct writer_thread *t)
{
	struct writer *s = t->writer;
	int rc = t->is_dead ? WRITER_STOPPED : writer_open_folder(t);

	if (rc == 0)
		rc = move_files(t);
	if (rc)
		atomic_store(&s->is_incomplete, true);
	t->end_ns = clock_now(s->cfg.clock);
	t->under_way_ns += t->end_ns - s->begin_ns;

	const struct trace_mark mark = {
		.op = TRACE_CHECKPOINT,
		.start_ns = s->begin_ns,
		.end_ns = t->end_ns,
		.off = atomic_load(&s->begun) - 1,
		.len_bytes = atomic_load_explicit(&t->moved_bytes, memory_order_relaxed),
		.result = (int64_t)t->rank->rank,
		.text = saves(s) ? "save" : "restore",
	};

	if (t->worker.trace)
		trace_ring_mark(t->worker.trace, &mark);

	/* The last thread sees the results of all. */
	if (atomic_fetch_sub(&s->busy_threads, 1) == 1) {
		if (s->lead)
			eventcount_notify(&s->over, s->cfg.clock);
		else
			writer_end_round(t);
	}
	/* Keep the directory open until here: while nobody holds it open, its inode number may
	 * change. */
	writer_close_folder(t);
}

/* Does an idle thread leave? Decided under the lock, so that a round that has begun has all its
 * threads. With a lead, a thread also stays for a round that was requested but has not begun. */
static bool leaves(struct writer_thread *t)
{
	struct writer *s = t->writer;

	if (!atomic_load(&s->closed) && !atomic_load(&s->is_finishing))
		return false;
	pthread_mutex_lock(&s->lock);
	bool is_leaving = atomic_load(&s->round) == t->round &&
			  (!s->lead || !atomic_load(&s->is_busy) || atomic_load(&s->closed));
	s->left_threads += is_leaving;
	pthread_mutex_unlock(&s->lock);
	return is_leaving;
}

/* False: no more rounds will follow. */
static bool await_round(struct writer_thread *t)
{
	struct writer *s = t->writer;

	for (;;) {
		uint32_t seen = eventcount_get(&s->go);

		if (atomic_load(&s->round) != t->round) {
			t->round++;
			return true;
		}
		if (leaves(t))
			return false;
		eventcount_wait(&s->go, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

int writer_thread_open(struct writer_thread *t)
{
	struct writer *s = t->writer;
	struct mlgen_err err = { 0 };

	clock_join(s->cfg.clock);
	int rc = set_up(t, &err);
	if (rc < 0) {
		/* A dead thread still takes part, because a round is over when all its threads are
		 * done. */
		t->is_dead = true;
		writer_close(s);
		failure_set(s->cfg.failure, &err);
	}
	if (atomic_fetch_sub(&s->starting_threads, 1) == 1)
		eventcount_notify(&s->over, s->cfg.clock);
	return rc;
}

void writer_thread_close(struct writer_thread *t)
{
	if (t->worker.counts)
		worker_stop_counting(&t->worker, clock_now(t->writer->cfg.clock));
	t->worker.stat.wall_ns = t->under_way_ns;
	worker_close(&t->worker);
	clock_leave(t->writer->cfg.clock);
}

void *writer_main(void *thread)
{
	struct writer_thread *t = thread;

	writer_thread_open(t);
	while (await_round(t))
		take_part(t);
	writer_thread_close(t);
	return NULL;
}
