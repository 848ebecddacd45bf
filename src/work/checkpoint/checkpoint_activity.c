/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_activity.c - runs of phase=checkpoint and phase=restore, checkpoint by checkpoint. */
#include "work/checkpoint/checkpoint_internal.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "hosts/hosts.h"
#include "io/host.h"
#include "run/slot/slot.h"
#include "work/checkpoint/checkpoint.h"
#include "work/checkpoint/writer/writer.h"

/* ---- the thread that begins checkpoints ---- */

/* Epoch of checkpoints without training: DLIO uses the same name. */
#define ONLY_EPOCH 1

static bool driver_is_over(const struct driver *d)
{
	return atomic_load(&d->closed) || atomic_load(d->interrupted);
}

/* Sleep until `until_ns`; false: closed or interrupted before. */
static bool nap(struct driver *d, uint64_t until_ns)
{
	for (;;) {
		uint32_t seen = eventcount_get(&d->go);

		if (driver_is_over(d))
			return false;
		if (clock_now(d->clock) >= until_ns)
			return true;
		eventcount_wait(&d->go, d->clock, seen, until_ns);
	}
}

static uint64_t end_ns(const struct driver *d)
{
	return d->job->runtime_ns ? atomic_load(&d->start_ns) + d->job->runtime_ns : UINT64_MAX;
}

/* Wait before checkpoint `i`; false: it will not begin. */
static bool pause_before(struct driver *d, uint64_t i)
{
	uint64_t now = clock_now(d->clock), end = end_ns(d);
	uint64_t until = i ? now + d->job->pause_ns : now;

	if (!nap(d, until < end ? until : end))
		return false;
	if (i && clock_now(d->clock) >= end)
		d->is_complete = true;
	return !d->is_complete;
}

static void drive(struct driver *d)
{
	for (uint64_t i = 0; i < d->count; i++) {
		struct mlgen_err err = { 0 };

		if (!pause_before(d, i))
			return;
		atomic_store(&d->begun, i + 1);
		if (d->restore) {
			writer_begin_restore(d->writer, &d->restore[i]);
		} else if (writer_begin_save(d->writer, ONLY_EPOCH, UINT64_MAX, &err) < 0) {
			failure_set(d->failure, &err);
			return;
		}
		if (writer_await(d->writer) < 0)
			return;
		/* The time of another process is over. */
		if (writer_is_over(d->writer))
			break;
	}
	d->is_complete = !driver_is_over(d);
}

static void *driver_main(void *arg)
{
	struct driver *d = arg;

	clock_join(d->clock);
	if (writer_await_ready(d->writer) == 0 && nap(d, d->start_after_ns)) {
		if (d->watch)
			d->watch->begin(d->watched);
		atomic_store(&d->start_ns, clock_now(d->clock));
		if (d->job->runtime_ns)
			stop_at(d->stop, end_ns(d));
		drive(d);
	}
	writer_finish(d->writer);
	clock_leave(d->clock);
	return NULL;
}

static void driver_wake(struct driver *d)
{
	writer_wake(d->writer);
	eventcount_notify(&d->go, d->clock);
}

/* Close after an error. Any thread. */
static void driver_close(struct driver *d)
{
	atomic_store(&d->closed, true);
	writer_close(d->writer);
	driver_wake(d);
}

/* ---- the run ---- */

#define FILE_NAME_BYTES 256

/* Data of this activity in a slot. */
struct checkpoint_own {
	struct checkpoint *restores; /* phase=restore: checkpoints to read */
	struct driver *driver;
};

static struct checkpoint_own *own_of(const struct slot *s)
{
	return s->own;
}

static bool checkpoint_is_restore(const struct slot *s)
{
	return job_work(s->job)->restores;
}

static int checkpoint_init_slot(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	(void)run;
	s->own = mem_zalloc(sizeof(struct checkpoint_own));
	return setup_checkpoints_init(s, err);
}

/* The mount and the alignment of this job are those of its checkpoints. */
static int rule_cpus(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	s->mount = s->checkpoint_mount;
	s->align_bytes = s->checkpoints->align_bytes;
	return rules_cpus(s, run, err);
}

static const struct rule last_rules[] = {
	{ "engine", rules_engine },
	{ "cpus", rule_cpus },
	{ NULL, NULL },
};

static const struct rule *const checkpoint_rules[] = {
	setup_checkpoints_rules,
	last_rules,
	NULL,
};

/* Choose the checkpoints to restore. Rules cannot do that earlier, because jobs of earlier groups
 * may save them. */
static int choose(struct slot *s, struct hosts *h, int rc, struct mlgen_err *err)
{
	size_t n = s->job->checkpoints;
	struct checkpoint *restores = mem_array(n, sizeof(*restores));
	struct buf b = { 0 };

	own_of(s)->restores = restores;
	if (rc == 0)
		rc = checkpoints_to_restore(&s->checkpoints->in_directory, n, restores, err);
	/* Without files each process invents the same checkpoints. */
	if (!slot_touches_files(s))
		return rc;
	rc = hosts_agree(h, rc, err);
	if (rc < 0)
		return rc;
	/* Rank 0 chooses: other processes may see an older state of the directory. */
	buf_addn(&b, (const char *)restores, n * sizeof(*restores));
	rc = hosts_broadcast(h, &b, err);
	if (rc == 0 && b.len == n * sizeof(*restores))
		memcpy(restores, buf_str(&b), b.len);
	buf_fini(&b);
	return rc;
}

static int prepare(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	int rc = setup_checkpoints_open(s, run, err);

	if (checkpoint_is_restore(s))
		rc = choose(s, run->cfg.hosts, rc, err);
	else if (rc == 0)
		rc = setup_checkpoints_place(s, run, s->job->checkpoints, err);
	s->end_ns = clock_now(run->cfg.clock);
	return rc;
}

/* Are the files dropped from the page cache? (A missing file is reported when it is read.) */
static bool drops(const struct slot *s)
{
	const struct job *j = s->job;

	return checkpoint_is_restore(s) && slot_touches_files(s) &&
	       (j->invalidate != INVALIDATE_NONE || j->drop_caches != DROP_CACHES_NO);
}

/* Share of the files that stays in the page cache, estimated from samples. */
struct cache_drop {
	const struct slot *s;
	uint64_t files, sampled_bytes, resident_bytes;
};

/* Drop a file that will be restored, so that it is not in the page cache. The first file of a
 * checkpoint, and any file that cannot be dropped, must be a regular file. */
static int drop_file(struct cache_drop *d, const char *path, bool is_first, struct mlgen_err *err)
{
	bool has_failed = drops(d->s) && pagecache_drop(path) < 0;
	uint64_t resident, sampled;

	if (d->s->job->drop_caches != DROP_CACHES_NO &&
	    pagecache_sample(path, d->files++, &resident, &sampled) == 0) {
		d->resident_bytes += resident;
		d->sampled_bytes += sampled;
	}
	return is_first || has_failed ? filekind_check(path, "", err) : 0;
}

static int drop_checkpoint(struct cache_drop *d, const struct checkpoint *k, struct mlgen_err *err)
{
	const struct slot *s = d->s;
	char name[FILE_NAME_BYTES], path[PATH_MAX];
	bool is_first = true;
	struct shard f;
	int rc = 0;

	for (uint64_t i = 0; i < state_local_count(&s->checkpoints->state); i++) {
		uint64_t rank = state_local_rank(&s->checkpoints->state, i);
		uint64_t n = shard_files(&s->checkpoints->shards, rank);

		for (uint64_t file = 0; rc == 0 && file < n; file++) {
			shard_init(&f, &s->checkpoints->shards, rank, file, k->number);
			shard_name(&f, name, sizeof(name));
			if (checkpoint_path(&s->checkpoints->in_directory, k, name, path) < 0)
				continue;
			rc = drop_file(d, path, is_first, err);
			is_first = false;
			if (rc == 0 && !drops(s))
				return 0;
		}
	}
	return rc;
}

static int drop_cache(struct slot *s, struct mlgen_err *err)
{
	struct cache_drop d = { .s = s };
	double percent = 100;
	int rc = 0;

	if (!checkpoint_is_restore(s) || !slot_touches_files(s))
		return 0;
	for (uint64_t i = 0; i < s->job->checkpoints && rc == 0 && !stop_is_set(&s->progress.stop);
	     i++)
		rc = drop_checkpoint(&d, &own_of(s)->restores[i], err);
	if (rc != 0 || s->job->drop_caches == DROP_CACHES_NO)
		return rc;
	/* Empty the whole page cache only if more than a percent of the files stays in it, for
	 * example because another process has mapped them. */
	if (d.sampled_bytes)
		percent = 100 * (double)d.resident_bytes / (double)d.sampled_bytes;
	if (percent > 1) {
		log_note("%s: drop_caches: %.0f%% of its files stay in the page cache, so the "
			 "whole page cache is emptied",
			 s->job->name, percent);
		rc = dropcaches_run("", err);
	}
	s->has_dropped_caches = rc == 0;
	return rc;
}

static int checkpoint_start(struct slot *s, struct run_shared *run, uint64_t now_ns,
			    struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct driver *d;
	/* ioengine=null prepares nothing. */
	int rc = s->checkpoints->content ? 0 : prepare(s, run, err);

	if (rc == 0)
		rc = drop_cache(s, err);
	if (rc == 0)
		rc = setup_checkpoints_writer(s, run, NULL, err);
	if (rc < 0)
		return rc;
	d = own_of(s)->driver = mem_zalloc(sizeof(*d));
	*d = (struct driver){
		.job = j,
		.writer = s->checkpoints->writer,
		.restore = own_of(s)->restores,
		.count = j->checkpoints,
		.clock = run->cfg.clock,
		.failure = &run->failure,
		.interrupted = &run->interrupted,
		.stop = &s->progress.stop,
		.watch = &slot_watch,
		.watched = s,
		.start_after_ns = j->startdelay_ns ? now_ns + j->startdelay_ns : 0,
	};
	slot_begin_work(s, run->cfg.clock, LIVE_CHECKPOINT, 1);
	rc = writer_start(d->writer, err);
	if (rc == 0)
		rc = worker_start(&d->thread, d->clock, driver_main, d, err);
	if (rc < 0)
		driver_close(d);
	return rc;
}

static void checkpoint_join_threads(struct slot *s)
{
	worker_join(&own_of(s)->driver->thread);
	writer_join(s->checkpoints->writer);
	setup_checkpoints_end(s);
}

static void checkpoint_fini(struct slot *s)
{
	struct checkpoint_own *own = own_of(s);

	setup_checkpoints_fini(s);
	if (!own)
		return;
	mem_free(own->driver);
	mem_free(own->restores);
	mem_free(own);
	s->own = NULL;
}

static void checkpoint_close_all(struct slot *s)
{
	driver_close(own_of(s)->driver);
}

static void wake_all(struct slot *s)
{
	driver_wake(own_of(s)->driver);
}

static uint64_t start_ns(const struct slot *s)
{
	return own_of(s) && own_of(s)->driver ? atomic_load(&own_of(s)->driver->start_ns) : 0;
}

static struct worker *worker_at(const struct slot *s, uint64_t i)
{
	struct writer *writer = s->checkpoints ? s->checkpoints->writer : NULL;

	return writer ? writer_worker(writer, i) : NULL;
}

/* Time until all checkpoints are done at the current speed, or until runtime is over. */
static uint64_t checkpoint_left_ns(const struct slot *s, const struct live *live)
{
	const struct job *j = s->job;
	uint64_t start = start_ns(s), left = UINT64_MAX;
	double done = live->checkpoint ? (double)live->checkpoint - 1 : 0;

	if (!start || live->now_ns <= start)
		return left;
	if (j->runtime_ns)
		left = start + j->runtime_ns > live->now_ns ? start + j->runtime_ns - live->now_ns
							    : 0;
	if (!live->is_checkpointing && live->checkpoint)
		done++;
	else if (live->checkpoint_bytes)
		done += (double)live->checkpoint_done / (double)live->checkpoint_bytes;
	if (done > 0) {
		double ns = (double)(live->now_ns - start) / done * ((double)j->checkpoints - done);

		if (ns < (double)left)
			left = ns > 0 ? (uint64_t)ns : 0;
	}
	return left;
}

static void checkpoint_look(const struct slot *s, struct live *live)
{
	struct writer_progress l;

	writer_progress(s->checkpoints->writer, &l);
	live->checkpoint = l.count;
	live->checkpoints = s->job->checkpoints;
	live->checkpoint_done = l.bytes_done;
	live->checkpoint_bytes = l.bytes_total;
	live->is_checkpointing = l.is_busy;
	live->is_restore = checkpoint_is_restore(s);
	slot_add_workers(s, live);
	live->io_bytes = live->io_moved[0] + live->io_moved[1];
	live->left_ns = checkpoint_left_ns(s, live);
	if (live->phase == LIVE_CHECKPOINT && !start_ns(s))
		live->phase = LIVE_WAIT; /* startdelay */
}

static void append_costs(struct buf *out, const struct job *j)
{
	bool is_plain = j->access != ACCESS_FRAMEWORK;

	memneed_append(out, "checkpoint_threads", j->checkpoint_threads);
	memneed_append(out, "iodepth", is_plain ? job_depth(j) : 1);
	if (out->len && is_plain)
		memneed_append_bs(out, j->bs.write);
}

static size_t one_record(const struct slot *s)
{
	(void)s;
	return 1;
}

static void checkpoint_collect(struct job_result *out, size_t record, struct slot *s)
{
	const double none = (double)NAN;
	struct ml_result *ml = &out->ml;
	struct checkpoints_result *r = checkpoint_is_restore(s) ? &ml->restores : &ml->saves;

	(void)record;
	if (!own_of(s)->driver || !atomic_load(&s->work_begin_ns))
		return;
	out->work = job_work(s->job);
	collect_workers(s);
	/* Only a training job has these. */
	ml->au_percent = none;
	ml->target_au_percent = none;
	ml->demand_bytes_per_sec = none;
	ml->demand_io_bytes_per_sec = none;
	writer_collect(s->checkpoints->writer, r);
	r->caches_dropped = s->has_dropped_caches;
	out->iodepth_used = job_depth(s->job);
	out->in_use = collect_in_use(s);
	collect_ops(&out->ops, &s->total);
	collect_worker_time(&ml->loader_percent, &s->total);
	ml->io_bytes = opstat_io_bytes(&s->total, checkpoint_is_restore(s) ? 0 : 1);
	out->wall_seconds = r->wall_seconds;
	ml->io_bytes_per_sec = out->wall_seconds > 0 ? (double)ml->io_bytes / out->wall_seconds : 0;
	out->errors = s->total.errors;
	collect_storage(&out->storage, s, s->checkpoint_directory);
	out->storage.cache_drops = drops(s);
	collect_numa(&out->numa, s);
	out->interrupted = atomic_load(own_of(s)->driver->interrupted);
	out->complete = own_of(s)->driver->is_complete;
	collect_direction(&out->read, &s->rates, &s->total, 0);
	collect_direction(&out->write, &s->rates, &s->total, 1);
	collect_depths(&out->depths, &s->total);
	collect_usage(out, &s->total.usage);
	collect_worker_cpu(&out->thread_cpu, &s->total.usage);
	collect_window(out, s, 0);
	out->sync = out->ops.fsync;
}

const struct activity checkpoint_activity = {
	.init = checkpoint_init_slot,
	.rules = checkpoint_rules,
	.open_files = setup_checkpoints_files,
	.lower_files = "checkpoint_ranks or checkpoint_threads",
	.need = setup_checkpoints_need,
	.append_costs = append_costs,
	.lower = "checkpoint_ranks, checkpoint_threads, bs or iodepth",
	.prepare = prepare,
	.start = checkpoint_start,
	.join = checkpoint_join_threads,
	.fini = checkpoint_fini,
	.close = checkpoint_close_all,
	.wake = wake_all,
	.start_ns = start_ns,
	.worker = worker_at,
	.look = checkpoint_look,
	.records = one_record,
	.collect = checkpoint_collect,
};
