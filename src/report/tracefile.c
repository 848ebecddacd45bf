/* SPDX-License-Identifier: Apache-2.0 */
/* tracefile.c - see tracefile.h. */
#include "report/tracefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/signals.h"
#include "trace/trace_iolog.h"
#include "trace/trace_reader.h"

/* What a descriptor has open, which may only be written through it, or what the
 * path names (NULL = nothing): to be read. A descriptor, or -errno. */
static int open_again(int fd, const char *name)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (again < 0 && name)
		again = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return again < 0 ? -errno : again;
}

/* Bytes, or -errno. */
static ssize_t read_first(const struct place *p, char *to, size_t bytes)
{
	int fd = open_again(p->fd, p->path);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, to, bytes, 0);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

/* What may be replaced, by its first bytes. */
struct ours {
	const char *is; /* "trace" */
	size_t bytes;
	bool (*holds)(const char *first, size_t bytes);
};

static bool is_trace(const char *first, size_t bytes)
{
	return trace_is_magic(first, bytes);
}

static const struct ours traces = { "trace", TRACE_MAGIC_BYTES, is_trace };
static const struct ours logs = { "iolog of fio's", TRACE_IOLOG_FIRST_BYTES,
				  trace_iolog_is };

static int check_content(const struct place *p, const struct ours *ours,
			 struct mlgen_err *err)
{
	char first[64];
	ssize_t n = read_first(p, first, ours->bytes);

	if (n < 0)
		return mlgen_fail(err, (int)n,
				  "%s=%s: what is in it cannot be read: %s; "
				  "only a %s is replaced, name another file",
				  p->option, p->given, strerror((int)-n),
				  ours->is);
	if (n > 0 && !ours->holds(first, (size_t)n))
		return mlgen_fail(err, -EEXIST,
				  "%s=%s: is there, and is no %s; it is not "
				  "overwritten, name another file",
				  p->option, p->given, ours->is);
	return 0;
}

int tracefile_check(const struct place *p, struct mlgen_err *err)
{
	if (p->kind == PLACE_STREAM)
		return mlgen_fail(err, -ENOTSUP,
				  "%s=%s: is no regular file, which a trace "
				  "is; name another one",
				  p->option, p->given);
	return p->kind == PLACE_FILE ? check_content(p, &traces, err) : 0;
}

int tracefile_check_log(const struct place *p, struct mlgen_err *err)
{
	return p->kind == PLACE_FILE ? check_content(p, &logs, err) : 0;
}

int tracefile_open(struct tracefile *f, struct place *p, struct mlgen_err *err)
{
	bool is_new = p->kind == PLACE_NEW;
	int rc = 0;

	if (is_new)
		rc = place_make(p, err);
	else if (p->kind == PLACE_FILE && !p->is_handed_over)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	struct tracefile opened = { .path = mem_strdup(p->given),
				    .fd = p->fd,
				    .made = is_new ? mem_strdup(p->path)
						   : NULL };
	signals_hold();
	*f = opened;
	signals_release();
	p->fd = -1;
	place_close(p);
	return 0;
}

int tracefile_read(const struct tracefile *f)
{
	return open_again(f->fd, f->path);
}

void tracefile_discard(const struct tracefile *f)
{
	struct stat st;

	if (f->made && fstat(f->fd, &st) == 0 && st.st_size == 0)
		unlink(f->made);
}

int tracefile_close(struct tracefile *f)
{
	struct tracefile closed = *f;
	int rc = 0;

	if (!f->path)
		return 0;
	tracefile_discard(f);
	/* Whoever ends the program looks at it. */
	signals_hold();
	*f = (struct tracefile){ 0 };
	signals_release();
	if (close(closed.fd) < 0)
		rc = -errno;
	mem_free(closed.made);
	mem_free(closed.path);
	return rc;
}
