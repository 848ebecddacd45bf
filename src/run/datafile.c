/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.c - one file of a dataset: is it there, write it, remove it. */
#include "run/datafile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "data/format.h"
#include "data/manifest.h"

/* So much of a file is written before it is synced and dropped: bounds the
 * page cache that large files take, and the wait after a SIGINT. */
#define SYNC_BYTES (UINT64_C(16) << 20)

/* What the statics below work on, all of one file. */
struct writing {
	struct datafiles *d;
	struct crew_worker *w;
	struct mlgen_file file; /* under its temporary name */
	uint64_t end, unsynced; /* bytes so far */
};

static void add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

/* ".NAME.part" beside NAME; dataset_init has left room for it. */
static void part_of(char part[PATH_MAX], const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	snprintf(part, PATH_MAX, "%.*s.%s.part", (int)(name - path), path,
		 name);
}

/* Not mlgen's as far as anybody can tell: it stays, and the run does not. */
static int foreign(const char *path, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is in the way, and there is no %s that says "
			  "mlgen wrote it; another directory, or remove it",
			  path, MANIFEST_NAME);
}

static int remove_name(struct crew_worker *w, const char *path,
		       struct mlgen_err *err)
{
	int r = crew_do_path(w, MLGEN_UNLINK, path);

	return r == 0 || r == -ENOENT
		       ? 0
		       : datafile_failed(path, MLGEN_UNLINK, r, err);
}

static int make_folders(struct writing *x, struct mlgen_err *err)
{
	char *path = x->w->path;
	char *slash = path + strlen(x->d->dataset->directory) + 1;

	while ((slash = strchr(slash, '/'))) {
		int r;

		*slash = '\0';
		r = crew_do_path(x->w, MLGEN_MKDIR, path);
		if (r && r != -EEXIST)
			return datafile_failed(path, MLGEN_MKDIR, r, err);
		*slash++ = '/';
	}
	return 0;
}

/* What a killed run has left is replaced; without a manifest it is not ours. */
static int open_part(struct writing *x, struct mlgen_err *err)
{
	int r = crew_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -ENOENT) {
		r = make_folders(x, err);
		if (r)
			return r;
		r = crew_do(x->w, MLGEN_OPEN, &x->file);
	}
	if (r == -EEXIST && x->d->ours) {
		crew_do(x->w, MLGEN_UNLINK, &x->file);
		r = crew_do(x->w, MLGEN_OPEN, &x->file);
	}
	if (r == -EEXIST)
		return foreign(x->w->part, err);
	return r < 0 ? datafile_failed(x->w->part, MLGEN_OPEN, r, err) : 0;
}

static int no_room(const struct writing *x, uint64_t off, int code,
		   struct mlgen_err *err)
{
	uint64_t left = x->d->missing_bytes -
			atomic_load_explicit(&x->d->written_bytes,
					     memory_order_relaxed);
	char text[UNITS_TEXT_BYTES];

	return mlgen_fail(
		err, code,
		"%s: write at %" PRIu64 ": %s; %s of the dataset are still to "
		"be written: make room and start again (what is complete is "
		"kept), or fewer num_files",
		x->w->path, off, strerror(-code),
		units_human_bytes(text, (double)left));
}

static int write_chunk(struct writing *x, uint64_t off, size_t len,
		       struct mlgen_err *err)
{
	struct io_op op = { .io = { .op = MLGEN_WRITE,
				    .file = &x->file,
				    .off = off,
				    .len_bytes = len } };
	int r = (int)io_do(x->w->io, &op);

	if (r >= 0)
		return 0;
	if (r == -ENOSPC || r == -EDQUOT)
		return no_room(x, off, r, err);
	return mlgen_fail(err, r, "%s: write at %" PRIu64 ": %s", x->w->path,
			  off, strerror(-r));
}

/* To the device, and out of the page cache: the first epoch reads storage. */
static int sync_and_drop(struct writing *x, enum mlgen_op sync,
			 struct mlgen_err *err)
{
	struct io_op advise = { .io = { .op = MLGEN_ADVISE,
					.file = &x->file,
					.advice = POSIX_FADV_DONTNEED } };
	int r = crew_do(x->w, sync, &x->file);

	if (r == -ENOSPC || r == -EDQUOT) /* NFS tells it only now */
		return no_room(x, x->end, r, err);
	if (r)
		return datafile_failed(x->w->path, sync, r, err);
	io_do(x->w->io, &advise); /* what fails costs only memory */
	add(&x->d->synced_bytes, x->unsynced);
	x->unsynced = 0;
	return 0;
}

static void count(struct writing *x, uint64_t bytes)
{
	add(x->d->bytes_done, bytes);
	x->end += bytes;
	x->unsynced += bytes;
}

static int write_content(struct writing *x, uint64_t index,
			 struct mlgen_err *err)
{
	const struct format *format = x->d->dataset->format;
	struct format_writer writer = { .seed_index = index };
	uint64_t off;
	size_t bytes, len;
	void *buf = io_buffer(x->w->io, &bytes);
	int r = 0;

	format_shape(x->d->dataset, index, &writer.shape);
	while (r == 0 && format->write_next(&writer, buf, bytes, &off, &len)) {
		if (crew_stopped(x->w))
			return CREW_STOPPED;
		r = write_chunk(x, off, len, err);
		if (r == 0 && off == x->end) /* not the header again */
			count(x, len);
		if (r == 0 && x->unsynced >= SYNC_BYTES)
			r = sync_and_drop(x, MLGEN_FDATASYNC, err);
	}
	return r ? r : sync_and_drop(x, MLGEN_FSYNC, err);
}

static int rename_part(struct crew_worker *w, struct mlgen_err *err)
{
	struct mlgen_file file = { .path = w->part, .fd = -1 };
	struct io_op op = {
		.io = { .op = MLGEN_RENAME, .file = &file, .path2 = w->path }
	};
	int r = (int)io_do(w->io, &op);

	return r ? datafile_failed(w->path, MLGEN_RENAME, r, err) : 0;
}

static int write_part(struct writing *x, uint64_t index, struct mlgen_err *err)
{
	int r = open_part(x, err);
	int closed;

	if (r)
		return r;
	r = write_content(x, index, err);
	closed = crew_do(x->w, MLGEN_CLOSE, &x->file);
	if (r == 0 && closed < 0)
		r = datafile_failed(x->w->path, MLGEN_CLOSE, closed, err);
	if (r == 0)
		r = rename_part(x->w, err);
	if (r)
		crew_do_path(x->w, MLGEN_UNLINK, x->w->part);
	return r;
}

int datafile_path(const struct dataset *ds, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err)
{
	int n = dataset_path(ds, index, path, PATH_MAX);

	return n > 0 ? 0
		     : mlgen_fail(err, -ENAMETOOLONG,
				  "%s: names of its files are too long",
				  ds->directory);
}

void datafile_folder(char path[PATH_MAX])
{
	*strrchr(path, '/') = '\0';
}

int datafile_failed(const char *path, enum mlgen_op op, int code,
		    struct mlgen_err *err)
{
	return mlgen_fail(err, code, "%s: %s: %s", path, opstat_name(op),
			  strerror(-code));
}

int datafile_look(const struct datafiles *d, struct crew_worker *w,
		  uint64_t index, struct mlgen_err *err)
{
	struct mlgen_file file = { .path = w->path, .fd = -1 };
	struct io_op op = { .io = { .op = MLGEN_STAT, .file = &file } };
	int r = datafile_path(d->dataset, index, w->path, err);

	if (r)
		return r;
	r = (int)io_do(w->io, &op);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return datafile_failed(w->path, MLGEN_STAT, r, err);
	if (!d->ours)
		return foreign(w->path, err);
	return op.io.size_bytes == dataset_file_bytes(d->dataset, index);
}

int datafile_write(struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err)
{
	struct writing x = { .d = d,
			     .w = w,
			     .file = { .path = w->part,
				       .fd = -1,
				       .flags = O_WRONLY | O_CREAT | O_EXCL |
						O_NOFOLLOW | O_CLOEXEC,
				       .mode = 0666 } };
	int r = datafile_path(d->dataset, index, w->path, err);

	if (r)
		return r;
	part_of(w->part, w->path);
	r = write_part(&x, index, err);
	if (r)
		return r;
	add(&d->written_files, 1);
	add(&d->written_bytes, dataset_file_bytes(d->dataset, index));
	return 0;
}

int datafile_remove(const struct dataset *ds, struct crew_worker *w,
		    uint64_t index, struct mlgen_err *err)
{
	int r = datafile_path(ds, index, w->path, err);

	if (r)
		return r;
	part_of(w->part, w->path);
	r = remove_name(w, w->path, err);
	return r ? r : remove_name(w, w->part, err);
}
