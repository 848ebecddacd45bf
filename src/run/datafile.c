/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.c - one file of a dataset: is it there, write it, remove it. */
#include "run/datafile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "base/filekind.h"
#include "base/units.h"
#include "data/format.h"
#include "data/manifest.h"
#include "run/firstbytes.h"

/* So much of a file is written before it is synced and dropped: bounds the
 * page cache that large files take, and the wait after a SIGINT. */
#define SYNC_BYTES (UINT64_C(16) << 20)

/* What the statics below work on, all of one file. */
struct writing {
	struct datafiles *d;
	const struct dataset *dataset;
	uint64_t index; /* in it */
	bool ours;      /* what is there of it */
	struct crew_worker *w;
	struct mlgen_file file; /* under its temporary name */
	uint64_t end, unsynced; /* bytes so far */
};

static void add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static const char *name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* ".NAME.part" beside NAME; dataset_init has left room for it. */
static void part_of(char part[PATH_MAX], const char *path)
{
	const char *name = name_of(path);

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

/* It is made, renamed and removed by its name in the folder that is held. */
static struct mlgen_file file_held(const struct crew_worker *w,
				   const char *path)
{
	return (struct mlgen_file){ .path = path,
				    .name = name_of(path),
				    .dir_fd = w->folder_fd,
				    .fd = -1 };
}

static int remove_name(struct crew_worker *w, const char *path,
		       struct mlgen_err *err)
{
	struct mlgen_file file = file_held(w, path);
	int r = crew_do(w, MLGEN_UNLINK, &file);

	return r == 0 || r == -ENOENT
		       ? 0
		       : datafile_failed(path, MLGEN_UNLINK, r, err);
}

/* What a killed run has left is replaced; without a manifest it is not ours. */
static int open_part(struct writing *x, struct mlgen_err *err)
{
	int r = crew_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -EEXIST && x->ours &&
	    below_is_trusted(x->w->folder_fd, x->d->dir.maker)) {
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

static int write_content(struct writing *x, struct mlgen_err *err)
{
	const struct format *format = x->dataset->format;
	struct format_writer writer = { .seed_index = dataset_content(
						x->dataset, x->index) };
	uint64_t off;
	size_t bytes, len;
	void *buf = io_buffer(x->w->io, &bytes);
	int r = 0;

	format_shape(x->dataset, x->index, &writer.shape);
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
	struct mlgen_file file = file_held(w, w->part);
	struct io_op op = { .io = { .op = MLGEN_RENAME,
				    .file = &file,
				    .path2 = name_of(w->path) } };
	int r = (int)io_do(w->io, &op);

	return r ? datafile_failed(w->path, MLGEN_RENAME, r, err) : 0;
}

static int write_part(struct writing *x, struct mlgen_err *err)
{
	int r = open_part(x, err);
	int closed;

	if (r)
		return r;
	r = write_content(x, err);
	closed = crew_do(x->w, MLGEN_CLOSE, &x->file);
	if (r == 0 && closed < 0)
		r = datafile_failed(x->w->path, MLGEN_CLOSE, closed, err);
	if (r == 0)
		r = rename_part(x->w, err);
	if (r)
		crew_do(x->w, MLGEN_UNLINK, &x->file);
	return r;
}

static int path_failed(const struct dataset *ds, int n, struct mlgen_err *err)
{
	return n > 0 ? 0
		     : mlgen_fail(err, -ENAMETOOLONG,
				  "%s: names of its files are too long",
				  ds->directory);
}

uint64_t datafiles_count(const struct datafiles *d)
{
	return dataset_all_files(d->sets[0]) +
	       (d->sets[1] ? dataset_all_files(d->sets[1]) : 0);
}

unsigned datafiles_set(const struct datafiles *d, uint64_t *index)
{
	uint64_t first = dataset_all_files(d->sets[0]);

	if (*index < first)
		return 0;
	*index -= first;
	return 1;
}

int datafile_path(const struct datafiles *d, uint64_t index,
		  char path[PATH_MAX], struct mlgen_err *err)
{
	const struct dataset *ds = d->sets[datafiles_set(d, &index)];

	return path_failed(ds, dataset_path(ds, index, path, PATH_MAX), err);
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
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);

	if (r)
		return r;
	r = (int)io_do(w->io, &op);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return datafile_failed(w->path, MLGEN_STAT, r, err);
	if (!d->ours[set])
		return foreign(w->path, err);
	/* Of whatever size: that of a folder may be the file's. */
	r = filekind_check(w->path, FILEKIND_OF_DATASET, err);
	if (r < 0)
		return r;
	if (op.io.size_bytes != dataset_file_bytes(d->sets[set], index))
		return 0;
	return !d->looks_inside || firstbytes_match(w, d->sets[set], index);
}

int datafile_check(const struct datafiles *d, struct crew_worker *w,
		   uint64_t index, struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);

	return r ? r : firstbytes_check(w, d->sets[set], index, err);
}

int datafile_write(struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err)
{
	struct writing x = { .d = d, .w = w, .index = index };
	int r = datafile_path(d, index, w->path, err);
	unsigned set;

	if (r)
		return r;
	set = datafiles_set(d, &x.index);
	x.dataset = d->sets[set];
	x.ours = d->ours[set];
	part_of(w->part, w->path);
	r = datadir_make(&d->dir, w, err);
	if (r)
		return r;
	x.file = file_held(w, w->part);
	x.file.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	x.file.mode = 0666;
	r = write_part(&x, err);
	if (r)
		return r;
	add(&d->written_files, 1);
	add(&d->written_bytes, dataset_file_bytes(x.dataset, x.index));
	return 0;
}

int datafile_remove(const struct datafiles *d, struct crew_worker *w,
		    uint64_t index, struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);

	if (r == 0)
		r = datadir_hold(&d->dir, w, err);
	if (r == -ENOENT) /* nor is there a file in it */
		return 0;
	if (r == 0)
		r = datadir_check_owner(&d->dir, w->folder_fd, w->path, err);
	if (r)
		return r;
	part_of(w->part, w->path);
	r = remove_name(w, w->path, err);
	return r ? r : remove_name(w, w->part, err);
}
