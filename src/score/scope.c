/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - which files of a trace are data set or checkpoint, by their paths. */
#include "score/scope.h"

#include <stddef.h>
#include <string.h>

#include "base/util.h"

static const char *const folders[] = {
	"/proc/",  "/sys/", "/etc/",  "/usr/",     "/lib/",       "/lib32/",
	"/lib64/", "/bin/", "/sbin/", "/var/log/", "/var/cache/", "/run/",
};

static const char *const inside[] = { "/site-packages/", "/dist-packages/",
				      "/__pycache__/", ".so." };

static const char *const endings[] = { ".so", ".py", ".pyc", ".log" };

/* As /proc/PID/fd has those that are no files. */
static const char *const no_files[] = { "pipe:[", "socket:[",
					"anon_inode:", "/memfd:", "/dmabuf:" };

/* Those of sem_open() are in memory, and hold no data. */
static const char *const semaphores = "/dev/shm/sem.";

static bool begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

static bool ends(const char *path, const char *with)
{
	size_t length = strlen(path), n = strlen(with);

	return length >= n && strcmp(path + length - n, with) == 0;
}

bool scope_has(const char *path)
{
	if (!*path)
		return false;
	/* Files in memory are files. */
	if (begins(path, "/dev/") &&
	    (!begins(path, "/dev/shm/") || begins(path, semaphores)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (begins(path, folders[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(no_files); i++)
		if (begins(path, no_files[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (strstr(path, inside[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (ends(path, endings[i]))
			return false;
	return true;
}
