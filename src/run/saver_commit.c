/* SPDX-License-Identifier: Apache-2.0 */
/* saver_commit.c - a checkpoint is done: it is committed or removed, and older ones are deleted. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "io/dirty.h"
#include "io/meta.h"
#include "run/saver_inside.h"

static uint64_t now(const struct saver *s)
{
	return clock_now(s->cfg.clock);
}

/* What is taken away, and by whom: NULL = by plain calls, which count nowhere
 * and which no engine can fail. */
struct removal {
	struct saver *saver;
	struct saver_thread *thread;
	const struct checkpoint *k;
	uint64_t files; /* that were there */
};

static int64_t do_op(struct removal *r, struct io_op *op)
{
	if (r->thread)
		return saver_do(r->thread, op);
	meta_do(&op->io);
	return op->io.result;
}

static int unlink_one(struct removal *r, const char *name,
		      struct mlgen_err *err)
{
	char path[PATH_MAX];
	struct mlgen_file file = { .path = path, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_UNLINK, .file = &file } };
	int rc = checkpoint_path(r->saver->cfg.checkpoints, r->k, name, path);

	if (rc < 0)
		return mlgen_fail(err, rc, "%s: the name is too long", name);
	rc = (int)do_op(r, &op);
	if (rc == -ENOENT)
		return 0;
	r->files += rc == 0;
	return rc < 0 ? mlgen_fail(err, rc, "%s: unlink: %s", path,
				   strerror(-rc))
		      : 0;
}

static int unlink_all(struct removal *r, struct mlgen_err *err)
{
	struct checkpoint_files files = { 0 };
	int rc = checkpoint_files_read(&files, r->saver->cfg.checkpoints, r->k,
				       err);

	for (size_t i = 0; rc == 0 && i < files.count; i++)
		rc = unlink_one(r, files.names[i], err);
	checkpoint_files_fini(&files);
	return rc;
}

/* Killed in the middle of this, it is not taken for a whole one. On a full
 * filesystem that cannot be said: it goes all the same. */
static int mark(const struct removal *r, struct mlgen_err *err)
{
	struct mlgen_err full = { 0 };
	int rc = 0;

	if (r->k->is_complete)
		rc = checkpoint_mark(r->saver->cfg.checkpoints, r->k, &full);
	if (rc == 0 || rc == -ENOSPC || rc == -EDQUOT)
		return 0;
	return mlgen_fail(err, rc, "%s", full.text);
}

static int remove_it(struct removal *r, struct mlgen_err *err)
{
	const struct checkpoints *c = r->saver->cfg.checkpoints;
	int rc = mark(r, err);

	if (rc == 0)
		rc = unlink_all(r, err);
	if (rc == 0)
		rc = checkpoint_clear(c, r->k, err);
	if (rc != -ENOTEMPTY)
		return rc;
	log_warn("%s", err->text); /* what mlgen did not write stays */
	*err = (struct mlgen_err){ 0 };
	return 0;
}

/* Of the list. */
static int delete_one(struct saver *s, struct saver_thread *t,
		      const struct checkpoint *listed, uint64_t *files,
		      struct mlgen_err *err)
{
	struct checkpoint k = *listed; /* which goes from the list */
	struct removal r = { .saver = s, .thread = t, .k = &k };
	int rc = remove_it(&r, err);

	*files += r.files;
	if (rc == 0)
		checkpoints_remove(s->cfg.checkpoints, k.number);
	return rc;
}

/* Which goes next; NULL = none. Broken ones are of no use to anybody: all of
 * them do, and first. */
static const struct checkpoint *superfluous(const struct checkpoints *c,
					    uint64_t keep)
{
	for (size_t i = 0; i < c->count; i++)
		if (!c->items[i].is_complete)
			return &c->items[i];
	return c->count > keep ? &c->items[0] : NULL;
}

static int keep_newest(struct saver_thread *t, struct checkpoint_result *r,
		       struct mlgen_err *err)
{
	struct saver *s = t->saver;
	struct checkpoints *c = s->cfg.checkpoints;
	uint64_t keep = s->cfg.job->checkpoint_keep, begin_ns = now(s);
	struct saver_thread *by = t->is_dead ? NULL : t;
	const struct checkpoint *old;
	int rc = 0;

	if (keep == 0 || !superfluous(c, keep))
		return 0;
	while (rc == 0 && (old = superfluous(c, keep))) {
		rc = delete_one(s, by, old, &r->deleted_files, err);
		r->deleted_checkpoints += rc == 0;
	}
	r->delete_seconds = (double)(now(s) - begin_ns) / 1e9;
	return rc;
}

static int rename_it(struct saver_thread *t, struct checkpoint *k,
		     struct mlgen_err *err)
{
	struct saver *s = t->saver;
	struct checkpoint to = *k;
	char from_path[PATH_MAX], to_path[PATH_MAX];
	struct mlgen_file file = { .path = from_path, .fd = -1 };
	struct io_op op = {
		.io = { .op = MLGEN_RENAME, .file = &file, .path2 = to_path }
	};
	int rc;

	checkpoint_final_name(k, to.name);
	rc = checkpoint_path(s->cfg.checkpoints, k, NULL, from_path);
	if (rc == 0)
		rc = checkpoint_path(s->cfg.checkpoints, &to, NULL, to_path);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: the name is too long", to.name);
	rc = (int)saver_do(t, &op);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: rename to %s: %s", from_path,
				  to.name, strerror(-rc));
	*k = to;
	return 0;
}

static int commit(struct saver_thread *t, struct checkpoint_result *r,
		  struct mlgen_err *err)
{
	struct saver *s = t->saver;
	struct checkpoint *k = &s->now;
	uint64_t begin_ns = now(s);
	int rc = 0;

	if (s->cfg.job->rename_commit && saver_touches_files(s))
		rc = rename_it(t, k, err);
	if (rc == 0)
		rc = checkpoint_write_manifest(s->cfg.checkpoints, k, true,
					       err);
	if (rc < 0)
		return rc;
	k->is_complete = true;
	memcpy(r->name, k->name, sizeof(k->name));
	r->complete = true;
	r->commit_seconds = (double)(now(s) - begin_ns) / 1e9;
	checkpoints_add(s->cfg.checkpoints, k);
	return 0;
}

/* The checkpoint under way, whose directory is there. */
static void remove_rest(struct saver *s, const struct checkpoint *k)
{
	struct removal r = { .saver = s, .k = k };
	struct mlgen_err err = { 0 };

	if (!saver_touches_files(s) || remove_it(&r, &err) == 0)
		return;
	log_warn("checkpoint %" PRIu64 " is incomplete and could not be "
		 "removed: %s",
		 k->number, err.text);
	checkpoints_add(s->cfg.checkpoints, k);
}

/* Who took how long: a rank as long as the slowest of its threads. */
static void measure_rank(const struct saver *s, uint64_t i,
			 struct checkpoint_result *r)
{
	const struct saver_rank *rank = &s->ranks[i];
	uint64_t end_ns = 0;
	double seconds, rate;

	for (unsigned k = 0; k < s->threads_each; k++) {
		const struct saver_thread *t =
			&s->threads[i * s->threads_each + k];

		if (t->end_ns > end_ns)
			end_ns = t->end_ns;
	}
	seconds = (double)(end_ns - s->begin_ns) / 1e9;
	rate = seconds > 0 ? (double)rank->source->bytes / seconds
			   : (double)NAN;
	if (i == 0 || seconds > r->slowest_rank_seconds) {
		r->slowest_rank = rank->rank;
		r->slowest_rank_seconds = seconds;
	}
	if (i == 0 || rate < r->slowest_rank_bytes_per_sec)
		r->slowest_rank_bytes_per_sec = rate;
}

static void measure(const struct saver *s, struct checkpoint_result *r)
{
	r->bytes = s->bytes;
	r->files = s->files;
	r->ranks = s->rank_count;
	for (uint64_t i = 0; i < s->rank_count; i++)
		measure_rank(s, i, r);
	r->seconds = r->slowest_rank_seconds;
	if (r->seconds > 0)
		r->bytes_per_sec = (double)r->bytes / r->seconds;
}

/* What begin has put there. */
static struct checkpoint_result copy_record(struct saver *s)
{
	struct checkpoint_result r;

	pthread_mutex_lock(&s->lock);
	r = s->newest;
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* What the round has come to; the stall in a training is told by others. */
static void record(struct saver *s, const struct checkpoint_result *r)
{
	struct checkpoint_result *to = &s->newest;
	struct checkpoint_result old;

	pthread_mutex_lock(&s->lock);
	old = *to;
	*to = *r;
	memcpy(to->error, old.error, sizeof(to->error));
	to->snapshot_seconds = old.snapshot_seconds;
	to->wait_seconds = old.wait_seconds;
	to->stall_seconds = old.stall_seconds;
	if (!to->error[0] && !to->complete)
		snprintf(to->error, sizeof(to->error), "%s",
			 atomic_load(s->cfg.interrupted)
				 ? "interrupted"
				 : "given up: the run has failed");
	pthread_mutex_unlock(&s->lock);
}

/* Of a checkpoint that is written: what fails now is its failure, too. */
static void commit_or_fail(struct saver_thread *t, struct checkpoint_result *r)
{
	struct saver *s = t->saver;
	struct mlgen_err found = { 0 }, err = { 0 };
	int rc = commit(t, r, &found);

	if (rc < 0)
		mlgen_fail(&err, rc, "checkpoint %" PRIu64 ": %s",
			   s->now.number, found.text);
	else if ((rc = keep_newest(t, r, &found)) < 0)
		mlgen_fail(&err, rc,
			   "checkpoint %" PRIu64 " is complete, but an older "
			   "one could not be deleted: %s",
			   s->now.number, found.text);
	if (rc < 0)
		saver_fail(s, &err);
}

static void look_at_memory(struct saver *s)
{
	uint64_t bytes = 0;

	if (saver_touches_files(s) && !s->cfg.is_restore &&
	    !s->cfg.align_bytes && dirty_bytes(&bytes, "") < 0)
		bytes = UINT64_MAX; /* not known */
	s->in_memory_bytes = bytes;
}

int saver_make(struct saver *s, uint64_t epoch, uint64_t step,
	       struct checkpoint *k, struct mlgen_err *err)
{
	struct checkpoints *c = s->cfg.checkpoints;
	const struct checkpoint *old;
	uint64_t files = 0;
	int rc = 0;

	while (rc == 0 && step != UINT64_MAX &&
	       (old = checkpoints_at(c, epoch, step)))
		rc = delete_one(s, NULL, old, &files, err);
	if (rc < 0)
		return rc;
	checkpoints_next(c, epoch, step, k);
	k->bytes = s->bytes;
	return checkpoint_create(c, k, err);
}

void saver_unmake(struct saver *s, const struct checkpoint *k)
{
	remove_rest(s, k);
}

void saver_end_round(struct saver_thread *t)
{
	struct saver *s = t->saver;
	bool is_whole = !atomic_load(&s->is_cut);
	struct checkpoint_result r = copy_record(s);

	measure(s, &r);
	if (s->cfg.is_restore)
		r.complete = is_whole;
	else if (is_whole)
		commit_or_fail(t, &r);
	if (!s->cfg.is_restore && !r.complete)
		remove_rest(s, &s->now);
	record(s, &r);
	look_at_memory(s);
	atomic_store(&s->last_ns, now(s));
	atomic_store(&s->is_busy, false);
	bell_ring(&s->over, s->cfg.clock);
}
