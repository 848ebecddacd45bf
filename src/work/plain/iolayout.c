/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.c - missing files of plain jobs are laid out. */
#include "work/plain/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "io/mount.h"
#include "run/make/make.h"

struct iopart {
	struct iofile *file;
	uint64_t first_piece;
	_Atomic uint64_t pieces_left;
};

/* Those of one job that are missing. Workers share it. */
struct ioparts {
	struct iopart *list;
	size_t count;
	uint64_t pieces;
	bool has_content; /* else only space */
	struct filemaker *maker;
};

/* ---- what is in them ---- */

/* One worker's at a time: large enough that its open and its last sync do not matter, small enough
 * that all workers have some of a large file. */
#define PIECE_BYTES (UINT64_C(64) << 20)

/* From one place in a file to another. */
struct content {
	uint64_t seed, off, end;
};

static int fill_between(struct newfile *x, uint64_t from, uint64_t end, struct mlgen_err *err)
{
	struct content c = { .seed = fnv1a(FNV1A, x->path, strlen(x->path)),
			     .off = from,
			     .end = end };

	x->end = from;
	return newfile_fill(x, &c, err);
}

int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err)
{
	struct content *c = source;

	(void)err;
	*off = c->off;
	*len = c->end - c->off < size ? (size_t)(c->end - c->off) : size;
	rng_fill(buf, *len, c->seed, RNG_CONTENT, *off);
	c->off += *len;
	return *len > 0;
}

int iocontent_fill(struct newfile *x, struct mlgen_err *err)
{
	return fill_between(x, 0, x->bytes, err);
}

uint64_t iocontent_pieces(uint64_t file_bytes)
{
	return divide_up(file_bytes, PIECE_BYTES);
}

int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err)
{
	uint64_t from = piece * PIECE_BYTES;

	return fill_between(x, from, from + u64_min(x->bytes - from, PIECE_BYTES), err);
}

int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err)
{
	struct io_op op = {
		.io = { .op = MLGEN_ALLOCATE, .file = &x->file, .len_bytes = x->bytes }
	};
	int r = (int)io_do(x->w->io, &op);
	size_t buf_bytes;

	if (r != -EOPNOTSUPP && r != -ENOSYS)
		return r < 0 ? newfile_failed(x, opstat_name(MLGEN_ALLOCATE), r, err) : 0;
	if (has_content)
		return 0;
	memset(io_buffer(x->w->io, &buf_bytes), 0, 1);
	return newfile_write(x, x->bytes - 1, 1, err);
}

/* ---- one file on its way: made, filled in pieces, given its name ---- */

void iolayout_no_room(const struct newfile *x, const char *left, const char *way_out, char *out,
		      size_t size)
{
	char have[UNITS_TEXT_BYTES];
	struct mount m = { 0 };

	mount_read(&m, x->file.path, NULL);
	snprintf(out, size, "%s are still to be laid out, %s free; make room, or %s", left,
		 units_human_bytes(have, (double)m.free_bytes), way_out);
}

static void put_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	iolayout_no_room(x, left, "a smaller size=", out, size);
}

void iolayout_say(const struct job *j, const struct filemaker *m, const char *where,
		  const char *time)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];

	log_plain("%s: laying out %s file%s, %s in %s (%s)", j->name,
		  units_human_count(files, m->missing_files), plural(m->missing_files),
		  units_human_bytes(bytes, (double)m->missing_bytes), where,
		  time ? time : "space only");
}

int iolayout_interrupted(const char *directory, uint64_t made_files, uint64_t asked_files,
			 struct mlgen_err *err)
{
	return mlgen_fail(err, CREW_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files laid out; the next run makes the others",
			  directory, made_files, asked_files);
}

/* By path, as fio has it: the folders are the user's. */
static int open_new(struct newfile *x, struct crew_worker *w, const struct iopart *part, int flags,
		    struct mlgen_err *err)
{
	const struct ioparts *all = w->owner;
	int r;

	*x = (struct newfile){ .maker = all->maker,
			       .w = w,
			       .path = part->file->path,
			       .bytes = part->file->bytes,
			       .file = { .path = w->part,
					 .fd = -1,
					 .flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
					 .mode = 0666 },
			       .is_piece = true };
	newfile_temporary(w->part, x->path, &iopart_kind);
	r = crew_do(w, MLGEN_OPEN, &x->file);
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

static struct iopart *part_of(struct ioparts *p, uint64_t piece)
{
	return &p->list[BISECT(i, 1, p->count, p->list[i].first_piece > piece) - 1];
}

static int iopart_check_name(const struct iopart *part, struct mlgen_err *err)
{
	const char *path = part->file->path, *slash = strrchr(path, '/');
	char temporary[PATH_MAX];
	int r = newfile_temporary(temporary, path, &iopart_kind);

	return r ? mlgen_fail(err, r, "%s: %s; its temporary name .%s%s needs to be as short, too",
			      path, strerror(-r), slash ? slash + 1 : path, iopart_kind.suffix)
		 : 0;
}

const struct newfile_kind iopart_kind = { .suffix = ".mlgen-part",
					  .next = iocontent_next,
					  .put_no_room = put_no_room };

/* 0, or -ENAMETOOLONG with err. */
static int ioparts_init(struct ioparts *p, struct iofiles *f, const struct job *job,
			struct filemaker *maker, struct mlgen_err *err)
{
	int r = 0;

	*p = (struct ioparts){ .has_content = job_reads(job), .maker = maker };
	p->list = mem_array(f->missing_files, sizeof(*p->list));
	for (size_t i = 0; i < f->count && r == 0; i++) {
		struct iofile *file = &f->files[i];
		struct iopart *part = &p->list[p->count];

		if (!file->is_missing)
			continue;
		p->count++;
		part->file = file;
		part->first_piece = p->pieces;
		part->pieces_left = iocontent_pieces(file->bytes);
		p->pieces += part->pieces_left;
		r = iopart_check_name(part, err);
	}
	return r;
}

static void ioparts_fini(struct ioparts *p)
{
	mem_free(p->list);
	*p = (struct ioparts){ 0 };
}

/* Remove what lies under the temporary names: 0 or -errno with err. */
static int ioparts_remove(const struct ioparts *p, struct mlgen_err *err)
{
	char temporary[PATH_MAX];
	int r = 0;

	for (size_t i = 0; i < p->count; i++) {
		newfile_temporary(temporary, p->list[i].file->path, &iopart_kind);
		if (unlink(temporary) != 0 && errno != ENOENT && r == 0)
			r = datafile_failed(temporary, MLGEN_UNLINK, -errno, err);
	}
	return r;
}

/*
 * Tasks of a crew whose owner is the struct ioparts. iopart_make, of each file: make it and its
 * space, and without content give it its name. iopart_fill, of each piece: write and sync it; the
 * last one of a file gives that its name. A file that took the name meanwhile is an error.
 */
static int iopart_make(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct ioparts *all = w->owner;
	const struct iopart *part = &all->list[index];
	struct newfile x;
	int r = open_new(&x, w, part, O_CREAT | O_EXCL, err);

	if (r)
		return r;
	r = iocontent_allocate(&x, all->has_content, err);
	if (r == 0 && !all->has_content)
		atomic_fetch_add_explicit(&all->maker->progress->bytes_done, x.bytes,
					  memory_order_relaxed);
	r = newfile_end(&x, r, !all->has_content, err);
	if (r == 0 && !all->has_content)
		part->file->is_missing = false;
	return r;
}

static int iopart_fill(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct iopart *part = part_of(w->owner, index);
	struct newfile x;
	uint64_t left;
	int r = open_new(&x, w, part, 0, err);

	if (r)
		return r;
	r = iocontent_fill_piece(&x, index - part->first_piece, err);
	/* The last one syncs what all have written: size and times, too. */
	left = r ? 0 : atomic_fetch_sub_explicit(&part->pieces_left, 1, memory_order_acq_rel);
	r = newfile_end(&x, r, left == 1, err);
	if (r == 0 && left == 1)
		part->file->is_missing = false; /* nobody else looks at it */
	return r;
}

/* ---- all of them ---- */

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
	struct buf where = { 0 };

	buf_addf(&where, "%s%s", x->folders.at[0].path,
		 x->folders.count > 1 ? " and elsewhere" : "");
	iolayout_say(x->l->req->job, &x->maker, buf_str(&where),
		     x->parts.has_content ? time : NULL);
	buf_fini(&where);
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
		iolayout_interrupted(x.folders.at[0].path, l->made_files, x.asked_files, err);
	free_folders(&x);
	return r;
}
