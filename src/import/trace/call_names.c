/* SPDX-License-Identifier: Apache-2.0 */
/* call_names.c - names of system calls, and of functions above them, and what they do to a file. */
#include "import/trace/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/util.h"
#include "trace/trace.h"

/* Longer than any of them, with what may stand around it. */
enum { NAME_MAX_BYTES = 48 };

/* In the order of strcmp. */
/* clang-format off */
static const struct call names[] = {
	{ "access", CALL_QUIET, TRACE_NONE, false },
	{ "chdir", CALL_QUIET, TRACE_NONE, false },
	{ "clone", CALL_FORK, TRACE_FORK, false },
	{ "clone3", CALL_FORK, TRACE_FORK, false },
	{ "close", CALL_CLOSE, TRACE_CLOSE, false },
	{ "closedir", CALL_CLOSE, TRACE_CLOSE, false },
	{ "creat", CALL_OPEN, TRACE_OPEN, false },
	{ "dup", CALL_DUP, TRACE_NONE, false },
	{ "dup2", CALL_DUP, TRACE_NONE, false },
	{ "dup3", CALL_DUP, TRACE_NONE, false },
	{ "faccessat", CALL_QUIET, TRACE_NONE, false },
	{ "faccessat2", CALL_QUIET, TRACE_NONE, false },
	{ "fadvise", CALL_AT, TRACE_ADVISE, false },
	{ "fallocate", CALL_AT, TRACE_ALLOCATE, false },
	{ "fchdir", CALL_QUIET, TRACE_NONE, false },
	{ "fclose", CALL_CLOSE, TRACE_CLOSE, true },
	{ "fcntl", CALL_QUIET, TRACE_NONE, false },
	{ "fdatasync", CALL_FILE, TRACE_FDATASYNC, false },
	{ "fdopen", CALL_QUIET, TRACE_NONE, true },
	{ "feof", CALL_QUIET, TRACE_NONE, true },
	{ "fflush", CALL_QUIET, TRACE_NONE, true },
	{ "fgetxattr", CALL_QUIET, TRACE_NONE, false },
	{ "fileno", CALL_QUIET, TRACE_NONE, true },
	{ "flistxattr", CALL_QUIET, TRACE_NONE, false },
	{ "flock", CALL_QUIET, TRACE_NONE, false },
	{ "fopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fork", CALL_FORK, TRACE_FORK, false },
	{ "fread", CALL_MOVES, TRACE_READ, true },
	{ "freopen", CALL_OPEN, TRACE_OPEN, true },
	{ "fseek", CALL_SEEK, TRACE_NONE, true },
	{ "fseeko", CALL_SEEK, TRACE_NONE, true },
	{ "fstat", CALL_FILE, TRACE_STAT, false },
	{ "fstatat", CALL_FILE, TRACE_STAT, false },
	{ "fstatfs", CALL_QUIET, TRACE_NONE, false },
	{ "fsync", CALL_FILE, TRACE_FSYNC, false },
	{ "ftell", CALL_QUIET, TRACE_NONE, true },
	{ "ftello", CALL_QUIET, TRACE_NONE, true },
	{ "fwrite", CALL_MOVES, TRACE_WRITE, true },
	{ "getcwd", CALL_QUIET, TRACE_NONE, false },
	{ "getdents", CALL_FILE, TRACE_GETDENTS, false },
	{ "getxattr", CALL_QUIET, TRACE_NONE, false },
	{ "ioctl", CALL_QUIET, TRACE_NONE, false },
	{ "lgetxattr", CALL_QUIET, TRACE_NONE, false },
	{ "listxattr", CALL_QUIET, TRACE_NONE, false },
	{ "llistxattr", CALL_QUIET, TRACE_NONE, false },
	{ "llseek", CALL_SEEK, TRACE_NONE, false },
	{ "lseek", CALL_SEEK, TRACE_NONE, false },
	{ "lstat", CALL_FILE, TRACE_STAT, false },
	{ "mkdir", CALL_FILE, TRACE_MKDIR, false },
	{ "mkdirat", CALL_FILE, TRACE_MKDIR, false },
	{ "mmap", CALL_AT, TRACE_MMAP, false },
	{ "msync", CALL_QUIET, TRACE_NONE, false },
	{ "munmap", CALL_QUIET, TRACE_NONE, false },
	{ "newfstatat", CALL_FILE, TRACE_STAT, false },
	{ "open", CALL_OPEN, TRACE_OPEN, false },
	{ "openat", CALL_OPEN, TRACE_OPEN, false },
	{ "openat2", CALL_OPEN, TRACE_OPEN, false },
	{ "opendir", CALL_OPEN, TRACE_OPEN, false },
	{ "posix_fadvise", CALL_AT, TRACE_ADVISE, false },
	{ "posix_fallocate", CALL_AT, TRACE_ALLOCATE, false },
	{ "pread", CALL_AT, TRACE_READ, false },
	{ "preadv", CALL_AT, TRACE_READ, false },
	{ "preadv2", CALL_AT, TRACE_READ, false },
	{ "pwrite", CALL_AT, TRACE_WRITE, false },
	{ "pwritev", CALL_AT, TRACE_WRITE, false },
	{ "pwritev2", CALL_AT, TRACE_WRITE, false },
	{ "read", CALL_MOVES, TRACE_READ, false },
	{ "readahead", CALL_AT, TRACE_ADVISE, false },
	{ "readdir", CALL_QUIET, TRACE_NONE, false },
	{ "readlink", CALL_QUIET, TRACE_NONE, false },
	{ "readlinkat", CALL_QUIET, TRACE_NONE, false },
	{ "readv", CALL_MOVES, TRACE_READ, false },
	{ "remove", CALL_FILE, TRACE_UNLINK, false },
	{ "rename", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat", CALL_RENAME, TRACE_RENAME, false },
	{ "renameat2", CALL_RENAME, TRACE_RENAME, false },
	{ "rewind", CALL_SEEK, TRACE_NONE, true },
	{ "rewinddir", CALL_QUIET, TRACE_NONE, false },
	{ "rmdir", CALL_FILE, TRACE_RMDIR, false },
	{ "stat", CALL_FILE, TRACE_STAT, false },
	{ "statfs", CALL_QUIET, TRACE_NONE, false },
	{ "statx", CALL_FILE, TRACE_STAT, false },
	{ "unlink", CALL_FILE, TRACE_UNLINK, false },
	{ "unlinkat", CALL_FILE, TRACE_UNLINK, false },
	{ "vfork", CALL_FORK, TRACE_FORK, false },
	{ "write", CALL_MOVES, TRACE_WRITE, false },
	{ "writev", CALL_MOVES, TRACE_WRITE, false },
};
/* clang-format on */

COMPARE_BY_TEXT(compare_names, struct call, name)

static const struct call *find_exact(const char *name)
{
	const struct call key = { .name = name };

	return bsearch(&key, names, ARRAY_LEN(names), sizeof(*names), compare_names);
}

static const char *without_prefix(const char *name)
{
	static const char *const prefixes[] = {
		"sys_enter_", "sys_exit_", "__x64_sys_", "sys_", "__x", "_",
	};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		size_t n = strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], n) == 0)
			return name + n;
	}
	return name;
}

const struct call *call_find(const char *name)
{
	const struct call *found = find_exact(name);
	char plain[NAME_MAX_BYTES];
	int n;

	if (found)
		return found;
	name = without_prefix(name);
	/* Of __lxstat and __fxstatat the x is the C library's. */
	if (strncmp(name, "_lxstat", 7) == 0)
		n = snprintf(plain, sizeof(plain), "lstat%s", name + 7);
	else if (strncmp(name, "_fxstat", 7) == 0)
		n = snprintf(plain, sizeof(plain), "fstat%s", name + 7);
	else
		n = snprintf(plain, sizeof(plain), "%s", name);
	if (n < 0 || (size_t)n >= sizeof(plain))
		return NULL;
	if (n > 2 && strcmp(plain + n - 2, "64") == 0)
		plain[n - 2] = '\0';
	return find_exact(plain);
}
