/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.c - see jsonfile.h. */
#include "data/jsonfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/below.h"

static int write_document(FILE *to, const json_t *root, bool is_synced)
{
	errno = 0;
	if (json_dumpf(root, to, JSON_INDENT(2)) != 0 ||
	    fputc('\n', to) == EOF || fflush(to) == EOF)
		return errno ? -errno : -EIO;
	if (is_synced && fsync(fileno(to)) != 0)
		return -errno;
	return 0;
}

static int write_file(int folder_fd, const char *name, const json_t *root,
		      bool is_synced)
{
	int fd = below_create(folder_fd, name);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	int r;

	if (fd < 0)
		return fd;
	if (!to) {
		r = -errno;
		close(fd);
		return r;
	}
	r = write_document(to, root, is_synced);
	if (fclose(to) != 0 && r == 0)
		r = -errno;
	return r;
}

int jsonfile_replace(int folder_fd, const char *name, const json_t *root,
		     bool is_synced)
{
	char temporary[NAME_MAX + 1];
	int n = snprintf(temporary, sizeof(temporary), ".%s.part", name);
	int r;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	r = write_file(folder_fd, temporary, root, is_synced);
	if (r == 0 && renameat(folder_fd, temporary, folder_fd, name) != 0)
		r = -errno;
	if (r)
		unlinkat(folder_fd, temporary, 0);
	return r || !is_synced ? r : below_sync(folder_fd);
}
