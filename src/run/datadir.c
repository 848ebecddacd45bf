/* SPDX-License-Identifier: Apache-2.0 */
/* datadir.c - see datadir.h. */
#include "run/datadir.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "run/datafile.h"

const char *datadir_below(const struct datadir *d, const char *path)
{
	path += strlen(d->path);
	return path + strspn(path, "/");
}

int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err)
{
	*d = (struct datadir){ .path = path, .maker = maker };
	d->fd = below_hold(path);
	return d->fd < 0 ? datafile_failed(path, MLGEN_OPEN, d->fd, err) : 0;
}

void datadir_close(struct datadir *d)
{
	close(d->fd);
}

/* "train/07" of DIRECTORY/train/07/NAME. */
static void folder_of(const struct datadir *d, const char *path, char folder[PATH_MAX])
{
	const char *below = datadir_below(d, path);
	const char *name = strrchr(below, '/');

	snprintf(folder, PATH_MAX, "%.*s", name ? (int)(name - below) : 0, below);
}

static void datadir_leave(struct crew_worker *w)
{
	if (w->folder_fd >= 0)
		close(w->folder_fd);
	w->folder_fd = -1;
}

int datadir_check_folder(int folder_fd, const char *path, struct mlgen_err *err)
{
	if (folder_fd >= 0 || folder_fd == -ENOENT)
		return 0;
	if (folder_fd == -ELOOP)
		return mlgen_fail(err, folder_fd,
				  "%s: a folder on the way is a symbolic link, and mlgen makes and "
				  "removes nothing behind one; directory= may be or lead through a "
				  "link, or remove it",
				  path);
	return datafile_failed(path, MLGEN_OPEN, folder_fd, err);
}

int datadir_hold(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	char folder[PATH_MAX];
	int r;

	folder_of(d, w->path, folder);
	if (w->folder_fd >= 0 && strcmp(folder, w->folder) == 0)
		return 0;
	datadir_leave(w);
	w->folder_fd = below_folder(d->fd, folder);
	memcpy(w->folder, folder, strlen(folder) + 1);
	r = datadir_check_folder(w->folder_fd, w->path, err);
	return r ? r : w->folder_fd < 0 ? w->folder_fd : 0;
}

/* One step down, made where it is missing; w->folder_fd follows. */
static int step(struct crew_worker *w, const char *path, const char *name, struct mlgen_err *err)
{
	struct mlgen_file file = {
		.path = path, .name = name, .dir_fd = w->folder_fd, .fd = -1, .mode = 0777
	};
	int r = crew_do(w, MLGEN_MKDIR, &file);
	int fd;

	if (r && r != -EEXIST)
		return datafile_failed(path, MLGEN_MKDIR, r, err);
	fd = below_folder(w->folder_fd, name);
	if (fd == -ENOENT)
		return datafile_failed(path, MLGEN_OPEN, fd, err);
	r = datadir_check_folder(fd, path, err);
	if (r == 0) {
		close(w->folder_fd);
		w->folder_fd = fd;
	}
	return r;
}

static int make_all(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	char *at = w->path + (datadir_below(d, w->path) - w->path), *slash;
	int r = 0;

	w->folder_fd = below_folder(d->fd, "");
	if (w->folder_fd < 0)
		return datafile_failed(d->path, MLGEN_OPEN, w->folder_fd, err);
	while (r == 0 && (slash = strchr(at, '/'))) {
		*slash = '\0';
		r = step(w, w->path, at, err);
		*slash = '/';
		at = slash + 1;
	}
	if (r) /* it holds another folder than it says */
		datadir_leave(w);
	return r;
}

int datadir_make(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err)
{
	int r = datadir_hold(d, w, err);

	return r == -ENOENT ? make_all(d, w, err) : r;
}

int datadir_check_owner(const struct datadir *d, int folder_fd, const char *path,
			struct mlgen_err *err)
{
	struct stat st;

	if (below_is_trusted(folder_fd, d->maker))
		return 0;
	if (fstat(folder_fd, &st) != 0)
		return datafile_failed(path, MLGEN_STAT, -errno, err);
	return mlgen_fail(err, -EPERM,
			  "%s: this folder is user %u's, and mlgen removes files only in folders "
			  "of user %u, as whom it makes them here, or of root; remove them by "
			  "hand, or run it as that user",
			  path, (unsigned)st.st_uid, (unsigned)d->maker);
}
