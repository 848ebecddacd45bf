/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - which files of a trace are data set or checkpoint, by their paths. */
#include "tracing/score/scope.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "trace/trace.h"

static const char *const folders[] = {
	"/proc/",  "/sys/", "/etc/",  "/usr/",     "/lib/",       "/lib32/",
	"/lib64/", "/bin/", "/sbin/", "/var/log/", "/var/cache/", "/run/",
};

static const char *const inside[] = { "/site-packages/", "/dist-packages/", "/__pycache__/", ".so.",
				      "/pymp-" };

static const char *const endings[] = { ".so", ".py", ".pyc", ".log" };

/* As /proc/PID/fd has those that are no files. */
static const char *const no_files[] = { "pipe:[", "socket:[",
					"anon_inode:", "/memfd:", "/dmabuf:" };

/* What processes share, and no data set: semaphores of sem_open(), what PyTorch's loaders hand
 * over, Python's SharedMemory, NCCL, Open MPI. */
static const char *const shared[] = {
	"/dev/shm/sem.",  "/dev/shm/torch_",         "/dev/shm/psm_",
	"/dev/shm/nccl-", "/dev/shm/vader_segment.",
};

static bool scope_begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

static bool scope_ends(const char *path, const char *with)
{
	size_t length = strlen(path), n = strlen(with);

	return length >= n && strcmp(path + length - n, with) == 0;
}

bool scope_has(const char *path)
{
	if (!*path)
		return false;
	/* Files in memory are files. */
	if (scope_begins(path, "/dev/") && !scope_begins(path, "/dev/shm/"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		if (scope_begins(path, shared[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (scope_begins(path, folders[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(no_files); i++)
		if (scope_begins(path, no_files[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (strstr(path, inside[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (scope_ends(path, endings[i]))
			return false;
	return true;
}

/* _RandomNameSequence of its tempfile.py. */
bool scope_is_probe(const char *path, const struct trace_record *first)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *name = strrchr(path, '/');
	const uint64_t new_file = O_CREAT | O_EXCL | O_RDWR;

	return name && strspn(name + 1, letters) == 8 && !name[9] && first->op == TRACE_OPEN &&
	       first->len_bytes != TRACE_UNKNOWN && (first->len_bytes & new_file) == new_file;
}
