/* SPDX-License-Identifier: Apache-2.0 */
/* dropcaches.c - see dropcaches.h. */
#include "io/dropcaches.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DROP_PATH "/proc/sys/vm/drop_caches"
#define DROP_ALL "3\n" /* the page cache, and dentries and inodes */

static int dropcaches_fail(int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "drop_caches: " DROP_PATH
			  ": %s; %s. --drop_caches=no leaves this host's caches as they are, and "
			  "what they hold is then not read from storage",
			  strerror(-code),
			  code == -EROFS ? "a container mostly has it read-only: run mlgen outside"
					 : "it takes root");
}

static int open_it(const char *root, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, DROP_PATH);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? dropcaches_fail(-errno, err) : fd;
}

int dropcaches_check(const char *root, struct mlgen_err *err)
{
	int fd = open_it(root, err);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int dropcaches_run(const char *root, struct mlgen_err *err)
{
	int fd = open_it(root, err);
	int rc = 0;

	if (fd < 0)
		return fd;
	sync();
	if (write(fd, DROP_ALL, strlen(DROP_ALL)) < 0)
		rc = dropcaches_fail(-errno, err);
	close(fd);
	return rc;
}
