/* SPDX-License-Identifier: Apache-2.0 */
/* namefile.c - a file without a name that holds the names of others, so that memory does not. */
#include "data/scan/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/unnamed.h"
#include "base/writeall.h"

#define BUFFER_BYTES (64u << 10)

int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "%s: dataset=scan keeps the names of files, and where their samples lie, "
			  "in temporary files there: %s; another folder with TMPDIR=",
			  f->folder, strerror(-code));
}

int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err)
{
	*f = (struct namefile){ .folder = unnamed_folder(beside) };
	f->fd = unnamed_open(f->folder);
	if (f->fd < 0)
		return namefile_failed(f, f->fd, err);
	f->buffer = mem_zalloc(BUFFER_BYTES);
	return 0;
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
	int rc = writeall_at(f->fd, f->buffer, f->buffered, f->end - f->buffered);

	if (rc)
		return namefile_failed(f, rc, err);
	f->buffered = 0;
	return 0;
}

int namefile_add(struct namefile *f, const char *s, size_t n, struct mlgen_err *err)
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

int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out, size_t size)
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

int namefile_map(const struct namefile *f, uint64_t from, struct namefile_map *m,
		 struct mlgen_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	m->start = from / page * page;
	m->length = (size_t)(f->end - m->start);
	m->bytes = mmap(NULL, m->length, PROT_READ, MAP_SHARED, f->fd, (off_t)m->start);
	if (m->bytes != MAP_FAILED)
		return 0;
	m->bytes = NULL;
	return namefile_failed(f, -errno, err);
}

void namefile_unmap(struct namefile_map *m)
{
	munmap(m->bytes, m->length);
}
