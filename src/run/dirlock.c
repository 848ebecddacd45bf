/* SPDX-License-Identifier: Apache-2.0 */
/* dirlock.c - one process at a time changes a dataset directory. */
#include "run/dirlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/noroom.h"

#define LOCK_NAME ".mlgen-dataset.lock"

static void lock_path(char path[PATH_MAX], const char *directory)
{
	snprintf(path, PATH_MAX, "%s/%s", directory, LOCK_NAME);
}

/* 0, -EBUSY, -EAGAIN when the file was removed between open and flock. */
static int lock_file(int fd, struct stat *st)
{
	/* A filesystem without locks (ENOLCK, ENOSYS, EOPNOTSUPP) is no
	 * reason to refuse: O_EXCL still keeps two from one file. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(fd, st) != 0)
		return -errno;
	return st->st_nlink > 0 ? 0 : -EAGAIN;
}

/* A killed run has left it, whoever that was: what we hold is to be ours. -EAGAIN,
 * or another -errno. */
static int remove_left(const char *path)
{
	const int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW;
	int fd = open(path, flags), r;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	r = lock_file(fd, &st);
	if (r == 0)
		r = unlink(path) == 0 || errno == ENOENT ? -EAGAIN : -errno;
	close(fd);
	return r;
}

static int make_lock(struct dirlock *l, const char *path)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
	struct stat st;
	int r;

	l->fd = open(path, flags, 0666);
	if (l->fd < 0)
		return errno == EEXIST ? remove_left(path) : -errno;
	r = lock_file(l->fd, &st);
	if (r)
		close(l->fd);
	else
		l->maker = st.st_uid;
	return r;
}

int dirlock_take(struct dirlock *l, const char *directory,
		 struct mlgen_err *err)
{
	char path[PATH_MAX], why[NOROOM_BYTES];
	int r;

	lock_path(path, directory);
	do
		r = make_lock(l, path);
	while (r == -EAGAIN || r == -EINTR);
	if (r == -EBUSY)
		return mlgen_fail(err, r,
				  "%s: another mlgen is preparing this "
				  "directory; wait until it is done",
				  directory);
	if (r)
		return mlgen_fail(err, r,
				  "%s: cannot write here: %s%s; another "
				  "directory, or its permissions",
				  directory, strerror(-r),
				  noroom_put(why, directory, r, 0));
	l->directory = directory;
	l->is_held = true;
	return 0;
}

void dirlock_drop(struct dirlock *l)
{
	char path[PATH_MAX];

	if (!l->is_held)
		return;
	lock_path(path, l->directory);
	unlink(path); /* first, so that nobody locks a name on its way out */
	close(l->fd);
	l->is_held = false;
}
