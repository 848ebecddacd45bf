/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - examines and opens the place that an option names for an output. */
#include "report/output/output.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"

/* The limit of the kernel (path_resolution(7)). */
#define LINKS_MAX 40

static int place_fail(const struct place *p, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error, "%s=%s: cannot be written: %s", p->option, p->given,
			  strerror(error));
}

static void set_identity(struct place *p, const struct stat *st)
{
	p->dev = st->st_dev;
	p->ino = st->st_ino;
}

/* ---- a descriptor that was handed over ---- */

/* The number of the descriptor that a path names, or -1. */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		size_t len = strlen(folders[i]);
		const char *n = path + len;

		if (strncmp(path, folders[i], len) == 0 && isdigit(*n) &&
		    strspn(n, "0123456789") == strlen(n) && strlen(n) < 9)
			return (int)strtol(n, NULL, 10);
	}
	return -1;
}

/* mlgen opens all its own descriptors close-on-exec, so a close-on-exec descriptor was not handed
 * over by the user. */
static int open_descriptor(struct place *p, int fd, struct mlgen_err *err)
{
	int flags = fcntl(fd, F_GETFD), mode = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || mode < 0 || (flags & FD_CLOEXEC))
		return mlgen_fail(err, -EBADF,
				  "%s=%s: is not open; have the shell open it: %d>FILE", p->option,
				  p->given, fd);
	if ((mode & O_ACCMODE) == O_RDONLY)
		return place_fail(p, EBADF, err);
	p->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return place_fail(p, errno, err);
	p->is_handed_over = true;
	p->kind = S_ISREG(st.st_mode) ? PLACE_FILE : PLACE_STREAM;
	set_identity(p, &st);
	return 0;
}

/* ---- a file that does not exist yet ---- */

/* If *path is a dangling link, replace *path with its target. False: it is not a link. */
static bool follow_link(char **path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(*path, target, sizeof(target) - 1);
	const char *slash = strrchr(*path, '/');
	struct buf next = { 0 };

	if (n <= 0)
		return false;
	target[n] = '\0';
	if (target[0] != '/' && slash)
		buf_addn(&next, *path, (size_t)(slash - *path) + 1);
	buf_add(&next, target);
	mem_free(*path);
	*path = buf_detach(&next);
	return true;
}

/* Set p->path to "FOLDER/NAME" with the folder's real path. */
static int set_new_path(struct place *p, const char *path, struct mlgen_err *err)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char *folder = slash ? mem_strndup(path, (size_t)(slash - path) + 1) : mem_strdup(".");
	char *real = *name ? realpath(folder, NULL) : NULL;
	int error = !*name ? ENOENT : !real ? errno : 0;
	struct buf whole = { 0 };
	struct stat st;

	mem_free(folder);
	if (real && stat(real, &st) < 0)
		error = errno;
	if (real && !error) {
		set_identity(p, &st);
		buf_addf(&whole, "%s%s%s", real, real[1] ? "/" : "", name);
		p->path = buf_detach(&whole);
	}
	free(real);
	return p->path ? 0 : place_fail(p, error, err);
}

static int open_new(struct place *p, struct mlgen_err *err)
{
	char *path = mem_strdup(p->given);
	int links = 0, rc;

	while (links < LINKS_MAX && follow_link(&path))
		links++;
	rc = links == LINKS_MAX ? place_fail(p, ELOOP, err) : set_new_path(p, path, err);
	mem_free(path);
	p->kind = PLACE_NEW;
	return rc;
}

/* ---- a file that exists ---- */

/* Decide without opening the device, since opening some devices has effects. */
static bool is_terminal(dev_t device)
{
	unsigned number = major(device);
	char path[64], target[PATH_MAX];

	/* tty, console and pts (Documentation/admin-guide/devices.txt) */
	if (number == 4 || number == 5 || (number >= 136 && number <= 143))
		return true;
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/subsystem", number, minor(device));
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	if (n < 4)
		return false;
	target[n] = '\0';
	return strcmp(target + n - 4, "/tty") == 0;
}

static int fail_busy(const struct place *p, struct mlgen_err *err)
{
	return mlgen_fail(err, -EBUSY,
			  "%s=%s: another run is writing to it; wait until it is done, "
			  "or name another file",
			  p->option, p->given);
}

/* NFS refuses a shared lock on a descriptor that cannot read. */
static bool is_locked(int fd)
{
	int rc = flock(fd, LOCK_SH | LOCK_NB);

	if (rc < 0 && errno == EBADF)
		rc = flock(fd, LOCK_EX | LOCK_NB);
	if (rc < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

static int open_existing(struct place *p, int looked_at, const struct stat *st,
			 struct mlgen_err *err)
{
	const dev_t null = makedev(1, 3), full = makedev(1, 7);
	struct stat there;

	if (S_ISDIR(st->st_mode))
		return place_fail(p, EISDIR, err);
	if (S_ISBLK(st->st_mode))
		return mlgen_fail(
			err, -ENOTSUP,
			"%s=%s: is a block device, and its contents would be overwritten; "
			"name a file",
			p->option, p->given);
	if (S_ISCHR(st->st_mode) && st->st_rdev != null && st->st_rdev != full &&
	    !is_terminal(st->st_rdev))
		return mlgen_fail(err, -ENOTSUP,
				  "%s=%s: is a device; mlgen writes only to terminals, /dev/null "
				  "and /dev/full: name a file",
				  p->option, p->given);

	p->fd = path_open_inspected(looked_at, p->given, st, O_WRONLY | O_NOCTTY);
	if (p->fd < 0)
		return place_fail(p, -p->fd, err);
	set_identity(p, st);
	p->kind = S_ISREG(st->st_mode) ? PLACE_FILE : PLACE_STREAM;
	if (p->kind == PLACE_STREAM)
		return 0;

	char *real = realpath(p->given, NULL);
	if (!real)
		return place_fail(p, errno, err);
	p->path = mem_strdup(real);
	free(real);
	if (lstat(p->path, &there) < 0)
		return place_fail(p, errno, err);
	if (there.st_dev != st->st_dev || there.st_ino != st->st_ino)
		return place_fail(p, ESTALE, err);
	return is_locked(p->fd) ? fail_busy(p, err) : 0;
}

int place_open(struct place *p, const char *option, const char *given, struct mlgen_err *err)
{
	int descriptor = descriptor_of(given), looked_at, rc;
	struct stat st;

	*p = (struct place){ .option = option, .given = given, .fd = -1 };
	if (descriptor >= 0) {
		rc = open_descriptor(p, descriptor, err);
	} else {
		looked_at = path_inspect(given, &st);
		if (looked_at >= 0)
			rc = open_existing(p, looked_at, &st, err);
		else if (looked_at == -ENOENT)
			rc = open_new(p, err);
		else
			rc = place_fail(p, -looked_at, err);
		if (looked_at >= 0)
			close(looked_at);
	}
	if (rc < 0)
		place_close(p);
	return rc;
}

void place_close(struct place *p)
{
	/* A zeroed place was never opened; its descriptor 0 is standard input. */
	if (p->option && p->fd >= 0)
		close(p->fd);
	mem_free(p->path);
	*p = (struct place){ .fd = -1 };
}

int place_lock(const struct place *p, struct mlgen_err *err)
{
	struct stat st;

	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return fail_busy(p, err);
	/* If the file has no links, a run that logged nothing has just removed it. */
	if (fstat(p->fd, &st) < 0 || st.st_nlink == 0)
		return fail_busy(p, err);
	return 0;
}

int place_create(struct place *p, struct mlgen_err *err)
{
	struct stat st;

	p->fd = open(p->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return place_fail(p, errno, err);
	p->kind = PLACE_FILE;
	set_identity(p, &st);
	return place_lock(p, err);
}

static const char *place_name_of(const struct place *p)
{
	assert(p->path);
	return strrchr(p->path, '/') + 1;
}

bool place_is_same(const struct place *a, const struct place *b)
{
	if (a->kind != b->kind || a->kind == PLACE_STREAM || a->dev != b->dev || a->ino != b->ino)
		return false;
	return a->kind == PLACE_FILE || strcmp(place_name_of(a), place_name_of(b)) == 0;
}

bool place_is_path(const struct place *p, const char *path)
{
	struct mlgen_err unused = { 0 };
	struct place other = { .option = "", .given = path, .fd = -1 };
	struct stat st;
	bool is_same;

	if (p->kind == PLACE_STREAM || !path)
		return false;
	if (stat(path, &st) == 0)
		return p->kind == PLACE_FILE && S_ISREG(st.st_mode) && p->dev == st.st_dev &&
		       p->ino == st.st_ino;
	is_same =
		p->kind == PLACE_NEW && open_new(&other, &unused) == 0 && place_is_same(p, &other);
	mem_free(other.path);
	return is_same;
}

bool place_is_fd(const struct place *p, int fd)
{
	struct stat st;

	return p->kind == PLACE_FILE && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       p->dev == st.st_dev && p->ino == st.st_ino;
}
