/* SPDX-License-Identifier: Apache-2.0 */
/* dirlock.c - one process at a time changes a dataset directory. */
#include "run/dirlock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below.h"
#include "io/noroom.h"

/* 0, -EBUSY, -EAGAIN when the file was removed between open and flock. */
static int lock_file(int fd, struct stat *st)
{
	/* A filesystem without locks (ENOLCK, ENOSYS, EOPNOTSUPP) is no reason to refuse: O_EXCL
	 * still keeps two from one file. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(fd, st) != 0)
		return -errno;
	return st->st_nlink > 0 ? 0 : -EAGAIN;
}

/* A killed run has left it, whoever that was: what we hold is to be ours. -EAGAIN, or another
 * -errno. */
static int remove_left(int dir_fd)
{
	const int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW;
	int fd = openat(dir_fd, DIRLOCK_NAME, flags), r;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	r = lock_file(fd, &st);
	if (r == 0)
		r = unlinkat(dir_fd, DIRLOCK_NAME, 0) == 0 || errno == ENOENT ? -EAGAIN : -errno;
	close(fd);
	return r;
}

static int make_lock(struct dirlock *l)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	struct stat st;
	int r;

	l->fd = openat(l->dir_fd, DIRLOCK_NAME, flags, 0666);
	if (l->fd < 0)
		return errno == EEXIST ? remove_left(l->dir_fd) : -errno;
	r = lock_file(l->fd, &st);
	if (r)
		close(l->fd);
	else
		l->maker = st.st_uid;
	return r;
}

static int dirlock_fail(const char *directory, int code, struct mlgen_err *err)
{
	char why[NOROOM_BYTES];

	if (code == -EBUSY)
		return mlgen_fail(
			err, code,
			"%s: another mlgen is preparing this directory; wait until it is done",
			directory);
	return mlgen_fail(err, code,
			  "%s: cannot write here: %s%s; another directory, or its permissions",
			  directory, strerror(-code), noroom_put(why, directory, code, 0));
}

/* Takes l->dir_fd over. */
static int dirlock_try(struct dirlock *l, const char *directory, struct mlgen_err *err)
{
	int r = l->dir_fd;

	if (r < 0)
		return dirlock_fail(directory, r, err);
	do
		r = make_lock(l);
	while (r == -EAGAIN || r == -EINTR);
	l->is_held = r == 0;
	if (r == 0)
		return 0;
	close(l->dir_fd);
	return dirlock_fail(directory, r, err);
}

int dirlock_take(struct dirlock *l, const char *directory, struct mlgen_err *err)
{
	l->dir_fd = below_hold(directory);
	return dirlock_try(l, directory, err);
}

int dirlock_take_at(struct dirlock *l, int dir_fd, const char *directory, struct mlgen_err *err)
{
	l->dir_fd = below_folder(dir_fd, "");
	return dirlock_try(l, directory, err);
}

void dirlock_drop(struct dirlock *l)
{
	if (!l->is_held)
		return;
	/* First, so that nobody locks a name on its way out. */
	unlinkat(l->dir_fd, DIRLOCK_NAME, 0);
	close(l->fd);
	close(l->dir_fd);
	l->is_held = false;
}
