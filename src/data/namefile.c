/* SPDX-License-Identifier: Apache-2.0 */
/* namefile.c - see namefile.h. */
#include "data/namefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"

#define BUFFER_BYTES (64u << 10)

static int temporary_in(const char *folder)
{
	char path[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);

	/* A filesystem without O_TMPFILE takes it for an open of a folder. */
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	if (snprintf(path, sizeof(path), "%s/mlgen-scan.XXXXXX", folder) >=
	    (int)sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Memory is what it is to spare, and what is read beside the dataset would be
 * seen as its own. */
static bool is_better_left(const char *folder, const char *beside)
{
	struct stat here, there;
	struct statfs fs;

	if (statfs(folder, &fs) != 0 || fs.f_type == TMPFS_MAGIC)
		return true;
	return beside && stat(folder, &here) == 0 &&
	       stat(beside, &there) == 0 && here.st_dev == there.st_dev;
}

static const char *temporary_folder(const char *beside)
{
	static const char *const folders[] = { "/var/tmp", "/tmp" };
	const char *folder = getenv("TMPDIR");

	if (has_text(folder))
		return folder;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_better_left(folders[i], beside))
			return folders[i];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (!is_better_left(folders[i], NULL))
			return folders[i];
	return "/tmp";
}

int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err)
{
	return mlgen_fail(
		err, code,
		"%s: dataset=scan keeps the names of files, and where "
		"their samples lie, in temporary files there: %s; "
		"another folder with TMPDIR=",
		f->folder, strerror(-code));
}

int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err)
{
	*f = (struct namefile){ .folder = temporary_folder(beside) };
	f->fd = temporary_in(f->folder);
	if (f->fd < 0)
		return namefile_failed(f, -errno, err);
	f->buffer = mem_zalloc(BUFFER_BYTES);
	return 0;
}

int namefile_temporary(const char *beside)
{
	int fd = temporary_in(temporary_folder(beside));

	return fd < 0 ? -errno : fd;
}

void namefile_end(struct namefile *f)
{
	mem_free(f->buffer);
	f->buffer = NULL;
}

void namefile_close(struct namefile *f)
{
	namefile_end(f);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int namefile_flush(struct namefile *f, struct mlgen_err *err)
{
	uint64_t at = f->end - f->buffered;
	size_t done = 0;

	while (done < f->buffered) {
		ssize_t n = pwrite(f->fd, f->buffer + done, f->buffered - done,
				   (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return namefile_failed(f, n ? -errno : -EIO, err);
		done += (size_t)n;
	}
	f->buffered = 0;
	return 0;
}

int namefile_add(struct namefile *f, const char *s, size_t n,
		 struct mlgen_err *err)
{
	int r = f->buffered + n > BUFFER_BYTES ? namefile_flush(f, err) : 0;

	if (r)
		return r;
	memcpy(f->buffer + f->buffered, s, n);
	f->buffered += n;
	f->end += n;
	return 0;
}

void namefile_cut(struct namefile *f, uint64_t end)
{
	uint64_t flushed = f->end - f->buffered;

	f->buffered = end > flushed ? (size_t)(end - flushed) : 0;
	f->end = end;
}

int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out,
		  size_t size)
{
	ssize_t got;

	if (n >= size)
		return -ENAMETOOLONG;
	do
		got = pread(f->fd, out, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if ((size_t)got != n)
		return -EIO;
	out[n] = '\0';
	return (int)n;
}

int namefile_map(const struct namefile *f, uint64_t from,
		 struct namefile_map *m, struct mlgen_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	m->start = from / page * page;
	m->length = (size_t)(f->end - m->start);
	m->bytes = mmap(NULL, m->length, PROT_READ, MAP_SHARED, f->fd,
			(off_t)m->start);
	if (m->bytes != MAP_FAILED)
		return 0;
	m->bytes = NULL;
	return namefile_failed(f, -errno, err);
}

void namefile_unmap(struct namefile_map *m)
{
	munmap(m->bytes, m->length);
}
