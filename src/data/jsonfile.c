/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.c - see jsonfile.h. */
#include "data/jsonfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int write_file(const char *path, const json_t *root, bool is_synced)
{
	FILE *to = fopen(path, "we");
	int r = 0;

	if (!to)
		return -errno;
	errno = 0;
	if (json_dumpf(root, to, JSON_INDENT(2)) != 0 ||
	    fputc('\n', to) == EOF || fflush(to) == EOF)
		r = errno ? -errno : -EIO;
	else if (is_synced && fsync(fileno(to)) != 0)
		r = -errno;
	if (fclose(to) != 0 && r == 0)
		r = -errno;
	return r;
}

static int put_together(char out[PATH_MAX], const char *directory,
			const char *before, const char *name, const char *after)
{
	int n = snprintf(out, PATH_MAX, "%s/%s%s%s", directory, before, name,
			 after);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int jsonfile_replace(const char *directory, const char *name,
		     const json_t *root, bool is_synced)
{
	char temporary[PATH_MAX], path[PATH_MAX];
	int r = put_together(temporary, directory, ".", name, ".part");

	if (r == 0)
		r = put_together(path, directory, "", name, "");
	if (r)
		return r;
	r = write_file(temporary, root, is_synced);
	if (r == 0 && rename(temporary, path) != 0)
		r = -errno;
	if (r)
		unlink(temporary);
	return r || !is_synced ? r : jsonfile_sync_directory(directory);
}

int jsonfile_sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	/* EINVAL: a filesystem that knows no such thing. */
	if (fsync(fd) != 0 && errno != EINVAL)
		r = -errno;
	close(fd);
	return r;
}
