/* SPDX-License-Identifier: Apache-2.0 */
/* datafile.c - one file of a dataset: is it there, write it, remove it. */
#include "run/datafile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "base/filekind.h"
#include "data/dataset/dataset.h"
#include "data/file/file.h"
#include "io/noroom.h"
#include "run/firstbytes.h"

/* Where its content comes from. */
struct content {
	const struct format *format;
	struct format_writer writer;
};

static const char *datafile_name_of(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* Not mlgen's as far as anybody can tell: it stays, and the run does not. */
static int foreign(const char *path, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is in the way, and there is no %s that says mlgen wrote it; another "
			  "directory, or remove it",
			  path, MANIFEST_NAME);
}

/* It is made, renamed and removed by its name in the folder that is held. */
static struct mlgen_file file_held(const struct crew_worker *w, const char *path)
{
	return (struct mlgen_file){
		.path = path, .name = datafile_name_of(path), .dir_fd = w->folder_fd, .fd = -1
	};
}

static int remove_name(struct crew_worker *w, const char *path, struct mlgen_err *err)
{
	struct mlgen_file file = file_held(w, path);
	int r = crew_do(w, MLGEN_UNLINK, &file);

	return r == 0 || r == -ENOENT ? 0 : datafile_failed(path, MLGEN_UNLINK, r, err);
}

static void put_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	(void)x;
	snprintf(out, size,
		 "%s of the dataset are still to be written: make room and start again (what is "
		 "complete is kept), or fewer num_files",
		 left);
}

/* What a killed run has left is replaced; without a manifest it is not ours. */
static int open_new(struct newfile *x, const struct datafiles *d, bool ours, struct mlgen_err *err)
{
	int r = crew_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -EEXIST && ours && below_is_trusted(x->w->folder_fd, d->dir.maker)) {
		crew_do(x->w, MLGEN_UNLINK, &x->file);
		r = crew_do(x->w, MLGEN_OPEN, &x->file);
	}
	if (r == -EEXIST)
		return foreign(x->w->part, err);
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

static int next_content(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
			struct mlgen_err *err)
{
	struct content *c = source;

	(void)err;
	return c->format->write_next(&c->writer, buf, size, off, len);
}

static int write_content(struct newfile *x, const struct dataset *ds, uint64_t index,
			 struct mlgen_err *err)
{
	struct content c = { .format = ds->format,
			     .writer.seed_index = dataset_content(ds, index) };

	format_shape(ds, index, &c.writer.shape);
	return newfile_end(x, newfile_fill(x, &c, err), true, err);
}

/* Its path and its temporary one, of the worker. */
static int names_of(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);

	/* dataset_init has left room for it. */
	if (r == 0)
		newfile_temporary(w->part, w->path, &datafile_kind);
	return r;
}

const struct newfile_kind datafile_kind = {
	.suffix = ".part", .replaces = true, .next = next_content, .put_no_room = put_no_room
};

uint64_t datafiles_count(const struct datafiles *d)
{
	return dataset_all_files(d->sets[0]) + (d->sets[1] ? dataset_all_files(d->sets[1]) : 0);
}

unsigned datafiles_set(const struct datafiles *d, uint64_t *index)
{
	uint64_t first = dataset_all_files(d->sets[0]);

	if (*index < first)
		return 0;
	*index -= first;
	return 1;
}

int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err)
{
	const struct dataset *ds = d->sets[datafiles_set(d, &index)];

	return dataset_path(ds, index, path, PATH_MAX) > 0 ? 0 : datafile_too_long(ds, err);
}

int datafile_too_long(const struct dataset *ds, struct mlgen_err *err)
{
	return mlgen_fail(err, -ENAMETOOLONG, "%s: names of its files are too long", ds->directory);
}

int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];

	return mlgen_fail(err, code, "%s: %s: %s%s", path, opstat_name(op), strerror(-code),
			  noroom_put(why, path, code, 0));
}

int datafile_look(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		  struct mlgen_err *err)
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

int datafile_check(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err)
{
	int r = datafile_path(d, index, w->path, err);
	unsigned set = datafiles_set(d, &index);

	return r ? r : firstbytes_check(w, d->sets[set], index, err);
}

int datafile_write(const struct datafiles *d, struct filemaker *maker, struct crew_worker *w,
		   uint64_t index, struct mlgen_err *err)
{
	struct newfile x = { .maker = maker, .w = w, .path = w->path };
	int r = names_of(d, w, index, err);
	unsigned set = datafiles_set(d, &index);

	if (r == 0)
		r = datadir_make(&d->dir, w, err);
	if (r)
		return r;
	x.bytes = dataset_file_bytes(d->sets[set], index);
	x.file = file_held(w, w->part);
	x.file.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	x.file.mode = 0666;
	r = open_new(&x, d, d->ours[set], err);
	if (r)
		return r;
	r = write_content(&x, d->sets[set], index, err);
	if (r)
		crew_do(w, MLGEN_UNLINK, &x.file);
	return r;
}

int datafile_remove(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err)
{
	int r = names_of(d, w, index, err);

	if (r == 0)
		r = datadir_hold(&d->dir, w, err);
	if (r == -ENOENT) /* nor is there a file in it */
		return 0;
	if (r == 0)
		r = datadir_check_owner(&d->dir, w->folder_fd, w->path, err);
	if (r)
		return r;
	r = remove_name(w, w->path, err);
	return r ? r : remove_name(w, w->part, err);
}
