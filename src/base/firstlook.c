/* SPDX-License-Identifier: Apache-2.0 */
/* firstlook.c - what a path leads to is known before it is opened. */
#include "base/firstlook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_rdev == b->st_rdev;
}

int firstlook(const char *path, struct stat *st)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc = fd < 0 || fstat(fd, st) < 0 ? -errno : 0;

	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

int firstlook_open(int looked_at, const char *path, const struct stat *st, int flags)
{
	char link[32];
	struct stat opened;
	int fd, rc = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", looked_at);
	fd = open(link, flags | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened) < 0)
		rc = -errno;
	else if (!is_same_file(&opened, st))
		rc = -ESTALE;
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}
