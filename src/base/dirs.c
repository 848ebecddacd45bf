/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.c - see dirs.h. */
#include "base/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filekind.h"
#include "base/mem.h"

static int make_one(const char *path, bool *made)
{
	/* Of one that exists, a read-only filesystem may say EROFS. */
	if (access(path, F_OK) == 0)
		return 0;
	if (mkdir(path, 0777) != 0)
		return errno == EEXIST ? 0 : -errno;
	if (made)
		*made = true;
	return 0;
}

int dirs_make(char *path, bool *made)
{
	char *slash = path;

	do {
		int r;

		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		r = make_one(path, made);
		if (r)
			return r;
		if (slash)
			*slash = '/';
	} while (slash);
	return 0;
}

bool dirs_can_write(const char *path)
{
	char *part = mem_strdup(path);

	while (access(part, F_OK) && strcmp(part, ".") && strcmp(part, "/")) {
		char *slash = strrchr(part, '/');

		if (slash == part)
			slash++;
		if (slash)
			*slash = '\0';
		else
			mem_replace(&part, ".");
	}
	bool can = faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) == 0;
	mem_free(part);
	return can;
}

bool dirs_is_empty(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool empty = d != NULL;

	while (d && (e = readdir(d)))
		empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return empty;
}

const char *dirs_in_the_way(char out[DIRS_WAY_BYTES], const char *path, int code)
{
	char at[PATH_MAX];
	struct stat st;
	char *slash = at;

	out[0] = '\0';
	if (code != -ENOTDIR || (size_t)snprintf(at, sizeof(at), "%s", path) >= sizeof(at))
		return out;
	while (slash && stat(at, &st) != 0) {
		slash = strrchr(at, '/');
		if (slash)
			*slash = '\0';
	}
	if (slash && !S_ISDIR(st.st_mode)) {
		const char *other = filekind_other(st.st_mode);

		snprintf(out, DIRS_WAY_BYTES, "; %s is %s: name another directory, or move it away",
			 at, other ? other : "a regular file");
	}
	return out;
}
