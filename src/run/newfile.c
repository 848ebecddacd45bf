/* SPDX-License-Identifier: Apache-2.0 */
/* newfile.c - see newfile.h. */
#include "run/newfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/units.h"
#include "io/noroom.h"

/* So much of a file is written before it is synced and dropped. */
#define SYNC_BYTES (UINT64_C(16) << 20)

/* Of what is left to be written, and the way out. */
#define NO_ROOM_BYTES 160

static const char *newfile_name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void newfile_count(struct newfile *x, uint64_t bytes)
{
	count_add_shared(&x->maker->progress->bytes_done, bytes);
	x->end += bytes;
	x->unsynced += bytes;
}

/* What has its name by now stays. Where the filesystem cannot be told to keep it, look once
 * more. */
static int rename_new(struct newfile *x, struct io_op *op)
{
	const char *to = op->io.path2;
	int dir = mlgen_file_dir(&x->file);

	if (renameat2(dir, mlgen_file_name(&x->file), dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	return faccessat(dir, to, F_OK, 0) == 0 ? -EEXIST : (int)io_do(x->w->io, op);
}

static int in_the_way(const struct newfile *x, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: somebody else made it while it was laid out; it stays as it is, "
			  "start again to use it",
			  x->path);
}

/*
 * To the device, and out of the page cache: of a piece what this worker has written, for others are
 * at work elsewhere; else all, for a header may have been written again.
 */
static int sync_and_drop(struct newfile *x, enum mlgen_op sync, struct mlgen_err *err)
{
	struct io_op advise = {
		.io = { .op = MLGEN_ADVISE, .file = &x->file, .advice = POSIX_FADV_DONTNEED }
	};
	int r = crew_do(x->w, sync, &x->file);

	if (r < 0)
		return newfile_failed(x, opstat_name(sync), r, err);
	if (x->is_piece) {
		advise.io.off = x->end - x->unsynced;
		advise.io.len_bytes = x->unsynced;
	}
	if (!x->is_piece || x->unsynced)
		io_do(x->w->io, &advise); /* what fails costs only memory */
	count_add_shared(&x->maker->synced_bytes, x->unsynced);
	x->unsynced = 0;
	return 0;
}

static int give_name(struct newfile *x, struct mlgen_err *err)
{
	bool replaces = x->maker->kind->replaces;
	struct io_op op = { .io = { .op = MLGEN_RENAME,
				    .file = &x->file,
				    .path2 = x->file.name ? newfile_name_of(x->path) : x->path } };
	int r = replaces ? (int)io_do(x->w->io, &op) : rename_new(x, &op);

	if (r == -EEXIST && !replaces)
		return in_the_way(x, err);
	if (r < 0)
		return newfile_failed(x, opstat_name(MLGEN_RENAME), r, err);
	count_add_shared(&x->maker->made_files, 1);
	count_add_shared(&x->maker->made_bytes, x->bytes);
	count_add_shared(&x->maker->progress->files_done, 1);
	return 0;
}

int newfile_temporary(char out[PATH_MAX], const char *path, const struct newfile_kind *kind)
{
	const char *name = newfile_name_of(path);
	int n = snprintf(out, PATH_MAX, "%.*s.%s%s", (int)(name - path), path, name, kind->suffix);

	return n < PATH_MAX && strlen(newfile_name_of(out)) <= NAME_MAX ? 0 : -ENAMETOOLONG;
}

int newfile_failed(const struct newfile *x, const char *what, int code, struct mlgen_err *err)
{
	uint64_t left = x->maker->missing_bytes -
			atomic_load_explicit(&x->maker->made_bytes, memory_order_relaxed);
	char no_room[NO_ROOM_BYTES], text[UNITS_TEXT_BYTES];
	char why[NOROOM_BYTES];

	noroom_put(why, x->path, code, x->bytes);
	if (code != -ENOSPC && code != -EDQUOT)
		return mlgen_fail(err, code, "%s: %s: %s%s", x->path, what, strerror(-code), why);
	units_human_bytes(text, (double)left);
	x->maker->kind->put_no_room(x, text, no_room, sizeof(no_room));
	return mlgen_fail(err, code, "%s: %s: %s%s; %s", x->path, what, strerror(-code), why,
			  no_room);
}

int newfile_write(struct newfile *x, uint64_t off, size_t len, struct mlgen_err *err)
{
	struct io_op op = {
		.io = { .op = MLGEN_WRITE, .file = &x->file, .off = off, .len_bytes = len }
	};
	int r = (int)io_do(x->w->io, &op);
	char what[48];

	if (r >= 0)
		return 0;
	snprintf(what, sizeof(what), "write at %" PRIu64, off);
	return newfile_failed(x, what, r, err);
}

int newfile_fill(struct newfile *x, void *source, struct mlgen_err *err)
{
	const struct newfile_kind *kind = x->maker->kind;
	uint64_t off;
	size_t bytes, len;
	void *buf = io_buffer(x->w->io, &bytes);
	int r;

	while ((r = kind->next(source, buf, bytes, &off, &len, err)) > 0) {
		if (crew_stopped(x->w))
			return CREW_STOPPED;
		r = newfile_write(x, off, len, err);
		if (r == 0 && off == x->end)
			newfile_count(x, len);
		if (r == 0 && x->unsynced >= SYNC_BYTES)
			r = sync_and_drop(x, MLGEN_FDATASYNC, err);
		if (r)
			return r;
	}
	if (r == 0 && x->is_piece && x->unsynced)
		r = sync_and_drop(x, MLGEN_FDATASYNC, err);
	return r;
}

int newfile_end(struct newfile *x, int so_far, bool is_whole, struct mlgen_err *err)
{
	int r = so_far, closed;

	if (r == 0 && is_whole)
		r = sync_and_drop(x, MLGEN_FSYNC, err);
	closed = crew_do(x->w, MLGEN_CLOSE, &x->file);
	if (r == 0 && closed < 0)
		r = newfile_failed(x, opstat_name(MLGEN_CLOSE), closed, err);
	return r || !is_whole ? r : give_name(x, err);
}
