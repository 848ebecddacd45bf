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

#include "data/file/file.h"
#include "temp.h"

static char directory[TEMP_BYTES], log_path[TEMP_BELOW];

static struct mlgen_err err;

/* What is said on stderr goes to a file that tests may read. */
static inline void set_up(void)
{
	int fd;

	temp_folder(directory);
	snprintf(log_path, sizeof(log_path), "%s.log", directory);
	fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(chdir(directory), 0);
}

static inline void tear_down(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	temp_remove(directory);
	unlink(log_path);
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
