/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - a file that appears whole or not at all. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

static int fail(const char *path, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error, "%s: cannot be written: %s",
			  path ? path : "standard output", strerror(error));
}

/* A device, a pipe, or a link to nothing yet. */
static int open_in_place(struct output *o, struct mlgen_err *err)
{
	o->fd = open(o->path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, 0666);
	return o->fd < 0 ? fail(o->path, errno, err) : 0;
}

/* The mode of the file that is replaced, or what the umask leaves. */
static mode_t wanted_mode(const struct stat *old)
{
	if (old)
		return old->st_mode & 07777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static int open_beside(struct output *o, const struct stat *old,
		       struct mlgen_err *err)
{
	struct buf name = { 0 };
	buf_addf(&name, "%s.XXXXXX", o->path);
	o->temporary = buf_take(&name);
	o->fd = mkostemp(o->temporary, O_CLOEXEC);
	if (o->fd < 0) {
		int error = errno;
		mem_free(o->temporary);
		o->temporary = NULL;
		return fail(o->path, error, err);
	}
	if (fchmod(o->fd, wanted_mode(old)))
		return fail(o->path, errno, err);
	return 0;
}

/* The file behind all links, so that the rename replaces that one. */
static int resolve(struct output *o, struct mlgen_err *err)
{
	char *real = realpath(o->path, NULL);
	if (!real)
		return fail(o->path, errno, err);
	mem_replace(&o->path, real);
	free(real);
	return 0;
}

static int open_existing(struct output *o, const struct stat *old,
			 struct mlgen_err *err)
{
	if (S_ISDIR(old->st_mode))
		return fail(o->path, EISDIR, err);
	if (!S_ISREG(old->st_mode))
		return open_in_place(o, err);
	/* A rename would also replace what the user has protected. */
	if (access(o->path, W_OK))
		return fail(o->path, errno, err);
	int rc = resolve(o, err);
	return rc ? rc : open_beside(o, old, err);
}

static int open_path(struct output *o, struct mlgen_err *err)
{
	struct stat st;
	if (stat(o->path, &st) == 0)
		return open_existing(o, &st, err);
	if (errno != ENOENT)
		return fail(o->path, errno, err);
	if (lstat(o->path, &st) == 0)
		return open_in_place(o, err);
	return open_beside(o, NULL, err);
}

static int write_all(int fd, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, text, bytes);
		if (n < 0 && errno != EINTR)
			return errno;
		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

/* Everything that was printed, to where it belongs; an errno. */
static int deliver(struct output *o)
{
	int error = fclose(o->to) ? errno : 0;
	o->to = NULL;
	/* Others may have printed to stdout before. */
	if (!error && !o->path && fflush(stdout))
		error = errno;
	if (!error)
		error = write_all(o->fd, o->text, o->bytes);
	/* A server may tell only here that it had no room. */
	if (o->path) {
		if (close(o->fd) && !error)
			error = errno;
		o->fd = -1;
	}
	if (!error && o->temporary && rename(o->temporary, o->path))
		error = errno;
	return error;
}

int output_open(struct output *o, const char *path, struct mlgen_err *err)
{
	int rc = 0;
	memset(o, 0, sizeof(*o));
	o->fd = path ? -1 : STDOUT_FILENO;
	o->to = open_memstream(&o->text, &o->bytes);
	if (!o->to)
		return fail(path, errno, err);
	if (path) {
		o->path = mem_strdup(path);
		rc = open_path(o, err);
	}
	if (rc)
		output_abandon(o);
	return rc;
}

int output_close(struct output *o, struct mlgen_err *err)
{
	int error = deliver(o);
	int rc = error ? fail(o->path, error, err) : 0;
	if (!error) {
		mem_free(o->temporary);
		o->temporary = NULL;
	}
	output_abandon(o);
	return rc;
}

void output_abandon(struct output *o)
{
	if (o->to)
		fclose(o->to);
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->temporary)
		unlink(o->temporary);
	free(o->text);
	mem_free(o->temporary);
	mem_free(o->path);
	memset(o, 0, sizeof(*o));
}
