/* SPDX-License-Identifier: Apache-2.0 */
/* scan_rig.h - a folder that is listed. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "data/format.h"

static char directory[64], log_path[80];

static struct mlgen_err err;

/* What is said on stderr goes to a file that tests may read. */
static inline void set_up(void)
{
	int fd;

	snprintf(directory, sizeof(directory), "/tmp/mlgen-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(log_path, sizeof(log_path), "%s.log", directory);
	fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(chdir(directory), 0);
}

static inline void tear_down(void)
{
	char command[256];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof(command),
		 "chmod -R u+rwx '%s'; rm -rf '%s' '%s'", directory, directory,
		 log_path);
	ck_assert_int_eq(system(command), 0);
}

static inline void put(const char *path, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

static inline void folder(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0755), 0);
}
