/* SPDX-License-Identifier: Apache-2.0 */
/* saver_file.c - files of a checkpoint: open, flush, close, several requests at a time, and how
 * what fails is worded. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/filekind.h"
#include "base/units.h"
#include "io/noroom.h"
#include "run/saver_inside.h"

/* ---- files ---- */

int saver_failed_as(struct saver_thread *t, int code, const char *fmt, ...)
{
	struct mlgen_err err = { 0 };
	char text[MLGEN_ERR_MAX - 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mlgen_fail(&err, code, "checkpoint %" PRIu64 ", rank %" PRIu64 ": %s", t->saver->now.number,
		   t->rank->rank, text);
	saver_fail(t->saver, &err);
	return code;
}

/* The filesystem is full: how much more it would have taken. */
static void word_shortfall(const struct saver *s, char *to, size_t bytes)
{
	char text[UNITS_TEXT_BYTES];
	uint64_t moved = 0;

	for (uint64_t i = 0; i < s->thread_count; i++)
		moved += atomic_load_explicit(&s->threads[i].moved_bytes, memory_order_relaxed);
	units_human_bytes(text, (double)(moved < s->bytes ? s->bytes - moved : 0));
	snprintf(to, bytes, "; %s of this checkpoint were still to be written%s", text,
		 s->cfg.checkpoints->count ? ", the older ones are kept" : "");
}

/* What the operation itself does not tell. */
static void word_advice(struct saver_thread *t, const struct io_op *op, char *to, size_t bytes)
{
	const struct mlgen_io *io = &op->io;
	bool is_direct = io->file->flags & O_DIRECT;
	char why[NOROOM_BYTES];
	int code = (int)io->result;
	int len = snprintf(to, bytes, "%s",
			   noroom_put(why, io->file->path, code, io->off + io->len_bytes));

	if (code == -ENOSPC || code == -EDQUOT)
		word_shortfall(t->saver, to + len, bytes - (size_t)len);
	else if (code == -EINVAL && is_direct && io->op == MLGEN_OPEN)
		snprintf(to, bytes, "; this filesystem has no O_DIRECT, use direct=0");
	else if (code == -EINVAL && is_direct)
		snprintf(to, bytes, "; direct=1 needs bs in multiples of the device's block");
	else if (code == -EOPNOTSUPP && io_note(saver_io(t))[0])
		snprintf(to, bytes, "; %s", io_note(saver_io(t)));
}

/* Of a checkpoint that is read: is there something else in a file's place? */
int saver_failed_other(struct saver_thread *t, const struct mlgen_file *file)
{
	struct mlgen_err why = { 0 };

	if (!t->saver->cfg.is_restore || !saver_touches_files(t->saver) ||
	    filekind_check(file->path, "; it is no file of this checkpoint", &why) == 0)
		return 0;
	return saver_failed_as(t, why.code, "%s", why.text);
}

int saver_failed(struct saver_thread *t, const struct io_op *op)
{
	const struct mlgen_io *io = &op->io;
	int code = (int)io->result;
	char at[32] = "", advice[NOROOM_BYTES + 160];
	int other;

	if (code == -ECANCELED && stop_has_come(t->saver->cfg.stop, clock_now(t->saver->cfg.clock)))
		return SAVER_STOPPED;
	other = saver_failed_other(t, io->file);
	if (other)
		return other;
	if (io->op == MLGEN_WRITE || io->op == MLGEN_READ)
		snprintf(at, sizeof(at), " at %" PRIu64, io->off);
	word_advice(t, op, advice, sizeof(advice));
	return saver_failed_as(t, code, "%s: %s%s: %s%s", io->file->path, opstat_name(io->op), at,
			       strerror(-code), advice);
}

/*
 * An asynchronous engine may wait in its reap, which is of no kind: with one operation under way it
 * is that one's.
 */
int64_t saver_do(struct saver_thread *t, struct io_op *op)
{
	struct opstat *stat = &t->worker.stat;
	uint64_t before_ns = count_get(&stat->reap_ns);
	int64_t rc;

	io_wake(saver_io(t));
	rc = io_do(saver_io(t), op);
	count_add(&stat->blocked_ns[op->io.op], count_get(&stat->reap_ns) - before_ns);
	count_set(&stat->reap_ns, before_ns);
	if (rc < 0 && op->io.result >= 0) {
		t->is_dead = true;
		op->io.result = rc;
	}
	return op->io.result;
}

static int do_to(struct saver_thread *t, enum mlgen_op kind, struct saver_open *f)
{
	struct io_op op = { .io = { .op = kind, .file = &f->io } };

	return saver_do(t, &op) < 0 ? saver_failed(t, &op) : 0;
}

static bool writes(const struct saver *s)
{
	return !s->cfg.is_restore && saver_touches_files(s);
}

int saver_hold(struct saver_thread *t)
{
	const struct saver *s = t->saver;

	t->folder_fd = -1;
	if (!writes(s))
		return 0;
	t->folder_fd = checkpoint_folder(s->cfg.checkpoints, &s->now);
	return t->folder_fd < 0 ? saver_failed_as(t, t->folder_fd, "%s/%s: open: %s",
						  s->cfg.checkpoints->directory, s->now.name,
						  strerror(-t->folder_fd))
				: 0;
}

void saver_let_go(struct saver_thread *t)
{
	if (t->folder_fd >= 0)
		close(t->folder_fd);
	t->folder_fd = -1;
}

/* What is written has a name in the folder that is held. */
int saver_open(struct saver_thread *t, struct saver_open *f, uint64_t index, int flags)
{
	char name[NAME_MAX + 1], path[PATH_MAX];
	size_t length;
	int rc;

	shard_name(&t->shard, name, sizeof(name));
	rc = checkpoint_path(t->saver->cfg.checkpoints, &t->saver->now, name, path);
	if (rc < 0)
		return saver_failed_as(t, rc, "%s: the name is too long", name);
	length = strlen(path);
	memcpy(f->path, path, length + 1);
	f->index = index;
	f->io = (struct mlgen_file){ .path = f->path,
				     .name = writes(t->saver) ? f->path + length - strlen(name)
							      : NULL,
				     .dir_fd = t->folder_fd,
				     .fd = -1,
				     .flags = flags | O_CLOEXEC,
				     .mode = 0666 };
	return do_to(t, MLGEN_OPEN, f);
}

int saver_stat(struct saver_thread *t, struct saver_open *f)
{
	return do_to(t, MLGEN_STAT, f);
}

int saver_sync(struct saver_thread *t, struct saver_open *f)
{
	return do_to(t, MLGEN_FSYNC, f);
}

int saver_close_file(struct saver_thread *t, struct saver_open *f)
{
	return do_to(t, MLGEN_CLOSE, f);
}

void saver_moved(struct saver_thread *t, uint64_t bytes)
{
	uint64_t seen = atomic_load_explicit(&t->moved_bytes, memory_order_relaxed);

	/* One writer. */
	atomic_store_explicit(&t->moved_bytes, seen + bytes, memory_order_relaxed);
}

/* ---- requests ---- */

static bool checks(const struct saver_thread *t)
{
	const struct saver_config *cfg = &t->saver->cfg;

	return cfg->is_restore && cfg->job->verify == VERIFY_CRC32C;
}

/* One has come back. */
static int saver_request_complete(struct saver_thread *t, struct io_op *op)
{
	struct saver_request *q = op->owner;
	int rc = 0;

	if (op->io.result == -ENODATA && op->io.op == MLGEN_READ)
		rc = saver_failed_short(t, op);
	else if (op->io.result < 0)
		rc = saver_failed(t, op);
	else if (checks(t))
		rc = saver_check(t, op->io.file->path, &q->at, q->off, q->slice, q->bytes);
	if (rc == 0)
		saver_moved(t, q->bytes);
	saver_give(t, q);
	return rc;
}

static int engine_failed(struct saver_thread *t, int rc)
{
	t->is_dead = true;
	return saver_failed_as(t, rc, "ioengine=%s: cannot go on: %s",
			       t->saver->cfg.job->engine->name, strerror(-rc));
}

/* Wait for `min` of them. Of several errors the first is told. */
static int reap(struct saver_thread *t, unsigned min)
{
	int n = io_reap(saver_io(t), t->done, min, t->depth);
	int rc = n < 0 ? engine_failed(t, n) : 0;

	for (int i = 0; i < n; i++) {
		int one = saver_request_complete(t, t->done[i]);

		rc = rc ? rc : one;
	}
	return rc;
}

int saver_take(struct saver_thread *t, struct saver_request **out)
{
	int rc = 0;

	while (rc == 0 && t->unused_count == 0)
		rc = reap(t, 1);
	if (rc == 0 && saver_must_stop(t->saver))
		rc = SAVER_STOPPED;
	if (rc == 0)
		*out = t->unused[--t->unused_count];
	return rc;
}

/* Each goes out by itself: they are large, and making the next one takes as long as a small device
 * needs for this one. */
void saver_submit(struct saver_thread *t, struct saver_request *q, struct saver_open *f)
{
	q->io.io.file = &f->io;
	q->io.owner = q;
	io_submit(saver_io(t), &q->io);
	io_flush(saver_io(t));
}

void saver_give(struct saver_thread *t, struct saver_request *q)
{
	t->unused[t->unused_count++] = q;
}

int saver_drain(struct saver_thread *t)
{
	int rc = 0;

	while (t->unused_count < t->depth && !t->is_dead) {
		int one = reap(t, t->depth - t->unused_count);

		rc = rc ? rc : one;
	}
	return rc;
}
