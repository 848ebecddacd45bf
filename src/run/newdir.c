/* SPDX-License-Identifier: Apache-2.0 */
/* newdir.c - see newdir.h. */
#include "run/newdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dirs.h"
#include "io/fstab.h"

/* The last component goes; false where the path is the root or "." already. */
static bool cut_last(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	char *slash = strrchr(path, '/');
	if (strcmp(path, "/") == 0 || strcmp(path, ".") == 0)
		return false;
	if (slash)
		slash[slash == path] = '\0';
	else
		memcpy(path, ".", 2);
	return true;
}

/* Cut `path` to what is there: how many components are not, of which the first is left in
 * `missing`. */
static unsigned cut_missing(char path[PATH_MAX], char missing[PATH_MAX])
{
	char at[PATH_MAX];
	unsigned count = 0;

	memcpy(at, path, PATH_MAX);
	while (access(path, F_OK) != 0 && errno == ENOENT && cut_last(at)) {
		memcpy(missing, path, PATH_MAX);
		memcpy(path, at, PATH_MAX);
		count++;
	}
	return count;
}

static bool is_empty_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_empty = fd >= 0 && dirs_is_empty(fd);

	if (fd >= 0)
		close(fd);
	return is_empty;
}

const char *newdir_put_place(struct newdir_place *to, const struct job *j, const char *option,
			     const char *path)
{
	const struct diag_place at = j->origins ? job_place(j, option) : j->at;
	size_t len = 0;

	if (at.file)
		len = (size_t)snprintf(to->text, sizeof(to->text), "%s:%u: ", at.file, at.line);
	if (len < sizeof(to->text))
		snprintf(to->text + len, sizeof(to->text) - len, "%s: %s of job '%s'", option, path,
			 j->name);
	return to->text;
}

int newdir_check(const struct job *j, const char *option, const char *path, struct mlgen_err *err)
{
	char at[PATH_MAX], missing[PATH_MAX], real[PATH_MAX];
	struct newdir_place place;

	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return 0; /* whoever makes it says so */
	unsigned count = cut_missing(at, missing);
	if (path[0] == '/' && count > 1)
		return mlgen_fail(err, -ENOENT,
				  "%s: %s is not there, and of an absolute path only the last "
				  "folder is made; mount what belongs there, or make it",
				  newdir_put_place(&place, j, option, path), missing);
	if (realpath(at, real) && is_empty_directory(real) && fstab_awaits("", real))
		return mlgen_fail(err, -ENOENT,
				  "%s: nothing is mounted on %s, for which fstab has a filesystem; "
				  "mount it, or name another directory",
				  newdir_put_place(&place, j, option, path), real);
	return 0;
}
