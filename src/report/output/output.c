/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - documents and traces: which files may be replaced, and how they are written. */
#include "report/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/thread.h"
#include "trace/trace.h"

/* Bytes read from the start of a file; a page names its program only after some lines. */
#define FIRST_BYTES 1024

static bool begins(const char *first, size_t bytes, const char *with)
{
	size_t len = strlen(with);

	return bytes >= len && memcmp(first, with, len) == 0;
}

static bool is_json(const char *first, size_t bytes)
{
	return begins(first, bytes, "{\n  \"mlgen version\": \"") ||
	       begins(first, bytes, "{\n  \"fio version\": \"mlgen-");
}

/* Older versions wrote no generator; their title identifies the page. */
static bool is_html(const char *first, size_t bytes)
{
	static const char generator[] = "content=\"mlgen\"";
	static const char title[] = "<title>mlgen</title>";

	return begins(first, bytes, "<!DOCTYPE html>\n") &&
	       (memmem(first, bytes, generator, sizeof(generator) - 1) ||
		memmem(first, bytes, title, sizeof(title) - 1));
}

static bool is_log(const char *first, size_t bytes)
{
	return begins(first, bytes, "time,seconds,job,phase,") ||
	       begins(first, bytes, "seconds,opens,metadata,");
}

static bool is_trace(const char *first, size_t bytes)
{
	return trace_is_magic(first, bytes);
}

static const struct outfile {
	const char *name;
	bool (*matches)(const char *first, size_t bytes);
	bool replaces_descriptor;
} kinds[] = {
	[OUTFILE_JSON] = { "JSON document of mlgen", is_json, false },
	[OUTFILE_HTML] = { "page of mlgen", is_html, false },
	[OUTFILE_LOG] = { "log of mlgen", is_log, false },
	[OUTFILE_TRACE] = { "trace", is_trace, true },
	[OUTFILE_IOLOG] = { "fio iolog", trace_iolog_is, true },
};

/* Open the file of a write-only descriptor again for reading or, if that fails, open `path` (NULL =
 * none). A descriptor, or -errno. */
static int outfile_reopen(int fd, const char *path)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	int again = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (again < 0 && path)
		again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return again < 0 ? -errno : again;
}

int outfile_check(const struct place *p, enum outfile_kind kind, bool force, struct mlgen_err *err)
{
	const struct outfile *expected = &kinds[kind];
	char first[FIRST_BYTES];

	if (p->kind != PLACE_FILE || force || (p->is_handed_over && !expected->replaces_descriptor))
		return 0;
	int fd = outfile_reopen(p->fd, p->path);
	ssize_t n = fd < 0 ? fd : pread(fd, first, sizeof(first), 0);
	if (fd >= 0) {
		n = n < 0 ? -errno : n;
		close(fd);
	}
	if (n < 0)
		return mlgen_fail(err, (int)n,
				  "%s=%s: its contents cannot be read: %s; mlgen replaces only "
				  "a %s: name another file, or add --force",
				  p->option, p->given, strerror((int)-n), expected->name);
	if (n > 0 && !expected->matches(first, (size_t)n))
		return mlgen_fail(err, -EEXIST,
				  "%s=%s: exists and is not a %s; it is not overwritten: name "
				  "another file, or add --force",
				  p->option, p->given, expected->name);
	return 0;
}

enum { STREAM_BUFFER_BYTES = 256 << 10 };

static int output_fail(const char *path, int error, struct mlgen_err *err)
{
	return mlgen_fail(err, -error, "%s: cannot be written: %s", path ? path : "standard output",
			  strerror(error));
}

static int open_place(struct output *o, struct place *p, struct mlgen_err *err)
{
	struct stat old;
	int rc = 0;

	o->path = mem_strdup(p->given);
	if (p->kind == PLACE_STREAM || p->is_handed_over) {
		o->fd = p->fd;
		p->fd = -1;
	} else {
		/* The new file has the mode of the old one. */
		bool has_old = p->kind == PLACE_FILE && fstat(p->fd, &old) == 0;

		rc = replace_begin(&o->file, p->path,
				   has_old ? old.st_mode & 07777 : replace_new_mode());
		if (rc)
			output_fail(o->path, -rc, err);
	}
	place_close(p);
	return rc;
}

static int output_fd(const struct output *o)
{
	return o->file.target ? o->file.fd : o->fd;
}

/* After a failed write, later text is dropped. */
static ssize_t write_streamed(void *cookie, const char *text, size_t bytes)
{
	struct output *o = cookie;

	if (!o->error)
		o->error = -writeall(output_fd(o), text, bytes);
	return o->error ? 0 : (ssize_t)bytes;
}

/* Write everything that was printed to its destination. 0 or an errno. */
static int deliver(struct output *o)
{
	int error = fclose(o->to) ? errno : 0;
	bool replaces = o->file.target;
	int fd = output_fd(o);

	o->to = NULL;
	if (o->error)
		error = o->error;
	/* Text may already be in the buffer of stdout. */
	if (!error && !o->path)
		error = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;
	/* All text for people is made printable here. */
	struct buf shown = { 0 };
	if (!error && o->is_text)
		printable_add_lines(&shown, o->text, o->bytes);
	if (!error)
		error = o->is_text ? -writeall(fd, buf_str(&shown), shown.len)
				   : -writeall(fd, o->text, o->bytes);
	buf_fini(&shown);
	if (replaces)
		return error ? error : -replace_commit(&o->file);
	if (!o->path)
		return error;
	/* A file server may report only on close that the disk is full. */
	int closed = close(o->fd) ? errno : 0;
	o->fd = -1;
	return error ? error : closed;
}

/* The thread that handles signals reads the output when it ends the program (output_discard). */
static void clear(struct output *o)
{
	signals_hold();
	memset(o, 0, sizeof(*o));
	signals_release();
}

int output_open(struct output *o, struct place *p, struct mlgen_err *err)
{
	int rc = 0;

	clear(o);
	o->fd = p ? -1 : STDOUT_FILENO;
	o->file.fd = -1;
	o->to = open_memstream(&o->text, &o->bytes);
	if (!o->to)
		return output_fail(p ? p->given : NULL, errno, err);
	if (p)
		rc = open_place(o, p, err);
	if (rc)
		output_abandon(o);
	return rc;
}

int output_stream(struct output *o, struct mlgen_err *err)
{
	FILE *to = fopencookie(o, "w", (cookie_io_functions_t){ .write = write_streamed });

	if (!to)
		return output_fail(o->path, errno, err);
	setvbuf(to, NULL, _IOFBF, STREAM_BUFFER_BYTES);
	fclose(o->to);
	free(o->text);
	o->text = NULL;
	o->bytes = 0;
	o->is_text = false;
	o->to = to;
	return 0;
}

int output_close(struct output *o, struct mlgen_err *err)
{
	int error = deliver(o);
	int rc = error ? output_fail(o->path, error, err) : 0;

	output_abandon(o);
	return rc;
}

void output_abandon(struct output *o)
{
	if (o->to)
		fclose(o->to);
	if (o->path && o->fd >= 0)
		close(o->fd);
	replace_abandon(&o->file);
	free(o->text);
	mem_free(o->path);
	clear(o);
}

void output_discard(struct output *o)
{
	replace_discard(&o->file);
}

int tracefile_check(const struct place *p, bool force, struct mlgen_err *err)
{
	if (p->kind == PLACE_STREAM)
		return mlgen_fail(
			err, -ENOTSUP,
			"%s=%s: is not a regular file, which a trace requires; name another file",
			p->option, p->given);
	return outfile_check(p, OUTFILE_TRACE, force, err);
}

int tracefile_open(struct tracefile *f, struct place *p, struct mlgen_err *err)
{
	bool is_new = p->kind == PLACE_NEW;
	int rc = 0;

	if (is_new)
		rc = place_create(p, err);
	else if (p->kind == PLACE_FILE && !p->is_handed_over)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	struct tracefile opened = { .path = mem_strdup(p->given),
				    .fd = p->fd,
				    .made = is_new ? mem_strdup(p->path) : NULL };
	signals_hold();
	*f = opened;
	signals_release();
	p->fd = -1;
	place_close(p);
	return 0;
}

int tracefile_read(const struct tracefile *f)
{
	return outfile_reopen(f->fd, f->path);
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
	/* The thread that handles signals reads it, too (tracefile_discard). */
	signals_hold();
	*f = (struct tracefile){ 0 };
	signals_release();
	if (close(closed.fd) < 0)
		rc = -errno;
	mem_free(closed.made);
	mem_free(closed.path);
	return rc;
}
