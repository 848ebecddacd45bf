/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.c - make the files of a plain job that are missing. */
#include "work/plain/iolayout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dirs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "io/mount.h"
#include "run/make/make.h"
#include "work/plain/ionames.h"
#include "work/plain/iopart.h"

/* A folder that files are made in. */
struct folder {
	char *path;
	char mount[256]; /* mount point */
	uint64_t missing_bytes, free_bytes;
	struct dirlock lock;
};

struct layout {
	struct iofiles *f;
	struct iolayout *l;
	struct filemaker maker;
	struct ioparts parts;
	VEC(struct folder) folders;
	uint64_t asked_files; /* missing at first */
};

/* Where they go, and is there room */

static struct folder *folder_of(struct layout *x, const char *path)
{
	char *folder = iofiles_folder(path);

	for (size_t i = 0; i < x->folders.count; i++)
		if (strcmp(x->folders.at[i].path, folder) == 0) {
			mem_free(folder);
			return &x->folders.at[i];
		}
	vec_push(&x->folders, (struct folder){ .path = folder });
	return vec_last(&x->folders);
}

static void list_folders(struct layout *x)
{
	for (size_t i = 0; i < x->f->count; i++) {
		const struct iofile *file = &x->f->files[i];

		if (file->is_missing)
			folder_of(x, file->path)->missing_bytes += file->bytes;
	}
}

static void free_folders(struct layout *x)
{
	for (size_t i = 0; i < x->folders.count; i++)
		mem_free(x->folders.at[i].path);
	vec_fini(&x->folders);
}

/* Of all folders on the filesystem of one of them. */
static uint64_t missing_on(const struct layout *x, const char *mount)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->folders.count; i++)
		if (strcmp(x->folders.at[i].mount, mount) == 0)
			bytes += x->folders.at[i].missing_bytes;
	return bytes;
}

static int look_at_mounts(struct layout *x, struct mlgen_err *err)
{
	struct mount m;

	for (size_t i = 0; i < x->folders.count; i++) {
		struct folder *d = &x->folders.at[i];
		int r = mount_read(&m, d->path, err);

		if (r)
			return r;
		snprintf(d->mount, sizeof(d->mount), "%s", m.target);
		d->free_bytes = m.free_bytes;
	}
	return 0;
}

/* Check directory= in place of the folders below it, which are made whole. */
static int check_directories(struct layout *x, struct mlgen_err *err)
{
	const struct job *j = x->l->req->job;
	char *directory = ionames_directory(j);
	size_t len = directory ? strlen(directory) : 0;
	int r = 0;

	for (size_t i = 0; i < x->folders.count && r == 0; i++) {
		const char *path = x->folders.at[i].path;
		bool is_in = len && strncmp(path, directory, len) == 0;

		r = newdir_check(j, is_in ? "directory" : "filename", is_in ? directory : path,
				 err);
	}
	mem_free(directory);
	return r;
}

static int check_writable(struct layout *x, struct mlgen_err *err)
{
	char what[UNITS_TEXT_BYTES + 8], files[UNITS_TEXT_BYTES];
	int r = check_directories(x, err);

	snprintf(what, sizeof(what), "%s file%s", units_human_count(files, x->f->missing_files),
		 plural(x->f->missing_files));
	for (size_t i = 0; i < x->folders.count && r == 0; i++)
		r = filemaker_check_writable(x->folders.at[i].path, what, "--directory", err);
	return r;
}

static int check_room(struct layout *x, struct mlgen_err *err)
{
	int r = look_at_mounts(x, err);

	for (size_t i = 0; i < x->folders.count && r == 0; i++) {
		const struct folder *d = &x->folders.at[i];
		const struct filemaker_room room = { .path = d->path,
						     .purpose = "to lay out",
						     .missing_bytes = missing_on(x, d->mount),
						     .free_bytes = d->free_bytes,
						     .allow_fill = x->l->req->allow_fill,
						     .way_out =
							     "a smaller size=, another directory=",
						     .or_fill = ", or --allow_fill" };

		r = filemaker_check_room(&room, err);
	}
	return r;
}

/* Folders */

static int open_folders(struct layout *x, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < x->folders.count && r == 0; i++) {
		struct folder *d = &x->folders.at[i];

		r = dirs_make(d->path, &x->l->started);
		r = r ? mlgen_fail(err, r, "%s: mkdir: %s", d->path, strerror(-r))
		      : dirlock_take(&d->lock, d->path, err);
	}
	return r;
}

/* One that may be written, not read, is no failure. */
static int sync_folders(const struct layout *x, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < x->folders.count && r == 0; i++)
		r = filemaker_sync_folder(x->folders.at[i].path, -EACCES, err);
	return r;
}

/* What is still to do */

/* Another job or another mlgen has made it meanwhile: it has to be as large. */
static int look_once_more(struct iofiles *f, struct iofile *file, struct mlgen_err *err)
{
	char has[UNITS_TEXT_BYTES], needs[UNITS_TEXT_BYTES];
	struct stat st;

	if (stat(file->path, &st) != 0)
		return 0;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < file->bytes)
		return mlgen_fail(err, -EEXIST,
				  "%s: was made meanwhile with %s, and %s are needed; jobs that "
				  "share a file have to give it one size",
				  file->path, units_put_size(has, (uint64_t)st.st_size),
				  units_put_size(needs, file->bytes));
	file->is_missing = false;
	f->missing_files--;
	f->missing_bytes -= file->bytes;
	file->bytes = (uint64_t)st.st_size;
	return 0;
}

static int look_at_missing(struct iofiles *f, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < f->count && r == 0; i++)
		if (f->files[i].is_missing)
			r = look_once_more(f, &f->files[i], err);
	return r;
}

/* Making them */

static void iolayout_announce(const void *arg, const char *time)
{
	const struct layout *x = arg;
	const struct filemaker *m = &x->maker;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];

	log_plain("%s: laying out %s file%s, %s in %s%s (%s)", x->l->req->job->name,
		  units_human_count(files, m->missing_files), m->missing_files == 1 ? "" : "s",
		  units_human_bytes(bytes, (double)m->missing_bytes), x->folders.at[0].path,
		  x->folders.count > 1 ? " and elsewhere" : "",
		  x->parts.has_content ? time : "space only");
}

static void iolayout_begin(struct layout *x)
{
	const struct iofiles *f = x->f;
	struct filemaker *m = &x->maker;
	uint64_t all = 0;

	for (size_t i = 0; i < f->count; i++)
		all += f->files[i].bytes;
	m->missing_files = f->missing_files;
	m->missing_bytes = f->missing_bytes;
	m->present_files = f->count - f->missing_files;
	m->present_bytes = all - f->missing_bytes;
	filemaker_begin(m);
	x->l->started = true;
}

static int make_parts(struct layout *x, struct mlgen_err *err)
{
	struct crew_task make = { iopart_make, &x->parts, x->parts.count };
	struct crew_task fill = { iopart_fill, &x->parts, x->parts.pieces };
	int r;

	iolayout_begin(x);
	if (!x->parts.has_content)
		return filemaker_run(&x->maker, &make, iolayout_announce, x, err);
	r = crew_run(&x->maker.crew, &make, err);
	return r ? r : filemaker_run(&x->maker, &fill, iolayout_announce, x, err);
}

static int work_locked(struct layout *x, struct mlgen_err *err)
{
	int r = look_at_missing(x->f, err);

	if (r || x->f->missing_files == 0)
		return r;
	r = ioparts_init(&x->parts, x->f, x->l->req->job, &x->maker, err);
	if (r == 0)
		r = ioparts_remove(&x->parts, err);
	if (r == 0) {
		r = make_parts(x, err);
		if (r)
			ioparts_remove(&x->parts, NULL);
		else
			r = sync_folders(x, err);
	}
	x->l->made_files = x->maker.made_files;
	x->l->made_bytes = x->maker.made_bytes;
	x->f->missing_files -= x->l->made_files;
	x->f->missing_bytes -= x->l->made_bytes;
	ioparts_fini(&x->parts);
	return r;
}

static int iolayout_work(struct layout *x, struct mlgen_err *err)
{
	int r = check_writable(x, err);

	if (r == 0)
		r = check_room(x, err);
	if (r == 0)
		r = open_folders(x, err);
	if (r == 0)
		r = work_locked(x, err);
	for (size_t i = 0; i < x->folders.count; i++)
		dirlock_drop(&x->folders.at[i].lock);
	return r;
}

static int iolayout_interrupted(const struct layout *x, struct mlgen_err *err)
{
	return mlgen_fail(err, CREW_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files laid out; the next run makes the others",
			  x->folders.at[0].path, x->l->made_files, x->asked_files);
}

/* A layout that is only asked about. */
static int ask(struct iofiles *f, const struct iofiles_request *req,
	       int (*check)(struct layout *x, struct mlgen_err *err), struct mlgen_err *err)
{
	struct iolayout l = { .req = req };
	struct layout x = { .f = f, .l = &l };
	int r;

	list_folders(&x);
	r = check(&x, err);
	free_folders(&x);
	return r;
}

int iolayout_check_writable(struct iofiles *f, const struct iofiles_request *req,
			    struct mlgen_err *err)
{
	return ask(f, req, check_writable, err);
}

int iolayout_check_room(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err)
{
	return ask(f, req, check_room, err);
}

int iolayout_run(struct iofiles *f, struct iolayout *l, struct mlgen_err *err)
{
	const struct job *j = l->req->job;
	struct layout x = { .f = f,
			    .l = l,
			    .maker = { .kind = &iopart_kind,
				       .progress = l->progress,
				       .crew = { .engine = j->engine,
						 .engine_opts = j->engine_opts,
						 .clock = l->clock } } };
	int r = look_at_missing(f, err);

	l->made_files = l->made_bytes = 0;
	l->started = false;
	if (r || f->missing_files == 0)
		return r;
	filemaker_init(&x.maker, iofiles_largest_missing(f));
	x.asked_files = f->missing_files;
	list_folders(&x);
	r = iolayout_work(&x, err);
	if (r == CREW_STOPPED)
		iolayout_interrupted(&x, err);
	free_folders(&x);
	return r;
}
