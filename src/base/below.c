/* SPDX-License-Identifier: Apache-2.0 */
/* below.c - see below.h. */
#include "base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOLD (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* A filesystem in user space may be interrupted. */
static int open_at(int dir_fd, const char *name, int flags)
{
	int fd;

	do
		fd = openat(dir_fd, name, flags, 0666);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

int below_hold(const char *path)
{
	return open_at(AT_FDCWD, path, HOLD);
}

/* One step down; of a link the kernel says only that it is no folder. */
static int step(int dir_fd, const char *name)
{
	int fd = open_at(dir_fd, name, HOLD | O_NOFOLLOW);
	struct stat st;

	if (fd == -ENOTDIR && fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		fd = -ELOOP;
	return fd;
}

/* The next name of `relative`, which is moved behind it. 1, 0 at the end, or -errno. */
static int next_name(const char **relative, char name[NAME_MAX + 1])
{
	size_t length = strcspn(*relative, "/");

	if (length == 0)
		return **relative ? -EINVAL : 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *relative, length);
	name[length] = '\0';
	*relative += length + ((*relative)[length] == '/');
	return strcmp(name, "..") == 0 ? -EINVAL : 1;
}

/* All steps in one call, where the kernel has it (5.6) and nothing is in the way; what is, the
 * single steps find out. */
static int all_steps(int dir_fd, const char *relative)
{
	const struct open_how how = { .flags = HOLD,
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

	if (!*relative || strstr(relative, "..") || strstr(relative, "//"))
		return -1;
	return (int)syscall(SYS_openat2, dir_fd, relative, &how, sizeof(how));
}

int below_folder(int dir_fd, const char *relative)
{
	char name[NAME_MAX + 1];
	int fd = all_steps(dir_fd, relative);
	int r, below;

	if (fd >= 0)
		return fd;
	fd = open_at(dir_fd, ".", HOLD);
	if (fd < 0)
		return fd;
	while ((r = next_name(&relative, name)) > 0) {
		below = step(fd, name);
		close(fd);
		if (below < 0)
			return below;
		fd = below;
	}
	if (r == 0)
		return fd;
	close(fd);
	return r;
}

int below_create(int dir_fd, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = open_at(dir_fd, name, flags);

	if (fd != -EEXIST)
		return fd;
	if (unlinkat(dir_fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	return open_at(dir_fd, name, flags);
}

int below_maker(int made_fd, uid_t *maker)
{
	struct stat st;

	if (fstat(made_fd, &st) != 0)
		return -errno;
	*maker = st.st_uid;
	return 0;
}

bool below_is_trusted(int folder_fd, uid_t maker)
{
	struct stat st;

	return fstat(folder_fd, &st) == 0 && (st.st_uid == maker || st.st_uid == 0);
}

int below_sync(int folder_fd)
{
	int fd = open_at(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return fd;
	/* EINVAL: a filesystem that knows no such thing. */
	if (fsync(fd) != 0 && errno != EINVAL)
		r = -errno;
	close(fd);
	return r;
}

int below_lock(int dir_fd)
{
	int fd = open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return fd;
	do
		rc = flock(fd, LOCK_EX) == 0 ? 0 : -errno;
	while (rc == -EINTR);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

void below_unlock(int lock_fd)
{
	if (lock_fd >= 0)
		close(lock_fd);
}
