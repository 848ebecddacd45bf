/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_make.c - finds the missing files of a replay, and makes them. */
#include "work/replay/replay_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "io/devices.h"
#include "run/make/make.h"
#include "work/plain/plain.h"

/* A file is called .NAME.mlgen-part until it is complete. It then replaces an existing file of its
 * name; replay_files_look() has checked that it may. */
extern const struct newfile_kind replay_part_kind;

/* Shared by the workers that make the files of a replay. */
struct replay_parts {
	const struct replay_files *f;
	struct filemaker *maker;
	struct datadir dir;
	uint64_t large_bytes;         /* files of at least this size are written in pieces */
	uint32_t large;               /* id of the file that is written in pieces */
	_Atomic uint64_t pieces_left; /* pieces of `large` that are not written yet */
};

/* The directory, which stays open, and its state. */
struct replay_place {
	int fd;         /* below_open_root(); negative = the directory does not exist */
	bool is_empty;  /* also true if the directory is missing */
	bool is_marked; /* has REPLAY_MARKER */
};

/* ---- which files exist ---- */

/* The state while files are looked up. */
struct file_lookup {
	struct replay_files *f;
	struct replay_place place;
	char path[PATH_MAX];   /* path of the file */
	char folder[PATH_MAX]; /* folder of the last file; often also that of the next */
	int folder_fd;         /* descriptor, or -errno; -EBADF = none yet */
};

/* ---- the directory ---- */

static const char marker_part[] = JSONFILE_PART(REPLAY_MARKER);

static bool is_reserved(const char *name)
{
	static const char *const ours[] = { ".", "..", "lost+found", DIRLOCK_NAME, marker_part };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

/* Is a directory empty, except for names of the filesystem and leftovers of a killed run? */
static int is_empty(int dir_fd, bool *empty)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r = d ? 0 : -errno;

	if (fd >= 0 && !d)
		close(fd);
	*empty = true;
	while (d && *empty && (e = readdir(d)))
		*empty = is_reserved(e->d_name);
	if (d)
		closedir(d);
	return r;
}

static int directory_fail(const struct replay_files *f, int code, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	return mlgen_fail(err, code, "directory: %s: %s%s", f->directory, strerror(-code),
			  dirs_explain_failure(way, f->directory, code));
}

/* Open the directory. 0, even if it does not exist, or -errno with err. */
static int replay_place_open(struct replay_place *p, const struct replay_files *f,
			     struct mlgen_err *err)
{
	struct stat st;
	int r = 0;

	*p = (struct replay_place){ .fd = below_open_root(f->directory) };
	if (p->fd == -ENOENT) {
		p->is_empty = true;
		return 0;
	}
	if (p->fd < 0)
		return directory_fail(f, p->fd, err);
	p->is_marked =
		fstatat(p->fd, REPLAY_MARKER, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
	if (!p->is_marked)
		r = is_empty(p->fd, &p->is_empty);
	if (r == 0)
		return 0;
	close(p->fd);
	return directory_fail(f, r, err);
}

/* ---- one file ---- */

/* Count a missing file. If the trace makes the file itself, only its folder is missing. */
static void count_missing(struct replay_files *f, struct replay_file *file)
{
	if (file->flags & REPLAY_FILE_PRESENT)
		file->flags |= REPLAY_FILE_MISSING;
	if (file->flags & REPLAY_FILE_FOLDER || !(file->flags & REPLAY_FILE_PRESENT)) {
		f->missing_folders++;
		return;
	}
	f->missing_files++;
	f->missing_bytes = u64_sum(f->missing_bytes, file->bytes);
	f->largest_missing = u64_max(f->largest_missing, file->bytes);
}

/* Does an existing file fit? A file with several names must not be written to, because all its
 * names would change. */
static bool fits(const struct replay_file *file, const struct stat *st)
{
	if (file->flags & REPLAY_FILE_CHANGED && st->st_nlink > 1)
		return false;
	return !(file->flags & REPLAY_FILE_PRESENT) || (uint64_t)st->st_size == file->bytes;
}

/* Does the file lack content to read? It does if it was made for a trace that only writes to it. */
static bool has_holes(const struct file_lookup *x, const struct replay_file *file, const char *name)
{
	if (!x->place.is_marked || !(file->flags & REPLAY_FILE_PRESENT) ||
	    !(file->flags & REPLAY_FILE_READ))
		return false;
	int fd = openat(x->folder_fd, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	off_t hole = lseek(fd, 0, SEEK_HOLE);
	close(fd);
	return hole >= 0 && (uint64_t)hole < file->bytes;
}

/* May the name be a folder? The trace does not show this if it only has a stat of the name, or
 * renames something to it. An earlier replay may have made that rename here. */
static bool may_be_folder(const struct replay_file *file)
{
	unsigned flags = file->flags;

	return !(flags & REPLAY_FILE_READ) &&
	       (!(flags & REPLAY_FILE_CHANGED) ||
		(flags & REPLAY_FILE_MADE && !(flags & REPLAY_FILE_PRESENT)));
}

static int check_existing(struct file_lookup *x, struct replay_file *file, const char *name,
			  const struct stat *st, struct mlgen_err *err)
{
	bool is_folder = file->flags & REPLAY_FILE_FOLDER;

	if (S_ISDIR(st->st_mode) && may_be_folder(file) &&
	    (x->place.is_marked || !(file->flags & REPLAY_FILE_CHANGED)))
		return 0;
	if (is_folder ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode)) {
		const char *other =
			S_ISLNK(st->st_mode) ? "a symbolic link" : filekind_other(st->st_mode);

		return mlgen_fail(
			err, S_ISLNK(st->st_mode) ? -ELOOP : -EEXIST,
			"%s: is %s, but a %s in the trace; remove it, or name another directory",
			x->path, other ? other : "a regular file", is_folder ? "folder" : "file");
	}
	if (!x->place.is_marked &&
	    (file->flags & REPLAY_FILE_CHANGED || (!is_folder && !fits(file, st))))
		return mlgen_fail(err, -EEXIST,
				  "%s: is in the way, and no %s in %s shows that mlgen created it "
				  "for a replay; name an empty or new directory, or remove it",
				  x->path, REPLAY_MARKER, x->f->directory);
	if (is_folder)
		return 0;
	if (fits(file, st) && !has_holes(x, file, name)) {
		bool writes = file->flags & REPLAY_FILE_CHANGED;

		if (faccessat(x->folder_fd, name, writes ? R_OK | W_OK : R_OK, AT_EACCESS) == 0)
			return 0;
		return mlgen_fail(err, -errno, "%s: cannot be %s: %s", x->path,
				  writes ? "written" : "read", strerror(errno));
	}
	if (file->flags & REPLAY_FILE_PRESENT) {
		count_missing(x->f, file);
		return 0;
	}
	return mlgen_fail(err, -EMLINK,
			  "%s: has other hard links, which the writes of the replay would also "
			  "change; remove it",
			  x->path);
}

static int folder_fail(const struct file_lookup *x, int code, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	if (code != -ENOTDIR)
		return datadir_check_folder(code, x->path, err);
	return mlgen_fail(err, code, "%s: %s%s", x->path, strerror(ENOTDIR),
			  dirs_explain_failure(way, x->path, code));
}

/* Open the folder of x->path as x->folder_fd; *name is the last step of the path. 0 or -errno,
 * without err. */
static int open_folder(struct file_lookup *x, const char **name)
{
	const char *below = x->path + replay_root(x->f->directory);

	below += *below == '/';
	const char *slash = strrchr(below, '/');
	size_t bytes = slash ? (size_t)(slash - below) : 0;
	*name = slash ? slash + 1 : below;
	if (x->folder_fd == -EBADF || strncmp(x->folder, below, bytes) != 0 || x->folder[bytes]) {
		if (x->folder_fd >= 0)
			close(x->folder_fd);
		memcpy(x->folder, below, bytes);
		x->folder[bytes] = '\0';
		x->folder_fd = below_folder(x->place.fd, x->folder);
	}
	return x->folder_fd < 0 ? x->folder_fd : 0;
}

static int look_at_file(struct file_lookup *x, uint32_t id, struct mlgen_err *err)
{
	struct replay_file *file = replay_file(x->f, id);
	const char *name;
	struct stat st;

	file->flags &= ~(unsigned)REPLAY_FILE_MISSING;
	if (x->place.is_empty) {
		count_missing(x->f, file);
		return 0;
	}
	replay_files_path(x->f, id, x->path); /* cannot fail: its length was checked */
	int r = open_folder(x, &name);
	if (r == -ENOENT || r == -ENOTDIR) {
		/* If the trace makes the folder of a file, the folder above it has to exist. */
		size_t made_above = replay_names_made_above(x->f, id);

		if (made_above) {
			x->path[replay_root(x->f->directory) + made_above] = '\0';
			r = open_folder(x, &name);
		}
		if (r == -ENOENT)
			count_missing(x->f, replay_file(x->f, id));
		return r && r != -ENOENT ? folder_fail(x, r, err) : 0;
	}
	if (r)
		return folder_fail(x, r, err);
	if (fstatat(x->folder_fd, *name ? name : ".", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return check_existing(x, file, name, &st, err);
	if (errno != ENOENT)
		return mlgen_fail(err, -errno, "%s: %s", x->path, strerror(errno));
	if (file->flags & REPLAY_FILE_PRESENT)
		count_missing(x->f, file);
	return 0;
}

/* ---- all files ---- */

static int look_below(struct file_lookup *x, struct mlgen_err *err)
{
	struct replay_files *f = x->f;
	int r = 0;

	f->missing_files = f->missing_bytes = f->largest_missing = 0;
	f->missing_folders = 0;
	if (f->job->replay_files == REPLAY_OWN)
		r = replay_traced_check_apart(f, x->place.is_marked, err);
	for (uint32_t id = 1; id <= trace_names_count(f->names) && r == 0; id++)
		if (replay_file_is_below(f, id))
			r = look_at_file(x, id, err);
	if (x->folder_fd >= 0)
		close(x->folder_fd);
	/* mlgen makes no files next to files that are not its own. */
	if (r || x->place.is_empty || x->place.is_marked ||
	    !(f->missing_files || f->missing_folders || f->changed_files))
		return r;
	return mlgen_fail(err, -ENOTEMPTY,
			  "directory: %s: is not empty, and no %s in it shows that mlgen created "
			  "it for a replay; name an empty or new directory, such as %s/replay",
			  f->directory, REPLAY_MARKER,
			  replay_root(f->directory) ? f->directory : "");
}

int replay_files_look(struct replay_files *f, struct mlgen_err *err)
{
	struct file_lookup x = { .f = f, .folder_fd = -EBADF };
	int r = replay_names_settle(f, err);

	if (r || !job_touches_files(f->job))
		return r;
	if (f->job->replay_files == REPLAY_TRACED)
		r = replay_traced_look(f, err);
	if (r || !f->uses_directory)
		return r;
	r = replay_place_open(&x.place, f, err);
	if (r)
		return r;
	r = look_below(&x, err);
	if (x.place.fd >= 0)
		close(x.place.fd);
	return r;
}

/* ---- checks before files are made ---- */

int replay_files_check_writable(const struct replay_files *f, struct mlgen_err *err)
{
	uint64_t n = f->missing_files ? f->missing_files : f->changed_files;
	char what[UNITS_TEXT_BYTES + 16] = "folders", text[UNITS_TEXT_BYTES];

	if (!(n || f->missing_folders) || !job_touches_files(f->job))
		return 0;
	int r = newdir_check(f->job, "directory", f->job->directory, err);
	if (r)
		return r;
	if (n)
		snprintf(what, sizeof(what), "%s file%s", units_human_count(text, n), plural(n));
	return filemaker_check_writable(f->directory, what, "--directory", err);
}

int replay_files_check_room(const struct replay_files *f, bool allow_fill, struct mlgen_err *err)
{
	struct filemaker_room room = {
		.path = f->directory,
		.purpose = "to lay out",
		.missing_bytes = f->missing_bytes,
		.allow_fill = allow_fill,
		.way_out = f->are_devices ? "use a smaller replay_span=, another directory="
					  : "use another directory=",
		.or_fill = ", or --allow_fill"
	};
	struct mount m;

	if (!f->missing_files || !job_touches_files(f->job))
		return 0;
	int r = mount_read(&m, f->directory, err);
	if (r)
		return r;
	room.free_bytes = m.free_bytes;
	return filemaker_check_room(&room, err);
}

/* ---- making one file ---- */

static void print_no_room(const struct newfile *x, const char *left, char *out, size_t size)
{
	iolayout_describe_no_room(x, left, "use another directory=", out, size);
}

const struct newfile_kind replay_part_kind = { .suffix = ".mlgen-part",
					       .replaces = true,
					       .next = iocontent_next,
					       .format_no_room = print_no_room };

static const struct replay_file *file_of(const struct pool_worker *w, uint32_t id)
{
	const struct replay_parts *p = w->owner;

	return replay_file(p->f, id);
}

/* Set w->path and w->part, and make and open the folder of the file. */
static int prepare_paths(struct pool_worker *w, uint32_t id, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	int r = replay_files_path(p->f, id, w->path);

	/* A name that is too long for a temporary one is replaced by its id. */
	if (r == 0 && newfile_temporary(w->part, w->path, &replay_part_kind) != 0) {
		char *name = strrchr(w->path, '/') + 1;
		int n = snprintf(w->part, sizeof(w->part), "%.*s.%x%s", (int)(name - w->path),
				 w->path, id, replay_part_kind.suffix);

		r = n < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	if (r)
		return mlgen_fail(err, r, "%s: %s; name a directory with a shorter path", w->path,
				  strerror(-r));
	return datadir_make(&p->dir, w, err);
}

static struct newfile part_of(struct pool_worker *w, uint32_t id, int flags)
{
	const struct replay_parts *p = w->owner;

	return (struct newfile){
		.maker = p->maker,
		.w = w,
		.path = w->path,
		.bytes = file_of(w, id)->bytes,
		.file = { .path = w->part,
			  .name = strrchr(w->part, '/') + 1,
			  .dir_fd = w->folder_fd,
			  .fd = -1,
			  .flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags,
			  .mode = 0666 },
	};
}

/* Create the temporary file. A leftover of a killed run is removed. */
static int open_new(struct newfile *x, struct mlgen_err *err)
{
	const struct replay_parts *p = x->w->owner;
	int r = pool_do(x->w, MLGEN_OPEN, &x->file);

	if (r == -EEXIST) {
		r = datadir_check_owner(&p->dir, x->w->folder_fd, x->file.path, err);
		if (r)
			return r;
		pool_do(x->w, MLGEN_UNLINK, &x->file);
		r = pool_do(x->w, MLGEN_OPEN, &x->file);
	}
	return r < 0 ? newfile_failed(x, opstat_name(MLGEN_OPEN), r, err) : 0;
}

/* Clear the flag after the file was made. No other worker reads the flags of this file. */
static void clear_missing(const struct pool_worker *w, uint32_t id)
{
	const struct replay_parts *p = w->owner;

	replay_file(p->f, id)->flags &= ~(unsigned)REPLAY_FILE_MISSING;
}

static bool replay_part_is_large(const struct replay_parts *p, uint32_t id)
{
	const struct replay_file *file = replay_file(p->f, id);

	return file->flags & REPLAY_FILE_MISSING && file->flags & REPLAY_FILE_READ &&
	       !(file->flags & REPLAY_FILE_FOLDER) && file->bytes >= p->large_bytes;
}

/*
 * Tasks of a pool whose owner is the struct replay_parts. The index is the id of a name - 1. Each
 * returns 0, POOL_STOPPED, or -errno with err.
 *
 * _folder: make a folder, or the folders above a file that the trace makes. _make: make the file if
 * it is missing and not large.
 */
static int replay_part_folder(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	uint32_t id = (uint32_t)index + 1;
	unsigned flags = file_of(w, id)->flags;
	bool is_made = flags & REPLAY_FILE_FOLDER && flags & REPLAY_FILE_PRESENT;

	if (!replay_file_is_below(p->f, id) || (flags & REPLAY_FILE_PRESENT && !is_made))
		return 0;
	if (replay_files_path(p->f, id, w->path) != 0)
		return 0;
	size_t bytes = replay_names_made_above(p->f, id);
	if (bytes)
		w->path[replay_root(p->f->directory) + bytes] = '\0';
	bytes = strlen(w->path);
	if (is_made && bytes + 1 < sizeof(w->path))
		memcpy(w->path + bytes, "/", 2);
	return datadir_make(&p->dir, w, err);
}

static int replay_part_make(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	uint32_t id = (uint32_t)index + 1;
	unsigned flags = file_of(w, id)->flags;
	bool has_content = flags & REPLAY_FILE_READ;

	if (!(flags & REPLAY_FILE_MISSING) || flags & REPLAY_FILE_FOLDER ||
	    replay_part_is_large(w->owner, id))
		return 0;
	int r = prepare_paths(w, id, err);
	if (r)
		return r;
	struct newfile x = part_of(w, id, O_CREAT | O_EXCL);
	r = open_new(&x, err);
	if (r)
		return r;
	r = x.bytes ? iocontent_allocate(&x, has_content, err) : 0;
	if (r == 0 && has_content)
		r = iocontent_fill(&x, err);
	else if (r == 0)
		count_add_shared(&x.maker->progress->bytes_done, x.bytes);
	r = newfile_end(&x, r, true, err);
	if (r)
		pool_do(w, MLGEN_UNLINK, &x.file);
	else
		clear_missing(w, id);
	return r;
}

/*
 * Tasks for the file parts->large. _begin: make it under its temporary name. _piece: write a piece;
 * the last piece gives the file its name. _drop: remove a file that was not completed.
 */
static int replay_part_begin(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	int r = prepare_paths(w, p->large, err);

	(void)index;
	if (r)
		return r;
	struct newfile x = part_of(w, p->large, O_CREAT | O_EXCL);
	r = open_new(&x, err);
	if (r)
		return r;
	return newfile_end(&x, iocontent_allocate(&x, true, err), false, err);
}

static int replay_part_piece(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct replay_parts *p = w->owner;
	int r = prepare_paths(w, p->large, err);

	if (r)
		return r;
	struct newfile x = part_of(w, p->large, 0);
	x.is_piece = true;
	r = pool_do(w, MLGEN_OPEN, &x.file);
	if (r < 0)
		return newfile_failed(&x, opstat_name(MLGEN_OPEN), r, err);
	r = iocontent_fill_piece(&x, index, err);
	/* The worker of the last piece syncs the whole file, with its size and times. */
	uint64_t left = r ? 0 : atomic_fetch_sub_explicit(&p->pieces_left, 1, memory_order_acq_rel);
	r = newfile_end(&x, r, left == 1, err);
	if (r == 0 && left == 1)
		clear_missing(w, p->large);
	return r;
}

static int replay_part_drop(struct pool_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct replay_parts *p = w->owner;
	int r = prepare_paths(w, p->large, err);

	(void)index;
	if (r)
		return r;
	struct newfile x = part_of(w, p->large, 0);
	r = pool_do(w, MLGEN_UNLINK, &x.file);
	return r == -ENOENT ? 0 : r;
}

/* ---- making all files ---- */

/* A file with more than its share of all bytes is written by all workers together, in at least two
 * pieces. Each other file is written by one worker. */
#define LARGE_SHARE 8
#define LARGE_LEAST (UINT64_C(128) << 20)

struct replay_making {
	struct replay_files *f;
	struct replay_files_maker *m;
	struct filemaker maker;
	struct replay_parts parts;
	struct dirlock lock;
	bool has_content; /* some file has content, and not only space */
	bool is_announced;
};

/* ---- the directory ---- */

static int open_directory(struct replay_making *x, struct mlgen_err *err)
{
	char *path = mem_strdup(x->f->directory);
	int r = dirs_make(path, &x->m->started);

	if (r)
		mlgen_fail(err, r, "%s: mkdir: %s", path, strerror(-r));
	mem_free(path);
	if (r == 0)
		r = dirlock_acquire(&x->lock, x->f->directory, err);
	if (r == 0)
		r = datadir_open(&x->parts.dir, x->f->directory, x->lock.maker, err);
	return r;
}

/* ---- files ---- */

static void announce(const void *arg, const char *time)
{
	const struct replay_making *x = arg;

	iolayout_log_start(x->f->job, &x->maker, x->f->directory, x->has_content ? time : NULL);
}

/* Run a task. The first task also announces all files that are to be made, if it takes time. */
static int run_task(struct replay_making *x,
		    int (*each)(struct pool_worker *w, uint64_t index, struct mlgen_err *err),
		    uint64_t n, struct mlgen_err *err)
{
	const struct pool_task task = { each, &x->parts, n };
	bool is_first = !x->is_announced && x->f->missing_files;

	x->is_announced |= is_first;
	return is_first ? filemaker_run(&x->maker, &task, announce, x, err)
			: pool_run(&x->maker.pool, &task, err);
}

static int make_large(struct replay_making *x, uint32_t id, struct mlgen_err *err)
{
	uint64_t pieces = iocontent_pieces(replay_file(x->f, id)->bytes);
	const struct pool_task begin = { replay_part_begin, &x->parts, 1 };
	const struct pool_task drop = { replay_part_drop, &x->parts, 1 };
	struct pool_config pool = x->maker.pool;

	x->parts.large = id;
	atomic_store_explicit(&x->parts.pieces_left, pieces, memory_order_relaxed);
	int r = pool_run(&pool, &begin, err);
	if (r == 0)
		r = run_task(x, replay_part_piece, pieces, err);
	if (r == 0)
		return 0;
	pool.stop = NULL;
	pool_run(&pool, &drop, NULL);
	return r;
}

static int make_files(struct replay_making *x, struct mlgen_err *err)
{
	uint32_t names = trace_names_count(x->f->names);
	int r = 0;

	x->parts.large_bytes = u64_max(LARGE_LEAST, x->f->missing_bytes / LARGE_SHARE);
	for (uint32_t id = 1; id <= names; id++) {
		const struct replay_file *file = replay_file(x->f, id);

		x->has_content |= file->flags & REPLAY_FILE_MISSING &&
				  file->flags & REPLAY_FILE_READ && file->bytes;
	}
	for (uint32_t id = 1; id <= names && r == 0; id++)
		if (replay_part_is_large(&x->parts, id))
			r = make_large(x, id, err);
	return r ? r : run_task(x, replay_part_make, names, err);
}

/* Look again while holding the lock, because another process may have made files since the last
 * look. */
static int make_locked(struct replay_making *x, struct mlgen_err *err)
{
	struct replay_files *f = x->f;
	struct filemaker *m = &x->maker;
	int r = replay_files_look(f, err), fd;

	if (r == 0)
		r = replay_files_check_room(f, x->m->allow_fill, err);
	if (r)
		return r;

	uint32_t names = trace_names_count(f->names);
	const struct pool_task folders = { replay_part_folder, &x->parts, names };
	json_t *marker = json_pack("{s:i}", "mlgen_replay", 1);
	uint64_t asked_files = f->missing_files;
	filemaker_init(m, f->largest_missing);
	m->missing_files = f->missing_files;
	m->missing_bytes = f->missing_bytes;
	m->present_files = f->files - f->missing_files;
	m->present_bytes = f->bytes - f->missing_bytes;
	filemaker_begin(m);
	x->m->started = true;
	r = marker ? jsonfile_replace(x->parts.dir.fd, REPLAY_MARKER, marker, true) : -ENOMEM;
	json_decref(marker);
	if (r)
		mlgen_fail(err, r, "%s/%s: %s", f->directory, REPLAY_MARKER, strerror(-r));
	if (r == 0)
		r = pool_run(&m->pool, &folders, err);
	if (r == 0)
		f->missing_folders = 0;
	if (r == 0 && f->missing_files)
		r = make_files(x, err);
	x->m->made_files = count_get(&m->made_files);
	x->m->made_bytes = count_get(&m->made_bytes);
	f->missing_files -= x->m->made_files;
	f->missing_bytes -= x->m->made_bytes;
	/* Sync the names in all folders at once, because there is no list of the folders. A
	 * filesystem without syncfs() does not need it. */
	fd = r == 0 ? openat(x->parts.dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		syncfs(fd);
		close(fd);
	}
	if (r == POOL_STOPPED)
		iolayout_fail_interrupted(f->directory, x->m->made_files, asked_files, err);
	return r;
}

int replay_files_make(struct replay_files *f, struct replay_files_maker *m, struct mlgen_err *err)
{
	struct replay_making x = { .f = f,
				   .m = m,
				   .maker = { .kind = &replay_part_kind,
					      .progress = m->progress,
					      .pool = { .engine = f->job->engine,
							.engine_opts = f->job->engine_opts,
							.clock = m->clock } },
				   .parts = { .f = f, .maker = &x.maker, .dir.fd = -1 } };
	int r = replay_files_look(f, err);

	m->made_files = m->made_bytes = 0;
	m->started = false;
	if (r || !(f->missing_files || f->missing_folders))
		return r;
	r = replay_files_check_writable(f, err);
	if (r == 0)
		r = replay_files_check_room(f, m->allow_fill, err);
	if (r == 0)
		r = open_directory(&x, err);
	if (r == 0)
		r = make_locked(&x, err);
	if (x.parts.dir.fd >= 0)
		datadir_close(&x.parts.dir);
	dirlock_drop(&x.lock);
	return r;
}
