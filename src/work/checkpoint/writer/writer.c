/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - threads, rounds and records of a checkpoint writer. */
#include "work/checkpoint/writer/writer_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "io/engines.h"
#include "job/job.h"
#include "run/slot/slot.h"

/* ---- records of checkpoints, and their sums ---- */

/* NaN = no value yet. */
static void add_seconds(double *to, double seconds)
{
	if (!isnan(seconds))
		*to = isnan(*to) ? seconds : *to + seconds;
}

static double per(double value, double by)
{
	return by > 0 ? value / by : (double)NAN;
}

/* Add the newest checkpoint's record to the list and to the sums. */
static void add_newest(struct writer *s)
{
	const struct checkpoint_result *r = &s->newest;
	struct checkpoints_result *sum = &s->sum;
	struct metric_list *l = &sum->items;

	if (!s->has_newest)
		return;
	s->has_newest = false;
	if (l->count < CHECKPOINTS_KEPT) {
		struct checkpoint_result *items = l->items;

		/* The capacity is always a power of two, so the array is full when the count is
		 * one. */
		if ((l->count & (l->count - 1)) == 0)
			items = mem_realloc(items, (l->count ? 2 * l->count : 1) * sizeof(*items));
		items[l->count++] = *r;
		l->items = items;
	}
	sum->count++;
	if (r->complete) {
		if (sum->completed++ == 0) {
			sum->first_seconds = r->seconds;
			sum->seconds_min = sum->seconds_max = r->seconds;
		} else {
			s->later_seconds += r->seconds;
		}
		sum->bytes += r->bytes;
		if (r->seconds < sum->seconds_min)
			sum->seconds_min = r->seconds;
		if (r->seconds > sum->seconds_max)
			sum->seconds_max = r->seconds;
		if (sum->completed == 1 ||
		    r->slowest_rank_bytes_per_sec < sum->slowest_rank_bytes_per_sec) {
			sum->slowest_rank_bytes_per_sec = r->slowest_rank_bytes_per_sec;
			sum->slowest_rank = r->slowest_rank;
			sum->slowest_checkpoint = r->number;
		}
	}
	add_seconds(&sum->stall_seconds, r->stall_seconds);
	add_seconds(&sum->snapshot_seconds, r->snapshot_seconds);
	add_seconds(&sum->wait_seconds, r->wait_seconds);
	add_seconds(&sum->delete_seconds, r->delete_seconds);
	sum->deleted_checkpoints += r->deleted_checkpoints;
	sum->deleted_files += r->deleted_files;
}

/* Begin the record of checkpoint `k`. Called under the lock. */
static void begin_record(struct writer *s, const struct checkpoint *k)
{
	const double none = (double)NAN;

	add_newest(s);
	s->has_newest = true;
	s->newest = (struct checkpoint_result){
		.number = k->number,
		.epoch = k->epoch,
		.step = k->step,
		.seconds = none,
		.bytes_per_sec = none,
		.slowest_rank_seconds = none,
		.slowest_rank_bytes_per_sec = none,
		.commit_seconds = none,
		.delete_seconds = none,
		.snapshot_seconds = none,
		.wait_seconds = none,
		.stall_seconds = none,
	};
	memcpy(s->newest.name, k->name, sizeof(k->name));
}

/* Report a checkpoint that a signal has interrupted. No further call begins after the signal, so
 * the checkpoint stays as it is. */
static void report_interrupted(struct writer *s)
{
	struct checkpoint_result *r = &s->newest;

	if (!s->has_newest || r->complete || !writer_is_interrupted(s))
		return;
	if (!r->error[0])
		snprintf(r->error, sizeof(r->error), "interrupted");
	if (writer_touches_files(s) && !s->cfg.is_restore)
		log_note(
			"%s: %s/%s was being saved; it is not complete, and will never be restored",
			s->cfg.job->name, s->cfg.checkpoints->directory, r->name);
}

void writer_collect(struct writer *s, struct checkpoints_result *r)
{
	const struct job *job = s->cfg.job;
	bool is_restore = s->cfg.is_restore;
	struct opstat *t = &s->total;
	const struct worker *w;

	report_interrupted(s);
	add_newest(s);
	opstat_fini(t);
	opstat_init(t);
	for (uint64_t i = 0; (w = writer_worker(s, i)); i++)
		opstat_merge(t, &w->stat);
	*r = s->sum;
	s->sum.items = s->sum.rank_times = (struct metric_list){ 0 };
	double all_seconds = r->completed ? r->first_seconds + s->later_seconds : 0;
	r->seconds_mean = per(all_seconds, (double)r->completed);
	r->later_seconds =
		r->completed > 1 ? s->later_seconds / (double)(r->completed - 1) : (double)NAN;
	r->bytes_per_sec = per((double)r->bytes, all_seconds);
	if (s->first_ns)
		r->wall_seconds = (double)(atomic_load(&s->last_ns) - s->first_ns) / 1e9;

	/* Time of the threads by activity. Waiting in reap is counted as reading or writing. */
	const _Atomic uint64_t *in = t->blocked_ns;
	double unit = per(100, (double)t->wall_ns);
	double moved = (double)(in[is_restore ? MLGEN_READ : MLGEN_WRITE] + in[MLGEN_ALLOCATE] +
				in[MLGEN_ADVISE] + t->reap_ns) *
		       unit;
	struct rank_percent *p = &r->rank_percent;
	*p = (struct rank_percent){
		.data = (double)t->data_ns * unit,
		.open = (double)(in[MLGEN_OPEN] + in[MLGEN_STAT]) * unit,
		.write = is_restore ? 0 : moved,
		.read = is_restore ? moved : 0,
		.fsync = (double)in[MLGEN_FSYNC] * unit,
		.close = (double)in[MLGEN_CLOSE] * unit,
	};
	double sum = p->data + p->open + moved + p->fsync + p->close;
	p->other = sum > 100 ? 0 : 100 - sum;

	r->open_ns = t->lat[MLGEN_OPEN];
	r->write_ns = t->lat[MLGEN_WRITE];
	r->read_ns = t->lat[MLGEN_READ];
	r->fsync_ns = t->lat[MLGEN_FSYNC];
	r->close_ns = t->lat[MLGEN_CLOSE];
	r->rename_ns = t->lat[MLGEN_RENAME];
	r->unlink_ns = t->lat[MLGEN_UNLINK];
	r->is_restore = is_restore;
	r->directory = s->cfg.checkpoints->directory;
	r->ranks = s->rank_count;
	r->threads = s->thread_count;
	r->job_ranks = s->cfg.set->state->ranks;
	r->bytes_per_checkpoint = s->bytes;
	r->durable = !is_restore && job->checkpoint_fsync != CHECKPOINT_FSYNC_NONE;
	r->verified = is_restore && job->verify == VERIFY_CRC32C && r->completed == r->count &&
		      r->count > 0;
	r->dirty_bytes = is_restore ? UINT64_MAX : s->dirty_bytes;
	r->in_memory_bytes = r->durable ? 0 : r->dirty_bytes;
	if (r->in_memory_bytes != UINT64_MAX && r->in_memory_bytes > r->bytes)
		r->in_memory_bytes = r->bytes;
}

/* ---- rounds ---- */

#define CALL_SPAN_BYTES (UINT64_C(2) << 20)
#define CHUNK_SPAN_BYTES (UINT64_C(32) << 20)

/* The local ranks that have files, in order. */
static int find_ranks(struct writer *s, struct mlgen_err *err)
{
	const struct state *state = s->cfg.set->state;
	uint64_t locals = state_local_count(state), bs = s->span_bytes, shift;
	struct shard f;

	s->ranks = mem_array(locals, sizeof(*s->ranks));
	for (uint64_t i = 0; i < locals; i++) {
		struct writer_rank *r = &s->ranks[s->rank_count];

		r->rank = state_local_rank(state, i);
		r->file_count = shard_files(s->cfg.set, r->rank);
		if (r->file_count == 0)
			continue;
		r->files = mem_array(r->file_count, sizeof(*r->files));
		for (uint64_t k = 0; k < r->file_count; k++) {
			struct writer_file *file = &r->files[k];

			shard_init(&f, s->cfg.set, r->rank, k, 1);
			file->bytes = f.bytes;
			uint64_t parts = writer_is_framework(s) || f.bytes == 0
						 ? 1
						 : (f.bytes + bs - 1) / bs;
			file->writers = parts < s->threads_each ? (uint32_t)parts : s->threads_each;
			r->bytes += f.bytes;
		}
		s->bytes += r->bytes;
		s->files += r->file_count;
		s->rank_count++;
	}
	if (s->rank_count == 0 && !s->lead)
		return mlgen_fail(err, -EINVAL,
				  "checkpoint_ranks: none of these ranks saves any of this state; "
				  "--dry-run lists the ranks that do");
	shift = s->cfg.is_restore ? s->cfg.job->restore_shift : 0;
	for (uint64_t i = 0; i < s->rank_count; i++)
		s->ranks[i].source = &s->ranks[(i + shift) % s->rank_count];
	return 0;
}

/* Files that a thread has open at once: with checkpoint_fsync=end files stay open. */
static uint64_t files_per_thread(const struct job *job, uint64_t files)
{
	uint64_t each = job->checkpoint_threads;

	if (job->checkpoint_fsync != CHECKPOINT_FSYNC_END || job_work(job)->restores)
		return 1;
	return job->access == ACCESS_FRAMEWORK ? (files + each - 1) / each : files;
}

void writer_wake(struct writer *s)
{
	eventcount_notify(&s->go, s->cfg.clock);
	eventcount_notify(&s->over, s->cfg.clock);
	for (uint64_t i = 0; i < s->rank_count; i++) {
		eventcount_notify(&s->ranks[i].written, s->cfg.clock);
		eventcount_notify(&s->ranks[i].made, s->cfg.clock);
	}
}

void writer_fail(struct writer *s, const struct mlgen_err *err)
{
	pthread_mutex_lock(&s->lock);
	if (!s->newest.error[0])
		snprintf(s->newest.error, sizeof(s->newest.error), "%.*s",
			 (int)sizeof(s->newest.error) - 1, err->text);
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->has_failed, true);
	writer_wake(s);
	failure_set(s->cfg.failure, err);
}

/* The caller holds the lock, and all threads wait. */
static void begin_round(struct writer *s, const struct checkpoint *k)
{
	s->now = *k;
	atomic_store(&s->has_failed, false);
	atomic_store(&s->is_incomplete, false);
	for (uint64_t i = 0; i < s->rank_count; i++) {
		struct writer_rank *r = &s->ranks[i];

		atomic_store(&r->writing, s->threads_each);
		for (uint64_t file = 0; file < r->file_count; file++) {
			atomic_store(&r->files[file].left, r->files[file].writers);
			atomic_store(&r->files[file].is_begun, false);
			atomic_store(&r->files[file].is_made, false);
		}
	}
	for (uint64_t i = 0; i < s->thread_count; i++)
		atomic_store(&s->threads[i].moved_bytes, 0);
	atomic_store(&s->busy_threads, s->thread_count);
	atomic_store(&s->number, k->number);
	atomic_fetch_add(&s->begun, 1);
	atomic_store(&s->is_busy, true);
	s->begin_ns = clock_now(s->cfg.clock);
	if (!s->first_ns)
		s->first_ns = s->begin_ns;
	/* A thread that sees the new round also sees all stores above. */
	atomic_fetch_add(&s->round, 1);
}

int writer_begin_round(struct writer *s, const struct checkpoint *k)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (s->left_threads || atomic_load(&s->closed)) {
		rc = -EPIPE;
	} else {
		begin_record(s, k);
		begin_round(s, k);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		eventcount_notify(&s->go, s->cfg.clock);
	return rc;
}

void writer_record_failed(struct writer *s, const struct checkpoint *k, const struct mlgen_err *err)
{
	pthread_mutex_lock(&s->lock);
	begin_record(s, k);
	snprintf(s->newest.error, sizeof(s->newest.error), "%.*s", (int)sizeof(s->newest.error) - 1,
		 err->text);
	pthread_mutex_unlock(&s->lock);
}

uint64_t writer_span_bytes(const struct job *job)
{
	if (job->access != ACCESS_FRAMEWORK)
		return round_up(job->bs.write, CONTENT_BLOCK);
	return job->direct ? CHUNK_SPAN_BYTES : CALL_SPAN_BYTES;
}

uint64_t writer_open_files(const struct job *job, const struct shard_set *set)
{
	uint64_t locals = state_local_count(set->state), sum = 0;

	for (uint64_t i = 0; i < locals; i++) {
		uint64_t files = shard_files(set, state_local_rank(set->state, i));

		if (files)
			/* Saving also opens the directory. */
			sum += job->checkpoint_threads * (files_per_thread(job, files) +
							  job->direct + !job_work(job)->restores);
	}
	return sum;
}

int writer_new(struct writer **out, const struct writer_config *cfg, struct mlgen_err *err)
{
	struct writer *s = mem_zalloc(sizeof(*s));
	const struct job *job = cfg->job;

	*out = NULL;
	s->cfg = *cfg;
	s->threads_each = (unsigned)job->checkpoint_threads;
	s->span_bytes = content_span_bytes(cfg->set->content);
	s->slice_bytes = s->span_bytes + CONTENT_SLACK;
	pthread_mutex_init(&s->lock, NULL);
	checkpoints_result_init(&s->sum);
	s->dirty_bytes = UINT64_MAX;
	if (cfg->hosts)
		writer_lead_new(s);
	int rc = find_ranks(s, err);
	if (rc == 0 && !cfg->is_restore)
		rc = checkpoints_prepare(cfg->checkpoints, err);
	if (rc == 0) {
		if (!cfg->is_restore && writer_commits(s))
			writer_repair(s);
		s->thread_count = s->rank_count * s->threads_each;
		s->threads = mem_array(s->thread_count, sizeof(*s->threads));
		for (uint64_t i = 0; i < s->thread_count; i++) {
			struct writer_thread *t = &s->threads[i];

			t->writer = s;
			t->rank = &s->ranks[i / s->threads_each];
			t->index = (unsigned)(i % s->threads_each);
			t->depth = writer_is_framework(s) ? 1 : job_depth(job);
			t->file_slots = files_per_thread(job, t->rank->file_count);
			worker_init(&t->worker);
		}
		atomic_store(&s->starting_threads, s->thread_count + (s->lead ? 1 : 0));
		s->engine_job = (struct mlgen_engine_job){
			.engine = job->engine,
			.opts = job->engine_opts,
			.find = engines_find,
			.workers = (unsigned)s->thread_count + (s->lead ? 1 : 0),
			.beside = cfg->beside,
		};
		if (job->engine->job_init)
			rc = job->engine->job_init(&s->engine_job, err);
	}
	if (rc < 0) {
		s->engine_job.engine = NULL;
		writer_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void writer_free(struct writer *s)
{
	if (!s)
		return;
	writer_lead_free(s);
	for (uint64_t i = 0; i < s->thread_count; i++)
		writer_thread_fini(&s->threads[i]);
	mem_free(s->threads);
	for (uint64_t i = 0; i < s->rank_count; i++)
		mem_free(s->ranks[i].files);
	mem_free(s->ranks);
	if (s->engine_job.engine && s->engine_job.engine->job_fini)
		s->engine_job.engine->job_fini(&s->engine_job);
	opstat_fini(&s->total);
	mem_free(s->sum.items.items);
	mem_free(s->sum.rank_times.items);
	pthread_mutex_destroy(&s->lock);
	mem_free(s);
}

int writer_start(struct writer *s, struct mlgen_err *err)
{
	int rc = 0;

	for (uint64_t i = 0; i < s->thread_count && rc == 0; i++)
		rc = worker_start(&s->threads[i].worker.thread, s->cfg.clock, writer_main,
				  &s->threads[i], err);
	if (rc == 0 && s->lead)
		rc = writer_lead_start(s, err);
	if (rc < 0)
		writer_close(s);
	return rc;
}

int writer_await_ready(struct writer *s)
{
	for (;;) {
		uint32_t seen = eventcount_get(&s->over);

		if (atomic_load(&s->closed) || stop_is_set(s->cfg.stop))
			return -EPIPE;
		if (atomic_load(&s->starting_threads) == 0)
			return 0;
		eventcount_wait(&s->over, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

void writer_finish(struct writer *s)
{
	atomic_store(&s->is_finishing, true);
	eventcount_notify(&s->go, s->cfg.clock);
}

void writer_join(struct writer *s)
{
	for (uint64_t i = 0; i < s->thread_count; i++)
		worker_join(&s->threads[i].worker.thread);
	if (s->lead)
		writer_lead_join(s);
}

void writer_close(struct writer *s)
{
	atomic_store(&s->closed, true);
	if (s->lead)
		writer_lead_close(s);
	writer_wake(s);
}

int writer_begin_save(struct writer *s, uint64_t epoch, uint64_t step, struct mlgen_err *err)
{
	struct checkpoint k = { .epoch = epoch, .step = step };

	if (atomic_load(&s->closed))
		return -EPIPE;
	if (s->lead)
		return writer_lead_begin(s, &k);
	int rc = writer_create_next(s, epoch, step, &k, err);
	if (rc < 0) {
		writer_record_failed(s, &k, err);
		return rc;
	}
	rc = writer_begin_round(s, &k);
	if (rc < 0)
		writer_discard(s, &k);
	return rc;
}

void writer_begin_restore(struct writer *s, const struct checkpoint *k)
{
	/* After a close, writer_await returns the error. */
	if (s->lead)
		writer_lead_begin(s, k);
	else
		writer_begin_round(s, k);
}

int writer_await(struct writer *s)
{
	for (;;) {
		uint32_t seen = eventcount_get(&s->over);

		if (atomic_load(&s->closed))
			return -EPIPE;
		if (writer_is_interrupted(s) && stop_is_set(s->cfg.stop))
			return -ECANCELED;
		if (!atomic_load(&s->is_busy))
			return writer_is_interrupted(s) ? -ECANCELED : 0;
		eventcount_wait(&s->over, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

bool writer_is_busy(const struct writer *s)
{
	return atomic_load(&s->is_busy);
}

void writer_note_stall(struct writer *s, uint64_t snapshot_ns, uint64_t wait_ns, uint64_t stall_ns)
{
	pthread_mutex_lock(&s->lock);
	s->newest.snapshot_seconds = (double)snapshot_ns / 1e9;
	s->newest.wait_seconds = (double)wait_ns / 1e9;
	s->newest.stall_seconds = (double)stall_ns / 1e9;
	pthread_mutex_unlock(&s->lock);
}

struct worker *writer_worker(const struct writer *s, uint64_t i)
{
	if (i == s->thread_count && s->lead)
		return &writer_lead_thread(s)->worker;
	return i < s->thread_count ? &s->threads[i].worker : NULL;
}

void writer_progress(const struct writer *s, struct writer_progress *look)
{
	*look = (struct writer_progress){
		.number = atomic_load(&s->number),
		.count = atomic_load(&s->begun),
		.bytes_total = s->bytes,
		.is_busy = atomic_load(&s->is_busy),
	};
	for (uint64_t i = 0; i < s->thread_count; i++)
		look->bytes_done +=
			atomic_load_explicit(&s->threads[i].moved_bytes, memory_order_relaxed);
	/* A framework reads some bytes twice. */
	if (look->bytes_done > look->bytes_total)
		look->bytes_done = look->bytes_total;
}

void writer_need(struct memneed *n, const struct job *j, const struct shard_set *set,
		 uint64_t most_bytes)
{
	uint64_t threads = u64_product(state_local_count(set->state), j->checkpoint_threads);
	uint64_t slice = writer_span_bytes(j) + CONTENT_SLACK, heads = 0;
	unsigned depth = set->is_plain ? job_depth(j) : 1;

	memneed_add(n, slice, slice); /* the pool */
	memneed_threads(n, threads, 0);
	memneed_buffers(n, j, threads, u64_product(depth, slice), !job_work(j)->restores);
	if (n->bytes <= most_bytes)
		heads = u64_product(threads, shard_max_head_bytes(set));
	memneed_add(n, heads, heads);
}
