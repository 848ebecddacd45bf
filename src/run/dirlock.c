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

#define LOCK_NAME ".mlgen-dataset.lock"

static void lock_path(char path[PATH_MAX], const char *directory)
{
	snprintf(path, PATH_MAX, "%s/%s", directory, LOCK_NAME);
}

/* 0, -EBUSY, -EAGAIN when the file was removed between open and flock. */
static int lock_file(int fd)
{
	struct stat st;

	/* A filesystem without locks (ENOLCK, ENOSYS, EOPNOTSUPP) is no
	 * reason to refuse: O_EXCL still keeps two from one file. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return fstat(fd, &st) == 0 && st.st_nlink > 0 ? 0 : -EAGAIN;
}

int dirlock_take(struct dirlock *l, const char *directory,
		 struct mlgen_err *err)
{
	char path[PATH_MAX];
	int r = -EAGAIN;

	lock_path(path, directory);
	while (r == -EAGAIN) {
		l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			     0666);
		if (l->fd < 0)
			return mlgen_fail(err, -errno,
					  "%s: cannot write here: %s; another "
					  "directory, or its permissions",
					  directory, strerror(errno));
		r = lock_file(l->fd);
		if (r)
			close(l->fd);
	}
	if (r)
		return mlgen_fail(err, r,
				  "%s: another mlgen is preparing this "
				  "directory; wait until it is done",
				  directory);
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
