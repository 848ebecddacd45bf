/* SPDX-License-Identifier: Apache-2.0 */
/* filekind.c - see filekind.h. */
#include "base/filekind.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND(what) what, "is " what ", and no regular file"

static const struct kind {
	mode_t type;
	const char *name, *wrong;
} kinds[] = {
	{ S_IFDIR, KIND("a directory") },    { S_IFIFO, KIND("a fifo") },
	{ S_IFSOCK, KIND("a socket") },      { S_IFCHR, KIND("a character device") },
	{ S_IFBLK, KIND("a block device") }, { S_IFLNK, KIND("a symbolic link") },
	{ 0, KIND("something else") },
};

/* NULL for a regular file. */
static const struct kind *kind_of(mode_t mode)
{
	const struct kind *k = kinds;

	if (S_ISREG(mode))
		return NULL;
	while (k->type && k->type != (mode & S_IFMT))
		k++;
	return k;
}

const char *filekind_other(mode_t mode)
{
	const struct kind *k = kind_of(mode);

	return k ? k->name : NULL;
}

int filekind_check(const char *path, const char *advice, struct mlgen_err *err)
{
	const char *other = NULL;
	struct stat st;

	if (stat(path, &st) == 0)
		other = filekind_other(st.st_mode);
	if (!other)
		return 0;
	return mlgen_fail(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
			  "%s: is %s, and no regular file%s", path, other, advice);
}

static const char *wrong_of(const struct stat *st)
{
	const struct kind *k = kind_of(st->st_mode);

	return k ? k->wrong : NULL;
}

/* Of a descriptor that was opened. */
static int take_regular(int fd, uint64_t most_bytes, FILE **out, const char **wrong)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	*wrong = wrong_of(&st);
	if (*wrong)
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if ((uint64_t)st.st_size > most_bytes) {
		*wrong = "is too large to be one";
		return -EFBIG;
	}
	*out = fdopen(fd, "r");
	return *out ? 0 : -errno;
}

int filekind_open(FILE **out, int dir_fd, const char *path, int flags, uint64_t most_bytes,
		  const char **wrong)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
	struct stat st;
	int rc;

	*out = NULL;
	*wrong = NULL;
	if (fd < 0) { /* a socket, a link, a device that there is none of */
		rc = -errno;
		if (rc != -ENOENT &&
		    fstatat(dir_fd, path, &st, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0)
			*wrong = wrong_of(&st);
		return rc;
	}
	rc = take_regular(fd, most_bytes, out, wrong);
	if (rc < 0)
		close(fd);
	return rc;
}
