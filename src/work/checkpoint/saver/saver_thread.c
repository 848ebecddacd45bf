/* SPDX-License-Identifier: Apache-2.0 */
/* saver_thread.c - a thread that writes or reads its part of each checkpoint. */
#include "work/checkpoint/saver/saver_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

static bool saves(const struct saver *s)
{
	return !s->cfg.is_restore;
}

static bool syncs(const struct saver *s, int when)
{
	return saves(s) && s->cfg.job->checkpoint_fsync == when;
}

/* Setting up. */

static void make_requests(struct saver_thread *t)
{
	const struct saver *s = t->saver;
	const struct content *content = s->cfg.set->content;
	size_t bytes;
	unsigned char *buf = io_buffer(saver_io(t), &bytes);

	t->requests = mem_array(t->depth, sizeof(*t->requests));
	t->unused = mem_array(t->depth, sizeof(struct saver_request *));
	t->done = mem_array(t->depth, sizeof(struct io_op *));
	for (unsigned i = 0; i < t->depth; i++) {
		t->requests[i].slice = buf + i * s->slice_bytes;
		if (saves(s))
			content_fill(content, t->requests[i].slice);
		saver_give(t, &t->requests[i]);
	}
}

static void make_calls(struct saver_thread *t)
{
	const struct saver *s = t->saver;
	bool is_framework = saver_is_framework(s);

	t->parts = mem_array(is_framework ? CONTENT_PARTS : 1, sizeof(*t->parts));
	if (is_framework && saves(s))
		t->head = mem_zalloc(shard_most_head(s->cfg.set));
}

/* What a path can have behind the directory: two names and their slashes. */
static char *new_path(const struct saver *s)
{
	return mem_zalloc(strlen(s->cfg.checkpoints->directory) + CHECKPOINT_NAME_BYTES + NAME_MAX +
			  3);
}

static void make_files(struct saver_thread *t)
{
	t->files = mem_array(t->file_slots, sizeof(*t->files));
	for (uint64_t i = 0; i < t->file_slots; i++)
		t->files[i].path = new_path(t->saver);
	t->tail.path = new_path(t->saver);
}

/* Which of the threads; the one that leads is the last. */
static uint64_t number_of(const struct saver_thread *t)
{
	const struct saver *s = t->saver;

	return s->lead && t == saver_lead_thread(s) ? s->thread_count : (uint64_t)(t - s->threads);
}

static int set_up(struct saver_thread *t, struct mlgen_err *err)
{
	struct saver *s = t->saver;
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
			/* From the other end: loaders count from 0. */
			.seed = rng_u64(s->cfg.job->randseed, RNG_ENGINE,
					UINT64_MAX - number_of(t)),
			.stop = s->cfg.stop },
	};
	int rc;

	if (t->rank)
		snprintf(cfg.role, sizeof(cfg.role), "saver %" PRIu64, t->rank->rank);
	else
		snprintf(cfg.role, sizeof(cfg.role), "saver of all");
	cfg.list = s->cfg.workers;
	cfg.share = s->cfg.beside ? WORKER_APART : WORKER_WHOLE;
	rc = worker_open(&t->worker, &cfg, err);
	if (rc < 0)
		return rc;
	make_requests(t);
	make_calls(t);
	make_files(t);
	worker_start_counting(&t->worker, s->cfg.place, clock_now(s->cfg.clock));
	return 0;
}

void saver_thread_fini(struct saver_thread *t)
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

/* Files. */

/* Its part of a file; false = none. An empty file is one part, too. */
static bool part_of(const struct saver_thread *t, uint64_t index, struct saver_range *part)
{
	const struct saver *s = t->saver;
	uint64_t bytes = t->rank->source->files[index].bytes;
	uint64_t bs = s->span_bytes, n, from, to;

	*part = (struct saver_range){ 0, bytes };
	if (saver_is_framework(s))
		return index % s->threads_each == t->index;
	n = bytes ? (bytes + bs - 1) / bs : 1;
	from = n * t->index / s->threads_each;
	to = n * (t->index + 1) / s->threads_each;
	part->from = from * bs;
	if (to < n)
		part->to = to * bs;
	return from < to;
}

/* Does this thread flush it, where the last to write it need not be the one? */
static bool owns(const struct saver_thread *t, uint64_t index)
{
	const struct saver *s = t->saver;
	uint64_t by = index % s->threads_each;

	/* Of a small file the last thread has a part, if any has. */
	if (!saver_is_framework(s) && t->rank->files[index].writers < s->threads_each)
		by = s->threads_each - 1;
	return by == t->index;
}

static int open_to_read(struct saver_thread *t, struct saver_open *f, uint64_t index)
{
	int flags = t->saver->cfg.job->direct ? O_DIRECT : 0;

	/* See files.h. */
	return saver_open(t, f, index, flags | O_RDONLY | O_NONBLOCK);
}

/* Until another thread of the rank has made it. */
static int await_file(struct saver_thread *t, struct saver_file *file)
{
	struct saver_rank *r = t->rank;

	for (;;) {
		uint32_t seen = bell_look(&r->made);

		if (saver_must_stop(t->saver))
			return SAVER_STOPPED;
		if (atomic_load(&file->is_made))
			return 0;
		bell_wait(&r->made, t->saver->cfg.clock, seen, CLOCK_NEVER);
	}
}

/* It is new: what lies under its name was put there by somebody else. Of several threads that write
 * it the first one makes it. */
static int open_to_write(struct saver_thread *t, struct saver_open *f, uint64_t index)
{
	struct saver_file *file = &t->rank->files[index];
	int flags = O_WRONLY | O_NOFOLLOW, rc;

	if (t->saver->cfg.align_bytes)
		flags |= O_DIRECT;
	if (atomic_exchange(&file->is_begun, true)) {
		rc = await_file(t, file);
		return rc ? rc : saver_open(t, f, index, flags);
	}
	rc = saver_open(t, f, index, flags | O_CREAT | O_EXCL);
	if (rc == 0 && file->writers > 1) {
		atomic_store(&file->is_made, true);
		bell_ring(&t->rank->made, t->saver->cfg.clock);
	}
	return rc;
}

/* The last one that has written it flushes it. */
static int sync_file(struct saver_thread *t, struct saver_open *f)
{
	struct saver_file *file = &t->rank->files[f->index];

	if (atomic_fetch_sub(&file->left, 1) > 1)
		return 0;
	return saver_sync(t, f);
}

static int close_last(struct saver_thread *t)
{
	return saver_close_file(t, &t->files[--t->open_files]);
}

static int move_file(struct saver_thread *t, uint64_t index, const struct saver_range *part)
{
	const struct saver *s = t->saver;
	struct saver_open *f = &t->files[t->open_files];
	int rc;

	shard_init(&t->shard, s->cfg.set, t->rank->source->rank, index, s->now.number);
	t->at = (struct shard_piece){ 0 };
	rc = saves(s) ? open_to_write(t, f, index) : open_to_read(t, f, index);
	if (rc)
		return rc;
	t->open_files++;
	if (saver_is_framework(s) && shard_stats(s->cfg.set, !saves(s)))
		rc = saver_stat(t, f);
	if (rc)
		return rc;
	rc = saves(s) ? saver_write(t, f, part) : saver_read(t, f, part);
	if (rc == 0 && syncs(s, CHECKPOINT_FSYNC_FILE))
		rc = sync_file(t, f);
	if (rc == 0 && !syncs(s, CHECKPOINT_FSYNC_END))
		rc = close_last(t);
	return rc;
}

/* checkpoint_fsync=end. */

static int await_writers(struct saver_thread *t)
{
	struct saver_rank *r = t->rank;
	struct clock *clock = t->saver->cfg.clock;

	if (atomic_fetch_sub(&r->writing, 1) == 1)
		bell_ring(&r->written, clock);
	for (;;) {
		uint32_t seen = bell_look(&r->written);

		if (saver_must_stop(t->saver))
			return SAVER_STOPPED;
		if (atomic_load(&r->writing) == 0)
			return 0;
		bell_wait(&r->written, clock, seen, CLOCK_NEVER);
	}
}

static int sync_all(struct saver_thread *t)
{
	int rc = await_writers(t);

	for (uint64_t i = 0; rc == 0 && i < t->open_files; i++)
		if (owns(t, t->files[i].index))
			rc = saver_sync(t, &t->files[i]);
	return rc;
}

/* Those of a dead engine stay as they are: it may still use them. */
static int saver_thread_close_all(struct saver_thread *t)
{
	int rc = 0;

	while (t->open_files && !t->is_dead) {
		int one = close_last(t);

		rc = rc ? rc : one;
	}
	return rc;
}

static int move_files(struct saver_thread *t)
{
	const struct saver *s = t->saver;
	struct saver_range part;
	int rc = 0, closed;

	for (uint64_t i = 0; rc == 0 && i < t->rank->source->file_count; i++) {
		if (saver_must_stop(s))
			rc = SAVER_STOPPED;
		else if (part_of(t, i, &part))
			rc = move_file(t, i, &part);
	}
	if (rc == 0 && syncs(s, CHECKPOINT_FSYNC_END))
		rc = sync_all(t);
	closed = saver_thread_close_all(t);
	return rc ? rc : closed;
}

/* Rounds. */

static void mark_round(struct saver_thread *t)
{
	const struct saver *s = t->saver;
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
}

static void take_part(struct saver_thread *t)
{
	struct saver *s = t->saver;
	int rc = t->is_dead ? SAVER_STOPPED : saver_hold(t);

	if (rc == 0)
		rc = move_files(t);
	if (rc)
		atomic_store(&s->is_cut, true);
	t->end_ns = clock_now(s->cfg.clock);
	t->under_way_ns += t->end_ns - s->begin_ns;
	mark_round(t);
	/* The last one sees what all have left. */
	if (atomic_fetch_sub(&s->left, 1) == 1) {
		if (s->lead)
			bell_ring(&s->over, s->cfg.clock);
		else
			saver_end_round(t);
	}
	/* Until then: a directory that nobody holds may get another number. */
	saver_let_go(t);
}

/* With nothing to do: does it go? Under the lock, so that a round that is begun has all its
 * threads; one that is only asked for is begun by the lead. */
static bool leaves(struct saver_thread *t)
{
	struct saver *s = t->saver;
	bool goes;

	if (!atomic_load(&s->closed) && !atomic_load(&s->is_finishing))
		return false;
	pthread_mutex_lock(&s->lock);
	goes = atomic_load(&s->round) == t->round &&
	       (!s->lead || !atomic_load(&s->is_busy) || atomic_load(&s->closed));
	s->gone += goes;
	pthread_mutex_unlock(&s->lock);
	return goes;
}

/* False: there are none any more. */
static bool await_round(struct saver_thread *t)
{
	struct saver *s = t->saver;

	for (;;) {
		uint32_t seen = bell_look(&s->go);

		if (atomic_load(&s->round) != t->round) {
			t->round++;
			return true;
		}
		if (leaves(t))
			return false;
		bell_wait(&s->go, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

static void tell_ready(struct saver *s)
{
	if (atomic_fetch_sub(&s->unready, 1) == 1)
		bell_ring(&s->over, s->cfg.clock);
}

/* It takes part all the same: a round is over when all its threads are. */
static void give_up(struct saver_thread *t, const struct mlgen_err *err)
{
	t->is_dead = true;
	saver_close(t->saver);
	failure_set(t->saver->cfg.failure, err);
}

int saver_thread_open(struct saver_thread *t)
{
	struct mlgen_err err = { 0 };
	int rc;

	clock_join(t->saver->cfg.clock);
	rc = set_up(t, &err);
	if (rc < 0)
		give_up(t, &err);
	tell_ready(t->saver);
	return rc;
}

void saver_thread_close(struct saver_thread *t)
{
	if (t->worker.counts)
		worker_stop_counting(&t->worker, clock_now(t->saver->cfg.clock));
	t->worker.stat.wall_ns = t->under_way_ns;
	worker_close(&t->worker);
	clock_leave(t->saver->cfg.clock);
}

void *saver_main(void *thread)
{
	struct saver_thread *t = thread;

	saver_thread_open(t);
	while (await_round(t))
		take_part(t);
	saver_thread_close(t);
	return NULL;
}
