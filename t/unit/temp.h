/* SPDX-License-Identifier: Apache-2.0 */
/* temp.h - folders and files of a test's own, below TMPDIR, and their removal. */
#pragma once

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Room for a path, where TMPDIR has up to 93 bytes, and for one below it. */
#define TEMP_BYTES 112
#define TEMP_BELOW 192

/* Where most tests put their files: TMPDIR, which may be in memory, or /tmp. */
static inline const char *temp_place(void)
{
	const char *place = getenv("TMPDIR");

	return place && *place ? place : "/tmp";
}

static inline bool temp_is_memory(const char *path)
{
	struct statfs s;

	return statfs(path, &s) == 0 && s.f_type == TMPFS_MAGIC;
}

/* For what only a disk shows: blocks, the page cache, direct I/O. */
static inline const char *temp_disk(void)
{
	const char *disk = getenv("DISK_TMPDIR");

	if (disk && *disk)
		return disk;
	return temp_is_memory(temp_place()) ? "/var/tmp" : temp_place();
}

/* For files that are often flushed or replaced: both wait for a disk. */
static inline const char *temp_memory(void)
{
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temp_place();
}

/* TMPDIR is `place` for the code under test, until it is given back by NULL. */
static inline void temp_pretend(const char *place)
{
	static char *before;

	if (place) {
		before = strdup(temp_place());
		setenv("TMPDIR", place, 1);
		return;
	}
	setenv("TMPDIR", before, 1);
	free(before);
}

static inline void temp_name(char path[TEMP_BYTES], const char *place)
{
	int len = snprintf(path, TEMP_BYTES, "%s/mlgen-unit.XXXXXX", place);

	ck_assert_msg(len < TEMP_BYTES, "%s is too long for TMPDIR", place);
}

static inline void temp_folder_in(char path[TEMP_BYTES], const char *place)
{
	temp_name(path, place);
	ck_assert_msg(mkdtemp(path) != NULL, "%s: %s", path, strerror(errno));
}

static inline void temp_folder(char path[TEMP_BYTES])
{
	temp_folder_in(path, temp_place());
}

/* An empty file, open for reading and writing. */
static inline int temp_file_in(char path[TEMP_BYTES], const char *place)
{
	int fd;

	temp_name(path, place);
	fd = mkstemp(path);
	ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

static inline int temp_file(char path[TEMP_BYTES])
{
	return temp_file_in(path, temp_place());
}

/* The folders that `path` lies in, where there are none yet. */
static inline void temp_parents(const char *path)
{
	char folder[PATH_MAX];

	for (size_t i = 0; path[i]; i++) {
		if (i > 0 && path[i] == '/') {
			folder[i] = '\0';
			mkdir(folder, 0755);
		}
		folder[i] = path[i];
	}
}

/* How many files below the folder have such a name. */
static inline unsigned temp_count(const char *folder, const char *pattern)
{
	char path[PATH_MAX];
	unsigned n = 0;
	struct dirent *e;
	DIR *d = opendir(folder);

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		n += e->d_type == DT_DIR ? temp_count(path, pattern)
					 : fnmatch(pattern, e->d_name, 0) == 0;
	}
	if (d)
		closedir(d);
	return n;
}

static inline void temp_remove_at(int folder, const char *name)
{
	struct dirent *e;
	int fd;
	DIR *d;

	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return;
	fchmodat(folder, name, 0700, 0);
	fd = openat(folder, name, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: %s", name, strerror(errno));
	d = fdopendir(fd);
	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			temp_remove_at(fd, e->d_name);
	closedir(d);
	ck_assert_msg(unlinkat(folder, name, AT_REMOVEDIR) == 0, "%s: %s", name, strerror(errno));
}

/* Remove a file, or a folder with all that is in it; it may be gone already. */
static inline void temp_remove(const char *path)
{
	temp_remove_at(AT_FDCWD, path);
}
