/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.c - lay out the missing files of plain jobs. */
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
#include "base/dist.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "io/devices.h"
#include "run/make/make.h"

struct iopart {
	struct iofile *file;
	uint64_t first_piece;
	_Atomic uint64_t pieces_left;
};

/* The missing files of a job. Workers share it. */
struct ioparts {
	struct iopart *list;
	size_t count;
	uint64_t pieces;
	bool has_content; /* false: only space is allocated */
	struct filemaker *maker;
};

/* ---- content ---- */

/* Bytes that a worker writes at a time: large enough that the open and the final sync do not
 * matter, but small enough that every worker has a part of a large file. */
#define PIECE_BYTES (UINT64_C(64) << 20)

/* The next byte to write, and the end. */
struct fill_range {
	uint64_t seed, off, end;
};

static int fill_between(struct newfile *x, uint64_t from, uint64_t end, struct mlgen_err *err)
{
	struct fill_range c = { .seed = fnv1a(FNV1A, x->path, strlen(x->path)),
				.off = from,
				.end = end };

	x->end = from;
	return newfile_fill(x, &c, err);
}

int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err)
{
	struct fill_range *c = source;

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

/* ---- one file: creation, content in pieces, final name ---- */

void iolayout_describe_no_room(const struct newfile *x, const char *left, const char *way_out,
			       char *out, size_t size)
{
	char have[UNITS_TEXT_BYTES];
	struct mount m = { 0 };

	mount_read(&m, x->file.path, NULL);
	snprintf(out, size, "%s are still to be laid out, %s free; make room, or %s", left,
		 units_human_bytes(have, (double)m.free_bytes), way_out);
}

static void format_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	iolayout_describe_no_room(x, left, "use a smaller size=", out, size);
}

void iolayout_log_start(const struct job *j, const struct filemaker *m, const char *where,
			const char *time)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES];

	log_plain("%s: laying out %s file%s, %s in %s (%s)", j->name,
		  units_human_count(files, m->missing_files), plural(m->missing_files),
		  units_human_bytes(bytes, (double)m->missing_bytes), where,
		  time ? time : "space only");
}

int iolayout_fail_interrupted(const char *directory, uint64_t made_files, uint64_t asked_files,
			      struct mlgen_err *err)
{
	return mlgen_fail(err, POOL_STOPPED,
			  "%s: interrupted with %" PRIu64 " of %" PRIu64
			  " files laid out; the next run creates the others",
			  directory, made_files, asked_files);
}

/* Open a file by its path, as fio does: the folders belong to the user. */
static int open_new(struct newfile *x, struct pool_worker *w, const struct iopart *part, int flags,
		    struct mlgen_err *err)
{
	const struct ioparts *all = w->owner;

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
	int r = pool_do(w, MLGEN_OPEN, &x->file);
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

const struct newfile_kind iopart_kind = { .suffix = ".mlgen-part",
					  .next = iocontent_next,
					  .format_no_room = format_no_room };

/* 0, or -ENAMETOOLONG with err. */
static int ioparts_init(struct ioparts *p, struct iofiles *f, const struct job *job,
			struct filemaker *maker, struct mlgen_err *err)
{
	char temporary[PATH_MAX];
	int r = 0;

	*p = (struct ioparts){ .has_content = job_reads(job), .maker = maker };
	p->list = mem_array(f->missing_files, sizeof(*p->list));
	for (size_t i = 0; i < f->count && r == 0; i++) {
		struct iofile *file = &f->files[i];
		struct iopart *part = &p->list[p->count];
		const char *path = file->path, *slash = strrchr(path, '/');

		if (!file->is_missing)
			continue;
		p->count++;
		part->file = file;
		part->first_piece = p->pieces;
		part->pieces_left = iocontent_pieces(file->bytes);
		p->pieces += part->pieces_left;
		r = newfile_temporary(temporary, path, &iopart_kind);
		if (r)
			mlgen_fail(err, r,
				   "%s: %s; its temporary name .%s%s must be short enough, too",
				   path, strerror(-r), slash ? slash + 1 : path,
				   iopart_kind.suffix);
	}
	return r;
}

/* Remove files with temporary names. 0, or -errno with err. */
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
 * Tasks of a pool whose owner is the struct ioparts. iopart_make handles a file: it creates the
 * file, allocates its space, and renames it if no content follows. iopart_fill handles a piece: it
 * writes and syncs the piece, and renames the file after the last piece. It is an error if the
 * final name exists by then.
 */
static int iopart_make(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
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

static int iopart_fill(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct ioparts *p = w->owner;
	struct iopart *part = &p->list[BISECT(i, 1, p->count, p->list[i].first_piece > index) - 1];
	struct newfile x;
	int r = open_new(&x, w, part, 0, err);

	if (r)
		return r;
	r = iocontent_fill_piece(&x, index - part->first_piece, err);
	/* The worker of the last piece syncs the writes of all workers, and the file's size and
	 * times. */
	uint64_t left =
		r ? 0 : atomic_fetch_sub_explicit(&part->pieces_left, 1, memory_order_acq_rel);
	r = newfile_end(&x, r, left == 1, err);
	if (r == 0 && left == 1)
		part->file->is_missing = false; /* no other thread reads is_missing now */
	return r;
}

/* ---- the layout of a job ---- */

/* A folder that files are made in. */
struct folder {
	char *path;
	char mount[256]; /* mount point */
	uint64_t missing_bytes, free_bytes;
	struct dirlock lock;
};

struct file_layout {
	struct iofiles *f;
	struct iolayout *l;
	struct filemaker maker;
	struct ioparts parts;
	VEC(struct folder) folders;
};

/* ---- folders and room ---- */

static void list_folders(struct file_layout *x)
{
	for (size_t i = 0; i < x->f->count; i++) {
		const struct iofile *file = &x->f->files[i];
		size_t k = 0;

		if (!file->is_missing)
			continue;
		char *path = iofiles_folder(file->path);
		while (k < x->folders.count && strcmp(x->folders.at[k].path, path) != 0)
			k++;
		if (k == x->folders.count)
			vec_push(&x->folders, (struct folder){ .path = path });
		else
			mem_free(path);
		x->folders.at[k].missing_bytes += file->bytes;
	}
}

static void folders_fini(struct file_layout *x)
{
	for (size_t i = 0; i < x->folders.count; i++)
		mem_free(x->folders.at[i].path);
	vec_fini(&x->folders);
}

/* Missing bytes in all folders of a filesystem. */
static uint64_t missing_on(const struct file_layout *x, const char *mount)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < x->folders.count; i++)
		if (strcmp(x->folders.at[i].mount, mount) == 0)
			bytes += x->folders.at[i].missing_bytes;
	return bytes;
}

static int check_writable(struct file_layout *x, struct mlgen_err *err)
{
	char what[UNITS_TEXT_BYTES + 8], files[UNITS_TEXT_BYTES];
	const struct job *j = x->l->req->job;
	char *directory = ionames_directory(j);
	size_t len = directory ? strlen(directory) : 0;
	int r = 0;

	/* Check directory= in place of the folders below it, which are created with all parents. */
	for (size_t i = 0; i < x->folders.count && r == 0; i++) {
		const char *path = x->folders.at[i].path;
		bool is_in = len && strncmp(path, directory, len) == 0;

		r = newdir_check(j, is_in ? "directory" : "filename", is_in ? directory : path,
				 err);
	}
	mem_free(directory);
	snprintf(what, sizeof(what), "%s file%s", units_human_count(files, x->f->missing_files),
		 plural(x->f->missing_files));
	for (size_t i = 0; i < x->folders.count && r == 0; i++)
		r = filemaker_check_writable(x->folders.at[i].path, what, "--directory", err);
	return r;
}

static int check_room(struct file_layout *x, struct mlgen_err *err)
{
	struct mount m;
	int r = 0;

	for (size_t i = 0; i < x->folders.count; i++) {
		struct folder *d = &x->folders.at[i];

		r = mount_read(&m, d->path, err);
		if (r)
			return r;
		snprintf(d->mount, sizeof(d->mount), "%s", m.target);
		d->free_bytes = m.free_bytes;
	}
	for (size_t i = 0; i < x->folders.count && r == 0; i++) {
		const struct folder *d = &x->folders.at[i];
		const struct filemaker_room room = {
			.path = d->path,
			.purpose = "to lay out",
			.missing_bytes = missing_on(x, d->mount),
			.free_bytes = d->free_bytes,
			.allow_fill = x->l->req->allow_fill,
			.way_out = "use a smaller size=, another directory=",
			.or_fill = ", or --allow_fill"
		};

		r = filemaker_check_room(&room, err);
	}
	return r;
}

/* ---- making the files ---- */

/* If another job or another mlgen has made the missing file since the first check, it must be large
 * enough. */
static int recheck_file(struct iofiles *f, struct iofile *file, struct mlgen_err *err)
{
	char has[UNITS_TEXT_BYTES], needs[UNITS_TEXT_BYTES];
	struct stat st;

	if (stat(file->path, &st) != 0)
		return 0;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < file->bytes)
		return mlgen_fail(err, -EEXIST,
				  "%s: was created meanwhile with %s, but %s are needed; jobs that "
				  "share a file must use the same size",
				  file->path, units_format_size(has, (uint64_t)st.st_size),
				  units_format_size(needs, file->bytes));
	file->is_missing = false;
	f->missing_files--;
	f->missing_bytes -= file->bytes;
	file->bytes = (uint64_t)st.st_size;
	return 0;
}

static int recheck_missing(struct iofiles *f, struct mlgen_err *err)
{
	int r = 0;

	for (size_t i = 0; i < f->count && r == 0; i++)
		if (f->files[i].is_missing)
			r = recheck_file(f, &f->files[i], err);
	return r;
}

static void iolayout_announce(const void *arg, const char *time)
{
	const struct file_layout *x = arg;
	struct buf where = { 0 };

	buf_addf(&where, "%s%s", x->folders.at[0].path,
		 x->folders.count > 1 ? " and elsewhere" : "");
	iolayout_log_start(x->l->req->job, &x->maker, buf_str(&where),
			   x->parts.has_content ? time : NULL);
	buf_fini(&where);
}

static int make_parts(struct file_layout *x, struct mlgen_err *err)
{
	struct pool_task make = { iopart_make, &x->parts, x->parts.count };
	struct pool_task fill = { iopart_fill, &x->parts, x->parts.pieces };
	const struct iofiles *f = x->f;
	struct filemaker *m = &x->maker;
	uint64_t bytes = 0;

	for (size_t i = 0; i < f->count; i++)
		bytes += f->files[i].bytes;
	m->missing_files = f->missing_files;
	m->missing_bytes = f->missing_bytes;
	m->present_files = f->count - f->missing_files;
	m->present_bytes = bytes - f->missing_bytes;
	filemaker_begin(m);
	x->l->started = true;
	if (!x->parts.has_content)
		return filemaker_run(m, &make, iolayout_announce, x, err);
	int r = pool_run(&m->pool, &make, err);
	return r ? r : filemaker_run(m, &fill, iolayout_announce, x, err);
}

/* Make the missing files, with the folders locked. */
static int make_missing(struct file_layout *x, struct mlgen_err *err)
{
	int r = recheck_missing(x->f, err);

	if (r || x->f->missing_files == 0)
		return r;
	r = ioparts_init(&x->parts, x->f, x->l->req->job, &x->maker, err);
	if (r == 0)
		r = ioparts_remove(&x->parts, err);
	if (r == 0) {
		r = make_parts(x, err);
		if (r)
			ioparts_remove(&x->parts, NULL);
		/* A folder that may be written but not read cannot be synced. This is not a
		 * failure. */
		for (size_t i = 0; i < x->folders.count && r == 0; i++)
			r = filemaker_sync_folder(x->folders.at[i].path, -EACCES, err);
	}
	x->l->made_files = x->maker.made_files;
	x->l->made_bytes = x->maker.made_bytes;
	x->f->missing_files -= x->l->made_files;
	x->f->missing_bytes -= x->l->made_bytes;
	mem_free(x->parts.list);
	return r;
}

/* Run a check of a layout without making its files. */
static int run_check(struct iofiles *f, const struct iofiles_request *req,
		     int (*check)(struct file_layout *x, struct mlgen_err *err),
		     struct mlgen_err *err)
{
	struct iolayout l = { .req = req };
	struct file_layout x = { .f = f, .l = &l };

	list_folders(&x);
	int r = check(&x, err);
	folders_fini(&x);
	return r;
}

int iolayout_check_writable(struct iofiles *f, const struct iofiles_request *req,
			    struct mlgen_err *err)
{
	return run_check(f, req, check_writable, err);
}

int iolayout_check_room(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err)
{
	return run_check(f, req, check_room, err);
}

int iolayout_run(struct iofiles *f, struct iolayout *l, struct mlgen_err *err)
{
	const struct job *j = l->req->job;
	struct file_layout x = { .f = f,
				 .l = l,
				 .maker = { .kind = &iopart_kind,
					    .progress = l->progress,
					    .pool = { .engine = j->engine,
						      .engine_opts = j->engine_opts,
						      .clock = l->clock } } };
	int r = recheck_missing(f, err);

	l->made_files = l->made_bytes = 0;
	l->started = false;
	if (r || f->missing_files == 0)
		return r;
	filemaker_init(&x.maker, iofiles_largest_missing(f));
	uint64_t missing_files = f->missing_files;
	list_folders(&x);
	r = check_writable(&x, err);
	if (r == 0)
		r = check_room(&x, err);
	for (size_t i = 0; i < x.folders.count && r == 0; i++) {
		struct folder *d = &x.folders.at[i];

		r = dirs_make(d->path, &l->started);
		r = r ? mlgen_fail(err, r, "%s: mkdir: %s", d->path, strerror(-r))
		      : dirlock_acquire(&d->lock, d->path, err);
	}
	if (r == 0)
		r = make_missing(&x, err);
	for (size_t i = 0; i < x.folders.count; i++)
		dirlock_drop(&x.folders.at[i].lock);
	if (r == POOL_STOPPED)
		iolayout_fail_interrupted(x.folders.at[0].path, l->made_files, missing_files, err);
	folders_fini(&x);
	return r;
}
