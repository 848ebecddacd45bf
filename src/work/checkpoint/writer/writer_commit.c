/* SPDX-License-Identifier: Apache-2.0 */
/* writer_commit.c - agree with other processes, commit a checkpoint, delete old ones. */
#include "work/checkpoint/writer/writer_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/state/state.h"
#include "hosts/hosts.h"
#include "io/io.h"
#include "io/host.h"

/*
 * In a job of several processes, the lead threads agree on each step of a round by votes (hosts.h).
 * Rank 0's vote may carry a number:
 *
 *	1	does any process stop? Otherwise the round begins
 *	2	save: number of the checkpoint that rank 0 has created; 0 = failed
 *	3	save: its step and place
 *		the threads do their part
 *	4	is any part incomplete? Then rank 0 removes the checkpoint
 *	5	save: did rank 0 fail to commit?
 *
 * A checkpoint writer that ends closes the ballot, so that the next vote fails and no more rounds
 * follow. After the death of a process, nobody knows who still writes: the files stay, incomplete.
 */
struct writer_lead {
	struct writer_thread thread; /* renames and deletes, but neither reads nor writes files */
	struct ballot *ballot;
	bool is_cut_off; /* the other processes have left; only for the lead thread */
	_Atomic bool is_over;
	/* The members below are under the lock of struct writer. */
	bool is_requested;
	struct checkpoint requested;
};

/* Bit of vote 3 for the place; the step is below 2^63 (checkpoints_check_next). */
#define PLACE_PART 1u

static int vote(struct writer *s, uint64_t mine, uint64_t *all)
{
	int rc = ballot_vote(s->lead->ballot, mine, all);

	if (rc < 0) {
		s->lead->is_cut_off = true;
		atomic_store(&s->lead->is_over, true);
	}
	return rc;
}

/* Rank 0 creates the directory; the others receive its number, step and place. */
static int create_together(struct writer *s, struct checkpoint *k)
{
	struct checkpoint requested = *k;
	struct mlgen_err err = { 0 };
	uint64_t number = 0, where = 0;
	bool makes = writer_commits(s);

	if (makes && writer_create_next(s, requested.epoch, requested.step, k, &err) < 0) {
		writer_record_failed(s, k, &err);
		failure_set(s->cfg.failure, &err);
		vote(s, 0, &number);
		return -ECANCELED;
	}
	int rc = vote(s, makes ? k->number : 0, &number);
	if (rc == 0 && !number)
		return -ECANCELED;
	if (rc == 0)
		rc = vote(s, makes ? k->step << 1 | (k->place == CHECKPOINT_PART) : 0, &where);
	if (rc < 0 || makes)
		return rc;
	k->number = number;
	k->step = where >> 1;
	k->place = where & PLACE_PART ? CHECKPOINT_PART : CHECKPOINT_FINAL;
	checkpoint_print_name(k->name, k->epoch, k->step, k->place);
	return 0;
}

static void lead_round(struct writer *s, struct checkpoint *k)
{
	uint64_t stops = 0;
	int rc = vote(s, writer_must_stop(s), &stops);

	if (rc == 0 && stops)
		rc = -ECANCELED;
	if (rc == 0 && !s->cfg.is_restore)
		rc = create_together(s, k);
	if (rc == 0 && writer_begin_round(s, k) < 0) {
		writer_discard(s, k);
		ballot_close(s->lead->ballot);
		rc = -EPIPE;
	}
	if (rc < 0) {
		atomic_store(&s->is_busy, false);
		eventcount_notify(&s->over, s->cfg.clock);
	} else {
		for (;;) {
			uint32_t seen = eventcount_get(&s->over);

			if (atomic_load(&s->busy_threads) == 0)
				break;
			eventcount_wait(&s->over, s->cfg.clock, seen, CLOCK_NEVER);
		}
		writer_end_round(&s->lead->thread);
	}
	/* Threads that wait to leave check again. */
	eventcount_notify(&s->go, s->cfg.clock);
}

/* False: no more rounds will follow. */
static bool await_request(struct writer *s, struct checkpoint *k)
{
	struct writer_lead *lead = s->lead;

	for (;;) {
		uint32_t seen = eventcount_get(&s->go);

		pthread_mutex_lock(&s->lock);
		bool has_one = lead->is_requested;
		*k = lead->requested;
		lead->is_requested = false;
		pthread_mutex_unlock(&s->lock);
		if (has_one)
			return true;
		if (atomic_load(&s->closed) || atomic_load(&s->is_finishing))
			return false;
		eventcount_wait(&s->go, s->cfg.clock, seen, CLOCK_NEVER);
	}
}

static void *lead_main(void *writer)
{
	struct writer *s = writer;
	struct checkpoint k;

	/* If the thread cannot be set up, it has closed the checkpoint writer. */
	writer_thread_open(&s->lead->thread);
	while (await_request(s, &k))
		lead_round(s, &k);
	ballot_close(s->lead->ballot);
	writer_thread_close(&s->lead->thread);
	return NULL;
}

void writer_lead_new(struct writer *s)
{
	struct writer_lead *lead = s->lead = mem_zalloc(sizeof(*lead));
	struct writer_thread *t = &lead->thread;

	t->writer = s;
	t->depth = 1;
	t->folder_fd = -1;
	worker_init(&t->worker);
	lead->ballot = ballot_open(s->cfg.hosts, s->cfg.channel);
}

void writer_lead_free(struct writer *s)
{
	if (!s->lead)
		return;
	ballot_free(s->lead->ballot);
	writer_thread_fini(&s->lead->thread);
	mem_free(s->lead);
	s->lead = NULL;
}

int writer_lead_start(struct writer *s, struct mlgen_err *err)
{
	return worker_start(&s->lead->thread.worker.thread, s->cfg.clock, lead_main, s, err);
}

void writer_lead_join(struct writer *s)
{
	worker_join(&s->lead->thread.worker.thread);
}

void writer_lead_close(struct writer *s)
{
	/* A started lead ends the current round together with the other processes. */
	if (!s->lead->thread.worker.thread)
		ballot_close(s->lead->ballot);
}

int writer_lead_begin(struct writer *s, const struct checkpoint *k)
{
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	if (s->left_threads || atomic_load(&s->closed)) {
		rc = -EPIPE;
	} else {
		s->lead->requested = *k;
		s->lead->is_requested = true;
		atomic_store(&s->is_busy, true);
	}
	pthread_mutex_unlock(&s->lock);
	if (rc == 0)
		eventcount_notify(&s->go, s->cfg.clock);
	return rc;
}

struct writer_thread *writer_lead_thread(const struct writer *s)
{
	return &s->lead->thread;
}

bool writer_is_over(const struct writer *s)
{
	return s->lead && atomic_load(&s->lead->is_over);
}

bool writer_commits(const struct writer *s)
{
	return !s->lead || (hosts_rank(s->cfg.hosts) == 0 && !s->lead->is_cut_off);
}

/* Is the checkpoint whole in all processes? */
static bool agree_whole(struct writer *s, bool is_whole)
{
	uint64_t is_incomplete;

	if (!s->lead)
		return is_whole;
	if (vote(s, !is_whole, &is_incomplete) == 0)
		return !is_incomplete;
	if (!s->cfg.is_restore && hosts_rank(s->cfg.hosts) == 0)
		log_warn("checkpoint %" PRIu64 ": %s/%s is incomplete, and is left as it is: "
			 "another process may still write there",
			 s->now.number, s->cfg.checkpoints->directory, s->now.name);
	return false;
}

/* Receive the result of rank 0's commit. */
static void agree_complete(struct writer *s, struct checkpoint_result *r)
{
	uint64_t is_missing;

	if (!s->lead)
		return;
	bool commits = writer_commits(s);
	int rc = vote(s, commits && !r->complete, &is_missing);
	if (commits || rc < 0 || is_missing)
		return;
	r->complete = true;
	checkpoint_final_name(&s->now, r->name);
}

/* ---- deleting checkpoints ---- */

/* Unlink a file on thread `t`, or with a plain call if `t` is NULL. Returns 1; 0 if the file does
 * not exist or is a directory; or -errno. */
static int unlink_one(struct writer *s, struct writer_thread *t, const struct checkpoint_removal *r,
		      const char *name, struct mlgen_err *err)
{
	char path[PATH_MAX];
	struct mlgen_file file = { .path = path, .name = name, .dir_fd = r->folder_fd, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_UNLINK, .file = &file } };
	int rc = checkpoint_path(s->cfg.checkpoints, &r->now, name, path);

	if (rc < 0)
		return mlgen_fail(err, rc, "%s: the name is too long", name);
	/* Plain calls are not counted, and no engine can make them fail. */
	if (t)
		writer_do(t, &op);
	else
		meta_do(&op.io);
	rc = (int)op.io.result;
	if (rc == -ENOENT || rc == -EISDIR)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc, "%s: unlink: %s", path, strerror(-rc)) : 1;
}

static int remove_files(struct writer *s, struct writer_thread *t,
			const struct checkpoint_removal *r, uint64_t *files, struct mlgen_err *err)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	int rc = checkpoint_removal_mark(r, c, err);

	for (size_t i = 0; rc >= 0 && i < r->count; i++) {
		rc = writer_is_interrupted(s) ? -ECANCELED : unlink_one(s, t, r, r->names[i], err);
		*files += rc > 0;
	}
	return rc < 0 ? rc : checkpoint_removal_end(r, c, err);
}

/* Delete a checkpoint on thread `t` (NULL = with plain calls), and remove it from the list. 0;
 * -ENOENT, -EPERM or -EBUSY of checkpoint_removal_begin: it was not deleted, but is no longer in
 * the list; otherwise -errno. */
static int delete_checkpoint(struct writer *s, struct writer_thread *t, const struct checkpoint *k,
			     uint64_t *files, struct mlgen_err *err)
{
	struct checkpoint listed = *k; /* a copy: the list entry is removed */
	struct checkpoint_removal r;
	struct mlgen_err why = { 0 };
	int rc = checkpoint_removal_begin(&r, s->cfg.checkpoints, &listed, &why);

	if (rc == 0)
		rc = remove_files(s, t, &r, files, &why);
	checkpoint_removal_fini(&r);
	if (rc == -ENOTEMPTY) { /* files that mlgen did not write stay */
		log_warn("%s", why.text);
		rc = 0;
	}
	if (rc == 0 || rc == -EPERM || rc == -ENOENT || rc == -EBUSY)
		checkpoints_remove(s->cfg.checkpoints, listed.name);
	return rc < 0 ? mlgen_fail(err, rc, "%s", why.text) : 0;
}

/* The next checkpoint to delete; NULL = none. Incomplete checkpoints are useless: all of them are
 * deleted, before any complete one. Checkpoints left to another run are neither counted nor
 * deleted. */
static const struct checkpoint *next_to_delete(const struct checkpoints *c, uint64_t keep)
{
	const struct checkpoint *oldest = NULL;
	uint64_t whole = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct checkpoint *k = &c->items[i];

		if (checkpoint_is_protected(c, k) ||
		    (k->is_complete && k->place != CHECKPOINT_FINAL))
			continue;
		if (!k->is_complete)
			return k;
		oldest = oldest ? oldest : k;
		whole++;
	}
	return whole > keep ? oldest : NULL;
}

/* Delete a checkpoint. 1; 0 if it must stay, which is not a failure; or -errno. */
static int delete_one(struct writer *s, struct writer_thread *t, const struct checkpoint *k,
		      uint64_t *files, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = delete_checkpoint(s, t, k, files, &why);

	if (rc == -EPERM)
		log_warn("%s", why.text);
	if (rc == -EPERM || rc == -ENOENT || rc == -EBUSY)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc, "%s", why.text) : 1;
}

static bool has_old(const struct writer *s, const struct checkpoint *replaced)
{
	uint64_t keep = s->cfg.job->checkpoint_keep;

	return replaced || (keep && next_to_delete(s->cfg.checkpoints, keep) != NULL);
}

/* Delete the replaced checkpoint (NULL = none) and those beyond checkpoint_keep. */
static int delete_old(struct writer_thread *t, const struct checkpoint *replaced,
		      struct checkpoint_result *r, struct mlgen_err *err)
{
	struct writer *s = t->writer;
	uint64_t begin_ns = clock_now(s->cfg.clock);
	struct writer_thread *by = t->is_dead ? NULL : t;
	const struct checkpoint *old = replaced;
	int rc = 0;

	if (!has_old(s, replaced))
		return 0;
	while (rc >= 0 && !writer_is_interrupted(s) && has_old(s, old)) {
		if (!old)
			old = next_to_delete(s->cfg.checkpoints, s->cfg.job->checkpoint_keep);
		rc = delete_one(s, by, old, &r->deleted_files, err);
		r->deleted_checkpoints += rc > 0;
		old = NULL;
	}
	r->delete_seconds = (double)(clock_now(s->cfg.clock) - begin_ns) / 1e9;
	return rc < 0 ? rc : 0;
}

void writer_repair(struct writer *s)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	struct mlgen_err err = { 0 };
	uint64_t files = 0;

	for (size_t i = c->count; i--;)
		if (c->items[i].place == CHECKPOINT_OLD && !c->items[i].is_complete &&
		    !checkpoint_is_protected(c, &c->items[i]) &&
		    delete_one(s, NULL, &c->items[i], &files, &err) < 0) {
			log_warn("%s", err.text);
			err = (struct mlgen_err){ 0 };
		}
}

/* May the checkpoint be replaced? Only true at the time of the check: nothing stays locked
 * afterwards. */
static int check_replaced(struct writer *s, const struct checkpoint *k, struct mlgen_err *err)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	struct checkpoint_removal r;
	int rc = checkpoint_removal_begin(&r, c, k, err);

	if (rc == 0 && !checkpoint_removal_leaves_nothing(&r))
		rc = mlgen_fail(err, -EPERM,
				"%s/%s: stays: it contains files that mlgen did not write",
				c->directory, k->name);
	checkpoint_removal_fini(&r);
	if (rc == -ENOENT)
		checkpoints_remove(s->cfg.checkpoints, k->name);
	return rc;
}

/* A checkpoint at this epoch and step; the complete one comes last. */
static const struct checkpoint *obstacle_at(const struct checkpoints *c, uint64_t epoch,
					    uint64_t step)
{
	static const enum checkpoint_place order[] = { CHECKPOINT_PART, CHECKPOINT_OLD,
						       CHECKPOINT_FINAL };
	const struct checkpoint *whole = NULL;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		const struct checkpoint *k = checkpoints_at(c, epoch, step, order[i]);

		if (k && !k->is_complete)
			return k;
		whole = k ? k : whole;
	}
	return whole;
}

/* Delete incomplete checkpoints at this epoch and step. A complete checkpoint stays until its
 * replacement is complete; check that it may be replaced. */
static int clear_obstacles(struct writer *s, uint64_t epoch, uint64_t step, struct mlgen_err *err)
{
	struct checkpoints *c = s->cfg.checkpoints;
	struct mlgen_err why = { 0 };
	const struct checkpoint *k;
	bool is_done = false;
	uint64_t files = 0;
	int rc = 0;

	checkpoints_recover_old(c, epoch, step);
	while (!is_done && (k = obstacle_at(c, epoch, step))) {
		is_done = k->is_complete;
		why = (struct mlgen_err){ 0 };
		rc = is_done ? check_replaced(s, k, &why)
			     : delete_checkpoint(s, NULL, k, &files, &why);
		is_done = rc != -ENOENT && (is_done || rc < 0);
	}
	if (rc == -EPERM)
		return mlgen_fail(err, rc,
				  "%s; use another checkpoint_directory=, or remove it by hand",
				  why.text);
	return rc == 0 || rc == -ENOENT ? 0 : mlgen_fail(err, rc, "%s", why.text);
}

static int try_make(struct writer *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
		    struct mlgen_err *err)
{
	int rc = step == UINT64_MAX ? 0 : clear_obstacles(s, epoch, step, err);

	if (rc == 0)
		rc = checkpoints_check_next(s->cfg.checkpoints, step, err);
	if (rc < 0)
		return rc;
	checkpoints_next(s->cfg.checkpoints, epoch, step, k);
	return checkpoint_create(s->cfg.checkpoints, k, err);
}

/* If a name exists already, another process has used it since the last scan of the directory. */
int writer_create_next(struct writer *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
		       struct mlgen_err *err)
{
	unsigned more = step == UINT64_MAX ? 100 : 1;
	struct mlgen_err why = { 0 };
	int rc = try_make(s, epoch, step, k, &why);

	while (rc == -EEXIST && more--) {
		why = (struct mlgen_err){ 0 };
		rc = checkpoints_refresh(s->cfg.checkpoints, &why);
		if (rc == 0)
			rc = try_make(s, epoch, step, k, &why);
	}
	return rc < 0 ? mlgen_fail(err, rc, "%s", why.text) : 0;
}

/* ---- commits ---- */

static int rename_to(struct writer_thread *t, struct checkpoint *k, enum checkpoint_place place,
		     struct mlgen_err *err)
{
	const struct checkpoints *c = t->writer->cfg.checkpoints;
	struct checkpoint to = *k;
	char path[PATH_MAX];
	struct mlgen_file file = { .path = path, .name = k->name, .dir_fd = c->dir_fd, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_RENAME, .file = &file, .path2 = to.name } };
	int rc = checkpoint_path(c, k, NULL, path);

	checkpoint_set_place(&to, place);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: the name is too long", to.name);
	rc = (int)writer_do(t, &op);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: rename to %s: %s", path, to.name, strerror(-rc));
	*k = to;
	return 0;
}

/* The new checkpoint is already whole. Until the second rename succeeds, the old one must stay
 * valid: if that rename fails, the old one gets its name back. */
static int exchange(struct writer_thread *t, struct checkpoint *k, struct checkpoint *old,
		    struct mlgen_err *err)
{
	struct checkpoints *c = t->writer->cfg.checkpoints;
	struct checkpoint aside = *old;
	int rc = rename_to(t, &aside, CHECKPOINT_OLD, err);

	if (rc == 0)
		rc = rename_to(t, k, CHECKPOINT_FINAL, err);
	if (rc < 0 && aside.place == CHECKPOINT_OLD &&
	    renameat(c->dir_fd, aside.name, c->dir_fd, old->name) != 0)
		log_warn("%s/%s: is complete, but could not be renamed back to %s: %s",
			 c->directory, aside.name, old->name, strerror(errno));
	if (rc < 0)
		return rc;
	checkpoints_remove(c, old->name);
	*old = aside;
	return 0;
}

/* Commit the current checkpoint. `old` becomes the checkpoint that was replaced; its name is "" if
 * there was none. */
static int commit(struct writer_thread *t, struct checkpoint_result *r, struct checkpoint *old,
		  struct mlgen_err *err)
{
	struct writer *s = t->writer;
	struct checkpoint *k = &s->now;
	const struct checkpoint *found =
		checkpoints_replaced(s->cfg.checkpoints, k->epoch, k->step);
	uint64_t begin_ns = clock_now(s->cfg.clock);
	int rc = checkpoint_write_manifest(s->cfg.checkpoints, k, true, err);

	if (rc == 0 && writer_is_interrupted(s))
		rc = -ECANCELED;
	if (rc == 0 && k->place == CHECKPOINT_PART && writer_touches_files(s)) {
		if (found)
			*old = *found;
		rc = found ? exchange(t, k, old, err) : rename_to(t, k, CHECKPOINT_FINAL, err);
		if (rc == 0)
			rc = checkpoints_sync(s->cfg.checkpoints, err);
	}
	memcpy(r->name, k->name, sizeof(k->name));
	if (rc < 0)
		return rc;
	k->is_complete = true;
	r->complete = true;
	r->commit_seconds = (double)(clock_now(s->cfg.clock) - begin_ns) / 1e9;
	checkpoints_add(s->cfg.checkpoints, k);
	return 0;
}

/* Time of the slowest thread of rank `i`. */
static double rank_seconds(const struct writer *s, uint64_t i)
{
	uint64_t end_ns = s->begin_ns;

	for (unsigned k = 0; k < s->threads_each; k++)
		end_ns = u64_max(end_ns, s->threads[i * s->threads_each + k].end_ns);
	return (double)(end_ns - s->begin_ns) / 1e9;
}

/* Store the result of the round. Keep the error and the stall of the training, which were recorded
 * during the round. */
static void record(struct writer *s, const struct checkpoint_result *r)
{
	struct checkpoint_result *to = &s->newest;

	pthread_mutex_lock(&s->lock);
	struct checkpoint_result old = *to;
	*to = *r;
	memcpy(to->error, old.error, sizeof(to->error));
	to->snapshot_seconds = old.snapshot_seconds;
	to->wait_seconds = old.wait_seconds;
	to->stall_seconds = old.stall_seconds;
	if (to->complete && s->sum.rank_times.count < CHECKPOINT_RANKS_KEPT) {
		struct metric_list *l = &s->sum.rank_times;
		uint64_t n = u64_min(s->rank_count, CHECKPOINT_RANKS_KEPT - l->count);
		struct checkpoint_rank *out = mem_realloc(l->items, (l->count + n) * sizeof(*out));

		for (uint64_t i = 0; i < n; i++)
			out[l->count + i] = (struct checkpoint_rank){
				.number = s->newest.number,
				.rank = s->ranks[i].rank,
				.begin_seconds = (double)(s->begin_ns - s->first_ns) / 1e9,
				.seconds = rank_seconds(s, i),
			};
		*l = (struct metric_list){ out, l->count + n };
	}
	if (!to->error[0] && !to->complete)
		snprintf(to->error, sizeof(to->error), "%s",
			 writer_is_interrupted(s) ? "interrupted"
			 : atomic_load(&s->has_failed) || atomic_load(&s->closed)
				 ? "given up: the run has failed"
				 : "its time was over");
	pthread_mutex_unlock(&s->lock);
}

/* Commit a checkpoint whose files are written. An error is also recorded in the checkpoint. */
static void commit_and_delete_old(struct writer_thread *t, struct checkpoint_result *r)
{
	struct writer *s = t->writer;
	struct mlgen_err found = { 0 }, err = { 0 };
	struct checkpoint old = { 0 };
	int rc = commit(t, r, &old, &found);

	if (writer_is_interrupted(s) && (rc == 0 || rc == -ECANCELED))
		return;
	if (rc < 0)
		mlgen_fail(&err, rc, "checkpoint %" PRIu64 ": %s", s->now.number, found.text);
	else if ((rc = delete_old(t, old.name[0] ? &old : NULL, r, &found)) < 0 &&
		 !writer_is_interrupted(s))
		mlgen_fail(&err, rc,
			   "checkpoint %" PRIu64
			   " is complete, but an older one could not be deleted: %s",
			   s->now.number, found.text);
	if (rc < 0 && err.code)
		writer_fail(s, &err);
}

void writer_discard(struct writer *s, const struct checkpoint *k)
{
	struct mlgen_err err = { 0 };
	uint64_t files = 0;

	if (writer_is_interrupted(s) || !writer_commits(s) || !writer_touches_files(s) ||
	    delete_checkpoint(s, NULL, k, &files, &err) == 0)
		return;
	log_warn("checkpoint %" PRIu64 " is incomplete and could not be removed: %s", k->number,
		 err.text);
	checkpoints_add(s->cfg.checkpoints, k);
}

void writer_end_round(struct writer_thread *t)
{
	struct writer *s = t->writer;
	bool is_whole = !atomic_load(&s->is_incomplete);
	uint64_t dirty = 0;

	pthread_mutex_lock(&s->lock);
	struct checkpoint_result r = s->newest;
	pthread_mutex_unlock(&s->lock);

	r.bytes = s->bytes;
	r.files = s->files;
	r.ranks = s->rank_count;
	for (uint64_t i = 0; i < s->rank_count; i++) {
		const struct writer_rank *rank = &s->ranks[i];
		double seconds = rank_seconds(s, i);
		double rate = seconds > 0 ? (double)rank->source->bytes / seconds : (double)NAN;

		if (i == 0 || seconds > r.slowest_rank_seconds) {
			r.slowest_rank = rank->rank;
			r.slowest_rank_seconds = seconds;
		}
		if (i == 0 || rate < r.slowest_rank_bytes_per_sec)
			r.slowest_rank_bytes_per_sec = rate;
	}
	r.seconds = r.slowest_rank_seconds;
	if (r.seconds > 0)
		r.bytes_per_sec = (double)r.bytes / r.seconds;

	is_whole = agree_whole(s, is_whole);
	if (s->cfg.is_restore)
		r.complete = is_whole;
	else if (is_whole && writer_commits(s) && !writer_is_interrupted(s))
		commit_and_delete_old(t, &r);
	if (!s->cfg.is_restore && is_whole)
		agree_complete(s, &r);
	if (!s->cfg.is_restore && !r.complete)
		writer_discard(s, &s->now);
	record(s, &r);
	if (writer_touches_files(s) && !s->cfg.is_restore && !s->cfg.align_bytes &&
	    dirty_bytes(&dirty, "") < 0)
		dirty = UINT64_MAX; /* unknown */
	s->dirty_bytes = dirty;
	atomic_store(&s->last_ns, clock_now(s->cfg.clock));
	atomic_store(&s->is_busy, false);
	eventcount_notify(&s->over, s->cfg.clock);
}
