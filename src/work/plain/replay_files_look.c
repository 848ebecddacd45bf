/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_look.c - which files of a replay are there, and which are missing. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "base/dirs.h"
#include "base/filekind.h"
#include "base/jsonfile.h"
#include "base/units.h"
#include "base/util.h"
#include "io/mount.h"
#include "run/make/make.h"
#include "work/plain/replay_inside.h"

/* What the statics below work on. */
struct looking {
	struct replay_files *f;
	struct replay_place place;
	char path[PATH_MAX]; /* of the file */
	/* That it is in: names are often of the same one as the one before. */
	char folder[PATH_MAX];
	int folder_fd; /* or -errno; -EBADF = none yet */
};

/* ---- the directory ---- */

static const char marker_part[] = JSONFILE_PART(REPLAY_MARKER);

static bool is_a_name_of_ours(const char *name)
{
	static const char *const ours[] = { ".", "..", "lost+found", DIRLOCK_NAME, marker_part };

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return true;
	return false;
}

/* But for what a filesystem has by itself, and a killed run leaves. */
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
		*empty = is_a_name_of_ours(e->d_name);
	if (d)
		closedir(d);
	return r;
}

static int directory_fail(const struct replay_files *f, int code, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	return mlgen_fail(err, code, "directory: %s: %s%s", f->directory, strerror(-code),
			  dirs_in_the_way(way, f->directory, code));
}

int replay_place_look(struct replay_place *p, const struct replay_files *f, struct mlgen_err *err)
{
	struct stat st;
	int r = 0;

	*p = (struct replay_place){ .fd = below_hold(f->directory) };
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
	replay_place_leave(p);
	return directory_fail(f, r, err);
}

void replay_place_leave(struct replay_place *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* ---- one file ---- */

/* Of what the trace makes itself it is the folder that is missing. */
static void missing(struct replay_files *f, struct replay_file *file)
{
	if (file->flags & REPLAY_FILE_THERE)
		file->flags |= REPLAY_FILE_MISSING;
	if (file->flags & REPLAY_FILE_FOLDER || !(file->flags & REPLAY_FILE_THERE)) {
		f->missing_folders++;
		return;
	}
	f->missing_files++;
	f->missing_bytes = replay_sum(f->missing_bytes, file->bytes);
	f->largest_missing = u64_max(f->largest_missing, file->bytes);
}

static int in_the_way(const struct looking *x, struct mlgen_err *err)
{
	return mlgen_fail(err, -EEXIST,
			  "%s: is in the way, and there is no %s in %s that says mlgen made it for "
			  "a replay; name a directory that is empty or new, or remove it",
			  x->path, REPLAY_MARKER, x->f->directory);
}

static int wrong_kind(const struct looking *x, const struct stat *st, bool is_folder,
		      struct mlgen_err *err)
{
	const char *other = S_ISLNK(st->st_mode) ? "a symbolic link" : filekind_other(st->st_mode);

	return mlgen_fail(err, S_ISLNK(st->st_mode) ? -ELOOP : -EEXIST,
			  "%s: is %s, and in the trace a %s; remove it, or name another directory",
			  x->path, other ? other : "a regular file", is_folder ? "folder" : "file");
}

static int check_access(const struct looking *x, const struct replay_file *file, const char *name,
			struct mlgen_err *err)
{
	bool writes = file->flags & REPLAY_FILE_CHANGED;

	if (faccessat(x->folder_fd, name, writes ? R_OK | W_OK : R_OK, AT_EACCESS) == 0)
		return 0;
	return mlgen_fail(err, -errno, "%s: cannot be %s: %s", x->path, writes ? "written" : "read",
			  strerror(errno));
}

/* A file that has other names, too, may be anybody's: what is written to it would be in all of
 * them. */
static bool is_as_it_should_be(const struct replay_file *file, const struct stat *st)
{
	if (file->flags & REPLAY_FILE_CHANGED && st->st_nlink > 1)
		return false;
	return !(file->flags & REPLAY_FILE_THERE) || (uint64_t)st->st_size == file->bytes;
}

/* What was made for a trace that only writes it has space, and is no storage to read. */
static bool has_holes(const struct looking *x, const struct replay_file *file, const char *name)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC;
	off_t hole;
	int fd;

	if (!x->place.is_marked || !(file->flags & REPLAY_FILE_THERE) ||
	    !(file->flags & REPLAY_FILE_READ))
		return false;
	fd = openat(x->folder_fd, name, flags);
	if (fd < 0)
		return false;
	hole = lseek(fd, 0, SEEK_HOLE);
	close(fd);
	return hole >= 0 && (uint64_t)hole < file->bytes;
}

/* The trace does not say of what kind it is: it has only seen it, by a stat, or gives its name to
 * something by a rename, as a replay before has done. */
static bool may_be_folder(const struct replay_file *file)
{
	unsigned flags = file->flags;

	return !(flags & REPLAY_FILE_READ) &&
	       (!(flags & REPLAY_FILE_CHANGED) ||
		(flags & REPLAY_FILE_MADE && !(flags & REPLAY_FILE_THERE)));
}

static int is_there(struct looking *x, struct replay_file *file, const char *name,
		    const struct stat *st, struct mlgen_err *err)
{
	bool is_folder = file->flags & REPLAY_FILE_FOLDER;

	if (S_ISDIR(st->st_mode) && may_be_folder(file) &&
	    (x->place.is_marked || !(file->flags & REPLAY_FILE_CHANGED)))
		return 0;
	if (is_folder ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
		return wrong_kind(x, st, is_folder, err);
	if (!x->place.is_marked &&
	    (file->flags & REPLAY_FILE_CHANGED || (!is_folder && !is_as_it_should_be(file, st))))
		return in_the_way(x, err);
	if (is_folder)
		return 0;
	if (is_as_it_should_be(file, st) && !has_holes(x, file, name))
		return check_access(x, file, name, err);
	if (file->flags & REPLAY_FILE_THERE) {
		missing(x->f, file);
		return 0;
	}
	return mlgen_fail(err, -EMLINK,
			  "%s: has other names, too, and what the replay writes would be in all of "
			  "them; remove it",
			  x->path);
}

static int folder_fail(const struct looking *x, int code, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];

	if (code != -ENOTDIR)
		return datadir_check_folder(code, x->path, err);
	return mlgen_fail(err, code, "%s: %s%s", x->path, strerror(ENOTDIR),
			  dirs_in_the_way(way, x->path, code));
}

/* x->folder_fd is that of x->path, whose last step becomes *name: 0 or -errno, without err. */
static int hold_folder(struct looking *x, const char **name)
{
	const char *below = x->path + replay_root(x->f->directory);
	const char *slash;
	size_t bytes;

	below += *below == '/';
	slash = strrchr(below, '/');
	bytes = slash ? (size_t)(slash - below) : 0;
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

/* There is none that it could be in, -ENOENT or -ENOTDIR: is there the one that the trace makes its
 * folder in, if it does? */
static int has_no_folder(struct looking *x, uint32_t id, int code, struct mlgen_err *err)
{
	size_t made_above = replay_names_made_above(x->f, id);
	const char *name;

	if (made_above) {
		x->path[replay_root(x->f->directory) + made_above] = '\0';
		code = hold_folder(x, &name);
	}
	if (code == -ENOENT)
		missing(x->f, replay_file(x->f, id));
	return code && code != -ENOENT ? folder_fail(x, code, err) : 0;
}

static int look_at_file(struct looking *x, uint32_t id, struct mlgen_err *err)
{
	struct replay_file *file = replay_file(x->f, id);
	const char *name;
	struct stat st;
	int r;

	file->flags &= ~(unsigned)REPLAY_FILE_MISSING;
	if (x->place.is_empty) {
		missing(x->f, file);
		return 0;
	}
	replay_files_path(x->f, id, x->path); /* it is known to fit */
	r = hold_folder(x, &name);
	if (r == -ENOENT || r == -ENOTDIR)
		return has_no_folder(x, id, r, err);
	if (r)
		return folder_fail(x, r, err);
	if (fstatat(x->folder_fd, *name ? name : ".", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return is_there(x, file, name, &st, err);
	if (errno != ENOENT)
		return mlgen_fail(err, -errno, "%s: %s", x->path, strerror(errno));
	if (file->flags & REPLAY_FILE_THERE)
		missing(x->f, file);
	return 0;
}

/* ---- all of them ---- */

/* Nothing is made beside what others have. */
static int check_place(const struct looking *x, struct mlgen_err *err)
{
	const struct replay_files *f = x->f;

	if (x->place.is_empty || x->place.is_marked ||
	    !(f->missing_files || f->missing_folders || f->changed_files))
		return 0;
	return mlgen_fail(err, -ENOTEMPTY,
			  "directory: %s: is not empty, and there is no %s in it that says mlgen "
			  "made it for a replay; name one that is empty or new, such as %s/replay",
			  f->directory, REPLAY_MARKER,
			  replay_root(f->directory) ? f->directory : "");
}

static int look_below(struct looking *x, struct mlgen_err *err)
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
	return r ? r : check_place(x, err);
}

int replay_files_look(struct replay_files *f, struct mlgen_err *err)
{
	struct looking x = { .f = f, .folder_fd = -EBADF };
	int r = replay_names_settle(f, err);

	if (r || !job_touches_files(f->job))
		return r;
	if (f->job->replay_files == REPLAY_TRACED)
		r = replay_traced_look(f, err);
	if (r || !f->uses_directory)
		return r;
	r = replay_place_look(&x.place, f, err);
	if (r)
		return r;
	r = look_below(&x, err);
	replay_place_leave(&x.place);
	return r;
}

/* ---- may they be made? ---- */

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
		.way_out = f->are_devices ? "a smaller replay_span=, another directory="
					  : "another directory=",
		.or_fill = ", or --allow_fill"
	};
	struct mount m;
	int r;

	if (!f->missing_files || !job_touches_files(f->job))
		return 0;
	r = mount_read(&m, f->directory, err);
	if (r)
		return r;
	room.free_bytes = m.free_bytes;
	return filemaker_check_room(&room, err);
}
