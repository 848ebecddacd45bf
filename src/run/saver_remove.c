/* SPDX-License-Identifier: Apache-2.0 */
/* saver_remove.c - a checkpoint is deleted, by operations that count or by plain ones. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "io/meta.h"
#include "run/saver_inside.h"

/* By whom: NULL = by plain calls, which count nowhere and which no engine can fail. */
static int64_t do_op(struct saver_thread *t, struct io_op *op)
{
	if (t)
		return saver_do(t, op);
	meta_do(&op->io);
	return op->io.result;
}

/* 1, 0 = it was not there, or is no file; or -errno. */
static int unlink_one(struct saver *s, struct saver_thread *t, const struct checkpoint_removal *r,
		      const char *name, struct mlgen_err *err)
{
	char path[PATH_MAX];
	struct mlgen_file file = { .path = path, .name = name, .dir_fd = r->folder_fd, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_UNLINK, .file = &file } };
	int rc = checkpoint_path(s->cfg.checkpoints, &r->now, name, path);

	if (rc < 0)
		return mlgen_fail(err, rc, "%s: the name is too long", name);
	rc = (int)do_op(t, &op);
	if (rc == -ENOENT || rc == -EISDIR)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc, "%s: unlink: %s", path, strerror(-rc)) : 1;
}

static int remove_it(struct saver *s, struct saver_thread *t, const struct checkpoint_removal *r,
		     uint64_t *files, struct mlgen_err *err)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	int rc = checkpoint_removal_mark(r, c, err);

	for (size_t i = 0; rc >= 0 && i < r->count; i++) {
		rc = saver_is_interrupted(s) ? -ECANCELED : unlink_one(s, t, r, r->names[i], err);
		*files += rc > 0;
	}
	return rc < 0 ? rc : checkpoint_removal_end(r, c, err);
}

int saver_delete(struct saver *s, struct saver_thread *t, const struct checkpoint *k,
		 uint64_t *files, struct mlgen_err *err)
{
	struct checkpoint listed = *k; /* which goes from the list */
	struct checkpoint_removal r;
	struct mlgen_err why = { 0 };
	int rc = checkpoint_removal_begin(&r, s->cfg.checkpoints, &listed, &why);

	if (rc == 0)
		rc = remove_it(s, t, &r, files, &why);
	checkpoint_removal_fini(&r);
	if (rc == -ENOTEMPTY) { /* what mlgen did not write stays */
		log_warn("%s", why.text);
		rc = 0;
	}
	if (rc == 0 || rc == -EPERM || rc == -ENOENT || rc == -EBUSY)
		checkpoints_remove(s->cfg.checkpoints, listed.name);
	return rc < 0 ? mlgen_fail(err, rc, "%s", why.text) : 0;
}

/* Which goes next; NULL = none. Broken ones are of no use to anybody: all of them do, and first.
 * What is left to another run counts as little as it goes. */
static const struct checkpoint *superfluous(const struct checkpoints *c, uint64_t keep)
{
	const struct checkpoint *oldest = NULL;
	uint64_t whole = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct checkpoint *k = &c->items[i];

		if (checkpoint_is_left(c, k) || (k->is_complete && k->place != CHECKPOINT_FINAL))
			continue;
		if (!k->is_complete)
			return k;
		oldest = oldest ? oldest : k;
		whole++;
	}
	return whole > keep ? oldest : NULL;
}

/* 1, 0 = it stays, which is no failure; or -errno. */
static int delete_one(struct saver *s, struct saver_thread *t, const struct checkpoint *k,
		      uint64_t *files, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = saver_delete(s, t, k, files, &why);

	if (rc == -EPERM)
		log_warn("%s", why.text);
	if (rc == -EPERM || rc == -ENOENT || rc == -EBUSY)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc, "%s", why.text) : 1;
}

static bool has_old(const struct saver *s, const struct checkpoint *replaced)
{
	uint64_t keep = s->cfg.job->checkpoint_keep;

	return replaced || (keep && superfluous(s->cfg.checkpoints, keep) != NULL);
}

int saver_delete_old(struct saver_thread *t, const struct checkpoint *replaced,
		     struct checkpoint_result *r, struct mlgen_err *err)
{
	struct saver *s = t->saver;
	uint64_t begin_ns = clock_now(s->cfg.clock);
	struct saver_thread *by = t->is_dead ? NULL : t;
	const struct checkpoint *old = replaced;
	int rc = 0;

	if (!has_old(s, replaced))
		return 0;
	while (rc >= 0 && !saver_is_interrupted(s) && has_old(s, old)) {
		if (!old)
			old = superfluous(s->cfg.checkpoints, s->cfg.job->checkpoint_keep);
		rc = delete_one(s, by, old, &r->deleted_files, err);
		r->deleted_checkpoints += rc > 0;
		old = NULL;
	}
	r->delete_seconds = (double)(clock_now(s->cfg.clock) - begin_ns) / 1e9;
	return rc < 0 ? rc : 0;
}

void saver_repair(struct saver *s)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	struct mlgen_err err = { 0 };
	uint64_t files = 0;

	for (size_t i = c->count; i--;)
		if (c->items[i].place == CHECKPOINT_OLD && !c->items[i].is_complete &&
		    !checkpoint_is_left(c, &c->items[i]) &&
		    delete_one(s, NULL, &c->items[i], &files, &err) < 0) {
			log_warn("%s", err.text);
			err = (struct mlgen_err){ 0 };
		}
}

/* May it be replaced? It is held for as long as it takes to see. */
static int check_replaced(struct saver *s, const struct checkpoint *k, struct mlgen_err *err)
{
	const struct checkpoints *c = s->cfg.checkpoints;
	struct checkpoint_removal r;
	int rc = checkpoint_removal_begin(&r, c, k, err);

	if (rc == 0 && !checkpoint_removal_is_all(&r))
		rc = mlgen_fail(err, -EPERM,
				"%s/%s: stays: it holds files that mlgen did not write",
				c->directory, k->name);
	checkpoint_removal_fini(&r);
	if (rc == -ENOENT)
		checkpoints_remove(s->cfg.checkpoints, k->name);
	return rc;
}

/* At this epoch and step; the whole one is the last. */
static const struct checkpoint *in_the_way(const struct checkpoints *c, uint64_t epoch,
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

/* What is broken goes; what is whole stays until the next one is, too, and is looked at. */
static int clear_way(struct saver *s, uint64_t epoch, uint64_t step, struct mlgen_err *err)
{
	struct checkpoints *c = s->cfg.checkpoints;
	struct mlgen_err why = { 0 };
	const struct checkpoint *k;
	bool is_done = false;
	uint64_t files = 0;
	int rc = 0;

	checkpoints_put_back(c, epoch, step);
	while (!is_done && (k = in_the_way(c, epoch, step))) {
		is_done = k->is_complete;
		why = (struct mlgen_err){ 0 };
		rc = is_done ? check_replaced(s, k, &why) : saver_delete(s, NULL, k, &files, &why);
		is_done = rc != -ENOENT && (is_done || rc < 0);
	}
	if (rc == -EPERM)
		return mlgen_fail(err, rc,
				  "%s; another checkpoint_directory=, or remove it by hand",
				  why.text);
	return rc == 0 || rc == -ENOENT ? 0 : mlgen_fail(err, rc, "%s", why.text);
}

static int try_make(struct saver *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
		    struct mlgen_err *err)
{
	int rc = step == UINT64_MAX ? 0 : clear_way(s, epoch, step, err);

	if (rc == 0)
		rc = checkpoints_check_next(s->cfg.checkpoints, step, err);
	if (rc < 0)
		return rc;
	checkpoints_next(s->cfg.checkpoints, epoch, step, k);
	k->bytes = s->bytes;
	return checkpoint_create(s->cfg.checkpoints, k, err);
}

/* A name that is taken may have been so since the last look. */
int saver_make(struct saver *s, uint64_t epoch, uint64_t step, struct checkpoint *k,
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
